//! `label`: judges a recorded run from the shell, as `+` and `-` do on the screen.

use clap::Args;

use super::output::CommandFailure;
use super::runs::LogArgs;
use crate::audit::{Labels, Lookup};
use crate::config::Settings;
use crate::domain::{Complexity, LabelTarget, LabelVerdict};
use crate::protocol::{Label, RunRecord, Timestamp};

/// Arguments of `label`.
#[derive(Debug, Args)]
pub(super) struct LabelArgs {
    #[command(flatten)]
    log: LogArgs,
    /// A run from the audit log: its id (any unique prefix or suffix) or 'last'
    #[arg(value_name = "RUN")]
    run: String,
    /// route=ROUTE says which route is right: chitchat, simple or complex (or good, bad); answer=good, answer=bad; N=good,
    /// N=bad for the passage with the number N in the answer; TARGET=none takes a label back
    #[arg(value_name = "TARGET=VERDICT", required = true)]
    labels: Vec<String>,
}

/// Appends the labels, all of them or, where one cannot be read, none.
pub(super) fn run(args: &LabelArgs, settings: &Settings) -> Result<(), CommandFailure> {
    let settings = &args.log.settings(settings)?;
    let lookup = Lookup::open(&settings.audit_log)?;
    let summary = lookup.run(&args.run)?;
    let records = lookup.records(&[summary])?;
    let record = records.first().cloned().unwrap_or_default();
    let read = |label: &String| {
        let why = |why| CommandFailure::usage(format!("{label}: {why}"));
        read_label(label, &record).map_err(why)
    };
    let labels: Vec<_> = args.labels.iter().map(read).collect::<Result<_, _>>()?;
    for (target, verdict) in labels {
        let label = Label {
            ts: Timestamp::now(),
            run: summary.id.clone(),
            target,
            verdict,
        };
        Labels::append(&settings.audit_log, &label).map_err(CommandFailure::failed)?;
    }
    Ok(())
}

fn read_label(label: &str, run: &RunRecord) -> Result<(LabelTarget, LabelVerdict), String> {
    let (target, verdict) = label
        .split_once('=')
        .ok_or("a label looks like route=simple, answer=bad or 3=good")?;
    let target = match target {
        "route" => LabelTarget::Route,
        "answer" => LabelTarget::Answer,
        number => {
            let wanted = number.parse().ok();
            let mut items = run.evidence.iter();
            let item = items.find(|item| item.n.is_some() && item.n == wanted);
            let id = item.map(|item| item.item.id.clone());
            let id = id.ok_or_else(|| {
                format!(
                    "'{number}' is neither route, answer nor the number of a passage of the answer"
                )
            })?;
            LabelTarget::Passage { id }
        }
    };
    let route = Complexity::parse(verdict).filter(|_| target == LabelTarget::Route);
    let verdict = match (verdict, route, run.summary.route) {
        ("good", ..) => LabelVerdict::Good,
        ("bad", ..) => LabelVerdict::BAD,
        ("none", ..) => LabelVerdict::TakenBack,
        (_, Some(_), None) => return Err("the run ended before its route was decided".to_owned()),
        (_, Some(right), Some(taken)) if right == taken => LabelVerdict::Good,
        (_, Some(right), _) => LabelVerdict::Bad {
            should_be: Some(right),
        },
        _ if target == LabelTarget::Route => {
            return Err("a route is chitchat, simple, complex, good, bad or none".to_owned());
        }
        _ => return Err("a verdict is good, bad or none".to_owned()),
    };
    Ok((target, verdict))
}
