//! What the answer rests on: one row an item, with its grade and where the grade came from.
//!
//! Only a number that the grader measured gets a filled bar. What a rule, a fallback or nobody
//! said is a dashed line with the word.

use ratatui::layout::Size;
use unicode_width::UnicodeWidthStr;

use crate::domain::{Complexity, GradedBy, KEEP_FROM, SUFFICIENT_FROM, ToolName};
use crate::tui::fold::{EvidenceFold, EvidenceRow, Grade, RunView, Standing};
use crate::tui::ink::{Ink, Row, cut_path, measure, pad};
use crate::tui::layout::Pane;
use crate::tui::model::Model;
use crate::tui::wrap::wrap;

/// The tool in at most six letters.
pub fn short_tool(tool: ToolName) -> &'static str {
    match tool {
        ToolName::VectorSearch => "vector",
        ToolName::GrepSearch => "grep",
        ToolName::HybridSearch => "hybrid",
        ToolName::ReadFile => "read",
        ToolName::LocalFileQa => "files",
        ToolName::GraphRelated => "graph",
    }
}

/// What stands beside the title: the verdict.
pub fn status(model: &Model) -> Row {
    let Some(run) = model.shown_run().filter(|run| !run.evidence.is_empty()) else {
        return Row::of(Ink::Dim, "what the answer rests on");
    };
    let kept = run.evidence.kept();
    let mut row = Row::default();
    if let Some(edge) = run
        .edges
        .iter()
        .rev()
        .find(|edge| edge.from == crate::domain::NodeName::GradeEvidence)
        && let Some(grading) = run.grading
    {
        let action = grading.action;
        let reason = crate::domain::RouteReason::from(action);
        match grading.by {
            GradedBy::Grader => row.push(Ink::Text, format!("avg {}", measure(grading.average))),
            GradedBy::Fallback => row.push(Ink::Unmeasured, "fallback 0.50"),
            GradedBy::Rule(rule) => row.push(Ink::Unmeasured, format!("rule {}", rule.as_str())),
            GradedBy::NoEvidence => row.push(Ink::Dim, "no evidence"),
        }
        row.push(Ink::Dim, " → ");
        let reason = if edge.reason == Some(crate::domain::RouteReason::MaxIterations) {
            crate::domain::RouteReason::MaxIterations
        } else {
            reason
        };
        row.push(super::path::reason_ink(Some(reason)), reason.as_str());
        row.push(Ink::Dim, " · ");
    }
    let dropped = run.evidence.len() - kept;
    row.push(Ink::Dim, format!("{kept} kept"));
    if dropped > 0 {
        row.push(Ink::Dim, format!(" · {dropped} dropped"));
    }
    row
}

/// The pane.
pub fn rows(model: &Model, size: Size) -> Vec<Row> {
    let width = usize::from(size.width);
    let Some(run) = model.shown_run() else {
        return legend().into_iter().map(|row| row.fit(width)).collect();
    };
    if run.evidence.is_empty() {
        let words = match (&run.finish, run.complexity()) {
            (_, Some(Complexity::Chitchat)) => " none needed: small talk rests on no document",
            (None, _) => " nothing yet",
            (Some(finish), _) if finish.broke_off() => " the run ended before anything was found",
            (Some(_), _) => " nothing was found",
        };
        return vec![Row::of(Ink::Dim, words).fit(width)];
    }
    let list = &model.evidence.list;
    let seen = list_height(model, size);
    let columns = Columns::of(&run.evidence, width);
    let mut rows: Vec<Row> = run
        .evidence
        .rows()
        .skip(list.top)
        .take(seen)
        .map(|item| item_row(run, item, &columns).fit(width))
        .collect();
    let below = run.evidence.len() - (list.top + rows.len()).min(run.evidence.len());
    if below > 0
        && model.focus != Pane::Evidence
        && let Some(last) = rows.last_mut()
    {
        let more = format!("    … {} more", below + 1);
        *last = Row::of(Ink::Dim, more).fit(width);
    }
    let room = usize::from(size.height).saturating_sub(rows.len());
    if room > 1
        && let Some(item) = run.evidence.rows().nth(list.selected)
    {
        rows.extend(passage(run, item, width).into_iter().take(room));
    }
    rows
}

/// How to read the rows to come.
fn legend() -> Vec<Row> {
    let graded = |value: f64, words: String| {
        let ink = band(value);
        Row::of(Ink::Text, " ")
            .join(bar(value, ink))
            .with(ink, format!(" {value:.2} "))
            .with(Ink::Dim, words)
    };
    vec![
        graded(
            0.9,
            format!("strong: an average from {SUFFICIENT_FROM:.2} answers"),
        ),
        graded(0.5, "weak: more is looked for".to_owned()),
        graded(0.1, format!("dropped, below {KEEP_FROM:.2}")),
        Row::of(Ink::Text, " ")
            .with(Ink::Unmeasured, UNMEASURED)
            .with(Ink::Dim, "      nobody measured it"),
    ]
}

