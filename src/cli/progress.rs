//! Showing a run: bars on a terminal, plain lines elsewhere. A reader of events, nothing more.

use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::session::{Progress, Session};
use crate::train::{Budget, GateMatch, TrainEvent};

/// Plain lines come this far apart.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Shows the events of a run.
pub struct TrainProgress<'s> {
    session: &'s Session,
    budget: Budget,
    bars: Option<Bars>,
    began: Instant,
    last_line: Instant,
    /// Games and positions played in this session, and the seconds playing took.
    games: u64,
    positions: u64,
    playing: f64,
    loss: Option<f64>,
    elo: Option<f64>,
    /// Seconds of earlier sessions.
    earlier: f64,
}

struct Bars {
    all: MultiProgress,
    run: ProgressBar,
    generation: ProgressBar,
}

impl Bars {
    fn new(session: &Session) -> Self {
        let all = MultiProgress::with_draw_target(session.bars());
        let style = |template: &str| {
            ProgressStyle::with_template(template).expect("a template of ours").progress_chars("█▉▊▋▌▍▎▏ ")
        };
        let run = all.add(ProgressBar::new(1000));
        run.set_style(style("run        {wide_bar:.green} {msg}"));
        let generation = all.add(ProgressBar::new(1));
        generation.set_style(style("generation {wide_bar:.cyan} {pos}/{len} games  {msg}"));
        Self { all, run, generation }
    }
}

impl<'s> TrainProgress<'s> {
    /// A display for one session of a run.
    pub fn new(session: &'s Session, budget: Budget) -> Self {
        let now = Instant::now();
        Self {
            session,
            budget,
            bars: (session.progress == Progress::Bars).then(|| Bars::new(session)),
            began: now,
            last_line: now,
            games: 0,
            positions: 0,
            playing: 0.0,
            loss: None,
            elo: None,
            earlier: 0.0,
        }
    }

    /// Shows an event.
    pub fn show(&mut self, event: &TrainEvent) {
        match event {
            TrainEvent::Start { generation, resumed, threads, patterns, weights } => {
                let how = if *resumed { format!("resuming after {generation} generations") } else { "new run".into() };
                self.say(&format!("{how}: pattern set {patterns}, {weights} weights a stage, {threads} threads"));
            }
            TrainEvent::Batch { generation, played, games, positions, replayed, seconds } => {
                self.batch(*generation, *played, *games, *positions, *replayed, *seconds);
            }
            TrainEvent::Learned { generation, loss, games, elapsed, .. } => {
                self.loss = Some(*loss);
                self.earlier = elapsed - self.began.elapsed().as_secs_f64();
                if let Some(bars) = &self.bars {
                    bars.run.set_position((1000.0 * self.share(*generation + 1, *games)) as u64);
                    bars.run.set_message(self.summary(*generation + 1, *games));
                } else if self.last_line.elapsed() >= LINE_EVERY {
                    self.last_line = Instant::now();
                    self.say(&self.summary(*generation + 1, *games));
                }
            }
            TrainEvent::Gate { generation, best, baseline, promoted, elo, .. } => {
                self.elo = Some(*elo);
                let verdict = if *promoted { "new best" } else { "best stays" };
                let against_best =
                    best.map_or(String::new(), |result| format!("against the best {}; ", points(&result)));
                let baseline = points(baseline);
                self.say(&format!(
                    "generation {}: {against_best}against mobility {baseline}: {verdict}",
                    generation + 1
                ));
            }
            TrainEvent::Checkpoint { .. } => {}
            TrainEvent::End { generation, finished, elapsed } => {
                let how = if *finished { "finished" } else { "stopped" };
                self.say(&format!("{how} after {generation} generations and {}", duration(*elapsed)));
            }
        }
    }

    fn batch(&mut self, generation: u32, played: u32, games: u32, positions: u64, replayed: bool, seconds: f64) {
        if !replayed {
            self.games += u64::from(played.min(games));
            self.positions += positions;
            self.playing += seconds;
        }
        if let Some(bars) = &self.bars {
            bars.generation.set_length(u64::from(games));
            bars.generation.set_position(u64::from(played));
            bars.generation.set_message(format!("#{}", generation + 1));
        }
    }

    /// How much of the budget is used.
    fn share(&self, generation: u32, games: u64) -> f64 {
        let seconds = self.budget.seconds.map(|seconds| self.elapsed() / seconds);
        let generations = self.budget.generations.map(|limit| f64::from(generation) / f64::from(limit));
        let games = self.budget.games.map(|limit| games as f64 / limit as f64);
        [seconds, generations, games].into_iter().flatten().fold(0.0, f64::max).min(1.0)
    }

    fn elapsed(&self) -> f64 {
        self.earlier + self.began.elapsed().as_secs_f64()
    }

    fn summary(&self, generation: u32, games: u64) -> String {
        let rate = self.positions as f64 / self.began.elapsed().as_secs_f64();
        let per_game = games as f64 / self.elapsed();
        let share = self.share(generation, games);
        let left = if share > 0.0 { self.elapsed() * (1.0 / share - 1.0) } else { 0.0 };
        let loss = self.loss.map_or("-".into(), |loss| format!("{loss:.2}"));
        let elo = self.elo.map_or("-".into(), |elo| format!("{elo:+.0}"));
        format!(
            "generation {generation}  {per_game:.0} games/s  {rate:.0} positions/s  loss {loss}  Elo {elo}  {} left",
            duration(left)
        )
    }

    /// A line that stays.
    fn say(&self, line: &str) {
        match &self.bars {
            Some(bars) => drop(bars.all.println(line)),
            None => self.session.say(line),
        }
    }

    /// Leaves the terminal tidy.
    pub fn finish(&self) {
        if let Some(bars) = &self.bars {
            bars.generation.finish_and_clear();
            bars.run.abandon();
        }
    }
}

fn points(result: &GateMatch) -> String {
    let GateMatch { wins, draws, losses, score, elo: [elo, low, high], .. } = result;
    format!("+{wins} ={draws} -{losses} ({:.1}%, Elo {elo:+.0} [{low:+.0}, {high:+.0}])", 100.0 * score)
}

/// Hours, minutes and seconds, the two largest that matter.
fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}
