//! Game records: what is written is read back, what is wrong is refused with its place, and nothing makes a reader panic.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use flipside::board::{Diagram, Position, ScoredDiagram, Side, Square, Transcript, squares};
use flipside::eval::Score;
use flipside::label::{Labeller, RecordFile};
use flipside::learn::{Bound, Sample};
use flipside::record::{
    ConvertError, Converted, Finish, Format, Game, GameResult, MoveNote, Record, RecordError, Records, convert, lines,
    read, tree, write_ggf, write_sgf,
};
use flipside::search::EndgameSolver;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const FIRST: &str = "(;GM[Othello]PC[GGS/os]DT[2004.09.18_05:54:38.MDT]PB[ant one]PW[bee]RE[+2.000:r]TI[05:00//02:00]TY[8]\
    BO[8 -------- -------- -------- ---O*--- ---*O--- -------- -------- -------- *]\
    B[d3//0.01]W[c5/2.39/0.01]B[f6/-1.5];)";

/// A random legal game of at most `plies` moves, with notes on some of them.
fn random_game(rng: &mut ChaCha8Rng, start: Diagram, plies: usize) -> Game {
    let mut game = Game::new(start);
    while game.moves().len() < plies && game.last().position.moves() != 0 {
        let moves: Vec<_> = squares(game.last().position.moves()).collect();
        let some = |rng: &mut ChaCha8Rng| rng.random_bool(0.5).then(|| rng.random_range(-6400..6400) as f32 / 100.0);
        let note = MoveNote { evaluation: some(rng), seconds: some(rng).map(f32::abs) };
        game.push(moves[rng.random_range(0..moves.len())], note).unwrap();
    }
    game.result = game.score_on_board();
    game
}

fn random_diagram(rng: &mut ChaCha8Rng) -> Diagram {
    let (player, opponent): (u64, u64) = (rng.random(), rng.random());
    let side = if rng.random() { Side::Black } else { Side::White };
    Diagram { position: Position { player: player & !opponent, opponent: opponent & !player }, side }
}

fn ggf_text(game: &Game) -> Vec<u8> {
    let mut text = Vec::new();
    write_ggf(&mut text, game).unwrap();
    text
}

/// The games of a file, all of which can be read.
fn games(bytes: &[u8], format: Format) -> Vec<Game> {
    let game = |record: Result<Record, RecordError>| match record.unwrap() {
        Record::Game(game) => game,
        Record::Position(position) => panic!("{position:?}"),
    };
    read(bytes, format).unwrap().map(game).collect()
}

fn errors(records: Records<'_>) -> Vec<RecordError> {
    records.filter_map(Result::err).collect()
}

/// WTHOR bytes of games given as black's discs and a transcript.
fn wthor_bytes(games: &[(u8, &str)]) -> Vec<u8> {
    let mut bytes = vec![20, 4, 1, 2];
    bytes.extend((games.len() as u32).to_le_bytes());
    bytes.extend([0, 0, 0xce, 0x07, 8, 0, 22, 0]);
    for (discs, moves) in games {
        let moves: Transcript = moves.parse().unwrap();
        bytes.extend([7, 0, 1, 2, 3, 0, *discs, 40]);
        let codes = moves.moves().iter().map(|square| (square.index() / 8 * 10 + square.index() % 8 + 11) as u8);
        let codes: Vec<u8> = codes.chain(std::iter::repeat(0)).take(60).collect();
        bytes.extend(codes);
    }
    bytes
}

#[test]
fn ggf_is_read_in_full() {
    let games: Vec<_> = tree::read(FIRST.as_bytes()).collect();
    let [Ok(game)] = games.as_slice() else { panic!("{games:?}") };
    assert_eq!((game.black.as_str(), game.white.as_str()), ("ant one", "bee"));
    let tags = ["PC", "DT", "TI", "TY"].map(|name| game.tag(name));
    assert_eq!(tags, ["GGS/os", "2004.09.18_05:54:38.MDT", "05:00//02:00", "8"]);
    assert_eq!(game.result, Some(GameResult { discs: 2, finish: Finish::Resigned }));
    assert_eq!(game.transcript().unwrap().to_string(), "d3c5f6");
    let notes: Vec<_> = game.moves().iter().map(|(_, note)| (note.evaluation, note.seconds)).collect();
    assert_eq!(notes, [(None, Some(0.01)), (Some(2.39), Some(0.01)), (Some(-1.5), None)]);
}

#[test]
fn ggf_is_written_as_others_read_it() {
    let mut game = Game::from_moves("f5d6".parse::<Transcript>().unwrap().moves()).unwrap();
    (game.black, game.white) = ("a]b".into(), "c".into());
    game.add_tag("PC", "here");
    let expected = "(;GM[Othello]PC[here]PB[a b]PW[c]RE[?]TY[8]BO[8 -------- -------- -------- ---O*--- ---*O--- -------- \
        -------- -------- *]B[f5]W[d6];)\n";
    assert_eq!(String::from_utf8(ggf_text(&game)).unwrap(), expected);
}

