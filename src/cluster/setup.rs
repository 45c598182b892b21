//! A broker's configuration, with keys and certificates.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

use super::broker::{WORKER_INBOX, check_run_name};
use super::error::ClusterError;
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

/// Why a broker's files were not written.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A run whose name no broker takes.
    #[error(transparent)]
    Run(#[from] ClusterError),
    /// A file that already exists.
    #[error("{0} already exists, and keys are not overwritten: name another folder, or remove it")]
    Exists(PathBuf),
    /// The file system failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// Neither a name nor an address of a machine.
    #[error(
        "`{0}` is not a host: expected a name or an address, such as broker.example or 192.0.2.7, without protocol and port"
    )]
    Host(String),
    /// A name that no certificate can be written for, or a key that cannot be made.
    #[error("cannot make the broker's certificate or keys: {0}")]
    Keys(String),
}

impl Setup {
    /// Writes the broker's configuration, its certificate and that of the authority, and the keys of coordinator and workers into a
    /// folder, with secrets readable only by their owner. Returns the files.
    ///
    /// # Errors
    /// See [`SetupError`]. No file is overwritten.
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, SetupError> {
        self.runs.iter().try_for_each(|run| check_run_name(run))?;
        if let Some(host) = self.hosts.iter().find(|host| !is_host(host)) {
            return Err(SetupError::Host(host.clone()));
        }
        fs::create_dir_all(folder).map_err(FileError::io(folder))?;
        let folder = fs::canonicalize(folder).map_err(FileError::io(folder))?;
        let [coordinator, worker] = [0; 2].map(|_| nkeys::KeyPair::new_user());
        let seed = |key: &nkeys::KeyPair| key.seed().map_err(|error| SetupError::Keys(error.to_string()));
        let (ca, certificate, key) = certificates(&self.hosts).map_err(|error| SetupError::Keys(error.to_string()))?;
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
            return Err(SetupError::Exists(found.clone()));
        }
        for (i, (path, (_, text, is_secret))) in paths.iter().zip(&files).enumerate() {
            if let Err(error) = make(path, text, *is_secret) {
                // All or none: the same command must work once there is room.
                paths[..i].iter().for_each(|path| drop(fs::remove_file(path)));
                return Err(FileError::io(path)(error).into());
            }
        }
        Ok(paths)
    }

    /// The broker's configuration. It has no `accounts` block: before version 2.9.23, one with nothing but the system's account lets
    /// everybody in despite `authorization` (CVE-2023-47090).
    fn configuration(&self, folder: &Path, coordinator: &str, worker: &str) -> String {
        let file = |name: &str| quoted(&folder.join(name).display().to_string());
        let list = |subjects: Vec<String>| {
            let lines: Vec<String> =
                subjects.iter().map(|subject| format!("          {}\n", quoted(subject))).collect();
            format!("[\n{}        ]", lines.concat())
        };
        let publish = list(self.runs.iter().flat_map(|run| worker_publishes(run)).collect());
        let heard = self.runs.iter().flat_map(|run| ["refused.*", "end"].map(|what| format!("flipside.{run}.{what}")));
        let subscribe = list([format!("{WORKER_INBOX}.>")].into_iter().chain(heard).collect());
        format!(
            "# The broker of flipside's runs {runs}: nats-server -c {this}\n\
            # Coordinators have coordinator.nk, workers worker.nk; both have ca.pem. docs/CLUSTER.md says more.\n\
            server_name: flipside\n\
            port: {port}\n\
            max_payload: 1MB\n\
            jetstream {{\n  store_dir: {store}\n  max_memory_store: 64MB\n  max_file_store: 4GB\n}}\n\
            tls {{\n  cert_file: {certificate}\n  key_file: {key}\n}}\n\
            authorization {{\n  users: [\n    # The coordinator\n    {{ nkey: {coordinator} }}\n    \
            # Workers: take jobs, read weights, deliver games, and nothing else\n    {{\n      nkey: {worker}\n      \
            permissions: {{\n        publish: {publish}\n        subscribe: {subscribe}\n      }}\n    }}\n  ]\n}}\n",
            runs = self.runs.join(", "),
            this = typed(&folder.join("nats.conf")),
            port = self.port,
            store = file("jetstream"),
            certificate = file("broker.pem"),
            key = file("broker-key.pem"),
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

/// What a worker may publish.
fn worker_publishes(run: &str) -> Vec<String> {
    let (jobs, weights) = (format!("flipside-{run}-jobs"), format!("OBJ_flipside-{run}-weights"));
    vec![
        format!("flipside.{run}.results.>"),
        format!("flipside.{run}.alive.*"),
        format!("$JS.API.STREAM.INFO.{jobs}"),
        format!("$JS.API.CONSUMER.INFO.{jobs}.workers"),
        format!("$JS.API.CONSUMER.MSG.NEXT.{jobs}.workers"),
        format!("$JS.ACK.{jobs}.workers.>"),
        format!("$JS.API.STREAM.INFO.{weights}"),
        format!("$JS.API.STREAM.MSG.GET.{weights}"),
        format!("$JS.API.DIRECT.GET.{weights}.>"),
        format!("$JS.API.CONSUMER.CREATE.{weights}"),
        format!("$JS.API.CONSUMER.CREATE.{weights}.>"),
        format!("$JS.API.CONSUMER.INFO.{weights}.>"),
        format!("$JS.API.CONSUMER.DELETE.{weights}.>"),
        format!("$JS.FC.{weights}.>"),
    ]
}

/// Whether a text is an address, or a name that a certificate can have.
fn is_host(text: &str) -> bool {
    let is_label = |label: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        (1..=63).contains(&label.len()) && !label.starts_with('-') && label.chars().all(plain)
    };
    text.parse::<IpAddr>().is_ok() || (text.len() <= 253 && text.split('.').all(is_label))
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
