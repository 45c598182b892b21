//! Who may join, and what is reported if something has to be fixed first.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;

use super::messages::block_on;
use super::support::*;

/// The message of a worker that cannot begin.
fn refused(arguments: &[&str], code: i32) -> String {
    let run: &[&str] = if arguments.contains(&"--run") { &[] } else { &["--run", "tonight"] };
    let output = flipside(&["work", "--wait", "0"]).args(run).args(arguments).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

#[test]
fn what_has_to_be_fixed_first_is_said_in_a_sentence() {
    let said = refused(&["http://somewhere"], 2);
    assert!(said.contains("is not a broker address"), "{said}");
    let said = refused(&["nats://192.0.2.1"], 1);
    assert!(said.contains("neither TLS nor a key") && said.contains("--insecure"), "{said}");
    let said = refused(&["tls://192.0.2.1"], 1);
    assert!(said.contains("there is no key"), "{said}");
    let said = refused(&["nats://localhost", "--run", "a.b"], 1);
    assert!(said.contains("`a.b` cannot name a run"), "{said}");
    let said = refused(&["nats://localhost", "--broker-key", "/no/such/key"], 1);
    assert!(said.contains("/no/such/key") && said.contains("cluster config"), "{said}");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let said = refused(&[&format!("nats://{nobody}")], 1);
    assert!(said.contains("no broker answers at nats://127.0.0.1"), "{said}");
    let said = refused(&["nats://user:secret@192.0.2.1"], 1);
    assert!(said.contains("nats://192.0.2.1 is not on this machine") && !said.contains("secret"), "{said}");
    let called = |arguments: &[&str]| {
        let output = flipside(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = called(&["train", "--run", "/nowhere/run", "--insecure"]);
    assert!(code == Some(2) && said.contains("name it with --cluster"), "{said}");
    for host in ["tls://head.example:4222", "head.example:4222", "", "ho st"] {
        let (code, said) = called(&["cluster", "config", "/nowhere/broker", "--run", "run", "--host", host]);
        assert!(code == Some(1) && said.contains(&format!("`{host}` is not a host")), "{said}");
    }
    let Some(folder) = folder() else { return };
    // A run that cannot begin leaves no trace.
    let said = train(folder.path(), "run", Some(&format!("nats://{nobody}")), &["--wait", "0"]).ends_with(1);
    assert!(said.contains("no broker answers") && !folder.path().join("run").exists(), "{said}");
    let broker = Broker::start(folder.path());
    let said = refused(&[&broker.url(), "--run", "other"], 1);
    assert!(said.contains("no run `other`"), "{said}");
    let (_plain, without_streams) = on_free_port(&folder.path().join("plain.log"), |port| {
        let mut plain = Command::new("nats-server");
        plain.args(["-a", "127.0.0.1", "-p", &port.to_string()]);
        plain
    });
    let url = format!("nats://127.0.0.1:{without_streams}");
    let said = train(folder.path(), "run", Some(&url), &[]).ends_with(1);
    assert!(said.contains("It needs JetStream"), "{said}");
    let said = refused(&[&url, "--run", "run"], 1);
    assert!(said.contains("It needs JetStream"), "{said}");
}

#[test]
fn keys_and_certificates_let_in_whom_they_should_and_let_do_what_they_should() {
    let Some(folder) = folder() else { return };
    let folder = folder.path();
    let keys = folder.join("broker");
    let config = |folder: &std::path::Path, port: u16| {
        let mut command = flipside(&["cluster", "config", "--host", "localhost", "--run", "run"]);
        command.arg("--port").arg(port.to_string()).arg(folder).output().unwrap()
    };
    let (_broker, port) = on_free_port(&folder.join("broker.log"), |port| {
        let _ = fs::remove_dir_all(&keys);
        let output = config(&keys, port);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 6);
        let mut broker = Command::new("nats-server");
        broker.arg("-c").arg(keys.join("nats.conf"));
        broker
    });
    for secret in ["broker-key.pem", "coordinator.nk", "worker.nk"] {
        assert_eq!(fs::metadata(keys.join(secret)).unwrap().permissions().mode() & 0o777, 0o600, "{secret}");
    }
    let again = config(&keys, port);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8(again.stderr).unwrap().contains("already exists"));
    let others = folder.join("others");
    assert_eq!(config(&others, port).status.code(), Some(0));

    let url = format!("tls://localhost:{port}");
    let file = |folder: &std::path::Path, name: &str| folder.join(name).to_str().unwrap().to_owned();
    let ca = file(&keys, "ca.pem");
    let with = |key: &str, ca: &str| refused(&[&url, "--run", "run", "--broker-key", key, "--broker-ca", ca], 1);
    let said = with(&file(&others, "worker.nk"), &ca);
    assert!(said.contains("refuses the key in"), "{said}");
    let said = with(&file(&keys, "worker.nk"), &file(&others, "ca.pem"));
    assert!(said.contains("gives no trusted connection"), "{said}");
    let key = file(&keys, "worker.nk");
    let said = refused(&[&url, "--run", "other", "--broker-key", &key, "--broker-ca", &ca], 1);
    assert!(said.contains("does not allow this key to work for a run `other`"), "{said}");
    assert_eq!(said.lines().filter(|line| !line.starts_with("flipside: note: ")).count(), 1, "{said}");
    let said = refused(&[&url, "--run", "run", "--insecure", "--broker-ca", &ca], 1);
    assert!(said.contains("clients without a key"), "{said}");

    let mut command = flipside(&["work", &url, "--run", "run", "--threads", "1", "--broker-ca", &ca]);
    command.args(["--broker-key", &file(&keys, "worker.nk")]);
    let mut worker = Process::spawn(command, folder.join("worker.log"));
    let key = file(&keys, "coordinator.nk");
    let options = ["--broker-key", &key, "--broker-ca", &ca];
    let mut coordinator = train(folder, "run", Some(&url), &options);
    worker.wait_for("as the coordinator did");
    wait_for_more(&mut coordinator, &folder.join("run"), 2);
    stop(&mut coordinator);
    let said = finish(folder, "run", Some(&url), &options);
    assert!(!said.contains("forbids"), "{said}");
    let said = worker.ends_with(0);
    assert!(!said.contains("forbids"), "{said}");
    assert_undisturbed(&folder.join("run"));
    // A worker's key does not allow coordinating.
    fs::rename(folder.join("run"), folder.join("old")).unwrap();
    let key = file(&keys, "worker.nk");
    let said = train(folder, "run", Some(&url), &["--broker-key", &key, "--broker-ca", &ca]).ends_with(1);
    assert!(said.contains("the coordinator's key") && !folder.join("run").exists(), "{said}");
}

#[test]
fn commands_are_quoted_for_the_shell() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("my broker");
    let mut command = flipside(&["cluster", "config", "--host", "localhost", "--run", "run"]);
    let said = String::from_utf8(command.arg(&keys).output().unwrap().stderr).unwrap();
    let quoted = format!("nats-server -c '{}", fs::canonicalize(&keys).unwrap().join("nats.conf").display());
    assert!(said.contains(&format!("{quoted}'")), "{said}");
    let first = fs::read_to_string(keys.join("nats.conf")).unwrap().lines().next().unwrap().to_owned();
    assert!(first.ends_with(&format!("{quoted}'")), "{first}");
}

