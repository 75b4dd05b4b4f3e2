//! Recorded conversations behind the screen: listed, gone on with, named, written to a file.
//!
//! All of it is made from the audit log. The screen reads no file: it asks here, beside its
//! questions to the agent, and what takes time holds up neither.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::adding::{CurrentBase, expanded};
use crate::agent::{CurrentDialogue, Dialogue};
use crate::audit::{Labels, Lookup, ReadError, Session, SessionNotes};
use crate::domain::{Outcome, without_limits, written_part};
use crate::files::{create_private_dir, private, write_atomic};
use crate::kb::KnowledgeBase;
use crate::protocol::{
    Event, EventBody, Label, LabelChange, NoticeLevel, QuestionPlace, RecordedAnswer,
    RecordedSession, RunId, RunSummary, SessionCommand, SessionSummary, SessionUpdate, Timestamp,
    Update,
};
use crate::report;
use crate::text::{OrTrouble, Trouble, one_line};

/// More runs of one conversation are not shown again.
const MOST_RUNS: usize = 200;
/// So many conversations are listed, the newest.
const MOST_LISTED: usize = 5000;
/// So many questions can be recalled, the newest.
const MOST_QUESTIONS: usize = 2000;
/// More of an answer is not searched, bytes.
const LONGEST_ANSWER: usize = 4_000;
/// The longest name that is made from a question, bytes.
const LONGEST_FILE_NAME: usize = 60;
/// A path is shown up to this length.
const LONGEST_PATH: usize = 120;
/// The longest name of a conversation, in characters.
const LONGEST_NAME: usize = 80;
/// What is said first where an answer cannot be kept.
const NOT_KEPT: &str = "the answer is not kept";

/// Which conversation to go on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    /// The one in which something was asked last.
    Last,
    /// The one that is called so, or that has the run that is called so.
    Named(String),
}

/// A conversation that goes on: what is shown of it, what the agent knows of it, and the sign for
/// other processes that it is open here.
pub(super) struct Resumed {
    pub(super) recorded: RecordedSession,
    pub(super) dialogue: Dialogue,
    pub(super) session: Session,
    /// What is to be said of it, one line each: that it was asked over other documents.
    pub(super) remarks: Vec<String>,
}

/// Takes up a recorded conversation; an error is one line.
pub(super) fn resume(
    log: &Path,
    which: &Resume,
    knowledge: &KnowledgeBase,
) -> Result<Resumed, Trouble> {
    let lookup = Lookup::open(log)?;
    // Nothing is added to it from elsewhere while it is read.
    let ((id, shown), session, skipped) = match which {
        Resume::Named(name) => {
            let (id, shown) = lookup.conversation(name)?;
            let session = Session::take_up(log, &id);
            ((id, shown), session, 0)
        }
        Resume::Last => {
            let (id, session, skipped) = take_up_last(&lookup, log)?;
            ((id, None), session, skipped)
        }
    };
    let cannot = || {
        let name = lookup.short_name(&id).unwrap_or_default();
        format!("the conversation {name} cannot be resumed")
    };
    let session = session.trouble(cannot())?;
    let runs: Vec<&RunSummary> = lookup.runs().iter().filter(|r| r.session == id).collect();
    let left_out = runs.len().saturating_sub(MOST_RUNS);
    let events = lookup.events(&runs[left_out..])?;
    let (labels, complaint) = Labels::read_or_complain(log);
    let notes = SessionNotes::read(log).unwrap_or_default();
    if notes.is_hidden(&id) {
        SessionNotes::hide(log, &id, false).trouble(cannot())?;
    }
    Ok(Resumed {
        dialogue: dialogue_of_runs(&id, &events),
        remarks: newer_are_open(skipped)
            .into_iter()
            .chain(other_documents(&events, knowledge))
            .chain(complaint)
            .collect(),
        recorded: RecordedSession {
            name: notes.name(&id).map(str::to_owned),
            id,
            labels: labels.of_runs(runs[left_out..].iter().map(|run| &run.id)),
            events,
            left_out,
            shown,
        },
        session,
    })
}

/// Takes up the newest conversation that is not open elsewhere, or fails with the newest; tells how many
/// newer ones are.
fn take_up_last(
    lookup: &Lookup<'_>,
    log: &Path,
) -> Result<(String, io::Result<Session>, usize), String> {
    let none = || format!("no conversation is recorded in {} yet", log.display());
    let mut first = None;
    for (skipped, summary) in listed(lookup, log).into_iter().enumerate() {
        let session = Session::take_up(log, &summary.id);
        let is_open = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
        if !session.as_ref().is_err_and(is_open) {
            return Ok((summary.id, session, skipped));
        }
        first.get_or_insert((summary.id, session, 0));
    }
    first.ok_or_else(none)
}

