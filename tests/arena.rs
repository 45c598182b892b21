//! Matches: the referee, determinism over threads, tests that stop them, and the statistics against published figures.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use flipside::arena::{
    Ending, ForfeitReason, GameLog, GameLogError, HeldPair, Hypothesis, Match, MatchReport, OpeningsError, Pair,
    PairEvent, PlayedGame, Player, PlayerError, Sprt, SprtError, Tally, parse_openings, play_game, select_openings,
    xot_openings,
};
use flipside::board::{Diagram, Side, Square, Transcript, squares};

static NEVER: AtomicBool = AtomicBool::new(false);

fn played(black: &mut dyn Player, white: &mut dyn Player, opening: &Transcript) -> PlayedGame {
    play_game(black, white, opening, &NEVER).unwrap()
}

/// Plays a legal move that a hash of the position and the seed picks.
struct Hashed(u64);

impl Player for Hashed {
    fn choose(&mut self, diagram: &Diagram, _: &AtomicBool) -> Result<Square, PlayerError> {
        let moves: Vec<_> = squares(diagram.position.moves()).collect();
        let hash = diagram.position.hash64().wrapping_add(self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        Ok(moves[hash as usize % moves.len()])
    }
}

/// Leaves the opponent as few moves as it can.
struct Greedy;

impl Player for Greedy {
    fn choose(&mut self, diagram: &Diagram, _: &AtomicBool) -> Result<Square, PlayerError> {
        let position = diagram.position;
        let best = squares(position.moves()).min_by_key(|&to| position.play(to).moves().count_ones());
        best.ok_or_else(|| PlayerError::Failed("no move".into()))
    }
}

/// What a player that breaks off does, from its `after`th move on.
#[derive(Clone, Copy)]
enum Fault {
    Illegal,
    Error,
}

struct Faulty {
    fault: Fault,
    after: usize,
    asked: usize,
}

impl Player for Faulty {
    fn new_game(&mut self) {
        self.asked = 0;
    }

    fn choose(&mut self, diagram: &Diagram, _: &AtomicBool) -> Result<Square, PlayerError> {
        self.asked += 1;
        match self.fault {
            _ if self.asked <= self.after => Hashed(1).choose(diagram, &NEVER),
            Fault::Illegal => Ok(Square::new(27)),
            Fault::Error => Err(PlayerError::Failed("out of ideas".into())),
        }
    }
}

/// Checks that it is asked and told in the order of a real game.
struct Witness {
    expected: Diagram,
    told: usize,
}

impl Player for Witness {
    fn new_game(&mut self) {
        *self = Witness { expected: Diagram::START, told: 0 };
    }

    fn choose(&mut self, diagram: &Diagram, _: &AtomicBool) -> Result<Square, PlayerError> {
        assert!(diagram.position.moves() != 0);
        assert!(*diagram == self.expected || *diagram == self.expected.pass());
        Hashed(9).choose(diagram, &NEVER)
    }