#[test]
fn games_survive_ggf() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut all, mut games, mut passes) = (Vec::new(), Vec::new(), 0);
    for i in 0..300 {
        let start = if i % 3 == 0 { random_diagram(&mut rng) } else { Diagram::START };
        let plies = rng.random_range(0..=60);
        let mut game = random_game(&mut rng, start, plies);
        (game.black, game.white) = (format!("player {i}"), String::new());
        for (name, value) in [("RB", "2000.5"), ("TI", "15:00"), ("TY", "8k")] {
            game.add_tag(name, value);
        }
        game.komi = (i % 5) as f64 / 2.0;
        if i % 2 == 0 && game.score_on_board().is_none() {
            let finish = [Finish::Forfeited, Finish::Resigned, Finish::Agreed, Finish::Played][i % 8 / 2];
            game.result = Some(GameResult { discs: rng.random_range(-64..=64), finish });
        }
        let text = ggf_text(&game);
        passes += String::from_utf8_lossy(&text).matches("[PA]").count();
        all.extend(text);
        all.extend(b"12 (text between games)\n");
        games.push(game);
    }
    let read: Result<Vec<_>, _> = tree::read(&all).collect();
    assert_eq!(read.unwrap(), games);
    // SGF has no evaluations and times, and of results by loss only the winner.
    let mut sgf = Vec::new();
    games.iter().for_each(|game| write_sgf(&mut sgf, game).unwrap());
    for (read, game) in tree::read(&sgf).zip(&games) {
        let read = read.unwrap();
        assert!(read.steps().eq(game.steps()) && read.start() == game.start() && read.last() == game.last());
        assert_eq!((&read.black, &read.tags, read.komi), (&game.black, &game.tags, game.komi));
        assert_eq!(read.exact_discs(), game.exact_discs());
    }
    assert!(passes > 10, "{passes}");
}

#[test]
fn bad_ggf_says_what_and_where_and_reading_continues() {
    let fault = |from: &str, to: &str| {
        let text = FIRST.replacen(from, to, 1);
        assert_ne!(text, FIRST, "{from}");
        let both = text + "\n" + FIRST;
        let games: Vec<_> = tree::read(both.as_bytes()).collect();
        assert!(games.last().unwrap().is_ok(), "{from} {to}: {games:?}");
        games[0].clone().expect_err(to)
    };
    for (from, to) in [
        ("Othello", "Amazons"),
        ("TY[8]", "TY[8a]"),
        ("TY[8]BO[8", "TY[8]BO[10"),
        ("BO[8", "BO[10"),
        ("---O*---", "---O*--"),
        (" *]B[", " ]B["),
        (" *]B[", "O*]B["),
        ("B[d3//0.01]", "B[d3]BO[8 x]"),
        ("B[d3//0.01]", "W[d3]"),
        ("B[d3//0.01]", "B[PA]"),
        ("B[d3//0.01]", "B[a1]"),
        ("B[d3//0.01]", "B[d9]"),
        ("B[d3//0.01]", "[d3]"),
        ("B[d3//0.01]", "B d3"),
    ] {
        let error = fault(from, to);
        assert_eq!(error.place, "line 1", "{from} {to}: {error}");
    }
    let error = tree::read(FIRST.trim_end_matches(";)").as_bytes()).next().unwrap().unwrap_err();
    assert!(error.to_string().contains("the game does not end"), "{error}");
    let error = fault("B[d3//0.01]", "\n\nB[d1]");
    assert!(
        error.to_string().starts_with("line 3: ") && error.to_string().contains("d1 turns no disc over"),
        "{error}"
    );
    assert_eq!(tree::read(b"no game here (; nor here").filter(Result::is_ok).count(), 0);
}

/// Texts of nothing but beginnings of games: a reader that looked far ahead at each would never end.
#[test]
fn many_small_games_are_read_in_one_go() {
    const MANY: usize = 1 << 20;
    for (game, good) in [("(;;)", true), ("(;", false), ("(;A", false), ("(;A[", false), ("(;A[]", false)] {
        let text = game.repeat(MANY);
        let read = tree::read(text.as_bytes());
        let (games, errors): (Vec<bool>, Vec<bool>) = read.map(|game| game.is_ok()).partition(|&ok| ok);
        assert_eq!(games.len(), if good { MANY } else { 0 }, "{game}");
        // What is no game's head takes all the rest with it.
        assert_eq!(errors.len(), usize::from(!good), "{game}");
    }
    for game in ["(;GM[", "(;GM[Othello]", "(;FF[4]PB[x", "( ; gm [2]"] {
        assert_eq!(tree::read(game.repeat(MANY).as_bytes()).filter(Result::is_err).count(), MANY, "{game}");
    }
    let text = "(;;)".repeat(MANY);
    let mut games = 0;
    let done = convert(text.as_bytes(), Format::Ggf, Format::Obf, &mut std::io::sink(), &mut |_| {
        games += 1;
        Ok(())
    });
    assert_eq!((done.unwrap().skipped, games), (MANY, MANY));
}

