//! Books of other programs.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use flipside::board::{Diagram, Position, Side, Square, Transcript, canonical, squares};
use flipside::book::{
    Book, BookFormat, GameCounts, Leaf, Link, check, count_games, detect, export, import, learn_game, links, merge,
    search_missing,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::support::*;

fn exported(book: &Path, format: BookFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    export(&Book::open(book).unwrap(), format, &mut bytes).unwrap();
    bytes
}

#[test]
fn books_come_back_from_every_format() {
    let (folder, path) = place();
    grow(&path, 400, 2, &NEVER);
    let own = Book::open(&path).unwrap();
    for format in [BookFormat::Edax, BookFormat::Egaroucid, BookFormat::Text] {
        let (file, back) = (folder.path().join("foreign"), folder.path().join("back.fsb"));
        let bytes = exported(&path, format);
        fs::write(&file, &bytes).unwrap();
        assert_eq!(detect(&file).unwrap(), format);
        let done = import(&file, format, &back, &errors()).unwrap();
        assert_eq!((done.left_out, done.positions), (0, 400), "{format}");
        assert!(check(&back).unwrap().is_none());
        assert!(exported(&back, format) == bytes, "{format}: the same again");
        // All values are the same, rounded to whole discs.
        let book = Book::open(&back).unwrap();
        let value = |book: &Book| book.get(Position::START).unwrap().unwrap().derived.value.unwrap();
        assert_eq!(value(&book).rounded_discs(), value(&own).rounded_discs(), "{format}");
    }
}

/// A scored move of an Edax book.
type Scored = (i8, u8);

/// An Edax book of positions with their links and leaves, byte by byte.
///
/// After `book_save`, `position_write` and `book.h` of Edax 4 (github.com/abulmo/edax-reversi): the header is written field by field,
/// two u32 (`XADE` and `KOOB` as little-endian machines have them), version and release, a structure of a short and five bytes (8 with its
/// padding), one of five ints, and an int: 42 bytes. A position has two u64, four u32, three shorts, two bytes, the links and the leaf of
/// a byte each for score and move; 64 is a pass, 65 no move, and -127 no score. Edax reads to the end of the file.
fn edax(positions: &[(Position, &[Scored], Scored)]) -> Vec<u8> {
    let mut bytes = b"XADEKOOB\x04\x04".to_vec();
    bytes.extend([0xe6, 0x07, 1, 2, 3, 4, 5, 0]);
    [21i32, 24, 2, 1, 1, positions.len() as i32].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    assert_eq!(bytes.len(), 42);
    for (position, links, leaf) in positions {
        bytes.extend(position.player.to_le_bytes());
        bytes.extend(position.opponent.to_le_bytes());
        [3u32, 2, 1, 6].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        [0i16, -1, 1].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend([links.len() as u8, 21]);
        links.iter().chain([leaf]).for_each(|&(score, to)| bytes.extend([score as u8, to]));
    }
    bytes
}

/// The start position, a move in it, and the position after that, as books have them.
fn beginning() -> (Position, Square, Position) {
    let start = canonical(Position::START);
    let first = Square::lowest(start.moves());
    (start, first, canonical(start.play(first)))
}

#[test]
fn an_edax_book_is_read_byte_by_byte() {
    let (folder, path) = place();
    let file = folder.path().join("book.dat");
    let (start, first, next) = beginning();
    let reply = Square::lowest(next.moves());
    let book = edax(&[(start, &[(2, first.index() as u8)], (-127, 65)), (next, &[], (-2, reply.index() as u8))]);
    fs::write(&file, &book).unwrap();
    let done = import(&file, BookFormat::Edax, &path, &errors()).unwrap();
    assert_eq!((done.read, done.positions, done.left_out), (2, 2, 0));
    let own = Book::open(&path).unwrap();
    let record = own.get(Position::START).unwrap().unwrap();
    assert_eq!((record.derived.value.unwrap().rounded_discs(), record.leaf), (2, Leaf::AllPlayed));
    let record = own.get(next).unwrap().unwrap();
    let Leaf::Best(leaf) = record.leaf else { panic!("{record:?}") };
    assert_eq!((leaf.to, leaf.score.rounded_discs(), leaf.depth), (Some(reply), -2, Some(21)));

    let refused = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        import(&file, BookFormat::Edax, &path, &errors()).unwrap_err().to_string()
    };
    let before = content(&path);
    let with = |at: usize, byte: u8| {
        let mut bytes = book.clone();
        bytes[at] = byte;
        bytes
    };
    assert!(refused(&[b"EDAXBOOK", &book[8..]].concat()).contains("byte 0: an Edax book written by a big-endian"));
    assert!(refused(&with(8, 3)).contains("byte 8: an Edax book of version 3"));
    assert!(refused(&with(38, 9)).contains("byte 38: the header announces 9 positions, the file has 2"));
    assert!(refused(&book[..book.len() - 1]).contains("the file ends within a leaf"));
    assert!(refused(&with(42 + 38, 255)).contains("the file ends"));
    assert!(refused(&book[..20]).contains("the file ends"));
    assert!(content(&path) == before, "nothing replaces a book but a whole one");
    // An impossible position is left out.
    fs::write(&file, with(42 + 3, 0xff)).unwrap();
    let done = import(&file, BookFormat::Edax, &path, &errors()).unwrap();
    assert_eq!((done.read, done.left_out), (2, 1));
}

