//! What was found of one thing, and what sends it as soon as it is found.

use std::time::Instant;

use secrecy::ExposeSecret;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::agent::ports::blocking;
use crate::config::{Settings, Survey};
use crate::text::{Trouble, one_line};

/// Longer lines are cut.
const DETAIL_CHARS: usize = 600;
/// A key that is shorter is often a word, such as `ollama`, and is masked where it is quoted.
const SHORTEST_KEY: usize = 8;

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
        let status = Status::Note;
        let check = Self::ok(name, detail).hint(next);
        Self { status, ..check }
    }

    /// It does not work.
    pub fn broken(name: &'static str, trouble: impl Into<Trouble>) -> Self {
        let trouble = trouble.into();
        let unknown = || "see the diagnostics in the data folder's logs".to_owned();
        let next = trouble.next.unwrap_or_else(unknown);
        let status = Status::Broken;
        let check = Self::ok(name, trouble.what).hint(next);
        Self { status, ..check }
    }

    /// Something that could be better all the same.
    #[must_use]
    pub(super) fn hint(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}

/// How far an examination is.
#[derive(Debug, Clone, PartialEq)]
pub enum ExaminationProgress {
    /// The name of what is waited for.
    Waiting(&'static str),
    /// A check is done.
    Checked(Check),
}

/// Sends what is found as soon as it is.
pub(super) struct Report<'a> {
    /// The part of the program that is checked.
    pub(super) area: &'static str,
    /// Keys that no line may show.
    keys: Vec<String>,
    send: &'a mut dyn FnMut(ExaminationProgress),
}

impl<'a> Report<'a> {
    pub(super) fn new(
        settings: Option<&Settings>,
        send: &'a mut dyn FnMut(ExaminationProgress),
    ) -> Self {
        Self {
            area: "settings",
            keys: settings.map(keys).unwrap_or_default(),
            send,
        }
    }

    /// Tries something out whose name is shown meanwhile: the check that `well` makes of the result, or one
    /// of that name that says what is wrong.
    pub(super) async fn try_out<T>(
        &mut self,
        what: &'static str,
        name: &'static str,
        work: impl Future<Output = Result<T, Trouble>>,
        well: impl FnOnce(&T) -> Check,
    ) -> Option<T> {
        (self.send)(ExaminationProgress::Waiting(what));
        let begun = Instant::now();
        let done = work.await;
        let ms = begun.elapsed().as_secs_f64() * 1000.0;
        let check = match &done {
            Ok(found) => well(found),
            Err(trouble) => Check::broken(name, trouble.clone()),
        };
        let ms = Some((ms * 10.0).round() / 10.0);
        self.add(Check { ms, ..check });
        done.ok()
    }

    /// What was found of an area; an error is the last check of it.
    pub(super) fn end<T>(&mut self, area: Result<T, Check>) -> Option<T> {
        area.map_err(|check| self.add(check)).ok()
    }

    /// Text of documents, models and servers in it becomes one line without a key.
    pub(super) fn add(&mut self, mut check: Check) {
        let hide = |text: String, key: &String| text.replace(key, "[key]");
        let clean =
            |text: &str| one_line(&self.keys.iter().fold(text.to_owned(), hide), DETAIL_CHARS);
        check.area = self.area;
        check.detail = clean(&check.detail);
        check.next = check.next.as_deref().map(clean);
        (self.send)(ExaminationProgress::Checked(check));
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

/// Does work that blocks beside everything else; it is stopped when this is given up.
pub(super) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce(&CancellationToken) -> Result<T, Trouble> + Send + 'static,
) -> Result<T, Trouble> {
    let next = "run kb-agent doctor -vv, and see the diagnostics in the data folder's logs";
    let done = blocking(work).await;
    done.unwrap_or_else(|_| Err(Trouble::new("the examination broke off", next)))
}

fn keys(settings: &Settings) -> Vec<String> {
    let llm = settings.llm.iter().filter_map(|at| at.api_key.as_ref());
    let embedding = settings.embedding.iter();
    let store = settings.store.iter();
    let mut keys: Vec<String> = llm
        .chain(embedding.filter_map(|at| at.api_key.as_ref()))
        .chain(store.filter_map(|at| at.password.as_ref()))
        .chain(settings.otlp_headers.iter().map(|(_, value)| value))
        .map(|key| key.expose_secret().to_owned())
        .filter(|key| key.len() >= SHORTEST_KEY)
        .collect();
    // One may begin with the other, and its rest must not be left standing.
    keys.sort_by_key(|key| std::cmp::Reverse(key.len()));
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Environment, Overrides};

    #[test]
    fn trust_the_headers_of_the_collector_are_keys_too() {
        let environment = Environment::from_pairs([
            ("KB_AGENT_OTLP_ENDPOINT", "http://localhost:4318"),
            ("KB_AGENT_OTLP_HEADERS", "authorization=Basic c2VjcmV0"),
        ]);
        let settings = Settings::resolve(&environment, Overrides::default()).unwrap();
        assert_eq!(keys(&settings), ["Basic c2VjcmV0"]);
    }
}
