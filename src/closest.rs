//! The known name that is closest to an unknown one.

/// The item whose name is most similar to `name`, if any is similar enough.
pub fn closest<'n, T>(name: &str, items: impl Iterator<Item = T>, name_of: impl Fn(&T) -> &'n str) -> Option<T> {
    let likeness = |item: &T| strsim::jaro_winkler(name, name_of(item));
    items.filter(|item| likeness(item) > 0.75).max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
}
