//! Converting a model to an engine's pattern set, stages and units.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::engine::Engine;
use super::zebra;
use crate::board::{Square, Symmetry, Transcript};
use crate::eval::{Clipping, Evaluator, Model, ModelError, PatternEvaluator};
use crate::pattern::{Layout, Pattern, Scalar};

/// Games of random moves whose positions are evaluated for [`Quantisation`].
const GAMES: u64 = 64;

/// What the conversion to an engine's stages and units changed.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Quantisation {
    /// Whether stages whose weights differ were averaged.
    pub has_averages: bool,
    /// Weights beyond the engine's range.
    pub clipped: Clipping,
    /// Largest difference of a weight by rounding, in discs.
    pub largest_weight: f64,
    /// Mean absolute difference of the weights by rounding, in discs.
    pub mean_weight: f64,
    /// Positions evaluated both ways: those of some games of random moves, the same every time.
    pub positions: usize,
    /// Largest difference of a position's sum of weights, in discs.
    pub largest: f64,
    /// Mean absolute difference of the positions' sums of weights, in discs.
    pub mean: f64,
}

impl Quantisation {
    /// Whether nothing at all was changed.
    pub fn is_exact(&self) -> bool {
        self.largest_weight == 0.0 && !self.has_averages
    }
}

/// Why an engine's files cannot hold a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A model whose parts do not fit together.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A model that is more than a sum of weights.
    #[error(
        "{engine} adds up weights, and its files hold no hidden layer, which this model has: fit the engine's own set to the same games \
         ({}), or export to an open layout (npz, safetensors, json, c, rust), which takes any model",
        fitting(.engine)
    )]
    HiddenLayer {
        /// The engine.
        engine: Engine,
    },
    /// A pattern that the engine does not look at.
    #[error(
        "{engine} has no pattern that holds `{pattern}` ({squares}): learn the pattern set `{engine}` from a run's games ({}) or in a new \
         run (`flipside train --patterns {engine}`), or export to an open layout (npz, safetensors, json, c, rust), which takes any set",
        fitting(.engine)
    )]
    Pattern {
        /// The engine.
        engine: Engine,
        /// Name of the pattern.
        pattern: String,
        /// Its squares.
        squares: String,
    },
    /// A scalar that the engine does not look at.
    #[error(
        "{engine} has no table for the scalar `{scalar}`: learn the pattern set `{engine}` from a run's games ({}) or in a new run \
         (`flipside train --patterns {engine}`), or export to an open layout (npz, safetensors, json, c, rust), which takes any set",
        fitting(.engine)
    )]
    Scalar {
        /// The engine.
        engine: Engine,
        /// Name of the scalar.
        scalar: &'static str,
    },
    /// Numbers of empties for which the engine has one table set, but which the model evaluates differently.
    #[error(
        "{engine} has one table set for {one} and {other} empties, and the model's weights differ there: learn the pattern set \
         `{engine}`, whose stages are the engine's, from a run's games ({}) or in a new run (`flipside train --patterns {engine}`), or \
         let the export average them (--merge-stages)",
        fitting(.engine)
    )]
    Stages {
        /// The engine.
        engine: Engine,
        /// A number of empties.
        one: u32,
        /// Another.
        other: u32,
    },
}

/// The command that fits an engine's own set to a run's games.
fn fitting(engine: &Engine) -> String {
    format!("`flipside fit RUN --for {engine} -o FILE`")
}

/// The share of one of our weights in one of the engine's.
#[derive(Clone, Copy)]
struct Term {
    to: u32,
    from: u32,
    factor: f64,
}

/// The weights of an engine's stages for a model, with what the conversion changed. Where the engine has one table set for numbers of
/// empties that the model evaluates differently, `merge_stages` averages instead of refusing.
pub(super) fn transfer(
    model: &Model,
    engine: Engine,
    merge_stages: bool,
) -> Result<(Vec<Vec<i16>>, Quantisation), Refusal> {
    let ours = Layout::new(&model.set).map_err(ModelError::from)?;
    model.check(&ours)?;
    if model.hidden.is_some() {
        return Err(Refusal::HiddenLayer { engine });
    }
    let theirs = engine.layout();
    let terms = terms(model, &ours, engine, theirs)?;
    let mut quantiser = Quantiser::new(model.scale, engine);
    let (mut stages, mut has_averages) = (Vec::new(), false);
    for stage in 0..engine.stages() {
        let (mut exact, is_average) = real_stage(model, engine, stage, &terms, theirs.weights(), merge_stages)?;
        has_averages |= is_average;
        if engine == Engine::Zebra {
            even_parity_to_constant(&mut exact);
        }
        stages.push(quantiser.stage(&exact));
    }
    let mut quantisation = Quantisation { has_averages, ..quantiser.finish() };
    compare(model, &engine.model(&stages), engine, &mut quantisation)?;
    Ok((stages, quantisation))
}

