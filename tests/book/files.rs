//! Book files: kills, damage, hostile bytes.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use flipside::board::{Transcript, canonical};
use flipside::book::{
    Book, BookError, BookFormat, Grow, Keep, Leaf, LeafSearch, Valued, check, export, fix, import, learn_game, merge,
    prune,
};
use flipside::eval::MobilityEvaluator;
use flipside::search::{Engine, Strength};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::support::*;

#[test]
fn every_position_of_counted_games_is_found_in_any_orientation() {
    let (_folder, path) = place();
    let games = random_games(300, 1);
    counted(&path, &games[..100]);
    counted(&path, &games[100..]);
    let book = Book::open(&path).unwrap();
    let mut all = std::collections::HashMap::new();
    for game in &games {
        for (diagram, _) in game.steps().into_iter().filter(|(diagram, _)| diagram.position.empties() >= 30) {
            *all.entry(canonical(diagram.position)).or_insert(0u64) += 1;
            let record = book.get(diagram.position).unwrap().unwrap();
            assert_eq!(record.leaf, Leaf::Unsearched);
        }
    }
    assert_eq!(book.len(), all.len() as u64);
    for (position, count) in all {
        assert_eq!(book.get(position).unwrap().unwrap().games.count(), count);
    }
    assert!(book.get(games[0].last().position).unwrap().is_none());
    assert!(check(&path).unwrap().is_none());
}

/// What a book may be after some damage: refused, or found to be damaged, or as it was where the damage is in nothing that counts.
fn assert_found(path: &Path, whole: &str, positions: u64, what: &str) {
    let damaged = fs::read(path).unwrap();
    let is_found = match check(path) {
        Ok(faults) => !faults.is_none(),
        Err(error) => matches!(error, BookError::Damage { .. }),
    };
    let read = Book::open(path).and_then(|book| Ok((book.len(), book.hash()?)));
    match read {
        Ok((len, content)) => assert!(len == positions && content == whole, "{what}"),
        Err(error) => assert!(is_found && matches!(error, BookError::Damage { .. }), "{what}: {error}"),
    }
    assert!(fs::read(path).unwrap() == damaged, "{what}: reading changes nothing");
    if is_found {
        let learned = Book::edit(path).and_then(|mut book| {
            let game = &random_games(1, 77)[0];
            learn_game(&mut book, &game.steps(), black_discs(game), &mut searcher(1), &WEIGHTS, &NEVER)
        });
        // What is learned does not hide what is damaged.
        assert!(learned.is_err() || !check(path).unwrap().is_none(), "{what}");
        if let Ok(fixed) = fix(path) {
            assert!(fixed.positions + fixed.lost <= positions + 60, "{what}: {fixed:?}");
            assert!(check(path).unwrap().is_none(), "{what}");
        }
    }
}

#[test]
fn a_flipped_bit_is_found_wherever_it_is() {
    let (_folder, path) = place();
    grow(&path, 150, 2, &NEVER);
    // The newest part of the file.
    let mut book = Book::edit(&path).unwrap();
    let game = &random_games(1, 3)[0];
    learn_game(&mut book, &game.steps(), black_discs(game), &mut searcher(1), &WEIGHTS, &NEVER).unwrap();
    drop(book);
    let (bytes, whole, positions) = (fs::read(&path).unwrap(), content(&path), Book::open(&path).unwrap().len());
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for round in 0..300 {
        let mut damaged = bytes.clone();
        let at = if round % 5 == 0 { random.random_range(0..512) } else { random.random_range(0..bytes.len()) };
        damaged[at] ^= 1 << random.random_range(0..8);
        fs::write(&path, damaged).unwrap();
        assert_found(&path, &whole, positions, &format!("bit at {at}"));
    }
}

