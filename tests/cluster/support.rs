//! A broker, coordinators and workers as processes of their own.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread::{sleep, spawn};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::calling::program;
use crate::helpers::say_skipped;

/// A folder for one test, with a configuration whose generations take a moment. None, with a message, if no broker is installed.
pub fn folder() -> Option<TempDir> {
    if Command::new("nats-server").arg("--version").output().is_err() {
        say_skipped("there is no nats-server here (Debian: apt-get install nats-server)");
        return None;
    }
    Some(with_config())
}

fn with_config() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let set = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/train/small_set.toml");
    let learn = "{ from = \"visits\", generations = 2, epochs = 1, stage-plies = 12, overlap = 0, anneal = 0.0, half = 30.0, floor = 0.01 }";
    let step = |repeat, play| format!("[[steps]]\nrepeat = {repeat}\nplay = {play}\nlearn = {learn}\n");
    let config = format!(
        "patterns = {set:?}\nseed = 5\nfinish = false\ngate = {{ pairs = 1, depth = 1, exact-empties = 4 }}\n{}{}",
        step(
            3,
            "{ games = 1000, depth = 2, exact-empties = 8, opening-plies = 30, exploration = 0.2, margin = 8.0, update = \"td\" }"
        ),
        step(
            1,
            "{ games = 700, depth = 3, selectivity = 1.0, exact-empties = 8, opening-plies = 30, exploration = 0.02, \
             update = \"tdleaf\" }"
        ),
    );
    fs::write(folder.path().join("config.toml"), config).unwrap();
    folder
}

/// The program.
pub fn flipside(arguments: &[&str]) -> Command {
    let mut command = program();
    command.args(arguments).args(["--progress", "never"]).stdin(Stdio::null());
    command
}

/// A process that ends with the test.
pub struct Process {
    child: Child,
    /// Its output.
    pub log: PathBuf,
}

impl Process {
    pub fn spawn(mut command: Command, log: PathBuf) -> Self {
        let file = File::options().create(true).append(true).open(&log).unwrap();
        let child = command.stdout(file.try_clone().unwrap()).stderr(file).spawn().unwrap();
        Self { child, log }
    }

    pub fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until it has printed something.
    pub fn wait_for(&mut self, text: &str) {
        while !self.said().contains(text) {
            assert!(self.child.try_wait().unwrap().is_none(), "ended without `{text}`:\n{}", self.said());
            pause();
        }
    }

