//! The known name that is closest to one that is not known.

/// The item whose name is most like `name`, if any is like it at all.
pub fn closest<'n, T>(name: &str, items: impl Iterator<Item = T>, name_of: impl Fn(&T) -> &'n str) -> Option<T> {
    let likeness = |item: &T| strsim::jaro_winkler(name, name_of(item));
    items.filter(|item| likeness(item) > 0.75).max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
}
