//! `flipside league`.

use std::fs;

use serde_json::Value;

use crate::support::*;

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[&["league", "--json", "-q"], arguments].concat(), "")).unwrap()
}

#[test]
fn a_league_is_the_same_on_any_number_of_threads_and_agrees_with_matches() {
    let arguments = ["league", "mobility", "squares", "default", "--depth", "1,2", "--pairs", "15", "--threads"];
    let table = |threads: &str| stdout(&[&arguments[..], &[threads, "-q"]].concat(), "");
    let single = table("1");
    assert_eq!(single, table("3"));
    let parts: Vec<_> = single.split("\n\n").collect();
    assert_eq!((parts.len(), columns(parts[0])), (7, vec!["complete", "yes"]));
    for (depth, parts) in ["1", "2"].iter().zip(parts[1..].chunks(3)) {
        assert_eq!(columns(parts[0].lines().next().unwrap()), ["depth", depth]);
        let [ranking, pairings] = [1, 2].map(|part| parts[part].lines().map(columns).collect::<Vec<_>>());
        assert_eq!(ranking[1][1], "default");
        let elo: Vec<f64> = ranking[1..].iter().map(|row| row[2].parse().unwrap()).collect();
        assert!(elo.is_sorted_by(|a, b| a >= b), "{elo:?}");
        let mobility = ranking.iter().find(|row| row[1] == "mobility").unwrap();
        assert_eq!(mobility[2..5], ["0.000", "0.000", "0.000"]);
        let found = stdout(&["match", "mobility", "squares", "--depth", depth, "--pairs", "15", "-q"], "");
        let score: f64 = found.lines().map(columns).find(|line| line[0] == "score").unwrap()[1].parse().unwrap();
        assert!(pairings.len() == 4 && pairings[0][..3] == ["first", "second", "superiority"], "{pairings:?}");
        let of_both = |row: &&Vec<&str>| row[..2].iter().all(|name| ["mobility", "squares"].contains(name));
        let row = pairings.iter().find(of_both).unwrap();
        let of_first: f64 = row[6].parse().unwrap();
        assert!(
            (score - if row[0] == "mobility" { of_first } else { 1.0 - of_first }).abs() < 0.002,
            "{row:?} {score}"
        );
    }
}

#[test]
fn in_a_gauntlet_one_player_meets_the_others() {
    let found = json(&["mobility", "squares", "default", "--gauntlet", "--depth", "1", "--pairs", "10"]);
    let league = &found["leagues"][0];
    let games = |row: &Value| ["wins", "draws", "losses"].iter().map(|key| row[key].as_u64().unwrap()).sum::<u64>();
    let pairings = league["pairings"].as_array().unwrap();
    assert_eq!(pairings.len(), 3);
    for pairing in pairings {
        let pairs: u64 = pairing["pentanomial"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
        let of_first = [&pairing["first"], &pairing["second"]].contains(&&Value::from("mobility"));
        assert_eq!((pairs, games(pairing)), if of_first { (10, 20) } else { (0, 0) }, "{pairing}");
    }
    let player = |name: &str| league["players"].as_array().unwrap().iter().find(|row| row["player"] == name).unwrap();
    assert!(found["complete"] == true && league["anchor"] == "mobility" && player("mobility")["elo"] == 0.0);
    assert_eq!(["mobility", "squares", "default"].map(|name| games(player(name))), [40, 20, 20]);
}

#[test]
fn a_league_is_resumed_and_others_may_join() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [whole, parts] = ["whole", "parts"].map(path);
    let play = |log: &str, players: &[&str], more: &[&str]| {
        let output = run_with(&[&["league"], players, &["--games", log, "--depth"], more].concat(), "");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let all = ["mobility", "squares", "default"];
    let (table, _) = play(&whole, &all, &["1", "--pairs", "12"]);
    let bytes = fs::read(&whole).unwrap();
    // Killed at any point, it resumes to the same file and the same table.
    for share in [3, 20, 500, 997] {
        fs::write(&parts, &bytes[..bytes.len() * share / 1000]).unwrap();
        let (again, _) = play(&parts, &all, &["1", "--pairs", "12", "--threads", "3"]);
        assert!(again == table && fs::read(&parts).unwrap() == bytes, "{share}");
    }
    // Begun with fewer players, pairs and depths, only what is missing is played.
    fs::remove_file(&parts).unwrap();
    play(&parts, &all[..2], &["1", "--pairs", "5"]);
    let (joined, talk) = play(&parts, &all, &["1", "--pairs", "12"]);
    assert_eq!(joined, table);
    assert!(talk.contains("5 of 36 pairs have already been played"), "{talk}");
    let lines = |log: &str| fs::read_to_string(log).unwrap().lines().count();
    assert_eq!(lines(&parts), lines(&whole));
    let (deeper, _) = play(&parts, &all, &["2,1", "--pairs", "12"]);
    assert!(deeper.starts_with(&table));
    let (_, talk) = play(&parts, &all[1..], &["1", "--pairs", "12"]);
    assert!(talk.contains("`mobility:depth=1`, ") && talk.contains("12 of 12 pairs"), "{talk}");
}

#[test]
fn a_changed_player_does_not_inherit_the_games_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let log = log.to_str().unwrap();
    let weights = constant_weights(folder.path(), 3);
    let weights = weights.to_str().unwrap();
    let arguments = ["league", weights, "squares", "--depth", "1", "--pairs", "2", "-q", "--games", log];
    stdout(&arguments, "");
    let bytes = fs::read(log).unwrap();
    fs::copy(constant_weights(folder.path(), 5), weights).unwrap();
    let error = refusal(&arguments, "", 1);
    assert!(error.contains("weights is ") && error.contains(weights), "{error}");
    assert_eq!(fs::read(log).unwrap(), bytes);
}

