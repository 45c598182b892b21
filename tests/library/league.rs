//! Leagues: the schedule, and the ratings against naive computations and simulated players.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use flipside::arena::{
    Estimate, HeldPair, League, Match, Pair, PairEvent, PairPoints, Player, PlayerError, Ratings, Tally, gauntlet,
    round_robin, select_openings, xot_openings,
};
use flipside::board::{Diagram, Square, squares};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

static NEVER: AtomicBool = AtomicBool::new(false);

/// Plays the legal move picked by a hash of the position and the player's number, now and then the one that leaves the
/// opponent fewest moves.
struct Hashed(usize);

impl Player for Hashed {
    fn choose(&mut self, diagram: &Diagram, _: &AtomicBool) -> Result<Square, PlayerError> {
        let position = diagram.position;
        let hash = position.hash64().wrapping_add(self.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let moves: Vec<_> = squares(position.moves()).collect();
        let greedy = hash % 8 < self.0 as u64;
        let best = moves.iter().min_by_key(|&&to| position.play(to).moves().count_ones());
        Ok(if greedy { *best.unwrap() } else { moves[hash as usize % moves.len()] })
    }
}

fn league(players: usize, openings: usize) -> League {
    let openings = select_openings(&xot_openings(), openings, 1);
    League { openings, pairings: round_robin(players), ..League::default() }
}

type Results = Vec<(usize, [usize; 2], usize, Pair)>;

/// The pairs of a league on a number of threads, at most `max` of them.
fn results(league: &League, threads: usize, max: usize) -> Results {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let mut results = Vec::new();
    let on_pair = |event: flipside::arena::LeagueEvent<'_>| {
        results.push((event.index, event.players, event.opening, event.pair.clone()));
        if results.len() == max { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    pool.install(|| league.run(|number| Ok(Hashed(number)), &NEVER, on_pair)).unwrap();
    results
}

#[test]
fn a_league_plays_what_single_matches_play_on_any_number_of_threads() {
    let league = league(4, 10);
    let single = results(&league, 1, usize::MAX);
    assert_eq!(single.len(), 60);
    assert!(single.iter().map(|result| result.0).eq(0..60));
    // All pairings play an opening before the next one begins.
    assert!(single.iter().map(|result| result.2).eq((0..60).map(|i| i / 6)));
    for threads in [2, 3, 7] {
        assert_eq!(results(&league, threads, usize::MAX), single);
    }
    for &[a, b] in &league.pairings {
        let plan = Match { openings: league.openings.clone(), sprt: None, held: Vec::new() };
        let mut alone = Vec::new();
        let on_pair = |event: PairEvent<'_>| {
            alone.push(event.pair.discs());
            ControlFlow::Continue(())
        };
        plan.run(|| Ok(Hashed(a)), || Ok(Hashed(b)), &NEVER, on_pair).unwrap();
        let together = single.iter().filter(|result| result.1 == [a, b]).map(|result| result.3.discs());
        assert!(together.eq(alone));
    }
}

#[test]
fn a_league_continues_from_held_games() {
    let mut league = league(3, 8);
    let whole = results(&league, 1, usize::MAX);
    let begun = results(&league, 3, 9);
    assert_eq!(begun[..], whole[..9]);
    // All but the first pairs, and of one of them only half.
    let hold = |(index, _, _, pair): &(usize, [usize; 2], usize, Pair)| {
        let mut games = pair.games.clone().map(Some);
        if *index == 4 {
            games[0] = None;
        }
        (*index, HeldPair { games })
    };
    league.held = whole[3..].iter().map(hold).collect();
    let played = AtomicUsize::new(0);
    struct Counted<'a>(Hashed, &'a AtomicUsize);
    impl Player for Counted<'_> {
        fn new_game(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
        fn choose(&mut self, diagram: &Diagram, stop: &AtomicBool) -> Result<Square, PlayerError> {
            self.0.choose(diagram, stop)
        }
    }
    let mut discs = Vec::new();
    let player = |number| Ok(Counted(Hashed(number), &played));
    let on_pair = |event: flipside::arena::LeagueEvent<'_>| {
        discs.push(event.pair.discs());
        ControlFlow::Continue(())
    };
    league.run(player, &NEVER, on_pair).unwrap();
    assert!(discs.into_iter().eq(whole.iter().map(|result| result.3.discs())));
    assert_eq!(played.into_inner(), 2 * (3 * 2 + 1));
}

