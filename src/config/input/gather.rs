//! Gathering of all source files of a stack: its own files, included files and modules. In: the stack's own
//! files. Out: one unit per stack or module. Each file and each directory is read once,
//! however often it is named.

use std::collections::BTreeMap;

use super::include::IncludedFiles;
use crate::config::diagnostics::codes;
use crate::config::input::config_path::{ConfigPath, ConfigPathError};
use crate::config::input::discovery::is_stack_file;
use crate::config::input::files::Files;
use crate::config::input::parse_file;
use crate::config::syntax::document::{Document, DocumentEntry, Node, named_entries};
use crate::config::syntax::parse_cache::ParseCache;
use crate::config::syntax::{budget, decode};
use crate::model::budget::Budget;
use crate::model::diagnostic::Diagnostic;
use crate::model::graph::Graph;
use crate::model::schema::Registry;
use crate::model::source::{Source, Sources, Span};

/// Maximum number of files of a stack and its modules.
const MAX_FILES: usize = 1000;

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
    /// Path of each document.
    pub(in crate::config) files: Vec<ConfigPath>,
}

/// All source files of a stack, parsed.
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
    /// Cache of parsed files, if the caller keeps one.
    trees: Option<&'g ParseCache>,
    directories: BTreeMap<ConfigPath, usize>,
    uses: Vec<(usize, usize, Span)>,
    read: usize,
    full: bool,
    /// Whether the stack exceeds its budget.
    is_over: bool,
}

/// Parses the stack's own files, and reads the files that they include and the modules that they use.
pub(in crate::config) fn gather_units(
    registry: Registry,
    sources: &mut Sources,
    files: &dyn Files,
    trees: Option<&ParseCache>,
) -> Result<SourceUnits, Vec<Diagnostic>> {
    let mut gatherer = SourceUnitLoader { trees, ..SourceUnitLoader::new(registry, sources, files) };
    gatherer.read_stack();
    let mut next = 0;
    while next < gatherer.gathered.units.len() {
        gatherer.used_by(next);
        next += 1;
    }
    gatherer.report_module_cycles();
    if gatherer.problems.is_empty() { Ok(gatherer.gathered) } else { Err(gatherer.problems) }
}

/// Parses the stack's own files and the files that they include, but no modules.
pub(in crate::config) fn read_own_files(
    registry: Registry,
    sources: &mut Sources,
    files: &dyn Files,
) -> Result<Vec<Document>, Vec<Diagnostic>> {
    let mut gatherer = SourceUnitLoader::new(registry, sources, files);
    gatherer.read_stack();
    match gatherer.gathered.units.pop() {
        Some(unit) if gatherer.problems.is_empty() => Ok(unit.documents),
        _ => Err(gatherer.problems),
    }
}

impl<'g> SourceUnitLoader<'g> {
    fn new(registry: Registry, sources: &'g mut Sources, files: &'g dyn Files) -> Self {
        Self {
            registry,
            sources,
            files,
            gathered: SourceUnits::default(),
            problems: Vec::new(),
            trees: None,
            directories: BTreeMap::new(),
            uses: Vec::new(),
            read: 0,
            full: false,
            is_over: false,
        }
    }

    /// Reads the first unit: the files that are there already, and those that they include.
    fn read_stack(&mut self) {
        let own: Vec<(_, Source)> = self.sources.iter().map(|(id, source)| (id, source.clone())).collect();
        self.read = own.len();
        let here = ConfigPath::new(self.files.path_from_root());
        let mut includes = IncludedFiles::default();
        let mut unit = SourceUnit { place: here.clone(), ..SourceUnit::default() };
        for (id, source) in own {
            let name = source.path.rsplit('/').next().unwrap_or_default();
            let place = here.join(name).unwrap_or_default();
            match parse_file::parse_document(&self.registry, id, &source, self.trees) {
                Ok(document) => {
                    if self.charge_aliases(&source, &document) {
                        includes.add_file(&mut unit, place, document);
                    }
                }
                Err(problems) => self.problems.extend(problems),
            }
        }
        self.directories.insert(here, 0);
        self.complete_unit(unit, includes);
    }

    fn complete_unit(&mut self, mut unit: SourceUnit, mut includes: IncludedFiles) {
        includes.follow_includes(self, &mut unit);
        self.gathered.units.push(unit);
    }

