//! A player that speaks NBoard.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::nboard::parse_answer;
use super::process::{EngineProcess, ProcessLimits, start_error};
use crate::arena::{Player, PlayerError};
use crate::board::{Diagram, Square};
use crate::record::{Game, MoveNote, write_ggf};

/// An engine driven over NBoard 2. It is sent the whole game before each of its moves.
pub(super) struct NBoardPlayer {
    command: String,
    limits: ProcessLimits,
    process: Option<EngineProcess>,
    game: Game,
    pings: u64,
    note: MoveNote,
}

impl NBoardPlayer {
    pub(super) fn start(command: String, limits: ProcessLimits, stop: &AtomicBool) -> Result<Self, PlayerError> {
        let (game, note) = (Game::new(Diagram::START), MoveNote::default());
        let mut player = Self { command, limits, process: None, game, pings: 0, note };
        player.restart(stop)?;
        Ok(player)
    }

    fn restart(&mut self, stop: &AtomicBool) -> Result<(), PlayerError> {
        let mut process = EngineProcess::start(&self.command)?;
        self.greet(&mut process, stop).map_err(|error| start_error(&self.command, error))?;
        self.process = Some(process);
        Ok(())
    }

    fn greet(&mut self, process: &mut EngineProcess, stop: &AtomicBool) -> Result<(), PlayerError> {
        process.send("nboard 2")?;
        if let Some(depth) = self.limits.depth {
            process.send(&format!("set depth {depth}"))?;
        }
        self.synchronise(process, stop)
    }

    /// Waits until the engine has read everything sent.
    fn synchronise(&mut self, process: &mut EngineProcess, stop: &AtomicBool) -> Result<(), PlayerError> {
        self.pings += 1;
        let (ping, pong) = (format!("ping {}", self.pings), format!("pong {}", self.pings));
        process.send(&ping)?;
        process.receive(&ping, self.limits.start, stop, |line| (line.trim() == pong).then_some(()))
    }

    fn try_choose(&mut self, stop: &AtomicBool) -> Result<Square, PlayerError> {
        if self.process.is_none() {
            self.restart(stop)?;
        }
        let mut process = self.process.take().expect("just started");
        // The referee asks the side that can move, so a pass before that has been made.
        self.game.note_pass();
        let mut text = Vec::new();
        write_ggf(&mut text, &self.game).expect("writing to memory");
        process.send(&format!("set game {}", String::from_utf8_lossy(&text).trim_end()))?;
        self.synchronise(&mut process, stop)?;
        let begin = Instant::now();
        process.send("go")?;
        let answer = process.receive("go", self.limits.per_move, stop, |line| {
            line.trim().strip_prefix("===").map(|text| text.trim().to_owned())
        })?;
        let seconds = begin.elapsed().as_secs_f32();
        let (square, evaluation) = parse_answer(&answer)
            .ok_or_else(|| PlayerError::Answer { request: "go".into(), answer: answer.clone() })?;
        self.note = MoveNote { evaluation, seconds: Some(seconds) };
        self.process = Some(process);
        Ok(square)
    }
}

impl Player for NBoardPlayer {
    fn new_game(&mut self) {
        self.game = Game::new(Diagram::START);
        self.game.add_tag("PC", "flipside");
    }

    /// After an error the process is gone, and the next game starts a fresh one.
    fn choose(&mut self, _diagram: &Diagram, stop: &AtomicBool) -> Result<Square, PlayerError> {
        self.try_choose(stop)
    }

    fn observe(&mut self, _diagram: &Diagram, square: Square) {
        self.game.push(square, MoveNote::default()).expect("the referee lets legal moves through only");
    }

    fn note(&self) -> MoveNote {
        self.note
    }
}
