//! What the call of an endpoint waits for, reported while it waits.
//!
//! Only who reads the bytes knows how long none has come, so it is measured there: a timer wakes
//! once a second, and only after silence that is longer than a model's pace. A call without
//! a sink runs as if none of this were here.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout, timeout_at};

use super::WaitSink;
use crate::domain::Wait;

/// Shorter silence is the pace of a slow model, seconds.
const FIRST: u64 = 2;
/// Between two lines about thinking.
const BETWEEN: Duration = Duration::from_secs(1);

/// What one call waits for, over all its requests.
#[derive(Debug, Clone, Default)]
pub struct CallWaits(Option<Arc<WaitReporter>>);

#[derive(Debug)]
struct WaitReporter {
    out: WaitSink,
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
}

impl CallWaits {
    /// For a model's tokens, reported to that sink; `None` for no reports.
    pub fn for_tokens(out: Option<&WaitSink>) -> Self {
        Self::reported_to(out, true)
    }

    /// The same for a reply of another kind.
    pub fn for_bytes(out: Option<&WaitSink>) -> Self {
        Self::reported_to(out, false)
    }

    fn reported_to(out: Option<&WaitSink>, in_tokens: bool) -> Self {
        Self(out.map(|out| {
            Arc::new(WaitReporter {
                out: out.clone(),
                in_tokens,
                last: Mutex::default(),
            })
        }))
    }

    /// Whether it is reported.
    pub fn is_reported(&self) -> bool {
        self.0.is_some()
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
        let mut seconds = FIRST;
        tokio::pin!(bytes);
        let came = loop {
            let until = Duration::from_secs(seconds).min(silence);
            match timeout_at(since + until, &mut bytes).await {
                Ok(came) => break came,
                Err(elapsed) if until == silence => return Err(elapsed),
                Err(_) => {}
            }
            let seconds_left = silence.saturating_sub(until).as_secs();
            reporter.report(if begun || !reporter.in_tokens {
                Wait::Silence {
                    seconds,
                    seconds_left,
                }
            } else {
                Wait::FirstToken {
                    seconds,
                    seconds_left,
                }
            });
            seconds += 1;
        };
        reporter.over(|wait| !matches!(wait, Wait::Thinking { .. }));
        Ok(came)
    }

    /// The model thinks; `tokens` counts what came of that, when it is to be reported.
    pub fn thinking(&self, tokens: impl FnOnce() -> usize) {
        let Some(reporter) = &self.0 else {
            return;
        };
        let now = Instant::now();
        let mut last = reporter.last();
        if last.thought.is_some_and(|then| now - then < BETWEEN) {
            return;
        }
        last.thought = Some(now);
        drop(last);
        let tokens = tokens() as u64;
        reporter.report(Wait::Thinking { tokens });
    }

    /// The model says something.
    pub fn words(&self) {
        if let Some(reporter) = &self.0 {
            reporter.over(|wait| matches!(wait, Wait::Thinking { .. }));
        }
    }
}

impl WaitReporter {
    fn last(&self) -> std::sync::MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, wait: Wait) {
        self.last().wait = Some(wait);
        self.out.report(wait);
    }

    /// Takes back what was reported last, where it is that.
    fn over(&self, is_over: impl Fn(&Wait) -> bool) {
        let taken_back = self.last().wait.take_if(|wait| is_over(wait)).is_some();
        if taken_back {
            self.out.report(Wait::Over);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::Receiver;
    use tokio::time::sleep;

    use super::*;

    fn reporter() -> (CallWaits, Receiver<Wait>) {
        let (sink, waits) = WaitSink::new();
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
        let (sink, mut waits) = WaitSink::new();
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
        waiting.words();
        waiting.words();
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
}
