//! The index as the files are now, while its progress is shown.

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::output::{CommandFailure, print_notice};
use crate::engine::{embed_pending, embed_some, update_words};
use crate::kb::{KbError, KnowledgeBase, Phase, Progress, Skipped, UpdateReport};
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

// How far an update is and how long it still takes: a bar on a terminal, else a line now and then.
//
// What is said, and when, is decided by [`ProgressLog`], which is told the time.

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
    bar: Option<Bar>,
    begun: Instant,
    log: Mutex<ProgressLog>,
    closed: AtomicBool,
}

impl ProgressDisplay {
    pub fn new(form: ProgressForm) -> Self {
        let draws = form == ProgressForm::Bar && std::io::stderr().is_terminal();
        Self {
            bar: draws.then(Bar::new),
            begun: Instant::now(),
            log: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    pub fn show(&self, progress: Progress) {
        if self.closed.load(Ordering::Relaxed) {
            return;
        }
        let at = self.begun.elapsed();
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.add(progress, at);
        match &self.bar {
            Some(bar) => bar.show(&progress, log.describe(), at),
            None => {
                if let Some(line) = log.take_due_line() {
                    print_notice(&line);
                }
            }
        }
    }

    /// Ends the display: whatever still reports is not shown.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        if let Some(bar) = &self.bar {
            bar.0.finish_and_clear();
        }
    }
}

/// A bar that appears only when there is something to wait for.
struct Bar(ProgressBar);

impl Bar {
    const PATIENCE: Duration = Duration::from_millis(300);

    fn new() -> Self {
        let bar = ProgressBar::hidden();
        if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {msg}") {
            bar.set_style(style.progress_chars("━━ "));
        }
        Self(bar)
    }

    fn show(&self, progress: &Progress, message: String, at: Duration) {
        if self.0.is_hidden() {
            if at < Self::PATIENCE {
                return;
            }
            self.0.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.0.set_message(message);
        self.0.set_length(progress.total as u64);
        self.0.set_position(progress.done as u64);
    }
}

/// The reports of one phase as far as they matter: what was said last, and the pace of late.
#[derive(Debug, Default)]
struct ProgressLog {
    phase: Option<Phase>,
    begun: Duration,
    total: usize,
    /// When how much was done, over the last [`Self::WINDOW`].
    reports: VecDeque<(Duration, usize)>,
    last_line: Option<(Duration, usize)>,
}

impl ProgressLog {
    /// The first line comes after this long where there is no terminal: a shorter wait needs no word.
    const FIRST_LINE: Duration = Duration::from_secs(5);
    /// The next line comes after this long and after this share of the whole, whichever is later.
    const NEXT_LINE: Duration = Duration::from_secs(15);
    const NEXT_SHARE: usize = 10;
    /// The time left is told from the pace over so long …
    const WINDOW: Duration = Duration::from_secs(20);
    /// … and not before it was watched for so long.
    const LEAST_WINDOW: Duration = Duration::from_secs(1);

    fn add(&mut self, progress: Progress, at: Duration) {
        if self.phase != Some(progress.phase) {
            *self = Self {
                phase: Some(progress.phase),
                begun: at,
                ..Self::default()
            };
        }
        self.total = progress.total;
        self.reports.push_back((at, progress.done));
        while self.reports.len() > 2 && at.saturating_sub(self.reports[1].0) >= Self::WINDOW {
            self.reports.pop_front();
        }
    }

    fn done(&self) -> usize {
        self.reports.back().map_or(0, |(_, done)| *done)
    }

    /// Such as `embedded 400 of 1661 passages, about 2 min left`.
    fn describe(&self) -> String {
        let (verb, noun) = match self.phase {
            Some(Phase::Embedding) => ("embedded", "passage"),
            Some(Phase::Reading) | None => ("read", "file"),
        };
        let done = self.done();
        let total = plural(self.total, noun);
        let left = self.seconds_left().map(time_left).unwrap_or_default();
        format!("{verb} {done} of {total}{left}")
    }

    /// The line to print now, if it is time for one.
    fn take_due_line(&mut self) -> Option<String> {
        let (at, done) = *self.reports.back()?;
        let is_due = match self.last_line {
            None => at.saturating_sub(self.begun) >= Self::FIRST_LINE,
            Some((last_at, last_done)) => {
                at.saturating_sub(last_at) >= Self::NEXT_LINE
                    && done.saturating_sub(last_done) * Self::NEXT_SHARE >= self.total
            }
        };
        if !is_due || done >= self.total {
            return None;
        }
        self.last_line = Some((at, done));
        Some(self.describe())
    }

