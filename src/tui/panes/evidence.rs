//! What the answer rests on: one row an item, with its grade and where the grade came from.
//!
//! An item can take more than a row: what it holds, when it is unfolded, and in a zoomed pane the
//! beginning of its passage. The list, the mouse and the selection count in these heights.

use ratatui::layout::Size;
use unicode_width::UnicodeWidthStr;

use crate::domain::{Complexity, GradedBy, LabelTarget, LineRange, NodeName, RouteReason};
use crate::protocol::RunLabels;
use crate::text::one_line;
use crate::tui::fold::{ContextState, EvidenceRow, Grading, RunView};
use crate::tui::ink::{Ink, Row, cut_path, pad, wrap};
use crate::tui::labels::{judged_row, mark};
use crate::tui::model::Model;
use crate::tui::pane_state::{DrawnRows, List, Pane};
use crate::tui::source_view::SourceView;

use super::wording::{ScoreDetail, found_by, judgement, legend, reason_ink, short_tool};

/// What stands beside the title: the counts and the verdict, of one round.
pub fn status(model: &Model) -> Row {
    let Some(run) = model.shown_run().filter(|run| !run.evidence.is_empty()) else {
        return Row::new(Ink::Dim, "what the answer rests on");
    };
    let graded = run.grading.filter(|_| is_graded(run));
    // What was counted comes first: a narrow title is cut at its end.
    let mut row = Row::new(Ink::Dim, counts(run, graded.as_ref()));
    if let Some(grading) = graded {
        verdict(run, &grading, &mut row);
        if grading.dropped > 0 {
            row.push(Ink::Dim, format!(" · {} dropped", grading.dropped));
        }
    }
    row
}

/// Whether the last verdict speaks of what is in the context now: what was found or has grown since
/// has no grade.
fn is_graded(run: &RunView) -> bool {
    let in_context =
        |row: &&EvidenceRow| matches!(row.standing, ContextState::Kept | ContextState::Low);
    let mut rows = run.evidence.rows().filter(in_context);
    rows.all(|row| row.grade.is_some())
}

/// Whether the context holds only what had been dropped and was brought back.
fn is_all_low(run: &RunView) -> bool {
    let stands = |state| run.evidence.rows().any(|row| row.standing == state);
    stands(ContextState::Low) && !stands(ContextState::Kept)
}

/// `round 2: 8 graded · 6 sent · 3 cited`: what the last grading judged, what the prompt holds, and
/// what the answer refers to, each as far as it is known.
fn counts(run: &RunView, graded: Option<&Grading>) -> String {
    let evidence = &run.evidence;
    let node = match graded {
        Some(_) => NodeName::GradeEvidence,
        None => NodeName::ToolExec,
    };
    let round = run.visits.iter().filter(|visit| visit.node == node).count();
    let mut words = Vec::new();
    if let Some(grading) = graded.filter(|grading| grading.by.is_measured()) {
        words.push(format!("{} graded", grading.items));
    }
    match evidence.sent() {
        Some(sent) if is_all_low(run) => words.push(format!("{sent} sent, all low")),
        Some(sent) => words.push(format!("{sent} sent")),
        None => words.push(format!("{} in context", evidence.kept_count())),
    }
    if let Some(cited) = evidence.cited_count() {
        words.push(format!("{cited} cited"));
    }
    match (run.complexity(), &run.finish) {
        _ if graded.is_some() => {}
        (Some(Complexity::Simple), _) => words.push("not graded (simple)".to_owned()),
        (_, None) => words.push("not graded yet".to_owned()),
        _ => words.push("not graded".to_owned()),
    }
    let words = words.join(" · ");
    if round > 1 {
        format!("round {round}: {words}")
    } else {
        words
    }
}

fn verdict(run: &RunView, grading: &Grading, row: &mut Row) {
    let left = |edge: &&crate::tui::fold::TakenEdge| edge.from == NodeName::GradeEvidence;
    let Some(edge) = run.edges.iter().rev().find(left) else {
        return;
    };
    row.push(Ink::Dim, " · ");
    match grading.by {
        GradedBy::Grader | GradedBy::Hand => {
            row.push(Ink::Text, format!("avg {}", grading.measured()));
        }
        GradedBy::Fallback => row.push(Ink::Unmeasured, "fallback 0.50"),
        GradedBy::Rule(rule) => row.push(Ink::Unmeasured, format!("rule {}", rule.as_str())),
        // What was dropped before and is sent for want of better was not graded again.
        GradedBy::NoEvidence if is_all_low(run) => row.push(Ink::Dim, "nothing new"),
        GradedBy::NoEvidence => row.push(Ink::Dim, "no evidence"),
    }
    row.push(Ink::Dim, " → ");
    let reason = match edge.reason {
        Some(RouteReason::MaxIterations) => RouteReason::MaxIterations,
        _ => RouteReason::from(grading.action),
    };
    row.push(reason_ink(Some(reason)), reason.as_str());
}

