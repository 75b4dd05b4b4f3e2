use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use crate::protocol::{Event, RunId, RunRecord, RunSummary};
use crate::text::one_line;

use super::log_parts;
use super::log_reader::{ReadError, for_each_event_of};
use super::recorded_runs::recorded_runs;

/// How much of a name that was asked for is repeated in an error, in characters.
const REPEATED: usize = 80;
/// The shortest name that is given for an id, in characters.
const SHORTEST_NAME: usize = 8;
/// So many of the ids that a name fits are listed, the newest.
const MOST_CANDIDATES: usize = 4;
/// How much of a question tells which is meant, in characters.
const QUESTION: usize = 50;

/// The recorded runs, to be looked up by what a person writes of an id.
///
/// An id may be given whole, by a beginning or by an end that no other id has. `last` is the run
/// that began last.
#[derive(Debug)]
pub struct Lookup<'a> {
    log: &'a Path,
    runs: Vec<RunSummary>,
}

impl<'a> Lookup<'a> {
    /// Reads which runs there are.
    pub fn open(log: &'a Path) -> Result<Self, ReadError> {
        let runs = recorded_runs(log)?;
        Ok(Self { log, runs })
    }

    /// All of them, in the order in which they began.
    pub fn runs(&self) -> &[RunSummary] {
        &self.runs
    }

    /// All that is recorded of these runs, in the order in which they began.
    pub fn records(&self, wanted: &[&RunSummary]) -> Result<Vec<RunRecord>, ReadError> {
        let ids = ids(wanted);
        let mut records: BTreeMap<RunId, RunRecord> = BTreeMap::new();
        self.for_each_event_of(&ids, |event| {
            if let Some(record) = records.get_mut(&event.run) {
                record.apply(&event);
            } else if let Some(record) = RunRecord::begin(&event) {
                records.insert(event.run, record);
            }
        })?;
        Ok(ids.iter().filter_map(|id| records.remove(id)).collect())
    }

    /// The events of these runs, run by run in the order given.
    pub fn events(&self, wanted: &[&RunSummary]) -> Result<Vec<Event>, ReadError> {
        let ids = ids(wanted);
        let mut events: HashMap<RunId, Vec<Event>> = HashMap::new();
        self.for_each_event_of(&ids, |event| {
            events.entry(event.run.clone()).or_default().push(event);
        })?;
        let of_run = |id: &RunId| events.remove(id).unwrap_or_default();
        Ok(ids.iter().flat_map(of_run).collect())
    }

    fn for_each_event_of(&self, ids: &[RunId], each: impl FnMut(Event)) -> Result<(), ReadError> {
        let ids: BTreeSet<&str> = ids.iter().map(|id| &*id.0).collect();
        for_each_event_of(
            &log_parts::existing(self.log),
            |run| ids.contains(run),
            each,
        )
    }

    /// The one run of that name.
    pub fn run(&self, name: &str) -> Result<&RunSummary, ReadError> {
        let last = self.runs.last().filter(|_| name == "last");
        if let Some(last) = last {
            return Ok(last);
        }
        let id = self.one_of("run", name, self.run_ids())?;
        let of_that_id = self.runs.iter().find(|run| *run.id.0 == *id);
        of_that_id.ok_or_else(|| self.unknown("run", name))
    }

    /// The runs of the session of that name, in the order in which they began.
    pub fn session(&self, name: &str) -> Result<Vec<&RunSummary>, ReadError> {
        let id = self.one_of("session", name, self.session_ids())?;
        Ok(self.runs.iter().filter(|run| run.session == id).collect())
    }

    /// The run of that name, or the runs of the session of that name.
    pub fn run_or_session(&self, name: &str) -> Result<Vec<&RunSummary>, ReadError> {
        if name == "last" {
            return Ok(vec![self.run(name)?]);
        }
        let ids = self.run_ids().chain(self.session_ids());
        let id = self.one_of("run or session", name, ids)?;
        let of_that_id = |run: &&RunSummary| *run.id.0 == *id || run.session == id;
        Ok(self.runs.iter().filter(of_that_id).collect())
    }

    /// The session of that name, or of the run of that name, and the run where one was meant.
    ///
    /// What is written of an id may fit several, as long as they are of one session.
    pub fn conversation(&self, name: &str) -> Result<(String, Option<RunId>), ReadError> {
        if name == "last" {
            let run = self.run(name)?;
            return Ok((run.session.clone(), None));
        }
        let fits: [fn(&str, &str) -> bool; 3] = [
            |id, name| id == name,
            |id, name| id.starts_with(name),
            |id, name| id.ends_with(name),
        ];
        for fits in fits.iter().filter(|_| !name.is_empty()) {
            let of_run = |run: &&RunSummary| fits(&run.id.0, name);
            let meant: Vec<&RunSummary> = self.runs.iter().filter(of_run).collect();
            let of_session = |run: &&RunSummary| fits(&run.session, name);
            let sessions = self.runs.iter().filter(of_session).chain(meant.clone());
            let sessions: BTreeSet<&str> = sessions.map(|run| run.session.as_str()).collect();
            let Some(session) = sessions.first() else {
                continue;
            };
            if sessions.len() > 1 {
                let sessions: Vec<&str> = sessions.into_iter().collect();
                return Err(self.ambiguous(name, &sessions));
            }
            let by_session = fits(session, name);
            let run = match meant.as_slice() {
                [run] if !by_session => Some(run.id.clone()),
                _ => None,
            };
            return Ok(((*session).to_owned(), run));
        }
        Err(self.unknown("run or session", name))
    }

