//! `FileSymbols`: the declarations in one file, and the references in it. Read from the parsed
//! document, without evaluating it.

use std::collections::BTreeMap;
use std::ops::Range;

use super::references::scan_references;
use crate::config::syntax::document::{Document, DocumentEntry, Node, NodeValue};
use crate::model::schema::{Kind, Registry};
use crate::model::source::{Source, SourceId, Span};

/// Blocks of the language whose entries can be referred to.
const REFERENCEABLE_BLOCKS: &[&str] = &["locals", "stacks", "use", "vars"];

/// Blocks with addresses that are written without a `$`.
const PLAIN_ADDRESS_KEYS: &[&str] = &["depends_on", "import", "moved", "removed"];

/// A name that a block or an entry declares.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::editor::lsp) struct DeclaredName {
    /// The kind of a resource or lookup; `None` for an entry in a block of the language.
    pub(in crate::editor::lsp) kind: Option<&'static Kind>,
    /// Byte range of the name.
    pub(in crate::editor::lsp) at: Range<usize>,
    /// The keys of the instances, as far as they are literal; `None` for a block without `for_each`.
    pub(in crate::editor::lsp) keys: Option<Vec<String>>,
    /// Whether the block sets `name` itself.
    pub(in crate::editor::lsp) named: bool,
    /// The value in source form, at most 80 characters; empty if it has several lines or is a block. A
    /// secret's default is omitted.
    pub(in crate::editor::lsp) text: String,
}

/// The declarations and references of one file.
#[derive(Debug, Clone, Default)]
pub(in crate::editor::lsp) struct FileSymbols {
    /// Declarations by path: `vm.web`, `vars.size`, `cluster.jobs.node_pools.batch`.
    pub(in crate::editor::lsp) declared: BTreeMap<String, DeclaredName>,
    /// References in the order of the text: the path without its `$`, and its byte range.
    pub(in crate::editor::lsp) references: Vec<(String, Range<usize>)>,
    /// Paths of variables that environments set: `environments.prod.vars.size`.
    pub(in crate::editor::lsp) set: Vec<String>,
    /// Paths of included files, as written in the source.
    pub(in crate::editor::lsp) included: Vec<String>,
    /// The uses of modules.
    pub(in crate::editor::lsp) calls: Vec<ModuleCall>,
}

/// One use of a module: a block in `use`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::editor::lsp) struct ModuleCall {
    pub(in crate::editor::lsp) name: String,
    /// Path of the module's directory, as written in the source; empty if the block has none.
    pub(in crate::editor::lsp) source: String,
    /// Names of the variables that the block sets.
    pub(in crate::editor::lsp) gives: Vec<String>,
}

/// Reads the names of a file; `None` if it cannot be parsed.
pub(in crate::editor::lsp) fn read_names(registry: &Registry, source: &Source) -> Option<FileSymbols> {
    let is_kind = |word: &str| word == "use" || registry.top_level().any(|kind| kind.name == word);
    let document = crate::config::syntax::parse_source::parse(SourceId(0), source, &is_kind)?.ok()?;
    let mut reader = SymbolCollector { registry, text: &source.text, names: FileSymbols::default() };
    reader.read_document(&document);
    Some(reader.names)
}

struct SymbolCollector<'r> {
    registry: &'r Registry,
    text: &'r str,
    names: FileSymbols,
}

