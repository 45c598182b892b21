//! Where a run keeps its games: `RUN/games/NNNNNNNN.fsg` has those of generation N.

use std::io;
use std::path::{Path, PathBuf};

/// The folder of a run's kept games.
pub fn games_folder(run: &Path) -> PathBuf {
    run.join("games")
}

/// The file of a generation's games.
pub fn games_file(run: &Path, generation: u32) -> PathBuf {
    games_folder(run).join(format!("{generation:08}.fsg"))
}

/// Whether a file has the name of one of kept games.
pub fn has_games_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "fsg")
}

/// The generations of which a run has a file of games, in order. Files with other names are ignored.
///
/// # Errors
/// The run's folder of games is missing or cannot be read.
pub fn generations_of_run(run: &Path) -> io::Result<Vec<u32>> {
    let mut generations = Vec::new();
    for entry in games_folder(run).read_dir()? {
        let path = entry?.path();
        let number = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        generations.extend(number.filter(|&generation| games_file(run, generation) == path));
    }
    generations.sort_unstable();
    Ok(generations)
}

/// The files of a run's kept games, in the order of the generations.
///
/// # Errors
/// See [`generations_of_run`].
pub fn games_of_run(run: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(generations_of_run(run)?.into_iter().map(|generation| games_file(run, generation)).collect())
}
