//! Whether large tables fit into memory.

use std::fs;
use std::path::{Path, PathBuf};

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

/// Bytes of available memory, if the system (Linux) reports them: free memory, reclaimable caches and free swap, but no more than
/// the limits of our control groups.
fn available() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let kibibytes = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse::<u64>().ok()
    };
    let free = 1024 * (kibibytes("MemAvailable")? + kibibytes("SwapFree").unwrap_or(0));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&groups).into_iter().filter_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok());
    Some(limits.fold(free, u64::min))
}

/// The files with the limits of control groups, from the lines of `/proc/self/cgroup` (`hierarchy:controllers:group`; those of version 2
/// have no controllers). A group is also bound by its parents; a container sees its own as the root.
fn limit_files(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let groups = Path::new(group.trim_start_matches('/')).ancestors();
        files.extend(groups.map(|group| Path::new(root).join(group).join(file)));
    }
    files
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
    fn a_group_is_bound_by_its_parents() {
        let unified = limit_files("0::/system.slice/flipside.service\n");
        let expected = ["system.slice/flipside.service/", "system.slice/", ""];
        let expected = expected.map(|group| PathBuf::from(format!("/sys/fs/cgroup/{group}memory.max")));
        assert_eq!(unified, expected);
        let separate = limit_files("4:memory:/job\n3:cpu,cpuacct:/job\n");
        let expected = ["job/", ""].map(|group| format!("/sys/fs/cgroup/memory/{group}memory.limit_in_bytes"));
        assert_eq!(separate, expected.map(PathBuf::from));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_system_says_what_there_is() {
        assert!((1 << 20..1 << 50).contains(&available().unwrap()));
    }
}
