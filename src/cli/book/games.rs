//! `flipside book add`.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use sha2::{Digest, Sha256};

use crate::cli::books::{SearchArguments, cannot_change, edit};
use crate::cli::error::{CliError, Context};
use crate::cli::input::{CUT_OFF, Input, each_once, name_of, refuse_own_files};
use crate::cli::meter::Meter;
use crate::cli::session::Session;
use crate::cli::signals::stop_on_signals;
use flipside::board::Transcript;
use flipside::book::{BookError, GameCounts, count_games, search_missing};
use flipside::fit::kept_games_of;
use flipside::games::{has_games_name, is_games_file, whole_frames};
use flipside::record::{MAX_REPORTED, Record};
use flipside::storage::read_start;
use flipside::text::counted;

/// Add recorded games to a book: their positions and results
///
/// Games are f5d6 transcripts, GGF, SGF, WTHOR, logs of `match --games`, files of kept games (.fsg), or all kept games of a run's directory.
/// Games that are unfinished, that do not begin at the start position, or that another run has also kept are left out and counted.
///
/// All games are added first; then the new positions are searched. If the search is stopped (exit code 75), `book grow` continues it:
/// do not add the same games twice. Prints one name and value per line.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside book add book.fsb WTH_2023.wtb games.ggf --depth 8\n  \
    flipside book add book.fsb runs/latest --min-empties 45 --min-games 100")]
pub struct AddArguments {
    /// The book; created if missing
    book: PathBuf,

    /// Files of games or directories of runs; `-` is standard input
    #[arg(required = true, value_name = "GAMES")]
    games: Vec<PathBuf>,

    #[command(flatten)]
    search: SearchArguments,

    /// Add only positions with at least N empty squares
    #[arg(long, value_name = "N", default_value_t = 36, value_parser = clap::value_parser!(u32).range(1..=60))]
    min_empties: u32,

    /// Add only positions that occur in at least N of the games
    #[arg(long, value_name = "N", default_value_t = 1)]
    min_games: u64,
}

impl AddArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        refuse_own_files(self.games.iter().map(PathBuf::as_path), true)?;
        let searching = self.search.load(session)?;
        // A locked or damaged book is refused before games are read; a new one is created after that.
        let there = self.book.exists().then(|| edit(&self.book, false)).transpose()?;
        let counts = GameCounts::new(&self.book);
        let mut reader = Reader { counts, left_out: 0, frames: HashSet::new(), min_empties: self.min_empties, session };
        for path in each_once(&self.games, session) {
            if path.is_dir() {
                reader.read_run(path)?;
            } else if has_games_name(path) || path.is_file() && is_games_file(&read_start(path).unwrap_or_default()) {
                reader.read_kept(path, open_file(path)?, &|line| session.say(line))?;
            } else {
                reader.read(path)?;
            }
        }
        let Reader { counts, left_out, .. } = reader;
        let games = counts.games;
        if games == 0 && left_out > 0 {
            return Err(CliError::failure(format!("{} left out, and nothing is added", counted(left_out, "game")))
                .hint("A book takes whole games, from the start position to the end."));
        }
        if games == 0 {
            let names: Vec<_> = self.games.iter().map(|path| name_of(path)).collect();
            return Err(CliError::failure(format!("there are no games in {}: nothing is added", names.join(", "))));
        }
        let mut book = there.map_or_else(|| edit(&self.book, true), Ok)?;
        let before = book.len();
        count_games(&mut book, counts, self.min_games).map_err(cannot_change)?;
        session.say(format_args!("{} added; searching what is new", counted(games, "game")));
        let stop = stop_on_signals();
        let mut meter = None;
        let searched = search_missing(&mut book, &|| searching.searcher(), &searching.hash(), &stop, |done, all| {
            let meter = meter.get_or_insert_with(|| Meter::new(session, all, "positions"));
            meter.set_total(all);
            meter.show(done, || "searched".to_owned());
        });
        if let Some(meter) = meter {
            meter.finish();
        }
        writeln!(out, "games\t{games}\nleft out\t{left_out}")?;
        writeln!(out, "positions\t{}\nnew\t{}", book.len(), book.len() - before)?;
        match searched {
            Ok(()) => Ok(()),
            Err(BookError::Stopped) => Err(CliError::Stopped(
                "stopped; the games are in the book, and `book grow` continues the searches".into(),
            )),
            Err(error) => Err(cannot_change(error)),
        }
    }
}

/// Reads games and counts them.
struct Reader<'s> {
    counts: GameCounts,
    /// How many games were left out.
    left_out: u64,
    /// The frames of kept games read so far: runs with the same seed play the same games, and each counts once.
    frames: HashSet<[u8; 32]>,
    min_empties: u32,
    session: &'s Session,
}

impl Reader<'_> {
    /// Counts the games of a file.
    fn read(&mut self, path: &Path) -> Result<(), CliError> {
        let input = Input::read(path, None, self.session)?;
        let name = &input.name;
        if input.format.is_of_positions() {
            return Err(CliError::failure(format!("{name} holds positions ({}), not games", input.format)));
        }
        let mut reported = 0;
        for record in input.records()? {
            let game = match record {
                Ok(Record::Game(game)) if game.last().position.is_game_over() => game.transcript(),
                Ok(_) => None,
                Err(error) => {
                    reported += 1;
                    if reported <= MAX_REPORTED {
                        self.session.say(format_args!("left out: {name}: {error}"));
                    }
                    None
                }
            };
            match game {
                Some(game) => self.count(&game)?,
                None => self.left_out += 1,
            }
        }
        Ok(())
    }

    /// Counts the kept games of a run.
    fn read_run(&mut self, run: &Path) -> Result<(), CliError> {
        let files = kept_games_of(run).context(|| "cannot add games")?;
        let mut meter = Meter::new(self.session, files.len() as u64, "generations");
        for (done, path) in files.iter().enumerate() {
            self.read_kept(path, open_file(path)?, &|line| meter.say(line))?;
            meter.show(done as u64 + 1, || format!("{} games", self.counts.games));
        }
        meter.finish();
        Ok(())
    }

    /// Counts the games of a games file.
    fn read_kept(&mut self, path: &Path, file: impl Read, say: &dyn Fn(fmt::Arguments)) -> Result<(), CliError> {
        let cannot = || format!("cannot read the games of {}", name_of(path));
        let (raw_frames, are_all) = whole_frames(file).context(cannot)?;
        if !are_all {
            say(format_args!("{}: {CUT_OFF}", name_of(path)));
        }
        for raw in raw_frames {
            if !self.frames.insert(Sha256::digest(raw.bytes()).into()) {
                self.left_out += raw.len() as u64;
                continue;
            }
            for game in raw.decode().context(cannot)? {
                let game = Transcript::from_moves(game.moves()).expect("kept games are legal to their end");
                self.count(&game)?;
            }
        }
        Ok(())
    }

    fn count(&mut self, game: &Transcript) -> Result<(), CliError> {
        let discs = game.last().final_score_for_black();
        self.counts.add(&game.steps(), discs, self.min_empties).map_err(cannot_change)
    }
}

fn open_file(path: &Path) -> Result<BufReader<File>, CliError> {
    File::open(path).map(BufReader::new).context(|| format!("cannot read {}", name_of(path)))
}