#[test]
fn other_damage_is_found_too() {
    let (_folder, path) = place();
    grow(&path, 300, 2, &NEVER);
    let (bytes, whole) = (fs::read(&path).unwrap(), content(&path));
    let mut random = ChaCha8Rng::seed_from_u64(2);
    for round in 0..120 {
        let mut damaged = bytes.clone();
        let page = |random: &mut ChaCha8Rng| 512 + 4104 * random.random_range(0..(bytes.len() - 512) / 4104);
        let (at, other) = (page(&mut random), page(&mut random));
        match round % 4 {
            0 => damaged.truncate(random.random_range(0..bytes.len())),
            1 => damaged[at..at + 4104].fill(0),
            // A page in the place of another.
            2 => damaged.copy_within(other..other + 4104, at),
            _ => {
                let end = random.random_range(at..bytes.len());
                random.fill(&mut damaged[at..end]);
            }
        }
        if damaged != bytes {
            fs::write(&path, damaged).unwrap();
            assert_found(&path, &whole, 300, &format!("round {round}"));
        }
    }
}

#[test]
fn damage_is_reported_with_its_place_and_the_rest_is_saved() {
    let (_folder, path) = place();
    counted(&path, &random_games(200, 3));
    let (bytes, all) = (fs::read(&path).unwrap(), Book::open(&path).unwrap().len());
    assert!(all > 1000);
    let (mut saved, mut hopeless) = (0, 0);
    for page in 0..pages(&path) {
        fs::write(&path, &bytes).unwrap();
        damage_page(&path, page);
        match check(&path) {
            Ok(faults) if faults.is_none() => continue,
            Ok(faults) => {
                assert_eq!(
                    faults.damage,
                    [(512 + 4104 * page as u64, "the checksum of this page is wrong".to_owned())]
                );
                assert_eq!(faults.positions + faults.lost, all);
                let fixed = fix(&path).unwrap();
                assert_eq!((fixed.positions, fixed.lost), (faults.positions, faults.lost));
                assert!(check(&path).unwrap().is_none());
                // A leaf of the tree has up to 75 positions.
                saved += u32::from(faults.lost <= 75 && faults.positions > 900);
            }
            Err(error) => {
                assert!(error.to_string().contains(&format!("byte {}", 512 + 4104 * page)), "{error}");
                assert!(fix(&path).is_err());
                hopeless += 1;
            }
        }
    }
    assert!(saved > 10 && hopeless < 6, "{saved} {hopeless}");
    for (content, what) in
        [(&b""[..], "only 0 bytes"), (b"f5", "not the first bytes"), (&[0x55; 700], "not the first bytes")]
    {
        fs::write(&path, content).unwrap();
        assert!(Book::open(&path).err().unwrap().to_string().contains(what), "{what}");
        assert!(check(&path).is_err() && fix(&path).is_err());
        assert_eq!(fs::read(&path).unwrap(), content);
    }
}

/// As a kill leaves it: the file as it is while a process has it open.
#[test]
fn a_kill_loses_what_was_not_committed() {
    let (folder, path) = place();
    let killed = folder.path().join("killed.fsb");
    let mut book = Book::edit_or_create(&path).unwrap();
    for game in random_games(3, 2) {
        learn_game(&mut book, &game.steps(), black_discs(&game), &mut searcher(1), &WEIGHTS, &NEVER).unwrap();
        fs::copy(&path, &killed).unwrap();
        let content = book.hash().unwrap();
        for _ in 0..2 {
            assert_eq!(Book::open(&killed).unwrap().hash().unwrap(), content);
            assert!(check(&killed).unwrap().is_none());
        }
    }
}

#[test]
fn more_weights_than_a_byte_can_count_keep_their_names() {
    let (_folder, path) = place();
    let name = |number: u32| std::array::from_fn(|i| if i < 4 { number.to_le_bytes()[i] } else { 1 });
    let games = random_games(3, 4);
    let mut book = Book::edit_or_create(&path).unwrap();
    for (game, first) in games.iter().zip([0, 255, 300]) {
        for number in 0..first {
            book.number_of(&name(number));
        }
        learn_game(&mut book, &game.steps(), black_discs(game), &mut searcher(1), &name(first), &NEVER).unwrap();
    }
    drop(book);
    let book = Book::open(&path).unwrap();
    for (game, number) in games.iter().zip([0, 255, 300]) {
        let record = book.get(game.steps()[30].0.position).unwrap().unwrap();
        assert_eq!(book.weights()[record.weights as usize - 1], name(number));
    }
}

