//! The part of a terminal that bars are drawn on.
//!
//! indicatif fills each line to the terminal's width, so a resized terminal rewraps them: one row becomes two, and ghosts stay when
//! the next frame is drawn over it. Here each line ends where its text does, and erasing a frame counts the rows that its lines take
//! at the current width.

use std::io;
use std::mem::take;
use std::sync::Mutex;

use console::{Term, measure_text_width};
use indicatif::TermLike;

use flipside::threads::lock;

/// Standard error for indicatif to draw on: collects its calls into whole frames.
#[derive(Debug)]
pub struct Screen {
    term: Term,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The columns of each line on the screen: the last frame's, and what was printed above it.
    shown: Vec<usize>,
    /// The terminal's width at that time.
    width: usize,
    /// Rows of the last frame, at that width, that the next one replaces.
    cleared: usize,
    /// The next frame so far.
    frame: Vec<String>,
    /// Whether the next text is the padding of a line.
    is_filler: bool,
}

impl Screen {
    /// Standard error, even if it is not a terminal.
    pub fn stderr() -> Self {
        Self { term: Term::buffered_stderr(), state: Mutex::default() }
    }
}

/// Rows that a line takes when wrapped at a width.
fn rows(columns: usize, width: usize) -> usize {
    columns.div_ceil(width.max(1)).max(1)
}

impl State {
    /// The rows that the lines to be replaced take at a width.
    fn rows_to_erase(&self, width: usize) -> usize {
        let (mut then, mut now) = (0, 0);
        for &columns in self.shown.iter().rev() {
            if then >= self.cleared {
                break;
            }
            then += rows(columns, self.width);
            now += rows(columns, width);
        }
        now
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        self.term.size().1
    }

    /// The row below a frame is the cursor's.
    fn height(&self) -> u16 {
        self.term.size().0.saturating_sub(1).max(1)
    }

    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        lock(&self.state).cleared += 1;
        Ok(())
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        lock(&self.state).frame.push(line.to_owned());
        Ok(())
    }

    /// Each line comes in two calls: its text, then its padding.
    fn write_str(&self, text: &str) -> io::Result<()> {
        let state = &mut *lock(&self.state);
        if !state.is_filler {
            state.frame.push(text.to_owned());
        }
        state.is_filler = !state.is_filler;
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let width = usize::from(self.width());
        let state = &mut *lock(&self.state);
        let erased = state.rows_to_erase(width);
        // Row by row: a terminal told to clear everything from its first row may keep that in its scrollback.
        for _ in 0..erased {
            self.term.move_cursor_up(1)?;
            self.term.clear_line()?;
        }
        let frame = take(&mut state.frame);
        let lines: Vec<&str> = frame.iter().map(|line| line.trim_end()).collect();
        lines.iter().try_for_each(|line| self.term.write_line(line))?;
        let columns = lines.iter().map(|line| measure_text_width(line)).collect();
        *state = State { shown: columns, width, ..State::default() };
        self.term.flush()
    }
}
