//! What is wrong, and what to do about it.
//!
//! Every part is tried out by its own code: the endpoint by the client of a run, the index by the
//! room that opens it, so that what is well here is well in use. A check is a value; it is handed
//! over as soon as it is made, because some take as long as a slow server. Nothing is made or
//! mended but the data folder, which every command makes.

mod embedding;
mod endpoint;
mod index;
mod settings;
mod storage;

use std::time::Duration;

use secrecy::ExposeSecret;
use serde::Serialize;

use crate::config::{Settings, Survey};
use crate::text::{Trouble, one_line};

pub use settings::{Setting, settings};

/// Longer lines are nobody's.
const DETAIL_CHARS: usize = 600;
/// A key that is shorter is often a word, such as `ollama`, and is masked where it is quoted.
const SHORTEST_KEY: usize = 8;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// To which part of the program it belongs.
    pub area: &'static str,
    /// What was looked at.
    pub name: String,
    /// How it is.
    pub status: Status,
    /// What was found, one line.
    pub detail: String,
    /// What to do, one line; never missing where something is not well.
    pub next: Option<String>,
    /// How long it took, where that says something.
    pub took: Option<Duration>,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// As it should be.
    Ok,
    /// It works, and there is something to know.
    Note,
    /// It does not work.
    Broken,
}

impl Status {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Broken => "broken",
        }
    }
}

/// What comes of an examination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// This is being waited for.
    Trying(&'static str),
    /// This was found.
    Found(Check),
}

impl Check {
    /// All is well.
    pub fn ok(area: &'static str, name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            area,
            name: name.into(),
            status: Status::Ok,
            detail: detail.into(),
            next: None,
            took: None,
        }
    }

    /// It works, and `next` would make it better.
    pub fn note(
        area: &'static str,
        name: impl Into<String>,
        detail: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self {
            status: Status::Note,
            next: Some(next.into()),
            ..Self::ok(area, name, detail)
        }
    }

    /// It does not work; `next` mends it.
    pub fn broken(
        area: &'static str,
        name: impl Into<String>,
        detail: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self {
            status: Status::Broken,
            ..Self::note(area, name, detail, next)
        }
    }

    /// It does not work, as an error says.
    fn failed(area: &'static str, name: impl Into<String>, trouble: Trouble) -> Self {
        let unknown_cause = || "see the diagnostics in the data folder's logs".to_owned();
        let next = trouble.next.unwrap_or_else(unknown_cause);
        Self::broken(area, name, trouble.what, next)
    }

    /// Something that could be better all the same.
    #[must_use]
    fn hint(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// How long it took.
    #[must_use]
    fn after(mut self, took: Duration) -> Self {
        self.took = Some(took);
        self
    }
}

/// An examination that is going on.
struct Examination<'a> {
    tell: &'a mut dyn FnMut(News),
    keys: Vec<String>,
}

/// Looks at everything that the settings name. Ends by itself: every wait on a network has the
/// limits that a question has.
pub async fn examine(survey: &Survey, tell: &mut dyn FnMut(News)) {
    let mut examination = Examination {
        tell,
        keys: survey.settings.as_ref().map(keys).unwrap_or_default(),
    };
    settings::check(survey, &mut examination);
    let Some(settings) = &survey.settings else {
        return;
    };
    let refused = |names: &[&str]| {
        let errors = survey.refused.iter();
        errors
            .filter_map(|error| error.variable())
            .find(|name| names.contains(name))
            .map(str::to_owned)
    };
    let at = refused(&["KB_AGENT_LLM_BASE_URL", "KB_AGENT_LLM_API_KEY"]);
    endpoint::check(settings, at, &mut examination).await;
    let at = refused(&["KB_AGENT_EMBEDDING_BASE_URL", "KB_AGENT_EMBEDDING_API_KEY"]);
    let embedding = match at {
        Some(name) => {
            examination.found(not_tried("embedding", &name));
            None
        }
        None => embedding::check(settings, &mut examination).await,
    };
    index::check(settings, embedding, &mut examination).await;
    storage::check(settings, &mut examination).await;
}

impl Examination<'_> {
    fn trying(&mut self, what: &'static str) {
        (self.tell)(News::Trying(what));
    }

    /// Whatever somebody else may have written into it is one line without a key.
    fn found(&mut self, mut check: Check) {
        let clean = |text: &str| {
            let mut text = text.to_owned();
            for key in &self.keys {
                text = text.replace(key, "[key]");
            }
            one_line(&text, DETAIL_CHARS)
        };
        check.name = clean(&check.name);
        check.detail = clean(&check.detail);
        check.next = check.next.as_deref().map(clean);
        (self.tell)(News::Found(check));
    }
}

fn keys(settings: &Settings) -> Vec<String> {
    let llm = settings.llm.iter().filter_map(|at| at.api_key.as_ref());
    let embedding = settings.embedding.iter();
    let mut keys: Vec<String> = llm
        .chain(embedding.filter_map(|at| at.api_key.as_ref()))
        .map(|key| key.expose_secret().to_owned())
        .filter(|key| key.len() >= SHORTEST_KEY)
        .collect();
    // One may begin with the other, and its rest must not be left standing.
    keys.sort_by_key(|key| std::cmp::Reverse(key.len()));
    keys
}

fn not_tried(area: &'static str, variable: &str) -> Check {
    Check::note(
        area,
        "reach",
        format!("not tried: {variable} cannot be used"),
        format!("correct {variable} and run kb-agent doctor again"),
    )
}

/// The code that looks has itself failed.
fn broke_off(area: &'static str) -> Check {
    let next = "run kb-agent doctor -vv, and see the diagnostics in the data folder's logs";
    Check::broken(area, "examination", "it broke off", next)
}

/// `1 file`, `2 files`.
fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_and_what_to_do_are_not_read_from_one_line() {
        let told = Check::failed("index", "contents", Trouble::from("it said: a; b"));
        assert_eq!(told.detail, "it said: a; b");
        assert!(told.next.unwrap().starts_with("see the diagnostics"));
        let told = Check::failed("index", "contents", Trouble::new("x: a; b", "do c; then d"));
        assert_eq!(told.detail, "x: a; b");
        assert_eq!(told.next.as_deref(), Some("do c; then d"));
    }
}
