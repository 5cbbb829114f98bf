//! Reading of single files for a stack: limits, the budget of aliases, and paths that stay below the root. In:
//! paths; out: parsed documents, with all problems collected. No file outside of the root is read.

use std::collections::BTreeMap;

use super::config_path::{ConfigPath, ConfigPathError};
use super::files::Files;
use super::parse_file;
use crate::config::codes;
use crate::config::syntax::document::{Document, Node};
use crate::config::syntax::jobs::{InTurn, JobRunner};
use crate::config::syntax::limits::MAX_FILES;
use crate::config::syntax::parse_cache::ParseCache;
use crate::config::syntax::{budget, decode};
use crate::model::budget::Budget;
use crate::model::diagnostic::Diagnostic;
use crate::model::schema::Registry;
use crate::model::source::{Source, Sources, Span};

/// Hint for a path that leaves the root.
const OUTSIDE_HELP: &str =
    "move it below the root (the directory of `.git`, else the stack's own), or give `--allow-outside`";

/// A stack or a module: the documents of one directory, and the files that they include.
#[derive(Debug, Default)]
pub(in crate::config) struct SourceUnit {
    /// Directory of the unit.
    pub(in crate::config) place: ConfigPath,
    /// Parsed files of the unit.
    pub(in crate::config) documents: Vec<Document>,
    /// Path of each document, in the same order.
    pub(in crate::config) files: Vec<ConfigPath>,
}

/// All source files of a stack, parsed, by unit.
#[derive(Debug, Default)]
pub(in crate::config) struct SourceUnits {
    /// The stack itself, followed by the modules.
    pub(in crate::config) units: Vec<SourceUnit>,
    /// Index of the unit for each module call, by the span of its `source`.
    pub(in crate::config) calls: BTreeMap<Span, usize>,
    /// Budget for all values of the stack; repetition by aliases is already charged.
    pub(in crate::config) budget: Budget,
}

/// Reader of all files of a stack.
pub(in crate::config) struct SourceUnitLoader<'g> {
    pub(in crate::config) registry: Registry,
    /// Source files by id; each file that is read is added.
    pub(in crate::config) sources: &'g mut Sources,
    /// File access for includes and modules.
    pub(in crate::config) files: &'g dyn Files,
    /// Units read so far.
    pub(in crate::config) gathered: SourceUnits,
    /// Problems found so far.
    pub(in crate::config) problems: Vec<Diagnostic>,
    /// Cache of parsed files; `None` if the caller keeps none.
    pub(super) trees: Option<&'g ParseCache>,
    /// Runs the parsing of several files, or of several parts of a file.
    pub(super) jobs: &'g dyn JobRunner,
    pub(super) directories: BTreeMap<ConfigPath, usize>,
    pub(super) uses: Vec<(usize, usize, Span)>,
    pub(super) read: usize,
    pub(super) full: bool,
    /// Whether the stack exceeds its budget.
    pub(super) is_over: bool,
}

impl<'g> SourceUnitLoader<'g> {
    pub(super) fn new(registry: Registry, sources: &'g mut Sources, files: &'g dyn Files) -> Self {
        Self {
            registry,
            sources,
            files,
            gathered: SourceUnits::default(),
            problems: Vec::new(),
            trees: None,
            jobs: &InTurn,
            directories: BTreeMap::new(),
            uses: Vec::new(),
            read: 0,
            full: false,
            is_over: false,
        }
    }

    /// Reads and parses a file. `None` when that fails; the problem is reported. A file with errors is also a
    /// source, so that its diagnostics can show it.
    pub(in crate::config) fn open_file(&mut self, place: &ConfigPath, span: Span) -> Option<Document> {
        if self.is_over {
            return None;
        }
        if self.read >= MAX_FILES {
            if !std::mem::replace(&mut self.full, true) {
                self.problems.push(
                    Diagnostic::error(codes::MODULE_LIMIT, "there are too many files")
                        .with_label(span, "")
                        .detail(format!("A stack and its modules are made of at most {MAX_FILES} files."))
                        .help("put several blocks into one file"),
                );
            }
            return None;
        }
        self.read += 1;
        let shown = self.display_path(place);
        let bytes = match self.files.read_shared(&place.path()) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.problems.push(
                    Diagnostic::error(codes::INCLUDE, "a file cannot be read")
                        .with_label(span, "")
                        .detail(format!("`{shown}` cannot be read: {error}."))
                        .help("paths start at the directory of the file that they are written in"),
                );
                return None;
            }
        };
        let id = self.sources.next();
        let parsed = match decode::decode_utf8(id, bytes) {
            Ok(text) => {
                let source = Source::new(shown, text);
                self.sources.add(source.clone());
                let document =
                    parse_file::parse_document(&self.registry, id, &source, self.trees, self.jobs);
                if document.as_ref().is_ok_and(|document| !self.charge_aliases(&source, document)) {
                    return None;
                }
                document
            }
            Err(unreadable) => {
                self.sources.add(Source::new(shown, unreadable.shown));
                Err(vec![unreadable.diagnostic])
            }
        };
        match parsed {
            Ok(document) => Some(document),
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        }
    }

    /// Charges the repetition by aliases in a file to the budget. Returns false when the budget does not
    /// suffice, which is reported once.
    pub(super) fn charge_aliases(&mut self, source: &Source, document: &Document) -> bool {
        let charged = budget::charge_repeated(&self.gathered.budget, source, document);
        if let Err(problem) = charged
            && !std::mem::replace(&mut self.is_over, true)
        {
            self.problems.push(*problem);
        }
        !self.is_over
    }

    /// Returns a path as the user would type it: relative to the directory of the stack's files as they were named.
    pub(super) fn display_path(&self, place: &ConfigPath) -> String {
        let here = ConfigPath::new(self.files.path_from_root());
        let first = self.sources.iter().next().map(|(_, source)| source.path.clone()).unwrap_or_default();
        let directory = first.rsplit_once('/').map_or("", |(directory, _)| directory);
        let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
        let way = place.seen_from(&here);
        for part in way.split('/') {
            let up = part == ".." && parts.last().is_some_and(|last| *last != ".." && *last != ".");
            if up {
                parts.pop();
            } else {
                parts.push(part);
            }
        }
        let rooted = if directory.starts_with('/') { "/" } else { "" };
        format!("{rooted}{}", parts.join("/"))
    }

    /// Resolves a written path relative to a directory; `None` if it is refused, which is reported.
    pub(in crate::config) fn follow_path(&mut self, from: &ConfigPath, node: &Node) -> Option<ConfigPath> {
        let path = node.scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
        let away = match from.join(path) {
            Ok(place) => return Some(place),
            Err(away) => away,
        };
        self.problems.push(match away {
            ConfigPathError::Outside => {
                Diagnostic::error(codes::OUTSIDE, "a path is outside of the root directory")
                    .with_label(node.span, "")
                    .detail(format!("`{path}` is outside of the directories that this stack may read."))
                    .help(OUTSIDE_HELP)
            }
            ConfigPathError::NotPlain => Diagnostic::error(codes::OUTSIDE, "this is not a path")
                .with_label(node.span, "")
                .detail("It takes a relative path with `/` between its parts, as a literal.")
                .help("write, for example, `../shared/network.stead.yaml`"),
        });
        None
    }
}
