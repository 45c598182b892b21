//! How busy the threads of one machine and the machines of a cluster are: a simulation of a generation of self-play, from measured
//! costs. Its random numbers come from a seed, so the tables of docs/lab/scaling.md come out the same everywhere. The schedule of a cluster
//! is the coordinator's own code. `cargo run --release --example scaling`

// What the schedule needs from the program; the rest of it is not used here.
#[allow(dead_code)]
#[path = "../src/selfplay/pieces.rs"]
mod pieces;
#[allow(dead_code)]
#[path = "../src/cluster/schedule.rs"]
mod schedule;
#[allow(dead_code)]
#[path = "../src/threads.rs"]
mod threads;
mod selfplay {
    pub use crate::pieces::{FRAME, frames};
}
mod wire {
    pub const MAX_GAMES: u32 = 256;
}

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use std::time::{Duration, Instant};

use pieces::{FRAME, lockstep};
use schedule::Schedule;

/// Costs as `cargo run --release --example piece_costs` measures them, in seconds.
#[derive(Clone, Copy)]
struct Costs {
    /// A game, played in lockstep with 255 others.
    game: f64,
    /// Standard deviation of a single game's cost, as a share of it.
    variation: f64,
    /// How much more games cost in smaller pieces: (games of a piece, factor).
    smaller: [(u32, f64); 6],
    /// Samples of a game, and its place in the journal: by one thread, in order.
    intake: f64,
    /// Decoding and replaying a game that another machine has played, and deflating it again: on any thread.
    decode: f64,
    /// Before the first game: an evaluator of the weights, made by all threads. After the last: the journal is synced.
    before: f64,
    after: f64,
    /// Writing the weights as a file; reading them, and an evaluator of them, at a worker.
    pack: f64,
    unpack: f64,
    /// Bytes of a game and of the weights on the wire.
    game_bytes: f64,
    weight_bytes: f64,
}

/// Plies that the games' searches look ahead.
const DEPTH: u32 = 4;

/// Preset `overnight` on a Zen 5 core: depth 4, exact from 12 empties on, set `night`.
const OVERNIGHT: Costs = Costs {
    game: 1.13e-3,
    variation: 0.25,
    smaller: [(1, 1.23), (4, 1.27), (8, 1.28), (16, 1.27), (32, 1.18), (64, 1.10)],
    intake: 5e-6,
    decode: 5e-6,
    before: 55e-3,
    after: 3e-3,
    pack: 0.345,
    unpack: 0.08,
    game_bytes: 123.0,
    weight_bytes: 9.4e6,
};

/// The same with searches of about four times the cost (depth 6, selective).
const DEEPER: Costs = Costs { game: 4.0 * OVERNIGHT.game, ..OVERNIGHT };

/// The largest number of frames that are played in lockstep.
const IN_STEP: usize = (lockstep(DEPTH) / FRAME) as usize;

/// Splitmix64.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normal, mean 0 and deviation 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }

    /// Time until an event that on average happens once in `mean`.
    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.next()).ln()
    }
}

impl Costs {
    /// Seconds for a piece of a number of games.
    fn piece(&self, games: u32, chance: &mut Chance) -> f64 {
        let factor = self.smaller.iter().find(|(most, _)| games <= *most).map_or(1.0, |(_, factor)| *factor);
        let variation = self.variation / f64::from(games).sqrt();
        f64::from(games) * self.game * factor * (1.0 + variation * chance.normal()).max(0.3)
    }
}

/// Seconds as a number that can be compared.
#[derive(Clone, Copy)]
struct Time(f64);

