//! Where the games of a generation come from.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::eval::{Model, PatternEvaluator};
use crate::games::frame;
use crate::pattern::Layout;
use crate::selfplay::{GameRecord, SelfPlay, SelfPlayConfig, measured_calibration};

/// Games to be played.
#[derive(Clone, Debug)]
pub struct GameJob<'j> {
    /// The weights to play with.
    pub model: &'j Model,
    /// The layout of their pattern set.
    pub layout: &'j Arc<Layout>,
    /// How they are played.
    pub play: &'j SelfPlayConfig,
    /// The run's seed; with the generation and a game's number it decides that game's random choices.
    pub seed: u64,
    /// The generation, from 0.
    pub generation: u32,
    /// Numbers of the games.
    pub games: Range<u32>,
}

impl GameJob<'_> {
    /// The evaluator to play with, calibrated first if searches are selective; `None` if that was stopped.
    ///
    /// # Panics
    /// If the layout is not that of the model's pattern set.
    pub fn evaluator(&self, stop: &AtomicBool) -> Option<PatternEvaluator> {
        let evaluator =
            PatternEvaluator::with_layout(self.model, self.layout.clone()).expect("the layout of the model");
        let calibration = measured_calibration(&evaluator, self.play, stop).ok()?;
        Some(evaluator.with_calibration(calibration))
    }
}

/// Games that were played, also as the frame of a games file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Played {
    /// The games.
    pub games: Vec<GameRecord>,
    /// [`frame`] of the games.
    pub frame: Vec<u8>,
}

/// Takes games as they are played, those that came together at once, and says whether it wants more.
pub type OnGames<'g> = dyn FnMut(Vec<Played>) -> ControlFlow<()> + Send + 'g;

/// Plays the games of generations, here or elsewhere. A game depends on the job and its number alone.
pub trait GameSource: Sync {
    /// Hands over the games of a job in the order of their numbers, in batches, from any thread. Ends soon after `stop` is set or
    /// `on_games` breaks off, with the first games of the job handed over.
    ///
    /// # Errors
    /// Games that were handed over are wrong, or may be; the whole generation has to be played again.
    fn play(&self, job: &GameJob<'_>, stop: &AtomicBool, on_games: &mut OnGames<'_>) -> Result<(), BadGames>;
}

/// Games that are wrong, or may be, and why.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadGames(pub String);

/// Plays on the threads of the current rayon pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalGames;

impl GameSource for LocalGames {
    fn play(&self, job: &GameJob<'_>, stop: &AtomicBool, on_games: &mut OnGames<'_>) -> Result<(), BadGames> {
        let Some(evaluator) = job.evaluator(stop) else { return Ok(()) };
        let players = SelfPlay::new(&evaluator, *job.play);
        let prepare = |first, games: Vec<GameRecord>| Played { frame: frame(first, &games), games };
        players.play_in_order(job.seed, job.generation, job.games.clone(), stop, prepare, on_games);
        Ok(())
    }
}
