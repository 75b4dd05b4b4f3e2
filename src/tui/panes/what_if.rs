//! The window that asks what a run would have done within other limits.

use crate::domain::{
    Change, Complexity, Decision, EDGES, Edge, Forecast, GradedBy, NodeName, Round, RoutedQuestion,
    RoutingLimits, Unknown, WhatIf,
};
use crate::protocol::RecordedGradings;
use crate::tui::fold::{Grading, why};
use crate::tui::ink::{Ink, Row, columns, grouped_plural, pad, wrap_plain};
use crate::tui::model::Model;
use crate::tui::turns::TurnView;
use crate::tui::window::{SLIDERS, Sliders};

use super::wording::reason_ink;

/// Cells of a slider, and of one in a narrow window.
const TRACK: usize = 24;
const SHORT_TRACK: usize = 14;
/// Cells before the slider's track.
const TITLE: usize = 20;
/// The sign before it, and the value behind.
const VALUE: usize = 8;
/// A window that is no narrower shows both ways side by side.
const SIDE_BY_SIDE: usize = 76;

/// All rows: the sliders, the run as it went and as it would, and all runs in one line.
pub fn rows(model: &Model, sliders: &Sliders, width: usize) -> Vec<Row> {
    let Some(turn) = model.shown_turn() else {
        return vec![Row::new(Ink::Dim, "Nothing was asked yet.")];
    };
    let recorded = turn.gradings();
    let wanted = sliders.limits(&recorded.limits);
    let result = recorded.what_if(&wanted);
    let slider = |at: usize| {
        let value = |limits: &RoutingLimits| SLIDERS[at].value(limits);
        match (value(&recorded.limits), value(&wanted)) {
            (Some(was), Some(now)) => slider_row(at, sliders, was, now, width),
            _ => slider_head(at, sliders).add(Ink::Dim, "not recorded"),
        }
    };
    let mut rows: Vec<Row> = (0..SLIDERS.len()).map(|at| slider(at).fit(width)).collect();
    rows.push(Row::default());
    rows.extend(
        recorded
            .routed
            .and_then(|routed| route_row(routed, &result)),
    );
    rows.extend(rounds(&result, &recorded.limits, &wanted, width));
    rows.extend(wrap_plain(&consequence(&result, &recorded), width));
    rows.push(Row::default());
    rows.extend(wrap_plain(&sweep(model, sliders), width));
    rows
}

fn slider_head(at: usize, sliders: &Sliders) -> Row {
    let (sign, ink) = if sliders.selected == at {
        ("▸ ", Ink::Focus)
    } else {
        ("  ", Ink::Text)
    };
    Row::new(ink, sign).add(ink, pad(SLIDERS[at].title, TITLE))
}

/// What the built-in router measured, and the route that follows where it is another one.
fn route_row(routed: RoutedQuestion, result: &WhatIf) -> Option<Row> {
    let measured = [
        (Complexity::Complex, routed.complex),
        (Complexity::Chitchat, routed.chitchat),
    ];
    let measured = measured
        .iter()
        .filter_map(|(route, measured)| Some(format!(" · P({route}) {:.2}", (*measured)?)));
    let measured: String = measured.collect();
    let row = Row::new(Ink::Text, routed.taken.as_str()).add(Ink::Dim, &measured);
    let other = result.route.map(|route| format!(" → {route}"));
    (!measured.is_empty()).then(|| row.add(Ink::Weak, other.unwrap_or_default()))
}

