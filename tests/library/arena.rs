//! Matches: the referee, determinism over threads, tests that stop them, and the statistics against published figures.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use flipside::arena::{
    Ending, Estimate, GameLog, GameLogError, HeldPair, Hypothesis, Match, MatchReport, Pair, PairEvent, PlayedGame,
    Player, PlayerError, SearchPlayer, Sprt, Tally, parse_openings, play_game, select_openings, xot_openings,
};
use flipside::board::{Diagram, Side, Square, Transcript, canonical, squares};
use flipside::eval::MobilityEvaluator;
use flipside::record::log::{End, PlayerCard, Settings};
use flipside::record::{Finish, Format, GameResult, MoveNote, Record, convert, read};
use flipside::search::{Engine, Limits, Strength};

static NEVER: AtomicBool = AtomicBool::new(false);

fn played(black: &mut dyn Player, white: &mut dyn Player, opening: &Transcript) -> PlayedGame {
    play_game(black, white, opening, &NEVER).unwrap()
}

/// Plays a legal move picked by a hash of the position and the seed.
struct Hashed(u64);

impl Player for Hashed {
    fn choose(&mut self, diagram: &Diagram, _: &AtomicBool) -> Result<Square, PlayerError> {
        let moves: Vec<_> = squares(diagram.position.moves()).collect();
        let hash = diagram.position.hash64().wrapping_add(self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        Ok(moves[hash as usize % moves.len()])
    }
}

/// Leaves the opponent as few moves as possible.
struct Greedy;

impl Player for Greedy {
    fn choose(&mut self, diagram: &Diagram, _: &AtomicBool) -> Result<Square, PlayerError> {
        let position = diagram.position;
        let best = squares(position.moves()).min_by_key(|&to| position.play(to).moves().count_ones());
        best.ok_or_else(|| PlayerError::Failed("no move".into()))
    }
}

/// How a player breaks off, from its `after`th move on.
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

/// Checks that it is called in the order of a real game.
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
    let on_pair = |event: PairEvent<'_>| {
        log(event);
        ControlFlow::Continue(())
    };
    pool.install(|| plan.run(|| Ok(Greedy), || Ok(Hashed(5)), stop, on_pair).unwrap())
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
    for (pairs, elo, low, high, superiority) in [
        ([253, 4282, 17604, 4431, 286], 1.3907329804867707, 0.0688615814600297, 2.7126043795135053, 0.9803993163900473),
        ([5, 10, 20, 15, 9], 38.432798634330446, -13.85415967934181, 90.71975694800274, 0.9248041417533981),
        ([0, 0, 0, 0, 500], f64::INFINITY, 845.7895289183009, f64::INFINITY, 1.0),
        ([0, 0, 0, 1, 499], 1320.3251176472659, 1018.441228806892, 1622.2090064876404, 1.0),
        ([0, 0, 100, 0, 0], 0.0, -6.775388086552295, 6.7753880865523515, 0.5),
        ([1, 0, 0, 0, 0], f64::NEG_INFINITY, f64::NEG_INFINITY, 233.798472816109, 0.15865525393145707),
    ] {
        let tally = tally_of(pairs);
        let estimate = tally.elo();
        let found = [estimate.value, estimate.low, estimate.high, tally.superiority()];
        for (found, expected) in found.into_iter().zip([elo, low, high, superiority]) {
            assert!(close(found, expected), "{pairs:?}: {estimate:?} {}", tally.superiority());
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
    assert_eq!((tally.pair_count(), tally.score(), tally.superiority(), elo.value), (0, 0.5, 0.5, 0.0));
    assert_eq!((elo.low, elo.high), (f64::NEG_INFINITY, f64::INFINITY));
    let discs = tally.discs();
    assert_eq!((discs.value, discs.low, discs.high), (0.0, -64.0, 64.0));
}

#[test]
fn tallies_count_games_pairs_and_discs() {
    let mut tally = Tally::default();
    [[10, -4], [0, 2], [-64, -2], [6, 8]].into_iter().for_each(|discs| tally.add(discs));
    assert_eq!(tally.pairs, [1, 0, 1, 1, 1]);
    assert_eq!((tally.wins, tally.draws, tally.losses), (4, 1, 3));
    // Pair means 3, 1, -33, 7: mean -5.5, deviations 8.5, 6.5, -27.5 and 12.5.
    let discs = tally.discs();
    let error = ((72.25 + 42.25 + 756.25 + 156.25) / 3.0 / 4.0f64).sqrt();
    assert!(close(discs.value, -5.5) && close(discs.high - discs.value, discs.value - discs.low), "{discs:?}");
    // Student's t with three degrees of freedom, from a table.
    let quantile = (discs.high - discs.value) / error;
    assert!((quantile / 3.182_446 - 1.0).abs() < 0.002, "{quantile}");
}

#[test]
fn senseless_tests_are_refused() {
    assert!(Sprt::new(5.0, 0.0, 0.05, 0.05).unwrap_err().to_string().contains("got 5 and 0"));
    for (elo0, elo1) in [(f64::NAN, 0.0), (0.0, f64::NAN), (0.0, 2001.0), (f64::NEG_INFINITY, 0.0), (1.0, 1.0)] {
        assert!(Sprt::new(elo0, elo1, 0.05, 0.05).is_err(), "{elo0} {elo1}");
    }
    let extreme = Sprt::new(-2000.0, 2000.0, 0.05, 0.05).unwrap();
    assert!(extreme.llr(&tally_of([1, 0, 0, 0, 0])) < -5.0 && extreme.llr(&tally_of([0, 0, 0, 0, 1])) > 5.0);
    for bad in [0.0, 0.5, 1.0, -0.1, f64::NAN] {
        assert!(Sprt::new(0.0, 5.0, bad, 0.05).is_err() && Sprt::new(0.0, 5.0, 0.05, bad).is_err(), "{bad}");
    }
}

#[test]
fn a_test_decides_at_walds_bounds() {
    let sprt = Sprt::new(0.0, 5.0, 0.05, 0.05).unwrap();
    let decided = [-2.9445, -2.9444, 2.9444, 2.9445].map(|llr| sprt.decide(llr));
    assert_eq!(decided, [Some(Hypothesis::H0), None, None, Some(Hypothesis::H1)]);
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
fn openings_with_the_same_final_position_count_once() {
    // A line, the line again, another order of its moves, its images in two diagonals, and another line.
    let lines = "f5d6c3d3c4\nf5d6c3d3c4\nf5d6c4d3c3\ne6f4c3c4d3\nd3c5f6f5e6\nf5d6";
    let lines = parse_openings(lines).unwrap();
    let different = select_openings(&lines, 100, 1);
    assert_eq!(different.len(), 2);
    assert_eq!(different.iter().filter(|opening| opening.moves().len() == 2).count(), 1);
}

#[test]
fn bad_opening_lists_say_where() {
    assert!(parse_openings("# nothing\n\n").unwrap_err().to_string().contains("none found"));
    let error = parse_openings("f5d6\n\nf5f5\n").unwrap_err();
    assert!(error.to_string().starts_with("line 3: "), "{error}");
    // The shortest game: black wipes white out with the ninth disc.
    let error = parse_openings("e6f4e3f6g5d6e7f5c5").unwrap_err();
    assert!(error.to_string().contains("the game is over"), "{error}");
    assert_eq!(parse_openings("% comment\nF5D6\r\n").unwrap(), ["f5d6".parse::<Transcript>().unwrap()]);
    // Positions become games that lead to them, those of the mirrored start too.
    let games = ["f5", "f5d6c3d3c4f4f6f3", "c4c3d3c5b4d2e2", "f4f3e3f5g4"];
    let positions: String = games.iter().map(|game| format!("{}\n", game.parse::<Diagram>().unwrap())).collect();
    for (opening, game) in parse_openings(&positions).unwrap().iter().zip(games) {
        let game: Transcript = game.parse().unwrap();
        assert_eq!(opening.last(), game.last(), "{opening}");
    }
    // Formats that do not say whose turn it is show the player to move as black.
    for game in ["f5", "f5d6c3", "d3c5", "f5d6"] {
        let last = game.parse::<Transcript>().unwrap().last();
        let shown = Diagram { side: Side::Black, ..last };
        let found = parse_openings(&shown.to_string()).unwrap()[0].last();
        assert_eq!(canonical(found.position), canonical(last.position), "{game}");
    }
    let error = parse_openings(&format!("X{} X", "-".repeat(63))).unwrap_err();
    assert!(error.to_string().contains("give its moves"), "{error}");
}

#[test]
fn games_end_by_the_rules_and_are_observed_in_order() {
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
            Fault::Illegal => assert_eq!(forfeit.end, End::Illegal),
            Fault::Error => assert_eq!((forfeit.end, &*forfeit.reason), (End::Failure, "out of ideas")),
        }
        let game = played(&mut faulty, &mut Greedy, &opening);
        assert_eq!((game.discs, game.forfeit.unwrap().side), (-64, Side::Black));
        assert_eq!(game.moves.len(), game.notes.len());
    }
}

