//! The engine: find the bytes, replace them, read the result again.

use super::lines::patched;
use super::meaning::Meaning;
use super::refusals::{self, Refusal};
use super::request::{Edit, File, Path, Step};
use super::{kdl, yaml};
use crate::config::document::Syntax;
use crate::config::syntax::parse;
use crate::config::{kdl as kdl_text, yaml as yaml_text};
use crate::model::source::{Source, SourceId};

/// Returns a file's text with edits made one after the other, all else byte for byte as it was.
///
/// # Errors
/// When the file has syntax errors, a path leads nowhere, a value is computed or shared, or the new text
/// would not say exactly what was asked for.
pub fn edit(file: &File<'_>, edits: &[Edit]) -> Result<String, Refusal> {
    let mut text = file.source.text.to_string();
    let mut says = meaning(file, file.source)?;
    for edit in edits {
        let edit = whole_word(edit, &mut says);
        let new = replaced(file, &text, &edit, &mut says)?;
        let source = Source::new(file.source.path.as_str(), new.as_str());
        let mut expected = says;
        expected.make(&edit).ok_or_else(|| refusals::unsure(&told(&edit)))?;
        let found = meaning(file, &source).map_err(|_| refusals::unsure(&told(&edit)))?;
        if !expected.is(&found) {
            return Err(refusals::unsure(&told(&edit)));
        }
        (text, says) = (new, found);
    }
    Ok(text)
}

/// Returns what a text says.
pub(in crate::config) fn meaning(file: &File<'_>, source: &Source) -> Result<Meaning, Refusal> {
    match parse(SourceId(0), source, &|word| file.is_kind(word)) {
        Some(Ok(document)) => Ok(Meaning::of(&document)),
        Some(Err(problems)) => {
            let first = problems.into_iter().next().ok_or_else(|| refusals::unsure("nothing"))?;
            Err(refusals::unreadable(first))
        }
        None => Err(refusals::missing(&source.path)),
    }
}

/// Returns the text after one edit.
fn replaced(file: &File<'_>, text: &str, edit: &Edit, says: &mut Meaning) -> Result<String, Refusal> {
    let unsure = || refusals::unsure(&told(edit));
    let patches = match file.syntax() {
        Syntax::Yaml => {
            let tree = yaml_text::tree::tree(text).ok_or_else(unsure)?;
            yaml::Editor::new(text, &tree, SourceId(0)).patches(edit, says)?
        }
        Syntax::Kdl => {
            let tree = kdl_text::tree::tree(text).ok_or_else(unsure)?;
            kdl::Editor::new(text, &tree, file).patches(edit)?
        }
    };
    patched(text, patches).ok_or_else(unsure)
}

/// The last entry of a top-level word takes the word with it.
fn whole_word(edit: &Edit, says: &mut Meaning) -> Edit {
    if let Edit::Remove(Path(steps)) = edit
        && let [word, Step::Key(_) | Step::Item(_)] = steps.as_slice()
    {
        let alone = match says.get(std::slice::from_ref(word)) {
            Some(Meaning::Map(entries)) => entries.len() == 1,
            Some(Meaning::List(items)) => items.len() == 1,
            Some(Meaning::Word { sole, .. }) => *sole,
            _ => false,
        };
        if alone && says.get(steps).is_some() {
            return Edit::Remove(Path(vec![word.clone()]));
        }
    }
    edit.clone()
}

fn told(edit: &Edit) -> String {
    match edit {
        Edit::Set(path, _) => format!("a new value of `{path}`"),
        Edit::Append(path, _) => format!("one more item of `{path}`"),
        Edit::Remove(path) => format!("the file without `{path}`"),
        Edit::Rename(path, to) => format!("`{path}` as `{to}`"),
        Edit::Redirect(_) => "references that lead elsewhere".to_owned(),
    }
}

#[cfg(test)]
mod tests;