fn slider_row(at: usize, sliders: &Sliders, recorded: f64, wanted: f64, width: usize) -> Row {
    let is_short = width < SIDE_BY_SIDE;
    let track = if is_short { SHORT_TRACK } else { TRACK };
    // The value stays readable.
    let track = track.min(width.saturating_sub(TITLE + VALUE)).max(3);
    let slider = &SLIDERS[at];
    let is_moved = sliders.is_moved(at);
    let cell_of = |value| (slider.share(value) * (track - 1) as f64).round() as usize;
    let (now, was) = (cell_of(wanted), cell_of(recorded));
    let mut row = slider_head(at, sliders);
    for cell in 0..track {
        let (ink, sign) = match cell {
            _ if cell == now => (if is_moved { Ink::Weak } else { Ink::Focus }, "●"),
            _ if cell == was => (Ink::Dim, "┆"),
            _ if cell < now => (Ink::Done, "━"),
            _ => (Ink::Border, "─"),
        };
        row.push(ink, sign);
    }
    let ink = if is_moved { Ink::Weak } else { Ink::Text };
    row.push(ink, format!("  {}", slider.value_text(wanted)));
    let was = Row::new(Ink::Dim, format!("  was {}", slider.value_text(recorded)));
    if is_moved && row.width() + was.width() <= width {
        row = row.join(was);
    }
    row
}

/// Every round as it was decided, and as it would be.
fn rounds(
    result: &WhatIf,
    recorded: &RoutingLimits,
    wanted: &RoutingLimits,
    width: usize,
) -> Vec<Row> {
    let heading = |words: &str| Row::new(Ink::Heading, words);
    let mut rows = Vec::new();
    let side_by_side = width >= SIDE_BY_SIDE;
    let half = (width / 2).saturating_sub(2);
    if side_by_side && !result.rounds.is_empty() {
        let (was, would) = (heading("As it was"), heading("Within these limits"));
        rows.extend(columns(vec![was], vec![would], half, "  ", width));
    }
    for round in &result.rounds {
        let differs = !matches!(&round.would, Forecast::Decided(would) if *would == round.taken);
        let left = decision(round, &round.taken, recorded, differs);
        let right = match &round.would {
            Forecast::Decided(would) => decision(round, would, wanted, differs),
            Forecast::Unknown(why) => {
                let why = Row::new(Ink::Warning, format!("  ? {}", unknown(*why)));
                vec![Row::default(), why]
            }
        };
        if side_by_side {
            rows.extend(columns(left, right, half, "  ", width));
            continue;
        }
        rows.extend(left);
        // What is the same is drawn once.
        if differs {
            rows.push(heading("Within these limits"));
            rows.extend(right);
        }
    }
    rows.into_iter().map(|row| row.fit(width)).collect()
}

fn head(round: &Round, decision: &Decision) -> Row {
    let items = grouped_plural(round.items, "item");
    let number = round.round.saturating_add(1);
    let mut row = Row::new(Ink::Text, format!("round {number}"));
    row.push(Ink::Dim, format!(" · {items}"));
    if round.items > 0 {
        row.push(Ink::Dim, format!(" · {} kept", decision.kept_count()));
    }
    row
}

/// Round, reason with its arithmetic and, where it matters, all branches, the one taken lit.
fn decision(
    round: &Round,
    decision: &Decision,
    limits: &RoutingLimits,
    with_branches: bool,
) -> Vec<Row> {
    let grading = Grading {
        average: decision.average,
        items: decision.kept.len(),
        not_looked_at: 0,
        dropped: decision.kept.len() - decision.kept_count(),
        action: decision.action,
        by: decision.by,
    };
    let words = why(decision.reason, Some(&grading), limits);
    let reason = Row::new(reason_ink(Some(decision.reason)), format!("  {words}"));
    let mut rows = vec![head(round, decision), reason];
    if with_branches {
        let leaving = EDGES
            .iter()
            .filter(|edge| edge.from == NodeName::GradeEvidence);
        rows.extend(leaving.map(|edge| branch(edge, decision)));
    }
    rows
}

fn branch(edge: &Edge, decision: &Decision) -> Row {
    let to = edge.to.map_or("end", NodeName::as_str);
    if decision.next() == edge.to {
        Row::new(Ink::Done, "  ━▶ ").add(Ink::Text, to)
    } else {
        Row::new(Ink::Border, "  ┄▷ ").add(Ink::Waiting, to)
    }
}

