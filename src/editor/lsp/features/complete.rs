//! Completion: the candidates at a position: keys and values of the schema, declared names, and continuations of a
//! reference. They are filtered by the word so far, and valid for text that cannot be parsed.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use super::describe;
use crate::config::keywords::{self, Keyword, KeywordValue};
use crate::config::syntax::document::Syntax;
use crate::editor::facts;
use crate::editor::lsp::cursor::path_target::{SchemaPosition, innermost_type};
use crate::editor::lsp::cursor::types::{Cursor, CursorContext};
use crate::editor::lsp::lines::LineIndex;
use crate::editor::lsp::protocol::{CompletionItem, MarkupContent, TextEdit};
use crate::editor::lsp::workspace::files::{TextFile, Workspace};
use crate::editor::lsp::workspace::references::unfinished_reference;
use crate::model::address::is_in;
use crate::model::live::catalog::Catalog;
use crate::model::schema::{Attribute, Kind, Presence, Type};

/// Limit on the items of a response; the editor asks again as the user types.
const MAX_COMPLETIONS: usize = 200;

/// The protocol's numbers for kinds of completion items.
mod icon {
    pub(super) const VARIABLE: u8 = 6;
    pub(super) const CLASS: u8 = 7;
    pub(super) const PROPERTY: u8 = 10;
    pub(super) const VALUE: u8 = 12;
    pub(super) const KEYWORD: u8 = 14;
    pub(super) const REFERENCE: u8 = 18;
}

/// The completion items at a position.
pub(in crate::editor::lsp) struct CompletionList {
    pub(in crate::editor::lsp) items: Vec<CompletionItem>,
    /// Whether the list was truncated.
    pub(in crate::editor::lsp) more: bool,
}

/// A completion candidate before its conversion to an item.
struct CompletionEntry {
    label: String,
    icon: u8,
    detail: String,
    documentation: String,
    /// Text to insert; `None` inserts the label.
    insert: Option<String>,
    /// Sort order: smaller ranks come first, and within a rank the labels are sorted.
    rank: u8,
}

/// Returns the completion items at a byte offset of a text; empty in comments. Without a `catalog`, catalog
/// names are not offered.
pub(in crate::editor::lsp) fn complete_at(
    workspace: &Workspace,
    text: &TextFile,
    offset: usize,
    catalog: Option<&Catalog>,
) -> CompletionList {
    let cursor = text.cursor(&workspace.registry, offset, false);
    let directory = text.path.parent().unwrap_or(Path::new(""));
    let at = CompletionRequest { workspace, directory, text, offset, catalog, cursor };
    let nothing = (offset..offset, Vec::new());
    let (replaced, choices) = match at.cursor.at {
        CursorContext::Text => nothing,
        _ => match unfinished_reference(&text.text[..offset]) {
            Some(path) => at.references(path),
            None => (at.cursor.word.clone(), at.word_choices()),
        },
    };
    build_listing(text, replaced, choices)
}

/// Converts the candidates that match the typed text to items, at most `MAX_COMPLETIONS`; `more` tells whether there
/// are others. A candidate matches if it has the typed letters in this order, in either case, with any others between.
fn build_listing(text: &TextFile, replaced: Range<usize>, choices: Vec<CompletionEntry>) -> CompletionList {
    let lines = LineIndex::new(&text.text);
    let range = lines.range(replaced.start, replaced.end);
    let typed = text.text[replaced].to_ascii_lowercase();
    let fits = |choice: &CompletionEntry| {
        let mut rest = choice.label.chars().map(|c| c.to_ascii_lowercase());
        typed.chars().all(|c| rest.any(|other| other == c))
    };
    let mut fitting = choices.into_iter().filter(fits);
    let item = |choice: CompletionEntry| CompletionItem {
        kind: choice.icon,
        detail: choice.detail,
        documentation: (!choice.documentation.is_empty())
            .then(|| MarkupContent::markdown(choice.documentation)),
        sort_text: format!("{}{}", choice.rank, choice.label),
        text_edit: TextEdit { range, new_text: choice.insert.unwrap_or_else(|| choice.label.clone()) },
        label: choice.label,
    };
    let items: Vec<CompletionItem> = fitting.by_ref().take(MAX_COMPLETIONS).map(item).collect();
    let more = fitting.next().is_some();
    CompletionList { items, more }
}