#[test]
fn a_league_stops_on_request_or_if_a_player_cannot_be_made() {
    let league = league(3, 20);
    let mut told = 0;
    let on_pair = |_: flipside::arena::LeagueEvent<'_>| {
        told += 1;
        if told == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    league.run(|number| Ok(Hashed(number)), &NEVER, on_pair).unwrap();
    assert_eq!(told, 7);
    let stopped = AtomicBool::new(true);
    league.run(|number| Ok(Hashed(number)), &stopped, |_| panic!("played on")).unwrap();
    let broken = |number| if number == 2 { Err(PlayerError::Failed("no".into())) } else { Ok(Hashed(number)) };
    let failed = league.run(broken, &NEVER, |_| ControlFlow::Continue(()));
    assert_eq!(failed, Err(PlayerError::Failed("no".into())));
}

#[test]
fn who_meets_whom() {
    assert_eq!(round_robin(4), [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]);
    assert_eq!(gauntlet(4), [[0, 1], [0, 2], [0, 3]]);
}

/// Plays pairs between simulated players of known strength. An opening favours one colour by a random amount, and each player
/// likes some openings more than others: games of a pair are correlated, and so are pairs from the same opening.
fn simulate(elo: &[f64], openings: usize, pairings: &[[usize; 2]], rng: &mut ChaCha8Rng) -> Vec<PairPoints> {
    let mut results = Vec::new();
    let mut normal = |deviation: f64| deviation * ((0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0);
    for opening in 0..openings {
        let colour = normal(150.0);
        let taste: Vec<f64> = elo.iter().map(|_| normal(100.0)).collect();
        for &[a, b] in pairings {
            let difference = elo[a] + taste[a] - elo[b] - taste[b];
            let mut half_points = 0;
            for colour in [colour, -colour] {
                // Half-way between two thresholds it is a draw.
                let odds = difference + colour + normal(200.0);
                half_points += if odds > 10.0 { 2 } else { u32::from(odds > -10.0) };
            }
            results.push(PairPoints { players: [a, b], opening, half_points });
        }
    }
    results
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance
}

#[test]
fn two_players_have_the_ratings_of_their_match() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for difference in [0.0, 40.0, -120.0, 300.0] {
        let results = simulate(&[difference, 0.0], 300, &[[0, 1]], &mut rng);
        let mut tally = Tally::default();
        for result in &results {
            let discs = [[-2, -2], [-2, 0], [0, 0], [2, 0], [2, 2]][result.half_points as usize];
            tally.add(discs);
        }
        let ratings = Ratings::fit(2, 1, &results);
        let Estimate { value, low, high } = ratings.elo(0).unwrap();
        assert!(close(value, tally.elo().value, 1e-6), "{value} {:?}", tally.elo());
        // The closed form: a pair's mean score varies as a coin's does, times the factor r; the delta method gives Elo.
        let (n, score) = (results.len() as f64, tally.score());
        let coin = score * (1.0 - score);
        let squares: f64 = results.iter().map(|result| (f64::from(result.half_points) / 4.0 - score).powi(2)).sum();
        let r = (squares / coin + 1.0) / (n + 1.0);
        let half = 1.959_963_984_540_054 * 400.0 / std::f64::consts::LN_10 * (r / (n * coin)).sqrt();
        assert!(close(high - value, half, 1e-6) && close(value - low, half, 1e-6), "{low} {high} {half}");
        assert!(!ratings.one_sided());
        assert_eq!(ratings.elo(1).map(|anchor| (anchor.value, anchor.high)), Some((0.0, 0.0)));
        let superiority = ratings.superiority(0, 1).unwrap();
        assert!(
            close(superiority, tally.superiority(), 0.02)
                && close(superiority + ratings.superiority(1, 0).unwrap(), 1.0, 1e-12)
        );
    }
}