/// An engine that searches to `depth`, exact from 10 empty squares on.
fn engine(depth: u32) -> Engine<'static, MobilityEvaluator> {
    Engine::new(&MobilityEvaluator, Strength::new(depth, 10), 12).unwrap()
}

#[test]
fn a_player_with_a_time_limit_finds_what_it_has_time_for() {
    let timed = |depth, time| SearchPlayer::new(engine(depth)).with_limits(Limits { time: Some(time), ..Limits::NONE });
    let (hour, moment) = (Duration::from_secs(3600), Duration::from_nanos(1));
    // With plenty of time it reaches its depth: the same moves as without a clock, exact endings included.
    for opening in select_openings(&xot_openings(), 3, 2) {
        let mut by_depth = SearchPlayer::new(engine(3));
        let games =
            [played(&mut timed(3, hour), &mut Hashed(1), &opening), played(&mut by_depth, &mut Hashed(1), &opening)];
        assert_eq!(games[0].moves, games[1].moves);
        assert_eq!(played(&mut timed(3, Duration::MAX), &mut Hashed(1), &opening).moves, games[1].moves);
        // Without any time it still plays, whatever its depth.
        assert_eq!(played(&mut timed(60, moment), &mut timed(60, moment), &opening).forfeit, None);
    }
    // A stop from outside counts like the end of the time.
    let stopped = AtomicBool::new(true);
    assert!(timed(60, hour).choose(&Diagram::START, &stopped).is_ok());
    assert_eq!(
        play_game(&mut timed(60, hour), &mut Hashed(1), &Transcript::default(), &stopped),
        Err(PlayerError::Stopped)
    );
}

