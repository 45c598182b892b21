//! Fits: the same bytes with any threads and interruptions, sound weights, and clear refusals.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use flipside::board::squares;
use flipside::eval::{Evaluator, MobilityEvaluator, Model, PatternEvaluator, StageMap};
use flipside::fit::{
    Begun, FitError, FitRequest, GameFiles, GameFilesError, GameFilesEvent, LearnConfig, LearnEvent, fit,
};
use flipside::games::{GamesHeader, frame};
use flipside::learn::StepRule;
use flipside::pattern::{Pattern, PatternSet};
use flipside::search::{Searcher, Strength};
use flipside::selfplay::{GameRecord, SelfPlay, SelfPlayConfig};
use flipside::storage::{Disk, LocalDisk};
use flipside::weights::{Provenance, WeightFile};

const GAMES: SelfPlayConfig = SelfPlayConfig::new(Strength::new(1, 6), 30, 0.05);

fn games(seed: u64, count: u32) -> Vec<GameRecord> {
    SelfPlay::new(&MobilityEvaluator, GAMES).play_games(seed, 0, 0, count, &AtomicBool::new(false)).unwrap()
}

/// A run of two generations with kept games.
fn kept(directory: &Path) -> PathBuf {
    static FILES: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
        [0, 1].map(|generation| {
            let mut bytes = GamesHeader { run: [1; 16], generation }.to_bytes().to_vec();
            for (part, games) in games(u64::from(generation), 1_500).chunks(500).enumerate() {
                bytes.extend(frame(500 * part as u32, games));
            }
            bytes
        })
    });
    let run = directory.join("run");
    fs::create_dir_all(run.join("games")).unwrap();
    for (generation, bytes) in FILES.iter().enumerate() {
        fs::write(run.join(format!("games/{generation:08}.fsg")), bytes).unwrap();
    }
    run
}

fn config() -> LearnConfig {
    LearnConfig { epochs: 2, block: 1 << 14, hold_out: 10, stage_plies: Some(6), ..LearnConfig::default() }
}

fn open(paths: &[PathBuf]) -> Result<GameFiles, GameFilesError> {
    let folder = tempfile::tempdir().unwrap();
    GameFiles::open(paths, &config(), folder.path(), None, &AtomicBool::new(false), &mut |_| ())
}

/// Weights of Zebra's patterns that value every position at 0.
fn knowing_nothing() -> WeightFile {
    let model = Model::zero(&PatternSet::built_in("zebra").unwrap(), &StageMap::uniform(20), 128).unwrap();
    WeightFile::new(model, Provenance::default())
}

