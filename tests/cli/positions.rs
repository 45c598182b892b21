//! Commands on positions and weight files.

use std::fs;

use flipside::board::{Diagram, squares};
use flipside::eval::{Model, StageMap};
use flipside::pattern::PatternSet;
use flipside::search::EndgameSolver;
use flipside::weights::{Provenance, WeightFile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::support::*;

#[test]
fn perft_counts_and_divides() {
    assert_eq!(stdout(&["perft", "6", "-q"], ""), "depth\tleaves\n1\t4\n2\t12\n3\t56\n4\t244\n5\t1396\n6\t8200\n");
    let parallel = stdout(&["perft", "9", "--threads", "2"], "");
    assert!(parallel.ends_with("9\t3005288\n"), "{parallel}");
    let divided = stdout(&["perft", "5", "--divide"], "");
    assert_eq!(divided, "move\tleaves\nd3\t349\nc4\t349\nf5\t349\ne6\t349\n");
    // Black must pass, and then white's only move ends the game.
    let passing = format!("OXXXXXX-{} X", "-".repeat(56));
    assert_eq!(stdout(&["perft", "3", "-q", "--position", &passing], ""), "depth\tleaves\n1\t1\n2\t1\n3\t1\n");
}

#[test]
fn eval_prints_a_number_a_line() {
    let won = format!("XXXX{} O", "-".repeat(60));
    let input = format!("# a comment\n{START}\n\n{START} 3\n{won}\n");
    assert_eq!(stdout(&["eval", "-w", "mobility"], &input), "+0.000\n+0.000\n-64.000\n");
    let folder = tempfile::tempdir().unwrap();
    let weights = constant_weights(folder.path(), 3);
    let file = folder.path().join("positions.txt");
    fs::write(&file, &input).unwrap();
    let values = stdout(&["eval", file.to_str().unwrap(), "--weights", weights.to_str().unwrap()], "");
    assert_eq!(values, "+3.000\n+3.000\n-64.000\n");
}

#[test]
fn positions_are_read_as_people_have_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let after = "---------------------------OX------OXX-----O--------------------";
    let plain = file("plain.txt", &format!("{after} X\n{after} O\n"));
    let windows = file("windows.txt", &format!("\u{feff}F5 D6\r\n{after} white\r\n\r\n"));
    let letters = file("letters.txt", &format!("f5d6\n{after} w\n"));
    for command in [&["eval", "-w", "mobility"][..], &["search", "-w", "mobility", "--depth", "3"]] {
        // All columns but the time.
        let values = |path: &str| {
            let table = stdout(&[command, &[path]].concat(), "");
            table.lines().map(|line| columns(line)[..columns(line).len().min(3)].join(" ")).collect::<Vec<_>>()
        };
        let expected = values(&plain);
        assert_eq!((values(&windows), values(&letters)), (expected.clone(), expected), "{command:?}");
    }
    let late = late_position(6, 3);
    assert!(stdout(&["solve", "-q"], &format!("\u{feff}{late}\r\n")).starts_with("empties"));
    let error = refusal(&["eval", "-w", "mobility"], "f5d6a1\n", 1);
    assert!(error.contains("line 1: move 3 (a1)"), "{error}");

    // A board on the command line may begin with what looks like an option.
    let counts = stdout(&["perft", "2", "-q"], "");
    assert_eq!(stdout(&["perft", "2", "-q", "--position", START], ""), counts);
    assert_eq!(stdout(&["perft", "1", "-q", "--position", "F5 d6"], ""), "depth\tleaves\n1\t5\n");

    // Other files that Windows editors have touched.
    let games = file("games.txt", "\u{feff}F5 D6 C3\r\nf5f6\r\n");
    assert_eq!(stdout(&["convert", &games, "--to", "f5d6", "-q"], ""), "f5d6c3\nf5f6\n");
    let scored = file("scored.txt", &format!("\u{feff}{after} b +2\r\n"));
    assert!(stdout(&["accuracy", "mobility", &scored], "").contains("\nall\t1\t"));
    let set = file("set.toml", &format!("\u{feff}{}", SMALL_SET.replace('\n', "\r\n")));
    let run = folder.path().join("run").display().to_string();
    let train = ["train", "--generations", "0", "--records", &scored, "--patterns", &set, "--run", &run];
    assert_eq!(run_with(&train, "").status.code(), Some(0));
}

