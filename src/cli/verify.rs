//! `flipside verify`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use super::evaluator::EvaluatorChoice;
use super::results::FormatArgument;
use super::runs::{latest, resolved, unreadable};
use super::session::Session;
use super::signals::stop_on_signals;
use flipside::text::{count, counted, duration, typed};
use flipside::train::{StoredRun, TrainEvent};
use flipside::verify::{VerifyRequest, verify};

/// Prove a run: learn it again from its kept games, and play a share of them again
///
/// Finds games that the run would not have played (a worker that lies, a flipped bit of memory), weights that its games do not lead to, and
/// games, weights, checkpoints and events that are not what was written (a flipped bit on disk), and names them in a table: file, numbers
/// of the first and last game, the worker that played them, and the reason. The run must not be running; nothing in it is changed.
/// Learning again takes as long as it took the run, and as much room in the folder for temporary files (TMPDIR) as its games take. A run
/// that continues another one can be proved until that one goes on. Exits with 0 if everything is as it should be, with 1 if not.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  flipside verify runs/latest\n  flipside verify runs/latest --share 1")]
pub struct VerifyArguments {
    /// The run's directory [default: runs/latest]
    run: Option<PathBuf>,

    /// Share of each generation's games that is played again, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, value_parser = parse_share)]
    share: f64,

    /// Random seed that decides which games these are [default: a new one]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// The weights that the run began with, if it did not begin from nothing
    #[arg(long, value_name = "FILE")]
    from: Option<EvaluatorChoice>,

    #[command(flatten)]
    format: FormatArgument,
}

fn parse_share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

impl VerifyArguments {
    pub fn run(self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let run = resolved(&self.run.unwrap_or_else(latest));
        let shown = run.display();
        let from = self.from.as_ref().map(EvaluatorChoice::weight_file).transpose()?;
        let stored = StoredRun::read(&run).map_err(unreadable)?;
        let began_with = stored.parent.filter(|_| stored.continues.is_empty());
        if began_with != from.as_ref().map(|from| from.hash()) {
            return Err(CliError::failure(match from {
                Some(_) => format!("`{shown}` did not begin with the weights of --from"),
                None => format!("`{shown}` began with other weights: name their file with --from"),
            }));
        }
        let seed = self.seed.unwrap_or_else(rand::random);
        let stop = stop_on_signals();
        let request = VerifyRequest { run: &run, share: self.share, seed, from: from.as_ref(), stop: &stop };
        let verified = verify(&request, &mut |event| tell(session, event));
        let verified = verified.map_err(|error| CliError::because(format!("cannot learn `{shown}` again"), error))?;
        let Some(verified) = verified else {
            return Err(CliError::Stopped("stopped: nothing is proved; repeat the command".to_owned()));
        };
        session.say(format_args!(
            "learned again from {}, of which {} were played again (--seed {seed})",
            counted(verified.games, "game"),
            count(verified.replayed)
        ));
        if verified.faults.is_empty() {
            session.say("all of it is what the run would have played and learned");
            return Ok(());
        }
        self.format.to(out).table(&verified.faults)?;
        let faults = counted(verified.faults.len() as u64, "fault");
        Err(CliError::failure(format!("`{}` is not what it should be: {faults}", typed(&run))))
    }
}

/// Reports how far it has come.
fn tell(session: &Session, event: &TrainEvent) {
    match event {
        TrainEvent::Played { generation, games, .. } => {
            session.log(format_args!("generation {} gone through, {} in all", generation + 1, counted(*games, "game")));
        }
        TrainEvent::Learned { games, seconds, .. } => {
            session.log(format_args!("learned again {}, {}", counted(*games, "game"), duration(*seconds)));
        }
        _ => {}
    }
}
