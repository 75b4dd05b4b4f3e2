//! What people say of recorded runs, in a file of its own beside the log: one label a line, appended,
//! the last one of a thing holds.
//!
//! They are no events: a run has ended with its last one, and what it was stays as it was written.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::LabelVerdict;
use crate::files::open_unlinked;
use crate::protocol::{Label, RunId, RunLabels, RunRecord};
use crate::text::plural;

use super::file::{append_line, lock, open_to_append, path_beside};
use super::read::Lines;

/// How long another process that appends is waited for.
const LONGEST_WRITE: Duration = Duration::from_secs(5);

/// The labels of all runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    /// All that were given, those that were taken back or replaced too, in the order of the file.
    given: Vec<Label>,
    by_run: BTreeMap<RunId, RunLabels>,
    /// Numbers of lines that hold no label, counted from 1.
    unreadable: Vec<usize>,
    path: PathBuf,
}

impl Labels {
    /// Reads the labels beside `log`; there are none where there is no such file. A line that is none is
    /// passed over, see [`Labels::complaint`].
    pub fn read(log: &Path) -> io::Result<Self> {
        let path = labels_path(log);
        Self::read_lines(&path).map_err(|error| cannot(&path, "read", error))
    }

    fn read_lines(path: &Path) -> io::Result<Self> {
        let mut labels = Self {
            path: path.to_owned(),
            ..Self::default()
        };
        let mut lines = match open_unlinked(path) {
            Ok(file) => Lines::new(file),
            Err(error) if error.is_missing() => return Ok(labels),
            Err(error) => return Err(error.into()),
        };
        let mut number = 0;
        while let Some(line) = lines.next_line()? {
            number += 1;
            match serde_json::from_slice(line) {
                Ok(label) => labels.take(label),
                // What a torn line is ended with.
                Err(_) if line == b"\n" => {}
                Err(_) => labels.unreadable.push(number),
            }
        }
        Ok(labels)
    }

    /// The labels beside `log` as far as they can be read, and one line about what of them cannot.
    pub fn read_or_complain(log: &Path) -> (Self, Option<String>) {
        match Self::read(log) {
            Ok(labels) => {
                let complaint = labels.complaint();
                (labels, complaint)
            }
            Err(error) => (Self::default(), Some(error.to_string())),
        }
    }

    fn take(&mut self, label: Label) {
        let of_run = self.by_run.entry(label.run.clone()).or_default();
        of_run.set(label.target.clone(), label.verdict);
        self.given.push(label);
    }

    /// What is said of one run.
    pub fn of_run(&self, run: &RunId) -> RunLabels {
        self.by_run.get(run).cloned().unwrap_or_default()
    }

    /// The labels that hold, in the order in which they were given.
    pub fn current(&self) -> Vec<&Label> {
        let mut known = BTreeSet::new();
        let newest_first = self.given.iter().rev();
        let last = newest_first.filter(|label| known.insert((&label.run, &label.target)));
        let mut current: Vec<_> = last
            .filter(|label| label.verdict != LabelVerdict::TakenBack)
            .collect();
        current.reverse();
        current
    }

    /// Puts what is said of these runs beside what they were.
    pub fn attach_to(&self, records: &mut [RunRecord]) {
        for record in records {
            record.labels = self.of_run(&record.summary.id);
        }
    }

    /// What is said of these runs, without those of which nothing is.
    pub fn of_runs<'r>(&self, runs: impl Iterator<Item = &'r RunId>) -> BTreeMap<RunId, RunLabels> {
        runs.filter_map(|run| {
            let labels = self.by_run.get(run).filter(|labels| !labels.is_empty())?;
            Some((run.clone(), labels.clone()))
        })
        .collect()
    }

    /// One line that names the lines of the file which hold no label, where there are some.
    pub fn complaint(&self) -> Option<String> {
        let first = self.unreadable.first()?;
        let others = match self.unreadable.len() - 1 {
            0 => String::new(),
            others => format!(" and {} after it", plural(others, "line")),
        };
        Some(format!(
            "{}: line {first}{others} cannot be read as a label and is left out",
            self.path.display()
        ))
    }

    /// Appends a label beside `log`, whole, and makes the file for its owner alone where there is none.
    pub fn append(log: &Path, label: &Label) -> io::Result<()> {
        let path = labels_path(log);
        append(&path, label).map_err(|error| cannot(&path, "written", error))
    }
}

fn append(path: &Path, label: &Label) -> io::Result<()> {
    let line = serde_json::to_string(label)?;
    let file = open_to_append(path)?;
    lock(&file, LONGEST_WRITE, "writing")?;
    append_line(&file, &line)?;
    file.sync_data()
}

fn labels_path(log: &Path) -> PathBuf {
    path_beside(log, ".labels")
}

fn cannot(path: &Path, what: &str, error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("{} cannot be {what}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{EvidenceId, LabelTarget};
    use crate::protocol::Timestamp;

    fn label(run: &str, target: LabelTarget, verdict: LabelVerdict) -> Label {
        Label {
            ts: Timestamp(0),
            run: RunId(run.into()),
            target,
            verdict,
        }
    }

    #[test]
    fn the_last_word_holds_and_one_that_is_taken_back_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("data/audit.jsonl");
        assert_eq!(Labels::read(&log).unwrap().current().len(), 0);
        let passage = || LabelTarget::Passage {
            id: EvidenceId("e1".to_owned()),
        };
        for (run, target, verdict) in [
            ("a", LabelTarget::Route, LabelVerdict::Good),
            ("a", passage(), LabelVerdict::BAD),
            ("b", LabelTarget::Answer, LabelVerdict::Good),
            ("a", LabelTarget::Route, LabelVerdict::BAD),
            ("b", LabelTarget::Answer, LabelVerdict::TakenBack),
        ] {
            Labels::append(&log, &label(run, target, verdict)).unwrap();
        }
        let labels = Labels::read(&log).unwrap();
        let of_a = labels.of_run(&RunId("a".into()));
        assert_eq!(of_a.get(&LabelTarget::Route), Some(LabelVerdict::BAD));
        assert!(labels.of_run(&RunId("b".into())).is_empty());
        let current: Vec<_> = labels.current().iter().map(|label| &label.target).collect();
        assert_eq!(current, [&passage(), &LabelTarget::Route]);
    }

    #[test]
    fn a_torn_or_foreign_line_is_named_and_costs_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("audit.jsonl");
        let path = labels_path(&log);
        Labels::append(&log, &label("a", LabelTarget::Route, LabelVerdict::Good)).unwrap();
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str("mine\n{\"ts\":\"1970-01-01T00:00:00.000Z\",\"run\":\"a");
        std::fs::write(&path, text).unwrap();
        Labels::append(&log, &label("b", LabelTarget::Answer, LabelVerdict::BAD)).unwrap();
        let labels = Labels::read(&log).unwrap();
        assert_eq!(labels.current().len(), 2);
        let complaint = labels.complaint().unwrap();
        assert!(
            complaint.contains("line 2 and 1 line after it"),
            "{complaint}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn trust_the_file_is_its_owners_and_no_link_is_followed() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (log, other) = (dir.path().join("a"), dir.path().join("b"));
        let good = label("a", LabelTarget::Route, LabelVerdict::Good);
        Labels::append(&log, &good).unwrap();
        let path = labels_path(&log);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::os::unix::fs::symlink(&path, labels_path(&other)).unwrap();
        assert!(Labels::append(&other, &good).is_err() && Labels::read(&other).is_err());
    }
}
