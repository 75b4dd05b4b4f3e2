//! The window from which a run begins again at a node.

use crate::domain::NodeName;
use crate::text::{one_line, plural};
use crate::tui::ink::{Ink, Row, cut_path, measure};
use crate::tui::rerun_plan::{PlannedPassage, RerunPlan};
use crate::tui::window::{Overlay, Window};

use super::wording::{band, reason_ink};

/// Rows above the passages.
pub const HEADER_ROWS: usize = 3;

/// The window over a plan; its first passage is selected.
pub fn window(plan: Box<RerunPlan>) -> Window {
    let mut window = Window::new(Overlay::Rerun(plan));
    window.list.selected = HEADER_ROWS;
    window
}

/// All rows: what happens, what was changed, and the passages.
pub fn rows(plan: &RerunPlan, width: usize) -> Vec<Row> {
    let mut rows = vec![
        Row::new(Ink::Text, what_happens(plan)),
        changes(plan),
        instruction(plan),
    ];
    let passages = plan.passages.iter();
    rows.extend(passages.map(|passage| passage_row(passage, plan.goes_by_grades(), width)));
    if plan.passages.is_empty() {
        rows.push(Row::new(
            Ink::Dim,
            "no passages were found before this node",
        ));
    }
    rows.into_iter().map(|row| row.fit(width)).collect()
}

fn what_happens(plan: &RerunPlan) -> String {
    let kept = plan.passages.iter().filter(|passage| passage.is_kept);
    let passages = plural(kept.count(), "passage");
    match plan.from() {
        // No plan begins at the first node.
        NodeName::AnalyzeAndRoute | NodeName::Plan => format!("Plans again, knowing {passages}."),
        NodeName::ToolExec => {
            let calls = plural(plan.recorded.pending.len(), "call");
            format!("Makes {calls} again, knowing {passages}.")
        }
        NodeName::GradeEvidence if plan.verdict().is_some() => {
            format!("Goes by these grades of {passages}.")
        }
        NodeName::GradeEvidence => format!("Grades {passages} again."),
        NodeName::Synthesize => format!("Answers from {passages}."),
    }
}

/// What set grades come to, and what was changed so far.
fn changes(plan: &RerunPlan) -> Row {
    let mut row = Row::default();
    if let Some((average, reason)) = plan.verdict() {
        let average = average.map(|average| format!("average {}", measure(average)));
        let average = average.unwrap_or_else(|| "nothing kept".to_owned());
        row.push(Ink::Dim, format!("{average} → "));
        row.push(reason_ink(Some(reason)), reason.as_str());
        row.push(Ink::Dim, " · ");
    }
    let changes = plan.rerun().changes_in_words();
    row.add(Ink::Dim, changes.as_deref().unwrap_or("as recorded"))
}

/// What the model is told besides, where that is something.
fn instruction(plan: &RerunPlan) -> Row {
    if plan.instruction.is_empty() && !plan.is_typing {
        return Row::default();
    }
    let row = Row::new(Ink::Focus, "and tell the model: ");
    let row = row.add(Ink::Text, plan.instruction.as_str());
    let caret = if plan.is_typing { "▏" } else { "" };
    row.add(Ink::Focus, caret)
}

fn passage_row(passage: &PlannedPassage, has_grades: bool, width: usize) -> Row {
    let is_changed = passage.is_kept != passage.was_kept;
    let ink = if is_changed { Ink::Warning } else { Ink::Text };
    let sign = if passage.is_kept { " [x] " } else { " [ ] " };
    let mut row = Row::new(ink, sign);
    let measured = passage.grade.filter(|_| passage.is_measured);
    match passage.set.or(measured) {
        Some(grade) => row.push(band(grade.value()), measure(grade.value())),
        None => row.push(Ink::Unmeasured, "–   "),
    }
    let sign = if passage.set.is_some() { "* " } else { "  " };
    row.push(Ink::Warning, if has_grades { sign } else { "  " });
    let place = format!(
        "{}:{}",
        one_line(&passage.item.source, 200),
        passage.item.location()
    );
    let words = match (passage.was_kept, passage.is_kept) {
        (true, false) => "  dropped",
        (false, true) => "  restored",
        (false, false) => "  was dropped",
        (true, true) => "",
    };
    let room = width.saturating_sub(row.width() + words.len());
    let ink = if passage.is_kept {
        Ink::Text
    } else {
        Ink::Dropped
    };
    row.add(ink, cut_path(&place, room)).add(Ink::Dim, words)
}
