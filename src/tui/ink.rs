//! Text that knows what it means but not yet how it looks.
//!
//! Panes build [`Row`]s of pieces, each with an [`Ink`]: the meaning. Only painting asks the theme
//! for colours, so wrapped rows can be cached whatever the theme, and no pane can pick a colour.

use std::ops::Range;
use std::sync::LazyLock;

use ratatui::style::Modifier;
use regex::Regex;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as ValueError, StrDeserializer};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::domain::{KEEP_FROM, SUFFICIENT_FROM};

/// What a piece of text means; the themes say how each looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ink {
    /// Ordinary text.
    Text,
    /// Less important text.
    Dim,
    /// Lines between panes.
    Border,
    /// Border and title of the pane that has the keys.
    Focus,
    /// Titles of the other panes.
    Title,
    /// The program's name.
    Brand,
    /// The person's side of the conversation.
    You,
    /// The program's side of it.
    Kb,
    /// Headings in an answer.
    Heading,
    /// Code.
    Code,
    /// A keyword in code.
    Keyword,
    /// A string in code.
    StringLiteral,
    /// A comment in code.
    Comment,
    /// A number or another constant in code.
    Number,
    /// The name of a type or a module in code.
    TypeName,
    /// The name of a function or an attribute in code.
    FunctionName,
    /// Quoted text.
    Quote,
    /// `[n]` and what it stands for.
    Citation,
    /// The chitchat route.
    Chitchat,
    /// The simple route.
    Simple,
    /// The complex route.
    Complex,
    /// A node that has not been reached.
    Waiting,
    /// A node at work.
    Running,
    /// A node that is done, an edge that was taken.
    Done,
    /// A node that this route does not need.
    Skipped,
    /// A node or run that failed.
    Failed,
    /// Evidence graded 0.7 or better.
    Strong,
    /// Evidence graded 0.3 or better.
    Weak,
    /// Evidence below 0.3.
    Dropped,
    /// A number that was not measured.
    Unmeasured,
    /// Something is not as it should be.
    Warning,
    /// Good to know.
    Info,
    /// A citation that is selected.
    Chosen,
    /// What a search found.
    Match,
    /// The name of a key.
    Key,
    /// The selected row of a list; laid under the other inks.
    Selected,
}

impl Ink {
    /// How many there are.
    pub const COUNT: usize = Self::Selected as usize + 1;

    /// The ink of that name, as themes spell it.
    pub fn from_name(name: &str) -> Option<Self> {
        let name: StrDeserializer<'_, ValueError> = name.into_deserializer();
        Self::deserialize(name).ok()
    }
}

/// A stretch of text with one meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The text, free of control characters.
    pub text: String,
    /// Its meaning.
    pub ink: Ink,
    /// How it stands out.
    pub emphasis: Modifier,
}

/// One line of the screen before it has a place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    /// The pieces from left to right.
    pub pieces: Vec<Piece>,
}

impl Row {
    /// A row of one piece.
    pub fn new(ink: Ink, text: impl Into<String> + AsRef<str>) -> Self {
        Self::default().add(ink, text)
    }

    /// The row and one more piece.
    #[must_use]
    pub fn add(mut self, ink: Ink, text: impl Into<String> + AsRef<str>) -> Self {
        self.push(ink, text);
        self
    }

    /// Appends a piece.
    pub fn push(&mut self, ink: Ink, text: impl Into<String> + AsRef<str>) {
        self.push_emphatic(ink, Modifier::empty(), text);
    }

    /// Appends a piece that stands out.
    pub fn push_emphatic(
        &mut self,
        ink: Ink,
        emphasis: Modifier,
        text: impl Into<String> + AsRef<str>,
    ) {
        if text.as_ref().is_empty() {
            return;
        }
        if let Some(last) = self.pieces.last_mut()
            && last.ink == ink
            && last.emphasis == emphasis
        {
            last.text.push_str(text.as_ref());
            return;
        }
        self.pieces.push(Piece {
            text: text.into(),
            ink,
            emphasis,
        });
    }