/// Lays out what is seen; the selection stays within the list, and all of the selected item in sight.
pub fn settle(model: &mut Model, size: Size) {
    let count = model.shown_run().map_or(0, |run| run.evidence.len());
    let selected = &mut model.evidence.list.selected;
    *selected = (*selected).min(count.saturating_sub(1));
    let width = usize::from(size.width);
    let Some(run) = model.shown_run().filter(|run| !run.evidence.is_empty()) else {
        let rows = nothing(model).into_iter().map(|row| row.fit(width));
        model.evidence.drawn = DrawnRows {
            rows: rows.collect(),
            ..DrawnRows::default()
        };
        return;
    };
    (model.evidence.list, model.evidence.drawn) =
        lay_out(model, run, &Columns::fit(run, width), size);
}

/// What stands where there is no evidence.
fn nothing(model: &Model) -> Vec<Row> {
    let Some(run) = model.shown_run() else {
        return legend();
    };
    let words = match (&run.finish, run.complexity()) {
        (_, Some(Complexity::Chitchat)) => " none needed: small talk rests on no document",
        (None, _) => " nothing yet",
        (Some(finish), _) if finish.broke_off() => " the run ended before anything was found",
        (Some(_), _) => " nothing was found",
    };
    vec![Row::new(Ink::Dim, words)]
}

fn lay_out(model: &Model, run: &RunView, columns: &Columns, size: Size) -> (List, DrawnRows) {
    let (width, height) = (columns.width, usize::from(size.height));
    let items: Vec<&EvidenceRow> = run.evidence.rows().collect();
    let beneath = |at: usize| beneath(model, run, items[at], at, width);
    let heights: Vec<usize> = (0..items.len()).map(|at| 1 + beneath(at).len()).collect();
    let labels = model.shown_labels();
    let selected = model.evidence.list.selected;
    let seen = list_height(model, run, items[selected], heights.iter().sum(), size);
    let list = settled(model.evidence.list, &heights, seen);
    let mut drawn = DrawnRows::default();
    let mut next = list.top;
    while next < items.len() && drawn.rows.len() < seen {
        drawn
            .rows
            .push(item_row(run, items[next], labels, columns).fit(width));
        drawn.rows.extend(beneath(next));
        drawn.rows.truncate(seen);
        drawn.items.resize(drawn.rows.len(), Some(next));
        next += 1;
    }
    if model.focus == Pane::Evidence {
        drawn.selected = Some(heights[list.top.min(selected)..selected].iter().sum());
    } else if next < items.len()
        && let Some(row) = drawn.rows.last_mut()
    {
        let more = format!("    … {} more", items.len() - next + 1);
        *row = Row::new(Ink::Dim, more).fit(width);
    }
    let room = height.saturating_sub(drawn.rows.len());
    if room > 1 && !model.zoomed {
        let passage = passage(run, items[selected], width).into_iter();
        drawn.rows.extend(passage.take(room));
    }
    (list, drawn)
}

/// The list with all of the selected item in sight.
fn settled(mut list: List, heights: &[usize], room: usize) -> List {
    list.settle(heights.len(), room);
    let taken = |from: usize, to: usize| heights[from..to].iter().sum::<usize>();
    while list.top < list.selected && taken(list.top, list.selected + 1) > room {
        list.top += 1;
    }
    while list.top > 0 && taken(list.top - 1, heights.len()) <= room {
        list.top -= 1;
    }
    list
}

/// Rows for the list, of which all take so many; the passage of the selected item takes the others.
fn list_height(
    model: &Model,
    run: &RunView,
    selected: &EvidenceRow,
    all: usize,
    size: Size,
) -> usize {
    let (width, height) = (usize::from(size.width), usize::from(size.height));
    if model.zoomed {
        return all.min(height);
    }
    let most = match model.focus {
        _ if model.evidence.expanded => height * 2 / 3,
        Pane::Evidence if height >= 6 => 3,
        _ => 0,
    };
    // A passage takes no more than it says, or the pane would be half blank.
    let wanted = passage(run, selected, width).len();
    all.min(height.saturating_sub(wanted.min(most)).max(1))
}