impl PartialEq for Time {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Time {}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A generation on one machine, its games cut into pieces, each taken by the first thread that is free: its duration, and the time
/// that all threads worked, in seconds. `barrier` is the number of games after which all threads wait for each other.
fn one_machine(costs: &Costs, threads: usize, pieces: &[Range<u32>], barrier: u32, chance: &mut Chance) -> [f64; 2] {
    let before = costs.before / threads as f64;
    let mut free: BinaryHeap<Reverse<Time>> = (0..threads).map(|_| Reverse(Time(before))).collect();
    let (mut intake, mut last, mut work) = (before, before, costs.before);
    for piece in pieces {
        if piece.start.is_multiple_of(barrier) {
            free = (0..threads).map(|_| Reverse(Time(last))).collect();
        }
        let Reverse(Time(begin)) = free.pop().expect("there are threads");
        let seconds = costs.piece(piece.len() as u32, chance);
        let end = begin + seconds;
        work += seconds;
        free.push(Reverse(Time(end)));
        last = last.max(end);
        // In order, on any thread; the others continue meanwhile.
        intake = intake.max(end) + costs.intake * piece.len() as f64;
    }
    [last.max(intake) + costs.after, work]
}

/// The share of the threads' time that the games would take if 256 were played in lockstep.
fn busy(costs: &Costs, games: u32, threads: usize, seconds: f64) -> f64 {
    costs.game * f64::from(games) / (threads as f64 * seconds)
}

fn equal(games: u32, size: u32) -> Vec<Range<u32>> {
    (0..games).step_by(size as usize).map(|first| first..(first + size).min(games)).collect()
}

fn table_of_threads(costs: &Costs, games: u32) {
    println!("threads\t2048 and a barrier\tpieces of 32\tpieces of 256\tshrinking pieces\tgeneration, s\tat work");
    for threads in [1, 2, 4, 8, 16, 32, 64, 96, 128] {
        let mut chance = Chance(1);
        let mean = |pieces: &[Range<u32>], barrier: u32, chance: &mut Chance| {
            let all: Vec<_> = (0..20).map(|_| one_machine(costs, threads, pieces, barrier, chance)).collect();
            [0, 1].map(|i| all.iter().map(|both| both[i]).sum::<f64>() / 20.0)
        };
        let [shrinking, work] = mean(&pieces::pieces(0..games, threads, lockstep(DEPTH)), u32::MAX, &mut chance);
        let [barrier, small, large] = [(FRAME, 2048), (FRAME, u32::MAX), (256, u32::MAX)]
            .map(|(size, barrier)| mean(&equal(games, size), barrier, &mut chance)[0]);
        let columns = [barrier, small, large, shrinking];
        let shares = columns.map(|seconds| format!("{:.1}%", 100.0 * busy(costs, games, threads, seconds)));
        let work = 100.0 * work / (threads as f64 * shrinking);
        println!("{threads}\t{}\t{shrinking:.3}\t{work:.1}%", shares.join("\t"));
    }
}

/// A cluster.
#[derive(Clone, Copy)]
struct Cluster {
    workers: usize,
    /// Cores of each worker, and of the coordinator.
    cores: usize,
    coordinator: usize,
    /// Mean seconds between failures of one worker; one that has failed is back after a minute.
    failures: f64,
    /// Seconds from machine to machine through the broker, and the broker's bytes per second.
    latency: f64,
    bandwidth: f64,
}

const RACK: Cluster =
    Cluster { workers: 16, cores: 4, coordinator: 64, failures: 3600.0, latency: 1e-3, bandwidth: 1.25e9 };

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Weights and jobs are at a worker.
    Ready(usize),
    /// Frames are played: the worker, which of its lives, the job, and how many frames.
    Played(usize, u32, usize, usize),
    /// A result is at the coordinator.
    Arrived(usize),
    /// A thread of the coordinator is done with a range of frames (its end excluded), with a result, or with waiting.
    Here(Option<(usize, usize)>, Option<usize>),
    Fails(usize),
    Returns(usize),
}

/// A job that was offered.
struct Job {
    games: Range<u32>,
    left: usize,
}

struct Worker {
    life: u32,
    is_up: bool,
    idle: usize,
    /// The job of each frame that waits.
    queue: VecDeque<usize>,
    held: usize,
}

/// What a generation took.
struct Outcome {
    seconds: f64,
    busy: f64,
    bytes: f64,
    twice: f64,
    failures: u32,
}

/// Plays a generation.
struct Simulation {
    costs: Costs,
    cluster: Cluster,
    chance: Chance,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    count: u64,
    schedule: Schedule<()>,
    jobs: Vec<Job>,
    workers: Vec<Worker>,
    inbox: VecDeque<usize>,
    /// When the broker's line is free.
    line: f64,
    bytes: f64,
    played: u64,
    failures: u32,
    origin: Instant,
    is_offered: bool,
}

impl Simulation {
    fn at(&mut self, time: f64, event: Event) {
        self.count += 1;
        self.events.push(Reverse((Time(time), self.count, event)));
    }