#[test]
fn other_programs_take_part_and_their_faults_are_reported() {
    let [gtp, nboard] =
        ["gtp", "nboard"].map(|dialect| format!("{dialect}:'{PROGRAM}' {dialect} -w squares --threads 1"));
    let nboard = nboard + ":depth=2";
    let silent = "gtp:sh -c 'while read -r line; do case $line in genmove*) echo \"? no\";; *) echo =;; esac; done'";
    let arguments = ["mobility", &gtp, &nboard, "squares", silent, "--depth", "2", "--pairs", "3"];
    let found = json(&arguments);
    let players = found["leagues"][0]["players"].as_array().unwrap();
    let lost = |player: &Value| player["forfeits"].as_u64().unwrap();
    assert!(
        players.iter().all(|player| lost(player) == if player["player"] == silent { 24 } else { 0 }),
        "{players:?}"
    );
    // The same player in a process of its own is even with itself.
    let pairings = found["leagues"][0]["pairings"].as_array().unwrap();
    let names = |pairing: &Value| [&pairing["first"], &pairing["second"]].map(|name| name.as_str().unwrap().to_owned());
    let is_own = |pairing: &&Value| names(pairing).iter().all(|name| *name == nboard || name == "squares");
    let even = pairings.iter().find(is_own).unwrap();
    assert_eq!(even["pentanomial"][2], 3, "{even}");
}

#[test]
fn leagues_that_make_no_sense_are_refused() {
    assert!(refusal(&["league", "squares"], "", 2).contains("PLAYER"));
    let twins = ["league", "squares:depth=4", "mobility", "squares", "--depth", "2,4"];
    assert!(refusal(&twins, "", 2).contains("`squares:depth=4` and `squares` are the same player at depth 4"));
    let own = ["league", "squares:depth=4", "mobility:nodes=50", "--depth", "2,4"];
    assert!(refusal(&own, "", 2).contains("--depth is for flipside's own players without a depth"));
    assert!(refusal(&["league", "squares", "no/such.fsw", "-q"], "", 1).contains("no/such.fsw"));
    assert!(refusal(&["league", "squares", "mobility", "--depth", "0"], "", 2).contains("--depth"));
    let broken = ["league", "squares", "gtp:flipside-no-such-program", "--pairs", "1", "-q"];
    assert!(refusal(&broken, "", 1).contains("flipside-no-such-program"));
}
