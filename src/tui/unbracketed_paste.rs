//! Text that is pasted into a terminal which does not mark it as pasted.
//!
//! Its lines arrive as keys, and each Enter would send one of them as a question. What arrives at once
//! and holds an Enter before more text was not typed: it is put into the prompt as it is. A terminal that
//! marks pastes is left alone, for there keys that arrive at once were typed ahead.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::model::Msg;

/// A long paste arrives in pieces, this far apart at most. Nobody types so soon after a paste.
const PIECES_APART: Duration = Duration::from_millis(50);

/// Turns keys that arrive in a burst with line breaks into one paste.
#[derive(Debug, Default)]
pub struct UnbracketedPaste {
    /// Whether the terminal marks pastes.
    are_bracketed: bool,
    /// Until when more of the paste may arrive.
    until: Option<Instant>,
    /// Line breaks at the end of the paste: they are inserted before more of it, else dropped.
    owed_breaks: usize,
    /// An Enter that came alone after the paste: it is a line break before more of it, else it was pressed.
    enter: Option<KeyEvent>,
}

impl UnbracketedPaste {
    /// Joins nothing where the terminal is known to mark pastes.
    pub fn new(are_bracketed: bool) -> Self {
        Self {
            are_bracketed,
            ..Self::default()
        }
    }

    /// When an Enter that is held was pressed, if no more of the paste arrives.
    pub fn held_until(&self) -> Option<Instant> {
        self.until.filter(|_| self.enter.is_some())
    }

    /// Joins what arrived at once at the moment `now`, while text is typed into the prompt.
    pub fn join(&mut self, arrived: Vec<Msg>, now: Instant) -> Vec<Msg> {
        let mut joined = Vec::with_capacity(arrived.len());
        if self.until.is_some_and(|until| now > until) {
            self.end(&mut joined);
        }
        let mut keys = Vec::new();
        for msg in arrived {
            match msg {
                // Windows tells of each key twice.
                Msg::Key(event) if event.kind == KeyEventKind::Release => {}
                Msg::Key(event) if !self.are_bracketed && typed_text(event).is_some() => {
                    keys.push(event);
                }
                other => {
                    self.flush(&mut keys, &mut joined, now);
                    self.are_bracketed |= matches!(other, Msg::Paste(_));
                    // A key of another kind is pressed by a person.
                    if matches!(other, Msg::Key(_) | Msg::Paste(_)) {
                        self.end(&mut joined);
                    }
                    joined.push(other);
                }
            }
        }
        self.flush(&mut keys, &mut joined, now);
        joined
    }

    /// Takes what arrived while no text is typed into the prompt: it is left as it is.
    pub fn leave(&mut self, arrived: Vec<Msg>) -> Vec<Msg> {
        self.are_bracketed |= arrived.iter().any(|msg| matches!(msg, Msg::Paste(_)));
        *self = Self::new(self.are_bracketed);
        arrived
    }

    /// The paste is over.
    fn end(&mut self, joined: &mut Vec<Msg>) {
        joined.extend(self.enter.map(Msg::Key));
        *self = Self::new(self.are_bracketed);
    }

    fn flush(&mut self, keys: &mut Vec<KeyEvent>, joined: &mut Vec<Msg>, now: Instant) {
        let goes_on = self.until.is_some();
        if keys.is_empty() || !(goes_on || holds_two_lines(keys)) {
            joined.extend(keys.drain(..).map(Msg::Key));
            return;
        }
        self.until = Some(now + PIECES_APART);
        if let [only] = keys[..]
            && typed_text(only) == Some('\r')
            && self.enter.is_none()
        {
            self.enter = keys.pop();
            return;
        }
        let enters = usize::from(self.enter.take().is_some());
        let owed = "\n".repeat(self.owed_breaks + enters);
        let text: String = keys.drain(..).filter_map(typed_text).collect();
        let text = owed + &text.replace("\r\n", "\n").replace('\r', "\n");
        let whole = text.trim_end_matches('\n');
        self.owed_breaks = text.len() - whole.len();
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
            let mut pastes = UnbracketedPaste::default();
            assert_eq!(shown(&pastes.join(keys(arrived), now)), joined);
        }
    }

    #[test]
    fn where_pastes_are_marked_nothing_is_joined() {
        let now = Instant::now();
        let mut pastes = UnbracketedPaste::new(true);
        assert_eq!(shown(&pastes.join(keys("one\rtwo"), now)), "one⏎two");
        // The first paste with marks tells that they are made.
        let marked = || vec![Msg::Paste("a".to_owned())];
        let mut pastes = UnbracketedPaste::default();
        assert_eq!(shown(&pastes.join(keys("one\rtwo"), now)), "[one\ntwo]");
        assert_eq!(shown(&pastes.join(marked(), now)), "[a]");
        assert_eq!(shown(&pastes.join(keys("one\rtwo"), now)), "one⏎two");
        let mut pastes = UnbracketedPaste::default();
        pastes.leave(marked());
        assert_eq!(shown(&pastes.join(keys("one\rtwo"), now)), "one⏎two");
    }

    #[test]
    fn a_release_ends_no_paste() {
        let both = keys("one\rtwo").into_iter().flat_map(|msg| {
            let Msg::Key(pressed) = msg else {
                unreachable!()
            };
            let mut released = pressed;
            released.kind = KeyEventKind::Release;
            [Msg::Key(pressed), Msg::Key(released)]
        });
        let mut pastes = UnbracketedPaste::default();
        let joined = pastes.join(both.collect(), Instant::now());
        assert_eq!(shown(&joined), "[one\ntwo]");
    }

    #[test]
    fn an_enter_alone_after_a_paste_is_pressed_unless_more_follows() {
        let now = Instant::now();
        let begun = || {
            let mut pastes = UnbracketedPaste::default();
            assert_eq!(shown(&pastes.join(keys("one\rtwo"), now)), "[one\ntwo]");
            assert_eq!(pastes.held_until(), None);
            assert_eq!(shown(&pastes.join(keys("\r"), now)), "");
            pastes
        };
        let mut pastes = begun();
        let until = pastes.held_until().unwrap();
        let later = until + Duration::from_millis(1);
        assert_eq!(shown(&pastes.join(Vec::new(), later)), "⏎");
        assert_eq!(pastes.held_until(), None);
        let mut pastes = begun();
        assert_eq!(shown(&pastes.join(keys("three"), until)), "[\nthree]");
        let mut pastes = begun();
        let left = Msg::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE));
        assert_eq!(shown(&pastes.join(vec![left], until)), "⏎⏎");
    }

    #[test]
    fn a_paste_goes_on_until_nothing_has_come_for_a_moment() {
        let mut pastes = UnbracketedPaste::default();
        let mut now = Instant::now();
        assert_eq!(shown(&pastes.join(keys("one\rtwo\r"), now)), "[one\ntwo]");
        now += PIECES_APART;
        assert_eq!(shown(&pastes.join(keys("three\r"), now)), "[\nthree]");
        assert_eq!(shown(&pastes.join(keys("\r\rend"), now)), "[\n\n\nend]");
        now += PIECES_APART * 2;
        assert_eq!(shown(&pastes.join(keys("four\r"), now)), "four⏎");
    }
}
