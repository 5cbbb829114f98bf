//! File access of the CLI: reads the stack's directory, confines reads below a root, and reads and changes the
//! user's own files. A read has a size limit; a file of a stack is opened without following links, in any component.
#![allow(clippy::disallowed_methods, reason = "this module is where the commands touch files")]

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{FileType, Mode, OFlags, RawMode};

use super::output_path::{self, MissingDirectories};
use crate::cli::process::env::{EnvVariables, user_config_dir};
use crate::cli::process::profile::Profiles;
use crate::config::input::discovery;
use crate::config::input::files::{DirectoryEntry, DirectoryEntryKind, Files};
use crate::config::syntax::decode;
use crate::ledger::stores::file::dir_handle::{DirHandle, read_bounded, read_named, remove_named};
use crate::model::address::Name;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Source, SourceId, Sources};

/// Maximum size in bytes of a file that `file(…)` reads, or of a variable file.
const MAX_SIDE_FILE: u64 = 4 * 1024 * 1024;

/// Maximum size of a ledger document in bytes; 100,000 resources need far less.
const MAX_LEDGER: u64 = 4 * 1024 * 1024 * 1024;

/// The stack files of a directory, with the diagnostics of undecodable ones.
#[derive(Debug, Default)]
pub(in crate::cli) struct StackFiles {
    /// The files, sorted by name; an undecodable one has a placeholder for its content.
    pub(in crate::cli) sources: Sources,
    /// Problems of individual files, such as invalid UTF-8; empty if all were decoded.
    pub(in crate::cli) diagnostics: Vec<Diagnostic>,
}

/// Reads every stack file of a directory, none of which may be a link: an untrusted stack could reveal the link's
/// target. A directory without stack files yields an empty list.
///
/// # Errors
/// When the directory or a file cannot be read, or a file is too large.
pub(in crate::cli) fn read_stack(directory: &Path) -> anyhow::Result<StackFiles> {
    read_stack_but(directory, &|_| false, &mut |_, _| {})
}

