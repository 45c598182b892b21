//! The table of modules in ARCHITECTURE.md matches the sources, and files do not import each other in circles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All Rust files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// A module path, like `["search", "table"]`; the crate's root is empty.
type Module = Vec<String>;

/// The code of each module: its file without comments and unit tests.
fn sources() -> BTreeMap<Module, String> {
    let folder = root().join("src");
    let modules = files(&folder).into_iter().map(|path| {
        let inside = path.strip_prefix(&folder).unwrap().with_extension("");
        let mut module: Module = inside.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
        module.retain(|name| name != "mod" && name != "lib");
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        (module, lines.collect::<Vec<_>>().join("\n"))
    });
    modules.filter(|(module, _)| module != &["main"]).collect()
}

/// The paths in code that begin with `crate::`, `super::` or a child module that it declares; a brace group gives one for each of its
/// members.
fn paths(code: &str, module: &Module) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let declared = code.lines().filter_map(|line| line.rsplit_once("mod ")?.1.strip_suffix(';'));
    let children: Vec<String> = declared.map(|child| format!("{child}::")).collect();
    for start in children.iter().map(String::as_str).chain(["crate::", "super::"]) {
        for (at, _) in code.match_indices(start) {
            let inner = code[..at].ends_with("::") || code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            if inner {
                continue;
            }
            let (mut base, mut rest) = match start {
                "crate::" => (Vec::new(), &code[at + start.len()..]),
                "super::" => (parent(module), &code[at + start.len()..]),
                _ => (module.clone(), &code[at..]),
            };
            while let Some(up) = rest.strip_prefix("super::") {
                base.pop();
                rest = up;
            }
            expand(rest, &base, &mut found);
        }
    }
    found
}

/// The module that `super` means.
fn parent(module: &Module) -> Module {
    module[..module.len().saturating_sub(1)].to_vec()
}

fn expand(text: &str, base: &[String], found: &mut Vec<Vec<String>>) {
    if let Some(group) = text.strip_prefix('{') {
        let (mut depth, mut start) = (0, 0);
        for (i, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                ',' | '}' if depth == 0 => {
                    let member = group[start..i].trim();
                    if !member.is_empty() {
                        expand(member, base, found);
                    }
                    start = i + 1;
                    if c == '}' {
                        return;
                    }
                }
                '}' => depth -= 1,
                _ => {}
            }
        }
        return;
    }
    let name: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let mut path = base.to_vec();
    let rest = &text[name.len()..];
    path.push(name);
    match rest.strip_prefix("::") {
        Some(rest) if rest.starts_with(|c: char| c == '{' || c.is_alphabetic() || c == '_') => {
            expand(rest, &path, found)
        }
        _ => found.push(path),
    }
}

/// The rows of the table: module and what it may use.
fn table() -> BTreeMap<String, Option<BTreeSet<String>>> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let [_, module, _, uses, _] = cells[..] else { return None };
        let module = module.strip_prefix('`')?.strip_suffix('`')?;
        let uses = match uses {
            "all" => None,
            "-" => Some(BTreeSet::new()),
            list => Some(list.split(", ").map(str::to_owned).collect()),
        };
        Some((module.to_owned(), uses))
    });
    rows.collect()
}

#[test]
fn paths_are_understood() {
    let module: Module = vec!["a".into(), "b".into()];
    let names = |code: &str| {
        let mut names: Vec<_> = paths(code, &module).iter().map(|path| path.join(".")).collect();
        names.sort();
        names.join(" ")
    };
    assert_eq!(names("use crate::board::Square;"), "board.Square");
    assert_eq!(names("use crate::{board::{Square, squares}, eval};"), "board.Square board.squares eval");
    assert_eq!(names("let x = crate::search::f(crate::weights::g);"), "search.f weights.g");
    assert_eq!(names("use super::super::eval::Score; use super::Other;"), "a.Other eval.Score");
    assert_eq!(names("mod c;\npub use c::{D, e::F};\nfn g(_: other::c::H) {}"), "a.b.c.D a.b.c.e.F");
}

#[test]
fn modules_use_what_the_table_says_and_nothing_else() {
    let table = table();
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, code) in sources().iter().filter(|(module, _)| !module.is_empty()) {
        let own = used.entry(module[0].clone()).or_default();
        own.extend(paths(code, module).into_iter().map(|path| path[0].clone()));
    }
    assert_eq!(table.keys().collect::<Vec<_>>(), used.keys().collect::<Vec<_>>(), "modules of the table and of src");
    for (module, uses) in used {
        let uses: BTreeSet<_> = uses.into_iter().filter(|name| *name != module && table.contains_key(name)).collect();
        assert!(!uses.contains("cli"), "{module} uses cli");
        if let Some(allowed) = &table[&module] {
            assert_eq!(*allowed, uses, "what ARCHITECTURE.md says that `{module}` uses, and what it does use");
        }
    }
}

/// Where a path's first name is defined: the file module that it leads to, through re-exports.
fn definition(path: &[String], sources: &BTreeMap<Module, String>) -> Option<Module> {
    let file = (0..=path.len()).rev().map(|n| path[..n].to_vec()).find(|module| sources.contains_key(module))?;
    let name = path.get(file.len())?;
    let exported = sources[&file].split("pub use ").skip(1).chain(sources[&file].split("pub(super) use ").skip(1));
    for statement in exported.map(|rest| rest.split(';').next().unwrap()) {
        let mut members = Vec::new();
        expand(statement.trim_start_matches("self::"), &file, &mut members);
        if let Some(member) =
            members.iter().find(|member| member.last() == Some(name) && **member != path[..=file.len()])
        {
            return definition(member, sources);
        }
    }
    Some(file)
}

/// The groups of modules each of which reaches the others.
fn circles(edges: &BTreeMap<&Module, BTreeSet<Module>>) -> BTreeSet<String> {
    let reached = |from: &Module| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(module) = open.pop() {
            open.extend(edges[&module].iter().filter(|other| seen.insert((*other).clone())).cloned());
        }
        seen
    };
    let reach: BTreeMap<&Module, BTreeSet<Module>> = edges.keys().map(|&module| (module, reached(module))).collect();
    let in_circles = reach.iter().filter(|(module, seen)| seen.contains(**module));
    let groups = in_circles.map(|(&module, seen)| {
        let circle = seen.iter().filter(|other| reach[other].contains(module));
        circle.map(|module| module.join("::")).collect::<Vec<_>>().join(", ")
    });
    groups.collect()
}

#[test]
fn files_do_not_import_each_other_in_circles() {
    let sources = sources();
    // A folder's `mod.rs` and the files below it may name each other: such imports count in one direction at a time.
    for counts in
        [|from: &Module, to: &Module| !to.starts_with(from), |from: &Module, to: &Module| !from.starts_with(to)]
    {
        let imports = |module: &Module, code: &str| -> BTreeSet<Module> {
            let found = paths(code, module).into_iter().filter_map(|path| definition(&path, &sources));
            found.filter(|other| !other.is_empty() && counts(module, other)).collect()
        };
        let circles = circles(&sources.iter().map(|(module, code)| (module, imports(module, code))).collect());
        assert!(
            circles.is_empty(),
            "files that import each other:\n{}",
            circles.into_iter().collect::<Vec<_>>().join("\n")
        );
    }
}