    /// Reads and parses a file. `None` when that fails; the problem is reported.
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
                let document = parse_file::parse_document(&self.registry, id, &source, self.trees);
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
    fn charge_aliases(&mut self, source: &Source, document: &Document) -> bool {
        let charged = budget::charge_repeated(&self.gathered.budget, source, document);
        if let Err(problem) = charged
            && !std::mem::replace(&mut self.is_over, true)
        {
            self.problems.push(*problem);
        }
        !self.is_over
    }

    /// Returns a path as the user would type it.
    fn display_path(&self, place: &ConfigPath) -> String {
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

    /// Resolves a written path relative to a directory; reports a path that is refused.
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

    /// Reads the modules that a unit uses.
    fn used_by(&mut self, unit: usize) {
        let Some(found) = self.gathered.units.get(unit) else { return };
        let mut sources: Vec<(ConfigPath, Node)> = Vec::new();
        for (document, file) in found.documents.iter().zip(&found.files) {
            let from = file.parent();
            let calls = document.root.iter().filter(|entry| entry.key == "use");
            for call in calls.flat_map(|entry| named_entries(&entry.value).unwrap_or_default()) {
                sources.extend(source_of(call).map(|node| (from.clone(), node.clone())));
            }
        }
        for (from, node) in sources {
            let Some(place) = self.follow_path(&from, &node) else { continue };
            let known = self.directories.get(&place).copied();
            let Some(module) = known.or_else(|| self.read_module(&place, node.span)) else { continue };
            self.gathered.calls.insert(node.span, module);
            self.uses.push((unit, module, node.span));
        }
    }

    /// Reads a directory as a module.
    fn read_module(&mut self, place: &ConfigPath, span: Span) -> Option<usize> {
        let wrong = |detail: String| {
            Diagnostic::error(codes::MODULE, "this directory is not a module")
                .with_label(span, "")
                .detail(detail)
                .help("a module is a directory with a `stead.yaml`, `stead.kdl`, `*.stead.yaml` or `*.stead.kdl`")
        };
        let shown = self.display_path(place);
        let mut names = match self.files.names_shared(&place.path()) {
            Ok(names) => names,
            Err(error) => {
                self.problems.push(wrong(format!("`{shown}` cannot be read: {error}.")));
                return None;
            }
        };
        names.retain(|name| is_stack_file(name));
        names.sort();
        if names.is_empty() {
            self.problems.push(wrong(format!("`{shown}` has no stack file.")));
            return None;
        }
        let module = self.gathered.units.len();
        self.directories.insert(place.clone(), module);
        let mut unit = SourceUnit { place: place.clone(), ..SourceUnit::default() };
        let mut includes = IncludedFiles::default();
        for name in names {
            let Ok(file) = place.join(&name) else { continue };
            if let Some(document) = self.open_file(&file, span) {
                includes.add_file(&mut unit, file, document);
            }
        }
        self.complete_unit(unit, includes);
        Some(module)
    }

    /// Reports modules that use each other in a cycle.
    fn report_module_cycles(&mut self) {
        let mut graph = Graph::default();
        let nodes: Vec<_> = (0..self.gathered.units.len()).map(|n| graph.add(n)).collect();
        for (from, to, _) in &self.uses {
            graph.add_edge(nodes[*from], nodes[*to]);
        }
        let mut knots = graph.topological_order().err().unwrap_or_default();
        let alone: Vec<_> = self.uses.iter().filter(|(from, to, _)| from == to).collect();
        knots.extend(alone.iter().map(|(from, ..)| vec![nodes[*from]]));
        knots.sort();
        knots.dedup();
        for knot in knots {
            let members: Vec<usize> = knot.iter().filter_map(|id| graph.get(*id).copied()).collect();
            let mut problem = Diagnostic::error(codes::MODULE_CYCLE, "modules use each other in a cycle")
                .detail("A module would contain itself without end.")
                .help("move what both need into a separate module");
            let inside =
                self.uses.iter().filter(|(from, to, _)| members.contains(from) && members.contains(to));
            for (_, to, span) in inside.take(20) {
                let to = self.gathered.units.get(*to).map(|unit| self.display_path(&unit.place));
                problem = problem.with_label(*span, format!("uses {}", to.unwrap_or_default()));
            }
            self.problems.push(problem);
        }
    }
}

/// Returns the `source` of a call.
pub(in crate::config) fn source_of(call: &DocumentEntry) -> Option<&Node> {
    named_entries(&call.value)?.iter().find(|entry| entry.key == "source").map(|entry| &entry.value)
}
