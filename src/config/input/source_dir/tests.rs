//! Directories of sources: what counts, what does not, and what is refused.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use proptest::prelude::*;

use super::digest::at_most;
use super::error::MAX_ENTRIES;
use super::{SourceArchive, SourceError, SourceTree, directory_digest};
use crate::config::input::files::{DirectoryEntry, DirectoryEntryKind, Files};

/// A directory in memory. What a file system keeps besides is nobody's business here.
#[derive(Default, Clone)]
struct Disk(BTreeMap<PathBuf, Thing>);

#[derive(Clone)]
enum Thing {
    File {
        bytes: Vec<u8>,
        executable: bool,
    },
    /// As many zeros, or as much noise.
    Large {
        size: u64,
        noise: bool,
    },
    Link(PathBuf),
    Pipe,
    /// A file whose size is not what the listing says.
    Liar {
        listed: u64,
        bytes: Vec<u8>,
    },
}

impl Disk {
    fn file(mut self, path: &str, text: &str) -> Self {
        let (bytes, executable) = (text.as_bytes().to_vec(), false);
        self.0.insert(path.into(), Thing::File { bytes, executable });
        self
    }

    fn with(mut self, path: &str, thing: Thing) -> Self {
        self.0.insert(path.into(), thing);
        self
    }

    fn tree(&self) -> Result<SourceTree, SourceError> {
        SourceTree::read(self, "app")
    }

    fn digest(&self) -> Result<String, SourceError> {
        directory_digest(self, self.tree()?)
    }

    fn packed(&self) -> Vec<u8> {
        SourceArchive::new(self, self.tree().unwrap()).flat_map(Result::unwrap).collect()
    }

    fn names(&self) -> Vec<String> {
        contents(&self.packed()).into_keys().collect()
    }
}

impl Files for Disk {
    fn read(&self, _path: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        Ok(match self.0.get(path).ok_or(io::ErrorKind::NotFound)? {
            Thing::File { bytes, .. } | Thing::Liar { bytes, .. } => Box::new(Cursor::new(bytes.clone())),
            Thing::Large { size, noise: false } => Box::new(io::repeat(0).take(*size)),
            Thing::Large { size, noise: true } => Box::new(Noise(1).take(*size)),
            Thing::Link(_) | Thing::Pipe => return Err(io::ErrorKind::InvalidInput.into()),
        })
    }

    /// Lists backwards: no order may be relied on.
    fn list(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        let mut found: BTreeMap<OsString, DirectoryEntryKind> = BTreeMap::new();
        for (at, thing) in &self.0 {
            let Ok(rest) = at.strip_prefix(path) else { continue };
            let mut parts = rest.components();
            let name = parts.next().unwrap().as_os_str().to_owned();
            let what = match (parts.next(), thing) {
                (Some(_), _) => DirectoryEntryKind::Directory,
                (None, Thing::File { bytes, executable }) => {
                    DirectoryEntryKind::File { size: bytes.len() as u64, executable: *executable }
                }
                (None, Thing::Large { size, .. }) => {
                    DirectoryEntryKind::File { size: *size, executable: false }
                }
                (None, Thing::Liar { listed, .. }) => {
                    DirectoryEntryKind::File { size: *listed, executable: false }
                }
                (None, Thing::Link(target)) => DirectoryEntryKind::Link(target.clone()),
                (None, Thing::Pipe) => DirectoryEntryKind::Special,
            };
            found.insert(name, what);
        }
        if found.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(found.into_iter().rev().map(|(name, what)| DirectoryEntry { name, what }).collect())
    }
}

/// Bytes that no compressor makes smaller.
struct Noise(u64);

impl Read for Noise {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        for chunk in buffer.chunks_mut(8) {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            chunk.copy_from_slice(&self.0.to_le_bytes()[..chunk.len()]);
        }
        Ok(buffer.len())
    }
}

/// What stands in an archive: type, mode, time and bytes by name.
fn contents(packed: &[u8]) -> BTreeMap<String, (u8, u32, u64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in tar::Archive::new(GzDecoder::new(packed)).entries().unwrap() {
        let mut entry = entry.unwrap();
        let header = entry.header();
        assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
        let (kind, mode) = (header.entry_type().as_byte(), header.mode().unwrap());
        let time = header.mtime().unwrap();
        let name = entry.path().unwrap().to_str().unwrap().to_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        if let Some(target) = entry.link_name().unwrap() {
            bytes = target.to_str().unwrap().as_bytes().to_vec();
        }
        found.insert(name, (kind, mode, time, bytes));
    }
    found
}

fn link(target: &str) -> Thing {
    Thing::Link(target.into())
}