fn unknown(why: Unknown) -> &'static str {
    match why {
        Unknown::NotGraded => "no rule approves, and the grader was not asked",
        Unknown::NotRecorded => "the log does not hold what decides",
    }
}

/// What follows from it, as far as that is known.
fn consequence(result: &WhatIf, recorded: &RecordedGradings) -> Row {
    let last = result.rounds.last();
    let would = last.and_then(|round| match &round.would {
        Forecast::Decided(would) => Some(would),
        Forecast::Unknown(_) => None,
    });
    let ends = would.is_some_and(|would| would.next() == Some(NodeName::Synthesize));
    let kept = would.map_or(0, Decision::kept_count);
    let kept = grouped_plural(kept, "item");
    if let (Some(route), Some(routed)) = (result.route, recorded.routed) {
        let words = format!(
            "Another way: {route} instead of {}; what that would find was not recorded.",
            routed.taken
        );
        return Row::new(Ink::Weak, words);
    }
    let (ink, words) = match result.change {
        Change::Nothing if result.rounds.is_empty() => {
            let route = recorded
                .routed
                .map_or("this run", |routed| routed.taken.as_str());
            let words =
                format!("Nothing was graded ({route}): only the router's limits decide here.");
            return Row::new(Ink::Dim, words);
        }
        Change::Nothing => (Ink::Dim, "No decision would change."),
        Change::Decider => {
            let is_saved = would.is_some_and(|would| matches!(would.by, GradedBy::Rule(_)))
                && last.is_some_and(|round| round.taken.by == GradedBy::Grader);
            let saved = Some("; the grading is saved")
                .filter(|_| is_saved)
                .unwrap_or_default();
            let words = format!("The same way, decided otherwise{saved}.");
            return Row::new(Ink::Strong, words);
        }
        Change::Reason => (
            Ink::Text,
            "The same way with the same evidence, for another reason.",
        ),
        Change::Evidence if ends => (
            Ink::Weak,
            "The same way, but the answer would rest on {kept}; it was not made.",
        ),
        Change::Evidence => (
            Ink::Weak,
            "The same way, but with {kept} kept; what the next round would add was not recorded.",
        ),
        Change::Route if ends => (
            Ink::Weak,
            "Another way: an answer from {kept} at once; it was not made.",
        ),
        Change::Route => (
            Ink::Weak,
            "Another way: it would search again; what it would find was not recorded.",
        ),
        Change::Unknown(Unknown::NotRecorded) => (
            Ink::Warning,
            "This log does not hold enough to tell the way.",
        ),
        Change::Unknown(_) => (
            Ink::Warning,
            "What the grader would have said is not known, and so is not the way.",
        ),
    };
    Row::new(ink, words.replace("{kept}", &kept))
}

/// How many of all runs of the conversation would change.
fn sweep(model: &Model, sliders: &Sliders) -> Row {
    let (mut routes, mut evidence, mut unknown) = (0, 0, 0);
    for recorded in model.turns.all().filter_map(TurnView::gradings) {
        match recorded.what_if(&sliders.limits(&recorded.limits)).change {
            Change::Route => routes += 1,
            Change::Evidence => evidence += 1,
            Change::Unknown(_) => unknown += 1,
            Change::Nothing | Change::Decider | Change::Reason => {}
        }
    }
    let runs = grouped_plural(model.turns.all().count(), "run");
    let mut row = Row::new(Ink::Text, format!("{routes} of {runs} here"));
    row.push(Ink::Text, " would have gone another way");
    if evidence > 0 {
        let words = format!(", {evidence} would have kept other evidence");
        row.push(Ink::Text, words);
    }
    if unknown > 0 {
        row.push(Ink::Dim, format!("; {unknown} cannot be known"));
    }
    row.add(Ink::Dim, ".")
}