#[test]
fn a_player_with_a_node_limit_always_finds_the_same() {
    let by_nodes =
        |depth, nodes| SearchPlayer::new(engine(depth)).with_limits(Limits { nodes: Some(nodes), ..Limits::NONE });
    for opening in select_openings(&xot_openings(), 3, 2) {
        let by_depth = played(&mut SearchPlayer::new(engine(3)), &mut Hashed(1), &opening);
        assert_eq!(played(&mut by_nodes(3, u64::MAX), &mut Hashed(1), &opening).moves, by_depth.moves);
        let games = [(); 2].map(|()| played(&mut by_nodes(60, 5_000), &mut by_nodes(60, 1), &opening).moves);
        assert_eq!(games[0], games[1]);
    }
    // Nodes visited and depth reached: up to the limit, and four plies in any case.
    let analysed = |nodes| {
        let analysis =
            engine(4).analyse_within(&Diagram::START.position, &Limits { nodes: Some(nodes), ..Limits::NONE });
        (analysis.depth, analysis.nodes)
    };
    let (depth, nodes) = analysed(50_000);
    assert!(depth > 6 && (10_000..60_000).contains(&nodes), "{depth} {nodes}");
    assert_eq!(analysed(1).0, 4);
    // With an odd number of empty squares three plies are guaranteed.
    let game = "f5d6c3d3c4f4f6f3e6e7d7c5b6d8c6c7d2b5a5a6a7g5e3b4c8g6g4c2e8d1f7".parse::<Transcript>().unwrap();
    let position = game.last().position;
    assert_eq!(position.empties(), 29);
    let mut solving = Engine::new(&MobilityEvaluator, Strength::new(60, 30), 12).unwrap();
    let mut solved = |nodes| {
        solving.forget();
        let analysis = solving.analyse_within(&position, &Limits { nodes: Some(nodes), ..Limits::NONE });
        (analysis.depth, analysis.nodes)
    };
    assert_eq!(solved(1).0, 3);
    let (depth, nodes) = solved(200_000);
    assert!(depth > 4 && (100_000..220_000).contains(&nodes), "{depth} {nodes}");
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
    let report = plan.run(|| Ok(Hashed(1)), || Ok(Hashed(1)), &NEVER, |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(report.tally.pairs, [0, 0, 100, 0, 0]);
    assert_eq!(report.tally.discs(), Estimate { value: 0.0, low: 0.0, high: 0.0 });
}

#[test]
fn a_stopped_match_is_resumed_where_it_was() {
    let mut plan = plan(1_000, None);
    let whole = run_on(2, &plan, &AtomicBool::new(false), |_| ());
    let (stop, mut played) = (AtomicBool::new(false), Vec::new());
    let report = run_on(3, &plan, &stop, |event| {
        played.push(event.pair.clone());
        stop.store(event.index >= 9, Ordering::Relaxed);
    });
    // The other threads may have played on while the one with the tenth pair had no core.
    assert_eq!(report.ending == Ending::Stopped, played.len() < 1_000);
    assert!(played.len() >= 10);
    plan.held = played.into_iter().take(10).map(held).collect();
    let made = AtomicUsize::new(0);
    let mut told = 0;
    let first = || {
        made.fetch_add(1, Ordering::Relaxed);
        Ok(Greedy)
    };
    let on_pair = |_: PairEvent<'_>| {
        told += 1;
        ControlFlow::Continue(())
    };
    let resumed = plan.run(first, || Ok(Hashed(5)), &NEVER, on_pair).unwrap();
    assert_eq!((resumed, told), (whole, 1_000));
    assert!(made.into_inner() > 0);
}

