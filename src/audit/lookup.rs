use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use crate::protocol::{Event, RunId, RunRecord, RunSummary};
use crate::text::one_line;

use super::index::LogIndex;
use super::read::ReadError;

/// How much of a name that was asked for is repeated in an error, in characters.
const REPEATED: usize = 80;
/// The shortest name that is given for a session, in characters.
const SHORTEST_NAME: usize = 8;

/// The recorded runs, to be looked up by what a person writes of an id.
///
/// An id may be given whole, by a beginning or by an end that no other id has. `last` is the run
/// that began last.
#[derive(Debug)]
pub struct Lookup<'a> {
    log: &'a Path,
    index: LogIndex,
}

impl<'a> Lookup<'a> {
    /// Reads which runs there are.
    pub fn of(log: &'a Path) -> Result<Self, ReadError> {
        let index = LogIndex::of(log)?;
        Ok(Self { log, index })
    }

    /// All of them, in the order in which they began.
    pub fn runs(&self) -> &[RunSummary] {
        &self.index.runs
    }

    /// All that is recorded of these runs, in the order in which they began.
    pub fn records(&self, wanted: &[&RunSummary]) -> Result<Vec<RunRecord>, ReadError> {
        let ids = ids(wanted);
        let mut records: BTreeMap<RunId, RunRecord> = BTreeMap::new();
        self.index.for_each_event_of(&ids, |event| {
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
        self.index.for_each_event_of(&ids, |event| {
            events.entry(event.run.clone()).or_default().push(event);
        })?;
        let of_run = |id: &RunId| events.remove(id).unwrap_or_default();
        Ok(ids.iter().flat_map(of_run).collect())
    }

    /// The one run of that name.
    pub fn run(&self, name: &str) -> Result<&RunSummary, ReadError> {
        let last = self.index.runs.last().filter(|_| name == "last");
        if let Some(last) = last {
            return Ok(last);
        }
        let id = self.one_of("run", name, self.run_ids())?;
        let of_that_id = self.index.runs.iter().find(|run| run.id.0 == id);
        of_that_id.ok_or_else(|| self.unknown("run", name))
    }

    /// The runs of the session of that name, in the order in which they began.
    pub fn session(&self, name: &str) -> Result<Vec<&RunSummary>, ReadError> {
        let id = self.one_of("session", name, self.session_ids())?;
        Ok(self
            .index
            .runs
            .iter()
            .filter(|run| run.session == id)
            .collect())
    }

    /// The run of that name, or the runs of the session of that name.
    pub fn run_or_session(&self, name: &str) -> Result<Vec<&RunSummary>, ReadError> {
        if name == "last" {
            return Ok(vec![self.run(name)?]);
        }
        let ids = self.run_ids().chain(self.session_ids());
        let id = self.one_of("run or session", name, ids)?;
        let of_that_id = |run: &&RunSummary| run.id.0 == id || run.session == id;
        Ok(self.index.runs.iter().filter(of_that_id).collect())
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
            let meant: Vec<&RunSummary> = self.index.runs.iter().filter(of_run).collect();
            let of_session = |run: &&RunSummary| fits(&run.session, name);
            let sessions = self
                .index
                .runs
                .iter()
                .filter(of_session)
                .chain(meant.clone());
            let sessions: BTreeSet<&str> = sessions.map(|run| run.session.as_str()).collect();
            let Some(session) = sessions.first() else {
                continue;
            };
            if sessions.len() > 1 {
                return Err(self.ambiguous(name, sessions.len()));
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

    /// As much of a session's id as tells it from all others; `None` where nothing was asked in it.
    pub fn short_name(&self, session: &str) -> Option<String> {
        let (own, others): (Vec<_>, Vec<_>) = self
            .index
            .runs
            .iter()
            .partition(|run| run.session == session);
        own.first()?;
        let ids = others
            .iter()
            .flat_map(|run| [run.id.0.as_str(), run.session.as_str()]);
        let alike = |id: &str| {
            let both = session.chars().zip(id.chars());
            both.take_while(|(a, b)| a == b).count() + 1
        };
        let length = ids.map(alike).max().unwrap_or(0).max(SHORTEST_NAME);
        Some(session.chars().take(length).collect())
    }

    fn run_ids(&self) -> impl Iterator<Item = &str> {
        self.index.runs.iter().map(|run| run.id.0.as_str())
    }

    fn session_ids(&self) -> impl Iterator<Item = &str> {
        self.index.runs.iter().map(|run| run.session.as_str())
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
            several => Err(self.ambiguous(name, several.len())),
        }
    }

    fn ambiguous(&self, name: &str, count: usize) -> ReadError {
        ReadError::Ambiguous {
            path: self.log.to_owned(),
            name: one_line(name, REPEATED),
            count,
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
    let lookup = Lookup::of(log)?;
    lookup.events(&[lookup.run(run)?])
}

fn ids(runs: &[&RunSummary]) -> Vec<RunId> {
    runs.iter().map(|run| run.id.clone()).collect()
}