#[test]
fn circular_links_and_illegal_leaves_do_no_harm() {
    let (folder, path) = place();
    let file = folder.path().join("book.dat");
    let (start, first, next) = beginning();
    // Passes back and forth, a link to itself, a link to a missing position, the same position twice.
    let pass = (0, 64);
    let book = edax(&[
        (start, &[pass, pass, (5, first.index() as u8)], (-127, 65)),
        (start.pass(), &[pass], (-127, 65)),
        (next, &[(3, 0), (3, 200)], (127, 27)),
        (next, &[], (4, Square::lowest(next.moves()).index() as u8)),
    ]);
    fs::write(&file, &book).unwrap();
    let done = import(&file, BookFormat::Edax, &path, &errors()).unwrap();
    assert_eq!((done.read, done.positions), (4, 2));
    assert!(check(&path).unwrap().is_none());
    let value = Book::open(&path).unwrap().get(Position::START).unwrap().unwrap().derived.value.unwrap();
    assert_eq!(value.rounded_discs(), -4, "of two entries of a position, the one that knows a move counts");
}

const NO_LEAF: (i8, u8, i8) = (-126, 65, -1);

/// A position of an Egaroucid book, searched at level 21. The most significant bit is a1 there: the board rotated by 180 degrees.
fn egaroucid(position: Position, value: i8, leaf: (i8, u8, i8)) -> Vec<u8> {
    let mut bytes = [position.player.to_le_bytes(), position.opponent.to_le_bytes()].concat();
    bytes.extend([value as u8, 21, 9, 0, 0, 0, leaf.0 as u8, leaf.1, leaf.2 as u8]);
    bytes
}

/// The positions of an Egaroucid book: value, level, leaf (value, move, level).
fn egaroucid_entries(bytes: &[u8]) -> HashMap<Position, [i8; 5]> {
    let mut entries = HashMap::new();
    for entry in bytes[14..].as_chunks::<25>().0 {
        let half = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().unwrap());
        let position = Position { player: half(0), opponent: half(8) };
        let numbers = [16, 17, 22, 23, 24].map(|at| entry[at] as i8);
        assert!(entries.insert(position, numbers).is_none(), "twice");
    }
    assert_eq!(entries.len() as u32, u32::from_le_bytes(bytes[10..14].try_into().unwrap()));
    entries
}

