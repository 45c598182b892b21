//! Disks that fail for a while, or for good.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;
use std::{fs, io};

use flipside::storage::{Disk, FileError};
use flipside::train::{Budget, Outcome, TrainError, TrainEvent, TrainRequest, train};

use crate::support::*;

const EIO: i32 = 5;
const EACCES: i32 = 13;
const ENOSPC: i32 = 28;

#[test]
fn temporary_errors_are_waited_for_and_change_nothing() {
    let config = tiny();
    let directory = tempfile::tempdir().unwrap();
    let steps = AtomicU32::new(0);
    // Of every ten steps, four in a row fail.
    let disk = FailingDisk::new(|step, _| match steps.fetch_add(1, Relaxed) % 10 {
        2..6 => Some(if step == Step::Append { ENOSPC } else { EIO }),
        _ => None,
    });
    let stop = AtomicBool::new(false);
    let (mut waits, mut kept) = (0, 0);
    let request = TrainRequest { disk: &disk, ..request(&config, directory.path(), &stop) };
    let outcome = train(&request, &mut |event| match event {
        TrainEvent::Waiting { .. } => waits += 1,
        event => kept += usize::from(!event.is_only_shown()),
    });
    assert_eq!(outcome.unwrap(), Outcome::Finished);
    assert_eq!(weights(directory.path()), undisturbed(&config, 2));
    // Once for each failure, not for each attempt: pauses of 1, 2, 4 and 8 seconds each time.
    assert!(waits >= 3, "{waits}");
    assert_eq!(*disk.waited.lock().unwrap(), Duration::from_secs(15 * waits));
    let metrics = std::fs::read_to_string(directory.path().join("metrics.jsonl")).unwrap();
    assert_eq!(metrics.lines().count(), kept);
    assert!(metrics.lines().all(|line| serde_json::from_str::<TrainEvent>(line).is_ok()), "{metrics}");
}

#[test]
fn a_disk_that_stays_full_ends_the_run_whole() {
    let config = tiny();
    let expected = undisturbed(&config, 2);
    // Full from the first, tenth, ... step on.
    for good in (1..60).step_by(9) {
        let directory = tempfile::tempdir().unwrap();
        let steps = AtomicU32::new(0);
        let disk = FailingDisk::new(|_, _| (steps.fetch_add(1, Relaxed) >= good).then_some(ENOSPC));
        let stop = AtomicBool::new(false);
        let request = request(&config, directory.path(), &stop);
        let error = match train(&TrainRequest { disk: &disk, ..request }, &mut |_| ()) {
            Err(error) => error,
            // The run takes fewer steps.
            Ok(outcome) => {
                assert!(outcome == Outcome::Finished && good > 20, "{good}");
                continue;
            }
        };
        assert!(matches!(error, TrainError::OutOfPatience { minutes: 5, .. }), "{good}: {error}");
        assert!(*disk.waited.lock().unwrap() >= Duration::from_secs(300));
        assert_eq!(train(&request, &mut |_| ()).unwrap(), Outcome::Finished);
        assert_eq!(weights(directory.path()), expected, "{good}");
    }
}

/// A disk that once, when it should sync, loses what was not yet written. It says that it wrote the file again or, if it `fails`, that it
/// could not, and the next time that all is well.
struct LosingDisk {
    has_lost: AtomicBool,
    fails: bool,
}

impl Disk for LosingDisk {
    fn sync(&self, path: &Path) -> io::Result<bool> {
        if self.has_lost.swap(true, Relaxed) {
            return Ok(false);
        }
        let mut bytes = fs::read(path)?;
        let half = bytes.len() / 2;
        bytes[half..].fill(0);
        fs::write(path, bytes)?;
        if self.fails { Err(io::Error::from_raw_os_error(EIO)) } else { Ok(true) }
    }

    fn pause(&self, _: Duration) {}
}

#[test]
fn games_that_the_system_loses_are_played_again() {
    let config = tiny();
    for fails in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let request = request(&config, directory.path(), &stop);
        let disk = LosingDisk { has_lost: AtomicBool::new(false), fails };
        let error = train(&TrainRequest { disk: &disk, ..request }, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains("00000000.fsg") && error.contains("lost a part of it"), "{error}");
        assert_eq!(train(&request, &mut |_| ()).unwrap(), Outcome::Finished);
        assert_eq!(weights(directory.path()), undisturbed(&config, 2));
    }
}

