//! When each event of a recorded run is played.
//!
//! Recorded time is what the events' stamps say. Playing time is recorded time without the long
//! pauses and, where it is to be slow, with a little time for each event: a run without a model is
//! over in thirty milliseconds.

use std::sync::Arc;

use crate::protocol::{Event, EventBody, Timestamp};
use crate::text::duration;

use super::ink::{Ink, Row};

/// No pause is played for longer, milliseconds.
pub const LONGEST_PAUSE: f64 = 2_000.0;
/// How long an event is to be seen at least when it is slow, milliseconds.
pub const SHORTEST_PAUSE: f64 = 250.0;
/// The same for a piece of the answer: there are many.
const SHORTEST_PIECE: f64 = 30.0;

/// The moments of a run's events.
#[derive(Debug, Clone)]
pub struct Timeline {
    moments: Vec<TimelineEvent>,
}

#[derive(Debug, Clone, Copy)]
struct TimelineEvent {
    /// Milliseconds of playing from the first event to this one.
    played: f64,
    /// The latest stamp so far.
    stamp: Timestamp,
}

/// A pause that is played for less time than it took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShortenedPause {
    /// How long it took, milliseconds.
    pub took: f64,
    /// How long it is played, milliseconds.
    pub played: f64,
}

impl Timeline {
    /// The moments of these events.
    pub fn from_events(events: &[Arc<Event>], is_slow: bool) -> Self {
        let mut moments: Vec<TimelineEvent> = Vec::with_capacity(events.len());
        for event in events {
            let moment = match moments.last() {
                None => {
                    let (played, stamp) = (0.0, event.ts);
                    TimelineEvent { played, stamp }
                }
                Some(last) => {
                    // A clock that was set back in between makes no pause.
                    let stamp = event.ts.max(last.stamp);
                    let took = between(last.stamp, stamp).min(LONGEST_PAUSE);
                    let shortest = match event.body {
                        _ if !is_slow => 0.0,
                        EventBody::AnswerDelta { .. } => SHORTEST_PIECE,
                        _ => SHORTEST_PAUSE,
                    };
                    let played = last.played + took.max(shortest);
                    TimelineEvent { played, stamp }
                }
            };
            moments.push(moment);
        }
        Self { moments }
    }

    /// Recorded milliseconds from the first event to the last.
    pub fn recorded(&self) -> f64 {
        let ends = self.moments.first().zip(self.moments.last());
        ends.map_or(0.0, |(first, last)| between(first.stamp, last.stamp))
    }

    /// The moment of playing at which so many events have happened.
    pub fn played_at(&self, events: usize) -> f64 {
        self.last_of(events).map_or(0.0, |moment| moment.played)
    }

    /// How many events have happened at this moment of playing; the first always has.
    pub fn events_at(&self, played: f64) -> usize {
        let happened = |moment: &TimelineEvent| moment.played <= played;
        self.moments.partition_point(happened).max(1)
    }

    /// The recorded moment at which it is after so many events, at this moment of playing.
    pub fn stamp_at(&self, events: usize, played: f64) -> Timestamp {
        let Some(last) = self.last_of(events) else {
            return Timestamp(0);
        };
        let Some(next) = self.moments.get(events) else {
            return last.stamp;
        };
        let pause = next.played - last.played;
        let part = (played - last.played) / pause;
        let share = if pause > 0.0 { part } else { 0.0 }.clamp(0.0, 1.0);
        let since = between(last.stamp, next.stamp) * share;
        Timestamp(last.stamp.0.saturating_add(since as u64))
    }

    /// Recorded milliseconds from the first event to this moment.
    pub fn since_start(&self, stamp: Timestamp) -> f64 {
        let first = self.moments.first();
        first.map_or(0.0, |first| between(first.stamp, stamp))
    }

    /// The pause after so many events, where less of it is played than it took.
    pub fn shortened_after(&self, events: usize) -> Option<ShortenedPause> {
        let (last, next) = (self.last_of(events)?, self.moments.get(events)?);
        let took = between(last.stamp, next.stamp);
        let played = next.played - last.played;
        (played < took).then_some(ShortenedPause { took, played })
    }

    fn last_of(&self, events: usize) -> Option<&TimelineEvent> {
        self.moments.get(events.checked_sub(1)?)
    }
}

fn between(from: Timestamp, to: Timestamp) -> f64 {
    to.0.saturating_sub(from.0) as f64
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{RunId, SCHEMA};

    fn events(stamps: &[u64]) -> Vec<Arc<Event>> {
        let event = |ts: &u64| {
            Arc::new(Event {
                schema: SCHEMA,
                ts: Timestamp(*ts),
                run: RunId("r".into()),
                seq: 0,
                body: EventBody::Warning {
                    code: "c".to_owned(),
                    message: "m".to_owned(),
                },
            })
        };
        stamps.iter().map(event).collect()
    }

    fn whole(ms: f64) -> u64 {
        ms.round() as u64
    }

    #[test]
    fn events_come_when_they_came_and_long_pauses_are_shortened() {
        let timeline = Timeline::from_events(&events(&[1_000, 1_400, 1_400, 61_400]), false);
        assert_eq!(whole(timeline.recorded()), 60_400);
        let at: Vec<usize> = [0.0, 399.0, 400.0, 2_399.0, 2_400.0]
            .into_iter()
            .map(|played| timeline.events_at(played))
            .collect();
        assert_eq!(at, [1, 1, 3, 3, 4]);
        assert_eq!(timeline.shortened_after(1), None);
        let pause = ShortenedPause {
            took: 60_000.0,
            played: LONGEST_PAUSE,
        };
        assert_eq!(timeline.shortened_after(3), Some(pause));
        // Half of what is played of a pause is half of the pause.
        assert_eq!(timeline.stamp_at(3, 1_400.0), Timestamp(31_400));
        assert_eq!(timeline.stamp_at(4, 9_000.0), Timestamp(61_400));
    }

    #[test]
    fn slow_gives_each_event_time_and_keeps_what_the_stamps_say() {
        let timeline = Timeline::from_events(&events(&[1_000, 1_001, 1_002]), true);
        assert_eq!(whole(timeline.played_at(3)), 2 * whole(SHORTEST_PAUSE));
        assert_eq!(whole(timeline.recorded()), 2);
        assert_eq!(
            timeline.stamp_at(3, timeline.played_at(3)),
            Timestamp(1_002)
        );
    }

    #[test]
    fn a_clock_that_was_set_back_makes_no_pause() {
        let timeline = Timeline::from_events(&events(&[5_000, 1_000, 5_100]), false);
        assert_eq!(whole(timeline.played_at(2)), 0);
        assert_eq!(whole(timeline.played_at(3)), 100);
        assert_eq!(timeline.stamp_at(2, 0.0), Timestamp(5_000));
    }
}
