//! What the terminal's background is: by `COLORFGBG`, or by asking (OSC 11).
//!
//! The answer comes among the keys, as Alt+] and characters, at once or late, or not at all. It is
//! taken out of them here, so that nothing of it reaches the prompt; and what looked like its
//! beginning and was not is given back.

use std::time::{Duration, Instant};

use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What the screen waits before its first picture; a terminal at hand answers in a few milliseconds.
pub const WAIT: Duration = Duration::from_millis(15);
/// Later than that no answer is expected.
const LATEST: Duration = Duration::from_secs(10);
/// `11;rgb:ffff/ffff/ffff` and the like.
const LONGEST: usize = 32;
/// How an answer begins, behind its introducer.
const BEGINNING: &str = "11;rgb";
/// How one begins that tells no colour we know.
const ANY_BEGINNING: &str = "11;";
/// An answer comes at once, faster than a person types.
const BURST: Duration = Duration::from_secs(1);

/// Whether the background is dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// Light text is read on it.
    Dark,
    /// Dark text is read on it.
    Light,
}

impl Background {
    /// Reads `COLORFGBG`, in which some terminals tell their colours: the last number is one of the
    /// sixteen.
    pub fn of_colorfgbg(value: &str) -> Option<Self> {
        let number: u8 = value.rsplit(';').next()?.parse().ok()?;
        Some(match number {
            7 | 9..=15 => Self::Light,
            _ => Self::Dark,
        })
    }

    /// Parses a terminal's answer such as `11;rgb:1e1e/1e1e/2e2e`.
    fn of_answer(answer: &str) -> Option<Self> {
        let values = answer.strip_prefix(BEGINNING)?.trim_start_matches('a');
        let mut values = values.strip_prefix(':')?.split('/').map(|value| {
            // One to four digits say how bright of how much.
            let most = 16_u32.checked_pow(value.len() as u32)? - 1;
            let value = u32::from_str_radix(value, 16).ok()?;
            u8::try_from(value * 255 / most.max(1)).ok()
        });
        let mut next = || values.next().flatten();
        let rgb = (next()?, next()?, next()?);
        Some(if is_light(rgb) {
            Self::Light
        } else {
            Self::Dark
        })
    }
}

/// Takes the answer out of what the terminal sends.
#[derive(Debug, Default)]
pub struct BackgroundReply {
    /// Until when one is expected.
    until: Option<Instant>,
    /// What may be one, as far as it has come, and since when.
    begun: Option<(Instant, Vec<KeyEvent>)>,
}

impl BackgroundReply {
    /// One is expected from now on.
    pub fn expect(&mut self, now: Instant) {
        self.until = Some(now + LATEST);
    }

    /// Whether it has not come yet.
    pub fn are_expected(&self) -> bool {
        self.until.is_some()
    }

    /// What is no part of an answer, and the background once the answer is whole.
    pub fn take(&mut self, input: Input, now: Instant) -> (Vec<Input>, Option<Background>) {
        let expects = self.until.is_some_and(|until| now < until);
        let Input::Key(key) = input else {
            return (vec![input], None);
        };
        if !expects && self.begun.is_none() || key.kind == KeyEventKind::Release {
            return (vec![input], None);
        }
        let Some((since, mut begun)) = self.begun.take() else {
            if key.code == KeyCode::Char(']') && key.modifiers == KeyModifiers::ALT {
                self.begun = Some((now, vec![key]));
                return (Vec::new(), None);
            }
            return (vec![input], None);
        };
        let text: String = begun[1..].iter().filter_map(character).collect();
        let is_end = key.code == KeyCode::Char('g') && key.modifiers == KeyModifiers::CONTROL
            || key.code == KeyCode::Char('\\') && key.modifiers == KeyModifiers::ALT;
        if is_end && text.starts_with(ANY_BEGINNING) {
            self.until = None;
            return (Vec::new(), Background::of_answer(&text));
        }
        begun.push(key);
        let longer: String = begun[1..].iter().filter_map(character).collect();
        let is_burst = longer.starts_with(ANY_BEGINNING) && now < since + BURST;
        let is_of_colour = |c: char| c.is_ascii_hexdigit() || ":/".contains(c);
        let behind = longer.strip_prefix(BEGINNING);
        let is_answer = BEGINNING.starts_with(&longer)
            || behind.is_some_and(|rest| rest.chars().all(is_of_colour));
        let is_typed = longer.len() == begun.len() - 1 && longer.len() <= LONGEST;
        let goes_on = is_typed && (is_burst || is_answer);
        if goes_on {
            self.begun = Some((since, begun));
            return (Vec::new(), None);
        }
        (begun.into_iter().map(Input::Key).collect(), None)
    }
}

