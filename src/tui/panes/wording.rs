//! The words and inks of routes, reasons, ends and tools: the same in every pane.

use crate::domain::{
    Complexity, ConfidenceLevel, GradedBy, KEEP_FROM, RouteReason, SUFFICIENT_FROM, ToolName,
};
use crate::text::duration;
use crate::tui::fold::{ContextState, EvidenceRow, Grade, NodeState};
use crate::tui::ink::{Ink, Row, measure};

/// The ink of a route.
pub fn route_ink(complexity: Complexity) -> Ink {
    match complexity {
        Complexity::Chitchat => Ink::Chitchat,
        Complexity::Simple => Ink::Simple,
        Complexity::Complex => Ink::Complex,
    }
}

/// The ink of a reason.
pub fn reason_ink(reason: Option<RouteReason>) -> Ink {
    match reason {
        Some(RouteReason::Chitchat) => Ink::Chitchat,
        Some(RouteReason::Simple) => Ink::Simple,
        Some(RouteReason::Complex) => Ink::Complex,
        Some(RouteReason::Generate) => Ink::Strong,
        Some(RouteReason::Refine | RouteReason::ReRetrieve | RouteReason::MaxIterations) => {
            Ink::Weak
        }
        Some(RouteReason::Forced) | None => Ink::Text,
    }
}

/// How sure an answer is: a sign and a word.
pub fn certainty(level: ConfidenceLevel) -> Row {
    let (ink, sign) = match level {
        ConfidenceLevel::Sure => (Ink::Strong, "✓"),
        ConfidenceLevel::Likely => (Ink::Weak, "≈"),
        ConfidenceLevel::Unsure => (Ink::Warning, "?"),
    };
    Row::new(ink, format!("{sign} {}", level.advice()))
}

/// How a visit ended that did not come to its end.
pub fn broken_off(state: NodeState, ms: f64) -> String {
    let how = match state {
        NodeState::Failed => "failed",
        _ => "stopped",
    };
    format!("{how} after {}", duration(ms))
}

/// The tool in at most six letters.
pub fn short_tool(tool: ToolName) -> &'static str {
    tool.descriptor().label
}

/// One frame of the sign of something at work.
pub fn spinner(frame: usize) -> &'static str {
    ["◐", "◓", "◑", "◒"][frame % 4]
}

// A score, and where it came from.
//
// Only a number that the grader measured gets a filled bar. What a rule or a fallback said is a
// dashed line with the word; an item without a grade shows how well it matched, and at which
// places the searches had it.

/// The ink of a measured score.
pub fn band(value: f64) -> Ink {
    if value >= SUFFICIENT_FROM {
        Ink::Strong
    } else if value >= KEEP_FROM {
        Ink::Weak
    } else {
        Ink::Dropped
    }
}

/// What is said of an item that the grader did not look at, in place of a grade.
pub const NOT_LOOKED_AT: &str = "not looked at";

/// How much room there is to say how an item was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoreDetail {
    /// For a bar and all words.
    Bar,
    /// Room for all words.
    Words,
    /// For as few as tell where a score came from.
    Scarce,
}

/// How an item was judged.
pub fn judgement(item: &EvidenceRow, room: ScoreDetail) -> Row {
    let with_bar = room == ScoreDetail::Bar;
    let low = |row: Row| match item.standing {
        ContextState::Low => row.add(Ink::Warning, ", low"),
        _ => row,
    };
    match item.grade {
        None => low(found_by(item, room)),
        Some(Grade {
            by: GradedBy::Grader | GradedBy::Hand,
            score: Some(score),
        }) => graded_row(item, score.value(), with_bar),
        Some(Grade { by, score }) => {
            let words = match (by, score) {
                (_, None) => NOT_LOOKED_AT.to_owned(),
                (GradedBy::Rule(rule), _) => format!("rule {}", rule.as_str()),
                (_, Some(score)) => format!("fallback {:.1}", score.value()),
            };
            let dashes = if with_bar {
                format!("{UNMEASURED}  ")
            } else {
                String::new()
            };
            low(Row::new(Ink::Unmeasured, dashes + &words))
        }
    }
}

fn graded_row(item: &EvidenceRow, value: f64, with_bar: bool) -> Row {
    let ink = band(value);
    let mut row = Row::default();
    if with_bar {
        row = row.join(bar(value, ink));
        row.push(Ink::Text, " ");
    }
    row.push(ink, format!("{} ", measure(value)));
    match item.standing {
        ContextState::Dropped => row.push(Ink::Dropped, "dropped"),
        ContextState::Low => row.push(Ink::Warning, "grader, low"),
        ContextState::Kept | ContextState::Within => row.push(Ink::Dim, "grader"),
    }
    row
}

/// `match .84 · words #2 meaning #1`, in scarce room `match .84 · w#2 m#1`: the search's own
/// measure, which is no grade.
pub fn found_by(item: &EvidenceRow, room: ScoreDetail) -> Row {
    let score = item.found_with.value();
    let ranks = (item.measured.lexical_rank, item.measured.vector_rank);
    if !item.tool.descriptor().is_scored || (score == 0.0 && ranks == (None, None)) {
        return Row::new(Ink::Unmeasured, "not scored");
    }
    let short = format!("{score:.2}");
    let mut row = Row::new(Ink::Dim, "match ").add(Ink::Text, short.trim_start_matches('0'));
    let sides = match room {
        ScoreDetail::Scarce => ["w", "m"],
        ScoreDetail::Bar | ScoreDetail::Words => ["words ", "meaning "],
    };
    let ranks = [(sides[0], ranks.0), (sides[1], ranks.1)];
    let ranks = ranks
        .into_iter()
        .filter_map(|(side, rank)| Some((side, rank?)));
    let ranks: Vec<String> = ranks.map(|(side, rank)| format!("{side}#{rank}")).collect();
    if !ranks.is_empty() {
        row.push(Ink::Dim, format!(" · {}", ranks.join(" ")));
    }
    row
}

/// How to read the rows to come.
pub fn legend() -> Vec<Row> {
    let graded = |value: f64, words: String| {
        let ink = band(value);
        let row = Row::new(Ink::Text, " ").join(bar(value, ink));
        row.add(ink, format!(" {value:.2} ")).add(Ink::Dim, words)
    };
    let strong = format!("strong: an average from {SUFFICIENT_FROM:.2} answers");
    vec![
        graded(0.9, strong),
        graded(0.5, "weak: more is looked for".to_owned()),
        graded(0.1, format!("dropped, below {KEEP_FROM:.2}")),
        Row::new(Ink::Text, " ")
            .add(Ink::Unmeasured, UNMEASURED)
            .add(Ink::Dim, "      not measured"),
    ]
}

/// The placeholder for the bar of a score that was not measured.
const UNMEASURED: &str = "╌╌╌┆╌╌╌╌┆╌╌╌";

fn bar(value: f64, ink: Ink) -> Row {
    // A bar that ends at a mark has reached it.
    let filled = (value * 10.0 + 1e-9).floor() as usize;
    let mut row = Row::default();
    for cell in 0..10 {
        for mark in [KEEP_FROM, SUFFICIENT_FROM] {
            if cell == (mark * 10.0).round() as usize {
                row.push(if value >= mark { ink } else { Ink::Dim }, "│");
            }
        }
        if cell < filled {
            row.push(ink, "▇");
        } else {
            row.push(Ink::Border, "·");
        }
    }
    row
}
