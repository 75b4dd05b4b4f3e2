//! What lists that are typed into hold, and their rows: conversations, models, all that can be done.

use crate::protocol::{JobModels, JobName, ModelListing, SessionSummary, joined};
use crate::text::one_line;

use super::fold::outcome_word;
use super::ink::{Ink, Row, grouped, grouped_plural};
use super::keymap::{Action, KeyContext};
use super::slash::SlashCommand;

/// What a window shows of recorded conversations.
#[derive(Debug, Clone, Default)]
pub struct SessionList {
    /// `None` until they are here.
    pub sessions: Option<Vec<SessionSummary>>,
    /// What is being done.
    pub doing: SessionTask,
}

/// What is being done with the selected conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SessionTask {
    /// It is being chosen.
    #[default]
    Choosing,
    /// Its new name is being typed.
    Renaming(String),
    /// Whether it is to go is being asked.
    Deleting,
    /// It is being read.
    Resuming,
}

/// What a window shows of models. The first row goes back to the settings.
#[derive(Debug, Clone, Default)]
pub struct ModelList {
    /// `None` until they are here; why they are not known in one line.
    pub listing: Option<Result<ModelListing, String>>,
    /// For which job; `None`: for all.
    pub job: Option<JobName>,
}

/// One thing that can be done.
#[derive(Debug, Clone)]
pub struct PaletteRow {
    /// What is done.
    pub item: PaletteItem,
    /// What is looked into: the command and its purpose, or what the key does.
    pub label: String,
    /// The key that does the same.
    pub keys: String,
}

/// What a row of the palette does.
#[derive(Debug, Clone)]
pub enum PaletteItem {
    /// A command with what follows it.
    Command(&'static SlashCommand, String),
    /// What a key does in a place.
    Key(KeyContext, Action),
}

impl SessionList {
    /// What is said where no conversation is listed, or one is on its way.
    pub fn note(&self) -> Option<&'static str> {
        match (&self.doing, &self.sessions) {
            (SessionTask::Resuming, _) => Some("reading the conversation …"),
            (_, None) => Some("reading the audit log …"),
            (_, Some(sessions)) if sessions.is_empty() => {
                Some("Nothing is recorded yet: the first question begins a session.")
            }
            _ => None,
        }
    }

    /// One conversation: its name or first question, then runs, outcome, calls saved and time, as far
    /// as there is room; or what is being done with it.
    pub fn row(&self, place: usize, is_selected: bool, width: usize) -> Row {
        match &self.doing {
            SessionTask::Renaming(name) if is_selected => {
                let row = Row::new(Ink::Focus, " name: ").add(Ink::Text, name.as_str());
                return row.add(Ink::Focus, "▏");
            }
            SessionTask::Deleting if is_selected => {
                let words = " Delete from the list? The audit log keeps it. y/n";
                return Row::new(Ink::Warning, words);
            }
            _ => {}
        }
        let Some(session) = self.sessions.as_ref().and_then(|all| all.get(place)) else {
            return Row::default();
        };
        let sign = if session.is_current { " ● " } else { "   " };
        let mut left = Row::new(Ink::Done, sign);
        let question = one_line(&session.question, 400);
        match &session.name {
            Some(name) => {
                left.push(Ink::Heading, one_line(name, 80));
                left.push(Ink::Dim, format!("  {question}"));
            }
            None => left.push(Ink::Text, question),
        }
        let runs = grouped_plural(session.runs, "run");
        let outcome = session.outcome.map_or("no end", outcome_word);
        let saved = session.saved.map(|saved| format!("saved {saved}"));
        let (saved, time) = (saved.unwrap_or_default(), session.time.minute());
        let right = match width {
            80.. => format!(" {runs:>7}  {outcome:<9}  {saved:<9}  {time} "),
            64.. => format!(" {runs:>7}  {outcome:<9}  {time} "),
            _ => format!("  {} ", time.get(5..).unwrap_or(&time)),
        };
        left.and_right(Row::new(Ink::Dim, right), width)
    }
}

/// All jobs together, and each by itself.
pub fn jobs() -> impl Iterator<Item = Option<JobName>> {
    [None].into_iter().chain(JobName::ALL.map(Some))
}

impl ModelList {
    /// The names of all.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let known = self.listing.iter().flatten();
        let models = known.flat_map(|listing| &listing.models);
        models.map(|model| model.name.as_str())
    }

    /// For which job one is chosen, and how many are left out.
    pub fn note(&self, width: usize) -> Row {
        let listing = match &self.listing {
            Some(Ok(listing)) => listing,
            Some(Err(_)) => return Row::default(),
            None => return Row::new(Ink::Dim, " asking the server for its models …"),
        };
        let mut row = Row::new(Ink::Dim, " for ");
        for job in jobs() {
            let name = job.map_or("all", JobName::as_str);
            if job == self.job {
                row.push(Ink::Focus, format!("[{name}]"));
            } else {
                row.push(Ink::Dim, format!(" {name} "));
            }
        }
        let left_out = match listing.left_out {
            0 => Row::default(),
            count => Row::new(Ink::Dim, format!("{count} cannot chat ")),
        };
        if row.width() + left_out.width() >= width {
            return row;
        }
        row.and_right(left_out, width)
    }

    /// Why there is nothing to choose from.
    pub fn trouble(&self) -> Option<String> {
        match self.listing.as_ref()? {
            Err(why) => Some(why.clone()),
            Ok(listing) if listing.models.is_empty() => {
                let host = one_line(&listing.host, 80);
                Some(format!("No model that {host} lists can chat."))
            }
            Ok(_) => None,
        }
    }

    /// A model's name, the jobs that it does now, and how much it reads.
    pub fn row(&self, place: usize, in_use: &JobModels, width: usize) -> Row {
        let models = self.listing.iter().flatten().flat_map(|all| &all.models);
        let offer = place.checked_sub(1).and_then(|at| models.clone().nth(at));
        let Some(offer) = offer else {
            return Row::new(Ink::Text, "   default").add(Ink::Dim, "  as the settings say");
        };
        let jobs = in_use.jobs_of(&offer.name);
        let sign = if jobs.is_empty() { "   " } else { " ● " };
        let name = Row::new(Ink::Done, sign).add(Ink::Text, one_line(&offer.name, 200));
        let mut right = Row::default();
        if jobs.len() == JobName::ALL.len() {
            right.push(Ink::Done, " every job ");
        } else if !jobs.is_empty() {
            right.push(Ink::Done, format!(" {} ", joined(&jobs)));
        }
        if let Some(context) = offer.context.filter(|_| width >= 64) {
            right.push(Ink::Dim, format!(" {:>9} tokens ", grouped(context as u64)));
        }
        name.and_right(right, width)
    }
}

impl PaletteRow {
    /// Its name or what it does, the key at the right edge.
    pub fn row(&self, width: usize) -> Row {
        let label = match (&self.item, self.label.split_once("  ")) {
            (PaletteItem::Command(..), Some((name, help))) => {
                Row::new(Ink::Key, format!(" {name}")).add(Ink::Text, format!("  {help}"))
            }
            _ => Row::new(Ink::Text, format!(" {}", self.label)),
        };
        label.and_right(Row::new(Ink::Dim, format!("{} ", self.keys)), width)
    }
}