#[test]
fn exports_to_egaroucid_have_the_books_positions_and_values() {
    let (_folder, path) = place();
    grow(&path, 200, 2, &NEVER);
    let entries = egaroucid_entries(&exported(&path, BookFormat::Egaroucid));
    assert_eq!(entries.len(), 200);
    for (position, [value, _, leaf, to, _]) in &entries {
        let moves = links(*position).filter_map(|(_, link)| match link {
            Link::To { position, turn } => entries.get(&position).map(|entry| if turn { -entry[0] } else { entry[0] }),
            Link::End(_) => None,
        });
        let leaf = (*to < 64).then_some(*leaf);
        assert_eq!(moves.chain(leaf).max(), Some(*value));
    }
}

/// A book with a solved position worth nothing, and an estimate of one of its other moves that is far too good.
fn solved_and_estimated(folder: &Path) -> (PathBuf, Position, Position) {
    let [path, estimates, both, text] = ["a.fsb", "b.fsb", "c.fsb", "b.txt"].map(|name| folder.join(name));
    let mut book = Book::edit_or_create(&path).unwrap();
    let game = random_games(1, 5).remove(0);
    learn_game(&mut book, &game.steps(), 2, &mut searcher(1), &WEIGHTS, &NEVER).unwrap();
    let solved = game
        .steps()
        .into_iter()
        .map(|(diagram, _)| canonical(diagram.position))
        .find(|&position| matches!(book.get(position).unwrap().unwrap().leaf, Leaf::Best(leaf) if leaf.exact));
    let solved = solved.unwrap();
    let Leaf::Best(leaf) = book.get(solved).unwrap().unwrap().leaf else { unreachable!() };
    let other = links(solved).find_map(|(to, link)| match link {
        Link::To { position, turn: true } if Some(to) != leaf.to => Some(position),
        _ => None,
    });
    let other = other.unwrap();
    let reply = Square::lowest(other.moves());
    let diagram = Diagram { position: other, side: Side::Black };
    fs::write(&text, format!("{diagram},21,{reply},-64\n")).unwrap();
    import(&text, BookFormat::Text, &estimates, &errors()).unwrap();
    drop(book);
    merge(&[Book::open(&path).unwrap(), Book::open(&estimates).unwrap()], &both).unwrap();
    (both, solved, other)
}

#[test]
fn no_export_has_an_estimate_that_is_better_than_a_solution() {
    let (folder, _) = place();
    let (path, solved, other) = solved_and_estimated(folder.path());
    let book = Book::open(&path).unwrap();
    let value = |position| book.get(position).unwrap().unwrap().derived.value.unwrap().rounded_discs();
    assert!(value(solved) < 64 && value(other) == -64);
    let entries = egaroucid_entries(&exported(&path, BookFormat::Egaroucid));
    let found = [entries[&solved][0], entries[&other][0], entries[&other][2]].map(i32::from);
    assert_eq!(found, [value(solved), -value(solved), -value(solved)], "the last is its leaf");
    let edax = exported(&path, BookFormat::Edax);
    edax_accepts(&edax);
    // What others derive from it is the same.
    let (file, again) = (folder.path().join("foreign"), folder.path().join("again.fsb"));
    for format in [BookFormat::Edax, BookFormat::Egaroucid, BookFormat::Text] {
        fs::write(&file, exported(&path, format)).unwrap();
        import(&file, format, &again, &errors()).unwrap();
        let derived = Book::open(&again).unwrap().get(solved).unwrap().unwrap().derived;
        assert_eq!(derived.value.unwrap().rounded_discs(), value(solved), "{format}");
    }
    let obf = String::from_utf8(exported(&path, BookFormat::Obf)).unwrap();
    let scores = flipside::record::lines::parse_positions(&obf).unwrap();
    let scored = scores.iter().find(|scored| scored.diagram.position == other).unwrap();
    assert_eq!(scored.score, Some(-value(solved)));
}

