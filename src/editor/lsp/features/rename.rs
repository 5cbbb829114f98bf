//! Rename: edits the name of a declaration and all references to it, and adds the `moved` entry that keeps its live
//! object: without one, the next apply would delete the object and create another.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path as FilePath;

use super::navigate;
use crate::config::edit::{self, ConfigLiteral, Edit, EditPath, EditableFile};
use crate::config::stack::module_path::is_taken;
use crate::editor::lsp::protocol::TextEdit;
use crate::editor::lsp::text_change;
use crate::editor::lsp::workspace::files::{LocatedDeclaration, TextFile, Workspace};
use crate::editor::lsp::workspace::open_documents::normalize_path;
use crate::editor::lsp::workspace::symbols::{DeclaredName, ModuleCall};
use crate::model::address::is_legal_segment;
use crate::model::schema::{Attribute, Kind};
use crate::model::source::Source;

/// The attribute whose default is the block's own name.
const NAME: &str = "name";

/// Returns the byte range and the text of the name that a rename at this position would change.
///
/// # Errors
/// When nothing at the position has a name that can be changed; the text is a message for the user.
pub(in crate::editor::lsp) fn prepare_rename(
    workspace: &Workspace,
    text: &TextFile,
    offset: usize,
) -> Result<(Range<usize>, String), String> {
    let nothing = || "Nothing here has a name that can be changed.".to_owned();
    let target = navigate::find_target(workspace, text, offset).ok_or_else(nothing)?;
    let found = navigate::find_declaration(workspace, text, offset).ok_or_else(nothing)?;
    let name = found.path.rsplit('.').next().unwrap_or_default().to_owned();
    if target.declares {
        return Ok((target.at, name));
    }
    let end = target.at.start + found.path.len();
    Ok((end - name.len()..end, name))
}

/// Returns the edits of all affected files by URI; the editor applies them together.
///
/// # Errors
/// When there is no such name, the new one is not valid or taken, or a file cannot be edited; the text is a message for
/// the user. Nothing is changed then.
pub(in crate::editor::lsp) fn rename_symbol(
    workspace: &Workspace,
    text: &TextFile,
    offset: usize,
    new: &str,
) -> Result<BTreeMap<String, Vec<TextEdit>>, String> {
    prepare_rename(workspace, text, offset)?;
    let nothing = || "Nothing here has a name that can be changed.".to_owned();
    let found = navigate::find_declaration(workspace, text, offset).ok_or_else(nothing)?;
    let directory = found.file.parent().ok_or_else(nothing)?;
    let (above, old) = found.path.rsplit_once('.').ok_or_else(nothing)?;
    if !is_legal_segment(new) {
        return Err(format!("`{new}` is not a valid name: names contain only a-z, 0-9, _ and -."));
    }
    let to = format!("{above}.{new}");
    if workspace.find_declaration(directory, &to).is_some_and(|taken| taken.path == to) {
        return Err(format!("`{to}` is declared already."));
    }
    if above == "use" && is_taken(&workspace.registry, new) {
        return Err(format!("`{new}` means something else at the beginning of an address."));
    }
    let mut changes: BTreeMap<&FilePath, (&TextFile, Vec<Edit>)> = BTreeMap::new();
    for file in workspace.related_texts(directory).into_values() {
        let own = file.path == found.file;
        // The file cannot contain a reference to the name.
        if !own && !file.text.contains(old) {
            continue;
        }
        let mut edits = Vec::new();
        if own {
            edits.push(Edit::Rename(EditPath::from_text(found.path), new.into()));
        }
        if above == "vars" {
            edits.extend(
                environment_settings(workspace, file, old)
                    .map(|path| Edit::Rename(EditPath::from_text(path), new.into())),
            );
        }
        edits.push(Edit::Redirect(vec![(found.path.into(), to.as_str().into())]));
        if above == "use" {
            edits.extend(rename_replacements(workspace, file, old, &|rest| Some(format!("{new}{rest}"))));
        }
        if own && is_kept(&found) {
            edits.extend(preserve_objects(workspace, &found, old, &to));
        }
        changes.insert(&file.path, (file, edits));
    }
    if is_kept(&found) {
        rename_in_environments(workspace, &found, &to, &mut changes);
    }
    if above == "vars" {
        rename_module_inputs(workspace, found.file, old, new, &mut changes);
    }
    let made =
        changes.into_values().map(|(file, edits)| Ok((file, apply_to_file(workspace, file, &edits)?)));
    let made: Vec<(&TextFile, Vec<TextEdit>)> = made.collect::<Result<_, String>>()?;
    let made = made.into_iter().filter(|(_, edits)| !edits.is_empty());
    Ok(made.map(|(file, edits)| (workspace.uri(&file.path), edits)).collect())
}