    fn instant(&self, time: f64) -> Instant {
        self.origin + Duration::from_secs_f64(time)
    }

    /// When bytes that are sent now arrive.
    fn send(&mut self, now: f64, bytes: f64) -> f64 {
        self.line = self.line.max(now) + bytes / self.cluster.bandwidth;
        self.bytes += bytes;
        self.line + self.cluster.latency
    }

    fn threads(&self) -> usize {
        self.cluster.coordinator + self.workers.iter().filter(|worker| worker.is_up).count() * self.cluster.cores
    }

    /// Offers a worker jobs until it holds as many as it wants.
    fn feed(&mut self, number: usize, now: f64) {
        let most = 4 * self.cluster.cores + 8;
        let threads = self.threads();
        while self.is_offered && self.workers[number].is_up && self.workers[number].held < most {
            let Some(games) = self.schedule.offer(threads, self.instant(now)) else { return };
            let frames = games.len().div_ceil(FRAME as usize);
            self.jobs.push(Job { games, left: frames });
            let job = self.jobs.len() - 1;
            let worker = &mut self.workers[number];
            worker.held += frames;
            worker.queue.extend(std::iter::repeat_n(job, frames));
            self.bytes += 400.0;
        }
    }

    /// Sets a worker's idle cores to work.
    fn drive(&mut self, number: usize, now: f64) {
        while self.workers[number].is_up && self.workers[number].idle > 0 {
            let queue = &mut self.workers[number].queue;
            let share = (queue.len() / self.cluster.cores).clamp(1, IN_STEP);
            let Some(job) = queue.pop_front() else { return };
            let more = queue.iter().take_while(|other| **other == job).count().min(share - 1);
            queue.drain(..more);
            self.workers[number].idle -= 1;
            let end = now + self.costs.piece(FRAME * (1 + more as u32), &mut self.chance);
            let life = self.workers[number].life;
            self.at(end, Event::Played(number, life, job, 1 + more));
        }
    }

    /// What a thread of the coordinator does next.
    fn work_here(&mut self, now: f64) {
        if let Some(job) = self.inbox.pop_front() {
            let seconds = (self.costs.decode + self.costs.intake) * self.jobs[job].games.len() as f64;
            return self.at(now + seconds, Event::Here(None, Some(job)));
        }
        match self.schedule.claim(self.threads(), IN_STEP, self.instant(now)) {
            Some(frames) => {
                let games = FRAME * frames.len() as u32;
                let seconds = self.costs.piece(games, &mut self.chance) + f64::from(games) * self.costs.intake;
                self.at(now + seconds, Event::Here(Some((frames.start, frames.end)), None));
            }
            None => self.at(now + 5e-3, Event::Here(None, None)),
        }
    }

    fn complete(&mut self, frame: usize, is_away: bool, now: f64) {
        self.played += 1;
        self.schedule.complete(frame, is_away, (), self.instant(now));
        while self.schedule.take().is_some() {}
    }

    fn run(mut self, games: u32, has_new_weights: bool) -> Outcome {
        let costs = self.costs;
        let before = costs.before / self.cluster.coordinator as f64;
        let begin = before + if has_new_weights { costs.pack } else { 0.0 };
        for _ in 0..self.cluster.coordinator {
            self.at(before, Event::Here(None, None));
        }
        for number in 0..self.workers.len() {
            let ready = if has_new_weights {
                self.send(begin, costs.weight_bytes) + costs.unpack
            } else {
                begin + self.cluster.latency
            };
            self.at(ready, Event::Ready(number));
            let fails = self.chance.exponential(self.cluster.failures);
            self.at(fails, Event::Fails(number));
        }
        let mut now = 0.0;
        while !self.schedule.is_over() {
            let Reverse((Time(time), _, event)) = self.events.pop().expect("the coordinator always has an event");
            now = time;
            self.is_offered = now >= begin;
            self.happen(event, now);
        }
        let seconds = now + costs.after;
        let cores = self.cluster.workers * self.cluster.cores + self.cluster.coordinator;
        let frames = f64::from(games.div_ceil(FRAME));
        Outcome {
            seconds,
            busy: busy(&costs, games, cores, seconds),
            bytes: self.bytes / seconds,
            twice: (self.played as f64 - frames).max(0.0) / frames,
            failures: self.failures,
        }
    }

