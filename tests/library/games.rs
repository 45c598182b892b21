//! Kept games: what was written is read back, and damage is never taken for games.

use std::fs;
use std::io::Read;
use std::sync::atomic::AtomicBool;

use flipside::board::Transcript;
use flipside::eval::{MobilityEvaluator, Score};
use flipside::games::{GamesError, GamesHeader, GamesReader, decode, encode, frame};
use flipside::search::Strength;
use flipside::selfplay::{GameRecord, Label, PlyKind, SelfPlay, SelfPlayConfig, UpdateTarget};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

const CONFIG: SelfPlayConfig = SelfPlayConfig::new(Strength::new(2, 8), 20, 0.05);

fn games(config: SelfPlayConfig, count: u32) -> Vec<GameRecord> {
    SelfPlay::new(&MobilityEvaluator, config).play_games(5, 0, 0, count, &AtomicBool::new(false)).unwrap()
}

const HEADER: GamesHeader = GamesHeader { run: [7; 16], generation: 3 };

#[test]
fn games_are_read_back_unchanged_and_take_little_room() {
    let all = games(CONFIG, 300);
    let bytes = encode(&all);
    assert_eq!(decode(&bytes, all.len()).unwrap(), all);
    assert!(bytes.len() < 130 * all.len(), "{} bytes a game", bytes.len() / all.len());
    let leaves = games(SelfPlayConfig { update: UpdateTarget::Tdleaf, ..CONFIG }, 50);
    assert!(leaves.iter().any(|game| game.replay().plies.iter().any(|ply| ply.leaf.is_some())));
    assert_eq!(decode(&encode(&leaves), leaves.len()).unwrap(), leaves);
    assert_eq!(decode(&encode(&[]), 0).unwrap(), []);
    assert!(decode(&bytes, all.len() - 1).is_err() && decode(&bytes, all.len() + 1).is_err());
}

#[test]
fn lines_to_the_end_of_the_game_are_read_back() {
    let moves = games(CONFIG, 300).into_iter().map(|game| game.moves().to_vec()).max_by_key(Vec::len).unwrap();
    assert_eq!(moves.len(), 60);
    let label = |ply| Label { value: Score(0), kind: PlyKind::Greedy, line: moves[ply..].to_vec() };
    let labels = (0..60).map(label).collect();
    let game = GameRecord::new(moves.clone(), labels).unwrap();
    for all in [vec![game.clone()], vec![game; 100]] {
        assert_eq!(decode(&encode(&all), all.len()).unwrap(), all);
    }
}

/// A file is read, and its columns are written, as `docs/FILES.md` says.
#[test]
fn the_layout_is_the_documented_one() {
    // The same game of nine moves twice: with labels for the last three, and for the last one, which is learned after two more moves.
    let moves = "e6f4e3f6g5d6e7f5c5".parse::<Transcript>().unwrap().moves().to_vec();
    let label = |value, kind| Label { value: Score(value), kind, line: Vec::new() };
    let labels = [label(300, PlyKind::Greedy), label(44, PlyKind::Exploratory), label(8192, PlyKind::Exact)];
    let last = Label { line: vec![moves[8]], ..label(-5, PlyKind::Greedy) };
    let all = [labels.to_vec(), vec![last]].map(|labels| GameRecord::new(moves.clone(), labels).unwrap());
    let squares = [44, 29, 20, 45, 38, 43, 52, 37, 34];
    // 300, -44 - 300, 8192 + 44, and -5 by itself; then twice that, negative ones less one.
    let differences: [u16; 4] = [600, 687, 16472, 9];
    let columns: Vec<u8> = [
        &[9, 9][..],
        &[3, 1],
        &squares,
        &squares,
        &[0, 1, 2, 0],
        &differences.map(|difference| difference.to_le_bytes()[0]),
        &differences.map(|difference| difference.to_le_bytes()[1]),
        &[0, 0, 0, 1],
        &[34],
    ]
    .concat();
    let mut inflated = Vec::new();
    flate2::read::DeflateDecoder::new(&encode(&all)[..]).read_to_end(&mut inflated).unwrap();
    assert_eq!(inflated, columns);

    let mut block = Vec::new();
    flate2::read::DeflateEncoder::new(&columns[..], flate2::Compression::fast()).read_to_end(&mut block).unwrap();
    let word = |number: u32| number.to_le_bytes();
    let checksum = |bytes: &[u8]| Sha256::digest(bytes)[..8].to_vec();
    let mut header = b"\x89FSG\r\n\x1a\n".to_vec();
    header.extend([&word(1)[..], &word(3), &[7; 16]].concat());
    header.extend(checksum(&header));
    assert_eq!(HEADER.to_bytes()[..], header);
    let mut frame = [b"FSGB", &word(32)[..], &word(2), &word(block.len() as u32), &block].concat();
    frame.extend(checksum(&frame));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.fsg");
    fs::write(&path, [header, frame].concat()).unwrap();
    let (frames, _, error) = read(&path);
    assert!(frames == [(32, all.to_vec())] && error.is_none(), "{error:?}");
}

/// Frames by the number of their first game.
type Frames = Vec<(u32, Vec<GameRecord>)>;

