//! Books that grow by themselves.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use flipside::board::{Position, Transcript, canonical};
use flipside::book::{
    Book, BookError, BookMove, Choice, Grow, GrowthEnd, Keep, Leaf, Link, check, fix, learn_game, links, prune,
    search_missing,
};
use flipside::eval::Score;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::support::*;

/// Grows a book, stopping after some searches again and again; returns how often.
fn grow_with_stops(path: &Path, positions: u64, most_searches: u64) -> u32 {
    let mut stops = 0;
    loop {
        let (stop, searches) = (AtomicBool::new(false), AtomicU64::new(0));
        let mut book = Book::edit_or_create(path).unwrap();
        let grow = Grow { weights: WEIGHTS, positions: Some(positions), stop: &stop, until: None };
        let progress = |_: &_| stop.store(searches.fetch_add(1, Relaxed) > most_searches, Relaxed);
        if grow.run(&mut book, || searcher(2), progress).unwrap() == GrowthEnd::Done {
            return stops;
        }
        stops += 1;
        drop(book);
        assert!(check(path).unwrap().is_none());
    }
}

#[test]
fn a_grown_book_is_the_same_on_any_number_of_threads_and_after_any_stops() {
    let books: Vec<_> = [1, 2, 3]
        .iter()
        .map(|&threads| {
            let (_folder, path) = place();
            assert_eq!(grow(&path, 600, threads, &NEVER), GrowthEnd::Done);
            assert_eq!(Book::open(&path).unwrap().len(), 600);
            assert!(check(&path).unwrap().is_none());
            content(&path)
        })
        .collect();
    assert!(books[0] == books[1] && books[0] == books[2]);

    // Stopped after any number of searches, again and again.
    let (_folder, path) = place();
    let stops = grow_with_stops(&path, 600, 190);
    assert!(stops > 2 && content(&path) == books[0]);
}

#[test]
fn games_that_were_added_are_searched_to_the_same_content_after_any_stops() {
    // Some games have moves that were the best unplayed ones.
    let (folder, path) = place();
    grow(&path, 400, 2, &NEVER);
    counted(&path, &random_games(300, 8));
    let stopped = folder.path().join("stopped.fsb");
    fs::copy(&path, &stopped).unwrap();
    assert_eq!(grow(&path, 1, 2, &NEVER), GrowthEnd::Done);
    let stops = grow_with_stops(&stopped, 1, 700);
    assert!(stops > 2 && content(&stopped) == content(&path));
    let mut book = Book::edit(&path).unwrap();
    let mut searched = 0;
    let grow = Grow { weights: WEIGHTS, positions: Some(1), stop: &NEVER, until: None };
    grow.run(&mut book, || searcher(2), |growth| searched = growth.searched).unwrap();
    assert_eq!(searched, 0, "nothing is left to do");
}

#[test]
fn a_position_is_searched_before_the_book_plays_in_it() {
    let (_folder, path) = place();
    let games = random_games(30, 3);
    counted(&path, &games);
    let (mut book, stop) = (Book::edit(&path).unwrap(), AtomicBool::new(false));
    let progress = |done: u64, _| stop.store(done >= 100, Relaxed);
    let stopped = search_missing(&mut book, &|| searcher(1), &WEIGHTS, &stop, progress);
    assert!(matches!(stopped, Err(BookError::Stopped)));
    let (mut random, mut half_known) = (ChaCha8Rng::seed_from_u64(1), 0);
    for (diagram, _) in games.iter().flat_map(Transcript::steps) {
        let Some((record, moves)) = book.moves(diagram.position).unwrap() else { continue };
        let plays = book.choose(diagram.position, Choice::Best, &mut random).unwrap().is_some();
        assert_eq!(plays, record.leaf != Leaf::Unsearched && !moves.is_empty());
        half_known += u32::from(!plays && !moves.is_empty());
    }
    assert!(half_known > 0);
}

#[test]
fn values_are_those_of_negamax_over_the_book() {
    let (_folder, path) = place();
    grow(&path, 500, 2, &NEVER);
    let mut book = Book::open(&path).unwrap();
    let mut known = HashMap::new();
    let value = naive(&mut book, Position::START, &mut known);
    assert_eq!(known.len(), 500, "all is reached from the start");
    assert_eq!(book.get(Position::START).unwrap().unwrap().derived.value, Some(value));
    for (position, value) in known {
        assert_eq!(book.get(position).unwrap().unwrap().derived.value, Some(value));
    }
}

