//! A broker's configuration, with keys and certificates.

use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use async_nats::rustls::pki_types::ServerName;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

use super::broker::WORKER_INBOX;
use super::error::ClusterError;
use super::streams::{check_run_name, worker_services};
use crate::storage::FileError;
use crate::text::typed;

/// A broker to set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Names and addresses at which machines reach it.
    pub hosts: Vec<String>,
    /// The runs that workers may work for.
    pub runs: Vec<String>,
    /// The port it listens on.
    pub port: u16,
}

impl Setup {
    /// Writes the broker's configuration, its certificate and that of the authority, and the keys of coordinator and workers into a
    /// folder, with secrets readable only by their owner. Returns the files.
    ///
    /// # Errors
    /// A run or a host has no name that a broker takes; a file cannot be written, or exists already.
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, ClusterError> {
        self.runs.iter().try_for_each(|run| check_run_name(run))?;
        let failed = |error: &dyn Display| ClusterError::Refused(error.to_string());
        if let Some(host) = self.hosts.iter().find(|host| ServerName::try_from(host.as_str()).is_err()) {
            return Err(failed(&format_args!(
                "`{host}` is not a host: expected a name or an address, such as broker.example or 192.0.2.7, without protocol and port"
            )));
        }
        let not_written = |path: &Path, error: io::Error| failed(&FileError::io(path)(error));
        fs::create_dir_all(folder).map_err(|error| not_written(folder, error))?;
        let folder = fs::canonicalize(folder).map_err(|error| not_written(folder, error))?;
        let [coordinator, worker] = [0; 2].map(|_| nkeys::KeyPair::new_user());
        let seed = |key: &nkeys::KeyPair| key.seed().map_err(|error| failed(&error));
        let (ca, certificate, key) = certificates(&self.hosts).map_err(|error| failed(&error))?;
        let configuration = self.configuration(&folder, &coordinator.public_key(), &worker.public_key());
        let files = [
            ("nats.conf", configuration, false),
            ("ca.pem", ca, false),
            ("broker.pem", certificate, false),
            ("broker-key.pem", key, true),
            ("coordinator.nk", seed(&coordinator)? + "\n", true),
            ("worker.nk", seed(&worker)? + "\n", true),
        ];
        let paths: Vec<PathBuf> = files.iter().map(|(name, ..)| folder.join(name)).collect();
        if let Some(found) = paths.iter().find(|path| fs::symlink_metadata(path).is_ok()) {
            let found = found.display();
            return Err(failed(&format_args!(
                "{found} already exists, and keys are not overwritten: name another folder, or remove it"
            )));
        }
        for (i, (path, (_, text, is_secret))) in paths.iter().zip(&files).enumerate() {
            if let Err(error) = make(path, text, *is_secret) {
                // All or none: the same command must work once there is room.
                paths[..i].iter().for_each(|path| drop(fs::remove_file(path)));
                return Err(not_written(path, error));
            }
        }
        Ok(paths)
    }

    /// The broker's configuration. Workers have an account of their own, since permissions say what may be asked, not where the answer
    /// goes: a key could have the broker answer on any subject of its account.
    fn configuration(&self, folder: &Path, coordinator: &str, worker: &str) -> String {
        let file = |name: &str| quoted(&folder.join(name).display().to_string());
        let services: Vec<String> = self.runs.iter().flat_map(|run| worker_services(run)).map(|s| quoted(&s)).collect();
        let lines = |line: &dyn Fn(&String) -> String| services.iter().map(line).collect::<String>();
        // A request for jobs has many answers.
        let kind = |service: &str| if service.contains("MSG.NEXT") { ", response_type: stream" } else { "" };
        format!(
            "# The broker of flipside's runs {runs}: nats-server -c {this}\n\
            # Coordinators have coordinator.nk, workers worker.nk; both have ca.pem. docs/CLUSTER.md says more.\n\
            server_name: flipside\n\
            port: {port}\n\
            max_payload: 1MB\n\
            jetstream {{\n  store_dir: {store}\n  max_memory_store: 64MB\n  max_file_store: 4GB\n}}\n\
            tls {{\n  cert_file: {certificate}\n  key_file: {key}\n}}\n\
            accounts {{\n  coordinator {{\n    jetstream: enabled\n    users: [ {{ nkey: {coordinator} }} ]\n    \
            exports: [\n{exports}    ]\n  }}\n  \
            # Workers: take jobs, read weights, deliver games, give signs of life, and nothing else\n  \
            workers {{\n    users: [ {{ nkey: {worker}, permissions: {{\n      publish: [\n{publish}      ]\n      \
            subscribe: [ \"{WORKER_INBOX}.>\" ]\n    }} }} ]\n    imports: [\n{imports}    ]\n  }}\n}}\n",
            runs = self.runs.join(", "),
            this = typed(&folder.join("nats.conf")),
            port = self.port,
            store = file("jetstream"),
            certificate = file("broker.pem"),
            key = file("broker-key.pem"),
            exports = lines(&|service| format!("      {{ service: {service}{} }}\n", kind(service))),
            publish = lines(&|service| format!("        {service}\n")),
            imports =
                lines(&|service| format!("      {{ service: {{ account: coordinator, subject: {service} }} }}\n")),
        )
    }
}

/// Creates a new file, readable only by its owner if it is a secret.
fn make(path: &Path, text: &str, is_secret: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if is_secret { 0o600 } else { 0o644 });
    options.open(path)?.write_all(text.as_bytes()).inspect_err(|_| drop(fs::remove_file(path)))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// As PEM: the certificate of an authority of our own, the broker's certificate, signed by it, and the broker's key.
fn certificates(hosts: &[String]) -> Result<(String, String, String), rcgen::Error> {
    let authority_key = KeyPair::generate()?;
    let mut authority = CertificateParams::new([])?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    authority.distinguished_name.push(DnType::CommonName, "flipside broker authority");
    let ca = authority.self_signed(&authority_key)?.pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate()?;
    let mut broker = CertificateParams::new(hosts)?;
    broker.distinguished_name.push(DnType::CommonName, "flipside broker");
    Ok((ca, broker.signed_by(&key, &issuer)?.pem(), key.serialize_pem()))
}
