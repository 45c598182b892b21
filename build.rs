//! Records the git commit the program is built from (with `-dirty` appended if the sources differ from it), for the provenance of
//! weight files, and the processors it is built for. Git is optional. Finds out whether the sources have weights for other engines.

use std::path::Path;
use std::process::Command;

/// What the program is made of.
const SOURCES: &[&str] =
    &[".cargo", "build.rs", "Cargo.lock", "Cargo.toml", "data", "rust-toolchain.toml", "src", "weights"];

/// The weights for other engines, which are too large for crates.io: a package has none.
const ENGINE_WEIGHTS: &[&str] = &["edax", "egaroucid", "ntest", "zebra"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(engine_weights)");
    let weights = ENGINE_WEIGHTS.iter().map(|name| format!("weights/{name}.fsw"));
    if weights.inspect(|path| println!("cargo::rerun-if-changed={path}")).all(|path| Path::new(&path).is_file()) {
        println!("cargo::rustc-cfg=engine_weights");
    }
    let commit = commit();
    if let Some(commit) = &commit {
        println!("cargo::rustc-env=FLIPSIDE_COMMIT={commit}");
    }
    let of = |commit: String| format!("commit {commit}, ");
    let version = env!("CARGO_PKG_VERSION");
    println!("cargo::rustc-env=FLIPSIDE_VERSION={version} ({}{})", commit.map_or(String::new(), of), cpu_level());
}

/// What processors the program is built for, like `x86-64-v3`.
fn cpu_level() -> String {
    let of = |name: &str| std::env::var(name).unwrap_or_default();
    let (arch, features) = (of("CARGO_CFG_TARGET_ARCH"), of("CARGO_CFG_TARGET_FEATURE"));
    let has = |names: &[&str]| names.iter().all(|name| features.split(',').any(|feature| feature == *name));
    match &*arch {
        "x86_64" if has(&["avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512cd", "avx2", "bmi2"]) => {
            "x86-64-v4".into()
        }
        "x86_64" if has(&["avx2", "bmi1", "bmi2", "fma", "lzcnt", "movbe"]) => "x86-64-v3".into(),
        "x86_64" if has(&["sse4.2", "ssse3", "popcnt"]) => "x86-64-v2".into(),
        "x86_64" => "x86-64".into(),
        _ => arch,
    }
}

/// The commit of this package's repository, if it is in one.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    // Only this package's own repository, not one around it.
    let top = git(&["rev-parse", "--show-toplevel"]);
    let package = std::env::var_os("CARGO_MANIFEST_DIR")?;
    top.filter(|top| Path::new(top) == Path::new(&package))?;
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={log}");
    SOURCES.iter().for_each(|source| println!("cargo::rerun-if-changed={source}"));
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(&[&["--no-optional-locks", "status", "--porcelain", "--"], SOURCES].concat())?;
    Some(if changes.is_empty() { commit } else { commit + "-dirty" })
}