/// The ratings by E. Zermelo's iteration ("Die Berechnung der Turnier-Ergebnisse als ein Maximumproblem der
/// Wahrscheinlichkeitsrechnung", 1929), which is slow and cannot fail.
fn zermelo(count: usize, anchor: usize, results: &[PairPoints]) -> Vec<f64> {
    let mut strength = vec![1.0f64; count];
    for _ in 0..20_000 {
        let mut points = vec![0.0; count];
        let mut share = vec![0.0; count];
        for &PairPoints { players: [a, b], half_points, .. } in results {
            points[a] += f64::from(half_points) / 2.0;
            points[b] += 2.0 - f64::from(half_points) / 2.0;
            share[a] += 2.0 / (strength[a] + strength[b]);
            share[b] += 2.0 / (strength[a] + strength[b]);
        }
        let next: Vec<f64> = (0..count).map(|player| points[player] / share[player]).collect();
        strength = next.iter().map(|value| value / next[anchor]).collect();
    }
    strength.into_iter().map(|value| 400.0 * value.log10()).collect()
}

#[test]
fn ratings_equal_those_of_a_naive_iteration() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for round in 0..6 {
        let count = 3 + round % 4;
        let elo: Vec<f64> = (0..count).map(|_| rng.random_range(-200.0..200.0)).collect();
        // Not all pairings meet, and not all at all openings.
        let pairings: Vec<_> =
            round_robin(count).into_iter().filter(|&[a, b]| b == a + 1 || rng.random_bool(0.6)).collect();
        let mut results = simulate(&elo, 60, &pairings, &mut rng);
        results.retain(|result| result.opening < 10 || result.players[1] != 2);
        let anchor = round % count;
        let ratings = Ratings::fit(count, anchor, &results);
        assert!(!ratings.one_sided());
        for (player, expected) in zermelo(count, anchor, &results).into_iter().enumerate() {
            let found = ratings.elo(player).unwrap();
            assert!(close(found.value, expected, 1e-5), "{round}, {player}: {found:?} {expected}");
        }
        // Another anchor shifts all ratings by the same amount; differences and superiority stay.
        let other = Ratings::fit(count, (anchor + 1) % count, &results);
        for (a, b) in (0..count).flat_map(|a| (0..count).map(move |b| (a, b))) {
            let (one, two) = (ratings.difference(a, b).unwrap(), other.difference(a, b).unwrap());
            assert!(close(one.value, two.value, 1e-6) && close(one.low, two.low, 1e-6), "{one:?} {two:?}");
            let superiority = [&ratings, &other].map(|ratings| ratings.superiority(a, b).unwrap());
            assert!(close(superiority[0], superiority[1], 1e-8), "{superiority:?}");
        }
    }
}

#[test]
fn intervals_are_as_wide_as_resampled_openings_say() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (count, openings) = (4, 200);
    let results = simulate(&[0.0, 30.0, -50.0, 80.0], openings, &round_robin(count), &mut rng);
    let ratings = Ratings::fit(count, 0, &results);
    let rounds = 2000;
    let mut squares = [0.0; 4];
    for _ in 0..rounds {
        let mut resampled = Vec::new();
        for opening in 0..openings {
            let drawn = rng.random_range(0..openings);
            let pairs = results.iter().filter(|result| result.opening == drawn);
            resampled.extend(pairs.map(|&pair| PairPoints { opening, ..pair }));
        }
        let again = Ratings::fit(count, 0, &resampled);
        for (player, sum) in squares.iter_mut().enumerate() {
            *sum += (again.elo(player).unwrap().value - ratings.elo(player).unwrap().value).powi(2);
        }
    }
    for (player, sum) in squares.iter().enumerate().skip(1) {
        let Estimate { low, high, .. } = ratings.elo(player).unwrap();
        let (found, resampled) = ((high - low) / 2.0 / 1.96, (sum / f64::from(rounds)).sqrt());
        assert!(close(found / resampled, 1.0, 0.08), "{player}: {found} {resampled}");
    }
}