#[test]
fn values_without_a_move_and_without_a_level_are_kept_as_they_are() {
    let (folder, path) = place();
    let file = folder.path().join("book");
    let (start, _, next) = beginning();
    // Edax: neither links nor a leaf, and a value of 5 discs.
    let mut bytes = edax(&[(start, &[], (-127, 65)), (next, &[], (-127, 65))]);
    bytes[42 + 32..42 + 34].copy_from_slice(&5i16.to_le_bytes());
    fs::write(&file, bytes).unwrap();
    import(&file, BookFormat::Edax, &path, &errors()).unwrap();
    let Leaf::Best(leaf) = Book::open(&path).unwrap().get(start).unwrap().unwrap().leaf else { panic!("a value") };
    assert_eq!((leaf.to, leaf.score.rounded_discs(), leaf.depth), (None, 5, Some(21)));
    // Egaroucid: levels that are no depth.
    for level in [-1i8, 61, 70, 127] {
        let mut entry = egaroucid(next, 3, NO_LEAF);
        entry[17] = level as u8;
        fs::write(&file, [b"DICUORAGE\x03".to_vec(), 1i32.to_le_bytes().to_vec(), entry].concat()).unwrap();
        import(&file, BookFormat::Egaroucid, &path, &errors()).unwrap();
        let record = Book::open(&path).unwrap().get(next).unwrap().unwrap();
        let Leaf::Best(leaf) = record.leaf else { panic!("a value") };
        assert_eq!((leaf.score.rounded_discs(), leaf.depth, leaf.error.discs()), (3, None, None));
        let entries = egaroucid_entries(&exported(&path, BookFormat::Egaroucid));
        assert_eq!(entries[&next][..2], [3, -1]);
    }
}

/// An Egaroucid book of the start position, the position after its first move, and those after all replies. Leaves are of level 5.
fn shallow_leaves() -> Vec<u8> {
    let (start, _, next) = beginning();
    let mut positions = vec![egaroucid(start, 0, NO_LEAF)];
    let replies: Vec<_> = squares(next.moves()).collect();
    // The reply that is not in the book looks best.
    positions.push(egaroucid(next, 0, (9, replies[0].index() as u8, 5)));
    for (&reply, value) in replies[1..].iter().zip([1, 3]) {
        let position = canonical(next.play(reply));
        let leaf = Square::lowest(position.moves());
        positions.push(egaroucid(position, value, (-20, leaf.index() as u8, 5)));
    }
    [b"DICUORAGE\x03".to_vec(), (positions.len() as i32).to_le_bytes().to_vec(), positions.concat()].concat()
}

#[test]
fn shallow_leaves_of_egaroucid_do_not_override_its_values() {
    let (folder, path) = place();
    let file = folder.path().join("book.egbk3");
    fs::write(&file, shallow_leaves()).unwrap();
    assert_eq!(import(&file, BookFormat::Egaroucid, &path, &errors()).unwrap().positions, 4);
    let book = Book::open(&path).unwrap();
    let value = |position| book.get(position).unwrap().unwrap().derived.value.unwrap().rounded_discs();
    let (start, _, next) = beginning();
    let reply = squares(next.moves()).nth(1).unwrap();
    assert_eq!(value(next.play(reply)), 1, "the value of level 21, not of the leaf");
    assert_eq!((value(next), value(start)), (-1, 1), "the best of what is in the book");
    drop(book);
    // Nothing is new here, and what the other program found is left as it is.
    let (mut book, searched) = (Book::edit(&path).unwrap(), AtomicU64::new(0));
    search_missing(&mut book, &|| searcher(1), &WEIGHTS, &NEVER, |done, _| searched.store(done, Relaxed)).unwrap();
    assert_eq!(searched.into_inner(), 0);
    drop(book);
    // A shallower search of the position only adds its move.
    grow(&path, 4, 2, &NEVER);
    let record = Book::open(&path).unwrap().get(next.play(reply)).unwrap().unwrap();
    let Leaf::Best(leaf) = record.leaf else { panic!("{record:?}") };
    assert!(leaf.to.is_some());
    assert_eq!((leaf.score.rounded_discs(), leaf.depth), (1, Some(21)));
}

