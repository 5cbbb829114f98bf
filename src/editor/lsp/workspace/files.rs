//! `Workspace`: open texts and files on disk, grouped by stack or module. An open text always takes the place of its
//! file: the editor may not have saved it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use super::open_documents::{EditorOverlay, normalize_path};
use super::symbols::{DeclaredName, FileSymbols, ModuleCall, read_names};
use crate::config::input::discovery::{is_stack_file, is_test_file};
use crate::config::input::files::Files;
use crate::config::stack::model::Stack;
use crate::config::syntax::document::Syntax;
use crate::config::syntax::limits::syntax_of;
use crate::editor::lsp::cursor::find::find_cursor;
use crate::editor::lsp::cursor::path_target::{self, SchemaPosition};
use crate::editor::lsp::cursor::types::Cursor;
use crate::editor::lsp::lines::LineIndex;
use crate::editor::lsp::protocol::{ContentChange, Location, LspRange};
use crate::model::diagnostic::Diagnostic;
use crate::model::live::catalog::Catalog;
use crate::model::schema::Registry;
use crate::model::source::Source;

/// Checks a stack against those policies that need no live objects; returns the violations.
pub type PolicyChecker = fn(&Stack) -> Vec<Diagnostic>;

/// Access to the files on disk, which the caller confines to what a stack may read.
pub trait WorkspaceDisk {
    /// Returns the names and texts of a directory's stack files, except for those that
    /// are open; omits unreadable files.
    fn stack_files(&self, directory: &Path, is_open: &dyn Fn(&str) -> bool) -> Vec<(String, String)>;

    /// Returns access to the other files that a stack in a directory may read.
    fn files(&self, directory: &Path) -> Box<dyn Files>;

    /// Returns the directories with stack files that can share configuration with a directory.
    fn neighbor_directories(&self, directory: &Path) -> Vec<PathBuf>;

    /// Returns the catalog names pinned in a directory's lock file; `None` without a lock file.
    fn locked_catalog(&self, directory: &Path) -> Option<Catalog>;

    /// Returns all catalog names known for the stack in a directory; by default, the pinned ones.
    fn known_catalog(&self, directory: &Path) -> Option<Catalog> {
        self.locked_catalog(directory)
    }
}

/// A text with the path of its file.
#[derive(Debug, Clone)]
pub(in crate::editor::lsp) struct TextFile {
    /// Path of the file.
    pub(in crate::editor::lsp) path: PathBuf,
    /// Content of the file, in the editor if it is open there.
    pub(in crate::editor::lsp) text: Arc<str>,
}

impl TextFile {
    /// Returns the name of the file without its directory; empty if it is not UTF-8.
    pub(in crate::editor::lsp) fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Returns whether the file is a test file, which contains nothing of the stack itself.
    pub(in crate::editor::lsp) fn has_tests(&self) -> bool {
        is_test_file(self.name())
    }

    /// Returns the syntactic context at a byte offset, with the word up to there or the `whole` word.
    pub(in crate::editor::lsp) fn cursor(&self, registry: &Registry, offset: usize, whole: bool) -> Cursor {
        let has_tests = self.has_tests();
        let is_block = |word: &str| word == "use" || registry.top_level().any(|kind| kind.name == word);
        let has_name = |word: &str| if has_tests { word == "test" } else { is_block(word) };
        find_cursor(self.syntax(), &self.text, offset, whole, &has_name)
    }

    /// Returns the part of the schema at a path of keys.
    pub(in crate::editor::lsp) fn target_at<S: AsRef<str>>(
        &self,
        registry: &Registry,
        path: &[S],
    ) -> SchemaPosition {
        if self.has_tests() {
            path_target::in_tests(path)
        } else {
            path_target::resolve_path(registry, path)
        }
    }

    /// Returns the text as a source for `config`.
    pub(in crate::editor::lsp) fn source(&self) -> Source {
        Source::new(self.name(), self.text.clone())
    }

