//! Where the two numbers of the meter come from.

use crate::domain::{GradedBy, NodeName, PathType};
use crate::protocol::EventBody;
use crate::tui::ink::{Ink, Row, pad};
use crate::tui::model::{Model, OpenRun};

/// The calls that one event saved: where, how many, and why.
struct SavedCalls {
    node: NodeName,
    calls: u32,
    why: String,
}

/// Made and saved, node by node, and what the whole is.
pub fn savings(turn: Option<&OpenRun>, model: &Model) -> Vec<Row> {
    let most = model.limits.max_iterations;
    let mut rows = vec![
        Row::new(
            Ink::Text,
            "The full pipeline thinks once to analyze the question, then once to",
        ),
        Row::new(
            Ink::Text,
            "plan and once to grade in each round, and once to answer.",
        ),
    ];
    let Some(turn) = turn else {
        rows.push(Row::default());
        let line = format!(
            "With at most {most} rounds that is {}.",
            model.mode.calls(2 + 2 * most)
        );
        rows.push(Row::new(Ink::Dim, line));
        return rows;
    };
    let saved = saved_by_events(turn);
    rows.push(Row::default());
    for node in NodeName::ALL {
        let view = turn.run.node(node);
        let of_node = || saved.iter().filter(|one| one.node == node);
        let count: u32 = of_node().map(|one| one.calls).sum();
        if view.calls == 0 && count == 0 {
            continue;
        }
        let mut row = Row::new(Ink::Text, pad(node.as_str(), 18));
        row.push(Ink::Text, format!("{:>2} made", view.calls));
        if count > 0 {
            row.push(Ink::Strong, format!("  {count} saved"));
            let why: Vec<_> = of_node().map(|one| one.why.as_str()).collect();
            row.push(Ink::Dim, format!(": {}", why.join(", ")));
        }
        rows.push(row);
    }
    rows.push(Row::default());
    rows.push(sum(turn));
    rows.push(Row::default());
    rows.extend(run_id_rows(turn));
    rows
}

/// What the run is called at the command line.
fn run_id_rows(turn: &OpenRun) -> [Row; 2] {
    let id = crate::text::one_line(&turn.run.id.0, 64);
    let words = "kb-agent replay, graph and export take it, or its end";
    [
        Row::new(Ink::Dim, "run ").add(Ink::Text, id),
        Row::new(Ink::Dim, words),
    ]
}

fn sum(turn: &OpenRun) -> Row {
    let made = turn.run.calls();
    let Some(finish) = &turn.run.finish else {
        let made = turn.run.mode.calls(made);
        return Row::new(
            Ink::Dim,
            format!("{made} so far; what is saved counts at the end"),
        );
    };
    if finish.broke_off() {
        let made = turn.run.mode.calls(made);
        let line = format!("{made}; nothing is saved by not arriving");
        return Row::new(Ink::Dim, line);
    }
    let whole = turn.run.mode.calls(made.saturating_add(finish.saved));
    Row::new(
        Ink::Text,
        format!("{made} made + {} saved = ", finish.saved),
    )
    .add(
        Ink::Text,
        format!("{whole} of the full pipeline on these rounds"),
    )
}

/// What each short cut spared, as the run counts it.
fn saved_by_events(turn: &OpenRun) -> Vec<SavedCalls> {
    let mut saved = Vec::new();
    let mut save = |node, why: &str| {
        saved.push(SavedCalls {
            node,
            calls: 1,
            why: why.to_owned(),
        });
    };
    for row in turn.trail.iter() {
        match row.body() {
            EventBody::FastPathHit {
                path_type,
                rule_name,
                ..
            } => match path_type {
                PathType::Chitchat => {
                    save(NodeName::Plan, "small talk needs no search");
                    save(NodeName::GradeEvidence, "small talk has no evidence");
                }
                PathType::SimpleSkipGrading => {
                    save(NodeName::GradeEvidence, "simple questions are not graded");
                }
                PathType::RuleAutoApprove => {
                    let rule = crate::text::one_line(rule_name, 40);
                    save(NodeName::GradeEvidence, &format!("rule {rule}"));
                }
            },
            EventBody::EvidenceGraded {
                by: GradedBy::NoEvidence,
                ..
            } => save(NodeName::GradeEvidence, "there was nothing to grade"),
            _ => {}
        }
    }
    // An answer without a call came with the analysis, or there was nothing to answer from.
    let recorded = saved.len() as u32;
    let rest = turn.run.finish.as_ref().map_or(0, |finish| finish.saved);
    if rest > recorded && turn.run.node(NodeName::Synthesize).calls == 0 {
        saved.push(SavedCalls {
            node: NodeName::Synthesize,
            calls: rest - recorded,
            why: format!("the answer needed no {} of its own", turn.run.mode.call()),
        });
    }
    saved
}
