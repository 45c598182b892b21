//! Fits from the command line; `tests/library/fit.rs` compares bytes.

use std::fs;

use flipside::board::Transcript;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::support::*;

#[test]
fn recorded_games_and_scored_positions_become_weights() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let [games, positions, set, config, weights] =
        ["games.txt", "scored.obf", "small.toml", "fit.toml", "w.fsw"].map(file);
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let text: String = (0..300).map(|_| Transcript::random(&mut rng).to_string() + "\n").collect();
    fs::write(&games, text + "f5f5\n").unwrap();
    fs::write(&positions, format!("{START}; F5:+4; D3:+4;\n").repeat(20)).unwrap();
    fs::write(&set, SMALL_SET).unwrap();
    fs::write(&config, "exact-empties = 4\nrecord-importance = 0.5\n").unwrap();
    let common = ["--patterns", &set, "--config", &config, "-o", &weights];
    let fit = |inputs: &[&str]| run_with(&[&["fit"], inputs, &common].concat(), "");

    let output = fit(&[&games, &positions]);
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{talk}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{weights}\n"));
    assert!(talk.contains("left out: ") && talk.contains("games.txt: line 301: "), "{talk}");
    assert!(talk.contains("games.txt: 1 of 301 records left out"), "{talk}");
    assert!(talk.contains("0 games, 320 records, "), "{talk}");
    let shown = stdout(&["inspect", &weights], "");
    assert!(shown.contains("fitted to games") && shown.contains("record-importance = 0.5"), "{shown}");
    // Even this little teaches something.
    let error = |weights: &str| {
        let table = stdout(&["accuracy", weights, &games, "--exact-empties", "4", "--skip-bad"], "");
        columns(table.lines().last().unwrap())[2].parse::<f64>().unwrap()
    };
    let nothing = constant_weights(folder.path(), 0).display().to_string();
    assert!(error(&weights) < 0.9 * error(&nothing));
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 6, "{left:?}");
}

#[test]
fn what_cannot_be_learned_is_named_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let [unscored, weights] = ["unscored.obf", "w.fsw"].map(file);
    fs::write(&unscored, format!("{START}\n")).unwrap();
    let output = ["-q", "-o", &weights];
    let refused_with = |code, arguments: &[&str]| refusal(&[&["fit"], arguments, &output].concat(), "", code);
    let refused = |arguments: &[&str]| refused_with(1, arguments);
    let error = refused(&[&unscored]);
    assert!(error.contains("unscored.obf (it looks like obf) has nothing to learn from"), "{error}");
    assert!(refused(&[&unscored, &file("missing.wtb")]).contains("missing.wtb"));
    assert!(refused_with(2, &[&unscored, "--epochs", "0"]).contains("`epochs` is 0"));
    let records = data("ffo/fforum-1-19.obf");
    let config = file("fit.toml");
    fs::write(&config, "rate = 1e40").unwrap();
    let error = refused(&[&records, "--config", &config]);
    assert!(error.contains("line 1, column 8") && error.contains("`rate` is 1e40"), "{error}");
    fs::write(&config, "record-importance = 2.0").unwrap();
    assert!(refused(&[&records, "--config", &config]).contains("`record-importance` is 2"));
    fs::write(&config, "from = 'weights'").unwrap();
    assert!(refused(&[&records, "--config", &config]).contains("`from` is for runs alone"));
    assert!(!folder.path().join("w.fsw").exists());
}

