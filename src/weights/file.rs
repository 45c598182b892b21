//! The weight file: a model and where it came from.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use serde::de::IntoDeserializer;
use serde::{Deserialize, Serialize};

use crate::clock::source_date;
use crate::eval::{
    Calibration, DepthPair, Head, HiddenLayer, Model, ModelError, PatternEvaluator, Row, StageMap, UNITS,
};
use crate::pattern::{Layout, Pattern, PatternSet, Scalar};
use crate::storage::blob::Blob;
use crate::storage::{Container, FileError, FormatError, Packing, hex, sha256, write_whole};

/// Limit in bytes of a weight file.
pub(crate) const MAX_BYTES: u64 = 1 << 28;

/// Weight files, `.fsw`.
const CONTAINER: Container = Container {
    what: "flipside weight file",
    magic: *b"\x89FSW\r\n\x1a\n",
    version: 1,
    limit: MAX_BYTES,
    packing: Packing::Deflated,
};

/// Whether bytes begin as a weight file does.
pub fn is_weight_file(bytes: &[u8]) -> bool {
    bytes.starts_with(&CONTAINER.magic)
}

/// Where weights came from.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Provenance {
    /// Program and version that wrote the file, like `flipside 0.1.0`.
    pub program: String,
    /// Git commit of that program, if it was built in a checkout.
    pub commit: Option<String>,
    /// How the weights came to be, in one line, like `trained` or `imported from zebra: coeffs2.bin`.
    pub origin: String,
    /// The configuration of the run as TOML text; empty if there was none.
    pub config: String,
    /// The run's seed.
    pub seed: Option<u64>,
    /// Generations played.
    pub generations: u64,
    /// Games played.
    pub games: u64,
    /// Samples learned, counted each time they were learned.
    pub samples: u64,
    /// When the file was made (RFC 3339, UTC). `None` unless the caller fixes it (by `SOURCE_DATE_EPOCH`): equal runs give
    /// equal files.
    pub date: Option<String>,
    /// [`WeightFile::hash`] of the weights this file's weights were made from.
    pub parent: Option<String>,
}

impl Provenance {
    /// This program, an origin, and the date that `SOURCE_DATE_EPOCH` gives; all else is still empty.
    pub fn of_this_program(origin: &str) -> Self {
        Self {
            program: concat!("flipside ", env!("CARGO_PKG_VERSION")).to_owned(),
            commit: option_env!("FLIPSIDE_COMMIT").map(str::to_owned),
            origin: origin.to_owned(),
            date: source_date(),
            ..Self::default()
        }
    }

    /// The program and its commit, as `flipside 0.1.0 (commit 1112591ba88d)`.
    pub fn build(&self) -> String {
        let commit = self.commit.as_ref().map_or(String::new(), |commit| format!(" (commit {commit})"));
        self.program.clone() + &commit
    }
}

/// A model with its provenance, as stored in an `.fsw` file (`docs/FILES.md`).
#[derive(Clone, PartialEq, Debug)]
pub struct WeightFile {
    /// The model.
    pub model: Model,
    /// Where it came from.
    pub provenance: Provenance,
    /// The parameters of selective search, if they were measured. They fit this model and no other.
    pub calibration: Option<Calibration>,
}

/// The payload as it is written. A structure of its own, so that the file does not change when the program's types do.
#[derive(Serialize, Deserialize)]
struct Payload<'a> {
    program: &'a str,
    commit: Option<&'a str>,
    origin: &'a str,
    config: &'a str,
    seed: Option<u64>,
    generations: u64,
    games: u64,
    samples: u64,
    date: Option<&'a str>,
    parent: Option<&'a str>,
    set: &'a str,
    /// Name and squares of each pattern.
    #[serde(borrow)]
    patterns: Vec<(&'a str, Blob<'a, u8>)>,
    scalars: Vec<&'a str>,
    /// Stage by number of empties, 0 to 60.
    stages: Blob<'a, u8>,
    scale: u16,
    /// By stage: the low bytes of all weights, then the high bytes. High bytes of small numbers are alike, and deflate better side by side.
    weights: Vec<Blob<'a, u8>>,
    calibration: Option<Vec<DepthPair>>,
    #[serde(borrow)]
    hidden: Option<HiddenRecord<'a>>,
}

/// A hidden layer as it is written.
#[derive(Serialize, Deserialize)]
struct HiddenRecord<'a> {
    /// Numbers of a row.
    units: u8,
    /// By stage.
    rows_of_stage: Blob<'a, u8>,
    /// By the rows' number.
    #[serde(borrow)]
    rows: Vec<Blob<'a, i8>>,
    /// By stage, the biases and then the outputs.
    heads: Vec<Blob<'a, i16>>,
}

/// `weights/default.fsw`, inside the program itself, so that it is always available.
const DEFAULT: &[u8] = include_bytes!("../../weights/default.fsw");

