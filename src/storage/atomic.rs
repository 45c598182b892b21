//! Replacing a file at once or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use tempfile::{NamedTempFile, TempPath};

use super::links::{check_links, existing, folder_of};
use super::lock::open_locked;
use crate::threads::lock;

/// Writes a file through a temporary one in the same folder: write, fsync, rename over `path`, fsync of the folder. Whatever
/// happens (an error of `write`, a full disk, a killed process, a power cut) `path` holds either what it held before or all of
/// the new content.
///
/// A symbolic link stays one: the file it points to is replaced, or created. A link that another user planted in a folder which all
/// may write to is refused. The new file has the permissions of the one it replaces. Anything but a regular file (a pipe, a device)
/// cannot be replaced and is written directly.
///
/// # Errors
/// Whatever `write` returns or the file system reports; the temporary file is then removed.
pub fn atomic_write<R, E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<R, E>,
) -> Result<R, E> {
    if !is_replaceable(path)? {
        // Created if it has vanished: then the system's rules for other users' pipes apply too.
        let mut writer = BufWriter::new(OpenOptions::new().write(true).create(true).truncate(false).open(path)?);
        let result = write(&mut writer)?;
        writer.flush()?;
        return Ok(result);
    }
    atomic_replace(path, |file| {
        let mut writer = BufWriter::with_capacity(1 << 16, file);
        let result = write(&mut writer)?;
        writer.flush()?;
        Ok(result)
    })
}

/// [`atomic_write`] for writing out of order: `write` gets an empty file that becomes the one at `path`. If there is one already, it must
/// be a regular file.
///
/// # Errors
/// Whatever `write` returns or the file system reports; the temporary file is then removed.
pub fn atomic_replace<R, E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<R, E>,
) -> Result<R, E> {
    let (new, result) = NewFile::write(path, write)?;
    new.replace()?;
    Ok(result)
}

/// [`atomic_replace`] for a file that must not exist: one that another process makes meanwhile is kept.
///
/// # Errors
/// As [`atomic_replace`], and if there is a file.
pub fn atomic_create<R, E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<R, E>,
) -> Result<R, E> {
    let (new, result) = NewFile::write(path, write)?;
    new.create()?;
    Ok(result)
}

/// [`atomic_replace`] for files that belong together: all of them are on disk before the first is put in place, so none is replaced if one
/// cannot be written. Only a failure between the renames leaves some old and some new. `write` gets each file's number, from 0.
///
/// # Errors
/// The number of the file that failed, and whatever `write` returns or the file system reports.
pub fn atomic_replace_together<E: From<io::Error>>(
    paths: &[&Path],
    mut write: impl FnMut(usize, &mut dyn Write) -> Result<(), E>,
) -> Result<(), (usize, E)> {
    let mut whole = |(number, path): (usize, &&Path)| {
        let new = NewFile::write(path, |file| {
            let mut writer = BufWriter::with_capacity(1 << 16, file);
            write(number, &mut writer)?;
            Ok(writer.flush()?)
        });
        new.map(|(new, ())| new).map_err(|error| (number, error))
    };
    let new: Vec<NewFile> = paths.iter().enumerate().map(&mut whole).collect::<Result<_, _>>()?;
    let replace = |(number, new): (usize, NewFile)| new.replace().map_err(|error| (number, error.into()));
    new.into_iter().enumerate().try_for_each(replace)
}

/// A whole file, on disk under a temporary name beside its place. It is removed unless it is put there.
struct NewFile {
    /// Closed: there may be more such files than may be open.
    temporary: TempPath,
    target: PathBuf,
    _written: Written,
}

impl NewFile {
    fn write<R, E: From<io::Error>>(
        path: &Path,
        write: impl FnOnce(&mut File) -> Result<R, E>,
    ) -> Result<(Self, R), E> {
        let target = follow_links(path)?;
        let replaced = existing(fs::symlink_metadata(&target))?;
        if replaced.as_ref().is_some_and(|metadata| !metadata.is_file()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file").into());
        }
        let mut temporary = new_temporary(folder_of(&target))?;
        let written = Written::enter(temporary.path());
        if let Some(metadata) = replaced {
            temporary.as_file().set_permissions(metadata.permissions())?;
        }
        let result = write(temporary.as_file_mut())?;
        temporary.as_file().sync_all()?;
        Ok((Self { temporary: temporary.into_temp_path(), target, _written: written }, result))
    }