/// Reads a stack's files, except those whose name `but` selects; `on_read` gets the name and the bytes of each.
///
/// # Errors
/// Those of `read_stack`.
pub(in crate::cli) fn read_stack_but(
    directory: &Path,
    but: &dyn Fn(&str) -> bool,
    on_read: &mut dyn FnMut(&str, &[u8]),
) -> anyhow::Result<StackFiles> {
    let folder = DirHandle::open_user_dir(directory)
        .map_err(|error| add_context(&error, "read the directory", directory))?;
    let mut names = folder.names().map_err(|error| add_context(&error, "read the directory", directory))?;
    names.retain(|name| discovery::is_stack_file(name) && !but(name));
    names.sort();
    let mut files = StackFiles::default();
    for name in names {
        let path = directory.join(&name);
        let shown = display_path(&path);
        let bytes = folder
            .open_below(Path::new(&name))
            .and_then(|file| read_bounded(file, decode::MAX_BYTES))
            .map_err(|error| add_context(&error, "read", &path))?;
        on_read(&name, &bytes);
        let id = files.sources.next();
        match decode::decode_utf8(id, bytes) {
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

/// Returns the sorted names of the directory entries that a predicate selects; empty if there are none.
///
/// # Errors
/// When the directory cannot be read.
pub(in crate::cli) fn entry_names(
    directory: &Path,
    is_wanted: fn(&str) -> bool,
) -> anyhow::Result<Vec<String>> {
    let names = DirHandle::open_user_dir(directory).and_then(|folder| folder.names());
    let mut names = names.map_err(|error| add_context(&error, "read the directory", directory))?;
    names.retain(|name| is_wanted(name));
    names.sort();
    Ok(names)
}

/// Reads a variable file as (displayed path, content). It is named on the command line, so it may be at any path and
/// may be a pipe. For an untrusted stack it must not be a link, because the stack could have put it there.
///
/// # Errors
/// When it cannot be read, is too large or is not UTF-8. The error quotes none of its content.
pub(in crate::cli) fn read_var_file(path: &Path, trust: Trust) -> anyhow::Result<(String, String)> {
    let read = match trust {
        Trust::Full => read_named(path, MAX_SIDE_FILE),
        Trust::None => parent_of(path)
            .and_then(|(folder, name)| folder.open_below(Path::new(&name)))
            .and_then(|file| read_bounded(file, MAX_SIDE_FILE)),
    };
    let bytes = read.map_err(|error| add_context(&error, "read", path))?;
    let text = decode::decode_utf8(SourceId(0), bytes).map_err(|unreadable| {
        // The diagnostic names only the line: the column would reveal the length of a value, and the invalid byte may
        // be part of one.
        let problem = unreadable.diagnostic;
        let source = Source::new("", unreadable.shown);
        let line = problem.span().map_or(1, |span| source.line_column(span.start).0);
        let help = problem.help.unwrap_or_default();
        anyhow::anyhow!("{}, line {line}: {}. {help}", display_path(path), problem.summary)
    })?;
    Ok((display_path(path), text))
}

/// Whether the author of the stack is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Trust {
    /// The user's own stack.
    Full,
    /// An untrusted stack, such as a pull request from a fork.
    None,
}

/// Reads a regular file below `root`, by a relative path without `..` and without symbolic links.
///
/// # Errors
/// When the path leaves the root, contains a link, is not a regular file or is too large.
pub(in crate::cli) fn read_below(root: &Path, relative: &Path) -> io::Result<Vec<u8>> {
    read_bounded(DirHandle::open_user_dir(root)?.open_below(relative)?, MAX_SIDE_FILE)
}

/// Read access for a configuration, confined below the stack's directory and the root for shared configuration.
#[derive(Debug, Clone)]
pub(in crate::cli) struct ConfinedFiles {
    /// Directory of the stack.
    pub(in crate::cli) root: PathBuf,
    /// Whether the stack is trusted. For an untrusted one `file(…)` reads nothing; source directories may be compared.
    pub(in crate::cli) trust: Trust,
    /// Root for shared configuration: no shared file may be outside of it.
    pub(in crate::cli) shared: SharedRoot,
}

/// The root for shared configuration, and the position of the stack below it.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct SharedRoot {
    /// Directory that no shared file may be outside of.
    pub(in crate::cli) root: PathBuf,
    /// Directory names from the root to the stack's directory; empty if they are the same.
    pub(in crate::cli) place: Vec<Name>,
}

impl SharedRoot {
    /// Finds the root for a stack's directory: the nearest directory with `.git`, else the stack's directory itself.
    /// With `outside` it is the root of the file system.
    pub(in crate::cli) fn find_root(directory: &Path, outside: bool) -> Self {
        let own = || Self { root: directory.to_owned(), place: Vec::new() };
        let Ok(full) = fs::canonicalize(directory) else { return own() };
        let root = full.ancestors().find(|above| {
            if outside { above.parent().is_none() } else { path_exists(&above.join(".git")) }
        });
        let way = root.and_then(|root| full.strip_prefix(root).ok());
        let names = |way: &Path| way.iter().map(|part| part.to_str().map(Name::new)).collect();
        match (root, way.and_then(names)) {
            (Some(root), Some(place)) => Self { root: root.to_owned(), place },
            _ => own(),
        }
    }
}

impl Files for ConfinedFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if self.trust == Trust::None {
            let why = "with --untrusted, stead reads only the stack's own files";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        read_below(&self.root, path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(DirHandle::open_user_dir(&self.root)?.open_below(path)?))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        let root = DirHandle::open_user_dir(&self.root)?;
        let listed = root.list_below(path)?.into_iter().map(|(name, stat)| {
            let what = match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => DirectoryEntryKind::Directory,
                FileType::RegularFile => DirectoryEntryKind::File {
                    size: u64::try_from(stat.st_size).unwrap_or_default(),
                    executable: stat.st_mode & 0o100 != 0,
                },
                FileType::Symlink => DirectoryEntryKind::Link(root.link_below(&path.join(&name))?),
                _ => DirectoryEntryKind::Special,
            };
            Ok(DirectoryEntry { name, what })
        });
        listed.collect()
    }

    fn path_from_root(&self) -> Vec<Name> {
        self.shared.place.clone()
    }

    fn read_shared(&self, path: &Path) -> io::Result<Vec<u8>> {
        read_bounded(DirHandle::open_user_dir(&self.shared.root)?.open_below(path)?, decode::MAX_BYTES)
    }

    fn names_shared(&self, path: &Path) -> io::Result<Vec<String>> {
        let listed = DirHandle::open_user_dir(&self.shared.root)?.list_below(path)?;
        Ok(listed.into_iter().filter_map(|(name, _)| name.into_string().ok()).collect())
    }

    fn in_dir(&self, path: &Path) -> Option<Rc<dyn Files>> {
        Some(Rc::new(Self { root: self.shared.root.join(path), ..self.clone() }))
    }
}

