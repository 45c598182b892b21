//! Messages, and the checks before they are used.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::games::{RawFrame, digest, raw_frames};
use crate::selfplay::{FRAME, GameRecord, SelfPlayConfig, frames};
use crate::storage::{hex, sha256};
use crate::train::check_self_play;

/// Most bytes of a message with games; brokers take 1 MB by default.
pub const MAX_RESULT: usize = 512 << 10;
/// Most bytes of any other message.
pub const MAX_TEXT: usize = 16 << 10;
/// Most games of a job.
pub const MAX_GAMES: u32 = 256;

/// Games to be played. They depend on these fields and on nothing else.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The seed of the run.
    pub seed: u64,
    /// The generation, from 0.
    pub generation: u32,
    /// Number of the first game.
    pub first: u32,
    /// Number of games, 1 to [`MAX_GAMES`].
    pub count: u32,
    /// How they are played.
    pub play: SelfPlayConfig,
    /// [`sha256`] of the weight file to play with, which is its name at the broker.
    pub weights: String,
}

/// Games that the coordinator has played. A worker plays them before any other, to show that its build plays as the coordinator's does.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The games.
    pub job: Job,
    /// [`digest_of`] them as the coordinator played them.
    pub digest: String,
}

/// A job as it is offered to workers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// The games to be played.
    pub job: Job,
    /// What to prove first.
    pub proof: Proof,
}

/// What a worker says about itself, every few seconds. A later version may say more.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Alive {
    /// The worker's name.
    pub worker: String,
    /// Threads it plays with.
    pub threads: u32,
    /// Program and version, for people to read.
    pub program: String,
    /// Whether it is about to end.
    pub leaving: bool,
}

/// The first line of a message with games; their frames follow.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultLine {
    /// [`Job::key`] of the job.
    pub key: String,
    /// Who played.
    pub worker: String,
    /// Number of the first game.
    pub first: u32,
    /// Number of games.
    pub count: u32,
}

/// What is wrong with a message.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct WireError(String);

impl Job {
    /// A hash of all that the games depend on but their numbers: jobs with the same key belong to the same generation.
    pub fn key(&self) -> String {
        let Self { seed, generation, play, weights, .. } = self;
        sha256(&serde_json::to_vec(&(seed, generation, play, weights)).expect("plain data"))
    }

    /// The numbers of the games.
    pub fn games(&self) -> Range<u32> {
        self.first..self.first + self.count
    }

    fn check(&self) -> Result<(), WireError> {
        check_numbers(self.first, self.count)?;
        check_self_play(&self.play).map_err(|error| WireError(error.to_string()))?;
        check_hash(&self.weights)
    }
}

impl Offer {
    /// An offer from bytes, everything in it checked.
    ///
    /// # Errors
    /// What is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        let offer: Self = text(bytes)?;
        offer.job.check()?;
        offer.proof.job.check()?;
        check_hash(&offer.proof.digest)?;
        Ok(offer)
    }
}

/// A message with games.
pub fn result_to_bytes(line: &ResultLine, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = to_text(line);
    bytes.push(b'\n');
    frames.iter().for_each(|frame| bytes.extend_from_slice(frame));
    bytes
}

/// The frames of a message with games, whole and undamaged, and as many games as announced; not decoded yet.
///
/// # Errors
/// What is wrong.
pub fn result_from_bytes(bytes: &[u8]) -> Result<(ResultLine, Vec<RawFrame>), WireError> {
    check_length(bytes, MAX_RESULT)?;
    let end = bytes.iter().take(MAX_TEXT).position(|&byte| byte == b'\n');
    let end = end.ok_or_else(|| WireError("it has no first line".to_owned()))?;
    let line: ResultLine = text(&bytes[..end])?;
    let &ResultLine { first, count, .. } = &line;
    check_numbers(first, count)?;
    check_hash(&line.key)?;
    let games = first..first + count;
    let found = raw_frames(&bytes[end + 1..]).map_err(|error| WireError(error.to_string()))?;
    let numbers = |frame: &RawFrame| (frame.first(), frame.len());
    if found.iter().map(numbers).eq(frames(games.clone()).map(|frame| (frame.start, frame.len()))) {
        Ok((line, found))
    } else {
        Err(WireError(format!("its frames do not hold games {first} to {}, {FRAME} in each", games.end - 1)))
    }
}

/// JSON of at most [`MAX_TEXT`] bytes.
///
/// # Errors
/// Too long, or not the expected JSON.
pub fn text<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, WireError> {
    check_length(bytes, MAX_TEXT)?;
    serde_json::from_slice(bytes).map_err(|error| WireError(format!("it cannot be understood: {error}")))
}

/// The JSON that [`text`] reads.
pub fn to_text(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain data")
}

/// [`digest`] of games in hexadecimal.
pub fn digest_of(games: &[GameRecord]) -> String {
    hex(&digest(games))
}

fn check_length(bytes: &[u8], most: usize) -> Result<(), WireError> {
    if bytes.len() <= most {
        return Ok(());
    }
    Err(WireError(format!("it has {} bytes, and at most {most} are allowed", bytes.len())))
}

fn check_numbers(first: u32, count: u32) -> Result<(), WireError> {
    let is_job = (1..=MAX_GAMES).contains(&count) && first.checked_add(count).is_some();
    if is_job { Ok(()) } else { Err(WireError(format!("{count} games from number {first} on are not a job"))) }
}

fn check_hash(name: &str) -> Result<(), WireError> {
    let is_hash = name.len() == 64 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let shown = || name.chars().take(80).collect::<String>();
    if is_hash { Ok(()) } else { Err(WireError(format!("`{}` is not a SHA-256 in hexadecimal", shown()))) }
}
