//! An examination that is going on.

use secrecy::ExposeSecret;

use super::check::Check;
use crate::config::Settings;
use crate::text::one_line;

/// Longer lines are cut.
const DETAIL_CHARS: usize = 600;
/// A key that is shorter is often a word, such as `ollama`, and is masked where it is quoted.
const SHORTEST_KEY: usize = 8;

/// How far an examination is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExaminationProgress {
    /// The name of what is waited for.
    Waiting(&'static str),
    /// A check is done.
    Checked(Check),
}

/// An examination that is going on.
pub(super) struct Examination<'a> {
    report: &'a mut dyn FnMut(ExaminationProgress),
    /// Keys that no line may show.
    keys: Vec<String>,
}

impl<'a> Examination<'a> {
    pub(super) fn new(
        settings: Option<&Settings>,
        report: &'a mut dyn FnMut(ExaminationProgress),
    ) -> Self {
        Self {
            report,
            keys: settings.map(keys).unwrap_or_default(),
        }
    }

    pub(super) fn trying(&mut self, what: &'static str) {
        (self.report)(ExaminationProgress::Waiting(what));
    }

    /// Text of documents, models and servers in it becomes one line without a key.
    pub(super) fn add(&mut self, mut check: Check) {
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
        (self.report)(ExaminationProgress::Checked(check));
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
