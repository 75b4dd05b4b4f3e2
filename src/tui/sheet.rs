//! Windows that are typed into: what is looked for, then the rows that match.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Rect};
use ratatui::text::Span;
use ratatui::widgets::{Block, Widget};

use crate::protocol::{NoticeLevel, SessionSummary};
use crate::text::one_line;

use super::cells::{clear, put};
use super::filtered_list::FilteredList;
use super::ink::{Ink, Row, counted};
use super::layout::Arrangement;
use super::model::{Model, Overlay};
use super::panes::wording::outcome_word;
use super::session_list::{SessionList, SessionTask};
use super::theme::Theme;
use super::window::beside;

/// Rows above the list: what is typed, and what is to be said.
const HEAD: u16 = 2;

/// How many rows of the list are seen.
pub fn height(places: &Arrangement) -> usize {
    places.overlay_room().height.saturating_sub(HEAD).into()
}

/// Draws the window; says whether the overlay is one that is typed into.
pub fn draw(model: &Model, places: &Arrangement, theme: &Theme, buffer: &mut Buffer) -> bool {
    let room = places.overlay_room();
    let width = usize::from(room.width);
    let (title, narrowed, count, says, rows) = match &model.overlay {
        Some(Overlay::Sessions(list)) => (
            " Sessions · local times ",
            &list.narrowed,
            list.count(),
            sessions_note(list),
            session_rows(list, height(places), width),
        ),
        Some(Overlay::Recall(recalled)) => {
            let top = recalled.narrowed.list.top;
            let rows = recalled.rows(top, height(places)).into_iter();
            let none = "Nothing was asked yet.";
            (
                " Earlier questions ",
                &recalled.narrowed,
                recalled.count(),
                (recalled.count() == 0).then(|| Row::of(Ink::Dim, none)),
                rows.map(|(question, is_selected)| {
                    let row = Row::of(Ink::Text, format!(" {}", one_line(question, 400)));
                    (row, is_selected)
                })
                .collect(),
            )
        }
        _ => return false,
    };
    let around = room.outer(Margin::new(2, 1)).intersection(places.screen);
    clear(around, buffer);
    beside(around, places.screen, buffer);
    let frame = Block::bordered()
        .border_style(theme.style(Ink::Focus))
        .title(Span::styled(title, theme.style(Ink::Focus)));
    frame.render(around, buffer);
    let line = |at: u16| Rect {
        y: room.y + at,
        height: 1,
        ..room
    };
    put(buffer, theme, line(0), &typed_row(narrowed, count, width));
    let said = model.notice.as_ref().map(|notice| {
        let (ink, sign) = match notice.level {
            NoticeLevel::Info => (Ink::Info, ""),
            NoticeLevel::Warning => (Ink::Warning, "⚠ "),
        };
        Row::of(ink, format!(" {sign}{}", notice.message))
    });
    if let Some(row) = said.or(says) {
        put(buffer, theme, line(1), &row.fit(width));
    }
    for (at, (row, is_selected)) in (HEAD..room.height).zip(rows) {
        put(buffer, theme, line(at), &row.fit(width));
        if is_selected {
            buffer.set_style(line(at), theme.style(Ink::Selected));
        }
    }
    true
}

fn typed_row(narrowed: &FilteredList, count: usize, width: usize) -> Row {
    let left = narrowed.left().len();
    let row = Row::of(Ink::Focus, " > ")
        .with(Ink::Text, narrowed.typed())
        .with(Ink::Focus, "▏");
    let part = if left == count {
        format!("{count} ")
    } else {
        format!("{left} of {count} ")
    };
    row.and_right(Row::of(Ink::Dim, part), width)
}

fn sessions_note(list: &SessionList) -> Option<Row> {
    let words = match &list.doing {
        SessionTask::Resuming => "reading the conversation …",
        _ if !list.is_read() => "reading the audit log …",
        _ if list.count() == 0 => "Nothing is recorded yet: the first question begins a session.",
        _ => return None,
    };
    Some(Row::of(Ink::Dim, format!(" {words}")))
}

fn session_rows(list: &SessionList, height: usize, width: usize) -> Vec<(Row, bool)> {
    let rows = list.rows(list.narrowed.list.top, height).into_iter();
    rows.map(|(session, is_selected)| {
        let row = match &list.doing {
            SessionTask::Renaming(name) if is_selected => Row::of(Ink::Focus, " name: ")
                .with(Ink::Text, name.as_str())
                .with(Ink::Focus, "▏"),
            SessionTask::Deleting if is_selected => {
                let words = " Delete from the list? The audit log keeps it. y/n";
                Row::of(Ink::Warning, words)
            }
            _ => session_row(session, width),
        };
        (row, is_selected)
    })
    .collect()
}

/// Its name or first question, then runs, outcome, calls saved and time, as far as there is room.
fn session_row(session: &SessionSummary, width: usize) -> Row {
    let sign = if session.is_current { " ● " } else { "   " };
    let mut left = Row::of(Ink::Done, sign);
    match &session.name {
        Some(name) => {
            left.push(Ink::Heading, one_line(name, 80));
            left.push(Ink::Dim, format!("  {}", one_line(&session.question, 400)));
        }
        None => left.push(Ink::Text, one_line(&session.question, 400)),
    }
    let runs = counted(session.runs as u64, "run", "runs");
    let outcome = session.outcome.map_or("no end", outcome_word);
    let saved = session
        .saved
        .map_or_else(String::new, |saved| format!("saved {saved}"));
    let time = session.time.minute();
    let right = match width {
        80.. => format!(" {runs:>7}  {outcome:<9}  {saved:<9}  {time} "),
        64.. => format!(" {runs:>7}  {outcome:<9}  {time} "),
        _ => format!("  {} ", time.get(5..).unwrap_or(&time)),
    };
    left.and_right(Row::of(Ink::Dim, right), width)
}
