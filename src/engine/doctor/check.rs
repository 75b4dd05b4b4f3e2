//! What was found of one thing.

use std::time::Duration;

use serde::Serialize;

use crate::config::Survey;
use crate::text::Trouble;

/// One thing that was looked at. Its serde form is a check of `doctor --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// The part of the program that was checked.
    pub area: &'static str,
    /// What was looked at.
    pub name: &'static str,
    /// The result of the check.
    pub status: Status,
    /// What was found, one line.
    pub detail: String,
    /// What to do, one line; never missing where something is not well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Milliseconds that it took, to a tenth, where that says something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<f64>,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All is as it should be.
    Ok,
    /// It works, and there is something to know.
    Note,
    /// It does not work.
    Broken,
}

impl Status {
    /// The status in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Broken => "broken",
        }
    }
}

impl Check {
    /// A check without a problem.
    pub fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self {
            area: "",
            name,
            status: Status::Ok,
            detail: detail.into(),
            next: None,
            ms: None,
        }
    }

    /// It works, and `next` would make it better.
    pub fn note(name: &'static str, detail: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            status: Status::Note,
            next: Some(next.into()),
            ..Self::ok(name, detail)
        }
    }

    /// It does not work; `next` mends it.
    pub fn broken(name: &'static str, detail: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            status: Status::Broken,
            ..Self::note(name, detail, next)
        }
    }

    /// It does not work, as an error says.
    pub(super) fn failed(name: &'static str, trouble: Trouble) -> Self {
        let unknown_cause = || "see the diagnostics in the data folder's logs".to_owned();
        let next = trouble.next.unwrap_or_else(unknown_cause);
        Self::broken(name, trouble.what, next)
    }

    /// The part of the program that it is of.
    #[must_use]
    pub fn in_area(mut self, area: &'static str) -> Self {
        self.area = area;
        self
    }

    /// Something that could be better all the same.
    #[must_use]
    pub(super) fn hint(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// How long it took.
    #[must_use]
    pub(super) fn took(mut self, took: Duration) -> Self {
        self.ms = Some((took.as_secs_f64() * 10_000.0).round() / 10.0);
        self
    }
}

/// An error where one of these variables cannot be used: nothing is tried with it then.
pub(super) fn must_be_usable(survey: &Survey, names: [&str; 2]) -> Result<(), Check> {
    let mut refused = survey.refused.iter().filter_map(|error| error.variable());
    let Some(name) = refused.find(|name| names.contains(name)) else {
        return Ok(());
    };
    let line = format!("not tried: {name} cannot be used");
    let next = format!("correct {name} and run kb-agent doctor again");
    Err(Check::note("reach", line, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_and_what_to_do_are_not_read_from_one_line() {
        let check = Check::failed("contents", Trouble::from("it said: a; b"));
        assert_eq!(check.detail, "it said: a; b");
        assert!(check.next.unwrap().starts_with("see the diagnostics"));
        let check = Check::failed("contents", Trouble::new("x: a; b", "do c; then d"));
        assert_eq!(check.detail, "x: a; b");
        assert_eq!(check.next.as_deref(), Some("do c; then d"));
    }
}
