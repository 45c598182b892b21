//! The program's own player by time instead of depth.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::player::{Player, PlayerError};
use super::search_player::SearchPlayer;
use crate::board::{Diagram, Square};
use crate::eval::{Evaluator, Score};
use crate::record::MoveNote;

/// How often an outer stop is looked for.
const GLANCE: Duration = Duration::from_millis(50);

/// Plays by searching deeper and deeper until the time for a move is over. What it plays depends on the speed of the machine.
pub struct TimedPlayer<'e, E: Evaluator> {
    player: SearchPlayer<'e, E>,
    time: Duration,
    score: Option<Score>,
}

impl<'e, E: Evaluator> TimedPlayer<'e, E> {
    /// A player that thinks as `player` does, to its depth at most, for so long about each move.
    pub fn new(player: SearchPlayer<'e, E>, time: Duration) -> Self {
        Self { player, time, score: None }
    }
}

impl<E: Evaluator> Player for TimedPlayer<'_, E> {
    fn new_game(&mut self) {
        self.player.new_game();
    }

    /// An only move is played at once. Four plies are always searched, however short the time.
    fn choose(&mut self, diagram: &Diagram, stop: &AtomicBool) -> Result<Square, PlayerError> {
        let moves = diagram.position.moves();
        self.score = None;
        if moves.count_ones() == 1 {
            return Ok(Square::lowest(moves));
        }
        let depth = self.player.settings().depth;
        let found = within(self.time, stop, |late| self.player.think(&diagram.position, depth, late));
        let found = found.map_err(|error| PlayerError::Failed(format!("cannot start a thread as a clock: {error}")))?;
        self.score = Some(found.score);
        found.best.ok_or_else(|| PlayerError::Failed(format!("the search found no move in {diagram}")))
    }

    fn note(&self) -> MoveNote {
        MoveNote { evaluation: self.score.map(Score::discs), seconds: None }
    }
}

/// Does some work with a flag that is set when the time is over or `stop` is set.
fn within<T>(time: Duration, stop: &AtomicBool, work: impl FnOnce(&AtomicBool) -> T) -> io::Result<T> {
    let deadline = Instant::now() + time;
    let late = &AtomicBool::new(false);
    let (working, done) = channel::<()>();
    let watch = move || {
        while !stop.load(Relaxed) && Instant::now() < deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            // Nothing is ever sent: the channel closes when the work is done.
            if done.recv_timeout(left.min(GLANCE)) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
        }
        late.store(true, Relaxed);
    };
    thread::scope(|scope| {
        thread::Builder::new().name("clock".into()).spawn_scoped(scope, watch)?;
        let result = work(late);
        drop(working);
        Ok(result)
    })
}
