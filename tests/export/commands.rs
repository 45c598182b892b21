//! Import and export as files and as commands.

use std::fs;
use std::path::Path;

use flipside::export::{Engine, Target, import};
use flipside::weights::{Provenance, WeightFile};

use super::calling::{finish, program};
use super::helpers::add_hidden_layer;
use super::{random_model, zebra_file};

/// Runs the program on some input; returns its standard output and standard error.
fn flipside(folder: &Path, arguments: &[&str], input: &str) -> (bool, String, String) {
    let mut command = program();
    command.args(arguments).current_dir(folder);
    let output = finish(command, input);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[test]
fn files_are_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| flipside(folder.path(), arguments, "");
    let model = random_model(&Engine::Ntest.set(), &[60, 53], 100, 300, 1);
    let file = WeightFile::new(model, Provenance::of_this_program("random"));
    file.save(folder.path().join("w.fsw")).unwrap();
    let entries = |path: &Path| fs::read_dir(path).unwrap().count();
    let (done, ..) = run(&["export", "--to", "zebra", "w.fsw", "-o", "coeffs2.bin"]);
    assert!(!done && entries(folder.path()) == 1);
    let (done, _, talk) = run(&["export", "--to", "npz", "w.fsw", "-o", "none/w.npz"]);
    assert!(!done && talk.contains("w.npz") && entries(folder.path()) == 1, "{talk}");
    for engine in Engine::ALL {
        let mut model = random_model(&engine.set(), &[60], 100, 300, 1);
        add_hidden_layer(&mut model, 1, 100);
        let file = WeightFile::new(model, Provenance::of_this_program("random"));
        file.save(folder.path().join("w.fsw")).unwrap();
        let (done, written, talk) = run(&["export", "--to", engine.name(), "w.fsw", "-o", "out"]);
        assert!(!done && written.is_empty() && talk.contains("hidden layer"), "{talk}");
        assert_eq!(entries(folder.path()), 1);
    }
    for target in Target::all() {
        assert_eq!(target.name().to_uppercase().parse(), Ok(target));
    }
    assert_eq!("NTest".parse(), Ok(Engine::Ntest));
    assert!("edaks".parse::<Target>().unwrap_err().to_string().contains("edax"));
    let missing = import(Engine::Edax, &[folder.path().join("none")]).unwrap_err();
    assert!(missing.to_string().contains("none: "), "{missing}");
}

#[test]
fn ntests_files_are_a_set_beside_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| flipside(folder.path(), arguments, "");
    let model = random_model(&Engine::Ntest.set(), &[60, 53], 100, 300, 1);
    let file = WeightFile::new(model, Provenance::of_this_program("random"));
    file.save(folder.path().join("w.fsw")).unwrap();
    // NTest's folder: its own weights, which are not touched, and what its selective search needs besides.
    let out = folder.path().join("coefficients");
    fs::create_dir(&out).unwrap();
    let own: Vec<String> = ('a'..='j').map(|file| format!("JA{file}.cof")).collect();
    own.iter().for_each(|name| fs::write(out.join(name), name).unwrap());
    fs::write(out.join("mpcJA_11.txt"), "eleven").unwrap();
    fs::write(out.join("mpcJA_25.txt"), "twenty-five").unwrap();
    fs::write(out.join("mpcJB_25.txt"), "of the user").unwrap();
    let (done, written, talk) = run(&["export", "--to", "ntest", "w.fsw", "-o", "coefficients"]);
    assert!(
        done && talk.contains("exact: ") && talk.contains("JA to JB at the beginning of the line in parameters.txt"),
        "{talk}"
    );
    let mut expected: Vec<String> = ('a'..='j').map(|file| format!("coefficients/JB{file}.cof\n")).collect();
    expected.push("coefficients/mpcJB_11.txt\n".into());
    assert_eq!(written, expected.concat());
    assert!(own.iter().all(|name| fs::read_to_string(out.join(name)).unwrap() == *name));
    assert_eq!(fs::read_to_string(out.join("mpcJB_11.txt")).unwrap(), "eleven");
    assert_eq!(fs::read_to_string(out.join("mpcJB_25.txt")).unwrap(), "of the user");

    // Which of the two sets?
    let (done, _, talk) = run(&["import", "--from", "ntest", "coefficients", "-o", "back.fsw"]);
    assert!(!done && talk.contains("several sets"), "{talk}");
    own.iter().for_each(|name| fs::remove_file(out.join(name)).unwrap());
    let (done, ..) = run(&["import", "--from", "ntest", "coefficients", "-o", "back.fsw"]);
    let back = WeightFile::load(folder.path().join("back.fsw")).unwrap();
    assert!(done && back.model == file.model);
    let (done, _, talk) = run(&["import", "--from", "ntest", "coefficients", "-o", "coefficients/JBc.cof"]);
    assert!(!done && talk.contains("is the input"), "{talk}");
    let names: Vec<String> = ('a'..='j').map(|file| format!("JB{file}.cof")).collect();
    assert_eq!(back.provenance.origin, format!("imported from ntest: {}", names.join(" ")));
    let mut files: Vec<_> = names.iter().map(|name| out.join(name)).collect();
    assert_eq!(import(Engine::Ntest, &files).unwrap(), back);
    // One file of another set.
    fs::rename(&files[3], out.join("JCd.cof")).unwrap();
    files[3] = out.join("JCd.cof");
    assert!(import(Engine::Ntest, &files).unwrap_err().to_string().contains("ten files of a set"));
    let message = import(Engine::Zebra, &[out.join("JBa.cof")]).unwrap_err().to_string();
    assert!(message.contains("JBa.cof: byte 0: "), "{message}");
    let (done, _, talk) = run(&["export", "--to", "ntest", "w.fsw", "-o", "-"]);
    assert!(!done && talk.contains("folder"), "{talk}");
    // Nothing is made of what cannot be exported.
    let (done, ..) = run(&["export", "--to", "ntest", "default", "-o", "new/folder"]);
    assert!(!done && !folder.path().join("new").exists());
}

