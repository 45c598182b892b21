//! Matches, servers, and converting games.

use std::fs;
#[cfg(unix)]
use std::io::Read;
use std::process::Stdio;

use flipside::board::{Diagram, canonical};

use crate::support::*;

/// The values of a line of a match's results.
fn value<'t>(results: &'t str, name: &str) -> Vec<&'t str> {
    let line = results.lines().map(columns).find(|columns| columns[0] == name);
    line.unwrap_or_else(|| panic!("no line `{name}` in {results}"))[1..].to_vec()
}

#[test]
fn matches_are_the_same_on_any_number_of_threads() {
    let results = |threads: &str| {
        stdout(&["match", "mobility", "squares", "--pairs", "20", "--depth", "2", "-q", "--threads", threads], "")
    };
    let single = results("1");
    assert_eq!(value(&single, "first"), ["mobility"]);
    assert_eq!(value(&single, "pairs"), ["20"]);
    let count = |name: &str| value(&single, name)[0].parse::<u32>().unwrap();
    assert_eq!(count("wins") + count("draws") + count("losses"), 40);
    assert_eq!(value(&single, "elo").len(), 3);
    assert_eq!(single, results("3"));
}

#[test]
fn bars_are_drawn_when_asked_for() {
    let talk = |when: &str| {
        let arguments = ["match", "mobility", "squares", "--pairs", "2", "--depth", "1", "--progress", when];
        String::from_utf8(run_with(&arguments, "").stderr).unwrap()
    };
    assert!(talk("always").contains("2/2 pairs"), "{}", talk("always"));
    assert_eq!(talk("auto"), "", "standard error is no terminal here");
    assert_eq!(talk("never"), "");
}

#[test]
fn games_are_kept_in_files_alone() {
    let error = refusal(&["match", "mobility", "squares", "--pairs", "1", "--games", "-"], "", 2);
    assert!(error.contains("`-` is not"), "{error}");
}

#[test]
fn equal_players_come_out_equal() {
    let results = stdout(&["match", "squares", "squares", "--pairs", "5", "--depth", "1", "-q", "--seed", "3"], "");
    assert_eq!(value(&results, "wins"), value(&results, "losses"));
    assert_eq!(value(&results, "score"), ["0.500"]);
    assert_eq!(value(&results, "elo")[0], "0.000");
}

#[test]
fn openings_that_repeat_count_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("openings.txt");
    fs::write(&file, "f5d6c3d3c4\nf5f6\nf5d6c4d3c3\nf5f6\n").unwrap();
    let openings = file.to_str().unwrap();
    let play = |more: &[&str]| {
        let common = ["match", "mobility", "squares", "--openings", openings, "--depth", "2"];
        let output = run_with(&[&common, more].concat(), "");
        assert_eq!(output.status.code(), Some(0));
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (twice, talk) = play(&["--pairs", "400", "--sprt", "-900,-800"]);
    assert_eq!((value(&twice, "pairs"), value(&twice, "sprt.accepted")[0]), (vec!["2"], "-"));
    assert!(talk.contains("2 pairs instead of 400"), "{talk}");
    let (once, talk) = play(&["--pairs", "2"]);
    assert_eq!((value(&once, "elo"), talk.as_str()), (value(&twice, "elo"), ""));
}

#[test]
fn sequential_tests_end_matches() {
    let arguments = ["match", "mobility", "squares", "--pairs", "1000", "--depth", "2", "-q", "--sprt", "-300,-200"];
    let results = stdout(&arguments, "");
    assert_eq!(
        (value(&results, "sprt.accepted"), value(&results, "sprt.difference")),
        (vec!["H1"], vec!["at least -200 Elo"])
    );
    assert!(value(&results, "pairs")[0].parse::<u32>().unwrap() < 1000);
    assert!(refusal(&["match", "mobility", "squares", "--sprt", "5"], "", 2).contains("0,10"));
    assert!(refusal(&["match", "mobility", "squares", "--sprt", "10,0"], "", 2).contains("elo0 < elo1"));
}

