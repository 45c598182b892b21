//! A player that speaks NBoard.

use std::time::Instant;

use super::external::{Limits, start_error};
use super::nboard::parse_answer;
use super::process::EngineProcess;
use crate::arena::{Player, PlayerError};
use crate::board::{Diagram, Square};
use crate::record::{Game, MoveNote, ggf};

/// An engine driven over NBoard 2. It is sent the whole game before each of its moves.
pub struct NBoardPlayer {
    command: String,
    limits: Limits,
    process: Option<EngineProcess>,
    name: String,
    game: Game,
    pings: u64,
    note: MoveNote,
}

impl NBoardPlayer {
    pub(super) fn start(command: String, limits: Limits) -> Result<Self, PlayerError> {
        let (name, game, note) = (String::new(), Game::new(Diagram::START), MoveNote::default());
        let mut player = Self { command, limits, process: None, name, game, pings: 0, note };
        player.restart()?;
        Ok(player)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn restart(&mut self) -> Result<(), PlayerError> {
        let mut process = EngineProcess::start(&self.command)?;
        self.greet(&mut process).map_err(|error| start_error(&self.command, error))?;
        self.process = Some(process);
        Ok(())
    }

    fn greet(&mut self, process: &mut EngineProcess) -> Result<(), PlayerError> {
        process.send("nboard 2")?;
        if let Some(depth) = self.limits.depth {
            process.send(&format!("set depth {depth}"))?;
        }
        self.synchronise(process)
    }

    /// Waits until the engine has read everything sent.
    fn synchronise(&mut self, process: &mut EngineProcess) -> Result<(), PlayerError> {
        self.pings += 1;
        let (ping, pong) = (format!("ping {}", self.pings), format!("pong {}", self.pings));
        process.send(&ping)?;
        let name = &mut self.name;
        process.receive(&ping, self.limits.start, |line| {
            if let Some(text) = line.trim().strip_prefix("set myname ") {
                text.trim().clone_into(name);
            }
            (line.trim() == pong).then_some(())
        })
    }

    fn try_choose(&mut self) -> Result<Square, PlayerError> {
        if self.process.is_none() {
            self.restart()?;
        }
        let mut process = self.process.take().expect("just started");
        let mut text = Vec::new();
        ggf::write(&mut text, &self.game).expect("writing to memory");
        process.send(&format!("set game {}", String::from_utf8_lossy(&text).trim_end()))?;
        self.synchronise(&mut process)?;
        let begin = Instant::now();
        process.send("go")?;
        let answer = process.receive("go", self.limits.per_move, |line| {
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
        self.game.place = Some("flipside".into());
    }

    /// After an error the process is gone, and the next game starts a fresh one.
    fn choose(&mut self, _diagram: &Diagram) -> Result<Square, PlayerError> {
        self.try_choose()
    }

    fn observe(&mut self, _diagram: &Diagram, square: Square) {
        self.game.push(square, MoveNote::default()).expect("the referee lets legal moves through only");
    }

    fn note(&self) -> MoveNote {
        self.note
    }
}
