//! The objects of a Git repository, read from its files. In: the root of a working tree. Out: commits, trees and
//! the contents of files. No program is run, nothing is fetched, and no setting of the repository is followed except the format of its files:
//! a repository can come from others.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use gix_hash::{Kind as Hash, ObjectId, Prefix};
use gix_object::tree::EntryMode;
use gix_object::{Find, Kind, TreeRefIter};

use super::git_error::GitError;
use crate::cli::files::git_config::extension_of;
use crate::cli::files::git_dir::read_git_file;
use crate::cli::files::git_refs::GitRefs;
use crate::cli::files::recorded_files::object_hash;
use crate::cli::files::stack_files::display_path;
use crate::workspace::changes::merge_base::{CommitGraph, CommitNode};

/// Maximum number of bytes of an object: an object of a hostile repository can claim any size.
const MAX_OBJECT_BYTES: usize = 256 << 20;

/// Maximum number of tags that name each other.
const MAX_TAG_DEPTH: usize = 8;

/// A repository whose objects are read.
pub(super) struct GitRepository {
    refs: GitRefs,
    hash: Hash,
    objects: gix_odb::Handle,
}

/// One entry of a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeEntry {
    pub(super) mode: EntryMode,
    pub(super) id: ObjectId,
}

/// The entries of a tree by name.
pub(super) type Tree = BTreeMap<OsString, TreeEntry>;

/// Fields of a commit.
struct Commit {
    tree: ObjectId,
    node: CommitNode,
}

impl GitRepository {
    /// Opens the repository of a working tree.
    ///
    /// # Errors
    /// When the directory is not the root of a working tree, or the repository has a format that is not read.
    pub(super) fn open(root: &Path) -> Result<Self, GitError> {
        let none = || GitError::NoRepository(display_path(root));
        let refs = GitRefs::open(root).ok_or_else(none)?;
        let config = read_git_file(&refs.common().join("config")).unwrap_or_default();
        let hash = object_hash(&config).map_err(GitError::HashFormat)?;
        match extension_of(&config, "refstorage") {
            Some(format) if format != "files" => return Err(GitError::RefFormat(format)),
            _ => {}
        }
        let options = gix_odb::store::init::Options {
            alloc_limit_bytes: Some(MAX_OBJECT_BYTES),
            ..gix_odb::store::init::Options::default()
        };
        let objects = gix_odb::at_opts(refs.common().join("objects"), hash, None, options)
            .map_err(|error| GitError::NoObjects(error.to_string()))?;
        Ok(Self { refs, hash, objects })
    }

    /// Returns the references.
    pub(super) fn refs(&self) -> &GitRefs {
        &self.refs
    }

    /// Returns the hash that names objects.
    pub(super) fn hash(&self) -> Hash {
        self.hash
    }

    /// Parses a full hash of the repository's kind.
    pub(super) fn parse_id(&self, text: &str) -> Option<ObjectId> {
        ObjectId::from_hex(text.as_bytes()).ok().filter(|id| id.kind() == self.hash)
    }

    /// Returns the objects whose hash begins with these digits; none for fewer than four digits.
    pub(super) fn find_prefix(&self, digits: &str) -> Result<Vec<ObjectId>, GitError> {
        let Ok(prefix) = Prefix::from_hex(digits) else { return Ok(Vec::new()) };
        let mut found = HashSet::new();
        let looked_up = self.objects.lookup_prefix(prefix, Some(&mut found));
        looked_up.map_err(|error| GitError::NoObjects(error.to_string()))?;
        Ok(found.into_iter().collect())
    }

    /// Returns the type of an object; `None` if it is not in this clone.
    pub(super) fn kind(&self, id: &ObjectId) -> Result<Option<Kind>, GitError> {
        Ok(self.find(id, "object")?.map(|(kind, _)| kind))
    }

    /// Follows tags to the object that they name; `None` if an object is not in this clone.
    pub(super) fn peel_tags(&self, id: ObjectId) -> Result<Option<(Kind, ObjectId)>, GitError> {
        let mut at = id;
        for _ in 0..MAX_TAG_DEPTH {
            let Some((kind, bytes)) = self.find(&at, "object")? else { return Ok(None) };
            if kind != Kind::Tag {
                return Ok(Some((kind, at)));
            }
            let target = headers(&bytes).find_map(|(key, value)| (key == b"object").then_some(value));
            at = target
                .and_then(|hex| self.parse_hex(hex))
                .ok_or_else(|| damaged("tag", &at, &"it names no object"))?;
        }
        Err(damaged("tag", &id, &"too many tags name each other"))
    }

