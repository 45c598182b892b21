//! Whether large tables fit into memory.

use std::fs;

use super::error::CliError;

/// Bytes of an entry of a hash table.
const ENTRY: u64 = 16;

/// Checks that `tables` hash tables of 2^`log2_entries` entries can be allocated. An allocation that the system refuses ends the
/// program at once, and one that it grants without having the memory ends it later.
///
/// # Errors
/// What was wanted and what is available.
pub fn check_tables(tables: u64, log2_entries: u32) -> Result<(), CliError> {
    let wanted = (tables * ENTRY) << log2_entries;
    let there = available();
    let refused = || Vec::<u8>::new().try_reserve_exact(usize::try_from(wanted).unwrap_or(usize::MAX)).is_err();
    let room = match there {
        Some(there) if there < wanted => format!("{} are available", gibibytes(there)),
        _ if refused() => "the system does not give that much to one program (`ulimit -v`)".to_owned(),
        _ => return Ok(()),
    };
    let message = format!("hash tables of 2^{log2_entries} entries take {} of memory; {room}", gibibytes(wanted));
    Err(CliError::failure(message).hint("Try a smaller --log2-hash: each step down halves them."))
}

fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
}

/// Bytes of available memory, if the system (Linux) reports them: free memory, reclaimable caches and free swap.
fn available() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let kibibytes = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse::<u64>().ok()
    };
    Some(1024 * (kibibytes("MemAvailable")? + kibibytes("SwapFree").unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_said() {
        check_tables(1, 10).unwrap();
        let message = check_tables(2, 45).unwrap_err().to_string();
        assert!(message.starts_with("hash tables of 2^45 entries take 1048576.0 GiB of memory; "), "{message}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_system_says_what_there_is() {
        assert!((1 << 20..1 << 50).contains(&available().unwrap()));
    }
}
