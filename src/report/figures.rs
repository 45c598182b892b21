//! The figures that a report shows of a run.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::history::Learned;
use super::log::RunLog;
use super::ratings::Rating;
use super::status::Status;
use crate::board::Position;
use crate::eval::{Accuracy, PatternEvaluator, accuracy, static_value};
use crate::games::{GamesReader, games_file};
use crate::train::{BEST, TrainError};
use crate::weights::WeightFile;

/// All figures of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Its status.
    pub status: Status,
    /// Its gates.
    pub ratings: Vec<Rating>,
    /// By generation: number from 1, hours of the run, and root mean square error in discs before it was learned.
    pub losses: Vec<(u32, f64, f64)>,
    /// How well the weights predicted new games, over time, in some of the generations.
    pub validation: Vec<Validated>,
    /// What was learned with games held out, and the loss on these.
    pub held_out: Vec<Learned>,
    /// The time of each step of the plan.
    pub steps: Vec<StepTime>,
    /// The hash of the weights that the run began with, if any.
    pub parent: Option<String>,
    /// The directory of the run that it continues, if any.
    pub continues: Option<String>,
    /// Generations played by the run itself.
    pub own_generations: u32,
    /// The best weights, if they can be read.
    pub weights: Option<Weights>,
    /// Why they cannot.
    pub weights_fault: Option<String>,
    /// The run's configuration as TOML.
    pub config: String,
}

/// The numbers of empties shown in plots over time.
pub const SOME_EMPTIES: [usize; 5] = [8, 16, 24, 36, 48];

/// How well weights predicted the labels of a generation that they had not learned.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Validated {
    /// The generation, from 1.
    pub generation: u32,
    /// Hours of the run.
    pub hours: f64,
    /// Root mean square error in discs, at [`SOME_EMPTIES`].
    pub errors: [Option<f64>; SOME_EMPTIES.len()],
    /// The slope of the line that best predicts the labels from the values, likewise.
    pub slopes: [Option<f64>; SOME_EMPTIES.len()],
}

/// The size of a step of the plan, and wall-clock seconds for each kind of work.
#[derive(Clone, Copy, Default, Debug, Serialize)]
pub struct StepTime {
    /// Its number, from 1.
    pub step: usize,
    /// Hours of the run when it began.
    pub hours: f64,
    /// Generations played.
    pub generations: u32,
    /// Their games.
    pub games: u64,
    /// Their labelled positions.
    pub positions: u64,
    /// Playing, in the sessions that ended its generations.
    pub playing: f64,
    /// Games per second, of the generations that one session played from beginning to end.
    pub games_a_second: Option<f64>,
    /// Their positions per second.
    pub positions_a_second: Option<f64>,
    /// Learning; what is learned at the end of the run counts for the step in which it ends.
    pub learning: f64,
    /// Matches.
    pub gates: f64,
}

/// What a report says about a weight file.
#[derive(Clone, Debug, Serialize)]
pub struct Weights {
    /// See [`WeightFile::hash`].
    pub hash: String,
    /// The program that made it, and its commit.
    pub program: String,
    /// Against the results of kept games: number of empties, positions, root mean square error, slope.
    pub accuracy: Vec<(u32, usize, f64, Option<f64>)>,
    /// Against the same: predicted discs, rounded to even ones; mean result; positions.
    pub calibration: Vec<(i32, f64, usize)>,
}

/// Generations whose validation is shown.
const VALIDATED: usize = 300;

/// Games whose results the best weights are compared with.
const GAMES: usize = 2000;

impl Figures {
    /// The figures of the run in a directory.
    ///
    /// # Errors
    /// No run, or files that cannot be read.
    pub fn of(directory: &Path) -> Result<Self, TrainError> {
        let log = RunLog::read(directory)?;
        let weights = Weights::of(&directory.join(BEST), &log);
        let (status, history) = (Status::of(&log), &log.history);
        let at = |values: &[Option<f64>]| SOME_EMPTIES.map(|empties| *values.get(empties)?);
        let validated = history.played.iter().filter(|played| !played.errors.is_empty()).map(|played| Validated {
            generation: played.generation,
            hours: played.hours,
            errors: at(&played.errors),
            slopes: at(&played.slopes),
        });
        let mut validation: Vec<_> = validated.collect();
        thin(&mut validation, VALIDATED);
        Ok(Self {
            status,
            ratings: history.gates(),
            losses: history.played.iter().map(|played| (played.generation, played.hours, played.loss)).collect(),
            validation,
            held_out: history.learned.iter().filter(|learned| learned.all.is_some()).cloned().collect(),
            steps: steps(&log),
            weights_fault: weights.as_ref().err().cloned(),
            weights: weights.ok(),
            config: log.config.to_toml(),
            parent: log.parent.clone(),
            continues: log.continues.as_ref().map(|older| older.display().to_string()),
            own_generations: history.generations.saturating_sub(log.before.0),
        })
    }