    /// Returns the tree of a commit.
    ///
    /// # Errors
    /// When the commit is missing or damaged.
    pub(super) fn commit_tree(&self, id: &ObjectId) -> Result<ObjectId, GitError> {
        let commit = self.read_commit(id)?;
        commit.map(|commit| commit.tree).ok_or_else(|| missing("commit", id))
    }

    /// Returns the entries of a tree.
    ///
    /// # Errors
    /// When the tree is missing or damaged.
    pub(super) fn tree(&self, id: &ObjectId) -> Result<Tree, GitError> {
        let Some((kind, bytes)) = self.find(id, "tree")? else { return Err(missing("tree", id)) };
        if kind != Kind::Tree {
            return Err(damaged("tree", id, &"it is not a tree"));
        }
        let read = TreeRefIter::from_bytes(&bytes, self.hash).map(|entry| {
            let entry = entry.map_err(|error| damaged("tree", id, &error))?;
            let name = OsString::from_vec(entry.filename.to_vec());
            Ok((name, TreeEntry { mode: entry.mode, id: entry.oid.to_owned() }))
        });
        read.collect()
    }

    /// Returns the content of a file.
    ///
    /// # Errors
    /// When the object is missing, as in a clone without file contents, or damaged.
    pub(super) fn blob(&self, id: &ObjectId) -> Result<Vec<u8>, GitError> {
        match self.find(id, "blob")? {
            Some((Kind::Blob, bytes)) => Ok(bytes),
            Some(_) => Err(damaged("blob", id, &"it is not a file")),
            None => Err(missing("blob", id)),
        }
    }

    fn read_commit(&self, id: &ObjectId) -> Result<Option<Commit>, GitError> {
        let Some((kind, bytes)) = self.find(id, "commit")? else { return Ok(None) };
        if kind != Kind::Commit {
            return Err(damaged("commit", id, &"it is not a commit"));
        }
        let (mut tree, mut node) = (None, CommitNode { parents: Vec::new(), time: 0 });
        for (key, value) in headers(&bytes) {
            let hash = || self.parse_hex(value).ok_or_else(|| damaged("commit", id, &"it names no object"));
            match key {
                b"tree" => tree = Some(hash()?),
                b"parent" => node.parents.push(hash()?),
                // `NAME <ADDRESS> SECONDS ZONE`: the time only decides which commit is visited first.
                b"committer" => {
                    let text = String::from_utf8_lossy(value);
                    node.time =
                        text.rsplit(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or_default();
                }
                _ => {}
            }
        }
        let tree = tree.ok_or_else(|| damaged("commit", id, &"it has no tree"))?;
        Ok(Some(Commit { tree, node }))
    }

    fn find(&self, id: &ObjectId, kind: &'static str) -> Result<Option<(Kind, Vec<u8>)>, GitError> {
        let mut buffer = Vec::new();
        let found = self.objects.try_find(id, &mut buffer).map_err(|error| damaged(kind, id, &error))?;
        let Some(kind) = found.map(|data| data.kind) else { return Ok(None) };
        Ok(Some((kind, buffer)))
    }

    fn parse_hex(&self, hex: &[u8]) -> Option<ObjectId> {
        std::str::from_utf8(hex).ok().and_then(|text| self.parse_id(text))
    }
}

impl CommitGraph for GitRepository {
    type Error = GitError;

    fn commit(&self, id: &ObjectId) -> Result<Option<CommitNode>, GitError> {
        Ok(self.read_commit(id)?.map(|commit| commit.node))
    }
}

/// Returns the headers of a commit or a tag: key and value of each line before the message.
fn headers(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let lines = bytes.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    // A line that begins with a space goes on the one before, such as a signature's.
    lines.filter_map(|line| {
        let space = line.iter().position(|byte| *byte == b' ').filter(|at| *at > 0)?;
        Some((&line[..space], &line[space + 1..]))
    })
}

fn missing(kind: &'static str, id: &ObjectId) -> GitError {
    GitError::MissingObject { kind, id: id.to_string(), base: None }
}

fn damaged(kind: &'static str, id: &ObjectId, reason: &impl ToString) -> GitError {
    GitError::DamagedObject { kind, id: id.to_string(), reason: reason.to_string() }
}
