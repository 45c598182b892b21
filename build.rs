//! Notes the git commit the program is built from, for the provenance of weight files. Builds as well without git.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    // Only this package's own repository, not one that the sources happen to lie in.
    let top = git(&["rev-parse", "--show-toplevel"]);
    if top.is_none_or(|top| Path::new(&top) != Path::new(env!("CARGO_MANIFEST_DIR"))) {
        return;
    }
    if let (Some(commit), Some(log)) =
        (git(&["rev-parse", "--short=12", "HEAD"]), git(&["rev-parse", "--git-path", "logs/HEAD"]))
    {
        println!("cargo::rustc-env=FLIPSIDE_COMMIT={commit}");
        println!("cargo::rerun-if-changed={log}");
    }
}
