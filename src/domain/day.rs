use std::fmt;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// A day of the calendar; written as the number `20260112` and shown as `2026-01-12`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Day(u32);

impl Day {
    /// The first day of a year, month or day: of `2026`, `2026-01`, `2026-01-12`. Slashes and points will
    /// do, and what follows a whole date is passed over: `2026-01-12T10:00`.
    pub fn first_of(text: &str) -> Option<Self> {
        let mut parts = text.trim().splitn(3, ['-', '/', '.']);
        let year = parts.next().filter(|year| year.len() == 4)?;
        let number = |part: &str| {
            let is_number = matches!(part.len(), 1..=4) && part.bytes().all(|b| b.is_ascii_digit());
            is_number.then(|| part.parse::<i16>().ok()).flatten()
        };
        let month = parts.next().map_or(Some(1), number)?;
        let day = match parts.next() {
            Some(rest) => number(rest.split(['T', ' ']).next()?)?,
            None => 1,
        };
        let date = Date::new(number(year)?, month.try_into().ok()?, day.try_into().ok()?);
        date.ok().map(Self::from_date)
    }

    /// The day of a date.
    pub fn from_date(date: Date) -> Self {
        let number =
            i32::from(date.year()) * 10_000 + i32::from(date.month()) * 100 + i32::from(date.day());
        Self(number.unsigned_abs())
    }

    /// The day with this number, which [`Day::number`] gave.
    pub fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// Year, month and day as one number: `20260112`.
    pub fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = (self.0 / 10_000, self.0 / 100 % 100, self.0 % 100);
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_a_month_and_a_day_are_read_and_nothing_else() {
        for (text, day) in [
            ("2026", Some(20_260_101)),
            ("2026-03", Some(20_260_301)),
            ("2026-3-4", Some(20_260_304)),
            ("2026/03/04", Some(20_260_304)),
            ("2026-03-04T10:00:00+01:00", Some(20_260_304)),
            ("2024-02-29 10:00", Some(20_240_229)),
            ("2026-02-29", None),
            ("2026-13", None),
            ("26-01-01", None),
            ("12:30", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(Day::first_of(text).map(Day::number), day, "{text}");
        }
        assert_eq!(Day::first_of("2026").unwrap().to_string(), "2026-01-01");
    }
}