#[test]
fn an_archive_contains_files_without_metadata_of_the_machine() {
    let run = Thing::File { bytes: b"#!/bin/sh\n".to_vec(), executable: true };
    let long = format!("app/{}/{}", "d".repeat(90), "f".repeat(90));
    let disk = Disk::default()
        .file("app/main.py", "print()")
        .with("app/bin/run", run)
        .with("app/bin/again", link("../main.py"))
        .file(&long, "far")
        .file("elsewhere/x", "not mine");
    let found = contents(&disk.packed());
    let time = 946_684_800;
    assert_eq!(found.len(), 4);
    assert_eq!(found["main.py"], (b'0', 0o644, time, b"print()".to_vec()));
    assert_eq!(found["bin/run"], (b'0', 0o755, time, b"#!/bin/sh\n".to_vec()));
    assert_eq!(found["bin/again"], (b'2', 0o777, time, b"../main.py".to_vec()));
    assert_eq!(found[&long["app/".len()..]].3, b"far");
    assert_eq!(disk.packed(), disk.packed());
}

#[test]
fn the_digest_distinguishes_different_trees() {
    let disk = || Disk::default().file("app/a", "1").file("app/b", "2");
    let digest = disk().digest().unwrap();
    assert!(digest.starts_with("sha256:") && digest.len() == 71, "{digest}");
    assert_eq!(disk().digest().unwrap(), digest);
    let run = Thing::File { bytes: b"2".to_vec(), executable: true };
    for other in [
        disk().file("app/a", "3"),
        disk().file("app/c", ""),
        disk().with("app/b", run),
        disk().with("app/b", link("a")),
        Disk::default().file("app/a", "").file("app/b", "12"),
        Disk::default().file("app/a", "12").file("app/b", ""),
        Disk::default().file("app/ab", "12"),
        Disk::default().file("app/x/a", "1").file("app/b", "2"),
    ] {
        assert_ne!(other.digest().unwrap(), digest);
    }
}

#[test]
fn the_archive_and_the_plan_compute_the_same_digest() {
    let disk = Disk::default().file("app/a", "1").with("app/l", link("a"));
    let (tree, digest) = (disk.tree().unwrap(), disk.digest().unwrap());
    let last = |expected: &str| {
        SourceArchive::new(&disk, tree.clone()).expect_digest(expected).last().unwrap().map(|_| ())
    };
    assert_eq!(last(&digest), Ok(()));
    assert_eq!(last("sha256:other"), Err(SourceError::Moved("app".into())));
}

#[test]
fn ignored_files_are_left_out_of_the_archive() {
    let disk = |rules: &str| {
        Disk::default()
            .file("app/.steadignore", rules)
            .file("app/.git/config", "x")
            .file("app/sub/.git", "gitdir: x")
            .file("app/.stead/ledger", "x")
            .file("app/.gitignore", "everything")
            .file("app/main.rs", "x")
            .file("app/debug.log", "x")
            .file("app/logs/keep.log", "x")
            .file("app/target/a/b.o", "x")
            .file("app/sub/target/b.o", "x")
    };
    let all = [".gitignore", "debug.log", "logs/keep.log", "main.rs", "sub/target/b.o", "target/a/b.o"];
    for (rules, left_out) in [
        ("", &[][..]),
        ("# all of them\n\n*.log\n", &["debug.log", "logs/keep.log"]),
        ("*.log\n!keep.log\n", &["debug.log"]),
        ("/target\n", &["target/a/b.o"]),
        ("target/\r\n", &["target/a/b.o", "sub/target/b.o"]),
        ("**/b.o", &["target/a/b.o", "sub/target/b.o"]),
        ("logs/\n!logs/keep.log\n", &["logs/keep.log"]),
        ("\u{feff}.gitignore\n", &[".gitignore"]),
        ("\\#debug.log\ndebug.lo[a-g]\n", &["debug.log"]),
    ] {
        let expected: Vec<&str> = all.into_iter().filter(|name| !left_out.contains(name)).collect();
        assert_eq!(disk(rules).names(), expected, "{rules:?}");
    }
    let error = disk("a\n[z-a]\n").tree().unwrap_err();
    assert!(matches!(error, SourceError::Pattern { line: 2, .. }), "{error}");
}

#[test]
fn a_future_file_is_matched_against_the_ignore_rules() {
    let disk = Disk::default().file("app/.steadignore", "secrets/\n*.env\n").file(".steadignore", "key\n");
    for (directory, path, held) in [
        ("app", "app/ci-key", true),
        ("./app/", "./app/ci-key", true),
        ("app", "app/secrets/ci-key", false),
        ("app", "app/a/b.env", false),
        ("app", "application/ci-key", false),
        ("app", "ci-key", false),
        (".", "ci-key", true),
        (".", "deep/key", false),
        (".", ".stead/key", false),
        (".", "app/a/b.env", true),
    ] {
        assert_eq!(SourceTree::would_hold(&disk, directory, path), Ok(held), "{directory} {path}");
    }
}

#[test]
fn a_comment_in_the_ignore_file_does_not_change_the_digest() {
    let disk = |rules: &str| Disk::default().file("app/.steadignore", rules).file("app/a", "1");
    assert_eq!(disk("# one").digest(), disk("# two").digest());
}

