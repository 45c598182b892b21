//! Where the games of a generation come from.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::eval::{Model, PatternEvaluator};
use crate::games::frame;
use crate::pattern::Layout;
use crate::selfplay::{GameRecord, SelfPlay, SelfPlayConfig, measured_calibration};

/// Games that are wanted.
#[derive(Clone, Debug)]
pub struct GameJob<'j> {
    /// The weights to play with.
    pub model: &'j Model,
    /// The layout of their pattern set.
    pub layout: &'j Arc<Layout>,
    /// How they are played.
    pub play: &'j SelfPlayConfig,
    /// The run's seed; with the generation and its number it decides a game's chance.
    pub seed: u64,
    /// The generation, from 0.
    pub generation: u32,
    /// Numbers of the games.
    pub games: Range<u32>,
}

/// Games that were played: as such, and as the frame of a games file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Played {
    /// The games.
    pub games: Vec<GameRecord>,
    /// [`frame`] of the games.
    pub frame: Vec<u8>,
}

/// Plays the games of generations, here or elsewhere. A game is a function of the job and its number alone.
pub trait GameSource: Sync {
    /// Hands over the games of a job in the order of their numbers, some at a time, from any thread. Ends soon after `stop` is set or
    /// `on_games` breaks off; what was handed over until then are the first games of the job.
    ///
    /// # Errors
    /// Games that were handed over are not the job's; all of the generation have to be played again.
    fn play(
        &self,
        job: &GameJob<'_>,
        stop: &AtomicBool,
        on_games: &mut (dyn FnMut(Played) -> ControlFlow<()> + Send),
    ) -> Result<(), BadGames>;
}

/// Games that turned out not to be the run's, and why.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadGames(pub String);

/// Plays on the threads of the current rayon pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalGames;

impl GameSource for LocalGames {
    fn play(
        &self,
        job: &GameJob<'_>,
        stop: &AtomicBool,
        on_games: &mut (dyn FnMut(Played) -> ControlFlow<()> + Send),
    ) -> Result<(), BadGames> {
        let evaluator = PatternEvaluator::with_layout(job.model, job.layout.clone()).expect("the learner's model fits");
        let Ok(calibration) = measured_calibration(&evaluator, job.play, stop) else { return Ok(()) };
        let evaluator = evaluator.with_calibration(calibration);
        let players = SelfPlay::new(&evaluator, *job.play);
        let prepare = |first, games: Vec<GameRecord>| Played { frame: frame(first, &games), games };
        players.play_in_order(job.seed, job.generation, job.games.clone(), stop, prepare, on_games);
        Ok(())
    }
}