struct Columns {
    width: usize,
    source: usize,
    room: ScoreDetail,
}

/// Number and tool.
const FIXED: usize = 4 + 8;
/// A file's name and its lines, cut from the middle, can still be recognised in so much.
const SHORT_SOURCE: usize = 16;
/// Most files' names and lines are no longer.
const WHOLE_NAME: usize = 22;

impl Columns {
    /// The source takes what the others leave; a bar goes before the source becomes too short, and
    /// where a score comes from is never cut.
    fn fit(run: &RunView, width: usize) -> Self {
        let items = || run.evidence.rows();
        let widest = items().map(|item| item.place().width()).max().unwrap_or(0);
        let left = |room| {
            let judged = items().map(|item| score_row(run, item, room).width()).max();
            // A blank before the frame.
            width.saturating_sub(FIXED + judged.unwrap_or(0) + 1)
        };
        let tried = [
            (ScoreDetail::Bar, SHORT_SOURCE),
            (ScoreDetail::Words, WHOLE_NAME),
        ];
        let enough = |(room, least): &(ScoreDetail, usize)| left(*room) >= widest.min(*least);
        let room = tried.into_iter().find(enough).map(|(room, _)| room);
        let room = room.unwrap_or(ScoreDetail::Scarce);
        Self {
            width,
            source: widest.clamp(8, left(room).max(8)),
            room,
        }
    }
}

/// The score of an item, where it came from, and how many others it holds.
pub fn score_row(run: &RunView, item: &EvidenceRow, room: ScoreDetail) -> Row {
    let mut row = judgement(item, room);
    if run.evidence.is_left_out(item) {
        row.push(Ink::Dim, " · not sent");
    }
    match run.evidence.held_by(&item.id).len() {
        0 => row,
        held => row.add(Ink::Dim, format!(" +{held} within")),
    }
}

fn item_row(
    run: &RunView,
    item: &EvidenceRow,
    labels: Option<&RunLabels>,
    columns: &Columns,
) -> Row {
    let dropped = item.standing == ContextState::Dropped;
    let id = item.id.clone();
    let said = labels.and_then(|labels| labels.get(&LabelTarget::Passage { id }));
    let (number, ink) = match run.evidence.number(item) {
        _ if dropped => ("  × ".to_owned(), Ink::Dropped),
        Some(number) if run.evidence.is_unused(item) => (format!("{number:>3} "), Ink::Dim),
        Some(number) => (format!("{number:>3} "), Ink::Citation),
        // Not sent, or not yet; a sign would say more than is known.
        None => ("    ".to_owned(), Ink::Dim),
    };
    let number = match mark(said) {
        None => Row::new(ink, number),
        Some((judged, sign)) => {
            let rest = number.strip_prefix(' ').unwrap_or(&number);
            Row::new(judged, sign).add(ink, rest)
        }
    };
    let source = pad(&cut_path(&item.place(), columns.source), columns.source);
    let tool = format!(" {:<7}", short_tool(item.tool));
    let head = if dropped {
        let source = Row::new(Ink::Dropped, source.trim_end()).struck(Ink::Dropped);
        let row = number.join(source).pad_to(4 + columns.source);
        row.add(Ink::Dropped, tool)
    } else {
        number.add(Ink::Text, source).add(Ink::Dim, tool)
    };
    head.join(score_row(run, item, columns.room))
}

/// Rows of a passage that a zoomed pane shows of each item.
const BEGINNING: usize = 2;

/// What stands below an item's own row: in a zoomed pane how its passage begins, and what it holds
/// where it is unfolded.
fn beneath(model: &Model, run: &RunView, item: &EvidenceRow, at: usize, width: usize) -> Vec<Row> {
    let selected = at == model.evidence.list.selected;
    let mut rows = Vec::new();
    if model.zoomed {
        let edge = Row::new(Ink::Border, "    ▏ ");
        let quote = Row::new(Ink::Quote, item.excerpt.clone());
        let all = wrap(&quote, &edge, &edge, width.saturating_sub(1));
        let seen = if selected { all.len() } else { BEGINNING };
        rows.extend(all.into_iter().take(seen));
    }
    if selected && model.evidence.expanded {
        for held in run.evidence.held_by(&item.id) {
            let about = format!("{} {} ", held.place(), short_tool(held.tool));
            let row = Row::new(Ink::Border, "    └ ").add(Ink::Dim, about);
            rows.push(row.join(judgement(held, ScoreDetail::Words)).fit(width));
        }
    }
    rows
}