/// Fits until `stop_after` blocks are learned. Searches, if any, use the weights that ship with flipside; leaves are from searches by
/// weights that know nothing.
fn run(
    config: &LearnConfig,
    games: &GameFiles,
    directory: &Path,
    stop_after: usize,
) -> Result<Option<WeightFile>, FitError> {
    let stop = AtomicBool::new(false);
    let checkpoint = directory.join("w.fsw.part");
    let patterns = PatternSet::built_in("zebra").unwrap();
    let embedded = (config.tree_depth > 0).then(WeightFile::embedded);
    let teacher = embedded.as_ref();
    let from = (config.leaf_depth > 0).then(knowing_nothing);
    let (patterns, from, checkpoint) = (&patterns, from.as_ref(), &*checkpoint);
    let request = FitRequest { config, patterns, games, from, teacher, checkpoint, stop: &stop };
    let mut blocks = 0;
    let fitted = fit(&request, &mut |event| {
        blocks += usize::from(matches!(event, LearnEvent::Block { .. }));
        stop.store(blocks >= stop_after, Relaxed);
        Ok(())
    });
    match fitted {
        Ok(weights) => {
            LocalDisk.remove(checkpoint).unwrap();
            Ok(Some(weights))
        }
        Err(FitError::Stopped(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

#[test]
fn threads_and_interruptions_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let games = open(&[kept(folder.path())]).unwrap();
    assert_eq!(games.games, 3_000);
    // Stopped after every block, and once after three.
    for (config, stops) in [
        (config(), &[1, 3][..]),
        (LearnConfig { tree_depth: 2, ..config() }, &[3]),
        (LearnConfig { tree_depth: 2, leaf_depth: 2, ..config() }, &[3]),
        (LearnConfig { hidden_layer: true, ..config() }, &[1, 3]),
    ] {
        let whole = run(&config, &games, folder.path(), usize::MAX).unwrap().unwrap().to_bytes();
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let again = pool.install(|| run(&config, &games, folder.path(), usize::MAX)).unwrap().unwrap();
            assert_eq!(again.to_bytes(), whole, "{threads} threads");
        }
        for &stop_after in stops {
            let mut starts = 0;
            let stopped = loop {
                starts += 1;
                if let Some(weights) = run(&config, &games, folder.path(), stop_after).unwrap() {
                    break weights;
                }
            };
            assert!(starts > 3, "{starts}");
            assert_eq!(stopped.to_bytes(), whole, "stopped every {stop_after}");
        }
    }
}

/// Weights get closer to what their teacher sees, also at moves that no game has.
#[test]
fn trees_teach_what_the_teacher_sees() {
    let folder = tempfile::tempdir().unwrap();
    let games = open(&[kept(folder.path())]).unwrap();
    let weights = [0, 4].map(|tree_depth| {
        run(&LearnConfig { tree_depth, ..config() }, &games, folder.path(), usize::MAX).unwrap().unwrap()
    });
    let [plain, taught] = weights.each_ref().map(|weights| PatternEvaluator::new(&weights.model).unwrap());
    assert!(weights[1].provenance.config.contains(&WeightFile::embedded().hash()));
    assert!(4 * weights[1].provenance.samples > 5 * weights[0].provenance.samples);
    let teacher = PatternEvaluator::new(&WeightFile::embedded().model).unwrap();
    let mut searcher = Searcher::new(&teacher, 12);
    let (mut off_plain, mut off_taught) = (0.0, 0.0);
    for ply in self::games(9, 40).iter().flat_map(|game| game.replay().plies) {
        for position in squares(ply.position.moves()).map(|to| ply.position.play(to)) {
            if position.empties() > 12 && position.moves() != 0 {
                let value = searcher.search(&position, 2).score;
                let off =
                    |evaluator: &PatternEvaluator| (evaluator.evaluate_position(&position) - value).discs().powi(2);
                off_plain += off(&plain);
                off_taught += off(&taught);
            }
        }
    }
    assert!(off_taught < 0.95 * off_plain, "{off_taught} {off_plain}");
}

/// Weights get better where their own searches end, and the games themselves are not learned.
#[test]
fn leaves_teach_what_the_weights_get_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let games = open(&[kept(folder.path())]).unwrap();
    let first = run(&config(), &games, folder.path(), usize::MAX).unwrap().unwrap();
    let config = LearnConfig { tree_depth: 2, leaf_depth: 2, rate: 0.3, ..config() };
    let (patterns, checkpoint) = (PatternSet::built_in("zebra").unwrap(), folder.path().join("w.fsw.part"));
    let (embedded, stop) = (WeightFile::embedded(), AtomicBool::new(false));
    let request = FitRequest {
        config: &config,
        patterns: &patterns,
        games: &games,
        from: Some(&first),
        teacher: Some(&embedded),
        checkpoint: &checkpoint,
        stop: &stop,
    };
    let second = fit(&request, &mut |_| Ok(())).unwrap();
    let Provenance { config, parent, samples, .. } = &second.provenance;
    assert!(config.contains("leaf-depth = 2") && config.contains(&embedded.hash()) && *parent == Some(first.hash()));
    // Two epochs over 2,700 games, and at most eight leaves for each, learned by one or two stages.
    assert!((2 * 2_700 * 4..2 * 2_700 * 8 * 2).contains(samples), "{samples}");
    let [teacher, first, second] =
        [&embedded, &first, &second].map(|weights| PatternEvaluator::new(&weights.model).unwrap());
    let (mut teacher_search, mut search) = (Searcher::new(&teacher, 12), Searcher::new(&first, 12));
    let (mut off_before, mut off_after) = (0.0, 0.0);
    for ply in self::games(9, 40).iter().flat_map(|game| game.replay().plies) {
        if ply.position.empties() > 16 {
            let line = search.search(&ply.position, 2).pv;
            let mut leaf = ply.position;
            for &to in &line {
                leaf = if leaf.moves() == 0 { leaf.pass() } else { leaf }.play(to);
            }
            if leaf.moves() != 0 {
                let value = teacher_search.search(&leaf, 2).score;
                let off = |evaluator: &PatternEvaluator| (evaluator.evaluate_position(&leaf) - value).discs().powi(2);
                off_before += off(&first);
                off_after += off(&second);
            }
        }
    }
    assert!(off_after < 0.8 * off_before, "{off_after} {off_before}");
}

#[test]
fn a_depth_of_searches_and_the_weights_for_them_belong_together() {
    let folder = tempfile::tempdir().unwrap();
    let games = open(&[kept(folder.path())]).unwrap();
    let (patterns, stop) = (PatternSet::built_in("zebra").unwrap(), AtomicBool::new(false));
    let (checkpoint, embedded) = (folder.path().join("w.fsw.part"), WeightFile::embedded());
    for (tree_depth, teacher) in [(4, None), (0, Some(&embedded))] {
        let config = &LearnConfig { tree_depth, ..config() };
        let (patterns, games, checkpoint) = (&patterns, &games, &*checkpoint);
        let request = FitRequest { config, patterns, games, from: None, teacher, checkpoint, stop: &stop };
        assert!(
            matches!(fit(&request, &mut |_| Ok(())), Err(FitError::Together(why)) if why.contains("belong together"))
        );
    }
    let (from, teacher) = (knowing_nothing(), WeightFile::embedded());
    for (tree_depth, from, teacher) in
        [(4, None, Some(&teacher)), (0, Some(&from), None), (4, Some(&from), None), (0, None, None)]
    {
        let config = &LearnConfig { tree_depth, leaf_depth: 4, ..config() };
        let (patterns, games, checkpoint) = (&patterns, &games, &*checkpoint);
        let request = FitRequest { config, patterns, games, from, teacher, checkpoint, stop: &stop };
        let error = fit(&request, &mut |_| Ok(())).unwrap_err();
        assert!(matches!(error, FitError::Together(_)) && error.to_string().contains("--from"), "{error}");
    }
}

/// A stop may come at any time, and a block may take long.
#[test]
fn a_fit_is_stopped_within_a_block_and_resumed_there() {
    let folder = tempfile::tempdir().unwrap();
    let games = open(&[kept(folder.path())]).unwrap();
    for hidden_layer in [false, true] {
        let config = LearnConfig { block: 1 << 20, hidden_layer, ..config() };
        let whole = run(&config, &games, folder.path(), usize::MAX).unwrap().unwrap().to_bytes();
        let (patterns, checkpoint) = (PatternSet::built_in("zebra").unwrap(), folder.path().join("w.fsw.part"));
        let (mut moment, mut within) = (0, 0);
        loop {
            // Later and later, so that it finishes on any machine, in steps shorter than a block.
            moment += 1.max(moment / 6);
            let (stop, mut blocks) = (AtomicBool::new(false), 0);
            let (config, patterns, games, checkpoint) = (&config, &patterns, &games, &*checkpoint);
            let request = FitRequest { config, patterns, games, from: None, teacher: None, checkpoint, stop: &stop };
            let before = fs::read(checkpoint).ok();
            let fitted = std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(moment));
                    stop.store(true, Relaxed);
                });
                fit(&request, &mut |event| {
                    blocks += usize::from(matches!(event, LearnEvent::Block { .. }));
                    Ok(())
                })
            });
            if let Ok(weights) = fitted {
                assert_eq!(weights.to_bytes(), whole);
                let _ = fs::remove_file(checkpoint);
                if within > 0 {
                    break;
                }
                // The thread that stops it did not get a core in time: try again.
                moment = 0;
                continue;
            }
            assert!(matches!(fitted, Err(FitError::Stopped(_))), "{fitted:?}");
            within += usize::from(blocks == 0 && before.is_some() && fs::read(checkpoint).ok() != before);
        }
    }
}

