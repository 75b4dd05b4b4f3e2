//! An examination that is going on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use secrecy::ExposeSecret;

use super::check::{Check, broke_off};
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
    /// The part of the program that is checked.
    pub(super) area: &'static str,
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
            area: "",
            report,
            keys: settings.map(keys).unwrap_or_default(),
        }
    }

    /// Waits for work whose name is told, and says how long it took.
    pub(super) async fn timed<T>(
        &mut self,
        what: &'static str,
        work: impl Future<Output = T>,
    ) -> (T, Duration) {
        (self.report)(ExaminationProgress::Waiting(what));
        let begun = Instant::now();
        (work.await, begun.elapsed())
    }

    /// Does work that blocks beside everything else; it is stopped when this is given up. `None` where
    /// it broke off, which is told.
    pub(super) async fn blocking<T: Send + 'static>(
        &mut self,
        what: &'static str,
        work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    ) -> Option<(T, Duration)> {
        let stop = Stopping(Arc::default());
        let stopped = Arc::clone(&stop.0);
        let working = tokio::task::spawn_blocking(move || work(&stopped));
        let (done, took) = self.timed(what, working).await;
        if done.is_err() {
            self.add(broke_off());
        }
        Some((done.ok()?, took))
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
        check.name = clean(&check.name);
        check.detail = clean(&check.detail);
        check.next = check.next.as_deref().map(clean);
        (self.report)(ExaminationProgress::Checked(check));
    }
}

/// Says that work is to stop once it is dropped.
struct Stopping(Arc<AtomicBool>);

impl Drop for Stopping {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
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
