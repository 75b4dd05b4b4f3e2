//! Documents for the person in front of the screen.
//!
//! The screen reads no file. It asks, beside its questions to the agent, and gets the lines around
//! the one it names: as the index reads them, bounded, and clean of what a terminal obeys.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::SendError;
use tokio::task::{self, JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::agent::ScopedCommand;
use crate::agent::ports::{ToolError, Toolbox};
use crate::config::Settings;
use crate::domain::{LineRange, PlaceUnit};
use crate::kb::{DocumentReader, Extraction, KnowledgeBase, WholeDocument};
use crate::protocol::{Command, DocumentPart, DocumentText, NoticeLevel, Timestamp, Update};
use crate::text::{one_line, sanitize};

use super::adding::CurrentBase;
use super::indexing::IndexTask;
use super::knowledge::document_reader;
use super::model_choice::ModelChooser;
use super::naming::{ScopeLookup, next_command};
use super::paths::PathLister;
use super::sessions::Task;
use super::statistics::StatisticsReader;

/// Who does what the screen wants.
pub(super) struct Receivers {
    pub(super) agent: mpsc::Sender<ScopedCommand>,
    /// Cancelled once a question is asked.
    pub(super) is_asked: CancellationToken,
    pub(super) sessions: mpsc::Sender<Task>,
    pub(super) index: mpsc::Sender<IndexTask>,
    pub(super) statistics: StatisticsReader,
    pub(super) paths: PathLister,
    pub(super) models: ModelChooser,
    /// Knows what a question may name.
    pub(super) tools: Arc<dyn Toolbox>,
}

/// Passes commands on and reads documents itself, until the commands end. Only the document that
/// was asked for last is read. The agent gets its commands in their order.
pub(super) async fn dispatch(
    mut commands: mpsc::Receiver<Command>,
    mut to: Receivers,
    updates: mpsc::Sender<Update>,
    knowledge: CurrentBase,
) {
    let mut reading: Option<PassageReading> = None;
    let mut next: Option<PassageRequest> = None;
    let mut naming: Option<ScopeLookup> = None;
    loop {
        tokio::select! {
            command = commands.recv() => match command {
                Some(Command::ReadDocument { source, line }) => {
                    if let Some(reading) = &reading {
                        reading.stop();
                    }
                    next = Some(PassageRequest { source, line });
                }
                Some(Command::Session(asked)) => {
                    if to.sessions.try_send(Task::Command(asked)).is_err() {
                        let message = "the sessions are still being read; try again".to_owned();
                        let level = NoticeLevel::Info;
                        let _ = updates.send(Update::Notice { level, message }).await;
                    }
                }
                Some(Command::AddSource(path)) => if to.index.send(IndexTask::Add(path)).await.is_err() {
                    break;
                },
                Some(Command::Index(asked)) => if to.index.send(IndexTask::Steer(asked)).await.is_err() {
                    break;
                },
                Some(Command::Model(asked)) => to.models.take(asked).await,
                Some(Command::ListPaths(typed)) => to.paths.list(typed),
                Some(Command::ReadStatistics) => to.statistics.read(),
                Some(Command::LeaveStatistics) => to.statistics.stop(),
                // Without an agent the screen is to know that nothing is taken any more.
                Some(other) => {
                    if matches!(other, Command::Ask { .. }) {
                        to.is_asked.cancel();
                    }
                    if other == Command::Forget {
                        let _ = to.sessions.try_send(Task::Begin);
                    }
                    let before = naming.take().map(ScopeLookup::unfinished);
                    let now = match ScopeLookup::begin(other, &to.tools) {
                        Ok(begun) => {
                            naming = Some(begun);
                            None
                        }
                        Err(other) => Some(other.into()),
                    };
                    if send(&to.agent, before.into_iter().chain(now)).await.is_err() {
                        break;
                    }
                }
                None => break,
            },
            named = next_command(&mut naming) => match named {
                Ok(asked) => if to.agent.send(asked).await.is_err() {
                    break;
                },
                Err(not_asked) => drop(updates.send(not_asked).await),
            },
            () = wait_for_end(&mut reading) => reading = None,
        }
        if reading.is_none() {
            let wanted = next.take();
            reading =
                wanted.map(|wanted| PassageReading::begin(&knowledge.get(), &updates, wanted));
        }
    }
    if let Some(last) = &reading {
        last.stop();
        wait_for_end(&mut reading).await;
    }
    to.statistics.end().await;
    to.paths.end().await;
    to.models.end().await;
}

/// Reads documents for a screen that nothing else goes on behind, until its commands end: those of
/// the knowledge base that the settings name, which is looked at when the first is asked for.
pub(super) async fn read_documents(
    settings: Settings,
    mut commands: mpsc::Receiver<Command>,
    updates: mpsc::Sender<Update>,
) {
    let settings = Arc::new(settings);
    let mut opened: Option<Arc<DocumentReader>> = None;
    while let Some(mut command) = commands.recv().await {
        // Only the one that was asked for last is still wanted.
        while let Ok(later) = commands.try_recv() {
            command = later;
        }
        let Command::ReadDocument { source, line } = command else {
            continue;
        };
        let (settings, known) = (Arc::clone(&settings), opened.take());
        let wanted = PassageRequest { source, line };
        let read = task::spawn_blocking(move || {
            let reader = known.map_or_else(|| document_reader(&settings).map(Arc::new), Ok);
            let read = document(wanted, |source| match &reader {
                Ok(reader) => reader.whole_document(source, &AtomicBool::new(false)),
                Err(error) => Err(ToolError::Failed(error.to_string())),
            });
            (read, reader.ok())
        });
        // A panic has been reported by the hook.
        let Ok((read, reader)) = read.await else {
            continue;
        };
        opened = reader;
        if updates.send(Update::Document(read)).await.is_err() {
            break;
        }
    }
}

async fn send(
    agent: &mpsc::Sender<ScopedCommand>,
    all: impl Iterator<Item = ScopedCommand>,
) -> Result<(), SendError<ScopedCommand>> {
    for asked in all {
        agent.send(asked).await?;
    }
    Ok(())
}

/// The document that is asked for.
struct PassageRequest {
    source: String,
    line: usize,
}

/// One document that is being read.
struct PassageReading {
    task: JoinHandle<()>,
    stop: Arc<AtomicBool>,
}

impl PassageReading {
    fn begin(
        knowledge: &Arc<KnowledgeBase>,
        updates: &mpsc::Sender<Update>,
        wanted: PassageRequest,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (knowledge, updates) = (Arc::clone(knowledge), updates.clone());
        let stopped = Arc::clone(&stop);
        let task = task::spawn_blocking(move || {
            let read = |source: &str| knowledge.whole_document(source, &stopped);
            let read = document(wanted, read);
            if !stopped.load(Ordering::SeqCst) {
                // A screen that is gone reads no more.
                let _ = updates.blocking_send(Update::Document(read));
            }
        });
        Self { task, stop }
    }

    /// What it reads is not wanted any more.
    fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }
}

