//! How long a server asks to be left alone.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

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
}
