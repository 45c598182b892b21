//! Book files: kills, damage, hostile bytes.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use flipside::board::{Transcript, canonical};
use flipside::book::{
    Book, BookError, BookFormat, Grow, Keep, Leaf, LeafSearch, Valued, check, export, fix, import, learn_game, merge,
    prune,
};
use flipside::eval::MobilityEvaluator;
use flipside::search::{Engine, Strength};
use sha2::{Digest, Sha256};

use crate::support::*;

#[test]
fn every_position_of_counted_games_is_found_in_any_orientation() {
    let (_folder, path) = place();
    let games = random_games(300, 1);
    counted(&path, &games[..100]);
    counted(&path, &games[100..]);
    let mut book = Book::open(&path).unwrap();
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

#[test]
fn a_cut_off_batch_loses_only_that_batch() {
    let (_folder, path) = place();
    let mut lengths = vec![];
    let mut book = Book::edit_or_create(&path).unwrap();
    let games = random_games(3, 2);
    let mut positions = vec![];
    for game in &games {
        learn_game(&mut book, &game.steps(), black_discs(game), &mut searcher(1), &WEIGHTS, &NEVER).unwrap();
        lengths.push(fs::metadata(&path).unwrap().len());
        positions.push(book.len());
    }
    drop(book);
    let whole = fs::read(&path).unwrap();
    // A book that was never sorted is all batches.
    let mut headless = whole.clone();
    headless[20] ^= 0x40;
    fs::write(&path, headless).unwrap();
    assert_eq!((fix(&path).unwrap().positions, check(&path).unwrap().positions), (positions[2], positions[2]));
    for cut in (lengths[1] + 1..lengths[2]).step_by(97).chain([lengths[2] - 1]) {
        fs::write(&path, &whole[..cut as usize]).unwrap();
        let mut book = Book::edit(&path).unwrap();
        assert_eq!((book.len(), book.dropped()), (positions[1], cut - lengths[1]));
        assert!(check(&path).unwrap().is_none());
        // What is learned next overwrites what was cut off.
        learn_game(&mut book, &games[2].steps(), black_discs(&games[2]), &mut searcher(1), &WEIGHTS, &NEVER).unwrap();
        drop(book);
        assert!(fs::read(&path).unwrap() == whole);
    }
    // A power cut may leave zeros.
    let zeros = [&whole[..lengths[1] as usize], &[0; 1000]].concat();
    fs::write(&path, zeros).unwrap();
    assert_eq!(Book::open(&path).unwrap().len(), positions[1]);
}

#[test]
fn damage_is_reported_with_its_place_and_the_rest_is_saved() {
    let (_folder, path) = place();
    counted(&path, &random_games(200, 3));
    let whole = fs::read(&path).unwrap();
    let all = Book::open(&path).unwrap().len();
    assert!(all > 1000);
    let damaged = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        fs::write(&path, bytes).unwrap();
    };
    // A block: 128 positions are lost.
    damaged(72 + 3 * 6408 + 1000);
    let faults = check(&path).unwrap();
    assert_eq!((faults.lost, faults.damage.len()), (128, 1));
    assert_eq!(faults.damage[0].0, 72 + 3 * 6408);
    let mut book = Book::open(&path).unwrap();
    let lost = random_games(200, 3).iter().flat_map(|game| game.steps()).find_map(|(d, _)| book.get(d.position).err());
    assert!(lost.unwrap().to_string().contains(&format!("byte {}", 72 + 3 * 6408)));
    drop(book);
    let fixed = fix(&path).unwrap();
    assert_eq!((fixed.positions, fixed.lost), (all - 128, 128));
    assert!(check(&path).unwrap().is_none());
    // The index: nothing is lost.
    damaged(whole.len() - 20);
    assert!(matches!(Book::open(&path), Err(BookError::Damage { .. })));
    let fixed = fix(&path).unwrap();
    assert_eq!((fixed.positions, fixed.lost, fixed.damage.len()), (all, 0, 1));
    assert!(fs::read(&path).unwrap() == whole);
    // The header: everything is found without it.
    for at in [8, 11, 12, 20, 30, 40, 70] {
        damaged(at);
        assert!(Book::open(&path).err().unwrap().to_string().contains("byte 64: the header's checksum is wrong"));
        let fixed = fix(&path).unwrap();
        assert_eq!((fixed.positions, fixed.lost, fixed.damage.len()), (all, 0, 1));
        assert!(fs::read(&path).unwrap() == whole);
    }
    // The header and a block: only that block is lost.
    damaged(20);
    let mut bytes = fs::read(&path).unwrap();
    bytes[72 + 6408 + 1000] ^= 0x40;
    fs::write(&path, bytes).unwrap();
    assert_eq!((fix(&path).unwrap().positions, check(&path).unwrap().positions), (all - 128, all - 128));
    // The end is missing: the blocks before it are there.
    fs::write(&path, &whole[..72 + 5 * 6408 + 1000]).unwrap();
    assert!(Book::open(&path).err().unwrap().to_string().contains("the file was cut off"));
    assert_eq!((check(&path).unwrap().positions, check(&path).unwrap().lost), (640, all - 640));
    let fixed = fix(&path).unwrap();
    assert_eq!((fixed.positions, fixed.lost), (640, all - 640));
    assert!(check(&path).unwrap().is_none());
    fs::write(&path, &whole[..500]).unwrap();
    assert!(fix(&path).unwrap_err().to_string().contains("the file was cut off"), "there is nothing to save");
    assert_eq!(fs::read(&path).unwrap().len(), 500);
    fs::write(&path, b"").unwrap();
    assert!(Book::open(&path).err().unwrap().to_string().contains("only 0 bytes"));
    fs::write(&path, "f5").unwrap();
    assert!(Book::open(&path).err().unwrap().to_string().contains("not the first bytes of a book"));
    fs::write(&path, [0x55; 400]).unwrap();
    assert!(Book::open(&path).err().unwrap().to_string().contains("not the first bytes of a book"));
}