    /// Appends all pieces of `other`.
    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        for piece in other.pieces {
            self.push_emphatic(piece.ink, piece.emphasis, piece.text);
        }
        self
    }

    /// Width of the row in cells.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|piece| cells(&piece.text)).sum()
    }

    /// Fills up with blanks to a column.
    #[must_use]
    pub fn pad_to(mut self, column: usize) -> Self {
        let width = self.width();
        if width < column {
            self.push(Ink::Text, " ".repeat(column - width));
        }
        self
    }

    /// Cuts with `…` what does not fit.
    #[must_use]
    pub fn fit(self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let mut row = Self::default();
        let mut left = width;
        for piece in self.pieces {
            let taken = cells(&piece.text);
            if taken < left {
                left -= taken;
                row.pieces.push(piece);
            } else {
                row.push_emphatic(piece.ink, piece.emphasis, cut(&piece.text, left));
                break;
            }
        }
        row
    }

    /// Leaves out the last of the parts that ` · ` divides, as many as do not fit; the first one is cut.
    #[must_use]
    pub fn fit_parts(self, width: usize) -> Self {
        let text = self.text();
        let ends = text.match_indices(" · ").map(|(at, _)| at);
        let fitting = ends.filter(|at| cells(&text[..*at]) <= width).last();
        let Some(mut left) = fitting.filter(|_| cells(&text) > width) else {
            return self.fit(width);
        };
        let mut row = Self::default();
        for piece in self.pieces {
            let taken = piece.text.len().min(left);
            row.push_emphatic(piece.ink, piece.emphasis, &piece.text[..taken]);
            left -= taken;
        }
        row
    }

    /// This row at the left, `right` at the right edge; the left one gives way.
    #[must_use]
    pub fn and_right(self, right: Self, width: usize) -> Self {
        let right = right.fit(width);
        let room = width - right.width();
        self.fit(room.saturating_sub(1)).pad_to(room).join(right)
    }

    /// Every piece struck through and in `ink`.
    #[must_use]
    pub fn struck(mut self, ink: Ink) -> Self {
        for piece in &mut self.pieces {
            piece.ink = ink;
            if !piece.text.trim().is_empty() {
                piece.emphasis |= Modifier::CROSSED_OUT;
            }
        }
        self
    }

    /// Every piece bold.
    #[must_use]
    pub fn bold(mut self) -> Self {
        for piece in &mut self.pieces {
            piece.emphasis |= Modifier::BOLD;
        }
        self
    }

    /// Gives stretches of its pieces, told by their bytes, another ink.
    #[must_use]
    pub fn mark(self, ink: Ink, mut stretches: impl FnMut(&Piece) -> Vec<Range<usize>>) -> Self {
        let mut marked = Self::default();
        for piece in self.pieces {
            let mut at = 0;
            for stretch in stretches(&piece) {
                marked.push_emphatic(piece.ink, piece.emphasis, &piece.text[at..stretch.start]);
                marked.push_emphatic(ink, piece.emphasis, &piece.text[stretch.clone()]);
                at = stretch.end;
            }
            marked.push_emphatic(piece.ink, piece.emphasis, &piece.text[at..]);
        }
        marked
    }

    /// The text alone.
    pub fn text(&self) -> String {
        let texts = self.pieces.iter().map(|piece| piece.text.as_str());
        texts.collect()
    }
}

/// Two columns side by side in `width` cells: the left one in `half` of them, then `between`.
pub fn columns(
    mut left: Vec<Row>,
    mut right: Vec<Row>,
    half: usize,
    between: &str,
    width: usize,
) -> Vec<Row> {
    let count = left.len().max(right.len());
    left.resize(count, Row::default());
    right.resize(count, Row::default());
    let ink = match between.trim() {
        "" => Ink::Text,
        _ => Ink::Border,
    };
    let both = left.into_iter().zip(right);
    both.map(|(left, right)| {
        let left = left.fit(half).pad_to(half);

        left.add(ink, between).join(right).fit(width)
    })
    .collect()
}

/// How many cells a text without control characters takes.
pub fn cells(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.width()
    }
}

