//! The command line
/// Runs.
pub fn main() -> std::process::ExitCode { println!("{:?}", std::env::args()); std::process::ExitCode::SUCCESS }