    fn observe(&mut self, diagram: &Diagram, square: Square) {
        assert!(*diagram == self.expected || *diagram == self.expected.pass());
        self.expected = diagram.try_play(square).unwrap();
        self.told += 1;
    }
}

fn run_on(threads: usize, plan: &Match, stop: &AtomicBool, mut log: impl FnMut(PairEvent<'_>) + Send) -> MatchReport {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| plan.run(|| Ok(Greedy), || Ok(Hashed(5)), stop, &mut log).unwrap())
}

fn held(pair: Pair) -> HeldPair {
    HeldPair { games: pair.games.map(Some) }
}

fn plan(pairs: usize, sprt: Option<Sprt>) -> Match {
    Match { openings: select_openings(&xot_openings(), pairs, 7), sprt, held: Vec::new() }
}

fn tally_of(pairs: [u64; 5]) -> Tally {
    let mut tally = Tally::default();
    for (count, discs) in pairs.into_iter().zip([[-2, -2], [-2, 0], [0, 0], [0, 2], [2, 2]]) {
        (0..count).for_each(|_| tally.add(discs));
    }
    tally
}

fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() < 1e-6
}

#[test]
fn log_likelihood_ratios_equal_those_published_by_fishtest() {
    // Pentanomials, hypotheses and ratios of finished tests, as printed (two decimals) in Stockfish's commit messages:
    // tests 5f9c7bbc, 5f9d01f0, 5f312190, 5f3127f7, 5f2d606a of 2020.
    for (pairs, elo0, elo1, published) in [
        ([253, 4282, 17604, 4431, 286], -0.25, 1.25, 2.94),
        ([58, 3302, 33130, 3518, 84], 0.25, 1.25, 2.97),
        ([17, 253, 1042, 337, 39], -0.5, 1.5, 2.96),
        ([11, 407, 3238, 513, 11], 0.25, 1.75, 2.93),
        ([59, 754, 2467, 865, 75], -0.5, 1.5, 2.95),
    ] {
        let llr = Sprt::new(elo0, elo1, 0.05, 0.05).unwrap().llr(&tally_of(pairs));
        assert!((llr - published).abs() <= 0.005, "{pairs:?}: {llr}");
    }
}

#[test]
fn log_likelihood_ratios_of_one_sided_matches_stay_finite() {
    // An independent computation of the same formula.
    for (pairs, elo1, expected) in [
        ([0, 0, 0, 0, 1], 5.0, 0.01431584941282962),
        ([0, 0, 0, 0, 100], 5.0, 1.4287891376450463),
        ([0, 0, 100, 0, 0], 5.0, -1.4416479084497917),
        ([10, 0, 0, 0, 0], 5.0, -0.14497624376179927),
        ([5, 10, 20, 15, 9], 10.0, 0.47377835661612067),
    ] {
        let llr = Sprt::new(0.0, elo1, 0.05, 0.05).unwrap().llr(&tally_of(pairs));
        assert!(close(llr, expected), "{pairs:?}: {llr}");
    }
    assert_eq!(Sprt::new(0.0, 5.0, 0.05, 0.05).unwrap().llr(&Tally::default()), 0.0);
}

#[test]
fn elo_intervals_and_superiority_equal_an_independent_computation() {
    for (pairs, elo, low, high, los) in [
        ([253, 4282, 17604, 4431, 286], 1.3907329804867707, 0.0688615814600297, 2.7126043795135053, 0.9803993163900473),
        ([5, 10, 20, 15, 9], 38.432798634330446, -13.85415967934181, 90.71975694800274, 0.9248041417533981),
        ([0, 0, 0, 0, 500], f64::INFINITY, 845.7895289183009, f64::INFINITY, 1.0),
        ([0, 0, 0, 1, 499], 1320.3251176472659, 1018.441228806892, 1622.2090064876404, 1.0),
        ([0, 0, 100, 0, 0], 0.0, -6.775388086552295, 6.7753880865523515, 0.5),
        ([1, 0, 0, 0, 0], f64::NEG_INFINITY, f64::NEG_INFINITY, 233.798472816109, 0.15865525393145707),
    ] {
        let tally = tally_of(pairs);
        let estimate = tally.elo();
        let found = [estimate.value, estimate.low, estimate.high, tally.los()];
        for (found, expected) in found.into_iter().zip([elo, low, high, los]) {
            assert!(close(found, expected), "{pairs:?}: {estimate:?} {}", tally.los());
        }
    }
}

#[test]
fn intervals_cover_the_truth_about_nineteen_times_in_twenty() {
    // 2,000 matches of 60 pairs whose true score is 0.625, from a plain linear congruential generator.
    let (truth, mut state, mut covered) = (88.739_499_846_542_56, 1u64, 0);
    for _ in 0..2000 {
        let mut tally = Tally::default();
        for _ in 0..60 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            tally.add([[2, 2], [2, 2], [0, 2], [2, -2], [-2, -2], [2, 0], [0, 0], [-2, 2]][(state >> 61) as usize]);
        }
        let elo = tally.elo();
        covered += usize::from(elo.low <= truth && truth <= elo.high);
    }
    assert!((1860..=1950).contains(&covered), "{covered} of 2000");
}

#[test]
fn an_empty_tally_knows_nothing() {
    let tally = Tally::default();
    let elo = tally.elo();
    assert_eq!((tally.games(), tally.score(), tally.los(), elo.value), (0, 0.5, 0.5, 0.0));
    assert_eq!((elo.low, elo.high, tally.discs()), (f64::NEG_INFINITY, f64::INFINITY, (0.0, f64::INFINITY)));
}

