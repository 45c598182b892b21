//! Positions from files and from standard input.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use super::error::{CliError, Context};
use super::session::Session;
use crate::board::ScoredDiagram;
use crate::record::MAX_BYTES;
use crate::record::lines::parse_positions;
use crate::storage::{decode_text, read_stream};

/// Standard input or output, in the place of a file's name.
pub const STANDARD_STREAM: &str = "-";

/// What a file of positions looks like.
pub const FORMAT: &str = "Expected a position a line: 64 characters (X black, O white, - or . empty), a space, the side to move \
                      (X or b, O or w), and optionally a score in discs or OBF data; or the moves that lead to it, such as f5d6c3.";

/// What messages call a path that may be standard input.
pub fn name_of(path: &Path) -> String {
    if path == Path::new(STANDARD_STREAM) { "standard input".to_owned() } else { format!("`{}`", path.display()) }
}

/// The paths without those that name what another one names, too, perhaps through a link; they are told.
pub fn each_once<'p>(paths: &'p [PathBuf], session: &Session) -> Vec<&'p Path> {
    let mut named = BTreeSet::new();
    let is_new = |path: &&Path| {
        let is_new = named.insert(path.canonicalize().unwrap_or_else(|_| path.to_path_buf()));
        if !is_new {
            session.say(format_args!("{} is named twice and taken once", name_of(path)));
        }
        is_new
    };
    paths.iter().map(PathBuf::as_path).filter(is_new).collect()
}

/// The content of a file of positions or games, or of standard input where the path is `-`.
///
/// # Errors
/// The file system's, or more than [`MAX_BYTES`].
pub fn read_bytes(path: &Path, session: &Session) -> io::Result<Vec<u8>> {
    const WHAT: &str = "file of records";
    if path != Path::new(STANDARD_STREAM) {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        return read_stream(file, length, WHAT, MAX_BYTES);
    }
    if io::stdin().is_terminal() {
        session.say("Reading from the terminal; end with Ctrl-D on a line of its own.");
    }
    read_stream(io::stdin(), 0, WHAT, MAX_BYTES)
}

/// The positions of a file, or of standard input where the path is `-`; or the one that is typed in a file's place.
///
/// # Errors
/// What cannot be read, what is not a position (with its line), and input without any position.
pub fn read_positions(path: &Path, session: &Session) -> Result<Vec<ScoredDiagram>, CliError> {
    if let Some(text) = path.to_str().filter(|_| !path.exists()) {
        match text.parse() {
            Ok(typed) => return Ok(vec![typed]),
            // What has spaces is hardly meant as a file.
            Err(error) if text.contains(' ') => {
                return Err(CliError::because(format!("`{text}` is no file and no position"), error).hint(FORMAT));
            }
            Err(_) => {}
        }
    }
    let name = name_of(path);
    let unreadable = || format!("cannot read positions from {name}");
    let bytes = read_bytes(path, session).context(unreadable)?;
    let text = decode_text(bytes, "text").context(unreadable)?;
    let positions = parse_positions(&text).context(unreadable);
    let positions = positions.map_err(|error| error.hint(FORMAT))?;
    if positions.is_empty() {
        return Err(CliError::failure(format!("there are no positions in {name}")).hint(FORMAT));
    }
    Ok(positions)
}
