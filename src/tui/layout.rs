//! Where everything stands.
//!
//! One function of size, focus and zoom, asked by the view to draw and by the mouse to find what
//! is under it. Panes share their borders: a junction grid draws them, so that any arrangement
//! has the right corners.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::protocol::NoticeLevel;

use super::ink::{Ink, Row, wrap};
use super::model::{Model, Notice, Overlay};
use super::pane_state::{Border, Divider, Pane, Split};
use super::panes::wording::route_ink;
use super::theme::{Theme, clear, draw_row};

/// How many panes fit beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LayoutWidth {
    /// Chat at the left, all other panes at the right.
    Wide,
    /// Chat above one other pane.
    Medium,
    /// One pane fits.
    Narrow,
    /// The screen is too small to draw anything.
    #[default]
    Tiny,
}

/// The least size at which anything is drawn.
pub const LEAST: (u16, u16) = (40, 10);

/// Lines that an answer can be read in.
const READABLE: u16 = 14;
/// Lines of a pane that is folded.
const FOLDED: u16 = 4;

/// Where everything stands on the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arrangement {
    /// The whole screen.
    pub screen: Rect,
    /// How many panes fit beside each other.
    pub breadth: LayoutWidth,
    /// Panes drawn, each with the area inside its borders.
    pub panes: Vec<(Pane, Rect)>,
    /// Where the titles of these panes stand.
    pub titles: Vec<(Pane, Rect)>,
    /// Where the state of a pane stands, when the title has no room for it.
    pub status: Option<(Pane, Rect)>,
    /// Where text is typed.
    pub prompt: Option<Rect>,
    /// Where a document is read, when one has the screen for itself.
    pub reading: Option<Rect>,
    /// Where a notice stands: on the border above the prompt or the last line.
    pub notice: NoticeLine,
    /// Lines that a notice takes from a window that lies above it all.
    below_window: u16,
    /// Borders that can be dragged.
    pub borders: Vec<Border>,
    /// Horizontal borders: row, first and last column.
    pub across: Vec<(u16, u16, u16)>,
    /// Vertical borders: column, first and last row.
    pub down: Vec<(u16, u16, u16)>,
}

impl Arrangement {
    /// Computes the layout for the model.
    pub fn new(model: &Model) -> Self {
        let screen = Rect::new(0, 0, model.size.width, model.size.height);
        let breadth = match (screen.width, screen.height) {
            (width, height) if width < LEAST.0 || height < LEAST.1 => LayoutWidth::Tiny,
            (120.., 24..) => LayoutWidth::Wide,
            (80.., 20..) => LayoutWidth::Medium,
            _ => LayoutWidth::Narrow,
        };
        let lowest = screen.height.saturating_sub(1);
        let border = Rect::new(2, lowest, screen.width.saturating_sub(4), 1);
        let mut arrangement = Self {
            screen,
            breadth,
            notice: NoticeLine { border, counter: 0 },
            ..Self::default()
        };
        if breadth == LayoutWidth::Tiny {
            return arrangement;
        }
        arrangement.outer();
        match breadth {
            _ if model.reading.is_some() => arrangement.reading(model),
            _ if model.zoomed => arrangement.zoomed(model),
            LayoutWidth::Wide => arrangement.wide(model),
            LayoutWidth::Medium => arrangement.medium(model),
            _ => arrangement.narrow(model),
        }
        // Windows that are typed into say it themselves.
        let says_itself = model.shown_overlay().is_none_or(Overlay::is_typed);
        if let Some(notice) = model.notice.as_ref().filter(|_| !says_itself) {
            let border = arrangement.notice_below_window();
            arrangement.below_window = lines_above(notice, border);
        }
        arrangement
    }

    /// Where a notice stands while a window lies above it all: the last line.
    pub fn notice_below_window(&self) -> NoticeLine {
        let border = Rect {
            y: self.screen.height.saturating_sub(1),
            ..self.notice.border
        };
        NoticeLine { border, counter: 0 }
    }

    /// The inside of a pane, if it is drawn.
    pub fn pane(&self, pane: Pane) -> Option<Rect> {
        let drawn = self.panes.iter().find(|(drawn, _)| *drawn == pane);
        drawn.map(|(_, area)| *area)
    }

    /// The pane under a cell.
    pub fn pane_at(&self, position: Position) -> Option<Pane> {
        if self.prompt.is_some_and(|area| area.contains(position)) {
            return Some(Pane::Chat);
        }
        let mut areas = self.panes.iter().chain(&self.titles);
        let found = areas.find(|(_, area)| area.contains(position));
        found.map(|(pane, _)| *pane)
    }

    /// The inside of an overlay; one that shows two columns takes all of the width.
    pub fn overlay_room(&self, is_wide: bool) -> Rect {
        let most = if is_wide { u16::MAX } else { 112 };
        let width = self.screen.width.saturating_sub(8).clamp(1, most);
        let height = self.screen.height.saturating_sub(6).max(1);
        let top = self.screen.height.saturating_sub(height) / 2;
        // One line is free between a window and the last line of the screen.
        let taken = self.below_window.saturating_sub(1);
        let height = height.saturating_sub(taken).max(1);
        let left = self.screen.width.saturating_sub(width) / 2;
        Rect::new(left, top, width, height).intersection(self.screen)
    }

