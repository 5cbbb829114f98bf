//! Writing of files: atomically, with stated permissions, and never through a link that a repository contains. A
//! crash leaves the old or the new file, never a part of one.
#![allow(clippy::disallowed_methods, reason = "this module is where the commands write files")]

use std::fs;
use std::io::Write;
use std::io::{self};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, RawMode};

use super::output_path::{self, MissingDirectories};
use super::stack_files::{add_context, parent_of};

/// Writes one of stead's state files, readable only by its owner; durable on return. Links in the path are allowed,
/// because the directory is the user's own.
///
/// # Errors
/// When a directory or the file cannot be written.
pub(in crate::cli) fn write_state(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let attempt = || {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        let (folder, name) = parent_of(path)?;
        folder.replace(&name, 0o600, |file| file.write_all(bytes))
    };
    attempt().map_err(|error| add_context(&error, "write", path))
}

/// Writes an output file atomically, readable only by its owner, and creates missing directories; durable on return.
///
/// # Errors
/// When a directory or the file cannot be written, or a link of the repository is in the path.
pub(in crate::cli) fn write_private(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    write_with_mode(path, bytes, 0o600)
}

/// Writes a new file, readable only by its owner; durable on return. Returns `false`, and writes nothing, if the
/// path exists. A crash during the write leaves an incomplete file.
///
/// # Errors
/// When the directory does not exist, or the file cannot be written.
pub(in crate::cli) fn write_new_private(path: &Path, bytes: &[u8]) -> anyhow::Result<bool> {
    let attempt = || {
        let (folder, name) = parent_of(path)?;
        // With `EXCL`, a file that another process creates meanwhile is not overwritten.
        let mut file = folder.open_file(&name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        folder.sync()
    };
    match attempt() {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(add_context(&error, "write", path)),
    }
}

/// Writes an output file atomically, readable by all users as far as the umask allows, and creates missing
/// directories; durable on return.
///
/// # Errors
/// When a directory or the file cannot be written, or a link of the repository is in the path.
pub(in crate::cli) fn write_public(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    write_with_mode(path, bytes, 0o644)
}

/// Writes an executable file atomically, and creates missing directories; durable on return.
///
/// # Errors
/// When a directory or the file cannot be written, or a link of the repository is in the path.
pub(in crate::cli) fn write_program(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    write_with_mode(path, bytes, 0o755)
}

fn write_with_mode(path: &Path, bytes: &[u8], mode: u32) -> anyhow::Result<()> {
    let attempt = || {
        let (folder, name) = output_path::open_parent(path, MissingDirectories::Create)?;
        folder.replace(&name, mode, |file| file.write_all(bytes))
    };
    attempt().map_err(|error| add_context(&error, "write", path))
}

/// Rewrites an existing file atomically, keeping its permissions; durable on return. A link is refused, because the
/// write would replace the link itself.
///
/// # Errors
/// When it does not exist, is not a regular file, or cannot be written.
pub(in crate::cli) fn rewrite_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    rewrite_with(path, bytes, 0o777)
}

/// Rewrites an existing file that contains a secret from now on, and removes the permissions of other users.
///
/// # Errors
/// Those of `rewrite_file`.
pub(in crate::cli) fn rewrite_private(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    rewrite_with(path, bytes, 0o700)
}

fn rewrite_with(path: &Path, bytes: &[u8], mask: u32) -> anyhow::Result<()> {
    let attempt = || {
        let data = fs::symlink_metadata(path)?;
        if !data.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let (folder, name) = parent_of(path)?;
        let mode = data.mode() & mask;
        folder.replace(&name, mode, |file| {
            // The umask may have removed permission bits.
            rustix::fs::fchmod(&*file, Mode::from_raw_mode(mode as RawMode))?;
            file.write_all(bytes)
        })
    };
    attempt().map_err(|error| add_context(&error, "write", path))
}
