//! The conversation.
//!
//! Each turn caches its wrapped rows by width and revision. The position is kept from the top of
//! a turn, so only turns that are seen are laid out, and an answer that grows below does not move
//! what is being read. What was not seen for a while is laid out anew.

use ratatui::layout::Size;
use unicode_width::UnicodeWidthStr;

use crate::tui::find;
use crate::tui::ink::{Ink, Row};
use crate::tui::model::{Model, TurnView};
use crate::tui::pane_state::AnswerFocus;
use crate::tui::turns::TurnCache;

use super::turn_rows;
use super::turn_rows::{branch_keys, text_of, turn_rows};
use super::welcome::welcome;

/// So many turns above and below keep their rows besides as many as a screen of the shortest holds.
const SPARE: usize = 32;

/// Lays out what is seen of the conversation.
pub fn settle(model: &mut Model, size: Size) {
    let width = usize::from(size.width);
    let height = usize::from(size.height);
    model.chat.height = height;
    if model.is_empty() {
        let rows = welcome(model, width, height);
        let top = rows.len().saturating_sub(height);
        let top = model.chat.moving.clamp(0, top.cast_signed());
        model.chat.moving = top;
        model.chat.visible = rows.into_iter().skip(top as usize).take(height).collect();
        model.chat.turns.clear();
        return;
    }
    let end = turn_rows::tail(model, width);
    let keys = branch_keys(&model.keymap);
    let selected = selected_citation(model);
    let chosen = model
        .shown_at()
        .filter(|_| model.chat.chosen != AnswerFocus::No);
    if let Some(find) = &mut model.find {
        find::search(
            find,
            model.turns.current(),
            |turn| text_of(turn, width, &keys),
            width,
        );
    }
    // A question that waits stands at the end.
    let is_waiting = model.pending.is_some() || !model.queue.is_empty();
    let mut view = Window {
        turns: model.turns.current_mut(),
        tail: end,
        width,
        branch_keys: keys,
    };
    let moving = std::mem::take(&mut model.chat.moving);
    let bottom = view.bottom(height);
    let is_at_end = model.chat.at_end || is_waiting;
    let beginning = view.beginning().min(bottom);
    let followed = if is_at_end { bottom } else { beginning };
    let mut at = model.chat.anchor.unwrap_or(followed);
    at = view.move_by(at, moving);
    if let Some((turn, n)) = selected.filter(|_| model.chat.reveal) {
        at = view.revealing(turn, n, at.min(bottom), height);
    } else if let Some(turn) = chosen.filter(|_| model.chat.reveal) {
        at = view.showing((turn, 0), at.min(bottom), height);
    }
    if let Some(find) = &mut model.find
        && let Some(place) = find.place_to_show(at.min(bottom))
    {
        at = view.showing(place, at.min(bottom), height);
    }
    let drawn = view.rows(at.min(bottom), height);
    view.forget_rows(at.min(bottom).0, height);
    model.chat.reveal = false;
    if at >= bottom && moving > 0 {
        model.chat.at_end = true;
    }
    let stays = at >= bottom || model.chat.anchor.is_none() && at == followed;
    model.chat.anchor = (!stays).then_some(at);
    model.chat.goes_on = stays && at < bottom;
    model.chat.from = at.min(bottom);
    (model.chat.visible, model.chat.turns) = drawn;
    if let Some((turn, n)) = selected {
        let turns = model.chat.turns.iter();
        let rows = model.chat.visible.iter_mut().zip(turns);
        for (row, _) in rows.filter(|(_, at)| **at == turn) {
            *row = mark_chosen(std::mem::take(row), n);
        }
    }
    if let Some(find) = &model.find {
        find::mark(find, &mut model.chat);
    }
}

/// Lays out the page above what is seen and the one below, so that it is drawn at once when it is
/// scrolled to. To be done when a frame is out.
pub fn lay_out_neighbours(model: &mut Model, size: Size) {
    let height = usize::from(size.height);
    let Some(last) = model.chat.turns.last().copied() else {
        return;
    };
    let (first, _) = model.chat.from;
    let count = model.turns.current().len();
    let mut view = Window {
        turns: model.turns.current_mut(),
        tail: Vec::new(),
        width: size.width.into(),
        branch_keys: branch_keys(&model.keymap),
    };
    let mut page = |turns: &mut dyn Iterator<Item = usize>| {
        let mut rows = 0;
        while rows < height
            && let Some(at) = turns.next()
        {
            rows += view.block(at).len();
        }
    };
    page(&mut (0..first).rev());
    page(&mut (last + 1..count));
}