/// The bytes of a book with changed fields in its header, and the right checksum for them.
fn with_header(bytes: &[u8], at: usize, field: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + field.len()].copy_from_slice(field);
    let check = Sha256::digest(&bytes[..64]);
    bytes[64..72].copy_from_slice(&check[..8]);
    bytes
}

#[test]
fn a_header_with_false_claims_allocates_nothing() {
    let (_folder, path) = place();
    counted(&path, &random_games(20, 8));
    let whole = fs::read(&path).unwrap();
    let claims: [(usize, &[u8], &str); 5] = [
        (16, &u64::MAX.to_le_bytes(), "byte 16"),
        (16, &(1u64 << 56).to_le_bytes(), "byte 16"),
        (24, &u64::MAX.to_le_bytes(), "byte 16"),
        (24, &8u64.to_le_bytes(), "the index is damaged"),
        // As a big-endian machine writes it.
        (8, &1u32.to_be_bytes(), "byte 8: a book of version 16777216"),
    ];
    for (at, field, what) in claims {
        fs::write(&path, with_header(&whole, at, field)).unwrap();
        let error = Book::open(&path).err().unwrap().to_string();
        assert!(error.contains(what), "{error}");
    }
    // A batch may claim as much as it likes.
    for claim in [[u32::MAX, u32::MAX], [0, u32::MAX], [255, 1]] {
        let batch = [b"FSBB".to_vec(), claim[0].to_le_bytes().to_vec(), claim[1].to_le_bytes().to_vec(), vec![0; 40]];
        fs::write(&path, [&whole[..], &batch.concat()].concat()).unwrap();
        let book = Book::open(&path).unwrap();
        assert_eq!(book.dropped(), 52, "what is cut off does not count");
    }
}

#[test]
fn wrong_derived_values_are_found_and_fixed() {
    let (_folder, path) = place();
    grow(&path, 120, 2, &NEVER);
    let whole = fs::read(&path).unwrap();
    let mut bytes = whole.clone();
    // The value of the third position of the first block, with the right checksum for the block.
    let (first, records) = (72, 120 * 50);
    bytes[first + 2 * 50 + 43] ^= 0x11;
    let check_sum = Sha256::digest(&bytes[first..first + records]);
    bytes[first + records..first + records + 8].copy_from_slice(&check_sum[..8]);
    fs::write(&path, bytes).unwrap();
    let faults = check(&path).unwrap();
    assert!(faults.damage.is_empty() && faults.inconsistent == 1 && faults.example.is_some(), "{faults:?}");
    assert_eq!(fix(&path).unwrap().inconsistent, 1);
    assert!(fs::read(&path).unwrap() == whole, "all that follows is computed");
}

#[test]
fn a_damaged_batch_before_others_is_damage() {
    let (_folder, path) = place();
    let mut book = Book::edit_or_create(&path).unwrap();
    let mut ends = vec![fs::metadata(&path).unwrap().len()];
    for game in random_games(3, 4) {
        learn_game(&mut book, &game.steps(), black_discs(&game), &mut searcher(1), &WEIGHTS, &NEVER).unwrap();
        ends.push(fs::metadata(&path).unwrap().len());
    }
    drop(book);
    let whole = fs::read(&path).unwrap();
    for at in [ends[1] + 2, ends[1] + 5, ends[1] + 9, ends[1] + 300] {
        let mut bytes = whole.clone();
        bytes[at as usize] ^= 0x20;
        fs::write(&path, &bytes).unwrap();
        let error = Book::edit(&path).err().unwrap().to_string();
        assert!(error.contains(&format!("byte {}", ends[1])), "{error}");
        assert!(fs::read(&path).unwrap() == bytes, "nothing was cut off");
        let faults = fix(&path).unwrap();
        assert!(!faults.damage.is_empty() && faults.positions > 50);
        assert!(check(&path).unwrap().is_none());
    }
}