#[test]
fn tallies_count_games_pairs_and_discs() {
    let mut tally = Tally::default();
    [[10, -4], [0, 2], [-64, -2], [6, 8]].into_iter().for_each(|discs| tally.add(discs));
    assert_eq!(tally.pairs, [1, 0, 1, 1, 1]);
    assert_eq!((tally.wins, tally.draws, tally.losses), (4, 1, 3));
    // Pair means 3, 1, -33, 7: mean -5.5, deviations 8.5, 6.5, -27.5 and 12.5.
    let (mean, error) = tally.discs();
    assert!(
        close(mean, -5.5) && close(error, ((72.25 + 42.25 + 756.25 + 156.25) / 3.0 / 4.0f64).sqrt()),
        "{mean} {error}"
    );
}

#[test]
fn senseless_tests_are_refused() {
    assert_eq!(Sprt::new(5.0, 0.0, 0.05, 0.05), Err(SprtError::Hypotheses(5.0, 0.0)));
    for (elo0, elo1) in [(f64::NAN, 0.0), (0.0, f64::NAN), (0.0, 2001.0), (f64::NEG_INFINITY, 0.0), (1.0, 1.0)] {
        assert!(Sprt::new(elo0, elo1, 0.05, 0.05).is_err(), "{elo0} {elo1}");
    }
    let extreme = Sprt::new(-2000.0, 2000.0, 0.05, 0.05).unwrap();
    assert!(extreme.llr(&tally_of([1, 0, 0, 0, 0])) < -5.0 && extreme.llr(&tally_of([0, 0, 0, 0, 1])) > 5.0);
    for bad in [0.0, 0.5, 1.0, -0.1, f64::NAN] {
        assert!(Sprt::new(0.0, 5.0, bad, 0.05).is_err() && Sprt::new(0.0, 5.0, 0.05, bad).is_err(), "{bad}");
    }
    let (lower, upper) = Sprt::new(0.0, 5.0, 0.05, 0.05).unwrap().bounds();
    assert!(close(lower, -2.9444389791664403) && close(upper, 2.9444389791664403));
}

#[test]
fn the_built_in_openings_are_distinct_and_choices_nest() {
    let openings = xot_openings();
    assert_eq!(openings.len(), 10_784);
    assert_eq!(openings.iter().collect::<std::collections::HashSet<_>>().len(), openings.len());
    assert!(openings.iter().all(|opening| opening.moves().len() == 8));
    let (short, long) = (select_openings(&openings, 50, 3), select_openings(&openings, 500, 3));
    assert_eq!(short, long[..50]);
    assert_eq!(long.iter().collect::<std::collections::HashSet<_>>().len(), 500);
    assert_ne!(short, select_openings(&openings, 50, 4));
    let all = select_openings(&openings, 20_000, 3);
    assert!(all[..500] == long && all.len() == openings.len());
    assert_eq!(all.iter().collect::<std::collections::HashSet<_>>().len(), all.len());
}

#[test]
fn openings_that_come_to_the_same_count_once() {
    // A line, the line again, another order of its moves, its images in two diagonals, and another line.
    let lines = "f5d6c3d3c4\nf5d6c3d3c4\nf5d6c4d3c3\ne6f4c3c4d3\nd3c5f6f5e6\nf5d6";
    let lines = parse_openings(lines).unwrap();
    let different = select_openings(&lines, 100, 1);
    assert_eq!(different.len(), 2);
    assert_eq!(different.iter().filter(|opening| opening.moves().len() == 2).count(), 1);
}

#[test]
fn bad_opening_lists_say_where() {
    assert_eq!(parse_openings("# nothing\n\n"), Err(OpeningsError::Empty));
    let error = parse_openings("f5d6\n\nf5f5\n").unwrap_err();
    assert!(matches!(error, OpeningsError::Line { line: 3, .. }), "{error}");
    // The shortest game: black wipes white out with the ninth disc.
    let error = parse_openings("e6f4e3f6g5d6e7f5c5").unwrap_err();
    assert!(matches!(error, OpeningsError::GameOver { line: 1 }), "{error}");
    assert_eq!(parse_openings("% comment\nF5D6\r\n").unwrap(), ["f5d6".parse::<Transcript>().unwrap()]);
}

