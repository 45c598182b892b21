//! Progress of work whose amount is known: a bar on a terminal, a plain line now and then elsewhere.

use std::fmt::Display;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::session::{Progress, Session};

/// Plain lines come this far apart.
pub const LINE_EVERY: Duration = Duration::from_secs(60);

/// What bars are drawn with.
pub const BAR: &str = "█▉▊▋▌▍▎▏ ";

/// Shows how far some work has come.
pub struct Meter {
    session: Session,
    bar: Option<ProgressBar>,
    total: u64,
    unit: &'static str,
    last_line: Instant,
}

impl Meter {
    /// Progress from 0 to `total` units.
    pub fn new(session: &Session, total: u64, unit: &'static str) -> Self {
        let bar = (session.progress == Progress::Bars).then(|| {
            let style = ProgressStyle::with_template(&format!(
                "{{bar:20.green}} {{pos}}/{{len}} {unit}  {{eta}}\n{{wide_msg}}"
            ));
            ProgressBar::with_draw_target(Some(total), session.bars())
                .with_style(style.expect("a template of ours").progress_chars(BAR))
        });
        Self { session: *session, bar, total, unit, last_line: Instant::now() }
    }

    /// Shows how many units are done.
    pub fn show(&mut self, done: u64, message: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(message());
            bar.set_position(done);
        } else if self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            self.session.log(format_args!("{done} of {} {}  {}", self.total, self.unit, message()));
        }
    }

    /// Says a line that stays.
    pub fn say(&self, line: impl Display) {
        match &self.bar {
            Some(bar) => bar.suspend(|| self.session.say(line)),
            None => self.session.say(line),
        }
    }

    /// Does something that writes to a terminal which the bar may be on, too.
    pub fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(work),
            None => work(),
        }
    }

    /// Takes the bar off the screen.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
