//! Recorded conversations: what the screen asks about them, and what it is shown.

use std::collections::BTreeMap;

use super::{Event, RunId, RunLabels, RunSummary, Timestamp};
use crate::domain::Outcome;

/// What the screen asks about recorded conversations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionCommand {
    /// Which there are.
    List,
    /// Go on with this one.
    Resume(String),
    /// Call it so in lists; an empty name: by its first question again.
    Rename {
        /// Which.
        session: String,
        /// Its new name.
        name: String,
    },
    /// Leave it out of lists and of the questions to recall; the log stays as it is.
    Hide(String),
    /// Write it to a file.
    Export(String),
    /// Keep the answer of a run as a note.
    SaveAnswer {
        /// The run.
        run: RunId,
        /// A new file, or a folder; where nothing is said, in the folder of what is exported.
        path: String,
    },
    /// Tell the answers of all conversations.
    ListAnswers,
}

impl SessionCommand {
    /// The reply that says why the command was not taken; `None` where a command has no reply.
    pub fn refusal(&self, reason: &str) -> Option<SessionUpdate> {
        match self {
            Self::List => Some(SessionUpdate::Listed(Err(reason.to_owned()))),
            Self::Resume(_) => Some(SessionUpdate::NotResumed(reason.to_owned())),
            Self::ListAnswers => Some(SessionUpdate::Answers(Err(reason.to_owned()))),
            Self::Rename { .. } | Self::Hide(_) | Self::Export(_) | Self::SaveAnswer { .. } => None,
        }
    }
}

/// What the screen gets of recorded conversations.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionUpdate {
    /// Sessions that can be resumed, the newest first, or why they cannot be listed.
    Listed(Result<Vec<SessionSummary>, String>),
    /// The one that goes on now.
    Resumed(RecordedSession),
    /// It stays as it was, and why; one line.
    NotResumed(String),
    /// What was asked in them all, the newest last.
    Questions(Vec<String>),
    /// The answers of them all, the newest first, or why they cannot be listed.
    Answers(Result<Vec<RecordedAnswer>, String>),
}

/// An answer that is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedAnswer {
    /// The run that gave it.
    pub run: RunId,
    /// When it was asked.
    pub time: Timestamp,
    /// The question.
    pub question: String,
    /// Its text, as recorded; of a long one the beginning.
    pub text: String,
}

/// A recorded conversation as a list shows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionSummary {
    /// Which.
    pub id: String,
    /// What a person called it.
    pub name: Option<String>,
    /// Its first question as it was recorded.
    pub question: String,
    /// When its last run began.
    pub time: Timestamp,
    /// How many runs it has.
    pub runs: usize,
    /// How the last of them ended; `None` where no end was recorded.
    pub outcome: Option<Outcome>,
    /// Reasoning calls that were not needed, over the runs of which that is known.
    pub saved: Option<u32>,
    /// Whether it is the one that goes on.
    pub is_current: bool,
    /// Whether all its runs were asked by themselves, which makes no conversation.
    pub is_single: bool,
}

/// A recorded conversation as it went.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedSession {
    /// Which.
    pub id: String,
    /// What a person called it.
    pub name: Option<String>,
    /// The events of its runs, one run after the other.
    pub events: Vec<Event>,
    /// How many of its earliest runs are left out, because there are too many.
    pub left_out: usize,
    /// The run to show first, where one was asked for.
    pub shown: Option<RunId>,
    /// What people said of its runs.
    pub labels: BTreeMap<RunId, RunLabels>,
}

impl SessionSummary {
    /// The conversations of these runs, which are in the order in which they began; the one that
    /// was asked something last comes first.
    pub fn group_runs(runs: &[RunSummary]) -> Vec<Self> {
        let mut sessions: Vec<(usize, Self)> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for (at, run) in runs.iter().enumerate() {
            let place = *places.entry(run.session.as_str()).or_insert_with(|| {
                sessions.push((at, Self::begun_by(run)));
                sessions.len() - 1
            });
            sessions[place].0 = at;
            sessions[place].1.add(run);
        }
        sessions.sort_by_key(|(last, _)| std::cmp::Reverse(*last));
        sessions.into_iter().map(|(_, session)| session).collect()
    }

    fn begun_by(run: &RunSummary) -> Self {
        Self {
            id: run.session.clone(),
            question: run.question.clone(),
            is_single: true,
            ..Self::default()
        }
    }

    fn add(&mut self, run: &RunSummary) {
        self.time = run.time;
        self.runs += 1;
        self.is_single &= run.single;
        self.outcome = run.outcome;
        if let Some(saved) = run.saved {
            self.saved = Some(self.saved.unwrap_or(0).saturating_add(saved));
        }
    }
}
