//! Links that are not followed, and what a path names.

use std::path::Path;
use std::{fs, io};

/// Refuses a path that leads through a link which another user made in a sticky folder, such as one for temporary files: whoever
/// writes there would write wherever that user wants. Linux has the same rule for the last part of a path (`fs.protected_symlinks`),
/// but not for the folders before it, and not everywhere.
///
/// # Errors
/// There is such a link, or a file system that does not say.
#[cfg_attr(not(unix), expect(unused_variables, reason = "no owners and no sticky folders"))]
pub(super) fn check_links(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    for part in path.ancestors().filter(|part| *part != Path::new("")) {
        use std::os::unix::fs::MetadataExt;
        const STICKY: u32 = 0o1000;
        let Some(link) = existing(fs::symlink_metadata(part))?.filter(fs::Metadata::is_symlink) else { continue };
        let folder = fs::metadata(folder_of(part))?;
        let trusted = [folder.uid(), rustix::process::geteuid().as_raw()];
        if folder.mode() & STICKY != 0 && !trusted.contains(&link.uid()) {
            let reason = format!(
                "`{}` is a link that another user made in a folder for all users: it is not followed; remove it, or name another file",
                part.display()
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        }
    }
    Ok(())
}

/// What was found, or that there is nothing.
pub(super) fn existing<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// The folder of a file; the working folder for a bare name.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
}
