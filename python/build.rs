//! Builds the module a second time, with the other of two sets of instructions, so that one wheel serves every x86-64 processor.
//!
//! A release build by maturin for Linux on x86-64 is for x86-64-v3 if it is started inside the clone (`.cargo/config.toml`), and then the second one is
//! for all x86-64 processors; elsewhere it is the other way round. `__init__.py` chooses. Other builds have one module.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Set in the second build, which needs no third. Whoever sets it gets a wheel of one module, in half the time.
const SECOND: &str = "FLIPSIDE_SECOND_BUILD";

/// Set by maturin, so that lints do not build anything.
const MATURIN: &str = "PYO3_BUILD_EXTENSION_MODULE";

fn main() {
    for path in ["build.rs", "src", "Cargo.toml", "../src", "../data", "../weights", "../Cargo.toml"] {
        println!("cargo::rerun-if-changed={path}");
    }
    println!("cargo::rerun-if-env-changed={SECOND}");
    println!("cargo::rerun-if-env-changed={MATURIN}");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let is_x86_linux = variable("CARGO_CFG_TARGET_ARCH") == "x86_64" && variable("CARGO_CFG_TARGET_OS") == "linux";
    let is_native = variable("HOST") == variable("TARGET");
    let is_wheel = variable("PROFILE") == "release" && env::var_os(MATURIN).is_some() && env::var_os(SECOND).is_none();
    if !is_x86_linux || !is_native || !is_wheel {
        return;
    }
    let has_avx2 = variable("CARGO_CFG_TARGET_FEATURE").split(',').any(|feature| feature == "avx2");
    let (folder, cpu) = if has_avx2 { ("portable", "x86-64") } else { ("x86_64_v3", "x86-64-v3") };

    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let target = out.join("target");
    let status = Command::new(env::var_os("CARGO").expect("cargo sets it"))
        .args(["build", "--release", "--lib", "--quiet", "--target-dir"])
        .arg(&target)
        .arg("--manifest-path")
        .arg(PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("Cargo.toml"))
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .env("RUSTFLAGS", format!("-C target-cpu={cpu}"))
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        .env(SECOND, "1")
        .status()
        .expect("cargo can be started");
    assert!(status.success(), "the build for {cpu} failed");
    let folder = out.join(folder);
    fs::create_dir_all(&folder).expect("a folder in OUT_DIR");
    fs::copy(target.join("release/lib_flipside.so"), folder.join("_flipside.abi3.so")).expect("what was built");
}
