//! What can be wrong with a configuration.

use crate::pattern::PatternSetError;

/// A configuration that cannot be run, and why.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// TOML that cannot be read.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// An unknown key, a value that its key does not take, or a missing key.
    #[error("{file}: `{key}` {reason}")]
    Key {
        /// Where it comes from.
        file: String,
        /// The key, like `phases[2].games`, phases counted from 1.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A pattern set that is neither built in nor a file, or malformed.
    #[error(transparent)]
    Patterns(#[from] PatternSetError),
    /// A run whose pattern set is wanted.
    #[error(transparent)]
    Run(Box<super::TrainError>),
}