/// Applies edits to a file and converts the result to the form of the protocol; the error is a message for the user.
fn apply_to_file(workspace: &Workspace, file: &TextFile, edits: &[Edit]) -> Result<Vec<TextEdit>, String> {
    let source: Source = file.source();
    let edited = edit::apply_edits(&EditableFile { source: &source, registry: &workspace.registry }, edits);
    let edited = edited.map_err(|refusal| {
        let problem = refusal.0;
        let detail = problem.detail.unwrap_or_default();
        format!("{}: {}. {detail}", file.name(), problem.summary)
    })?;
    Ok(text_change::compute_edits(&file.text, &edited))
}

/// Adds the edits where users of a module set a variable of it, or override that value in their environments.
fn rename_module_inputs<'w>(
    workspace: &'w Workspace,
    module: &FilePath,
    old: &str,
    new: &str,
    changes: &mut BTreeMap<&'w FilePath, (&'w TextFile, Vec<Edit>)>,
) {
    for (directory, call) in workspace.module_calls(module) {
        let place = format!("use.{}.with", call.name);
        let (from, to) = (format!("{place}.{old}"), format!("{place}.{new}"));
        for file in workspace.related_texts(directory).into_values() {
            let gives = |other: &ModuleCall| other == call && other.gives.iter().any(|given| given == old);
            let names = workspace.names(directory).find(|(path, _)| *path == file.path);
            let is_given = names.is_some_and(|(_, names)| names.calls.iter().any(gives));
            if !file.text.contains(old) {
                continue;
            }
            let (_, edits) = changes.entry(&file.path).or_insert_with(|| (file, Vec::new()));
            let mut wanted = vec![Edit::Redirect(vec![(from.as_str().into(), to.as_str().into())])];
            wanted.extend(is_given.then(|| Edit::Rename(EditPath::from_text(&from), new.into())));
            // Several stacks may read the file, so an edit must not be added twice.
            wanted.retain(|edit| !edits.contains(edit));
            edits.extend(wanted);
        }
    }
}

/// Returns the paths at which a file's environments set a variable.
fn environment_settings<'w>(
    workspace: &'w Workspace,
    file: &TextFile,
    variable: &str,
) -> impl Iterator<Item = &'w str> {
    let directory = file.path.parent().unwrap_or(std::path::Path::new(""));
    let names = workspace.names(directory).find(|(path, _)| *path == file.path).map(|(_, names)| names);
    let ending = format!(".vars.{variable}");
    names
        .into_iter()
        .flat_map(|names| &names.set)
        .map(String::as_str)
        .filter(move |path| path.ends_with(&ending))
}

/// Returns whether the addresses of live objects contain the declared name.
fn is_kept(found: &LocatedDeclaration<'_>) -> bool {
    let is_resource = found.declared.kind.is_some() && !found.path.starts_with("data.");
    is_resource || found.path.starts_with("use.")
}

/// Returns the edits for the values of a module that a file's environments override; `new` gives the
/// rest of each new path.
fn rename_replacements(
    workspace: &Workspace,
    file: &TextFile,
    module: &str,
    new: &dyn Fn(&str) -> Option<String>,
) -> Vec<Edit> {
    let source = file.source();
    let file = EditableFile { source: &source, registry: &workspace.registry };
    edit::override_path_edits(&file, &|key| {
        new(key.strip_prefix(module).filter(|rest| rest.starts_with('.'))?)
    })
}

