//! Books that learn from games.

use std::collections::HashSet;

use flipside::arena::{Player, SearchPlayer, play_game};
use flipside::board::Transcript;
use flipside::book::{Book, BookMove, BookPlayer, BookUse, Choice, LeafSearch, check, learn_game};
use flipside::eval::PatternEvaluator;
use flipside::search::{Engine, Strength};
use flipside::weights::WeightFile;

use crate::support::*;

/// The test of every learning book: an opponent that never changes and repeats what won must not win the same way twice, and must win
/// less and less.
#[test]
fn an_opponent_that_repeats_its_winning_line_does_not_win_again() {
    let quarters = series(1, 8, 1, 2);
    assert!(quarters[3] > quarters[0], "{quarters:?}");
    assert!(quarters[3] >= 75, "three quarters of the points in the end: {quarters:?}");
}

/// The points in each fifty of 200 games of a player with a learning book against an engine that searches deeper.
fn series(own: u32, exact: u32, learn: u32, other: u32) -> Vec<i32> {
    let (_folder, path) = place();
    let evaluator = PatternEvaluator::new(&WeightFile::embedded().model).unwrap();
    let engine = |depth| Engine::new(&evaluator, Strength::new(depth, exact), 12).unwrap();
    let mut opponent = SearchPlayer::new(engine(other));
    let book = BookUse::new(Book::edit_or_create(&path).unwrap(), Choice::Best, 1);
    let mut player = BookPlayer::new(SearchPlayer::new(engine(own)), book.clone());
    let mut searcher = LeafSearch::new(engine(learn), errors());
    let (mut lost, mut points) = (HashSet::new(), Vec::new());
    for number in 0..200 {
        let black = number % 2 == 0;
        let (first, second): (&mut dyn Player, &mut dyn Player) =
            if black { (&mut player, &mut opponent) } else { (&mut opponent, &mut player) };
        let game = play_game(first, second, &Transcript::default(), &NEVER).unwrap();
        let result = if black { game.discs } else { -game.discs };
        if result < 0 {
            assert!(lost.insert(game.moves.clone()), "game {number} was lost before, move by move");
        }
        points.push(result.signum() + 1);
        let steps = Transcript::from_moves(&game.moves).unwrap().steps();
        book.with(|book| learn_game(book, &steps, game.discs, &mut searcher, &WEIGHTS, &NEVER)).unwrap();
    }
    drop((player, book));
    assert!(check(&path).unwrap().is_none(), "all that follows is right after each game");
    points.chunks(50).map(|games| games.iter().sum()).collect()
}

#[test]
fn results_are_the_players_own() {
    let (_folder, path) = place();
    let game = random_games(50, 2).into_iter().find(|game| black_discs(game) > 0).unwrap();
    let (steps, discs) = (game.steps(), black_discs(&game));
    let mut book = Book::edit_or_create(&path).unwrap();
    learn_game(&mut book, &steps, discs, &mut searcher(1), &WEIGHTS, &NEVER).unwrap();
    let mut side_changed = 0;
    for (number, (now, to)) in steps[..20].iter().enumerate() {
        let own = now.side.sign() * discs;
        let expected = (u32::from(own > 0), u32::from(own < 0), own);
        let (record, moves) = book.moves(now.position).unwrap().unwrap();
        assert_eq!((record.games.wins, record.games.losses, record.games.discs), expected, "{number}");
        // With their mirror images, as the four moves of the start.
        let played: Vec<_> = moves.iter().filter(|known| known.games.count() > 0).collect();
        assert!(played.iter().any(|known| known.to == *to), "{number}: {played:?}");
        for BookMove { games, .. } in played {
            assert_eq!((games.wins, games.losses, games.discs), expected, "{number}");
        }
        side_changed += i32::from(own < 0);
    }
    assert!((5..=15).contains(&side_changed));
}

#[test]
fn chance_and_surprise_stay_near_the_best() {
    let (_folder, path) = place();
    grow(&path, 300, 2, &NEVER);
    let position = flipside::board::Position::START.play("f5".parse().unwrap());
    let all = Book::open(&path).unwrap();
    let (_, moves) = all.moves(position).unwrap().unwrap();
    let best = moves[0];
    let mut seen = HashSet::new();
    for seed in 0..200 {
        let varied = BookUse::new(Book::open(&path).unwrap(), Choice::Varied { within: 3.0 }, seed);
        let found = varied.choose(position).unwrap().unwrap();
        assert!(found.play >= best.play - 3 * 128);
        assert_eq!(varied.choose(position).unwrap(), Some(found), "the same seed");
        seen.insert(found.to);
    }
    let near = moves.iter().filter(|known| known.play >= best.play - 3 * 128).count();
    assert_eq!(seen.len(), near);
    let exact = BookUse::new(all, Choice::Varied { within: 0.0 }, 1);
    for within in [0.0, -1.0] {
        let best_alone = exact.with_choice(Choice::Varied { within });
        assert_eq!(best_alone.choose(position).unwrap().unwrap().play, best.play);
    }
    assert!(exact.with_choice(Choice::Varied { within: f32::INFINITY }).choose(position).unwrap().is_some());
    let surprising = exact.with_choice(Choice::Surprising { within: 3.0 });
    let found = surprising.choose(position).unwrap().unwrap();
    assert!(moves.iter().all(|known| known.games.count() >= found.games.count() || known.play < best.play - 384));
}