    /// Returns the syntax of the file, by its name; YAML for an unknown extension.
    pub(in crate::editor::lsp) fn syntax(&self) -> Syntax {
        syntax_of(self.name()).unwrap_or(Syntax::Yaml)
    }
}

/// The names in a file, and the text that they were read from.
#[derive(Debug)]
struct ParsedSymbols {
    /// The text of the last attempt to parse.
    tried: Arc<str>,
    /// The text that was last parsed successfully.
    read: Arc<str>,
    names: FileSymbols,
}

/// The open texts, and an index of the files around them.
#[derive(Debug)]
pub(in crate::editor::lsp) struct Workspace {
    pub(in crate::editor::lsp) registry: Registry,
    /// Checks the policies of a stack; `None` does not check them.
    pub(in crate::editor::lsp) judge: Option<PolicyChecker>,
    open: BTreeMap<PathBuf, (String, Arc<str>)>,
    known: BTreeMap<PathBuf, ParsedSymbols>,
    /// The files of each directory's stack or module: its own files, followed by included ones.
    units: BTreeMap<PathBuf, Vec<TextFile>>,
}

/// A declaration and its file.
#[derive(Debug, Clone, Copy)]
pub(in crate::editor::lsp) struct LocatedDeclaration<'w> {
    /// Path of the declaration, such as `vm.web`.
    pub(in crate::editor::lsp) path: &'w str,
    pub(in crate::editor::lsp) declared: &'w DeclaredName,
    /// Path of the file.
    pub(in crate::editor::lsp) file: &'w Path,
}

impl Workspace {
    /// Returns a workspace without files.
    pub(in crate::editor::lsp) fn new(registry: Registry) -> Self {
        let (open, known) = (BTreeMap::new(), BTreeMap::new());
        Self { registry, judge: None, open, known, units: BTreeMap::new() }
    }

    /// Opens a text, or replaces the open one; returns its path, or `None` if the URI is not one of a file.
    pub(in crate::editor::lsp) fn open(&mut self, uri: &str, text: &str) -> Option<PathBuf> {
        let path = path_of(uri)?;
        self.open.insert(path.clone(), (uri.to_owned(), text.into()));
        Some(path)
    }

    /// Applies changes to an open text, in order; returns its path, or `None` if it is not open.
    pub(in crate::editor::lsp) fn change(
        &mut self,
        uri: &str,
        changes: &[ContentChange],
    ) -> Option<PathBuf> {
        let path = path_of(uri)?;
        let (_, held) = self.open.get_mut(&path)?;
        let mut text = held.to_string();
        for change in changes {
            match change.range {
                Some(range) => {
                    let lines = LineIndex::new(&text);
                    let (start, end) = (lines.offset(range.start), lines.offset(range.end));
                    text.replace_range(start..end.max(start), &change.text);
                }
                None => text.clone_from(&change.text),
            }
        }
        *held = text.into();
        Some(path)
    }

    /// Closes a text; from then on the file on disk applies. Returns its path, or `None` if it is not open.
    pub(in crate::editor::lsp) fn close(&mut self, uri: &str) -> Option<PathBuf> {
        let path = path_of(uri)?;
        self.open.remove(&path).map(|_| path)
    }

    /// Returns an open text; `None` if it is not open.
    pub(in crate::editor::lsp) fn text(&self, uri: &str) -> Option<TextFile> {
        let path = path_of(uri)?;
        let (_, text) = self.open.get(&path)?;
        Some(TextFile { text: text.clone(), path })
    }

    /// Returns the directories of all open texts, once for each text.
    pub(in crate::editor::lsp) fn directories(&self) -> impl Iterator<Item = &Path> {
        self.open.keys().filter_map(|path| path.parent())
    }

    /// Returns the URI of a file, in the form that the editor uses.
    pub(in crate::editor::lsp) fn uri(&self, path: &Path) -> String {
        self.open.get(path).map_or_else(|| uri_of(path), |(uri, _)| uri.clone())
    }