#[test]
fn a_match_with_another_program_is_kept_and_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let games = folder.path().join("games.jsonl");
    let games = games.to_str().unwrap();
    for dialect in ["gtp", "nboard"] {
        let _ = fs::remove_file(games);
        let other = format!("{dialect}:'{PROGRAM}' {dialect} -w squares --depth 2");
        let play = |pairs: &str| {
            stdout(&["match", "mobility", &other, "--depth", "2", "--pairs", pairs, "--games", games, "-q"], "")
        };
        play("2");
        let kept = fs::read_to_string(games).unwrap();
        assert_eq!(kept.matches("{\"game\"").count(), 4, "{kept}");
        let results = play("3");
        assert_eq!((value(&results, "pairs"), value(&results, "forfeits")), (vec!["3"], vec!["0", "0"]));
        assert!(fs::read_to_string(games).unwrap().starts_with(&kept));
        // The same players without a separate process.
        let inside = stdout(&["match", "mobility", "squares", "--depth", "2", "--pairs", "3", "-q"], "");
        assert_eq!(value(&results, "discs"), value(&inside, "discs"), "{dialect}");
        let ggf = stdout(&["convert", games, "--to", "ggf", "-q"], "");
        assert_eq!((ggf.lines().count(), ggf.matches("PB[mobility]").count()), (6, 3), "{ggf}");
    }
}

#[test]
fn a_match_is_resumed_with_the_same_players_and_others_may_join() {
    let folder = tempfile::tempdir().unwrap();
    let games = folder.path().join("games.jsonl");
    let games = games.to_str().unwrap();
    let weights = constant_weights(folder.path(), 3);
    let (weights, copy) = (weights.to_str().unwrap(), folder.path().join("copy.fsw"));
    fs::copy(weights, &copy).unwrap();
    let call = |first: &str, depth: &str, more: &[&str]| {
        let call = ["match", first, "squares", "--depth", depth, "--games", games, "--pairs", "2"];
        run_with(&[&call, more].concat(), "")
    };
    let refused = |first: &str, depth: &str, more: &[&str]| {
        let output = call(first, depth, more);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
        String::from_utf8(output.stderr).unwrap()
    };
    let plays = |first: &str| String::from_utf8(call(first, "1", &[]).stdout).unwrap();
    let results = plays(weights);
    let kept = fs::read(games).unwrap();
    assert_eq!((plays(weights), fs::read(games).unwrap() == kept), (results.clone(), true));
    for (depth, more, difference) in [
        ("2", &[][..], "depth is 1 there and 2 here"),
        ("1", &["--exact-empties", "9"], "exact is 12 there and 9 here"),
        ("1", &["--seed", "2"], "seed is 1 there and 2 here"),
    ] {
        let error = refused(weights, depth, more);
        assert!(error.contains(difference), "{error}");
    }
    assert_eq!(value(&plays("mobility"), "pairs"), ["2"]);
    let joined = fs::read(games).unwrap();
    assert!(joined.starts_with(&kept));
    // The same file under another name is the same player, another one under the same name is not.
    let copied = copy.to_str().unwrap();
    assert_eq!(value(&plays(copied), "discs"), value(&results, "discs"));
    fs::copy(constant_weights(folder.path(), 5), weights).unwrap();
    let error = refused(weights, "1", &[]);
    // Hashes are abbreviated.
    let (_, there) = error.split_once("weights is ").unwrap();
    let hashes: Vec<_> = there.split_whitespace().take(4).collect();
    assert!(hashes[1..3] == ["there", "and"] && [hashes[0], hashes[3]].iter().all(|hash| hash.len() == 12), "{error}");
    assert_eq!(fs::read(games).unwrap(), joined);
    // Only a log is touched.
    fs::write(games, "f5d6c3\n").unwrap();
    assert!(refused(copied, "1", &[]).contains("left as it is"));
    assert_eq!(fs::read(games).unwrap(), b"f5d6c3\n");
}