/// Adds the edits for users of a module whose environments override values of a renamed block in it.
fn rename_in_environments<'w>(
    workspace: &'w Workspace,
    found: &LocatedDeclaration<'_>,
    to: &str,
    changes: &mut BTreeMap<&'w FilePath, (&'w TextFile, Vec<Edit>)>,
) {
    let address = |path: &str| path.strip_prefix("use.").unwrap_or(path).to_owned();
    let (old, to) = (address(found.path), address(to));
    for (directory, call) in workspace.module_calls(found.file) {
        for file in workspace.related_texts(directory).into_values() {
            let mut wanted = Vec::new();
            for front in [call.name.clone(), format!("use.{}", call.name)] {
                // The rest is `.vm.web.plan`, or `.KEY.vm.web.plan`.
                let new = |rest: &str| {
                    let key = rest[1..].find('.').map_or(0, |end| end + 1);
                    let of = |at: usize| {
                        let inner = rest[at + 1..].strip_prefix(old.as_str())?;
                        let ends = inner.is_empty() || inner.starts_with('.');
                        ends.then(|| format!("{front}{}.{to}{inner}", &rest[..at]))
                    };
                    of(0).or_else(|| of(key))
                };
                wanted.extend(rename_replacements(workspace, file, &front, &new));
            }
            if wanted.is_empty() {
                continue;
            }
            let (_, edits) = changes.entry(&file.path).or_insert_with(|| (file, Vec::new()));
            // Several stacks may read the file, so an edit must not be added twice.
            wanted.retain(|edit| !edits.contains(edit));
            edits.extend(wanted);
        }
    }
}

/// Returns the edits that keep the live objects: their current display names, and `moved` entries.
fn preserve_objects(
    workspace: &Workspace,
    found: &LocatedDeclaration<'_>,
    old: &str,
    to: &str,
) -> Vec<Edit> {
    let mut edits = Vec::new();
    let declared = found.declared;
    let is_named = match declared.kind {
        Some(kind) => is_named(kind),
        None => names_something(workspace, found, old),
    };
    if is_named && !declared.named {
        // In a module, default names begin with the caller's name for the module.
        let in_module = declared.kind.is_some() && !workspace.module_calls(found.file).is_empty();
        let front = if in_module { "${module}-" } else { "" };
        let key = if declared.keys.is_some() { "-${each.key}" } else { "" };
        let name = ConfigLiteral::text(format!("{front}{old}{key}"));
        edits.push(Edit::Set(EditPath::from_text(to).with_key(NAME), name));
    }
    let address = |path: &str| ConfigLiteral::text(path.strip_prefix("use.").unwrap_or(path));
    let entry = [("from", address(found.path)), ("to", address(to))];
    edits.push(Edit::Append(EditPath::from_text("moved"), ConfigLiteral::map(entry)));
    edits
}

fn is_named(kind: &Kind) -> bool {
    kind.attribute(NAME).is_some_and(Attribute::is_writable)
}

/// Returns whether the module may derive display names from its block's name; true if
/// the module cannot be read.
fn names_something(workspace: &Workspace, found: &LocatedDeclaration<'_>, module: &str) -> bool {
    let Some(directory) = found.file.parent() else { return true };
    let here = workspace.names(directory).filter(|(path, _)| *path == found.file);
    let mut calls = here.flat_map(|(_, names)| &names.calls).filter(|call| call.name == module);
    let Some(call) = calls.next() else { return true };
    let place = normalize_path(&directory.join(&call.source));
    let mut inside = workspace.names(&place).peekable();
    let may_have = |(path, declared): (&String, &DeclaredName)| match declared.kind {
        Some(kind) => !path.starts_with("data.") && is_named(kind),
        None => path.starts_with("use."),
    };
    inside.peek().is_none() || inside.any(|(_, names)| names.declared.iter().any(may_have))
}