    /// Returns all stack files of a directory, with the contents of open texts, sorted by path.
    pub(in crate::editor::lsp) fn stack_texts(
        &self,
        directory: &Path,
        disk: &dyn WorkspaceDisk,
    ) -> Vec<TextFile> {
        let is_open = |name: &str| self.open.contains_key(&directory.join(name));
        let read = disk.stack_files(directory, &is_open).into_iter();
        let mut all: Vec<TextFile> = read
            .filter(|(name, _)| !is_open(name))
            .map(|(name, text)| TextFile { path: directory.join(name), text: text.into() })
            .collect();
        for (path, (_, text)) in &self.open {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.parent() == Some(directory) && is_stack_file(name) {
                all.push(TextFile { path: path.clone(), text: text.clone() });
            }
        }
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all
    }

    /// Returns the open test files of a directory.
    pub(in crate::editor::lsp) fn tests(&self, directory: &Path) -> impl Iterator<Item = TextFile> {
        let open = self.open.iter().filter(move |(path, _)| path.parent() == Some(directory));
        let texts = open.map(|(path, (_, text))| TextFile { path: path.clone(), text: text.clone() });
        texts.filter(TextFile::has_tests)
    }

    /// Returns the files that a directory's stack may read, with the contents of open texts.
    pub(in crate::editor::lsp) fn overlay(
        &self,
        directory: &Path,
        disk: &dyn WorkspaceDisk,
    ) -> EditorOverlay {
        let open = self.open.iter().map(|(path, (_, text))| (path.clone(), text.clone()));
        EditorOverlay::new(disk.files(directory), Rc::new(open.collect()), directory)
    }

    /// Updates the index for a directory's files and those that they include; a file that cannot be
    /// parsed keeps its previous names.
    pub(in crate::editor::lsp) fn index_names(&mut self, directory: &Path, disk: &dyn WorkspaceDisk) {
        let mut unit = self.stack_texts(directory, disk);
        let files = self.overlay(directory, disk);
        let mut seen: BTreeSet<PathBuf> = unit.iter().map(|text| text.path.clone()).collect();
        let mut next = 0;
        while let Some(text) = unit.get(next).cloned() {
            next += 1;
            self.read(&text);
            let included = self.known.get(&text.path).map(|known| known.names.included.as_slice());
            for way in included.unwrap_or_default() {
                let path = normalize_path(&text.path.parent().unwrap_or(directory).join(way));
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                if is_stack_file(name)
                    && seen.insert(path.clone())
                    && let Some(text) = files.text(&path)
                {
                    unit.push(TextFile { path, text });
                }
            }
        }
        self.units.insert(directory.to_owned(), unit);
    }

    /// Updates the index for all stacks and modules that may include files of a directory.
    pub(in crate::editor::lsp) fn learn_neighbours(&mut self, directory: &Path, disk: &dyn WorkspaceDisk) {
        for neighbour in disk.neighbor_directories(directory) {
            self.index_names(&neighbour, disk);
        }
    }

    fn read(&mut self, text: &TextFile) {
        if self.known.get(&text.path).is_some_and(|known| known.tried == text.text) {
            return;
        }
        match (read_names(&self.registry, &text.source()), self.known.get_mut(&text.path)) {
            (Some(names), _) => {
                let (tried, read) = (text.text.clone(), text.text.clone());
                self.known.insert(text.path.clone(), ParsedSymbols { tried, read, names });
            }
            (None, Some(known)) => known.tried = text.text.clone(),
            (None, None) => {}
        }
    }

    /// Returns the files that share names with those of a directory: its own unit, and all others that
    /// include one of its files.
    pub(in crate::editor::lsp) fn related_texts(&self, directory: &Path) -> BTreeMap<&Path, &TextFile> {
        let here = |unit: &[TextFile]| unit.iter().any(|text| text.path.parent() == Some(directory));
        let units = self.units.iter().filter(|(of, unit)| *of == directory || here(unit));
        units.flat_map(|(_, unit)| unit).map(|text| (text.path.as_path(), text)).collect()
    }