#[test]
fn the_commands_import_and_export() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], input: &str| flipside(folder.path(), arguments, input);
    let mut values = vec![0; 113_879];
    values[..2].copy_from_slice(&[512, 2048]);
    fs::write(folder.path().join("coeffs2.bin"), zebra_file(&[8], &values)).unwrap();
    let (done, written, talk) = run(&["import", "--from", "zebra", "coeffs2.bin", "-o", "zebra.fsw"], "");
    assert!(done && written == "zebra.fsw\n" && talk == "3,074,760 weights in 27 stages\n", "{talk}");
    // One disc, and four more for an odd number of empties.
    let start = "---------------------------OX------XO--------------------------- X\n";
    let after_f5 = "---------------------------OX------XXX-------------------------- O\n";
    let (done, values, _) = run(&["eval", "-w", "zebra.fsw"], &format!("{start}{after_f5}"));
    assert_eq!((done, values.as_str()), (true, "+1.000\n+5.000\n"));

    let (done, written, talk) = run(&["export", "--to", "zebra", "zebra.fsw", "-o", "again.bin"], "");
    assert!(done && written == "again.bin\n" && talk.contains("exact: "), "{talk}");
    let (done, _, _) = run(&["import", "--from", "zebra", "again.bin", "-o", "again.fsw"], "");
    let [first, again] = ["zebra.fsw", "again.fsw"].map(|name| WeightFile::load(folder.path().join(name)).unwrap());
    assert!(done && first.model == again.model);
    let (done, _, talk) = run(&["export", "--to", "edax", "zebra.fsw", "-o", "eval.dat"], "");
    assert!(!done && talk.contains("edax has no pattern that holds `corner5x2`"), "{talk}");
    assert!(!folder.path().join("eval.dat").exists());
    // What cannot be written is said before anything is read.
    let (done, _, talk) = run(&["export", "--to", "edax", "missing.fsw", "-o", "nowhere/eval.dat"], "");
    assert!(!done && talk.contains("nowhere/eval.dat"), "{talk}");
    for target in ["npz", "zebra"] {
        let (done, _, talk) = run(&["export", "--to", target, "zebra.fsw", "-o", "x", "--merge-stages"], "");
        assert!(!done && talk.contains("--merge-stages is for ntest"), "{talk}");
    }
    let (done, _, talk) = run(&["import", "--from", "ntest", "again.bin", "-o", "x.fsw"], "");
    assert!(!done && talk.contains("ntest needs the ten files"), "{talk}");
}