#[test]
fn games_end_by_the_rules_and_are_told_in_order() {
    for opening in select_openings(&xot_openings(), 40, 1) {
        let mut witness = Witness { expected: Diagram::START, told: 0 };
        let game = played(&mut Hashed(2), &mut witness, &opening);
        assert!(game.forfeit.is_none());
        assert_eq!(witness.told, game.moves.len());
        assert_eq!(game.notes.len(), game.moves.len());
        let last = Transcript::from_moves(&game.moves).unwrap().last();
        assert!(last.position.is_game_over());
        let sign = if last.side == Side::Black { 1 } else { -1 };
        assert_eq!(game.discs, sign * last.position.final_score());
    }
}

#[test]
fn broken_off_games_are_lost_with_the_reason() {
    let opening: Transcript = "f5d6".parse().unwrap();
    for (fault, after) in [(Fault::Illegal, 0), (Fault::Illegal, 3), (Fault::Error, 0), (Fault::Error, 5)] {
        let mut faulty = Faulty { fault, after, asked: 0 };
        let game = played(&mut Greedy, &mut faulty, &opening);
        let forfeit = game.forfeit.expect("it broke off");
        assert_eq!((game.discs, forfeit.side), (64, Side::White));
        match fault {
            Fault::Illegal => assert!(matches!(forfeit.reason, ForfeitReason::Illegal(_))),
            Fault::Error => assert_eq!(forfeit.reason.to_string(), "out of ideas"),
        }
        let game = played(&mut faulty, &mut Greedy, &opening);
        assert_eq!((game.discs, game.forfeit.unwrap().side), (-64, Side::Black));
        assert_eq!(game.moves.len(), game.notes.len());
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let sprt = Some(Sprt::new(0.0, 60.0, 0.05, 0.05).unwrap());
    for plan in [plan(60, None), plan(2000, sprt)] {
        let mut runs = Vec::new();
        for threads in [1, 2, 3, 8] {
            let mut games = Vec::new();
            let report = run_on(threads, &plan, &AtomicBool::new(false), |event| {
                assert_eq!(event.index, games.len());
                games.push((event.pair.clone(), *event.tally, event.llr));
            });
            assert_eq!(report.tally.pair_count() as usize, games.len());
            runs.push((report, games));
        }
        assert!(runs.windows(2).all(|pair| pair[0] == pair[1]));
        let (report, games) = &runs[0];
        assert!(report.tally.score() > 0.6, "{report:?}");
        if plan.sprt.is_some() {
            assert_eq!(report.ending, Ending::Decided(Hypothesis::H1));
            assert!(games.len() < plan.openings.len());
        } else {
            assert_eq!((report.ending, games.len()), (Ending::Complete, 60));
        }
    }
}

#[test]
fn a_player_against_itself_scores_exactly_half() {
    let plan = plan(100, None);
    let report = plan.run(|| Ok(Hashed(1)), || Ok(Hashed(1)), &AtomicBool::new(false), |_| ()).unwrap();
    assert_eq!(report.tally.pairs, [0, 0, 100, 0, 0]);
    assert_eq!(report.tally.discs(), (0.0, 0.0));
}

#[test]
fn a_stopped_match_goes_on_where_it_was() {
    let mut plan = plan(50, None);
    let whole = run_on(2, &plan, &AtomicBool::new(false), |_| ());
    let (stop, mut played) = (AtomicBool::new(false), Vec::new());
    let report = run_on(3, &plan, &stop, |event| {
        played.push(event.pair.clone());
        stop.store(event.index >= 9, Ordering::Relaxed);
    });
    assert_eq!(report.ending, Ending::Stopped);
    assert!((10..50).contains(&played.len()));
    let before = played.len();
    plan.held = played.into_iter().map(held).collect();
    let made = AtomicUsize::new(0);
    let mut told = 0;
    let first = || {
        made.fetch_add(1, Ordering::Relaxed);
        Ok(Greedy)
    };
    let resumed = plan.run(first, || Ok(Hashed(5)), &AtomicBool::new(false), |_| told += 1).unwrap();
    assert_eq!((resumed, told), (whole, 50));
    assert!(before < 50 && made.into_inner() > 0);
}

#[test]
fn a_player_that_cannot_be_made_fails_the_match() {
    let error = || Err::<Hashed, _>(PlayerError::Failed("no such file".into()));
    let report = plan(5, None).run(|| Ok(Greedy), error, &AtomicBool::new(false), |_| ());
    assert_eq!(report, Err(PlayerError::Failed("no such file".into())));
}

/// Plays a match between players of which the second breaks some games off, keeping the games, up to `pairs` of them.
fn logged(path: &std::path::Path, plan: &mut Match, threads: usize, pairs: usize) -> Result<Vec<Pair>, GameLogError> {
    let (mut log, played) = GameLog::open(path, ["greedy [1]", "faulty"], &plan.openings)?;
    let before = played.len();
    plan.held = played.iter().cloned().map(held).collect();
    let (stop, mut all) = (AtomicBool::new(false), Vec::new());
    let second = || Ok(Faulty { fault: Fault::Error, after: 25, asked: 0 });
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        plan.run(
            || Ok(Greedy),
            second,
            &stop,
            |event| {
                if event.index >= before && event.index < pairs {
                    log.add(event.pair).unwrap();
                }
                all.push(event.pair.clone());
                stop.store(event.index + 1 >= pairs, Ordering::Relaxed);
            },
        )
    })
    .unwrap();
    Ok(all)
}

