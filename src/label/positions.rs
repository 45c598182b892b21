//! Kept games as labelled positions, in order or shuffled, with a bounded part of them in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::board::{Position, Square};
use crate::eval::Score;
use crate::games::{BadGames, KeptFrame, KeptGames};
use crate::learn::returns;
use crate::selfplay::{GameRecord, PlyKind};

/// Frames in a chunk: about 900,000 positions.
const CHUNK: usize = 512;

/// What a position's label is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Target {
    /// The [lambda-return](returns): with 0 the value of the search, with 1 the result unless a random move lies between.
    Return(f32),
    /// The result of the game.
    Result,
}

impl Target {
    /// A target by its name: `lambda` (with the lambda that is given, 0 to 1), `search` or `result`. None for others.
    pub fn named(name: &str, lambda: f32) -> Option<Self> {
        match name {
            "lambda" if (0.0..=1.0).contains(&lambda) => Some(Self::Return(lambda)),
            "search" => Some(Self::Return(0.0)),
            "result" => Some(Self::Result),
            _ => None,
        }
    }
}

/// A labelled position of a kept game. Values are for the player to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LabelledPosition {
    /// The position.
    pub position: Position,
    /// What is to be learned.
    pub label: Score,
    /// The value by search.
    pub search: Score,
    /// The result of the game in discs, empty squares counted for the winner.
    pub result: i8,
    /// Moves played before it, 0 to 59; a pass is none.
    pub ply: u8,
    /// How the move was chosen.
    pub kind: PlyKind,
    /// The move.
    pub to: Square,
    /// The number of the game among those that are read together, from 0.
    pub game: u64,
}

/// The labelled positions of a game in order: those after its random opening. `number` becomes their [`game`](LabelledPosition::game).
pub fn labelled_positions(number: u64, game: &GameRecord, target: Target) -> Vec<LabelledPosition> {
    let replay = game.replay();
    let last = replay.plies.last().map(|ply| ply.side);
    let result = |side| if Some(side) == last { replay.result } else { -replay.result };
    let labels = match target {
        Target::Return(lambda) => returns(&replay, lambda),
        Target::Result => replay.plies.iter().map(|ply| result(ply.side)).collect(),
    };
    let moves = game.moves().iter().enumerate().skip(game.opening());
    let plies = replay.plies.iter().zip(labels).zip(moves);
    let labelled = plies.map(|((ply, label), (number_of_move, &to))| LabelledPosition {
        position: ply.position,
        label,
        search: ply.value,
        result: (result(ply.side).0 / Score::DISC) as i8,
        ply: number_of_move as u8,
        kind: ply.kind,
        to,
        game: number,
    });
    labelled.collect()
}

/// The order in which positions come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// The seed of a random order; `None` for that of the games.
    pub shuffle: Option<u64>,
    /// Which of how many shards, counted from 0. Frames are dealt to the shards in turn.
    pub shard: (u32, u32),
}

impl Default for Order {
    /// All positions in the order of the games.
    fn default() -> Self {
        Self { shuffle: None, shard: (0, 1) }
    }
}

/// Labelled positions of kept games in an order, made in chunks of some 900,000, which take about 40 MB.
///
/// To shuffle, all frames of 32 games are put in a random order, and then the positions of each chunk: of the games of 512 frames that were
/// anywhere. The same games, target, order and seed give the same positions in the same order on any number of threads.
#[derive(Debug)]
pub struct Positions {
    games: Arc<KeptGames>,
    target: Target,
    seed: Option<u64>,
    frames: Vec<KeptFrame>,
    /// Positions before each chunk, and in all.
    starts: Vec<u64>,
}

impl Positions {
    /// The positions of games in an order.
    ///
    /// # Panics
    /// If there is no such shard.
    pub fn new(games: Arc<KeptGames>, target: Target, order: Order) -> Self {
        let (shard, shards) = order.shard;
        assert!(shard < shards, "shard {shard} of {shards}");
        let mut frames = games.frames().to_vec();
        if let Some(seed) = order.shuffle {
            frames.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        }
        let frames: Vec<_> = frames.into_iter().skip(shard as usize).step_by(shards as usize).collect();
        let mut starts = vec![0];
        let mut end = 0;
        for chunk in frames.chunks(CHUNK) {
            end += chunk.iter().map(KeptFrame::positions).sum::<u64>();
            starts.push(end);
        }
        Self { games, target, seed: order.shuffle, frames, starts }
    }

