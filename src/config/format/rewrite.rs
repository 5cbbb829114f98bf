//! Canonical formatting, and conversion to the other syntax. In: a file; out: its new content. Invariant: the
//! result parses to the same content as the file, or nothing is returned.

use std::collections::BTreeSet;

use super::outline::{
    self, CollectionStyle, Outline, OutlineItem, OutlineKey, OutlineValue, OutlineValueKind, TriviaLine,
};
use super::write_kdl::{self, LIST_KEYWORDS};
use super::{expand_anchors, read_kdl, read_yaml, write_yaml};
use crate::config::edit::{
    ConfigLiteral, EditError, EditableFile, is_list, is_list_of_texts, read_content, unexpected_result,
};
use crate::config::syntax::document::Syntax;
use crate::config::syntax::limits::syntax_of;
use crate::model::address::Name;
use crate::model::schema::Registry;
use crate::model::source::Source;

/// Returns a file's content in its canonical form: the same entries, comments and quotes in one layout.
/// Formatting the result again does not change it.
///
/// # Errors
/// When the file has syntax errors, or its canonical form would not have the same content.
pub fn format_file(file: &EditableFile<'_>) -> Result<String, EditError> {
    let unsettled = || unexpected_result("its canonical form");
    let before = read_content(file, file.source)?;
    let mut text = file.source.text.to_string();
    for _ in 0..MAX_ROUNDS {
        let source = Source::new(file.source.path.as_str(), text.as_str());
        let file = EditableFile { source: &source, ..*file };
        let new = laid_out(&file).ok_or_else(unsettled)?;
        if new == text {
            return Ok(text);
        }
        let source = Source::new(file.source.path.as_str(), new.as_str());
        if read_content(&file, &source).map_err(|_| unsettled())? != before {
            return Err(unsettled());
        }
        text = new;
    }
    Err(unsettled())
}

/// Returns a file's content after one pass of the formatter; `None` when it has syntax errors.
fn laid_out(file: &EditableFile<'_>) -> Option<String> {
    let syntax = syntax_of(&file.source.path)?;
    let mut outline = read_outline(file, syntax)?;
    outline.above_their_lines();
    let text = write_outline(&outline, syntax, true, file.registry, &BTreeSet::new());
    Some(with_ends(&text, &file.source.text))
}

/// Returns a file's content in another syntax, comments included, and the number of expanded aliases.
///
/// # Errors
/// When the file has syntax errors, or the other syntax cannot express the same content.
pub fn convert_file(file: &EditableFile<'_>, to: Syntax) -> Result<(String, usize), EditError> {
    let before = read_content(file, file.source)?;
    let syntax = syntax_of(&file.source.path).unwrap_or(Syntax::Yaml);
    if syntax == to {
        return Ok((format_file(file)?, 0));
    }
    let outline = read_outline(file, syntax).ok_or_else(|| unexpected_result("the other syntax"))?;
    let (text, repeated, lists) = convert_outline(outline, syntax, to, file);
    let path = if to == Syntax::Yaml { "stead.yaml" } else { "stead.kdl" };
    let after = read_content(file, &Source::new(path, text.as_str()))
        .map_err(|_| unexpected_result("the other syntax"))?;
    let is_list = |path: &[Name]| is_list_path(file.registry, &lists, path);
    let is_kind = |word: &str| is_kind(file.registry, word);
    let same = before.normalize_syntax(&is_list, &is_kind) == after.normalize_syntax(&is_list, &is_kind);
    if same { Ok((text, repeated)) } else { Err(unexpected_result("the other syntax")) }
}

/// Returns an outline's content in the other syntax, the number of expanded aliases, and the variables whose
/// type is a list.
fn convert_outline(
    mut outline: Outline,
    from: Syntax,
    to: Syntax,
    file: &EditableFile<'_>,
) -> (String, usize, BTreeSet<Name>) {
    let repeated = expand_anchors::expand_aliases(&mut outline);
    let lists = list_variables(&outline);
    if from == Syntax::Kdl {
        outline = group_blocks(outline);
        expand_sole_arguments(&mut outline, &mut Vec::new(), &|path| {
            is_list_path(file.registry, &lists, path)
        });
    } else {
        without_empty_lists(&mut outline);
    }
    (write_outline(&outline, to, false, file.registry, &lists), repeated, lists)
}