/// Reads a text file below `root`, like `read_below`; `None` if it does not exist.
///
/// # Errors
/// Those of `read_below`, or when it is not UTF-8.
pub(in crate::cli) fn read_optional_below(root: &Path, relative: &Path) -> io::Result<Option<String>> {
    match read_below(root, relative) {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Changes a text file below `root` atomically, readable only by its owner; durable on return. `change` gets the
/// present content, `None` if there is no file, and returns the new one. Other processes that change a file of the
/// same directory with this function wait meanwhile. The path must not contain `..` or a link, not even one that is
/// created during the write.
///
/// # Errors
/// When the path leaves the root or contains a link, the file is not text or cannot be written, or `change` refuses
/// the present content.
pub(in crate::cli) fn change_private_below(
    root: &Path,
    relative: &Path,
    change: impl FnOnce(Option<&str>) -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    let name = file_name(relative)?;
    let folder = relative.parent().unwrap_or(Path::new(""));
    let folder = DirHandle::open_user_dir(root)?.make_below(folder)?;
    let _lock = folder.lock()?;
    let old = match folder.read_bounded(&name, MAX_SIDE_FILE)? {
        Some(bytes) => Some(
            String::from_utf8(bytes)
                .map_err(|_| anyhow::anyhow!("it contains something other than text"))?,
        ),
        None => None,
    };
    let text = change(old.as_deref())?;
    Ok(folder.replace(&name, 0o600, |file| file.write_all(text.as_bytes()))?)
}

/// Removes the report of an earlier run, if there is one.
///
/// # Errors
/// When it cannot be removed, or the path is not a regular file.
pub(in crate::cli) fn remove_report(path: &Path) -> anyhow::Result<()> {
    let attempt = || match output_path::open_parent(path, MissingDirectories::Fail) {
        Ok((folder, name)) => folder.remove(&name),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    attempt().map_err(|error| add_context(&error, "remove", path))
}

/// Reads a file that an earlier command wrote to a path given by the user.
///
/// # Errors
/// When it is missing, too large or not a regular file, its path contains a link of the repository, or a read fails.
pub(in crate::cli) fn read_output(path: &Path) -> anyhow::Result<Vec<u8>> {
    let attempt = || {
        let (folder, name) = output_path::open_parent(path, MissingDirectories::Fail)?;
        let none = || io::Error::from(io::ErrorKind::NotFound);
        folder.read_bounded(&name, decode::MAX_BYTES)?.ok_or_else(none)
    };
    attempt().map_err(|error| add_context(&error, "read", path))
}

/// Reads a configuration file that the user named; a link or a pipe is accepted.
///
/// # Errors
/// When it cannot be read, or is too large.
pub(in crate::cli) fn read_text(path: &Path) -> anyhow::Result<Vec<u8>> {
    read_named(path, decode::MAX_BYTES).map_err(|error| add_context(&error, "read", path))
}

/// Reads standard input to its end.
///
/// # Errors
/// When it cannot be read, or is too large.
pub(in crate::cli) fn read_standard_input() -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(decode::MAX_BYTES + 1).read_to_end(&mut bytes);
    match read {
        Ok(n) if n as u64 <= decode::MAX_BYTES => Ok(bytes),
        Ok(_) => Err(anyhow::anyhow!("standard input is larger than {} bytes", decode::MAX_BYTES)),
        Err(error) => Err(add_context(&error, "read", Path::new("standard input"))),
    }
}

/// Returns the parent directory of a path as an open handle, and the file's name.
pub(super) fn parent_of(path: &Path) -> io::Result<(DirHandle, String)> {
    Ok((DirHandle::open_user_dir(path.parent().unwrap_or(Path::new("")))?, file_name(path)?))
}

fn file_name(path: &Path) -> io::Result<String> {
    let name = path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    name.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it is not a file name"))
}

/// Reads a text file that stead or Git wrote; `None` if it does not exist.
///
/// # Errors
/// When it exists but cannot be read, is too large or is not UTF-8.
pub(in crate::cli) fn read_optional(path: &Path) -> anyhow::Result<Option<String>> {
    match read_named(path, decode::MAX_BYTES) {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| anyhow::anyhow!("{} is not UTF-8 text", display_path(path))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(add_context(&error, "read", path)),
    }
}

/// Reads a file that the user named, of at most 4 MiB; a link or a pipe is accepted.
///
/// # Errors
/// When it cannot be read, or is too large.
pub(in crate::cli) fn read_bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    read_named(path, MAX_SIDE_FILE).map_err(|error| add_context(&error, "read", path))
}

/// Reads a secret file of the user. A pipe is accepted, because it has no permissions for other users; a link is
/// accepted, because it is the user's own.
///
/// # Errors
/// When it cannot be read or is too large, belongs to another user, or other users can read or write it.
pub(in crate::cli) fn read_own_secret(path: &Path) -> anyhow::Result<Vec<u8>> {
    let fail = |error: io::Error| add_context(&error, "read", path);
    // The metadata is that of the open file: between a check by path and the read, the file could be replaced.
    let (file, place) = (fs::File::open(path).map_err(fail)?, display_path(path));
    let data = file.metadata().map_err(fail)?;
    anyhow::ensure!(!data.is_dir(), "{place} is not used: it is a directory");
    anyhow::ensure!(
        data.uid() == 0 || data.uid() == rustix::process::geteuid().as_raw(),
        "{place} is not used: it belongs to another user"
    );
    let others = data.mode() & 0o077;
    anyhow::ensure!(
        !data.is_file() || others == 0,
        "{place} is not used: it holds a secret, and other users can read or write it. Run: chmod 600 {place}"
    );
    read_bounded(file, decode::MAX_BYTES).map_err(fail)
}

/// Reads the user's `settings.toml`; a missing one has no profiles. It names hosts and programs, so other users must
/// not be able to write it; links are accepted.
///
/// # Errors
/// When it cannot be read, belongs to another user, other users can write it, or it has an invalid key.
pub(in crate::cli) fn read_profiles(variables: &EnvVariables) -> anyhow::Result<Profiles> {
    let Some(path) = user_config_dir(variables).map(|folder| folder.join("settings.toml")) else {
        return Ok(Profiles::none("settings.toml"));
    };
    let place = display_path(&path);
    let fail = |error: io::Error| add_context(&error, "read", &path);
    let file = match fs::File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Profiles::none(place)),
        Err(error) => return Err(fail(error)),
    };
    let data = file.metadata().map_err(fail)?;
    let owner = data.uid();
    anyhow::ensure!(
        data.is_file() && (owner == 0 || owner == rustix::process::geteuid().as_raw()),
        "{place} is not used: it is not a file, or belongs to another user"
    );
    anyhow::ensure!(
        data.mode() & 0o022 == 0,
        "{place} is not used: other users can write it; it names hosts and programs. Run: chmod go-w {place}"
    );
    let bytes = read_bounded(file, decode::MAX_BYTES).map_err(fail)?;
    let text = String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("{place} is not UTF-8 text"))?;
    Ok(Profiles::parse(&place, &text)?)
}

