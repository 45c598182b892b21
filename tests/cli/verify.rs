//! Runs that are proved afterwards, and what is found in those that are not what they should be.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use flipside::games::{GamesHeader, GamesReader, frame};
use flipside::selfplay::SelfPlay;
use flipside::train::{
    Budget, GameJob, GameSource, LocalGames, OnGames, Outcome, Resume, StoredRun, TrainConfig, TrainEvent,
    TrainRequest, train,
};
use flipside::weights::WeightFile;

use crate::support::*;

/// A run of four generations of 128 games.
fn trained(folder: &Path) -> PathBuf {
    trained_since(folder, 1)
}

/// [`trained`], with weights from the games of generation `since` and later ones.
fn trained_since(folder: &Path, since: u32) -> PathBuf {
    fs::write(folder.join("small.toml"), SMALL_SET).unwrap();
    let config = include_str!("../miniature.toml").replace("games = 2100", "games = 128");
    let config = config.replace("since = 1", &format!("since = {since}"));
    fs::write(folder.join("config.toml"), config).unwrap();
    let mut command = program();
    command.current_dir(folder).args(["train", "--run", "run", "--preset", "quick", "--config", "config.toml"]);
    command.args(["--patterns", "small.toml", "--generations", "4", "--quiet"]);
    assert!(finish(command, "").status.success());
    // Its own set is enough.
    fs::remove_file(folder.join("small.toml")).unwrap();
    folder.join("run")
}

fn verified(run: &Path, share: &str) -> (Option<i32>, Vec<Vec<String>>, String) {
    let output = run_with(&["verify", run.to_str().unwrap(), "--share", share, "--seed", "1"], "");
    let rows = String::from_utf8(output.stdout).unwrap();
    let rows = rows.lines().skip(1).map(|row| row.split('\t').map(str::to_owned).collect()).collect();
    (output.status.code(), rows, String::from_utf8(output.stderr).unwrap())
}

fn games_file(run: &Path, generation: u32) -> PathBuf {
    run.join(format!("games/{generation:08}.fsg"))
}

/// Nobody is accused because the beginning cannot be learned again.
#[test]
fn a_continued_run_is_proved_until_the_older_one_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let older = trained(folder.path());
    let train = |arguments: &[&str]| {
        let mut command = program();
        // The runs have their pattern set.
        command.env("FLIPSIDE_PATTERNS", "edax");
        command.current_dir(folder.path()).args(["train", "--quiet"]).args(arguments);
        assert!(finish(command, "").status.success());
    };
    train(&["--continue", "run", "--run", "newer", "--seed", "6", "--generations", "1"]);
    let newer = older.with_file_name("newer");
    let (code, rows, said) = verified(&newer, "0.5");
    assert_eq!((code, rows.len()), (Some(0), 0), "{said}");
    train(&["--resume", "run", "--generations", "1"]);
    let (code, rows, said) = verified(&newer, "0.5");
    assert_eq!((code, rows.len()), (Some(1), 0), "{said}");
    assert!(said.contains("has gone on since"), "{said}");
}

