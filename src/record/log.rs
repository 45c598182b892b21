//! Games as `match` and `league` keep them: JSON lines. The first says what the file is, others introduce players, and the rest
//! are games between them (docs/FILES.md).

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RecordError;
use super::game::{Game, MoveNote};
use super::lines::without_mark;
use super::result::{Finish, GameResult};
use crate::board::{Diagram, Side, Square, Transcript, excerpt};

/// What [`Header::format`] says.
const FORMAT: &str = "flipside games";

/// The version of the format that is written, and the only one that is read.
pub(crate) const VERSION: u32 = 1;

/// The longest line, in bytes.
pub(crate) const LONGEST_LINE: usize = 1 << 16;

/// Settings by name. They are equal if all values are; their order does not matter.
pub type Settings = BTreeMap<String, Value>;

/// A line of the file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Line {
    /// The first line.
    Log(Header),
    /// A player. They are numbered from 0 in the order of their lines.
    Player(PlayerCard),
    /// A game.
    Game(GameLine),
}

/// What the file is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    /// `flipside games`.
    pub format: String,
    /// The version of the format.
    pub version: u32,
    /// What all games have in common: where their openings come from.
    pub settings: Settings,
}

/// Who plays.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlayerCard {
    /// Its name, which does not identify it.
    pub name: String,
    /// All that its moves depend on, as far as known. Players with equal settings are the same player.
    pub settings: Settings,
}

/// What is wrong with a game that is not [`GameLine::is_between`] the players before it.
pub(crate) const NOT_INTRODUCED: &str = "its players are not two of those introduced before it";

/// A game.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct GameLine {
    /// Black's number.
    pub black: usize,
    /// White's number.
    pub white: usize,
    /// Moves of the opening.
    pub opening: usize,
    /// All moves, passes left out.
    #[serde(with = "as_text")]
    pub moves: Transcript,
    /// The result in discs for black, -64 to 64, empty squares going to the winner; a forfeit loses all 64.
    pub discs: i32,
    /// How the game ended.
    #[serde(default, skip_serializing_if = "End::is_played")]
    pub end: End,
    /// Why it was broken off, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The players' evaluations of the positions they moved in, in discs for the player; for all moves or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evaluations: Vec<Option<f64>>,
    /// Seconds thought, as far as the players were timed; for all moves or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seconds: Vec<Option<f64>>,
}

/// How a game ended. In all cases but the first, the side to move loses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// It was played out.
    #[default]
    Played,
    /// The player gave up.
    Resigned,
    /// By a move against the rules.
    Illegal,
    /// A player did not answer in time.
    Time,
    /// A player crashed, or answered with something that is not a move.
    Failure,
}

impl End {
    fn is_played(&self) -> bool {
        *self == Self::Played
    }
}

/// A transcript as f5d6.
mod as_text {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::board::Transcript;

    pub fn serialize<S: Serializer>(moves: &Transcript, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(moves)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Transcript, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl Header {
    /// A header of this version.
    pub fn new(settings: Settings) -> Self {
        Self { format: FORMAT.to_owned(), version: VERSION, settings }
    }
}

impl Line {
    /// Reads a line, and checks that its parts fit together: a game's result must be that of its moves.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let parsed: Self = serde_json::from_slice(line).map_err(reason)?;
        match &parsed {
            Self::Log(Header { format, .. }) if format != FORMAT => {
                Err(format!("`{}` is not `{FORMAT}`", excerpt(format)))
            }
            Self::Log(Header { version, .. }) if *version != VERSION => {
                Err(format!("a log of version {version}; this program reads version {VERSION}"))
            }
            Self::Game(game) => game.check().map(|()| parsed),
            _ => Ok(parsed),
        }
    }
}

/// Why a line cannot be read. The parser repeats a text that it did not expect, whatever its length: of long reasons only the beginning.
fn reason(error: serde_json::Error) -> String {
    const LONGEST: usize = 240;
    error.to_string().chars().take(LONGEST).collect()
}

impl GameLine {
    fn check(&self) -> Result<(), String> {
        let last = self.moves.last();
        let expected = match (self.end, last.side) {
            (End::Played, _) if !last.position.is_game_over() => return Err("the game is not played out".into()),
            (End::Played, _) => last.final_score_for_black(),
            (_, Side::Black) => -64,
            (_, Side::White) => 64,
        };
        let count = self.moves.moves().len();
        if self.discs != expected {
            Err(format!("its moves make {expected} discs, not {}", self.discs))
        } else if self.opening > count {
            Err(format!("an opening of {} moves in a game of {count}", self.opening))
        } else if [&self.evaluations, &self.seconds].iter().any(|notes| !notes.is_empty() && notes.len() != count) {
            Err(format!("there must be as many evaluations and times as moves, {count}"))
        } else {
            Ok(())
        }
    }

