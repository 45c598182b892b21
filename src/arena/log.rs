//! Games saved to disk as they are played, and resumed from there.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::game::{Forfeit, PlayedGame};
use super::match_::{HeldPair, Pair};
use crate::board::{Side, Square, Transcript};
use crate::record::log::{self, End, GameLine, Header, LONGEST_LINE, Line, NOT_INTRODUCED, PlayerCard, Settings};
use crate::storage::{FileError, only_zeros_left, open_locked};

/// A file of games between players that are identified by their settings: `docs/FILES.md`.
///
/// Only a log is ever written to, and it never loses more than a last line that a kill or a full disk cut off.
#[derive(Debug)]
pub struct GameLog {
    path: PathBuf,
    file: File,
    /// The numbers in the file of the players it was opened for.
    numbers: Vec<usize>,
    held: HashMap<Key, PlayedGame>,
    left_out: Vec<String>,
    torn: usize,
}

/// Black's and white's number in the file, and the opening.
type Key = (usize, usize, Vec<Square>);

/// Why a file cannot take games.
#[derive(Debug, thiserror::Error)]
pub enum GameLogError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another program is writing to it.
    #[error("{0}: another match or league is writing to it")]
    Locked(PathBuf),
    /// It holds something else. It was not changed.
    #[error(
        "{0} is not a log of games with their players and settings (f5d6 and GGF say too little about the players to resume); \
         it is left as it is: give another file"
    )]
    NoLog(PathBuf),
    /// A line that makes no sense.
    #[error("{path}, line {line}: {reason}; the file was not changed")]
    Line {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A log of other players or openings.
    #[error("{path} holds other games: {what}; give the options it was begun with, or another file")]
    Other {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: String,
    },
}

/// The content of a log.
#[derive(Default)]
struct Content {
    header: Option<Header>,
    players: Vec<PlayerCard>,
    held: HashMap<Key, PlayedGame>,
    /// Bytes of whole lines.
    whole: u64,
    /// Whether the last of them lacks its line feed.
    unended: bool,
    /// Bytes of a cut-off line after them.
    torn: usize,
}

impl GameLog {
    /// Opens or creates the file of games between these players, all with these `settings`. New players join those in it; only one with the
    /// name of a known player and other settings is refused.
    ///
    /// # Errors
    /// A file that cannot be used, is not a log, or is the log of other games. It is left unchanged.
    pub fn open(path: &Path, settings: Settings, players: &[PlayerCard]) -> Result<Self, GameLogError> {
        let file = open_locked(path, File::options().read(true).write(true).create(true), Duration::ZERO);
        let file = file.map_err(FileError::io(path))?;
        let mut file = file.ok_or_else(|| GameLogError::Locked(path.to_owned()))?;
        if !file.metadata().map_err(FileError::io(path))?.is_file() {
            return Err(GameLogError::NoLog(path.to_owned()));
        }
        let header = Header::new(settings);
        let content = Content::read(&mut file, path, &header)?;
        let joined = content.join(&header, players);
        let (numbers, new) = joined.map_err(|what| GameLogError::Other { path: path.to_owned(), what })?;
        let others = content.players.iter().enumerate().filter(|(number, _)| !numbers.contains(number));
        let left_out = others.map(|(_, player)| player.name.clone()).collect();
        file.set_len(content.whole).map_err(FileError::io(path))?;
        if content.unended {
            file.seek(SeekFrom::End(0)).map_err(FileError::io(path))?;
            file.write_all(b"\n").map_err(FileError::io(path))?;
        }
        let path = path.to_owned();
        let mut log = Self { path, file, numbers, held: content.held, left_out, torn: content.torn };
        let header = content.header.is_none().then_some(Line::Log(header));
        log.write(header.into_iter().chain(new.into_iter().map(Line::Player)))?;
        Ok(log)
    }

    /// The names of players in the log that it was not opened for.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Bytes of a cut-off last line that were dropped when the file was opened.
    pub fn dropped(&self) -> usize {
        self.torn
    }

    /// The games of a pair that are held: the first of `players` has black in the first game.
    pub fn pair(&self, players: [usize; 2], opening: &Transcript) -> HeldPair {
        HeldPair { games: self.keys(players, opening).map(|key| self.held.get(&key).cloned()) }
    }

    /// Appends those games of a pair that are not held yet.
    ///
    /// # Errors
    /// I/O errors.
    pub fn add(&mut self, players: [usize; 2], opening: &Transcript, pair: &Pair) -> Result<(), GameLogError> {
        let mut lines = Vec::with_capacity(2);
        for (key, game) in self.keys(players, opening).into_iter().zip(&pair.games) {
            if !self.held.contains_key(&key) {
                lines.push(Line::Game(game_line(&key, game)));
            }
        }
        self.write(lines)
    }

    fn keys(&self, players: [usize; 2], opening: &Transcript) -> [Key; 2] {
        let [first, second] = players.map(|player| self.numbers[player]);
        [(first, second, opening.moves().to_vec()), (second, first, opening.moves().to_vec())]
    }

    fn write(&mut self, lines: impl IntoIterator<Item = Line>) -> Result<(), GameLogError> {
        let mut text = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut text, &line).expect("plain data can be written as JSON");
            text.push(b'\n');
        }
        let written = self.file.seek(SeekFrom::End(0)).and_then(|whole| {
            // Half a line would make everything after it unreadable.
            self.file.write_all(&text).inspect_err(|_| drop(self.file.set_len(whole)))
        });
        Ok(written.map_err(FileError::io(&self.path))?)
    }
}

