//! Who may join, and what is reported if something has to be fixed first.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

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
    assert!(said.contains("no trusted connection"), "{said}");
    let key = file(&keys, "worker.nk");
    let said = refused(&[&url, "--run", "other", "--broker-key", &key, "--broker-ca", &ca], 1);
    assert!(said.contains("does not allow this key to work for a run `other`") && said.lines().count() == 1, "{said}");
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