    /// What an event does.
    fn happen(&mut self, event: Event, now: f64) {
        let costs = self.costs;
        match event {
            Event::Ready(number) => {
                let worker = &mut self.workers[number];
                (worker.is_up, worker.idle, worker.held) = (true, self.cluster.cores, 0);
                worker.queue.clear();
                self.feed(number, now);
                self.drive(number, now);
            }
            Event::Played(number, life, job, frames) if life == self.workers[number].life => {
                self.workers[number].idle += 1;
                self.jobs[job].left -= frames;
                if self.jobs[job].left == 0 {
                    self.workers[number].held -= self.jobs[job].games.len().div_ceil(FRAME as usize);
                    let arrival = self.send(now, costs.game_bytes * self.jobs[job].games.len() as f64);
                    self.at(arrival, Event::Arrived(job));
                    self.feed(number, now);
                }
                self.drive(number, now);
            }
            Event::Played(..) => {}
            Event::Arrived(job) => self.inbox.push_back(job),
            Event::Here(frames, job) => {
                for frame in frames.into_iter().flat_map(|(first, end)| first..end) {
                    self.complete(frame, false, now);
                }
                if let Some(job) = job {
                    for frame in self.schedule.frames(self.jobs[job].games.clone()).expect("what was offered") {
                        self.complete(frame, true, now);
                    }
                }
                self.work_here(now);
            }
            Event::Fails(number) => {
                self.failures += 1;
                let worker = &mut self.workers[number];
                (worker.life, worker.is_up) = (worker.life + 1, false);
                self.at(now + 60.0, Event::Returns(number));
                let fails = now + 60.0 + self.chance.exponential(self.cluster.failures);
                self.at(fails, Event::Fails(number));
            }
            Event::Returns(number) => {
                let ready = self.send(now, costs.weight_bytes) + costs.unpack;
                self.at(ready, Event::Ready(number));
            }
        }
    }
}

fn generation(costs: &Costs, cluster: &Cluster, games: u32, has_new_weights: bool, seed: u64) -> Outcome {
    let worker = |_| Worker { life: 0, is_up: false, idle: 0, queue: VecDeque::new(), held: 0 };
    let simulation = Simulation {
        costs: *costs,
        cluster: *cluster,
        chance: Chance(seed),
        events: BinaryHeap::new(),
        count: 0,
        schedule: Schedule::new(0..games),
        jobs: Vec::new(),
        workers: (0..cluster.workers).map(worker).collect(),
        inbox: VecDeque::new(),
        line: 0.0,
        bytes: 0.0,
        played: 0,
        failures: 0,
        origin: Instant::now(),
        is_offered: false,
    };
    simulation.run(games, has_new_weights)
}

fn table_of_workers(costs: &Costs, games: &[u32], has_new_weights: bool) {
    println!("workers\tcores\tgames\tbusy\tgeneration, s\tMB/s\tplayed twice\tfailures");
    for workers in [1, 4, 16, 64, 250, 1000] {
        for &games in games {
            let cluster = Cluster { workers, ..RACK };
            let Outcome { seconds, busy, bytes, twice, failures } =
                generation(costs, &cluster, games, has_new_weights, workers as u64);
            let cores = workers * cluster.cores + cluster.coordinator;
            let (busy, twice, bytes) = (100.0 * busy, 100.0 * twice, bytes / 1e6);
            println!("{workers}\t{cores}\t{games}\t{busy:.1}%\t{seconds:.2}\t{bytes:.1}\t{twice:.2}%\t{failures}");
        }
    }
}

fn main() {
    println!(
        "One machine, a generation of 16,384 games of preset `overnight`: share of the threads' time that is play"
    );
    table_of_threads(&OVERNIGHT, 16_384);
    println!(
        "\nA coordinator of 64 cores and workers of 4, each failing once an hour; the weights are those of the generation before"
    );
    table_of_workers(&OVERNIGHT, &[16_384, 131_072, 1_048_576], false);
    println!("\nThe same with new weights for each generation");
    table_of_workers(&OVERNIGHT, &[131_072, 1_048_576], true);
    println!("\nThe same with searches that take four times as long");
    table_of_workers(&DEEPER, &[131_072, 1_048_576], true);
}