impl Content {
    /// Reads a file. It is an error if it is neither a log nor the beginning of one with this header.
    fn read(file: &mut File, path: &Path, header: &Header) -> Result<Self, GameLogError> {
        let mut content = Self::default();
        let length = file.metadata().map_err(FileError::io(path))?.len();
        let mut reader = BufReader::new(file);
        for number in 1.. {
            let mut line = Vec::new();
            let read = (&mut reader).take(LONGEST_LINE as u64).read_until(b'\n', &mut line);
            read.map_err(FileError::io(path))?;
            if number == 1 && !log::looks_like(&line) && !log::is_start(header, &line) {
                return Err(GameLogError::NoLog(path.to_owned()));
            }
            let fault = |reason: String| GameLogError::Line { path: path.to_owned(), line: number, reason };
            let is_last = line.last() != Some(&b'\n');
            // A power cut can leave any number of zeros at the end.
            let is_too_long = line.len() == LONGEST_LINE
                && !(line.ends_with(&[0]) && only_zeros_left(&mut reader).map_err(FileError::io(path))?);
            let torn = (length - content.whole) as usize;
            match content.add(&line) {
                _ if line.is_empty() => break,
                _ if is_too_long => return Err(fault("it is too long".to_owned())),
                Ok(()) => content.whole += line.len() as u64,
                Err(_) if is_last && content.header.is_none() && log::is_start(header, &line) => content.torn = torn,
                Err(_) if is_last && content.header.is_some() && log::is_cut_off(&line) => content.torn = torn,
                Err(reason) => return Err(fault(reason)),
            }
            if is_last {
                content.unended = content.torn == 0;
                break;
            }
        }
        Ok(content)
    }

    fn add(&mut self, line: &[u8]) -> Result<(), String> {
        match (Line::parse(line)?, &self.header) {
            (Line::Log(header), None) => self.header = Some(header),
            (_, None) => return Err("it is not a header".to_owned()),
            (Line::Log(_), Some(_)) => return Err("a second header".to_owned()),
            (Line::Player(card), _) => self.players.push(card),
            (Line::Game(game), _) => {
                if !game.is_between(self.players.len()) {
                    return Err(NOT_INTRODUCED.to_owned());
                }
                self.held.insert((game.black, game.white, game.opening().to_vec()), played_game(game));
            }
        }
        Ok(())
    }

    /// The numbers of the players, and the players that are new.
    fn join(&self, header: &Header, players: &[PlayerCard]) -> Result<(Vec<usize>, Vec<PlayerCard>), String> {
        if let Some(held) = &self.header
            && held.settings != header.settings
        {
            return Err(difference(&held.settings, &header.settings));
        }
        let mut all = self.players.clone();
        let mut numbers = Vec::with_capacity(players.len());
        for player in players {
            let is_same = |known: &PlayerCard| known.settings == player.settings;
            // Of twins, each has a number.
            let mut known =
                all.iter().enumerate().filter(|(number, known)| is_same(known) && !numbers.contains(number));
            let known = known.next().map(|(number, _)| number);
            if let Some(namesake) = all.iter().find(|known| known.name == player.name && !is_same(known)) {
                return Err(format!("its `{}`: {}", player.name, difference(&namesake.settings, &player.settings)));
            }
            numbers.push(known.unwrap_or(all.len()));
            if known.is_none() {
                all.push(player.clone());
            }
        }
        Ok((numbers, all.split_off(self.players.len())))
    }
}

/// Characters of a reason that are kept.
const LONGEST_REASON: usize = 1000;

/// Which settings differ.
fn difference(held: &Settings, wanted: &Settings) -> String {
    let names: BTreeSet<_> = held.keys().chain(wanted.keys()).collect();
    let differs = names.into_iter().filter(|&name| held.get(name) != wanted.get(name));
    let value = |settings: &Settings, name: &String| settings.get(name).map_or("none".to_owned(), short);
    let told = differs.map(|name| format!("{name} is {} there and {} here", value(held, name), value(wanted, name)));
    told.collect::<Vec<_>>().join(", ")
}

/// A value as text; of a hash only the beginning.
fn short(value: &serde_json::Value) -> String {
    match value.as_str() {
        Some(text) if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) => text[..12].to_owned(),
        Some(text) => format!("`{text}`"),
        None => value.to_string(),
    }
}

fn game_line(key: &Key, game: &PlayedGame) -> GameLine {
    let (black, white, opening) = key;
    let column = |of: fn(&crate::record::MoveNote) -> Option<f32>| -> Vec<Option<f64>> {
        let rounded = game.notes.iter().map(|note| of(note).map(|number| (f64::from(number) * 100.0).round() / 100.0));
        let column: Vec<_> = rounded.collect();
        if column.iter().all(Option::is_none) { Vec::new() } else { column }
    };
    GameLine {
        black: *black,
        white: *white,
        opening: opening.len(),
        moves: Transcript::from_moves(&game.moves).expect("the referee lets legal moves through only"),
        discs: game.discs,
        end: game.forfeit.as_ref().map_or(End::Played, |forfeit| forfeit.end),
        reason: game.forfeit.as_ref().map(|forfeit| forfeit.reason.chars().take(LONGEST_REASON).collect()),
        evaluations: column(|note| note.evaluation),
        seconds: column(|note| note.seconds),
    }
}

/// A saved game as the referee would have given it.
fn played_game(line: GameLine) -> PlayedGame {
    let notes = line.notes();
    let forfeit = (line.end != End::Played).then(|| Forfeit {
        side: if line.discs < 0 { Side::Black } else { Side::White },
        end: line.end,
        reason: line.reason.unwrap_or_default(),
    });
    PlayedGame { moves: line.moves.moves().to_vec(), notes, discs: line.discs, forfeit }
}
