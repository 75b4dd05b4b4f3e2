use std::ffi::OsStr;

use serde::Serialize;
use serde_json::Value;

use super::baseline::Baseline;
use super::expect::ExpectedRun;
use super::limits::{Limits, Verdict, count_runs};
use super::named_settings::NamedSettings;
use super::trial::{FoundPassage, Trial};
use crate::cli::eval::text::figures_as_table;
use crate::cli::resumable::quote_for_shell;
use crate::domain::{Complexity, Outcome, dollars};
use crate::protocol::Mode;
use crate::text::{one_line, plural};

/// Characters of an answer that are shown where two differ.
const ANSWER: usize = 160;
/// Characters of a question.
const QUESTION: usize = 200;
/// Passages that are listed of each kind.
const MOST_PASSAGES: usize = 6;
/// The columns that are left out first where there is no room.
const SPARE: &str = "runs|questions|not_found|answered|failed|p50_ms|calls|cost_usd|completion_tokens|\
    prompt_tokens";

/// What came of all questions; its serde form is the object of `eval run --json`.
#[derive(Debug, Default, Serialize)]
pub(super) struct RunReport {
    pub questions: Vec<AskedQuestion>,
    /// Figures by settings, in the order in which these were given.
    pub summary: Vec<Value>,
    /// One line for each limit that is broken and for each of the settings under which runs failed.
    pub broken: Vec<String>,
    /// Questions that are worse than in the baseline.
    pub worse: Vec<Value>,
    pub better: Vec<Value>,
    /// What is said of the limits, by settings.
    #[serde(skip)]
    pub verdicts: Vec<Vec<Verdict>>,
}

#[derive(Debug, Serialize)]
pub(super) struct AskedQuestion {
    #[serde(flatten)]
    pub expected: ExpectedRun,
    /// Results in the order of the settings.
    pub results: Vec<Trial>,
}

impl RunReport {
    /// The questions, of which none is asked yet.
    pub(super) fn begin(questions: &[ExpectedRun]) -> Self {
        let questions = questions.iter().map(|expected| AskedQuestion {
            expected: expected.clone(),
            results: Vec::new(),
        });
        Self {
            questions: questions.collect(),
            ..Self::default()
        }
    }

    /// Adds all runs under one of the settings, and what each question came to.
    pub(super) fn add(
        &mut self,
        settings: &NamedSettings,
        runs: &[Trial],
        limits: &Limits,
        baseline: Option<&Baseline>,
    ) {
        let name = &settings.name;
        let repeat = runs.len() / self.questions.len();
        let trials: Vec<Trial> = runs.chunks(repeat).map(Trial::join).collect();
        let figures = count_runs(settings, runs, &trials);
        let asked = || self.questions.iter().map(|it| &it.expected).zip(&trials);
        let failed = asked().find_map(|(asked, trial)| Some((asked, trial.trouble()?)));
        let failed = failed.map(|(asked, why)| {
            let (failed, runs) = (&figures["failed"], plural(runs.len(), "run"));
            let (id, why) = (one_line(&asked.id, 80), one_line(why, 400));
            format!("{failed} of {runs} failed, the first {id}: {why}")
        });
        let mut verdicts = limits.verdicts(&figures);
        if let Some(baseline) = baseline {
            let changed = asked().filter_map(|(asked, trial)| baseline.compare(asked, trial));
            let (worse, better): (Vec<_>, Vec<_>) = changed.partition(|(is_worse, _)| *is_worse);
            let worse: Vec<Value> = worse.into_iter().map(|(_, row)| row).collect();
            verdicts.push(baseline.verdict(&worse));
            self.worse.extend(worse);
            self.better.extend(better.into_iter().map(|(_, row)| row));
        }
        let broken = verdicts.iter().filter_map(|of| of.broken.as_ref());
        let broken = broken.chain(&failed).map(|line| format!("{name}: {line}"));
        self.broken.extend(broken);
        for (asked, trial) in self.questions.iter_mut().zip(trials) {
            asked.results.push(trial);
        }
        self.summary.push(figures);
        self.verdicts.push(verdicts);
    }