/// A broker with keys for the runs `run` and `second`, and the folder of its files.
fn with_keys(folder: &Path) -> (Process, u16, PathBuf) {
    let keys = folder.join("broker");
    let (broker, port) = on_free_port(&folder.join("broker.log"), |port| {
        let _ = fs::remove_dir_all(&keys);
        let mut config = flipside(&["cluster", "config", "--host", "localhost", "--run", "run", "--run", "second"]);
        config.arg("--port").arg(port.to_string()).arg(&keys).output().unwrap();
        let mut broker = Command::new("nats-server");
        broker.arg("-c").arg(keys.join("nats.conf"));
        broker
    });
    (broker, port, keys)
}

/// A client of a broker with keys, and what the broker has forbidden it.
async fn client(port: u16, keys: &Path, key: &str, inbox: &str) -> (async_nats::Client, Arc<Mutex<Vec<String>>>) {
    let forbidden = Arc::new(Mutex::new(Vec::new()));
    let noted = forbidden.clone();
    let seed = fs::read_to_string(keys.join(key)).unwrap().trim().to_owned();
    let options = async_nats::ConnectOptions::with_nkey(seed).add_root_certificates(keys.join("ca.pem"));
    let options = options.require_tls(true).custom_inbox_prefix(inbox).event_callback(move |event| {
        noted.lock().unwrap().push(event.to_string().to_lowercase());
        async {}
    });
    (options.connect(format!("tls://localhost:{port}")).await.unwrap(), forbidden)
}

