//! What all commands share: threads, and messages on standard error.

use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};
use std::time::SystemTime;

use clap::builder::FalseyValueParser;
use clap::{Args, ValueEnum};
use indicatif::ProgressDrawTarget;

use super::error::{CliError, Context};
use super::escape::on_lines;
use super::screen::Screen;
use flipside::clock::rfc3339;
use flipside::text::counted;

/// The options of every command, as typed.
#[derive(Args, Debug)]
#[command(next_help_heading = "Global options")]
pub struct CommonArguments {
    /// Number of threads [default: one per available CPU]
    #[arg(long, global = true, env = "FLIPSIDE_THREADS", hide_env_values = true, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Print only errors to standard error
    #[arg(short, long, global = true, env = "FLIPSIDE_QUIET", hide_env_values = true, value_parser = FalseyValueParser::new())]
    quiet: bool,

    /// When to draw progress bars; otherwise progress is printed as plain lines
    #[arg(long, global = true, env = "FLIPSIDE_PROGRESS", hide_env_values = true, value_name = "WHEN")]
    #[arg(value_enum, default_value_t = When::Auto)]
    progress: When,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum When {
    /// If standard error is a terminal
    Auto,
    Always,
    Never,
}

/// How progress is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// Bars that redraw themselves.
    Bars,
    /// A plain line now and then.
    Lines,
    /// Not at all.
    Silent,
}

/// What the common options mean.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    /// How progress is shown.
    pub progress: Progress,
    /// Threads of the rayon pool.
    pub threads: usize,
}

impl CommonArguments {
    /// Starts the threads. Call it once.
    ///
    /// # Errors
    /// The system provides no more threads.
    pub fn start(&self) -> Result<Session, CliError> {
        let threads = match self.threads {
            Some(threads) => usize::from(threads),
            None => std::thread::available_parallelism().map_or(1, usize::from),
        };
        started(threads, rayon::ThreadPoolBuilder::new().num_threads(threads).build_global())?;
        Ok(Session { progress: self.progress(io::stderr().is_terminal()), threads })
    }

    fn progress(&self, terminal: bool) -> Progress {
        match self.progress {
            _ if self.quiet => Progress::Silent,
            When::Always => Progress::Bars,
            When::Auto if terminal => Progress::Bars,
            When::Auto | When::Never => Progress::Lines,
        }
    }
}

/// What has started threads.
///
/// # Errors
/// The system provided no more threads.
pub fn started<T, E>(threads: usize, result: Result<T, E>) -> Result<T, CliError>
where
    Result<T, E>: Context<T>,
{
    let result = result.context(|| format!("cannot start {}", counted(threads as u64, "thread")));
    result.map_err(|error| error.hint("Try a smaller --threads."))
}

impl Session {
    /// Where bars are drawn: standard error, even if it is not a terminal (indicatif's own target would draw nothing then, but
    /// `--progress always` asks for bars).
    pub fn bars(&self) -> ProgressDrawTarget {
        ProgressDrawTarget::term_like_with_hz(Box::new(Screen::stderr()), 10)
    }

    /// Warns if the build does not use the instructions of this CPU that matter for speed, as after `cargo install` from elsewhere.
    pub fn warn_of_slow_build(&self) {
        #[cfg(all(target_arch = "x86_64", not(target_feature = "avx2")))]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
            self.say(
                "flipside: note: this build does not use this CPU's AVX2 and BMI2 and is slower than it could be; build it in its \
                 checkout, or with RUSTFLAGS=\"-C target-cpu=x86-64-v3\"",
            );
        }
    }

    /// Prints a line with the time (UTC), for logs.
    pub fn log(&self, text: impl Display) {
        let now = rfc3339(SystemTime::now()).replace('T', " ").replace('Z', "");
        self.say(format_args!("{now}  {text}"));
    }

    /// Prints a line to standard error, unless told to be quiet.
    pub fn say(&self, text: impl Display) {
        if self.progress != Progress::Silent {
            let _ = writeln!(Careless, "{}", on_lines(&text.to_string()));
        }
    }

    /// Standard error for longer output, unless told to be quiet. Writing to it never fails.
    pub fn talk(&self) -> Box<dyn Write> {
        if self.progress == Progress::Silent { Box::new(io::sink()) } else { Box::new(Careless) }
    }
}

/// Standard error. If it is closed or full, there is nobody to tell, and what the command is for matters more.
struct Careless;

impl Write for Careless {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().write_all(bytes);
        Ok(bytes.len())
    }

    /// Under one lock, so that lines of several threads do not mix.
    fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
        let _ = io::stderr().write_fmt(text);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_wins_and_auto_asks_the_terminal() {
        let progress =
            |quiet, progress, terminal| CommonArguments { threads: None, quiet, progress }.progress(terminal);
        assert_eq!(progress(true, When::Always, true), Progress::Silent);
        assert_eq!(progress(false, When::Always, false), Progress::Bars);
        assert_eq!(progress(false, When::Auto, true), Progress::Bars);
        assert_eq!(progress(false, When::Auto, false), Progress::Lines);
        assert_eq!(progress(false, When::Never, true), Progress::Lines);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn threads_that_cannot_be_had_are_an_error() {
        let huge = || std::thread::Builder::new().stack_size(1 << 50);
        let report = started(2, huge().spawn(|| ())).unwrap_err().report();
        assert!(report.starts_with("flipside: cannot start 2 threads: "), "{report}");
        assert!(report.ends_with("\n  Try a smaller --threads."), "{report}");
    }
}
