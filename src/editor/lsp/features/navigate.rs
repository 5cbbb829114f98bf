//! Navigation: from a position to the declaration that it refers to, and from there to all references.

use std::ops::Range;
use std::path::Path;

use crate::editor::lsp::cursor::path_target::SchemaPosition;
use crate::editor::lsp::cursor::types::{CursorContext, is_word};
use crate::editor::lsp::protocol::Location;
use crate::editor::lsp::workspace::files::{LocatedDeclaration, TextFile, Workspace};
use crate::editor::lsp::workspace::references::unfinished_reference;
use crate::model::address::is_in;

/// The name at a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::editor::lsp) struct SymbolOccurrence {
    /// The full path without its `$`, such as `vpc.main.id`.
    pub(in crate::editor::lsp) path: String,
    /// Byte range of the path; for a declaration, that of its name.
    pub(in crate::editor::lsp) at: Range<usize>,
    /// Whether the position is on the declaration's own name.
    pub(in crate::editor::lsp) declares: bool,
}

/// Returns the name at a byte offset: a reference, an address, or a declaration; `None` if there is none.
pub(in crate::editor::lsp) fn find_target(
    workspace: &Workspace,
    text: &TextFile,
    offset: usize,
) -> Option<SymbolOccurrence> {
    let registry = workspace.registry;
    let rest = &text.text[offset..];
    let end = offset + rest.find(|c| !is_word(c) || c == '$').unwrap_or(rest.len());
    let before = &text.text[..end];
    if let Some(path) = unfinished_reference(before).filter(|path| !path.is_empty()) {
        let at = end - path.len()..end;
        return Some(SymbolOccurrence { path: path.trim_end_matches('.').to_owned(), at, declares: false });
    }
    let cursor = text.cursor(&registry, offset, true);
    let word = text.text.get(cursor.word.clone())?;
    match cursor.at {
        CursorContext::Key => {
            let path = format!("{}.{word}", cursor.path.join("."));
            let directory = text.path.parent()?;
            let found = workspace.find_declaration(directory, &path).filter(|found| found.path == path)?;
            (!found.path.is_empty()).then_some(SymbolOccurrence { path, at: cursor.word, declares: true })
        }
        CursorContext::Value | CursorContext::Argument
            if matches!(
                text.target_at(&registry, &cursor.path),
                SchemaPosition::Addresses | SchemaPosition::AddressesOrModules
            ) =>
        {
            Some(SymbolOccurrence { path: word.to_owned(), at: cursor.word, declares: false })
        }
        _ => None,
    }
}

/// Returns where the name at a byte offset is declared; `None` if there is no name, or no declaration of it.
pub(in crate::editor::lsp) fn find_definition(
    workspace: &Workspace,
    text: &TextFile,
    offset: usize,
) -> Option<Location> {
    let found = find_declaration(workspace, text, offset)?;
    workspace.location(found.file, &found.declared.at)
}

/// Returns the declaration of the name at a byte offset; `None` if there is no name, or no declaration of it.
pub(in crate::editor::lsp) fn find_declaration<'w>(
    workspace: &'w Workspace,
    text: &TextFile,
    offset: usize,
) -> Option<LocatedDeclaration<'w>> {
    let target = find_target(workspace, text, offset)?;
    workspace.find_declaration(text.path.parent()?, &target.path)
}

/// Returns the locations of all references to the declaration of the name at a byte offset; empty without one.
pub(in crate::editor::lsp) fn find_references(
    workspace: &Workspace,
    text: &TextFile,
    offset: usize,
    with_declaration: bool,
) -> Vec<Location> {
    let Some(found) = find_declaration(workspace, text, offset) else { return Vec::new() };
    let directory = text.path.parent().unwrap_or(Path::new(""));
    let mut places: Vec<Location> = Vec::new();
    if with_declaration {
        places.extend(workspace.location(found.file, &found.declared.at));
    }
    for (file, names) in workspace.names(directory) {
        let inside = names.references.iter().filter(|(path, _)| is_in(path, found.path));
        let uri = workspace.uri(file);
        let ranges = workspace.ranges(file, inside.map(|(_, at)| at));
        places.extend(ranges.into_iter().map(|range| Location { uri: uri.clone(), range }));
    }
    places
}
