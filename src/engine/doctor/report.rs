//! An examination that is going on.

use std::time::{Duration, Instant};

use secrecy::ExposeSecret;
use tokio_util::sync::CancellationToken;

use super::check::Check;
use crate::agent::ports::blocking;
use crate::config::Settings;
use crate::text::{Trouble, one_line};

/// Longer lines are cut.
const DETAIL_CHARS: usize = 600;
/// A key that is shorter is often a word, such as `ollama`, and is masked where it is quoted.
const SHORTEST_KEY: usize = 8;

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
    send: &'a mut dyn FnMut(ExaminationProgress),
    /// Keys that no line may show.
    keys: Vec<String>,
}

impl<'a> Report<'a> {
    pub(super) fn new(
        settings: Option<&Settings>,
        send: &'a mut dyn FnMut(ExaminationProgress),
    ) -> Self {
        Self {
            area: "",
            send,
            keys: settings.map(keys).unwrap_or_default(),
        }
    }

    /// Waits for work whose name is shown, and says how long it took.
    pub(super) async fn timed<T>(
        &mut self,
        what: &'static str,
        work: impl Future<Output = T>,
    ) -> (T, Duration) {
        (self.send)(ExaminationProgress::Waiting(what));
        let begun = Instant::now();
        (work.await, begun.elapsed())
    }

    /// Tries something out: the check that `well` makes of the result, or one of that name that says what is
    /// wrong.
    pub(super) async fn try_out<T>(
        &mut self,
        what: &'static str,
        name: &'static str,
        work: impl Future<Output = Result<T, Trouble>>,
        well: impl FnOnce(&T) -> Check,
    ) -> Option<T> {
        let (done, took) = self.timed(what, work).await;
        let check = match &done {
            Ok(found) => well(found),
            Err(trouble) => Check::failed(name, trouble.clone()),
        };
        self.add(check.took(took));
        done.ok()
    }

    /// What was found of an area; an error is the last check of it.
    pub(super) fn end<T>(&mut self, area: Result<T, Check>) -> Option<T> {
        area.map_err(|check| self.add(check)).ok()
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
        check.area = self.area;
        check.detail = clean(&check.detail);
        check.next = check.next.as_deref().map(clean);
        (self.send)(ExaminationProgress::Checked(check));
    }
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
    let mut keys: Vec<String> = llm
        .chain(embedding.filter_map(|at| at.api_key.as_ref()))
        .map(|key| key.expose_secret().to_owned())
        .filter(|key| key.len() >= SHORTEST_KEY)
        .collect();
    // One may begin with the other, and its rest must not be left standing.
    keys.sort_by_key(|key| std::cmp::Reverse(key.len()));
    keys
}
