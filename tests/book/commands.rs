//! `flipside book`, and playing from books.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use flipside::board::{Diagram, Side, Transcript};

use crate::calling::*;
use crate::support::{content, damage_page, pages, place, random_games};

/// The value of a name in lines of names and values.
fn value<'a>(text: &'a str, name: &str) -> &'a str {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'))
        .unwrap_or_else(|| panic!("{name}: {text}"))
}

fn grown(path: &str, positions: u32) -> String {
    let count = positions.to_string();
    stdout(&["book", "grow", path, "--positions", &count, "--depth", "2", "--exact-empties", "8", "-q"], "")
}

#[test]
fn a_book_is_grown_shown_checked_and_exported() {
    let (folder, path) = place();
    let path = path.to_str().unwrap();
    assert_eq!(value(&grown(path, 300), "positions"), "300");
    assert_eq!(value(&grown(path, 300), "searched"), "0", "the same command has nothing left to do");
    let shown = stdout(&["book", "show", path, "--line"], "");
    assert!(shown.contains("book\t300 positions") && shown.contains("move\tvalue\terror"), "{shown}");
    let error: f32 = value(&shown, "error").parse().unwrap();
    assert!(error > 0.5, "measured: {error}");
    let line: Transcript = value(&shown, "line").parse().unwrap();
    assert!(line.moves().len() > 2, "{shown}");
    // Rotated, the position is the same.
    let values = |text: &str| {
        text.lines()
            .filter(|line| line.contains('.'))
            .map(|line| line.split_once('\t').unwrap().1.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        values(&stdout(&["book", "show", path, "f5d6"], "")),
        values(&stdout(&["book", "show", path, "e6f4"], ""))
    );
    let anywhere = Transcript::from_moves(&random_games(1, 1)[0].moves()[..30]).unwrap().to_string();
    assert!(refusal(&["book", "show", path, &anywhere], "", 1).contains("not in the book"));
    assert!(refusal(&["book", "show", path, "a1"], "", 1).contains("`a1` is not a position"));

    assert_eq!(value(&stdout(&["book", "check", path], ""), "inconsistent"), "0");
    let edax = folder.path().join("book.dat").display().to_string();
    let back = folder.path().join("back.fsb").display().to_string();
    stdout(&["book", "export", path, "--to", "edax", "-o", &edax], "");
    assert_eq!(value(&stdout(&["book", "import", &edax, "-o", &back], ""), "positions"), "300");
    let obf = stdout(&["book", "export", path, "--to", "obf", "-o", "-"], "");
    assert_eq!(
        flipside::record::lines::parse_positions(&obf).unwrap().iter().filter(|d| d.score.is_some()).count(),
        300
    );
    let merged = folder.path().join("merged.fsb").display().to_string();
    assert_eq!(value(&stdout(&["book", "merge", path, &back, "-o", &merged], ""), &merged), "300");
    assert!(refusal(&["book", "merge", path, &back, "-o", path], "", 2).contains("is the input"));
    let small = folder.path().join("small.fsb").display().to_string();
    let kept: u32 =
        value(&stdout(&["book", "prune", path, "-o", &small, "--within", "1"], ""), "kept").parse().unwrap();
    assert!(kept < 300);

    // A page with the start position, and with others that no other page tells.
    let lost = |fixed: &str| value(fixed, "lost").parse::<u64>().unwrap();
    let whole = fs::read(path).unwrap();
    let is_damaged = |page: &usize| {
        fs::write(path, &whole).unwrap();
        damage_page(Path::new(path), *page);
        run_with(&["book", "show", path], "").status.code() == Some(1)
            && Some(run_with(&["book", "fix", path], ""))
                .is_some_and(|fixed| fixed.status.success() && lost(&String::from_utf8(fixed.stdout).unwrap()) > 0)
    };
    let page = (0..pages(Path::new(path))).find(is_damaged).unwrap();
    fs::write(path, &whole).unwrap();
    damage_page(Path::new(path), page);
    let output = run_with(&["book", "check", path], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout).unwrap().contains(&format!("damage\tbyte {}\t", 512 + 4104 * page)));
    assert!(refusal(&["book", "show", path], "", 1).contains("book check"));
    let player = format!("squares:book={path}");
    let error = refusal(&["match", &player, "mobility", "--opening-plies", "0", "--pairs", "1", "-q"], "", 1);
    assert!(error.contains("checksum"), "{error}");
    let lost = lost(&stdout(&["book", "fix", path], ""));
    assert!((1..100).contains(&lost), "{lost}");
    stdout(&["book", "check", path], "");
}

