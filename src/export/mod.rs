//! Weights from and for other engines, and open layouts for everybody else.
//!
//! [`import`] converts an [`Engine`]'s own files to an ordinary [`WeightFile`], without loss. [`encode`] converts a model to an
//! engine's files if the engine's patterns can express it, and reports what that changed ([`Quantisation`]). [`write_open`] writes
//! one of the open layouts, which take any pattern set, and [`read_open`] reads some of them. `docs/FILES.md` describes the layouts.

mod edax;
mod egaroucid;
mod engine;
mod fault;
mod ntest;
mod open;
mod order;
mod transfer;
mod zebra;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

pub use engine::Engine;
pub use open::{OpenLayout, read_open, tables, write_open};
pub use transfer::{Quantisation, Refusal};

use crate::eval::Model;
use crate::names::{UnknownName, named};
use crate::pattern::PatternSet;
use crate::storage::{FileError, read_bounded};
use crate::weights::{Provenance, WeightFile};
use fault::Fault;

/// Limit in bytes of an engine's file; the largest known is half of it.
const LIMIT: u64 = 160 << 20;

/// Limit in bytes of a file in an open layout.
const OPEN_LIMIT: u64 = 1 << 30;

/// Why weights could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file could not be read, or is far too large.
    #[error(transparent)]
    File(#[from] FileError),
    /// Content that is not in the format, or not weights.
    #[error("{}: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Where, and what is wrong: the byte of an engine's file, decompressed, or the array of an open layout.
        reason: String,
    },
    /// The wrong set of files.
    #[error("{engine} needs {needed}; files given: {given}")]
    Files {
        /// The engine.
        engine: Engine,
        /// What it needs.
        needed: &'static str,
        /// Files given.
        given: usize,
    },
    /// A folder with more than one set of NTest's files.
    #[error("{} holds several sets of weights: name the ten files of one of them, JAa.cof to JAj.cof", folder.display())]
    Sets {
        /// The folder.
        folder: PathBuf,
    },
}

/// Reads an engine's weights: one file, or for NTest ten files or the folder that holds them.
///
/// The model evaluates as the engine does, up to the engine's own rounding of the sum to its units (`docs/FILES.md`).
///
/// # Errors
/// Files that cannot be read or are not the engine's, with the offset and the reason; a folder with two sets of weights.
pub fn import(engine: Engine, files: &[PathBuf]) -> Result<WeightFile, ImportError> {
    let files = import_files(engine, files)?;
    let contents: Result<Vec<_>, _> =
        files.iter().map(|path| read_bounded(path, "weight file of an engine", LIMIT)).collect();
    let model = decode(engine, &files, &contents?)?;
    let names: Vec<_> = files.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy()).collect();
    let provenance = Provenance::of_this_program(&format!("imported from {engine}: {}", names.join(" ")));
    Ok(WeightFile::new(model, provenance))
}

/// Reads weights in an open layout; see [`read_open`].
///
/// # Errors
/// A file that cannot be read, and those of [`read_open`].
pub fn import_open(layout: OpenLayout, path: &Path, patterns: Option<&PatternSet>) -> Result<WeightFile, ImportError> {
    let content = read_bounded(path, "file of weights", OPEN_LIMIT)?;
    let read = read_open(layout, &content, patterns);
    let mut file = read.map_err(|reason| ImportError::Content { path: path.to_owned(), reason })?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    file.provenance.origin = format!("imported from {layout}: {name}");
    Ok(file)
}

/// The files that [`import`] reads: those named, or those in NTest's folder.
///
/// # Errors
/// A folder that cannot be read, or has two sets of weights.
pub fn import_files(engine: Engine, named: &[PathBuf]) -> Result<Vec<PathBuf>, ImportError> {
    let [folder] = named else { return Ok(named.to_vec()) };
    if engine != Engine::Ntest || !folder.is_dir() {
        return Ok(named.to_vec());
    }
    let files = ntest::files_in(folder).map_err(FileError::io(folder))?;
    if files.len() > ntest::FILES { Err(ImportError::Sets { folder: folder.clone() }) } else { Ok(files) }
}