/// A single argument is taken as weights or as positions by its content.
#[test]
fn positions_are_arguments_and_weights_an_option() {
    let folder = tempfile::tempdir().unwrap();
    let weights = constant_weights(folder.path(), 3).display().to_string();
    let file = folder.path().join("positions").display().to_string();
    fs::write(&file, format!("{START}\n{START}\n")).unwrap();
    let eval = |arguments: &[&str], input: &str| stdout(&[&["eval"], arguments].concat(), input);
    assert_eq!(eval(&["-w", &weights], START), "+3.000\n");
    assert_eq!(eval(&["-w", "mobility"], START), "+0.000\n");
    assert_eq!(eval(&["-w", &weights, "-"], START), "+3.000\n");
    assert_eq!(eval(&[&file, "-w", &weights], ""), "+3.000\n+3.000\n");
    // A position or a game itself.
    assert!(START.starts_with('-'));
    let rows: Vec<_> = START.as_bytes()[..64].chunks(8).map(|row| str::from_utf8(row).unwrap()).collect();
    for typed in [
        START,
        "f5",
        "F5 D6 C3",
        &START.replace(" X", " white"),
        &START.replace('X', "B").replace('O', "W"),
        &START.replace('X', "1").replace('O', "2"),
        &format!("{} X", rows.join(" ")),
    ] {
        assert_eq!(eval(&["-w", &weights, typed], ""), "+3.000\n", "{typed}");
    }
    for (wrong, what) in [(&START[..50], "squares found: 50"), (&START.replacen("OX", "O?", 1), "column 29: `?`")] {
        let error = refusal(&["eval", wrong], "", 1);
        assert!(error.contains(what), "{error}");
    }
    let error = refusal(&["eval", &START[..64]], "", 1);
    assert!(error.contains(&format!("`{}` is neither", &START[..64])), "{error}");
    let error = refusal(&["eval", "f5 d6 a1"], "", 1);
    assert!(error.contains("`f5 d6 a1` is neither a file nor a position: move 3 (a1)"), "{error}");
    let error = refusal(&["solve", &START.replacen('-', "", 1)], "", 1);
    assert!(error.contains("squares found: 63"), "{error}");
    assert!(refusal(&["eval", &weights], "", 1).contains("take it with -w"));
    for command in [&["eval", START][..], &["play"], &["gtp"], &["bench", "--section", "perft", "--rounds", "1"]] {
        stdout(&[command, &["-w", "mobility"]].concat(), "");
        let error = refusal(&[command, &["-w", "no.fsw"]].concat(), "", 1);
        assert!(error.contains("no.fsw"), "{command:?}: {error}");
    }
    // Options take precedence over the environment.
    let mut with_environment = program();
    with_environment.args(["eval", "-w", "squares", START]).env("FLIPSIDE_WEIGHTS", &weights);
    assert_eq!(finish(with_environment, "").stdout, eval(&["-w", "squares", START], "").into_bytes());
    let mut with_environment = program();
    with_environment.args(["eval", START]).env("FLIPSIDE_WEIGHTS", &weights);
    assert_eq!(finish(with_environment, "").stdout, b"+3.000\n");
}

#[test]
fn bad_positions_are_named_by_line() {
    let error = refusal(&["eval", "-w", "squares"], &format!("{START}\n{START}\nXOXO X\n"), 1);
    assert!(error.contains("standard input: line 3: expected 64 squares"), "{error}");
    assert!(refusal(&["eval", "-w", "squares"], "# nothing\n", 1).contains("no positions in standard input"));
    assert!(refusal(&["eval", "-w", "squares", "no/such/file"], "", 1).contains("`no/such/file`"));
    assert!(refusal(&["eval", "-w", "squares", "f5f5"], "", 1).contains("move 2 (f5): f5 is occupied"));
    assert!(refusal(&["eval", "-w", "squares", "XO--X"], "", 1).contains("expected 64 squares"));
    let folder = tempfile::tempdir().unwrap();
    let binary = folder.path().join("binary");
    fs::write(&binary, [0xff; 100]).unwrap();
    assert!(refusal(&["solve", binary.to_str().unwrap()], "", 1).contains("UTF-8"));
    // A comment may be in any encoding.
    fs::write(&binary, b"# caf\xe9\nf5d6\n").unwrap();
    assert_eq!(
        stdout(&["eval", "-w", "squares", binary.to_str().unwrap()], ""),
        stdout(&["eval", "-w", "squares", "f5d6"], "")
    );
}