/// Removes empty lists of declarations, which KDL cannot express; their comments stay.
fn without_empty_lists(outline: &mut Outline) {
    let mut left: Vec<TriviaLine> = Vec::new();
    let mut kept = Vec::with_capacity(outline.items.len());
    for mut item in std::mem::take(&mut outline.items) {
        let is_empty = matches!(&item.value.kind, OutlineValueKind::List(list, _) if list.items.is_empty());
        let word = item.key.as_ref().map(|key| key.text.as_str()).unwrap_or_default();
        if is_empty && LIST_KEYWORDS.contains(&word) {
            left.append(&mut item.above);
            left.extend(item.value.outline().map(|list| list.foot.clone()).unwrap_or_default());
        } else {
            item.above.splice(0..0, left.drain(..));
            kept.push(item);
        }
    }
    outline.items = kept;
    outline.foot.splice(0..0, left);
}

/// Returns whether a single value at a path means a list.
fn is_list_path(registry: &Registry, lists: &BTreeSet<Name>, path: &[Name]) -> bool {
    match path {
        [vars, name, default] if vars == "vars" && default == "default" => lists.contains(name),
        [environments, _, vars, name] if environments == "environments" && vars == "vars" => {
            lists.contains(name)
        }
        path => is_list(registry, path),
    }
}

/// Returns the variables that the file declares with a list or a set as their type: their values in KDL are lists, too.
fn list_variables(outline: &Outline) -> BTreeSet<Name> {
    let word = |item: &OutlineItem| item.key.as_ref().map(|key| key.text.clone());
    let vars = outline.items.iter().filter(|item| word(item).is_some_and(|word| word == "vars"));
    let declared = vars.filter_map(|item| item.value.outline()).flat_map(|inner| &inner.items);
    let is_list = |variable: &&OutlineItem| {
        let parts = variable.value.outline().map(|inner| inner.items.as_slice()).unwrap_or_default();
        parts.iter().any(|part| {
            let is_type = word(part).is_some_and(|word| word == "type");
            let list = |text: &str| text.starts_with("set(") || text.starts_with("list(");
            is_type && matches!(&part.value.kind, OutlineValueKind::Scalar { text, .. } if list(text))
        })
    };
    declared.filter(is_list).filter_map(word).collect()
}

/// Turns each single KDL argument into a list of one where a list is expected.
fn expand_sole_arguments(outline: &mut Outline, path: &mut Vec<Name>, is_list: &dyn Fn(&[Name]) -> bool) {
    for item in &mut outline.items {
        let Some(key) = item.key.as_ref().map(|key| key.text.clone()) else { continue };
        path.push(key);
        let listed = match &item.value.kind {
            OutlineValueKind::Scalar { text, .. } => is_list(path) || is_list_of_texts(path, text),
            _ => false,
        };
        if listed && !item.property {
            let value = std::mem::replace(&mut item.value, OutlineValue::new(OutlineValueKind::Bare));
            let items = vec![OutlineItem::new(None, value)];
            item.value.kind =
                OutlineValueKind::List(Outline { items, foot: Vec::new() }, CollectionStyle::Inline);
        } else if let OutlineValueKind::Map(inner, _) = &mut item.value.kind {
            expand_sole_arguments(inner, path, is_list);
        }
        path.pop();
    }
}

/// Returns the content of a new file from its top-level entries: `vm` → `web` → attributes.
#[must_use]
pub fn write_new_file(syntax: Syntax, entries: &[(Name, ConfigLiteral)], registry: &Registry) -> String {
    let mut outline = outline::outline_from_entries(entries);
    for item in outline.items.iter_mut().skip(1) {
        if item.value.outline().is_some() {
            item.above.push(TriviaLine::Blank);
        }
    }
    write_outline(&outline, syntax, false, registry, &BTreeSet::new())
}

