//! What happens in a run, for whoever wants to show or keep it.

use serde::Serialize;

use crate::arena::MatchReport;

/// An event of a run. `metrics.jsonl` holds one a line.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum TrainEvent {
    /// The run begins, or goes on after `generation` generations.
    Start {
        /// Generations learned before.
        generation: u32,
        /// Whether there was a checkpoint.
        resumed: bool,
        /// Threads at work.
        threads: usize,
        /// Pattern set.
        patterns: String,
        /// Weights of one stage.
        weights: usize,
        /// Sum of the Elo gained by all promotions before; none before the first gate.
        elo: Option<f64>,
    },
    /// A new run cannot learn from a record; after the first twenty of a file they are only counted.
    BadRecord {
        /// The file.
        file: String,
        /// Where and why.
        reason: String,
    },
    /// A new run has learned a file of records.
    Records {
        /// The file.
        file: String,
        /// Records it has.
        read: u64,
        /// Those that could not be learned from.
        left_out: u64,
        /// Labelled positions.
        positions: u64,
        /// Root mean square error in discs, each position before it was learned.
        loss: f64,
        /// Seconds it took.
        seconds: f64,
    },
    /// A batch of games was played, or taken from the journal.
    Batch {
        /// The generation, from 0.
        generation: u32,
        /// Games of the generation so far, and in all.
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
    /// A generation was learned.
    Learned {
        /// The generation, from 0.
        generation: u32,
        /// Root mean square error in discs on the newest samples, each before it was learned.
        loss: f64,
        /// Games in all.
        games: u64,
        /// Labelled positions in all.
        positions: u64,
        /// Sample updates of this generation.
        updates: u64,
        /// Seconds learning took.
        seconds: f64,
        /// Seconds the run has taken in all, earlier sessions included.
        elapsed: f64,
    },
    /// Strength was measured.
    Gate {
        /// The generation, from 0.
        generation: u32,
        /// Against the best weights so far; none the first time.
        best: Option<GateMatch>,
        /// Against the built-in `mobility`.
        baseline: GateMatch,
        /// Whether these weights are the best now.
        promoted: bool,
        /// Sum of the Elo gained by all promotions.
        elo: f64,
        /// Seconds it took.
        seconds: f64,
    },
    /// A point to resume from was written.
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
    },
}

/// The outcome of a match of the newest weights.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
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
}

impl GateMatch {
    pub(super) fn of(report: &MatchReport) -> Self {
        let tally = &report.tally;
        let elo = tally.elo();
        Self {
            wins: tally.wins,
            draws: tally.draws,
            losses: tally.losses,
            score: tally.score(),
            elo: [elo.value, elo.low, elo.high],
            discs: tally.discs().0,
        }
    }
}
