//! Text that is pasted into a terminal which does not mark it as pasted.
//!
//! Its lines arrive as keys, and each Enter would send one of them as a question. What arrives at once
//! and holds an Enter before more text was not typed: it is put into the prompt as it is.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::model::Msg;

/// A long paste arrives in pieces, this far apart at most. Nobody types so soon after a paste.
const PIECES_APART: Duration = Duration::from_millis(50);

/// Puts pasted text in the place of the keys as which it arrived.
#[derive(Debug, Default)]
pub struct UnmarkedPaste {
    /// Until when more of the paste may arrive.
    until: Option<Instant>,
    /// Whether a line break is inserted before more of it: one at the end of a paste is dropped.
    owes_break: bool,
}

impl UnmarkedPaste {
    /// Joins what arrived at once at the moment `now`, while text is typed into the prompt.
    pub fn join(&mut self, arrived: Vec<Msg>, now: Instant) -> Vec<Msg> {
        let mut joined = Vec::with_capacity(arrived.len());
        let mut keys = Vec::new();
        for msg in arrived {
            match msg {
                Msg::Key(event) if typed_text(event).is_some() => keys.push(event),
                other => {
                    self.flush(&mut keys, &mut joined, now);
                    // A key of another kind is pressed by a person.
                    if matches!(other, Msg::Key(_)) {
                        self.until = None;
                    }
                    joined.push(other);
                }
            }
        }
        self.flush(&mut keys, &mut joined, now);
        joined
    }

    fn flush(&mut self, keys: &mut Vec<KeyEvent>, joined: &mut Vec<Msg>, now: Instant) {
        let goes_on = self.until.is_some_and(|until| now <= until);
        if keys.is_empty() || !(goes_on || holds_two_lines(keys)) {
            joined.extend(keys.drain(..).map(Msg::Key));
            return;
        }
        let text: String = keys.drain(..).filter_map(typed_text).collect();
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let owed = if goes_on && self.owes_break { "\n" } else { "" };
        let text = format!("{owed}{text}");
        let whole = text.trim_end_matches('\n');
        (self.until, self.owes_break) = (Some(now + PIECES_APART), whole.len() < text.len());
        if !whole.is_empty() {
            joined.push(Msg::Paste(whole.to_owned()));
        }
    }
}

fn holds_two_lines(keys: &[KeyEvent]) -> bool {
    let is_break = |key: &KeyEvent| matches!(typed_text(*key), Some('\r' | '\n'));
    let after_break = keys.iter().skip_while(|key| !is_break(key));
    after_break.into_iter().any(|key| !is_break(key))
}

/// The character that a key stands for in pasted text; a line feed arrives as Ctrl+J.
fn typed_text(event: KeyEvent) -> Option<char> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    match (event.code, event.modifiers) {
        (KeyCode::Char('j'), KeyModifiers::CONTROL) => Some('\n'),
        (KeyCode::Char(c), KeyModifiers::NONE | KeyModifiers::SHIFT) => Some(c),
        (KeyCode::Enter, KeyModifiers::NONE) => Some('\r'),
        (KeyCode::Tab, KeyModifiers::NONE) => Some('\t'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<Msg> {
        let key = |c| match c {
            '\r' => KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE),
            '\n' => KeyEvent::new(KeyCode::Char('j'), KeyModifiers::CONTROL),
            c => KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE),
        };
        text.chars().map(|c| Msg::Key(key(c))).collect()
    }

    fn shown(messages: &[Msg]) -> String {
        let one = |msg: &Msg| match msg {
            Msg::Paste(text) => format!("[{text}]"),
            Msg::Key(event) => match event.code {
                KeyCode::Char(c) => c.to_string(),
                _ => "⏎".to_owned(),
            },
            other => format!("{other:?}"),
        };
        messages.iter().map(one).collect()
    }

    #[test]
    fn lines_that_arrive_at_once_are_one_text_and_typed_lines_are_not() {
        let now = Instant::now();
        for (arrived, joined) in [
            ("one\rtwo\rthree\r", "[one\ntwo\nthree]"),
            ("one\r\ntwo\r\n", "[one\ntwo]"),
            ("one\r", "one⏎"),
            ("one", "one"),
            ("\r\r", "⏎⏎"),
        ] {
            let mut pastes = UnmarkedPaste::default();
            assert_eq!(shown(&pastes.join(keys(arrived), now)), joined);
        }
    }

    #[test]
    fn a_paste_goes_on_until_nothing_has_come_for_a_moment() {
        let mut pastes = UnmarkedPaste::default();
        let mut now = Instant::now();
        assert_eq!(shown(&pastes.join(keys("one\rtwo\r"), now)), "[one\ntwo]");
        now += PIECES_APART;
        assert_eq!(shown(&pastes.join(keys("three\r"), now)), "[\nthree]");
        now += PIECES_APART * 2;
        assert_eq!(shown(&pastes.join(keys("four\r"), now)), "four⏎");
    }
}