#[test]
fn forfeits_are_reported_and_answers_cannot_control_the_terminal() {
    let script = "while read -r line; do case $line in genmove*) printf \"= \\033[2Jx\\n\\n\";; *) printf \"= x\\n\\n\";; esac; done";
    let other = format!("gtp:sh -c '{script}'");
    let results = run_with(&["match", "squares", &other, "--pairs", "2", "--depth", "1"], "");
    let (out, talk) = (String::from_utf8(results.stdout).unwrap(), String::from_utf8(results.stderr).unwrap());
    assert_eq!(value(&out, "forfeits"), ["0", "4"]);
    let reasons: Vec<_> = out.lines().filter(|line| line.starts_with("second\t2\t")).map(columns).collect();
    assert_eq!(reasons.len(), 2);
    assert!(reasons.iter().all(|reason| reason[2].contains("\\u{1b}[2Jx")), "{out}");
    assert!(
        !out.contains('\u{1b}') && !talk.contains('\u{1b}') && talk.contains("lost by the second player"),
        "{talk}"
    );
}

#[test]
fn nboard_engines_are_asked_for_a_depth_only_if_one_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let heard = folder.path().join("heard.txt");
    let other = format!("nboard:sh -c 'tee -a \"{}\" | \"{PROGRAM}\" nboard -w squares'", heard.display());
    let play = |other: &str| {
        let results = stdout(&["match", "squares", other, "--depth", "1", "--pairs", "1", "-q", "--threads", "1"], "");
        let commands = fs::read_to_string(&heard).unwrap();
        fs::remove_file(&heard).unwrap();
        (value(&results, "discs").into_iter().map(str::to_owned).collect::<Vec<_>>(), commands)
    };
    let (own, commands) = play(&other);
    assert!(commands.contains("go\n") && !commands.contains("set depth"), "{commands}");
    assert!(commands.ends_with("\nquit\n"), "{commands}");
    let (shallow, commands) = play(&format!("{other}:depth=1"));
    assert!(commands.contains("set depth 1\n"), "{commands}");
    // Equal players at equal depths; the server's own depth is another.
    assert_eq!(shallow[0], "0.000");
    assert_ne!(own, shallow);
    for command in ["match", "league"] {
        assert!(refusal(&[command, "squares", "mobility", "--move-time", "3"], "", 2).contains("gtp:COMMAND"));
    }
}

#[test]
fn options_that_no_player_takes_are_refused() {
    for (player, option) in [
        ("squares:depth=2", ["--depth", "3"]),
        ("squares:nodes=9", ["--depth", "3"]),
        ("squares:exact=2", ["--exact-empties", "3"]),
        ("squares:nodes=9", ["--exact-empties", "3"]),
        ("squares:selectivity=off", ["--selectivity", "1.5"]),
        ("gtp:none", ["--depth", "3"]),
    ] {
        for command in ["match", "league"] {
            let other = player.replace("squares", "mobility").replace("none", "other");
            let error = refusal(&[&[command, player, &other][..], &option].concat(), "", 2);
            assert!(error.contains(&format!("{} is for", option[0])) && error.contains("there "), "{error}");
        }
    }
}

#[test]
#[cfg(unix)]
fn an_engine_that_cannot_be_restarted_leaves_the_results_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("note");
    // It ends in the second pair, and does not start again.
    let script = format!(
        "test -e {note} && exit 1; touch {note}; i=0; while test $i -lt 200 && read -r line; do echo \"$line\"; i=$((i+1)); done \
         | \"{PROGRAM}\" gtp -w squares --depth 1",
        note = note.display()
    );
    for (command, shown) in [("match", "pairs\t"), ("league", "depth\t1")] {
        let _ = fs::remove_file(&note);
        let other = format!("gtp:sh -c '{script}'");
        let arguments = [command, "squares", &other, "--pairs", "9", "--depth", "1", "--threads", "1", "-q"];
        let output = run_with(&arguments, "");
        let (out, error) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(1), "{out}{error}");
        assert!(error.contains("could not start") && error.contains("With --games FILE"), "{error}");
        assert!(out.contains(shown), "{out}{error}");
    }
}

