//! `DirHandle`: an open directory. Every access uses its descriptor and never its path again, so that replacing a
//! part of
//! the path by a symbolic link has no effect.
#![allow(clippy::disallowed_methods, reason = "the edge where files are touched")]

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawMode, Stat};

use crate::ledger::journal::error::StoreError;

/// The path component below which the program creates its own files: from it on, no component may be a link, and no
/// other user may write.
const STEAD_DIR: &str = ".stead";

/// Mode of files that only the owner may read and write.
const PRIVATE_FILE_MODE: Mode = Mode::from_raw_mode(0o600);

/// Mode of directories that no other user may enter.
const PRIVATE_DIR_MODE: Mode = Mode::from_raw_mode(0o700);

/// Flags for every open: no final link is followed, and no pipe or device blocks.
const SAFE_OPEN_FLAGS: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// Flags for opening a directory.
const DIR_OPEN_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Returns the error of an operation on a location.
pub(in crate::ledger) fn file_error(
    action: &'static str,
    place: &Path,
) -> impl FnOnce(io::Error) -> StoreError {
    let place = place.display().to_string();
    move |source| StoreError::Io { action, place, source }
}

/// An open directory, accessed by its descriptor.
#[derive(Debug)]
pub struct DirHandle {
    handle: OwnedFd,
    /// The path for messages.
    path: PathBuf,
}

/// A lock on a directory, until it is dropped.
#[derive(Debug)]
pub struct DirLock {
    handle: OwnedFd,
}

impl Drop for DirLock {
    /// Releases the lock itself, since a process that is being started may have a copy of the descriptor.
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.handle, rustix::fs::FlockOperation::Unlock);
    }
}

impl DirHandle {
    /// Opens a directory that the user named: links in the path are the user's choice.
    ///
    /// # Errors
    /// When it is not there, or is no directory.
    pub fn open_user_dir(path: &Path) -> io::Result<Self> {
        let at = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let handle = rustix::fs::open(at, DIR_OPEN_FLAGS, Mode::empty())?;
        Ok(Self { handle, path: path.to_owned() })
    }

    /// Opens a directory of the program, and checks that no other user can write there.
    ///
    /// # Errors
    /// When it is not there, a part of it is a link, or others can write there.
    pub fn open_private_dir(path: &Path) -> io::Result<Self> {
        let (outside, inside) = split_user_path(path);
        Self::open_user_dir(&outside)?.walk_path(&inside, Self::open_private_child)
    }

    /// Opens a directory like `ours`, and creates the missing components.
    ///
    /// # Errors
    /// When it cannot be made, a part of it is a link, or others can write there.
    pub fn create_private_dir(path: &Path) -> io::Result<Self> {
        let (outside, inside) = split_user_path(path);
        let mut builder = DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        if !outside.as_os_str().is_empty() {
            builder.recursive(true).create(&outside)?;
        }
        Self::open_user_dir(&outside)?.walk_path(&inside, Self::step_or_make)
    }

    /// Opens a directory below this one, and creates the missing components.
    ///
    /// # Errors
    /// When the path leaves this directory, passes a link, or cannot be made.
    pub fn make_below(&self, relative: &Path) -> io::Result<Self> {
        self.make_all(relative, PRIVATE_DIR_MODE)
    }

    /// Does the same as `make_below`; new directories have the usual permissions.
    ///
    /// # Errors
    /// The errors of `make_below`.
    pub fn make_shared_below(&self, relative: &Path) -> io::Result<Self> {
        self.make_all(relative, Mode::from_raw_mode(0o777))
    }

    fn make_all(&self, relative: &Path, mode: Mode) -> io::Result<Self> {
        let here = Self { handle: self.handle.try_clone()?, path: self.path.clone() };
        relative_components(relative)?.into_iter().try_fold(here, |at, part| {
            at.make_child_with(part, mode)?;
            at.open_child(part)
        })
    }

    /// Opens a directory below this one.
    ///
    /// # Errors
    /// When the path leaves this directory or passes a link, or it is not there.
    pub fn open_subdir(&self, relative: &Path) -> io::Result<Self> {
        let here = Self { handle: self.handle.try_clone()?, path: self.path.clone() };
        relative_components(relative)?.into_iter().try_fold(here, |at, part| at.open_child(part))
    }

    /// Returns the metadata of a name in it, without following a link; `None` when it does not exist.
    ///
    /// # Errors
    /// When the file system says so.
    pub fn list_one(&self, name: &str) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.handle, check_file_name(name)?, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn walk_path(self, inside: &Path, step: impl Fn(&Self, &Path) -> io::Result<Self>) -> io::Result<Self> {
        relative_components(inside)?.into_iter().try_fold(self, |at, part| step(&at, part))
    }

    fn open_private_child(&self, name: &Path) -> io::Result<Self> {
        let child = self.open_child(name)?;
        only_ours(&rustix::fs::fstat(&child.handle)?)?;
        Ok(child)
    }

