use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use super::expect::{CHECKS, ExpectedRun};
use super::named_settings::NamedSettings;
use super::trial::Trial;
use crate::cli::output::CommandFailure;
use crate::domain::{Outcome, dollars};
use crate::protocol::Latency;

/// What must hold under every one of the settings.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits, each for every settings file")]
pub(super) struct Limits {
    /// The least share of routes that must be right, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = read_share)]
    min_route: Option<f64>,
    /// The least share of questions whose sources must be among the evidence, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = read_share)]
    min_sources: Option<f64>,
    /// The least share of answers that must be as expected (answer_contains, answer_lacks, outcome), 0
    /// to 1
    #[arg(long, value_name = "SHARE", value_parser = read_share)]
    min_answers: Option<f64>,
    /// The least share of questions whose path must be as expected (query_type, rule, tools, calls,
    /// rounds), 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = read_share)]
    min_path: Option<f64>,
    /// Highest allowed 95th percentile of the run time
    #[arg(long, value_name = "MS", value_parser = read_non_negative)]
    max_p95_ms: Option<f64>,
    /// The most reasoning calls a run may take, on average
    #[arg(long, value_name = "N", value_parser = read_non_negative)]
    max_calls: Option<f64>,
    /// The most US dollars that may be spent for all runs
    #[arg(long, value_name = "USD", value_parser = read_non_negative)]
    max_cost: Option<f64>,
}

fn read_share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok();
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a share is a number from 0 to 1, such as 0.9".to_owned())
}

fn read_non_negative(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "it must be a number from 0 on".to_owned())
}

/// A limit that was given, and what breaks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Such as `--min-route 0.9`.
    pub limit: String,
    pub broken: Option<String>,
}

impl Limits {
    /// One for each of [`CHECKS`], in their order.
    fn shares(&self) -> [Option<f64>; 4] {
        [
            self.min_route,
            self.min_sources,
            self.min_answers,
            self.min_path,
        ]
    }

    /// Refuses a limit for something that no question specifies: it would always hold.
    pub(super) fn check(
        &self,
        questions: &[ExpectedRun],
        file: &Path,
    ) -> Result<(), CommandFailure> {
        for ([check, _, option], limit) in CHECKS.iter().zip(self.shares()) {
            if limit.is_some() && !questions.iter().any(|asked| asked.expects(check)) {
                let file = file.display();
                let fields = ExpectedRun::fields(check).join(" or ");
                let why = format!("{option}: no question of {file} has {fields}");
                return Err(CommandFailure::usage(why));
            }
        }
        Ok(())
    }

    /// Holds the figures of [`count_runs`] against each limit that is given.
    pub(super) fn verdicts(&self, of: &Value) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        let mut add = |option: &str, limit: f64, broken: Option<String>| {
            let limit = format!("{option} {limit}");
            verdicts.push(Verdict { limit, broken });
        };
        for ([_, of_all, option], limit) in CHECKS.iter().zip(self.shares()) {
            let share = &of[*of_all];
            if let (Some(limit), Some(right), Some(all)) =
                (limit, share["right"].as_f64(), share["of"].as_f64())
            {
                let line = format!("{right} of {all} are right, {option} asks for {limit}");
                add(option, limit, (right / all < limit).then_some(line));
            }
        }
        let number = |name: &str| of[name].as_f64();
        let calls = number("calls").zip(number("runs"));
        for (option, limit, figure) in [
            ("--max-p95-ms", self.max_p95_ms, number("p95_ms")),
            (
                "--max-calls",
                self.max_calls,
                calls.map(|(all, runs)| all / runs),
            ),
        ] {
            if let (Some(limit), Some(figure)) = (limit, figure) {
                let line = format!("it is {figure:.1}, {option} allows {limit}");
                add(option, limit, (figure > limit).then_some(line));
            }
        }
        if let Some(limit) = self.max_cost {
            let broken = match number("cost_usd") {
                None if number("prompt_tokens") > Some(0.0) => Some(
                    "the cost is not known, as the model has no known price: --max-cost cannot hold \
                     ('kb-agent help models' tells of prices)"
                        .to_owned(),
                ),
                Some(cost) if cost > limit => Some(format!(
                    "{} for all runs, --max-cost allows {}",
                    dollars(cost),
                    dollars(limit)
                )),
                _ => None,
            };
            add("--max-cost", limit, broken);
        }
        verdicts
    }
}

/// What all questions came to under one of the settings, from all runs and from the questions that they
/// were joined to. Shares count questions, everything else counts runs; what is not measured is null.
pub(super) fn count_runs(settings: &NamedSettings, runs: &[Trial], questions: &[Trial]) -> Value {
    let share = |check: &str| {
        let judged = questions.iter().filter_map(|trial| trial.checks[check]);
        let judged: Vec<bool> = judged.collect();
        let right = judged.iter().filter(|holds| **holds).count();
        (!judged.is_empty()).then(|| json!({"right": right, "of": judged.len()}))
    };
    let agreed: Option<usize> = questions.iter().map(|it| Some(it.repeats?.agreed)).sum();
    let ended = |outcome| runs.iter().filter(|it| it.outcome == Some(outcome)).count();
    let complete = runs.iter().filter(|run| run.is_complete());
    let latency = Latency::from_times(complete.map(|run| run.cost.ms));
    let sum = |of: fn(&Trial) -> u64| runs.iter().map(of).fold(0, u64::saturating_add);
    let counted = runs.iter().filter(|run| run.cost.tokens() > 0);
    let costs: Option<Vec<f64>> = counted.map(|run| run.cost.cost_usd).collect();
    let costs = costs.filter(|costs| !costs.is_empty());
    let mut figures = json!({
        "settings": settings.name,
        "log": settings.with_log_apart().audit_log.display().to_string(),
        "questions": questions.len(),
        "runs": runs.len(),
        "agreed": agreed.map(|right| json!({"right": right, "of": runs.len()})),
        "answered": ended(Outcome::Answered),
        "not_found": ended(Outcome::NotFound),
        "failed": runs.len() - latency.count,
        "calls": sum(|run| u64::from(run.cost.calls)),
        "p50_ms": latency.median_ms,
        "p95_ms": latency.p95_ms,
        "prompt_tokens": sum(|run| run.cost.prompt_tokens),
        "completion_tokens": sum(|run| run.cost.completion_tokens),
        "cost_usd": costs.map(|costs| costs.iter().sum::<f64>()),
    });
    for [check, of_all, _] in CHECKS {
        figures[of_all] = json!(share(check));
    }
    figures
}