#[test]
fn failing_players_are_reported() {
    let broken = "gtp:flipside-no-such-program";
    assert!(refusal(&["match", "squares", broken, "--pairs", "1", "-q"], "", 1).contains("flipside-no-such-program"));
    assert!(refusal(&["match", "squares", "no/such.fsw", "-q"], "", 1).contains("no/such.fsw"));
    let endless = ["match", "squares", "gtp:x", "--move-time", "18446744073709551615"];
    assert!(refusal(&endless, "", 2).contains("1..=86400"));
    let openings = ["match", "squares", "squares", "--openings", "-q/none"];
    assert!(refusal(&openings, "", 2).contains("--openings"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("openings.txt");
    fs::write(&file, "f5d6\nf5f5\n").unwrap();
    let arguments = ["match", "squares", "squares", "--openings", file.to_str().unwrap()];
    assert!(refusal(&arguments, "", 1).contains("line 2"));
}

#[test]
fn openings_are_read_as_people_have_them() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("games.jsonl").display().to_string();
    let start = "BO[8 -------- -------- -------- ---O*--- ---*O--- -------- -------- -------- *]";
    let openings = [
        "f5d6c3d3\n".to_owned(),
        "# a comment\n1. F5, D6 2. C3, D3 +2 % another\n".to_owned(),
        "c5e6f3e3\n".to_owned(),
        format!("{}\n", "f5d6c3d3".parse::<Diagram>().unwrap()),
        format!("(;GM[Othello]TY[8k]KM[1.5]RE[-127]{start}B[f5]W[d6]B[c3]W[d3];)"),
        "(;FF[4]GM[2]AB[e4][d5]AW[d4][e5]PL[B];B[f5];W[d6];B[c3];W[d3])".to_owned(),
    ];
    for opening in openings {
        let command =
            ["match", "squares", "mobility", "--depth", "1", "--openings", "-", "--pairs", "1", "-q", "--games", &log];
        stdout(&command, &opening);
        let games = stdout(&["convert", &log, "--to", "f5d6", "-q"], "");
        // The mirrored game is the same, up to symmetry, as are those that lead to one position.
        let openings = games.lines().map(|game| game[..8].parse::<Diagram>().unwrap().position);
        let wanted = canonical("f5d6c3d3".parse::<Diagram>().unwrap().position);
        assert!(openings.map(canonical).eq([wanted; 2]), "{opening}: {games}");
        fs::remove_file(&log).unwrap();
    }
    let error = refusal(&["match", "squares", "mobility", "--openings", "-"], "f5d6\n\nf5x6\n", 1);
    assert!(error.contains("standard input: line 3: move 2: expected a square such as f5, found `x6`"), "{error}");
}

#[test]
fn records_of_others_are_converted() {
    let ggf = "1 (;GM[Othello]PC[GGS/os]RB[2000]TI[15:00//02:00]TY[8k]KM[+8.000]RE[+2.000:s]B[e6]W[f4]B[e3];)";
    let positions = stdout(&["convert", "-", "--to", "obf", "-q"], ggf);
    assert!(positions.lines().next().unwrap().ends_with("X; E6:+10;"), "{positions}");
    let again = stdout(&["convert", "-", "--to", "ggf", "-q"], ggf);
    assert!(
        again.contains("KM[+8.000]RE[+2.000:s]") && again.contains("RB[2000]") && again.contains("TY[8k]"),
        "{again}"
    );
    let cut = format!("{} 2 {}", &ggf[..40], &ggf[2..]);
    let output = run_with(&["convert", "-", "--to", "f5d6", "--skip-bad"], &cut);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "e6f4e3\n");
    assert!(String::from_utf8(output.stderr).unwrap().contains("1 read, 1 written, 1 left out"));
    let sgf = stdout(&["convert", "-", "--to", "sgf", "-q"], ggf);
    assert_eq!(stdout(&["convert", "-", "--to", "f5d6", "-q"], &sgf), "e6f4e3\n");
    let edax = "(;FF[4]GM[2]AP[edax:4.4]SZ[8]AB[e4][d5]AW[d4][e5]PL[B]RE[Void]B[f5];W[d6];B[c3];)";
    assert_eq!(stdout(&["convert", "-", "--to", "f5d6", "-q"], edax), "f5d6c3\n");
    assert_eq!(stdout(&["eval", "-w", "mobility"], edax), stdout(&["eval", "-w", "mobility", "f5d6c3"], ""));
}