/// A position to complete, and what is known about it.
struct CompletionRequest<'a> {
    workspace: &'a Workspace,
    directory: &'a Path,
    text: &'a TextFile,
    offset: usize,
    catalog: Option<&'a Catalog>,
    cursor: Cursor,
}

impl CompletionRequest<'_> {
    /// Returns the keywords and keys that are allowed here.
    fn word_choices(&self) -> Vec<CompletionEntry> {
        let place = self.text.target_at(&self.workspace.registry, &self.cursor.path);
        let keys = match self.cursor.at {
            CursorContext::Key => true,
            CursorContext::Argument => place.takes_keys(),
            CursorContext::Value => place.takes_keys() && self.begins_item(),
            CursorContext::Text => false,
        };
        if keys { self.keys(place) } else { self.values(place) }
    }

    /// Returns whether the word is the beginning of an item in a YAML list.
    fn begins_item(&self) -> bool {
        let before = &self.text.text[..self.cursor.word.start];
        self.text.syntax() == Syntax::Yaml && before.trim_end_matches(' ').ends_with('-')
    }

    fn keys(&self, place: SchemaPosition) -> Vec<CompletionEntry> {
        let registry = &self.workspace.registry;
        match place {
            SchemaPosition::Top => {
                let kinds = registry.top_level().map(|kind| self.kind_choice(kind));
                kinds.chain(keywords::TOP.iter().map(|word| self.word_choice(word, 2))).collect()
            }
            SchemaPosition::Lookups => registry.top_level().map(|kind| self.kind_choice(kind)).collect(),
            SchemaPosition::Body(kind) => {
                let writable = kind.attributes.iter().filter(|attribute| attribute.is_writable());
                let attributes = writable.map(|attribute| self.attribute_choice(kind, attribute));
                let children = registry.children(kind.name).filter_map(|child| {
                    let (_, key) = child.child_of()?;
                    Some(CompletionEntry {
                        documentation: describe::describe_kind(registry, child),
                        ..self.key_choice(key, icon::CLASS, child.summary, 1)
                    })
                });
                let words = keywords::BODY.iter().map(|word| self.word_choice(word, 2));
                attributes.chain(children).chain(words).collect()
            }
            SchemaPosition::Lookup(kind) => {
                kind.attributes.iter().map(|attribute| self.attribute_choice(kind, attribute)).collect()
            }
            SchemaPosition::Typed { kind, attribute, ty } => match innermost_type(ty) {
                Type::Record(fields) => fields
                    .iter()
                    .map(|(name, ty)| CompletionEntry {
                        documentation: describe::describe_attribute(kind, attribute),
                        ..self.key_choice(name, icon::PROPERTY, &facts::type_name(ty), 0)
                    })
                    .collect(),
                _ => Vec::new(),
            },
            SchemaPosition::Keywords(words) => words.iter().map(|word| self.word_choice(word, 0)).collect(),
            SchemaPosition::Variables => {
                let names = self.declared_names("vars");
                names.into_iter().map(|(name, _)| self.key_choice(&name, icon::VARIABLE, "", 0)).collect()
            }
            SchemaPosition::Names(_)
            | SchemaPosition::Value(_)
            | SchemaPosition::Addresses
            | SchemaPosition::AddressesOrModules
            | SchemaPosition::Any => Vec::new(),
        }
    }

    fn values(&self, place: SchemaPosition) -> Vec<CompletionEntry> {
        match place {
            SchemaPosition::Typed { kind, attribute, ty } => self.typed_choices(kind, attribute, ty),
            SchemaPosition::Value(word) => self.values_of(word),
            SchemaPosition::Addresses | SchemaPosition::AddressesOrModules => {
                let names = self.workspace.names(self.directory);
                let declared = names.flat_map(|(_, names)| &names.declared);
                let fitting = declared.filter(|(path, found)| match path.split_once('.') {
                    Some(("use", _)) => place == SchemaPosition::AddressesOrModules,
                    Some(("data", _)) => false,
                    _ => found.kind.is_some(),
                });
                let written = |path: &str| self.value_choice(path.strip_prefix("use.").unwrap_or(path), "");
                fitting.map(|(path, _)| written(path)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn typed_choices(
        &self,
        kind: &Kind,
        attribute: &'static Attribute,
        ty: &'static Type,
    ) -> Vec<CompletionEntry> {
        match innermost_type(ty) {
            Type::Boolean => self.booleans(),
            Type::Enum(words) => words.iter().map(|word| self.value_choice(word, "")).collect(),
            Type::Labelled(words) => words.iter().map(|(word, _)| self.value_choice(word, "")).collect(),
            Type::Reference(wanted) => {
                let names = self.workspace.names(self.directory);
                let declared = names.flat_map(|(_, names)| &names.declared);
                let fitting =
                    declared.filter(|(_, found)| found.kind.is_some_and(|kind| kind.name == *wanted));
                let choice = |(path, _): (&String, _)| CompletionEntry {
                    icon: icon::REFERENCE,
                    ..self.value_choice(&format!("${path}"), "")
                };
                fitting.map(choice).collect()
            }
            Type::Catalog(table) => {
                let slugs = self.catalog.into_iter().flat_map(|catalog| catalog.slugs(table));
                let choice = |slug: &str| {
                    let price = self
                        .catalog
                        .and_then(|catalog| describe::price_text(kind, attribute, slug, catalog));
                    self.value_choice(slug, &price.unwrap_or_default())
                };
                slugs.map(choice).collect()
            }
            _ => Vec::new(),
        }
    }

    fn values_of(&self, word: &Keyword) -> Vec<CompletionEntry> {
        match word.takes {
            KeywordValue::Kinds => {
                let kinds = self.workspace.registry.kinds.iter();
                kinds.map(|kind| self.value_choice(kind.name, kind.summary)).collect()
            }
            KeywordValue::Boolean => self.booleans(),
            KeywordValue::OneOf(words) => {
                words.iter().map(|word| self.value_choice(word.name, word.summary)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn booleans(&self) -> Vec<CompletionEntry> {
        let written = |word: &str| match self.text.syntax() {
            Syntax::Yaml => word.to_owned(),
            Syntax::Kdl => format!("#{word}"),
        };
        ["true", "false"]
            .iter()
            .map(|word| CompletionEntry { insert: Some(written(word)), ..self.value_choice(word, "") })
            .collect()
    }

    /// Returns the possible continuations of the reference `path`, and the byte range that they replace.
    fn references(&self, path: &str) -> (Range<usize>, Vec<CompletionEntry>) {
        let last = path.rsplit('.').next().unwrap_or_default();
        let replaced = self.offset - last.len()..self.offset;
        let above = path[..path.len() - last.len()].trim_end_matches('.');
        let choice = |label: &str, icon, detail: &str, rank| CompletionEntry {
            label: label.to_owned(),
            icon,
            detail: detail.to_owned(),
            documentation: String::new(),
            insert: None,
            rank,
        };
        if above.is_empty() {
            let roots =
                keywords::ROOTS.iter().map(|word| choice(word.name, icon::KEYWORD, word.summary, 1));
            let declared = |kind: &&Kind| !self.declared_names(kind.name).is_empty();
            let kinds = self.workspace.registry.top_level().filter(declared);
            let kinds = kinds.map(|kind| choice(kind.name, icon::CLASS, kind.summary, 0));
            return (replaced, kinds.chain(roots).collect());
        }
        if above == "each" {
            let each = keywords::EACH.iter().map(|word| choice(word.name, icon::VARIABLE, word.summary, 0));
            return (replaced, each.collect());
        }
        let mut choices: Vec<CompletionEntry> = self
            .declared_names(above)
            .into_iter()
            .map(|(name, detail)| choice(&name, icon::REFERENCE, &detail, 0))
            .collect();
        let Some(found) = self.workspace.find_declaration(self.directory, above) else {
            return (replaced, choices);
        };
        let Some(kind) = found.declared.kind else { return (replaced, choices) };
        let behind = above[found.path.len()..].matches('.').count();
        let instance = usize::from(found.declared.keys.is_some());
        if behind == 0 {
            let keys = found.declared.keys.iter().flatten();
            choices.extend(keys.map(|key| choice(key, icon::REFERENCE, "instance", 0)));
        }
        if behind == instance {
            let readable = kind.attributes.iter().filter(|attribute| attribute.is_readable());
            choices.extend(readable.map(|attribute| CompletionEntry {
                documentation: describe::describe_attribute(kind, attribute),
                ..choice(attribute.name, icon::PROPERTY, &facts::type_name(&attribute.ty), 2)
            }));
            choices.push(choice("id", icon::PROPERTY, "the object's id", 2));
        }
        (replaced, choices)
    }

    /// Returns the names that are declared directly below a path, with their values in source form, sorted.
    fn declared_names(&self, path: &str) -> BTreeSet<(String, String)> {
        let from = format!("{path}.");
        let mut found = BTreeSet::new();
        for (_, names) in self.workspace.names(self.directory) {
            for (declared, what) in names.declared.range(from.clone()..) {
                if !is_in(declared, path) {
                    break;
                }
                match declared[from.len()..].split_once('.') {
                    None => found.insert((declared[from.len()..].to_owned(), what.text.clone())),
                    Some((first, _)) if !names.declared.contains_key(&format!("{from}{first}")) => {
                        found.insert((first.to_owned(), String::new()))
                    }
                    Some(_) => false,
                };
            }
        }
        found
    }

    fn kind_choice(&self, kind: &Kind) -> CompletionEntry {
        let documentation = describe::describe_kind(&self.workspace.registry, kind);
        CompletionEntry { documentation, ..self.key_choice(kind.name, icon::CLASS, kind.summary, 0) }
    }

    fn attribute_choice(&self, kind: &Kind, attribute: &Attribute) -> CompletionEntry {
        let rank = u8::from(attribute.presence != Presence::Required);
        let detail = format!("{} · {}", facts::type_name(&attribute.ty), facts::short_presence(attribute));
        let documentation = describe::describe_attribute(kind, attribute);
        CompletionEntry { documentation, ..self.key_choice(attribute.name, icon::PROPERTY, &detail, rank) }
    }

    fn word_choice(&self, word: &Keyword, rank: u8) -> CompletionEntry {
        CompletionEntry {
            documentation: describe::word_markdown(word),
            ..self.key_choice(word.name, icon::KEYWORD, word.summary, rank)
        }
    }

    /// Returns a key with the punctuation that its syntax requires, unless that is already present.
    fn key_choice(&self, key: &str, icon: u8, detail: &str, rank: u8) -> CompletionEntry {
        let behind = match (self.text.syntax(), self.cursor.at) {
            (Syntax::Yaml, _) => ": ",
            (Syntax::Kdl, CursorContext::Argument) => "=",
            (Syntax::Kdl, _) => " ",
        };
        let rest =
            self.text.text[self.offset..].chars().find(|c| !crate::editor::lsp::cursor::types::is_word(*c));
        let there = rest.is_some_and(|c| matches!(c, ':' | '=') || (c == ' ' && behind == " "));
        let insert = if there { key.to_owned() } else { format!("{key}{behind}") };
        CompletionEntry {
            label: key.to_owned(),
            icon,
            detail: detail.to_owned(),
            documentation: String::new(),
            insert: Some(insert),
            rank,
        }
    }

    /// Returns a value, quoted if its syntax requires it and no quote is open.
    fn value_choice(&self, value: &str, detail: &str) -> CompletionEntry {
        let open = self.text.text[..self.cursor.word.start].ends_with(['"', '\'']);
        let plain = match self.text.syntax() {
            Syntax::Yaml => !["yes", "no", "on", "off", "null", "true", "false"].contains(&value),
            Syntax::Kdl => {
                value.starts_with(|c: char| c.is_ascii_alphabetic() || c == '$')
                    && value.chars().all(crate::editor::lsp::cursor::types::is_word)
            }
        };
        let insert = if open || plain { value.to_owned() } else { format!("\"{value}\"") };
        CompletionEntry {
            label: value.to_owned(),
            icon: icon::VALUE,
            detail: detail.to_owned(),
            documentation: String::new(),
            insert: Some(insert),
            rank: 0,
        }
    }
}