impl WeightFile {
    /// The weights that ship with flipside, which it learned from nothing (`weights/README.md`).
    pub fn embedded() -> Self {
        Self::embedded_with_hash().0
    }

    /// [`Self::embedded`] with its [`Self::hash`].
    pub fn embedded_with_hash() -> (Self, String) {
        let weights = Self::read(DEFAULT, Container::payload_unchecked);
        weights.expect("tested: the weights in the program are good")
    }

    /// A model with its provenance, not calibrated.
    pub fn new(model: Model, provenance: Provenance) -> Self {
        Self { model, provenance, calibration: None }
    }

    /// The evaluator of these weights, with their calibration.
    ///
    /// # Errors
    /// A model whose parts do not fit each other; one that was read from a file fits.
    pub fn evaluator(&self) -> Result<PatternEvaluator, ModelError> {
        Ok(PatternEvaluator::new(&self.model)?.with_calibration(self.calibration.clone()))
    }

    /// The whole file. Equal content gives equal bytes. A file of a model whose parts do not fit each other cannot be read.
    pub fn to_bytes(&self) -> Vec<u8> {
        CONTAINER.to_bytes(&self.payload())
    }

    fn payload(&self) -> Payload<'_> {
        let Self { model, provenance, calibration } = self;
        let patterns = model.set.patterns.iter().map(|pattern| {
            let squares: Vec<u8> = pattern.squares().map(|square| square.index() as u8).collect();
            (pattern.name.as_str(), Blob(squares.into()))
        });
        Payload {
            program: &provenance.program,
            commit: provenance.commit.as_deref(),
            origin: &provenance.origin,
            config: &provenance.config,
            seed: provenance.seed,
            generations: provenance.generations,
            games: provenance.games,
            samples: provenance.samples,
            date: provenance.date.as_deref(),
            parent: provenance.parent.as_deref(),
            set: &model.set.name,
            patterns: patterns.collect(),
            scalars: model.set.scalars.iter().map(|scalar| scalar.name()).collect(),
            stages: Blob(model.stages.table().into()),
            scale: model.scale,
            weights: model.weights.iter().map(|weights| Blob(bytes_of(weights).into())).collect(),
            calibration: calibration.as_ref().map(|calibration| calibration.pairs().to_vec()),
            hidden: model.hidden.as_ref().map(HiddenRecord::from),
        }
    }

    /// The weights of a whole file.
    ///
    /// # Errors
    /// The first thing that is wrong. A model that is returned fits together and can be evaluated.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        Self::read(bytes, Container::payload).map(|(weights, _)| weights)
    }

    fn read(
        bytes: &[u8],
        payload_of: impl for<'b> FnOnce(&Container, &'b [u8]) -> Result<Cow<'b, [u8]>, FormatError>,
    ) -> Result<(Self, String), FormatError> {
        let content = payload_of(&CONTAINER, bytes)?;
        let mut payload: Payload = CONTAINER.decode(&content)?;
        let owned = str::to_owned;
        let provenance = Provenance {
            program: payload.program.to_owned(),
            commit: payload.commit.map(owned),
            origin: payload.origin.to_owned(),
            config: payload.config.to_owned(),
            seed: payload.seed,
            generations: payload.generations,
            games: payload.games,
            samples: payload.samples,
            date: payload.date.map(owned),
            parent: payload.parent.map(owned),
        };
        let calibration =
            payload.calibration.take().map(Calibration::new).transpose().map_err(|error| error.to_string());
        let made = calibration.and_then(|calibration| Ok(Self { model: payload.model()?, provenance, calibration }));
        let weights = made.map_err(|reason| FormatError::Content { what: CONTAINER.what, reason })?;
        Ok((weights, hex(Container::checksum(bytes))))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The file system's, or the first thing that is wrong with the content.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        Self::load_with_hash(path.as_ref()).map(|(weights, _)| weights)
    }

    /// [`Self::load`] with the weights' [`Self::hash`], which their file states: to compute it takes as long as to read them.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_with_hash(path: &Path) -> Result<(Self, String), FileError> {
        Self::read(&CONTAINER.bytes_of(path)?, Container::payload).map_err(FileError::format(path))
    }

    /// Replaces a file atomically.
    ///
    /// # Errors
    /// The file system's, or a model whose parts do not fit each other: nothing is written then.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let path = path.as_ref();
        let fits = check(&self.model).map_err(|reason| io::Error::new(io::ErrorKind::InvalidInput, reason));
        fits.map_err(FileError::io(path))?;
        write_whole(path, &self.to_bytes())
    }

    /// The SHA-256 of the payload before it is deflated, in lower-case hexadecimal: the name of these weights in other files'
    /// provenance. The file's header has it too.
    pub fn hash(&self) -> String {
        sha256(&Container::encode(&self.payload()))
    }
}

