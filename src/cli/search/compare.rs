//! `flipside search --compare`.

use std::io::Write;
use std::time::Instant;

use serde_json::json;

use super::named::NamedSearch;
use crate::board::{Position, Square};
use crate::cli::error::CliError;
use crate::cli::json::write_json;
use crate::cli::meter::Meter;
use crate::cli::output::Output;
use crate::cli::session::Session;
use crate::eval::{Evaluator, Score};
use crate::report::{Chart, Line};
use crate::textbook::{OthelloTree, SizeEstimate, branching_factor, estimate_size};

/// Searches that visit every node are run only if all trees together have no more nodes than this.
const MAX_MINIMAX_NODES: f64 = 2e7;
/// Random walks to estimate the size of the trees, over all positions.
const WALKS: u32 = 200_000;

/// Searches side by side on the same positions.
pub(super) struct Comparison<'a, E> {
    pub(super) evaluator: &'a E,
    pub(super) positions: &'a [Position],
    pub(super) searches: Vec<NamedSearch>,
    /// Whether the table is printed as JSON.
    pub(super) json: bool,
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
            Some(_) => self.table(depth, tree, &outcomes, session, &mut session.talk()),
            None => self.table(depth, tree, &outcomes, session, out),
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
        let line =
            |search: &NamedSearch| Line { name: search.name.clone(), points: vec![], band: vec![], marked: false };
        let mut lines: Vec<_> = self.searches.iter().map(line).collect();
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
        let chart = Chart { title, x: "plies".into(), y: "nodes".into(), log: true, lines };
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
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        let measured = self.searches.iter().zip(outcomes).find(|(c, _)| c.is_minimax()).and_then(|(_, o)| o.as_ref());
        let minimax = measured.map_or(tree.nodes, |minimax| minimax.nodes as f64);
        if measured.is_none() {
            session.say(format_args!(
                "plain minimax: {:.0} nodes, standard error {:.1}%, estimated by random walks",
                tree.nodes,
                100.0 * tree.standard_error / tree.nodes
            ));
        }
        let reference = outcomes.iter().flatten().next();
        let mean_branching = |nodes: f64| branching_factor(nodes / self.positions.len() as f64, depth);
        if self.json {
            return self.json_table(depth, minimax, measured.is_none(), outcomes, out);
        }
        writeln!(out, "search\tvalue\tmove\tnodes\tshare\tbranching\tseconds")?;
        for (search, outcome) in self.searches.iter().zip(outcomes) {
            let name = &search.name;
            let (Some(outcome), Some(reference)) = (outcome, reference) else {
                if search.is_minimax() {
                    writeln!(out, "{name}\t-\t-\t~{minimax:.0}\t100%\t{:.2}\t-", mean_branching(minimax))?;
                }
                continue;
            };
            let (value, best) = self.summary(outcome, reference);
            let nodes = outcome.nodes as f64;
            let mark = if measured.is_none() { "~" } else { "" };
            let share = percentage(nodes / minimax);
            let (branching, seconds) = (mean_branching(nodes), outcome.seconds);
            writeln!(out, "{name}\t{value}\t{best}\t{nodes}\t{mark}{share}\t{branching:.2}\t{seconds:.3}")?;
        }
        Ok(())
    }

    fn json_table(
        &self,
        depth: u32,
        minimax: f64,
        is_estimate: bool,
        outcomes: &[Option<Outcome>],
        out: &mut dyn Write,
    ) -> Result<(), CliError> {
        for (search, outcome) in self.searches.iter().zip(outcomes) {
            let values =
                outcome.as_ref().map(|outcome| outcome.values.iter().map(|v| f64::from(v.discs())).collect::<Vec<_>>());
            let moves = outcome
                .as_ref()
                .map(|outcome| outcome.moves.iter().map(|m| m.map(|m| m.to_string())).collect::<Vec<_>>());
            let found = json!({
                "search": search.name,
                "depth": depth,
                "values": values,
                "moves": moves,
                "nodes": outcome.as_ref().map(|outcome| outcome.nodes),
                "seconds": outcome.as_ref().map(|outcome| outcome.seconds),
                "minimax_nodes": minimax,
                "minimax_estimated": is_estimate,
            });
            write_json(&found, out)?;
        }
        Ok(())
    }

    /// The value and move columns.
    fn summary(&self, outcome: &Outcome, reference: &Outcome) -> (String, String) {
        if let ([value], [best]) = (&outcome.values[..], &outcome.moves[..]) {
            return (value.to_string(), best.map_or("--".to_owned(), |square| square.to_string()));
        }
        let mean =
            outcome.values.iter().map(|value| f64::from(value.discs())).sum::<f64>() / self.positions.len() as f64;
        let equal = outcome.moves.iter().zip(&reference.moves).filter(|(a, b)| a == b).count();
        (format!("{mean:+.2}"), format!("{equal}/{}", self.positions.len()))
    }
}

/// A share with two significant digits or more.
fn percentage(share: f64) -> String {
    let percent = 100.0 * share;
    let decimals = if percent > 0.0 { (1.0 - percent.log10().floor()).clamp(0.0, 9.0) as usize } else { 0 };
    format!("{percent:.decimals$}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_keep_two_digits() {
        assert_eq!(percentage(1.0), "100%");
        assert_eq!(percentage(0.25), "25%");
        assert_eq!(percentage(0.0123), "1.2%");
        assert_eq!(percentage(0.000_123), "0.012%");
        assert_eq!(percentage(0.0), "0%");
    }
}