#[test]
fn a_player_that_cannot_be_made_fails_the_match() {
    let error = || Err::<Hashed, _>(PlayerError::Failed("no such file".into()));
    let report = plan(5, None).run(|| Ok(Greedy), error, &NEVER, |_| ControlFlow::Continue(()));
    assert_eq!(report, Err(PlayerError::Failed("no such file".into())));
}

/// Breaks in games of the second opening. Games of the first last until then, unless a single thread plays them.
struct Breaking<'a> {
    openings: &'a [Transcript],
    moves: Vec<Square>,
    is_broken: &'a AtomicBool,
}

impl Player for Breaking<'_> {
    fn new_game(&mut self) {
        self.moves.clear();
    }

    fn observe(&mut self, _: &Diagram, square: Square) {
        self.moves.push(square);
    }

    fn choose(&mut self, diagram: &Diagram, _: &AtomicBool) -> Result<Square, PlayerError> {
        if self.moves.starts_with(self.openings[1].moves()) {
            self.is_broken.store(true, Ordering::Relaxed);
            return Err(PlayerError::Broken("out of order".into()));
        }
        while rayon::current_num_threads() > 1 && !self.is_broken.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        Hashed(1).choose(diagram, &NEVER)
    }
}

#[test]
fn a_broken_player_fails_the_match_unless_it_was_decided_before() {
    // The first pair scores half: enough to decide the test.
    let decided = Sprt::new(1000.0, 2000.0, 0.4, 0.4).unwrap();
    for threads in 1..=3 {
        for sprt in [None, Some(decided)] {
            let (plan, is_broken, mut pairs) = (plan(2, sprt), AtomicBool::new(false), 0);
            let breaking = || Ok(Breaking { openings: &plan.openings, moves: Vec::new(), is_broken: &is_broken });
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let on_pair = |_: PairEvent<'_>| {
                pairs += 1;
                ControlFlow::Continue(())
            };
            let report = pool.install(|| plan.run(breaking, breaking, &NEVER, on_pair));
            let ending = report.map(|report| report.ending);
            let expected = match sprt {
                None => Err(PlayerError::Broken("out of order".into())),
                Some(_) => Ok(Ending::Decided(Hypothesis::H0)),
            };
            assert_eq!((ending, pairs), (expected, 1), "{threads} threads");
        }
    }
}