    fn border(&mut self, divider: Divider, line: Rect, from: u16, whole: u16) {
        self.borders.push(Border {
            divider,
            line,
            from,
            whole,
        });
    }

    fn outer(&mut self) {
        let (right, bottom) = (self.screen.width - 1, self.screen.height - 1);
        self.across.extend([(0, 0, right), (bottom, 0, right)]);
        self.down.extend([(0, 0, bottom), (right, 0, bottom)]);
    }

    /// Puts the prompt at the foot of the column and returns the first row that it takes.
    fn foot(&mut self, model: &Model, left: u16, right: u16) -> u16 {
        let bottom = self.screen.height - 1;
        let width = right - left - 1;
        let most = (self.screen.height / 4).max(1);
        // The sign before the text, and a free cell at each of its ends.
        let beside = prompt_sign(model).width() as u16 + 2;
        let rows = model.prompt.rows(width.saturating_sub(beside));
        let rows = rows.min(most).max(1);
        let border = bottom - rows - 1;
        self.across.push((border, left, right));
        self.prompt = Some(Rect::new(left + 1, border + 1, width, rows));
        let counter = model.prompt.counter(rows);
        let counter = counter.map_or(0, |counter| counter.len() as u16);
        self.notice = NoticeLine {
            border: Rect::new(left + 2, border, width.saturating_sub(2), 1),
            counter,
        };
        border
    }

    fn wide(&mut self, model: &Model) {
        let (right, bottom) = (self.screen.width - 1, self.screen.height - 1);
        let split = &model.split;
        let width = self.screen.width;
        let side = (width * 47 / 100).clamp(58, 84);
        let side = Split::part(split.side, width, side, 40, width - 44);
        let middle = right - side - 1;
        let line = Rect::new(middle, 1, 1, bottom - 1);
        self.border(Divider::Side, line, right - 1, width);
        self.down.push((middle, 0, bottom));
        let prompt = self.foot(model, 0, middle);
        self.titled(Pane::Chat, Rect::new(1, 1, middle - 1, prompt - 1));
        // A blank row below the title, where there is room for it.
        let chat = self.panes.last_mut();
        if let Some((_, area)) = chat.filter(|(_, area)| area.height >= 20) {
            area.y += 1;
            area.height -= 1;
        }

        let inner = bottom - 1;
        // Title, all nodes with all edges, the meter.
        let path = 17.min(inner * 45 / 100).max(8);
        let path = Split::part(split.path, inner, path, 3, inner - 8);
        let rest = inner - path;
        let evidence = Split::part(split.evidence, rest, (rest * 45 / 100).max(4), 3, rest - 3);
        for (divider, top, from, whole) in [
            (Divider::Path, path + 1, 1, inner),
            (Divider::Evidence, path + 1 + evidence, path + 1, rest),
        ] {
            self.border(divider, Rect::new(middle + 1, top, side, 1), from, whole);
        }
        self.titled(Pane::Path, Rect::new(middle + 1, 1, side, path));
        let mut top = path + 1;
        for (pane, height) in [
            (Pane::Evidence, evidence),
            (Pane::Audit, bottom - top - evidence),
        ] {
            self.across.push((top, middle, right));
            self.titles
                .push((pane, Rect::new(middle + 2, top, side - 2, 1)));
            self.panes
                .push((pane, Rect::new(middle + 1, top + 1, side, height - 1)));
            top += height;
        }
    }

    fn medium(&mut self, model: &Model) {
        let right = self.screen.width - 1;
        let prompt = self.foot(model, 0, right);
        // What can be asked takes more room than an answer that has not been given.
        let share = if model.is_empty() { 56 } else { 48 };
        let room = prompt - 1;
        // An answer needs lines to be read; the other pane folds to a few before the chat does.
        let least = (READABLE + 1).min(room.saturating_sub(FOLDED + 1));
        let (chat, most) = ((room * share / 100).max(least), room.saturating_sub(4));
        let chat = Split::part(model.split.chat, room, chat, 3, most);
        self.titled(Pane::Chat, Rect::new(1, 1, right - 1, chat));
        let border = chat + 1;
        self.across.push((border, 0, right));
        self.border(Divider::Chat, Rect::new(1, border, right - 1, 1), 1, room);
        let is_chat = model.focus == Pane::Chat;
        let side = if is_chat { model.side } else { model.focus };
        self.tabs(&Pane::ALL[1..], side, Rect::new(2, border, right - 3, 1));
        let area = Rect::new(1, border + 1, right - 1, prompt - border - 1);
        self.panes.push((side, area));
    }

    fn narrow(&mut self, model: &Model) {
        let right = self.screen.width - 1;
        let prompt = self.foot(model, 0, right);
        self.tabs(&Pane::ALL, model.focus, Rect::new(2, 1, right - 3, 1));
        self.panes
            .push((model.focus, Rect::new(1, 2, right - 1, prompt - 2)));
    }