/// docs/CLUSTER.md: "A worker's key lets its holder take jobs, read weights, deliver games and give signs of life, for the runs it was made
/// for and under any worker's name, and nothing else at the broker."
#[test]
fn a_workers_key_can_do_what_the_documentation_says_and_nothing_else() {
    let Some(folder) = folder() else { return };
    let (_broker, port, keys) = with_keys(folder.path());
    let url = format!("tls://localhost:{port}");
    let path = |name: &str| keys.join(name).to_str().unwrap().to_owned();
    let (key, ca) = (path("coordinator.nk"), path("ca.pem"));
    let mut coordinator = train(folder.path(), "run", Some(&url), &["--broker-key", &key, "--broker-ca", &ca]);
    let mut command = flipside(&["work", &url, "--run", "run", "--threads", "1", "--broker-ca", &ca]);
    command.args(["--broker-key", &path("worker.nk")]);
    let mut worker = Process::spawn(command, folder.path().join("worker.log"));
    worker.wait_for("as the coordinator did");
    block_on(async {
        let (thief, forbidden) = client(port, &keys, "worker.nk", "_INBOX_worker").await;
        let (owner, _) = client(port, &keys, "coordinator.nk", "_INBOX_owner").await;
        let mut heard = owner.subscribe(">").await.unwrap();
        owner.flush().await.unwrap();
        // What may be asked, with an answer on a subject that means something to others.
        let asked = [
            "flipside.run.results.0.0",
            "flipside.run.alive.thief",
            "$JS.API.CONSUMER.MSG.NEXT.flipside-run-jobs.workers",
            "$JS.API.DIRECT.GET.flipside-run-weights.flipside.run.state",
            "$JS.ACK.flipside-run-jobs.workers.1.1.1.1.1",
        ];
        let targets = [
            "flipside.run.state",
            "flipside.run.stolen",
            "flipside.second.state",
            "flipside.run.jobs.0.4000000000",
            "flipside.run.weights.stolen.0",
            "flipside.run.coordinator",
            "_INBOX_coordinator.stolen",
            "$JS.API.STREAM.DELETE.flipside-run-jobs",
            "$JS.API.STREAM.PURGE.flipside-second-weights",
        ];
        for (question, answer) in asked.iter().flat_map(|question| targets.map(|target| (*question, target))) {
            for payload in ["", "+NXT", r#"{"batch":1,"no_wait":true}"#] {
                thief.publish_with_reply(question, answer, payload.into()).await.unwrap();
            }
        }
        thief.flush().await.unwrap();
        // What may not be asked or heard.
        let published = [
            "flipside.run.state",
            "flipside.run.jobs.0.1",
            "flipside.run.weights.stolen.0",
            "flipside.run.coordinator",
            "flipside.third.results.0.0",
            "$JS.API.INFO",
            "$JS.API.STREAM.INFO.flipside-second-jobs",
            "$JS.API.STREAM.DELETE.flipside-run-jobs",
            "$JS.API.STREAM.PURGE.flipside-second-weights",
            "$JS.API.CONSUMER.CREATE.flipside-run-weights",
            "$JS.API.CONSUMER.MSG.NEXT.flipside-third-jobs.workers",
            "$JS.API.DIRECT.GET.flipside-third-weights.flipside.third.state",
            "$JS.API.DIRECT.GET.flipside-run-jobs.flipside.run.jobs.0.0",
            "$JS.API.DIRECT.GET.flipside-run-results.flipside.run.results.0.0",
            "$JS.API.CONSUMER.MSG.NEXT.flipside-run-results.workers",
            "$JS.ACK.flipside-third-jobs.workers.1.1.1.1.1",
            "flipside.third.alive.thief",
            "_INBOX_worker.another",
        ];
        for subject in published {
            thief.publish(subject, "".into()).await.unwrap();
        }
        let listened =
            [">", "flipside.>", "flipside.run.results.>", "flipside.run.alive.*", "_INBOX_coordinator.>", "$JS.API.>"];
        for subject in listened {
            drop(thief.subscribe(subject).await.unwrap());
        }
        thief.flush().await.unwrap();
        owner.flush().await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let forbidden = forbidden.lock().unwrap().iter().filter(|text| text.contains("permissions violation")).count();
        assert_eq!(forbidden, published.len() + listened.len());
        while let Ok(Some(message)) = tokio::time::timeout(Duration::from_millis(200), heard.next()).await {
            let subject = message.subject.to_string();
            assert!(!targets.contains(&&*subject), "a worker's key reaches {subject}");
            assert!(!published.iter().any(|wrong| *wrong == subject && !asked.contains(wrong)), "{subject}");
        }
        // What it may: take jobs, read weights, deliver games.
        let read =
            thief.request("$JS.API.DIRECT.GET.flipside-run-weights.flipside.run.state", "".into()).await.unwrap();
        assert_eq!(&read.payload[..], b"running");
    });
    // Nobody has ended or noticed anything.
    wait_for_more(&mut coordinator, &folder.path().join("run"), 1);
    assert!(worker.is_running(), "{}", worker.said());
    stop(&mut coordinator);
    finish(folder.path(), "run", Some(&url), &["--broker-key", &key, "--broker-ca", &ca]);
    worker.ends_with(0);
    assert_undisturbed(&folder.path().join("run"));
}

#[test]
fn a_key_that_others_can_read_is_warned_of() {
    let Some(folder) = folder() else { return };
    let (_broker, port, keys) = with_keys(folder.path());
    let url = format!("tls://localhost:{port}");
    let (key, ca) = (keys.join("worker.nk"), keys.join("ca.pem"));
    let said = |mode| {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        let (key, ca) = (key.to_str().unwrap(), ca.to_str().unwrap());
        refused(&[&url, "--run", "run", "--broker-key", key, "--broker-ca", ca], 1)
    };
    assert!(!said(0o600).contains("others can read"));
    for mode in [0o640, 0o604, 0o644] {
        assert!(said(mode).contains("others can read the key in"));
    }
}
