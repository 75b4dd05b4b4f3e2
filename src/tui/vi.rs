//! The keys of vi in the prompt, for who sets them: the commands that a line or two need.

use tui_textarea::{CursorMove, DataCursor, TextArea};

/// The largest count before a command.
const MOST: usize = 999;

/// What the keys of vi mean at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vi {
    /// Whether letters are text.
    is_inserting: bool,
    /// The count that is typed before a command; 0 where none is.
    count: usize,
    /// What still needs a motion or a letter.
    waiting: Waiting,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Nothing,
    /// `d`, `c` or `y` waits for a motion.
    Operator(char),
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
            waiting: Waiting::Nothing,
        }
    }
}

impl Vi {
    /// Whether letters are text.
    pub fn is_inserting(&self) -> bool {
        self.is_inserting
    }

    /// Letters are commands from now on.
    pub fn leave_insert(&mut self, area: &mut TextArea<'_>) {
        *self = Self {
            is_inserting: false,
            ..Self::default()
        };
        if area.cursor().1 > 0 {
            area.move_cursor(CursorMove::Back);
        }
    }

    /// A letter that is a command.
    pub fn command(&mut self, area: &mut TextArea<'_>, letter: char) -> ViStep {
        let is_count = letter.is_ascii_digit() && (letter != '0' || self.count > 0);
        if is_count && self.waiting != Waiting::Replacement {
            let digit = letter.to_digit(10).unwrap_or(0) as usize;
            self.count = (self.count * 10 + digit).min(MOST);
            return ViStep::Done;
        }
        let waiting = std::mem::replace(&mut self.waiting, Waiting::Nothing);
        let times = self.count.max(1);
        let step = match waiting {
            Waiting::Operator(operator) => {
                self.operate(area, operator, letter, times);
                ViStep::Done
            }
            Waiting::G if letter == 'g' => {
                area.move_cursor(CursorMove::Top);
                area.move_cursor(CursorMove::Head);
                ViStep::Done
            }
            Waiting::G => ViStep::Done,
            Waiting::Replacement => {
                if !is_at_end(area) {
                    area.delete_next_char();
                    area.insert_char(letter);
                    area.move_cursor(CursorMove::Back);
                }
                ViStep::Done
            }
            Waiting::Nothing => self.begin(area, letter, times),
        };
        if !matches!(self.waiting, Waiting::Operator(_)) {
            self.count = 0;
        }
        if !self.is_inserting && is_at_end(area) && area.cursor().1 > 0 {
            area.move_cursor(CursorMove::Back);
        }
        step
    }

    /// A letter that begins a command.
    fn begin(&mut self, area: &mut TextArea<'_>, letter: char, times: usize) -> ViStep {
        match letter {
            'k' if area.cursor().0 == 0 => return ViStep::Previous,
            'j' if area.cursor().0 + 1 == area.lines().len() => return ViStep::Next,
            'd' | 'c' | 'y' => self.waiting = Waiting::Operator(letter),
            'g' => self.waiting = Waiting::G,
            'r' => self.waiting = Waiting::Replacement,
            'i' => self.is_inserting = true,
            'I' => self.insert_after(area, CursorMove::Head),
            'A' => self.insert_after(area, CursorMove::End),
            'a' => {
                if !is_at_end(area) {
                    area.move_cursor(CursorMove::Forward);
                }
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
            'Y' => self.operate(area, 'y', 'y', 1),
            'p' => {
                if !is_at_end(area) {
                    area.move_cursor(CursorMove::Forward);
                }
                repeat(times, || area.paste());
            }
            'P' => repeat(times, || area.paste()),
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

    /// Deletes, changes or copies what a motion passes; the letter of the operator again means the line.
    fn operate(&mut self, area: &mut TextArea<'_>, operator: char, motion: char, times: usize) {
        self.is_inserting = operator == 'c';
        let before = area.cursor();
        if motion == operator {
            area.move_cursor(CursorMove::Head);
            area.start_selection();
            area.move_cursor(CursorMove::End);
        } else {
            area.start_selection();
            // A change leaves the space behind a word.
            let motion = if (operator, motion) == ('c', 'w') {
                'e'
            } else {
                motion
            };
            if !move_by(area, motion, times) {
                area.cancel_selection();
                return;
            }
            if motion == 'e' && !is_at_end(area) {
                area.move_cursor(CursorMove::Forward);
            }
            // The last word of a line ends with the line.
            if motion == 'w' && area.cursor().0 > before.0 {
                jump(area, before);
                area.move_cursor(CursorMove::End);
            }
        }
        if operator == 'y' {
            area.copy();
            jump(area, before);
        } else {
            area.cut();
        }
        area.cancel_selection();
    }
}

/// Moves the caret; `false` where the letter is no motion.
fn move_by(area: &mut TextArea<'_>, letter: char, times: usize) -> bool {
    let movement = match letter {
        'h' => CursorMove::Back,
        'l' | ' ' => CursorMove::Forward,
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
        let is_within = match letter {
            'h' => area.cursor().1 > 0,
            'l' | ' ' => !is_at_end(area),
            _ => true,
        };
        if is_within {
            area.move_cursor(movement);
        }
    }
    true
}

fn is_at_end(area: &TextArea<'_>) -> bool {
    let (row, column) = (area.cursor().0, area.cursor().1);
    let line = area.lines().get(row).map_or("", String::as_str);
    column >= line.chars().count()
}

/// Moves the caret to a line and a character of it.
pub fn jump(area: &mut TextArea<'_>, to: DataCursor) {
    if let (Ok(row), Ok(column)) = (to.0.try_into(), to.1.try_into()) {
        area.move_cursor(CursorMove::Jump(row, column));
    }
}

fn repeat(times: usize, mut act: impl FnMut() -> bool) {
    for _ in 0..times {
        act();
    }
}
