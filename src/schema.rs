//! Keys of configurations: each is stated once, as a field with its default, its range and its meaning.
//!
//! `schema!` makes a struct that serde reads and writes, and the list of its [`Key`]s, by which files are [checked](check), printed
//! [with comments](commented) and [documented](document).

use std::fmt::{self, Write};

use serde::Serialize;
use serde::de::{self, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use toml::{Table, Value};

use crate::names::closest;

/// A key of a configuration.
#[derive(Debug)]
pub struct Key {
    /// Its name in Rust; in files it has hyphens.
    pub field: &'static str,
    /// The values it takes.
    pub kind: Kind,
    /// What is taken if it is left out, where that is no value.
    pub none: &'static str,
    /// What it means, in a sentence or two.
    pub text: &'static str,
}

/// The values that a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A whole number in a range, and its unit.
    Whole(u64, u64, &'static str),
    /// A number in a range, and its unit.
    Number(f64, f64, &'static str),
    /// `true` or `false`.
    Flag,
    /// A string.
    Text,
    /// A list of strings.
    Texts,
    /// One of some words.
    OneOf(&'static [&'static str]),
    /// A table of keys.
    Table(&'static [Key]),
    /// A table of keys, or `false`.
    TableOrFalse(&'static [Key]),
    /// A list of tables of keys.
    Tables(&'static [Key]),
}

/// Makes a configuration: `key: type = default, kind "what is taken without a value";` after the key's meaning.
macro_rules! schema {
    ($(#[doc = $about:literal])* $(#[derive($($derive:ident),*)])? pub struct $name:ident {
        $($(#[doc = $text:literal])* $(#[serde($($serde:tt)*)])? $key:ident: $type:ty = $default:expr, $kind:expr $(, $none:literal)?;)*
    }) => {
        $(#[doc = $about])*
        #[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize $($(, $derive)*)?)]
        #[serde(rename_all = "kebab-case", default)]
        pub struct $name {
            $($(#[doc = $text])* $(#[serde($($serde)*)])? pub $key: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default),* }
            }
        }

        impl $name {
            /// The keys.
            pub const KEYS: &[$crate::schema::Key] = &[$($crate::schema::Key {
                field: stringify!($key),
                kind: $kind,
                none: concat!($($none)?),
                text: concat!($($text),*),
            }),*];
        }
    };
}
pub(crate) use schema;

impl Key {
    /// Its name in files.
    pub fn name(&self) -> String {
        self.field.replace('_', "-")
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = |most: u64| match most {
            most if most == u64::from(u32::MAX) => "2^32 - 1".to_owned(),
            most if most == i64::MAX as u64 => "2^63 - 1".to_owned(),
            most => most.to_string(),
        };
        match *self {
            Self::Whole(least, largest, unit) => {
                write!(f, "{unit}, a whole number from {least} to {}", most(largest))
            }
            Self::Number(least, most, "") => write!(f, "a number from {least} to {most}"),
            Self::Number(least, most, unit) => write!(f, "{unit}, a number from {least} to {most}"),
            Self::Flag => f.write_str("true or false"),
            Self::Text => f.write_str("a string"),
            Self::Texts => f.write_str("a list of strings"),
            Self::Table(_) => f.write_str("a table"),
            Self::TableOrFalse(_) => f.write_str("a table, or false"),
            Self::Tables(_) => f.write_str("a list of tables"),
            Self::OneOf(words) => {
                let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
                write!(f, "one of {}", words.join(", "))
            }
        }
    }
}

/// Checks that all keys in TOML are known and that their values fit.
///
/// # Errors
/// The first that is wrong, with its line and column.
pub fn check(text: &str, keys: &'static [Key]) -> Result<Table, toml::de::Error> {
    Keys(keys).deserialize(toml::Deserializer::parse(text)?)?;
    text.parse()
}

/// A table with these keys.
#[derive(Clone, Copy)]
struct Keys(&'static [Key]);

impl<'de> DeserializeSeed<'de> for Keys {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Keys {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(Name(self.0))? {
            map.next_value_seed(Of(key))?;
        }
        Ok(())
    }
}

/// The name of one of these keys.
struct Name(&'static [Key]);

impl<'de> DeserializeSeed<'de> for Name {
    type Value = &'static Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = &'static Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<&'static Key, E> {
        self.0.iter().find(|key| key.name() == name).ok_or_else(|| {
            let names: Vec<String> = self.0.iter().map(Key::name).collect();
            let meant = match closest(name, names.iter(), |name| name) {
                Some(known) => format!("; the closest is `{known}`"),
                None => format!(" here; the keys are {}", names.join(", ")),
            };
            E::custom(format!("`{name}` is not a known key{meant}"))
        })
    }
}

/// A value of a key.
struct Of(&'static Key);

impl Of {
    fn whether<E: de::Error>(&self, fits: bool, value: impl fmt::Display) -> Result<(), E> {
        let Key { kind, .. } = self.0;
        if fits { Ok(()) } else { Err(E::custom(format!("`{}` is {value}: {kind} is expected", self.0.name()))) }
    }
}

impl<'de> DeserializeSeed<'de> for Of {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Of {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.kind)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<(), E> {
        self.whether(matches!(self.0.kind, Kind::Flag) || !value && matches!(self.0.kind, Kind::TableOrFalse(_)), value)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<(), E> {
        match self.0.kind {
            Kind::Whole(least, most, _) => {
                self.whether(u64::try_from(value).is_ok_and(|value| (least..=most).contains(&value)), value)
            }
            Kind::Number(..) => self.visit_f64(value as f64),
            _ => self.whether(false, value),
        }
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<(), E> {
        let fits = matches!(self.0.kind, Kind::Number(least, most, _) if (least..=most).contains(&value));
        self.whether(fits, format_args!("{value:?}"))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<(), E> {
        let fits = match self.0.kind {
            Kind::Text => true,
            Kind::OneOf(words) => words.contains(&value),
            _ => false,
        };
        self.whether(fits, format_args!("\"{value}\""))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        match self.0.kind {
            Kind::Texts => {
                while values.next_element::<String>()?.is_some() {}
                Ok(())
            }
            Kind::Tables(keys) => {
                while values.next_element_seed(Keys(keys))?.is_some() {}
                Ok(())
            }
            _ => self.whether(false, "a list"),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        match self.0.kind {
            Kind::Table(keys) | Kind::TableOrFalse(keys) => Keys(keys).visit_map(map),
            _ => Err(A::Error::custom(format!("`{}` is a table: {} is expected", self.0.name(), self.0.kind))),
        }
    }
}

/// The longest line of comments, in characters.
const WIDTH: usize = 118;

/// A configuration as TOML with comments: what each key means and which values it takes. Keys that are left out are commented out. Only
/// the first of a list of tables has comments.
pub fn commented<T: Serialize + Default>(config: &T, keys: &'static [Key]) -> String {
    let mut text = String::new();
    write_table(&mut text, &table_of(config), &table_of(&T::default()), keys, "", true);
    text.trim_start().to_owned()
}

/// A configuration as a table with the numbers that a file would have: 0.9, which is another number in single precision.
fn table_of<T: Serialize>(config: &T) -> Table {
    let text = toml::to_string(config).expect("a configuration is a TOML table");
    text.parse().expect("it is TOML")
}

fn write_table(text: &mut String, table: &Table, defaults: &Table, keys: &'static [Key], header: &str, explains: bool) {
    let is_table = |key: &&Key| matches!(table.get(&key.name()), Some(Value::Table(_))) || is_list(key);
    for key in keys.iter().filter(|key| !is_table(key)) {
        let (name, value) = (key.name(), table.get(&key.name()));
        if explains {
            comment(text, &format!("{} ({})", key.text.trim().trim_end_matches('.'), key.kind));
        }
        match value.or(defaults.get(&name)) {
            Some(value) => writeln!(text, "{name} = {value}"),
            None if explains => writeln!(text, "# {name} = ...  ({})", default_of(key, defaults)),
            None => Ok(()),
        }
        .expect("strings take all text");
    }
    for key in keys.iter().filter(is_table) {
        let inner = if header.is_empty() { key.name() } else { format!("{header}.{}", key.name()) };
        let mut part = |value: &Value, brackets: [&str; 2], explains: bool| {
            let (Kind::Table(keys) | Kind::TableOrFalse(keys) | Kind::Tables(keys)) = key.kind else { return };
            let Value::Table(table) = value else { return };
            text.push('\n');
            if explains {
                comment(text, key.text.trim());
            }
            writeln!(text, "{}{inner}{}", brackets[0], brackets[1]).expect("strings take all text");
            write_table(text, table, &Table::new(), keys, &inner, explains);
        };
        match table.get(&key.name()) {
            Some(Value::Array(tables)) => {
                tables.iter().enumerate().for_each(|(at, table)| part(table, ["[[", "]]"], explains && at == 0));
            }
            Some(value) => part(value, ["[", "]"], explains),
            None => {}
        }
    }
}

fn is_list(key: &Key) -> bool {
    matches!(key.kind, Kind::Tables(_))
}

/// What is taken where a key is left out.
fn default_of(key: &Key, defaults: &Table) -> String {
    match defaults.get(&key.name()) {
        _ if !key.none.is_empty() => key.none.to_owned(),
        Some(Value::Table(_) | Value::Array(_)) | None => "none".to_owned(),
        Some(value) => format!("`{value}`"),
    }
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

/// The number of keys, those of tables that are named in several places counted once.
#[cfg(test)]
pub fn count(keys: &'static [Key], seen: &mut Vec<&'static [Key]>) -> usize {
    let within = keys.iter().map(|key| match key.kind {
        Kind::Table(keys) | Kind::TableOrFalse(keys) | Kind::Tables(keys)
            if !seen.iter().any(|s| std::ptr::eq(*s, keys)) =>
        {
            seen.push(keys);
            count(keys, seen)
        }
        _ => 0,
    });
    keys.len() + within.sum::<usize>()
}

/// The rows of a Markdown table of keys, `defaults` being a configuration that leaves out all of them.
pub fn document<T: Serialize + Default>(keys: &'static [Key], path: &str) -> String {
    let defaults = table_of(&T::default());
    let row = |key: &Key| {
        let (name, kind, text) = (key.name(), key.kind, key.text.trim());
        format!("| `{path}{name}` | {kind} | {} | {text} |\n", default_of(key, &defaults))
    };
    keys.iter().map(row).collect()
}