/// A layer is trained further if one is wanted, added to weights that have none, and no obstacle in a teacher.
#[test]
fn weights_with_a_hidden_layer_begin_a_fit_and_teach() {
    let folder = tempfile::tempdir().unwrap();
    let games = open(&[kept(folder.path())]).unwrap();
    // An engine's file has no room for a layer.
    let patterns = PatternSet { name: "own".into(), engine: None, ..PatternSet::built_in("zebra").unwrap() };
    let checkpoint = folder.path().join("w.fsw.part");
    let config = LearnConfig { epochs: 1, ..config() };
    let layered = LearnConfig { hidden_layer: true, ..config.clone() };
    let fitted = |config: &LearnConfig, from: Option<&WeightFile>, teacher: Option<&WeightFile>| {
        let (patterns, games, checkpoint, stop) = (&patterns, &games, &*checkpoint, AtomicBool::new(false));
        let request = FitRequest { config, patterns, games, from, teacher, checkpoint, stop: &stop };
        let mut error = f64::NAN;
        let weights = fit(&request, &mut |event| {
            if let LearnEvent::Epoch { held_out, .. } = event {
                error = held_out.rmse().unwrap();
            }
            Ok(())
        })?;
        Ok::<_, FitError>((weights, error))
    };
    let (first, error) = fitted(&layered, None, None).unwrap();
    let (plain, _) = fitted(&config, None, None).unwrap();
    assert!(first.model.hidden.is_some() && plain.model.hidden.is_none());
    assert!(
        first.provenance.config.contains("hidden-layer = true")
            && plain.provenance.config.contains("hidden-layer = false")
    );
    let refused = fitted(&config, Some(&first), None).unwrap_err();
    assert!(matches!(refused, FitError::Together(_)) && refused.to_string().contains("--hidden-layer"), "{refused}");
    let (second, further) = fitted(&layered, Some(&first), None).unwrap();
    assert!(second.model.hidden != first.model.hidden && second.provenance.parent == Some(first.hash()));
    assert!(further < error, "{further} {error}");
    // Stages of another width keep their rows.
    let wider = LearnConfig { stage_plies: Some(4), ..layered.clone() };
    assert!(fitted(&wider, Some(&first), None).unwrap().0.model.hidden.is_some());
    assert!(fitted(&layered, Some(&plain), None).unwrap().0.model.hidden.is_some());
    for teacher in [&first, &plain] {
        let (taught, _) = fitted(&LearnConfig { tree_depth: 2, ..config.clone() }, None, Some(teacher)).unwrap();
        assert!(taught.model.hidden.is_none() && taught.provenance.samples > plain.provenance.samples);
        assert!(taught.provenance.config.contains(&teacher.hash()));
    }
}