impl<'a> From<&'a HiddenLayer> for HiddenRecord<'a> {
    fn from(layer: &'a HiddenLayer) -> Self {
        let units = layer.units();
        let used = |rows: &'a Vec<Row>| match units {
            UNITS => rows.as_flattened().into(),
            units => rows.iter().flat_map(|row| &row[..units]).copied().collect(),
        };
        let head = |head: &Head| Blob([&head.bias[..units], &head.output[..units]].concat().into());
        Self {
            units: units as u8,
            rows_of_stage: Blob((&layer.rows_of_stage).into()),
            rows: layer.rows.iter().map(|rows| Blob(used(rows))).collect(),
            heads: layer.heads.iter().map(head).collect(),
        }
    }
}

impl HiddenRecord<'_> {
    /// The layer, not yet checked against its model.
    fn layer(self) -> Result<HiddenLayer, String> {
        let Self { units, rows_of_stage, rows, heads } = self;
        let units = usize::from(units);
        if !(1..=UNITS).contains(&units) {
            return Err(format!("its hidden layer has {units} units; this program reads 1 to {UNITS}"));
        }
        let rows = rows.into_iter().map(|Blob(rows)| {
            if !rows.len().is_multiple_of(units) {
                return Err("a row of its hidden layer ends early".to_owned());
            }
            Ok(if units == UNITS { rows.as_chunks().0.to_vec() } else { rows.chunks(units).map(padded).collect() })
        });
        let heads = heads.into_iter().map(|head| {
            let (bias, output) =
                head.0.split_at_checked(units).filter(|(_, output)| output.len() == units).ok_or_else(|| {
                    format!("a stage of its hidden layer has {} numbers instead of {}", head.0.len(), 2 * units)
                })?;
            Ok::<_, String>(Head { bias: padded(bias), output: padded(output) })
        });
        let (rows, heads) = (rows.collect::<Result<_, _>>()?, heads.collect::<Result<_, _>>()?);
        let layer = HiddenLayer { rows_of_stage: rows_of_stage.0.into_owned(), rows, heads };
        // Such units are never written: the hash of these weights would not be the file's checksum.
        let used = layer.units();
        if used < units {
            return Err(format!("its hidden layer has {units} units, but those beyond {used} are 0 everywhere"));
        }
        Ok(layer)
    }
}

/// One number for each unit, with zeros for units that a file does not have.
fn padded<T: Copy + Default>(numbers: &[T]) -> [T; UNITS] {
    std::array::from_fn(|unit| numbers.get(unit).copied().unwrap_or_default())
}

impl Payload<'_> {
    /// The model, if its parts fit.
    fn model(self) -> Result<Model, String> {
        let error = |error: &dyn std::error::Error| error.to_string();
        let patterns =
            self.patterns.into_iter().map(|(name, squares)| Pattern::from_numbers(name, squares.0.into_owned()));
        let patterns = patterns.collect::<Result<Vec<_>, _>>().map_err(|e| error(&e))?;
        let scalars: Result<Vec<_>, _> = self.scalars.iter().map(|name| scalar(name)).collect();
        let set = PatternSet { name: self.set.to_owned(), patterns, scalars: scalars?, engine: None };
        let weights = self.weights.iter().map(|bytes| weights_of(&bytes.0)).collect::<Result<_, _>>()?;
        let hidden = self.hidden.map(HiddenRecord::layer).transpose()?;
        let stages = StageMap::from_table(&self.stages.0).map_err(|e| error(&e))?;
        let model = Model { set, stages, scale: self.scale, weights, hidden };
        check(&model)?;
        Ok(model)
    }
}

/// A stage's weights as bytes: the low ones, then the high ones.
fn bytes_of(weights: &[i16]) -> Vec<u8> {
    let [low, high] = [0, 1].map(|place| weights.iter().map(move |weight| weight.to_le_bytes()[place]));
    low.chain(high).collect()
}

/// The weights of [`bytes_of`].
fn weights_of(bytes: &[u8]) -> Result<Vec<i16>, String> {
    if !bytes.len().is_multiple_of(2) {
        return Err(format!("{} bytes are not a whole number of weights", bytes.len()));
    }
    let (low, high) = bytes.split_at(bytes.len() / 2);
    Ok(low.iter().zip(high).map(|(&low, &high)| i16::from_le_bytes([low, high])).collect())
}

/// Checks that a model's parts fit each other.
fn check(model: &Model) -> Result<(), String> {
    let layout = Layout::new(&model.set).map_err(|error| error.to_string())?;
    model.check(&layout).map_err(|error| error.to_string())
}

fn scalar(name: &str) -> Result<Scalar, String> {
    let text: serde::de::value::StrDeserializer<serde::de::value::Error> = name.into_deserializer();
    Scalar::deserialize(text).map_err(|error| error.to_string())
}
