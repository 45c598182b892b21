//! The memory that large books take.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use flipside::board::{Square, Transcript, canonical};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::calling::program;
use crate::support::place;

/// Writes an Egaroucid book of random games.
fn write_random(path: &Path, positions: i32) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    file.write_all(b"DICUORAGE\x03").unwrap();
    file.write_all(&positions.to_le_bytes()).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut left = positions;
    while left > 0 {
        let steps = Transcript::random(&mut rng).steps();
        for (diagram, _) in steps.iter().take(44.min(left as usize)) {
            let position = canonical(diagram.position);
            file.write_all(&position.player.to_le_bytes()).unwrap();
            file.write_all(&position.opponent.to_le_bytes()).unwrap();
            let [value, leaf] = [(); 2].map(|()| rng.random_range(-12..=12i8) as u8);
            file.write_all(&[value, 10, 1, 0, 0, 0, leaf, Square::lowest(position.moves()).index() as u8, 10]).unwrap();
            left -= 1;
        }
    }
    file.flush().unwrap();
}

/// Runs a command and returns its peak memory in megabytes.
fn peak(arguments: &[&str]) -> u64 {
    let mut child = program().args(arguments).stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    let exit = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok());
        most = most.max(kilobytes.unwrap_or(0));
        if let Some(exit) = child.try_wait().unwrap() {
            break exit;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(exit.success(), "{arguments:?}");
    println!("{:5} MB  {}", most / 1024, arguments[..2].join(" "));
    most / 1024
}

#[test]
#[ignore = "minutes, and four gigabytes of disk"]
fn ten_million_positions_work_within_a_gigabyte() {
    let (folder, path) = place();
    let name = |name: &str| folder.path().join(name).display().to_string();
    let (book, foreign, other, game) = (path.to_str().unwrap(), name("a.egbk3"), name("other.fsb"), name("game.txt"));
    // Games begin alike: one position in five has been seen before.
    write_random(Path::new(&foreign), 13_000_000);
    fs::write(&game, format!("{}\n", Transcript::random(&mut ChaCha8Rng::seed_from_u64(2)))).unwrap();
    let search = ["--depth", "1", "--exact-empties", "8", "-q"];
    let commands: [&[&str]; 11] = [
        &["book", "import", &foreign, "-o", book],
        &["book", "check", book],
        &["book", "show", book, "f5"],
        &[&["book", "add", book, &game][..], &search].concat(),
        &[&["book", "grow", book, "--minutes", "0.2"][..], &search].concat(),
        &["book", "prune", book, "-o", &other, "--within", "128"],
        &["book", "merge", book, &other, "-o", &name("both.fsb")],
        &["book", "export", book, "--to", "edax", "-o", &name("book.dat")],
        &["book", "export", book, "--to", "egaroucid", "-o", &name("book.egbk3")],
        &["book", "export", book, "--to", "text", "-o", &name("book.txt")],
        &["book", "fix", book],
    ];
    for arguments in commands {
        assert!(peak(arguments) < 1024, "{arguments:?}");
    }
}
