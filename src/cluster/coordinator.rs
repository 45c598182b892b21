//! The coordinator: games from workers and from this machine, in order, as if all had been played here.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::news::News;
use super::schedule::{Completed, Schedule};
use super::state::{Generation, KeptProof, Shared};
use super::wire::{Job, MAX_GAMES, Proof, ResultLine, digest_of, result_from_bytes};
use super::{MAX_NAME, is_plain_name};
use crate::eval::{Calibration, Evaluator, Model};
use crate::games::{RawFrame, digest, frame};
use crate::selfplay::{FRAME, GameRecord, SelfPlay};
use crate::storage::sha256;
use crate::threads::{hand_over, lock};
use crate::train::{BadGames, GameJob, OnGames, Played};
use crate::weights::{Provenance, WeightFile};

/// One job in this many is also played here.
const TRIED: u64 = 100;
/// The longest time until a change is noticed without a signal.
const MOMENT: Duration = Duration::from_millis(20);

/// The last weights packed as a file, kept so that equal weights are not packed twice.
#[derive(Default)]
pub(super) struct Packed(Option<(Model, Option<Calibration>, Arc<Vec<u8>>)>);

/// Plays a job with the help of workers.
pub(super) fn play(
    shared: &Shared,
    packed: &Mutex<Packed>,
    secret: u64,
    job: &GameJob<'_>,
    stop: &AtomicBool,
    on_games: &mut OnGames<'_>,
) -> Result<(), BadGames> {
    let Some(evaluator) = job.evaluator(stop) else { return Ok(()) };
    let &GameJob { seed, generation, play, .. } = job;
    let (weights, proof) = (String::new(), String::new());
    let job_of_all = Job { seed, generation, first: 0, count: 1, play: *play, weights, proof };
    let schedule = Schedule::new(job.games.clone());
    lock(&shared.state).generation = Some(Generation::new(job_of_all, schedule));
    shared.wake.notify_one();
    let table = Table {
        shared,
        packed,
        secret,
        model: job.model,
        calibration: evaluator.calibration(),
        players: SelfPlay::new(&evaluator, *play),
        in_step: play.frames_in_step(),
        seed,
        generation,
        hands: Mutex::new(on_games),
        halt: AtomicBool::new(false),
        bad: Mutex::new(None),
    };
    table.work_on_all_threads(stop);
    lock(&shared.state).generation = None;
    shared.wake.notify_one();
    table.bad.into_inner().unwrap_or_default().map_or(Ok(()), Err)
}

/// What the threads that play a generation share.
struct Table<'t, E: Evaluator> {
    shared: &'t Shared,
    packed: &'t Mutex<Packed>,
    secret: u64,
    model: &'t Model,
    calibration: Option<&'t Calibration>,
    players: SelfPlay<'t, E>,
    /// Most frames that are played in lockstep.
    in_step: usize,
    seed: u64,
    generation: u32,
    hands: Mutex<&'t mut OnGames<'t>>,
    /// Set when all is over, for whatever reason.
    halt: AtomicBool,
    bad: Mutex<Option<BadGames>>,
}

/// Something to do.
enum Task {
    Pack,
    TakeIn(Vec<u8>),
    Play(Range<usize>),
    Wait,
}

/// Sets a flag when it is dropped.
struct Setter<'f>(&'f AtomicBool);

impl Drop for Setter<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

