//! The notices of what the program contains belong to the crates of `Cargo.lock`.

use std::collections::BTreeSet;

const LOCK: &str = include_str!("../../Cargo.lock");
const NOTICES: &str = include_str!("../../THIRD-PARTY.txt");

#[test]
fn the_notices_are_those_of_the_locked_crates() {
    let lock: toml::Table = LOCK.parse().unwrap();
    let text = |package: &toml::Value, key: &str| package[key].as_str().unwrap().to_owned();
    let packages = lock["package"].as_array().unwrap().iter();
    let locked: BTreeSet<String> = packages
        .map(|package| format!("{} {}", text(package, "name"), text(package, "version")))
        .filter(|package| !package.starts_with("flipside "))
        .collect();
    let (lists, _) = NOTICES.split_once("\n=====").unwrap();
    let name = |line: &str| line.split(':').next().unwrap().to_owned();
    let listed: BTreeSet<String> = lists.lines().map(name).filter(|line| line.split(' ').count() == 2).collect();
    let differing: Vec<_> = locked.symmetric_difference(&listed).collect();
    assert!(
        differing.is_empty(),
        "`python3 contrib/notices.py > THIRD-PARTY.txt` after a change of Cargo.lock: {differing:?}"
    );
}
