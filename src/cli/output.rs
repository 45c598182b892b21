//! Where a command writes its result: `-o`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::{CliError, Context};
use super::input::{STANDARD_STREAM, name_of};
use flipside::storage::{atomic_replace_together, atomic_write, claim, file_id};
use flipside::train::run_of_file;

/// The output named by an option, checked before the work begins: `-` is standard output, a file is replaced once the whole
/// result is ready, and anything but a regular file (a pipe, a device) is written directly. A file that another command is changing
/// is refused, and until this is dropped no other command changes it.
pub struct Output {
    path: PathBuf,
    to: Destination,
    /// What keeps other commands from changing the file that is there.
    _claimed: Option<File>,
}

/// The system's names for open files. Such a file may be a regular one, with content that we must not replace.
const OPEN_FILES: [&str; 4] = ["/dev/fd", "/dev/stdout", "/dev/stderr", "/proc/self/fd"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Destination {
    StandardOutput,
    /// See [`atomic_write`].
    File,
    /// One of [`OPEN_FILES`], written at its end.
    OpenFile,
}

impl Output {
    /// Checks that a result can be written to `path`, and that this is none of the `inputs` (paths as typed).
    ///
    /// # Errors
    /// A path that is an input (even by another name or a link), a run's own file, a folder, in no existing folder, not writable, or
    /// being changed by another command.
    pub fn check<'p>(path: &Path, inputs: impl IntoIterator<Item = &'p Path>) -> Result<Self, CliError> {
        let id = file_id(path).ok();
        let is_same = |other| id.is_some() && id == file_id(other).ok();
        let to = if path == Path::new(STANDARD_STREAM) || is_same(Path::new("/dev/stdout")) {
            Destination::StandardOutput
        } else if OPEN_FILES.iter().any(|names| path.starts_with(names)) {
            Destination::OpenFile
        } else {
            Destination::File
        };
        let mut output = Self { path: path.to_owned(), to, _claimed: None };
        if to == Destination::File {
            let stdin = |input| if input == Path::new(STANDARD_STREAM) { Path::new("/dev/stdin") } else { input };
            output._claimed = output.check_file(inputs.into_iter().find(|input| is_same(stdin(input))))?;
        }
        Ok(output)
    }

    /// Checks that the file may be replaced, and claims it if it is there.
    fn check_file(&self, same_input: Option<&Path>) -> Result<Option<File>, CliError> {
        if let Some(input) = same_input {
            let (shown, input) = (self.path.display(), name_of(input));
            return Err(CliError::Usage(format!(
                "the output `{shown}` is the input {input} too: write to another file"
            )));
        }
        if let Some(run) = run_of_file(&self.path) {
            let (shown, run) = (self.path.display(), run.display());
            return Err(CliError::Usage(format!(
                "the output `{shown}` is a file of the run `{run}`: write to another file"
            )));
        }
        claim(&self.path).context(|| self.failure())
    }

    /// Whether it is standard output, to which nothing else may be written then.
    pub fn is_standard_output(&self) -> bool {
        self.to == Destination::StandardOutput
    }

    /// Whether it is replaced atomically, or not at all.
    pub fn is_replaced(&self) -> bool {
        self.to == Destination::File && (!self.path.exists() || self.path.is_file())
    }

    /// Where the state of unfinished work on the result is kept: beside it, or in the working folder if it is not a file.
    pub fn unfinished(&self) -> PathBuf {
        let mut path = if self.is_replaced() { self.path.clone().into_os_string() } else { "flipside".into() };
        path.push(".part");
        path.into()
    }

    /// Writes the result; `out` is standard output.
    ///
    /// # Errors
    /// The system's, with the output's name, and those of `result` that say something else.
    pub fn write<R, E: From<io::Error> + Into<CliError>>(
        &self,
        out: &mut dyn Write,
        result: impl FnOnce(&mut dyn Write) -> Result<R, E>,
    ) -> Result<R, CliError> {
        let written = match self.to {
            Destination::StandardOutput => return result(out).map_err(E::into),
            Destination::File => atomic_write(&self.path, result),
            Destination::OpenFile => {
                let file = OpenOptions::new().append(true).open(&self.path);
                file.map_err(E::from).and_then(|mut file| result(&mut file))
            }
        };
        written.map_err(|error| self.explain(error.into()))
    }

    /// Writes the result, and then the file's name to standard output unless the result went there.
    ///
    /// # Errors
    /// Those of [`Self::write`].
    pub fn write_and_name<E: From<io::Error> + Into<CliError>>(
        &self,
        out: &mut dyn Write,
        result: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), CliError> {
        self.write(out, result)?;
        if !self.is_standard_output() {
            writeln!(out, "{}", self.path.display())?;
        }
        Ok(())
    }

    /// Writes files that belong together, each by its number: none is replaced if one cannot be written. Then their names to standard
    /// output.
    ///
    /// # Errors
    /// Those of [`Self::write`].
    pub fn write_together(
        out: &mut dyn Write,
        files: &[Self],
        write: impl FnMut(usize, &mut dyn Write) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let paths: Vec<_> = files.iter().map(|output| &*output.path).collect();
        atomic_replace_together(&paths, write).map_err(|(failed, error)| files[failed].explain(error))?;
        Ok(files.iter().try_for_each(|output| writeln!(out, "{}", output.path.display()))?)
    }

    /// An error with the output's name, if it is the system's.
    fn explain(&self, error: CliError) -> CliError {
        match error {
            CliError::Output(error) => CliError::because(self.failure(), error),
            other => other,
        }
    }

    fn failure(&self) -> String {
        format!("cannot write `{}`", self.path.display())
    }
}