#[test]
fn wthor_files_are_read() {
    let bytes = wthor_bytes(&[(33, "f5d6c3"), (20, "f5f6e6f4")]);
    let games = games(&bytes, Format::Wthor);
    assert_eq!(games.len(), 2);
    assert_eq!(games[0].transcript().unwrap().to_string(), "f5d6c3");
    assert_eq!((games[0].black.as_str(), games[0].white.as_str()), ("player 513", "player 3"));
    assert_eq!((games[0].tag("DT"), games[0].tag("PC")), ("1998", "tournament 7"));
    assert_eq!(games[0].result, Some(GameResult { discs: 2, finish: Finish::Played }));
    assert_eq!(games[1].result.unwrap().discs, -24);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for _ in 0..50 {
        let game = random_game(&mut rng, Diagram::START, 60).transcript().unwrap();
        let read = self::games(&wthor_bytes(&[(40, &game.to_string())]), Format::Wthor);
        assert_eq!(read[0].transcript(), Some(game));
    }
}

#[test]
fn bad_wthor_files_are_refused_with_the_offset() {
    let bytes = wthor_bytes(&[(33, "f5d6c3"), (20, "f5f6e6f4")]);
    let whole = |bytes: &[u8]| read(bytes, Format::Wthor).map(|_| ()).unwrap_err().to_string();
    assert!(whole(&bytes[..15]).contains("15 bytes are too few"));
    assert!(whole(&[]).contains("0 bytes are too few"));
    for length in [16, bytes.len() - 1, bytes.len() + 1] {
        let mut changed = bytes.clone();
        changed.resize(length, 0);
        assert!(whole(&changed).contains("announces 2 games"));
    }
    let changed = |at: usize, value: u8| {
        let mut changed = bytes.clone();
        changed[at] = value;
        changed
    };
    // A claim of four billion games must not be believed.
    assert!(whole(&changed(7, 255)).contains("announces"));
    assert!(whole(&changed(12, 10)).starts_with("byte 12: "));
    assert!(whole(&changed(13, 1)).starts_with("byte 13: "));
    for (at, value) in [(16 + 6, 65), (16 + 8, 19), (16 + 8, 255), (16 + 9, 56), (16 + 20, 11), (16 + 68 + 8, 11)] {
        let bytes = changed(at, value);
        let errors = errors(read(&bytes, Format::Wthor).unwrap());
        assert_eq!(errors.len(), 1, "{at} {value}");
        // A hole in the moves shows at the hole.
        let place = if at == 16 + 20 { 16 + 11 } else { at };
        assert_eq!(errors[0].place, format!("byte {place}"), "{at} {value}");
    }
}

#[test]
fn a_byte_order_mark_hides_no_log() {
    let log = b"{\"log\":{\"format\":\"flipside games\",\"version\":1,\"settings\":{}}}\n";
    let marked = [&b"\xef\xbb\xbf"[..], log].concat();
    for text in [&log[..], &marked] {
        assert_eq!(Format::detect(text), Format::Log);
        convert(text, Format::Log, Format::F5d6, &mut Vec::new(), &mut Err).unwrap();
    }
}

#[test]
fn positions_are_read_line_by_line() {
    let board = "---------------------------OX------XO---------------------------";
    let text = format!("\u{feff}{board} b\r\n\r\n% a comment\r\nF5 D6 % another\r\n{board} w -3\r\n");
    let scored = lines::parse_positions(&text).unwrap();
    assert_eq!(scored.iter().map(|scored| scored.score).collect::<Vec<_>>(), [None, None, Some(-3)]);
    assert_eq!(Ok(scored[1].diagram), "f5d6".parse::<Transcript>().map(|game| game.last()));
    let error = lines::parse_positions(&format!("# a comment\n{board} X 3\nrubbish X\n")).unwrap_err();
    assert_eq!(error.place, "line 3");
}

