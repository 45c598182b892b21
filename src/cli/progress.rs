//! Progress of a run: bars on a terminal, plain lines elsewhere. It only reads events. Generations are counted from 1.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::escape::on_lines;
use super::meter::{BAR, LINE_EVERY};
use super::session::{Progress, Session};
use flipside::export::Engine;
use flipside::report::History;
use flipside::text::{count, counted, duration, elo, or_dash, typed};
use flipside::train::{Budget, GateMatch, Live, SUPERIORITY, StoredRun, TrainConfig, TrainEvent};

/// Shows the events of a run.
pub struct TrainProgress<'s> {
    session: &'s Session,
    config: TrainConfig,
    directory: PathBuf,
    bars: Option<Bars>,
    began: Instant,
    last_line: Instant,
    budget: Budget,
    /// What the run is doing.
    doing: Doing,
    /// Whether this session has done any work.
    has_worked: bool,
    /// The current step of the plan, and what this session has played of it: games, positions, and seconds of playing.
    step: usize,
    played: (u64, u64, f64),
    /// Generations learned, and their games.
    learned: (u32, u64),
    /// Those of the runs that this one continues.
    before: (u32, u64),
    /// Games of the current generation: played so far, and in all.
    at_hand: (u32, u32),
    history: History,
    /// Elo of the last gate, relative to `default`.
    elo: Option<[f64; 3]>,
    /// When the state was left for `status`, if it was.
    left_at: Option<Instant>,
    /// When what it is doing began, and the share that was done then.
    doing_since: (Instant, f64),
    /// The share that is done.
    share: f64,
    /// Seconds of earlier sessions.
    earlier: f64,
}

/// What a run is doing, and how far it is.
#[derive(Clone, Copy)]
enum Doing {
    Playing,
    Learning { done: f64, loss: f64 },
    Gate { done: u32, pairs: u32 },
}

impl Doing {
    /// The share that is done.
    fn share(self, (played, games): (u32, u32)) -> f64 {
        let of = |done: u32, all: u32| f64::from(done) / f64::from(all.max(1));
        match self {
            Self::Playing => of(played, games),
            Self::Learning { done, .. } => done,
            Self::Gate { done, pairs } => of(done, pairs),
        }
    }

    /// Its name for other programs.
    fn name(self) -> &'static str {
        match self {
            Self::Playing => "playing",
            Self::Learning { .. } => "learning",
            Self::Gate { .. } => "gate",
        }
    }

    fn words(self, (played, games): (u32, u32)) -> String {
        match self {
            Self::Playing => format!("playing   {} of {} games", count(played.into()), count(games.into())),
            Self::Learning { done, loss } => format!("learning  {:.0}%, loss {loss:.3}", 100.0 * done),
            Self::Gate { done, pairs } => format!("gate      {done} of {pairs} pairs"),
        }
    }
}

/// The bars of a run and of what it is doing, each with lines below it. None is wider than 58 columns or the terminal.
struct Bars {
    all: MultiProgress,
    run: ProgressBar,
    step: ProgressBar,
}

/// Steps of a bar.
const STEPS: u64 = 1000;

/// Columns of a bar without the words beside it.
const BESIDE: usize = 14;

impl Bars {
    fn new(session: &Session) -> Self {
        let all = MultiProgress::with_draw_target(session.bars());
        let (run, step) = (all.add(ProgressBar::new(STEPS)), all.add(ProgressBar::new(STEPS)));
        Self { all, run, step }
    }

    /// Draws both, each with its share and its lines.
    fn draw(&self, run: (f64, [String; 2]), step: (f64, [String; 2])) {
        // Before the first row of a terminal is known, the usual width.
        let columns = console::Term::stderr().size_checked().map_or(80, |(_, columns)| usize::from(columns));
        for (bar, name, colour, (share, lines)) in
            [(&self.run, "run ", "green", run), (&self.step, "step", "cyan", step)]
        {
            let wide = columns.saturating_sub(BESIDE).min(40);
            let style =
                ProgressStyle::with_template(&format!("{name}  {{bar:{wide}.{colour}}} {{percent:>3}} %  \n{{msg}}"));
            bar.set_style(style.expect("a template of ours").progress_chars(BAR));
            bar.set_position((STEPS as f64 * share) as u64);
            bar.set_message(lines.map(|line| folded(&line, columns)).join("\n"));
        }
    }
}

