//! The weights that ship for other engines, `weights/ENGINE.fsw`, inside the program itself.

use super::error::{CliError, Context};
use flipside::export::Engine;
use flipside::weights::WeightFile;

/// The weights that ship for an engine, of the engine's own pattern set.
///
/// # Errors
/// The program was built from sources without them, such as a package from crates.io.
pub fn of_engine(engine: Engine) -> Result<WeightFile, CliError> {
    let Some(bytes) = bytes(engine) else {
        let message = format!("this program was built without the weights for {engine}");
        let hint = format!("Get weights/{engine}.fsw from flipside's repository and name it, or build flipside there.");
        return Err(CliError::failure(message).hint(hint));
    };
    WeightFile::from_bytes(bytes).context(|| format!("cannot use the weights for {engine}"))
}

#[cfg(engine_weights)]
fn bytes(engine: Engine) -> Option<&'static [u8]> {
    Some(match engine {
        Engine::Edax => include_bytes!("../../weights/edax.fsw"),
        Engine::Egaroucid => include_bytes!("../../weights/egaroucid.fsw"),
        Engine::Ntest => include_bytes!("../../weights/ntest.fsw"),
        Engine::Zebra => include_bytes!("../../weights/zebra.fsw"),
    })
}

#[cfg(not(engine_weights))]
fn bytes(_: Engine) -> Option<&'static [u8]> {
    None
}
