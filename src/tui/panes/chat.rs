//! The conversation.
//!
//! Each turn caches its wrapped rows by width and revision. The position is kept from the top of
//! a turn, so only turns that are seen are laid out, and an answer that grows below does not move
//! what is being read. What was not seen for a while is laid out anew.

use ratatui::layout::Size;

use crate::domain::Outcome;
use crate::tui::code_cache::CodeCache;
use crate::tui::fold::Exchange;
use crate::tui::ink::{Ink, Row};
use crate::tui::markdown;
use crate::tui::model::{Model, Retry, Turn};
use crate::tui::wrap::wrap;

use super::asked::{GUTTER, asked};
use super::welcome::welcome;
use super::{citations, foot, found, waiting};

/// So many turns keep their rows besides as many as a screen of the shortest holds.
const SPARE: usize = 32;

/// What the conversation shows at present.
#[derive(Debug, Clone, Default)]
pub struct ChatScroll {
    /// Turn and row at the top; `None` follows the end.
    anchor: Option<(usize, usize)>,
    /// Rows to move before the next drawing.
    moving: isize,
    height: usize,
    /// The turns that have their rows, the one that was needed last at the end.
    laid_out: Vec<usize>,
    /// Turn and row of the first of these rows.
    pub from: (usize, usize),
    /// The rows, as settled.
    pub visible: Vec<Row>,
    /// The turn of each of these rows; the last number stands for what comes after them all.
    pub turns: Vec<usize>,
    /// Which citation of the shown run is selected: its place in their list.
    pub citation: Option<usize>,
    /// Whether the answer that the panes show is chosen, and what letters are for then.
    pub chosen: Chosen,
    /// Whether the selected citation, or else the chosen answer, is to be brought in sight.
    pub reveal: bool,
}

/// What was done about the answer that the panes show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Chosen {
    /// Nothing.
    #[default]
    No,
    /// It was gone to. Letters are typed all the same.
    Yes,
    /// Letters act on it, until something is typed.
    ActedOn,
}

/// Wrapped rows of a turn.
#[derive(Debug, Clone, Default)]
pub struct TurnCache {
    width: usize,
    revision: u64,
    rows: Vec<Row>,
    /// While the answer grows.
    code: CodeCache,
}

impl TurnCache {
    /// The rows, where they are those of this text at this width.
    fn rows(&self, told: &Exchange, width: usize) -> Option<&[Row]> {
        let is_it = self.width == width && self.revision == told.revision;
        (is_it && !self.rows.is_empty()).then_some(&*self.rows)
    }
}

impl ChatScroll {
    /// Moves by rows.
    pub fn step(&mut self, by: isize) {
        self.moving = self.moving.saturating_add(by);
    }

    /// Moves by pages.
    pub fn page(&mut self, pages: isize) {
        self.step(pages * self.height.saturating_sub(2).max(1).cast_signed());
    }

    /// To the beginning.
    pub fn first(&mut self) {
        self.anchor = Some((0, 0));
        self.moving = 0;
    }

    /// To the end, and stays there.
    pub fn last(&mut self) {
        self.anchor = None;
        self.moving = 0;
    }

    /// Whether it stays at the end.
    pub fn is_following(&self) -> bool {
        self.anchor.is_none()
    }
}

/// The word for how a run ended.
pub fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Answered => "answered",
        Outcome::NotFound => "not found",
        Outcome::Cancelled => "cancelled",
        Outcome::Failed => "failed",
    }
}

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
    let end = waiting::tail(model, width);
    let selected = citations::selected(model);
    let chosen = model.shown_at().filter(|_| model.chat.chosen != Chosen::No);
    if let Some(find) = &mut model.find {
        found::search(find, &model.turns, |turn| text_of(turn, width), width);
    }
    let mut view = Window {
        turns: &mut model.turns,
        laid_out: &mut model.chat.laid_out,
        tail: end,
        width,
    };
    let moving = std::mem::take(&mut model.chat.moving);
    let bottom = view.bottom(height);
    let mut at = model.chat.anchor.unwrap_or(bottom);
    at = view.moved(at, moving);
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
    view.forget_rows(SPARE + height);
    model.chat.reveal = false;
    model.chat.anchor = (at < bottom).then_some(at);
    model.chat.from = at.min(bottom);
    (model.chat.visible, model.chat.turns) = drawn;
    if let Some((turn, n)) = selected {
        let turns = model.chat.turns.iter();
        for (row, _) in model
            .chat
            .visible
            .iter_mut()
            .zip(turns)
            .filter(|(_, at)| **at == turn)
        {
            *row = citations::chosen(std::mem::take(row), n);
        }
    }
    found::mark(model);
}