/// Weights are fitted to a run's games, and then to the leaves of their own searches, in smaller steps unless others are asked for.
#[test]
fn weights_learn_their_own_leaves_from_a_teacher() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let [run, first, second, config] = ["run", "first.fsw", "second.fsw", "steps.toml"].map(file);
    let small = folder.path().join("small.toml");
    fs::write(&small, SMALL_SET).unwrap();
    fs::write(&config, "rate = 0.01\nfloor = 0.01\n").unwrap();
    stdout(
        &[
            "train",
            "--preset",
            "quick",
            "--generations",
            "1",
            "--run",
            &run,
            "--patterns",
            small.to_str().unwrap(),
            "-q",
        ],
        "",
    );
    let common = ["fit", &run, "--patterns", small.to_str().unwrap(), "--epochs", "1"];
    stdout(&[&common[..], &["-q", "-o", &first]].concat(), "");
    // The games that it learns are records for others, whole ones where the file is cut off.
    let kept = folder.path().join("run/games/00000000.fsg").display().to_string();
    let games = stdout(&["convert", &kept, "--to", "f5d6", "-q"], "");
    assert!(games.lines().count() > 100 && games.lines().all(|game| game.len() >= 18), "{games}");
    let bytes = fs::read(&kept).unwrap();
    let cut = folder.path().join("cut.fsg");
    fs::write(&cut, &bytes[..bytes.len() - 9]).unwrap();
    let cut = cut.to_str().unwrap();
    let converted = run_with(&["convert", cut, "--to", "f5d6"], "");
    let [fewer, talk] = [converted.stdout, converted.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(fewer.len() < games.len() && games.starts_with(&fewer) && !fewer.is_empty());
    assert!(talk.contains(cut) && talk.contains("its end is missing"), "{talk}");
    let refused = refusal(&["convert", cut, "--from", "wthor", "--to", "f5d6"], "", 2);
    assert!(refused.contains("a file of kept games, not wthor"), "{refused}");
    let leaves = ["--from", &first, "--teacher", "default", "--leaf-depth", "2", "-o", &second];
    for (more, step) in [(&[][..], "rate = 0.3"), (&["--config", &config], "rate = 0.01\n")] {
        stdout(&[&common[..], &["-q"], &leaves, more].concat(), "");
        let shown = stdout(&["inspect", &second], "").replace("    ", "");
        assert!(
            shown.contains("leaf-depth = 2") && shown.contains("fitted to leaves") && shown.contains(step),
            "{shown}"
        );
    }
    let records = ["fit", "data/ffo/fforum-1-19.obf", "--patterns", common[3], "-q"];
    for teacher in [&leaves[..], &["--teacher", "default", "-o", &second]] {
        let refused = refusal(&[&records[..], teacher].concat(), "", 1);
        assert!(refused.contains("kept games"), "{refused}");
    }
    // Bad weights are reported before games are read, even if there are none.
    let early = ["fit", "nowhere", "--patterns", "edax", "--from", "default", "-o", &second];
    assert!(refusal(&early, "", 2).contains("hidden layer"));
    let refused = refusal(&[&common[..], &["--leaf-depth", "2", "-q", "-o", &second]].concat(), "", 2);
    assert!(refused.contains("--teacher") && refused.contains("--from"), "{refused}");
}

/// `--for` is the engine's set, the run's best weights as the teacher, cross entropy and the export, in one command.
#[test]
fn one_command_writes_an_engines_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let [run, at_once, weights, in_steps, config, cof] =
        ["run", "at-once.bin", "w.fsw", "in-steps.bin", "loss.toml", "cof"].map(file);
    stdout(&["train", "--preset", "quick", "--generations", "1", "--run", &run, "-q"], "");
    let best = format!("{run}/best.fsw");
    fs::write(&config, "cross-entropy = 20.0\n").unwrap();
    let common = ["fit", &run, "--epochs", "1", "-q"];
    assert_eq!(stdout(&[&common[..], &["--for", "zebra", "-o", &at_once]].concat(), ""), format!("{at_once}\n"));
    let steps = ["--patterns", "zebra", "--teacher", &best, "--config", &config, "-o", &weights];
    stdout(&[&common[..], &steps].concat(), "");
    stdout(&["export", "--to", "zebra", &weights, "-o", &in_steps, "-q"], "");
    assert!(fs::read(&at_once).unwrap() == fs::read(&in_steps).unwrap());
    // NTest has a folder of files, and its fit leaves nothing else there.
    let written = stdout(&[&common[..], &["--for", "ntest", "-o", &cof]].concat(), "");
    assert_eq!(written.lines().count(), 10, "{written}");
    assert_eq!(fs::read_dir(&cof).unwrap().count(), 10);
    let refused = refusal(&[&common[..], &["--for", "ntest", "-o", "-"]].concat(), "", 2);
    assert!(refused.contains("name a folder"), "{refused}");
    for option in [&["--patterns", "edax"][..], &["--hidden-layer"]] {
        refusal(&[&common[..], &["--for", "edax", "-o", &at_once], option].concat(), "", 2);
    }
}
