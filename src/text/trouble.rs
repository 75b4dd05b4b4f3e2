use std::fmt;

/// What is wrong, and what to do about it: one line each.
///
/// Together they are the one line that every error is; apart, because some say more of the one and
/// leave the other, and some show them in two places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What is wrong, and where.
    pub what: String,
    /// What to do; `None` where that is unknown.
    pub next: Option<String>,
}

impl Trouble {
    /// Something wrong with a known remedy.
    pub fn new(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            next: Some(next.into()),
        }
    }

    /// The same, with more said of what is wrong.
    #[must_use]
    pub fn what(mut self, change: impl FnOnce(&str) -> String) -> Self {
        self.what = change(&self.what);
        self
    }
}

impl<T: Into<String>> From<T> for Trouble {
    /// Something wrong without a known remedy.
    fn from(what: T) -> Self {
        Self {
            what: what.into(),
            next: None,
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_is_one_line_whatever_its_parts_hold() {
        let trouble = Trouble::new("h said: a; b", "try again");
        assert_eq!(trouble.to_string(), "h said: a; b; try again");
        let asked = trouble.what(|what| format!("{what} (asked 2 times)"));
        assert_eq!(asked.to_string(), "h said: a; b (asked 2 times); try again");
        assert_eq!(Trouble::from("a; b").to_string(), "a; b");
    }
}
