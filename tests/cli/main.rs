//! The program as users see it: output, exit codes, errors.

#[cfg(unix)]
mod contrib;
mod examples;
mod files;
mod fit;
mod general;
#[path = "../helpers/mod.rs"]
mod helpers;
mod labelled;
mod league;
mod matches;
mod play;
mod positions;
mod reports;
mod search;
mod selective;
mod support;
#[cfg(unix)]
mod terminal;
mod train;
mod verify;
#[cfg(not(feature = "cluster"))]
mod without_cluster;
