//! The stacks of the base commit: which units a directory had there. In: the tree of the commit. Out: the units of each
//! directory, from the headers of its files. They tell a unit that a change removed, which has no files to read now.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::git_base::GitBase;
use super::git_error::GitError;
use crate::cli::stack::repository_walk;
use crate::config::input::files::Files;
use crate::config::load::{self, DirectoryContents};
use crate::config::syntax::decode;
use crate::kinds::REGISTRY;
use crate::model::address::Name;
use crate::model::source::{Source, Sources};
use crate::workspace::changes::base_tree::{BaseEntry, BaseTree as _};
use crate::workspace::unit::Unit;

/// A directory that has stack files at the base.
pub(super) struct BaseStack {
    /// Directory relative to the root.
    pub(super) directory: Name,
    /// Its units, none for a module; `None` if its header cannot be read, as in a clone without file contents.
    pub(super) units: Option<Vec<Unit>>,
}

/// Reads the stacks of the base in the directories that a predicate selects.
///
/// # Errors
/// When a tree is missing or damaged.
pub(super) fn read_stacks(
    base: &Rc<GitBase>,
    is_wanted: &dyn Fn(&Path) -> bool,
) -> Result<Vec<BaseStack>, GitError> {
    let mut directories = base.stack_directories()?;
    directories.retain(|directory| is_wanted(directory));
    directories.sort();
    let stacks = directories.into_iter().map(|path| {
        let directory = repository_walk::relative_name(Path::new(""), &path);
        let units = read_units(base, &path, &directory);
        BaseStack { directory, units }
    });
    Ok(stacks.collect())
}

/// Returns the units of a directory; `None` if they are not known.
fn read_units(base: &Rc<GitBase>, path: &Path, directory: &Name) -> Option<Vec<Unit>> {
    let files = BaseFiles { base: Rc::clone(base), directory: path.to_owned() };
    let mut sources = Sources::default();
    for name in files.stack_files_shared(path).ok()? {
        let text = decode::decode_utf8(sources.next(), base.content(&path.join(&name))?).ok()?;
        sources.add(Source::new(name, text));
    }
    match load::inspect_directory(REGISTRY, &sources, &files) {
        DirectoryContents::Stack(header) => Some(repository_walk::units_of(&header, directory)),
        DirectoryContents::NoStack => Some(Vec::new()),
        DirectoryContents::Invalid => None,
    }
}

/// The files of the base commit, for the stack of a directory.
struct BaseFiles {
    base: Rc<GitBase>,
    directory: PathBuf,
}

impl Files for BaseFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read_shared(&self.directory.join(path))
    }

    fn path_from_root(&self) -> Vec<Name> {
        self.directory.iter().map(|part| Name::new(part.to_string_lossy())).collect()
    }

    fn read_shared(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.base.content(path).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn names_shared(&self, path: &Path) -> io::Result<Vec<String>> {
        let entries = self.base.entries(path).map_err(|error| io::Error::other(error.to_string()))?;
        let files = entries.into_iter().filter(|(_, entry)| matches!(entry, BaseEntry::File { .. }));
        Ok(files.filter_map(|(name, _)| name.into_string().ok()).collect())
    }
}