/// The report of an epoch does not depend on when the fit was stopped, and a stopped fit's state is kept until the weights are saved.
#[test]
fn a_stopped_fit_reports_the_same_epochs() {
    let folder = tempfile::tempdir().unwrap();
    let games = open(&[kept(folder.path())]).unwrap();
    let (patterns, checkpoint) = (PatternSet::built_in("zebra").unwrap(), folder.path().join("w.fsw.part"));
    let told = |stop_after| {
        let (mut epochs, mut sessions) = (Vec::new(), 0);
        loop {
            let (stop, mut blocks) = (AtomicBool::new(false), 0);
            let (config, patterns, games, checkpoint) = (&config(), &patterns, &games, &*checkpoint);
            let request = FitRequest { config, patterns, games, from: None, teacher: None, checkpoint, stop: &stop };
            let fitted = fit(&request, &mut |event| {
                match event {
                    LearnEvent::Block { .. } => {
                        blocks += 1;
                        stop.store(blocks >= stop_after, Relaxed);
                    }
                    LearnEvent::Epoch { epoch, loss, held_out, .. } => epochs.push((epoch, loss, held_out.rmse())),
                    _ => {}
                }
                Ok(())
            });
            sessions += 1;
            match fitted {
                Ok(_) => break (epochs, sessions),
                Err(error) => assert!(matches!(error, FitError::Stopped(_)), "{error}"),
            }
        }
    };
    let (whole, _) = told(usize::MAX);
    assert_eq!(whole.len(), 2);
    let (stopped, sessions) = told(1);
    assert!(stopped == whole && sessions > 2 && checkpoint.exists(), "{stopped:?} {whole:?} {sessions}");
}

/// Runs of one seed play the same games, and one of them may have been stopped before the other.
#[test]
fn games_that_two_runs_have_played_are_learned_once() {
    let folder = tempfile::tempdir().unwrap();
    let whole = kept(folder.path());
    let cut = folder.path().join("cut");
    fs::create_dir_all(cut.join("games")).unwrap();
    let first = |run: &Path| run.join("games/00000000.fsg");
    // Another name, one frame of three.
    let mut bytes = GamesHeader { run: [2; 16], generation: 0 }.to_bytes().to_vec();
    bytes.extend(frame(0, &games(0, 500)));
    fs::write(first(&cut), bytes).unwrap();
    let alone = open(std::slice::from_ref(&whole)).unwrap();
    for paths in [[cut.clone(), whole.clone()], [whole.clone(), cut.clone()]] {
        let mut twins = Vec::new();
        let mut on_event = |event: GameFilesEvent<'_>| {
            if let GameFilesEvent::Twins { path, of, count } = event {
                twins.push((path.to_owned(), of.to_owned(), count));
            }
        };
        let stop = AtomicBool::new(false);
        let both = GameFiles::open(&paths, &config(), folder.path(), None, &stop, &mut on_event).unwrap();
        assert_eq!((both.games, &both.identity), (3_000, &alone.identity));
        assert_eq!(twins, [(first(&cut), first(&whole), 1)]);
    }
}

/// Games without random moves are the same in all generations.
#[test]
fn equal_generations_of_a_run_are_not_duplicates() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir_all(run.join("games")).unwrap();
    for generation in 0..3 {
        let header = GamesHeader { run: [2; 16], generation }.to_bytes();
        let bytes = [header.to_vec(), frame(0, &games(0, 100))].concat();
        fs::write(run.join(format!("games/{generation:08}.fsg")), bytes).unwrap();
    }
    assert_eq!(open(std::slice::from_ref(&run)).unwrap().games, 300);
    let of_later = |since| {
        let config = LearnConfig { since, ..config() };
        let stop = AtomicBool::new(false);
        GameFiles::open(std::slice::from_ref(&run), &config, folder.path(), None, &stop, &mut |_| ())
    };
    assert_eq!(of_later(2).unwrap().games, 100);
    assert!(matches!(of_later(3), Err(GameFilesError::OnlyEarlier(3))));
}