/// Checks that each position that is reached from the start knows its best unplayed move.
fn assert_complete(path: &Path) {
    let book = Book::open(path).unwrap();
    let mut open = vec![canonical(Position::START)];
    while let Some(position) = open.pop() {
        let Some(record) = book.get(position).unwrap() else { continue };
        let mut in_book = Vec::new();
        for (to, link) in links(position) {
            if let Link::To { position: next, .. } = link
                && book.get(next).unwrap().is_some()
            {
                in_book.push(to);
                open.push(next);
            }
        }
        match record.leaf {
            Leaf::Best(leaf) => assert!(leaf.exact || in_book.iter().all(|&to| Some(to) != leaf.to)),
            Leaf::AllPlayed => assert_eq!(in_book.len(), position.moves().count_ones() as usize),
            Leaf::Unsearched => panic!("{record:?}"),
        }
    }
}

#[test]
fn games_taken_into_a_grown_book_leave_no_position_without_its_best_unplayed_move() {
    let (_folder, path) = place();
    grow(&path, 300, 2, &NEVER);
    counted(&path, &random_games(40, 3));
    search_missing(&mut Book::edit(&path).unwrap(), &|| searcher(1), &WEIGHTS, &NEVER, |_, _| ()).unwrap();
    assert_complete(&path);
}

#[test]
fn every_position_of_a_grown_book_knows_its_best_unplayed_move() {
    let (_folder, path) = place();
    grow(&path, 300, 2, &NEVER);
    let before = content(&path);
    assert_complete(&path);
    assert_eq!(grow(&path, 300, 2, &NEVER), GrowthEnd::Done);
    assert!(content(&path) == before, "nothing is left to do");
}

/// The value by definition.
fn naive(book: &mut Book, position: Position, known: &mut HashMap<Position, Score>) -> Score {
    let position = canonical(position);
    if let Some(value) = known.get(&position) {
        return *value;
    }
    let record = book.get(position).unwrap().unwrap();
    let mut best = Score::MIN;
    let mut played = Vec::new();
    for (to, link) in links(position) {
        if let Link::To { position: next, turn } = link
            && book.get(next).unwrap().is_some()
        {
            played.push(to);
            let value = naive(book, next, known);
            best = best.max(if turn { -value } else { value });
        }
    }
    if let Leaf::Best(leaf) = record.leaf {
        if leaf.exact {
            best = leaf.score;
        } else if leaf.to.is_none_or(|to| !played.contains(&to)) {
            best = best.max(leaf.score);
        }
    }
    known.insert(position, best);
    best
}

/// The positions of a book that can be reached from one.
fn below(book: &mut Book, position: Position) -> HashSet<Position> {
    let (mut open, mut found) = (vec![canonical(position)], HashSet::new());
    while let Some(position) = open.pop() {
        if book.get(position).unwrap().is_some() && found.insert(position) {
            open.extend(links(position).filter_map(|(_, link)| match link {
                Link::To { position, .. } => Some(position),
                _ => None,
            }));
        }
    }
    found
}

#[test]
fn a_position_that_lost_its_best_move_is_searched_before_the_book_plays_in_it() {
    let (folder, path) = place();
    grow(&path, 1000, 2, &NEVER);
    let whole = fs::read(&path).unwrap();
    let kept = folder.path().join("before.fsb");
    fs::write(&kept, &whole).unwrap();
    let mut before = Book::open(&kept).unwrap();
    let positions = below(&mut before, Position::START);
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut plays = |book: &mut Book, at| book.choose(at, Choice::Best, &mut random).unwrap().is_some();
    let (mut lost_some, mut all_waiting) = (0, 0);
    for page in 0..pages(&path) {
        fs::write(&path, &whole).unwrap();
        damage_page(&path, page);
        if check(&path).is_ok_and(|faults| faults.lost == 0) || fix(&path).is_err() {
            continue;
        }
        lost_some += 1;
        let mut fixed = Book::open(&path).unwrap();
        let mut waiting = Vec::new();
        for &position in &positions {
            let Some(now) = fixed.get(position).unwrap() else { continue };
            let (record, moves) = before.moves(position).unwrap().unwrap();
            let lost = |known: &BookMove| match Link::after(position, known.to) {
                Link::To { position, .. } => known.leaf.is_none() && fixed.get(position).unwrap().is_none(),
                Link::End(_) => false,
            };
            let (lost, left): (Vec<_>, Vec<_>) = moves.into_iter().partition(lost);
            if lost.is_empty() {
                assert_eq!(now.leaf, record.leaf);
            } else if left.iter().all(|left| lost.iter().any(|lost| lost.play > left.play)) {
                assert!(!plays(&mut fixed, position));
                waiting.push(position);
            }
        }
        drop(fixed);
        assert_eq!(grow(&path, 1, 2, &NEVER), GrowthEnd::Done);
        assert_complete(&path);
        let mut again = Book::open(&path).unwrap();
        all_waiting += waiting.len();
        assert!(waiting.into_iter().all(|position| plays(&mut again, position)));
    }
    assert!(lost_some > 5 && all_waiting > 5, "{lost_some} {all_waiting}");
}