/// `text` in at most `width` cells, its end replaced by `…` when it is longer.
pub fn cut(text: &str, width: usize) -> String {
    if cells(text) < width || (cells(text) == width && width > 0) {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        if used + cells(grapheme) >= width {
            break;
        }
        used += cells(grapheme);
        kept.push_str(grapheme);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// `text` in at most `width` cells, its beginning replaced by `…`: the end of a path says more.
pub fn cut_left(text: &str, width: usize) -> String {
    if cells(text) <= width {
        return text.to_owned();
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut used = 0;
    for grapheme in text.graphemes(true).rev() {
        if used + cells(grapheme) >= width {
            break;
        }
        used += cells(grapheme);
        kept.push(grapheme);
    }
    let mut shown = String::from(if width > 0 { "…" } else { "" });
    shown.extend(kept.into_iter().rev());
    shown
}

/// A path and a place in it in at most `width` cells: `src/…/extract/office.rs:12-40`. The file's
/// name and the place stay readable for as long as there is room for them; folders give way first,
/// from the second on.
pub fn cut_path(path: &str, width: usize) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let file = parts[parts.len() - 1];
    let without = |from: usize| format!("{}/…/{}", parts[0], parts[from..].join("/"));
    let whole = std::iter::once(path.to_owned());
    let shortest = (parts.len() > 1).then(|| format!("…/{file}"));
    let mut shorter = whole.chain((2..parts.len()).map(without)).chain(shortest);
    let fitting = shorter.find(|short| cells(short) <= width);
    fitting.unwrap_or_else(|| cut_left(file, width))
}

/// `text` filled up with blanks to `width` cells.
pub fn pad(text: &str, width: usize) -> String {
    let used = cells(text);
    format!("{text}{}", " ".repeat(width.saturating_sub(used)))
}

/// A score or an average with two decimals, or with as many as it takes not to look like a mark
/// that it did not reach: 0.695 is no 0.70.
pub fn measure(value: f64) -> String {
    measure_beside(value, &[KEEP_FROM, SUFFICIENT_FROM])
}

/// The same for other marks.
pub fn measure_beside(value: f64, marks: &[f64]) -> String {
    (2..6)
        .map(|decimals| format!("{value:.decimals$}"))
        .find(|text| {
            text.parse()
                .is_ok_and(|shown: f64| marks.iter().all(|mark| (shown < *mark) == (value < *mark)))
        })
        .unwrap_or_else(|| value.to_string())
}

/// Groups the digits of a number by thousands, such as `1 243`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// `1 call`, `3 calls`.
pub fn grouped_count(number: u64, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{} {noun}", grouped(number))
}

/// `1 item`, `1 243 items`.
pub fn grouped_plural(number: usize, noun: &str) -> String {
    grouped_count(number as u64, noun, &format!("{noun}s"))
}

/// Gives `[12]` the ink of a citation.
pub fn with_citations(row: Row) -> Row {
    static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\[[0-9]+\]").ok());
    let marks = |piece: &Piece| {
        let mark = MARK.as_ref().filter(|_| piece.ink != Ink::Code);
        let found = mark
            .into_iter()
            .flat_map(|mark| mark.find_iter(&piece.text));
        found.map(|found| found.range()).collect()
    };
    row.mark(Ink::Citation, marks)
}

// Breaking rows at a width, for scripts with and without spaces.
//
// The unit is the grapheme, measured in cells, so a wide character is never cut in half. A line
// may break after a space and beside a wide character, but not before closing punctuation.

/// Punctuation that no line begins with.
const CLOSING: &str = "，。！？；：、）」』》】”…";

/// `row` in lines of at most `width` cells: the first begins with `first`, the others with `rest`.
pub fn wrap(row: &Row, first: &Row, rest: &Row, width: usize) -> Vec<Row> {
    let cells = cells_of(row);
    let mut lines = Vec::new();
    let mut left = &cells[..];
    while lines.is_empty() || !left.is_empty() {
        let prefix = if lines.is_empty() { first } else { rest };
        let prefix = Some(prefix).filter(|prefix| prefix.width() * 2 <= width);
        let mut line = prefix.cloned().unwrap_or_default();
        let room = width.saturating_sub(line.width()).max(1);
        let (end, next) = line_end(left, room);
        let is_text = |cell: &Cell<'_>| !cell.is_space;
        let end = left[..end].iter().rposition(is_text).map_or(0, |at| at + 1);
        let has_room = |cell: &Cell<'_>| cell.width <= room;
        // What stands together in a piece goes over as a whole.
        let is_together = |one: &Cell<'_>, next: &Cell<'_>| {
            std::ptr::eq(one.piece, next.piece) && has_room(one) && has_room(next)
        };
        for cells in left[..end].chunk_by(is_together) {
            let (piece, first, last) = (cells[0].piece, &cells[0], &cells[cells.len() - 1]);
            if has_room(first) {
                let text = &piece.text[first.start..last.end];
                line.push_emphatic(piece.ink, piece.emphasis, text);
            }
        }
        lines.push(line);
        left = &left[next..];
    }
    lines
}

/// `row` in lines of at most `width` cells.
pub fn wrap_plain(row: &Row, width: usize) -> Vec<Row> {
    wrap(row, &Row::default(), &Row::default(), width)
}

struct Cell<'a> {
    piece: &'a Piece,
    /// Where it begins and ends in the text of its piece.
    start: usize,
    end: usize,
    width: usize,
    is_space: bool,
}

impl Cell<'_> {
    fn closes(&self) -> bool {
        !self.piece.text.is_ascii() && CLOSING.contains(&self.piece.text[self.start..self.end])
    }

    /// Whether a line may begin with it wherever it stands.
    fn is_wide(&self) -> bool {
        self.width > 1 && !self.closes()
    }
}