    /// Number of positions.
    pub fn len(&self) -> u64 {
        self.starts[self.starts.len() - 1]
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The chunk that has the position at `offset`, counted from 0, and how many of the chunk's positions come before it; `None` at the
    /// end.
    pub fn chunk_at(&self, offset: u64) -> Option<(usize, usize)> {
        let chunk = self.starts.partition_point(|&start| start <= offset).checked_sub(1)?;
        (offset < self.len()).then(|| (chunk, (offset - self.starts[chunk]) as usize))
    }

    /// The positions of a chunk, decoded on the threads of the current rayon pool; `None` if `stop` was set before the end.
    ///
    /// # Errors
    /// A file that cannot be read or has changed since it was opened.
    ///
    /// # Panics
    /// If there is no such chunk.
    pub fn chunk(&self, chunk: usize, stop: &AtomicBool) -> Result<Option<Vec<LabelledPosition>>, BadGames> {
        let first = chunk * CHUNK;
        let frames = &self.frames[first..self.frames.len().min(first + CHUNK)];
        let labelled = |frame: &KeptFrame| {
            if stop.load(Relaxed) {
                return Ok(Vec::new());
            }
            let games = self.games.games(frame)?;
            Ok(games.iter().flat_map(|(number, game)| labelled_positions(*number, game, self.target)).collect())
        };
        let parts: Vec<Result<Vec<_>, BadGames>> = frames.par_iter().with_max_len(1).map(labelled).collect();
        let mut positions = Vec::with_capacity((self.starts[chunk + 1] - self.starts[chunk]) as usize);
        for part in parts {
            positions.extend(part?);
        }
        if let Some(seed) = self.seed {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(1 + chunk as u64);
            positions.shuffle(&mut rng);
        }
        Ok((!stop.load(Relaxed)).then_some(positions))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::eval::MobilityEvaluator;
    use crate::games::{GamesHeader, Part, frame};
    use crate::search::Strength;
    use crate::selfplay::{SelfPlay, SelfPlayConfig};

    /// Two files of 70 games each, as runs keep them.
    fn kept(folder: &Path) -> Vec<PathBuf> {
        let play = SelfPlayConfig::new(Strength::new(1, 2), 30, 0.2);
        let stop = AtomicBool::new(false);
        let file = |generation: u32| {
            let games = SelfPlay::new(&MobilityEvaluator, play).play_games(1, generation, 0, 70, &stop).unwrap();
            let frames = (0..).step_by(32).zip(games.chunks(32)).flat_map(|(first, games)| frame(first, games));
            let header = GamesHeader { generation, ..GamesHeader::default() };
            let path = folder.join(format!("{generation}.fsg"));
            fs::write(&path, header.to_bytes().into_iter().chain(frames).collect::<Vec<_>>()).unwrap();
            path
        };
        vec![file(3), file(4)]
    }

    fn read(paths: &[PathBuf], part: Part, target: Target, order: Order) -> Vec<LabelledPosition> {
        let stop = AtomicBool::new(false);
        let games = Arc::new(KeptGames::open(paths, part, &|_| false).unwrap().unwrap());
        let positions = Positions::new(games, target, order);
        let mut all = Vec::new();
        while let Some((chunk, skipped)) = positions.chunk_at(all.len() as u64) {
            assert_eq!(skipped, 0);
            all.extend(positions.chunk(chunk, &stop).unwrap().unwrap());
        }
        assert_eq!(all.len() as u64, positions.len());
        all
    }

    fn key(position: &LabelledPosition) -> (u64, u8) {
        (position.game, position.ply)
    }

    #[test]
    fn positions_are_those_of_the_games_with_their_returns() {
        let folder = tempfile::tempdir().unwrap();
        let paths = kept(folder.path());
        let all = read(&paths, Part::All, Target::Return(0.7), Order::default());
        assert_eq!(all.iter().map(|position| position.game).collect::<BTreeSet<_>>(), (0..140).collect());
        for pair in all.windows(2).filter(|pair| pair[0].game == pair[1].game) {
            let [before, after] = [pair[0], pair[1]];
            assert_eq!(after.ply, before.ply + 1);
            let played = before.position.play(before.to);
            let same_side = played.moves() == 0;
            assert_eq!(after.position, if same_side { played.pass() } else { played });
            assert_eq!(after.result, if same_side { before.result } else { -before.result });
            let ahead = if same_side { after.label } else { -after.label };
            let expected = match before.kind {
                PlyKind::Greedy => 0.3 * before.search.0 as f32 + 0.7 * ahead.0 as f32,
                _ => before.search.0 as f32,
            };
            // Returns are not rounded in between.
            assert!((before.label.0 as f32 - expected).abs() <= 1.5);
        }
        assert!(
            read(&paths, Part::All, Target::Result, Order::default())
                .iter()
                .all(|position| position.label == Score::from_discs(i32::from(position.result)))
        );
        assert!(
            read(&paths, Part::All, Target::Return(0.0), Order::default())
                .iter()
                .all(|position| position.label == position.search)
        );
    }

    #[test]
    fn a_seed_gives_an_order_and_shards_are_parts_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let paths = kept(folder.path());
        let target = Target::Result;
        let plain = read(&paths, Part::All, target, Order::default());
        let shuffled = |seed| read(&paths, Part::All, target, Order { shuffle: Some(seed), ..Order::default() });
        assert_eq!(shuffled(1), shuffled(1));
        assert_ne!(shuffled(1), shuffled(2));
        let sorted = |mut positions: Vec<LabelledPosition>| {
            positions.sort_by_key(key);
            positions
        };
        assert_eq!(sorted(shuffled(1)), plain);
        let shards =
            (0..4).flat_map(|shard| read(&paths, Part::All, target, Order { shuffle: Some(7), shard: (shard, 4) }));
        assert_eq!(sorted(shards.collect()), plain);
    }

    #[test]
    fn games_that_are_held_out_are_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let paths = kept(folder.path());
        let (target, order) = (Target::Result, Order::default());
        let held_out = read(&paths, Part::HeldOut(10), target, order);
        let rest = read(&paths, Part::Learned(10), target, order);
        let games: BTreeSet<_> = held_out.iter().map(|position| position.game).collect();
        assert_eq!(games.len(), 14);
        let mut both = [held_out, rest].concat();
        both.sort_by_key(key);
        assert_eq!(both, read(&paths, Part::All, target, order));
    }

