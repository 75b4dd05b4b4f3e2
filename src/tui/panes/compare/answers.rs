//! Two answers: with the words that differ, or beside each other where little is the same.

use similar::{ChangeTag, TextDiff};

use super::beside;
use crate::tui::fold::RunView;
use crate::tui::ink::{Emphasis, Ink, Row};
use crate::tui::wrap::wrap;

/// Below this share of common words a difference reads worse than both answers.
const ALIKE: f32 = 0.5;
/// Longer answers are put beside each other: a difference of them takes long to find and to read.
const LONGEST: usize = 20_000;

/// The rows below the evidence.
pub fn rows(left: &RunView, right: &RunView, width: usize, half: usize, is_wide: bool) -> Vec<Row> {
    let (a, b) = (left.answer.trim(), right.answer.trim());
    if a.is_empty() && b.is_empty() {
        return vec![Row::of(Ink::Heading, "Answers: none yet")];
    }
    if a == b {
        let mut rows = vec![Row::of(Ink::Heading, "Answers: the same")];
        rows.extend(plain(a, width));
        return rows;
    }
    let is_done = left.finish.is_some() && right.finish.is_some();
    if is_done && a.len().max(b.len()) <= LONGEST {
        let diff = TextDiff::from_words(a, b);
        if diff.ratio() >= ALIKE {
            return difference(&diff, width);
        }
    }
    let mut rows = vec![Row::of(Ink::Heading, "Answers")];
    rows.extend(beside(plain(a, half), plain(b, half), half, is_wide));
    rows
}

/// One text: words of the left answer only stand in `[-…-]`, those of the right only in `{+…+}`.
fn difference<'a>(diff: &TextDiff<'a, 'a, 'a, str>, width: usize) -> Vec<Row> {
    let head = Row::of(Ink::Heading, "Answers: ")
        .with(Ink::Dropped, "[-only left-]")
        .with(Ink::Text, " ")
        .with(Ink::Strong, "{+only right+}");
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

fn plain(text: &str, width: usize) -> Vec<Row> {
    let none = Row::default();
    let lines = text.lines().map(|line| Row::of(Ink::Text, line));
    lines
        .flat_map(|line| wrap(&line, &none, &none, width))
        .collect()
}