/// The rows that are seen of the run that the panes show, where there are several.
pub fn rows_of_shown(model: &Model) -> Vec<usize> {
    let Some(shown) = model.shown_at().filter(|_| model.turns.current().len() > 1) else {
        return Vec::new();
    };
    let turns = &model.chat.turns;
    let is_gap = |at: usize| {
        let row = model.chat.visible.get(at).map(Row::text);
        turns.get(at + 1) != Some(&shown) && row.is_none_or(|text| text.trim().is_empty())
    };
    let rows = turns.iter().enumerate();
    rows.filter(|(at, turn)| **turn == shown && !is_gap(*at))
        .map(|(at, _)| at)
        .collect()
}

struct Window<'a> {
    turns: &'a mut [TurnView],
    /// What comes after the last turn.
    tail: Vec<Row>,
    width: usize,
    branch_keys: String,
}

impl Window<'_> {
    fn block(&mut self, at: usize) -> &[Row] {
        match self.turns.get_mut(at) {
            Some(turn) => turn_rows(turn, self.width, &self.branch_keys),
            None => &self.tail,
        }
    }

    /// Takes the rows from the turns that are far from what is seen.
    fn forget_rows(&mut self, from: usize, height: usize) {
        let near = from.saturating_sub(SPARE + height)..from + height + SPARE;
        let turns = self.turns.iter_mut().enumerate();
        for (_, turn) in turns.filter(|(at, _)| !near.contains(at)) {
            turn.cache = TurnCache::default();
        }
    }

    /// The position at which the end is just seen.
    fn bottom(&mut self, height: usize) -> (usize, usize) {
        let mut left = height;
        for at in (0..=self.turns.len()).rev() {
            let rows = self.block(at).len();
            if rows >= left {
                return (at, rows - left);
            }
            left -= rows;
        }
        (0, 0)
    }

    /// Where the last turn begins.
    fn beginning(&self) -> (usize, usize) {
        (self.turns.len().saturating_sub(1), 0)
    }

    fn move_by(&mut self, from: (usize, usize), by: isize) -> (usize, usize) {
        let (mut turn, row) = from;
        let mut row = row.cast_signed() + by;
        while row < 0 && turn > 0 {
            turn -= 1;
            row += self.block(turn).len().cast_signed();
        }
        while turn < self.turns.len() && row >= self.block(turn).len().cast_signed() {
            row -= self.block(turn).len().cast_signed();
            turn += 1;
        }
        (turn, row.max(0) as usize)
    }

    /// `at`, or where the first mark of a citation of the turn is in sight.
    fn revealing(
        &mut self,
        turn: usize,
        n: usize,
        at: (usize, usize),
        height: usize,
    ) -> (usize, usize) {
        let mut rows = self.block(turn).iter();
        let Some(row) = rows.position(|row| holds_mark(row, n)) else {
            return at;
        };
        self.showing((turn, row), at, height)
    }

    /// `at`, or where that place is in sight.
    fn showing(
        &mut self,
        place: (usize, usize),
        at: (usize, usize),
        height: usize,
    ) -> (usize, usize) {
        let end = self.move_by(at, height.cast_signed());
        if (at..end).contains(&place) {
            return at;
        }
        self.move_by(place, -(height / 3).cast_signed())
    }

    /// The rows that are seen, and the turn of each.
    fn rows(&mut self, from: (usize, usize), height: usize) -> (Vec<Row>, Vec<usize>) {
        let (mut rows, mut turns) = (Vec::new(), Vec::new());
        let (mut turn, mut skip) = from;
        while rows.len() < height && turn <= self.turns.len() {
            let room = height - rows.len();
            rows.extend(self.block(turn).iter().skip(skip).take(room).cloned());
            turns.resize(rows.len(), turn);
            skip = 0;
            turn += 1;
        }
        (rows, turns)
    }
}