#[test]
fn a_run_that_is_what_it_should_be_is_proved_whether_it_has_ended_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let run = trained(folder.path());
    let (code, rows, said) = verified(&run, "0.5");
    assert_eq!((code, rows.len()), (Some(0), 0), "{said}");
    assert!(said.contains("256 were played again"), "{said}");
    // Stopped in the middle of a generation: the games that it has are learned by nothing yet.
    let whole = fs::read(games_file(&run, 3)).unwrap();
    let reader = || {
        let mut reader = GamesReader::new(&whole[..]).unwrap();
        (0..2).for_each(|_| drop(reader.next_frame().unwrap()));
        reader.offset() as usize
    };
    let three = folder.path().join("three");
    let mut command = program();
    command.current_dir(folder.path()).args([
        "train",
        "--run",
        "three",
        "--preset",
        "quick",
        "--config",
        "config.toml",
    ]);
    fs::write(folder.path().join("small.toml"), SMALL_SET).unwrap();
    command.args(["--patterns", "small.toml", "--generations", "3", "--quiet"]);
    assert!(finish(command, "").status.success());
    fs::write(games_file(&three, 3), &whole[..reader()]).unwrap();
    let (code, rows, said) = verified(&three, "1");
    assert_eq!((code, rows.len()), (Some(0), 0), "{said}");
    // What resuming would refuse is a fault there too; what a kill cut off is none.
    let mut bytes = whole[..reader()].to_vec();
    fs::write(games_file(&three, 3), &bytes[..bytes.len() - 3]).unwrap();
    assert_eq!(verified(&three, "0").0, Some(0));
    let last = bytes.len() - 20;
    bytes[last] ^= 16;
    fs::write(games_file(&three, 3), &bytes).unwrap();
    let (code, rows, said) = verified(&three, "0");
    assert_eq!(code, Some(1), "{said}");
    assert!(rows[0][0].ends_with("00000003.fsg") && rows[0][4].contains("checksum"), "{rows:?}");
    bytes[10] ^= 1;
    fs::write(games_file(&three, 3), &bytes).unwrap();
    let (code, rows, said) = verified(&three, "0");
    assert!(code == Some(1) && rows[0][4].contains("not games of this run"), "{rows:?}: {said}");

    // Killed in its first generation.
    let early = folder.path().join("early");
    fs::create_dir_all(early.join("games")).unwrap();
    fs::copy(run.join("flipside-run.json"), early.join("flipside-run.json")).unwrap();
    let first = fs::read(games_file(&run, 0)).unwrap();
    fs::write(games_file(&early, 0), &first[..first.len() / 2]).unwrap();
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    fs::write(early.join("metrics.jsonl"), metrics.lines().next().unwrap().to_owned() + "\n").unwrap();
    let (code, rows, said) = verified(&early, "1");
    assert_eq!((code, rows.len()), (Some(0), 0), "{said}: {rows:?}");
}

#[test]
fn a_run_that_began_with_weights_is_proved_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let parent = trained(folder.path()).join("last.fsw").display().to_string();
    fs::write(folder.path().join("small.toml"), SMALL_SET).unwrap();
    let mut command = program();
    command.current_dir(folder.path()).args(["train", "--run", "new", "--preset", "quick", "--config", "config.toml"]);
    command.args(["--patterns", "small.toml", "--from", &parent, "--generations", "1", "--quiet"]);
    assert!(finish(command, "").status.success());
    let run = folder.path().join("new");
    let output = run_with(&["verify", run.to_str().unwrap(), "--share", "1", "--from", &parent], "");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A plan with a long fit in it.
fn plan(folder: &Path) -> TrainConfig {
    let set = folder.join("small.toml");
    fs::write(&set, SMALL_SET).unwrap();
    let plan = format!(
        "patterns = {:?}\ngate = {{ pairs = 2, depth = 1, exact-empties = 4 }}\nfinish = {{ since = 0, epochs = 1 }}\n\
         [[steps]]\nplay = {{ games = 128, depth = 1 }}\nlearn = {{ from = \"visits\", epochs = 1, stage-plies = 12 }}\n\
         [[steps]]\nlearn = {{ epochs = 20, block = 4096 }}\n\
         [[steps]]\nrepeat = 2\nplay = {{ games = 128, depth = 1 }}\n",
        set.display().to_string()
    );
    TrainConfig::from_toml(&plan).unwrap()
}

/// Plays only the first half of a generation, as if there was no time for the rest.
struct HalfOf(u32);

impl GameSource for HalfOf {
    fn play(&self, job: &GameJob<'_>, stop: &AtomicBool, on_games: &mut OnGames<'_>) {
        let end = if job.generation == self.0 { job.games.end / 2 } else { job.games.end };
        LocalGames.play(&GameJob { games: job.games.start..end, ..job.clone() }, stop, on_games);
    }
}