/// The newest games of a running run grow in number while others are learned.
#[test]
fn games_that_come_during_a_fit_wait_for_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let directory = kept(folder.path());
    let whole = run(&config(), &open(std::slice::from_ref(&directory)).unwrap(), folder.path(), usize::MAX);
    let newest = directory.join("games/00000001.fsg");
    let bytes = fs::read(&newest).unwrap();
    let later = frame(1_500, &self::games(7, 500));
    for more in [&later[..], &later[..20]] {
        let found = open(std::slice::from_ref(&directory)).unwrap();
        fs::write(&newest, [&bytes, more].concat()).unwrap();
        let fitted = run(&config(), &found, folder.path(), usize::MAX).unwrap().unwrap();
        assert_eq!(fitted.to_bytes(), whole.as_ref().unwrap().as_ref().unwrap().to_bytes());
        fs::write(&newest, &bytes).unwrap();
    }
    // Nor does a stopped fit take them in.
    let found = open(std::slice::from_ref(&directory)).unwrap();
    assert!(run(&config(), &found, folder.path(), 2).unwrap().is_none());
    fs::write(&newest, [&bytes[..], &later].concat()).unwrap();
    let other = |seed| {
        let header = GamesHeader { run: [1; 16], generation: 2 }.to_bytes();
        [&header[..], &frame(0, &self::games(seed, 500))].concat()
    };
    fs::write(directory.join("games/00000002.fsg"), other(8)).unwrap();
    let (checkpoint, stop) = (folder.path().join("w.fsw.part"), AtomicBool::new(false));
    let mut left_out = 0;
    let mut on_event = |event: GameFilesEvent<'_>| left_out += u32::from(matches!(event, GameFilesEvent::LeftOut));
    let begun = || Begun::load(&checkpoint).unwrap().map(|(begun, _)| begun);
    let paths = std::slice::from_ref(&directory);
    let found = GameFiles::open(paths, &config(), folder.path(), begun().as_ref(), &stop, &mut on_event);
    let fitted = run(&config(), &found.unwrap(), folder.path(), usize::MAX).unwrap().unwrap();
    assert_eq!((left_out, fitted.to_bytes()), (1, whole.unwrap().unwrap().to_bytes()));
    // Unless they are asked for.
    let paths = [directory.clone(), folder.path().join("more.fsg")];
    fs::write(&paths[1], other(9)).unwrap();
    assert!(run(&config(), &open(std::slice::from_ref(&directory)).unwrap(), folder.path(), 2).unwrap().is_none());
    let more = GameFiles::open(&paths, &config(), folder.path(), begun().as_ref(), &stop, &mut |_| ()).unwrap();
    assert!(matches!(run(&config(), &more, folder.path(), 2).unwrap_err(), FitError::OtherFit));
    fs::remove_file(&checkpoint).unwrap();
    fs::remove_file(directory.join("games/00000002.fsg")).unwrap();
    fs::write(&newest, &bytes).unwrap();

    let found = open(std::slice::from_ref(&directory)).unwrap();
    fs::write(&newest, &bytes[..bytes.len() / 2]).unwrap();
    let fewer = run(&config(), &found, folder.path(), usize::MAX);
    assert!(matches!(fewer, Err(FitError::Games(GameFilesError::Changed))), "{fewer:?}");
}

#[test]
fn a_fit_left_by_another_version_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let games = open(&[kept(folder.path())]).unwrap();
    assert!(run(&config(), &games, folder.path(), 1).unwrap().is_none());
    let checkpoint = folder.path().join("w.fsw.part");
    let bytes = fs::read(&checkpoint).unwrap();
    for (at, reason) in [(8, "version"), (100, "damaged")] {
        let mut other = bytes.clone();
        other[at] ^= 1;
        fs::write(&checkpoint, &other).unwrap();
        let error = run(&config(), &games, folder.path(), usize::MAX).unwrap_err();
        assert!(matches!(error, FitError::Unfinished(_)), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("w.fsw.part") && text.contains(reason) && text.contains("to start over"), "{text}");
        assert_eq!(fs::read(&checkpoint).unwrap(), other);
    }
}

