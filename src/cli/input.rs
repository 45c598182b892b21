//! Positions from files and from standard input.

use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use super::error::{CliError, Context};
use super::session::Session;
use crate::board::{ScoredDiagram, parse_scored_diagrams};

const FORMAT: &str = "Expected a position a line: 64 characters (X black, O white, - or . empty), a space, the side to move \
                      (X or O), and optionally a score in discs or OBF data.";

/// The positions of a file, or of standard input where the path is `-`.
///
/// # Errors
/// What cannot be read, what is not a position (with its line), and input without any position.
pub fn read_positions(path: &Path, session: &Session) -> Result<Vec<ScoredDiagram>, CliError> {
    let (text, name) = if path == Path::new("-") {
        if io::stdin().is_terminal() {
            session.say("Reading positions from the terminal; end with Ctrl-D on a line of its own.");
        }
        let mut text = String::new();
        (io::stdin().read_to_string(&mut text).map(|_| text), "standard input".to_owned())
    } else {
        (fs::read_to_string(path), format!("`{}`", path.display()))
    };
    let text = text.context(|| format!("cannot read positions from {name}"))?;
    let positions = parse_scored_diagrams(&text).context(|| format!("cannot read positions from {name}"));
    let positions = positions.map_err(|error| error.hint(FORMAT))?;
    if positions.is_empty() {
        return Err(CliError::failure(format!("there are no positions in {name}")).hint(FORMAT));
    }
    Ok(positions)
}