    /// Every question with what differs between the settings, and what all came to.
    pub(super) fn as_text(&self) -> String {
        let questions = self.questions.iter().map(AskedQuestion::as_text);
        let mut text: String = questions.collect();
        let mut summary = self.summary.clone();
        let mut logs: Vec<(Value, Vec<String>)> = Vec::new();
        for row in summary.iter_mut().filter_map(Value::as_object_mut) {
            let name = one_line(row["settings"].as_str().unwrap_or_default(), 80);
            let log = row.remove("log").unwrap_or_default();
            match logs.iter_mut().find(|(known, _)| *known == log) {
                Some((_, names)) => names.push(name),
                None => logs.push((log, vec![name])),
            }
        }
        for (heading, rows) in [
            ("\n", &summary),
            ("\nworse\n", &self.worse),
            ("\nbetter\n", &self.better),
        ] {
            if !rows.is_empty() {
                let rows: Vec<(&str, &Value)> = rows.iter().map(|row| ("", row)).collect();
                text += &format!("{heading}{}", figures_as_table(&rows, SPARE));
            }
        }
        text.push('\n');
        for (log, names) in logs {
            let log = quote_for_shell(OsStr::new(log.as_str().unwrap_or_default()));
            let of = if names.len() == summary.len() {
                String::new()
            } else {
                format!(" of {}", names.join(", "))
            };
            text += &format!("kb-agent replay {log} RUN shows a run{of}\n");
        }
        text
    }
}

impl AskedQuestion {
    fn as_text(&self) -> String {
        let id = one_line(&self.expected.id, 80);
        let query = one_line(&self.expected.query, QUESTION);
        let mut text = format!("{id}  {query}\n");
        let names = self.results.iter().map(|of| of.settings.chars().count());
        let width = names.max().unwrap_or(0);
        let first = self.results.first();
        for (at, trial) in self.results.iter().enumerate() {
            let name = one_line(&trial.settings, 80);
            text += &format!("  {name:width$}  {}\n", trial.as_text());
            let mut notes = trial.failures.clone();
            if let Some(first) = first.filter(|_| at > 0) {
                notes.extend(trial.differences_from(first));
            }
            if let (false, Some(run)) = (trial.failures.is_empty(), &trial.run) {
                notes.push(format!("run {}", end_of_id(&run.0)));
            }
            for note in notes {
                text += &format!("  {:width$}    {}\n", "", one_line(&note, 400));
            }
        }
        text
    }
}

/// The end of an id, which is enough to name the run.
fn end_of_id(id: &str) -> &str {
    let mut ends = id.char_indices().rev();
    ends.nth(11).map_or(id, |(at, _)| &id[at..])
}

impl Trial {
    /// `simple, answered, 3 steps, 12 ms`
    pub(super) fn as_text(&self) -> String {
        let route = self.route.map_or("undecided", Complexity::as_str);
        let outcome = self.outcome.map_or("failed", Outcome::as_str);
        let calls = self.mode.calls(self.cost.calls);
        let mut text = format!("{route}, {outcome}, {calls}, {:.0} ms", self.cost.ms);
        if self.mode == Mode::Llm && self.cost.tokens() > 0 {
            let cost = self.cost.cost_usd.map(dollars);
            let cost = cost.unwrap_or_else(|| "cost unknown".to_owned());
            text += &format!(", {} tokens, {cost}", self.cost.tokens());
        }
        if let Some(repeats) = self.repeats {
            text += &format!(", {} of {} runs agree", repeats.agreed, repeats.runs);
        }
        text
    }

    /// Lists how it differs from the first, besides what its own line tells.
    fn differences_from(&self, first: &Self) -> Vec<String> {
        let mut notes = Vec::new();
        for (sign, of, other) in [("+", self, first), ("-", first, self)] {
            let new: Vec<&FoundPassage> = (of.evidence.iter())
                .filter(|found| !other.evidence.contains(found))
                .collect();
            let shown = new.iter().take(MOST_PASSAGES);
            let mut shown: Vec<String> = shown
                .map(|found| format!("{sign}{}:{}", found.source, found.place))
                .collect();
            if new.len() > MOST_PASSAGES {
                shown.push(format!("{sign}{} more", new.len() - MOST_PASSAGES));
            }
            if !shown.is_empty() {
                notes.push(format!("evidence: {}", shown.join(" ")));
            }
        }
        if first.answer != self.answer {
            let answer = self.answer.as_deref().unwrap_or("none");
            notes.push(format!("answer: {}", one_line(answer, ANSWER)));
        }
        notes
    }
}
