use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Zoned;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use uuid::{ContextV7, Uuid};

/// The last millisecond of the year 9999: what comes after has no form on the wire.
const LAST: u64 = 253_402_300_799_999;
/// The same for ids, which count nanoseconds (the year 2500).
const LAST_OF_IDS: u64 = 16_725_225_600_000;

/// Milliseconds of a day.
const DAY: u64 = 86_400_000;

/// Keeps ids in order within a millisecond, and when the clock goes back a little. `uuid` takes it under
/// the lock of std only.
static IDS: Mutex<ContextV7> = Mutex::new(ContextV7::new());

/// The time zone in which times are displayed.
static ZONE: OnceLock<TimeZone> = OnceLock::new();

/// Displays times in this machine's time zone from now on; until then they are in UTC.
pub fn use_local_times() {
    let _ = ZONE.set(TimeZone::system());
}

/// A new id, later in order than all before it in this process.
pub fn new_id() -> Uuid {
    id_at(Timestamp::now())
}

/// A clock beyond what ids can hold makes the last of them, and no panic.
fn id_at(moment: Timestamp) -> Uuid {
    let millis = moment.0.min(LAST_OF_IDS);
    let nanos = (millis % 1000) as u32 * 1_000_000;
    Uuid::new_v7(uuid::Timestamp::from_unix(&IDS, millis / 1000, nanos))
}

/// Sortable, unique name of a run (UUID version 7).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub Arc<str>);

impl RunId {
    /// A new one, later in order than all before it.
    pub fn generate() -> Self {
        Self(new_id().to_string().into())
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Milliseconds since 1970, UTC; RFC 3339 on the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

const MILLISECONDS: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

impl Timestamp {
    /// The present moment by the machine's clock.
    pub fn now() -> Self {
        Self::from_system_time(SystemTime::now())
    }

    /// A moment by a clock that may be wrong: what lies before 1970 or behind the year 9999 is
    /// taken for the first or the last moment between.
    pub fn from_system_time(moment: SystemTime) -> Self {
        let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
        let millis = u64::try_from(since.as_millis()).unwrap_or(LAST);
        Self(millis.min(LAST))
    }

    /// Whether a moment is within the years that calendars of four digits have.
    pub fn is_in_calendar(moment: SystemTime) -> bool {
        let since = moment.duration_since(UNIX_EPOCH);
        since.is_ok_and(|since| since.as_millis() <= u128::from(LAST))
    }

    fn date_time(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }

    /// Its day, counted from that of 1970-01-01, UTC.
    pub fn day(self) -> u64 {
        self.0 / DAY
    }

    /// When that day begins.
    pub fn of_day(day: u64) -> Self {
        Self(day.saturating_mul(DAY))
    }

    /// `2025-11-21`, UTC.
    pub fn date(self) -> String {
        let (year, month, day) = self.date_time().to_calendar_date();
        let month = u8::from(month);
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// `2025-11-21 12:01`, as people are told it.
    pub fn minute(self) -> String {
        self.local().strftime("%Y-%m-%d %H:%M").to_string()
    }

    /// `2025-11-21 12:01 UTC`, or `+01:00` behind it: for who reads it elsewhere.
    pub fn minute_and_zone(self) -> String {
        let local = self.local();
        if local.offset().seconds() == 0 {
            return format!("{} UTC", self.minute());
        }
        local.strftime("%Y-%m-%d %H:%M %:z").to_string()
    }

    /// `12:01:07.412`, as people are told it.
    pub fn clock(self) -> String {
        self.local().strftime("%H:%M:%S.%3f").to_string()
    }

    fn local(self) -> Zoned {
        let millis = i64::try_from(self.0).unwrap_or(i64::MAX);
        let moment = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
        moment.to_zoned(ZONE.get().cloned().unwrap_or(TimeZone::UTC))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self
            .date_time()
            .format(MILLISECONDS)
            .map_err(|_| fmt::Error)?;
        f.write_str(&text)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let moment = OffsetDateTime::parse(&text, &Rfc3339).map_err(serde::de::Error::custom)?;
        u64::try_from(moment.unix_timestamp_nanos() / 1_000_000)
            .map(Self)
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn timestamps_round_trip_to_the_millisecond() {
        let moment = Timestamp(1_763_683_267_412);
        let json = serde_json::to_string(&moment).unwrap();
        assert_eq!(json, "\"2025-11-21T00:01:07.412Z\"");
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), moment);
        assert_eq!(moment.clock(), "00:01:07.412");
        assert_eq!(moment.minute(), "2025-11-21 00:01");
    }

    #[test]
    fn trust_a_clock_that_is_wrong_stops_nothing() {
        let day = Duration::from_hours(24);
        let before = UNIX_EPOCH.checked_sub(day).unwrap();
        let far = UNIX_EPOCH.checked_add(day * 365 * 253_000).unwrap();
        for (moment, text, is_in) in [
            (before, "1970-01-01T00:00:00.000Z", false),
            (UNIX_EPOCH, "1970-01-01T00:00:00.000Z", true),
            (far, "9999-12-31T23:59:59.999Z", false),
        ] {
            let stamp = Timestamp::from_system_time(moment);
            assert_eq!(stamp.to_string(), text);
            assert_eq!(Timestamp::is_in_calendar(moment), is_in);
            let json = serde_json::to_string(&stamp).unwrap();
            assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), stamp);
            assert!(id_at(stamp) < id_at(stamp));
        }
        let worst = Timestamp(u64::MAX);
        assert!(!worst.to_string().is_empty() && !worst.clock().is_empty());
    }

    #[test]
    fn run_ids_sort_by_time() {
        let ids: Vec<_> = (0..50).map(|_| RunId::generate()).collect();
        assert!(ids.is_sorted());
    }
}
