//! Texts from files and other programs, made safe to show.

use std::fmt::Write;

/// A text on one line, in one column: tabs and everything a terminal would obey (escape sequences, line breaks, bidirectional
/// marks) are escaped, like `\u{1b}`.
pub fn on_one_line(text: &str) -> String {
    escaped(text, false)
}

/// A text of several lines, all but the first indented so that none can pass for a line of ours. Tabs stay; the rest is as in
/// [`on_one_line`].
pub fn on_lines(text: &str) -> String {
    escaped(text, true)
}

fn escaped(text: &str, lines: bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' if lines => shown.push_str("\n  "),
            '\t' if lines => shown.push(c),
            '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                write!(shown, "{}", c.escape_unicode()).expect("strings take all text");
            }
            _ if c.is_control() => write!(shown, "{}", c.escape_default()).expect("strings take all text"),
            _ => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        let text = "\u{1b}]0;title\u{7}a\tb\r\nflipside: no\u{9b}31m\u{202e}é";
        assert_eq!(on_one_line(text), "\\u{1b}]0;title\\u{7}a\\tb\\r\\nflipside: no\\u{9b}31m\\u{202e}é");
        assert_eq!(on_lines(text), "\\u{1b}]0;title\\u{7}a\tb\\r\n  flipside: no\\u{9b}31m\\u{202e}é");
    }
}