#[test]
fn a_reader_sees_what_is_committed_while_it_reads() {
    let (_folder, path) = place();
    let mut book = Book::edit_or_create(&path).unwrap();
    let readers = [Book::open(&path).unwrap(), Book::open(&path).unwrap()];
    for game in random_games(20, 5) {
        learn_game(&mut book, &game.steps(), black_discs(&game), &mut searcher(1), &WEIGHTS, &NEVER).unwrap();
        for reader in &readers {
            let seen = reader.get(game.steps()[20].0.position).unwrap();
            assert_eq!(seen, book.get(game.steps()[20].0.position).unwrap());
            assert!(seen.is_some());
        }
    }
}

#[test]
fn a_book_has_one_writer_and_any_number_of_readers() {
    let (_folder, path) = place();
    let book = Book::edit_or_create(&path).unwrap();
    assert!(matches!(Book::edit(&path), Err(BookError::Locked(_))));
    assert!(Book::open(&path).is_ok());
    drop(book);
    assert!(Book::edit(&path).is_ok());
}

/// A book open for changes.
fn changing(path: &Path) -> Book {
    let mut book = Book::edit_or_create(path).unwrap();
    book.number_of(&[1; 32]);
    book.commit().unwrap();
    book
}

#[test]
fn a_book_that_is_being_changed_is_not_written_over() {
    let (folder, path) = place();
    let other = folder.path().join("other.fsb");
    grow(&other, 20, 1, &NEVER);
    let text = folder.path().join("book.txt");
    export(&Book::open(&other).unwrap(), BookFormat::Text, &mut fs::File::create(&text).unwrap()).unwrap();
    let book = changing(&path);
    let before = fs::read(&path).unwrap();
    let read = || Book::open(&other).unwrap();
    let is_locked = |result: Result<(), BookError>| assert!(matches!(result, Err(BookError::Locked(_))), "{result:?}");
    is_locked(merge(&[read(), read()], &path).map(drop));
    is_locked(prune(&read(), Keep { within: 9.0, min_empties: 0 }, &path).map(drop));
    is_locked(import(&text, BookFormat::Text, &path, &errors()).map(drop));
    assert_eq!(fs::read(&path).unwrap(), before);
    drop(book);
    merge(&[read(), read()], &path).unwrap();
    assert!(check(&path).unwrap().is_none());
}

#[test]
fn a_book_opened_to_be_read_refuses_changes_before_it_searches() {
    let (_folder, path) = place();
    grow(&path, 20, 1, &NEVER);
    let before = fs::read(&path).unwrap();
    let mut book = Book::open(&path).unwrap();
    let game = &random_games(1, 9)[0];
    // With this set a search would end as stopped.
    let stop = AtomicBool::new(true);
    let learned = learn_game(&mut book, &game.steps(), black_discs(game), &mut searcher(1), &WEIGHTS, &stop);
    let grown = Grow { weights: WEIGHTS, positions: Some(30), stop: &stop, until: None };
    let grown = grown.run(&mut book, || searcher(1), |_| ());
    for error in [learned.unwrap_err(), grown.unwrap_err()] {
        assert!(error.to_string().contains("opened only to be read"), "{error}");
    }
    assert!(fs::read(&path).unwrap() == before);
}

#[cfg(unix)]
#[test]
fn a_book_that_was_replaced_is_not_written_to() {
    let (folder, path) = place();
    let (moved, other) = (folder.path().join("moved.fsb"), folder.path().join("other.fsb"));
    grow(&other, 20, 1, &NEVER);
    let mut book = changing(&path);
    fs::rename(&path, &moved).unwrap();
    book.number_of(&[2; 32]);
    for _ in 0..2 {
        assert!(book.commit().unwrap_err().to_string().contains("replaced or removed"));
        fs::copy(&other, &path).unwrap();
    }
    drop(book);
    assert_eq!(fs::read(&path).unwrap(), fs::read(&other).unwrap());
    assert_eq!(Book::open(&moved).unwrap().weights(), [[1; 32]]);
}

