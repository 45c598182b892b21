//! Configurations with comments on what their keys mean.

use std::fmt::Write;

use toml::{Table, Value};

use super::config::TrainConfig;
#[cfg(test)]
use super::keys::KEYS;
use super::keys::{Key, Kind, joined};

/// The longest line of comments, in characters.
const WIDTH: usize = 118;

impl TrainConfig {
    /// The configuration as TOML with comments: what each key means and which values it takes. Keys and tables that are left out
    /// are commented out. Phases after the first have no comments.
    pub fn to_commented_toml(&self) -> String {
        let table: Table = self.to_toml().parse().expect("a configuration is TOML");
        let mut text = String::new();
        write_table(&mut text, &table, "", "", true);
        text.trim_start().to_owned()
    }
}

/// Writes a table's plain keys, then the tables in it.
fn write_table(text: &mut String, table: &Table, path: &str, header: &str, with_comments: bool) {
    for key in Key::within(path).filter(|key| !is_table(key, table.get(key.name()))) {
        let value = table.get(key.name());
        if with_comments {
            comment(text, &described(key, value.is_some()));
        }
        match value {
            Some(value) => writeln!(text, "{} = {value}", key.name()),
            None if !with_comments => Ok(()),
            None => writeln!(text, "# {} = {}", key.name(), key.default.filter(|text| is_toml(text)).unwrap_or("...")),
        }
        .expect("strings take all text");
    }
    for key in Key::within(path) {
        let inner = joined(header, key.name());
        match table.get(key.name()) {
            Some(Value::Table(table)) => {
                begin(text, key, with_comments);
                writeln!(text, "[{inner}]").expect("strings take all text");
                write_table(text, table, key.path, &inner, with_comments);
            }
            Some(Value::Array(tables)) if matches!(key.kind, Kind::Tables) => {
                for (number, table) in tables.iter().filter_map(Value::as_table).enumerate() {
                    begin(text, key, with_comments && number == 0);
                    writeln!(text, "[[{inner}]]").expect("strings take all text");
                    write_table(text, table, key.path, &inner, with_comments && number == 0);
                }
            }
            None if with_comments && matches!(key.kind, Kind::Table) => {
                begin(text, key, true);
                writeln!(text, "# [{inner}]").expect("strings take all text");
                write_table(text, &Table::new(), key.path, &inner, true);
            }
            _ => {}
        }
    }
}

fn is_table(key: &Key, value: Option<&Value>) -> bool {
    value.map_or(matches!(key.kind, Kind::Table | Kind::Tables), |value| {
        value.is_table() || matches!(key.kind, Kind::Tables)
    })
}

/// Whether a default is a value, and not words about it.
fn is_toml(default: &str) -> bool {
    format!("key = {default}").parse::<Table>().is_ok()
}

fn begin(text: &mut String, key: &Key, with_comments: bool) {
    text.push('\n');
    if with_comments {
        comment(text, key.text);
    }
}

fn described(key: &Key, is_given: bool) -> String {
    let default = match key.default {
        Some(default) if is_given || !is_toml(default) => format!("; if left out: {default}"),
        _ => String::new(),
    };
    format!("{} ({}{default})", key.text.trim_end_matches('.'), key.kind)
}

fn comment(text: &mut String, words: &str) {
    let mut line = String::from("#");
    for word in words.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            "#".clone_into(&mut line);
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

/// The table of all keys in docs/CONFIGURATION.md.
#[cfg(test)]
fn document() -> String {
    let row = |key: &Key| {
        let default = match key.default {
            Some(default) if is_toml(default) => format!("`{default}`"),
            Some(words) => words.to_owned(),
            None if ["phases.", "records."].iter().any(|list| key.path.starts_with(list)) => "must be given".to_owned(),
            None => "the preset's".to_owned(),
        };
        format!("| `{}` | {} | {default} | {} |\n", key.path, key.kind, key.text)
    };
    KEYS.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::PRESETS;

    fn presets() -> impl Iterator<Item = TrainConfig> {
        PRESETS.iter().map(|(_, text, _)| TrainConfig::from_toml(text).unwrap())
    }

    #[test]
    fn what_is_printed_is_the_same_configuration() {
        for config in presets() {
            let text = config.to_commented_toml();
            assert_eq!(TrainConfig::from_toml(&text).unwrap(), config, "{text}");
            assert!(text.contains("# overlap = 0\n"), "{text}");
            // Every key is there, with a value or in a comment.
            let stands = |key: &Key| match key.kind {
                Kind::Table | Kind::TableOrFalse => text.contains(&format!("[{}]\n", key.path)),
                Kind::Tables => text.contains(&format!("[[{}]]\n", key.path)),
                _ => text.contains(&format!("\n{} = ", key.name())) || text.contains(&format!("# {} = ", key.name())),
            };
            KEYS.iter().for_each(|key| assert!(key.path == "patterns" || stands(key), "{}: {text}", key.path));
            assert!(text.lines().all(|line| line.len() <= 120), "{text}");
        }
        let none = TrainConfig { fit: None, ..presets().next().unwrap() };
        assert!(none.to_commented_toml().contains("\nfit = false\n"));
    }

    #[test]
    fn every_key_of_a_configuration_is_known_and_documented() {
        for config in presets() {
            let table: Table = config.to_toml().parse().unwrap();
            crate::train::keys::check_table("here", &table, "").unwrap();
        }
        let documented = include_str!("../../docs/CONFIGURATION.md");
        let wanted = document();
        assert!(documented.contains(&wanted), "docs/CONFIGURATION.md lacks the table of keys:\n{wanted}");
    }

    #[test]
    fn defaults_are_what_is_taken_where_a_key_is_left_out() {
        let quick: Table = PRESETS[0].1.parse().unwrap();
        let bare = |fit: &str| {
            let mut layer = quick.clone();
            layer.insert("fit".into(), fit.parse::<Value>().unwrap());
            TrainConfig::from_toml(&layer.to_string()).unwrap().fit.unwrap()
        };
        let given = |key: &&Key| key.parent() == "fit" && key.default.is_some_and(is_toml);
        for key in KEYS.iter().filter(given).filter(|key| key.name() != "first-generation") {
            let table = format!("{{ first-generation = 12, {} = {} }}", key.name(), key.default.unwrap());
            assert_eq!(bare(&table), bare("{ first-generation = 12 }"), "{}", key.path);
        }
    }
}
