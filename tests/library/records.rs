//! Game records: what is written is read back, what is wrong is refused with its place, and nothing makes a reader panic.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use flipside::board::{Diagram, Position, ScoredDiagram, Side, Square, Transcript, squares};
use flipside::eval::Score;
use flipside::label::{Labeller, RecordFile};
use flipside::learn::{Bound, Sample};
use flipside::record::{
    ConvertError, Converted, Fault, Finish, Format, Game, GameResult, MoveNote, Place, Record, RecordError, convert,
    ggf, lines, read, wthor,
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
    ggf::write(&mut text, game).unwrap();
    text
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
    let games: Vec<_> = ggf::read(FIRST.as_bytes()).collect();
    let [Ok(game)] = games.as_slice() else { panic!("{games:?}") };
    assert_eq!((game.black.as_str(), game.white.as_str()), ("ant one", "bee"));
    assert_eq!(game.place.as_deref(), Some("GGS/os"));
    assert_eq!(game.date.as_deref(), Some("2004.09.18_05:54:38.MDT"));
    assert_eq!(game.clock.as_deref(), Some("05:00//02:00"));
    assert_eq!(game.result, Some(GameResult { discs: 2, finish: Finish::Resigned }));
    assert_eq!(game.transcript().unwrap().to_string(), "d3c5f6");
    let notes: Vec<_> = game.moves().iter().map(|(_, note)| (note.evaluation, note.seconds)).collect();
    assert_eq!(notes, [(None, Some(0.01)), (Some(2.39), Some(0.01)), (Some(-1.5), None)]);
}

#[test]
fn ggf_is_written_as_others_read_it() {
    let mut game: Game = Game::from_transcript(&"f5d6".parse().unwrap());
    (game.black, game.white) = ("a]b".into(), "c".into());
    game.place = Some("here".into());
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
        if i % 2 == 0 {
            let finish = [Finish::Forfeited, Finish::Resigned, Finish::Agreed, Finish::Played][i % 8 / 2];
            game.result = Some(GameResult { discs: rng.random_range(-64..=64), finish });
        }
        let text = ggf_text(&game);
        passes += String::from_utf8_lossy(&text).matches("[PA]").count();
        all.extend(text);
        all.extend(b"12 (text between games)\n");
        games.push(game);
    }
    let read: Result<Vec<_>, _> = ggf::read(&all).collect();
    assert_eq!(read.unwrap(), games);
    assert!(passes > 10, "{passes}");
}

#[test]
fn bad_ggf_says_what_and_where_and_reading_continues() {
    let fault = |from: &str, to: &str| {
        let text = FIRST.replacen(from, to, 1);
        assert_ne!(text, FIRST, "{from}");
        let both = text + "\n" + FIRST;
        let games: Vec<_> = ggf::read(both.as_bytes()).collect();
        assert!(games.last().unwrap().is_ok(), "{from} {to}: {games:?}");
        games[0].clone().expect_err(to)
    };
    for (from, to) in [
        ("Othello", "Amazons"),
        ("TY[8]", "TY[8a]"),
        ("+2.000", "+2.5"),
        ("+2.000", "+66"),
        ("+2.000", "nan"),
        (":r", ":x"),
        ("BO[8", "BO[10"),
        ("---O*---", "---O*--"),
        ("---O*---", "---OX---"),
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
        assert!(matches!(error.place, Place::Byte(1..)), "{from} {to}: {error}");
    }
    let error = ggf::read(FIRST.trim_end_matches(";)").as_bytes()).next().unwrap().unwrap_err();
    assert_eq!(error, RecordError { place: Place::Byte(FIRST.len() - 2), fault: Fault::Unterminated });
    let error = fault("B[d3//0.01]", "B[d1]");
    assert_eq!(error.place, Place::Byte(FIRST.find("B[d3").unwrap()));
    assert!(error.to_string().contains("d1 turns no disc over"), "{error}");
    assert_eq!(ggf::read(b"no game here (; nor here").filter(Result::is_ok).count(), 0);
}

