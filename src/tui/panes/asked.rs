//! A question as it stands above its answer.

use crate::domain::Complexity;
use crate::tui::ink::{Ink, Row, cut};
use crate::tui::model::Retry;
use crate::tui::wrap::wrap;

use super::wording::route_ink;

/// Columns before the text of a turn.
pub const GUTTER: usize = 7;

/// Lines of a question that are shown.
const MOST_LINES: usize = 200;

/// The question, or only which way it goes where it is asked once more, and what it was kept within.
pub fn question_rows(
    query: &str,
    within: &[String],
    route: Option<Complexity>,
    retry: Option<Retry>,
    width: usize,
) -> Vec<Row> {
    let mut rows = match retry {
        Some(retry) => vec![once_more(query, route, retry, width)],
        None => question(query, width),
    };
    if !within.is_empty() {
        let indent = Row::new(Ink::Text, " ".repeat(GUTTER));
        let line = Row::new(Ink::Dim, "within ").add(Ink::Text, within.join(", "));
        rows.extend(wrap(&line, &indent, &indent, width.saturating_sub(1)));
    }
    rows.push(Row::default());
    rows
}

fn question(query: &str, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let rest = Row::new(Ink::Text, " ".repeat(GUTTER));
    for (at, line) in query.lines().take(MOST_LINES).enumerate() {
        let first = if at == 0 {
            Row::new(Ink::You, " you   ")
        } else {
            rest.clone()
        };
        let line = Row::new(Ink::Text, line.replace('\t', "    ")).bold();
        rows.extend(wrap(&line, &first, &rest, width.saturating_sub(1)));
    }
    rows
}

/// `retried: simple`, and of which question where that stands further up.
fn once_more(query: &str, route: Option<Complexity>, retry: Retry, width: usize) -> Row {
    let row = Row::new(Ink::You, " retried").add(Ink::Dim, ": ");
    let row = match route {
        Some(route) => row.add(route_ink(route), route.as_str()),
        None => row.add(Ink::Text, "auto"),
    };
    if retry == Retry::Below {
        return row.fit(width);
    }
    let line = crate::text::one_line(query, 200);
    let room = width.saturating_sub(row.width() + 4);
    row.add(Ink::Dim, format!(" · {}", cut(&line, room)))
        .fit(width)
}