#[test]
fn an_ignore_file_above_the_limit_is_an_error() {
    let rules = "# a comment\n".repeat(100_000) + "secrets/\n";
    let disk = Disk::default().file("app/.steadignore", &rules).file("app/secrets/key", "1");
    let error = SourceTree::read(&disk, "app").err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some("`app/.steadignore` cannot be read: it has more than 1048576 bytes"));
}

#[test]
fn symlinks_are_kept_only_if_they_point_inside_the_directory() {
    for (path, target, stays) in [
        ("app/l", "a", true),
        ("app/l", "./a", true),
        ("app/l", "missing", true),
        ("app/x/l", "../a", true),
        ("app/x/y/l", "../../a", true),
        ("app/l", "../a", false),
        ("app/x/l", "../../a", false),
        ("app/x/y/l", "../../..", false),
        ("app/l", "/etc/passwd", false),
        ("app/l", "x/../../a", false),
        // Through another link it could lead anywhere.
        ("app/l", "x/../a", false),
        ("app/l", ".", false),
    ] {
        let tree = Disk::default().file("app/a", "1").with(path, link(target)).tree();
        assert_eq!(tree.is_ok(), stays, "{path} -> {target}");
    }
    let ignored =
        Disk::default().file("app/.steadignore", "l").with("app/l", link("/x")).file("app/a", "1");
    assert!(ignored.tree().is_ok());
}

#[test]
fn a_source_that_cannot_be_uploaded_is_one_clear_error() {
    let says = |disk: Disk| {
        let error = disk.digest().unwrap_err();
        format!("{error}. {}", error.help().unwrap_or_default())
    };
    insta::assert_snapshot!(says(Disk::default()), @"`app` cannot be read: entity not found. ");
    insta::assert_snapshot!(says(Disk::default().file("app/.git/config", "")), @"`app` contains no file to upload. ");
    insta::assert_snapshot!(says(Disk::default().with("app/q/fifo", Thing::Pipe)), @"`app/q/fifo` is a pipe, a socket or a device. list the files in `.steadignore` that are not needed to build and run it");
    insta::assert_snapshot!(says(Disk::default().with("app/l", link("/etc/passwd"))), @"`app/l` is a link to `/etc/passwd`, which may be outside of the directory. replace the link by a copy, or list it in `.steadignore`");
    let shorter = Thing::Liar { listed: 3, bytes: b"ab".to_vec() };
    insta::assert_snapshot!(says(Disk::default().with("app/a", shorter)), @"`app/a` changed while it was read. ");
    let longer = Thing::Liar { listed: 1, bytes: b"ab".to_vec() };
    insta::assert_snapshot!(says(Disk::default().with("app/a", longer)), @"`app/a` changed while it was read. ");
}

#[test]
fn an_archive_has_its_limit() {
    let large = |size, noise| Thing::Large { size, noise };
    // Zeros pack well, and noise does not.
    let most = 300_000;
    let zeros = Disk::default().with("app/zeros", large(most + 10, false));
    assert_eq!(at_most(&zeros, zeros.tree().unwrap(), most), zeros.digest());
    let noise = zeros.with("app/noise", large(most, true)).file("app/small", "x");
    let error = at_most(&noise, noise.tree().unwrap(), most).unwrap_err();
    insta::assert_snapshot!(error, @"`app` is too large: an archive has 100 MB at most; the largest files are `app/zeros` (0.3 MB), `app/noise` (0.3 MB), `app/small` (0.0 MB)");
}

#[test]
fn a_source_tree_has_a_size_limit() {
    let mut disk = Disk::default();
    for n in 0..=MAX_ENTRIES {
        disk = disk.with(&format!("app/{n}"), Thing::Pipe);
    }
    assert_eq!(disk.tree().unwrap_err(), SourceError::TooMany("app".into()));
}

proptest! {
    #[test]
    fn an_unpacked_archive_equals_its_source(
        files in prop::collection::btree_map("[a-c]{1,2}(/[d-f]{1,2})?(/[g-i]{1,3})?", any::<Vec<u8>>(), 1..12),
        executable in any::<bool>(),
    ) {
        let mut disk = Disk::default();
        // A name is a file or a directory, not both.
        let is_folder = |name: &str| files.keys().any(|other| other.starts_with(&format!("{name}/")));
        let files: BTreeMap<&String, &Vec<u8>> = files.iter().filter(|(name, _)| !is_folder(name)).collect();
        for (name, bytes) in &files {
            let bytes = (*bytes).clone();
            disk = disk.with(&format!("app/{name}"), Thing::File { bytes, executable });
        }
        let found = contents(&disk.packed());
        prop_assert_eq!(found.len(), files.len());
        for (name, bytes) in files {
            prop_assert_eq!(&found[name].3, bytes);
            prop_assert_eq!(found[name].1 & 0o100 != 0, executable);
        }
    }
}