#[test]
fn transcripts_are_read_line_by_line() {
    let text = "# games\nf5d6\n\nf5d6c3d3\r\nf5d7\n F5F6 \n";
    let (games, errors): (Vec<_>, Vec<_>) = lines::read(text.as_bytes()).partition(Result::is_ok);
    let text = |record| match record {
        Ok(Record::Game(game)) => game.transcript().unwrap().to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(games.into_iter().map(text).collect::<Vec<_>>(), ["f5d6", "f5d6c3d3", "f5f6"]);
    assert_eq!(errors[0].as_ref().unwrap_err().place, "line 5");
}

/// The position after f5, in eight lines.
const EIGHT_LINES: &str = "--------\n--------\n--------\n---OX---\n---XXX--\n--------\n--------\n--------\n";

#[test]
fn boards_may_stand_in_eight_lines() {
    let after: Diagram = "f5".parse().unwrap();
    let rows: Vec<&str> = EIGHT_LINES.lines().collect();
    let spaced = |row: &str| row.chars().map(|c| format!("{c} ")).collect::<String>();
    let each = |row: &dyn Fn(usize, &str) -> String| -> String {
        rows.iter().enumerate().map(|(i, text)| row(i + 1, text) + "\n").collect()
    };
    let digits = |text: &str| text.replace('X', "1").replace('O', "2").replace('-', "0");
    let letters = |text: &str| text.replace('X', "B").replace('O', "W").replace('-', ".");
    let frame = "  a b c d e f g h\n";
    for board in [
        format!("{EIGHT_LINES}O"),
        format!("{EIGHT_LINES}white to move"),
        format!("{EIGHT_LINES}\n# a comment\nSide to move: O"),
        format!("{} O", EIGHT_LINES.trim_end()),
        format!("{frame}{}O to move", each(&|i, row| format!("{i} {}", spaced(row)))),
        format!("{frame}{}{frame}W", each(&|i, row| format!("{i} {}{i}", spaced(row)))),
        format!("{frame}{}{frame}* TO MOVE", each(&|i, row| format!("{i} {}{i}  some text", spaced(row)))),
        format!("{}White", each(&|_, row| spaced(&letters(row)))),
        format!("{frame}{}2", each(&|i, row| format!("{i} {}", spaced(&digits(row))))),
        format!("{}2 to move", each(&|_, row| digits(row))),
        format!("{}w", each(&|i, row| format!("{i}|{row}|"))),
    ] {
        let side = if board.contains("* TO MOVE") { after.pass() } else { after };
        let board = board.replace(" TO MOVE", " to move");
        let text = format!("f5d6\n{board}\n{after} 3\n");
        let positions = lines::parse_positions(&text).unwrap_or_else(|error| panic!("{board}: {error}"));
        let positions: Vec<_> = positions.iter().map(|scored| scored.diagram).collect();
        assert_eq!(positions, ["f5d6".parse().unwrap(), side, after], "{board}");
        assert_eq!(Format::detect(board.as_bytes()), Format::Obf, "{board}");
    }
    let scored = lines::parse_positions(&format!("{EIGHT_LINES}O; d6:+2;")).unwrap();
    assert_eq!(scored[0].score, Some(2));
    let error = |text: &str| lines::parse_positions(text).unwrap_err().to_string();
    assert!(error(EIGHT_LINES).starts_with("line 8: expected the side to move"), "{}", error(EIGHT_LINES));
    let short = error(&EIGHT_LINES.replacen("---OX---", "---OX--", 1));
    assert!(short.starts_with("line 3: expected row 4 of the board"), "{short}");
}

#[test]
fn positions_survive_obf_and_are_mirrored_for_egaroucid() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for _ in 0..200 {
        let diagram = random_diagram(&mut rng);
        let moves: Vec<_> =
            squares(diagram.position.moves()).map(|square| (square, rng.random_range(-64..=64))).collect();
        let best = moves.iter().map(|&(_, score)| score).max();
        for scored in [
            ScoredDiagram { diagram, score: best, moves },
            ScoredDiagram { diagram, score: Some(rng.random_range(-64..=64)), moves: Vec::new() },
            ScoredDiagram { diagram, score: None, moves: Vec::new() },
        ] {
            let mut text = Vec::new();
            lines::write_position(&mut text, &scored).unwrap();
            assert_eq!(String::from_utf8(text).unwrap().parse(), Ok(scored));
        }
        let (mut text, score) = (Vec::new(), rng.random_range(-64..=64));
        lines::write_egaroucid(&mut text, &diagram, score).unwrap();
        let text = String::from_utf8(text).unwrap();
        let (board, rest) = text.split_at(64);
        assert_eq!(rest, format!(" {score}\n"));
        let read: Diagram = format!("{board} X").parse().unwrap();
        assert_eq!(read.position, diagram.position);
    }
}

#[test]
fn moves_can_be_taken_back() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for _ in 0..50 {
        let start = random_diagram(&mut rng);
        let mut game = random_game(&mut rng, start, 60);
        let mut before = vec![Game::new(start).last()];
        before.extend(game.steps().skip(1).map(|(diagram, _)| diagram));
        let moves: Vec<Square> = game.moves().iter().map(|&(square, _)| square).collect();
        for i in (0..moves.len()).rev() {
            assert_eq!(game.pop(), Some(moves[i]));
            assert_eq!(game.last(), before[i]);
        }
        assert_eq!(game.pop(), None);
    }
}

#[test]
fn formats_are_recognised() {
    let board = Diagram::START.to_string();
    for (bytes, format) in [
        (FIRST.as_bytes(), Format::Ggf),
        (b"# comment\n 12 (;GM[Othello];)".as_slice(), Format::Ggf),
        (&wthor_bytes(&[(33, "f5d6")]), Format::Wthor),
        (&wthor_bytes(&[]), Format::Wthor),
        (b"\n% c\nf5d6\n", Format::F5d6),
        (b"", Format::F5d6),
        (board.as_bytes(), Format::Obf),
        (b"(;FF[4]GM[2];B[f5])", Format::Sgf),
        (b"\n(\n;GM[2]\n;B[f5]\n)", Format::Sgf),
        (b"(;B[f5];W[d6])", Format::Sgf),
        (b"(;PB[x]B[f5];)", Format::Ggf),
        (&neural_bytes(&[(Diagram::START, 1.0)]), Format::NeuralReversi),
        (&[0; 16], Format::Wthor),
        (&[255; 100], Format::F5d6),
    ] {
        assert_eq!(Format::detect(bytes), format, "{}", String::from_utf8_lossy(bytes));
    }
    for format in Format::ALL {
        assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
    }
    assert_eq!("pgn".parse::<Format>().unwrap_err().name, "pgn");
}

