//! Where a text that comes in pieces is code: between backticks.

/// How many backticks open a block; fewer open code within a line.
const FENCE: usize = 3;

/// What is open after the characters so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeState {
    /// Backticks that opened the code; none outside of it.
    opened_by: usize,
    /// Backticks in a row at the end.
    ticks: usize,
}

impl CodeState {
    /// Takes the next character.
    pub fn push(&mut self, c: char) {
        if c == '`' {
            self.ticks += 1;
            return;
        }
        self.opened_by = self.after_ticks();
        self.ticks = 0;
        if c == '\n' && self.opened_by < FENCE {
            self.opened_by = 0;
        }
    }

    /// Whether what comes next is code.
    pub fn is_code(&self) -> bool {
        self.after_ticks() > 0
    }

    /// Whether what comes next is in a block of code.
    pub fn is_block(&self) -> bool {
        self.after_ticks() >= FENCE
    }

    fn after_ticks(&self) -> usize {
        match (self.opened_by, self.ticks) {
            (opened_by, 0) => opened_by,
            (0, ticks) => ticks,
            (opened_by, ticks) if ticks == opened_by => 0,
            (opened_by, ticks) if opened_by >= FENCE && ticks > opened_by => 0,
            (opened_by, _) => opened_by,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_backticks_is_code() {
        for (text, is_code) in [
            ("", false),
            ("a `b", true),
            ("a `b`", false),
            ("a `b\nc", false),
            ("``a ` b", true),
            ("```sh\na `b` c\n", true),
            ("```sh\na\n```", false),
            ("```sh\na\n```\nb", false),
        ] {
            let mut state = CodeState::default();
            text.chars().for_each(|c| state.push(c));
            assert_eq!(state.is_code(), is_code, "{text}");
        }
    }
}
