//! What happens in a run, to be shown or kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::budget::Budget;
use crate::arena::MatchReport;

/// An event of a run. `metrics.jsonl` holds one per line, except those that are [only shown](Self::is_only_shown).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum TrainEvent {
    /// The run begins, or resumes after `generation` generations.
    Start {
        /// Generations learned before.
        generation: u32,
        /// Whether there was a checkpoint.
        resumed: bool,
        /// Threads in use.
        threads: usize,
        /// Pattern set.
        patterns: String,
        /// Weights of one stage.
        weights: usize,
        /// Games learned before.
        games: u64,
        /// Labelled positions of these.
        #[serde(default)]
        positions: u64,
        /// Generations learned after the checkpoint, to be learned again from their kept games.
        #[serde(default)]
        again: u32,
        /// Seconds the run has taken before.
        elapsed: f64,
        /// The budget, counted from the beginning of the run.
        #[serde(default)]
        budget: Budget,
        /// The time, in seconds since 1970; 0 in files of versions that did not write it.
        #[serde(default)]
        time: u64,
    },
    /// Another build of the program goes on with the run. What it plays and learns may differ from what the build before would have.
    OtherBuild {
        /// Generations learned before.
        generation: u32,
        /// The build before: program and commit.
        before: String,
        /// This build.
        now: String,
    },
    /// The newest checkpoint cannot be used; the run resumes from the one before it, and redoes what came after.
    FellBack {
        /// What is wrong with the newest.
        reason: String,
        /// Generations learned in the one before.
        generation: u32,
    },
    /// A file cannot be written at the moment; the run retries for some minutes.
    Waiting {
        /// The file.
        file: String,
        /// What the system said.
        reason: String,
    },
    /// A record cannot be learned; after the first twenty of a file they are only counted.
    BadRecord {
        /// The file.
        file: String,
        /// Where and why.
        reason: String,
    },
    /// The records of a file have their labels.
    Records {
        /// The file.
        file: String,
        /// Records it has.
        read: u64,
        /// Those that cannot be learned.
        left_out: u64,
    },
    /// A batch of games was played, or taken from the journal.
    Batch {
        /// The generation, from 0.
        generation: u32,
        /// Games of the generation so far.
        played: u32,
        /// Games the generation will have.
        games: u32,
        /// Labelled positions of this batch.
        positions: u64,
        /// Whether it came from the journal.
        replayed: bool,
        /// Seconds it took.
        seconds: f64,
    },
    /// Workers of a cluster have delivered games; all others of the generation were played by the run's own machine.
    Delivered {
        /// The generation, from 0.
        generation: u32,
        /// By worker, the numbers of the first and the last game of each range of games that it played.
        workers: BTreeMap<String, Vec<[u32; 2]>>,
    },
    /// There is nothing to learn: all games are of earlier generations than those to be learned.
    NothingToLearn {
        /// Generations played.
        generation: u32,
        /// The first generation that would be learned, from 0.
        since: u32,
    },
    /// A generation was played.
    Played {
        /// The generation, from 0.
        generation: u32,
        /// Root mean square error in discs, on some of its positions, of the weights that played it.
        loss: f64,
        /// The same by number of empties, 0 to 60.
        errors_by_empties: Vec<Option<f64>>,
        /// The slopes on the same positions; see [`Self::Learned`].
        slopes_by_empties: Vec<Option<f64>>,
        /// Games in all.
        games: u64,
        /// Labelled positions in all.
        positions: u64,
        /// Seconds this session played for it.
        playing: f64,
        /// Seconds the run has taken in all, earlier sessions included.
        elapsed: f64,
    },
    /// Games are being learned.
    Learning {
        /// Share of the work that is done.
        done: f64,
        /// Root mean square error in discs over the last whole epoch, each sample before it was learned; in the first, so far.
        loss: f64,
    },
    /// Games were learned.
    Learned {
        /// Generations played before.
        generation: u32,
        /// The step of the plan, from 1; 0 at the end of the run.
        step: u32,
        /// Games and records, those held out included.
        games: u64,
        /// Labelled positions of these.
        positions: u64,
        /// Sample updates.
        updates: u64,
        /// Root mean square error in discs of the last epoch, each sample before it was learned.
        loss: f64,
        /// The same after it on the games held out; `None` if there are none.
        held_out: Option<f64>,
        /// The same by number of empties, 0 to 60; `None` where there is no such position.
        held_out_by_empties: Vec<Option<f64>>,
        /// By number of empties, 0 to 60, the slope of the line that best predicts the labels of these games from the values.
        slopes_by_empties: Vec<Option<f64>>,
        /// Seconds it took.
        seconds: f64,
    },
    /// Strength is being measured.
    Gating {
        /// Pairs of games played.
        done: u32,
        /// Pairs of games in both matches.
        pairs: u32,
    },
    /// Strength was measured.
    Gate {
        /// The generation, from 0.
        generation: u32,
        /// Whether the weights were just learned on their own, and not from a generation as it came.
        fitted: bool,
        /// Against the best weights so far; `None` the first time in a run from nothing.
        best: Option<GateMatch>,
        /// A player that is the same in every run and at any time, and near.
        anchor: Anchor,
        /// Against the anchor.
        baseline: GateMatch,
        /// Pairs of the two matches in which these weights scored 0, 0.5, 1, 1.5 and 2 points.
        pairs: [[u64; 5]; 2],
        /// Whether these weights are the best now.
        promoted: bool,
        /// Seconds it took.
        seconds: f64,
    },
    /// A checkpoint was written.
    Checkpoint {
        /// Generations learned.
        generation: u32,
        /// Seconds it took.
        seconds: f64,
    },
    /// The run ends, for now or for good.
    End {
        /// Generations learned.
        generation: u32,
        /// Whether the budget is used up.
        finished: bool,
        /// Seconds the run has taken in all.
        elapsed: f64,
        /// Why it was stopped; none if it is finished.
        #[serde(default)]
        reason: Option<String>,
    },
}

