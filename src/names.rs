//! Names that users type: of variants of enums, and the known one that is closest to an unknown one.

use thiserror::Error;

/// A name that is none of those expected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{name}` is not {what} ({})", .known.join(", "))]
pub struct UnknownName {
    /// As typed.
    pub name: String,
    /// What was expected, with its article.
    pub what: &'static str,
    /// All names expected.
    pub known: Vec<&'static str>,
}

/// Names the variants of an enum: `ALL`, `name`, `Display`, and `FromStr`, for which upper and lower case are the same.
macro_rules! names {
    ($type:ident, $what:literal: $($variant:ident = $name:literal)*) => {
        impl $type {
            /// All of them.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// Its name, as users type it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = crate::names::UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                crate::names::named(name, $what, &Self::ALL, |variant| variant.name())
            }
        }
    };
}

pub(crate) use names;

/// The one of some items that has a name, for which upper and lower case are the same. `what` is what was expected, with its article.
pub(crate) fn named<T: Copy>(
    name: &str,
    what: &'static str,
    items: &[T],
    name_of: impl Fn(T) -> &'static str,
) -> Result<T, UnknownName> {
    let found = items.iter().copied().find(|&item| name_of(item).eq_ignore_ascii_case(name));
    let known = || items.iter().copied().map(&name_of).collect();
    found.ok_or_else(|| UnknownName { name: name.to_owned(), what, known: known() })
}

/// The item whose name is most similar to `name`, if any is similar enough.
pub(crate) fn closest<'n, T>(name: &str, items: impl Iterator<Item = T>, name_of: impl Fn(&T) -> &'n str) -> Option<T> {
    let likeness = |item: &T| strsim::jaro_winkler(name, name_of(item));
    items.filter(|item| likeness(item) > 0.75).max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
}
