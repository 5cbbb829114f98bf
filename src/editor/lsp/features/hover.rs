//! Hover: describes the item at a position, the effect of a change to it, and its price.

use std::fmt::Write;
use std::path::Path;

use super::{describe, navigate};
use crate::config::keywords::{self, Keywords};
use crate::editor::lsp::cursor::path_target::SchemaPosition;
use crate::editor::lsp::cursor::types::CursorContext;
use crate::editor::lsp::workspace::files::{TextFile, Workspace};
use crate::model::live::catalog::Catalog;

/// Returns the description of the item at a byte offset, as Markdown; `None` if there is none. Without a `catalog`,
/// no price is shown.
pub(in crate::editor::lsp) fn hover_text(
    workspace: &Workspace,
    text: &TextFile,
    offset: usize,
    catalog: Option<&Catalog>,
) -> Option<String> {
    let registry = workspace.registry;
    let target = navigate::find_target(workspace, text, offset);
    // A name in a block of the language is described by its value, a resource by its kind.
    let has_kind = |path: &str| {
        let found = text.path.parent().and_then(|directory| workspace.find_declaration(directory, path));
        found.is_some_and(|found| found.declared.kind.is_some())
    };
    if let Some(target) = target.filter(|target| !target.declares || !has_kind(&target.path)) {
        return describe_reference(workspace, text, &target.path);
    }
    let cursor = text.cursor(&registry, offset, true);
    let word = text.text.get(cursor.word.clone()).filter(|word| !word.is_empty())?;
    let here = text.target_at(&registry, &cursor.path);
    let is_key = match cursor.at {
        CursorContext::Text => return None,
        CursorContext::Key => true,
        CursorContext::Argument => here.takes_keys(),
        CursorContext::Value => false,
    };
    if !is_key {
        let SchemaPosition::Typed { kind, attribute, .. } = here else { return None };
        let price = catalog.and_then(|catalog| describe::price_text(kind, attribute, word, catalog));
        let about = describe::describe_attribute(kind, attribute);
        return Some(match price {
            Some(price) => format!("**{word}** · {price}\n\n{about}"),
            None => about,
        });
    }
    let mut path = cursor.path.clone();
    path.push(word.to_owned());
    match text.target_at(&registry, &path) {
        SchemaPosition::Typed { kind, attribute, .. } => {
            Some(describe::describe_attribute(kind, attribute))
        }
        SchemaPosition::Names(Some(kind)) | SchemaPosition::Body(kind) | SchemaPosition::Lookup(kind) => {
            Some(describe::describe_kind(&registry, kind))
        }
        _ => {
            let known: Keywords = match here {
                SchemaPosition::Top => keywords::TOP,
                SchemaPosition::Body(_) => keywords::BODY,
                SchemaPosition::Keywords(words) => words,
                SchemaPosition::Variables => {
                    return describe_reference(workspace, text, &format!("vars.{word}"));
                }
                _ => return None,
            };
            keywords::find_word(known, word).map(describe::word_markdown)
        }
    }
}

/// Returns the description of a reference's target: its location, its value, and its kind or attribute; `None` if it
/// is neither declared nor a root of the language.
fn describe_reference(workspace: &Workspace, text: &TextFile, path: &str) -> Option<String> {
    let directory = text.path.parent()?;
    let found = workspace.find_declaration(directory, path);
    let Some(found) = found else {
        let root = path.split('.').next()?;
        return keywords::find_word(keywords::ROOTS, root).map(describe::word_markdown);
    };
    let place = workspace.location(found.file, &found.declared.at)?;
    let file = found.file.file_name()?.to_string_lossy();
    let mut shown = format!("`{}` · {file}:{}", found.path, place.range.start.line + 1);
    if !found.declared.text.is_empty() {
        let _ = write!(shown, "\n\n`{}`", found.declared.text.replace('`', "'"));
    }
    let Some(kind) = found.declared.kind else {
        let set = set_in(workspace, directory, found.path);
        if !set.is_empty() {
            let _ = write!(shown, "\n\nSet in {}.", set.join(", "));
        }
        return Some(shown);
    };
    let last = path.rsplit('.').next()?;
    let attribute = kind.attribute(last).filter(|_| found.path != path);
    let about = match attribute {
        Some(attribute) => describe::describe_attribute(kind, attribute),
        None => describe::describe_kind(&workspace.registry, kind),
    };
    Some(format!("{shown}\n\n{about}"))
}

/// Returns the environments that set the variable at a path, such as `vars.size`.
fn set_in<'w>(workspace: &'w Workspace, directory: &Path, path: &str) -> Vec<&'w str> {
    let all = workspace.names(directory).flat_map(|(_, names)| &names.set);
    all.filter_map(|set| set.strip_prefix("environments.")?.strip_suffix(path)?.strip_suffix('.')).collect()
}