    fn step_or_make(&self, name: &Path) -> io::Result<Self> {
        let made = self.make_child(name)?;
        let child = self.open_private_child(name)?;
        if made && name == Path::new(STEAD_DIR) {
            child.stay_out_of_git()?;
        }
        Ok(child)
    }

    /// Excludes its contents, among them the keys of fingerprints, from commits. The ignore file is written once: a
    /// user who removes it wants that.
    fn stay_out_of_git(&self) -> io::Result<()> {
        self.open_file(".gitignore", OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?.write_all(b"*\n")
    }

    fn open_child(&self, name: &Path) -> io::Result<Self> {
        let handle =
            rustix::fs::openat(&self.handle, name, DIR_OPEN_FLAGS | OFlags::NOFOLLOW, Mode::empty());
        let handle = handle.map_err(|error| match error {
            rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR => {
                io::Error::new(io::ErrorKind::NotADirectory, "it is a symbolic link, or not a directory")
            }
            error => error.into(),
        })?;
        Ok(Self { handle, path: self.path.join(name) })
    }

    /// Creates a directory in it if it is missing. Returns whether it was created.
    fn make_child(&self, name: &Path) -> io::Result<bool> {
        self.make_child_with(name, PRIVATE_DIR_MODE)
    }

    fn make_child_with(&self, name: &Path, mode: Mode) -> io::Result<bool> {
        match rustix::fs::mkdirat(&self.handle, name, mode) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the path by which it was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a regular file in it; a new file is private.
    ///
    /// # Errors
    /// When it cannot be opened, is a link, or is no regular file.
    pub fn open_file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let handle = rustix::fs::openat(
            &self.handle,
            check_file_name(name)?,
            flags | SAFE_OPEN_FLAGS,
            PRIVATE_FILE_MODE,
        )
        .map_err(link_in_words)?;
        require_regular_file(handle)
    }

    /// Reads a whole file in it; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read, is a link, or is no regular file.
    pub fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let mut file = match self.open_file(name, OFlags::RDONLY) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Reads a file of at most `most` bytes in it; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read, is a link, is no regular file, or is larger.
    pub fn read_bounded(&self, name: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        match self.open_file(name, OFlags::RDONLY) {
            Ok(file) => read_bounded(file, most).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens a regular file below it, by a path without `..` that passes no link.
    ///
    /// # Errors
    /// When the path leaves this directory or passes a link, or it is no regular file.
    pub fn open_below(&self, relative: &Path) -> io::Result<File> {
        if relative_components(relative)?.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::ResolveFlags;
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            let flags = OFlags::RDONLY | SAFE_OPEN_FLAGS;
            let opened = rustix::fs::openat2(&self.handle, relative, flags, Mode::empty(), resolve);
            match opened {
                // Older kernels, and sandboxes that block the system call.
                Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {}
                other => return require_regular_file(other.map_err(link_in_words)?),
            }
        }
        self.open_step_by_step(relative)
    }

    /// Does the same where the kernel cannot do it in one call: opens each component relative to the previous one.
    fn open_step_by_step(&self, relative: &Path) -> io::Result<File> {
        let mut parts = relative_components(relative)?;
        let name = parts.pop().unwrap_or(Path::new("."));
        let here = Self { handle: self.handle.try_clone()?, path: self.path.clone() };
        let folder = parts.into_iter().try_fold(here, |at, part| at.open_child(part))?;
        let opened =
            rustix::fs::openat(&folder.handle, name, OFlags::RDONLY | SAFE_OPEN_FLAGS, Mode::empty());
        require_regular_file(opened.map_err(link_in_words)?)
    }

    /// Lists a directory below it, by a path without `..` that passes no link: names
    /// and metadata, without following links.
    ///
    /// # Errors
    /// When the path leaves this directory or passes a link, or it is no directory.
    pub fn list_below(&self, relative: &Path) -> io::Result<Vec<(OsString, Stat)>> {
        let here = Self { handle: self.handle.try_clone()?, path: self.path.clone() };
        let folder =
            relative_components(relative)?.into_iter().try_fold(here, |at, part| at.open_child(part))?;
        let mut listed = Vec::new();
        for entry in rustix::fs::Dir::read_from(folder.handle.as_fd())? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                match rustix::fs::statat(&folder.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => listed.push((name.to_owned(), stat)),
                    // Another process removed it after the directory was read.
                    Err(rustix::io::Errno::NOENT) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(listed)
    }

    /// Returns the target of a link below it, by a path without `..` that passes no other link.
    ///
    /// # Errors
    /// When the path leaves this directory or passes a link, or it is no link.
    pub fn link_below(&self, relative: &Path) -> io::Result<PathBuf> {
        let mut parts = relative_components(relative)?;
        let name = parts.pop().unwrap_or(Path::new("."));
        let here = Self { handle: self.handle.try_clone()?, path: self.path.clone() };
        let folder = parts.into_iter().try_fold(here, |at, part| at.open_child(part))?;
        let target = rustix::fs::readlinkat(&folder.handle, name, Vec::new())?;
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }

    /// Writes a file atomically; durable on return. Readers see the old file or the new one.
    ///
    /// # Errors
    /// When it cannot be written; then nothing is left behind.
    pub fn replace(
        &self,
        name: &str,
        mode: u32,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let beside = format!(".{name}.{:016x}.new", rand::random::<u64>());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | SAFE_OPEN_FLAGS;
        let mode = Mode::from_raw_mode(mode as RawMode);
        let handle = rustix::fs::openat(&self.handle, check_file_name(&beside)?, flags, mode)?;
        let mut file = File::from(handle);
        let written =
            write(&mut file).and_then(|()| file.sync_all()).and_then(|()| self.rename(&beside, name));
        if written.is_err() {
            // Report the first error, which is the cause.
            let _ = self.remove(&beside);
        }
        written.and_then(|()| self.sync())
    }

    /// Locks the directory against other writers until the returned lock is dropped. On a file system without such
    /// locks it has no effect.
    ///
    /// # Errors
    /// When the directory cannot be opened once more.
    pub fn lock(&self) -> io::Result<DirLock> {
        let handle = rustix::fs::openat(&self.handle, ".", DIR_OPEN_FLAGS, Mode::empty())?;
        // Several network file systems refuse to lock a directory.
        let _ = rustix::fs::flock(&handle, rustix::fs::FlockOperation::LockExclusive);
        Ok(DirLock { handle })
    }

    /// Makes the directory entries durable.
    ///
    /// # Errors
    /// When the file system says so.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.handle)?)
    }

    /// Renames a file within the directory.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.handle, check_file_name(from)?, &self.handle, check_file_name(to)?)?)
    }

    /// Removes a file if it exists.
    ///
    /// # Errors
    /// When it is there and cannot be removed.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.handle, check_file_name(name)?, AtFlags::empty()) {
            Err(rustix::io::Errno::NOENT) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the file names that are valid UTF-8.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(self.handle.as_fd())? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().to_str()
                && !matches!(name, "." | "..")
            {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }
}

/// Splits a path into the user's part and the program's own part.
fn split_user_path(path: &Path) -> (PathBuf, PathBuf) {
    let all: Vec<Component<'_>> = path.components().collect();
    let last = all.len().saturating_sub(1);
    let at = all.iter().position(|part| part.as_os_str() == STEAD_DIR).unwrap_or(last);
    (all[..at].iter().collect(), all[at..].iter().collect())
}

/// Returns the components of a relative path that does not leave its base.
fn relative_components(relative: &Path) -> io::Result<Vec<&Path>> {
    let mut parts = Vec::new();
    for part in relative.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => parts.push(Path::new(name)),
            _ => {
                let why = "its path leads out of the directory";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
        }
    }
    Ok(parts)
}

