use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::output::{Failure, complain, say, say_json};
use crate::config::Settings;
use crate::engine::{open_knowledge, update_knowledge};
use crate::kb::embed::SentenceEmbedding;
use crate::kb::{KbError, KnowledgeBase, Phase, Progress, UpdateReport};
use crate::text::sanitize;

/// Arguments of `index`.
#[derive(Debug, Args)]
pub(super) struct Index {
    /// Start from nothing instead of updating
    #[arg(long)]
    rebuild: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Builds or updates the index and says what is in it.
pub(super) fn run(index: &Index, settings: &Settings) -> Result<(), Failure> {
    settings
        .without_effect
        .iter()
        .for_each(|line| complain(line));
    let knowledge = open_knowledge(settings, Arc::new(SentenceEmbedding::new()))?;
    let runtime = tokio::runtime::Runtime::new().map_err(Failure::failed)?;
    let cancel = CancellationToken::new();
    let interrupted = cancel.clone();
    runtime.spawn(async move {
        interruption().await;
        interrupted.cancel();
    });
    let started = Instant::now();
    let knowledge = Arc::new(knowledge);
    let report = runtime
        .block_on(update(knowledge.clone(), index.rebuild, &cancel))?
        .map_err(Failure::failed)?;
    let name = knowledge.status().name;
    if index.json {
        say_json(&as_json(&name, &report, started.elapsed()))?;
    } else {
        say(as_text(&name, &report, started.elapsed()))?;
    }
    Ok(())
}

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

/// Updates with a progress bar, where there is a terminal to draw it on. The outer error is an
/// interruption.
async fn update(
    knowledge: Arc<KnowledgeBase>,
    afresh: bool,
    cancel: &CancellationToken,
) -> Result<Result<UpdateReport, KbError>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let halt = stop.clone();
    let mut task = tokio::task::spawn_blocking(move || {
        let bar = std::io::stderr().is_terminal().then(Bar::new);
        let show = |progress| {
            if let Some(bar) = &bar {
                bar.show(progress);
            }
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

/// Waits until the user or the system asks the program to stop.
pub(super) async fn interruption() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
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

fn as_text(name: &str, report: &UpdateReport, took: Duration) -> String {
    let mut text = format!(
        "{}: {} documents, {} chunks; {} added, {} changed, {} removed, {} unchanged; {} embedded in {:.1} s\n",
        sanitize(name),
        report.documents,
        report.chunks,
        report.added,
        report.changed,
        report.removed,
        report.unchanged,
        report.embedded,
        took.as_secs_f64()
    );
    for skipped in &report.skipped {
        text.push_str(&format!(
            "left out: {}: {}\n",
            sanitize(&skipped.path),
            skipped.reason
        ));
    }
    text
}

fn as_json(name: &str, report: &UpdateReport, took: Duration) -> serde_json::Value {
    let skipped: Vec<_> = report
        .skipped
        .iter()
        .map(|skipped| json!({"path": skipped.path, "reason": skipped.reason.to_string()}))
        .collect();
    json!({
        "name": name,
        "documents": report.documents,
        "chunks": report.chunks,
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "unchanged": report.unchanged,
        "embedded": report.embedded,
        "skipped": skipped,
        "ms": took.as_millis() as u64,
    })
}