/// What a line of `metrics.jsonl` ends with: the checksum (CRC-32) of the event before it.
const CHECK: &str = ",\"check\":\"";

fn checksum(text: &str) -> String {
    format!("{:08x}", crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(text.as_bytes()))
}

/// An event as a line of `metrics.jsonl`.
pub(super) fn line_of(event: &TrainEvent) -> String {
    let text = serde_json::to_string(event).expect("events are plain data");
    let open = text.strip_suffix('}').expect("an event is an object");
    format!("{open}{CHECK}{}\"}}\n", checksum(&text))
}

/// The number, from 1, of the first line of a `metrics.jsonl` that is not what was written; `None` if all are.
pub(crate) fn damaged_line(bytes: &[u8]) -> Option<usize> {
    let is_whole = |line: &[u8]| {
        let line = std::str::from_utf8(line).ok()?;
        let (open, check) = line.rsplit_once(CHECK)?;
        Some(check.strip_suffix("\"}")? == checksum(&format!("{open}}}")))
    };
    let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes).split(|&byte| byte == b'\n');
    if bytes.is_empty() { None } else { lines.map(is_whole).position(|whole| whole != Some(true)).map(|at| at + 1) }
}

/// The events in the bytes of a `metrics.jsonl`. Other lines are skipped: one that is being written, or that another version of the
/// program wrote.
pub(crate) fn events(bytes: &[u8]) -> impl Iterator<Item = TrainEvent> {
    bytes.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}

impl TrainEvent {
    /// Whether the event is only shown, and not kept in `metrics.jsonl`.
    pub fn is_only_shown(&self) -> bool {
        matches!(self, Self::Batch { .. } | Self::Learning { .. } | Self::Gating { .. } | Self::Waiting { .. })
    }

    /// The key of an event that happens once in a run, or again when a killed run is resumed.
    pub(crate) fn key(&self) -> Option<String> {
        match self {
            Self::BadRecord { file, reason } => Some(format!("bad {file} {reason}")),
            Self::OtherBuild { generation, before, now } => Some(format!("build {generation} {before} {now}")),
            Self::Records { file, .. } => Some(format!("records {file}")),
            Self::Played { generation, .. } => Some(format!("played {generation}")),
            Self::Learned { generation, step, games, loss, .. } => {
                Some(format!("learned {generation} {step} {games} {loss}"))
            }
            Self::NothingToLearn { generation, .. } => Some(format!("nothing to learn {generation}")),
            Self::Gate { generation, fitted, pairs, .. } => Some(format!("gate {generation} {fitted} {pairs:?}")),
            _ => None,
        }
    }

    /// Seconds that the run has taken in all, if the event has them.
    pub fn elapsed(&self) -> Option<f64> {
        match self {
            Self::Start { elapsed, .. } | Self::Played { elapsed, .. } | Self::End { elapsed, .. } => Some(*elapsed),
            _ => None,
        }
    }

    /// Seconds the run has taken when this happens, `before` of them when the event before it happened. Sessions begin and end with the
    /// time so far, that of fits which were stopped included.
    pub fn elapsed_after(&self, before: f64) -> f64 {
        match self {
            Self::Learned { seconds, .. } | Self::Gate { seconds, .. } => before + seconds,
            _ => self.elapsed().unwrap_or(before),
        }
    }
}

/// A player that gates measure runs against.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Anchor {
    /// The evaluation by mobility.
    Mobility,
    /// The embedded weights.
    Default,
}

/// The outcome of a match of the newest weights.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(from = "GateMatchRecord")]
pub struct GateMatch {
    /// Games won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games lost.
    pub losses: u64,
    /// Share of the points.
    pub score: f64,
    /// Elo difference, and its 95% interval. Infinite where all points went one way (`null` in JSON).
    pub elo: [f64; 3],
    /// Mean disc difference.
    pub discs: f64,
    /// Likelihood that these weights are the stronger ones, 0 to 1.
    pub superiority: f64,
}

/// A [`GateMatch`] as it is written: JSON has no infinite numbers.
#[derive(Deserialize)]
struct GateMatchRecord {
    wins: u64,
    draws: u64,
    losses: u64,
    score: f64,
    elo: [Option<f64>; 3],
    discs: f64,
    superiority: f64,
}

impl From<GateMatchRecord> for GateMatch {
    fn from(record: GateMatchRecord) -> Self {
        let GateMatchRecord { wins, draws, losses, score, elo, discs, superiority } = record;
        // The score decides the sign of an infinite value; an infinite end of the interval lies on its own side.
        let infinite = [f64::INFINITY.copysign(score - 0.5), f64::NEG_INFINITY, f64::INFINITY];
        let elo = std::array::from_fn(|i| elo[i].unwrap_or(infinite[i]));
        Self { wins, draws, losses, score, elo, discs, superiority }
    }
}

impl GateMatch {
    pub(super) fn of(report: &MatchReport) -> Self {
        let tally = &report.tally;
        Self {
            wins: tally.wins,
            draws: tally.draws,
            losses: tally.losses,
            score: tally.score(),
            elo: tally.elo().into(),
            discs: tally.discs().value,
            superiority: tally.superiority(),
        }
    }
}