    fn replace(self) -> io::Result<()> {
        self.temporary.persist(&self.target)?;
        sync_folder(folder_of(&self.target))
    }

    /// [`Self::replace`] where no file may be.
    fn create(self) -> io::Result<()> {
        self.temporary.persist_noclobber(&self.target)?;
        sync_folder(folder_of(&self.target))
    }
}

/// The temporary files that this process is writing.
static WRITTEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// One of [`WRITTEN`], until it is dropped.
struct Written(PathBuf);

impl Written {
    fn enter(path: &Path) -> Self {
        lock(&WRITTEN).push(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        lock(&WRITTEN).retain(|path| *path != self.0);
    }
}

/// Removes the temporary files that this process is writing. It must be about to end.
pub fn discard_temporaries() {
    for path in lock(&WRITTEN).drain(..) {
        // A file that stays takes space, but does no harm.
        let _ = fs::remove_file(path);
    }
}

/// Checks that [`atomic_write`] can write to `path`, and keeps other commands from changing the file there until the result is
/// dropped: what every command does that will replace a file. `None` if there is no file yet, or only a pipe or a device.
///
/// # Errors
/// Why it cannot be written, such as [`io::ErrorKind::ResourceBusy`]: another command is changing it.
pub fn claim(path: &Path) -> io::Result<Option<File>> {
    const PATIENCE: Duration = Duration::from_millis(500);
    if !is_replaceable(path)? {
        // The system says why a folder cannot be written. A pipe is not opened: that might wait.
        return if path.is_dir() { OpenOptions::new().write(true).open(path).map(Some) } else { Ok(None) };
    }
    new_temporary(folder_of(&follow_links(path)?))?;
    // A file that may not be written is not replaced either.
    match existing(open_locked(path, OpenOptions::new().write(true), PATIENCE)) {
        Ok(Some(None)) => Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            "another command is changing it: wait until that one ends, or write to another file",
        )),
        // There are file systems without locks.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
        claimed => Ok(claimed?.flatten()),
    }
}

/// Whether what is at a path is replaced as a whole: a regular file, or nothing. A folder is not, but cannot be written otherwise.
fn is_replaceable(path: &Path) -> io::Result<bool> {
    check_links(path)?;
    // The system follows links here, and keeps to its own rules for them. If it does not, nothing is written.
    Ok(existing(fs::metadata(path))?.is_none_or(|metadata| metadata.is_file()))
}

/// The path that symbolic links lead to, even if nothing is there.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    const LONGEST: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LONGEST {
        check_links(&path)?;
        match existing(fs::symlink_metadata(&path))? {
            Some(metadata) if metadata.is_symlink() => path = folder_of(&path).join(fs::read_link(&path)?),
            _ => return Ok(path),
        }
    }
    Err(io::Error::other("symbolic links that lead to each other"))
}

const PREFIX: &str = ".flipside-";
const SUFFIX: &str = ".tmp";

/// Removes the temporary files that processes killed in [`atomic_write`] left in a folder. Only for a folder that no other process
/// writes to.
///
/// # Errors
/// The file system's.
pub fn remove_temporaries(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_temporary) {
            match fs::remove_file(entry.path()) {
                // Its process was still alive and has renamed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
    }
    Ok(())
}

/// Whether a file's name is that of a temporary file of [`atomic_write`].
pub fn is_temporary(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

/// A temporary file with the permissions a new file would have.
fn new_temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder).map_err(|error| {
        // The error ends with the temporary file's name, which means nothing to anybody.
        let text = error.to_string();
        let cause = text.split(" at path ").next().unwrap_or_default();
        io::Error::new(error.kind(), format!("cannot make a file in `{}`: {cause}", folder.display()))
    })
}