/// The frames of a file, where they end, and why reading stopped, if not at the end.
fn read(path: &std::path::Path) -> (Frames, u64, Option<GamesError>) {
    let mut frames = Vec::new();
    let mut reader = match GamesReader::open(path) {
        Ok(reader) => reader,
        Err(error) => return (frames, 0, Some(error)),
    };
    assert_eq!(reader.header(), HEADER);
    loop {
        match reader.next_frame().and_then(|frame| frame.map(|raw| Ok((raw.first(), raw.decode()?))).transpose()) {
            Ok(Some(frame)) => frames.push(frame),
            Ok(None) => return (frames, reader.offset(), None),
            Err(error) => return (frames, reader.offset(), Some(error)),
        }
    }
}

#[test]
fn a_file_that_was_cut_off_is_read_up_to_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.fsg");
    let all = games(CONFIG, 16);
    let mut whole = HEADER.to_bytes().to_vec();
    let empty = whole.len();
    whole.extend(frame(0, &all[..10]));
    let one = whole.len();
    whole.extend(frame(10, &all[10..]));
    fs::write(&path, &whole).unwrap();
    let frames = vec![(0, all[..10].to_vec()), (10, all[10..].to_vec())];
    assert_eq!(read(&path).0, frames);
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let (found, offset, error) = read(&path);
        assert_eq!(found, frames[..usize::from(length >= one)], "{length}");
        // A power cut may leave zeros instead of what was to follow.
        if length >= empty {
            fs::write(&path, [&whole[..if length < one { empty } else { one }], &[0; 500][..length % 500]].concat())
                .unwrap();
            let (zeroed, _, error) = read(&path);
            assert_eq!(zeroed, found, "{length}");
            assert!(matches!(error, None | Some(GamesError::Torn { .. })), "{length}: {error:?}");
        }
        match error {
            None => assert!(length == empty || length == one, "{length}"),
            Some(GamesError::Torn { at }) => assert_eq!(at, offset),
            Some(other) => panic!("{length}: {other}"),
        }
    }
}

#[test]
fn a_flipped_bit_is_found_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.fsg");
    let all = games(CONFIG, 10);
    let header = HEADER.to_bytes().len();
    let first = [&HEADER.to_bytes()[..], &frame(0, &all)].concat();
    let two = [&first[..], &frame(10, &all)].concat();
    let bits = || (0..first.len()).map(|at| (at, at % 8)).chain((header..header + 16).map(|at| (at, 7 - at % 8)));
    for ((at, bit), whole) in [&first, &two].into_iter().flat_map(|whole| bits().map(move |bit| (bit, whole))) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << bit;
        fs::write(&path, damaged).unwrap();
        let (found, _, error) = read(&path);
        // Never as a file that was cut off, whose end may be left out.
        let is_named = matches!(error, Some(GamesError::Foreign(_) | GamesError::Damaged { .. }));
        assert!(found.is_empty() && is_named, "byte {at}: {error:?}");
    }
}

#[test]
fn bytes_after_the_last_frame_are_damage_unless_they_begin_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.fsg");
    let all = games(CONFIG, 20);
    let whole = [&HEADER.to_bytes()[..], &frame(0, &all[..10])].concat();
    let next = frame(10, &all[10..]);
    let ending = |tail: &[u8]| {
        fs::write(&path, [&whole, tail].concat()).unwrap();
        let (found, _, error) = read(&path);
        assert_eq!(found.len(), 1);
        error
    };
    for length in 1..next.len() {
        assert!(matches!(ending(&next[..length]), Some(GamesError::Torn { .. })), "{length}");
    }
    let again = frame(0, &all[..10]);
    let long = [b'F'; 1000];
    for tail in [
        b"x",
        &b"FSGx"[..],
        b"\r\n",
        b"\0\0x",
        b"FSGB\x0b",
        &again,
        &again[..9],
        &long,
        &next[1..],
        &frame(9, &all[10..]),
    ] {
        assert!(matches!(ending(tail), Some(GamesError::Damaged { .. })), "{tail:?}");
    }
    // Other files that are shorter than a header are not games that were cut off.
    fs::write(&path, "f5d6").unwrap();
    assert!(matches!(read(&path).2, Some(GamesError::Foreign(_))));
}

#[test]
fn damaged_blocks_are_errors_and_never_more_than_they_can_hold() {
    let all = games(CONFIG, 20);
    let bytes = encode(&all);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut refused = 0;
    for _ in 0..3_000 {
        let mut damaged = bytes.clone();
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(0..damaged.len());
            damaged[at] = rng.random();
        }
        // Without a checksum some damage gives other games, all of them legal.
        refused += i32::from(decode(&damaged, all.len()).is_err());
    }
    assert!(refused > 2_000, "{refused}");
    // A megabyte of nothing, deflated to a thousand bytes.
    use std::io::Read;
    let mut bomb = Vec::new();
    flate2::read::DeflateEncoder::new(&[0; 1 << 20][..], flate2::Compression::best()).read_to_end(&mut bomb).unwrap();
    assert!(decode(&bomb, 1).is_err());
}