/// Which of the drawn rows is selected.
pub fn selected_row(model: &Model) -> Option<usize> {
    let run = model.shown_run()?;
    let list = &model.evidence.list;
    (model.focus == Pane::Evidence && !run.evidence.is_empty())
        .then(|| list.selected.saturating_sub(list.top))
}

/// Rows for the list; the passage of the selected item takes the others.
pub fn list_height(model: &Model, size: Size) -> usize {
    let height = usize::from(size.height);
    let Some(run) = model.shown_run() else {
        return 0;
    };
    let most = if model.evidence.expanded {
        height * 2 / 3
    } else if model.focus == Pane::Evidence && height >= 6 {
        3
    } else {
        0
    };
    // A passage takes no more than it says, or a zoomed pane would be half blank.
    let selected = run.evidence.rows().nth(model.evidence.list.selected);
    let wanted = selected.map_or(0, |item| passage(run, item, size.width.into()).len());
    run.evidence
        .len()
        .min(height.saturating_sub(wanted.min(most)).max(1))
}

struct Columns {
    source: usize,
    bar: bool,
}

impl Columns {
    /// Number, tool, bar, score and provenance have fixed widths; the source takes the rest.
    fn of(evidence: &EvidenceFold, width: usize) -> Self {
        let widest = evidence
            .rows()
            .map(|row| place(row).width())
            .max()
            .unwrap_or(0);
        let bar = width >= 54;
        let others = 5 + 8 + if bar { BAR + 1 } else { 0 } + 5 + 9;
        Self {
            source: widest.clamp(8, width.saturating_sub(others).max(8)),
            bar,
        }
    }
}

fn place(row: &EvidenceRow) -> String {
    format!("{}:{}", row.source, row.location)
}

fn item_row(run: &RunView, item: &EvidenceRow, columns: &Columns) -> Row {
    let dropped = item.standing == Standing::Dropped;
    let (number, ink) = match run.evidence.number(item) {
        _ if dropped => ("  × ".to_owned(), Ink::Dropped),
        Some(number) if run.evidence.is_unused(item) => (format!("{number:>3} "), Ink::Dim),
        Some(number) => (format!("{number:>3} "), Ink::Citation),
        None => ("  · ".to_owned(), Ink::Dim),
    };
    let source = pad(&cut_path(&place(item), columns.source), columns.source);
    let tool = format!(" {:<7}", short_tool(item.tool));
    let head = if dropped {
        Row::of(ink, number)
            .join(Row::of(Ink::Dropped, source.trim_end().to_owned()).struck(Ink::Dropped))
            .pad_to(4 + columns.source)
            .with(Ink::Dropped, tool)
    } else {
        Row::of(ink, number)
            .with(Ink::Text, source)
            .with(Ink::Dim, tool)
    };
    head.join(judgement(run, item, columns.bar))
}

fn judgement(run: &RunView, item: &EvidenceRow, with_bar: bool) -> Row {
    let mut row = Row::default();
    let unmeasured = |mut row: Row, words: String| {
        if with_bar {
            row.push(Ink::Unmeasured, format!("{UNMEASURED}  "));
        }
        row.push(Ink::Unmeasured, words);
        row
    };
    match item.grade {
        None => {
            let mut words = match (run.complexity(), &run.finish) {
                (Some(Complexity::Simple), _) => "not graded (simple)",
                (_, None) => "not graded yet",
                _ => "not graded",
            }
            .to_owned();
            if item.standing == Standing::Low {
                words.push_str(", low");
            }
            unmeasured(row, words)
        }
        Some(Grade {
            by: GradedBy::Grader,
            score,
        }) => {
            let value = score.value();
            let ink = band(value);
            if with_bar {
                row = row.join(bar(value, ink));
                row.push(Ink::Text, " ");
            }
            row.push(ink, format!("{} ", measure(value)));
            match item.standing {
                Standing::Dropped => row.push(Ink::Dropped, "dropped"),
                Standing::Low => row.push(Ink::Warning, "grader, low"),
                Standing::Kept => row.push(Ink::Dim, "grader"),
            }
            row
        }
        Some(Grade { by, score }) => {
            let mut words = match by {
                GradedBy::Rule(rule) => format!("rule {}", rule.as_str()),
                _ => format!("fallback {:.1}", score.value()),
            };
            if item.standing == Standing::Low {
                words.push_str(", low");
            }
            unmeasured(row, words)
        }
    }
}

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

/// Ten cells and two marks.
const BAR: usize = 12;

/// In place of a bar.
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

/// The selected item's text.
fn passage(run: &RunView, item: &EvidenceRow, width: usize) -> Vec<Row> {
    let edge = Row::of(Ink::Border, "   ▏ ");
    let mut head = Row::of(Ink::Border, "   ▏ ").with(Ink::Citation, place(item));
    head.push(
        Ink::Dim,
        format!("  {} match {}", short_tool(item.tool), item.found_with),
    );
    if run.evidence.is_unused(item) {
        head.push(Ink::Dim, "  not cited");
    }
    let mut rows = vec![head.fit(width)];
    rows.extend(wrap(
        &Row::of(Ink::Quote, item.excerpt.clone()),
        &edge,
        &edge,
        width.saturating_sub(1),
    ));
    rows
}