/// The model of an engine's files, given their contents in the order of [`import`]. `names` are for errors, and tell NTest's files
/// apart.
///
/// # Errors
/// Contents that are not in the engine's format.
pub fn decode(engine: Engine, names: &[PathBuf], contents: &[Vec<u8>]) -> Result<Model, ImportError> {
    let needed = match engine {
        Engine::Ntest => "the ten files of a set, such as JAa.cof to JAj.cof, each once, or their folder",
        _ => "one file",
    };
    let files = |given| ImportError::Files { engine, needed, given };
    let fault = |path: &Path| {
        let path = path.to_owned();
        move |Fault { offset, reason }| ImportError::Content { path, reason: format!("byte {offset}: {reason}") }
    };
    let stages = match (engine, names, contents) {
        (Engine::Ntest, ..) => {
            if names.len() != ntest::FILES {
                return Err(files(names.len()));
            }
            let mut stages = Vec::new();
            let set = names.first().and_then(|path| ntest::set_and_number(path)).map(|(set, _)| set);
            for file in 0..ntest::FILES {
                let is_it = |path: &Path| {
                    ntest::set_and_number(path).is_some_and(|found| Some(found) == set.map(|set| (set, file)))
                };
                let found: Vec<_> = names.iter().zip(contents).filter(|(path, _)| is_it(path)).collect();
                let [(path, bytes)] = found[..] else { return Err(files(names.len())) };
                stages.extend(ntest::decode(file, bytes).map_err(fault(path))?);
            }
            stages
        }
        (_, [path], [bytes]) => match engine {
            Engine::Edax => edax::decode(bytes),
            Engine::Egaroucid => egaroucid::decode(bytes),
            _ => zebra::decode(bytes),
        }
        .map_err(fault(path))?,
        _ => return Err(files(names.len())),
    };
    Ok(engine.model(&stages))
}

/// The files of an engine, not yet written.
#[derive(Clone, PartialEq, Debug)]
pub struct Encoded {
    /// Names (only NTest's matter) and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// What the conversion changed.
    pub quantisation: Quantisation,
}

/// An engine's files for a model. `merge_stages` averages the model's stages where the engine has one table set for several of them.
///
/// # Errors
/// A model that the engine's files cannot hold, and what to do about it.
pub fn encode(engine: Engine, model: &Model, merge_stages: bool) -> Result<Encoded, Refusal> {
    let (stages, quantisation) = transfer::transfer(model, engine, merge_stages)?;
    let one = |name: &str, bytes| vec![(name.to_owned(), bytes)];
    let files = match engine {
        Engine::Edax => one("eval.dat", edax::encode(&stages)),
        Engine::Egaroucid => one("eval.egev2", egaroucid::encode(&stages)),
        Engine::Zebra => one("coeffs2.bin", zebra::encode(&stages)),
        Engine::Ntest => {
            let files = stages.chunks(2).enumerate();
            files.map(|(file, stages)| (ntest::file_name(file), ntest::encode(file, stages))).collect()
        }
    };
    Ok(Encoded { files, quantisation })
}

/// The names under which NTest's ten files are written.
pub fn ntest_names() -> impl Iterator<Item = String> {
    (0..ntest::FILES).map(ntest::file_name)
}

/// What weights are exported to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Target {
    /// An engine's own format.
    Engine(Engine),
    /// An open layout.
    Open(OpenLayout),
}

impl Target {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Engine::ALL.map(Self::Engine).into_iter().chain(OpenLayout::ALL.map(Self::Open))
    }

    /// Its name in commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Engine(engine) => engine.name(),
            Self::Open(layout) => layout.name(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Target {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        named(name, "an engine or an open layout", &Self::all().collect::<Vec<_>>(), Self::name)
    }
}
