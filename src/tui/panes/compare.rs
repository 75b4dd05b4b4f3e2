//! Two runs side by side: the answers with the words that differ, path against path, what each cost,
//! and the evidence that only one found.

use similar::{ChangeTag, TextDiff};

use crate::domain::{Complexity, is_same_passage};
use crate::protocol::{Mode, RunId};
use crate::text::duration;
use crate::tui::fold::{ContextState, EvidenceRow, Grade, RunView, outcome_word};
use crate::tui::ink::{Ink, Row, grouped, measure, pad, wrap_plain};
use crate::tui::model::Model;
use crate::tui::{ink, markdown};

use super::path;
use super::wording::{NOT_LOOKED_AT, band, route_ink};

/// Columns narrower than this stand below each other.
const NARROWEST: usize = 38;

/// A graph with all that it can tell takes no more lines than this.
const MOST_PATH_LINES: usize = 22;
/// The words before figures.
const LABEL: usize = 11;

/// All rows of the window.
pub fn rows(model: &Model, left: &RunId, right: &RunId, width: usize) -> Vec<Row> {
    let run = |id: &RunId| model.turns.opened(id).map(|open| &open.run);
    let (Some(left), Some(right)) = (run(left), run(right)) else {
        return vec![Row::new(Ink::Dim, "One of the two runs is gone.")];
    };
    let half = half_of(width).unwrap_or(width);
    let mut rows = questions(left, right, width);
    rows.push(verdict(left, right, model));
    rows.push(Row::default());
    rows.extend(answer_rows(left, right, width));
    rows.push(Row::default());
    let columns = [left, right].map(|run| column(run, model, half));
    rows.extend(side_by_side(columns, width));
    rows.push(Row::default());
    rows.extend(figures(left, right, model, half));
    rows.push(Row::default());
    rows.extend(evidence(left, right, width));
    rows
}

fn questions(left: &RunView, right: &RunView, width: usize) -> Vec<Row> {
    let line = |label: &str, run: &RunView| {
        let query = crate::text::one_line(&run.query, 400);
        Row::new(Ink::Dim, label).add(Ink::You, query).fit(width)
    };
    if left.query.trim() == right.query.trim() {
        vec![line("", left)]
    } else {
        vec![line("left   ", left), line("right  ", right)]
    }
}

/// Who was first, and by how much; as long as both are at work, that.
fn verdict(left: &RunView, right: &RunView, model: &Model) -> Row {
    if left.finish.is_none() || right.finish.is_none() {
        let both = left.finish.is_none() && right.finish.is_none();
        let words = if both { "both at work" } else { "one is done" };
        return Row::new(Ink::Running, words);
    }
    let (a, b) = (left.elapsed(model.now), right.elapsed(model.now));
    let mut row = Row::default();
    let mut fast = "";
    if a > 0.0 && b > 0.0 {
        let times = if a <= b { b / a } else { a / b };
        fast = if a <= b { "left" } else { "right" };
        row.push(Ink::Strong, format!("{fast}: {}× faster", measure(times)));
    }
    let mode = calls_of(left, right);
    let calls = i64::from(right.calls()) - i64::from(left.calls());
    let thrifty = if calls > 0 { "left" } else { "right" };
    let count = mode.calls(calls.unsigned_abs() as u32);
    let fewer = count.replacen(' ', " fewer ", 1);
    let gap = if fast.is_empty() { "" } else { " · " };
    let words = match calls {
        0 => format!("{gap}the same number of {}s", mode.call()),
        _ if thrifty == fast => format!(", {fewer}"),
        _ => format!("{gap}{thrifty}: {fewer}"),
    };
    row.add(Ink::Text, words)
}

/// Whose word counts what both did: of a model's, as soon as one was asked.
fn calls_of(left: &RunView, right: &RunView) -> Mode {
    if right.mode == Mode::Llm {
        right.mode
    } else {
        left.mode
    }
}

/// Title and graph of one run.
fn column(run: &RunView, model: &Model, width: usize) -> Vec<Row> {
    let (ink, name) = match run.complexity() {
        Some(complexity) => (route_ink(complexity), complexity.as_str()),
        None => (Ink::Dim, "deciding"),
    };
    let mut title = Row::new(ink, name).bold();
    if run.forced.is_some() {
        title.push(Ink::Dim, " (chosen)");
    }
    title.push(Ink::Dim, format!(" · {}", duration(run.elapsed(model.now))));
    let lines = path::lines(Some(run), model, width, MOST_PATH_LINES);
    let mut rows = vec![title];
    rows.extend(lines.into_iter().map(|line| line.row));
    rows
}