/// Texts of nothing but beginnings of games: a reader that looked far ahead at each would never end.
#[test]
fn many_small_games_are_read_in_one_go() {
    const MANY: usize = 1 << 20;
    for (game, good) in [("(;;)", true), ("(;", false), ("(;A", false), ("(;A[", false), ("(;A[]", false)] {
        let text = game.repeat(MANY);
        let read = ggf::read(text.as_bytes());
        let (games, errors): (Vec<bool>, Vec<bool>) = read.map(|game| game.is_ok()).partition(|&ok| ok);
        assert_eq!(games.len(), if good { MANY } else { 0 }, "{game}");
        // An open value takes all the rest with it.
        assert_eq!(
            errors.len(),
            if good {
                0
            } else if game.ends_with('[') {
                1
            } else {
                MANY
            },
            "{game}"
        );
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
    let games: Vec<_> = wthor::read(&bytes).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(games.len(), 2);
    assert_eq!(games[0].transcript().unwrap().to_string(), "f5d6c3");
    assert_eq!((games[0].black.as_str(), games[0].white.as_str()), ("player 513", "player 3"));
    assert_eq!(games[0].date.as_deref(), Some("1998"));
    assert_eq!(games[0].result, Some(GameResult { discs: 2, finish: Finish::Played }));
    assert_eq!(games[1].result.unwrap().discs, -24);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for _ in 0..50 {
        let game = random_game(&mut rng, Diagram::START, 60).transcript().unwrap();
        let read = wthor::read(&wthor_bytes(&[(40, &game.to_string())])).unwrap().next().unwrap().unwrap();
        assert_eq!(read.transcript(), Some(game));
    }
}

#[test]
fn bad_wthor_files_are_refused_with_the_offset() {
    let bytes = wthor_bytes(&[(33, "f5d6c3"), (20, "f5f6e6f4")]);
    let whole = |bytes: &[u8]| wthor::read(bytes).map(|_| ()).unwrap_err();
    assert_eq!(whole(&bytes[..15]).fault, Fault::WthorHeader(15));
    assert_eq!(whole(&[]).fault, Fault::WthorHeader(0));
    for length in [16, bytes.len() - 1, bytes.len() + 1] {
        let mut changed = bytes.clone();
        changed.resize(length, 0);
        assert!(matches!(whole(&changed).fault, Fault::WthorLength { announced: 2, .. }));
    }
    let changed = |at: usize, value: u8| {
        let mut changed = bytes.clone();
        changed[at] = value;
        changed
    };
    // A claim of four billion games must not be believed.
    assert!(matches!(whole(&changed(7, 255)).fault, Fault::WthorLength { .. }));
    assert_eq!(whole(&changed(12, 10)).place, Place::Byte(12));
    assert_eq!(whole(&changed(13, 1)).place, Place::Byte(13));
    for (at, value) in [(16 + 6, 65), (16 + 8, 19), (16 + 8, 255), (16 + 9, 56), (16 + 20, 11), (16 + 68 + 8, 11)] {
        let bytes = changed(at, value);
        let games: Vec<_> = wthor::read(&bytes).unwrap().collect();
        let errors: Vec<_> = games.iter().filter_map(|game| game.as_ref().err()).collect();
        assert_eq!(errors.len(), 1, "{at} {value}");
        let Place::Byte(place) = errors[0].place else { panic!("{errors:?}") };
        // A hole in the moves shows at the hole.
        assert!(place == at || at == 16 + 20 && place == 16 + 11, "{at} {value}: {place}");
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
    assert_eq!(error.place, Place::Line(3));
}

#[test]
fn transcripts_are_read_line_by_line() {
    let text = "# games\nf5d6\n\nf5d6c3d3\r\nf5d7\n F5F6 \n";
    let games: Vec<_> = lines::read_transcripts(text.as_bytes()).collect();
    let texts: Vec<_> = games.iter().flatten().map(|game| game.transcript().unwrap().to_string()).collect();
    assert_eq!(texts, ["f5d6", "f5d6c3d3", "f5f6"]);
    assert_eq!(games[2].as_ref().unwrap_err().place, Place::Line(5));
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
        (&[0; 16], Format::Wthor),
        (&[255; 100], Format::F5d6),
    ] {
        assert_eq!(Format::detect(bytes), format, "{}", String::from_utf8_lossy(bytes));
    }
    for format in [Format::Ggf, Format::Wthor, Format::F5d6, Format::Obf, Format::Egaroucid] {
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
    assert_eq!(done, Converted { read: 2, written: 1, skipped: 1 });
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
    let scores: Vec<_> = lines::read_positions(text.as_bytes()).map(|scored| scored.unwrap().moves[0].1).collect();
    assert_eq!(scores, [2, -2, 2]);
    let (done, lines, _) = converted(text.as_bytes(), Format::Obf, Format::Egaroucid);
    assert_eq!((done.written, lines.lines().count()), (3, 3));
    assert!(lines.lines().next().unwrap().ends_with(" 2"), "{lines}");
    assert_eq!(Format::detect(lines.as_bytes()), Format::Egaroucid);
    assert_eq!(converted(lines.as_bytes(), Format::Egaroucid, Format::Egaroucid).1, lines);
    let fail = |from, to| convert(b"", from, to, &mut Vec::new(), &mut |error| Err(error)).unwrap_err();
    assert!(matches!(fail(Format::Obf, Format::Ggf), ConvertError::PositionsToGames(Format::Ggf)));
    assert!(matches!(fail(Format::F5d6, Format::Wthor), ConvertError::OnlyRead(Format::Wthor)));
    assert!(matches!(fail(Format::Egaroucid, Format::F5d6), ConvertError::PositionsToGames(Format::F5d6)));
    let strict = convert(b"f5\nzz\n", Format::F5d6, Format::Ggf, &mut Vec::new(), &mut |error| Err(error));
    assert!(matches!(strict, Err(ConvertError::Record(RecordError { place: Place::Line(2), .. }))));
}

#[test]
fn positions_of_records_are_labelled() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
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
            assert_eq!(Labeller::new(4).label(&Record::Game(cut.clone())), Err(Fault::NoScore));
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
    assert_eq!(Labeller::new(20).label(&Record::Position(position)), Err(Fault::NoScore));
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
        let open = || RecordFile::new(Path::new("games"), file.as_bytes(), 0, exact_empties);
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
    let mut records = RecordFile::new(Path::new("full.obf"), full.as_bytes(), 0, 0).unwrap();
    let labelled = records.next(&AtomicBool::new(false)).unwrap();
    assert!(matches!(&labelled[..], [Err(error)] if error.fault == Fault::NobodyCanMove), "{labelled:?}");
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