#[test]
fn a_book_without_the_start_is_not_pruned() {
    let (folder, path) = place();
    flipside::book::Book::edit_or_create(&path).unwrap();
    let small = folder.path().join("small.fsb");
    let error = refusal(&["book", "prune", path.to_str().unwrap(), "-o", small.to_str().unwrap()], "", 1);
    assert!(error.contains("nothing is reached from it") && error.contains("grow BOOK --positions 1"), "{error}");
    assert!(!small.exists());
}

#[test]
fn uncalibrated_weights_cannot_grow_a_book() {
    let (_folder, path) = place();
    let error = refusal(&["book", "grow", path.to_str().unwrap(), "--positions", "9", "-w", "mobility"], "", 1);
    assert!(error.contains("`mobility` is not calibrated") && error.contains("use a calibrated file"), "{error}");
    assert!(!path.exists());
    assert!(refusal(&["book", "grow", "b.fsb"], "", 2).contains("--hours"));
}

/// How many lines a command that adds nothing prints on standard error.
fn refused_lines(arguments: &[&str], input: &str) -> usize {
    let output = run_with(&[arguments, &["-"]].concat(), input);
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr).unwrap().lines().count()
}

#[test]
fn games_are_added_once_and_searched() {
    let (folder, path) = place();
    let path = path.to_str().unwrap();
    let game = "f5d6c3d3c4f4f6f3e6e7d7c5b6d8c6c7d2b5a5a6a7g5e3b4c8g6g4c2e8d1f7e2g3h4f1e1f2g1b1f8g8b3h3b2h5b7a3a4a1a2c1h2h1g2b8a8g7h8h7h6";
    let input = format!("{game}\n{game}\nf5d6c3\nrubbish\n");
    let arguments = ["book", "add", path, "-", "--depth", "1", "--exact-empties", "8", "--min-empties", "50", "-q"];
    let added = stdout(&arguments, &input);
    assert_eq!((value(&added, "games"), value(&added, "left out"), value(&added, "new")), ("2", "2", "11"));
    // Many bad lines are counted, but not all reported.
    let bad = refused_lines(&arguments[..3], &"rubbish\n".repeat(500));
    assert!(bad < 30, "{bad} lines");
    let shown = stdout(&["book", "show", path, "f5"], "");
    assert!(value(&shown, "games").starts_with("2\t") && shown.contains("leaf, 1 ply"), "{shown}");
    assert_eq!(value(&stdout(&["book", "check", path], ""), "inconsistent"), "0");
    // Near the end positions are solved.
    let whole = folder.path().join("whole.fsb");
    let whole = whole.to_str().unwrap();
    stdout(&["book", "add", whole, "-", "--depth", "1", "--exact-empties", "8", "--min-empties", "4", "-q"], game);
    let shown = stdout(&["book", "show", whole, &game[..2 * 53]], "");
    assert!(value(&shown, "searched") == "solved" && shown.ends_with("\tsolved\n"), "{shown}");
}

