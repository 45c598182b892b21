//! `flipside perft`.

use std::io::Write;
use std::time::Instant;

use clap::Args;
use rayon::prelude::*;
use serde::Serialize;

use super::error::CliError;
use super::results::FormatArgument;
use super::session::Session;
use flipside::board::{Diagram, Position, perft, squares};

/// Count the leaves of the game tree, the standard check of a move generator
///
/// A pass counts as a ply; a finished game is a leaf at any depth. Prints a table: depth and leaves, for each depth up to the given
/// one, or move and leaves below it with --divide (`--` for a pass or a finished game).
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside perft 10")]
pub struct PerftArguments {
    /// Depth in plies
    #[arg(default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=60))]
    depth: u32,

    /// Start from this position: 64 characters, a space, the side to move; or the moves that lead to it [default: the start position]
    #[arg(long, value_name = "BOARD")]
    position: Option<Diagram>,

    /// Count the leaves below each move
    #[arg(long)]
    divide: bool,

    #[command(flatten)]
    format: FormatArgument,
}

#[derive(Serialize)]
struct AtDepth {
    depth: u32,
    leaves: u64,
}

#[derive(Serialize)]
struct Below {
    r#move: String,
    leaves: u64,
}

impl PerftArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let position = self.position.unwrap_or(Diagram::START).position;
        if self.divide {
            return self.divide(position, out);
        }
        let mut results = self.format.to(out);
        for depth in 1..=self.depth {
            let begin = Instant::now();
            let leaves = count(position, depth);
            let seconds = begin.elapsed().as_secs_f64();
            results.row(&AtDepth { depth, leaves })?;
            if depth == self.depth {
                session.say(format_args!("{seconds:.3} seconds, {:.0} leaves a second", leaves as f64 / seconds));
            }
        }
        Ok(())
    }

    fn divide(&self, position: Position, out: &mut dyn Write) -> Result<(), CliError> {
        let mut results = self.format.to(out);
        let mut show =
            |name: &str, below| results.row(&Below { r#move: name.to_owned(), leaves: count(below, self.depth - 1) });
        for to in squares(position.moves()) {
            show(&to.to_string(), position.play(to))?;
        }
        if position.moves() == 0 {
            show("--", position.pass())?;
        }
        Ok(())
    }
}

/// Plies left to one thread.
const SERIAL: u32 = 6;

/// [`perft`] on all threads.
fn count(position: Position, depth: u32) -> u64 {
    if depth <= SERIAL {
        return perft(position, depth);
    }
    let moves = position.moves();
    if moves == 0 {
        return if position.opponent_moves() == 0 { 1 } else { count(position.pass(), depth - 1) };
    }
    let children: Vec<_> = squares(moves).map(|to| position.play(to)).collect();
    children.into_par_iter().map(|child| count(child, depth - 1)).sum()
}
