//! How long to wait for a response, and before a request is made again.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// How long a whole response may take where silence of `silence` is borne with: who sends a byte now
/// and then is alive, and may still never come to an end. A stream that goes on saying something
/// is measured anew at each word.
pub fn response_timeout(silence: Duration) -> Duration {
    silence.saturating_mul(10)
}

/// What the server asks for: `retry-after-ms`, or `Retry-After` in seconds or as a date.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.trim().to_owned());
    let number = |text: &str| text.parse::<f64>().ok();
    if let Some(ms) = text("retry-after-ms").and_then(|ms| number(&ms)) {
        return Duration::try_from_secs_f64(ms / 1000.0).ok();
    }
    let asked = text(RETRY_AFTER.as_str())?;
    match number(&asked) {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => until(&asked, SystemTime::now()),
    }
}

/// Half a second, doubled each time, and up to half as much again, so that clients which were
/// turned away together do not come back together. `tried` counts from 1.
pub fn backoff(tried: u32) -> Duration {
    growing(Duration::from_millis(500), tried)
}

/// The same from a tenth of a second on, for a server that did not take the connection up: one that
/// restarts is back soon, and who forgot to start it should not wait long for the error.
pub fn reconnecting(tried: u32) -> Duration {
    growing(Duration::from_millis(100), tried)
}

fn growing(first: Duration, tried: u32) -> Duration {
    let base = first * 2_u32.saturating_pow(tried.clamp(1, 6) - 1);
    base + base.mul_f64(0.5 * fastrand::f64())
}

/// A date that has passed is now.
fn until(date: &str, now: SystemTime) -> Option<Duration> {
    let then = httpdate::parse_http_date(date).ok()?;
    Some(then.duration_since(now).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn asked(pairs: &[(&'static str, &'static str)]) -> Option<Duration> {
        let headers = pairs.iter().map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        });
        retry_after(&headers.collect())
    }

    #[test]
    fn what_a_server_asks_for_is_read_in_every_form() {
        for (headers, wait) in [
            (&[][..], None),
            (&[("retry-after", "2")], Some(Duration::from_secs(2))),
            (
                &[("retry-after", " 0.5 ")],
                Some(Duration::from_millis(500)),
            ),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "soon")], None),
            (
                &[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")],
                Some(Duration::ZERO),
            ),
            (
                &[("retry-after", "9"), ("retry-after-ms", "40")],
                Some(Duration::from_millis(40)),
            ),
        ] {
            assert_eq!(asked(headers), wait, "{headers:?}");
        }
    }

    #[test]
    fn a_date_ahead_is_waited_for() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        let wait = until("Sun, 06 Nov 1994 08:49:37 GMT", now);
        assert_eq!(wait, Some(Duration::from_secs(7)));
    }

    #[test]
    fn pauses_grow_and_are_never_the_same_for_all() {
        for (is_short, half) in [(false, 250), (true, 50)] {
            let pause = if is_short { reconnecting } else { backoff };
            for tried in 1..=8 {
                let base = Duration::from_millis(half) * 2_u32.pow(tried.min(6));
                let pauses: Vec<_> = (0..20).map(|_| pause(tried)).collect();
                assert!(
                    pauses
                        .iter()
                        .all(|pause| (base..=base * 3 / 2).contains(pause))
                );
                assert!(pauses.iter().any(|pause| *pause != pauses[0]), "{pauses:?}");
            }
        }
    }
}