#[test]
fn a_fit_learns_what_the_games_say_and_knows_what_it_did_not_see() {
    let folder = tempfile::tempdir().unwrap();
    let games = open(&[kept(folder.path())]).unwrap();
    let stop = AtomicBool::new(false);
    let request = FitRequest {
        config: &LearnConfig { epochs: 4, stage_plies: Some(1), ..config() },
        patterns: &PatternSet::built_in("zebra").unwrap(),
        games: &games,
        from: None,
        teacher: None,
        checkpoint: &folder.path().join("w.part"),
        stop: &stop,
    };
    let mut epochs = Vec::new();
    let mut last_share = 0.0;
    let fitted = fit(&request, &mut |event| {
        match event {
            LearnEvent::Epoch { held_out, .. } => {
                let (errors, slopes) = (held_out.errors(), held_out.slopes());
                assert!(errors[5].is_some() && errors.len() == 61 && slopes.len() == 61);
                assert!((0.5..2.0).contains(&slopes[5].unwrap()), "{slopes:?}");
                epochs.push(held_out.rmse().unwrap());
            }
            LearnEvent::Block { done, .. } => {
                assert!(done > last_share);
                last_share = done;
            }
            _ => {}
        }
        Ok(())
    });
    let weights = fitted.unwrap();
    assert!((last_share - 1.0).abs() < 1e-9);
    assert_eq!((epochs.len(), weights.provenance.games), (4, 3_000));
    assert!(epochs[3] < epochs[0], "{epochs:?}");
    // A position with three corners more is worth more.
    let evaluator = PatternEvaluator::new(&weights.model).unwrap();
    let value =
        |text: &str| evaluator.evaluate_position(&text.parse::<flipside::board::Diagram>().unwrap().position).discs();
    let quiet = "--------------------------XXXX----OXXO-----OO------------------- X";
    let corners = "X------X------------------XXXX----OXXO-----OO-----------X------- X";
    assert!(value(corners) > value(quiet) + 1.0, "{} {}", value(corners), value(quiet));
}

#[test]
fn games_held_out_are_not_learned() {
    let folder = tempfile::tempdir().unwrap();
    let games = open(&[kept(folder.path())]).unwrap();
    let learned = |hold_out| {
        let config = LearnConfig { epochs: 1, hold_out, ..config() };
        run(&config, &games, folder.path(), usize::MAX).unwrap().unwrap().provenance.samples as f64
    };
    let all = learned(0);
    for (hold_out, share) in [(2, 0.5), (10, 0.9)] {
        assert!((learned(hold_out) / all - share).abs() < 0.01, "{hold_out}");
    }
}

#[test]
fn other_games_or_another_configuration_do_not_resume_a_fit() {
    let folder = tempfile::tempdir().unwrap();
    let run_directory = kept(folder.path());
    let games = open(std::slice::from_ref(&run_directory)).unwrap();
    assert!(run(&config(), &games, folder.path(), 2).unwrap().is_none());
    let fewer = open(&[run_directory.join("games/00000001.fsg")]).unwrap();
    let error = run(&config(), &fewer, folder.path(), 2).unwrap_err();
    assert!(matches!(error, FitError::OtherFit), "{error}");
    let other = LearnConfig { lambda: 0.5, ..config() };
    assert!(matches!(run(&other, &games, folder.path(), 2).unwrap_err(), FitError::OtherFit));
}

#[test]
#[cfg(unix)]
fn what_is_named_twice_is_learned_once() {
    let folder = tempfile::tempdir().unwrap();
    let directory = kept(folder.path());
    let link = folder.path().join("latest");
    std::os::unix::fs::symlink(&directory, &link).unwrap();
    // Not a generation's file: somebody's copy.
    fs::copy(directory.join("games/00000001.fsg"), directory.join("games/old.fsg")).unwrap();
    let mut told = Vec::new();
    let mut on_event = |event: GameFilesEvent<'_>| {
        if let GameFilesEvent::Again(path) = event {
            told.push(path.to_owned());
        }
    };
    let file = directory.join("games/00000000.fsg");
    let paths = [directory.clone(), link.clone(), directory.clone(), file.clone()];
    let stop = AtomicBool::new(false);
    let games = GameFiles::open(&paths, &config(), folder.path(), None, &stop, &mut on_event).unwrap();
    assert_eq!((games.games, games.identity), (3_000, open(std::slice::from_ref(&directory)).unwrap().identity));
    assert_eq!(told, [link, directory, file]);
}