fn newer_are_open(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some(
            "The last conversation is open in another kb-agent; this is the one before.".to_owned(),
        ),
        _ => Some(format!(
            "The last {count} conversations are open in other kb-agents; this is the one before."
        )),
    }
}

/// What is to be said where the documents that were found then are not in the knowledge base that is
/// open now.
fn other_documents(events: &[Event], knowledge: &KnowledgeBase) -> Option<String> {
    let found = events.iter().filter_map(|event| match &event.body {
        EventBody::EvidenceAdded { items } => Some(items),
        _ => None,
    });
    let found: BTreeSet<&str> = found.flatten().map(|item| item.source.as_str()).collect();
    let is_missing = |source: &&&str| knowledge.resolve(source).is_err();
    let missing: Vec<&str> = found.iter().filter(is_missing).copied().collect();
    // One document has several names where folders came to the base meanwhile.
    let there = found
        .iter()
        .filter_map(|source| knowledge.resolve(source).ok());
    let all = missing.len() + there.collect::<BTreeSet<_>>().len();
    let first = one_line(missing.first()?, LONGEST_PATH);
    let base = one_line(knowledge.name(), LONGEST_PATH);
    Some(match missing.len() {
        missing if missing == all => format!(
            "{base} holds none of the {all} documents that it found, such as {first}: was it asked \
             over another knowledge base?"
        ),
        missing => format!(
            "Not in {base} now: {missing} of the {all} documents that it found, such as {first}."
        ),
    })
}

/// What was said in runs that went their whole way.
fn dialogue_of_runs(session: &str, events: &[Event]) -> Dialogue {
    let mut dialogue = Dialogue::new(session);
    let mut asked: Option<(RunId, QuestionPlace, String)> = None;
    let mut answer = None;
    for event in events {
        match &event.body {
            EventBody::RunStarted { query, place, .. } => {
                dialogue.begin(&event.run, place);
                asked = Some((event.run.clone(), place.clone(), query.clone()));
                answer = None;
            }
            EventBody::AnswerFinished {
                text,
                quotation_from,
                ..
            } => answer = Some(written_part(text, *quotation_from)),
            EventBody::RunFinished { outcome, .. } if outcome.is_complete() => {
                if let (Some((run, place, query)), Some(text)) = (asked.take(), answer) {
                    dialogue.remember(run, place, without_limits(&query), text);
                }
            }
            _ => {}
        }
    }
    dialogue
}

/// The conversations that lists show, the newest first.
fn listed(lookup: &Lookup<'_>, log: &Path) -> Vec<SessionSummary> {
    let notes = SessionNotes::read(log).unwrap_or_default();
    let mut sessions = SessionSummary::group_runs(lookup.runs());
    let is_named = |session: &SessionSummary| notes.name(&session.id).is_some();
    sessions.retain(|session| {
        !notes.is_hidden(&session.id) && (!session.is_single || is_named(session))
    });
    sessions.truncate(MOST_LISTED);
    for session in &mut sessions {
        session.name = notes.name(&session.id).map(str::to_owned);
    }
    sessions
}

/// What was asked, each question once, the newest last.
fn questions(lookup: &Lookup<'_>, log: &Path) -> Vec<String> {
    let notes = SessionNotes::read(log).unwrap_or_default();
    let mut known = std::collections::HashSet::new();
    let shown = lookup.runs().iter().rev();
    let shown = shown.filter(|run| !notes.is_hidden(&run.session));
    let mut questions: Vec<String> = shown
        .filter(|run| known.insert(run.question.as_str()))
        .take(MOST_QUESTIONS)
        .map(|run| run.question.clone())
        .collect();
    questions.reverse();
    questions
}

