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
/// our control groups have left.
fn available() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let kibibytes = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse::<u64>().ok()
    };
    let free = 1024 * (kibibytes("MemAvailable")? + kibibytes("SwapFree").unwrap_or(0));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    Some(memory_groups(&groups).iter().filter_map(MemoryGroup::left).fold(free, u64::min))
}

/// A control group that limits memory.
#[derive(PartialEq, Eq, Debug)]
struct MemoryGroup {
    folder: PathBuf,
    /// The names of its files: the limit, and what is in use.
    files: [&'static str; 2],
    /// In its `memory.stat`, the beginnings of the lines with the parts in use that can be reclaimed.
    reclaimable: &'static [&'static str],
}

impl MemoryGroup {
    /// Bytes that are left in it; `None` without a limit.
    fn left(&self) -> Option<u64> {
        let read = |name| fs::read_to_string(self.folder.join(name)).ok();
        let [limit, used] = self.files.map(|name| read(name)?.trim().parse::<u64>().ok());
        let stat = read("memory.stat").unwrap_or_default();
        let of_line =
            |line: &str| self.reclaimable.iter().find_map(|name| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        let reclaimable: u64 = stat.lines().filter_map(of_line).sum();
        Some(limit?.saturating_sub(used.unwrap_or(0).saturating_sub(reclaimable)))
    }
}

/// The control groups that limit our memory, from the lines of `/proc/self/cgroup` (`hierarchy:controllers:group`; those of version 2
/// have no controllers). A group is also bound by its parents; a container sees its own as the root.
fn memory_groups(groups: &str) -> Vec<MemoryGroup> {
    const V2: &[&str] = &["inactive_file ", "active_file ", "slab_reclaimable "];
    const V1: &[&str] = &["total_inactive_file ", "total_active_file "];
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let (root, files, reclaimable) = match controllers {
            "" => ("/sys/fs/cgroup", ["memory.max", "memory.current"], V2),
            _ if controllers.split(',').any(|name| name == "memory") => {
                let files = ["memory.limit_in_bytes", "memory.usage_in_bytes"];
                ("/sys/fs/cgroup/memory", files, V1)
            }
            _ => continue,
        };
        for group in Path::new(group.trim_start_matches('/')).ancestors() {
            found.push(MemoryGroup { folder: Path::new(root).join(group), files, reclaimable });
        }
    }
    found
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
        let folders = |groups| memory_groups(groups).into_iter().map(|group| group.folder).collect::<Vec<_>>();
        let unified = folders("0::/system.slice/flipside.service\n");
        let expected = ["system.slice/flipside.service/", "system.slice/", ""];
        assert_eq!(unified, expected.map(|group| PathBuf::from(format!("/sys/fs/cgroup/{group}"))));
        let separate = folders("4:memory:/job\n3:cpu,cpuacct:/job\n");
        assert_eq!(separate, ["job/", ""].map(|group| PathBuf::from(format!("/sys/fs/cgroup/memory/{group}"))));
    }

    #[test]
    fn what_a_group_uses_is_not_left_to_us() {
        let folder = tempfile::tempdir().unwrap();
        let mut groups = memory_groups("0::/\n4:memory:/\n");
        let left = |group: &mut MemoryGroup, limit: &str, used: &str, stat: &str| {
            group.folder = folder.path().to_owned();
            for (name, text) in group.files.into_iter().chain(["memory.stat"]).zip([limit, used, stat]) {
                fs::write(folder.path().join(name), text).unwrap();
            }
            group.left()
        };
        let stat = "anon 5\ninactive_file 120\nactive_file 80\ntotal_inactive_file 300\n";
        assert_eq!(left(&mut groups[0], "1000\n", "700\n", stat), Some(500));
        assert_eq!(left(&mut groups[0], "1000\n", "100\n", stat), Some(1000));
        assert_eq!(left(&mut groups[0], "1000\n", "1300\n", ""), Some(0));
        assert_eq!(left(&mut groups[0], "max\n", "700\n", stat), None);
        assert_eq!(left(&mut groups[1], "1000\n", "700\n", stat), Some(600));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_system_says_what_there_is() {
        assert!((1 << 20..1 << 50).contains(&available().unwrap()));
    }
}