    /// Where steps begin, and what was learned at their ends: hours of the run, and a word.
    pub(super) fn marks(&self) -> Vec<(f64, String)> {
        let steps = self.steps.iter().skip(1).map(|step| (step.hours, format!("step {}", step.step)));
        // More would hide the lines.
        let learned = if self.held_out.len() <= 8 { &self.held_out[..] } else { &[] };
        steps.chain(learned.iter().map(|learned| (learned.hours, "learned".to_owned()))).collect()
    }
}

/// What was done in each step, and how long it took. A gate counts for the step that played last.
fn steps(log: &RunLog) -> Vec<StepTime> {
    let number = |generation: u32| log.config.step_number(generation.saturating_sub(1));
    let count = log.config.steps.len();
    let mut steps: Vec<_> = (1..=count).map(|step| StepTime { step, ..StepTime::default() }).collect();
    // By step, games, positions and seconds of the generations that were played in one session.
    let mut timed = vec![(0, 0, 0.0); count];
    let mut before = 0.0;
    for played in &log.history.played {
        let number = number(played.generation);
        let step = &mut steps[number];
        if step.generations == 0 {
            step.hours = before;
        }
        before = played.hours;
        step.generations += 1;
        step.games += played.games;
        step.positions += played.positions;
        step.playing += played.playing;
        if played.is_whole {
            let (games, positions, seconds) = timed[number];
            timed[number] = (games + played.games, positions + played.positions, seconds + played.playing);
        }
    }
    for learned in &log.history.learned {
        let of_plan = (learned.step as usize).checked_sub(1).filter(|&step| step < count);
        steps[of_plan.unwrap_or_else(|| number(learned.generation))].learning += learned.seconds;
    }
    log.history.gates().iter().for_each(|gate| steps[number(gate.generation)].gates += gate.seconds);
    for (step, (games, positions, seconds)) in steps.iter_mut().zip(timed) {
        let rate = |count: u64| (seconds > 0.0).then(|| count as f64 / seconds);
        (step.games_a_second, step.positions_a_second) = (rate(games), rate(positions));
    }
    steps.retain(|step| step.generations > 0 || step.learning + step.gates > 0.0);
    steps
}

/// Keeps at most `most` values, evenly spread, with the last.
fn thin<T>(values: &mut Vec<T>, most: usize) {
    let (count, every) = (values.len(), values.len().div_ceil(most).max(1));
    let mut number = 0;
    values.retain(|_| {
        number += 1;
        (count - number).is_multiple_of(every)
    });
}

impl Weights {
    fn of(path: &Path, log: &RunLog) -> Result<Self, String> {
        let (file, hash) = WeightFile::load_with_hash(path).map_err(|error| error.to_string())?;
        let fault = |error| format!("{}: {error}", path.display());
        let evaluator = PatternEvaluator::new(&file.model).map_err(fault)?;
        let known = known_results(log);
        let row = |(empties, row): (u32, Accuracy)| (empties, row.positions, row.rmse, row.slope);
        let table = accuracy(&evaluator, known.iter().copied());
        let mut bins: BTreeMap<i32, (f64, usize)> = BTreeMap::new();
        for (position, result) in &known {
            let predicted = static_value(&evaluator, position).discs();
            let bin = bins.entry(2 * (predicted / 2.0).round() as i32).or_default();
            *bin = (bin.0 + f64::from(*result), bin.1 + 1);
        }
        let mean = |(discs, (sum, count)): (i32, (f64, usize))| (discs, sum / count as f64, count);
        Ok(Self {
            hash,
            program: file.provenance.build(),
            accuracy: table.map_or(Vec::new(), |table| table.rows.into_iter().map(row).collect()),
            // Few positions say nothing.
            calibration: bins.into_iter().filter(|(_, (_, count))| *count >= 20).map(mean).collect(),
        })
    }
}

/// Labelled positions of the newest kept games, each with the game's result in discs for the player to move.
fn known_results(log: &RunLog) -> Vec<(Position, i32)> {
    let (mut known, mut games) = (Vec::new(), 0);
    for generation in (0..=log.history.generations).rev() {
        let Ok(mut reader) = GamesReader::open(games_file(&log.directory, generation)) else { continue };
        while let Ok(Some(raw)) = reader.next_frame() {
            let Ok(new) = raw.decode() else { break };
            for game in &new {
                let replay = game.replay();
                let Some(last) = replay.plies.last().map(|ply| ply.side) else { continue };
                let result = replay.result.discs().round() as i32;
                let for_side = |side| if side == last { result } else { -result };
                known.extend(replay.plies.iter().map(|ply| (ply.position, for_side(ply.side))));
            }
            games += new.len();
            if games >= GAMES {
                return known;
            }
        }
    }
    known
}
