//! Numbers, durations and paths as people read them.

use std::path::Path;

use indicatif::HumanCount;

/// Hours, minutes and seconds, the two largest that matter.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// A number with commas between thousands.
pub fn count(number: u64) -> String {
    HumanCount(number).to_string()
}

/// Bytes, in the largest unit that leaves a number above one.
pub fn bytes(number: u64) -> String {
    match number {
        0..1_000_000 => format!("{} kB", number.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{} MB", number.div_ceil(1_000_000)),
        _ => format!("{:.1} GB", number as f64 / 1e9),
    }
}

/// A path as it is typed in a shell.
pub fn typed(path: &Path) -> String {
    let shown = path.display().to_string();
    // Not an option.
    let shown = if shown.starts_with('-') { format!("./{shown}") } else { shown };
    shlex::try_quote(&shown).map_or_else(|_| shown.clone(), |quoted| quoted.into_owned())
}

/// What is known, else `-`.
pub fn or_dash(known: Option<impl ToString>) -> String {
    known.map_or("-".to_owned(), |known| known.to_string())
}

/// An Elo difference with the ends of its 95% interval.
pub fn elo([value, low, high]: [f64; 3]) -> String {
    format!("{value:+.0} [{low:+.0}, {high:+.0}]")
}

/// A number of plies.
pub fn plies(number: u32) -> String {
    if number == 1 { "1 ply".to_owned() } else { format!("{number} plies") }
}

/// A number of things, whose plural ends in s.
pub fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", count(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!(duration(59.6), "1 min 0 s");
        assert_eq!(duration(7_261.0), "2 h 1 min");
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([1, 12_345_678, 1_550_000_000].map(bytes), ["1 kB", "13 MB", "1.6 GB"]);
        let paths = ["runs/one", "runs/my run", "-x", "it's"];
        assert_eq!(paths.map(|path| typed(Path::new(path))), ["runs/one", "'runs/my run'", "./-x", "\"it's\""]);
        assert_eq!([0, 1, 4096].map(|games| counted(games, "game")), ["0 games", "1 game", "4,096 games"]);
        assert_eq!(elo([1.2, -3.0, f64::INFINITY]), "+1 [-3, +inf]");
    }
}