#[test]
fn files_that_are_not_games_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let missing = open(&[folder.path().join("nothing")]).unwrap_err().to_string();
    assert!(missing.contains("nothing"), "{missing}");
    assert!(matches!(open(&[folder.path().to_owned()]), Err(GameFilesError::NoGames(_))));
    let foreign = folder.path().join("games.txt");
    fs::write(&foreign, "f5d6c3d3c4f4f6f3e6e7d7c5".repeat(10)).unwrap();
    let error = open(std::slice::from_ref(&foreign)).unwrap_err().to_string();
    assert!(error.contains("games.txt") && error.contains("looks like f5d6"), "{error}");
    let renamed = folder.path().join("games.fsg");
    fs::rename(&foreign, &renamed).unwrap();
    let error = open(&[renamed]).unwrap_err().to_string();
    assert!(error.contains("games.fsg") && error.contains("another kind of file"), "{error}");
    let empty = folder.path().join("empty.fsg");
    fs::write(&empty, GamesHeader::default().to_bytes()).unwrap();
    assert!(matches!(open(&[empty]), Err(GameFilesError::Empty)));
    // The last frame was cut off: the others count. A bit flipped within: an error with its place.
    let run_directory = kept(folder.path());
    let file = run_directory.join("games/00000001.fsg");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    let mut cut = Vec::new();
    let mut on_event = |event: GameFilesEvent<'_>| {
        if let GameFilesEvent::CutOff(path) = event {
            cut.push(path.to_owned());
        }
    };
    let (runs, stop) = ([run_directory.clone()], AtomicBool::new(false));
    let found = GameFiles::open(&runs, &config(), folder.path(), None, &stop, &mut on_event).unwrap();
    assert_eq!((found.games, cut), (2_500, vec![file.clone()]));
    let mut damaged = bytes;
    damaged[5_000] ^= 1;
    fs::write(&file, damaged).unwrap();
    let error = open(&[run_directory]).unwrap_err().to_string();
    assert!(error.contains("00000001.fsg") && error.contains("byte 40"), "{error}");
}

/// Finished games, one that black resigned, one without a result, and scored positions.
fn recorded(directory: &Path) -> Vec<PathBuf> {
    let line = |game: &GameRecord| {
        let moves: Vec<String> = game.moves().iter().map(ToString::to_string).collect();
        format!("{}\n", moves.concat())
    };
    let games: String = games(9, 600).iter().map(line).collect();
    let ggf = |result: &str| {
        format!(
            "(;GM[Othello]PB[a]PW[b]RE[{result}]TY[8]BO[8 -------- -------- -------- ---O*--- ---*O--- -------- -------- \
             -------- *]B[f5]W[d6]B[c3];)\n"
        )
    };
    let start = "---------------------------OX------XO--------------------------- X";
    let files = [
        ("games.txt", games),
        ("given-up.ggf", ggf("-20.00:r") + &ggf("?")),
        ("scored.obf", format!("{start}; F5:+4; D3:+4;\n").repeat(50)),
    ];
    files
        .map(|(name, text)| (directory.join(name), text))
        .map(|(path, text)| {
            fs::write(&path, text).unwrap();
            path
        })
        .to_vec()
}

#[test]
fn records_are_learned_beside_kept_games_and_alone() {
    let folder = tempfile::tempdir().unwrap();
    let files = recorded(folder.path());
    let mut told = Vec::new();
    let stop = AtomicBool::new(false);
    let alone = GameFiles::open(&files, &config(), folder.path(), None, &stop, &mut |event| match event {
        GameFilesEvent::BadRecord { path, error } => told.push(format!("{}: {error}", path.display())),
        GameFilesEvent::Labelled { read, left_out, .. } => told.push(format!("{read} {left_out}")),
        GameFilesEvent::Games(_) | GameFilesEvent::Records { .. } | GameFilesEvent::LeftOut => {}
        GameFilesEvent::CutOff(path) | GameFilesEvent::Again(path) | GameFilesEvent::Twins { path, .. } => {
            panic!("{}", path.display())
        }
    });
    let alone = alone.unwrap();
    assert_eq!((alone.games, alone.records), (0, 651));
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told[1].contains("given-up.ggf: number 2: its value is unknown"), "{told:?}");
    assert_eq!([&told[0], &told[2], &told[3]], ["600 0", "2 1", "50 0"]);
    // The three positions of the resigned game are learned.
    let without = open(&[files[0].clone(), files[2].clone()]).unwrap();
    assert_eq!(alone.positions, without.positions + 3);
    assert!(run(&config(), &alone, folder.path(), usize::MAX).unwrap().is_some());

    let mut paths = vec![kept(folder.path())];
    paths.extend(files);
    let both = open(&paths).unwrap();
    assert_eq!((both.games, both.records), (3_000, 651));
    let whole = run(&config(), &both, folder.path(), usize::MAX).unwrap().unwrap();
    assert!(whole.provenance.config.contains("records = 651"), "{}", whole.provenance.config);
    // Labelled again after a stop, and still the same bytes.
    let stopped = loop {
        let again = open(&paths).unwrap();
        if let Some(weights) = run(&config(), &again, folder.path(), 3).unwrap() {
            break weights;
        }
    };
    assert_eq!(stopped.to_bytes(), whole.to_bytes());
    // How much records count, and what an error costs, make a difference.
    for other in
        [LearnConfig { record_importance: 0.25, ..config() }, LearnConfig { cross_entropy: Some(20.0), ..config() }]
    {
        let weights = run(&other, &both, folder.path(), usize::MAX).unwrap().unwrap();
        assert_ne!(weights.model, whole.model);
    }
}