/// Makes the rename itself durable; systems other than Unix do so by themselves or have no way to ask.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w");
        atomic_write(&path, |w| w.write_all(b"old")).unwrap();
        let failed = atomic_write(&path, |w| {
            w.write_all(b"half of the n")?;
            Err::<(), _>(io::Error::other("disk full"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "disk full");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["w"]);
        atomic_write(&path, |w| w.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["w"]);
    }

    #[test]
    fn what_another_made_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w");
        let made = atomic_create(&path, |file| {
            fs::write(&path, "another's")?;
            file.write_all(b"ours")
        });
        assert_eq!(made.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"another's");
        assert_eq!(names(folder.path()), ["w"]);
        fs::remove_file(&path).unwrap();
        atomic_create(&path, |file| file.write_all(b"ours")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"ours");
    }

    #[test]
    fn files_that_belong_together_are_all_replaced_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, none] = ["a", "b", "none/c"].map(|name| folder.path().join(name));
        fs::write(&a, "old").unwrap();
        let new = [b"new".to_vec(), b"newer".to_vec()];
        let write = |number: usize, out: &mut dyn Write| out.write_all(&new[number % 2]);
        let (failed, error) = atomic_replace_together(&[&a, &b, &none], write).unwrap_err();
        assert_eq!((failed, error.kind()), (2, io::ErrorKind::NotFound));
        assert_eq!(fs::read(&a).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["a"]);
        atomic_replace_together(&[&a, &b], write).unwrap();
        assert_eq!([&a, &b].map(|path| fs::read(path).unwrap()), new);
        assert_eq!(names(folder.path()), ["a", "b"]);
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none").join("w");
        assert_eq!(atomic_write(&path, |w| w.write_all(b"x")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_new_files_have_ordinary_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (path, link, plain) = (folder.path().join("w"), folder.path().join("link"), folder.path().join("plain"));
        fs::write(&path, "old").unwrap();
        fs::write(&plain, "").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        atomic_write(&link, |w| w.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let mode = |path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&plain));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        atomic_write(&link, |w| w.write_all(b"newer")).unwrap();
        assert_eq!(mode(&path) & 0o777, 0o640, "a replaced file's permissions are kept");

        let (dangling, behind) = (folder.path().join("dangling"), folder.path().join("behind"));
        std::os::unix::fs::symlink("behind", &dangling).unwrap();
        atomic_write(&dangling, |w| w.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&dangling).unwrap().is_symlink());
        assert_eq!(fs::read(&behind).unwrap(), b"new");
        let circle = folder.path().join("circle");
        std::os::unix::fs::symlink("circle", &circle).unwrap();
        assert!(atomic_write(&circle, |w| w.write_all(b"new")).is_err());
    }

    /// Only root can be two users.
    #[cfg(unix)]
    #[test]
    fn links_that_another_user_planted_are_not_followed() {
        use std::os::unix::fs::{PermissionsExt, lchown, symlink};
        let folder = tempfile::tempdir().unwrap();
        let [shared, home] = ["shared", "home"].map(|name| folder.path().join(name));
        [&shared, &home].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
        let victim = home.join("profile");
        fs::write(&victim, "precious").unwrap();
        let [file, new, inner] = ["file", "new", "inner"].map(|name| shared.join(name));
        for (link, to) in [(&file, &victim), (&new, &home.join("absent")), (&inner, &home)] {
            symlink(to, link).unwrap();
        }
        let outputs = [file.clone(), new.clone(), inner.join("profile")];
        // Links of one's own are followed.
        outputs.iter().for_each(|path| atomic_write(path, |w| w.write_all(b"mine")).unwrap());
        assert_eq!(names(&home), ["absent", "profile"]);
        if [&file, &new, &inner].into_iter().any(|link| lchown(link, Some(65_534), Some(65_534)).is_err()) {
            eprintln!("only root can give links away: not tested");
            return;
        }
        for path in outputs {
            let errors = [atomic_write(&path, |w| w.write_all(b"theirs")).unwrap_err(), claim(&path).unwrap_err()];
            assert!(errors.iter().all(|error| error.kind() == io::ErrorKind::PermissionDenied), "{errors:?}");
        }
        assert_eq!([&victim, &home.join("absent")].map(|path| fs::read(path).unwrap()), [b"mine", b"mine"]);
        // In a folder that only its owner may write to, they are his business.
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).unwrap();
        atomic_write(&file, |w| w.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"new");
    }

    #[test]
    fn a_file_that_another_is_changing_is_not_claimed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w");
        assert!(claim(&path).unwrap().is_none());
        assert!(!path.exists());
        fs::write(&path, "old").unwrap();
        let claimed = claim(&path).unwrap();
        assert!(claimed.is_some());
        let error = claim(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        drop(claimed);
        claim(&path).unwrap();
        assert!(claim(folder.path()).is_err());
        assert_eq!(names(folder.path()), ["w"]);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_written_straight() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let null = folder.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &null).unwrap();
        atomic_write(&null, |w| w.write_all(b"x")).unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        assert_eq!(names(folder.path()), ["null"]);
        assert!(atomic_write(folder.path(), |w| w.write_all(b"x")).is_err(), "a folder takes no content");
    }
}