fn figures(left: &RunView, right: &RunView, model: &Model, half: usize) -> Vec<Row> {
    let figure = |label: &str, of: &dyn Fn(&RunView) -> String, difference: &str| {
        let column = half.saturating_sub(LABEL).clamp(8, 24);
        let figures = [left, right].map(|run| pad(&of(run), column)).concat();
        let row = Row::new(Ink::Dim, pad(label, LABEL)).add(Ink::Text, figures);
        row.add(Ink::Dim, difference).fit(2 * half)
    };
    let change = |of: &dyn Fn(&RunView) -> u64| match (of(left), of(right)) {
        (a, b) if a == b => "same".to_owned(),
        (a, b) if a < b => format!("+{}", grouped(b - a)),
        (a, b) => format!("−{}", grouped(a - b)),
    };
    let count = |label: &str, of: &dyn Fn(&RunView) -> u64| {
        figure(label, &|run| grouped(of(run)), &change(of))
    };
    let saved = |run: &RunView| run.finish.as_ref().map_or(0, |finish| finish.saved.into());
    let kept = |run: &RunView| run.evidence.kept_count() as u64;
    let evidence = |run: &RunView| {
        let cited = run.evidence.cited_count().unwrap_or(0);
        format!("{} kept, {cited} cited", kept(run))
    };
    let time = |run: &RunView| run.elapsed(model.now);
    let difference = time(right) - time(left);
    let sign = if difference < 0.0 { "−" } else { "+" };
    let difference = format!("{sign}{}", duration(difference.abs()));
    let outcome = |run: &RunView| match &run.finish {
        Some(finish) => outcome_word(finish.outcome).to_owned(),
        None => "at work".to_owned(),
    };
    let confidence = |run: &RunView| match run.confidence {
        Some(confidence) => confidence.to_string(),
        None => "not measured".to_owned(),
    };
    let calls = format!("{}s", calls_of(left, right).call());
    let mut rows = vec![
        figure("", &|run| side(run, left), "right against left"),
        figure("outcome", &outcome, ""),
        count(&calls, &|run| run.calls().into()),
        count("saved", &saved),
        figure("time", &|run| duration(time(run)), &difference),
        count("rounds", &|run| run.rounds().into()),
        figure("evidence", &evidence, &change(&kept)),
    ];
    if left.confidence.is_some() || right.confidence.is_some() {
        rows.insert(2, figure("confidence", &confidence, ""));
    }
    if left.tokens() > 0 || right.tokens() > 0 {
        rows.push(count("tokens", &|run| run.tokens()));
    }
    rows
}

fn side(run: &RunView, left: &RunView) -> String {
    let route = run.complexity().map_or("", Complexity::as_str);
    let side = if run.id == left.id { "left" } else { "right" };
    format!("{side} · {route}")
}

/// What both found, and what only one did.
fn evidence(left: &RunView, right: &RunView, width: usize) -> Vec<Row> {
    let place = |row: &EvidenceRow| (row.source.clone(), row.lines);
    let holds = |run: &RunView, item: &EvidenceRow| {
        let (source, lines) = place(item);
        let known = |row: &EvidenceRow| is_same_passage((&row.source, row.lines), (&source, lines));
        run.evidence.rows().any(known)
    };
    let only = |run: &RunView, other: &RunView, words: &str| {
        let items = run.evidence.rows().filter(|item| !holds(other, item));
        let items: Vec<&EvidenceRow> = items.collect();
        let mut rows = vec![Row::new(Ink::Heading, format!("{words}: {}", items.len()))];
        rows.extend(items.into_iter().map(|item| evidence_row(run, item)));
        rows
    };
    let both = left.evidence.rows().filter(|item| holds(right, item));
    let line = format!("Evidence: {} found by both", both.count());
    let mut rows = vec![Row::new(Ink::Heading, line)];
    let left_only = only(left, right, "only left");
    let columns = [left_only, only(right, left, "only right")];
    rows.extend(side_by_side(columns, width));
    rows
}

/// Its number, where it stands, and its grade where there is one.
fn evidence_row(run: &RunView, item: &EvidenceRow) -> Row {
    let number = run.evidence.number(item).map(|n| n.to_string());
    let number = number.unwrap_or_default();
    let mut row = Row::new(Ink::Citation, format!("{number:>3} "));
    row.push(Ink::Text, item.place());
    match item.grade {
        Some(Grade {
            score: Some(score), ..
        }) => {
            let value = score.value();
            row.push(band(value), format!("  {}", measure(value)));
        }
        Some(Grade { score: None, .. }) => {
            row.push(Ink::Unmeasured, format!("  {NOT_LOOKED_AT}"));
        }
        None => row.push(Ink::Unmeasured, "  not graded"),
    }
    if item.standing == ContextState::Dropped {
        return row.struck(Ink::Dropped);
    }
    row
}