fn cells_of(row: &Row) -> Vec<Cell<'_>> {
    let mut all = Vec::new();
    for piece in &row.pieces {
        let graphemes = piece.text.grapheme_indices(true);
        all.extend(graphemes.map(|(start, text)| Cell {
            piece,
            start,
            end: start + text.len(),
            width: cells(text),
            is_space: text.chars().all(char::is_whitespace),
        }));
    }
    all
}

/// How many cells the next line takes, and where the one below it begins. What is wider than a line is
/// left out.
fn line_end(cells: &[Cell<'_>], room: usize) -> (usize, usize) {
    let (mut used, mut last_break, mut is_blank) = (0, 0, true);
    let fitting = cells.iter().enumerate();
    for (at, cell) in fitting.filter(|(_, cell)| cell.width <= room) {
        if used + cell.width > room {
            let end = match at {
                _ if cell.is_space || cell.is_wide() => at,
                _ if cell.closes() && last_break == at => at - 1,
                _ => last_break,
            };
            let end = if end == 0 { at } else { end };
            return (end, end + usize::from(cell.is_space));
        }
        if cell.is_wide() && at > 0 {
            last_break = at;
        }
        used += cell.width;
        is_blank &= cell.is_space;
        if (cell.is_space || cell.width > 1) && !is_blank {
            last_break = at + 1;
        }
    }
    (cells.len(), cells.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_counts_cells() {
        assert_eq!(cut("比较两个", 5), "比较…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("abcd", 0), "");
        assert_eq!(cut_left("docs/guide/index.md", 9), "…index.md");
        for (width, shown) in [
            (29, "docs/guide/long/index.md:1-40"),
            (25, "docs/…/long/index.md:1-40"),
            (24, "docs/…/index.md:1-40"),
            (19, "…/index.md:1-40"),
            (13, "index.md:1-40"),
            (11, "…ex.md:1-40"),
        ] {
            assert_eq!(cut_path("docs/guide/long/index.md:1-40", width), shown);
        }
    }

    #[test]
    fn a_row_gives_way_to_its_right_end() {
        let row =
            Row::new(Ink::Text, "a long left side").and_right(Row::new(Ink::Dim, "right"), 12);
        assert_eq!(row.text(), "a lon… right");
    }

    #[test]
    fn a_row_of_parts_loses_whole_parts() {
        let row = Row::new(Ink::Text, "complex · 2nd").add(Ink::Dim, " round · 2.9 s");
        for (width, shown) in [
            (30, "complex · 2nd round · 2.9 s"),
            (26, "complex · 2nd round"),
            (18, "complex"),
            (6, "compl…"),
        ] {
            assert_eq!(row.clone().fit_parts(width).text(), shown);
        }
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(1_234_567), "1 234 567");
    }

    #[test]
    fn a_measure_never_looks_like_a_mark_that_it_missed() {
        assert_eq!(measure_beside(0.687, &[0.69]), "0.687");
        assert_eq!(measure(0.64), "0.64");
        assert_eq!(measure(0.7), "0.70");
        assert_eq!(measure(0.696), "0.696");
        assert_eq!(measure(0.699_96), "0.69996");
        assert_eq!(measure(0.2961), "0.296");
        assert_eq!(measure(0.704), "0.70");
    }
}

#[cfg(test)]
mod wrap_tests {
    use super::Ink;
    use super::*;

    fn lines(text: &str, width: usize) -> Vec<String> {
        wrap(
            &Row::new(Ink::Text, text),
            &Row::default(),
            &Row::default(),
            width,
        )
        .iter()
        .map(Row::text)
        .collect()
    }

    #[test]
    fn words_stay_whole_and_long_ones_are_cut() {
        assert_eq!(lines("the query engine", 9), ["the query", "engine"]);
        assert_eq!(lines("see abcdefghijk", 5), ["see", "abcde", "fghij", "k"]);
        assert_eq!(lines("", 5), [""]);
    }

    #[test]
    fn wide_characters_are_never_halved() {
        assert_eq!(lines("比较索引与查询", 5), ["比较", "索引", "与查", "询"]);
        assert_eq!(lines("对 query 的比较。", 8), ["对 query", "的比较。"]);
        assert_eq!(lines("比", 1), [""]);
    }

    #[test]
    fn continued_lines_hang() {
        let rows = wrap(
            &Row::new(Ink::Text, "one two three"),
            &Row::new(Ink::Dim, "- "),
            &Row::new(Ink::Dim, "  "),
            9,
        );
        let rows: Vec<_> = rows.iter().map(Row::text).collect();
        assert_eq!(rows, ["- one two", "  three"]);
    }
}