/// A session of a run: for some generations more, stopped when something happens.
fn session(
    run: &Path,
    config: &TrainConfig,
    more: u32,
    games: &dyn GameSource,
    until: impl Fn(&TrainEvent) -> bool + Sync,
) {
    let stop = AtomicBool::new(false);
    let resume = if run.exists() { Resume::Stored } else { Resume::Same };
    let budget = Budget { generations: Some(more), ..Budget::default() };
    let request = TrainRequest { budget, resume, games, ..TrainRequest::new(config, run, &stop) };
    let outcome = train(&request, &mut |event| {
        stop.fetch_or(until(event), Relaxed);
    });
    assert_eq!(outcome.unwrap(), if stop.into_inner() { Outcome::Stopped } else { Outcome::Finished });
}

fn is_proved(run: &Path) {
    let (code, rows, said) = verified(run, "1");
    assert_eq!((code, rows.len()), (Some(0), 0), "{said}: {rows:?}");
}

#[test]
fn a_run_is_proved_wherever_it_was_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let config = plan(folder.path());
    let never = |_: &TrainEvent| false;
    let is_fitting = |event: &TrainEvent| matches!(event, TrainEvent::Learning { done, .. } if *done < 0.3);
    let plays = |number: u32| move |event: &TrainEvent| matches!(event, TrainEvent::Batch { generation, played: 65.., .. } if *generation == number);
    // In a fit of its plan.
    let run = folder.path().join("fit");
    let is_second = AtomicBool::new(false);
    session(&run, &config, 3, &LocalGames, |event| {
        is_second.fetch_or(matches!(event, TrainEvent::Learned { .. }), Relaxed);
        is_second.load(Relaxed) && is_fitting(event)
    });
    is_proved(&run);
    // After an end of its own, before and within that fit, and in the next generation.
    let run = folder.path().join("ended");
    session(&run, &config, 1, &LocalGames, never);
    is_proved(&run);
    session(&run, &config, 9, &LocalGames, is_fitting);
    is_proved(&run);
    session(&run, &config, 9, &LocalGames, plays(1));
    is_proved(&run);
    // After an end within a generation.
    let run = folder.path().join("half");
    session(&run, &config, 9, &HalfOf(2), never);
    is_proved(&run);
    session(&run, &config, 9, &LocalGames, plays(2));
    is_proved(&run);
    session(&run, &config, 2, &LocalGames, never);
    is_proved(&run);
}

#[test]
fn what_was_not_saved_like_this_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let config = plan(folder.path());
    let [run, early] = ["run", "early"].map(|name| folder.path().join(name));
    session(&run, &config, 3, &LocalGames, |_| false);
    session(&early, &config, 3, &LocalGames, |event| matches!(event, TrainEvent::Learned { .. }));
    let is_named = |name: &str, what: &str| {
        let (code, rows, said) = verified(&run, "0");
        assert_eq!((code, rows.len()), (Some(1), 1), "{said}: {rows:?}");
        assert!(rows[0][0].ends_with(name) && rows[0][4].contains(what), "{rows:?}");
    };
    let spoilt = |name: &str, what: &str, spoil: &dyn Fn(&mut Vec<u8>)| {
        let path = run.join(name);
        let whole = fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        spoil(&mut bytes);
        fs::write(&path, bytes).unwrap();
        is_named(name, what);
        fs::write(&path, whole).unwrap();
    };
    let flip = |bytes: &mut Vec<u8>| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    };
    spoilt("checkpoint", "damaged", &flip);
    spoilt("checkpoint.previous", "damaged", &flip);
    spoilt("metrics.jsonl", "is not what was written", &flip);
    // Weights that the run has had, and that are neither the newest nor the best now.
    let earlier = fs::read(early.join("last.fsw")).unwrap();
    for name in ["best.fsw", "last.fsw"] {
        spoilt(name, "the run's checkpoints hold other weights", &|bytes| bytes.clone_from(&earlier));
    }
}

