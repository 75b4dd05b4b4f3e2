//! The keys of vi in the prompt, for who sets them: the commands that a line or two need.

use tui_textarea::{CursorMove, DataCursor, TextArea};

use super::caret::{grapheme_after, grapheme_before, jump, move_within_line};

/// The largest count before a command.
const MAX_COUNT: usize = 999;

/// What begins a command while the prompt is empty: other letters mean there what they mean without vi.
const ON_EMPTY_PROMPT: &str = "iaIAoOpPukj/";

/// What the keys of vi mean at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vi {
    /// Whether letters are text.
    is_inserting: bool,
    /// The count that is typed before a command; 0 where none is.
    count: usize,
    /// What still needs a motion or a letter.
    pending: PendingInput,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PendingInput {
    Nothing,
    /// `d`, `c` or `y` waits for a motion; the count stood before it.
    Operator {
        letter: char,
        count: usize,
    },
    /// `g` waits for another.
    G,
    /// `r` waits for a letter.
    Replacement,
}

/// What a key of vi is left to do outside the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViStep {
    /// Nothing more.
    Done,
    /// The question before.
    Previous,
    /// The question after.
    Next,
}

impl Default for Vi {
    /// Letters are text at first, as at a shell.
    fn default() -> Self {
        Self {
            is_inserting: true,
            count: 0,
            pending: PendingInput::Nothing,
        }
    }
}

impl Vi {
    /// Whether letters are text.
    pub fn is_inserting(&self) -> bool {
        self.is_inserting
    }

    /// Whether the next letter is text although letters are commands: `r` puts it in the place of another.
    pub fn takes_text(&self) -> bool {
        self.is_inserting || self.pending == PendingInput::Replacement
    }

    /// Whether this letter begins a command while the prompt is empty.
    pub fn begins_on_empty_prompt(letter: char) -> bool {
        ON_EMPTY_PROMPT.contains(letter)
    }

    /// Letters are commands from now on.
    pub fn leave_insert(&mut self, area: &mut TextArea<'_>) {
        *self = Self {
            is_inserting: false,
            ..Self::default()
        };
        step_back(area);
    }

    /// Forgets a command that is not complete; returns whether there was one.
    pub fn forget_pending(&mut self) -> bool {
        let had_any = self.count > 0 || self.pending != PendingInput::Nothing;
        (self.count, self.pending) = (0, PendingInput::Nothing);
        had_any
    }

    /// A letter that is a command.
    pub fn command(&mut self, area: &mut TextArea<'_>, letter: char) -> ViStep {
        let is_count = letter.is_ascii_digit() && (letter != '0' || self.count > 0);
        if is_count && self.pending != PendingInput::Replacement {
            let digit = letter.to_digit(10).unwrap_or(0) as usize;
            self.count = (self.count * 10 + digit).min(MAX_COUNT);
            return ViStep::Done;
        }
        let times = std::mem::take(&mut self.count).max(1);
        let step = match std::mem::replace(&mut self.pending, PendingInput::Nothing) {
            PendingInput::Operator {
                letter: operator,
                count,
            } => {
                let times = (count * times).min(MAX_COUNT);
                self.operate(area, operator, letter, times);
                ViStep::Done
            }
            PendingInput::G => {
                if letter == 'g' {
                    area.move_cursor(CursorMove::Top);
                    area.move_cursor(CursorMove::Head);
                }
                ViStep::Done
            }
            PendingInput::Replacement => {
                area.start_selection();
                if step_forward(area) {
                    area.insert_char(letter);
                    step_back(area);
                }
                area.cancel_selection();
                ViStep::Done
            }
            PendingInput::Nothing => self.begin(area, letter, times),
        };
        self.stay_on_text(area);
        step
    }

    /// Keeps the caret on the last character of a line, where letters are commands.
    pub fn stay_on_text(&self, area: &mut TextArea<'_>) {
        if !self.is_inserting && is_at_end(area) {
            step_back(area);
        }
    }

    /// A letter that begins a command.
    fn begin(&mut self, area: &mut TextArea<'_>, letter: char, times: usize) -> ViStep {
        match letter {
            'k' if area.cursor().0 == 0 => return ViStep::Previous,
            'j' if area.cursor().0 + 1 == area.lines().len() => return ViStep::Next,
            'd' | 'c' | 'y' => {
                self.pending = PendingInput::Operator {
                    letter,
                    count: times,
                };
            }
            'g' => self.pending = PendingInput::G,
            'r' => self.pending = PendingInput::Replacement,
            'i' => self.is_inserting = true,
            'I' => self.insert_after(area, CursorMove::Head),
            'A' => self.insert_after(area, CursorMove::End),
            'a' => {
                step_forward(area);
                self.is_inserting = true;
            }
            'o' => {
                self.insert_after(area, CursorMove::End);
                area.insert_newline();
            }
            'O' => {
                self.insert_after(area, CursorMove::Head);
                area.insert_newline();
                area.move_cursor(CursorMove::Up);
            }
            'x' => self.operate(area, 'd', 'l', times),
            'X' => self.operate(area, 'd', 'h', times),
            's' => self.operate(area, 'c', 'l', times),
            'S' => self.operate(area, 'c', 'c', times),
            'D' => self.operate(area, 'd', '$', 1),
            'C' => self.operate(area, 'c', '$', 1),
            'Y' => self.operate(area, 'y', 'y', times),
            'p' | 'P' => paste(area, letter == 'P', times),
            'u' => repeat(times, || area.undo()),
            // A command at the prompt begins with it.
            '/' => {
                self.is_inserting = true;
                area.insert_char('/');
            }
            _ => {
                move_by(area, letter, times);
            }
        }
        ViStep::Done
    }