#[test]
fn good_moves_are_explored_before_bad_ones() {
    let (_folder, path) = place();
    grow(&path, 400, 2, &NEVER);
    let mut book = Book::open(&path).unwrap();
    // Most positions have more below their best move than below their worst.
    let (mut more, mut less) = (0, 0);
    for position in below(&mut book, Position::START) {
        let (_, mut moves) = book.moves(position).unwrap().unwrap();
        moves.retain(|known| known.leaf.is_none());
        let [best, .., worst] = moves[..] else { continue };
        let [best, worst] = [best, worst].map(|known| below(&mut book, position.play(known.to)).len());
        more += u32::from(best > worst);
        less += u32::from(best < worst);
    }
    assert!(more > 2 * less, "{more} {less}");
    // Unplayed moves are never better than played ones by much more than the errors allow.
    let (_, moves) = book.moves(Position::START.play("f5".parse().unwrap())).unwrap().unwrap();
    let leaf = moves.iter().find(|known| known.leaf.is_some());
    assert!(leaf.is_none_or(|leaf| leaf.value <= moves[0].value));
}

#[test]
fn a_book_that_was_stopped_before_its_first_search_is_whole() {
    let (_folder, path) = place();
    grow(&path, 500, 2, &AtomicBool::new(true));
    assert_eq!((Book::open(&path).unwrap().len(), check(&path).unwrap().is_none()), (1, true));
}

#[test]
fn of_moves_that_are_all_solved_the_best_is_played() {
    let (_folder, path) = place();
    let mut book = Book::edit_or_create(&path).unwrap();
    let games = random_games(20, 5);
    for game in &games {
        let mut searcher = searcher(1);
        learn_game(&mut book, &game.steps(), black_discs(game), &mut searcher, &WEIGHTS, &NEVER).unwrap();
    }
    let mut with_a_leaf = 0;
    for (diagram, _) in games.iter().flat_map(Transcript::steps) {
        let Some((record, moves)) = book.moves(diagram.position).unwrap() else { continue };
        let is_solved = matches!(record.leaf, Leaf::Best(leaf) if leaf.exact);
        if is_solved || moves.is_empty() || moves.iter().any(|known| known.error.discs() != Some(0.0)) {
            continue;
        }
        assert_eq!(Some(moves[0].value), moves.iter().map(|known| known.value).max());
        with_a_leaf += u32::from(moves.len() > 1 && moves.iter().any(|known| known.leaf.is_some()));
    }
    assert!(with_a_leaf > 0);
}

#[test]
fn pruning_keeps_the_positions_of_good_play() {
    let (folder, path) = place();
    grow(&path, 500, 2, &NEVER);
    let small = folder.path().join("small.fsb");
    let book = Book::open(&path).unwrap();
    let before = book.get(Position::START).unwrap().unwrap().derived.value;
    let kept = prune(&book, Keep { within: 1.0, min_empties: 0 }, &small).unwrap();
    assert!((2..500).contains(&kept), "{kept}");
    assert!(check(&small).unwrap().is_none());
    let pruned = Book::open(&small).unwrap();
    assert_eq!(pruned.get(Position::START).unwrap().unwrap().derived.value, before);
    for within in [128.0, f32::INFINITY] {
        assert_eq!(prune(&book, Keep { within, min_empties: 0 }, &small).unwrap(), 500);
        assert_eq!(content(&small), content(&path));
    }
}

#[test]
fn pruning_keeps_what_was_proved() {
    let (folder, path) = place();
    let small = folder.path().join("small.fsb");
    let mut book = Book::edit_or_create(&path).unwrap();
    let games = random_games(20, 5);
    for game in &games {
        let mut searcher = searcher(1);
        learn_game(&mut book, &game.steps(), black_discs(game), &mut searcher, &WEIGHTS, &NEVER).unwrap();
    }
    // The solved positions have fewer empty squares.
    prune(&book, Keep { within: 128.0, min_empties: 9 }, &small).unwrap();
    assert!(check(&small).unwrap().is_none());
    let (mut pruned, mut proved) = (Book::open(&small).unwrap(), 0);
    for (diagram, _) in games.iter().flat_map(Transcript::steps) {
        let known = |book: &mut Book| book.get(diagram.position).unwrap().map(|record| record.derived.play);
        let Some(after) = known(&mut pruned) else { continue };
        if after.abs() > 64 * 128 || known(&mut book).unwrap().abs() > 64 * 128 {
            assert_eq!(Some(after), known(&mut book));
            proved += 1;
        }
    }
    assert!(proved > 0);
}
