//! Kept games as labelled positions for other trainers.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flipside::eval::MobilityEvaluator;
use flipside::games::{GamesHeader, KeptGames, Part, frame};
use flipside::label::{LabelledPosition, Order, Positions, Target};
use flipside::record::{Format, Record, read};
use flipside::search::Strength;
use flipside::selfplay::{SelfPlay, SelfPlayConfig};
use zip::ZipArchive;

use crate::support::*;

/// A folder with a run's games: two generations of 70.
fn run_with_games() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("run/games")).unwrap();
    let play = SelfPlayConfig::new(Strength::new(1, 2), 30, 0.2);
    for generation in [3, 4] {
        let stop = AtomicBool::new(false);
        let games = SelfPlay::new(&MobilityEvaluator, play).play_games(1, generation, 0, 70, &stop).unwrap();
        let frames = (0..).step_by(32).zip(games.chunks(32)).flat_map(|(first, games)| frame(first, games));
        let header = GamesHeader { generation, ..GamesHeader::default() };
        let path = folder.path().join(format!("run/games/{generation:08}.fsg"));
        fs::write(path, header.to_bytes().into_iter().chain(frames).collect::<Vec<_>>()).unwrap();
    }
    folder
}

/// The same by the library.
fn expected(run: &str, target: Target, shuffle: Option<u64>) -> Vec<LabelledPosition> {
    let stop = AtomicBool::new(false);
    let games = KeptGames::open(&[PathBuf::from(run)], Part::All, &|_| false).unwrap().unwrap();
    let positions = Positions::new(Arc::new(games), target, Order { shuffle, ..Order::default() });
    positions.chunk(0, &stop).unwrap().unwrap()
}

fn rows(positions: &[LabelledPosition]) -> Vec<u8> {
    positions.iter().flat_map(LabelledPosition::row).collect()
}

/// The header of an npy file, and what follows it.
fn split(file: &[u8]) -> (String, &[u8]) {
    assert_eq!(file[..8], *b"\x93NUMPY\x01\x00");
    let end = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
    assert!(end.is_multiple_of(64) && file[end - 1] == b'\n');
    (String::from_utf8(file[10..end].to_vec()).unwrap(), &file[end..])
}

fn array(path: &str) -> Vec<u8> {
    split(&fs::read(path).unwrap()).1.to_vec()
}

/// Rows of an npz: its columns, put together.
fn rows_of_npz(path: &str) -> Vec<u8> {
    let mut archive = ZipArchive::new(Cursor::new(fs::read(path).unwrap())).unwrap();
    assert_eq!(archive.len(), LabelledPosition::FIELDS.len());
    let columns = LabelledPosition::FIELDS.map(|(name, element)| {
        let mut bytes = Vec::new();
        archive.by_name(&format!("{name}.npy")).unwrap().read_to_end(&mut bytes).unwrap();
        let (header, numbers) = split(&bytes);
        let size: usize = element[2..].parse().unwrap();
        assert!(header.contains(&format!("'descr': '{element}'")), "{header}");
        assert!(header.contains(&format!("'shape': ({},)", numbers.len() / size)), "{header}");
        (numbers.to_vec(), size)
    });
    let count = columns[0].0.len() / columns[0].1;
    (0..count)
        .flat_map(|at| columns.iter().flat_map(move |(bytes, size)| &bytes[at * size..][..*size]))
        .copied()
        .collect()
}

#[test]
fn arrays_hold_the_positions_with_their_labels() {
    let folder = run_with_games();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let [run, npy, npz] = ["run", "p.npy", "p.npz"].map(path);
    let labels: [(&[&str], Target); 4] = [
        (&[], Target::Return(0.9)),
        (&["--label", "result"], Target::Result),
        (&["--label", "search"], Target::Return(0.0)),
        (&["--label", "lambda", "--lambda", "0.7"], Target::Return(0.7)),
    ];
    for (label, target) in labels {
        let positions = expected(&run, target, None);
        for (to, output) in [("npy", &npy), ("npz", &npz)] {
            let call = [&["convert", &run, "--to", to, "-q", "-o", output], label].concat();
            assert_eq!(stdout(&call, ""), format!("{output}\n"));
        }
        assert!(array(&npy) == rows(&positions) && rows_of_npz(&npz) == rows(&positions));
        let (header, _) = (split(&fs::read(&npy).unwrap()).0, ());
        assert!(
            header.contains("[('player', '<u8'), ") && header.contains(&format!("({},)", positions.len())),
            "{header}"
        );
    }
    // Files of kept games are the same as their run, in the order in which they are named.
    let [first, second] = ["run/games/00000003.fsg", "run/games/00000004.fsg"].map(path);
    let to_npy = |files: &[&str]| {
        stdout(&[&["convert", "--to", "npy", "--label", "search", "-q", "-o", &npy], files].concat(), "");
        array(&npy)
    };
    let all = rows(&expected(&run, Target::Return(0.0), None));
    assert!(to_npy(&[&first, &second]) == all && to_npy(&[&run, &second, &run]) == all);
    assert!(all.starts_with(&to_npy(&[&first])));
}

