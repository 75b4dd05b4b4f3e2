//! In words, why a passage is or is not in what a run found.

use super::wording;
use crate::domain::{Cut, LineRange, ListPlace, Score};
use crate::protocol::{CallReport, EvidenceRecord, EvidenceStanding, PassageReport};
use crate::text::{one_line, plural};

/// How much of a query or a reason is repeated, in characters.
const LONGEST: usize = 160;

/// The answer in one sentence.
pub fn summary(report: &PassageReport) -> String {
    match (&report.evidence, report.cut) {
        (Some(found), cut) => of_found(report, found, cut),
        (None, Some(Cut::NotIndexed)) => "Never indexed.".to_owned(),
        (None, Some(Cut::NoTool)) => "Not looked for: the run called no tool.".to_owned(),
        (None, _) => match telling_call(report) {
            Some(call) => of_call(report, call),
            None => "Not found by any call of the run.".to_owned(),
        },
    }
}

/// The sentence, the passage, each call with where the passage stands in its lists, and what changed.
pub fn lines(report: &PassageReport) -> Vec<String> {
    let mut lines = vec![summary(report), place(report)];
    lines.extend(report.note.iter().map(|note| one_line(note, 2 * LONGEST)));
    if let Some(found) = &report.evidence {
        lines.push(format!("{}: {}", found.item.id, wording::scores(found)));
    }
    for call in &report.calls {
        lines.push(call_line(call));
        let ranks = ranks(call);
        if !ranks.is_empty() {
            lines.push(format!("  {}", ranks.join(" · ")));
        }
    }
    lines.extend(report.changed.iter().map(|line| one_line(line, LONGEST)));
    lines
}

fn place(report: &PassageReport) -> String {
    let source = one_line(&report.source, LONGEST);
    match report.lines {
        Some(LineRange { start, end }) => format!("{source}:{start}-{end}"),
        None => source,
    }
}

/// The call that tells most of a passage that was not found: in which it comes first.
fn telling_call(report: &PassageReport) -> Option<&CallReport> {
    let calls = report.calls.iter();
    calls.min_by_key(|call| {
        let rank = call
            .ranks
            .fused
            .map(|place| place.rank)
            .or(call.ranks.best());
        (rank.is_none(), rank)
    })
}

fn of_call(report: &PassageReport, call: &CallReport) -> String {
    let tool = call.call.tool();
    let returned = match call.returned {
        0 => format!("Not found by {tool}, which returned nothing"),
        1 => format!("Not the passage that {tool} returned"),
        count => format!("Not among the {count} passages that {tool} returned"),
    };
    if call.position.is_some() {
        return format!("{returned} in the run; now it is.");
    }
    let sides: Vec<String> = [
        ("by words", call.ranks.words),
        ("by meaning", call.ranks.meaning),
    ]
    .into_iter()
    .filter_map(|(side, place)| Some(format!("{} {side}", place?.rank)))
    .collect();
    let why = match report.cut {
        Some(Cut::Filter) => "the filters of the question leave it out".to_owned(),
        Some(Cut::Failed) => match &call.error {
            Some(error) => format!("the call failed: {}", one_line(error, LONGEST)),
            None => "the call failed".to_owned(),
        },
        Some(Cut::Elsewhere) => "the call was for something else".to_owned(),
        Some(Cut::NoMatch) => "it holds no word of the query, and has no vector near it".to_owned(),
        _ if sides.is_empty() => "it is in none of its lists".to_owned(),
        _ => format!("rank {}", sides.join(", ")),
    };
    format!("{returned}: {why}.")
}

fn of_found(report: &PassageReport, found: &EvidenceRecord, cut: Option<Cut>) -> String {
    let by = format!("Found by {}", found.item.tool);
    match (cut, found.n) {
        (_, Some(n)) if found.cited => format!("{by} and cited as [{n}]."),
        (_, Some(n)) => format!(
            "{by} and given to the answer as [{n}] of {}, which does not cite it.",
            report.sent
        ),
        (Some(Cut::Grade), None) => {
            let grade = found.grade.map_or(0.0, Score::value);
            let graded_by = found.graded_by.map_or("grader", |by| by.as_str());
            format!(
                "{by} and removed: its grade {grade:.2} by {graded_by} is below {:.2}.",
                report.keep_from
            )
        }
        (Some(Cut::NotLookedAt), None) => {
            format!("{by} and removed: the grader did not look at it, as others came first.")
        }
        (Some(Cut::Prompt), None) => format!(
            "{by} and kept, but not among the {} that the answer was given.",
            plural(report.sent, "passage")
        ),
        _ if found.standing == EvidenceStanding::Within => match &report.held_by {
            Some(holder) => {
                let fate = match holder.n {
                    Some(n) if holder.cited => format!("cited as [{n}]"),
                    Some(n) => format!("given to the answer as [{n}]"),
                    None => "not given to the answer".to_owned(),
                };
                format!(
                    "{by} and absorbed into {}, {}, which was {fate}.",
                    holder.item.id,
                    wording::place(holder)
                )
            }
            None => format!("{by} and absorbed into another passage."),
        },
        _ => format!("{by}; the run ended before it was given to an answer."),
    }
}

fn call_line(call: &CallReport) -> String {
    let subject = one_line(call.call.subject(), LONGEST);
    let last = call.last_score;
    let last = last.map_or(String::new(), |last| format!(", the last with {last:.2}"));
    let returned = plural(call.returned, "passage");
    let mut line = format!("{} “{subject}”: {returned}{last}", call.call.tool());
    if let Some(position) = call.position {
        line.push_str(&format!("; it is number {position}"));
    }
    if let Some(cut) = call.cut {
        line.push_str(&format!("; cut off: {}", reason(cut)));
    }
    if let Some(error) = &call.error {
        line.push_str(&format!(" ({})", one_line(error, LONGEST)));
    }
    line
}

fn reason(cut: Cut) -> &'static str {
    match cut {
        Cut::NotIndexed => "its document is not in the index",
        Cut::NoTool => "no tool was called",
        Cut::Filter => "the filters leave it out",
        Cut::Elsewhere => "the call is for something else",
        Cut::NoMatch => "it is in neither list",
        Cut::Candidates => "it is not among the best by words or by meaning",
        Cut::BeyondK => "more come before it than are returned",
        Cut::Floor => "it has no word of the query and too little of its meaning",
        Cut::Failed => "the call failed",
        Cut::Grade => "its grade",
        Cut::NotLookedAt => "the grader did not look at it",
        Cut::Prompt => "more came before it than the answer was given",
        Cut::End => "the run ended",
    }
}

fn ranks(call: &CallReport) -> Vec<String> {
    let side = |name: &str, place: Option<ListPlace>| {
        place.map(|place| format!("{name} #{} {:.2}", place.rank, place.score))
    };
    let ranks = [
        side("words", call.ranks.words),
        side("meaning", call.ranks.meaning),
        side("together", call.ranks.fused),
    ];
    ranks.into_iter().flatten().collect()
}
