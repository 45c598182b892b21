//! A build without the feature `cluster` says how to get it.

use crate::support::*;

#[test]
fn clusters_are_to_be_had_by_another_build() {
    for call in [
        &["work", "nats://localhost", "--run", "tonight", "--broker-key", "worker.nk"][..],
        &["cluster", "config", "broker", "--host", "head", "--run", "tonight"],
        &["train", "--run", "/nowhere/run", "--cluster", "nats://localhost"],
    ] {
        let said = refusal(call, "", 1);
        assert!(said.contains("cargo install") && said.contains("--features cluster"), "{said}");
    }
}
