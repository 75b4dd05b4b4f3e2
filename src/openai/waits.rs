//! What the call of an endpoint waits for, reported while it waits.
//!
//! Only who reads the bytes knows how long none has come, so it is measured there: a timer wakes
//! once a second, and only after silence that is longer than a model's pace. A call without
//! a sink runs as if none of this were here.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc::Sender;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout, timeout_at};

use crate::domain::Wait;

/// Shorter silence is the pace of a slow model, seconds.
const FIRST: u64 = 2;
/// Between two lines about thinking, reading or writing.
const BETWEEN: Duration = Duration::from_secs(1);

/// What one call waits for, over all its requests. Reporting never waits itself: what is not read in time
/// is dropped, and the next line says more.
#[derive(Debug, Clone, Default)]
pub struct CallWaits(Option<Arc<WaitReporter>>);

#[derive(Debug)]
struct WaitReporter {
    out: Sender<Wait>,
    /// Whether the reply comes in tokens.
    in_tokens: bool,
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    /// What was reported last and still holds.
    wait: Option<Wait>,
    /// When thinking was reported last.
    thought: Option<Instant>,
    /// How far the prompt is read, while it is.
    reading: Option<ReadingState>,
    /// When writing began and after how many tokens, and when it was reported last.
    writing: Option<(Instant, usize, Instant)>,
}

/// How far a model has read its prompt, as its server says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptProgress {
    /// Tokens of the prompt.
    pub total: u64,
    /// Tokens that the server had kept, and so need not be read.
    pub cached: u64,
    /// Tokens that are done, the kept ones too.
    pub done: u64,
    /// Time spent on reading.
    pub spent: Duration,
}

impl PromptProgress {
    /// How many tokens are read in a second; `None` where none has been.
    pub fn tokens_per_second(self) -> Option<f64> {
        let tokens = self.done.saturating_sub(self.cached);
        let seconds = self.spent.as_secs_f64();
        (tokens > 0 && seconds > 0.0).then(|| tokens as f64 / seconds)
    }

    /// Whether some is still to be read.
    pub fn goes_on(self) -> bool {
        self.done < self.total
    }

