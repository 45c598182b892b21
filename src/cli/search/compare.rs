//! `flipside search --compare`.

use std::io::Write;
use std::time::Instant;

use serde::Serialize;

use super::named::NamedSearch;
use crate::cli::error::CliError;
use crate::cli::meter::Meter;
use crate::cli::output::Output;
use crate::cli::results::{FormatArgument, Results};
use crate::cli::session::Session;
use flipside::board::{Position, Square};
use flipside::eval::{Evaluator, Score};
use flipside::report::{COLOURS, Chart, Line};
use flipside::textbook::{OthelloTree, SizeEstimate, branching_factor, estimate_size};

/// Searches that visit every node are run only if all trees together have no more nodes than this.
const MAX_MINIMAX_NODES: f64 = 2e7;
/// Random walks to estimate the size of the trees, over all positions.
const WALKS: u32 = 200_000;

/// Searches side by side on the same positions.
pub(super) struct Comparison<'a, E> {
    pub(super) evaluator: &'a E,
    pub(super) positions: &'a [Position],
    pub(super) searches: Vec<NamedSearch>,
    pub(super) format: FormatArgument,
}

/// What a search found on all positions.
struct Outcome {
    values: Vec<Score>,
    moves: Vec<Option<Square>>,
    nodes: u64,
    seconds: f64,
}

