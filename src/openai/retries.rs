//! How often the same is asked again, and how long to wait before it is.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::time::Instant;

use super::fault::{Failure, Fault};
use super::waits::CallWaits;

/// The first pause; each is twice as long as the one before, up to the longest, and up to as much
/// again, so that clients which were turned away together do not come back together.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(16);
/// A server that did not take the connection up restarts and is back soon, or is not there at all:
/// pauses are so many times shorter then.
const RECONNECTS_SOONER: u32 = 5;

/// What is left of the patience with one call.
pub struct Retries {
    pauses: ExponentialBackoff,
    most: u32,
    /// How often the same was asked again so far.
    pub made: u32,
    ends_at: Option<Instant>,
}

impl Retries {
    /// So many at most, and none that begins later than `within`.
    pub fn new(most: u32, within: Option<Duration>) -> Self {
        let pauses = ExponentialBuilder::new()
            .with_min_delay(FIRST_PAUSE)
            .with_max_delay(LONGEST_PAUSE)
            .with_max_times(most as usize)
            .with_jitter();
        Self {
            pauses: pauses.build(),
            most,
            made: 0,
            ends_at: within.map(|within| Instant::now() + within),
        }
    }

    /// Waits before the same is asked again, and reports that; false where that helps nothing.
    pub async fn pause(&mut self, failure: &Failure, waits: &CallWaits) -> bool {
        let (asked_for, divisor) = match failure.fault {
            Fault::Retry(after) => (after, 1),
            Fault::Reconnect => (None, RECONNECTS_SOONER),
            _ => return false,
        };
        let pause = self.pauses.next().map(|pause| pause / divisor);
        let pause = pause.map(|pause| asked_for.unwrap_or(pause));
        let in_time = |pause: &Duration| {
            self.ends_at
                .is_none_or(|end| Instant::now() + *pause <= end)
        };
        let Some(pause) = pause.filter(in_time) else {
            return false;
        };
        self.made += 1;
        let attempts = self.most.saturating_add(1);
        waits.retry(failure.status, pause, self.made + 1, attempts);
        tracing::debug!(line = %failure.trouble, ?pause, may_pass = true, "a request is made again");
        tokio::time::sleep(pause).await;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::fault::FailureKind;
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_heed_the_server_and_come_to_an_end() {
        let failed = |fault| Failure::new(FailureKind::Refused, fault, None, "no");
        let waits = CallWaits::default();
        for (fault, least) in [(Fault::Retry(None), 500), (Fault::Reconnect, 100)] {
            let mut retries = Retries::new(6, None);
            for tried in 0..6_u32 {
                let begun = Instant::now();
                assert!(retries.pause(&failed(fault), &waits).await);
                let least = u128::from(least * 2_u64.pow(tried.min(5)));
                let paused = begun.elapsed().as_millis();
                assert!(
                    (least..=least * 2 + 1).contains(&paused),
                    "{tried}: {paused}"
                );
            }
            assert!(!retries.pause(&failed(fault), &waits).await);
        }
        let mut retries = Retries::new(9, Some(Duration::from_secs(10)));
        let begun = Instant::now();
        let asks = failed(Fault::Retry(Some(Duration::from_secs(4))));
        while retries.pause(&asks, &waits).await {}
        assert_eq!((retries.made, begun.elapsed().as_secs()), (2, 8));
        assert!(!retries.pause(&failed(Fault::Fatal), &waits).await);
    }
}