#[test]
fn files_of_another_kind_are_refused_with_what_to_do() {
    let (folder, path) = place();
    let path = path.to_str().unwrap();
    grown(path, 20);
    let name = |name: &str| folder.path().join(name).display().to_string();
    let (edax, other) = (name("book.dat"), name("other.fsb"));
    stdout(&["book", "export", path, "--to", "edax", "-o", &edax], "");
    for book in [path, &edax] {
        for command in [&["book", "add", path, book][..], &["fit", book, "-o", &other], &["train", "--records", book]] {
            let error = refusal(command, "", 1);
            assert!(error.contains("is an opening book") && error.contains("book export"), "{error}");
            assert_eq!(error.lines().count(), 2, "{error}");
        }
    }
    let (unfinished, folder) = (name("short.txt"), folder.path().display().to_string());
    fs::write(&unfinished, "f5d6\n").unwrap();
    assert!(refusal(&["book", "add", &other, &unfinished], "", 1).contains("1 game left out, and nothing is added"));
    assert!(refusal(&["book", "add", &other, &folder], "", 1).contains("it is not a run"));
    let error = refusal(&["book", "import", path, "-o", &other], "", 1);
    assert!(error.contains("flipside's own"), "{error}");
    let (binary, empty) = (name("games.wtb"), name("empty"));
    fs::write(&binary, [20, 26, 11, 22, 0, 0, 0, 0, 0, 0, 0xea, 7, 8, 0, 22, 0]).unwrap();
    fs::write(&empty, "").unwrap();
    let error = refusal(&["book", "import", &binary, "-o", &other], "", 1);
    assert!(error.contains("not the first bytes of a known book"), "{error}");
    let error = refusal(&["book", "import", &empty, "-o", &other], "", 1);
    assert!(error.contains("there is no position in it"), "{error}");
    if cfg!(unix) {
        let error = refusal(&["book", "import", "/dev/stdin", "-o", &other], "a book", 2);
        assert!(error.contains("--from"), "{error}");
        for command in [&["fit", "/dev/stdin", "-o", &other][..], &["book", "show", "/dev/stdin"]] {
            assert!(refusal(command, "games", 1).contains("/dev/stdin: this is a pipe"), "{command:?}");
        }
    }
    assert!(!fs::exists(&other).unwrap());
    let error = refusal(&["book", "show", &edax], "", 1);
    assert!(error.contains("flipside book import") && !error.contains("book fix"), "{error}");
    let book = flipside::book::Book::edit(std::path::Path::new(path)).unwrap();
    let error = refusal(&["gtp", "--book", path], "", 1);
    assert!(error.contains("another process is changing this book") && error.contains("--no-learn"), "{error}");
    let error = refusal(&["book", "grow", path, "--positions", "1"], "", 1);
    assert!(error.contains("Wait until it has ended") && !error.contains("learn"), "{error}");
    drop(book);
}

#[test]
fn faults_count_even_if_nobody_reads_them() {
    let (_folder, path) = place();
    let name = path.to_str().unwrap();
    grown(name, 200);
    assert_eq!(run_unread(&["book", "check", name], ""), (Some(0), String::new()));
    let whole = fs::read(&path).unwrap();
    // Spare bytes at the end are no damage.
    fs::write(&path, [&whole[..], &[0; 4104]].concat()).unwrap();
    assert!(flipside::book::check(&path).unwrap().is_none());
    let is_damaged = |page: &usize| {
        fs::write(&path, &whole).unwrap();
        damage_page(&path, *page);
        flipside::book::check(&path).is_ok_and(|faults| !faults.is_none())
    };
    (0..pages(&path)).find(is_damaged).unwrap();
    let (code, error) = run_unread(&["book", "check", name], "");
    assert!(code == Some(1) && error.contains("has faults"), "{error}");
}

/// As after damage: a position all of whose moves were in the book, of which it has lost all but one.
#[test]
fn a_book_does_not_play_where_moves_are_missing() {
    let (folder, path) = place();
    let (path, text) = (path.to_str().unwrap(), folder.path().join("book.txt"));
    let after = |moves: &str| {
        let diagram = moves.parse::<Transcript>().unwrap().last();
        Diagram { side: Side::Black, ..diagram }
    };
    fs::write(&text, format!("{},9,--,-127\n{},9,e3,+60\n", after("f5"), after("f5f4"))).unwrap();
    stdout(&["book", "import", text.to_str().unwrap(), "-o", path], "");
    assert_eq!(value(&stdout(&["book", "show", path, "f5"], ""), "searched"), "not all moves are known");
    let answer = stdout(&["gtp", "--book", path, "--no-learn", "--depth", "4"], "play b f5\nreg_genmove w\nquit\n");
    assert!(answer.contains("= d6\n"), "{answer}");
    stdout(&["book", "grow", path, "--positions", "1", "--depth", "4", "-q"], "");
    assert_eq!(value(&stdout(&["book", "show", path, "f5"], ""), "searched"), "4 plies");
}

