//! The time, as numbers and as text.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time since 1970.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The current time in seconds since 1970.
pub fn unix_seconds() -> u64 {
    since_1970().as_secs()
}

/// A time as RFC 3339 in UTC to the second, `2026-07-29T18:04:05Z`. Up to the year 9999; times before 1970 give the first second
/// of 1970.
pub fn rfc3339(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time.max(UNIX_EPOCH)).to_string()
}

/// The date in the environment variable `SOURCE_DATE_EPOCH` (seconds since 1970, as reproducible builds use it), as [`rfc3339`]
/// writes it; `None` if it is missing, not a number, or after the year 9999.
///
/// Files carry a date only if the caller fixes it like this: otherwise equal runs would not give equal bytes.
pub fn source_date() -> Option<String> {
    const YEAR_10000: u64 = 253_402_300_800;
    let seconds =
        std::env::var("SOURCE_DATE_EPOCH").ok()?.trim().parse().ok().filter(|&seconds| seconds < YEAR_10000)?;
    Some(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_to_the_second() {
        let date = |seconds| rfc3339(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(date(951_868_799), "2000-02-29T23:59:59Z");
        assert_eq!(date(253_402_300_799), "9999-12-31T23:59:59Z");
        assert_eq!(rfc3339(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00Z");
    }
}