fn converted(bytes: &[u8], from: Format, to: Format) -> (Converted, String, usize) {
    let (mut out, mut bad) = (Vec::new(), 0);
    let done = convert(bytes, from, to, &mut out, &mut |_| {
        bad += 1;
        Ok(())
    });
    (done.unwrap(), String::from_utf8(out).unwrap(), bad)
}

#[test]
fn records_are_converted() {
    let game = "f5d6c3d3c4f4f6";
    let (done, text, _) = converted(format!("{game}\nf5f5\n").as_bytes(), Format::F5d6, Format::Ggf);
    assert_eq!(done, Converted { read: 1, written: 1, skipped: 1 });
    let (done, text, _) = converted(text.as_bytes(), Format::Ggf, Format::F5d6);
    assert_eq!((done.written, text), (1, format!("{game}\n")));
    // Without a result there is nothing to score positions by.
    let (done, text, bad) = converted(game.as_bytes(), Format::F5d6, Format::Egaroucid);
    assert_eq!((done.skipped, text.as_str(), bad), (1, "", 1));
    // Nor if somebody resigned: it is known who was ahead, but not by how much.
    let (done, text, bad) = converted(FIRST.as_bytes(), Format::Ggf, Format::Obf);
    assert_eq!((done.read, done.skipped, text.as_str(), bad), (1, 1, "", 1));
    let agreed = FIRST.replace("+2.000:r", "+2.000:s");
    let (done, text, _) = converted(agreed.as_bytes(), Format::Ggf, Format::Obf);
    assert_eq!((done.read, done.written), (1, 3));
    let scores: Vec<_> = lines::parse_positions(&text).unwrap().iter().map(|scored| scored.moves[0].1).collect();
    assert_eq!(scores, [2, -2, 2]);
    let (done, lines, _) = converted(text.as_bytes(), Format::Obf, Format::Egaroucid);
    assert_eq!((done.written, lines.lines().count()), (3, 3));
    assert!(lines.lines().next().unwrap().ends_with(" 2"), "{lines}");
    assert_eq!(Format::detect(lines.as_bytes()), Format::Egaroucid);
    assert_eq!(converted(lines.as_bytes(), Format::Egaroucid, Format::Egaroucid).1, lines);
    let fail = |text: &[u8], from, to| convert(text, from, to, &mut Vec::new(), &mut |error| Err(error)).unwrap_err();
    assert!(matches!(fail(b"", Format::F5d6, Format::Wthor), ConvertError::OnlyRead(Format::Wthor)));
    for (text, from) in [(text, Format::Obf), (lines, Format::Egaroucid)] {
        let error = fail(text.as_bytes(), from, Format::Ggf).to_string();
        assert!(error.starts_with("number 1: a position, not a game"), "{error}");
    }
    assert!(fail(b"f5\nzz\n", Format::F5d6, Format::Ggf).to_string().starts_with("line 2: "));
}

/// The first of GGS's komi games: the board says +8, `RE` is after komi.
const KOMI: &str = "(;GM[Othello]PC[GGS/os]PB[a]PW[b]RB[2000]RW[1990.5]TI[15:00//02:00]TY[8k]KM[-0.5]RE[8.5]\
    BO[8 -------- -------- -------- ---O*--- ---*O--- -------- -------- -------- *]B[e6]W[f4];)";

