//! Where a run keeps its games: `RUN/games/*.fsg`.

use std::io;
use std::path::{Path, PathBuf};

/// Whether a file is one of kept games, by its name.
pub fn has_games_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "fsg")
}

/// The files of a run's kept games, in the order of the generations.
///
/// # Errors
/// The run's folder of games is not there or cannot be read.
pub fn games_of_run(run: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: io::Result<Vec<_>> = run.join("games").read_dir()?.collect();
    let mut files: Vec<_> = entries?.into_iter().map(|entry| entry.path()).collect();
    files.retain(|path| has_games_name(path));
    files.sort();
    Ok(files)
}
