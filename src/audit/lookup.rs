//! The recorded runs, found by what a person writes of an id, and what is counted of all of them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::protocol::{
    Event, EventBody, RunFigures, RunHistory, RunId, RunRecord, RunSummary, Timestamp,
};
use crate::text::{escape_json, one_line};

use super::file::{list_files, list_files_since};
use super::read::{ReadError, for_each_event, holds_one_of};

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
        let is_wanted = holds_one_of(&RunSummary::MADE_FROM);
        let cancel = CancellationToken::new();
        let (begin, apply) = (RunSummary::begin, RunSummary::apply);
        let runs = fold_runs(log, is_wanted, begin, apply, &cancel)?;
        Ok(Self { log, runs })
    }

    /// All of them, in the order in which they began.
    pub fn runs(&self) -> &[RunSummary] {
        &self.runs
    }

    /// All that is recorded of these runs, in the order in which they began.
    pub fn records(&self, wanted: &[&RunSummary]) -> Result<Vec<RunRecord>, ReadError> {
        let is_wanted = is_of(wanted);
        fold_runs(
            self.log,
            is_wanted,
            RunRecord::begin,
            RunRecord::apply,
            &CancellationToken::new(),
        )
    }

    /// The recorded text of every answer, by its run.
    pub fn answers(&self) -> Result<HashMap<RunId, String>, ReadError> {
        let is_wanted = holds_one_of(&["\"answer_finished\""]);
        let mut answers = HashMap::new();
        let keep = |event: Event| {
            if let EventBody::AnswerFinished { text, .. } = event.body {
                answers.insert(event.run, text);
            }
        };
        let cancel = CancellationToken::new();
        for_each_event(&list_files(self.log), is_wanted, keep, &cancel)?;
        Ok(answers)
    }

    /// The events of these runs, run by run in the order given.
    pub fn events(&self, wanted: &[&RunSummary]) -> Result<Vec<Event>, ReadError> {
        if let [run] = wanted {
            return events_of(self.log, &run.id, &CancellationToken::new());
        }
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let places = wanted.iter().enumerate();
        let places: HashMap<&RunId, usize> = places.map(|(at, run)| (&run.id, at)).collect();
        let mut events = Vec::new();
        let keep = |event| events.push(event);
        let cancel = CancellationToken::new();
        for_each_event(&list_files(self.log), is_of(wanted), keep, &cancel)?;
        events.sort_by_key(|event| places.get(&event.run).copied());
        Ok(events)
    }

    /// The one run of that name.
    pub fn run(&self, name: &str) -> Result<&RunSummary, ReadError> {
        if let Some(last) = self.runs.last().filter(|_| name == "last") {
            return Ok(last);
        }
        let id = self.only_one("run", name, &ids_that_fit(name, self.run_ids()))?;
        let of_that_id = self.runs.iter().find(|run| *run.id.0 == *id);
        of_that_id.ok_or_else(|| self.unknown("run", name))
    }

    /// The runs of the session of that name, in the order in which they began.
    pub fn session(&self, name: &str) -> Result<Vec<&RunSummary>, ReadError> {
        let id = self.only_one("session", name, &ids_that_fit(name, self.session_ids()))?;
        Ok(self.runs.iter().filter(|run| run.session == id).collect())
    }

    /// The run of that name, or the runs of the session of that name.
    pub fn run_or_session(&self, name: &str) -> Result<Vec<&RunSummary>, ReadError> {
        if name == "last" {
            return Ok(vec![self.run(name)?]);
        }
        let id = self.only_one("run or session", name, &ids_that_fit(name, self.ids()))?;
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
        let found = ids_that_fit(name, self.ids());
        let meant = |run: &&RunSummary| found.contains(&*run.id.0);
        let is_found = |run: &&RunSummary| meant(run) || found.contains(run.session.as_str());
        let runs = self.runs.iter().filter(is_found);
        let sessions: BTreeSet<&str> = runs.map(|run| run.session.as_str()).collect();
        let session = self.only_one("run or session", name, &sessions)?;
        let mut meant = self.runs.iter().filter(meant);
        let run = match (meant.next(), meant.next()) {
            (Some(run), None) if !found.contains(session) => Some(run.id.clone()),
            _ => None,
        };
        Ok((session.to_owned(), run))
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
        let ids: BTreeSet<&str> = self.ids().collect();
        let mut by_end: Vec<&str> = ids.iter().copied().collect();
        by_end.sort_by(|a, b| a.chars().rev().cmp(b.chars().rev()));
        let alike = |a: &str, b: &str| {
            let both = a.chars().rev().zip(b.chars().rev());
            both.take_while(|(a, b)| a == b).count()
        };
        let mut names = BTreeMap::new();
        for (at, id) in by_end.iter().enumerate() {
            let neighbours = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
            let neighbours = neighbours.filter_map(|at| by_end.get(at));
            let most_alike = neighbours.map(|other| alike(id, other)).max();
            let too_short = most_alike.unwrap_or(0).max(SHORTEST_NAME - 1);
            let ends = id.char_indices().rev().skip(too_short);
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

    fn ids(&self) -> impl Iterator<Item = &str> {
        self.run_ids().chain(self.session_ids())
    }

    /// The id, where no other was found for this name.
    fn only_one<'i>(
        &self,
        kind: &str,
        name: &str,
        found: &BTreeSet<&'i str>,
    ) -> Result<&'i str, ReadError> {
        match found.first() {
            None => Err(self.unknown(kind, name)),
            Some(id) if found.len() == 1 => Ok(id),
            Some(_) => Err(self.ambiguous(name, found)),
        }
    }

    /// `ids` are in order, and so in that of time.
    fn ambiguous(&self, name: &str, ids: &BTreeSet<&str>) -> ReadError {
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
        ReadError::Name(format!(
            "'{}' fits {} ids in {}; give more of the one you mean: {}",
            one_line(name, REPEATED),
            ids.len(),
            self.log.display(),
            candidates.join(", ")
        ))
    }

    fn unknown(&self, kind: &str, name: &str) -> ReadError {
        ReadError::Name(format!(
            "no {kind} in {} matches '{}'; use an id from 'kb-agent runs' (any unique prefix or \
             suffix works)",
            self.log.display(),
            one_line(name, REPEATED)
        ))
    }
}

