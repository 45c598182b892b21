//! `flipside book show`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::cli::books::{cannot_read, open};
use crate::cli::error::{CliError, Context};
use crate::cli::session::Session;
use flipside::board::Diagram;
use flipside::book::{BookMove, Deviation, Games, Leaf, Record};
use flipside::storage::hex;
use flipside::text::{or_dash, plies};

/// Show what a book knows about a position: its moves, best first, with values, errors and games
///
/// First prints one name and value per line: the size of the book, and the position's value, error, games (number, mean and standard
/// deviation of the results, wins, draws, losses), and how and with which weights it was searched. A table of the moves follows. All
/// output is tab-separated. Values are in discs for the side to move, errors are standard deviations, and `-` is unknown. `leaf` marks
/// the best move that leads out of the book, with the plies it was searched, or `solved` if its value is exact.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside book show book.fsb f5d6c3")]
pub struct ShowArguments {
    /// The book
    book: PathBuf,

    /// The position: the moves that lead there, or 64 characters and the side to move [default: the start]
    #[arg(value_name = "POSITION")]
    position: Option<String>,

    /// Also print the best line from there
    #[arg(long)]
    line: bool,
}

impl ShowArguments {
    pub fn run(self, _: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let text = self.position.as_deref().unwrap_or_default();
        let diagram: Diagram = match text {
            "" => Diagram::START,
            text => text.parse().context(|| format!("`{text}` is not a position"))?,
        };
        let book = open(&self.book)?;
        let total = book.len();
        let unknown = || CliError::failure(format!("the position is not in the book, which has {total} positions"));
        let (record, moves) = book.moves(diagram.position).map_err(cannot_read)?.ok_or_else(unknown)?;
        writeln!(out, "book\t{total} positions")?;
        write_position(&record, moves.len(), book.weights(), out)?;
        writeln!(out, "move\tvalue\terror\tgames\tmean\tdeviation\twins\tdraws\tlosses\tleaf")?;
        moves.iter().try_for_each(|known| write_move(known, out))?;
        if self.line {
            let mut line = String::new();
            let mut now = diagram;
            while let Some((_, moves)) = book.moves(now.position).map_err(cannot_read)?
                && let Some(best) = moves.first()
            {
                line += &best.to.to_string();
                now = now.try_play(best.to).expect("books hold legal moves").pass_if_needed();
            }
            writeln!(out, "line\t{line}")?;
        }
        Ok(())
    }
}

fn write_position(record: &Record, known: usize, weights: &[[u8; 32]], out: &mut dyn Write) -> Result<(), CliError> {
    let value = or_dash(record.derived.value);
    writeln!(out, "value\t{value}\nerror\t{}", error(record.derived.error))?;
    writeln!(out, "games\t{}", games(&record.games))?;
    let leaf = match record.leaf {
        Leaf::Unsearched => "not searched".to_owned(),
        Leaf::AllPlayed if record.lacks_moves(known) => "not all moves are known".to_owned(),
        Leaf::AllPlayed => "all moves are in the book".to_owned(),
        Leaf::Best(valued) if valued.exact => "solved".to_owned(),
        Leaf::Best(valued) => depth(valued.depth),
    };
    let name = (record.weights as usize).checked_sub(1).and_then(|index| weights.get(index));
    let name = name.filter(|name| name.iter().any(|&byte| byte != 0));
    let name = or_dash(name.map(|name| hex(&name[..6])));
    Ok(writeln!(out, "searched\t{leaf}\nweights\t{name}")?)
}

fn write_move(known: &BookMove, out: &mut dyn Write) -> Result<(), CliError> {
    let kind = match known.leaf {
        None => String::new(),
        Some(_) if known.is_proved() => "solved".to_owned(),
        Some(leaf) => format!("leaf, {}", depth(leaf.depth)),
    };
    let (to, value) = (known.to, known.value);
    Ok(writeln!(out, "{to}\t{value}\t{}\t{}\t{kind}", error(known.error), games(&known.games))?)
}

/// How deep a leaf was searched.
fn depth(depth: Option<u8>) -> String {
    depth.map_or("level not known".to_owned(), |depth| plies(depth.into()))
}

fn error(error: Deviation) -> String {
    or_dash(error.discs().map(|discs| format!("{discs:.2}")))
}

fn games(games: &Games) -> String {
    let (mean, deviation) = games.mean().unzip();
    let mean = or_dash(mean.map(|mean| format!("{mean:+.2}")));
    let deviation = or_dash(deviation.map(|deviation| format!("{deviation:.2}")));
    format!("{}\t{mean}\t{deviation}\t{}\t{}\t{}", games.count(), games.wins, games.draws, games.losses)
}