/// The selected item's text.
fn passage(run: &RunView, item: &EvidenceRow, width: usize) -> Vec<Row> {
    let edge = Row::new(Ink::Border, "   ▏ ");
    let mut about = Row::new(Ink::Dim, format!("  {} ", short_tool(item.tool)));
    if item.grade.is_some() {
        about = about.join(found_by(item, ScoreDetail::Words));
    }
    let sent = run.evidence.sent_lines(&item.id);
    if !sent.is_empty() {
        let lines = |range: &LineRange| {
            if range.start == range.end {
                range.start.to_string()
            } else {
                range.to_string()
            }
        };
        let sent: Vec<String> = sent.iter().map(lines).collect();
        about.push(Ink::Dim, format!("  sent {}", sent.join(", ")));
    }
    if run.evidence.is_left_out(item) {
        about.push(Ink::Dim, "  not sent");
    } else if run.evidence.is_unused(item) {
        about.push(Ink::Dim, "  not cited");
    }
    let held = run.evidence.held_by(&item.id);
    if !held.is_empty() {
        let places: Vec<&str> = held.iter().map(|row| row.location.as_str()).collect();
        about.push(Ink::Dim, format!("  holds {}", places.join(", ")));
    }
    let room = width.saturating_sub(edge.width() + about.width() + 1);
    let place = cut_path(&item.place(), room.max(SHORT_SOURCE));
    let first = edge.clone().add(Ink::Citation, place).join(about);
    let mut rows = vec![first.fit(width)];
    let quote = Row::new(Ink::Quote, item.excerpt.clone());
    rows.extend(wrap(&quote, &edge, &edge, width.saturating_sub(1)));
    rows
}

/// The title, and what is to be said of the document.
pub fn source_head(model: &Model, view: &SourceView, width: usize) -> Vec<Row> {
    let mut rows = vec![source_title(model, view, width)];
    let remarks = view.remarks().into_iter();
    rows.extend(remarks.map(|remark| Row::new(Ink::Warning, format!(" ⚠ {remark}")).fit(width)));
    let explained = view.explanation.iter().enumerate();
    rows.extend(explained.map(|(at, line)| {
        let ink = if at == 0 { Ink::Text } else { Ink::Dim };
        Row::new(ink, format!(" {line}")).fit(width)
    }));
    rows
}

fn source_title(model: &Model, view: &SourceView, width: usize) -> Row {
    let found = view.found.as_ref().and_then(|(run, item)| {
        let turn = model.turns.opened(run)?;
        Some((&turn.run, turn.run.evidence.get(item)?))
    });
    let source_head = Row::new(Ink::Focus, " ▸ Source ");
    let mut right = Row::default();
    match view.range() {
        Some((first, last, total)) if width >= ROOMY => {
            right.push(Ink::Dim, format!("lines {first}–{last} of {total} · "));
        }
        Some((first, last, _)) => right.push(Ink::Dim, format!("{first}–{last} · ")),
        None => {}
    }
    let Some((run, item)) = found else {
        let room = width.saturating_sub(right.width() + source_head.width() + 1);
        let name = cut_path(&one_line(&view.file, 400), room);
        return source_head.add(Ink::Text, name).and_right(right, width);
    };
    if let Some(at) = run.evidence.rows().position(|row| row.id == item.id) {
        let count = run.evidence.len();
        right.push(Ink::Dim, format!("{} of {count} ", at + 1));
    }
    let room = width.saturating_sub(right.width() + source_head.width() + 1);
    let mut left = source_head.add(Ink::Text, cut_path(&item.place(), room));
    let number = run.evidence.number(item);
    let number = number.map(|number| Row::new(Ink::Citation, format!("  [{number}]")));
    let score = score_row(run, item, ScoreDetail::Words);
    let judged = Row::new(Ink::Dim, format!("  {} ", short_tool(item.tool))).join(score);
    // What has no room whole says nothing.
    let target = LabelTarget::Passage {
        id: item.id.clone(),
    };
    let labels = model.turns.labels_of(&run.id);
    let label = labels.filter(|labels| labels.get(&target).is_some());
    let label = label.map(|labels| Row::new(Ink::Dim, " · ").join(judged_row(labels, &target)));
    for more in number.into_iter().chain([judged]).chain(label) {
        if left.width() + more.width() + right.width() < width {
            left = left.join(more);
        }
    }
    left.and_right(right, width)
}

/// The least width at which the title tells the number of lines.
const ROOMY: usize = 80;