/// Below this share of common words a difference reads worse than both answers.
const ALIKE: f32 = 0.5;
/// Longer answers are put beside each other: a difference of them takes long to find and to read.
const LONGEST: usize = 20_000;
/// Wide enough for a paragraph to stand unbroken.
const UNBROKEN: usize = 100_000;

/// The rows below the questions.
fn answer_rows(left: &RunView, right: &RunView, width: usize) -> Vec<Row> {
    let (a, b) = (left.answer.trim(), right.answer.trim());
    if a.is_empty() && b.is_empty() {
        return vec![Row::new(Ink::Heading, "Answers: none yet")];
    }
    if a == b {
        let mut rows = vec![Row::new(Ink::Heading, "Answers: the same")];
        rows.extend(markdown::render(a, width));
        return rows;
    }
    let is_done = left.finish.is_some() && right.finish.is_some();
    // The words of a table are read by its columns.
    let has_table = markdown::has_table(a) || markdown::has_table(b);
    if is_done && !has_table && a.len().max(b.len()) <= LONGEST {
        let (a, b) = (words(a), words(b));
        let diff = TextDiff::from_words(a.as_str(), b.as_str());
        if diff.ratio() >= ALIKE {
            return difference(&diff, width);
        }
    }
    let mut rows = vec![Row::new(Ink::Heading, "Answers")];
    let half = half_of(width).unwrap_or(width);
    let answers = [a, b].map(|text| markdown::render(text, half));
    rows.extend(side_by_side(answers, width));
    rows
}

/// One text: words of the left answer only stand in `[-…-]`, those of the right only in `{+…+}`.
fn difference<'a>(diff: &TextDiff<'a, 'a, 'a, str>, width: usize) -> Vec<Row> {
    let head = Row::new(Ink::Heading, "Answers: ").add(Ink::Dropped, "[-only left-]");
    let head = head.add(Ink::Text, " ").add(Ink::Strong, "{+only right+}");
    let mut lines = vec![Row::default()];
    let mut push = |ink, text: &str| {
        for (at, part) in text.split('\n').enumerate() {
            if at > 0 {
                lines.push(Row::default());
            }
            if let Some(line) = lines.last_mut() {
                line.push(ink, part);
            }
        }
    };
    let (mut ink, mut end) = (Ink::Text, "");
    let mut open = ChangeTag::Equal;
    for change in diff.iter_all_changes() {
        if change.tag() != open {
            open = change.tag();
            push(ink, end);
            let begin;
            (ink, begin, end) = marks(open);
            push(ink, begin);
        }
        push(ink, change.value());
    }
    push(ink, end);
    let wrapped = lines.iter().flat_map(|line| wrap_plain(line, width));
    std::iter::once(head).chain(wrapped).collect()
}

/// The ink of words that both answers or one of them holds, and what stands around them.
fn marks(tag: ChangeTag) -> (Ink, &'static str, &'static str) {
    match tag {
        ChangeTag::Equal => (Ink::Text, "", ""),
        ChangeTag::Delete => (Ink::Dropped, "[-", "-]"),
        ChangeTag::Insert => (Ink::Strong, "{+", "+}"),
    }
}

/// An answer without the marks of its Markdown, a paragraph a line.
fn words(answer: &str) -> String {
    let rows = markdown::render(answer, UNBROKEN);
    let lines: Vec<String> = rows.iter().map(Row::text).collect();
    lines.join("\n")
}

/// Between the columns.
const BETWEEN: &str = " │ ";

/// Two columns with a line between them, or one below the other where there is no room.
fn side_by_side(columns: [Vec<Row>; 2], width: usize) -> Vec<Row> {
    let [left, right] = columns;
    if let Some(half) = half_of(width) {
        return ink::columns(left, right, half, BETWEEN, 2 * half + 3);
    }
    let gap = std::iter::once(Row::default());
    let rows = left.into_iter().chain(gap).chain(right);
    rows.map(|row| row.fit(width)).collect()
}

/// How wide a column is, where two stand side by side.
fn half_of(width: usize) -> Option<usize> {
    let is_wide = width.saturating_sub(BETWEEN.len()) / 2 >= NARROWEST;
    is_wide.then(|| (width - 3) / 2)
}