/// Checks what Edax requires of the positions of its book; returns their number.
fn edax_accepts(bytes: &[u8]) -> usize {
    let mut positions = std::collections::HashMap::new();
    let mut rest = &bytes[42..];
    while !rest.is_empty() {
        let half = |at: usize| u64::from_le_bytes(rest[at..at + 8].try_into().unwrap());
        let position = Position { player: half(0), opponent: half(8) };
        let value = i16::from_le_bytes(rest[32..34].try_into().unwrap());
        let links = usize::from(rest[38]);
        let moves: Vec<Scored> = rest[40..42 + 2 * links].chunks(2).map(|pair| (pair[0] as i8, pair[1])).collect();
        assert!(positions.insert(position, (value, moves)).is_none(), "twice");
        rest = &rest[42 + 2 * links..];
    }
    let announced = u32::from_le_bytes(bytes[38..42].try_into().unwrap());
    assert_eq!(announced as usize, positions.len());
    for (position, (value, moves)) in &positions {
        assert_eq!(canonical(*position), *position);
        let (&leaf, links) = moves.split_last().unwrap();
        for &(score, to) in links {
            let next = if to == 64 { position.pass() } else { position.play(Square::new(to)) };
            let there = positions.get(&canonical(next)).expect("links lead to positions");
            assert_eq!(i16::from(score), -there.0);
        }
        let mut known: Vec<_> = links.iter().map(|&(_, to)| to).collect();
        if leaf.1 == 65 {
            assert!(known == [64] || known.len() == position.moves().count_ones() as usize, "a move is missing");
        } else {
            assert!(position.moves() & Square::new(leaf.1).bit() != 0 && (-64..=64).contains(&leaf.0));
            known.push(leaf.1);
        }
        known.sort();
        known.dedup();
        assert_eq!(known.len(), links.len() + usize::from(leaf.1 != 65), "a move twice");
        assert!((-64..=64).contains(value));
    }
    positions.len()
}

#[test]
fn exports_to_edax_meet_its_requirements() {
    let (folder, path) = place();
    grow(&path, 400, 2, &NEVER);
    assert!(edax_accepts(&exported(&path, BookFormat::Edax)) >= 400);
    // Games whose last positions are solved, while others were not searched.
    let mut book = Book::edit(&path).unwrap();
    let mut counts = GameCounts::new(&path);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for number in 0..20 {
        let game = Transcript::random(&mut rng);
        if number < 10 {
            learn_game(&mut book, &game.steps(), 2, &mut searcher(1), &WEIGHTS, &NEVER).unwrap();
        } else {
            counts.add(&game.steps(), -2, 40).unwrap();
        }
    }
    count_games(&mut book, counts, 1).unwrap();
    drop(book);
    let bytes = exported(&path, BookFormat::Edax);
    assert!(edax_accepts(&bytes) > 700);
    // Positions before a pass link to those after it.
    let early_pass = |game: &Transcript| game.steps().windows(2).take(51).any(|pair| pair[0].0.side == pair[1].0.side);
    let games: Vec<_> = random_games(2000, 3).into_iter().filter(early_pass).take(20).collect();
    assert!(games.len() > 5);
    let passes = folder.path().join("passes.fsb");
    let mut book = Book::edit_or_create(&passes).unwrap();
    for game in &games {
        learn_game(&mut book, &game.steps(), black_discs(game), &mut searcher(1), &WEIGHTS, &NEVER).unwrap();
    }
    drop(book);
    assert!(edax_accepts(&exported(&passes, BookFormat::Edax)) > 100);
    // Unsearched positions have no value, and their parents do without one.
    let mut out = Vec::new();
    let book = Book::open(&path).unwrap();
    let done = export(&book, BookFormat::Edax, &mut out).unwrap();
    assert!(done.left_out > 100 && done.positions + done.left_out == book.len(), "{done:?}");
    let lines = exported(&path, BookFormat::Text);
    assert_eq!(String::from_utf8(lines).unwrap().lines().count() as u64, done.positions);
    // Positions without any known move are the leaves of their parents.
    let file = folder.path().join("book.egbk3");
    fs::write(&file, shallow_leaves()).unwrap();
    import(&file, BookFormat::Egaroucid, &path, &errors()).unwrap();
    assert_eq!(edax_accepts(&exported(&path, BookFormat::Edax)), 2);
}