#[test]
fn engines_play_from_their_books() {
    let (_folder, path) = place();
    let path = path.to_str().unwrap();
    grown(path, 200);
    let shown = stdout(&["book", "show", path, "f5"], "");
    let best = shown.lines().skip_while(|line| !line.starts_with("move")).nth(1).unwrap().split('\t').next().unwrap();
    let before = content(Path::new(path));
    let with = |command: &'static str| vec![command, "--book", path, "-w", "squares", "--depth", "1", "-q"];
    let answer = stdout(&with("gtp"), "play b f5\ngenmove w\nquit\n");
    assert!(answer.contains(&format!("= {best}\n")), "{answer} {shown}");
    let board = "BO[8 -------- -------- -------- ---O*--- ---*O--- -------- -------- -------- *]";
    let answer = stdout(&with("nboard"), &format!("nboard 2\nset game (;GM[Othello]{board}B[F5];)\ngo\nquit\n"));
    assert!(answer.contains(&format!("=== {best}/")), "{answer}");
    let answer = stdout(&[with("play"), vec!["--colour", "black"]].concat(), "f5\nquit\n");
    let line = answer.lines().find(|line| line.contains("from the book")).unwrap();
    assert!(line.contains(&format!("white (O) plays {best} from the book: ")) && line.ends_with(" discs"), "{line}");
    assert!(content(Path::new(path)) == before, "no game came to its end");
}

#[test]
fn players_of_matches_and_leagues_have_books() {
    let (_folder, path) = place();
    let path = path.to_str().unwrap();
    grown(path, 200);
    let first = format!("squares:book={path}");
    let common = ["--depth", "1", "--pairs", "2", "--opening-plies", "2", "-q"];
    let report = stdout(&[&["match", &first, "squares"][..], &common].concat(), "");
    assert_eq!(value(&report, "first"), first);
    assert!(stdout(&[&["league", &first, "squares"][..], &common].concat(), "").contains(&first));
    let error = refusal(&["match", "squares:choice=varied", "mobility", "--pairs", "1"], "", 2);
    assert!(error.contains("`squares:choice=varied`: `choice` needs a book"), "{error}");
    assert!(refusal(&["match", "squares:book=/none.fsb", "mobility", "--pairs", "1"], "", 1).contains("/none.fsb"));
    let error = refusal(&["gtp", "--book", path, "--book-within", "2"], "", 2);
    assert!(error.contains("--book-within needs --book-choice varied"), "{error}");
    assert!(refusal(&["book", "grow", path, "--minutes", "0"], "", 2).contains("above 0"));
}

#[test]
fn evaluations_are_those_of_the_books_best_move() {
    let (_folder, path) = place();
    let path = path.to_str().unwrap();
    grown(path, 200);
    let evaluations = |choice: &[&str]| {
        let arguments =
            ["nboard", "-w", "squares", "--depth", "1", "--exact-empties", "0", "--book", path, "--no-learn"];
        let answers =
            stdout(&[&arguments[..], choice].concat(), "nboard 2\nmove f5\nmove d6\nmove c3\nhint 20\nanalyze\n");
        let said = answers.lines().filter(|line| line.starts_with("search") || line.starts_with("analysis"));
        said.map(str::to_owned).collect::<Vec<_>>()
    };
    let best = evaluations(&[]);
    assert!(best.len() > 6, "{best:?}");
    for _ in 0..5 {
        assert_eq!(evaluations(&["--book-choice", "varied", "--book-within", "64"]), best);
    }
}