/// Returns which of the forbidden permission bits a file has, 0 if none; `None` unless it is a regular file (no link).
pub(in crate::cli) fn loose_bits(path: &Path, forbidden: u32) -> Option<u32> {
    let data = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some(data.mode() & forbidden)
}

/// Removes permission bits of a file that the user owns, without following a link; returns the previous mode.
///
/// # Errors
/// When it is a link, belongs to another user, or cannot be changed.
pub(in crate::cli) fn restrict_permissions(path: &Path, forbidden: u32) -> anyhow::Result<u32> {
    let attempt = || {
        let (folder, name) = parent_of(path)?;
        let file = folder.open_file(&name, OFlags::RDONLY)?;
        let data = file.metadata()?;
        if data.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
        }
        let mode = data.mode() & 0o7777;
        rustix::fs::fchmod(&file, Mode::from_raw_mode((mode & !forbidden) as RawMode))?;
        Ok(mode)
    };
    attempt().map_err(|error| add_context(&error, "change the mode of", path))
}

/// Reads a ledger document, of at most 4 GiB; `None` if it does not exist.
///
/// # Errors
/// When it exists but cannot be read, or is too large.
pub(in crate::cli) fn read_whole(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    match read_named(path, MAX_LEDGER) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(add_context(&error, "read", path)),
    }
}