/// A character without Ctrl or Alt.
fn character(key: &KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(c) if (key.modifiers - KeyModifiers::SHIFT).is_empty() => Some(c),
        _ => None,
    }
}

/// Whether a ground is light: black is read better on it than white.
pub fn is_light(ground: (u8, u8, u8)) -> bool {
    ratio(ground, (0, 0, 0)) > ratio(ground, (255, 255, 255))
}

/// Contrast ratio of two colours: 1 for the same, 21 for black on white.
pub fn ratio(one: (u8, u8, u8), other: (u8, u8, u8)) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn luminance(colour: (u8, u8, u8)) -> f64 {
    let (r, g, b) = colour;
    let linear = |value: u8| {
        let value = f64::from(value) / 255.0;
        if value <= 0.040_45 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<Input> {
        let key = |c| match c {
            '\u{7}' => KeyEvent::new(KeyCode::Char('g'), KeyModifiers::CONTROL),
            '⌥' => KeyEvent::new(KeyCode::Char(']'), KeyModifiers::ALT),
            '\\' => KeyEvent::new(KeyCode::Char('\\'), KeyModifiers::ALT),
            c => KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE),
        };
        text.chars().map(key).map(Input::Key).collect()
    }

    /// What is left of keys that come with such a pause after each.
    fn taken(
        answers: &mut BackgroundReply,
        text: &str,
        pause: Duration,
    ) -> (Vec<Input>, Option<Background>) {
        let mut now = Instant::now();
        let (mut rest, mut found) = (Vec::new(), None);
        for input in keys(text) {
            let (more, background) = answers.take(input, now);
            now += pause;
            rest.extend(more);
            found = found.or(background);
        }
        (rest, found)
    }

    fn expecting() -> BackgroundReply {
        let mut answers = BackgroundReply::default();
        answers.expect(Instant::now());
        answers
    }

    #[test]
    fn an_answer_is_taken_out_of_what_is_typed() {
        for (sent, background) in [
            ("ab⌥11;rgb:ffff/ffff/ffff\u{7}c", Background::Light),
            ("ab⌥11;rgb:1e1e/1e1e/2e2e\\c", Background::Dark),
            ("ab⌥11;rgba:ff/ff/f0/ff\\c", Background::Light),
            ("ab⌥11;rgb:f/f/f\u{7}c", Background::Light),
        ] {
            // At once, or over a connection that hands it over in pieces.
            for pause in [Duration::ZERO, TYPED] {
                let (rest, found) = taken(&mut expecting(), sent, pause);
                assert_eq!((rest, found), (keys("abc"), Some(background)), "{sent}");
            }
        }
        // A broken one tells nothing, and is not typed either.
        for sent in ["⌥11;rgb:zz\u{7}x", "⌥11;rgb:\u{7}x", "⌥11;a white one\\x"] {
            let (rest, found) = taken(&mut expecting(), sent, Duration::ZERO);
            assert_eq!((rest, found), (keys("x"), None), "{sent}");
        }
    }

    /// Slower than any answer.
    const TYPED: Duration = Duration::from_millis(400);

    #[test]
    fn what_is_typed_is_never_lost() {
        for typed in [
            "hello",
            "⌥hello",
            "⌥12",
            "⌥11;x",
            "⌥⌥",
            "⌥11;rgb:0123456789abcdef0123456789abcdef",
        ] {
            let (rest, found) = taken(&mut expecting(), &format!("{typed}!"), TYPED);
            assert_eq!((rest, found), (keys(&format!("{typed}!")), None), "{typed}");
        }
        let mut idle = BackgroundReply::default();
        assert_eq!(taken(&mut idle, "⌥1", TYPED).0, keys("⌥1"));
    }

    #[test]
    fn the_variable_tells_it_too() {
        for (value, background) in [
            ("0;15", Some(Background::Light)),
            ("15;default;0", Some(Background::Dark)),
            ("0;7", Some(Background::Light)),
            ("7;8", Some(Background::Dark)),
            ("", None),
            ("15;default", None),
        ] {
            assert_eq!(Background::of_colorfgbg(value), background, "{value}");
        }
    }
}