/// The events of the run of that whole id, in order; none where it is not recorded. Only the parts of the log
/// that may hold it are read, and of those only its own lines as JSON.
pub fn events_of(
    log: &Path,
    run: &RunId,
    cancel: &CancellationToken,
) -> Result<Vec<Event>, ReadError> {
    // This program escapes what a terminal would obey; a line from elsewhere may hold it plain.
    let plain = Value::from(&*run.0).to_string();
    let escaped = escape_json(&plain);
    let read = |files: &[PathBuf]| {
        let mut events = Vec::new();
        let keep = |event: Event| {
            if event.run == *run {
                events.push(event);
            }
        };
        for_each_event(files, holds_one_of(&[&*plain, &*escaped]), keep, cancel)?;
        Ok(events)
    };
    let events = read(&list_files_since(log, &run.0))?;
    let begins = |first: &Event| matches!(first.body, EventBody::RunStarted { .. });
    if events.first().is_some_and(begins) {
        return Ok(events);
    }
    // The clock went back, or the beginning is lost.
    read(&list_files(log))
}

/// The id of that name; where there is none, those that begin with it, or else end with it.
fn ids_that_fit<'i>(name: &str, ids: impl Iterator<Item = &'i str>) -> BTreeSet<&'i str> {
    let fits: [fn(&str, &str) -> bool; 3] = [
        |id, name| id == name,
        |id, name| id.starts_with(name),
        |id, name| id.ends_with(name),
    ];
    let ids: BTreeSet<&str> = ids.collect();
    // Every id begins with nothing.
    let fits = fits.iter().take(if name.is_empty() { 1 } else { 3 });
    let mut found = fits.map(|fits| ids.iter().copied().filter(|id| fits(id, name)).collect());
    let found = found.find(|found: &BTreeSet<&str>| !found.is_empty());
    found.unwrap_or_default()
}

/// What all runs of the log came to, given up with [`ReadError::Stopped`] soon after `cancel` is cancelled.
pub fn history(log: &Path, cancel: &CancellationToken) -> Result<RunHistory, ReadError> {
    let begin = |event: &Event| {
        let mut figures = RunFigures::default();
        figures.take(&event.body);
        matches!(event.body, EventBody::RunStarted { .. }).then_some((event.ts, figures))
    };
    let apply = |run: &mut (Timestamp, RunFigures), event: &Event| run.1.take(&event.body);
    let is_wanted = holds_one_of(&RunFigures::MADE_FROM);
    let runs = fold_runs(log, is_wanted, begin, apply, cancel)?;
    Ok(RunHistory::from_runs(&runs))
}

/// Makes one thing of the wanted events of each run, in the order in which the runs began.
fn fold_runs<T>(
    log: &Path,
    is_wanted: impl Fn(&[u8]) -> bool,
    begin: impl Fn(&Event) -> Option<T>,
    apply: impl Fn(&mut T, &Event),
    cancel: &CancellationToken,
) -> Result<Vec<T>, ReadError> {
    let mut runs = Vec::new();
    let mut places: HashMap<RunId, usize> = HashMap::new();
    let take = |event: Event| {
        if let Some(at) = places.get(&event.run) {
            apply(&mut runs[*at], &event);
        } else if let Some(run) = begin(&event) {
            places.insert(event.run, runs.len());
            runs.push(run);
        }
    };
    for_each_event(&list_files(log), is_wanted, take, cancel)?;
    Ok(runs)
}