    #[test]
    fn what_is_cut_off_or_appended_does_not_count_and_damage_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let (paths, stop) = (kept(folder.path()), AtomicBool::new(false));
        let open =
            |paths: &[PathBuf]| KeptGames::open(paths, Part::All, &|_| false).map(|games| Arc::new(games.unwrap()));
        let whole = open(&paths).unwrap();
        let bytes = fs::read(&paths[1]).unwrap();
        // A path that is named twice counts once, whatever follows the part that was opened.
        OpenOptions::new().append(true).open(&paths[0]).unwrap().write_all(&frame(70, &[])).unwrap();
        let again = KeptGames::open_lengths(&whole.lengths(), Part::All, &|_| false).unwrap().unwrap();
        assert_eq!(again.frames().len(), whole.frames().len());
        assert_eq!(open(&[&paths[..], &paths[..1]].concat()).unwrap().frames().len(), whole.frames().len() + 1);

        fs::write(&paths[1], &bytes[..bytes.len() - 5]).unwrap();
        let cut = open(&paths[1..]).unwrap();
        assert_eq!(cut.cut_off().collect::<Vec<_>>(), [&paths[1]]);
        assert_eq!(cut.frames().len(), 2);
        // Damage after it was opened.
        let damaged: Vec<u8> = bytes.iter().enumerate().map(|(i, &byte)| byte ^ u8::from(i == 3000)).collect();
        fs::write(&paths[1], damaged).unwrap();
        let positions = Positions::new(whole, Target::Result, Order::default());
        let error = positions.chunk(0, &stop).unwrap_err().to_string();
        assert!(error.contains("4.fsg") && error.contains("damaged"), "{error}");
        let error = open(&paths).unwrap_err().to_string();
        assert!(error.contains("4.fsg") && error.contains("damaged"), "{error}");
        assert!(open(&[folder.path().to_owned()]).unwrap_err().to_string().contains("no kept games"));
    }
}
