//! `EditorOverlay`: the files that a stack may read, with the contents of open texts instead of those on disk. What a
//! stack must not read stays closed to it.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use crate::config::input::files::{DirectoryEntry, Files};
use crate::model::address::Name;

/// Open texts by path.
pub(in crate::editor::lsp) type OpenTexts = Rc<BTreeMap<PathBuf, Arc<str>>>;

/// The files on disk, with the open texts in place of theirs.
pub(in crate::editor::lsp) struct EditorOverlay {
    disk: Rc<dyn Files>,
    open: OpenTexts,
    /// The directory of the stack or module.
    directory: PathBuf,
    /// The root directory within which configuration is shared.
    root: PathBuf,
}

impl EditorOverlay {
    /// Returns the files of a directory, with the open texts in place of theirs.
    pub(in crate::editor::lsp) fn new(disk: Box<dyn Files>, open: OpenTexts, directory: &Path) -> Self {
        let disk: Rc<dyn Files> = Rc::from(disk);
        let root = directory.ancestors().nth(disk.path_from_root().len()).unwrap_or(directory).to_owned();
        Self { disk, open, directory: directory.to_owned(), root }
    }

    /// Returns the text of a configuration file; `None` if it must not or cannot be read.
    pub(in crate::editor::lsp) fn text(&self, path: &Path) -> Option<Arc<str>> {
        let below = path.strip_prefix(&self.root).ok()?;
        if let Some(text) = self.open.get(path) {
            return Some(text.clone());
        }
        String::from_utf8(self.disk.read_shared(below).ok()?).ok().map(Arc::from)
    }

    fn open_bytes(&self, path: &Path) -> Option<Vec<u8>> {
        self.open.get(&normalize_path(path)).map(|text| text.as_bytes().to_vec())
    }
}

impl Files for EditorOverlay {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match (self.disk.read(path), self.open_bytes(&self.directory.join(path))) {
            // A file that the stack must not read is not read from the editor either.
            (Err(error), _) if error.kind() == ErrorKind::PermissionDenied => Err(error),
            (_, Some(text)) => Ok(text),
            (read, None) => read,
        }
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        self.disk.open(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        self.disk.list(path)
    }

    fn path_from_root(&self) -> Vec<Name> {
        self.disk.path_from_root()
    }

    fn read_shared(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.open_bytes(&self.root.join(path)) {
            Some(text) => Ok(text),
            None => self.disk.read_shared(path),
        }
    }

    fn names_shared(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = self.disk.names_shared(path)?;
        let directory = normalize_path(&self.root.join(path));
        let here = self.open.keys().filter(|file| file.parent() == Some(&directory));
        for name in here.filter_map(|file| file.file_name()?.to_str()) {
            if names.iter().all(|known| known != name) {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    fn in_dir(&self, path: &Path) -> Option<Rc<dyn Files>> {
        let (open, root) = (self.open.clone(), self.root.clone());
        let directory = normalize_path(&root.join(path));
        Some(Rc::new(Self { disk: self.disk.in_dir(path)?, open, directory, root }))
    }
}

/// Returns a path with `.` and `..` resolved lexically.
pub(in crate::editor::lsp) fn normalize_path(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Below;

    impl Files for Below {
        fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
            match path.to_str() {
                Some("key" | "m/a.stead.yaml") => Ok(b"disk".to_vec()),
                Some("secret") => Err(ErrorKind::PermissionDenied.into()),
                _ => Err(ErrorKind::NotFound.into()),
            }
        }

        fn path_from_root(&self) -> Vec<Name> {
            vec!["s".into()]
        }

        fn names_shared(&self, _: &Path) -> io::Result<Vec<String>> {
            Ok(vec!["a.stead.yaml".to_owned()])
        }
    }

    #[test]
    fn open_documents_override_files_except_rejected_ones() {
        let open = [
            ("/r/s/key", "open"),
            ("/r/s/secret", "open"),
            ("/r/m/a.stead.yaml", "open"),
            ("/r/m/b.stead.yaml", "new"),
        ];
        let open = open.map(|(path, text)| (PathBuf::from(path), Arc::from(text)));
        let overlay = EditorOverlay::new(Box::new(Below), Rc::new(open.into()), Path::new("/r/s"));
        assert_eq!(overlay.read(Path::new("./key")).unwrap(), b"open");
        assert!(overlay.read(Path::new("secret")).is_err());
        assert_eq!(overlay.read_shared(Path::new("m/a.stead.yaml")).unwrap(), b"open");
        assert_eq!(overlay.names_shared(Path::new("m")).unwrap(), ["a.stead.yaml", "b.stead.yaml"]);
        assert_eq!(overlay.text(Path::new("/r/m/b.stead.yaml")).as_deref(), Some("new"));
        assert_eq!(overlay.text(Path::new("/x/key")), None);
    }
}