#[test]
fn bad_weights_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = constant_weights(folder.path(), 1);
    let name = path.to_str().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[20] ^= 1;
    fs::write(&path, &bytes).unwrap();
    for arguments in [["eval", "-w", name], ["search", "-w", name], ["inspect", name, "-q"]] {
        let error = refusal(&arguments, START, 1);
        assert!(error.contains(name) && error.contains("SHA-256"), "{error}");
    }
    fs::write(&path, &bytes[..100]).unwrap();
    assert!(refusal(&["accuracy", name, "-"], START, 1).contains(name));
    assert!(refusal(&["eval", "-w", "sqares"], START, 1).contains("`squares`"));
    assert!(refusal(&["inspect", "mobility"], "", 1).contains("without weights"));
}

#[test]
fn accuracy_prints_a_line_for_each_number_of_empties() {
    let folder = tempfile::tempdir().unwrap();
    let weights = constant_weights(folder.path(), 2);
    let other = START.replacen('-', "X", 1);
    let input = format!("{START} 1\n{other} -1\n{START} 6\n{START}\n{START}; F5:-1; D3:-2\n");
    let output = run_with(&["accuracy", weights.to_str().unwrap(), "-"], &input);
    // Errors at 60 empties: 1, -4 and 3; at 59: 3. A constant has no slope.
    let expected = "empties\tpositions\trmse\tmae\tbias\tsd\tslope\tsd_after_slope\n\
        59\t1\t3.000\t3.000\t3.000\t0.000\t-\t0.000\n\
        60\t3\t2.944\t2.667\t0.000\t2.944\t-\t2.944\n\
        all\t4\t2.958\t2.750\t0.750\t2.861\t-\t2.861\n";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    assert!(String::from_utf8_lossy(&output.stderr).contains("without a score: 1"));
    assert!(refusal(&["accuracy", "squares", "-"], START, 1).contains("no position in standard input has a score"));
}

#[test]
fn accuracy_takes_recorded_games() {
    let folder = tempfile::tempdir().unwrap();
    let weights = constant_weights(folder.path(), 2);
    let file = folder.path().join("games.ggf");
    let game = "(;GM[Othello]RE[-6]TY[8]BO[8 -------- -------- -------- ---O*--- ---*O--- -------- -------- -------- *]\
        B[f5]W[d6];)";
    fs::write(&file, format!("{game}\n(;B[a1];)\n")).unwrap();
    let arguments = ["accuracy", weights.to_str().unwrap(), file.to_str().unwrap()];
    assert!(refusal(&[&arguments[..], &["--exact-empties", "31"]].concat(), "", 2).contains("0..=30"));
    let error = refusal(&arguments, "", 1);
    assert!(error.contains("games.ggf` as ggf: line 2") && error.contains("--skip-bad"), "{error}");
    let table = stdout(&[&arguments[..], &["--skip-bad"]].concat(), "");
    // Two discs where the result says +6 for white, then -6 for black.
    assert_eq!(
        table,
        "empties\tpositions\trmse\tmae\tbias\tsd\tslope\tsd_after_slope\n\
        59\t1\t4.000\t4.000\t-4.000\t0.000\t-\t0.000\n60\t1\t8.000\t8.000\t8.000\t0.000\t-\t0.000\n\
        all\t2\t6.325\t6.000\t2.000\t6.000\t-\t6.000\n"
    );
    let position = late_position(8, 1);
    let solved = stdout(&["accuracy", arguments[1], "-", "--exact-empties", "8"], &position.to_string());
    let known = stdout(&["solve", "-q"], &position.to_string());
    let score: f64 = columns(known.lines().nth(1).unwrap())[1].parse().unwrap();
    assert_eq!(columns(solved.lines().nth(1).unwrap())[4].parse::<f64>().unwrap(), 2.0 - score, "{solved} {known}");
}

#[test]
fn a_scaled_evaluation_is_as_accurate_after_the_best_slope() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = WeightFile::embedded();
    file.model.scale *= 2;
    let path = folder.path().join("half.fsw");
    file.save(&path).unwrap();
    let positions: String = (40..80).map(|seed| format!("{}\n", late_position(10, seed))).collect::<Vec<_>>().concat();
    let row = |weights: &str| -> Vec<f64> {
        let table = stdout(&["accuracy", weights, "-", "--exact-empties", "10", "-q"], &positions);
        columns(table.lines().last().unwrap())[1..].iter().map(|text| text.parse().unwrap()).collect()
    };
    let (whole, half) = (row("default"), row(path.to_str().unwrap()));
    assert_eq!((whole[0], half[0]), (40.0, 40.0));
    let (slopes, after) = ([whole[5], half[5]], [whole[6], half[6]]);
    assert!((0.5..2.0).contains(&slopes[0]) && (slopes[1] / slopes[0] - 2.0).abs() < 0.02, "{slopes:?}");
    assert!((after[0] - after[1]).abs() < 0.02 && whole[4] > after[0] && half[4] > whole[4], "{whole:?} {half:?}");
}