fn card(name: &str, settings: &[(&str, &str)]) -> PlayerCard {
    let settings = settings.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
    PlayerCard { name: name.to_owned(), settings }
}

fn greedy_and_faulty() -> [PlayerCard; 2] {
    [card("greedy [1]", &[("engine", "greedy")]), card("faulty", &[("engine", "faulty"), ("after", "25")])]
}

fn open(path: &Path, players: &[PlayerCard]) -> Result<GameLog, GameLogError> {
    GameLog::open(path, Settings::from([("seed".into(), 7.into())]), players)
}

/// Plays a match of up to `pairs` pairs whose second player breaks some games off, and keeps the games.
fn logged(path: &Path, plan: &mut Match, threads: usize, pairs: usize) -> Result<Vec<Pair>, GameLogError> {
    let mut log = open(path, &greedy_and_faulty())?;
    let openings = plan.openings.clone();
    plan.held = openings.iter().map(|opening| log.pair([0, 1], opening)).collect();
    let mut all = Vec::new();
    let second = || Ok(Faulty { fault: Fault::Error, after: 25, asked: 0 });
    let on_pair = |event: PairEvent<'_>| {
        if event.index < pairs {
            log.add([0, 1], &openings[event.index], event.pair).unwrap();
        }
        all.push(event.pair.clone());
        if event.index + 1 < pairs { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| plan.run(|| Ok(Greedy), second, &NEVER, on_pair)).unwrap();
    Ok(all)
}

fn whole_pairs(plan: &Match) -> usize {
    plan.held.iter().filter(|pair| pair.is_whole()).count()
}

#[test]
fn an_interrupted_match_is_resumed_and_leaves_the_same_file() {
    let directory = tempfile::tempdir().unwrap();
    let (whole, parts) = (directory.path().join("whole"), directory.path().join("parts"));
    let mut plan = plan(30, None);
    let games = logged(&whole, &mut plan, 1, 30).unwrap();
    let forfeits = games.iter().flat_map(|pair| &pair.games).filter(|game| game.forfeit.is_some()).count();
    assert!((5..60).contains(&forfeits), "{forfeits}");
    let bytes = std::fs::read(&whole).unwrap();
    assert_eq!(bytes.split(|&byte| byte == b'\n').count(), 1 + 2 + 60 + 1);

    logged(&parts, &mut plan, 3, 7).unwrap();
    assert!(bytes.starts_with(&std::fs::read(&parts).unwrap()));
    let resumed = logged(&parts, &mut plan, 2, 30).unwrap();
    assert_eq!(whole_pairs(&plan), 7);
    assert_eq!(std::fs::read(&parts).unwrap(), bytes);
    let told = |pairs: &[Pair]| {
        let games = pairs.iter().flat_map(|pair| pair.games.clone());
        games
            .map(|game| (game.moves, game.discs, game.forfeit.map(|f| (f.side, f.reason.to_string()))))
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&resumed), told(&games));

    // A finished match has nothing left to play, and a shorter one takes what it needs.
    logged(&parts, &mut plan, 2, 30).unwrap();
    assert_eq!((whole_pairs(&plan), std::fs::read(&parts).unwrap()), (30, bytes.clone()));
    plan.openings.truncate(4);
    assert_eq!(logged(&parts, &mut plan, 2, 4).unwrap().len(), 4);
    assert_eq!(std::fs::read(&parts).unwrap(), bytes);
}

