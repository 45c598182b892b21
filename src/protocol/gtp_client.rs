//! A player that speaks GTP.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::gtp::parse_answer;
use super::process::{EngineProcess, ProcessLimits, start_error};
use crate::arena::{Player, PlayerError};
use crate::board::{Diagram, Side, Square};
use crate::record::MoveNote;

/// An engine driven over GTP. Answers may lack the empty line after them, and other lines between answers are ignored.
pub(super) struct GtpPlayer {
    command: String,
    limits: ProcessLimits,
    process: Option<EngineProcess>,
    /// Commands that bring the engine's game up to date.
    pending: Vec<String>,
    /// The side to move after them, as the engine sees it.
    to_move: Side,
    /// The engine's own move, already played on its board.
    own: Option<Square>,
    seconds: Option<f32>,
}

impl GtpPlayer {
    pub(super) fn start(command: String, limits: ProcessLimits, stop: &AtomicBool) -> Result<Self, PlayerError> {
        let (process, pending) = (None, Vec::new());
        let mut player = Self { command, limits, process, pending, to_move: Side::Black, own: None, seconds: None };
        player.restart(stop)?;
        Ok(player)
    }

    fn restart(&mut self, stop: &AtomicBool) -> Result<(), PlayerError> {
        let command = self.command.clone();
        let failed = |error| start_error(&command, error);
        self.process = Some(EngineProcess::start(&command)?);
        // Every engine has a name: an answer shows that it speaks the protocol.
        self.ask("name", self.limits.start, stop).map_err(failed)?;
        // Engines for several games need to know which; others may not know the command.
        match self.ask("set_game Othello", self.limits.start, stop) {
            Err(PlayerError::Answer { .. }) | Ok(_) => {}
            Err(error) => return Err(failed(error)),
        }
        self.ask("boardsize 8", self.limits.start, stop).map_err(failed)?;
        Ok(())
    }

    /// The text of the answer to a command. If none comes, the process is ended, as nobody knows what it would do next.
    fn ask(&mut self, request: &str, limit: Duration, stop: &AtomicBool) -> Result<String, PlayerError> {
        let Some(process) = &mut self.process else {
            return Err(PlayerError::Ended { request: request.to_owned(), has_ended: true, detail: String::new() });
        };
        let answer = process.send(request).and_then(|()| {
            process.receive(request, limit, stop, |line| {
                let (done, text) = parse_answer(line)?;
                Some((done, text.to_owned()))
            })
        });
        match answer {
            Ok((true, text)) => Ok(text),
            Ok((false, text)) => Err(PlayerError::Answer { request: request.to_owned(), answer: text }),
            Err(error) => {
                self.process = None;
                Err(error)
            }
        }
    }

    fn catch_up_with_pass(&mut self, diagram: &Diagram) {
        if diagram.side != self.to_move {
            self.pending.push(format!("play {} pass", colour(self.to_move)));
            self.to_move = diagram.side;
        }
    }

    fn try_choose(&mut self, diagram: &Diagram, stop: &AtomicBool) -> Result<Square, PlayerError> {
        if self.process.is_none() {
            self.restart(stop)?;
        }
        self.catch_up_with_pass(diagram);
        for request in std::mem::take(&mut self.pending) {
            self.ask(&request, self.limits.start, stop)?;
        }
        let request = format!("genmove {}", colour(diagram.side));
        let begin = Instant::now();
        let answer = self.ask(&request, self.limits.per_move, stop)?;
        self.seconds = Some(begin.elapsed().as_secs_f32());
        if answer.eq_ignore_ascii_case("resign") {
            return Err(PlayerError::Resigned);
        }
        let square = answer.parse().map_err(|_| PlayerError::Answer { request, answer })?;
        self.own = Some(square);
        Ok(square)
    }
}

impl Player for GtpPlayer {
    fn new_game(&mut self) {
        self.pending = vec!["clear_board".into()];
        (self.to_move, self.own) = (Side::Black, None);
    }

    fn choose(&mut self, diagram: &Diagram, stop: &AtomicBool) -> Result<Square, PlayerError> {
        let chosen = self.try_choose(diagram, stop);
        if chosen.as_ref().is_err_and(|error| *error != PlayerError::Resigned) {
            // Its state is unknown: the next game starts with a fresh process.
            self.process = None;
        }
        chosen
    }

    fn observe(&mut self, diagram: &Diagram, square: Square) {
        self.catch_up_with_pass(diagram);
        if self.own.take() != Some(square) {
            self.pending.push(format!("play {} {square}", colour(diagram.side)));
        }
        self.to_move = diagram.side.other();
    }

    fn note(&self) -> MoveNote {
        MoveNote { evaluation: None, seconds: self.seconds }
    }
}

/// `b` or `w`.
fn colour(side: Side) -> &'static str {
    &side.name()[..1]
}
