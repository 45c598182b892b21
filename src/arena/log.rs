//! Games on disk as they are played, and going on from there.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::game::{Forfeit, ForfeitReason, PlayedGame};
use super::match_::Pair;
use super::player::PlayerError;
use crate::board::{Diagram, Side, Transcript};
use crate::record::{Finish, Game, GameResult, RecordError, ggf, lines};

/// A file of a match's games, two lines a pair in the order of the pairs: GGF where its name ends in `.ggf`, else f5d6.
///
/// An f5d6 line that ends before its game does was lost by the side to move: nobody else can break a game off.
#[derive(Debug)]
pub struct GameLog {
    path: PathBuf,
    file: File,
    ggf: bool,
    names: [String; 2],
}

/// Why a file cannot take a match's games.
#[derive(Debug, thiserror::Error)]
pub enum GameLogError {
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// Another match is writing to it.
    #[error("{0}: another match is writing to it")]
    Locked(String),
    /// Something that is no game.
    #[error("{path}, line {line}: {reason}")]
    Record {
        /// The file.
        path: String,
        /// Line number, from 1.
        line: usize,
        /// What is wrong with it.
        reason: RecordError,
    },
    /// A game of another match.
    #[error("{path}, line {line}: {what}; give the options of the match it holds, or another file")]
    OtherMatch {
        /// The file.
        path: String,
        /// Line number, from 1.
        line: usize,
        /// How that shows.
        what: String,
    },
}

impl GameLog {
    /// Opens or makes the file of a match between players of these names from these openings. Gives the pairs it holds; half a
    /// pair or half a line at its end, left by a match that was killed, is cut off.
    ///
    /// # Errors
    /// The file cannot be used, or it holds something else than the beginning of this match.
    pub fn open(path: &Path, names: [&str; 2], openings: &[Transcript]) -> Result<(Self, Vec<Pair>), GameLogError> {
        let shown = || path.display().to_string();
        let error = |source| GameLogError::File { path: shown(), source };
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(error)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Err(GameLogError::Locked(shown())),
            Err(std::fs::TryLockError::Error(source)) => return Err(error(source)),
        }
        let ggf = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ggf"));
        let mut log = Self { path: path.to_owned(), file, ggf, names: names.map(ggf::clean) };
        let pairs = log.resume(openings)?;
        Ok((log, pairs))
    }

    /// Appends a pair.
    ///
    /// # Errors
    /// What the system says.
    pub fn add(&mut self, pair: &Pair) -> Result<(), GameLogError> {
        let mut text = Vec::new();
        for (i, game) in pair.games.iter().enumerate() {
            let record = self.record(game, i == 0);
            let written = match record.transcript().filter(|_| !self.ggf) {
                Some(transcript) => writeln!(text, "{transcript}"),
                None => ggf::write(&mut text, &record),
            };
            written.map_err(|source| self.error(source))?;
        }
        self.file.write_all(&text).map_err(|source| self.error(source))
    }

    fn error(&self, source: io::Error) -> GameLogError {
        GameLogError::File { path: self.path.display().to_string(), source }
    }

    fn resume(&mut self, openings: &[Transcript]) -> Result<Vec<Pair>, GameLogError> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes).map_err(|source| self.error(source))?;
        let (mut pairs, mut half, mut at, mut kept) = (Vec::new(), None, 0, 0);
        for (i, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
            if !line.ends_with(b"\n") {
                break;
            }
            at += line.len();
            let game = self.game_of_line(line, i + 1)?;
            if let Some(opening) = openings.get(i / 2) {
                self.check(&game, i, opening)?;
            }
            match half.take() {
                None => half = Some(played_game(&game)),
                Some(first) => {
                    pairs.push(Pair { games: [first, played_game(&game)] });
                    kept = at;
                }
            }
        }
        self.file.set_len(kept as u64).map_err(|source| self.error(source))?;
        self.file.seek(SeekFrom::End(0)).map_err(|source| self.error(source))?;
        Ok(pairs)
    }

    fn game_of_line(&self, text: &[u8], line: usize) -> Result<Game, GameLogError> {
        let path = || self.path.display().to_string();
        let game = if self.ggf { ggf::read(text).next() } else { lines::read_transcripts(text).next() };
        match game {
            Some(Ok(game)) => Ok(game),
            Some(Err(reason)) => Err(GameLogError::Record { path: path(), line, reason }),
            None => Err(GameLogError::OtherMatch { path: path(), line, what: "it is no game".into() }),
        }
    }

    /// Whether a game is the `index`th of this match.
    fn check(&self, game: &Game, index: usize, opening: &Transcript) -> Result<(), GameLogError> {
        let other = |what| GameLogError::OtherMatch { path: self.path.display().to_string(), line: index + 1, what };
        let begins = game.start() == Diagram::START
            && game.moves().len() >= opening.moves().len()
            && game.moves().iter().zip(opening.moves()).all(|((played, _), wanted)| played == wanted);
        if !begins {
            return Err(other(format!("the game does not begin with this match's opening {opening}")));
        }
        let [black, white] = self.names_by_colour(index.is_multiple_of(2));
        if self.ggf && (game.black != *black || game.white != *white) {
            let found = format!("`{}` plays `{}` where this match has `{black}` and `{white}`", game.black, game.white);
            return Err(other(found));
        }
        Ok(())
    }

    fn names_by_colour(&self, first_is_black: bool) -> [&String; 2] {
        let [first, second] = &self.names;
        if first_is_black { [first, second] } else { [second, first] }
    }

    fn record(&self, played: &PlayedGame, first_is_black: bool) -> Game {
        let mut game = Game::new(Diagram::START);
        for (&square, &note) in played.moves.iter().zip(&played.notes) {
            game.push(square, note).expect("the referee lets legal moves through only");
        }
        let [black, white] = self.names_by_colour(first_is_black);
        (game.black, game.white) = (black.clone(), white.clone());
        game.place = Some("flipside".to_owned());
        let finish = match played.forfeit.as_ref().map(|forfeit| &forfeit.reason) {
            None => Finish::Played,
            Some(ForfeitReason::Player(PlayerError::TimedOut { .. })) => Finish::TimedOut,
            Some(_) => Finish::Resigned,
        };
        game.result = Some(GameResult { discs: played.discs, finish });
        game
    }
}

/// A saved game as the referee would have given it.
fn played_game(game: &Game) -> PlayedGame {
    let (moves, notes) = game.moves().iter().copied().unzip();
    let side = game.last().side;
    let (discs, forfeit) = match game.score_on_board() {
        Some(result) => (result.discs, None),
        None => (if side == Side::Black { -64 } else { 64 }, Some(Forfeit { side, reason: ForfeitReason::Recorded })),
    };
    PlayedGame { moves, notes, discs, forfeit }
}
