//! Windows that are typed into: what is looked for, then the rows that match.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Rect};
use ratatui::text::Span;
use ratatui::widgets::{Block, Widget};

use crate::protocol::{JobModels, JobName, NoticeLevel, SessionSummary, joined};
use crate::text::one_line;

use super::cells::{clear, draw_row};
use super::ink::{Ink, Row, grouped, grouped_count};
use super::layout::Arrangement;
use super::model::{Model, Overlay};
use super::model_list::{ModelList, ModelRow};
use super::panes::wording::outcome_word;
use super::session_list::{SessionList, SessionTask};
use super::theme::Theme;
use super::window::clear_side_strips;
use super::wrap::wrap;

/// Rows above the list: what is typed, and what is to be said.
const HEAD: u16 = 2;

/// Rows of a list that is known to be short.
const FEWEST_ROWS: u16 = 6;

/// How many rows of the list are seen.
pub fn height(overlay: Option<&Overlay>, places: &Arrangement) -> usize {
    room(overlay, places).height.saturating_sub(HEAD).into()
}

/// Where the window stands within its frame. That of models is no longer than they need; it keeps its
/// place while they are narrowed.
fn room(overlay: Option<&Overlay>, places: &Arrangement) -> Rect {
    let room = places.overlay_room();
    let rows = match overlay {
        Some(Overlay::Models(list)) => u16::try_from(list.count() + 1).unwrap_or(u16::MAX),
        _ => u16::MAX,
    };
    Rect {
        height: rows.max(FEWEST_ROWS).saturating_add(HEAD).min(room.height),
        ..room
    }
}

/// Draws the window; says whether the overlay is one that is typed into.
pub fn draw(model: &Model, places: &Arrangement, theme: &Theme, buffer: &mut Buffer) -> bool {
    let room = room(model.overlay.as_ref(), places);
    let (width, height) = (
        usize::from(room.width),
        usize::from(room.height.saturating_sub(HEAD)),
    );
    let (title, narrowed, counts, says, rows) = match &model.overlay {
        Some(Overlay::Sessions(list)) => (
            " Sessions · local times ",
            &list.narrowed,
            Some((list.narrowed.matches().len(), list.count())),
            sessions_note(list),
            session_rows(list, height, width),
        ),
        Some(Overlay::Models(list)) => (
            " Models ",
            &list.narrowed,
            matches!(list.listing(), Some(Ok(_))).then(|| (list.count_left(), list.count())),
            models_note(list, width),
            model_rows(list, &model.models, height, width),
        ),
        Some(Overlay::Recall(recalled)) => {
            let top = recalled.narrowed.list.top;
            let rows = recalled.rows(top, height).into_iter();
            let none = "Nothing was asked yet.";
            (
                " Earlier questions ",
                &recalled.narrowed,
                Some((recalled.narrowed.matches().len(), recalled.count())),
                (recalled.count() == 0).then(|| Row::new(Ink::Dim, none)),
                rows.map(|(question, is_selected)| {
                    let row = Row::new(Ink::Text, format!(" {}", one_line(question, 400)));
                    (row, is_selected)
                })
                .collect(),
            )
        }
        _ => return false,
    };
    let around = room.outer(Margin::new(2, 1)).intersection(places.screen);
    clear(around, buffer);
    clear_side_strips(around, places.screen, buffer);
    let frame = Block::bordered()
        .border_style(theme.style(Ink::Focus))
        .title(Span::styled(title, theme.style(Ink::Focus)));
    frame.render(around, buffer);
    let line = |at: u16| Rect {
        y: room.y + at,
        height: 1,
        ..room
    };
    draw_row(
        buffer,
        theme,
        line(0),
        &typed_row(narrowed.typed(), counts, width),
    );
    let said = model.notice.as_ref().map(|notice| {
        let (ink, sign) = match notice.level {
            NoticeLevel::Info => (Ink::Info, ""),
            NoticeLevel::Warning => (Ink::Warning, "⚠ "),
        };
        Row::new(ink, format!(" {sign}{}", notice.message))
    });
    if let Some(row) = said.or(says) {
        draw_row(buffer, theme, line(1), &row.fit(width));
    }
    for (at, (row, is_selected)) in (HEAD..room.height).zip(rows) {
        draw_row(buffer, theme, line(at), &row.fit(width));
        if is_selected {
            buffer.set_style(line(at), theme.style(Ink::Selected));
        }
    }
    true
}

/// What is typed, and how many of how many are left, where that is known.
fn typed_row(typed: &str, counts: Option<(usize, usize)>, width: usize) -> Row {
    let row = Row::new(Ink::Focus, " > ")
        .add(Ink::Text, typed)
        .add(Ink::Focus, "▏");
    let part = match counts {
        None => String::new(),
        Some((left, count)) if left == count => format!("{count} "),
        Some((left, count)) => format!("{left} of {count} "),
    };
    row.and_right(Row::new(Ink::Dim, part), width)
}