/// A book with two sets of weights: one in its trailer, and one in a batch after it.
#[test]
fn weights_keep_their_names_without_header_and_index() {
    let (_folder, path) = place();
    let learn = |weights: &[u8; 32], seed| {
        let mut book = Book::edit_or_create(&path).unwrap();
        let game = &random_games(1, seed)[0];
        learn_game(&mut book, &game.steps(), black_discs(game), &mut searcher(1), weights, &NEVER).unwrap();
        book
    };
    learn(&WEIGHTS, 9).sort().unwrap();
    let base = fs::metadata(&path).unwrap().len() as usize;
    drop(learn(&[9; 32], 10));
    let whole = fs::read(&path).unwrap();
    let last = random_games(1, 10)[0].steps()[30].0.position;
    let name = |book: &mut Book| {
        let number = book.get(last).unwrap().unwrap().weights;
        book.weights()[usize::from(number) - 1]
    };
    for at in [20, base - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert_eq!(fix(&path).unwrap().lost, 0);
        assert_eq!(name(&mut Book::open(&path).unwrap()), [9; 32], "damaged at {at}");
    }
}

/// Weights are identified by number, and a lost batch may have named some.
#[test]
fn names_of_weights_after_a_lost_batch_are_not_invented() {
    let (_folder, path) = place();
    let mut ends = Vec::new();
    for weights in [7, 8, 9] {
        let mut book = Book::edit_or_create(&path).unwrap();
        let game = &random_games(1, weights)[0];
        learn_game(&mut book, &game.steps(), black_discs(game), &mut searcher(1), &[weights as u8; 32], &NEVER)
            .unwrap();
        ends.push(fs::metadata(&path).unwrap().len() as usize);
    }
    let mut bytes = fs::read(&path).unwrap();
    bytes[ends[0] + 300] ^= 1;
    fs::write(&path, bytes).unwrap();
    fix(&path).unwrap();
    let mut book = Book::open(&path).unwrap();
    for (seed, names) in [(7, [[7; 32]]), (9, [[0; 32]])] {
        let position = random_games(1, seed)[0].steps()[30].0.position;
        let number = usize::from(book.get(position).unwrap().unwrap().weights);
        let name = if number == 0 { [0; 32] } else { book.weights()[number - 1] };
        assert_eq!([name], names, "{seed}");
    }
}

#[test]
fn positions_out_of_order_are_left_out() {
    let (_folder, path) = place();
    grow(&path, 120, 2, &NEVER);
    let whole = fs::read(&path).unwrap();
    let records = 72..72 + 120 * 50;
    for (one, other) in [(0, 119), (40, 41), (60, 100)] {
        let mut bytes = whole.clone();
        let record = |number: usize| whole[72 + number * 50..][..50].to_vec();
        bytes[72 + one * 50..][..50].copy_from_slice(&record(other));
        bytes[72 + other * 50..][..50].copy_from_slice(&record(one));
        let check_sum = Sha256::digest(&bytes[records.clone()]);
        bytes[records.end..records.end + 8].copy_from_slice(&check_sum[..8]);
        fs::write(&path, bytes).unwrap();
        assert!(!check(&path).unwrap().is_none());
        assert!(fix(&path).unwrap().lost > 0);
        assert!(check(&path).unwrap().is_none());
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

/// A book open for changes, with something in it that is not sorted yet.
fn unsorted(path: &Path) -> Book {
    let mut book = Book::edit_or_create(path).unwrap();
    book.number_of(&[1; 32]);
    book.commit().unwrap();
    book
}

#[test]
fn waiting_for_a_book_does_not_give_the_replaced_file() {
    let (_folder, path) = place();
    let mut book = unsorted(&path);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| Book::edit(&path).map(drop));
        std::thread::sleep(Duration::from_millis(100));
        book.sort().unwrap();
        assert!(matches!(waiting.join().unwrap(), Err(BookError::Locked(_))));
    });
    book.number_of(&[2; 32]);
    book.commit().unwrap();
    assert_eq!(Book::open(&path).unwrap().weights(), [[1; 32], [2; 32]]);
}

