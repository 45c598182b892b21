//! `flipside book match`.

use std::io::Write;
use std::path::Path;

use clap::Args;

use crate::cli::error::CliError;
use crate::cli::evaluator::WeightsOption;
use crate::cli::match_::MatchOptions;
use crate::cli::player::PlayerChoice;
use crate::cli::session::Session;

/// Play a match between two books, or a book and none, with the same weights and strength
///
/// Openings are all different positions after --opening-plies moves (default 5), short so that the books come into play. Output and
/// other options are those of `match`.
#[derive(Args, Debug)]
#[command(mut_arg("book", |arg| arg.hide(true)))]
#[command(mut_arg("nboard_depth", |arg| arg.hide(true)))]
#[command(mut_arg("move_time", |arg| arg.hide(true)))]
#[command(
    after_help = "Examples:\n  flipside book match book.fsb none --pairs 100\n  flipside book match new.fsb old.fsb --depth 8"
)]
pub struct BookMatchArguments {
    /// The book whose results are shown
    first: String,

    /// The book to beat, or `none`
    second: String,

    #[command(flatten)]
    weights: WeightsOption,

    #[command(flatten)]
    options: MatchOptions,
}

/// Moves of the openings.
const PLIES: u32 = 5;

impl BookMatchArguments {
    pub fn run(mut self, session: &Session, out: &mut dyn Write) -> Result<(), CliError> {
        let player = |book: &str| -> Result<PlayerChoice, CliError> {
            if book.contains([',', ':']) && Path::new(book).exists() {
                return Err(CliError::Usage(format!(
                    "`{book}`: names of books in matches cannot contain a comma or a colon"
                )));
            }
            format!("{}:book={book}", self.weights.choice()).parse().map_err(CliError::Usage)
        };
        let players = [player(&self.first)?, player(&self.second)?];
        self.options.openings_of(PLIES);
        self.options.run(&players, session, out)
    }
}
