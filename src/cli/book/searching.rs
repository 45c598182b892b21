//! What books are searched with.

use clap::Args;

use crate::book::{Errors, Hash, LeafSearch};
use crate::cli::error::CliError;
use crate::cli::evaluator::{AnyEvaluator, EvaluatorChoice, WeightsOption, own_engine, with_evaluator};
use crate::cli::memory::check_tables;
use crate::cli::session::Session;
use crate::cli::strength::SelectivityArgument;
use crate::eval::Evaluator;
use crate::search::Strength;
use crate::weights::WeightFile;

/// How positions of a book are searched.
#[derive(Args, Debug)]
pub struct SearchArguments {
    #[command(flatten)]
    weights: WeightsOption,

    /// Plies to look ahead from each position
    #[arg(short, long, default_value_t = 10, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(Strength::MAX_DEPTH)))]
    depth: u32,

    #[command(flatten)]
    selective: SelectivityArgument,

    /// Solve positions with at most N empty squares
    #[arg(long, alias = "exact", default_value_t = 16, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=i64::from(Strength::MAX_EXACT_EMPTIES)))]
    exact_empties: u32,

    /// Size of each hash table of each thread: 2^N entries of 16 bytes
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=34))]
    log2_hash: u32,
}

/// An evaluation to search with, what was typed for it, and its measured errors.
pub struct Searching {
    pub evaluator: AnyEvaluator,
    pub hash: Hash,
    errors: Errors,
    strength: Strength,
    log2_hash: u32,
    choice: EvaluatorChoice,
}

impl SearchArguments {
    /// Loads the evaluation.
    ///
    /// # Errors
    /// What is wrong with the weights, or tables that do not fit into memory.
    pub fn load(&self, session: &Session) -> Result<Searching, CliError> {
        check_tables(2 * session.threads as u64, self.log2_hash)?;
        let &Self { depth, exact_empties, .. } = self;
        let strength = Strength { depth, selectivity: self.selective.selectivity, exact_empties };
        Searching::new(&self.weights.choice(), strength, self.log2_hash)
    }
}

impl Searching {
    /// Loads an evaluation to search with.
    ///
    /// # Errors
    /// What is wrong with the weights.
    pub fn new(choice: &EvaluatorChoice, strength: Strength, log2_hash: u32) -> Result<Self, CliError> {
        let (evaluator, file) = choice.load_with_file()?;
        choice.check_calibrated(&evaluator, strength.selectivity)?;
        let calibration = with_evaluator!(&evaluator, evaluator => evaluator.calibration());
        let errors = Errors::new(calibration);
        let hash = hash_of(file.as_ref());
        Ok(Self { evaluator, hash, errors, strength, log2_hash, choice: choice.clone() })
    }

    /// Refuses weights whose errors have not been measured.
    ///
    /// # Errors
    /// They are not calibrated.
    pub fn must_be_calibrated(&self) -> Result<(), CliError> {
        match self.errors.are_known() {
            true => Ok(()),
            false => Err(self.choice.not_calibrated(", so the errors of its values are not known")),
        }
    }

    /// A searcher for a thread, with this evaluator.
    pub fn searcher<'e, E: Evaluator>(&self, evaluator: &'e E) -> LeafSearch<'e, E> {
        LeafSearch::new(own_engine(evaluator, self.strength, self.log2_hash), self.errors.clone())
    }
}

/// The name of weights in a book; all zeros for evaluations without weights.
fn hash_of(file: Option<&WeightFile>) -> Hash {
    let mut hash = Hash::default();
    let text = file.map(WeightFile::hash).unwrap_or_default();
    for (byte, digits) in hash.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).expect("hexadecimal digits");
        *byte = u8::from_str_radix(digits, 16).expect("hexadecimal digits");
    }
    hash
}