/// Checks that a name is a single file name and not a path.
fn check_file_name(name: &str) -> io::Result<&str> {
    if name.is_empty() || matches!(name, "." | "..") || name.contains(['/', '\0']) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file name"));
    }
    Ok(name)
}

fn require_regular_file(handle: OwnedFd) -> io::Result<File> {
    let stat = rustix::fs::fstat(&handle)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(File::from(handle)),
        FileType::Directory => Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory")),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

fn link_in_words(error: rustix::io::Errno) -> io::Error {
    match error {
        rustix::io::Errno::LOOP => {
            io::Error::new(io::ErrorKind::PermissionDenied, "its path contains a symbolic link")
        }
        // The errors of `openat2` for a path that leaves the directory, and for one that changed meanwhile.
        rustix::io::Errno::XDEV | rustix::io::Errno::AGAIN => {
            io::Error::new(io::ErrorKind::PermissionDenied, "its path leads out of the directory")
        }
        error => error.into(),
    }
}

/// Checks that a directory belongs to the user of this process, and that no other user can write there.
fn only_ours(stat: &Stat) -> io::Result<()> {
    let me = rustix::process::geteuid();
    if stat.st_uid != me.as_raw() && !me.is_root() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    let mode = Mode::from_raw_mode(stat.st_mode);
    if mode.contains(Mode::WOTH) && !mode.contains(Mode::SVTX) {
        let why = "every user can write to it; remove that permission: chmod -R go-w";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(())
}

/// Reads a file that the user named, up to `most` bytes: a pipe is accepted, a directory is not.
///
/// # Errors
/// When it cannot be read, or is larger.
pub fn read_named(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    read_bounded(file, most)
}

/// Reads an open file completely, up to `most` bytes.
///
/// # Errors
/// When it cannot be read, or is larger.
pub fn read_bounded(file: File, most: u64) -> io::Result<Vec<u8>> {
    // A file that grows meanwhile is read to its end, too.
    let size = file.metadata().map_or(0, |found| found.len()).min(most);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// Removes a file by its path, if it is there.
pub fn remove_named(path: &Path) {
    let _ = fs::remove_file(path);
}

#[cfg(test)]
mod tests;