#[test]
fn a_run_that_was_killed_as_a_generation_began_has_games() {
    let (folder, path) = place();
    let run = folder.path().join("run");
    fs::create_dir_all(run.join("games")).unwrap();
    fs::write(run.join("games/00000000.fsg"), "").unwrap();
    fs::write(run.join("games/00000001.fsg"), b"\x89FSG\r\n").unwrap();
    let game = random_games(1, 1)[0].to_string();
    let book = path.to_str().unwrap();
    let add = |games: &str, input| stdout(&["book", "add", book, games, "--depth", "1", "-q"], input);
    let added = run_with(&["book", "add", book, run.to_str().unwrap(), "--depth", "1"], "");
    let [added, talk] = [added.stdout, added.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(added.is_empty() && talk.contains("there are no games in"), "{talk}");
    assert_eq!(talk.matches("its end is missing").count(), 2, "{talk}");
    assert!(refusal(&["book", "add", book, "-", "--depth", "1"], "", 1).contains("no games in standard input"));
    assert!(!path.exists());
    // They are known by their content too.
    let other = folder.path().join("games.bin");
    fs::write(&other, b"\x89FSG\r\n\x1a\n").unwrap();
    let added = run_with(&["book", "add", book, other.to_str().unwrap(), "--depth", "1"], "");
    assert!(String::from_utf8_lossy(&added.stderr).contains("its end is missing"), "{added:?}");
    assert_eq!(value(&add("-", &game), "games"), "1");
    // As when a shell expands to a run and the link `latest` to it.
    let [file, again] = ["games.txt", "run/../games.txt"].map(|name| folder.path().join(name).display().to_string());
    fs::write(&file, game).unwrap();
    let added = stdout(&["book", "add", book, &file, &again, "--depth", "1", "-q"], "");
    assert_eq!(value(&added, "games"), "1");
}

#[test]
#[cfg(unix)]
fn a_full_disk_and_a_kill_lose_nothing_that_was_there() {
    use std::os::unix::process::ExitStatusExt;
    let (_folder, path) = place();
    let name = path.to_str().unwrap();
    grown(name, 200);
    let before = fs::read(&path).unwrap();
    // No file may grow beyond some blocks: as if the disk were full.
    let script = format!(
        "ulimit -f {}; exec '{PROGRAM}' book grow '{name}' --positions 900 --depth 1 --exact-empties 8 -q",
        before.len() / 1024 + 1
    );
    let output = command("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains(name));
    let left: u64 = value(&stdout(&["book", "check", name], ""), "positions").parse().unwrap();
    assert!((200..900).contains(&left), "{left}");
    // Killed as soon as it has added something.
    let mut child = program();
    child.args(["book", "grow", name, "--positions", "1000000", "--depth", "3", "--exact-empties", "8", "-q"]);
    let mut child = Ends(child.spawn().unwrap());
    let length = fs::metadata(&path).unwrap().len();
    while fs::metadata(&path).unwrap().len() < length + 20_000 {
        sleep(Duration::from_millis(1));
    }
    child.0.kill().unwrap();
    assert_eq!(child.0.wait().unwrap().signal(), Some(9));
    let checked = stdout(&["book", "check", name], "");
    assert!(value(&checked, "positions").parse::<u64>().unwrap() > 300, "{checked}");
    assert_eq!(value(&checked, "inconsistent"), "0");
}

#[test]
#[cfg(unix)]
fn growing_stops_with_75_and_is_resumed() {
    let (_folder, path) = place();
    let name = path.to_str().unwrap();
    grown(name, 10);
    let length = fs::metadata(&path).unwrap().len();
    let arguments = ["book", "grow", name, "--positions", "100000", "--depth", "3", "--exact-empties", "8"];
    let mut command = program();
    let mut child = Ends(command.args(arguments).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap());
    while fs::metadata(&path).unwrap().len() <= length {
        sleep(Duration::from_millis(1));
    }
    let id = rustix::process::Pid::from_child(&child.0);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let mut error = String::new();
    child.0.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    assert_eq!(child.0.wait().unwrap().code(), Some(75), "{error}");
    assert!(error.contains("the same command resumes"), "{error}");
    stdout(&["book", "check", name], "");
}