/// Maximum number of formatter passes until the content is stable: comments in unusual positions may move again.
const MAX_ROUNDS: usize = 4;

fn read_outline(file: &EditableFile<'_>, syntax: Syntax) -> Option<Outline> {
    match syntax {
        Syntax::Yaml => read_yaml::read_yaml_outline(&file.source.text),
        Syntax::Kdl => read_kdl::read_kdl_outline(&file.source.text, &|word| is_kind(file.registry, word)),
    }
}

fn is_kind(registry: &Registry, word: &str) -> bool {
    registry.top_level().any(|kind| kind.name == word)
}

fn write_outline(
    outline: &Outline,
    syntax: Syntax,
    own: bool,
    registry: &Registry,
    lists: &BTreeSet<Name>,
) -> String {
    let is_list = |path: &[Name]| is_list_path(registry, lists, path);
    match syntax {
        Syntax::Yaml => write_yaml::write_yaml_outline(outline, own, &is_list),
        Syntax::Kdl => {
            write_kdl::write_kdl_outline(outline, own, &|word| is_kind(registry, word), &is_list)
        }
    }
}

/// Returns `text` with the line endings of `old`, by its first line.
fn with_ends(text: &str, old: &str) -> String {
    let returns = old.find('\n').is_some_and(|n| old[..n].ends_with('\r'));
    if returns { text.replace('\n', "\r\n") } else { text.to_owned() }
}

/// Groups the blocks of one kind, and the nodes of one list: in YAML each top-level keyword occurs once.
fn group_blocks(outline: Outline) -> Outline {
    let mut all: Vec<OutlineItem> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for mut item in outline.items {
        let Some(word) = item.key.clone() else { continue };
        let declaration = ["moved", "import", "removed"].contains(&word.text.as_str());
        let Some(label) = item.label.take().or_else(|| declaration.then(|| word.clone())) else {
            match (places.get(&word.text).copied(), &item.value.kind) {
                (Some(at), OutlineValueKind::Map(inner, _)) => {
                    extend_collection(&mut all, at, inner.items.clone(), item.above);
                }
                (Some(_), _) => {}
                (None, _) => {
                    places.insert(word.text.clone(), all.len());
                    all.push(item);
                }
            }
            continue;
        };
        item.key = (!declaration).then_some(OutlineKey { raw: None, ..label });
        if item.value.kind == OutlineValueKind::Bare {
            item.value.kind = OutlineValueKind::Map(Outline::default(), CollectionStyle::Inline);
        }
        if let Some(at) = places.get(&word.text).copied() {
            extend_collection(&mut all, at, vec![item], Vec::new());
            continue;
        }
        places.insert(word.text.clone(), all.len());
        let above = std::mem::take(&mut item.above);
        let inner = Outline { items: vec![item], foot: Vec::new() };
        let kind = if declaration {
            OutlineValueKind::List(inner, CollectionStyle::Block)
        } else {
            OutlineValueKind::Map(inner, CollectionStyle::Block)
        };
        all.push(OutlineItem { above, ..OutlineItem::new(Some(word.text), OutlineValue::new(kind)) });
    }
    Outline { items: all, foot: outline.foot }
}

/// Adds items to the collection of an entry.
fn extend_collection(
    all: &mut [OutlineItem],
    at: usize,
    mut items: Vec<OutlineItem>,
    above: Vec<TriviaLine>,
) {
    if let Some(first) = items.first_mut() {
        first.above.splice(0..0, above);
    }
    match all.get_mut(at).map(|item| &mut item.value.kind) {
        Some(OutlineValueKind::List(inner, _) | OutlineValueKind::Map(inner, _)) => {
            inner.items.extend(items);
        }
        Some(kind @ OutlineValueKind::Bare) => {
            *kind = OutlineValueKind::Map(Outline { items, foot: Vec::new() }, CollectionStyle::Block);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