#[test]
fn a_log_cut_off_anywhere_only_loses_its_last_line() {
    let directory = tempfile::tempdir().unwrap();
    let (whole, torn) = (directory.path().join("whole"), directory.path().join("torn"));
    let mut plan = plan(3, None);
    logged(&whole, &mut plan, 1, 3).unwrap();
    let bytes = std::fs::read(&whole).unwrap();
    for length in 0..bytes.len() {
        std::fs::write(&torn, &bytes[..length]).unwrap();
        let log = open(&torn, &greedy_and_faulty()).unwrap();
        let games = plan.openings.iter().flat_map(|opening| log.pair([0, 1], opening).games).flatten().count();
        let kept = bytes[..length].iter().filter(|&&byte| byte == b'\n').count();
        // A line that only lacks its line feed is whole.
        let kept = kept + usize::from(length > 0 && bytes[length] == b'\n');
        assert_eq!(games, kept.saturating_sub(3), "{length}");
        let cut = bytes[..length].split(|&byte| byte == b'\n').next_back().unwrap().len();
        assert_eq!(log.dropped(), if bytes[length] == b'\n' { 0 } else { cut });
        drop(log);
        let after = std::fs::read(&torn).unwrap();
        assert!(bytes.starts_with(&after) && after.len() >= length - cut, "{length}");
        if length % 97 == 0 {
            logged(&torn, &mut plan, 2, 3).unwrap();
            assert_eq!(std::fs::read(&torn).unwrap(), bytes, "{length}");
        }
    }
    // What a power cut may leave after the last line.
    for zeros in [300, 200_000] {
        std::fs::write(&torn, [&bytes[..], &vec![0; zeros]].concat()).unwrap();
        assert_eq!(open(&torn, &greedy_and_faulty()).unwrap().dropped(), zeros);
        assert_eq!(std::fs::read(&torn).unwrap(), bytes);
    }
    let damaged = [&bytes[..], &[0; 200_000], b"{}\n"].concat();
    std::fs::write(&torn, &damaged).unwrap();
    assert!(matches!(open(&torn, &greedy_and_faulty()), Err(GameLogError::Line { .. })));
    assert_eq!(std::fs::read(&torn).unwrap(), damaged);
}

#[test]
fn a_file_of_something_else_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let mut plan = plan(10, None);
    logged(&path, &mut plan, 1, 10).unwrap();
    let log = std::fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let error = open(&path, &greedy_and_faulty()).unwrap_err();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        error
    };
    let games = plan.openings.iter().map(|opening| format!("{opening}\n")).collect::<String>();
    for text in
        ["my diary\n", "my diary", "\n", &games, "(;GM[Othello]PB[a]PW[b]B[f5];)\n", "{\"a\":1}", &"x".repeat(1 << 20)]
    {
        assert!(matches!(refused(text.as_bytes()), GameLogError::NoLog(_)), "{text:.20}");
    }
    assert!(refused(games.as_bytes()).to_string().contains("say too little"));
    // Logs with wrong content, and logs followed by something that is not a log line.
    let text = String::from_utf8(log).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let with = |number: usize, line: &str| {
        let mut lines = lines.clone();
        lines[number - 1] = line;
        lines.join("\n") + "\n"
    };
    let (played, broken_off) = (
        lines[3..].iter().find(|line| !line.contains("end")).unwrap(),
        lines.iter().find(|line| line.contains("end")).unwrap(),
    );
    for (number, line) in [
        (1, lines[0].replace("\"version\":1", "\"version\":2")),
        (4, "{".to_owned()),
        (4, lines[0].to_owned()),
        (5, String::new()),
        (5, played.replace("\"discs\":", "\"discs\":1")),
        (5, played.replace("\"moves\":\"", "\"moves\":\"a1")),
        (5, played.replace("\"black\":", "\"black\":7")),
        (5, broken_off.replace("\"end\":\"failure\",", "")),
        (5, played.replace("\"opening\":8", "\"opening\":61")),
        (6, "x".repeat(1 << 17)),
    ] {
        let error = refused(with(number, &line).as_bytes());
        assert!(matches!(error, GameLogError::Line { line, .. } if line == number), "{line:.200}: {error}");
    }
    assert!(matches!(refused((text.clone() + "my diary").as_bytes()), GameLogError::Line { line: 24, .. }));

    assert!(matches!(open(directory.path(), &greedy_and_faulty()), Err(GameLogError::File { .. })));
    std::fs::write(&path, &text).unwrap();
    let _first = open(&path, &greedy_and_faulty()).unwrap();
    assert!(matches!(open(&path, &greedy_and_faulty()), Err(GameLogError::Locked(_))));
}