#[test]
fn ggf_results_are_discs_less_komi() {
    // (RE, KM, what is known in discs for black)
    for (result, komi, discs) in [
        ("8.5", "-0.5", Some(8)),
        ("+8.500", "-0.500", Some(8)),
        ("+2.000:s", "+8.000", Some(10)),
        ("-6:S", "0", Some(-6)),
        ("0", "", Some(0)),
        ("-127.000", "", None),
        ("-127.000", "+8", None),
        ("+2.5", "", None),
        ("+66", "0", None),
        ("66", "-2", Some(64)),
        ("nan", "0", None),
        ("+2", "nonsense", None),
        ("+2:x", "0", None),
        ("+12.000:r", "0", None),
        ("+12.5:t", "0", None),
        ("+12:l", "0", None),
        ("Void", "0", None),
        ("?", "0", None),
        ("B+12", "0", Some(12)),
        ("W+2.5", "0.5", Some(-2)),
        ("White+Resign", "0", None),
        ("draw", "0", Some(0)),
    ] {
        let text = KOMI.replace("KM[-0.5]", &format!("KM[{komi}]")).replace("RE[8.5]", &format!("RE[{result}]"));
        let [game] = &games(text.as_bytes(), Format::Ggf)[..] else { panic!("{text}") };
        assert_eq!(game.exact_discs(), discs, "RE[{result}] KM[{komi}]");
        assert_eq!(game.moves().len(), 2, "whatever the result, the moves are read");
        // All that is known survives.
        let again = games(&ggf_text(game), Format::Ggf);
        assert_eq!((&again[0].result, again[0].exact_discs()), (&game.result, discs), "RE[{result}] KM[{komi}]");
    }
    let resigned = games(KOMI.replace("8.5]", "-64.5:r]").as_bytes(), Format::Ggf);
    assert_eq!(resigned[0].result, Some(GameResult { discs: -64, finish: Finish::Resigned }));
    let (_, text, _) = converted(KOMI.as_bytes(), Format::Ggf, Format::Ggf);
    for part in ["KM[-0.500]", "RE[+8.500]", "TY[8k]", "RB[2000]", "RW[1990.5]", "TI[15:00//02:00]"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Over: the board is right, whatever the record says.
    let over = "(;GM[Othello]RE[-12]B[e6]W[f4]B[e3]W[f6]B[g5]W[d6]B[e7]W[f5]B[c5];)";
    let over = games(over.as_bytes(), Format::Ggf);
    assert_eq!(over[0].result, Some(GameResult { discs: 64, finish: Finish::Played }));
}

#[test]
fn a_cut_record_costs_only_itself() {
    let record = "1 ".to_owned() + KOMI;
    let other = KOMI.replace("PB[a]", "PB[next]");
    let start = record.find("(;").unwrap();
    for length in start + 2..record.len() {
        for gap in ["", "\n", "\n12 ", " "] {
            let text = format!("{}{gap}{other}{gap}{other}", &record[..length]);
            let read: Vec<_> = tree::read(text.as_bytes()).collect();
            let whole: Vec<_> = read.iter().flatten().map(|game| game.black.as_str()).collect();
            assert_eq!((whole, read.len()), (vec!["next"; 2], 3), "{text}");
        }
    }
}

#[test]
fn games_of_other_boards_need_one() {
    let refused = |kind: &str, board: &str| {
        let text = KOMI.replace("TY[8k]", &format!("TY[{kind}]"));
        let (head, rest) = text.split_once("BO[").unwrap();
        let text = if board.is_empty() { head.to_owned() + rest.split_once(']').unwrap().1 } else { text.clone() };
        tree::read(text.as_bytes()).next().unwrap().is_err()
    };
    for kind in ["8", "8k", "s8", "S8k", "", "x"] {
        assert!(!refused(kind, "") && !refused(kind, "BO"), "{kind}");
    }
    for kind in ["8r20", "s8r18", "8b", "10", "88", "s10r32"] {
        assert!(refused(kind, "") && !refused(kind, "BO"), "{kind}");
    }
    assert!(refused("8a", "BO") && refused("s8a", ""));
}

#[test]
fn sgf_is_read_as_others_write_it() {
    let edax =
        "(;FF[4]GM[2]AP[edax:4.4]PC[Edax]PB[black]PW[white]SZ[8]AB[e4][d5]AW[d4][e5]PL[B]RE[Void]B[f5];W[d6];B[c3];)";
    for (text, expected) in [
        (edax, "f5d6c3"),
        ("(;GM[2];B[F5];W[d6](;B[c3]C[a (;B[a1\\] end];W[d3](;B[c4])(;B[e3]))(;B[c4]))", "f5d6c3d3c4"),
        ("(;GM[2]SZ[8:8]BR[2000];Black[f5];White[d6])", "f5d6"),
        ("(\n;FF[4]\nGM[2]\n;\nB\n[fe]\n;W[df]\n)", "f5d6"),
        // From the mirrored start.
        ("(;GM[2];B[f4];W[d3])", "c4e3"),
        ("(;GM[2]AB[d4:d4][e5]AW[e4][d5];B[f4];W[d3])", "c4e3"),
    ] {
        let [game] = &games(text.as_bytes(), Format::Sgf)[..] else { panic!("{text}") };
        assert_eq!(game.transcript().expect(text).to_string(), expected, "{text}");
    }
    let game = games(edax.as_bytes(), Format::Sgf);
    assert_eq!((game[0].black.as_str(), game[0].tag("PC"), game[0].result), ("black", "Edax", None));
    // Several games, the first of them cut off.
    let both = format!("{}{edax}\n{edax}", &edax[..edax.len() - 6]);
    let read: Vec<_> = tree::read(both.as_bytes()).map(|game| game.is_ok()).collect();
    assert_eq!(read, [false, true, true]);
    // A variation of a wrong game is not another game.
    let wrong = tree::read(b"(;GM[2];B[f5];W[f5](;B[c3])(;B[d3]))").collect::<Vec<_>>();
    assert!(matches!(&wrong[..], [Err(error)] if error.to_string().contains("f5 is occupied")), "{wrong:?}");
}

#[test]
fn sgf_has_set_up_stones_and_passes() {
    // Black has to pass; then white takes the last disc.
    let game = games(b"(;GM[2]AB[c1]AW[a1:b1][d4]PL[B]KM[0];B[];W[d1]RE[W+64])", Format::Sgf);
    assert_eq!(game[0].start().to_string(), format!("OOX{}O{} X", "-".repeat(24), "-".repeat(36)));
    assert_eq!(game[0].score_on_board(), Some(GameResult { discs: -64, finish: Finish::Played }));
    let mut text = Vec::new();
    write_sgf(&mut text, &game[0]).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("AB[c1]AW[a1][b1][d4]PL[B];B[];W[d1])") && text.contains("RE[W+64]"), "{text}");
    // Stones away from the middle are handicaps; whoever moves first has the first move.
    let handicap = games(b"(;GM[2]AB[a1][h8];W[d6])", Format::Sgf);
    let first = handicap[0].start();
    assert_eq!((first.side, first.position.discs()), (Side::White, 6));
    let error = |text: &str| tree::read(text.as_bytes()).next().unwrap().unwrap_err().to_string();
    for (text, expected) in [
        ("(;GM[2];B[f5];AB[a1])", "before the moves"),
        ("(;GM[2]AB[i9])", "expected a square"),
        ("(;GM[2];B[f5];B[f6])", "the other side's turn"),
        ("(;GM[2];B[f5];W[])", "a pass is only allowed"),
        ("(;GM[1];B[f5])", "a game of Othello"),
        ("(;GM[2]SZ[10])", "size 8"),
        ("(;GM[2];B[f5]", "does not end"),
    ] {
        assert!(error(text).contains(expected), "{text}: {}", error(text));
    }
    // Names keep their brackets.
    let mut game = Game::from_moves(&[]).unwrap();
    (game.black, game.white) = ("a]b\\".into(), "[c]".into());
    let mut text = Vec::new();
    write_sgf(&mut text, &game).unwrap();
    let again = &games(&text, Format::Sgf)[0];
    assert_eq!((&again.black, &again.white), (&game.black, &game.white));
}

