//! The file edge: reads a stack's directory, confined reads below it, private atomic writes.
#![allow(clippy::disallowed_methods, reason = "this module is where the commands touch files")]

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use crate::config::discover;
use crate::config::text;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Source, SourceId, Sources};

/// Largest file that `file(…)` or a variable file may be.
const MAX_SIDE_FILE: u64 = 4 * 1024 * 1024;

/// Largest document of a ledger: far more than 100,000 resources need.
const MAX_LEDGER: u64 = 4 * 1024 * 1024 * 1024;

/// The stack files of a directory, or what is wrong with them.
#[derive(Debug, Default)]
pub(super) struct StackFiles {
    /// The files, in name order.
    pub(super) sources: Sources,
    /// Files that are no text, and the like.
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Reads every stack file of a directory.
///
/// # Errors
/// When the directory or a file cannot be read.
pub(super) fn read_stack(directory: &Path) -> anyhow::Result<StackFiles> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .map_err(|error| about(&error, "read the directory", directory))?
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| discover::is_stack_file(name))
        .collect();
    names.sort();
    let mut files = StackFiles::default();
    for name in names {
        let path = directory.join(&name);
        let shown = shown(&path);
        let bytes = read_bounded(&path, text::MAX_BYTES).map_err(|error| about(&error, "read", &path))?;
        let id = files.sources.next();
        match text::decode(id, bytes) {
            Ok(text) => {
                files.sources.add(Source::new(shown, text));
            }
            Err(unreadable) => {
                files.sources.add(Source::new(shown, unreadable.shown));
                files.diagnostics.push(unreadable.diagnostic);
            }
        }
    }
    Ok(files)
}

/// Reads a variable file as `(shown path, text)`.
///
/// # Errors
/// When it cannot be read or is no text.
pub(super) fn read_var_file(path: &Path) -> anyhow::Result<(String, String)> {
    let bytes = read_bounded(path, MAX_SIDE_FILE).map_err(|error| about(&error, "read", path))?;
    let text = text::decode(SourceId(0), bytes).map_err(|unreadable| {
        let problem = unreadable.diagnostic;
        anyhow::anyhow!("{}: {}. {}", shown(path), problem.summary, problem.detail.unwrap_or_default())
    })?;
    Ok((shown(path), text))
}

/// Reads a regular file below `root`, by a relative path without `..` and without symbolic links.
///
/// # Errors
/// When the path leaves the root, passes a link, is no regular file or is too large.
pub(super) fn read_below(root: &Path, relative: &Path) -> io::Result<Vec<u8>> {
    let path = place_below(root, relative)?;
    if !fs::metadata(&path)?.is_file() {
        return refuse("it is not a regular file");
    }
    read_bounded(&path, MAX_SIDE_FILE)
}

/// Returns a path inside `root`, reached without `..` and without symbolic links.
///
/// # Errors
/// When the path leaves the root or passes a link.
pub(super) fn place_below(root: &Path, relative: &Path) -> io::Result<PathBuf> {
    let mut path = root.to_path_buf();
    for part in relative.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => {
                path.push(name);
                if fs::symlink_metadata(&path).is_ok_and(|data| data.file_type().is_symlink()) {
                    return refuse("it passes a symbolic link");
                }
            }
            _ => return refuse("it leaves the stack's directory"),
        }
    }
    Ok(path)
}

fn refuse<T>(why: &str) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// Writes a file whole or not at all, readable by its owner only; durable on return.
///
/// # Errors
/// When a directory or the file cannot be written.
pub(super) fn write_private(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    write(path, bytes, 0o600)
}

/// Writes a file whole or not at all, with the usual permissions; durable on return.
///
/// # Errors
/// When a directory or the file cannot be written.
pub(super) fn write_public(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    write(path, bytes, 0o644)
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let attempt = || -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut file = tempfile::Builder::new()
            .prefix(".stead-")
            .permissions(fs::Permissions::from_mode(mode))
            .tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        File::open(folder)?.sync_all()
    };
    attempt().map_err(|error| about(&error, "write", path))
}

/// Reads a text file that stead wrote; `None` when there is none.
///
/// # Errors
/// When it is there but cannot be read.
pub(super) fn read_optional(path: &Path) -> anyhow::Result<Option<String>> {
    match read_bounded(path, text::MAX_BYTES) {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| anyhow::anyhow!("{} is not UTF-8 text", shown(path))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(about(&error, "read", path)),
    }
}

/// Reads a file that stead wrote, however large; `None` when there is none.
///
/// # Errors
/// When it is there but cannot be read.
pub(super) fn read_whole(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    match read_bounded(path, MAX_LEDGER) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(about(&error, "read", path)),
    }
}

/// Makes a directory, and those above it, readable by its owner only.
///
/// # Errors
/// When it cannot be made.
pub(super) fn make_private_directory(path: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| about(&error, "make the directory", path))
}

/// Returns the last part of a directory's full path; empty where there is none.
pub(super) fn directory_name(path: &Path) -> String {
    let full = std::path::absolute(path).unwrap_or_default();
    let parts: PathBuf = full.components().filter(|part| *part != Component::CurDir).collect();
    parts.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Tells whether something stands at a path.
pub(super) fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn read_bounded(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// Returns a path as the user would type it.
pub(super) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.strip_prefix("./").unwrap_or(&text).to_owned()
}

fn about(error: &io::Error, action: &str, path: &Path) -> anyhow::Error {
    anyhow::anyhow!("cannot {action} {}: {error}", shown(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stay_below_the_root() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a.txt"), "x").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.path().join("link")).unwrap();
        assert_eq!(read_below(root.path(), Path::new("./a.txt")).unwrap(), b"x");
        for bad in ["../a.txt", "/etc/passwd", "link", "."] {
            assert!(read_below(root.path(), Path::new(bad)).is_err(), "{bad}");
        }
        assert!(
            place_below(root.path(), Path::new("link")).is_err()
                && place_below(root.path(), Path::new("../x")).is_err()
        );
    }

    #[test]
    fn private_files_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("deep/er/secret");
        write_private(&path, b"x").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