#[test]
fn a_log_of_other_games_is_refused_with_the_difference() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let [a, b] = [card("a", &[("weights", "w"), ("depth", "4")]), card("b", &[("weights", "v")])];
    let opened = |seed: u64, players: &[PlayerCard]| {
        GameLog::open(&path, Settings::from([("seed".into(), seed.into())]), players).map(drop)
    };
    opened(1, &[a.clone(), b.clone()]).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let refused = |seed, players: &[PlayerCard]| {
        let error = opened(seed, players).unwrap_err();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        error.to_string()
    };
    let deeper = card("a", &[("weights", "w"), ("depth", "6")]);
    let c = card("c", &[("weights", "u")]);
    assert!(refused(2, &[a.clone(), b.clone()]).contains("seed is 1 there and 2 here"));
    let error = refused(1, &[deeper, b.clone()]);
    assert!(error.contains("depth is `4` there and `6` here") && !error.contains("weights"), "{error}");
    let error = refused(1, &[card("a", &[("weights", "new")]), b.clone()]);
    assert!(
        error.contains("weights is `w` there and `new` here") && error.contains("depth is `4` there and none here")
    );
    // A player's name and place do not matter, and others may join.
    opened(1, &[b.clone(), PlayerCard { name: "A".into(), ..a.clone() }]).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    opened(1, &[c.clone(), b.clone()]).unwrap();
    let joined = std::fs::read(&path).unwrap();
    assert!(joined.starts_with(&bytes));
    opened(1, &[a.clone(), c]).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), joined);
    // A player may meet itself.
    opened(1, &[a.clone(), a.clone()]).unwrap();
    let twins = std::fs::read(&path).unwrap();
    assert!(twins.len() > joined.len());
    opened(1, &[a.clone(), a]).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), twins);
}

#[test]
fn what_players_say_of_their_moves_is_kept_in_hundredths() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let opening = xot_openings()[0].clone();
    let mut game = played(&mut Greedy, &mut Hashed(1), &opening);
    let mut notes = vec![MoveNote::default(); game.moves.len()];
    notes[opening.moves().len()] = MoveNote { evaluation: Some(-1.234), seconds: Some(0.126) };
    game.notes = notes.clone();
    let pair = Pair { games: [game.clone(), game] };
    let mut log = open(&path, &greedy_and_faulty()).unwrap();
    log.add([0, 1], &opening, &pair).unwrap();
    drop(log);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("null,-1.23,null") && text.contains("null,0.13,null"), "{text}");
    let [held, _] = open(&path, &greedy_and_faulty()).unwrap().pair([0, 1], &opening).games;
    notes[opening.moves().len()] = MoveNote { evaluation: Some(-1.23), seconds: Some(0.13) };
    assert_eq!(held.unwrap().notes, notes);
}

#[test]
fn logs_are_records() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    let games = logged(&path, &mut plan(10, None), 1, 10).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(Format::detect(&bytes), Format::Log);
    let records: Vec<_> = read(&bytes, Format::Log).unwrap().map(|record| record.unwrap()).collect();
    assert_eq!(records.len(), 20);
    for (record, game) in records.into_iter().zip(games.iter().flat_map(|pair| &pair.games)) {
        let Record::Game(found) = record else { panic!("{record:?}") };
        assert!(found.moves().iter().map(|(square, _)| square).eq(&game.moves));
        let finish = if game.forfeit.is_some() { Finish::Forfeited } else { Finish::Played };
        assert_eq!(found.result, Some(GameResult { discs: game.discs, finish }));
    }
    let mut ggf = Vec::new();
    let done = convert(&bytes, Format::Log, Format::Ggf, &mut ggf, &mut Err).unwrap();
    assert_eq!((done.written, done.skipped), (20, 0));
    assert!(String::from_utf8(ggf).unwrap().contains("PB[greedy  1]PW[faulty]"));
    assert!(convert(&bytes, Format::Log, Format::Log, &mut Vec::new(), &mut Err).is_err());
    let mut damaged = bytes.clone();
    damaged.extend(b"rubbish\n");
    assert_eq!(read(&damaged, Format::Log).unwrap().filter(Result::is_err).count(), 1);
}