#[test]
fn regret_is_what_the_moves_chosen_lose() {
    let board = "---------------------------OX------XO---------------------------";
    // Symmetric moves, distinguished only by their scores; the search returns the first of equals.
    let chosen =
        columns(stdout(&["search", "-w", "squares", "--depth", "1"], START).lines().nth(1).unwrap())[1].to_owned();
    let scores = |of_chosen: i32| -> String {
        let score = |square: &str| if square == chosen { of_chosen } else { 4 };
        ["d3", "c4", "f5", "e6"].map(|square| format!(" {square}:{:+};", score(square))).concat()
    };
    let lines = format!("{board} X;{}\n{board} X;{}\n{board} X; D3:+2;\n{START} 3\n", scores(-3), scores(6));
    let output = run_with(&["accuracy", "squares", "-", "--regret"], &lines);
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "empties\tpositions\tlost\tbest\n60\t2\t3.500\t0.500\nall\t2\t3.500\t0.500\n"
    );
    assert!(String::from_utf8_lossy(&output.stderr).contains("without the scores of all moves: 2"));
    assert!(refusal(&["accuracy", "squares", "-", "--regret"], START, 1).contains("scores of all its moves"));
    assert!(refusal(&["accuracy", "default", "-", "--selectivity", "1"], START, 2).contains("--depth"));

    // A search to the end loses nothing, whatever the weights.
    let (suite, depth) = (data("ffo/fforum-1-19.obf"), "14");
    let table = stdout(&["accuracy", "mobility", &suite, "--regret", "--depth", depth, "-q"], "");
    let row = |empties: &str| columns(table.lines().find(|line| line.starts_with(empties)).unwrap())[2..].to_vec();
    assert_eq!(row("14\t"), ["0.000", "1.000"], "{table}");
    let all =
        |threads: &str| stdout(&["accuracy", "default", &suite, "--regret", "--depth", "4", "--threads", threads], "");
    assert_eq!(all("1"), all("3"));
}

#[test]
fn searches_are_compared_with_known_scores() {
    let scored = late_positions_with_scores();
    let row = |arguments: &[&str]| {
        let table = stdout(&[&["accuracy", "mobility", "-", "-q"], arguments].concat(), &scored);
        columns(table.lines().last().unwrap()).iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>()
    };
    // Searches to the end know the score.
    assert_eq!(row(&["--depth", "20"])[1..5], ["6", "0.000", "0.000", "0.000"]);
    assert_ne!(row(&["--depth", "2"])[2], "0.000");
    assert_ne!(row(&[])[2], row(&["--depth", "2"])[2]);
}

/// Positions with eight empty squares, each with its score.
fn late_positions_with_scores() -> String {
    let mut solver = EndgameSolver::new(12);
    let scored = (0..6).map(|seed| {
        let diagram = late_position(8, seed);
        let score = solver.solve(diagram.position, -64, 64).score.discs();
        format!("{diagram} {score:+}\n")
    });
    scored.collect()
}

/// A position with a number of empty squares after random moves, in which the side to move need not pass.
fn late_position(empties: u32, seed: u64) -> Diagram {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut diagram = Diagram::START;
    loop {
        let moves = diagram.position.moves();
        if moves == 0 {
            diagram = if diagram.position.is_game_over() { Diagram::START } else { diagram.pass() };
        } else if diagram.position.empties() == empties {
            return diagram;
        } else {
            let to = squares(moves).nth(rng.random_range(0..moves.count_ones() as usize)).unwrap();
            diagram = diagram.try_play(to).unwrap();
        }
    }
}

