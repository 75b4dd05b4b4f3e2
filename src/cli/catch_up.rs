//! The index as the files are now, while its progress is shown.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::output::{CommandFailure, print_notice};
use super::progress::{ProgressDisplay, ProgressForm};
use crate::engine::{embed_pending, embed_some, update_words};
use crate::kb::{KbError, KnowledgeBase, Skipped, UpdateReport};
use crate::text::{one_line, plural};

/// How long an answer waits for the meaning of what is new, once its words can be found.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a step that is under way has for its end once it was asked to stop.
pub(super) const LAST_STEP: Duration = Duration::from_secs(1);

/// What an answer is going to be looked up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchNeeds {
    Lexical,
    Dense,
}

/// Before a question or a search: the words of the files as they are now, and as much of their
/// meaning as a short wait allows. The rest goes on beside the answer.
///
/// While another process writes the index this goes on with what is there, and says so.
pub(super) async fn bring_up_to_date(
    knowledge: &Arc<KnowledgeBase>,
    needs: SearchNeeds,
    cancel: &CancellationToken,
) -> Result<RemainingEmbedding, CommandFailure> {
    bring_up_to_date_showing(knowledge, needs, ProgressForm::Bar, cancel).await
}

/// [`bring_up_to_date`], which by progress that way.
pub(super) async fn bring_up_to_date_showing(
    knowledge: &Arc<KnowledgeBase>,
    needs: SearchNeeds,
    by: ProgressForm,
    cancel: &CancellationToken,
) -> Result<RemainingEmbedding, CommandFailure> {
    let up_to_date =
        match update_showing(knowledge.clone(), UpdateStep::Lexical, by, cancel).await? {
            Ok(report) => {
                warn_of_gaps(&knowledge.new_among(&report.skipped));
                true
            }
            Err(error @ (KbError::Locked | KbError::ReadOnly)) => {
                print_notice(&error.notice());
                false
            }
            Err(error) => return Err(CommandFailure::failed(error)),
        };
    let status = knowledge.status();
    if status.documents == 0 {
        match knowledge.shared_store().filter(|_| !knowledge.has_files()) {
            Some(shared) => print_notice(&format!(
                "the store has nothing in a space '{}': see to its name in KB_AGENT_STORE_URL; \
                 `kb-agent store status` lists the spaces",
                one_line(&shared.space, 100)
            )),
            None => {
                print_notice(
                    "the knowledge base is empty: no files that can be read were found in its folders",
                );
            }
        }
    }
    if !up_to_date || needs == SearchNeeds::Lexical || status.pending == 0 {
        return Ok(RemainingEmbedding::default());
    }
    embed_for_a_while(knowledge, by, cancel).await
}

async fn embed_for_a_while(
    knowledge: &Arc<KnowledgeBase>,
    by: ProgressForm,
    cancel: &CancellationToken,
) -> Result<RemainingEmbedding, CommandFailure> {
    let stop = Arc::new(AtomicBool::new(false));
    let shown = Arc::new(ProgressDisplay::new(by));
    let mut task = {
        let (knowledge, stop, shown) = (knowledge.clone(), stop.clone(), shown.clone());
        tokio::task::spawn_blocking(move || {
            let show = |progress| shown.show(progress);
            embed_some(&knowledge, &show, &stop, &stop).map(|_| ())
        })
    };
    let finished = tokio::select! {
        result = &mut task => Some(result),
        () = tokio::time::sleep(PATIENCE) => None,
        () = cancel.cancelled() => {
            stop.store(true, Ordering::Relaxed);
            let _ = tokio::time::timeout(LAST_STEP, task).await;
            return Err(CommandFailure::interrupted());
        }
    };
    shown.close();
    match finished {
        Some(Ok(Ok(()))) => Ok(RemainingEmbedding::default()),
        Some(Ok(Err(error @ KbError::Embed(_)))) => {
            print_notice(&format!("{error}; passages are found by their words only"));
            Ok(RemainingEmbedding {
                failed: true,
                ..RemainingEmbedding::default()
            })
        }
        Some(Ok(Err(error))) => {
            print_notice(&error.to_string());
            Ok(RemainingEmbedding::default())
        }
        Some(Err(error)) => Err(CommandFailure::failed(format!(
            "embedding broke off: {error}"
        ))),
        None => {
            if let Some(line) = knowledge.status().incomplete() {
                print_notice(&format!("{line}; 'kb-agent index' finishes it"));
            }
            Ok(RemainingEmbedding {
                going_on: Some(EmbeddingTask { stop, task }),
                failed: false,
            })
        }
    }
}

/// What is still being embedded beside an answer.
#[derive(Default)]
pub(super) struct RemainingEmbedding {
    going_on: Option<EmbeddingTask>,
    failed: bool,
}

struct EmbeddingTask {
    stop: Arc<AtomicBool>,
    task: JoinHandle<Result<(), KbError>>,
}

impl RemainingEmbedding {
    /// Whether it has been said that not every passage is found by its meaning.
    pub(super) fn has_warned(&self) -> bool {
        self.failed || self.going_on.is_some()
    }

    /// Whether it has been said that it failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Stops it; what is done is kept.
    pub(super) async fn end(self) {
        if let Some(EmbeddingTask { stop, task }) = self.going_on {
            stop.store(true, Ordering::Relaxed);
            let _ = tokio::time::timeout(LAST_STEP, task).await;
        }
    }
}

/// Says in one line that the base is not all that the folders hold.
fn warn_of_gaps(skipped: &[Skipped]) {
    if let Some(first) = skipped.first() {
        print_notice(&format!(
            "{} {} left out, the first: {}: {}; 'kb-agent index' lists them all",
            plural(skipped.len(), "file"),
            if skipped.len() == 1 { "was" } else { "were" },
            first.path,
            first.reason
        ));
    }
}

/// How much of an update.
#[derive(Debug, Clone, Copy)]
pub(super) enum UpdateStep {
    /// The lexical index.
    Lexical,
    /// Embeddings of chunks that have no vector yet.
    Dense,
    /// The lexical index, from nothing.
    Rebuild,
}

/// Does that part with a progress bar. The outer error is an interruption.
pub(super) async fn update(
    knowledge: Arc<KnowledgeBase>,
    part: UpdateStep,
    cancel: &CancellationToken,
) -> Result<Result<UpdateReport, KbError>, CommandFailure> {
    update_showing(knowledge, part, ProgressForm::Bar, cancel).await
}

async fn update_showing(
    knowledge: Arc<KnowledgeBase>,
    part: UpdateStep,
    by: ProgressForm,
    cancel: &CancellationToken,
) -> Result<Result<UpdateReport, KbError>, CommandFailure> {
    let stop = Arc::new(AtomicBool::new(false));
    let halt = stop.clone();
    let mut task = tokio::task::spawn_blocking(move || {
        let shown = ProgressDisplay::new(by);
        let show = |progress| shown.show(progress);
        let result = match part {
            UpdateStep::Lexical => update_words(&knowledge, &show, &halt),
            UpdateStep::Dense => embed_pending(&knowledge, &show, &halt),
            UpdateStep::Rebuild => knowledge.rebuild_words(&show, &halt),
        };
        shown.close();
        result
    });
    tokio::select! {
        result = &mut task => {
            result.map_err(|error| CommandFailure::failed(format!("indexing broke off: {error}")))
        }
        () = cancel.cancelled() => {
            stop.store(true, Ordering::Relaxed);
            // What is under way may still be kept; a folder that does not answer is left behind.
            let _ = tokio::time::timeout(LAST_STEP, task).await;
            Err(CommandFailure::interrupted())
        }
    }
}