#[test]
fn merged_books_have_what_each_had() {
    let (folder, path) = place();
    let other = folder.path().join("other.fsb");
    let both = folder.path().join("both.fsb");
    let games = random_games(60, 5);
    counted(&path, &games[..40]);
    counted(&other, &games[20..]);
    let books = [&path, &other].map(|path| Book::open(path).unwrap());
    let count = merge(&books, &both).unwrap();
    let merged = Book::open(&both).unwrap();
    assert_eq!(merged.len(), count);
    for game in &games {
        for (diagram, _) in game.steps() {
            let games = |book: &Book| book.get(diagram.position).unwrap().map_or(0, |record| record.games.count());
            let sum: u64 = books.iter().map(games).sum();
            assert_eq!(games(&merged), sum);
        }
    }
    assert!(check(&both).unwrap().is_none());
}

#[test]
fn a_game_that_meets_damage_is_not_learned_in_part() {
    let (_folder, path) = place();
    counted(&path, &random_games(300, 6));
    let (bytes, whole) = (fs::read(&path).unwrap(), content(&path));
    let game = &random_games(1, 7)[0];
    let mut failed = 0;
    for page in 0..pages(&path) {
        fs::write(&path, &bytes).unwrap();
        damage_page(&path, page);
        let Ok(mut book) = Book::edit(&path) else { continue };
        let len = book.len();
        if learn_game(&mut book, &game.steps(), black_discs(game), &mut searcher(1), &WEIGHTS, &NEVER).is_err() {
            failed += 1;
            assert_eq!(book.len(), len);
            drop(book);
            let mut mended = fs::read(&path).unwrap();
            mended[512 + page * 4104 + 1000] ^= 0x40;
            fs::write(&path, mended).unwrap();
            assert!(content(&path) == whole, "damage in page {page}");
        }
    }
    assert!(failed > 10, "{failed}");
}

/// One book has solved positions of a game, the other has estimates of these and of the positions after them.
#[test]
fn no_estimate_is_better_than_a_solution() {
    let (folder, path) = place();
    let [estimates, both] = ["estimates.fsb", "both.fsb"].map(|name| folder.path().join(name));
    let games = random_games(200, 9);
    let estimating = || LeafSearch::new(Engine::new(&MobilityEvaluator, Strength::new(1, 0), 10).unwrap(), errors());
    for (path, mut searcher) in [(&path, searcher(1)), (&estimates, estimating())] {
        let mut book = Book::edit_or_create(path).unwrap();
        for game in &games {
            learn_game(&mut book, &game.steps(), black_discs(game), &mut searcher, &WEIGHTS, &NEVER).unwrap();
        }
    }
    let books = [&path, &estimates].map(|path| Book::open(path).unwrap());
    merge(&books, &both).unwrap();
    let merged = Book::open(&both).unwrap();
    let mut better = 0;
    for (diagram, _) in games.iter().flat_map(Transcript::steps) {
        let (record, moves) = merged.moves(diagram.position).unwrap().unwrap();
        let Leaf::Best(Valued { exact: true, .. }) = record.leaf else { continue };
        let best = moves[0];
        assert!(best.leaf.is_some() && best.is_proved(), "{moves:?}");
        assert_eq!((Some(best.value), best.play), (record.derived.value, record.derived.play));
        assert!(moves.iter().all(|known| known.play <= best.play && known.value <= best.value), "{moves:?}");
        let (_, guessed) = books[1].moves(diagram.position).unwrap().unwrap();
        better += u32::from(guessed.iter().any(|known| known.to != best.to && known.play > best.play));
    }
    assert!(better > 0);
}