/// Tells the lines that are events of these runs.
fn is_of(runs: &[&RunSummary]) -> impl Fn(&[u8]) -> bool {
    #[derive(Deserialize)]
    struct OfRun<'a> {
        #[serde(borrow)]
        run: Cow<'a, str>,
    }
    let ids: HashSet<&str> = runs.iter().map(|run| &*run.id.0).collect();
    move |line| {
        let of_run = serde_json::from_slice::<OfRun<'_>>(line);
        of_run.is_ok_and(|event| ids.contains(&*event.run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::file::next_part;
    use std::fs;

    /// The lines of a run.
    fn lines(run: u32) -> Vec<String> {
        let event = |seq: u32, name: &str, fields: &str| {
            format!(
                r#"{{"event":"{name}","run":"run-{run:05}","schema":1,"seq":{seq},"ts":"2026-01-02T03:04:05.000Z",{fields}}}"#
            )
        };
        let settings = r#""settings":{"max_iterations":3,"vector_score_threshold":0.8,"auto_approve_max_items":2}"#;
        let begin = format!(
            r#""session":"s-{}","query":"what is {run}?","mode":"offline","model":"m",{settings}"#,
            run / 3
        );
        let hit = r#""path_type":"simple_skip_grading","rule_name":"simple","query":"q""#;
        let end = r#""outcome":"answered","complexity":"simple","path":[],"iterations":0,"reasoning_calls":1,"calls_saved":1,"prompt_tokens":0,"completion_tokens":0,"ms":1.5"#;
        vec![
            event(0, "run_started", &begin),
            event(1, "fast_path_hit", hit),
            event(2, "run_finished", end),
        ]
    }

    fn whole(runs: std::ops::Range<u32>) -> Vec<String> {
        runs.flat_map(lines).collect()
    }

    /// A log of several parts, over which the first run goes, the last of which ends a run whose
    /// beginning is gone.
    fn log_of_parts(dir: &Path) -> PathBuf {
        let log = dir.join("audit.jsonl");
        let [begin, hit, end] = <[String; 3]>::try_from(lines(900)).unwrap();
        let gone = lines(950).pop().unwrap();
        for part in [
            [vec![begin], whole(0..40)].concat(),
            [vec![hit], whole(40..50)].concat(),
            [vec![gone, end], whole(50..60)].concat(),
        ] {
            if log.exists() {
                fs::rename(&log, next_part(&log)).unwrap();
            }
            fs::write(&log, part.join("\n") + "\n").unwrap();
        }
        log
    }

    #[test]
    fn runs_are_read_across_the_parts_of_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let log = log_of_parts(dir.path());
        let lookup = Lookup::open(&log).unwrap();
        let ids: Vec<&str> = lookup.runs().iter().map(|run| &*run.id.0).collect();
        assert_eq!((ids.len(), ids[0], ids[60]), (61, "run-00900", "run-00059"));
        assert!(lookup.runs().iter().all(|run| run.outcome.is_some()));
        for run in [0, 1, 45, 60] {
            let events = lookup.events(&[&lookup.runs()[run]]).unwrap();
            let names: Vec<_> = events.iter().map(|event| event.body.name()).collect();
            assert_eq!(
                names,
                ["run_started", "fast_path_hit", "run_finished"],
                "{run}"
            );
        }
    }

    #[test]
    fn one_run_is_read_by_its_id_though_the_clock_went_back() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("audit.jsonl");
        let [early, late] =
            ["01", "02"].map(|at| format!("{at}000000-0000-7000-8000-000000000000"));
        let named = |run: &str| lines(7).join("\n").replace("run-00007", run) + "\n";
        fs::write(log.with_extension(format!("{early}.jsonl")), named(&late)).unwrap();
        fs::write(&log, named("x") + &named(&early)).unwrap();
        let count = |run: &str| {
            let events = events_of(&log, &RunId(run.into()), &CancellationToken::new());
            events.unwrap().len()
        };
        assert_eq!(list_files_since(&log, &late), std::slice::from_ref(&log));
        for (run, events) in [(&*early, 3), (&*late, 3), ("x", 3), ("y", 0)] {
            assert_eq!(count(run), events, "{run}");
        }
    }

    #[test]
    fn ui_stats_count_whole_runs_and_stop_where_no_one_waits_for_them() {
        let dir = tempfile::tempdir().unwrap();
        let log = log_of_parts(dir.path());
        let total = history(&log, &CancellationToken::new()).unwrap().total;
        assert_eq!((total.runs, total.outcomes.answered), (61, 61));
        assert_eq!(total.fast_path.hits, 61);
        let cancel = CancellationToken::new();
        cancel.cancel();
        let stopped = history(&log, &cancel);
        assert!(matches!(stopped, Err(ReadError::Stopped)));
    }
}
