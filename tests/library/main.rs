//! Tests of single modules. They are one crate, since every crate of tests takes seconds to build.

mod architecture;
mod arena;
mod board;
mod endgame;
mod fit;
mod fuzz;
mod games;
#[path = "../helpers/mod.rs"]
mod helpers;
mod league;
mod learn;
#[path = "../../examples/textbook/literature/mod.rs"]
mod literature;
mod notices;
mod records;
mod search;
mod selective;
mod selfplay;
mod weights;
