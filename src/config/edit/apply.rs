//! Applies edits to a file's content: finds the bytes, replaces them, and parses the result to verify it. In: a
//! file and edits; out: its new content. Invariant: the result is returned only if it parses to exactly the
//! requested content. Independent edits are verified together, others one after the other.

use super::content::ComparableContent;
use super::lines::{TextPatch, apply_patches};
use super::refusals::{self, EditError};
use super::request::{Edit, EditPath, EditPathStep, EditableFile};
use super::{kdl, yaml};
use crate::config::syntax::document::Syntax;
use crate::config::syntax::parse_source::parse;
use crate::config::syntax::{kdl as kdl_text, yaml as yaml_text};
use crate::model::source::{Source, SourceId};

/// Returns a file's content after the edits, applied in order; everything else stays byte for byte as it was.
///
/// # Errors
/// When the file has syntax errors, a path leads nowhere, a value is computed or shared, or the result would
/// not have exactly the requested content.
pub fn apply_edits(file: &EditableFile<'_>, edits: &[Edit]) -> Result<String, EditError> {
    let mut text = file.source.text.to_string();
    let mut says = read_content(file, file.source)?;
    if let Some(new) = apply_at_once(file, edits, &mut says) {
        return Ok(new);
    }
    for edit in edits {
        let edit = whole_word(edit, &mut says);
        let unsure = || refusals::unexpected_result(&describe_edit(&edit));
        let patches = build_patches(file, &text, std::slice::from_ref(&edit), &mut says)?;
        let new = apply_patches(&text, patches).ok_or_else(unsure)?;
        says.apply_edit(&edit).ok_or_else(unsure)?;
        says = read_back(file, &new, &says).ok_or_else(unsure)?;
        text = new;
    }
    Ok(text)
}

/// Applies all edits to the original content and parses the result once, because parsing dominates the cost. `None` for
/// fewer than two edits, or when they interfere with each other: the caller then applies them one after another.
fn apply_at_once(file: &EditableFile<'_>, edits: &[Edit], says: &mut ComparableContent) -> Option<String> {
    let writes = edits.iter().position(|edit| matches!(edit, Edit::Set(..) | Edit::Append(..)));
    let leads = edits.iter().rposition(|edit| matches!(edit, Edit::Redirect(_)));
    if edits.len() < 2 || writes.zip(leads).is_some_and(|(writes, leads)| writes < leads) {
        return None;
    }
    let mut expected = says.clone();
    let mut renamed = Vec::new();
    let mut written = Vec::with_capacity(edits.len());
    for edit in edits {
        let edit = whole_word(edit, &mut expected);
        expected.apply_edit(&edit)?;
        let now = as_written(&edit, &renamed);
        if let (Edit::Rename(path, to), Edit::Rename(old, _)) = (&edit, &now) {
            renamed.push((path.parent().with_key(to.clone()), old.clone()));
        }
        written.push(now);
    }
    let text = &file.source.text;
    let new = apply_patches(text, build_patches(file, text, &written, says).ok()?)?;
    read_back(file, &new, &expected).map(|_| new)
}

/// Returns an edit with its path as it was before earlier edits renamed entries on it.
fn as_written(edit: &Edit, renamed: &[(EditPath, EditPath)]) -> Edit {
    let path = |path: &EditPath| {
        let (new, old) = renamed.iter().rfind(|(new, _)| path.0.starts_with(&new.0))?;
        Some(EditPath([&old.0, &path.0[new.0.len()..]].concat()))
    };
    let path = |now: &EditPath| path(now).unwrap_or_else(|| now.clone());
    match edit {
        Edit::Set(at, literal) => Edit::Set(path(at), literal.clone()),
        Edit::Append(at, literal) => Edit::Append(path(at), literal.clone()),
        Edit::Remove(at) => Edit::Remove(path(at)),
        Edit::Rename(at, to) => Edit::Rename(path(at), to.clone()),
        Edit::Redirect(pairs) => Edit::Redirect(pairs.clone()),
    }
}

/// Returns the parsed content of the new file, if it is the expected content.
fn read_back(
    file: &EditableFile<'_>,
    new: &str,
    expected: &ComparableContent,
) -> Option<ComparableContent> {
    let found = read_content(file, &Source::new(file.source.path.as_str(), new)).ok()?;
    expected.is(&found).then_some(found)
}

/// Returns the parsed content of a file.
///
/// # Errors
/// When it has syntax errors, or its name has the extension of neither syntax.
pub(in crate::config) fn read_content(
    file: &EditableFile<'_>,
    source: &Source,
) -> Result<ComparableContent, EditError> {
    match parse(SourceId(0), source, &|word| file.is_kind(word)) {
        Some(Ok(document)) => Ok(ComparableContent::from_document(&document)),
        Some(Err(problems)) => {
            let first =
                problems.into_iter().next().ok_or_else(|| refusals::unexpected_result("nothing"))?;
            Err(refusals::unreadable_text(first))
        }
        None => Err(refusals::missing_path(&source.path)),
    }
}

/// Returns the replacements for edits that are independent of each other.
fn build_patches(
    file: &EditableFile<'_>,
    text: &str,
    edits: &[Edit],
    says: &mut ComparableContent,
) -> Result<Vec<TextPatch>, EditError> {
    let unsure = || refusals::unexpected_result(&edits.first().map(describe_edit).unwrap_or_default());
    let mut patches = Vec::new();
    match file.syntax() {
        Syntax::Yaml => {
            let tree = yaml_text::layout_tree::parse_yaml_layout(text).ok_or_else(unsure)?;
            let editor = yaml::YamlEditor::new(text, &tree, SourceId(0));
            for edit in edits {
                patches.extend(editor.patches(edit, says)?);
            }
        }
        Syntax::Kdl => {
            let tree = kdl_text::layout_tree::parse_kdl_layout(text).ok_or_else(unsure)?;
            let editor = kdl::KdlEditor::new(text, &tree, file);
            for edit in edits {
                patches.extend(editor.patches(edit)?);
            }
        }
    }
    Ok(patches)
}

/// Widens the removal of the last entry of a top-level keyword to the keyword itself: without entries it
/// would be a mistake.
fn whole_word(edit: &Edit, says: &mut ComparableContent) -> Edit {
    if let Edit::Remove(EditPath(steps)) = edit
        && let [word, EditPathStep::Key(_) | EditPathStep::Item(_)] = steps.as_slice()
    {
        let alone = match says.get(std::slice::from_ref(word)) {
            Some(ComparableContent::Map(entries)) => entries.len() == 1,
            Some(ComparableContent::List(items)) => items.len() == 1,
            Some(ComparableContent::Scalar { sole, .. }) => *sole,
            _ => false,
        };
        if alone && says.get(steps).is_some() {
            return Edit::Remove(EditPath(vec![word.clone()]));
        }
    }
    edit.clone()
}

fn describe_edit(edit: &Edit) -> String {
    match edit {
        Edit::Set(path, _) => format!("a new value of `{path}`"),
        Edit::Append(path, _) => format!("one more item of `{path}`"),
        Edit::Remove(path) => format!("the file without `{path}`"),
        Edit::Rename(path, to) => format!("`{path}` as `{to}`"),
        Edit::Redirect(_) => "references to another address".to_owned(),
    }
}

#[cfg(test)]
mod tests;
