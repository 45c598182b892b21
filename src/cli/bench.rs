//! `flipside bench`.

use std::hint::black_box;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::error::CliError;
use super::evaluator::{AnyEvaluator, WeightsArgument};
use super::results::{FormatArgument, Results};
use super::session::Session;
use flipside::board::{Position, perft};
use flipside::eval::StageMap;
use flipside::learn::{Learner, SampleSet, StepRule, lambda_returns};
use flipside::pattern::{Layout, PatternSet};
use flipside::record::lines::parse_positions;
use flipside::search::{EndgameSolver, Searcher, Strength};
use flipside::selfplay::{GameRecord, SelfPlay, SelfPlayConfig};
use flipside::text::counted;

/// Measure the engine's speed; the node count is a signature of its searches
///
/// Prints a table: section, what was counted, the count, seconds and counts per second (medians of the rounds), the
/// spread of the rate (largest minus smallest, as a share of the median), and the count in the time that one thread takes for a million
/// perft leaves, for comparing machines. The last line totals the nodes of perft, midgame and endgame: a change that is not meant to
/// affect the search must leave it as it is. Perft, midgame and endgame use one thread, self-play and learning all (--threads).
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside bench --threads 1 --section midgame,endgame12")]
pub struct BenchArguments {
    #[command(flatten)]
    weights: WeightsArgument,

    /// Measure only these sections
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SECTION")]
    section: Vec<Section>,

    /// Measurements of each section
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,

    #[command(flatten)]
    format: FormatArgument,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Section {
    /// Perft to depth 10
    Perft,
    /// Searches of 40 human positions to depth 10
    Midgame,
    /// Exact solves from 12 empty squares
    Endgame12,
    /// Exact solves from 16 empty squares
    Endgame16,
    /// Games at depth 4, solved from 12 empty squares on
    Selfplay,
    /// Passes over the samples of these games, with the steps of a fit
    Learning,
}

const PERFT_DEPTH: u32 = 10;
const MIDGAME: &str = include_str!("../../data/bench/midgame.txt");
const MIDGAME_DEPTH: u32 = 10;
const MIDGAME_LOG2_TABLE: u32 = 18;
const SOLVER_LOG2_TABLE: u32 = 16;
const GAMES: u32 = 2000;
/// Positions of each endgame section.
const ENDGAMES: [(Section, u32, usize); 2] = [(Section::Endgame12, 12, 1000), (Section::Endgame16, 16, 50)];
const SELF_PLAY: SelfPlayConfig = SelfPlayConfig::new(Strength::new(4, 12), 20, 0.02);
const PASSES: usize = 4;

impl BenchArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let evaluator = self.weights.choice().load()?;
        let results = self.format.to(out);
        let mut bench = Bench { rounds: self.rounds, results, perft_rate: perft_rate(), nodes: 0, seconds: 0.0 };
        let asked = |section: Section| self.section.is_empty() || self.section.contains(&section);
        let (rounds, threads) = (counted(self.rounds.into(), "round"), counted(session.threads as u64, "thread"));
        session.say(format_args!("{rounds}, {threads}"));
        if asked(Section::Perft) {
            bench.nodes("perft", || perft(black_box(Position::START), PERFT_DEPTH))?;
        }
        with_games(&evaluator, &mut bench, asked)?;
        let Bench { nodes, seconds, mut results, .. } = bench;
        let rate = rate(nodes, seconds);
        if results.is_json() {
            return results.row(&Signature { nodes, seconds, rate });
        }
        // As others read it: OpenBench and its like.
        Ok(writeln!(out, "{nodes} nodes {seconds:.3} seconds {rate:.0} nodes/s")?)
    }
}

/// The sections that need an evaluator. Self-play's games give the positions of the endgame and learning sections.
fn with_games(evaluator: &AnyEvaluator, bench: &mut Bench, asked: impl Fn(Section) -> bool) -> Result<(), CliError> {
    if asked(Section::Midgame) {
        let positions = parse_positions(MIDGAME).expect("the positions are tested");
        let mut searcher = Searcher::new(evaluator, MIDGAME_LOG2_TABLE);
        let mut search = |position: &Position| {
            searcher.forget();
            searcher.search(position, MIDGAME_DEPTH).nodes
        };
        bench.nodes("midgame", || positions.iter().map(|scored| search(&scored.diagram.position)).sum())?;
    }
    let players = SelfPlay::new(evaluator, SELF_PLAY);
    let play = || players.play_games(1, 0, 0, GAMES, &AtomicBool::new(false)).expect("nothing stops these games");
    let mut games = Vec::new();
    if asked(Section::Selfplay) {
        bench.measure("selfplay", "positions", || {
            games = play();
            games.iter().map(|game| game.labels().len() as u64).sum()
        })?;
    } else if asked(Section::Learning) || ENDGAMES.iter().any(|&(section, ..)| asked(section)) {
        games = play();
    }
    for (section, empties, max) in ENDGAMES {
        if asked(section) {
            solve(evaluator, bench, &games, empties, max)?;
        }
    }
    if asked(Section::Learning) { learn(bench, &games) } else { Ok(()) }
}

