//! Progress of work in units: a bar on a terminal, a plain line now and then elsewhere.

use std::fmt::{Display, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::session::{Progress, Session};
use flipside::text::{count, duration};

/// Time between plain lines.
pub const LINE_EVERY: Duration = Duration::from_secs(60);

/// The characters of bars.
pub const BAR: &str = "█▉▊▋▌▍▎▏ ";

/// The time left if known, else the time taken so far.
fn time(state: &ProgressState, out: &mut dyn Write) {
    let left = state.eta();
    let (time, left) = if left.is_zero() { (state.elapsed(), "") } else { (left, " left") };
    // Errors of the screen are ignored.
    let _ = write!(out, "{}{left}", duration(time.as_secs_f64()));
}

/// Shows the progress of some work.
pub struct Meter {
    session: Session,
    bar: Option<ProgressBar>,
    total: u64,
    unit: &'static str,
    /// Units that were done before.
    skipped: u64,
    last_line: Instant,
}

impl Meter {
    /// Progress from 0 to `total` units; a `total` of 0 is unknown.
    pub fn new(session: &Session, total: u64, unit: &'static str) -> Self {
        let bar = (session.progress == Progress::Bars).then(|| {
            // The longest of our numbers, units and times take 50 columns.
            let columns = console::Term::stderr().size_checked().map_or(80, |(_, columns)| columns);
            let bar = columns.saturating_sub(50).clamp(4, 20);
            let amount = if total > 0 {
                format!("{{bar:{bar}.green}} {{human_pos}}/{{human_len}}")
            } else {
                "{human_pos}".into()
            };
            let style = ProgressStyle::with_template(&format!("{amount} {unit}  {{time}}\n{{wide_msg}}"));
            let style = style.expect("a template of ours").progress_chars(BAR).with_key("time", time);
            let bar = ProgressBar::with_draw_target(Some(total), session.bars()).with_style(style);
            // Keeps the time moving while a unit takes long.
            bar.enable_steady_tick(Duration::from_secs(1));
            bar
        });
        Self { session: *session, bar, total, unit, skipped: 0, last_line: Instant::now() }
    }

    /// Shows how many units are done, unless more were done before.
    pub fn show(&mut self, done: u64, message: impl FnOnce() -> String) {
        if done < self.skipped {
            return;
        }
        if let Some(bar) = &self.bar {
            bar.set_position(done);
            // This draws, and shows the position too; with a steady tick, setting the position alone does not draw.
            bar.set_message(message());
        } else if self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            let of = if self.total > 0 { format!(" of {}", count(self.total)) } else { String::new() };
            self.session.log(format_args!("{}{of} {}  {}", count(done), self.unit, message()));
        }
    }

    /// Shows how many units were done before: they say nothing about the time left.
    pub fn skip_to(&mut self, done: u64) {
        self.skipped = done;
        if let Some(bar) = self.bar.as_ref().filter(|_| done > 0) {
            bar.set_position(done);
            // This counts the units, which otherwise were done in no time.
            bar.set_message("");
            bar.reset_eta();
        }
    }

    /// Changes the number of units in all.
    pub fn set_total(&mut self, total: u64) {
        self.total = total;
        if let Some(bar) = &self.bar {
            bar.set_length(total);
        }
    }

    /// Prints a line that stays.
    pub fn say(&self, line: impl Display) {
        self.aside(|| self.session.say(line));
    }

    /// Does something that writes to a terminal on which the bar may be.
    pub fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(work),
            None => work(),
        }
    }

    /// Removes the bar from the screen.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