#[test]
fn intervals_cover_the_truth_about_nineteen_times_in_twenty() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let elo = [0.0, 25.0, -60.0, 90.0, 10.0];
    // The model's ratings of the simulated strengths, from very many openings.
    let truth = Ratings::fit(5, 0, &simulate(&elo, 200_000, &round_robin(5), &mut rng));
    let truth: Vec<f64> = (0..5).map(|player| truth.elo(player).unwrap().value).collect();
    let (mut covered, mut surprises) = (0, 0);
    for _ in 0..500 {
        let ratings = Ratings::fit(5, 0, &simulate(&elo, 80, &round_robin(5), &mut rng));
        for (player, value) in truth.iter().enumerate().skip(1) {
            let Estimate { low, high, .. } = ratings.elo(player).unwrap();
            covered += usize::from((low..=high).contains(value));
        }
        // The fourth player is stronger than the second: 95% certainty of the opposite must be rare.
        surprises += usize::from(ratings.superiority(1, 3).unwrap() > 0.95);
    }
    assert!((1850..=1950).contains(&covered), "{covered} of 2000");
    assert!(surprises <= 5, "{surprises}");
}

#[test]
fn players_that_won_or_lost_everything_have_finite_ratings_and_others_none() {
    let pair = |a, b, opening, half_points| PairPoints { players: [a, b], opening, half_points };
    // 0 and 1 are even, both always beat 2; 3 and 4 only met each other; 5 met nobody.
    let results: Vec<_> = (0..10)
        .flat_map(|opening| {
            let even = if opening % 2 == 0 { 3 } else { 1 };
            [pair(0, 1, opening, even), pair(0, 2, opening, 4), pair(2, 1, opening, 0), pair(3, 4, opening, 1)]
        })
        .collect();
    let ratings = Ratings::fit(6, 0, &results);
    assert!(ratings.one_sided());
    let of = |player| ratings.elo(player).map(|estimate: Estimate| (estimate.value, estimate.low, estimate.high));
    let (last, low, high) = of(2).unwrap();
    // Half a point in each twenty games.
    assert!(close(last, -400.0 * 39f64.log10(), 1e-6) && low.is_finite() && high < 0.0, "{last} {low} {high}");
    assert!(close(of(1).unwrap().0, 0.0, 1e-9));
    assert!(ratings.superiority(1, 2).unwrap() > 0.99);
    // Less evidence does not give more certainty: all points of a hundred pairs, and all but half a point.
    let half_width = |last_pair| {
        let results: Vec<_> =
            (0..100).map(|opening| pair(0, 1, opening, if opening == 0 { last_pair } else { 4 })).collect();
        let Estimate { low, high, .. } = Ratings::fit(2, 1, &results).elo(0).unwrap();
        (high - low) / 2.0
    };
    assert!(half_width(4) > half_width(3) && half_width(3) > half_width(0), "{} {}", half_width(4), half_width(3));
    assert_eq!((of(3), of(4), of(5)), (None, None, None));
    assert_eq!((ratings.superiority(3, 4), ratings.difference(0, 5).is_some()), (None, false));
    let nobody = Ratings::fit(2, 1, &[]);
    assert_eq!((nobody.elo(0), nobody.elo(1).map(|anchor| anchor.value), nobody.one_sided()), (None, Some(0.0), false));
    // A single pair proves hardly anything.
    let single = Ratings::fit(2, 0, &[pair(0, 1, 0, 3)]);
    let Estimate { low, high, .. } = single.elo(1).unwrap();
    assert!(high - low > 400.0 && high.is_finite(), "{low} {high}");
}
