//! A seeded, bounded run of the fuzz targets: no bytes make a reader panic.

#[path = "../book/support.rs"]
#[allow(dead_code)]
mod book;
#[path = "../../fuzz/checks.rs"]
mod checks;
#[cfg(feature = "cluster")]
#[path = "../../fuzz/messages.rs"]
mod messages;

use std::sync::atomic::AtomicBool;

use flipside::board::Transcript;
use flipside::book::{Book, BookFormat, GameCounts, count_games, export};
use flipside::eval::{MobilityEvaluator, Model, StageMap};
use flipside::export::{OpenLayout, write_open};
use flipside::games::{GamesHeader, frame};
use flipside::pattern::PatternSet;
use flipside::search::Strength;
use flipside::selfplay::{GameRecord, SelfPlay, SelfPlayConfig, UpdateTarget};
use flipside::weights::{Provenance, WeightFile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Changes some bytes: sets, flips, cuts, drops and doubles, now and then with meaningful bytes.
fn mutate(rng: &mut ChaCha8Rng, bytes: &mut Vec<u8>, meaningful: &[u8]) {
    for _ in 0..rng.random_range(1..6) {
        if bytes.is_empty() {
            return;
        }
        let (a, b) = (rng.random_range(0..bytes.len()), rng.random_range(0..bytes.len()));
        let range = a.min(b)..a.max(b);
        match rng.random_range(0..6) {
            0 => bytes[a] = rng.random(),
            1 => bytes[a] ^= 1 << rng.random_range(0..8),
            2 if rng.random_bool(0.3) => bytes.truncate(a),
            3 => drop(bytes.drain(range)),
            4 => bytes[a] = meaningful[b % meaningful.len()],
            _ if bytes.len() < 4096 => {
                let part = bytes[range].to_vec();
                bytes.splice(a..a, part);
            }
            _ => {}
        }
    }
}

/// Runs a check on mutations of good inputs.
fn run(check: fn(&[u8]), rounds: usize, meaningful: &[u8], seeds: &[Vec<u8>]) {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    seeds.iter().for_each(|seed| check(seed));
    for round in 0..rounds {
        let mut bytes = seeds[round % seeds.len()].clone();
        mutate(&mut rng, &mut bytes, meaningful);
        check(&bytes);
    }
}

const BOARD: &str = "---------------------------OX------XO---------------------------";

#[test]
fn records() {
    let mut wthor = vec![20, 4, 1, 2, 2, 0, 0, 0, 0, 0, 0xce, 0x07, 8, 0, 22, 0];
    for moves in [[56, 64, 33], [56, 66, 65]] {
        wthor.extend([7, 0, 1, 2, 3, 0, 40, 40]);
        wthor.extend(moves.into_iter().chain([0; 57]));
    }
    let ggf = "(;GM[Othello]PC[GGS/os]PB[one]PW[two]RE[+2.000:r]TI[05:00//02:00]TY[8]BO[8 -------- -------- -------- ---O*--- \
        ---*O--- -------- -------- -------- *]B[d3//0.01]W[c5/2.39/0.01]B[f6/-1.5]W[PA];)\n";
    let seeds = [
        ggf.repeat(2).into_bytes(),
        wthor,
        b"f5d6c3d3c4\nf5f6e6f4\n1. f5, d6 2. c3 40-24 # here\n".to_vec(),
        b"(;FF[4]GM[2]AP[edax:4.4]PB[a\\]b]KM[0.5]SZ[8]AB[e4][d5]AW[d4:d4][e5]PL[B]RE[B+2]B[f5];W[d6](;B[c3]C[c];W[])(;B[c5]))\n".to_vec(),
        format!("  a b c d e f g h\n{}X to move\n", BOARD.as_bytes().chunks(8).zip(1..).map(|(row, i)|
            format!("{i} {} {i}\n", String::from_utf8_lossy(row))).collect::<String>()).into_bytes(),
        format!("{BOARD} X; F5:+2; D3:-4;\n{BOARD} O 12 % here\n").into_bytes(),
        format!("{BOARD} 12\n{BOARD} -6\n").into_bytes(),
        br#"{"log":{"format":"flipside games","version":1,"settings":{"seed":1}}}
{"player":{"name":"a","settings":{"depth":4}}}
{"player":{"name":"b","settings":{"depth":6}}}
{"game":{"black":0,"white":1,"opening":2,"moves":"f5d6c3","discs":64,"end":"time","reason":"late","evaluations":[null,0.5,1]}}
{"game":{"black":1,"white":0,"opening":0,"moves":"e6f4e3f6g5d6e7f5c5","discs":64}}
"#
        .to_vec(),
        (0..=255).cycle().take(500).collect(),
    ];
    run(checks::records, 6000, b"[]();/*O-XPABWGM12:8+ \n", &seeds);
}

const PLAY: SelfPlayConfig =
    SelfPlayConfig { update: UpdateTarget::Tdleaf, ..SelfPlayConfig::new(Strength::new(1, 4), 50, 0.1) };

fn games() -> Vec<GameRecord> {
    SelfPlay::new(&MobilityEvaluator, PLAY).play_here(1, 0, 0..2, &AtomicBool::new(false)).unwrap()
}

#[test]
fn kept_games() {
    let header = GamesHeader { run: [7; 16], generation: 3 }.to_bytes();
    let file = [&header[..], &frame(0, &games()), &frame(2, &games())].concat();
    run(checks::kept_games, 3000, b"FSGB\x00\x01\xff", &[file]);
}

#[test]
fn protocols() {
    let seeds = [
        &b"1 play b f5\nplay w d6\ngenmove b\nundo\ntime_settings 60 9 3\ntime_left b 10 0\nshowboard\nquit\n"[..],
        b"nboard 2\nset game (;GM[Othello]BO[8 -------- -------- -------- ---O*--- ---*O--- -------- -------- -------- *]B[F5];)\n\
          move d6/1.2/0.5\nset depth 3\nhint 2\ngo\nping 3\n",
        b"= 12 d6\n? illegal move\n=== d6/1.00/0.0\nd6 1.0 0\n",
        b"nboard:engine --level '5'",
    ];
    run(checks::protocols, 3000, b"=?#/\n ;()[]-9bw", &seeds.map(<[u8]>::to_vec));
}

#[test]
fn texts() {
    let seeds = [
        format!("{BOARD} X"),
        format!("{BOARD} O -12\n# no\n{BOARD} X; F5:+2; d3:-64"),
        "f5d6c3d3c4f4\nF5F6\n".into(),
        include_str!("../miniature.toml").into(),
        include_str!("../../data/patterns/classic.toml").into(),
    ];
    run(checks::texts, 3000, b"XO-.;:+\"[]={}#\n059afh ", &seeds.map(String::into_bytes));
}

#[test]
fn weight_files() {
    let set = PatternSet::from_toml("name = 's'\nscalars = ['parity']\npatterns = { edge = 'a1 b1 c1' }").unwrap();
    let model = Model::zero(&set, &StageMap::grouped(|empties| empties % 2), 100).unwrap();
    let file = WeightFile::new(model, Provenance::of_this_program("nowhere")).to_bytes();
    // The check itself seals a payload in a header.
    let golden: [&[u8]; 3] = [
        include_bytes!("../golden/tiny.fsw"),
        include_bytes!("../golden/calibrated.fsw"),
        include_bytes!("../golden/hidden.fsw"),
    ];
    let payload = |file: &[u8]| checks::WEIGHTS.payload(file).unwrap().into_owned();
    let payloads = golden.map(payload);
    let seeds = [&payloads[..], &[payload(&file), file, golden[2].to_vec()]].concat();
    run(checks::weight_file, 12_000, &[0, 1, 0x7f, 0x80, 0xff], &seeds);
}

#[test]
fn open_layouts() {
    let hidden = WeightFile::from_bytes(include_bytes!("../golden/hidden.fsw")).unwrap();
    let written = |(number, layout): (usize, &OpenLayout)| {
        let mut bytes = vec![number as u8];
        write_open(*layout, &hidden, &mut bytes).unwrap();
        bytes
    };
    let seeds: Vec<_> = OpenLayout::ALL[..3].iter().enumerate().map(written).collect();
    run(checks::open_layouts, 6000, b"\x00\x01\x7f\xff[]{},:\"019-eI86", &seeds);
}

#[test]
fn books() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.fsb");
    let mut counts = GameCounts::new(&path);
    let game: Transcript = "f5d6c3d3c4f4f6f3e6e7d7c5".parse().unwrap();
    counts.add(&game.steps(), 2, 0).unwrap();
    count_games(&mut Book::edit_or_create(&path).unwrap(), counts, 1).unwrap();
    let mut seeds = vec![std::fs::read(&path).unwrap()];
    for format in [BookFormat::Edax, BookFormat::Egaroucid, BookFormat::Text] {
        let mut bytes = Vec::new();
        export(&Book::open(&path).unwrap(), format, &mut bytes).unwrap();
        seeds.push(bytes);
    }
    let (_folder, path) = book::place();
    book::grow(&path, 20, 1, &book::NEVER);
    seeds.push(std::fs::read(&path).unwrap());
    run(checks::books, 750, b"\x00\x01\x40\x41\x7f\x80\xff-XO,9\n", &seeds);
}