#[test]
fn configurations_without_sense_are_refused_and_defaults_stay_unsaid() {
    for (config, key) in [
        (LearnConfig { hold_out: 1, ..config() }, "hold-out"),
        (LearnConfig { tree_depth: 1, ..config() }, "tree-depth"),
        (LearnConfig { leaf_depth: 1, ..config() }, "leaf-depth"),
        (LearnConfig { leaf_depth: 4, hidden_layer: true, ..config() }, "hidden layer"),
    ] {
        let error = config.check().unwrap_err().to_string();
        assert!(error.contains(key), "{error}");
    }
    // Keys that are left out keep their defaults.
    let slower = toml::from_str::<LearnConfig>("rate = 0.25").unwrap();
    assert_eq!(slower.step(), StepRule { rate: 0.25, ..StepRule::default() });
    assert_eq!(LearnConfig::default().step(), StepRule::default());
    let chances = LearnConfig { cross_entropy: Some(20.0), record_importance: 0.5, ..LearnConfig::default() };
    chances.check().unwrap();
    let told = LearnConfig { stage_plies: Some(1), overlap: Some(2), ..chances.clone() };
    assert_eq!(toml::from_str::<LearnConfig>(&chances.to_toml()).unwrap(), told);
    let layered = LearnConfig { hidden_layer: true, ..LearnConfig::default() };
    assert!(layered.to_toml().contains("stage-plies = 6\noverlap = 4\n"), "{}", layered.to_toml());
    let unsaid = LearnConfig::default().to_toml();
    assert!(!unsaid.contains("cross-entropy") && !unsaid.contains("files"), "{unsaid}");
}

#[test]
fn the_configuration_kept_with_weights_is_toml_whatever_the_name_of_the_set() {
    let folder = tempfile::tempdir().unwrap();
    let (position, checkpoint) = (folder.path().join("position.txt"), folder.path().join("w.fsw.part"));
    fs::write(&position, "---------------------------OX------XO--------------------------- X 0\n").unwrap();
    let (games, stop) = (open(&[position]).unwrap(), AtomicBool::new(false));
    for name in ["small", "Zoë's", "a \"b\" \\ c", "two\nlines"] {
        let edge = Pattern::new("edge", "a1 b1 c1").unwrap();
        let patterns = PatternSet { name: name.into(), patterns: vec![edge], scalars: Vec::new(), engine: None };
        let request = FitRequest {
            config: &config(),
            patterns: &patterns,
            games: &games,
            from: None,
            teacher: None,
            checkpoint: &checkpoint,
            stop: &stop,
        };
        let weights = fit(&request, &mut |_| Ok(())).unwrap();
        let config: toml::Table = weights.provenance.config.parse().unwrap();
        assert_eq!(config["patterns"].as_str(), Some(name));
    }
}

/// The loss that is told last is that of the weights that are written.
#[test]
fn weights_beyond_the_range_of_a_set_are_counted_and_their_loss_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let games = open(&[kept(folder.path())]).unwrap();
    let fitted = |largest: i16| {
        let text = format!(
            "name = 'own'\nscalars = ['constant', 'mobility']\npatterns = {{ edge = 'a1 b1 c1 d1 e1' }}\n\
            [engine]\nscale = 64\nrange = [{}, {largest}]\ntables = {:?}",
            -largest, [0; 61]
        );
        let (patterns, checkpoint) = (PatternSet::from_toml(&text).unwrap(), folder.path().join("w.fsw.part"));
        let (config, stop) = (config(), AtomicBool::new(false));
        let (patterns, games, checkpoint) = (&patterns, &games, &*checkpoint);
        let request =
            FitRequest { config: &config, patterns, games, from: None, teacher: None, checkpoint, stop: &stop };
        let mut told = Vec::new();
        let fitted = fit(&request, &mut |event| {
            if let LearnEvent::Epoch { held_out, clipped, .. } = event {
                told.push((held_out.rmse().unwrap(), clipped));
            }
            Ok(())
        });
        let weights = fitted.unwrap();
        let at_an_end = weights.model.weights.iter().flatten().filter(|weight| weight.abs() == largest).count() as u64;
        (told, at_an_end)
    };
    let (wide, _) = fitted(i16::MAX);
    let (narrow, at_an_end) = fitted(16);
    assert!(wide.iter().all(|(_, clipped)| clipped.weights == 0));
    let (last, before) = narrow.split_last().unwrap();
    assert_eq!(before, &wide[..before.len()], "only what is written is clipped");
    let (loss, clipped) = *last;
    assert!(clipped.weights > 0 && clipped.weights <= at_an_end && clipped.largest > 0.0, "{clipped:?} {at_an_end}");
    assert!(loss > wide.last().unwrap().0 + 0.01, "{loss}");
}