impl<E: Evaluator> Table<'_, E> {
    /// Works until all is over, or soon after `stop` is set.
    fn work_on_all_threads(&self, stop: &AtomicBool) {
        thread::scope(|scope| {
            // Passes a stop on to the games in progress.
            scope.spawn(|| {
                while !self.halt.load(Relaxed) {
                    self.halt.fetch_or(stop.load(Relaxed), Relaxed);
                    thread::sleep(MOMENT);
                }
            });
            rayon::scope(|scope| (0..rayon::current_num_threads()).for_each(|_| scope.spawn(|_| self.work())));
        });
    }

    fn work(&self) {
        // If this thread panics, the others must not wait for its games.
        let _halt = Setter(&self.halt);
        while !self.halt.load(Relaxed) {
            match self.next() {
                Task::Pack => self.pack(),
                Task::TakeIn(bytes) => self.take_in(&bytes),
                Task::Play(steps) => self.play(steps),
                Task::Wait => {
                    let state = lock(&self.shared.state);
                    drop(self.shared.changed.wait_timeout(state, MOMENT));
                }
            }
            self.hand_over();
        }
    }

    fn next(&self) -> Task {
        let mut state = lock(&self.shared.state);
        let needed = state.present().next().is_some() || !state.inbox.is_empty();
        let generation = state.current_mut();
        if generation.weights.is_some() {
            if let Some(bytes) = state.inbox.pop_front() {
                return Task::TakeIn(bytes);
            }
        } else if needed && !std::mem::replace(&mut generation.is_packing, true) {
            return Task::Pack;
        }
        let (threads, most) = (state.threads(), self.in_step);
        let generation = state.current_mut();
        generation.schedule.claim(threads, most, Instant::now()).map_or(Task::Wait, Task::Play)
    }

    /// Packs the weights as a file.
    fn pack(&self) {
        let mut packed = lock(self.packed);
        let same = packed
            .0
            .as_ref()
            .filter(|(model, calibration, _)| model == self.model && calibration.as_ref() == self.calibration);
        let bytes = match same {
            Some((.., bytes)) => bytes.clone(),
            None => {
                let (model, calibration) = (self.model.clone(), self.calibration.cloned());
                let file = WeightFile { calibration, ..WeightFile::new(model, Provenance::default()) };
                let bytes = Arc::new(file.to_bytes());
                packed.0 = Some((file.model, file.calibration, bytes.clone()));
                bytes
            }
        };
        let name = sha256(&bytes);
        let mut state = lock(&self.shared.state);
        let generation = state.current_mut();
        generation.job.weights = name;
        generation.weights = Some(bytes);
        self.shared.wake.notify_one();
    }

    fn play_steps(&self, steps: Range<usize>) -> Option<Vec<GameRecord>> {
        let numbers = self.with_schedule(|schedule| schedule.numbers_of(steps));
        self.players.play_here(self.seed, self.generation, numbers, &self.halt).ok()
    }

    fn with_schedule<T>(&self, what: impl FnOnce(&mut Schedule<Played>) -> T) -> T {
        what(&mut lock(&self.shared.state).current_mut().schedule)
    }

    fn play(&self, steps: Range<usize>) {
        let Some(games) = self.play_steps(steps.clone()) else {
            return self.with_schedule(|schedule| steps.for_each(|step| schedule.give_up(step)));
        };
        let mut games = games.into_iter();
        for step in steps {
            let games: Vec<_> = games.by_ref().take(FRAME as usize).collect();
            self.offer_proof(step, &games);
            let digest = digest(&games);
            self.complete_here(step, games, digest);
        }
    }

    /// Makes games that were played here the proof that workers must pass, if the current one does not suffice.
    fn offer_proof(&self, step: usize, games: &[GameRecord]) {
        let mut state = lock(&self.shared.state);
        let generation = state.current();
        let is_proved = state.proof.as_ref().is_some_and(|kept| generation.is_proved_by(&kept.proof));
        let Some(weights) = generation.weights.clone().filter(|_| !is_proved) else { return };
        let numbers = generation.schedule.numbers(step);
        let job = Job { first: numbers.start, count: numbers.len() as u32, ..generation.job.clone() };
        let proof = Proof { job, digest: digest_of(games) };
        state.proof = Some(KeptProof::new(proof, weights));
        self.shared.wake.notify_one();
    }

    fn complete(&self, step: usize, games: Vec<GameRecord>, digest: [u8; 32], by: Option<usize>) -> Option<Completed> {
        let first = self.with_schedule(|schedule| schedule.numbers(step).start);
        // Deflated here, whoever has played: machines may do it differently, and files must be the same.
        let played = Played { frame: frame(first, &games), games };
        let mut state = lock(&self.shared.state);
        let known = by.and_then(|worker| state.workers.get(&worker));
        if known.is_some_and(|known| known.refused.is_some()) {
            return None;
        }
        let generation = state.current_mut();
        let completed = generation.schedule.complete(step, digest, by, played, Instant::now());
        self.shared.wake.notify_one();
        Some(completed)
    }

    /// Takes in a step that was played here. If it differs from an earlier result, whoever played that was wrong.
    fn complete_here(&self, step: usize, games: Vec<GameRecord>, digest: [u8; 32]) -> Option<Completed> {
        let completed = self.complete(step, games, digest, None)?;
        let Completed::Differs { by } = completed else { return Some(completed) };
        let numbers = self.with_schedule(|schedule| schedule.numbers(step));
        let reason =
            format!("games {} to {} were different when they were played here", numbers.start, numbers.end - 1);
        match by {
            Some(wrong) => self.refuse(wrong, &reason),
            None => self.spoil(format!("{reason} before: check this machine's memory")),
        }
        Some(completed)
    }

    /// Hands over what is next, unless another thread is doing so.
    fn hand_over(&self) {
        let has_next = || self.with_schedule(|schedule| schedule.has_next());
        let next = || self.with_schedule(Schedule::take);
        hand_over(&self.hands, &self.halt, has_next, next, |hands, played| hands(played));
        if self.with_schedule(|schedule| schedule.is_over()) {
            self.halt.store(true, Relaxed);
            self.shared.changed.notify_all();
        }
    }

    /// Takes in a message with games.
    fn take_in(&self, bytes: &[u8]) {
        let unreadable = |worker: &str, reason: String| {
            let subject = format!("results of worker `{worker}`");
            self.shared.teller.tell(&News::Unreadable { subject, reason });
        };
        let (line, frames) = match result_from_bytes(bytes) {
            Ok(result) => result,
            Err(error) => return unreadable("?", error.to_string()),
        };
        if !is_plain_name(&line.worker, MAX_NAME) {
            return unreadable("?", "its worker has no name".into());
        }
        let (worker, steps, is_tried) = {
            let mut state = lock(&self.shared.state);
            let generation = state.current();
            if line.key != generation.job.key() || line.first < generation.schedule.numbers(0).start {
                // Of another generation or an earlier run, or in the journal already.
                return;
            }
            let steps = generation.schedule.steps(line.first..line.first + line.count);
            let Some(worker) = state.worker(&line.worker) else { return };
            let known = &state.workers[&worker];
            if known.refused.is_some() {
                return;
            }
            (worker, steps, known.is_tried)
        };
        let Some(steps) = steps else {
            return unreadable(
                &line.worker,
                format!("games {} and following are none of the generation's", line.first),
            );
        };
        let games: Result<Vec<_>, _> = frames.iter().map(RawFrame::decode).collect();
        let games = match games {
            Ok(games) => games,
            Err(error) => return unreadable(&line.worker, error.to_string()),
        };
        let tried = if self.is_to_be_tried(&line) { steps.len() } else { usize::from(!is_tried) };
        let mut taken = 0;
        for (i, (step, games)) in steps.zip(games).enumerate() {
            let count = games.len() as u64;
            match self.take_step(worker, step, games, i < tried) {
                Some(Completed::New) => taken += count,
                Some(_) => {}
                None => return,
            }
        }
        if let Some(known) = lock(&self.shared.state).workers.get_mut(&worker) {
            known.games += taken;
            known.is_tried = true;
        }
    }

    /// Whether all games of a message are also to be played here: one message in a hundred, and nobody else can know which.
    fn is_to_be_tried(&self, line: &ResultLine) -> bool {
        let text = format!("{} {} {}", self.secret, line.key, line.first / MAX_GAMES);
        let number = u64::from_str_radix(&sha256(text.as_bytes())[..15], 16).expect("fifteen digits");
        number.is_multiple_of(TRIED)
    }

    /// Takes in a worker's step. `None` if its games are not to be taken.
    fn take_step(&self, worker: usize, step: usize, games: Vec<GameRecord>, is_tried: bool) -> Option<Completed> {
        let theirs = digest(&games);
        let known = self.with_schedule(|schedule| schedule.digest(step));
        let is_in_doubt = known.is_some_and(|known| known != theirs);
        if !is_tried && !is_in_doubt {
            let completed = self.complete(step, games, theirs, Some(worker))?;
            if !matches!(completed, Completed::Differs { .. }) {
                return Some(completed);
            }
        }
        self.settle(worker, step, theirs)
    }

    /// Plays a step here, to see who is right. `None` if the worker is not.
    fn settle(&self, worker: usize, step: usize, theirs: [u8; 32]) -> Option<Completed> {
        let games = self.play_steps(step..step + 1)?;
        let ours = digest(&games);
        let numbers = self.with_schedule(|schedule| schedule.numbers(step));
        let is_right = ours == theirs;
        if !is_right {
            self.refuse(
                worker,
                &format!("its games {} to {} differ from those played here", numbers.start, numbers.end - 1),
            );
        }
        self.complete_here(step, games, ours).filter(|_| is_right)
    }

    /// Takes no more games from a worker, and forgets those that it delivered, also those that it may have delivered to an earlier session.
    fn refuse(&self, worker: usize, reason: &str) {
        let (name, before, is_clean, is_whole) = {
            let mut state = lock(&self.shared.state);
            let (name, before) = match state.workers.get_mut(&worker) {
                Some(known) => {
                    if known.refused.replace(reason.to_owned()).is_some() {
                        return;
                    }
                    (known.name.clone(), known.games)
                }
                // It has left, and another took its place; its games are forgotten all the same.
                None => ("?".to_owned(), 0),
            };
            let schedule = &mut state.current_mut().schedule;
            (name, before, schedule.distrust(worker), schedule.numbers(0).start == 0)
        };
        let reason =
            format!("{reason}. {before} of its games were taken in this session. Check its build and its memory");
        self.shared.teller.tell(&News::Refused { worker: name.clone(), reason });
        self.shared.wake.notify_one();
        if !is_clean {
            self.spoil(format!("worker `{name}` delivered games that are not the run's"));
        } else if !is_whole {
            self.spoil(format!(
                "worker `{name}` played wrong games, and may have played some of those from before this session"
            ));
        }
    }

    /// Ends play because games that were handed over may be wrong.
    fn spoil(&self, reason: String) {
        lock(&self.bad).get_or_insert(BadGames(reason));
        self.halt.store(true, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::super::news::Teller;
    use super::super::wire::result_to_bytes;
    use super::*;
    use crate::eval::MobilityEvaluator;
    use crate::selfplay::SelfPlayConfig;

    /// Runs a test with 64 games to play, which go to `on_games`.
    fn at_table(on_games: &mut OnGames<'_>, test: impl FnOnce(&Table<'_, MobilityEvaluator>)) {
        at_table_with(0, on_games, test);
    }

    /// [`at_table`] with a secret, and what the test returns.
    fn at_table_with<R>(
        secret: u64,
        on_games: &mut OnGames<'_>,
        test: impl FnOnce(&Table<'_, MobilityEvaluator>) -> R,
    ) -> R {
        let text = r#"{"depth":1,"exact-empties":2,"opening-plies":20,"exploration":0.1,"update":"td"}"#;
        let play: SelfPlayConfig = serde_json::from_str(text).unwrap();
        let tell = |news: &News| assert!(!matches!(news, News::Unreadable { .. }), "{news}");
        let shared = Shared::new(Arc::new(Teller::new(tell)));
        let (weights, proof) = (String::new(), String::new());
        let job = Job { seed: 1, generation: 0, first: 0, count: 1, play, weights, proof };
        let schedule = Schedule::new(0..2 * FRAME);
        lock(&shared.state).generation = Some(Generation::new(job, schedule));
        test(&Table {
            shared: &shared,
            packed: &Mutex::default(),
            secret,
            model: &WeightFile::embedded().model,
            calibration: None,
            players: SelfPlay::new(&MobilityEvaluator, play),
            in_step: 1,
            seed: 1,
            generation: 0,
            hands: Mutex::new(on_games),
            halt: AtomicBool::new(false),
            bad: Mutex::new(None),
        })
    }

    #[test]
    fn a_worker_whose_late_games_are_wrong_is_refused() {
        let (mut games, mut expected) = (Vec::new(), Vec::new());
        let mut on_games = |played: Vec<Played>| {
            games.extend(played.into_iter().flat_map(|played| played.games));
            ControlFlow::Continue(())
        };
        at_table(&mut on_games, |table| {
            let stop = AtomicBool::new(false);
            let worker = lock(&table.shared.state).worker("liar").unwrap();
            // A thread of ours has begun to play a late job when the worker's games come.
            let now = Instant::now();
            let late = table.with_schedule(|schedule| {
                schedule.offer(1, now);
                schedule.claim(1, 1, now + Duration::from_secs(3600)).unwrap()
            });
            let wrong = table.players.play_here(2, 0, 0..FRAME, &stop).unwrap();
            assert!(late == (0..1) && table.take_step(worker, 0, wrong, false) == Some(Completed::New));
            table.play(late);
            assert!(lock(&table.shared.state).workers[&worker].refused.is_some());
            table.work_on_all_threads(&stop);
            assert_eq!(*lock(&table.bad), None);
            expected = table.players.play_here(1, 0, 0..2 * FRAME, &stop).unwrap();
        });
        assert!(games == expected);
    }

    #[test]
    fn games_that_a_bad_worker_may_have_played_before_a_restart_are_played_again() {
        for (first, is_bad) in [(0, false), (FRAME, true)] {
            at_table(&mut |_| ControlFlow::Continue(()), |table| {
                table.with_schedule(|schedule| *schedule = Schedule::new(first..2 * FRAME));
                let worker = lock(&table.shared.state).worker("liar").unwrap();
                table.refuse(worker, "its games differ");
                assert_eq!((lock(&table.bad).is_some(), table.halt.load(Relaxed)), (is_bad, is_bad));
            });
        }
    }

    #[test]
    fn a_worker_that_begins_to_lie_is_found_out_by_chance() {
        let line = |table: &Table<'_, MobilityEvaluator>| {
            let key = lock(&table.shared.state).current().job.key();
            ResultLine { key, worker: "liar".into(), first: 0, count: 2 * FRAME }
        };
        let is_tried = |secret| {
            at_table_with(secret, &mut |_| ControlFlow::Continue(()), |table| table.is_to_be_tried(&line(table)))
        };
        let is_refused = |secret| {
            at_table_with(secret, &mut |_| ControlFlow::Continue(()), |table| {
                let stop = AtomicBool::new(false);
                let right = table.players.play_here(1, 0, 0..FRAME, &stop).unwrap();
                let wrong = table.players.play_here(2, 0, FRAME..2 * FRAME, &stop).unwrap();
                let worker = lock(&table.shared.state).worker("liar").unwrap();
                lock(&table.shared.state).workers.get_mut(&worker).unwrap().is_tried = true;
                table.take_in(&result_to_bytes(&line(table), &[frame(0, &right), frame(FRAME, &wrong)]));
                lock(&table.shared.state).workers[&worker].refused.is_some()
            })
        };
        let secrets = [false, true].map(|tried| (0..20 * TRIED).find(|&secret| is_tried(secret) == tried).unwrap());
        assert_eq!(secrets.map(is_refused), [false, true]);
    }

    #[test]
    fn games_that_come_twice_count_once() {
        at_table(&mut |_| ControlFlow::Continue(()), |table| {
            let games = table.players.play_here(1, 0, 0..2 * FRAME, &AtomicBool::new(false)).unwrap();
            let (first, second) = games.split_at(FRAME as usize);
            let key = lock(&table.shared.state).generation.as_ref().unwrap().job.key();
            let line = ResultLine { key, worker: "worker".into(), first: 0, count: 2 * FRAME };
            let bytes = result_to_bytes(&line, &[frame(0, first), frame(FRAME, second)]);
            for _ in 0..2 {
                table.take_in(&bytes);
                let state = lock(&table.shared.state);
                assert_eq!(state.workers.values().map(|known| known.games).collect::<Vec<_>>(), [2 * u64::from(FRAME)]);
            }
        });
    }

    #[test]
    fn games_that_the_journal_has_are_left_out_in_silence() {
        at_table(&mut |_| ControlFlow::Continue(()), |table| {
            let games = table.players.play_here(1, 0, 0..FRAME, &AtomicBool::new(false)).unwrap();
            table.with_schedule(|schedule| *schedule = Schedule::new(FRAME..2 * FRAME));
            let key = lock(&table.shared.state).generation.as_ref().unwrap().job.key();
            let line = ResultLine { key, worker: "worker".into(), first: 0, count: FRAME };
            table.take_in(&result_to_bytes(&line, &[frame(0, &games)]));
            assert!(lock(&table.shared.state).workers.is_empty());
        });
    }

    #[test]
    fn a_thread_that_panics_leaves_no_other_waiting() {
        let mut on_games = |_: Vec<Played>| -> ControlFlow<()> { panic!("expected") };
        at_table(&mut on_games, |table| {
            let stop = AtomicBool::new(false);
            assert!(catch_unwind(AssertUnwindSafe(|| table.work_on_all_threads(&stop))).is_err());
        });
    }
}