#[test]
fn engine_files() {
    // The first byte chooses Edax, Egaroucid, NTest or Zebra; with the highest bit, at full length.
    let seeds = [
        b"\x00XADELAVE0123456789012345678901234".to_vec(),
        vec![1, 3, 0, 0, 0, 5, 0, 0x10, 0x12, 0, 0x10],
        vec![2, 1, 0, 0, 0, 100, 0, 0, 0, 7, 7],
        vec![3, 0x14, 0xee, 0x26, 0x41, 0, 2, 0, 8, 1, 1, 1, 1],
        vec![0x82, 1, 0, 0, 0, 100, 0, 0, 0, 7, 7],
        vec![0x83, 0x14, 0xee, 0x26, 0x41, 0, 2, 0, 8, 1, 1, 1, 1],
    ];
    run(checks::engine_files, 200, &[0, 1, 0x10, 0x7f, 0xff], &seeds);
}

#[cfg(feature = "cluster")]
#[test]
fn messages_of_a_cluster() {
    use flipside::cluster::wire::{Job, Offer, Proof, ResultLine, result_to_bytes, to_text};
    use flipside::storage::sha256;

    let games = games();
    let name = sha256(b"");
    let job = Job { seed: 1, generation: 2, first: 0, count: 2, play: PLAY, weights: name.clone() };
    let line = ResultLine { key: name.clone(), worker: "w".into(), first: 0, count: 2 };
    let seeds = [
        flipside::games::encode(&games),
        result_to_bytes(&line, &[frame(0, &games)]),
        to_text(&Offer { job: job.clone(), proof: Proof { job, digest: name } }),
    ];
    run(messages::messages, 6000, b"\x00\x01\xff{}[]\",:0129-e", &seeds);
}
