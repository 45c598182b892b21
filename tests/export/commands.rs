//! Import and export as files and as commands.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use flipside::export::{Engine, Target, export, import};
use flipside::weights::{Provenance, WeightFile};

use super::{random_model, zebra_file};

#[test]
fn files_are_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let file = WeightFile::new(
        random_model(&Engine::Ntest.set(), &[60, 53], 100, 300, 1),
        Provenance::of_this_program("random"),
    );
    let entries = |path: &Path| fs::read_dir(path).unwrap().count();
    let refused = export(&file, Target::Engine(Engine::Zebra), &folder.path().join("coeffs2.bin"), false);
    assert!(refused.is_err() && entries(folder.path()) == 0);
    let missing = export(&file, "npz".parse().unwrap(), &folder.path().join("none").join("w.npz"), false).unwrap_err();
    assert!(missing.to_string().contains("w.npz") && entries(folder.path()) == 0);

    let out = folder.path().join("ntest");
    let done = export(&file, "ntest".parse().unwrap(), &out, false).unwrap();
    assert_eq!((done.files.len(), entries(&out), entries(folder.path())), (10, 10, 1));
    assert!(done.quantisation.unwrap().is_exact());
    let back = import(Engine::Ntest, std::slice::from_ref(&out)).unwrap();
    assert_eq!(
        back.provenance.origin,
        "imported from ntest: JAa.cof JAb.cof JAc.cof JAd.cof JAe.cof JAf.cof JAg.cof JAh.cof JAi.cof JAj.cof"
    );
    assert_eq!(import(Engine::Ntest, &done.files).unwrap(), back);
    let message = import(Engine::Zebra, &[out.join("JAa.cof")]).unwrap_err().to_string();
    assert!(message.contains("JAa.cof: byte 0: "), "{message}");
    assert!(import(Engine::Edax, &[folder.path().join("none")]).unwrap_err().to_string().contains("none: "));
    assert!("edaks".parse::<Target>().unwrap_err().to_string().contains("edax"));
}

/// Runs the program on some input; its standard output and standard error.
fn flipside(folder: &Path, arguments: &[&str], input: &str) -> (bool, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flipside"));
    command.args(arguments).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that fails at once does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_commands_import_and_export() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], input: &str| flipside(folder.path(), arguments, input);
    let mut values = vec![0; 113_879];
    values[..2].copy_from_slice(&[512, 2048]);
    fs::write(folder.path().join("coeffs2.bin"), zebra_file(&[8], &values)).unwrap();
    let (done, written, talk) = run(&["import", "--from", "zebra", "coeffs2.bin", "-o", "zebra.fsw"], "");
    assert!(done && written == "zebra.fsw\n", "{talk}");
    // A disc, and four more for an odd number of empties.
    let start = "---------------------------OX------XO--------------------------- X\n";
    let after_f5 = "---------------------------OX------XXX-------------------------- O\n";
    let (done, values, _) = run(&["eval", "-w", "zebra.fsw"], &format!("{start}{after_f5}"));
    assert_eq!((done, values.as_str()), (true, "+1.000\n+5.000\n"));

    let (done, written, talk) = run(&["export", "--to", "zebra", "zebra.fsw", "-o", "again.bin"], "");
    assert!(done && written == "again.bin\n" && talk.contains("exact: "), "{talk}");
    let (done, _, _) = run(&["import", "--from", "zebra", "again.bin", "-o", "again.fsw"], "");
    let [first, again] = ["zebra.fsw", "again.fsw"].map(|name| WeightFile::load(&folder.path().join(name)).unwrap());
    assert!(done && first.model == again.model);
    let (done, _, talk) = run(&["export", "--to", "edax", "zebra.fsw", "-o", "eval.dat"], "");
    assert!(!done && talk.contains("edax has no pattern that holds `corner5x2`"), "{talk}");
    assert!(!folder.path().join("eval.dat").exists());
    let (done, _, talk) = run(&["import", "--from", "ntest", "again.bin", "-o", "x.fsw"], "");
    assert!(!done && talk.contains("ntest needs the ten files"), "{talk}");
}
