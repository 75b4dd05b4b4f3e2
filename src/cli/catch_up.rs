//! The index as the files are now, while its progress is shown.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::interruption::{LAST_STEP, blocking_work, unless_cancelled};
use super::output::{CommandFailure, print_notice};
use crate::engine::{embed_pending, embed_some, update_words};
use crate::kb::{KbError, KnowledgeBase, Phase, Progress, Skipped, UpdateReport};
use crate::text::{one_line, plural};

/// How long an answer waits for the meaning of what is new, once its words can be found.
const PATIENCE: Duration = Duration::from_secs(2);

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
    form: ProgressForm,
    cancel: &CancellationToken,
) -> Result<RemainingEmbedding, CommandFailure> {
    let words = update_showing(knowledge.clone(), UpdateStep::Lexical, form, cancel);
    let up_to_date = match words.await? {
        Ok(report) => {
            warn_of_gaps(&knowledge.new_among(&report.skipped));
            true
        }
        Err(error @ (KbError::Locked | KbError::ReadOnly)) => {
            print_notice(&error.notice());
            false
        }
        Err(error) => return Err(error.into()),
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
    embed_for_a_while(knowledge, form, cancel).await
}

async fn embed_for_a_while(
    knowledge: &Arc<KnowledgeBase>,
    form: ProgressForm,
    cancel: &CancellationToken,
) -> Result<RemainingEmbedding, CommandFailure> {
    // It goes on beside an answer, whose end is its end.
    let end = CancellationToken::new();
    let shown = Arc::new(ProgressDisplay::new(form));
    let mut task = {
        let (knowledge, end, shown) = (knowledge.clone(), end.clone(), shown.clone());
        tokio::task::spawn_blocking(move || {
            let show = |progress: Progress| shown.show(&progress);
            embed_some(&knowledge, &show, &end, &end).map(|_| ())
        })
    };
    let waited = unless_cancelled(cancel, timeout(PATIENCE, &mut task)).await;
    shown.close();
    let mut remaining = RemainingEmbedding::default();
    match waited {
        Ok(Ok(Ok(Ok(())))) => {}
        Ok(Ok(Ok(Err(error @ KbError::Embed(_))))) => {
            print_notice(&format!("{error}; passages are found by their words only"));
            remaining.failed = true;
        }
        Ok(Ok(Ok(Err(error)))) => print_notice(&error.to_string()),
        Ok(Ok(Err(error))) => {
            let why = format!("embedding broke off: {error}");
            return Err(CommandFailure::failed(why));
        }
        Ok(Err(_)) => {
            if let Some(line) = knowledge.status().incomplete() {
                print_notice(&format!("{line}; 'kb-agent index' finishes it"));
            }
            remaining.going_on = Some(EmbeddingTask { end, task });
        }
        Err(interrupted) => {
            remaining.going_on = Some(EmbeddingTask { end, task });
            remaining.end().await;
            return Err(interrupted);
        }
    }
    Ok(remaining)
}

/// What is still being embedded beside an answer.
#[derive(Default)]
pub(super) struct RemainingEmbedding {
    going_on: Option<EmbeddingTask>,
    failed: bool,
}

struct EmbeddingTask {
    end: CancellationToken,
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
        if let Some(EmbeddingTask { end, task }) = self.going_on {
            end.cancel();
            let _ = timeout(LAST_STEP, task).await;
        }
    }
}

