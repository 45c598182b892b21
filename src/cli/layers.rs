//! Configurations in layers: a preset or a run's, then files and options.

use std::path::Path;

use clap::ValueEnum;

use super::error::{CliError, Context};
use flipside::fit::ConfigFault;
use flipside::pattern::PatternSet;
use flipside::storage::{MAX_TOML_BYTES, read_text};
use flipside::train::{ConfigError, Layer, PRESETS, StoredRun, TrainConfig, TrainError, layer, origin, text_of};

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
    named: Vec<Layer>,
}

impl Layers {
    /// A preset, and the minutes it is meant for.
    ///
    /// # Errors
    /// It is not TOML.
    pub fn of_preset(preset: Preset) -> Result<(Self, f64), CliError> {
        let (name, text, minutes) = PRESETS[preset as usize];
        let preset = layer(&format!("the preset `{name}`"), text).map_err(unusable)?;
        Ok((Self { named: vec![preset] }, minutes))
    }

    /// A run's configuration. A pattern set of its own is named by the run, which keeps it.
    ///
    /// # Errors
    /// There is no run, or it cannot be read.
    pub fn of_run(directory: &Path) -> Result<Self, TrainError> {
        let mut config = StoredRun::read(directory)?.config;
        if PatternSet::built_in(&config.patterns).is_none() {
            config.patterns = text_of(directory)?.to_owned();
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
        self.named.push(layer(&shown, &read_config(path)?).map_err(unusable)?);
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
        let config = TrainConfig::from_layers(&self.named).map_err(unusable)?;
        if let Err(error) = config.pattern_set() {
            let fault = ConfigFault::new("patterns", format!("cannot be used: {error}"));
            return Err(unusable(ConfigError::Fault { file: origin(&self.named, "patterns"), fault }));
        }
        Ok(config)
    }
}

fn unusable(error: ConfigError) -> CliError {
    CliError::because("cannot use the configuration", error).hint("`flipside config` prints and explains all keys.")
}