impl SymbolCollector<'_> {
    fn read_document(&mut self, document: &Document) {
        for block in &document.root {
            let word = block.key.as_str();
            if let Some(kind) = self.registry.top_level().find(|kind| kind.name == word) {
                self.read_blocks(kind, word, &block.value);
            } else if word == "data" {
                for lookups in block.value.entries().unwrap_or_default() {
                    let kind = self.registry.top_level().find(|kind| kind.name == lookups.key);
                    for entry in lookups.value.entries().unwrap_or_default() {
                        self.add_declaration(format!("data.{}.{}", lookups.key, entry.key), kind, entry);
                    }
                }
            } else if REFERENCEABLE_BLOCKS.contains(&word) {
                for entry in block.value.entries().unwrap_or_default() {
                    self.add_declaration(format!("{word}.{}", entry.key), None, entry);
                }
            }
            match word {
                "environments" => self.read_environments(block),
                "include" => self.names.included.extend(text_values(&block.value)),
                "use" => {
                    let calls = block.value.entries().unwrap_or_default();
                    self.names.calls.extend(calls.iter().map(module_call));
                }
                _ => {}
            }
            self.collect_references(&block.value, PLAIN_ADDRESS_KEYS.contains(&word));
        }
    }

    fn read_environments(&mut self, block: &DocumentEntry) {
        for environment in block.value.entries().unwrap_or_default() {
            let parts = environment.value.entries().unwrap_or_default();
            let vars = parts.iter().filter(|part| part.key == "vars");
            for variable in vars.flat_map(|vars| vars.value.entries().unwrap_or_default()) {
                self.names.set.push(format!("environments.{}.vars.{}", environment.key, variable.key));
            }
        }
    }

    fn read_blocks(&mut self, kind: &'static Kind, path: &str, value: &Node) {
        for entry in value.entries().unwrap_or_default() {
            let path = format!("{path}.{}", entry.key);
            self.add_declaration(path.clone(), Some(kind), entry);
            for inner in entry.value.entries().unwrap_or_default() {
                if let Some(child) = self.registry.child(kind.name, &inner.key) {
                    self.read_blocks(child, &format!("{path}.{}", inner.key), &inner.value);
                }
            }
        }
    }

    fn add_declaration(&mut self, path: String, kind: Option<&'static Kind>, entry: &DocumentEntry) {
        let body = entry.value.entries().unwrap_or_default();
        let find = |key: &str| body.iter().find(|inner| inner.key == key);
        let declared = DeclaredName {
            kind,
            at: span_range(entry.key_span),
            keys: find("for_each")
                .filter(|_| kind.is_some() || path.starts_with("use."))
                .map(|each| key_names(&each.value)),
            named: find("name").is_some(),
            text: if path.starts_with("vars.") {
                self.summarize_value(&entry.value)
            } else {
                self.source_text(&entry.value)
            },
        };
        self.names.declared.entry(path).or_insert(declared);
    }

    /// Returns a value in source form, or the short values of its entries: `type: number, default: 3`.
    fn summarize_value(&self, node: &Node) -> String {
        let Some(entries) = node.entries() else { return self.source_text(node) };
        let is_type = |part: &&DocumentEntry| part.key == "type";
        let ty = entries.iter().find(is_type).and_then(|part| part.value.scalar());
        let is_secret = ty.is_some_and(|ty| ty.text == "secret");
        let told = entries.iter().filter(|part| !is_secret || part.key != "default");
        let shown = told.map(|part| (&part.key, self.source_text(&part.value)));
        let parts: Vec<String> = shown
            .filter(|(_, value)| !value.is_empty())
            .map(|(key, value)| format!("{key}: {value}"))
            .collect();
        parts.join(", ")
    }

    /// Returns a short value in source form; empty for others.
    fn source_text(&self, node: &Node) -> String {
        let text = self.text.get(span_range(node.span)).unwrap_or_default();
        if matches!(node.value, NodeValue::Mapping(_) | NodeValue::Bare) || text.contains('\n') {
            return String::new();
        }
        text.chars().take(80).collect()
    }

    /// Collects the references in a value; with `plain`, addresses have no `$`.
    fn collect_references(&mut self, node: &Node, plain: bool) {
        if node.through.is_some() {
            // The value is written in another place, and collected there.
            return;
        }
        match &node.value {
            NodeValue::Scalar(scalar) => {
                let place = span_range(node.span);
                let raw = self.text.get(place.clone()).unwrap_or_default();
                if plain && scalar.text.contains('.') && !scalar.text.contains('$') {
                    if let Some(at) = raw.find(scalar.text.as_str()) {
                        let at = place.start + at;
                        self.names.references.push((scalar.text.to_string(), at..at + scalar.text.len()));
                    }
                } else if raw.contains('$') {
                    for (path, at) in scan_references(raw) {
                        let at = place.start + at.start..place.start + at.end;
                        self.names.references.push((path.to_owned(), at));
                    }
                }
            }
            NodeValue::Sequence(items) => {
                for item in items {
                    self.collect_references(item, plain);
                }
            }
            NodeValue::Mapping(entries) => {
                for entry in entries {
                    self.collect_references(
                        &entry.value,
                        plain || PLAIN_ADDRESS_KEYS.contains(&entry.key.as_str()),
                    );
                }
            }
            NodeValue::Null | NodeValue::Bare => {}
        }
    }
}

fn module_call(entry: &DocumentEntry) -> ModuleCall {
    let find = |key: &str| entry.value.entries()?.iter().find(|inner| inner.key == key);
    let source = find("source").and_then(|source| text_values(&source.value).pop());
    let gives = find("with").and_then(|with| with.value.entries()).unwrap_or_default();
    ModuleCall {
        name: entry.key.to_string(),
        source: source.unwrap_or_default(),
        gives: gives.iter().map(|given| given.key.to_string()).collect(),
    }
}

fn key_names(node: &Node) -> Vec<String> {
    match &node.value {
        NodeValue::Mapping(entries) => entries.iter().map(|entry| entry.key.to_string()).collect(),
        NodeValue::Sequence(_) => text_values(node),
        _ => Vec::new(),
    }
}

/// Returns the scalars of a list, or the single scalar, as strings.
fn text_values(node: &Node) -> Vec<String> {
    let text = |node: &Node| node.scalar().map(|scalar| scalar.text.to_string());
    match &node.value {
        NodeValue::Sequence(items) => items.iter().filter_map(text).collect(),
        _ => text(node).into_iter().collect(),
    }
}

fn span_range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}