#[test]
fn lines_hold_boards_and_rounded_labels() {
    let folder = run_with_games();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let [run, text] = ["run", "p.txt"].map(path);
    let positions = expected(&run, Target::Return(0.9), None);
    for (to, format) in [("egaroucid", Format::Egaroucid), ("obf", Format::Obf)] {
        stdout(&["convert", &run, "--to", to, "--label", "lambda", "-q", "-o", &text], "");
        let bytes = fs::read(&text).unwrap();
        assert_eq!(Format::detect(&bytes), format);
        let records: Vec<_> = read(&bytes, format).unwrap().map(Result::unwrap).collect();
        assert_eq!(records.len(), positions.len());
        for (record, expected) in records.into_iter().zip(&positions) {
            let Record::Position(scored) = record else { panic!("{record:?}") };
            assert_eq!(scored.diagram.position, expected.position);
            assert_eq!(scored.score, Some(expected.label.discs().round() as i32));
        }
    }
    // Whatever the label, as `fit` and `accuracy` read them.
    assert!(stdout(&["accuracy", "mobility", &text], "").contains("all"));
}

#[test]
fn a_seed_gives_an_order_and_a_sample() {
    let folder = run_with_games();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let [run, npy, npz] = ["run", "p.npy", "p.npz"].map(path);
    let npy_of = |options: &[&str]| {
        stdout(&[&["convert", &run, "--to", "npy", "--label", "search", "-q", "-o", &npy], options].concat(), "");
        array(&npy)
    };
    let all = expected(&run, Target::Return(0.0), None);
    let shuffled = npy_of(&["--shuffle", "--seed", "7", "--threads", "1"]);
    assert!(shuffled == rows(&expected(&run, Target::Return(0.0), Some(7))));
    assert!(shuffled == npy_of(&["--shuffle", "--seed", "7", "--threads", "3"]));
    assert!(shuffled != npy_of(&["--shuffle"]));
    stdout(&["convert", &run, "--to", "npz", "--label", "search", "--shuffle", "--seed", "7", "-q", "-o", &npz], "");
    assert!(rows_of_npz(&npz) == shuffled);

    let set = |bytes: &[u8]| bytes.chunks(LabelledPosition::ROW).map(<[u8]>::to_vec).collect::<BTreeSet<_>>();
    let (known, number) = (set(&rows(&all)), all.len().to_string());
    let sample = npy_of(&["--sample", "500", "--seed", "3"]);
    assert!(sample.len() == 500 * LabelledPosition::ROW && set(&sample).is_subset(&known));
    assert!(sample == npy_of(&["--sample", "500", "--seed", "3"]) && sample != npy_of(&["--sample", "500"]));
    // A sample keeps the order, comes from everywhere, and is everything if that is not more.
    let games: Vec<u32> =
        sample.chunks(LabelledPosition::ROW).map(|row| u32::from_le_bytes(row[24..28].try_into().unwrap())).collect();
    assert!(games.is_sorted() && games.iter().collect::<BTreeSet<_>>().len() > 100);
    assert!(npy_of(&["--sample", &number]) == rows(&all) && npy_of(&["--sample", "1000000"]) == rows(&all));

    for (range, empties) in [("20-30", 20..=30), ("12", 12..=12), ("0-60", 0..=60)] {
        let chosen = all.iter().filter(|position| empties.contains(&position.position.empties()));
        assert!(npy_of(&["--empties", range]) == rows(&chosen.copied().collect::<Vec<_>>()), "{range}");
    }
    let both = npy_of(&["--empties", "20-30", "--sample", "100", "--shuffle"]);
    assert!(both.len() == 100 * LabelledPosition::ROW && set(&both).is_subset(&set(&npy_of(&["--empties", "20-30"]))));
}

