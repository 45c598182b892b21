//! A fit on its own: what `flipside fit` does.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::checkpoint::Begun;
use super::config::LearnConfig;
use super::games::GameFiles;
use super::teacher::Teacher;
use super::work::{FitError, LearnEvent, Lessons, OnEvent, learn, learner_for};
use crate::learn::{Learner, LearnerState};
use crate::pattern::{Layout, PatternSet};
use crate::weights::{Provenance, WeightFile};

/// A fit to do.
#[derive(Clone, Copy, Debug)]
pub struct FitRequest<'r> {
    /// How to learn.
    pub config: &'r LearnConfig,
    /// The patterns whose weights to learn.
    pub patterns: &'r PatternSet,
    /// The games to learn from.
    pub games: &'r GameFiles,
    /// Weights to begin with; `None` to begin from nothing.
    pub from: Option<&'r WeightFile>,
    /// The teacher's weights, for searches; `None` without [`LearnConfig::tree_depth`].
    pub teacher: Option<&'r WeightFile>,
    /// The file of the checkpoint, to resume from after a stop. It is left there at the end: the caller removes it once the weights
    /// are saved.
    pub checkpoint: &'r Path,
    /// Set to stop the work soon.
    pub stop: &'r AtomicBool,
}

/// Learns weights from games, on the threads of the current rayon pool. Resumes from the request's checkpoint if there is one.
///
/// # Errors
/// See [`FitError`].
pub fn fit(request: &FitRequest, on_event: &mut OnEvent<'_>) -> Result<WeightFile, FitError> {
    let &FitRequest { config, patterns, games, from, teacher, checkpoint, stop } = request;
    let Beginning { layout, teacher: searches, mut learner } = Beginning::new(config, patterns, from, teacher)?;
    if searches.is_some() && games.games == 0 {
        return Err(FitError::Together(
            "a teacher searches from positions of kept games, and there are none: name a run, or files of games (.fsg), or leave the \
             teacher out",
        ));
    }
    let described = described(request);
    let mut begun = match Begun::load(checkpoint)? {
        Some((begun, (cells, hidden))) if begun.is_of(&described, games) => {
            let state = LearnerState { stages: learner.stages().clone(), cells: cells.into(), hidden };
            learner = Learner::from_state(layout, config.step(), state).ok_or(FitError::OtherFit)?;
            begun
        }
        Some(_) => return Err(FitError::OtherFit),
        None => Begun::new(described, games),
    };
    let mut on_event = |event: LearnEvent<'_>| match event {
        LearnEvent::Save(learner, begun) => match begun.save(learner.state(), checkpoint) {
            Ok(()) => Ok(()),
            Err(error) => on_event(LearnEvent::NotSaved { reason: error.to_string() }),
        },
        event => on_event(event),
    };
    let lessons = Lessons { config, games, teacher: searches.as_ref(), stop };
    learn(lessons, &mut learner, &mut begun, &mut on_event)?;
    Ok(WeightFile::new(learner.model(), provenance(request, begun.updates())))
}

/// Checks everything but the games, to fail before these are read and records are solved.
///
/// # Errors
/// What is wrong with the configuration, the pattern set, the weights to begin with or the teacher.
pub fn check(
    config: &LearnConfig,
    patterns: &PatternSet,
    from: Option<&WeightFile>,
    teacher: Option<&WeightFile>,
) -> Result<(), FitError> {
    Beginning::new(config, patterns, from, teacher).map(drop)
}

/// What a fit begins with, besides games.
struct Beginning {
    layout: Arc<Layout>,
    teacher: Option<Teacher>,
    learner: Learner,
}

impl Beginning {
    fn new(
        config: &LearnConfig,
        patterns: &PatternSet,
        from: Option<&WeightFile>,
        teacher: Option<&WeightFile>,
    ) -> Result<Self, FitError> {
        const LEAVES: FitError = FitError::Together(
            "`leaf-depth` needs weights to begin with (`--from`), which search, and a teacher (`--teacher`), which values the leaves",
        );
        config.check()?;
        let student = if config.leaf_depth > 0 { Some(&from.ok_or(LEAVES)?.model) } else { None };
        let teacher = match (teacher, config.tree_depth) {
            (None, _) if student.is_some() => return Err(LEAVES),
            (None, 0) => None,
            (Some(weights), 1..) => {
                Some(Teacher::new(&weights.model, student, config).map_err(FitError::TeacherModel)?)
            }
            _ => {
                return Err(FitError::Together(
                    "`tree-depth` and a teacher belong together: `tree-depth` says how deep the teacher searches",
                ));
            }
        };
        let layout = Arc::new(Layout::new(patterns)?);
        if from.is_some_and(|from| from.model.hidden.is_some()) && !config.hidden_layer {
            return Err(FitError::Together(if config.leaf_depth > 0 {
                "the weights to begin with have a hidden layer, and only weights without one can learn leaves (`leaf-depth`)"
            } else {
                "the weights to begin with have a hidden layer: `hidden-layer = true` (`--hidden-layer`) keeps it"
            }));
        }
        let older = from.map(|from| Learner::from_model(layout.clone(), &from.model, config.step()));
        let learner = learner_for(config, &layout, older.transpose().map_err(FitError::From)?);
        Ok(Self { layout, teacher, learner })
    }
}

/// The provenance of the learned weights.
fn provenance(request: &FitRequest, samples: u64) -> Provenance {
    let FitRequest { config, patterns, games, .. } = request;
    let records = if games.records > 0 { format!("records = {}\n", games.records) } else { String::new() };
    let origin = if config.leaf_depth > 0 { "fitted to leaves of searches" } else { "fitted to games" };
    let teacher = request.teacher.map(|teacher| format!("\n[teacher]\nhash = \"{}\"\n", teacher.hash()));
    Provenance {
        config: format!(
            "patterns = {}\n{}\n[games]\nsha256 = \"{}\"\npositions = {}\n{records}{}",
            toml::Value::from(&*patterns.name),
            config.to_toml(),
            games.identity,
            games.positions,
            teacher.unwrap_or_default()
        ),
        games: games.games,
        samples,
        parent: request.from.map(WeightFile::hash),
        ..Provenance::of_this_program(origin)
    }
}

/// What distinguishes a fit from others of the same games.
fn described(request: &FitRequest) -> String {
    let patterns = serde_json::to_string(request.patterns).expect("pattern sets are plain data");
    // Without the provenance, which has the program's version.
    let hash = |file: &WeightFile| WeightFile::new(file.model.clone(), Provenance::default()).hash();
    let named =
        |name, file: Option<&WeightFile>| file.map_or(String::new(), |file| format!("{name} = \"{}\"\n", hash(file)));
    let (from, teacher) = (named("from", request.from), named("teacher", request.teacher));
    format!("{patterns}\n{}{from}{teacher}", request.config.to_toml())
}