/// The answers of conversations that lists show, the newest first.
fn answers(log: &Path) -> Result<Vec<RecordedAnswer>, ReadError> {
    let lookup = Lookup::open(log)?;
    let notes = SessionNotes::read(log).unwrap_or_default();
    let answered = |run: &&RunSummary| {
        run.outcome == Some(Outcome::Answered) && !notes.is_hidden(&run.session)
    };
    let newest = lookup.runs().iter().rev().filter(answered);
    let mut texts = lookup.answers()?;
    let known = newest.take(MOST_QUESTIONS).filter_map(|run| {
        let mut text = texts.remove(&run.id)?;
        text.truncate(text.floor_char_boundary(LONGEST_ANSWER));
        Some(RecordedAnswer {
            run: run.id.clone(),
            time: run.time,
            question: run.question.clone(),
            text,
        })
    });
    Ok(known.collect())
}

/// A question as the name of a file: its first words, with dashes between them.
fn file_name(question: &str) -> String {
    let words = question.split(|c: char| !c.is_alphanumeric());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let mut name = words.join("-");
    name.truncate(name.floor_char_boundary(LONGEST_FILE_NAME));
    match name.trim_end_matches('-') {
        "" => "answer".to_owned(),
        name => name.to_owned(),
    }
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum Task {
    /// What the screen asks.
    Command(SessionCommand),
    /// A conversation begins: what was said so far is forgotten.
    Begin,
    /// A run is judged.
    Label(LabelChange),
}

/// Does what the screen asks about conversations, one thing after the other.
pub(super) struct Sessions {
    pub(super) log: PathBuf,
    /// The folder of what is exported.
    pub(super) exports: PathBuf,
    pub(super) live: Arc<Mutex<Session>>,
    pub(super) dialogue: CurrentDialogue,
    pub(super) knowledge: CurrentBase,
    pub(super) updates: mpsc::Sender<Update>,
}

impl Sessions {
    /// Works until the tasks end; blocks.
    pub(super) fn run(self, mut tasks: mpsc::Receiver<Task>) {
        // Not before the first question of this conversation is asked is it one of them.
        if let Ok(lookup) = Lookup::open(&self.log) {
            let questions = questions(&lookup, &self.log);
            if !questions.is_empty() {
                self.send(SessionUpdate::Questions(questions));
            }
        }
        while let Some(task) = tasks.blocking_recv() {
            let done = match task {
                Task::Begin => self.begin(),
                Task::Label(change) => {
                    self.label(change);
                    Ok(())
                }
                Task::Command(SessionCommand::List) => self.list(),
                Task::Command(SessionCommand::Resume(id)) => {
                    self.resume(id);
                    Ok(())
                }
                Task::Command(SessionCommand::Rename { session, name }) => {
                    self.rename(&session, &name)
                }
                Task::Command(SessionCommand::Hide(id)) => self.hide(&id),
                Task::Command(SessionCommand::Export(id)) => self.export(&id),
                Task::Command(SessionCommand::SaveAnswer { run, path }) => self.save(&run, &path),
                Task::Command(SessionCommand::ListAnswers) => {
                    let known = answers(&self.log).map_err(|error| error.to_string());
                    self.send(SessionUpdate::Answers(known));
                    Ok(())
                }
            };
            if let Err(trouble) = done {
                self.notice(NoticeLevel::Warning, trouble.to_string());
            }
        }
    }

    fn list(&self) -> Result<(), Trouble> {
        let lookup = match Lookup::open(&self.log) {
            Ok(lookup) => lookup,
            Err(error) => {
                self.send(SessionUpdate::Listed(Err(error.to_string())));
                return Ok(());
            }
        };
        let mut sessions = listed(&lookup, &self.log);
        let current = self.dialogue.lock().session().to_owned();
        for session in &mut sessions {
            session.is_current = session.id == current;
        }
        self.send(SessionUpdate::Listed(Ok(sessions)));
        // A list without the names is still one.
        SessionNotes::read(&self.log).trouble("the names of sessions")?;
        Ok(())
    }

    fn resume(&self, id: String) {
        match resume(&self.log, &Resume::Named(id), &self.knowledge.get()) {
            Ok(resumed) => {
                *self.dialogue.lock() = resumed.dialogue;
                self.hold(resumed.session);
                self.send(SessionUpdate::Resumed(resumed.recorded));
                if !resumed.remarks.is_empty() {
                    self.notice(NoticeLevel::Warning, resumed.remarks.join(" · "));
                }
            }
            Err(trouble) => self.send(SessionUpdate::NotResumed(trouble.to_string())),
        }
    }

    fn begin(&self) -> Result<(), Trouble> {
        let session = Session::begin_another(&self.log)
            .trouble("the next questions are recorded in the same conversation")?;
        *self.dialogue.lock() = Dialogue::new(session.id());
        self.hold(session);
        Ok(())
    }

    fn label(&self, change: LabelChange) {
        let label = Label {
            ts: Timestamp::now(),
            run: change.run.clone(),
            target: change.target.clone(),
            verdict: change.verdict,
        };
        if let Err(error) = Labels::append(&self.log, &label) {
            let reason = error.to_string();
            let update = Update::NotLabelled { change, reason };
            // A screen that is gone shows nothing.
            let _ = self.updates.blocking_send(update);
        }
    }

    fn rename(&self, session: &str, name: &str) -> Result<(), Trouble> {
        let name = one_line(name.trim(), LONGEST_NAME);
        let name = Some(name.as_str()).filter(|name| !name.is_empty());
        SessionNotes::rename(&self.log, session, name).trouble("the session is not renamed")?;
        self.list()
    }

    fn hide(&self, session: &str) -> Result<(), Trouble> {
        SessionNotes::hide(&self.log, session, true).trouble("the session stays in the list")?;
        self.list()
    }

    fn export(&self, session: &str) -> Result<(), Trouble> {
        const CANNOT: &str = "the session is not exported";
        let lookup = Lookup::open(&self.log).trouble(CANNOT)?;
        let runs: Vec<&RunSummary> = lookup
            .runs()
            .iter()
            .filter(|run| run.session == session)
            .collect();
        let name = lookup
            .short_name(session)
            .ok_or_else(|| format!("{CANNOT}: nothing was asked in it yet"))?;
        let mut records = lookup.records(&runs).trouble(CANNOT)?;
        let (labels, complaint) = Labels::read_or_complain(&self.log);
        labels.attach_to(&mut records);
        if let Some(line) = complaint {
            self.notice(NoticeLevel::Warning, line);
        }
        // The name is a part of an id from the log.
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
        let name: String = name.chars().filter(is_plain).collect();
        let path = self.exports.join(format!("session-{name}.md"));
        create_private_dir(&self.exports)
            .and_then(|()| write_atomic(&path, report::markdown(&records).as_bytes()))
            .trouble(format_args!("{CANNOT}: {}", path.display()))?;
        let message = format!("Exported to {}", path.display());
        self.notice(NoticeLevel::Info, message);
        Ok(())
    }

    /// Keeps the answer of a run in a new file.
    fn save(&self, run: &RunId, path: &str) -> Result<(), Trouble> {
        let lookup = Lookup::open(&self.log).trouble(NOT_KEPT)?;
        let run = lookup.run(&run.0).trouble(NOT_KEPT)?;
        let records = lookup.records(&[run]).trouble(NOT_KEPT)?;
        let [record] = &records[..] else {
            return Err(format!("{NOT_KEPT}: it is not recorded yet; try again").into());
        };
        let path = self.note_path(path, &record.summary.question)?;
        let text = report::note(record);
        let mut options = OpenOptions::new();
        let created = private(options.write(true).create_new(true)).open(&path);
        let written = created.and_then(|mut file| file.write_all(text.as_bytes()));
        let shown = one_line(&path.to_string_lossy(), LONGEST_PATH);
        if matches!(&written, Err(error) if error.kind() == io::ErrorKind::AlreadyExists) {
            return Err(format!("{NOT_KEPT}: {shown} exists; name another file").into());
        }
        written.trouble(format_args!("{NOT_KEPT}: {shown}"))?;
        self.notice(NoticeLevel::Info, format!("Kept in {shown}"));
        Ok(())
    }

    /// Where a note is kept: the file that was named, with an ending, or a file in the folder.
    fn note_path(&self, path: &str, question: &str) -> Result<PathBuf, Trouble> {
        let named = match path {
            "" => {
                create_private_dir(&self.exports)
                    .trouble(format_args!("{NOT_KEPT}: {}", self.exports.display()))?;
                self.exports.clone()
            }
            path => expanded(path),
        };
        if named.is_dir() {
            return Ok(named.join(format!("{}.md", file_name(question))));
        }
        Ok(match named.extension() {
            Some(_) => named,
            None => named.with_extension("md"),
        })
    }

    fn hold(&self, session: Session) {
        *self.live.lock() = session;
    }

    fn notice(&self, level: NoticeLevel, message: String) {
        let _ = self
            .updates
            .blocking_send(Update::Notice { level, message });
    }

    /// A screen that is gone is shown nothing more.
    fn send(&self, update: SessionUpdate) {
        let _ = self.updates.blocking_send(Update::Session(update));
    }
}