    pub fn signal(&self, signal: Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, signal);
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end, and expects an exit code.
    pub fn ends_with(&mut self, code: i32) -> String {
        let status = self.wait();
        let said = self.said();
        assert_eq!(status.code(), Some(code), "{said}");
        said
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A process slowed down to a tenth of its time.
pub struct Slowed(Arc<Process>);

impl From<Process> for Slowed {
    fn from(process: Process) -> Self {
        let process = Arc::new(process);
        let braked = Arc::downgrade(&process);
        spawn(move || {
            while let Some(process) = braked.upgrade() {
                process.signal(Signal::STOP);
                sleep(Duration::from_millis(90));
                process.signal(Signal::CONT);
                drop(process);
                sleep(Duration::from_millis(10));
            }
        });
        Self(process)
    }
}

impl Slowed {
    pub fn at_full_speed(self) -> Process {
        let mut process = self.0;
        loop {
            match Arc::try_unwrap(process) {
                Ok(process) => return process,
                Err(braked) => process = braked,
            }
            sleep(Duration::from_millis(1));
        }
    }
}

/// A moment.
pub fn pause() {
    sleep(Duration::from_millis(20));
}

/// A broker that is ready, or none if it ended before.
fn ready(command: Command, log: &Path) -> Option<Process> {
    let ready = || fs::read_to_string(log).map_or(0, |said| said.matches("Server is ready").count());
    let before = ready();
    let mut process = Process::spawn(command, log.to_owned());
    while ready() == before {
        if !process.is_running() {
            return None;
        }
        pause();
    }
    Some(process)
}

/// A broker on a free port, and that port. If another test takes it first, another port is used.
pub fn on_free_port(log: &Path, command: impl Fn(u16) -> Command) -> (Process, u16) {
    let attempt = || {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Some((ready(command(port), log)?, port))
    };
    (0..10).find_map(|_| attempt()).unwrap_or_else(|| panic!("{}", fs::read_to_string(log).unwrap()))
}

/// A broker with its files in a folder.
pub struct Broker {
    pub process: Process,
    folder: PathBuf,
    pub port: u16,
}

impl Broker {
    pub fn start(folder: &Path) -> Self {
        let (process, port) = on_free_port(&folder.join("broker.log"), |port| Self::command(folder, port));
        Self { process, folder: folder.to_owned(), port }
    }

    fn command(folder: &Path, port: u16) -> Command {
        let mut command = Command::new("nats-server");
        command.args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"]).arg(folder.join("js"));
        command
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Kills it, and starts it again.
    pub fn restart(&mut self) {
        self.process.kill();
        let again = ready(Self::command(&self.folder, self.port), &self.process.log);
        self.process = again.unwrap_or_else(|| panic!("{}", self.process.said()));
    }
}

/// A coordinator of `folder`/NAME with one thread, which runs until it is stopped; options may follow.
pub fn train(folder: &Path, run: &str, url: Option<&str>, options: &[&str]) -> Process {
    let mut command = flipside(&["train"]);
    command.env("FLIPSIDE_THREADS", "1");
    command.arg("--config").arg(folder.join("config.toml")).arg("--run").arg(folder.join(run)).args(options);
    if let Some(url) = url {
        command.args(["--cluster", url]);
    }
    Process::spawn(command, folder.join(format!("{run}.log")))
}

/// Stops a coordinator. Whatever had to happen before has happened, however fast the machine is.
pub fn stop(train: &mut Process) -> String {
    train.signal(Signal::TERM);
    train.ends_with(75)
}

/// Finishes a run that was stopped, one generation after those it has begun.
pub fn finish(folder: &Path, run: &str, url: Option<&str>, options: &[&str]) -> String {
    let generations = (generations(&folder.join(run)) + 1).to_string();
    train(folder, run, url, &[&["--generations", &generations], options].concat()).ends_with(0)
}

/// A worker with one thread.
pub fn worker(folder: &Path, name: &str, url: &str, run: &str) -> Process {
    let command = flipside(&["work", url, "--run", run, "--threads", "1"]);
    Process::spawn(command, folder.join(format!("{name}.log")))
}

fn games_of(run: &Path, generation: u32) -> PathBuf {
    run.join(format!("games/{generation:08}.fsg"))
}

/// The number of generations of which a run has games.
pub fn generations(run: &Path) -> u32 {
    (0..).find(|&generation| !games_of(run, generation).exists()).expect("fewer than 2^32")
}

/// Waits until a run has begun `more` generations more.
pub fn wait_for_more(process: &mut Process, run: &Path, more: u32) {
    let enough = generations(run) + more;
    loop {
        let was_running = process.is_running();
        if generations(run) >= enough {
            return;
        }
        assert!(was_running, "ended before it had {enough} generations:\n{}", process.said());
        pause();
    }
}

/// The results of a run: its weights and its games.
fn left(run: &Path, generations: u32) -> Vec<Vec<u8>> {
    let games = (0..generations).map(|generation| games_of(run, generation));
    [run.join("last.fsw"), run.join("best.fsw")].into_iter().chain(games).map(|file| fs::read(file).unwrap()).collect()
}

/// Checks that a finished run left the same as an undisturbed run on a single machine.
pub fn assert_undisturbed(run: &Path) {
    let generations = generations(run);
    let folder = with_config();
    let options = ["--generations", &generations.to_string(), "--threads", "2"];
    train(folder.path(), "run", None, &options).ends_with(0);
    let (found, expected) = (left(run, generations), left(&folder.path().join("run"), generations));
    let same: Vec<bool> = found.iter().zip(&expected).map(|(a, b)| a == b).collect();
    assert!(same.iter().all(|&same| same), "last, best, games of each generation: {same:?}");
}
