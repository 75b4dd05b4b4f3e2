//! Where a replay stands, and the line that says so.

use super::ink::{Ink, Row};
use super::timeline::ShortenedPause;
use crate::text::duration;

/// Cells of the bar between the first event and the last.
const BAR: usize = 16;

/// Where a replay stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Playhead {
    /// Events that have happened, the first included.
    pub at: usize,
    /// Events that were recorded.
    pub of: usize,
    /// Recorded milliseconds since the first.
    pub elapsed: f64,
    /// Recorded milliseconds from the first to the last.
    pub whole: f64,
    /// How fast it plays; 1 is as fast as it was.
    pub speed: f64,
    /// Whether it goes on by itself.
    pub is_playing: bool,
    /// Whether every event is given time to be seen.
    pub is_slow: bool,
    /// The pause that it is in, where that is played for less time than it took.
    pub pause: Option<ShortenedPause>,
    /// What was not recorded.
    pub missing: Option<MissingPart>,
    /// Which run of the conversation it is, and of how many; `None` where there is only the run.
    pub run: Option<(usize, usize)>,
}

/// What of a run was not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingPart {
    /// The pieces of the answer, which comes as a whole.
    Pieces,
    /// The end of the run.
    End,
}

impl Playhead {
    /// The line.
    pub fn row(&self, width: usize) -> Row {
        let position = self.position();
        let with_bar = position.clone().add(Ink::Dim, "  ").join(self.bar());
        let fitting = [with_bar, position.clone()];
        let fitting = fitting.into_iter().find(|row| row.width() <= width);
        fitting.unwrap_or_else(|| position.fit(width))
    }

    /// State, event, time and speed.
    fn position(&self) -> Row {
        let (sign, ink) = match (self.is_playing, self.at == self.of) {
            (true, _) => ("▶", Ink::Running),
            (false, true) => ("■", Ink::Done),
            (false, false) => ("‖", Ink::Info),
        };
        Row::new(ink, format!(" {sign} replay "))
            .add(Ink::Text, format!("{} of {}", self.at, self.of))
            .add(Ink::Dim, " · ")
            .add(Ink::Text, format!("+{}", duration(self.elapsed)))
            .add(Ink::Dim, format!(" of {} · ", duration(self.whole)))
            .add(Ink::Text, format!("{}×", self.speed))
            .add(Ink::Weak, if self.is_slow { " slow" } else { "" })
    }

    fn bar(&self) -> Row {
        let steps = self.of.saturating_sub(1).max(1);
        let done = (self.at.saturating_sub(1) * (BAR - 1) + steps / 2) / steps;
        let done = done.min(BAR - 1);
        Row::new(Ink::Done, "━".repeat(done))
            .add(Ink::Focus, "●")
            .add(Ink::Border, "─".repeat(BAR - 1 - done))
    }

    /// What is to be known besides.
    pub fn remark(&self) -> Option<Row> {
        if let Some(pause) = self.pause {
            let (took, played) = (duration(pause.took), duration(pause.played));
            let words = format!("pause of {took} shortened to {played}");
            return Some(Row::new(Ink::Weak, words));
        }
        match self.missing? {
            MissingPart::End if self.at < self.of => None,
            MissingPart::End => Some(Row::new(Ink::Warning, "no end was recorded")),
            MissingPart::Pieces => Some(Row::new(Ink::Dim, "recorded without the answer's pieces")),
        }
    }
}
