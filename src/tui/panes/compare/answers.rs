//! Two answers: with the words that differ, or beside each other where little is the same.

use similar::{ChangeTag, TextDiff};

use crate::tui::fold::RunView;
use crate::tui::ink::{Emphasis, Ink, Row, columns};
use crate::tui::markdown;
use crate::tui::wrap::wrap;

/// Below this share of common words a difference reads worse than both answers.
const ALIKE: f32 = 0.5;
/// Longer answers are put beside each other: a difference of them takes long to find and to read.
const LONGEST: usize = 20_000;
/// Wide enough for a paragraph to stand unbroken.
const UNBROKEN: usize = 100_000;

/// The rows below the questions.
pub fn rows(left: &RunView, right: &RunView, width: usize, half: usize, is_wide: bool) -> Vec<Row> {
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
    let answer = |text| markdown::render(text, half);
    rows.extend(side_by_side(answer(a), answer(b), half, is_wide));
    rows
}

/// One text: words of the left answer only stand in `[-…-]`, those of the right only in `{+…+}`.
fn difference<'a>(diff: &TextDiff<'a, 'a, 'a, str>, width: usize) -> Vec<Row> {
    let head = Row::new(Ink::Heading, "Answers: ")
        .add(Ink::Dropped, "[-only left-]")
        .add(Ink::Text, " ")
        .add(Ink::Strong, "{+only right+}");
    let mut lines = vec![Row::default()];
    let mut open = ChangeTag::Equal;
    for change in diff.iter_all_changes() {
        if change.tag() != open {
            push(&mut lines, open, end(open));
            open = change.tag();
            push(&mut lines, open, begin(open));
        }
        push(&mut lines, open, change.value());
    }
    push(&mut lines, open, end(open));
    let none = Row::default();
    let wrapped = lines
        .iter()
        .flat_map(|line| wrap(line, &none, &none, width));
    std::iter::once(head).chain(wrapped).collect()
}

fn push(lines: &mut Vec<Row>, tag: ChangeTag, text: &str) {
    let (ink, emphasis) = match tag {
        ChangeTag::Equal => (Ink::Text, Emphasis::default()),
        ChangeTag::Delete => (Ink::Dropped, Emphasis::default()),
        ChangeTag::Insert => (Ink::Strong, Emphasis::default()),
    };
    for (at, part) in text.split('\n').enumerate() {
        if at > 0 {
            lines.push(Row::default());
        }
        if let Some(line) = lines.last_mut() {
            line.push_emphatic(ink, emphasis, part);
        }
    }
}

fn begin(tag: ChangeTag) -> &'static str {
    match tag {
        ChangeTag::Equal => "",
        ChangeTag::Delete => "[-",
        ChangeTag::Insert => "{+",
    }
}

fn end(tag: ChangeTag) -> &'static str {
    match tag {
        ChangeTag::Equal => "",
        ChangeTag::Delete => "-]",
        ChangeTag::Insert => "+}",
    }
}

/// An answer without the marks of its Markdown, a paragraph a line.
fn words(answer: &str) -> String {
    let rows = markdown::render(answer, UNBROKEN);
    let lines: Vec<String> = rows.iter().map(Row::text).collect();
    lines.join("\n")
}

/// Between the columns.
pub const BETWEEN: &str = " │ ";

/// Two columns with a line between them, or one below the other where there is no room.
pub fn side_by_side(
    mut left: Vec<Row>,
    mut right: Vec<Row>,
    half: usize,
    is_wide: bool,
) -> Vec<Row> {
    if !is_wide {
        left.push(Row::default());
        left.append(&mut right);
        return left.into_iter().map(|row| row.fit(half)).collect();
    }
    columns(left, right, half, BETWEEN, 2 * half + 3)
}
