//! Opens the output file that the user named, in such a way that content of the repository (a committed link)
//! cannot redirect the write.
#![allow(clippy::disallowed_methods, reason = "this module is where the commands find where they write")]

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::fs::FileType;

use crate::ledger::stores::file::dir_handle::DirHandle;

/// What to do with missing parent directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum MissingDirectories {
    /// Create all missing parent directories.
    Create,
    /// Leave them missing, which is an error.
    Fail,
}

/// Returns the directory of an output file as an open handle, and the file's name. An attacker with commit access
/// can put a link at the path of a report. So no component below the repository (or, without one, below the working
/// directory) may be a link; links elsewhere are the user's own. The file itself must be a regular one or missing.
///
/// # Errors
/// When the path is not a regular file, a component is a link, or a directory cannot be opened or created.
pub(in crate::cli) fn open_parent(
    path: &Path,
    missing: MissingDirectories,
) -> io::Result<(DirHandle, String)> {
    let name = path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a file name");
    let name = name.ok_or_else(no_name)?;
    let here = std::env::current_dir()?;
    let full = normalize_path(&here.join(path));
    let folder = full.parent().unwrap_or(Path::new("/"));
    let root =
        here.ancestors().find(|above| fs::symlink_metadata(above.join(".git")).is_ok()).unwrap_or(&here);
    let root = fs::canonicalize(root)?;
    // The same directory can have several paths; the shortest ancestor leaves the most components to check.
    let is_root = |above: &&Path| fs::canonicalize(above).is_ok_and(|above| above == root);
    let folder = if let Some(base) = folder.ancestors().filter(is_root).last() {
        let below = folder.strip_prefix(base).unwrap_or(Path::new(""));
        let base = DirHandle::open_user_dir(base)?;
        if missing == MissingDirectories::Create {
            base.make_shared_below(below)?
        } else {
            base.open_subdir(below)?
        }
    } else {
        if missing == MissingDirectories::Create {
            fs::create_dir_all(folder)?;
        }
        DirHandle::open_user_dir(folder)?
    };
    match folder.list_one(&name)? {
        None => Ok((folder, name)),
        Some(stat) => match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((folder, name)),
            FileType::Symlink => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it is a symbolic link, and links are not followed",
            )),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
        },
    }
}

/// Returns an absolute path without `.` and `..`, removed textually: a link before a `..` is not followed.
fn normalize_path(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}