/// Says in one line that the base is not all that the folders hold.
pub(super) fn warn_of_gaps(skipped: &[Skipped]) {
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

/// The words and the meaning of all files as they are now; `false` where another process holds them, so that what is
/// there is searched as it is.
pub(super) async fn update_all(
    knowledge: &Arc<KnowledgeBase>,
    cancel: &CancellationToken,
) -> Result<bool, CommandFailure> {
    for step in [UpdateStep::Lexical, UpdateStep::Dense] {
        match update(knowledge.clone(), step, cancel).await? {
            Ok(_) => {}
            Err(error @ (KbError::Locked | KbError::ReadOnly)) => {
                print_notice(&error.notice());
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

/// The same, and an error where another process holds the index.
pub(super) async fn update_wholly(
    knowledge: &Arc<KnowledgeBase>,
    cancel: &CancellationToken,
) -> Result<(), CommandFailure> {
    if update_all(knowledge, cancel).await? {
        return Ok(());
    }
    let why = "nothing is measured over an index that is not up to date: try again when it is";
    Err(CommandFailure::failed(why))
}

async fn update_showing(
    knowledge: Arc<KnowledgeBase>,
    part: UpdateStep,
    form: ProgressForm,
    cancel: &CancellationToken,
) -> Result<Result<UpdateReport, KbError>, CommandFailure> {
    let work = move |cancel: &CancellationToken| {
        let shown = ProgressDisplay::new(form);
        let show = |progress: Progress| shown.show(&progress);
        let result = match part {
            UpdateStep::Lexical => update_words(&knowledge, &show, cancel),
            UpdateStep::Dense => embed_pending(&knowledge, &show, cancel),
            UpdateStep::Rebuild => knowledge.rebuild_words(&show, cancel),
        };
        shown.close();
        result
    };
    blocking_work("indexing", work, cancel).await
}

// How far an update is and how long it still takes: a bar on a terminal, else a line now and then.

/// How progress is shown on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgressForm {
    /// A bar that is drawn again and again.
    Bar,
    /// Lines that stay.
    Lines,
}

/// Shows the progress of one update to whoever waits for it.
pub(super) struct ProgressDisplay {
    /// Counts and estimates; drawn where there is something to wait for.
    bar: ProgressBar,
    /// Whether there is a terminal to draw it on.
    draws: bool,
    begun: Instant,
    phase: Mutex<Option<(Phase, LinePace)>>,
}

impl ProgressDisplay {
    /// A shorter wait needs no bar.
    const PATIENCE: Duration = Duration::from_millis(300);

    pub fn new(form: ProgressForm) -> Self {
        let bar = ProgressBar::hidden();
        if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {msg}") {
            bar.set_style(style.progress_chars("━━ "));
        }
        Self {
            bar,
            draws: form == ProgressForm::Bar && io::stderr().is_terminal(),
            begun: Instant::now(),
            phase: Mutex::default(),
        }
    }

    pub fn show(&self, progress: &Progress) {
        if self.bar.is_finished() {
            return;
        }
        let at = self.begun.elapsed();
        let mut phase = self.phase.lock();
        let known = phase.take().filter(|(phase, _)| *phase == progress.phase);
        let (_, pace) = phase.insert(known.unwrap_or_else(|| {
            self.bar.reset();
            (progress.phase, LinePace::begin(at))
        }));
        self.bar.set_length(progress.total as u64);
        self.bar.set_position(progress.done as u64);
        let line = self.describe(progress);
        if self.draws {
            if self.bar.is_hidden() && at >= Self::PATIENCE {
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            self.bar.set_message(line);
        } else if pace.is_due(at, progress) {
            print_notice(&line);
        }
    }

    /// Ends the display: whatever still reports is not shown.
    pub fn close(&self) {
        self.bar.finish_and_clear();
    }

    /// Such as `embedded 400 of 1661 passages, about 2 minutes left`.
    fn describe(&self, progress: &Progress) -> String {
        let (verb, noun) = match progress.phase {
            Phase::Embedding => ("embedded", "passage"),
            Phase::Reading => ("read", "file"),
        };
        let left = Some(self.bar.eta()).filter(|left| left.as_secs() > 0);
        let left = left.map(|left| format!(", about {} left", HumanDuration(left)));
        format!(
            "{verb} {} of {}{}",
            progress.done,
            plural(progress.total, noun),
            left.unwrap_or_default()
        )
    }
}

/// When a line is due where nothing is drawn.
#[derive(Debug)]
struct LinePace {
    next: Duration,
    /// How much was done at the last line.
    done: Option<usize>,
}

impl LinePace {
    /// The first line comes after this long: a shorter wait needs no word.
    const FIRST_LINE: Duration = Duration::from_secs(5);
    /// The next line comes after this long and after this share of the whole, whichever is later.
    const NEXT_LINE: Duration = Duration::from_secs(15);
    const NEXT_SHARE: usize = 10;

    fn begin(at: Duration) -> Self {
        Self {
            next: at + Self::FIRST_LINE,
            done: None,
        }
    }

    /// Whether a line is due, which then counts as printed.
    fn is_due(&mut self, at: Duration, progress: &Progress) -> bool {
        let Progress { done, total, .. } = *progress;
        let is_enough = |last: usize| done.saturating_sub(last) * Self::NEXT_SHARE >= total;
        let is_due = at >= self.next && done < total && self.done.is_none_or(is_enough);
        if is_due {
            self.next = at + Self::NEXT_LINE;
            self.done = Some(done);
        }
        is_due
    }
}

#[cfg(test)]
mod progress_tests {
    use super::*;

    /// The seconds at which a line is printed for these reports.
    fn lines(total: usize, reports: impl IntoIterator<Item = (u64, usize)>) -> Vec<u64> {
        let mut pace = LinePace::begin(Duration::ZERO);
        let due = reports.into_iter().filter_map(|(at, done)| {
            let phase = Phase::Embedding;
            let progress = Progress { phase, done, total };
            pace.is_due(Duration::from_secs(at), &progress)
                .then_some(at)
        });
        due.collect()
    }

    #[test]
    fn a_line_comes_after_five_seconds_and_then_seldom() {
        // Short: nothing. Fast: every 15 s. Slow: every tenth. Stuck: once.
        assert!(lines(40, (0..5).map(|at| (at, 10 * at as usize))).is_empty());
        let fast = lines(400, (0..=40).map(|at| (at, 10 * at as usize)));
        assert_eq!(fast, [5, 20, 35]);
        let slow = lines(1_000, (0..=250).map(|at| (at, at as usize)));
        assert_eq!(slow, [5, 105, 205]);
        assert_eq!(lines(80, [(0, 0), (9, 0), (100, 0)]), [9]);
    }

    #[test]
    fn a_line_says_how_much_is_done() {
        let shown = ProgressDisplay::new(ProgressForm::Lines);
        let mut progress = Progress {
            phase: Phase::Reading,
            done: 1,
            total: 1,
        };
        assert_eq!(shown.describe(&progress), "read 1 of 1 file");
        progress.phase = Phase::Embedding;
        progress.total = 3;
        assert_eq!(shown.describe(&progress), "embedded 1 of 3 passages");
    }
}
