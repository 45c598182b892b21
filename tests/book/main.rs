//! Opening books: files, growth, learning, other programs' books, and the commands.

#[path = "../cli/support.rs"]
#[allow(dead_code)]
mod calling;
mod commands;
mod files;
mod foreign;
mod growing;
#[cfg(target_os = "linux")]
mod large;
mod learning;
mod support;