/// The rows that are seen of the run that the panes show, where there are several.
pub fn rows_of_shown(model: &Model) -> Vec<usize> {
    let Some(shown) = model.shown_at().filter(|_| model.turns.len() > 1) else {
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

/// The rows of a turn as text, one a line.
fn text_of(turn: &Turn, width: usize) -> String {
    let lines = |rows: &[Row]| {
        let lines = rows.iter().map(Row::text);
        lines
            .map(|line| line.trim_end().to_owned() + "\n")
            .collect()
    };
    match turn.cache.rows(turn.exchange(), width) {
        Some(rows) => lines(rows),
        None => lines(&rows_of(
            turn.exchange(),
            turn.retry,
            width,
            &mut CodeCache::default(),
        )),
    }
}

struct Window<'a> {
    turns: &'a mut [Turn],
    laid_out: &'a mut Vec<usize>,
    /// What comes after the last turn.
    tail: Vec<Row>,
    width: usize,
}

impl Window<'_> {
    fn block(&mut self, at: usize) -> &[Row] {
        match self.turns.get_mut(at) {
            Some(turn) => {
                if self.laid_out.last() != Some(&at) {
                    self.laid_out.retain(|other| *other != at);
                    self.laid_out.push(at);
                }
                turn_rows(turn, self.width)
            }
            None => &self.tail,
        }
    }

    /// Takes the rows from the turns that were not needed for the longest time, all but so many.
    fn forget_rows(&mut self, most: usize) {
        let surplus = self.laid_out.len().saturating_sub(most);
        for at in self.laid_out.drain(..surplus) {
            if let Some(turn) = self.turns.get_mut(at) {
                turn.cache = TurnCache::default();
            }
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

    fn moved(&mut self, from: (usize, usize), by: isize) -> (usize, usize) {
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
        let Some(row) = rows.position(|row| citations::marks(row, n)) else {
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
        let end = self.moved(at, height.cast_signed());
        if (at..end).contains(&place) {
            return at;
        }
        self.moved(place, -(height / 3).cast_signed())
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

fn turn_rows(turn: &mut Turn, width: usize) -> &[Row] {
    if turn.cache.rows(turn.exchange(), width).is_none() {
        let mut cache = std::mem::take(&mut turn.cache);
        let told = turn.exchange();
        cache.rows = rows_of(told, turn.retry, width, &mut cache.code);
        if told.finish.is_some() {
            cache.code = CodeCache::default();
        }
        cache.width = width;
        cache.revision = told.revision;
        turn.cache = cache;
    }
    &turn.cache.rows
}

fn rows_of(run: &Exchange, retry: Option<Retry>, width: usize, code: &mut CodeCache) -> Vec<Row> {
    let mut rows = asked(&run.query, &run.within, (run.forced, retry), width);
    let body = width.saturating_sub(GUTTER + 1).max(1);
    let mut answer = markdown::render(&run.answer, body, code);
    if let Some(finish) = &run.finish {
        if answer.is_empty() {
            let words = match finish.outcome {
                Outcome::Cancelled | Outcome::Failed if run.is_recorded && run.was_writing => {
                    "what came of the answer is not in the log"
                }
                Outcome::Cancelled => "stopped before an answer came",
                Outcome::Failed => "no answer",
                _ => "an empty answer",
            };
            answer.push(Row::of(Ink::Dim, words));
        }
        if !run.citations.is_empty() {
            answer.push(Row::default());
            answer.extend(foot::citations(run, body));
        }
        answer.push(Row::default());
        match finish.outcome {
            Outcome::Answered => {}
            Outcome::NotFound => {
                answer.push(Row::of(Ink::Warning, "◌ not found in the knowledge base"));
            }
            Outcome::Cancelled => answer.push(Row::of(Ink::Warning, "◼ cancelled")),
            Outcome::Failed => answer.extend(wrap(
                &Row::of(
                    Ink::Failed,
                    format!(
                        "× failed: {}",
                        finish.error.as_deref().unwrap_or("no reason given")
                    ),
                ),
                &Row::default(),
                &Row::of(Ink::Text, "  "),
                body,
            )),
        }
        answer.extend(wrap(
            &foot::footer(run),
            &Row::default(),
            &Row::default(),
            body,
        ));
        answer.extend(foot::warnings(run, body));
    }
    for (at, line) in answer.into_iter().enumerate() {
        let label = if at == 0 { " kb    " } else { "       " };
        rows.push(Row::of(Ink::Kb, label).join(line));
    }
    if run.finish.is_some() {
        rows.push(Row::default());
    }
    rows
}
