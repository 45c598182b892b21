//! The program as its users meet it: output, exit codes, errors.

mod examples;
mod files;
mod fit;
mod general;
#[path = "../helpers/mod.rs"]
mod helpers;
mod league;
mod matches;
mod play;
mod positions;
mod reports;
mod search;
mod selective;
mod support;
mod train;