#[test]
fn games_that_the_run_would_not_have_played_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let run = trained_since(folder.path(), 0);
    // The second frame of the first generation, whose weights know nothing yet, is replaced by games of another seed.
    let config = StoredRun::read(&run).unwrap().config;
    let mut file = GamesReader::open(games_file(&run, 0)).unwrap();
    let mut frames = Vec::new();
    while let Some(kept) = file.next_frame().unwrap() {
        frames.push(frame(kept.first(), &kept.decode().unwrap()));
    }
    let best = WeightFile::load(run.join("best.fsw")).unwrap();
    let mut empty = best.model;
    empty.weights.iter_mut().flatten().for_each(|weight| *weight = 0);
    let layout = Arc::new(flipside::pattern::Layout::new(&empty.set).unwrap());
    let evaluator = flipside::eval::PatternEvaluator::with_layout(&empty, layout).unwrap();
    let players = SelfPlay::new(&evaluator, config.play(0).unwrap().self_play());
    let lies = players.play_here(config.seed + 1, 0, 32..64, &AtomicBool::new(false)).unwrap();
    frames[1] = frame(32, &lies);
    let header: GamesHeader = file.header();
    fs::write(games_file(&run, 0), [&header.to_bytes()[..], &frames.concat()].concat()).unwrap();
    let (code, rows, said) = verified(&run, "1");
    assert_eq!(code, Some(1), "{said}");
    let named = |row: &[String]| row[0].ends_with("00000000.fsg") && row[1..3] == ["32", "63"];
    assert!(rows.iter().any(|row| named(row)), "{rows:?}");
    // What was learned from the right games does not follow from the others.
    assert!(rows.iter().any(|row| row[0].ends_with(".fsw")), "{rows:?}");
}

#[test]
fn flipped_bits_on_disk_are_named_and_what_they_spoil_is_played_again() {
    let folder = tempfile::tempdir().unwrap();
    let run = trained(folder.path());
    let path = games_file(&run, 1);
    let whole = fs::read(&path).unwrap();
    for at in [45, whole.len() / 2, whole.len() - 3] {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        fs::write(&path, &bytes).unwrap();
        let (code, rows, said) = verified(&run, "0.01");
        assert_eq!((code, rows.len()), (Some(1), 1), "{said}: {rows:?}");
        assert!(rows[0][0].ends_with("00000001.fsg") && rows[0][2] == "127", "{rows:?}");
    }
    // So is what follows the last game.
    fs::write(&path, [&whole[..], &[7; 100]].concat()).unwrap();
    let (code, rows, said) = verified(&run, "0");
    assert_eq!((code, rows.len()), (Some(1), 1), "{said}: {rows:?}");
    assert!(rows[0][0].ends_with("00000001.fsg") && rows[0][4].starts_with("after the last game"), "{rows:?}");
    fs::remove_file(&path).unwrap();
    let (code, rows, said) = verified(&run, "0");
    assert_eq!((code, rows.len()), (Some(1), 1), "{said}");
    assert_eq!(rows[0][1..3], ["0", "127"]);
    fs::write(&path, &whole).unwrap();
    // A weight that nobody has learned.
    let last = run.join("last.fsw");
    let mut weights = WeightFile::load(&last).unwrap();
    weights.model.weights[0][0] ^= 1;
    weights.save(&last).unwrap();
    let (code, rows, said) = verified(&run, "0");
    assert_eq!((code, rows.len()), (Some(1), 1), "{said}: {rows:?}");
    assert!(rows[0][0].ends_with("last.fsw"), "{rows:?}");
    // A damaged weight file is named, and the games are looked at all the same.
    let mut bytes = fs::read(&last).unwrap();
    bytes[100] ^= 1;
    fs::write(&last, bytes).unwrap();
    let (code, rows, said) = verified(&run, "0.01");
    assert_eq!((code, rows.len()), (Some(1), 1), "{said}: {rows:?}");
    assert!(
        rows[0][0].ends_with("last.fsw") && rows[0][4].contains("damaged") && said.contains("played again"),
        "{said}"
    );
}

#[test]
fn what_cannot_be_proved_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let none = folder.path().join("none");
    assert!(refusal(&["verify", none.to_str().unwrap()], "", 1).contains("none"));
    let run = trained(folder.path());
    let said = refusal(&["verify", run.to_str().unwrap(), "--from", "default"], "", 1);
    assert!(said.contains("did not begin with"), "{said}");
    for share in ["2", "-1", "NaN", "x"] {
        refusal(&["verify", run.to_str().unwrap(), "--share", share], "", 2);
    }
}