/// A line that is broken at commas so that it fits a number of columns.
fn folded(line: &str, columns: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for part in line.split_inclusive(", ") {
        match lines.last_mut() {
            Some(last) if last.chars().count() + part.trim_end().chars().count() < columns => last.push_str(part),
            _ => lines.push(part.to_owned()),
        }
    }
    lines.join("\n")
}

impl<'s> TrainProgress<'s> {
    /// A display for one session of a run.
    pub fn new(session: &'s Session, config: &TrainConfig, directory: &Path) -> Self {
        let now = Instant::now();
        Self {
            session,
            config: config.clone(),
            directory: directory.to_owned(),
            bars: (session.progress == Progress::Bars).then(|| Bars::new(session)),
            began: now,
            last_line: now,
            budget: Budget::default(),
            doing: Doing::Playing,
            has_worked: false,
            step: 0,
            played: (0, 0, 0.0),
            learned: (0, 0),
            before: (0, 0),
            at_hand: (0, 1),
            history: History::default(),
            elo: None,
            left_at: None,
            doing_since: (now, 0.0),
            share: 0.0,
            earlier: 0.0,
        }
    }

    /// Shows an event.
    pub fn show(&mut self, event: &TrainEvent) {
        if let TrainEvent::Start { .. } = event {
            self.history = History::of_run(&self.directory);
        }
        self.history.add(event);
        let before = self.doing;
        match event {
            TrainEvent::Start { generation, games, elapsed, budget, .. } => {
                self.elo = self.history.gates().last().map(|gate| gate.elo);
                (self.budget, self.learned) = (*budget, (*generation, *games));
                self.before = StoredRun::read(&self.directory).map_or((0, 0), |run| run.before);
                self.earlier = elapsed - self.began.elapsed().as_secs_f64();
                self.step = self.config.step_number(*generation);
            }
            TrainEvent::Batch { generation, played, games, positions, replayed, seconds } => {
                self.enter_step_of(*generation);
                if !replayed {
                    let new = u64::from(played.saturating_sub(self.at_hand.0));
                    self.played = (self.played.0 + new, self.played.1 + positions, self.played.2 + seconds);
                }
                self.has_worked = true;
                self.at_hand = (*played, *games);
                self.doing = Doing::Playing;
                self.draw();
            }
            TrainEvent::Played { generation, games, elapsed, .. } => {
                self.earlier = elapsed - self.began.elapsed().as_secs_f64();
                self.learned = (generation + 1, *games);
                self.at_hand = (0, self.config.play(generation + 1).map_or(1, |play| play.games));
                (self.doing, self.has_worked) = (Doing::Playing, true);
                self.draw();
            }
            TrainEvent::Learning { done, loss } => {
                (self.doing, self.has_worked) = (Doing::Learning { done: *done, loss: *loss }, true);
                self.draw();
            }
            TrainEvent::Gating { done, pairs } => {
                (self.doing, self.has_worked) = (Doing::Gate { done: *done, pairs: *pairs }, true);
                self.draw();
            }
            TrainEvent::Gate { .. } => {
                self.elo = self.history.rating_of(event).map(|rating| rating.elo);
                self.doing = Doing::Playing;
            }
            _ => {}
        }
        self.leave_state(before);
        if let Some(line) = self.line_of(event) {
            self.say(&line);
        }
        if let TrainEvent::End { finished: true, .. } = event {
            self.say(&self.engines_line());
        }
    }