#[test]
fn search_to_the_end_equals_solving() {
    let positions: String = (0..5).map(|seed| format!("{}\n", late_position(9, seed))).collect();
    let solved = stdout(&["solve", "-q"], &positions);
    let searched = stdout(&["search", "-w", "mobility", "--depth", "12"], &positions);
    let (solved, searched): (Vec<_>, Vec<_>) =
        (solved.lines().map(columns).collect(), searched.lines().map(columns).collect());
    assert_eq!(searched[0], ["score", "move", "nodes", "seconds", "line", "depth", "position"]);
    for (solved, searched) in solved[1..=5].iter().zip(&searched[1..]) {
        assert_eq!(solved[1].parse::<f64>().unwrap(), searched[0].parse::<f64>().unwrap());
        assert!(searched[4].starts_with(searched[1]), "the line starts with the best move: {searched:?}");
    }
    assert_eq!(searched.len(), 6);
}

#[test]
fn solve_checks_the_scores_of_the_file() {
    let position = "XXXXXXO-".to_owned() + &"-".repeat(56);
    // Black takes h1, and no white disc is left.
    let table = stdout(&["solve", "--check"], &format!("{position} X 64"));
    let lines: Vec<_> = table.lines().map(columns).collect();
    assert_eq!(lines[0], ["empties", "score", "move", "nodes", "seconds", "position"]);
    assert_eq!(lines[1][..3], ["57", "64", "h1"]);
    assert_eq!((lines[2][0], lines[2][3]), ("all", lines[1][3]));
    let wrong = run_with(&["solve", "--check"], &format!("{position} X 62"));
    let error = String::from_utf8_lossy(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(1), "{error}");
    assert!(error.contains("position 1: +64 where the file says +62"), "{error}");
    assert!(stdout(&["solve", "--wld", "--check"], &format!("{position} X 62")).contains("\twin\th1\t"));
    assert!(refusal(&["solve", "--check"], &format!("{position} X"), 1).contains("no position in standard input"));
    // Even if nobody reads the table, and the wrong score comes late.
    let late = format!("{position} X 64\n").repeat(3) + &format!("{position} X 62\n");
    for json in [&[][..], &["--json"]] {
        let (code, error) = run_unread(&[&["solve", "--check"], json].concat(), &late);
        assert!(code == Some(1) && error.contains("1 score differs from the file"), "{error}");
    }
    assert_eq!(run_unread(&["solve", "--check", "-q"], &format!("{position} X 64\n")), (Some(0), String::new()));
}

#[test]
fn threads_change_neither_order_nor_scores() {
    // Easy positions for one thread each, mixed with harder ones for all threads together.
    let positions: String = [8, 12, 9, 21, 8, 10, 11, 9, 9, 8]
        .iter()
        .zip(0..)
        .map(|(&empties, seed)| format!("{}\n", late_position(empties, seed)))
        .collect();
    let rows = |arguments: &[&str], columns_kept: &[usize]| {
        let table = stdout(&[arguments, &["-q"]].concat(), &positions);
        let kept = |line: &str| columns_kept.iter().map(|&i| columns(line)[i].to_owned()).collect::<Vec<_>>();
        table.lines().skip(1).take(10).map(kept).collect::<Vec<_>>()
    };
    let solve = |threads: &str, kept: &[usize]| rows(&["solve", "--wld", "--threads", threads], kept);
    let alone = solve("1", &[0, 1]);
    assert_eq!(solve("2", &[0, 1]), alone);
    assert_eq!(solve("3", &[0, 1]), alone);
    let (all, easy) = ([0, 1, 2, 3], |rows: Vec<Vec<String>>| -> Vec<_> {
        rows.into_iter().filter(|row| row[0].parse::<u32>().unwrap() <= 20).collect()
    });
    assert_eq!(
        easy(solve("3", &all)),
        easy(solve("1", &all)),
        "where a thread is alone, moves and nodes are equal too"
    );

    let search = |depth: &str, threads: &str, kept: &[usize]| {
        rows(&["search", "-w", "mobility", "--depth", depth, "--threads", threads], kept)
    };
    assert_eq!(search("4", "3", &[0, 1, 2, 4]), search("4", "1", &[0, 1, 2, 4]));
    assert_eq!(search("10", "3", &[0]), search("10", "1", &[0]));
}