fn solve(
    evaluator: &AnyEvaluator,
    bench: &mut Bench,
    games: &[GameRecord],
    empties: u32,
    max: usize,
) -> Result<(), CliError> {
    let plies = games.iter().flat_map(|game| game.replay().plies).map(|ply| ply.position);
    let positions: Vec<_> = plies.filter(|position| position.empties() == empties).take(max).collect();
    let mut solver = EndgameSolver::with_evaluator(evaluator, SOLVER_LOG2_TABLE);
    let mut solve = |position: &Position| {
        solver.forget();
        solver.solve(*position, -64, 64).nodes
    };
    let section = format!("endgame{empties}");
    let seconds = bench.nodes(&section, || positions.iter().map(&mut solve).sum())?;
    bench.line(&section, "solves", positions.len() as u64, &seconds)
}

fn learn(bench: &mut Bench, games: &[GameRecord]) -> Result<(), CliError> {
    let set = PatternSet::built_in("classic").expect("a built-in set");
    let layout = Arc::new(Layout::new(&set).expect("built-in sets have a layout"));
    let mut samples = SampleSet::default();
    games.iter().flat_map(|game| lambda_returns(&game.replay(), 0.9)).for_each(|sample| samples.push(sample));
    let mut learner = Learner::new(layout, StageMap::uniform(2), StepRule::default());
    bench.measure("learning", "updates", || {
        (0..PASSES)
            .map(|_| learner.pass(&samples, 1.0).expect("a few passes over real games do not diverge").samples)
            .sum()
    })?;
    Ok(())
}

/// What a section took.
#[derive(Serialize)]
struct Row<'s> {
    section: &'s str,
    counted: &'s str,
    count: u64,
    seconds: f64,
    rate: f64,
    /// The largest minus the smallest rate, as a share of the median.
    spread: f64,
    /// The count in the time of a million perft leaves.
    per_million_perft: f64,
}

/// The node counts of perft, midgame and endgame together.
#[derive(Serialize)]
struct Signature {
    nodes: u64,
    seconds: f64,
    rate: f64,
}

/// The table as it is written, and the sums of its node counts.
struct Bench<'o> {
    rounds: u32,
    results: Results<'o>,
    /// Leaves a second of one thread.
    perft_rate: f64,
    nodes: u64,
    seconds: f64,
}

impl Bench<'_> {
    /// Measures work that counts search nodes; returns the seconds of each round.
    fn nodes(&mut self, section: &str, work: impl FnMut() -> u64) -> Result<Vec<f64>, CliError> {
        let (count, seconds) = self.measure(section, "nodes", work)?;
        self.nodes += count;
        self.seconds += median(&seconds);
        Ok(seconds)
    }

    /// Measures work that returns its count.
    fn measure(
        &mut self,
        section: &str,
        counted: &str,
        mut work: impl FnMut() -> u64,
    ) -> Result<(u64, Vec<f64>), CliError> {
        let (mut counts, mut seconds) = (Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            let begin = Instant::now();
            counts.push(black_box(work()));
            seconds.push(begin.elapsed().as_secs_f64());
        }
        if counts.iter().any(|&count| count != counts[0]) {
            let message = format!("section {section} counted {counts:?} {counted}: equal rounds must count the same");
            return Err(CliError::failure(message).hint("This is a defect of the program; please report it."));
        }
        self.line(section, counted, counts[0], &seconds)?;
        Ok((counts[0], seconds))
    }

    fn line(&mut self, section: &str, counted: &str, count: u64, seconds: &[f64]) -> Result<(), CliError> {
        let rates: Vec<f64> = seconds.iter().map(|&seconds| rate(count, seconds)).collect();
        let (slowest, fastest) =
            rates.iter().fold((f64::MAX, 0.0f64), |(low, high), &rate| (low.min(rate), high.max(rate)));
        let (seconds, rate) = (median(seconds), median(&rates));
        let spread = (fastest - slowest) / rate.max(f64::MIN_POSITIVE);
        let per_million_perft = 1e6 * rate / self.perft_rate;
        self.results.row(&Row { section, counted, count, seconds, rate, spread, per_million_perft })
    }
}

/// Perft leaves per second: the median of some rounds, after one to warm up.
fn perft_rate() -> f64 {
    let round = |_| {
        let begin = Instant::now();
        let leaves = perft(black_box(Position::START), PERFT_DEPTH);
        rate(leaves, begin.elapsed().as_secs_f64())
    };
    let rates: Vec<f64> = (0..8).map(round).skip(1).collect();
    median(&rates)
}

fn rate(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

/// The middle value, or the mean of the two in the middle.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn the_midgame_positions_are_forty() {
        let positions = parse_positions(MIDGAME).unwrap();
        for empties in [50, 44, 38, 32] {
            assert_eq!(positions.iter().filter(|p| p.diagram.position.empties() == empties).count(), 10);
        }
    }

    #[test]
    fn unequal_counts_are_refused() {
        let mut out = Vec::new();
        let mut bench = Bench {
            rounds: 2,
            results: FormatArgument::default().to(&mut out),
            perft_rate: 1.0,
            nodes: 0,
            seconds: 0.0,
        };
        let mut count = 0;
        let measured = bench.nodes("odd", || {
            count += 1;
            count
        });
        assert!(measured.unwrap_err().report().contains("[1, 2]"));
    }
}
