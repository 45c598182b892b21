//! Showing a run: bars on a terminal, plain lines elsewhere. A reader of events, nothing more.

use std::time::Instant;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::escape::on_lines;
use super::meter::LINE_EVERY;
use super::session::{Progress, Session};
use crate::train::{Budget, GateMatch, TrainEvent};

/// Shows the events of a run.
pub struct TrainProgress<'s> {
    session: &'s Session,
    budget: Budget,
    bars: Option<Bars>,
    began: Instant,
    last_line: Instant,
    /// Games and positions played in this session.
    games: u64,
    positions: u64,
    /// Generations learned, and the games they had.
    learned: (u32, u64),
    /// Games of the generation at hand: played so far, and in all.
    at_hand: (u32, u32),
    loss: Option<f64>,
    /// What the last gate measured against `mobility`.
    baseline: Option<GateMatch>,
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
        // The summary has a line of its own, cut at the width of the terminal.
        run.set_style(style("{wide_msg}\nrun        {wide_bar:.green} {percent:>3} %"));
        let generation = all.add(ProgressBar::new(1));
        generation.set_style(style("generation {wide_bar:.cyan} {pos}/{len} games"));
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
            learned: (0, 0),
            at_hand: (0, 1),
            loss: None,
            baseline: None,
            earlier: 0.0,
        }
    }

    /// Shows an event.
    pub fn show(&mut self, event: &TrainEvent) {
        match event {
            TrainEvent::Start { generation, resumed, threads, patterns, weights, games, elapsed, baseline } => {
                self.baseline = *baseline;
                self.learned = (*generation, *games);
                self.earlier = elapsed - self.began.elapsed().as_secs_f64();
                let how = if *resumed { format!("resuming after {generation} generations") } else { "new run".into() };
                self.say(&format!("{how}: pattern set {patterns}, {weights} weights a stage, {threads} threads"));
            }
            TrainEvent::FellBack { reason, generation } => {
                self.say(&format!("going on from the checkpoint after {generation} generations, since {reason}"));
            }
            TrainEvent::Restored { file } => {
                self.say(&format!("`{file}` was not the run's, or missing: written anew from the checkpoint"));
            }
            TrainEvent::Waiting { file, reason } => {
                self.say(&format!("cannot write `{file}` ({reason}); trying again for some minutes"));
            }
            TrainEvent::LowRoom { needed, room } => self.say(&format!(
                "the games will need some {} MB and the disk has {} MB: make room, or begin anew with `keep-games = false`",
                needed / 1_000_000,
                room / 1_000_000
            )),
            TrainEvent::BadRecord { file, reason } => self.say(&format!("left out: `{file}`: {reason}")),
            TrainEvent::Records { file, read, left_out, positions, loss, seconds } => {
                let seconds = duration(*seconds);
                self.say(&format!(
                    "records `{file}`: {read} read, {left_out} left out, {positions} positions, loss {loss:.2}, {seconds}"
                ));
            }
            TrainEvent::Batch { played, games, positions, replayed, .. } => {
                if !replayed {
                    self.games += u64::from(played - self.at_hand.0);
                    self.positions += positions;
                }
                self.at_hand = (*played, *games);
                self.refresh();
            }
            TrainEvent::PlayedAgain { generation, reason } => {
                self.at_hand.0 = 0;
                self.say(&format!("generation {} is played again, since {reason}", generation + 1));
            }
            TrainEvent::Learned { generation, loss, games, elapsed, .. } => {
                self.loss = Some(*loss);
                self.earlier = elapsed - self.began.elapsed().as_secs_f64();
                self.learned = (generation + 1, *games);
                self.at_hand.0 = 0;
                self.refresh();
            }
            TrainEvent::Fitting { done, loss } => {
                let summary = format!("fitting to all kept games  {:.0}%  loss {loss:.3}", 100.0 * done);
                self.draw(summary);
            }
            TrainEvent::Fitted { games, positions, loss, held_out, seconds, .. } => {
                let held_out = held_out.map_or(String::new(), |held_out| format!(", on games held out {held_out:.3}"));
                let seconds = duration(*seconds);
                self.say(&format!(
                    "fitted to {games} games, {positions} positions: loss {loss:.3}{held_out}, {seconds}"
                ));
            }
            TrainEvent::Gate { best, baseline, promoted, .. } => {
                self.baseline = Some(*baseline);
                let verdict = match (promoted, best) {
                    (true, _) => "new best".to_owned(),
                    (false, Some(best)) => format!("best stays, {:.0}% sure is too little", 100.0 * best.superiority),
                    (false, None) => "best stays".to_owned(),
                };
                let against_best =
                    best.map_or(String::new(), |result| format!("against the best {}; ", points(&result)));
                let baseline = points(baseline);
                let generation = self.learned.0;
                self.say(&format!("generation {generation}: {against_best}against mobility {baseline}: {verdict}"));
            }
            TrainEvent::Checkpoint { .. } => {}
            TrainEvent::End { generation, finished, elapsed } => {
                let how = if *finished { "finished" } else { "stopped" };
                self.say(&format!("{how} after {generation} generations and {}", duration(*elapsed)));
            }
        }
    }

    /// Draws the bars, or says a line if the last one is some time ago.
    fn refresh(&mut self) {
        self.draw(self.summary());
    }

    fn draw(&mut self, summary: String) {
        if let Some(bars) = &self.bars {
            bars.run.set_position((1000.0 * self.share()) as u64);
            bars.run.set_message(summary);
            bars.generation.set_length(self.at_hand.1.into());
            bars.generation.set_position(self.at_hand.0.into());
        } else if self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            self.say(&summary);
        }
    }

    /// How much of the budget is used.
    fn share(&self) -> f64 {
        let (played, of) = self.at_hand;
        let generations = f64::from(self.learned.0) + f64::from(played) / f64::from(of.max(1));
        let games = self.learned.1 + u64::from(played);
        let shares = [
            self.budget.seconds.map(|limit| self.elapsed() / limit),
            self.budget.generations.map(|limit| generations / f64::from(limit)),
            self.budget.games.map(|limit| games as f64 / limit as f64),
        ];
        shares.into_iter().flatten().fold(0.0, f64::max).min(1.0)
    }

    fn elapsed(&self) -> f64 {
        self.earlier + self.began.elapsed().as_secs_f64()
    }

    fn summary(&self) -> String {
        let seconds = self.began.elapsed().as_secs_f64();
        let (games, positions) = (self.games as f64 / seconds, self.positions as f64 / seconds);
        let share = self.share();
        let left = if share > 0.0 { duration(self.elapsed() * (1.0 / share - 1.0)) } else { "?".into() };
        let loss = self.loss.map_or("-".into(), |loss| format!("{loss:.2}"));
        let elo = self.baseline.map_or("-".into(), |result| elo(&result));
        let generation = self.learned.0 + 1;
        format!(
            "generation {generation}  {games:.0} games/s  {positions:.0} positions/s  loss {loss}  {left} left  \
             Elo over mobility {elo}"
        )
    }

    /// A line that stays.
    fn say(&self, line: &str) {
        match &self.bars {
            Some(bars) => drop(bars.all.println(on_lines(line))),
            None => self.session.say(line),
        }
    }

    /// Something that says lines as this does, from any thread.
    #[cfg(feature = "cluster")]
    pub fn speaker(&self) -> impl Fn(&str) + Send + Sync + use<> {
        let (session, bars) = (*self.session, self.bars.as_ref().map(|bars| bars.all.clone()));
        move |line| match &bars {
            Some(bars) => drop(bars.println(on_lines(line))),
            None => session.say(line),
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
    let GateMatch { wins, draws, losses, score, .. } = result;
    format!("+{wins} ={draws} -{losses} ({:.1}%, Elo {})", 100.0 * score, elo(result))
}

/// The difference with the ends of its 95% interval.
fn elo(result: &GateMatch) -> String {
    let [elo, low, high] = result.elo;
    format!("{elo:+.0} [{low:+.0}, {high:+.0}]")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resumed_run_knows_at_once_how_much_is_left() {
        let session = Session { progress: Progress::Silent, threads: 1 };
        let start = TrainEvent::Start {
            generation: 30,
            resumed: true,
            threads: 1,
            patterns: "classic".into(),
            weights: 1,
            games: 60_000,
            elapsed: 7_000.0,
            baseline: None,
        };
        let shown = |budget: Budget| {
            let mut progress = TrainProgress::new(&session, budget);
            progress.show(&start);
            (progress.share(), progress.summary())
        };
        // Some time of the test's own is added; it is not an hour.
        let (share, summary) = shown(Budget { seconds: Some(70_000.0), ..Budget::default() });
        assert!((0.1..0.15).contains(&share) && summary.contains("left"), "{share} {summary}");
        assert_eq!(shown(Budget { generations: Some(120), ..Budget::default() }).0, 0.25);
        assert_eq!(shown(Budget { games: Some(120_000), ..Budget::default() }).0, 0.5);
    }
}
