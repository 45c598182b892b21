//! Talking to other programs: serving the engine, and driving other engines.
//!
//! [`gtp::serve`] and [`nboard::serve`] let a referee or a GUI use an [`Engine`] (ours is [`search::Engine`](crate::search::Engine)).
//! [`ExternalSpec::start`] is the other side: an engine in a process of its own that plays in the arena.

mod engine;
mod external;
pub mod gtp;
mod gtp_client;
pub(crate) mod guard;
mod line;
mod listener;
pub mod nboard;
mod nboard_client;
mod process;

pub use engine::Engine;
pub use external::{Dialect, ExternalSpec};
pub use line::{ServeError, read_line};
pub use process::ProcessLimits;
