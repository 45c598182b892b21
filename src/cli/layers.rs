//! Configurations in layers: a preset or a run's, then files and options.

use std::path::Path;

use clap::ValueEnum;

use super::error::{CliError, Context};
use crate::pattern::PatternSet;
use crate::storage::{MAX_TOML_BYTES, read_text};
use crate::train::{ConfigError, PRESETS, TrainConfig, TrainError, origin, stored_config};

/// A configuration that comes with the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Preset {
    /// Two minutes, to see how it goes
    Quick,
    /// Two hours
    Evening,
    /// Ten hours
    Overnight,
}

/// The text of a file of configuration.
///
/// # Errors
/// It cannot be read.
pub fn read_config(path: &Path) -> Result<String, CliError> {
    read_text(path, "configuration", MAX_TOML_BYTES).context(|| "cannot read the configuration")
}

/// Named layers of a configuration; later ones override earlier ones.
pub struct Layers {
    named: Vec<(String, toml::Table)>,
}

impl Layers {
    /// A preset, and the minutes it is meant for.
    ///
    /// # Errors
    /// It is not TOML.
    pub fn of_preset(preset: Preset) -> Result<(Self, f64), CliError> {
        let (name, text, minutes) = PRESETS[preset as usize];
        let table = text.parse().context(|| format!("the preset `{name}` is damaged"))?;
        Ok((Self { named: vec![(format!("the preset `{name}`"), table)] }, minutes))
    }

    /// A run's configuration. A pattern set of its own is named by the run, which keeps it.
    ///
    /// # Errors
    /// There is no run, or it cannot be read.
    pub fn of_run(directory: &Path) -> Result<Self, TrainError> {
        let mut config = stored_config(directory)?;
        if PatternSet::built_in(&config.patterns).is_none() {
            config.patterns = directory.display().to_string();
        }
        let table = config.to_toml().parse().expect("a configuration is TOML");
        Ok(Self { named: vec![(directory.join("config.toml").display().to_string(), table)] })
    }

    /// Adds a file.
    ///
    /// # Errors
    /// It cannot be read, or is not TOML.
    pub fn add_file(&mut self, path: &Path) -> Result<(), CliError> {
        let shown = path.display().to_string();
        let table = read_config(path)?.parse().context(|| format!("cannot use {shown}"))?;
        self.add(&shown, table);
        Ok(())
    }

    /// Adds a table.
    pub fn add(&mut self, name: &str, table: toml::Table) {
        self.named.push((name.to_owned(), table));
    }

    /// The configuration, with a pattern set that can be loaded.
    ///
    /// # Errors
    /// What is wrong with it, and in which layer.
    pub fn config(&self) -> Result<TrainConfig, CliError> {
        let unusable = |error: ConfigError| CliError::because("cannot use the configuration", error);
        let config = TrainConfig::from_named_layers(&self.named).map_err(|error| {
            let is_key = matches!(error, ConfigError::Key { .. });
            let error = unusable(error);
            if is_key { error.hint("`flipside config` prints and explains all keys.") } else { error }
        })?;
        if let Err(error) = config.pattern_set() {
            let (file, reason) = (origin(&self.named, "patterns"), format!("cannot be used: {error}"));
            return Err(unusable(ConfigError::Key { file, key: "patterns".into(), reason }));
        }
        Ok(config)
    }
}
