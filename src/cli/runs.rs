use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;

use super::columns::{Column, Side, column, table, terminal_width};
use super::output::{Failure, NOTHING, complain, say, say_json};
use crate::audit::Lookup;
use crate::config::Settings;
use crate::domain::{Complexity, Outcome};
use crate::protocol::RunSummary;
use crate::text::one_line;

/// The shortest ids that are shown, in characters.
const SHORTEST: usize = 8;
/// The longest part of a question that a table shows, in characters.
const QUESTION: usize = 200;

/// Columns that are left out first where there is no room have the largest numbers.
const COLUMNS: [Column; 7] = [
    column("id", Side::Left, 0),
    column("time (UTC)", Side::Left, 2),
    column("route", Side::Left, 3),
    column("outcome", Side::Left, 1),
    column("calls", Side::Right, 4),
    column("saved", Side::Right, 5),
    column("question", Side::Left, 0),
];

/// Arguments of `runs`.
#[derive(Debug, Args)]
pub(super) struct Runs {
    /// Print one JSON object a run
    #[arg(long)]
    json: bool,
    /// Only the runs of this conversation: its id, or a beginning that no other has
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

/// Prints the recorded runs, newest first.
pub(super) fn run(runs: &Runs, settings: &Settings) -> Result<(), Failure> {
    list(&settings.audit_log, runs.session.as_deref(), runs.json)
}

/// Prints the runs of a log, newest first, or those of one of its sessions.
pub(super) fn list(log: &Path, session: Option<&str>, json: bool) -> Result<(), Failure> {
    let lookup = Lookup::of(log).map_err(Failure::failed)?;
    let mut listed: Vec<&RunSummary> = match session {
        Some(session) => lookup.session(session).map_err(Failure::failed)?,
        None => lookup.runs().iter().collect(),
    };
    listed.reverse();
    if json {
        for run in listed {
            say_json(run)?;
        }
        return Ok(());
    }
    if listed.is_empty() {
        let log = log.display();
        complain(&format!(
            "no runs yet: the first question makes the audit log {log}"
        ));
        return Ok(());
    }
    let short = short_ids(lookup.runs());
    let rows: Vec<_> = listed.iter().map(|run| row(run, &short)).collect();
    Ok(say(table(&COLUMNS, &rows, terminal_width()))?)
}

fn row(run: &RunSummary, short: &BTreeMap<&str, usize>) -> Vec<String> {
    let id = run.id.0.as_str();
    let length = short.get(id).copied().unwrap_or(usize::MAX);
    let id: String = id.chars().take(length).collect();
    vec![
        one_line(&id, 64),
        run.time.minute(),
        run.route.map_or(NOTHING, Complexity::as_str).to_owned(),
        run.outcome.map_or(NOTHING, Outcome::as_str).to_owned(),
        number(run.calls),
        number(run.saved),
        one_line(&run.question, QUESTION),
    ]
}

fn number(figure: Option<u32>) -> String {
    figure.map_or_else(|| NOTHING.to_owned(), |figure| figure.to_string())
}

/// How many characters of each id tell it from those of all other runs and sessions.
fn short_ids(runs: &[RunSummary]) -> BTreeMap<&str, usize> {
    let ids = runs
        .iter()
        .flat_map(|run| [run.id.0.as_str(), run.session.as_str()]);
    let mut lengths: BTreeMap<&str, usize> = ids.map(|id| (id, SHORTEST)).collect();
    let sorted: Vec<&str> = lengths.keys().copied().collect();
    for pair in sorted.windows(2) {
        let both = pair[0].chars().zip(pair[1].chars());
        let needed = both.take_while(|(a, b)| a == b).count() + 1;
        for id in pair {
            if let Some(length) = lengths.get_mut(id) {
                *length = needed.max(*length);
            }
        }
    }
    lengths
}