#[test]
fn shards_are_parts_of_one_file() {
    let folder = run_with_games();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let [run, whole, parts, archive] = ["run", "whole.npy", "parts.1.npy", "parts.1.npz"].map(path);
    let call = |size: &'static str, to: &'static str, output: &str| {
        let options = ["--to", to, "--shuffle", "--label", "lambda", "--shard-size", size, "-q", "-o", output];
        [&["convert", &run], &options[..]].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let written = |call: Vec<String>| stdout(&call.iter().map(String::as_str).collect::<Vec<_>>(), "");
    assert_eq!(written(call("10000000", "npy", &whole)), format!("{whole}\n"));
    let rows = array(&whole);
    for (to, output) in [("npy", &parts), ("npz", &archive)] {
        let names = written(call("1000", to, output));
        let names: Vec<_> = names.lines().collect();
        assert_eq!(names.len(), (rows.len() / LabelledPosition::ROW).div_ceil(1000));
        let name = |number: u32| format!("parts.1-0000{number}.{to}");
        assert!(names[0].ends_with(&name(0)) && names[3].ends_with(&name(3)));
        let together: Vec<u8> =
            names.iter().flat_map(|name| if to == "npy" { array(name) } else { rows_of_npz(name) }).collect();
        assert!(together == rows, "{to}");
    }
    let refused = |call: Vec<String>, code| refusal(&call.iter().map(String::as_str).collect::<Vec<_>>(), "", code);
    // Fewer files than there are would leave some of the earlier ones.
    let before = fs::read(path("parts.1-00000.npy")).unwrap();
    let error = refused(call("2000", "npy", &parts), 1);
    assert!(error.contains("is there, but only"), "{error}");
    assert!(fs::read(path("parts.1-00000.npy")).unwrap() == before);
    assert!(refused(call("1", "npy", &parts), 2).contains("--shard-size"));
    assert!(refused(call("1000", "npy", "-"), 2).contains("-o"));
    assert!(refused(call("9000000", "npz", &archive), 2).contains("npy"));
    // All of them, or none.
    fs::create_dir(path("other-00002.npy")).unwrap();
    refused(call("1000", "npy", &path("other.npy")), 1);
    assert!(!Path::new(&path("other-00000.npy")).exists());
}

#[test]
fn the_games_being_checked_are_counted_on_the_screen() {
    let folder = run_with_games();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let output = run_with(&["convert", &path("run"), "--to", "npy", "-o", &path("p.npy"), "--progress", "always"], "");
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && talk.contains("games checked"), "{talk}");
}

#[test]
fn bad_input_leaves_what_was_there() {
    let folder = run_with_games();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let [run, out, weights, records, cut] = ["run", "p.npz", "w.fsw", "games.txt", "cut.fsg"].map(path);
    fs::write(&out, "before").unwrap();
    fs::write(&records, "f5d6c3\n").unwrap();
    fs::write(&weights, "\u{89}FSW\r\n\u{1a}\n").unwrap();
    let kept = path("run/games/00000004.fsg");
    let to_npz = |inputs: &[&str], options: &[&str]| {
        [&["convert", "--to", "npz", "-o", &out], inputs, options]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let refused = |call: Vec<String>, code| refusal(&call.iter().map(String::as_str).collect::<Vec<_>>(), "", code);
    for input in [&path("none"), &path("run/games"), &records] {
        let error = refused(to_npz(&[input], &[]), 1);
        assert!(error.contains(input.as_str()), "{error}");
    }
    assert!(refused(to_npz(&[&run, &records], &[]), 1).contains("not a file of kept games"));
    assert!(refused(to_npz(&["-"], &[]), 2).contains("standard input"));
    let usage: [&[&str]; 9] = [
        &["--label", "search", "--lambda", "0.5"],
        &["--label", "lambda", "--lambda", "1.5"],
        &["--label", "truth"],
        &["--seed", "1"],
        &["--empties", "30-20"],
        &["--empties", "50-61"],
        &["--sample", "0"],
        &["--skip-bad"],
        &["--from", "ggf"],
    ];
    usage.iter().for_each(|options| drop(refused(to_npz(&[&run], options), 2)));
    assert!(refused(to_npz(&[&run], &["--empties", "0"]), 1).contains("no labelled position"));
    // Records have no labels, and a run is no file of records.
    let call = |arguments: &[&str], code| refusal(&[&["convert"], arguments].concat(), "", code);
    assert!(call(&[&records, "--to", "obf", "--label", "search"], 2).contains("--label"));
    assert!(call(&[&run, "--to", "f5d6"], 2).contains("npz"));
    assert!(call(&[&records, &records, "--to", "f5d6"], 2).contains("one file at a time"));
    assert!(call(&[&run, "--to", "npy", "-o", &kept], 2).contains("the input"));

    let bytes = fs::read(&kept).unwrap();
    fs::write(&cut, &bytes[..bytes.len() - 9]).unwrap();
    let damaged: Vec<u8> = bytes.iter().enumerate().map(|(at, byte)| byte ^ u8::from(at == 3000)).collect();
    fs::write(&kept, damaged).unwrap();
    let error = refused(to_npz(&[&run], &[]), 1);
    assert!(error.contains("00000004.fsg") && error.contains("damaged"), "{error}");
    assert_eq!(fs::read(&out).unwrap(), b"before");
    let output = run_with(&["convert", &cut, "--to", "npz", "-o", &out], "");
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && talk.contains(&cut) && talk.contains("its end is missing"), "{talk}");
    assert!(rows_of_npz(&out).len() > 1000);
    if cfg!(target_os = "linux") {
        let error = call(&[&cut, "--to", "npy", "-q", "-o", "/dev/full"], 1);
        assert!(error.contains("/dev/full"), "{error}");
    }
}

#[test]
fn what_a_damaged_run_continues_is_not_left_out_in_silence() {
    let folder = run_with_games();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("run/flipside-run.json"), "{").unwrap();
    let output = run_with(&["convert", &path("run"), "--to", "npy", "-o", &path("p.npy")], "");
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && talk.contains("flipside-run.json"), "{talk}");
    assert!(talk.contains("continues other runs, their games are left out"), "{talk}");
}