    /// The opening's moves.
    pub fn opening(&self) -> &[Square] {
        &self.moves.moves()[..self.opening]
    }

    /// The players' notes on their moves; empty if none were kept.
    pub fn notes(&self) -> Vec<MoveNote> {
        if self.evaluations.is_empty() && self.seconds.is_empty() {
            return Vec::new();
        }
        let at = |notes: &[Option<f64>], i: usize| notes.get(i).copied().flatten().map(|number| number as f32);
        let note = |i| MoveNote { evaluation: at(&self.evaluations, i), seconds: at(&self.seconds, i) };
        (0..self.moves.moves().len()).map(note).collect()
    }

    /// Whether it has two different players, of those with numbers below `players`.
    pub fn is_between(&self, players: usize) -> bool {
        self.black.max(self.white) < players && self.black != self.white
    }

    fn game(&self, players: &[String]) -> Game {
        let mut game = Game::new(Diagram::START);
        let notes = self.notes().into_iter().chain(std::iter::repeat(MoveNote::default()));
        for (&square, note) in self.moves.moves().iter().zip(notes) {
            game.push(square, note).expect("a transcript holds legal moves only");
        }
        game.black.clone_from(&players[self.black]);
        game.white.clone_from(&players[self.white]);
        game.add_tag("PC", "flipside");
        let finish = match self.end {
            End::Played => Finish::Played,
            End::Resigned => Finish::Resigned,
            End::Time | End::Illegal | End::Failure => Finish::Forfeited,
        };
        game.result = Some(GameResult { discs: self.discs, finish });
        game
    }
}

/// Whether a text begins like a log.
pub fn looks_like(bytes: &[u8]) -> bool {
    bytes.starts_with(br#"{"log":"#)
}

/// Whether a text is the beginning of this header's line, as a kill may leave it.
pub(crate) fn is_start(header: &Header, text: &[u8]) -> bool {
    let line = serde_json::to_vec(&Line::Log(header.clone())).expect("plain data can be written as JSON");
    line.starts_with(text)
}

/// Whether an unfinished last line can be what a kill or a power cut left of a player's or a game's line.
pub(crate) fn is_cut_off(line: &[u8]) -> bool {
    let begins = |with: &[u8]| with.starts_with(line) || line.starts_with(with);
    let is_whole = serde_json::from_slice::<IgnoredAny>(line).is_ok();
    !is_whole && (begins(br#"{"game":"#) || begins(br#"{"player":"#)) || line.iter().all(|&byte| byte == 0)
}

/// The games of a log, with an error for each that cannot be read, and one for a last line that was cut off.
pub fn read(bytes: &[u8]) -> impl Iterator<Item = Result<Game, RecordError>> + Send {
    let mut players = Vec::new();
    let text = without_mark(bytes);
    let unended = text.rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    let lines = text.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    lines.filter_map(move |(i, line)| {
        let error = |reason: &str| RecordError::on_line(i + 1, reason);
        match Line::parse(line) {
            Ok(Line::Log(_)) => {
                // Another log after the first has its own players.
                players.clear();
                None
            }
            Ok(Line::Player(card)) => {
                players.push(card.name);
                None
            }
            Ok(Line::Game(game)) if game.is_between(players.len()) => Some(Ok(game.game(&players))),
            Ok(Line::Game(_)) => Some(Err(error(NOT_INTRODUCED))),
            Err(_) if std::ptr::eq(line, unended) && is_cut_off(line) => {
                let cut_off = error("this line was cut off: the file ends within it");
                Some(Err(RecordError { is_cut_off_end: true, ..cut_off }))
            }
            Err(reason) => Some(Err(error(&reason))),
        }
    })
}
