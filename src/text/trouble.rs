use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// What is wrong, and what to do about it: one line each.
///
/// Together they are the one line that every error is; apart, because some say more of the one and
/// leave the other, and some show them in two places.
#[derive(Debug, Clone)]
pub struct Trouble {
    /// What is wrong, and where.
    pub what: String,
    /// What to do; `None` where that is unknown.
    pub next: Option<String>,
    /// The error that led to it, for the diagnostics: `what` says all of it that a person needs.
    pub cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl Trouble {
    /// Something wrong with a known remedy.
    pub fn new(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::from(what).next(next)
    }

    /// An error in its own words, without a known remedy.
    pub fn of(error: impl Error + Send + Sync + 'static) -> Self {
        Self {
            what: error.to_string(),
            next: None,
            cause: Some(Arc::new(error)),
        }
    }

    /// The same, with more said of what is wrong.
    #[must_use]
    pub fn what(mut self, change: impl FnOnce(&str) -> String) -> Self {
        self.what = change(&self.what);
        self
    }

    /// The same with that remedy.
    #[must_use]
    pub fn next(self, next: impl Into<String>) -> Self {
        Self {
            next: Some(next.into()),
            ..self
        }
    }
}

impl<T: Into<String>> From<T> for Trouble {
    /// Something wrong without a known remedy.
    fn from(what: T) -> Self {
        Self {
            what: what.into(),
            next: None,
            cause: None,
        }
    }
}

impl PartialEq for Trouble {
    /// Whether they read the same, whatever led to them.
    fn eq(&self, other: &Self) -> bool {
        (&self.what, &self.next) == (&other.what, &other.next)
    }
}

impl Eq for Trouble {}

impl fmt::Display for Trouble {
    /// `what; next`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.next {
            Some(next) => write!(f, "; {next}"),
            None => Ok(()),
        }
    }
}

impl Error for Trouble {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let cause = self.cause.as_deref()?;
        Some(cause)
    }
}

/// Says of an error what it broke, and keeps it as the cause.
pub trait OrTrouble<T> {
    /// `what: error`
    fn trouble(self, what: impl fmt::Display) -> Result<T, Trouble>;
}

impl<T, E: Error + Send + Sync + 'static> OrTrouble<T> for Result<T, E> {
    fn trouble(self, what: impl fmt::Display) -> Result<T, Trouble> {
        self.map_err(|error| Trouble::of(error).what(|error| format!("{what}: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_trouble_is_one_line_whatever_its_parts_hold() {
        let trouble = Trouble::new("h said: a; b", "try again");
        assert_eq!(trouble.to_string(), "h said: a; b; try again");
        let asked = trouble.what(|what| format!("{what} (asked 2 times)"));
        assert_eq!(asked.to_string(), "h said: a; b (asked 2 times); try again");
        assert_eq!(Trouble::from("a; b").to_string(), "a; b");
    }

    #[test]
    fn the_error_that_led_to_a_trouble_is_its_source() {
        let full: io::Result<()> = Err(io::ErrorKind::StorageFull.into());
        let trouble = full.trouble("a.md is not written").unwrap_err();
        let trouble = trouble.next("make room");
        assert_eq!(
            trouble.to_string(),
            "a.md is not written: no storage space; make room"
        );
        let source = trouble
            .source()
            .and_then(|cause| cause.downcast_ref::<io::Error>());
        assert_eq!(
            source.map(io::Error::kind),
            Some(io::ErrorKind::StorageFull)
        );
        assert_eq!(
            trouble,
            Trouble::new("a.md is not written: no storage space", "make room")
        );
    }
}