    /// What to call a session, see [`Self::short_names`]; `None` where nothing was asked in it.
    pub fn short_name(&self, session: &str) -> Option<String> {
        self.short_names().get(session).map(|&name| name.to_owned())
    }

    /// Returns the shortest ending of each run's and session's id that tells it from all others.
    ///
    /// It is the end: an id begins with the time, which the next ones share, and ends with what
    /// chance gave it.
    pub fn short_names(&self) -> BTreeMap<&str, &str> {
        let ids: BTreeSet<&str> = self.run_ids().chain(self.session_ids()).collect();
        let mut by_end: Vec<&str> = ids.iter().copied().collect();
        by_end.sort_by(|a, b| a.chars().rev().cmp(b.chars().rev()));
        let alike = |a: &str, b: &str| {
            let both = a.chars().rev().zip(b.chars().rev());
            both.take_while(|(a, b)| a == b).count()
        };
        let mut names = BTreeMap::new();
        for (at, id) in by_end.iter().enumerate() {
            let neighbours = [at.checked_sub(1), at.checked_add(1)];
            let neighbours = neighbours.into_iter().flatten();
            let neighbours = neighbours.filter_map(|at| by_end.get(at));
            let most_alike = neighbours.map(|other| alike(id, other)).max();
            let shortest = SHORTEST_NAME.max(most_alike.map_or(0, |alike| alike + 1));
            let ends = id.char_indices().rev().skip(shortest - 1);
            let is_name = |name: &&str| {
                // What looks like an option is none, and a beginning is looked for first.
                let begins = |other: &&str| other.starts_with(name) && other != id;
                !name.starts_with('-') && !ids.range(*name..).next().is_some_and(begins)
            };
            let name = ends.map(|(from, _)| &id[from..]).find(is_name);
            names.insert(*id, name.unwrap_or(id));
        }
        names
    }

    fn run_ids(&self) -> impl Iterator<Item = &str> {
        self.runs.iter().map(|run| &*run.id.0)
    }

    fn session_ids(&self) -> impl Iterator<Item = &str> {
        self.runs.iter().map(|run| run.session.as_str())
    }

    fn one_of<'i>(
        &self,
        kind: &'static str,
        name: &str,
        ids: impl Iterator<Item = &'i str>,
    ) -> Result<&'i str, ReadError> {
        let ids: BTreeSet<&str> = ids.collect();
        if let Some(id) = ids.get(name) {
            return Ok(id);
        }
        let begins = |id: &&&str| id.starts_with(name);
        let ends = |id: &&&str| id.ends_with(name);
        let mut found: Vec<&str> = ids.iter().filter(begins).copied().collect();
        if found.is_empty() {
            found = ids.iter().filter(ends).copied().collect();
        }
        match found.as_slice() {
            [] => Err(self.unknown(kind, name)),
            _ if name.is_empty() => Err(self.unknown(kind, name)),
            [id] => Ok(id),
            several => Err(self.ambiguous(name, several)),
        }
    }

    /// `ids` are in order, and so in that of time.
    fn ambiguous(&self, name: &str, ids: &[&str]) -> ReadError {
        let names = self.short_names();
        let candidate = |id: &&str| {
            let is_meant = |run: &&RunSummary| *run.id.0 == **id || run.session == **id;
            let question = self.runs.iter().find(is_meant);
            let question = question.map_or("", |run| run.question.as_str());
            let short = names.get(*id).copied().unwrap_or(id);
            format!(
                "{} \"{}\"",
                one_line(short, REPEATED),
                one_line(question, QUESTION)
            )
        };
        let newest = ids.iter().rev().take(MOST_CANDIDATES).map(candidate);
        let mut candidates: Vec<String> = newest.collect();
        if let Some(more) = ids.len().checked_sub(MOST_CANDIDATES).filter(|n| *n > 0) {
            candidates.push(format!("and {more} older"));
        }
        ReadError::Ambiguous {
            path: self.log.to_owned(),
            name: one_line(name, REPEATED),
            count: ids.len(),
            candidates: candidates.join(", "),
        }
    }

    fn unknown(&self, kind: &'static str, name: &str) -> ReadError {
        ReadError::Unknown {
            path: self.log.to_owned(),
            kind,
            name: one_line(name, REPEATED),
        }
    }
}

/// The events of one run, in order, from all parts of the log; see [`Lookup`] for its name.
pub fn events_of_run(log: &Path, run: &str) -> Result<Vec<Event>, ReadError> {
    let lookup = Lookup::open(log)?;
    lookup.events(&[lookup.run(run)?])
}

fn ids(runs: &[&RunSummary]) -> Vec<RunId> {
    runs.iter().map(|run| run.id.clone()).collect()
}