/// After `.egbk3` as Egaroucid's `book.hpp` reads it (github.com/Nyanyan/Egaroucid): 25 bytes a position, no padding; a move is the
/// number of its bit, as the discs are; 65 is no move, -126 no value, -1 no level.
#[test]
fn an_egaroucid_book_is_read_byte_by_byte() {
    let (folder, path) = place();
    let file = folder.path().join("book.egbk3");
    let mut bytes = b"DICUORAGE\x03".to_vec();
    bytes.extend(2i32.to_le_bytes());
    let position = canonical(Position::START.play("f5".parse().unwrap()));
    let reply = Square::lowest(position.moves());
    bytes.extend(egaroucid(canonical(Position::START), 1, NO_LEAF));
    bytes.extend(egaroucid(position, -1, (-2, reply.index() as u8, 21)));
    fs::write(&file, &bytes).unwrap();
    let done = import(&file, BookFormat::Egaroucid, &path, &errors()).unwrap();
    assert_eq!((done.read, done.positions), (2, 2));
    let own = Book::open(&path).unwrap();
    let Leaf::Best(leaf) = own.get(position).unwrap().unwrap().leaf else { panic!("a leaf") };
    assert_eq!((leaf.to, leaf.score.rounded_discs(), leaf.depth), (Some(reply), -2, Some(21)));
    // The start position's own value is replaced by that of the position after f5.
    assert_eq!(own.get(Position::START).unwrap().unwrap().derived.value.unwrap().rounded_discs(), 2);
    // The number of positions as a big-endian machine writes it.
    let foreign = [&bytes[..10], &2i32.to_be_bytes(), &bytes[14..]].concat();
    fs::write(&file, foreign).unwrap();
    let error = import(&file, BookFormat::Egaroucid, &path, &errors()).unwrap_err().to_string();
    assert!(error.contains("byte 10: the header announces 33554432 positions, the file has 2"), "{error}");
    for (at, what) in [(9, "byte 9: an Egaroucid book of version"), (10, "byte 10: the header announces")] {
        let mut wrong = bytes.clone();
        wrong[at] ^= 0x10;
        fs::write(&file, wrong).unwrap();
        let error = import(&file, BookFormat::Egaroucid, &path, &errors()).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn bad_lines_of_a_text_book_are_reported() {
    let (folder, path) = place();
    let file = folder.path().join("book.txt");
    let board = "---------------------------OX------XO---------------------------";
    // Of a comment no part is a line of its own, however long it is.
    let comment = format!("# a comment{} {board} X,21,f5,+1", " and so on".repeat(300));
    let good = format!("{comment}\n{board} X,21,f5,+1\n{board},0,--,-127\n");
    fs::write(&file, &good).unwrap();
    let done = import(&file, BookFormat::Text, &path, &errors()).unwrap();
    assert_eq!((done.read, done.positions), (2, 1));
    for (line, what) in [
        ("rubbish", "rubbish"),
        (&*format!("{board} X,21,f5"), "expected board,level,move,score"),
        (&*format!("{board} X,x,f5,1"), "level `x`"),
        (&*format!("{board} X,1,f5,y"), "score `y`"),
        (&*format!("{board} X,1,f55,1"), "`f55` is not a square"),
    ] {
        fs::write(&file, format!("{good}{line}\n")).unwrap();
        let error = import(&file, BookFormat::Text, &path, &errors()).unwrap_err().to_string();
        assert!(error.contains(&format!("byte {}", good.len())) && error.contains(what), "{error}");
    }
}
