//! Lines from and to a program that is not trusted.

use std::io::{self, BufRead};

/// Why a conversation ended early.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The input cannot be read, or the thread that reads it cannot be started.
    #[error("cannot read the input")]
    Input(#[source] io::Error),
    /// The output cannot be written.
    #[error("cannot write the output")]
    Output(#[from] io::Error),
}

/// The rest of a longer line is dropped: no command or answer is that long, and the other side must not fill our memory.
const MAX_LINE: usize = 1 << 16;

/// The next line without its end and without a byte order mark, or `None` at the end of the input. Invalid UTF-8 is replaced.
///
/// # Errors
/// Errors of the reader, as [`ServeError::Input`].
pub fn read_line(input: &mut impl BufRead) -> Result<Option<String>, ServeError> {
    let mut line = Vec::new();
    let mut any = false;
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(ServeError::Input(error)),
        };
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let (part, used) = end.map_or((buffer, buffer.len()), |end| (&buffer[..end], end + 1));
        any |= used > 0;
        let at_end = end.is_some() || used == 0;
        line.extend_from_slice(&part[..part.len().min(MAX_LINE - line.len())]);
        input.consume(used);
        if at_end {
            let text = String::from_utf8_lossy(&line);
            return Ok(any.then(|| text.trim_start_matches('\u{feff}').trim_end_matches('\r').to_owned()));
        }
    }
}

/// A line without control characters, as GTP reads its input; in an answer that quotes it they could end the answer.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(|c| if c == '\t' { ' ' } else { c }).filter(|c| !c.is_control()).collect()
}