    /// How a session begins, and when it will end.
    fn first_line(&self, event: &TrainEvent) -> String {
        let TrainEvent::Start { generation, games, again, resumed, threads, patterns, weights, elapsed, .. } = event
        else {
            return String::new();
        };
        let threads = counted(*threads as u64, "thread");
        let what = format!("pattern set {patterns}, {weights} weights per stage, {threads}");
        let budget = |limits: String| if self.budget.is_none() { "no end".to_owned() } else { limits };
        let known = generation + again;
        let games = games + self.config.games_of(*generation..known);
        let more = self.budget.left_after(*elapsed, known, games);
        let directory = self.directory.display();
        if *resumed {
            let so_far = duration(*elapsed);
            let generations = counted(u64::from(known), "generation");
            let more = more.filter(|left| !left.is_none()).map_or(String::new(), |left| format!("{} more, ", left));
            let again = match again {
                0 => String::new(),
                1 => " (the last is learned again from its games)".to_owned(),
                _ => format!(" (the last {again} are learned again from their games)"),
            };
            let budget = budget(format!("{more}{} in all", self.budget));
            format!("resuming {directory} after {generations}{again} and {so_far}: {what}; {budget}")
        } else {
            let budget = budget(format!("budget {}", more.unwrap_or(self.budget)));
            format!("new run in {directory}: {what}; {budget}")
        }
    }

    /// What is left of a time budget, if more than a tenth.
    fn unused(&self, elapsed: f64) -> Option<String> {
        let (generations, games) = self.learned;
        let left = self.budget.left_after(elapsed, generations, games)?.seconds?;
        let is_much = left > 0.1 * self.budget.seconds?;
        is_much.then(|| format!("; {} are left, too little for the next step", duration(left)))
    }

    /// Why a session that did nothing is finished.
    fn idle_line(&self, elapsed: f64) -> String {
        let (generations, games) = self.learned;
        let state = match self.budget.left_after(elapsed, generations, games) {
            Some(left) => {
                format!("the rest of the budget, {}, is too little for another generation", left)
            }
            None => format!("the budget of {} is already used up", self.budget),
        };
        format!("{state}; `flipside train --resume {} --hours N` adds to it", typed(&self.directory))
    }

    /// How to get weights for other engines from the run.
    fn engines_line(&self) -> String {
        let directory = typed(&self.directory);
        if let Ok(engine) = self.config.patterns.parse::<Engine>() {
            return format!("for {engine} itself: `flipside export --to {engine} {directory} -o FILE`");
        }
        format!("for another engine (edax, egaroucid, ntest, zebra): `flipside fit {directory} --for edax -o eval.dat`")
    }

    /// The line that an event leaves, if any.
    fn line_of(&self, event: &TrainEvent) -> Option<String> {
        Some(match event {
            TrainEvent::Start { .. } => self.first_line(event),
            TrainEvent::OtherBuild { before, now, .. } => {
                format!("{before} worked on this run, and {now} goes on: the weights may not be those of either alone")
            }
            TrainEvent::FellBack { reason, generation } => {
                let generations = counted((*generation).into(), "generation");
                format!("going on from what was known after {generations}, since {reason}")
            }
            TrainEvent::Waiting { file, reason } => {
                format!("cannot write `{file}` ({reason}); retrying for some minutes")
            }
            TrainEvent::BadRecord { file, reason } => format!("left out: `{file}`: {reason}"),
            TrainEvent::Records { file, read, left_out } => {
                format!("records `{file}`: {read} read, {left_out} left out")
            }
            TrainEvent::NothingToLearn { since, .. } => {
                format!("nothing to learn: games count from generation {} on (`since`), and there are none", since + 1)
            }
            TrainEvent::Learned { step, games, positions, loss, held_out, seconds, .. }
                if !self.learns_as_it_plays(*step) =>
            {
                let held_out = held_out.map_or(String::new(), |held_out| format!(", on held-out games {held_out:.3}"));
                let seconds = duration(*seconds);
                let (games, positions) = (counted(*games, "game"), counted(*positions, "position"));
                format!("learned {games}, {positions}: loss {loss:.3}{held_out}, {seconds}")
            }
            TrainEvent::Gate { best, promoted, .. } => {
                let verdict = match best.filter(|_| !promoted) {
                    Some(best) => format!(
                        "best stays: {:.0}% likelihood of superiority, {:.0}% needed",
                        (100.0 * best.superiority).floor(),
                        100.0 * SUPERIORITY
                    ),
                    None => "new best".to_owned(),
                };
                let best = best.map_or(String::new(), |result| format!("against the best {}; ", points(&result)));
                let (generation, elo) = (self.learned.0, or_dash(self.elo.map(elo)));
                format!("gate after generation {generation}: {best}Elo relative to default {elo}: {verdict}")
            }
            TrainEvent::End { finished: true, elapsed, .. } if !self.has_worked => self.idle_line(*elapsed),
            TrainEvent::End { generation, finished, elapsed, .. } => {
                let how = if *finished { "finished" } else { "stopped" };
                let generations = counted((*generation).into(), "generation");
                let unused = if *finished { self.unused(*elapsed) } else { None };
                format!("{how} after {generations} and {}{}", duration(*elapsed), unused.unwrap_or_default())
            }
            _ => return None,
        })
    }