/// Records of neural-reversi of positions and scores for the side to move.
fn neural_bytes(records: &[(Diagram, f32)]) -> Vec<u8> {
    let record = |(diagram, score): &(Diagram, f32)| {
        let Position { player, opponent } = diagram.position;
        let ply = diagram.position.discs() as u8 - 4;
        [&player.to_le_bytes()[..], &opponent.to_le_bytes(), &score.to_le_bytes(), &[200, ply, 0, 19]].concat()
    };
    records.iter().flat_map(record).collect()
}

#[test]
fn neural_reversi_records_are_scored_positions() {
    let after: Diagram = "f5d6c3".parse().unwrap();
    let bytes = neural_bytes(&[(Diagram::START, 0.25), (after, -3.75)]);
    let read: Vec<_> =
        read(&bytes, Format::detect(&bytes)).unwrap().map(|record| record.unwrap().into_position()).collect();
    let found: Vec<_> = read.iter().map(|scored| (scored.diagram.position, scored.score)).collect();
    assert_eq!(found, [(Position::START, Some(0)), (after.position, Some(-4))]);
    let bad = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        errors(self::read(&bytes, Format::NeuralReversi).unwrap())
    };
    for (at, value) in [(24 + 3, 0xff), (24 + 19, 0x7f), (24 + 21, 60), (24 + 22, 2), (24 + 23, 65)] {
        let errors = bad(at, value);
        assert_eq!((errors.len(), errors[0].place.as_str()), (1, "byte 24"), "{at}");
    }
    for (score, count) in [(-64.5, 1), (-64.4, 0), (64.4, 0), (64.5, 1)] {
        let bytes = neural_bytes(&[(after, score)]);
        assert_eq!(errors(self::read(&bytes, Format::NeuralReversi).unwrap()).len(), count, "{score}");
    }
    // What is damaged or cut off costs a record, not the file.
    let many = neural_bytes(&[(after, 2.0); 20]);
    let mut damaged = many[..many.len() - 1].to_vec();
    damaged[16..20].copy_from_slice(&f32::NAN.to_le_bytes());
    assert_eq!(Format::detect(&damaged), Format::NeuralReversi);
    let errors = errors(self::read(&damaged, Format::NeuralReversi).unwrap());
    let places: Vec<_> = errors.iter().map(|error| error.place.as_str()).collect();
    assert_eq!(places, ["byte 0", "byte 456"]);
}

#[test]
fn names_that_are_not_utf_8_are_latin_1() {
    let of = |format, game: &[u8]| match read(game, format).unwrap().next().unwrap().unwrap() {
        Record::Game(game) => game.black,
        Record::Position(_) => unreachable!("it is a game"),
    };
    assert_eq!(of(Format::Sgf, b"(;FF[4]GM[2]CA[ISO-8859-1]PB[J\xe9r]PW[w];B[f5])"), "J\u{e9}r");
    assert_eq!(of(Format::Ggf, b"(;GM[Othello]PB[J\xe9r]PW[w]TY[8]B[f5];)"), "J\u{e9}r");
    assert_eq!(of(Format::Sgf, "(;FF[4]GM[2]PB[J\u{e9}r]PW[w];B[f5])".as_bytes()), "J\u{e9}r");
}