#[test]
fn games_that_somebody_removes_are_played_again() {
    let config = tiny();
    for change in [|path: &Path| fs::remove_file(path).unwrap(), |path: &Path| fs::write(path, "").unwrap()] {
        let directory = tempfile::tempdir().unwrap();
        let journal = directory.path().join("games/00000001.fsg");
        let is_changed = std::sync::atomic::AtomicBool::new(false);
        let disk = FailingDisk::new(|step, path| {
            if step == Step::Append && path == journal && journal.exists() && !is_changed.swap(true, Relaxed) {
                change(&journal);
            }
            None
        });
        let stop = AtomicBool::new(false);
        let request = request(&config, directory.path(), &stop);
        let error = train(&TrainRequest { disk: &disk, ..request }, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains("00000001.fsg") && error.contains("can be played again"), "{error}");
        // It ended by an error, which is not a kill.
        let metrics = fs::read_to_string(directory.path().join("metrics.jsonl")).unwrap();
        assert!(metrics.lines().last().unwrap().contains(r#""event":"end""#), "{metrics}");
        assert_eq!(train(&request, &mut |_| ()).unwrap(), Outcome::Finished);
        assert_eq!(weights(directory.path()), undisturbed(&config, 2));
    }
}

#[test]
fn missing_permissions_are_reported_at_once() {
    let config = tiny();
    let directory = tempfile::tempdir().unwrap();
    let disk = FailingDisk::new(|step, _| (step == Step::Append).then_some(EACCES));
    let stop = AtomicBool::new(false);
    let request = request(&config, directory.path(), &stop);
    let error = train(&TrainRequest { disk: &disk, ..request }, &mut |_| ()).unwrap_err();
    assert!(
        matches!(&error, TrainError::File(FileError::Io { path, .. }) if path.ends_with("metrics.jsonl")),
        "{error}"
    );
    assert_eq!(*disk.waited.lock().unwrap(), Duration::ZERO);
    train(&request, &mut |_| ()).unwrap();
    assert_eq!(weights(directory.path()), undisturbed(&config, 2));
}

#[test]
fn a_run_that_waits_for_its_disk_can_be_stopped() {
    let config = tiny();
    let directory = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let request = request(&config, directory.path(), &stop);
    let disk = FailingDisk::new(|_, path| path.extension().is_some_and(|fsg| fsg == "fsg").then_some(EIO));
    let outcome = train(&TrainRequest { disk: &disk, ..request }, &mut |event| {
        stop.fetch_or(matches!(event, TrainEvent::Waiting { .. }), Relaxed);
    });
    assert_eq!(outcome.unwrap(), Outcome::Stopped);
    assert_eq!(*disk.waited.lock().unwrap(), Duration::ZERO);
    stop.store(false, Relaxed);
    assert_eq!(train(&request, &mut |_| ()).unwrap(), Outcome::Finished);
    assert_eq!(weights(directory.path()), undisturbed(&config, 2));
}

#[test]
fn a_disk_without_room_for_the_run_is_refused_before_it_begins() {
    let config = tiny();
    let (folder, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
    let directory = folder.path().join("run");
    let request = request(&config, &directory, &stop);
    // The games of a million generations of 200 games take some 30 GB, the rest a few megabytes.
    let budget = Budget { generations: Some(1_000_000), ..Budget::default() };
    let disk = FailingDisk { room: 20_000_000_000, ..FailingDisk::new(|_, _| None) };
    let error = train(&TrainRequest { disk: &disk, budget, ..request }, &mut |_| ()).unwrap_err();
    let TrainError::NoRoom { needed, room, .. } = error else { panic!("{error}") };
    assert!(room == 20_000_000_000 && (25_000_000_000..40_000_000_000).contains(&needed), "{needed}");
    assert!(!directory.exists());
    let budget = Budget { games: Some(u64::MAX), ..Budget::default() };
    assert!(matches!(
        train(&TrainRequest { disk: &disk, budget, ..request }, &mut |_| ()),
        Err(TrainError::NoRoom { .. })
    ));

    let disk = FailingDisk { room: 100_000, ..disk };
    let error = train(&TrainRequest { disk: &disk, ..request }, &mut |_| ()).unwrap_err();
    assert!(matches!(error, TrainError::NoRoom { .. }), "{error}");
    let disk = FailingDisk { room: 100_000_000, ..disk };
    train(&TrainRequest { disk: &disk, ..request }, &mut |_| ()).unwrap();
}