/// The weights of one of the engine's stages, in our units, not rounded, and whether they are averages of different ones.
fn real_stage(
    model: &Model,
    engine: Engine,
    stage: usize,
    terms: &[Vec<Term>; 2],
    weights: usize,
    merge: bool,
) -> Result<(Vec<f64>, bool), Refusal> {
    // For each of our stages that overlaps the engine's: one of the numbers of empties in both, and how many there are.
    let mut candidates: BTreeMap<usize, (u32, u32)> = BTreeMap::new();
    for empties in engine.covers().filter(|&empties| engine.stage_of(empties) == stage) {
        candidates.entry(model.stages.of_empties(empties)).or_insert((empties, 0)).1 += 1;
    }
    let sums_of = |(&our_stage, &(empties, plies)): (&usize, &(u32, u32))| {
        let mut sums = vec![0.0; weights];
        for term in &terms[empties as usize & 1] {
            sums[term.to as usize] += term.factor * f64::from(model.weights[our_stage][term.from as usize]);
        }
        (empties, f64::from(plies), sums)
    };
    // Every stage of an engine is for some number of empties.
    let mut parts: Vec<_> = candidates.iter().map(sums_of).collect();
    let Some(&(other, ..)) = parts.iter().find(|(.., sums)| *sums != parts[0].2) else {
        return Ok((parts.swap_remove(0).2, false));
    };
    if !merge {
        return Err(Refusal::Stages { engine, one: parts[0].0, other });
    }
    let total: f64 = parts.iter().map(|(_, plies, _)| plies).sum();
    let average = |weight: usize| parts.iter().map(|(_, plies, sums)| plies / total * sums[weight]).sum();
    Ok(((0..weights).map(average).collect(), true))
}

/// Where our weights go, for even and for odd numbers of empties.
fn terms(model: &Model, ours: &Layout, engine: Engine, theirs: &Layout) -> Result<[Vec<Term>; 2], Refusal> {
    let used = |weights: std::ops::Range<usize>| {
        model.weights.iter().any(|stage| stage[weights.clone()].iter().any(|&w| w != 0))
    };
    let mut common = Vec::new();
    for (number, pattern) in model.set.patterns.iter().enumerate() {
        if !used(ours.weights_of(number)) {
            continue;
        }
        let Some(home) = home(pattern, ours.lanes().of_pattern(number).count(), theirs) else {
            let squares: Vec<String> = pattern.squares().map(|square| square.to_string()).collect();
            return Err(Refusal::Pattern { engine, pattern: pattern.name.clone(), squares: squares.join(" ") });
        };
        pattern_terms(&ours.weight_of_slot()[ours.slots_of(number)], &home, theirs, &mut common);
    }
    let mut terms = [common.clone(), common];
    for &(scalar, slot) in ours.scalars() {
        let from = ours.weight_of_slot()[slot] as usize;
        if !used(from..from + scalar.values()) {
            continue;
        }
        for (parity, terms) in terms.iter_mut().enumerate() {
            scalar_terms(scalar, from, parity, theirs, terms)
                .ok_or(Refusal::Scalar { engine, scalar: scalar.name() })?;
        }
    }
    Ok(terms)
}

/// Where a pattern of ours goes.
struct Home {
    /// The engine's pattern.
    pattern: usize,
    /// For each image of ours within it: for each of our digits the engine's digit.
    images: Vec<Vec<usize>>,
    /// How often each of our instances is within the engine's.
    times: usize,
}

/// The engine's pattern that contains ours, if any: preferably one that counts each of our `instances` once, then a small one.
fn home(pattern: &Pattern, instances: usize, theirs: &Layout) -> Option<Home> {
    let homes = theirs.set().patterns.iter().enumerate().filter_map(|(number, larger)| {
        let digit_of: Vec<Square> = larger.squares().collect();
        let mut images = BTreeMap::new();
        for symmetry in Symmetry::ALL {
            let mask = symmetry.bitboard(pattern.mask());
            let digit = |square| digit_of.iter().position(|&other| other == symmetry.square(square));
            if let Some(digits) = pattern.squares().map(digit).collect::<Option<Vec<usize>>>() {
                images.entry(mask).or_insert(digits);
            }
        }
        let images: Vec<Vec<usize>> = images.into_values().collect();
        let times = images.len() * theirs.lanes().of_pattern(number).count() / instances;
        (times > 0).then_some(Home { pattern: number, images, times })
    });
    homes.min_by_key(|home| (home.times > 1, theirs.set().patterns[home.pattern].squares().len(), home.times))
}