    /// Returns all uses of the module that a file belongs to, each with the directory of the user.
    pub(in crate::editor::lsp) fn module_calls(&self, file: &Path) -> Vec<(&Path, &ModuleCall)> {
        let is_in = |unit: &[TextFile]| unit.iter().any(|text| text.path == file);
        let modules: BTreeSet<&Path> =
            self.units.iter().filter(|(_, unit)| is_in(unit)).map(|(of, _)| of.as_path()).collect();
        let mut found = Vec::new();
        for (directory, unit) in &self.units {
            for text in unit {
                let Some(known) = self.known.get(&text.path) else { continue };
                let from = text.path.parent().unwrap_or(directory);
                let leads = |call: &&ModuleCall| {
                    modules.contains(normalize_path(&from.join(&call.source)).as_path())
                };
                found
                    .extend(known.names.calls.iter().filter(leads).map(|call| (directory.as_path(), call)));
            }
        }
        found
    }

    /// Returns the names in all files that share names with those of a directory.
    pub(in crate::editor::lsp) fn names(
        &self,
        directory: &Path,
    ) -> impl Iterator<Item = (&Path, &FileSymbols)> {
        let around = self.related_texts(directory).into_keys();
        around.filter_map(|path| Some((path, &self.known.get(path)?.names)))
    }

    /// Returns the innermost declaration that contains a path, such as `vm.web` for `vm.web.id`; `None` if none does.
    pub(in crate::editor::lsp) fn find_declaration(
        &self,
        directory: &Path,
        path: &str,
    ) -> Option<LocatedDeclaration<'_>> {
        let names: Vec<(&Path, &FileSymbols)> = self.names(directory).collect();
        let mut path = path;
        loop {
            for (file, names) in &names {
                if let Some((path, declared)) = names.declared.get_key_value(path) {
                    return Some(LocatedDeclaration { path, declared, file });
                }
            }
            path = path.rsplit_once('.')?.0;
        }
    }

    /// Returns the protocol's location of a byte range in an indexed file; `None` for another file.
    pub(in crate::editor::lsp) fn location(
        &self,
        file: &Path,
        at: &std::ops::Range<usize>,
    ) -> Option<Location> {
        let known = self.known.get(file)?;
        Some(Location { uri: self.uri(file), range: LineIndex::new(&known.read).range(at.start, at.end) })
    }

    /// Returns the protocol's ranges for several byte ranges in an indexed file; empty for another file.
    pub(in crate::editor::lsp) fn ranges<'w>(
        &self,
        file: &Path,
        places: impl Iterator<Item = &'w std::ops::Range<usize>>,
    ) -> Vec<LspRange> {
        let Some(known) = self.known.get(file) else { return Vec::new() };
        let lines = LineIndex::new(&known.read);
        places.map(|at| lines.range(at.start, at.end)).collect()
    }
}

/// Returns the path in a `file:` URI, decoded; `None` for another scheme, a bad escape, or a path that is not UTF-8.
pub(in crate::editor::lsp) fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = &rest[rest.find('/')?..];
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

/// Returns the `file:` URI of a path, percent-encoded.
fn uri_of(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.to_string_lossy().bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.extend(format!("%{byte:02X}").chars());
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_uris_convert_both_ways() {
        for path in ["/a/b.stead.yaml", "/a b/é%.kdl"] {
            assert_eq!(path_of(&uri_of(Path::new(path))), Some(PathBuf::from(path)));
        }
        assert_eq!(path_of("file://host/a%3Ab"), Some(PathBuf::from("/a:b")));
        assert_eq!(path_of("untitled:1"), None);
        assert_eq!(path_of("file:///a%zz"), None);
    }
}