/// The end of what is being read; never comes while nothing is.
async fn wait_for_end(reading: &mut Option<PassageReading>) {
    match reading {
        // A panic has been reported by the hook, and there is nothing left to send.
        Some(reading) => drop((&mut reading.task).await),
        None => std::future::pending().await,
    }
}

fn document(
    wanted: PassageRequest,
    read: impl FnOnce(&str) -> Result<WholeDocument, ToolError>,
) -> DocumentText {
    let PassageRequest { source, line } = wanted;
    let part = match read(&source) {
        Ok(whole) => Ok(around(&whole, line)),
        Err(ToolError::NotFound { .. } | ToolError::OutsideRoots { .. }) => {
            let name = one_line(&source, 200);
            Err(format!(
                "{name} is not in this knowledge base: removed, renamed or left out since, or of \
                 another one"
            ))
        }
        Err(error) => Err(one_line(&format!("cannot be read: {error}"), 400)),
    };
    DocumentText { source, line, part }
}

/// Cuts out as many lines around `line` as may be sent, half of them before it.
fn around(whole: &WholeDocument, line: usize) -> DocumentPart {
    let text = &whole.extraction.text;
    let lines: Vec<&str> = text.lines().collect();
    let at = line.saturating_sub(1).min(lines.len().saturating_sub(1));
    let half = DocumentPart::MOST_BYTES / 2;
    let within = |budget: usize| {
        let mut left = budget;
        move |line: &&&str| {
            let cost = line.len().min(4 * DocumentPart::LONGEST_LINE) + 1;
            let fits = cost <= left;
            left = left.saturating_sub(cost);
            fits
        }
    };
    let before = lines[..at].iter().rev().take_while(within(half)).count();
    let after = lines[at..].iter().take_while(within(half)).count();
    let (first, end) = (at - before, at + after);
    DocumentPart {
        first: first + 1,
        lines: lines[first..end].iter().map(|line| clean(line)).collect(),
        total: lines.len(),
        places: places(&whole.extraction, first + 1, end),
        missing: whole
            .extraction
            .missing
            .iter()
            .map(|line| clean(line))
            .collect(),
        modified: whole.modified.map(Timestamp::from_system_time),
        path: whole.is_lines.then(|| whole.path.clone()),
    }
}

fn clean(line: &str) -> String {
    let short = line
        .char_indices()
        .nth(DocumentPart::LONGEST_LINE)
        .map_or(line, |(end, _)| &line[..end]);
    let mut clean = sanitize(short).replace('\n', " ");
    if short.len() < line.len() {
        clean.push('…');
    }
    clean
}

/// What begins among these lines. Rows are counted by their lines; only their sheet is named.
fn places(extraction: &Extraction, first: usize, last: usize) -> Vec<(usize, String)> {
    let mut sheet = None;
    let mut named = Vec::new();
    for mark in &extraction.places {
        let name = if mark.place.unit == PlaceUnit::Row {
            if sheet.as_ref() == Some(&mark.place.name) {
                continue;
            }
            sheet = Some(mark.place.name.clone());
            match &mark.place.name {
                Some(name) => format!("sheet {name}"),
                None => continue,
            }
        } else {
            mark.place.to_string()
        };
        let line = mark.line;
        if (LineRange {
            start: first,
            end: last,
        })
        .overlaps(LineRange {
            start: line,
            end: line,
        }) {
            named.push((line, one_line(&name, 80)));
        }
    }
    named
}
