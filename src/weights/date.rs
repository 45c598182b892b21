//! Dates as text, without a calendar library.

use std::time::{SystemTime, UNIX_EPOCH};

/// The present in seconds since 1970.
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// A time as RFC 3339 in UTC to the second, `2026-07-29T18:04:05Z`. Years 1970 to 9999; earlier times give 1970's first second.
///
/// Civil date from a day count: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", 2013.
pub fn rfc3339(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March, so that the leap day is the last; eras are 400 years, counted from 1 March 0000.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let march_month = (5 * day + 2) / 153;
    let day = day - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The date that the environment variable `SOURCE_DATE_EPOCH` gives (seconds since 1970, as reproducible builds use it), as
/// [`rfc3339`] writes it; `None` where it is missing or not a number.
///
/// Files carry a date only where the caller fixes it like this: otherwise equal runs would not give equal bytes.
pub fn source_date() -> Option<String> {
    let seconds =
        std::env::var("SOURCE_DATE_EPOCH").ok()?.trim().parse().ok().filter(|&seconds| seconds < 253_402_300_800)?;
    Some(rfc3339(UNIX_EPOCH + std::time::Duration::from_secs(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn known_dates() {
        let date = |seconds| rfc3339(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
        assert_eq!(date(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(date(951_868_799), "2000-02-29T23:59:59Z");
        assert_eq!(date(951_868_800), "2000-03-01T00:00:00Z");
        assert_eq!(date(1_234_567_890), "2009-02-13T23:31:30Z");
        assert_eq!(date(4_107_542_400), "2100-03-01T00:00:00Z");
        assert_eq!(date(253_402_300_799), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn every_day_of_four_centuries_follows_the_one_before() {
        let (mut year, mut month, mut day) = (1970u64, 1u64, 1u64);
        for days in 0..146_097 {
            let expected = format!("{year:04}-{month:02}-{day:02}T00:00:00Z");
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(days * 86_400)), expected);
            let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
            let length = match month {
                2 => 28 + u64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
    }
}