#[test]
fn an_interrupted_match_goes_on_and_leaves_the_same_file() {
    let directory = tempfile::tempdir().unwrap();
    for extension in ["ggf", "txt"] {
        let (whole, parts) = (directory.path().join("whole").with_extension(extension), directory.path().join("parts"));
        let parts = parts.with_extension(extension);
        let mut plan = plan(30, None);
        let games = logged(&whole, &mut plan, 1, 30).unwrap();
        let forfeits = games.iter().flat_map(|pair| &pair.games).filter(|game| game.forfeit.is_some()).count();
        assert!((5..60).contains(&forfeits), "{forfeits}");
        let bytes = std::fs::read(&whole).unwrap();

        logged(&parts, &mut plan, 3, 7).unwrap();
        // Killed while writing: a whole game more, and half a line.
        let lines: Vec<_> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
        let mut torn = lines[..15].concat();
        torn.extend(&lines[15][..20]);
        std::fs::write(&parts, &torn).unwrap();
        let resumed = logged(&parts, &mut plan, 2, 30).unwrap();
        assert_eq!(plan.held.len(), 7);
        assert_eq!(std::fs::read(&parts).unwrap(), bytes);
        assert!(resumed.iter().map(Pair::discs).eq(games.iter().map(Pair::discs)));
        let forfeits = |pairs: &[Pair]| {
            let games = pairs.iter().flat_map(|pair| pair.games.clone());
            games.map(|game| game.forfeit.map(|forfeit| forfeit.side)).collect::<Vec<_>>()
        };
        assert_eq!(forfeits(&resumed), forfeits(&games));

        // A finished match has nothing left to play, and a shorter one takes what it needs.
        logged(&parts, &mut plan, 2, 30).unwrap();
        assert_eq!((plan.held.len(), std::fs::read(&parts).unwrap()), (30, bytes.clone()));
        plan.openings.truncate(4);
        assert_eq!(logged(&parts, &mut plan, 2, 4).unwrap().len(), 4);
        assert_eq!(std::fs::read(&parts).unwrap(), bytes);
    }
}

#[test]
fn a_file_of_something_else_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(3, None);
    let open = |name: &str, text: &str, names: [&str; 2]| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        let error = GameLog::open(&path, names, &plan.openings).unwrap_err();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        error
    };
    assert!(matches!(open("a.txt", "my diary\n", ["a", "b"]), GameLogError::Record { line: 1, .. }));
    assert!(matches!(open("a.ggf", "my diary\n", ["a", "b"]), GameLogError::OtherMatch { line: 1, .. }));
    let other = format!("{}\n{}\n", plan.openings[0], plan.openings[1]);
    assert!(matches!(open("a.txt", &other, ["a", "b"]), GameLogError::OtherMatch { line: 2, .. }));
    let moves = plan.openings[0].moves().iter().zip(["B", "W"].iter().cycle());
    let moves: String = moves.map(|(square, colour)| format!("{colour}[{square}]")).collect();
    let game = format!("(;GM[Othello]PB[a]PW[b]{moves};)\n");
    assert!(matches!(open("a.ggf", &game, ["b", "a"]), GameLogError::OtherMatch { line: 1, .. }));

    let path = directory.path().join("locked.txt");
    let _first = GameLog::open(&path, ["a", "b"], &plan.openings).unwrap();
    assert!(matches!(GameLog::open(&path, ["a", "b"], &plan.openings), Err(GameLogError::Locked(_))));
    assert!(matches!(GameLog::open(directory.path(), ["a", "b"], &plan.openings), Err(GameLogError::File { .. })));
}
