//! An earlier report of `eval run --json`, and which questions are worse or better than in it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::expect::ExpectedRun;
use super::limits::Verdict;
use super::trial::Trial;
use crate::cli::output::{CommandFailure, print_notice};
use crate::domain::Outcome;
use crate::files::read_text_bounded;
use crate::text::{one_line, plural};

/// A report is not nearly as long.
const LONGEST: u64 = 256 << 20;

pub(super) struct Baseline {
    file: String,
    questions: BTreeMap<String, EarlierQuestion>,
}

#[derive(Deserialize)]
struct EarlierReport {
    questions: Vec<EarlierQuestion>,
}

#[derive(Deserialize)]
struct EarlierQuestion {
    id: String,
    query: String,
    results: Vec<Value>,
}

impl Baseline {
    /// Reads a report. One that shares no question with these is wrong usage; questions that it lacks are
    /// a notice.
    pub(super) fn read(path: &Path, asked: &[ExpectedRun]) -> Result<Self, CommandFailure> {
        let wrong = |why: String| CommandFailure::of_file(path, why).into_usage();
        let text = read_text_bounded(path, LONGEST).map_err(|error| wrong(error.to_string()))?;
        let report: EarlierReport = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("this is no report of eval run --json: {error}")))?;
        let by_id = report.questions.into_iter().map(|it| (it.id.clone(), it));
        let baseline = Self {
            file: path.display().to_string(),
            questions: by_id.collect(),
        };
        let known = asked.iter().filter(|it| baseline.question(it).is_some());
        let missing = asked.len() - known.count();
        if missing == asked.len() {
            return Err(wrong("it has none of these questions".to_owned()));
        }
        if missing > 0 {
            print_notice(&format!(
                "{}: {missing} of {} not in it and not compared",
                baseline.file,
                plural(asked.len(), "question")
            ));
        }
        Ok(baseline)
    }

    fn question(&self, asked: &ExpectedRun) -> Option<&EarlierQuestion> {
        let earlier = self.questions.get(&asked.id);
        earlier.filter(|earlier| earlier.query == asked.query)
    }

    /// Compares a result with the earlier one of the same settings, or with the only one: whether the
    /// question is worse, and what changed, `complete` being whether its run goes its whole way.
    pub(super) fn compare(&self, asked: &ExpectedRun, trial: &Trial) -> Option<(bool, Value)> {
        let earlier = match self.question(asked)?.results.as_slice() {
            [only] => only,
            several => several.iter().find(|it| it["settings"] == trial.settings)?,
        };
        let outcome = earlier["outcome"].as_str().and_then(Outcome::parse);
        let was_complete = outcome.is_some_and(Outcome::is_complete);
        let checks = trial.checks.iter().filter_map(|(name, holds)| {
            let held = earlier[*name].as_bool()?;
            Some((*name, held, (*holds)?))
        });
        let (worse, better): (Vec<_>, Vec<_>) = checks
            .chain([("complete", was_complete, trial.is_complete())])
            .filter(|(_, before, now)| before != now)
            .partition(|(_, before, _)| *before);
        let is_worse = !worse.is_empty();
        let changed = if is_worse { worse } else { better };
        let changed: Vec<&str> = changed.into_iter().map(|(name, ..)| name).collect();
        (!changed.is_empty()).then(|| {
            let changed = changed.join(", ");
            let row = json!({"id": asked.id, "settings": trial.settings, "changed": changed});
            (is_worse, row)
        })
    }

    /// Says which questions are worse.
    pub(super) fn verdict(&self, worse: &[Value]) -> Verdict {
        let names = worse.iter().filter_map(|it| it["id"].as_str());
        let names: Vec<String> = names.map(|id| one_line(id, 80)).collect();
        let count = plural(names.len(), "question");
        let line = format!("{count} worse than in {}: {}", self.file, names.join(", "));
        Verdict {
            limit: format!("--baseline {}", self.file),
            broken: (!names.is_empty()).then_some(line),
        }
    }
}