impl<E: Evaluator> Comparison<'_, E> {
    /// Prints the table for one depth, and plots the nodes at all depths up to it.
    pub(super) fn run(
        &self,
        depth: u32,
        svg: Option<&Output>,
        session: &Session,
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let tree = self.tree_size(depth);
        let outcomes = self.outcomes(depth, tree, session)?;
        // The file first: nobody may read the table.
        let plotted = svg.map_or(Ok(()), |svg| self.plot(depth, tree, &outcomes, svg, session, out));
        let shown = match svg.filter(|svg| svg.is_standard_output()) {
            Some(_) => self.table(depth, tree, &outcomes, session, self.format.to_error(&mut session.talk())),
            None => self.table(depth, tree, &outcomes, session, self.format.to(out)),
        };
        plotted.and(shown)
    }

    /// Plots the nodes at all depths up to one whose outcomes are known.
    fn plot(
        &self,
        depth: u32,
        tree: SizeEstimate,
        outcomes: &[Option<Outcome>],
        svg: &Output,
        session: &Session,
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let line = |(number, search): (usize, &NamedSearch)| Line {
            name: search.name.clone(),
            colour: number,
            dashes: number / COLOURS,
            points: vec![],
            band: vec![],
            marked: false,
        };
        let mut lines: Vec<_> = self.searches.iter().enumerate().map(line).collect();
        let mut add = |depth: u32, tree: SizeEstimate, outcomes: &[Option<Outcome>]| {
            for ((line, search), outcome) in lines.iter_mut().zip(&self.searches).zip(outcomes) {
                let nodes = outcome.as_ref().map(|outcome| outcome.nodes as f64);
                let nodes = nodes.or(search.is_minimax().then_some(tree.nodes));
                line.points.extend(nodes.map(|nodes| (f64::from(depth), nodes / self.positions.len() as f64)));
            }
        };
        for depth in 1..depth {
            let tree = self.tree_size(depth);
            add(depth, tree, &self.outcomes(depth, tree, session)?);
        }
        add(depth, tree, outcomes);
        let title = "Nodes visited by depth, mean of the positions".to_owned();
        let chart = Chart { title, x: "plies".into(), y: "nodes".into(), log: true, lines, marks: vec![] };
        let image = chart.to_svg().expect("every search visits a node");
        svg.write(out, |file| file.write_all(image.as_bytes()))
    }

    /// The nodes of all positions' trees together.
    fn tree_size(&self, depth: u32) -> SizeEstimate {
        let tree = OthelloTree::new(self.evaluator);
        let walks = (WALKS / self.positions.len() as u32).max(100);
        let estimates = self
            .positions
            .iter()
            .zip(0..)
            .map(|(position, seed)| estimate_size(&tree, &tree.node(position), depth, walks, seed));
        let (nodes, variance) = estimates
            .fold((0.0, 0.0), |(nodes, variance), one| (nodes + one.nodes, variance + one.standard_error.powi(2)));
        SizeEstimate { nodes, standard_error: variance.sqrt() }
    }

    /// What each search finds; none for those whose trees are too large.
    fn outcomes(&self, depth: u32, tree: SizeEstimate, session: &Session) -> Result<Vec<Option<Outcome>>, CliError> {
        let feasible = |search: &&NamedSearch| search.prunes() || tree.nodes <= MAX_MINIMAX_NODES;
        let mut meter = Meter::new(session, self.searches.len() as u64, "searches");
        let mut done = 0;
        let outcomes: Vec<_> = self
            .searches
            .iter()
            .map(|search| {
                meter.show(done, || format!("{} to depth {depth}", search.name));
                done += 1;
                Some(search).filter(feasible).map(|search| self.measure(search, depth)).transpose()
            })
            .collect::<Result<_, _>>()?;
        meter.finish();
        let mut ran = self.searches.iter().zip(&outcomes).filter_map(|(c, o)| Some((&c.name, &o.as_ref()?.values)));
        let Some((first, values)) = ran.next() else { return Ok(outcomes) };
        match ran.find(|(_, others)| *others != values) {
            None => Ok(outcomes),
            Some((other, _)) => {
                let message = format!("`{first}` and `{other}` found different values at depth {depth}");
                Err(CliError::failure(message).hint("This is a defect of the program; please report it."))
            }
        }
    }

    fn measure(&self, search: &NamedSearch, depth: u32) -> Result<Outcome, CliError> {
        let mut outcome = Outcome { values: vec![], moves: vec![], nodes: 0, seconds: 0.0 };
        let tree = OthelloTree::new(self.evaluator);
        let mut search = search.searcher(&tree, 1)?;
        for position in self.positions {
            let begin = Instant::now();
            let found = search(position, depth);
            outcome.seconds += begin.elapsed().as_secs_f64();
            outcome.values.push(found.score);
            outcome.moves.push(found.best);
            outcome.nodes += found.nodes;
        }
        Ok(outcome)
    }

    fn table(
        &self,
        depth: u32,
        tree: SizeEstimate,
        outcomes: &[Option<Outcome>],
        session: &Session,
        mut results: Results<'_>,
    ) -> Result<(), CliError> {
        let measured = self.searches.iter().zip(outcomes).find(|(c, _)| c.is_minimax()).and_then(|(_, o)| o.as_ref());
        if measured.is_none() {
            session.say(format_args!(
                "plain minimax: {:.0} nodes, standard error {:.1}%, estimated by random walks",
                tree.nodes,
                100.0 * tree.standard_error / tree.nodes
            ));
        }
        let minimax = measured.map_or(tree.nodes.round() as u64, |minimax| minimax.nodes);
        let reference = outcomes.iter().flatten().next();
        let of_search = |(search, outcome): (&NamedSearch, &Option<Outcome>)| {
            let nodes = match outcome {
                Some(outcome) => outcome.nodes,
                None if search.is_minimax() => minimax,
                None => return None,
            };
            let values =
                outcome.as_ref().map(|outcome| outcome.values.iter().map(|value| f64::from(value.discs())).collect());
            let moves = outcome
                .as_ref()
                .map(|outcome| &outcome.moves)
                .map(|moves| moves.iter().map(|best| best.map(|square| square.to_string())).collect::<Vec<_>>());
            let equal = |(outcome, reference): (&Outcome, &Outcome)| {
                outcome.moves.iter().zip(&reference.moves).filter(|(a, b)| a == b).count()
            };
            Some(Row {
                search: search.name.clone(),
                value: values.as_ref().map(|values: &Vec<f64>| values.iter().sum::<f64>() / values.len() as f64),
                r#move: moves.as_ref().filter(|moves| moves.len() == 1).and_then(|moves| moves[0].clone()),
                same_moves: outcome.as_ref().zip(reference).map(equal),
                nodes,
                share: nodes as f64 / minimax as f64,
                branching: branching_factor(nodes as f64 / self.positions.len() as f64, depth),
                seconds: outcome.as_ref().map(|outcome| outcome.seconds),
                estimated: outcome.is_none(),
                depth,
                values,
                moves,
            })
        };
        results.table(&self.searches.iter().zip(outcomes).filter_map(of_search).collect::<Vec<_>>())
    }
}

/// What a search found on all positions, beside the others.
#[derive(Serialize)]
struct Row {
    search: String,
    /// The mean.
    value: Option<f64>,
    /// If there is one position.
    r#move: Option<String>,
    /// Positions with the move of the first search that ran.
    same_moves: Option<usize>,
    nodes: u64,
    /// Of the nodes of plain minimax.
    share: f64,
    branching: f64,
    seconds: Option<f64>,
    /// Whether the nodes are an estimate.
    estimated: bool,
    depth: u32,
    values: Option<Vec<f64>>,
    moves: Option<Vec<Option<String>>>,
}