// The marks of an answer's citations: which is selected, and what is under the mouse.

/// The turn that the panes show and the number of its citation that is selected.
pub fn selected_citation(model: &Model) -> Option<(usize, usize)> {
    let turn = model.shown_at()?;
    let citations = &model.turns.current().get(turn)?.exchange().citations;
    let citation = citations.get(model.chat.citation?)?;
    Some((turn, citation.n))
}

/// Whether the row holds a mark of this citation.
pub fn holds_mark(row: &Row, n: usize) -> bool {
    let mark = format!("[{n}]");
    let mut pieces = row.pieces.iter();
    pieces.any(|piece| piece.ink == Ink::Citation && piece.text.contains(&mark))
}

/// The row, each mark of this citation in the ink of what is chosen.
pub fn mark_chosen(row: Row, n: usize) -> Row {
    let mark = format!("[{n}]");
    row.mark(Ink::Chosen, |piece| {
        let marks = piece.text.match_indices(&mark);
        let marks = marks.filter(|_| piece.ink == Ink::Citation);
        marks.map(|(at, mark)| at..at + mark.len()).collect()
    })
}

/// The number of the citation whose mark is at that column of a row.
pub fn citation_at_column(row: &Row, column: usize) -> Option<usize> {
    let mut left = 0;
    for piece in &row.pieces {
        let width = piece.text.width();
        if column >= left + width {
            left += width;
            continue;
        }
        if !matches!(piece.ink, Ink::Citation | Ink::Chosen) {
            return None;
        }
        // Marks are ASCII: cells are bytes.
        let before = piece.text.get(..=column - left)?;
        let rest = &piece.text[before.rfind('[')? + 1..];
        return rest[..rest.find(']')?].parse().ok();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::model::Setup;

    #[test]
    fn ui_the_pages_above_and_below_are_laid_out_before_they_are_scrolled_to() {
        let events: Vec<_> = include_str!("../../../tests/it/fixtures/picture.jsonl")
            .lines()
            .map(|line| std::sync::Arc::new(serde_json::from_str(line).unwrap()))
            .collect();
        let mut model = Model::new(Setup::default()).unwrap();
        for _ in 0..20 {
            model.turns.push(TurnView::from_events(&events).unwrap());
        }
        let size = Size::new(80, 30);
        // From the first page nothing below has been seen, from the last nothing above.
        for (is_first, pages) in [(true, 1), (false, -1)] {
            for turn in model.turns.current_mut().iter_mut() {
                turn.cache = TurnCache::default();
            }
            if is_first {
                model.chat.first();
            } else {
                model.chat.last();
            }
            settle(&mut model, size);
            lay_out_neighbours(&mut model, size);
            let is_known = |turn: &TurnView| !turn.cache.rows.is_empty();
            let known: Vec<bool> = model.turns.current().iter().map(is_known).collect();
            model.chat.page(pages);
            settle(&mut model, size);
            let seen = &model.chat.turns;
            assert!(
                seen.iter().all(|at| *at == known.len() || known[*at]),
                "{seen:?}"
            );
        }
    }
}

#[cfg(test)]
mod citations_tests {
    use super::*;

    #[test]
    fn marks_are_found_and_chosen_one_by_one() {
        let row = Row::new(Ink::Text, "比较 [2] ")
            .add(Ink::Citation, "[1][12]")
            .add(Ink::Text, " end");
        assert!(holds_mark(&row, 12) && holds_mark(&row, 1) && !holds_mark(&row, 2));
        for (column, n) in [
            (4, None),
            (9, Some(1)),
            (11, Some(1)),
            (12, Some(12)),
            (15, Some(12)),
            (16, None),
            (90, None),
        ] {
            assert_eq!(citation_at_column(&row, column), n, "column {column}");
        }
        let chosen = mark_chosen(row.clone(), 1);
        assert_eq!(chosen.text(), row.text());
        let inks: Vec<_> = chosen
            .pieces
            .iter()
            .map(|piece| (piece.ink, piece.text.as_str()))
            .collect();
        assert_eq!(inks[1..3], [(Ink::Chosen, "[1]"), (Ink::Citation, "[12]")]);
    }
}