/// Waits until a condition holds; a test that waits in vain does not end.
#[cfg(unix)]
fn wait_until(holds: impl Fn() -> bool) {
    while !holds() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[cfg(unix)]
#[test]
fn engines_die_with_the_match_however_it_ends() {
    use rustix::process::{Pid, Signal, kill_process, test_kill_process};
    for signal in [Signal::KILL, Signal::HUP, Signal::TERM] {
        let folder = tempfile::tempdir().unwrap();
        let note = folder.path().join("pids");
        // An engine that says nothing and has a child of its own; neither ever reads its input.
        let script = format!(r#"sleep 3600 & echo $! $$ > "{0}.new"; mv "{0}.new" "{0}"; wait"#, note.display());
        let mut program = program();
        program.args(["match", "squares", &format!("gtp:sh -c '{script}'"), "--pairs", "1", "-q"]);
        let mut program = Ends(program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        wait_until(|| note.exists());
        let pids = fs::read_to_string(&note).unwrap();
        kill_process(Pid::from_child(&program.0), signal).unwrap();
        program.0.wait().unwrap();
        for pid in pids.split_whitespace() {
            let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
            // Whoever adopts it may take its time, or leave a zombie.
            let is_zombie = || {
                let status = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid()));
                status.is_ok_and(|status| status.contains(") Z "))
            };
            wait_until(|| test_kill_process(pid).is_err() || is_zombie());
        }
    }
}

#[cfg(unix)]
#[test]
fn a_stopped_match_or_league_prints_the_results_so_far() {
    use rustix::process::{Pid, Signal, kill_process};
    for (command, results) in [("match", "pentanomial\t"), ("league", "depth\t3\n")] {
        let folder = tempfile::tempdir().unwrap();
        let games = folder.path().join("games.jsonl");
        let mut program = program();
        program.args([command, "squares", "mobility", "--depth", "3", "--pairs", "10000", "-q", "--games"]).arg(&games);
        let mut program = Ends(program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        // Some pairs of games.
        wait_until(|| fs::metadata(&games).is_ok_and(|file| file.len() > 10_000));
        kill_process(Pid::from_child(&program.0), Signal::TERM).unwrap();
        let (mut shown, mut said) = (String::new(), String::new());
        program.0.stdout.take().unwrap().read_to_string(&mut shown).unwrap();
        program.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(program.0.wait().unwrap().code(), Some(75), "{said}");
        assert!(shown.contains(results), "{shown}");
        assert!(said.contains("the same command resumes the"), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn a_match_stops_within_a_search_and_is_resumed() {
    use rustix::process::{Pid, Signal, kill_process};
    let folder = tempfile::tempdir().unwrap();
    let (note, games) = (folder.path().join("note"), folder.path().join("games.jsonl"));
    // Its first move takes an hour, unless somebody has waited for it before.
    let script = format!(
        "while read -r line; do case $line in genmove*) [ -e '{0}' ] || {{ touch '{0}'; sleep 3600; }}; echo = pass;; *) echo =;; esac; done",
        note.display()
    );
    let engine = format!("gtp:sh -c \"{}\"", script.replace('$', "\\$"));
    let arguments =
        ["match", "squares", &engine, "--pairs", "2", "--depth", "1", "-q", "--threads", "1", "--move-time"];
    let arguments = [&arguments[..], &["3600", "--games", games.to_str().unwrap()]].concat();
    let mut program = program();
    let mut program = Ends(program.args(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    wait_until(|| note.exists());
    kill_process(Pid::from_child(&program.0), Signal::TERM).unwrap();
    assert_eq!(program.0.wait().unwrap().code(), Some(75));
    let results = stdout(&arguments, "");
    assert_eq!((value(&results, "pairs"), value(&results, "forfeits")), (vec!["2"], vec!["0", "4"]));
}

#[cfg(target_os = "linux")]
#[test]
fn threads_that_the_system_refuses_are_an_error() {
    // Room for the stack of one more thread each time, until a match works.
    const STACK: u64 = 1 << 30;
    let engine = format!("gtp:env -u RUST_MIN_STACK '{PROGRAM}' gtp -w squares --threads 1 --log2-hash 1");
    let errors: Vec<_> = (0..10)
        .map_while(|threads| {
            let mut shell = command("sh");
            let kilobytes = (threads * STACK + STACK / 2) / 1024;
            shell.args(["-c", &format!("ulimit -v {kilobytes}; exec \"$@\""), "sh", PROGRAM]);
            shell.args(["match", "squares", &engine, "--pairs", "1", "--depth", "1", "--threads", "1", "-q"]);
            shell.env("RUST_MIN_STACK", STACK.to_string());
            let output = finish(shell, "");
            (!output.status.success()).then(|| String::from_utf8(output.stderr).unwrap())
        })
        .collect();
    assert!(errors.len() < 10 && errors.iter().any(|error| error.contains("cannot listen to it")), "{errors:?}");
    assert!(!errors.iter().any(|error| error.contains("panicked")), "{errors:?}");
}

#[test]
fn servers_answer_until_the_input_ends() {
    let gtp = stdout(&["gtp", "-w", "squares", "--depth", "2"], "1 name\nplay b f5\ngenmove w\nfly\n");
    assert!(gtp.starts_with("=1 flipside\n\n=\n\n= ") || gtp.starts_with("=1 flipside\n\n= \n\n= "), "{gtp}");
    assert!(gtp.contains("? "), "{gtp}");
    let nboard = stdout(&["nboard", "-w", "squares"], "nboard 2\nping 7\nset depth 3\ngo\n");
    assert!(nboard.contains("pong 7") && nboard.contains("=== "), "{nboard}");
    // Nobody is left to stop a search that would take forever.
    assert!(stdout(&["nboard", "-w", "squares"], "set depth 60\ngo\n").contains("=== "));
    assert!(stdout(&["gtp", "-w", "squares", "--depth", "60"], "genmove b\n").starts_with("= "));
    // A folder can be opened for reading, but not read.
    let mut program = program();
    program.args(["gtp", "-w", "squares"]).stdin(fs::File::open(env!("CARGO_MANIFEST_DIR")).unwrap());
    let output = program.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && error.contains("cannot read standard input: "), "{error}");
}

#[test]
fn games_are_converted() {
    assert_eq!(stdout(&["convert", "-", "--to", "f5d6"], "F5D6C3\n"), "f5d6c3\n");
    let ggf = stdout(&["convert", "-", "--to", "ggf"], "f5d6c3\n");
    assert!(ggf.starts_with("(;GM[Othello]"), "{ggf}");
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("games.txt");
    let to = output.to_str().unwrap();
    assert_eq!(stdout(&["convert", "-", "--to", "f5d6", "-o", to], &ggf), "");
    assert_eq!(fs::read_to_string(&output).unwrap(), "f5d6c3\n");
    // What is wrong with a whole file cannot be skipped.
    let cut = folder.path().join("cut.wtb");
    fs::write(&cut, [&[0; 4][..], &[3], &[0; 20]].concat()).unwrap();
    let error = refusal(&["convert", cut.to_str().unwrap(), "--to", "f5d6"], "", 1);
    assert!(
        error.contains("announces 3 games") && error.contains("--from") && !error.contains("--skip-bad"),
        "{error}"
    );
    // A bad record leaves the old file as it was.
    assert!(refusal(&["convert", "-", "--to", "f5d6", "-o", to], "f5d6\nf5f5\n", 1).contains("--skip-bad"));
    assert_eq!(fs::read_to_string(&output).unwrap(), "f5d6c3\n");
    assert_eq!(stdout(&["convert", "-", "--to", "f5d6", "--skip-bad"], "f5d6\nf5f5\nf5\n"), "f5d6\nf5\n");
    assert!(refusal(&["convert", "-", "--to", "wthor"], "f5d6\n", 2).contains("wthor"));
    assert!(refusal(&["convert", "-", "--to", "pgn"], "f5d6\n", 2).contains("pgn"));
}

#[test]
fn pairs_by_points_and_the_bounds_of_a_test_are_shown() {
    let arguments = ["match", "mobility", "squares", "--pairs", "20", "--depth", "1", "--sprt", "0,1"];
    let output = run_with(&[&arguments[..], &["--progress", "always"]].concat(), "");
    let (results, talk) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let count = |text: &str| text.parse::<u32>().unwrap();
    let pairs: Vec<u32> = value(&results, "pentanomial").into_iter().map(count).collect();
    assert_eq!((pairs.len(), pairs.iter().sum()), (5, count(value(&results, "pairs")[0])), "{results}");
    let points: u32 = (0..).zip(&pairs).map(|(points, pairs)| points * pairs).sum();
    assert_eq!(points, 2 * count(value(&results, "wins")[0]) + count(value(&results, "draws")[0]), "{results}");
    assert_eq!(value(&results, "sprt.bounds"), ["-2.944", "2.944"], "{results}");
    let llr: f64 = value(&results, "sprt.llr")[0].parse().unwrap();
    assert!(talk.contains(&format!("LLR {llr:.2} (-2.94, 2.94)")), "{talk}");
    let settings = [("depth", "1"), ("exact_empties", "12"), ("openings", "XOT"), ("seed", "1")];
    assert!(settings.iter().all(|(name, set)| value(&results, name) == [*set]), "{results}");
    let own = stdout(&["match", "mobility:depth=1", "squares:depth=1,exact=8", "--pairs", "1", "-q"], "");
    assert_eq!(["depth", "exact_empties"].map(|name| value(&own, name)[0]), ["-", "12"]);
}

#[test]
fn times_are_those_of_games_that_were_played() {
    let folder = tempfile::tempdir().unwrap();
    let games = folder.path().join("games.jsonl");
    let play = |more: &[&str]| {
        let games = games.to_str().unwrap();
        let common =
            ["match", "mobility", "squares", "--pairs", "2", "--depth", "1", "--times", "--games", games, "-q"];
        stdout(&[&common, more].concat(), "")
    };
    assert!(value(&play(&[]), "seconds").iter().all(|seconds| seconds.parse::<f64>().is_ok()));
    assert_eq!(value(&play(&[]), "seconds"), ["-", "-"]);
    let json: serde_json::Value = serde_json::from_str(&play(&["--json"])).unwrap();
    assert_eq!(json["seconds"], serde_json::json!([null, null]));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_even_if_something_else_failed() {
    use rustix::process::{Pid, Signal, kill_process};
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("note");
    let engine = format!("gtp:sh -c 'touch {}; sleep 3600'", note.display());
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut program = program();
    program.args(["match", "squares", &engine, "--pairs", "1", "-q"]).stdout(full).stderr(Stdio::piped());
    let program = program.spawn().unwrap();
    wait_until(|| note.exists());
    kill_process(Pid::from_child(&program), Signal::TERM).unwrap();
    let output = program.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && error.contains("cannot write to standard output"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_stop_counts_even_if_nobody_reads_the_results() {
    use rustix::process::{Pid, Signal, kill_process};
    let folder = tempfile::tempdir().unwrap();
    // So many that the tables are more than a buffer holds.
    let player = |(depth, exact)| format!("squares:depth={depth},exact={exact}");
    let players: Vec<_> = (1..5).flat_map(|depth| (0..6).map(move |exact| player((depth, exact)))).collect();
    let players: Vec<_> = players.iter().map(String::as_str).collect();
    for (command, players) in [("match", &["squares", "mobility"][..]), ("league", &players)] {
        for json in [&[][..], &["--json"]] {
            let log = folder.path().join(format!("{command}{}.jsonl", json.len()));
            let play = [command, "--pairs", "10000", "-q", "--games", log.to_str().unwrap()];
            let mut program = Ends(spawn_unread(&[&play[..], json, players].concat()));
            // The players are written as it begins, and then the games.
            wait_until(|| fs::read_to_string(&log).is_ok_and(|text| text.contains(r#"{"game""#)));
            kill_process(Pid::from_child(&program.0), Signal::TERM).unwrap();
            assert_eq!(program.0.wait().unwrap().code(), Some(75), "{command} {json:?}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn games_kept_before_the_disk_was_full_are_said_to_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["match", "league"] {
        let log = folder.path().join(format!("{command}.jsonl"));
        // No file may grow beyond some KB: as if the disk were full.
        let script = format!(
            "ulimit -f 8; exec '{PROGRAM}' {command} squares mobility --depth 1 --pairs 100 -q --games '{}'",
            log.display()
        );
        let output = crate::support::command("bash").args(["-c", &script]).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && error.contains("cannot keep the games"), "{error}");
        assert!(error.contains(&format!("The games are kept: the same command resumes the {command}.")), "{error}");
    }
}