#[test]
fn a_book_that_is_being_changed_is_not_written_over() {
    let (folder, path) = place();
    let other = folder.path().join("other.fsb");
    grow(&other, 20, 1, &NEVER);
    let text = folder.path().join("book.txt");
    export(&mut Book::open(&other).unwrap(), BookFormat::Text, &mut fs::File::create(&text).unwrap()).unwrap();
    let book = unsorted(&path);
    let before = fs::read(&path).unwrap();
    let read = || Book::open(&other).unwrap();
    let is_locked = |result: Result<(), BookError>| assert!(matches!(result, Err(BookError::Locked(_))), "{result:?}");
    is_locked(merge(&mut [read(), read()], &path).map(drop));
    is_locked(prune(&mut read(), Keep { within: 9.0, min_empties: 0 }, &path).map(drop));
    is_locked(import(&text, BookFormat::Text, &path, &errors()).map(drop));
    assert_eq!(fs::read(&path).unwrap(), before);
    drop(book);
    merge(&mut [read(), read()], &path).unwrap();
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
    let grown = Grow { weights: WEIGHTS, positions: Some(30), stop: &stop, enough: &NEVER };
    let grown = grown.run(&mut book, || searcher(1), |_| ());
    for error in [learned.unwrap_err(), grown.unwrap_err()] {
        assert!(matches!(error, BookError::ReadOnly(_)), "{error}");
    }
    assert!(fs::read(&path).unwrap() == before);
}

#[cfg(unix)]
#[test]
fn a_book_that_was_replaced_is_not_written_to() {
    let (folder, path) = place();
    let mut book = unsorted(&path);
    let moved = folder.path().join("moved.fsb");
    fs::rename(&path, &moved).unwrap();
    let before = fs::read(&moved).unwrap();
    book.number_of(&[2; 32]);
    for _ in 0..2 {
        assert!(matches!(book.commit(), Err(BookError::Replaced(_))));
        assert!(matches!(book.sort(), Err(BookError::Replaced(_))));
        assert_eq!(fs::read(&moved).unwrap(), before);
        fs::copy(&moved, &path).unwrap();
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn merged_books_have_what_each_had() {
    let (folder, path) = place();
    let other = folder.path().join("other.fsb");
    let both = folder.path().join("both.fsb");
    let games = random_games(60, 5);
    counted(&path, &games[..40]);
    counted(&other, &games[20..]);
    let mut books = [&path, &other].map(|path| Book::open(path).unwrap());
    let count = merge(&mut books, &both).unwrap();
    let mut merged = Book::open(&both).unwrap();
    assert_eq!(merged.len(), count);
    for game in &games {
        for (diagram, _) in game.steps() {
            let games = |book: &mut Book| book.get(diagram.position).unwrap().map_or(0, |record| record.games.count());
            let sum: u64 = books.iter_mut().map(games).sum();
            assert_eq!(games(&mut merged), sum);
        }
    }
    assert!(check(&both).unwrap().is_none());
}

#[test]
fn a_game_that_meets_damage_is_not_learned_in_part() {
    let (_folder, path) = place();
    counted(&path, &random_games(300, 6));
    let whole = fs::read(&path).unwrap();
    let games = random_games(2, 7);
    let learn = |book: &mut Book, game: &Transcript| {
        learn_game(book, &game.steps(), black_discs(game), &mut searcher(1), &WEIGHTS, &NEVER)
    };
    learn(&mut Book::edit(&path).unwrap(), &games[1]).unwrap();
    let expected = fs::read(&path).unwrap();
    let mut failed = 0;
    for block in 0..Book::open(&path).unwrap().len() as usize / 128 {
        let mut bytes = whole.clone();
        bytes[72 + block * 6408 + 1000] ^= 0x40;
        fs::write(&path, bytes).unwrap();
        let mut book = Book::edit(&path).unwrap();
        let len = book.len();
        if learn(&mut book, &games[0]).is_err() {
            failed += 1;
            assert_eq!(book.len(), len);
            fs::write(&path, &whole).unwrap();
            learn(&mut book, &games[1]).unwrap();
            assert!(fs::read(&path).unwrap() == expected, "damage in block {block}");
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
    let mut books = [&path, &estimates].map(|path| Book::open(path).unwrap());
    merge(&mut books, &both).unwrap();
    let mut merged = Book::open(&both).unwrap();
    let mut better = 0;
    for (diagram, _) in games.iter().flat_map(Transcript::steps) {
        let (record, moves) = merged.moves(diagram.position).unwrap().unwrap();
        let Leaf::Best(Valued { exact: true, .. }) = record.leaf else { continue };
        let best = moves[0];
        assert!(best.depth.is_some() && best.is_proved(), "{moves:?}");
        assert_eq!((Some(best.value), best.play), (record.derived.value, record.derived.play));
        assert!(moves.iter().all(|known| known.play <= best.play && known.value <= best.value), "{moves:?}");
        let (_, guessed) = books[1].moves(diagram.position).unwrap().unwrap();
        better += u32::from(guessed.iter().any(|known| known.to != best.to && known.play > best.play));
    }
    assert!(better > 0);
}
