//! Where the games of a generation come from.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::event::TrainEvent;
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
    /// The worker that played them; `None` for this machine.
    pub by: Option<String>,
}

/// Takes games as they are played, those that came together at once, and says whether it wants more.
pub type OnGames<'g> = dyn FnMut(Vec<Played>) -> ControlFlow<()> + Send + 'g;

/// Plays the games of generations, here or elsewhere. A game depends on the job and its number alone.
pub trait GameSource: Sync {
    /// Hands over the games of a job in the order of their numbers, a frame in each [`Played`], from any thread. Ends soon after `stop`
    /// is set or `on_games` breaks off, with the first games of the job handed over.
    fn play(&self, job: &GameJob<'_>, stop: &AtomicBool, on_games: &mut OnGames<'_>);
}

/// Plays on the threads of the current rayon pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalGames;

impl GameSource for LocalGames {
    fn play(&self, job: &GameJob<'_>, stop: &AtomicBool, on_games: &mut OnGames<'_>) {
        let Some(evaluator) = job.evaluator(stop) else { return };
        let players = SelfPlay::new(&evaluator, *job.play);
        let prepare = |first, games: Vec<GameRecord>| Played { frame: frame(first, &games), games, by: None };
        players.play_in_order(job.seed, job.generation, job.games.clone(), stop, prepare, on_games);
    }
}

/// Which of a generation's games workers have played, as it becomes known.
#[derive(Debug, Default)]
pub(super) struct Deliveries(BTreeMap<String, Vec<[u32; 2]>>);

impl Deliveries {
    /// Notes games whose numbers begin with `first`, one frame after the other.
    pub fn note(&mut self, mut first: u32, played: &[Played]) {
        for Played { games, by, .. } in played {
            let end = first + games.len() as u32;
            if let Some(worker) = by {
                let ranges = self.0.entry(worker.clone()).or_default();
                match ranges.last_mut() {
                    Some([_, last]) if *last + 1 == first => *last = end - 1,
                    _ => ranges.push([first, end - 1]),
                }
            }
            first = end;
        }
    }

    /// The event that tells what was noted since the last one; `None` if nothing was.
    pub fn event(&mut self, generation: u32) -> Option<TrainEvent> {
        let workers = std::mem::take(&mut self.0);
        (!workers.is_empty()).then_some(TrainEvent::Delivered { generation, workers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::MobilityEvaluator;

    #[test]
    fn games_are_told_by_worker_with_ranges_joined() {
        let text = r#"{"depth":1,"exact-empties":2,"opening-plies":20,"exploration":0.1,"update":"td"}"#;
        let players = SelfPlay::new(&MobilityEvaluator, serde_json::from_str(text).unwrap());
        let games = players.play_here(1, 0, 0..2, &AtomicBool::new(false)).unwrap();
        let of = |by: Option<&str>| Played { games: games.clone(), frame: Vec::new(), by: by.map(str::to_owned) };
        let mut deliveries = Deliveries::default();
        deliveries.note(6, &[of(Some("a")), of(Some("a")), of(None), of(Some("b"))]);
        deliveries.note(14, &[of(Some("a"))]);
        let workers = BTreeMap::from([("a".to_owned(), vec![[6, 9], [14, 15]]), ("b".to_owned(), vec![[12, 13]])]);
        assert_eq!(deliveries.event(3), Some(TrainEvent::Delivered { generation: 3, workers }));
        assert_eq!(deliveries.event(3), None);
    }
}
