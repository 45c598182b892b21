//! Positions from files and from standard input.

use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use super::error::{CliError, Context};
use super::session::Session;
use crate::board::{ScoredDiagram, parse_scored_diagrams};

/// What a file of positions looks like.
pub const FORMAT: &str = "Expected a position a line: 64 characters (X black, O white, - or . empty), a space, the side to move \
                      (X or O), and optionally a score in discs or OBF data.";

/// What messages call a path that may be standard input.
pub fn name_of(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { format!("`{}`", path.display()) }
}

/// The content of a file, or of standard input where the path is `-`.
///
/// # Errors
/// The file system's.
pub fn read_bytes(path: &Path, session: &Session) -> io::Result<Vec<u8>> {
    if path != Path::new("-") {
        return fs::read(path);
    }
    if io::stdin().is_terminal() {
        session.say("Reading from the terminal; end with Ctrl-D on a line of its own.");
    }
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The positions of a file, or of standard input where the path is `-`.
///
/// # Errors
/// What cannot be read, what is not a position (with its line), and input without any position.
pub fn read_positions(path: &Path, session: &Session) -> Result<Vec<ScoredDiagram>, CliError> {
    let name = name_of(path);
    let text = read_bytes(path, session)
        .and_then(|bytes| String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8 text")));
    let text = text.context(|| format!("cannot read positions from {name}"))?;
    let positions = parse_scored_diagrams(&text).context(|| format!("cannot read positions from {name}"));
    let positions = positions.map_err(|error| error.hint(FORMAT))?;
    if positions.is_empty() {
        return Err(CliError::failure(format!("there are no positions in {name}")).hint(FORMAT));
    }
    Ok(positions)
}
