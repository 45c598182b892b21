//! Texts of strangers on the user's terminal.

use std::borrow::Cow;

/// A text that came from a file or another program, fit to be shown: what could move the cursor, change colours or turn the
/// direction of writing is escaped, like `\u{1b}`.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_mischievous) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_mischievous(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown.into()
}

/// Control characters, and those that Unicode calls format characters and terminals obey.
fn is_mischievous(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(printable("Ólafur's `c:\\x` 白"), "Ólafur's `c:\\x` 白");
        assert_eq!(printable("\u{1b}[2Ja\tb\u{7f}\u{9b}1m"), r"\u{1b}[2Ja\u{9}b\u{7f}\u{9b}1m");
        assert_eq!(printable("abc\u{202e}fed\u{2066}"), r"abc\u{202e}fed\u{2066}");
    }
}