    /// Names of panes side by side, and the state of the one that is drawn.
    fn tabs(&mut self, panes: &[Pane], drawn: Pane, area: Rect) {
        let mut left = area.x;
        for &pane in panes {
            let width = pane.title().len() as u16 + 3;
            self.titles
                .push((pane, Rect::new(left, area.y, width, 1).intersection(area)));
            left += width;
        }
        let rest = area.right().saturating_sub(left + 1);
        self.status = Some((drawn, Rect::new(left + 1, area.y, rest, 1)));
    }

    fn zoomed(&mut self, model: &Model) {
        let (right, bottom) = (self.screen.width - 1, self.screen.height - 1);
        let foot = if model.focus == Pane::Chat {
            self.foot(model, 0, right)
        } else {
            bottom
        };
        self.titled(model.focus, Rect::new(1, 1, right - 1, foot - 1));
    }

    /// One document, below its title and what is to be said of it.
    fn reading(&mut self, model: &Model) {
        let said = model.reading.as_ref();
        let said = said.map_or(0, |view| view.remarks().len() + view.explanation.len());
        // The document keeps half of the screen; what does not fit above it is cut.
        let border = 2 + (said as u16).min(self.screen.height / 2);
        let above = border + 1;
        let (right, bottom) = (self.screen.width - 1, self.screen.height - 1);
        self.across.push((border, 0, right));
        self.reading = Some(Rect::new(1, above, right - 1, bottom.saturating_sub(above)));
    }

    /// A pane whose first row is its title.
    fn titled(&mut self, pane: Pane, area: Rect) {
        let title = area.height.min(1);
        let inside = Rect::new(area.x, area.y + title, area.width, area.height - title);
        let title = Rect::new(area.x, area.y, area.width, title);
        self.titles.push((pane, title));
        self.panes.push((pane, inside));
    }
}

/// What stands before the text of the prompt: what the text is, by which route it goes.
pub fn prompt_sign(model: &Model) -> Row {
    let is_typed = model.focus == Pane::Chat && !model.is_acting();
    let ink = if is_typed { Ink::Focus } else { Ink::Dim };
    let mut sign = match &model.editing {
        Some(edit) => Row::new(Ink::Warning, format!(" edit {} > ", edit.number)),
        None => Row::new(ink, " > "),
    };
    if let Some(route) = model.route {
        sign.push(route_ink(route), format!("{} ", route.as_str()));
    }
    sign
}

// The one line for the person, above or in the lower border.

/// The line of a border that a notice may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoticeLine {
    /// All cells of the border line.
    pub border: Rect,
    /// Cells at its end that a counter takes.
    pub counter: u16,
}

/// Draws it on a line of a border; what is longer takes lines above that.
pub fn draw_notice(model: &Model, place: NoticeLine, theme: &Theme, buffer: &mut Buffer) {
    let Some(notice) = &model.notice else {
        return;
    };
    let (_, ink) = looks(notice);
    let border = place.border;
    let (rows, is_above) = notice_rows(notice, place);
    let bottom = border.y - u16::from(is_above);
    for (at, row) in rows.iter().enumerate() {
        let line = Rect {
            y: bottom.saturating_sub((rows.len() - 1 - at) as u16),
            ..border
        };
        let row = row.clone().add(ink, " ");
        // The look of what lies below must not shine through, nor its letters between the notice and
        // the frame.
        let cleared = if is_above {
            let (x, width) = (line.x.saturating_sub(1), line.width + 2);
            Rect { x, width, ..line }
        } else {
            let width = line.width.min(row.width() as u16);
            Rect { width, ..line }
        };
        clear(cleared, buffer);
        draw_row(buffer, theme, line, &row);
    }
}

/// The lines above the border that it takes.
pub fn lines_above(notice: &Notice, place: NoticeLine) -> u16 {
    match notice_rows(notice, place) {
        (_, false) => 0,
        (rows, true) => rows.len() as u16,
    }
}

fn looks(notice: &Notice) -> (&'static str, Ink) {
    match notice.level {
        NoticeLevel::Info => (" ", Ink::Info),
        NoticeLevel::Warning => (" ⚠ ", Ink::Warning),
    }
}

/// Its rows, and whether they stand above the border: so does what is longer than the border has
/// room for, since a warning that is cut says nothing, and a border with a hole in it looks broken.
fn notice_rows(notice: &Notice, place: NoticeLine) -> (Vec<Row>, bool) {
    let (sign, ink) = looks(notice);
    let indent = Row::new(ink, " ".repeat(sign.chars().count()));
    let message = Row::new(ink, notice.message.clone());
    let within = |width: u16| {
        let width = usize::from(width).saturating_sub(2);
        wrap(&message, &Row::new(ink, sign), &indent, width)
    };
    let NoticeLine { border, counter } = place;
    let rows = within(border.width.saturating_sub(counter));
    if rows.len() == 1 {
        return (rows, false);
    }
    let mut rows = within(border.width);
    rows.truncate(usize::from(border.y / 2).max(1));
    (rows, true)
}
