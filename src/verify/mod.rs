//! Proof of a run afterwards: it is learned again from its kept games, a share of which is played again.
//!
//! A second run with the same configuration trains in a scratch folder. Its games come from the first run's files instead of being
//! played, so it must come to the same weights. Games that are missing or damaged are played, as they should have been.

mod kept;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde::Serialize;

use self::kept::KeptGames;
use crate::storage::FileError;
use crate::train::{
    Budget, CHECKPOINTS, Outcome, Sink, StoredRun, TrainError, TrainEvent, TrainRequest, text_of, train,
};
use crate::weights::WeightFile;

/// A run to prove.
#[derive(Clone, Copy, Debug)]
pub struct VerifyRequest<'r> {
    /// Its directory. Nothing in it is changed.
    pub run: &'r Path,
    /// The share of each generation's frames that is played again, 0 to 1; at least one frame if it is above 0.
    pub share: f64,
    /// Decides which.
    pub seed: u64,
    /// The weights that the run began with, if it did not begin from nothing.
    pub from: Option<&'r WeightFile>,
    /// Set to stop soon.
    pub stop: &'r AtomicBool,
}

/// What was found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Verified {
    /// Games that the run learned from.
    pub games: u64,
    /// Games that were played again.
    pub replayed: u64,
    /// What is not as it should be.
    pub faults: Vec<Fault>,
}

/// Something of a run that is not as it should be.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Fault {
    /// The file.
    pub file: PathBuf,
    /// The number of the first of the games that are wrong, if it is a file of games.
    pub first: Option<u32>,
    /// The number of the last.
    pub last: Option<u32>,
    /// Which worker played them, if the run's events say so.
    pub worker: Option<String>,
    /// What is wrong.
    pub reason: String,
}

impl Fault {
    fn of_file(file: PathBuf, reason: String) -> Self {
        Self { file, first: None, last: None, worker: None, reason }
    }
}

/// Learns a run again from its kept games, and plays a share of them again. `None` if it was stopped. The sink gets the events of the run
/// in the scratch folder.
///
/// # Errors
/// The run, or the scratch folder, cannot be read or written; the run cannot be learned again.
pub fn verify(request: &VerifyRequest, sink: Sink) -> Result<Option<Verified>, TrainError> {
    let &VerifyRequest { run, from, stop, .. } = request;
    let StoredRun { mut config, set, parent, continues, before } = StoredRun::read(run)?;
    if config.pattern_set().ok() != Some(set) {
        // Its file is gone, or has another content now.
        config.patterns = text_of(run)?.to_owned();
    }
    let kept = KeptGames::of(request, &config)?;
    let scratch = tempfile::tempdir().map_err(FileError::io(&std::env::temp_dir()))?;
    let directory = scratch.path().join("run");
    let mut ends = kept.ends().into_iter();
    let mut end = ends.next();
    loop {
        let generations = end.map(|generation| generation.saturating_sub(before.0));
        let of_scratch = TrainRequest {
            budget: Budget { generations, ..Budget::default() },
            from,
            continues: continues.last().map(PathBuf::as_path),
            games: &kept,
            ..TrainRequest::new(&config, &directory, stop)
        };
        let mut begins_as_it_did = true;
        let outcome = train(&of_scratch, &mut |event| {
            if matches!(event, TrainEvent::Start { .. }) {
                begins_as_it_did = StoredRun::read(&directory)
                    .is_ok_and(|begun| (begun.parent, begun.before) == (parent.clone(), before));
                stop.fetch_or(!begins_as_it_did, Relaxed);
            }
            kept.follow(event, &directory);
            sink(event);
        })?;
        if let Some(older) = continues.last().filter(|_| !begins_as_it_did) {
            let reason =
                format!("this run has gone on since `{}` continued it, from a state that is gone", run.display());
            return Err(TrainError::Damaged { path: older.join(CHECKPOINTS[0]), reason });
        }
        let is_over = kept.is_over.load(Relaxed);
        if outcome == Outcome::Stopped && !is_over {
            return Ok(None);
        }
        kept.meet_files(&directory);
        let has_ended_within = kept.has_ended_within.swap(false, Relaxed);
        if is_over || end.is_none() && !has_ended_within {
            stop.store(false, Relaxed);
            return Ok(Some(kept.found()));
        }
        if !has_ended_within {
            end = ends.next();
        }
    }
}