    /// Rates are per step, since steps play differently.
    fn enter_step_of(&mut self, generation: u32) {
        let step = self.config.step_number(generation);
        if step != self.step {
            (self.step, self.played) = (step, (0, 0, 0.0));
        }
    }

    /// Whether a step of the plan, by its number from 1, learns each generation as it comes.
    fn learns_as_it_plays(&self, step: u32) -> bool {
        let step = (step as usize).checked_sub(1).and_then(|step| self.config.steps.get(step));
        step.is_some_and(|step| step.play.is_some())
    }

    /// Leaves what the run is doing where `status` finds it: about once a second, and when something else begins.
    fn leave_state(&mut self, before: Doing) {
        let is_new = std::mem::discriminant(&before) != std::mem::discriminant(&self.doing);
        let done = self.doing.share(self.at_hand);
        let last = std::mem::replace(&mut self.share, done);
        if is_new || done < last {
            self.doing_since = (Instant::now(), done);
        } else if self.left_at.is_some_and(|at| at.elapsed() < Duration::from_secs(1)) {
            return;
        }
        let (began, from) = self.doing_since;
        let seconds = began.elapsed().as_secs_f64();
        let seconds_left = (done > from).then(|| seconds / (done - from) * (1.0 - done));
        let live = Live { doing: self.doing.name().into(), done, seconds_left, ..Live::default() };
        // A full disk is told where it matters.
        let _ = live.write(&self.directory);
        self.left_at = Some(Instant::now());
    }

    /// Draws the bars, or prints a line if the last one is some time ago.
    fn draw(&mut self) {
        if let Some(bars) = &self.bars {
            let run = (self.used().0, [self.state(), self.strength()]);
            let step = (self.doing.share(self.at_hand), [self.doing.words(self.at_hand), self.rates()]);
            bars.draw(run, step);
        } else if self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            self.say(&self.summary());
        }
    }

    /// See [`Budget::used_after`].
    fn used(&self) -> (f64, Option<f64>) {
        let elapsed = self.earlier + self.began.elapsed().as_secs_f64();
        self.budget.used_after(elapsed, self.learned, self.before, self.at_hand.into())
    }

    /// Where the run is, and the time left.
    fn state(&self) -> String {
        let (used, left) = self.used();
        // Once nothing is left to play, there is no next generation.
        let next = u32::from(used < 1.0 || self.at_hand.0 > 0);
        let (step, steps) = (self.step + 1, self.config.steps.len());
        let left = left.map_or("?".into(), duration);
        format!("generation {}, step {step} of {steps}, {left} left", self.learned.0 + next)
    }

    /// How good the weights are.
    fn strength(&self) -> String {
        let loss = or_dash(self.history.loss().map(|loss| format!("{loss:.2}")));
        format!("loss {loss}, Elo relative to default {}", or_dash(self.elo.map(elo)))
    }

    /// How fast games were played in this step.
    fn rates(&self) -> String {
        let (games, positions, seconds) = self.played;
        if seconds == 0.0 {
            return "no games of this step played in this session yet".to_owned();
        }
        let rate = |number: u64| count((number as f64 / seconds) as u64);
        format!("{} games/s, {} positions/s", rate(games), rate(positions))
    }

    fn summary(&self) -> String {
        format!("{}; {}; {}; {}", self.state(), self.doing.words(self.at_hand), self.rates(), self.strength())
    }

    /// Prints a line that stays.
    pub fn say(&self, line: &str) {
        say(self.session, self.bars.as_ref().map(|bars| &bars.all), line);
    }

    /// A function that prints such lines from any thread.
    #[cfg(feature = "cluster")]
    pub fn speaker(&self) -> impl Fn(&str) + Send + Sync + use<> {
        let (session, bars) = (*self.session, self.bars.as_ref().map(|bars| bars.all.clone()));
        move |line| say(&session, bars.as_ref(), line)
    }

    /// Leaves the terminal tidy.
    pub fn finish(&self) {
        if let Some(bars) = &self.bars {
            bars.step.finish_and_clear();
            bars.run.finish_and_clear();
        }
    }
}