/// Gives each of the engine's configurations our weights for what it shows of our pattern.
fn pattern_terms(our_weights: &[u32], home: &Home, theirs: &Layout, terms: &mut Vec<Term>) {
    for (configuration, to) in theirs.first_configurations(home.pattern) {
        for digits in &home.images {
            let digit = |&digit: &usize| configuration / 3usize.pow(digit as u32) % 3;
            let shown = digits.iter().rev().fold(0, |shown, theirs| 3 * shown + digit(theirs));
            terms.push(Term { to: to as u32, from: our_weights[shown], factor: 1.0 / home.times as f64 });
        }
    }
}

/// Maps our scalar to the engine's or, if the engine lacks it and it is constant within a stage, adds it to all values of another.
fn scalar_terms(scalar: Scalar, from: usize, parity: usize, theirs: &Layout, terms: &mut Vec<Term>) -> Option<()> {
    let any = || theirs.scalars().first().map(|&(any, _)| any);
    let (into, constant) = match scalar {
        _ if theirs.first_slot(scalar).is_some() => (scalar, None),
        Scalar::Constant => (any()?, Some(from)),
        Scalar::Parity => (any()?, Some(from + parity)),
        _ => return None,
    };
    let to = theirs.first_weight(into)?;
    terms.extend((0..into.values()).map(|value| Term {
        to: (to + value) as u32,
        from: constant.unwrap_or(from + value) as u32,
        factor: 1.0,
    }));
    Some(())
}

/// Moves even parity into the constant: Zebra only has what odd parity adds to that.
fn even_parity_to_constant(weights: &mut [f64]) {
    let even = zebra::even_parity();
    let constant = Engine::Zebra.layout().first_weight(Scalar::Constant).expect("Zebra's set has it");
    weights[constant] += weights[even];
    weights[even + 1] -= weights[even];
    weights[even] = 0.0;
}

/// Rounds weights and records what that changes.
struct Quantiser {
    our_scale: f64,
    engine: Engine,
    so_far: Quantisation,
    weights: usize,
}

impl Quantiser {
    fn new(our_scale: u16, engine: Engine) -> Self {
        Self { our_scale: f64::from(our_scale), engine, so_far: Quantisation::default(), weights: 0 }
    }

    fn stage(&mut self, exact: &[f64]) -> Vec<i16> {
        let (range, scale) = (self.engine.range(), f64::from(self.engine.scale()));
        self.weights += exact.len();
        let round = |&weight: &f64| {
            let units = weight * scale / self.our_scale;
            let rounded = self.so_far.clipped.fit(units, scale, &range);
            let error = (f64::from(rounded) - units).abs() / scale;
            self.so_far.largest_weight = self.so_far.largest_weight.max(error);
            self.so_far.mean_weight += error;
            rounded
        };
        exact.iter().map(round).collect()
    }

    fn finish(mut self) -> Quantisation {
        self.so_far.mean_weight /= self.weights as f64;
        self.so_far
    }
}

/// Evaluates positions of random games with both models.
fn compare(ours: &Model, theirs: &Model, engine: Engine, quantisation: &mut Quantisation) -> Result<(), ModelError> {
    let models = [PatternEvaluator::new(ours)?, PatternEvaluator::new(theirs)?];
    for game in 0..GAMES {
        let steps = Transcript::random(&mut ChaCha8Rng::seed_from_u64(game)).steps();
        let positions = steps.into_iter().map(|(diagram, _)| diagram.position);
        for position in positions.filter(|position| engine.covers().contains(&position.empties())) {
            let [a, b] = [(&models[0], ours.scale), (&models[1], theirs.scale)].map(|(evaluator, scale)| {
                f64::from(evaluator.sum(&position, &evaluator.state(&position))) / f64::from(scale)
            });
            quantisation.positions += 1;
            quantisation.largest = quantisation.largest.max((a - b).abs());
            quantisation.mean += (a - b).abs();
        }
    }
    quantisation.mean /= quantisation.positions as f64;
    Ok(())
}