#[test]
fn inspect_shows_origin_and_strongest_configurations() {
    let folder = tempfile::tempdir().unwrap();
    let path = constant_weights(folder.path(), 2);
    let shown = stdout(&["inspect", path.to_str().unwrap()], "");
    assert!(shown.contains("made by a test") && shown.contains("stages       16"), "{shown}");
    assert!(!shown.contains("strongest"), "all pattern weights are zero: {shown}");

    let mut file = WeightFile::load(&path).unwrap();
    // The first configuration of the first pattern: opponent's discs only.
    file.model.weights[9][0] = -256;
    file.save(&path).unwrap();
    let shown = stdout(&["inspect", path.to_str().unwrap(), "--empties", "24", "--pattern", "corner3x2"], "");
    assert!(shown.ends_with("  -2.00\n  O O O . . . . .\n  O O O . . . . .\n"), "{shown}");
    assert!(refusal(&["inspect", path.to_str().unwrap(), "--pattern", "heart"], "", 2).contains("edge"));
}

#[test]
fn the_nodes_of_bench_are_the_same_each_time() {
    let signature = |threads: &str| {
        let arguments =
            ["bench", "-w", "mobility", "--rounds", "1", "--section", "perft,midgame", "--threads", threads];
        let table = stdout(&arguments, "");
        let last = table.lines().last().unwrap().to_owned();
        assert!(last.contains(" nodes ") && last.ends_with(" nodes/s"), "{last}");
        last.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    // A build that knows the count without counting is not measured.
    let perft = stdout(&["bench", "--rounds", "1", "--section", "perft"], "");
    let rate: f64 = columns(perft.lines().nth(1).unwrap())[4].parse().unwrap();
    assert!(rate < 1e11, "{perft}");
    let single = signature("1");
    assert!(single > 24_571_284, "perft alone counts as many");
    assert_eq!(single, signature("2"));
}

#[test]
fn weights_go_to_another_engine_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let weights = constant_weights(folder.path(), 2);
    let weights = weights.to_str().unwrap();
    let classic = PatternSet::built_in("classic").unwrap();
    let mut model = Model::zero(&classic, &StageMap::uniform(1), 128).unwrap();
    model.weights[30][0] = 1;
    WeightFile::new(model, Provenance::default()).save(path("classic.fsw")).unwrap();
    let refused = refusal(&["export", "--to", "edax", &path("classic.fsw"), "-o", &path("eval.dat")], "", 1);
    assert!(refused.contains("corner5x2") && refused.contains("--patterns edax"), "{refused}");
    assert!(!folder.path().join("eval.dat").exists());

    assert_eq!(
        stdout(&["export", "--to", "json", weights, "-o", &path("w.json")], ""),
        format!("{}\n", path("w.json"))
    );
    let json: serde_json::Value = serde_json::from_str(&fs::read_to_string(path("w.json")).unwrap()).unwrap();
    assert!(json.is_object());

    let set = PatternSet::built_in("edax").unwrap();
    let mut model = Model::zero(&set, &StageMap::uniform(1), 128).unwrap();
    model.weights.iter_mut().for_each(|weights| *weights.last_mut().unwrap() = -192);
    WeightFile::new(model, Provenance::default()).save(path("edax.fsw")).unwrap();
    let output = run_with(&["export", "--to", "edax", &path("edax.fsw"), "-o", &path("eval.dat")], "");
    assert!(String::from_utf8(output.stderr).unwrap().contains("exact"));
    stdout(&["import", "--from", "edax", &path("eval.dat"), "-o", &path("back.fsw")], "");
    assert_eq!(stdout(&["eval", "-w", &path("back.fsw")], START), "-1.500\n");

    fs::write(path("eval.dat"), "XADE").unwrap();
    let refused = refusal(&["import", "--from", "edax", &path("eval.dat"), "-o", &path("new.fsw"), "-q"], "", 1);
    assert!(refused.contains("eval.dat"), "{refused}");
    assert!(!folder.path().join("new.fsw").exists());
    assert!(refusal(&["export", "--to", "word", weights, "-o", &path("x")], "", 2).contains("safetensors"));
}

#[test]
fn perft_divides_a_pass_and_a_finished_game_too() {
    for board in ["XO", "XX"] {
        let position = format!("{board}{} O", "-".repeat(62));
        assert_eq!(stdout(&["perft", "2", "--divide", "--position", &position, "-q"], ""), "move\tleaves\n--\t1\n");
    }
}

#[test]
fn files_are_written_even_if_nobody_reads_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let weights = path("calibrated.fsw");
    let few = ["--depth", "3", "--positions-per-stage", "30", "--exact-empties", "10"];
    assert_eq!(run_unread(&[&["calibrate", "default", "--json", "-o", &weights], &few[..]].concat(), "").0, Some(0));
    assert!(WeightFile::load(std::path::Path::new(&weights)).unwrap().calibration.is_some());
}