    fn seconds_left(&self) -> Option<f64> {
        let ((from, before), (to, done)) = (self.reports.front()?, self.reports.back()?);
        let (took, made) = (to.saturating_sub(*from), done.checked_sub(*before)?);
        let is_known = took >= Self::LEAST_WINDOW && made > 0;
        let left = self.total.checked_sub(*done).filter(|left| *left > 0)?;
        is_known.then(|| left as f64 * took.as_secs_f64() / made as f64)
    }
}

/// Rounded up, and no more exact than it can be known.
fn time_left(seconds: f64) -> String {
    let seconds = seconds.ceil().max(1.0) as u64;
    let minutes = seconds.div_ceil(60);
    match seconds {
        0..=55 => format!(", about {} s left", seconds.next_multiple_of(5)),
        56..=3600 => format!(", about {minutes} min left"),
        _ => {
            let minutes = minutes.next_multiple_of(10);
            format!(", about {} h {:02} min left", minutes / 60, minutes % 60)
        }
    }
}

#[cfg(test)]
mod progress_tests {
    use super::*;

    fn embedded(done: usize, total: usize) -> Progress {
        let phase = Phase::Embedding;
        Progress { phase, done, total }
    }

    /// What is printed for these reports: at which second, how much was done.
    fn lines(total: usize, reports: impl IntoIterator<Item = (u64, usize)>) -> Vec<String> {
        let mut log = ProgressLog::default();
        let printed = reports.into_iter().filter_map(|(at, done)| {
            log.add(embedded(done, total), Duration::from_secs(at));
            log.take_due_line().map(|line| format!("{at}: {line}"))
        });
        printed.collect()
    }

    #[test]
    fn a_line_comes_after_five_seconds_and_then_seldom() {
        // Short: nothing. Fast: every 15 s. Slow: every tenth. Stuck: once.
        assert!(lines(40, (0..5).map(|at| (at, 10 * at as usize))).is_empty());
        assert_eq!(
            lines(400, (0..=40).map(|at| (at, 10 * at as usize))),
            [
                "5: embedded 50 of 400 passages, about 35 s left",
                "20: embedded 200 of 400 passages, about 20 s left",
                "35: embedded 350 of 400 passages, about 5 s left",
            ]
        );
        assert_eq!(
            lines(1_000, (0..=250).map(|at| (at, at as usize))),
            [
                "5: embedded 5 of 1000 passages, about 17 min left",
                "105: embedded 105 of 1000 passages, about 15 min left",
                "205: embedded 205 of 1000 passages, about 14 min left",
            ]
        );
        assert_eq!(
            lines(80, [(0, 0), (9, 0), (100, 0)]),
            ["9: embedded 0 of 80 passages"]
        );
    }

    #[test]
    fn the_time_left_follows_the_pace_of_late() {
        let mut log = ProgressLog::default();
        let add = |log: &mut ProgressLog, at: u64, done: usize| {
            log.add(embedded(done, 1_000), Duration::from_secs(at));
            log.describe()
        };
        add(&mut log, 0, 0);
        let said = add(&mut log, 10, 500);
        assert_eq!(said, "embedded 500 of 1000 passages, about 10 s left");
        add(&mut log, 20, 501);
        add(&mut log, 30, 502);
        let said = add(&mut log, 40, 503);
        assert_eq!(said, "embedded 503 of 1000 passages, about 1 h 30 min left");
        let progress = Progress {
            phase: Phase::Reading,
            done: 1,
            total: 1,
        };
        log.add(progress, Duration::from_secs(41));
        assert_eq!(log.describe(), "read 1 of 1 file");
    }

    #[test]
    fn time_left_is_rounded_up() {
        for (seconds, said) in [
            (0.2, ", about 5 s left"),
            (41.0, ", about 45 s left"),
            (55.5, ", about 1 min left"),
            (61.0, ", about 2 min left"),
            (3_600.0, ", about 60 min left"),
            (3_700.0, ", about 1 h 10 min left"),
            (86_400.0, ", about 24 h 00 min left"),
        ] {
            assert_eq!(time_left(seconds), said, "{seconds}");
        }
    }
}
