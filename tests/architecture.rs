//! Imports point one way: a module uses only modules before it in the order below (ARCHITECTURE.md shows them as a table).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules in layers, each layer free to use those before it.
const LAYERS: [&[&str]; 13] = [
    &["board", "memory", "storage"],
    &["pattern"],
    &["eval"],
    &["search", "textbook", "weights"],
    &["selfplay"],
    &["games", "learn"],
    &["export", "record"],
    &["fit"],
    &["arena"],
    &["protocol"],
    &["train"],
    &["report"],
    &["cli"],
];

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// All Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// The names that follow a path's prefix: `board::Square` gives `board`, `{board::Square, eval}` gives both.
fn heads(text: &str) -> Vec<String> {
    let Some(group) = text.strip_prefix('{') else {
        return vec![text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()];
    };
    let (mut depth, mut heads, mut start) = (0, Vec::new(), true);
    for (i, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => start = true,
            c if start && !c.is_whitespace() => {
                heads.extend(self::heads(&group[i..]));
                start = false;
            }
            _ => {}
        }
    }
    heads
}

/// The names directly under the crate root that a source file mentions, by `crate::` or by enough `super::`; comments do not count.
/// `depth` is the number of names in the file's own module path.
fn names_under_root(source: &str, depth: usize) -> BTreeSet<String> {
    let code: String =
        source.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let up = "super::".repeat(depth);
    let prefixes = if depth == 0 { vec!["crate::"] } else { vec!["crate::", up.as_str()] };
    prefixes.iter().flat_map(|prefix| code.split(prefix).skip(1).flat_map(heads)).collect()
}

#[test]
fn paths_are_understood() {
    let names = |source: &str| names_under_root(source, 2).into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!(names("use crate::board::Square;"), "board");
    assert_eq!(names("use crate::{board::{Square, squares}, eval};"), "board eval");
    assert_eq!(names("let x = crate::search::f(crate::weights::g);"), "search weights");
    assert_eq!(names("// crate::cli\n/// [`crate::report`]\nuse super::super::eval::Score;"), "eval");
    assert_eq!(names("use super::Score;"), "");
}

#[test]
fn imports_point_one_way() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut checked = 0;
    for path in sources(&root) {
        let inside = path.strip_prefix(&root).unwrap();
        let mut names: Vec<_> =
            inside.with_extension("").iter().map(|name| name.to_str().unwrap().to_owned()).collect();
        names.retain(|name| name != "mod");
        let module = names[0].clone();
        if module == "lib" || module == "main" {
            continue;
        }
        let own = layer(&module).unwrap_or_else(|| panic!("module `{module}` has no layer in tests/architecture.rs"));
        for used in names_under_root(&fs::read_to_string(&path).unwrap(), names.len()) {
            let Some(other) = layer(&used) else { continue };
            let upward = other < own || used == module;
            assert!(upward, "{} uses `crate::{used}`, which is not before `{module}`", inside.display());
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} uses found: the search for them is broken");
}