fn say(session: &Session, bars: Option<&MultiProgress>, line: &str) {
    match bars {
        Some(bars) => drop(bars.println(on_lines(line))),
        None => session.log(line),
    }
}

fn points(result: &GateMatch) -> String {
    let GateMatch { wins, draws, losses, score, .. } = result;
    format!("+{wins} ={draws} -{losses} ({:.1}%, Elo {})", 100.0 * score, elo(result.elo))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flipside::train::{Anchor, GateMatch, PRESETS};

    const SESSION: Session = Session { progress: Progress::Silent, threads: 1 };

    fn progress(budget: Budget) -> TrainProgress<'static> {
        let config = TrainConfig::from_toml(PRESETS[1].1).unwrap();
        let mut progress = TrainProgress::new(&SESSION, &config, Path::new("runs/one"));
        progress.show(&TrainEvent::Start {
            generation: 30,
            resumed: true,
            threads: 1,
            patterns: "classic".into(),
            weights: 1,
            games: 60_000,
            positions: 0,
            again: 0,
            elapsed: 7_000.0,
            budget,
            time: 0,
        });
        progress
    }

    #[test]
    fn a_resumed_run_knows_at_once_how_much_is_left() {
        let shown = |budget: Budget| {
            let progress = progress(budget);
            (progress.used().0, progress.summary())
        };
        // Some time of the test's own is added; it is not an hour.
        let (share, summary) = shown(Budget { seconds: Some(70_000.0), ..Budget::default() });
        assert!((0.1..0.15).contains(&share) && summary.contains("left"), "{share} {summary}");
        assert_eq!(shown(Budget { generations: Some(120), ..Budget::default() }).0, 0.25);
        assert_eq!(shown(Budget { games: Some(120_000), ..Budget::default() }).0, 0.5);
    }

    #[test]
    fn the_first_line_says_how_far_the_run_had_come() {
        let progress = progress(Budget { seconds: Some(7200.0), ..Budget::default() });
        let line = |generation, again| {
            progress.first_line(&TrainEvent::Start {
                generation,
                resumed: true,
                threads: 1,
                patterns: "classic".into(),
                weights: 1,
                games: 0,
                positions: 0,
                again,
                elapsed: 60.0,
                budget: Budget::default(),
                time: 0,
            })
        };
        assert!(
            line(1, 9).contains("after 10 generations (the last 9 are learned again from their games) and 1 min 0 s")
        );
        assert!(line(2, 1).contains("after 3 generations (the last is learned again from its games) and"));
        assert!(
            line(1, 0).contains("after 1 generation and 1 min 0 s: pattern set classic, 1 weights per stage, 1 thread")
        );
    }

    #[test]
    fn a_session_that_did_nothing_says_why() {
        let budget = Budget { seconds: Some(7_020.0), games: Some(100_000), ..Budget::default() };
        let progress = progress(budget);
        let line = progress.idle_line(7_000.0);
        assert!(line.contains("the budget, 20 s or 40,000 games, is too little for another generation"), "{line}");
        assert!(line.ends_with("`flipside train --resume runs/one --hours N` adds to it"), "{line}");
        let line = progress.idle_line(7_020.0);
        assert!(line.starts_with("the budget of 1 h 57 min or 100,000 games is already used up; "), "{line}");
    }

    #[test]
    fn rates_are_those_of_the_step() {
        let mut progress = progress(Budget { seconds: Some(70_000.0), ..Budget::default() });
        let batch = |generation, played, seconds| TrainEvent::Batch {
            generation,
            played,
            games: 8192,
            positions: 1000,
            replayed: false,
            seconds,
        };
        progress.show(&batch(30, 4000, 1.0));
        assert!(progress.rates().starts_with("4,000 games/s"), "{}", progress.rates());
        assert!(progress.state().starts_with("generation 31, step 4 of 12"), "{}", progress.state());
        progress.at_hand = (0, 8192);
        progress.show(&batch(36, 100, 1.0));
        assert!(progress.rates().starts_with("100 games/s"), "{}", progress.rates());
    }

    #[test]
    fn what_it_is_doing_begins_anew_with_each_generation() {
        let mut progress = progress(Budget { seconds: Some(70_000.0), ..Budget::default() });
        let batch = |generation, played| TrainEvent::Batch {
            generation,
            played,
            games: 8192,
            positions: 1000,
            replayed: false,
            seconds: 1.0,
        };
        progress.show(&batch(30, 0));
        progress.show(&batch(30, 8000));
        let before = Instant::now();
        progress.show(&batch(31, 2048));
        assert!(progress.doing_since.0 >= before && progress.doing_since.1 == 0.25, "{:?}", progress.doing_since);
        progress.show(&batch(31, 4096));
        assert_eq!(progress.doing_since.1, 0.25);
    }

    #[test]
    fn what_happens_again_after_a_kill_counts_once() {
        let mut progress = progress(Budget { seconds: Some(70_000.0), ..Budget::default() });
        let played = TrainEvent::Played {
            generation: 30,
            loss: 5.0,
            errors_by_empties: Vec::new(),
            slopes_by_empties: Vec::new(),
            games: 61_000,
            positions: 100,
            playing: 1.0,
            elapsed: 7_001.0,
        };
        let gate = |generation, wins, pairs| TrainEvent::Gate {
            generation,
            fitted: true,
            best: None,
            anchor: Anchor::Default,
            baseline: GateMatch {
                wins,
                draws: 0,
                losses: 100,
                score: 0.5,
                elo: [0.0; 3],
                discs: 0.0,
                superiority: 0.5,
            },
            pairs: [[0; 5], pairs],
            promoted: true,
            seconds: 1.0,
        };
        let gates = [gate(30, 100, [10, 20, 40, 20, 10]), gate(31, 200, [0, 10, 40, 30, 20])];
        [&played, &gates[0], &gates[1]].into_iter().for_each(|event| progress.show(event));
        let (elo, all) = (progress.elo, progress.history.gates());
        // The first gate again, with its own rating.
        [&played, &gates[0]].into_iter().for_each(|event| progress.show(event));
        assert_eq!((progress.history.played.len(), progress.history.games), (1, 61_000));
        assert_eq!(progress.history.gates(), all);
        assert!(all.len() == 2 && progress.elo == Some(all[0].elo) && elo == Some(all[1].elo), "{all:?}");
    }

    #[test]
    fn no_line_of_the_bars_is_wider_than_a_narrow_terminal() {
        let mut progress = progress(Budget { seconds: Some(700_000.0), ..Budget::default() });
        progress.elo = Some([-1234.0, -2345.0, -1000.0]);
        progress.learned.0 = 12_345;
        progress.played = (123_456, 1 << 40, 1.0);
        let at_hand = (100_000_000, 100_000_000);
        let doing =
            [Doing::Playing, Doing::Learning { done: 1.0, loss: 12.345 }, Doing::Gate { done: 9999, pairs: 9999 }];
        let lines = [progress.state(), progress.strength(), progress.rates()];
        for line in doing.map(|doing| doing.words(at_hand)).into_iter().chain(lines) {
            assert!(line.chars().count() <= 58, "{line}");
        }
    }

    #[test]
    fn lines_are_folded_for_narrow_terminals() {
        let line = "generation 31, step 3 of 7, 12 h 3 min left";
        assert_eq!(folded(line, 58), line);
        let narrow = folded(line, 40);
        assert_eq!(narrow.replace(", \n", ", "), line);
        assert!(narrow.lines().count() == 2 && narrow.lines().all(|line| line.trim_end().len() <= 40), "{narrow:?}");
    }
}
