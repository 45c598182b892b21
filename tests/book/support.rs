//! Books made for tests.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use flipside::board::Transcript;
use flipside::book::{Book, Errors, GameCounts, Grow, GrowthEnd, LeafSearch, count_games};
use flipside::eval::{Calibration, DepthPair, MobilityEvaluator};
use flipside::search::{Engine, Strength};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub static NEVER: AtomicBool = AtomicBool::new(false);
pub const WEIGHTS: [u8; 32] = [7; 32];

/// A temporary folder and a path in it.
pub fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.fsb");
    (folder, path)
}

/// A plausible calibration of the mobility evaluator.
pub fn errors() -> Errors {
    let pair = |shallow, deep, deviation| DepthPair {
        min_empties: 0,
        max_empties: 60,
        shallow,
        deep,
        slope: 1.0,
        offset: 0.0,
        deviation,
    };
    Errors::new(Some(&Calibration::new(vec![pair(1, 4, 4.0), pair(2, 4, 3.0)]).unwrap()))
}

/// A searcher to a depth, exact from eight empty squares on.
pub fn searcher(depth: u32) -> LeafSearch<'static, MobilityEvaluator> {
    let engine = Engine::new(&MobilityEvaluator, Strength::new(depth, 8), 10).unwrap();
    LeafSearch::new(engine, errors())
}

/// Grows a book to a number of positions on a number of threads.
pub fn grow(path: &Path, positions: u64, threads: usize, stop: &AtomicBool) -> GrowthEnd {
    let mut book = Book::edit_or_create(path).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let grow = Grow { weights: WEIGHTS, positions: Some(positions), stop, until: None };
    pool.install(|| grow.run(&mut book, || searcher(2), |_| ())).unwrap()
}

/// Games of random moves.
pub fn random_games(count: usize, seed: u64) -> Vec<Transcript> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| Transcript::random(&mut rng)).collect()
}

/// Black's result of a game that is over.
pub fn black_discs(game: &Transcript) -> i32 {
    game.last().final_score_for_black()
}

/// A book of random games, none of its positions searched.
pub fn counted(path: &Path, games: &[Transcript]) {
    let mut counts = GameCounts::new(path);
    games.iter().for_each(|game| counts.add(&game.steps(), black_discs(game), 30).unwrap());
    count_games(&mut Book::edit_or_create(path).unwrap(), counts, 1).unwrap();
}

/// The content of a book: files with the same content may differ.
pub fn content(path: &Path) -> String {
    Book::open(path).unwrap().hash().unwrap()
}

/// Changes one bit of a page of a book, counted from the first after the header.
pub fn damage_page(path: &Path, page: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[512 + page * 4104 + 1000] ^= 0x40;
    std::fs::write(path, bytes).unwrap();
}

/// The number of a book's pages.
pub fn pages(path: &Path) -> usize {
    (std::fs::metadata(path).unwrap().len() as usize - 512) / 4104
}