    /// The same as a wait, so long after it was told, with the rate to go by where none shows yet.
    pub fn wait(self, passed: Duration, known_rate: Option<f64>) -> Wait {
        let tokens_per_second = self.tokens_per_second().or(known_rate);
        let seconds_left = tokens_per_second.map(|rate| {
            let left = self.total.saturating_sub(self.done) as f64 / rate;
            (left - passed.as_secs_f64()).ceil().max(0.0) as u64
        });
        Wait::Reading {
            tokens: self.done.saturating_sub(self.cached),
            tokens_in_all: self.total.saturating_sub(self.cached),
            cached: self.cached,
            seconds: (self.spent + passed).as_secs(),
            tokens_per_second,
            seconds_left,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct ReadingState {
    progress: PromptProgress,
    known_rate: Option<f64>,
    told_at: Instant,
    reported_at: Instant,
}

impl CallWaits {
    /// For a model's tokens, reported to that sink; `None` for no reports.
    pub fn for_tokens(out: Option<&Sender<Wait>>) -> Self {
        Self::reported_to(out, true)
    }

    /// The same for a reply of another kind.
    pub fn for_bytes(out: Option<&Sender<Wait>>) -> Self {
        Self::reported_to(out, false)
    }

    fn reported_to(out: Option<&Sender<Wait>>, in_tokens: bool) -> Self {
        Self(out.map(|out| {
            Arc::new(WaitReporter {
                out: out.clone(),
                in_tokens,
                last: Mutex::default(),
            })
        }))
    }

    /// A request is sent, of which nothing is read or written yet.
    pub fn restart(&self) {
        if let Some(reporter) = &self.0 {
            reporter.has_read();
            reporter.last.lock().writing = None;
        }
    }

    /// The same is asked again after a pause.
    pub fn retry(&self, status: Option<u16>, pause: Duration, attempt: u32, attempts: u32) {
        if let Some(reporter) = &self.0 {
            reporter.report(Wait::Retry {
                seconds: pause.as_millis() as f64 / 1000.0,
                attempt,
                attempts,
                status,
            });
        }
    }

    /// Waits for bytes, for as long as silence is borne with; `begun` says whether any came before.
    pub async fn wait_for<T>(
        &self,
        silence: Duration,
        begun: bool,
        bytes: impl Future<Output = T>,
    ) -> Result<T, Elapsed> {
        let Some(reporter) = &self.0 else {
            return timeout(silence, bytes).await;
        };
        let since = Instant::now();
        let reads = reporter.last.lock().reading.is_some();
        let mut seconds = if reads { 1 } else { FIRST };
        tokio::pin!(bytes);
        let came = loop {
            let until = Duration::from_secs(seconds).min(silence);
            match timeout_at(since + until, &mut bytes).await {
                Ok(came) => break came,
                Err(elapsed) if until == silence => return Err(elapsed),
                Err(_) => {}
            }
            let seconds_left = silence.saturating_sub(until).as_secs();
            let waited = seconds;
            seconds += 1;
            if reporter.report_reading() {
                continue;
            }
            reporter.report(if begun || !reporter.in_tokens {
                Wait::Silence {
                    seconds: waited,
                    seconds_left,
                }
            } else {
                Wait::FirstToken {
                    seconds: waited,
                    seconds_left,
                }
            });
        };
        reporter.over(|wait| {
            !matches!(
                wait,
                Wait::Thinking { .. } | Wait::Reading { .. } | Wait::Writing { .. }
            )
        });
        Ok(came)
    }

    /// The model reads the prompt and has come so far; the rate is that of an earlier call. A prompt
    /// that is read within a second is not reported.
    pub fn reading(&self, progress: PromptProgress, known_rate: Option<f64>) {
        let Some(reporter) = &self.0 else {
            return;
        };
        if !progress.goes_on() {
            reporter.has_read();
            return;
        }
        let now = Instant::now();
        let mut last = reporter.last.lock();
        let reported_at = last.reading.map_or(now, |before| before.reported_at);
        last.reading = Some(ReadingState {
            progress,
            known_rate,
            told_at: now,
            reported_at,
        });
        drop(last);
        if now - reported_at >= BETWEEN {
            reporter.report_reading();
        }
    }

    /// The model thinks; `tokens` counts what came of that, when it is to be reported.
    pub fn thinking(&self, tokens: impl FnOnce() -> usize) {
        let Some(reporter) = &self.0 else {
            return;
        };
        reporter.has_read();
        let now = Instant::now();
        let mut last = reporter.last.lock();
        if last.thought.is_some_and(|then| now - then < BETWEEN) {
            return;
        }
        last.thought = Some(now);
        drop(last);
        let tokens = tokens() as u64;
        reporter.report(Wait::Thinking { tokens });
    }

    /// The model writes; `tokens` counts what came so far, when it is to be reported.
    pub fn writing(&self, tokens: impl FnOnce() -> usize) {
        let Some(reporter) = &self.0 else {
            return;
        };
        reporter.has_read();
        reporter.over(|wait| matches!(wait, Wait::Thinking { .. }));
        let now = Instant::now();
        let mut last = reporter.last.lock();
        let Some((begun, first, told)) = last.writing else {
            last.writing = Some((now, tokens(), now));
            return;
        };
        if now - told < BETWEEN {
            return;
        }
        last.writing = Some((begun, first, now));
        drop(last);
        let tokens = tokens();
        let since = tokens.saturating_sub(first) as f64;
        reporter.report(Wait::Writing {
            tokens: tokens as u64,
            tokens_per_second: since / (now - begun).as_secs_f64(),
        });
    }
}

impl WaitReporter {
    fn report(&self, wait: Wait) {
        self.last.lock().wait = Some(wait);
        let _ = self.out.try_send(wait);
    }

    /// Reports how far the prompt is read; false where none is being read.
    fn report_reading(&self) -> bool {
        let now = Instant::now();
        let mut last = self.last.lock();
        let Some(reading) = &mut last.reading else {
            return false;
        };
        reading.reported_at = now;
        let wait = reading
            .progress
            .wait(now - reading.told_at, reading.known_rate);
        drop(last);
        self.report(wait);
        true
    }

    /// The prompt is read.
    fn has_read(&self) {
        if self.last.lock().reading.take().is_some() {
            self.over(|wait| matches!(wait, Wait::Reading { .. }));
        }
    }

    /// Takes back what was reported last, where it is that.
    fn over(&self, is_over: impl Fn(&Wait) -> bool) {
        let taken_back = self.last.lock().wait.take_if(|wait| is_over(wait));
        if taken_back.is_some() {
            let _ = self.out.try_send(Wait::Over);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::{Receiver, channel};
    use tokio::time::sleep;

    use super::*;

    fn reporter() -> (CallWaits, Receiver<Wait>) {
        let (sink, waits) = channel(99);
        (CallWaits::for_tokens(Some(&sink)), waits)
    }

    fn all(waits: &mut Receiver<Wait>) -> Vec<Wait> {
        std::iter::from_fn(|| waits.try_recv().ok()).collect()
    }

    fn silence(seconds: u64, seconds_left: u64) -> Wait {
        Wait::Silence {
            seconds,
            seconds_left,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn ui_silence_is_reported_once_a_second_and_taken_back_by_the_next_byte() {
        let (waiting, mut waits) = reporter();
        let after = |ms| sleep(Duration::from_millis(ms));
        let minute = Duration::from_mins(1);
        waiting.wait_for(minute, true, after(1_900)).await.unwrap();
        assert_eq!(all(&mut waits), []);
        waiting.wait_for(minute, true, after(4_500)).await.unwrap();
        let lines = [silence(2, 58), silence(3, 57), silence(4, 56), Wait::Over];
        assert_eq!(all(&mut waits), lines);
        waiting.wait_for(minute, true, after(10)).await.unwrap();
        assert_eq!(all(&mut waits), []);
    }

    #[tokio::test(start_paused = true)]
    async fn ui_silence_ends_when_it_did_before_whether_it_is_reported_or_not() {
        let (waiting, mut waits) = reporter();
        for (waiting, silence) in [
            (&waiting, 3_500),
            (&waiting, 900),
            (&CallWaits::default(), 3_500),
        ] {
            let silence = Duration::from_millis(silence);
            let begun = Instant::now();
            let ended = waiting.wait_for(silence, false, std::future::pending::<()>());
            ended.await.unwrap_err();
            assert!(begun.elapsed() < silence + Duration::from_millis(2));
        }
        let first = |seconds, seconds_left| Wait::FirstToken {
            seconds,
            seconds_left,
        };
        assert_eq!(all(&mut waits), [first(2, 1), first(3, 0)]);
    }

    #[tokio::test(start_paused = true)]
    async fn ui_where_no_tokens_come_silence_is_of_bytes() {
        let (sink, mut waits) = channel(99);
        let waiting = CallWaits::for_bytes(Some(&sink));
        let reply = sleep(Duration::from_millis(2_500));
        waiting
            .wait_for(Duration::from_secs(9), false, reply)
            .await
            .unwrap();
        assert_eq!(all(&mut waits), [silence(2, 7), Wait::Over]);
    }

    #[tokio::test(start_paused = true)]
    async fn ui_thinking_is_counted_once_a_second_and_over_with_the_first_word() {
        let (waiting, mut waits) = reporter();
        let mut counted = 0;
        for tokens in 0..50 {
            waiting.thinking(|| {
                counted += 1;
                tokens
            });
            sleep(Duration::from_millis(50)).await;
        }
        let thinking = |tokens| Wait::Thinking { tokens };
        assert_eq!(all(&mut waits), [thinking(0), thinking(20), thinking(40)]);
        assert_eq!(counted, 3);
        waiting.writing(|| 50);
        waiting.writing(|| 50);
        assert_eq!(all(&mut waits), [Wait::Over]);
    }

    #[tokio::test(start_paused = true)]
    async fn ui_a_retry_is_over_with_the_first_byte() {
        let (waiting, mut waits) = reporter();
        waiting.retry(Some(429), Duration::from_millis(3_200), 2, 3);
        waiting
            .wait_for(Duration::from_secs(9), false, async {})
            .await
            .unwrap();
        let retry = Wait::Retry {
            seconds: 3.2,
            attempt: 2,
            attempts: 3,
            status: Some(429),
        };
        assert_eq!(all(&mut waits), [retry, Wait::Over]);
    }

    fn progress(total: u64, cached: u64, done: u64, ms: u64) -> PromptProgress {
        PromptProgress {
            total,
            cached,
            done,
            spent: Duration::from_millis(ms),
        }
    }

    fn read(tokens: u64, seconds: u64, rate: Option<f64>, left: Option<u64>) -> Wait {
        Wait::Reading {
            tokens,
            tokens_in_all: 600,
            cached: 160,
            seconds,
            tokens_per_second: rate,
            seconds_left: left,
        }
    }

    #[test]
    fn ui_the_rate_of_reading_leaves_out_what_was_cached() {
        let none = Duration::ZERO;
        for (told, known, wait) in [
            (progress(760, 160, 160, 0), None, read(0, 0, None, None)),
            (
                progress(760, 160, 160, 0),
                Some(50.0),
                read(0, 0, Some(50.0), Some(12)),
            ),
            (
                progress(760, 160, 460, 5_000),
                Some(50.0),
                read(300, 5, Some(60.0), Some(5)),
            ),
        ] {
            assert_eq!(told.wait(none, known), wait);
        }
        let half = progress(760, 160, 460, 5_000);
        let later = |seconds| half.wait(Duration::from_secs(seconds), None);
        assert_eq!(later(2), read(300, 7, Some(60.0), Some(3)));
        assert_eq!(later(9), read(300, 14, Some(60.0), Some(0)));
        // Numbers that contradict each other do no harm.
        assert!(!progress(5, 9, 9, 0).goes_on());
        progress(5, 9, 2, 0).wait(none, Some(0.5));
    }

    #[tokio::test(start_paused = true)]
    async fn ui_reading_is_reported_once_a_second_also_while_nothing_comes() {
        let (waiting, mut waits) = reporter();
        let minute = Duration::from_mins(1);
        let after = |ms| sleep(Duration::from_millis(ms));
        waiting.reading(progress(760, 160, 160, 0), Some(50.0));
        assert_eq!(all(&mut waits), []);
        waiting.wait_for(minute, true, after(2_500)).await.unwrap();
        let told = [
            read(0, 1, Some(50.0), Some(11)),
            read(0, 2, Some(50.0), Some(10)),
        ];
        assert_eq!(all(&mut waits), told);
        // What comes often is told once a second.
        for done in 1..=10 {
            waiting.reading(progress(760, 160, 160 + done, 2_500 + done * 100), None);
            waiting.wait_for(minute, true, after(100)).await.unwrap();
        }
        let rate = |wait: &Wait| matches!(wait, Wait::Reading { tokens: 6, .. });
        assert!(matches!(&all(&mut waits)[..], [wait] if rate(wait)));
        waiting.reading(progress(760, 160, 760, 12_000), None);
        assert_eq!(all(&mut waits), [Wait::Over]);
        waiting.wait_for(minute, true, after(2_500)).await.unwrap();
        assert_eq!(all(&mut waits), [silence(2, 58), Wait::Over]);
    }

    #[tokio::test(start_paused = true)]
    async fn ui_a_prompt_that_is_read_within_a_second_is_not_reported() {
        let (waiting, mut waits) = reporter();
        let soon = sleep(Duration::from_millis(900));
        waiting.reading(progress(760, 160, 160, 0), None);
        waiting
            .wait_for(Duration::from_mins(1), true, soon)
            .await
            .unwrap();
        waiting.writing(|| 1);
        assert_eq!(all(&mut waits), []);
    }

    #[tokio::test(start_paused = true)]
    async fn ui_writing_is_counted_once_a_second_from_its_first_piece() {
        let (call, mut waits) = reporter();
        for tokens in 0..=25 {
            call.writing(|| 4 + tokens);
            sleep(Duration::from_millis(100)).await;
        }
        let writing = |tokens| Wait::Writing {
            tokens,
            tokens_per_second: 10.0,
        };
        assert_eq!(all(&mut waits), [writing(14), writing(24)]);
    }
}