    fn insert_after(&mut self, area: &mut TextArea<'_>, movement: CursorMove) {
        area.move_cursor(movement);
        self.is_inserting = true;
    }

    /// Deletes, changes or copies what a motion passes; what is no motion does nothing.
    fn operate(&mut self, area: &mut TextArea<'_>, operator: char, motion: char, times: usize) {
        let before = area.cursor();
        if let Some((first, last)) = lines_passed(area, operator, motion, times) {
            take_lines(area, operator, first, last);
        } else if select_passed(area, operator, motion, times) {
            if operator == 'y' {
                area.copy();
            } else {
                area.cut();
            }
        } else {
            area.cancel_selection();
            return;
        }
        area.cancel_selection();
        if operator == 'y' {
            jump(area, before);
        }
        self.is_inserting = operator == 'c';
    }
}

/// The first and the last line that a motion over whole lines passes: the letter of the operator again, or up,
/// down, or to the end. `None` for other motions, and where there is no such line.
fn lines_passed(
    area: &TextArea<'_>,
    operator: char,
    motion: char,
    times: usize,
) -> Option<(usize, usize)> {
    let (row, end) = (area.cursor().0, area.lines().len() - 1);
    match motion {
        _ if motion == operator => Some((row, (row + times - 1).min(end))),
        'j' if row < end => Some((row, (row + times).min(end))),
        'k' if row > 0 => Some((row.saturating_sub(times), row)),
        'G' => Some((row, end)),
        _ => None,
    }
}

/// Deletes, changes or copies whole lines. What is deleted takes its line break along.
fn take_lines(area: &mut TextArea<'_>, operator: char, first: usize, last: usize) {
    let end = area.lines().len() - 1;
    let mut taken = area.lines()[first..=last].join("\n");
    // A text of one line is a line at a shell, without an end.
    if end > 0 {
        taken.push('\n');
    }
    let is_deleted = operator == 'd';
    if operator != 'y' {
        // The last line takes the break before it, any other one the break behind it.
        let is_below_all = is_deleted && last == end && first > 0;
        jump(area, DataCursor(first - usize::from(is_below_all), 0));
        if is_below_all {
            area.move_cursor(CursorMove::End);
        }
        area.start_selection();
        if is_deleted && last < end {
            jump(area, DataCursor(last + 1, 0));
        } else {
            jump(area, DataCursor(last, 0));
            area.move_cursor(CursorMove::End);
        }
        area.cut();
        area.cancel_selection();
    }
    if is_deleted {
        area.move_cursor(CursorMove::Head);
    }
    area.set_yank_text(taken);
}

/// Selects what a motion within the text passes; `false` where the letter is no such motion.
fn select_passed(area: &mut TextArea<'_>, operator: char, motion: char, times: usize) -> bool {
    // Over whole lines they pass none here.
    if matches!(motion, 'j' | 'k') {
        return false;
    }
    let before = area.cursor();
    area.start_selection();
    // A change leaves the space behind a word.
    let motion = if (operator, motion) == ('c', 'w') {
        'e'
    } else {
        motion
    };
    if !move_by(area, motion, times) {
        return false;
    }
    if motion == 'e' {
        step_forward(area);
    }
    // The last word of a line ends with the line.
    if motion == 'w' && area.cursor().0 > before.0 {
        jump(area, before);
        area.move_cursor(CursorMove::End);
    }
    true
}

/// Puts in what was deleted or copied last: whole lines as lines of their own.
fn paste(area: &mut TextArea<'_>, is_before: bool, times: usize) {
    let text = area.yank_text();
    let Some(lines) = text.strip_suffix('\n') else {
        if !is_before {
            step_forward(area);
        }
        repeat(times, || area.paste());
        return;
    };
    let lines = vec![lines; times].join("\n");
    if is_before {
        area.move_cursor(CursorMove::Head);
        let caret = area.cursor();
        area.insert_str(format!("{lines}\n"));
        jump(area, caret);
    } else {
        let row = area.cursor().0;
        area.move_cursor(CursorMove::End);
        area.insert_str(format!("\n{lines}"));
        jump(area, DataCursor(row + 1, 0));
    }
}

/// Moves the caret; `false` where the letter is no motion.
fn move_by(area: &mut TextArea<'_>, letter: char, times: usize) -> bool {
    let movement = match letter {
        'h' => {
            repeat(times, || step_back(area));
            return true;
        }
        'l' | ' ' => {
            repeat(times, || step_forward(area));
            return true;
        }
        'j' => CursorMove::Down,
        'k' => CursorMove::Up,
        'w' => CursorMove::WordForward,
        'b' => CursorMove::WordBack,
        'e' => CursorMove::WordEnd,
        '0' | '^' => CursorMove::Head,
        '$' => CursorMove::End,
        'G' => CursorMove::Bottom,
        _ => return false,
    };
    for _ in 0..times {
        area.move_cursor(movement);
    }
    true
}

/// Moves the caret behind the next grapheme of its line; returns whether there is one.
fn step_forward(area: &mut TextArea<'_>) -> bool {
    let length = grapheme_after(area).chars().count();
    move_within_line(area, length.cast_signed());
    length > 0
}

/// Moves the caret before the last grapheme of its line; returns whether there is one.
fn step_back(area: &mut TextArea<'_>) -> bool {
    let length = grapheme_before(area).chars().count();
    move_within_line(area, -length.cast_signed());
    length > 0
}

fn is_at_end(area: &TextArea<'_>) -> bool {
    grapheme_after(area).is_empty()
}

fn repeat(times: usize, mut act: impl FnMut() -> bool) {
    for _ in 0..times {
        act();
    }
}