/// Creates one of stead's own directories and its parents, readable only by the owner.
///
/// # Errors
/// When it cannot be created, is a link, or other users can write to it.
pub(in crate::cli) fn make_private_directory(path: &Path) -> anyhow::Result<()> {
    DirHandle::create_private_dir(path)
        .map(drop)
        .map_err(|error| add_context(&error, "create the directory", path))
}

/// Returns a path with all links resolved; `None` if it does not exist.
pub(in crate::cli) fn real_path(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

/// Returns a file's path relative to a root, both with all links resolved; `None` if it is not below the root, or
/// one of them does not exist.
pub(in crate::cli) fn path_from(root: &Path, file: &Path) -> Option<PathBuf> {
    let (root, file) = (fs::canonicalize(root).ok()?, fs::canonicalize(file).ok()?);
    file.strip_prefix(root).ok().map(Path::to_owned)
}

/// Returns the absolute path with the links of its existing components resolved; missing ones are kept as they are.
pub(in crate::cli) fn full_path(path: &Path) -> PathBuf {
    let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let resolved = |part: &Path| Some(fs::canonicalize(part).ok()?.join(full.strip_prefix(part).ok()?));
    let found = full.ancestors().find_map(resolved).unwrap_or_else(|| full.clone());
    found.components().collect()
}

/// Returns the last component of a directory's absolute path; empty for the root. Links are not resolved.
pub(in crate::cli) fn directory_name(path: &Path) -> String {
    let full = std::path::absolute(path).unwrap_or_default();
    let parts: PathBuf = full.components().filter(|part| *part != Component::CurDir).collect();
    parts.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Removes a file, if it exists; errors are ignored.
pub(in crate::cli) fn remove_file(path: &Path) {
    remove_named(path);
}

/// Returns whether a path exists; a dangling link does.
pub(in crate::cli) fn path_exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Returns a path as the user would type it, without a leading `./`. It is not escaped for a terminal.
pub(in crate::cli) fn display_path(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.strip_prefix("./").unwrap_or(&text).to_owned()
}

/// Returns the error of an operation on a file, with the operation and the path.
pub(in crate::cli) fn add_context(error: &io::Error, action: &str, path: &Path) -> anyhow::Error {
    anyhow::anyhow!("cannot {action} {}: {error}", display_path(path))
}

#[cfg(test)]
mod tests;
