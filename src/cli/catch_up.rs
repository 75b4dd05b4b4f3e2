//! The index as the files are now, with a progress bar where there is a terminal to draw it on.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tokio_util::sync::CancellationToken;

use super::output::{Failure, complain};
use crate::engine::update_knowledge;
use crate::kb::{KbError, KnowledgeBase, Phase, Progress, UpdateReport};

/// Before a question or a search: the index as the files are now.
///
/// While another process writes the index this goes on with what is there, and says so.
pub(super) async fn bring_up_to_date(
    knowledge: &Arc<KnowledgeBase>,
    cancel: &CancellationToken,
) -> Result<(), Failure> {
    match update(knowledge.clone(), false, cancel).await? {
        Ok(report) => warn_of_gaps(&report),
        Err(error @ KbError::Locked) => complain(&error.to_string()),
        Err(error) => return Err(Failure::failed(error)),
    }
    if knowledge.status().documents == 0 {
        complain("the knowledge base is empty: no text files were found in its folders");
    }
    Ok(())
}

/// Says in one line that the base is not all that the folders hold.
fn warn_of_gaps(report: &UpdateReport) {
    if let Some(first) = report.skipped.first() {
        complain(&format!(
            "{} left out, the first: {}: {}; 'kb-agent index' lists them all",
            files(report.skipped.len()),
            first.path,
            first.reason
        ));
    }
}

fn files(count: usize) -> String {
    if count == 1 {
        "1 file was".to_owned()
    } else {
        format!("{count} files were")
    }
}

/// Updates, or starts `afresh`. The outer error is an interruption.
pub(super) async fn update(
    knowledge: Arc<KnowledgeBase>,
    afresh: bool,
    cancel: &CancellationToken,
) -> Result<Result<UpdateReport, KbError>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let halt = stop.clone();
    let mut task = tokio::task::spawn_blocking(move || {
        let bar = std::io::stderr().is_terminal().then(Bar::new);
        let word = Word::default();
        let show = |progress| match &bar {
            Some(bar) => bar.show(progress),
            None => word.say(progress),
        };
        let result = if afresh {
            knowledge.rebuild(&show, &halt)
        } else {
            update_knowledge(&knowledge, &show, &halt)
        };
        if let Some(bar) = bar {
            bar.clear();
        }
        result
    });
    tokio::select! {
        result = &mut task => {
            result.map_err(|error| Failure::failed(format!("indexing broke off: {error}")))
        }
        () = cancel.cancelled() => {
            stop.store(true, Ordering::Relaxed);
            let _ = task.await;
            Err(Failure::interrupted())
        }
    }
}

/// One word to somebody who waits without a terminal, so that silence is not taken for a hang.
struct Word {
    begun: Instant,
    said: AtomicBool,
}

impl Default for Word {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            said: AtomicBool::new(false),
        }
    }
}

impl Word {
    const PATIENCE: Duration = Duration::from_secs(5);

    fn say(&self, progress: Progress) {
        let is_due = progress.phase == Phase::Embedding && self.begun.elapsed() > Self::PATIENCE;
        if is_due && !self.said.swap(true, Ordering::Relaxed) {
            complain(&format!(
                "embedding {} passages, which is done once; {} are left",
                progress.total,
                progress.total.saturating_sub(progress.done)
            ));
        }
    }
}

/// A bar that appears only when there is something to wait for.
struct Bar {
    bar: ProgressBar,
    begun: Instant,
}

impl Bar {
    const PATIENCE: Duration = Duration::from_millis(300);

    fn new() -> Self {
        let bar = ProgressBar::hidden();
        if let Ok(style) = ProgressStyle::with_template("{msg:9} [{bar:30}] {pos}/{len} {eta}") {
            bar.set_style(style.progress_chars("━━ "));
        }
        Self {
            bar,
            begun: Instant::now(),
        }
    }

    fn show(&self, progress: Progress) {
        if self.bar.is_hidden() {
            if self.begun.elapsed() < Self::PATIENCE {
                return;
            }
            self.bar
                .set_draw_target(indicatif::ProgressDrawTarget::stderr());
        }
        self.bar.set_message(match progress.phase {
            Phase::Reading => "reading",
            Phase::Embedding => "embedding",
        });
        self.bar.set_length(progress.total as u64);
        self.bar.set_position(progress.done as u64);
    }

    fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
