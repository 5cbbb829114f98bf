//! Decides whether Git would commit a file: reads the repository's ignore files without running Git, because a
//! repository's configuration can make Git run programs.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::ledger::stores::file::dir_handle::DirHandle;
use crate::model::address::Name;

/// Maximum number of bytes of an ignore file that are read; the rest is ignored.
const MAX_IGNORE_FILE_BYTES: u64 = 1 << 20;

/// Ignore file that is local to a clone, relative to the repository's root.
const EXCLUDE_FILE: &str = ".git/info/exclude";

/// The ignore files of a repository; each is read at most once.
pub(in crate::cli) struct IgnoreFiles {
    root: DirHandle,
    /// Ignore files of the user and of the clone, in order of precedence; the last one takes precedence.
    general: Vec<Gitignore>,
    /// Ignore files by directory, relative to the root; `None` if the directory has none.
    known: BTreeMap<PathBuf, Option<Rc<Gitignore>>>,
}

impl IgnoreFiles {
    /// Opens the repository at a root directory, and reads the ignore files of the user and of the clone.
    ///
    /// # Errors
    /// When the directory or the clone's ignore file cannot be read.
    pub(in crate::cli) fn open(root: &Path) -> io::Result<Self> {
        let root = DirHandle::open_user_dir(root)?;
        let mut general = vec![Gitignore::global().0];
        general.extend(read_patterns(&root, Path::new(EXCLUDE_FILE))?);
        Ok(Self { root, general, known: BTreeMap::new() })
    }

    /// Returns whether Git ignores a file, given by its path relative to the repository's root. The file need not
    /// exist; that it is tracked is not considered.
    ///
    /// # Errors
    /// When an ignore file cannot be read.
    pub(in crate::cli) fn ignores(&mut self, file: &Path) -> io::Result<bool> {
        // In order of precedence: the general rules first, then those of each directory on the path.
        let mut rules: Vec<(PathBuf, Rc<Gitignore>)> = Vec::new();
        let parts: Vec<_> = file.iter().collect();
        let mut at = PathBuf::new();
        for (n, part) in parts.iter().enumerate() {
            rules.extend(self.of_directory(&at)?.map(|found| (at.clone(), found)));
            at.push(part);
            let is_directory = n + 1 < parts.len();
            let verdict = |rules: &Gitignore, path: &Path| {
                let matched = rules.matched(path, is_directory);
                (!matched.is_none()).then(|| matched.is_ignore())
            };
            let near =
                rules.iter().rev().find_map(|(base, rules)| verdict(rules, at.strip_prefix(base).ok()?));
            let decided = near.or_else(|| self.general.iter().rev().find_map(|rules| verdict(rules, &at)));
            // Nothing below an ignored directory can be included again, whatever later patterns match.
            if decided == Some(true) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the ignore file of a directory; `None` if it has none.
    fn of_directory(&mut self, directory: &Path) -> io::Result<Option<Rc<Gitignore>>> {
        if let Some(known) = self.known.get(directory) {
            return Ok(known.clone());
        }
        let found = read_patterns(&self.root, &directory.join(".gitignore"))?.map(Rc::new);
        self.known.insert(directory.to_owned(), found.clone());
        Ok(found)
    }
}

/// Returns the line for the ignore file at the repository's root that matches exactly this file; `place` is the
/// directory that `path` is relative to.
pub(in crate::cli) fn line_for(place: &[Name], path: &str) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    let escaped = |part: &str| {
        let mut text = String::new();
        for c in part.chars() {
            if matches!(c, '*' | '?' | '[' | '\\' | ' ') {
                text.push('\\');
            }
            text.push(c);
        }
        text
    };
    let all: Vec<String> = place.iter().map(Name::as_str).chain(parts).map(escaped).collect();
    format!("/{}", all.join("/"))
}

/// Parses an ignore file below a directory; `None` if there is none.
fn read_patterns(folder: &DirHandle, path: &Path) -> io::Result<Option<Gitignore>> {
    let file = match folder.open_below(path) {
        Ok(file) => file,
        // Like Git, ignores an ignore file that is a link; a missing directory, or a `.git` that is a file, has none.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(MAX_IGNORE_FILE_BYTES).read_to_string(&mut text)?;
    let mut builder = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{feff}').lines() {
        // An invalid pattern ignores nothing.
        let _ = builder.add_line(None, line);
    }
    Ok(builder.build().ok())
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test writes the files that it asks about")]
mod tests {
    use std::fs;

    use super::*;

    fn is_ignored(root: &Path, file: &Path) -> io::Result<bool> {
        IgnoreFiles::open(root)?.ignores(file)
    }

    #[test]
    fn ignored_files_are_determined_without_git() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".gitignore", "*.key\n/out/\n!keep.key\nsecrets\n");
        write("infra/.gitignore", "/ci\n!secrets\n");
        write(".git/info/exclude", "private\n");
        for (path, is) in [
            ("a.key", true),
            ("infra/a.key", true),
            ("keep.key", false),
            ("out/keep.key", true),
            ("infra/ci", true),
            ("infra/deep/ci", false),
            ("infra/secrets/x", false),
            ("secrets/x", true),
            ("infra/private", true),
            ("infra/.env", false),
        ] {
            assert_eq!(is_ignored(root.path(), Path::new(path)).unwrap(), is, "{path}");
        }
        let place = ["infra".into(), "a b".into()];
        let line = line_for(&place, "./secrets/[x]");
        assert_eq!(line, r"/infra/a\ b/secrets/\[x]");
        write(".gitignore", &format!("{line}\n"));
        assert!(is_ignored(root.path(), Path::new("infra/a b/secrets/[x]")).unwrap());
    }

    #[test]
    fn a_gitignore_that_is_a_symlink_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("patterns"), "*\n").unwrap();
        std::os::unix::fs::symlink("patterns", root.path().join(".gitignore")).unwrap();
        assert!(!is_ignored(root.path(), Path::new("x")).unwrap());
    }
}
