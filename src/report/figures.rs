//! The figures that a report shows of a run.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::log::RunLog;
use super::ratings::{Rating, ratings};
use super::status::{RunState, Status};
use crate::board::Position;
use crate::eval::{Accuracy, PatternEvaluator, accuracy, static_value, strongest_configurations};
use crate::games::{GamesReader, games_file};
use crate::train::{BEST, LAST, TrainError, TrainEvent, parent_of};
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
    /// The loss of each fit on the games that it held out.
    pub held_out: Vec<StageLoss>,
    /// The time of each phase.
    pub phases: Vec<PhaseTime>,
    /// The hash of the weights that the run began with, if any.
    pub parent: Option<String>,
    /// The best weights, if they can be read.
    pub weights: Option<Weights>,
    /// Why they cannot.
    pub weights_fault: Option<String>,
    /// The run's configuration as TOML.
    pub config: String,
    /// Builds of the program that went on with it: generations learned before, the build before, and the new one.
    pub builds: Vec<(u32, String, String)>,
    /// Generations after which its budget was used up, and it was given more.
    pub earlier_ends: Vec<u32>,
    /// Games of a generation that there was no time to finish, which its last fit learned.
    pub games_beyond: u64,
}

/// The loss of a fit on the games held out.
#[derive(Clone, Debug, Serialize)]
pub struct StageLoss {
    /// Generations played before.
    pub generation: u32,
    /// Hours of the run.
    pub hours: f64,
    /// Over all positions.
    pub all: Option<f64>,
    /// By number of empties, 0 to 60.
    pub by_empties: Vec<Option<f64>>,
    /// The slope of the line that best predicts the labels from the values, likewise; empty if it was not written.
    pub slopes: Vec<Option<f64>>,
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

/// The size of a phase, and wall-clock seconds for each kind of work.
#[derive(Clone, Copy, Default, Debug, Serialize)]
pub struct PhaseTime {
    /// Its number, from 1.
    pub phase: usize,
    /// Generations learned.
    pub generations: u32,
    /// Their games.
    pub games: u64,
    /// Their labelled positions.
    pub positions: u64,
    /// Playing, in the sessions in which its generations were learned.
    pub playing: f64,
    /// Games per second, of the generations that one session played from beginning to end.
    pub games_a_second: Option<f64>,
    /// Their positions per second.
    pub positions_a_second: Option<f64>,
    /// Learning.
    pub learning: f64,
    /// Fitting to all games.
    pub fitting: f64,
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
    /// By number of empties: the share of weights that are not zero.
    pub coverage: Vec<f64>,
    /// Against the results of kept games: number of empties, positions, root mean square error, slope.
    pub accuracy: Vec<(u32, usize, f64, Option<f64>)>,
    /// Against the same: predicted discs, rounded to even ones; mean result; positions.
    pub calibration: Vec<(i32, f64, usize)>,
    /// For each pattern the configuration with the largest weight by absolute value, at 24 empty squares. Patterns
    /// without any weight are left out.
    pub strongest: Vec<Board>,
}

/// A configuration of a pattern.
#[derive(Clone, Debug, Serialize)]
pub struct Board {
    /// The pattern.
    pub pattern: String,
    /// Its squares, a bit each (bit 0 is a1).
    pub squares: u64,
    /// Discs of the player to move, a bit each.
    pub player: u64,
    /// Discs of the opponent.
    pub opponent: u64,
    /// The weight in discs for the player.
    pub value: f64,
}

/// The number of empties whose configurations are shown.
pub const SHOWN_EMPTIES: u32 = 24;

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
        let ratings = ratings(&log.events);
        let status = Status::rated(&log, &ratings);
        let may_go_beyond = status.state == RunState::Finished && status.games_at_hand[0] > 0;
        let last = may_go_beyond.then(|| WeightFile::load(directory.join(LAST)).ok()).flatten();
        let mut figures = Self {
            games_beyond: last.map_or(0, |last| last.provenance.games.saturating_sub(status.games)),
            status,
            ratings,
            losses: Vec::new(),
            validation: Vec::new(),
            held_out: Vec::new(),
            phases: (1..=log.config.phases.len()).map(|phase| PhaseTime { phase, ..PhaseTime::default() }).collect(),
            weights_fault: weights.as_ref().err().cloned(),
            weights: weights.ok(),
            config: log.config.to_toml(),
            parent: parent_of(directory)?,
            builds: Vec::new(),
            earlier_ends: Vec::new(),
        };
        figures.collect(&log);
        figures.time_phases(&log);
        figures.earlier_ends.dedup();
        figures.earlier_ends.retain(|end| *end < log.generation());
        figures.phases.retain(|phase| phase.generations > 0);
        thin(&mut figures.validation, VALIDATED);
        Ok(figures)
    }

    /// Collects what was measured and changed, in order.
    fn collect(&mut self, log: &RunLog) {
        let mut elapsed = 0.0;
        for event in &log.events {
            elapsed = event.elapsed_after(elapsed);
            let hours = elapsed / 3600.0;
            match event {
                TrainEvent::End { generation, finished: true, .. } => self.earlier_ends.push(*generation),
                TrainEvent::OtherBuild { generation, before, now } => {
                    self.builds.push((*generation, before.clone(), now.clone()));
                }
                TrainEvent::Learned { generation, loss, errors_by_empties, slopes_by_empties, .. } => {
                    self.losses.push((generation + 1, hours, *loss));
                    if !errors_by_empties.is_empty() {
                        let at = |values: &[Option<f64>]| SOME_EMPTIES.map(|empties| *values.get(empties)?);
                        self.validation.push(Validated {
                            generation: generation + 1,
                            hours,
                            errors: at(errors_by_empties),
                            slopes: at(slopes_by_empties),
                        });
                    }
                }
                TrainEvent::Fitted { generation, held_out, held_out_by_empties, slopes_by_empties, .. } => {
                    self.held_out.push(StageLoss {
                        generation: *generation,
                        hours,
                        all: *held_out,
                        by_empties: held_out_by_empties.clone(),
                        slopes: slopes_by_empties.clone(),
                    });
                }
                _ => {}
            }
        }
    }

    /// Counts what was done in each phase, and how long it took.
    fn time_phases(&mut self, log: &RunLog) {
        let phase = |generation: u32| log.config.phase_number(generation);
        let (mut games_before, mut positions_before) = (0, 0);
        // By phase, games, positions and seconds of the generations that were played in one session.
        let (mut timed, mut is_whole) = (vec![(0, 0, 0.0); self.phases.len()], true);
        for event in &log.events {
            match event {
                TrainEvent::Start { resumed, .. } => is_whole = !resumed,
                TrainEvent::Learned { generation, games, positions, playing, seconds, .. } => {
                    let number = phase(*generation);
                    let phase = &mut self.phases[number];
                    let new_games = games.saturating_sub(games_before);
                    let new_positions = positions.saturating_sub(positions_before);
                    phase.generations += 1;
                    phase.games += new_games;
                    phase.positions += new_positions;
                    (games_before, positions_before) = (*games, *positions);
                    if std::mem::replace(&mut is_whole, true) {
                        let (games, positions, seconds) = &mut timed[number];
                        (*games, *positions, *seconds) =
                            (*games + new_games, *positions + new_positions, *seconds + playing);
                    }
                    phase.playing += playing;
                    phase.learning += seconds;
                }
                TrainEvent::Fitted { generation, seconds, .. } => {
                    self.phases[phase(generation.saturating_sub(1))].fitting += seconds;
                }
                TrainEvent::Gate { generation, seconds, .. } => self.phases[phase(*generation)].gates += seconds,
                _ => {}
            }
        }
        for (phase, (games, positions, seconds)) in self.phases.iter_mut().zip(timed) {
            let rate = |count: u64| (seconds > 0.0).then(|| count as f64 / seconds);
            (phase.games_a_second, phase.positions_a_second) = (rate(games), rate(positions));
        }
    }
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
        let file = WeightFile::load(path).map_err(|error| error.to_string())?;
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
        let stage = |empties| file.model.stages.of_empties(empties);
        let used =
            |weights: &Vec<i16>| weights.iter().filter(|&&weight| weight != 0).count() as f64 / weights.len() as f64;
        let shares: Vec<f64> = file.model.weights.iter().map(used).collect();
        let strongest = (0..file.model.set.patterns.len()).flat_map(|number| {
            let pattern = &file.model.set.patterns[number];
            let top = strongest_configurations(&file.model, evaluator.layout(), stage(SHOWN_EMPTIES), number, 1);
            top.into_iter().map(|found| Board {
                pattern: pattern.name.clone(),
                squares: pattern.mask(),
                player: found.discs.player,
                opponent: found.discs.opponent,
                value: found.value,
            })
        });
        Ok(Self {
            hash: file.hash(),
            program: file.provenance.build(),
            coverage: (0..=60).map(|empties| shares[stage(empties)]).collect(),
            accuracy: table.map_or(Vec::new(), |table| table.rows.into_iter().map(row).collect()),
            // Few positions say nothing.
            calibration: bins.into_iter().filter(|(_, (_, count))| *count >= 20).map(mean).collect(),
            strongest: strongest.collect(),
        })
    }
}

/// Labelled positions of the newest kept games, each with the game's result in discs for the player to move.
fn known_results(log: &RunLog) -> Vec<(Position, i32)> {
    let (mut known, mut games) = (Vec::new(), 0);
    for generation in (0..=log.generation()).rev() {
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