fn sessions_note(list: &SessionList) -> Option<Row> {
    let words = match &list.doing {
        SessionTask::Resuming => "reading the conversation …",
        _ if !list.is_read() => "reading the audit log …",
        _ if list.count() == 0 => "Nothing is recorded yet: the first question begins a session.",
        _ => return None,
    };
    Some(Row::new(Ink::Dim, format!(" {words}")))
}

fn session_rows(list: &SessionList, height: usize, width: usize) -> Vec<(Row, bool)> {
    let rows = list.rows(list.narrowed.list.top, height).into_iter();
    rows.map(|(session, is_selected)| {
        let row = match &list.doing {
            SessionTask::Renaming(name) if is_selected => Row::new(Ink::Focus, " name: ")
                .add(Ink::Text, name.as_str())
                .add(Ink::Focus, "▏"),
            SessionTask::Deleting if is_selected => {
                let words = " Delete from the list? The audit log keeps it. y/n";
                Row::new(Ink::Warning, words)
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
    let mut left = Row::new(Ink::Done, sign);
    match &session.name {
        Some(name) => {
            left.push(Ink::Heading, one_line(name, 80));
            left.push(Ink::Dim, format!("  {}", one_line(&session.question, 400)));
        }
        None => left.push(Ink::Text, one_line(&session.question, 400)),
    }
    let runs = grouped_count(session.runs as u64, "run", "runs");
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
    left.and_right(Row::new(Ink::Dim, right), width)
}

/// For which job one is chosen, and how many are left out.
fn models_note(list: &ModelList, width: usize) -> Option<Row> {
    let listing = match list.listing() {
        Some(Ok(listing)) => listing,
        Some(Err(_)) => return None,
        None => return Some(Row::new(Ink::Dim, " asking the server for its models …")),
    };
    let mut jobs = Row::new(Ink::Dim, " for ");
    for job in [None].into_iter().chain(JobName::ALL.map(Some)) {
        let name = job.map_or("all", JobName::as_str);
        if job == list.job {
            jobs.push(Ink::Focus, format!("[{name}]"));
        } else {
            jobs.push(Ink::Dim, format!(" {name} "));
        }
    }
    let left_out = match listing.left_out {
        0 => Row::default(),
        count => Row::new(Ink::Dim, format!("{count} cannot chat ")),
    };
    if jobs.width() + left_out.width() >= width {
        return Some(jobs);
    }
    Some(jobs.and_right(left_out, width))
}

fn model_rows(
    list: &ModelList,
    in_use: &JobModels,
    height: usize,
    width: usize,
) -> Vec<(Row, bool)> {
    let none = match list.listing() {
        None => return Vec::new(),
        Some(Err(why)) => Some((Ink::Warning, why.clone())),
        Some(Ok(listing)) if listing.models.is_empty() => Some((
            Ink::Warning,
            format!(
                "No model that {} lists can chat.",
                one_line(&listing.host, 80)
            ),
        )),
        Some(Ok(_)) if list.narrowed.matches().is_empty() => {
            Some((Ink::Dim, "nothing like that".to_owned()))
        }
        Some(Ok(_)) => None,
    };
    if let Some((ink, words)) = none {
        let indent = Row::new(Ink::Text, " ");
        let rows = wrap(&Row::new(ink, words), &indent, &indent, width);
        return rows.into_iter().map(|row| (row, false)).collect();
    }
    let rows = list.rows(list.narrowed.list.top, height).into_iter();
    rows.map(|(row, is_selected)| (model_row(row, in_use, width), is_selected))
        .collect()
}

/// Its name, the jobs that it does now, and how much it reads; the first row goes back to the settings.
fn model_row(row: ModelRow<'_>, in_use: &JobModels, width: usize) -> Row {
    let ModelRow::Offer(offer) = row else {
        return Row::new(Ink::Text, "   default").add(Ink::Dim, "  as the settings say");
    };
    let jobs = in_use.jobs_of(&offer.name);
    let sign = if jobs.is_empty() { "   " } else { " ● " };
    let name = Row::new(Ink::Done, sign).add(Ink::Text, one_line(&offer.name, 200));
    let mut right = Row::default();
    if jobs.len() == JobName::ALL.len() {
        right.push(Ink::Done, " every job ");
    } else if !jobs.is_empty() {
        right.push(Ink::Done, format!(" {} ", joined(&jobs)));
    }
    if let Some(context) = offer.context.filter(|_| width >= 64) {
        right.push(Ink::Dim, format!(" {:>9} tokens ", grouped(context as u64)));
    }
    name.and_right(right, width)
}