#[test]
fn positions_of_records_are_labelled() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let no_score = Labeller::new(0).label(&Record::Game(Game::new(Diagram::START)));
    assert!(no_score.is_err());
    let mut solver = EndgameSolver::new(12);
    for _ in 0..30 {
        let game = random_game(&mut rng, Diagram::START, 60);
        let steps: Vec<Diagram> = game.steps().map(|(diagram, _)| diagram).collect();
        let sign = |diagram: &Diagram| if diagram.side == Side::Black { 1 } else { -1 };
        let exact = |diagram: &Diagram, discs| Sample::new(diagram.position, Score::from_discs(discs));
        let by_result = Labeller::new(0).label(&Record::Game(game.clone())).unwrap();
        let discs = game.result.unwrap().discs;
        assert!(steps.iter().map(|diagram| exact(diagram, sign(diagram) * discs)).eq(by_result));

        // Solved positions are exact; those before have the value of the first one solved.
        let mut solve = |diagram: &Diagram| solver.solve(diagram.position, -64, 64).discs();
        let first = steps.iter().find(|diagram| diagram.position.empties() <= 8).unwrap();
        let for_black = sign(first) * solve(first);
        let expected: Vec<_> = steps
            .iter()
            .map(|diagram| match diagram.position.empties() {
                ..=8 => exact(diagram, solve(diagram)),
                _ => exact(diagram, sign(diagram) * for_black),
            })
            .collect();
        assert_eq!(Labeller::new(8).label(&Record::Game(game.clone())).unwrap(), expected);

        // A cut game has no result, but what follows its last position can be solved.
        let mut cut = random_game(&mut rng, Diagram::START, 54);
        cut.result = Some(GameResult { discs: 64, finish: Finish::Forfeited });
        if cut.score_on_board().is_none() {
            assert_eq!(Labeller::new(4).label(&Record::Game(cut.clone())), no_score);
            // If white resigned, it is only known that black was ahead.
            cut.result = Some(GameResult { discs: 64, finish: Finish::Resigned });
            let bounds = Labeller::new(4).label(&Record::Game(cut.clone())).unwrap();
            let expected = cut.steps().map(|(diagram, _)| match diagram.side {
                Side::Black => Sample { bound: Bound::Lower, ..exact(&diagram, 2) },
                Side::White => Sample { bound: Bound::Upper, ..exact(&diagram, -2) },
            });
            assert!(expected.eq(bounds));
            assert_eq!(Labeller::new(8).label(&Record::Game(cut.clone())).unwrap().len(), cut.moves().len());
        }
    }
    let mut position = ScoredDiagram { diagram: Diagram::START, score: Some(3), moves: Vec::new() };
    assert_eq!(
        Labeller::new(0).label(&Record::Position(position.clone())),
        Ok(vec![Sample::new(Position::START, Score::from_discs(3))])
    );
    position.score = None;
    assert_eq!(Labeller::new(20).label(&Record::Position(position)), no_score);
    // Black has to pass: white's position after that is learned.
    let passing: Diagram = format!("OX{} X", "-".repeat(62)).parse().unwrap();
    let position = ScoredDiagram { diagram: passing, score: Some(-30), moves: Vec::new() };
    let after = Sample::new(passing.position.pass(), Score::from_discs(30));
    assert_eq!(Labeller::new(0).label(&Record::Position(position)), Ok(vec![after]));
}

#[test]
fn what_can_be_learned_is_known_without_solving() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let mut files: Vec<String> = [50, 55, 57, 60]
        .map(|plies| random_game(&mut rng, Diagram::START, plies))
        .iter()
        .map(|game| game.moves().iter().map(|(square, _)| square.to_string()).collect())
        .collect();
    let full = "X".repeat(55) + &"O".repeat(4);
    files.extend([
        format!("{}OX{} X; d3:+1", "-".repeat(27), "-".repeat(35)),
        format!("{full}----- X;"),
        format!("{full}----- O;"),
        format!("{} O;", "X".repeat(60) + "----"),
        "no record".to_owned(),
    ]);
    let mut found = [0; 2];
    for (file, exact_empties) in files.iter().flat_map(|file| [0, 6].map(|exact| (file, exact))) {
        let open = || RecordFile::new(Path::new("games"), file.as_bytes(), exact_empties);
        let Ok(mut records) = open() else { continue };
        let labelled = records.next(&AtomicBool::new(false)).unwrap();
        let has_lesson = labelled.iter().any(Result::is_ok);
        assert_eq!(open().unwrap().has_lesson().is_ok(), has_lesson, "{file} {exact_empties}");
        found[usize::from(has_lesson)] += 1;
    }
    assert!(found.iter().all(|&count| count > 2), "{found:?}");
}

#[test]
fn a_score_of_a_finished_game_is_not_said_to_be_missing() {
    let full = format!("{}{} X 4\n", "X".repeat(34), "O".repeat(30));
    let mut records = RecordFile::new(Path::new("full.obf"), full.as_bytes(), 0).unwrap();
    let labelled = records.next(&AtomicBool::new(false)).unwrap();
    assert!(matches!(&labelled[..], [Err(error)] if error.to_string().contains("nobody can move")), "{labelled:?}");
}

#[test]
fn errors_do_not_repeat_input_of_any_length() {
    let long = "x".repeat(1_000_000);
    let log = |format: &str| format!(r#"{{"log":{{"format":"{format}","version":1,"settings":{{}}}}}}"#);
    for (text, format) in [
        (format!("(;GM[Othello]B[{long}];)"), Format::Ggf),
        (log(&long), Format::Log),
        (format!(r#"{{"log":{{"format":"flipside games","version":"{long}"}}}}"#), Format::Log),
        (format!(r#"{{"{long}":{{}}}}"#), Format::Log),
    ] {
        for record in read(text.as_bytes(), format).unwrap() {
            let error = record.unwrap_err().to_string();
            assert!(error.len() < 300, "{format}: {error:.400}");
        }
    }
}
