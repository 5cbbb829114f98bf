//! Reads the source files of the tree.

use std::fs;
use std::path::{Path, PathBuf};

use crate::modules::is_test_file;

pub fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

pub fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

/// Returns every file below `src` that is not a test, as `(path below src, text)`.
pub fn product_files() -> Vec<(String, String)> {
    let mut found = Vec::new();
    files(&src(), &mut found);
    found
        .into_iter()
        .map(|path| (path.strip_prefix(src()).unwrap().to_string_lossy().into_owned(), path))
        .filter(|(name, _)| !is_test_file(name))
        .map(|(name, path)| (name, fs::read_to_string(path).unwrap()))
        .collect()
}
