//! Which spans of the source files are sensitive, so that no snippet in a message shows them. In: the parsed
//! documents of all units, which may be wrong in any other way. Out: spans. In doubt a value is sensitive: a
//! misspelled name or type must not reveal a secret. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::syntax::document::{Document, DocumentEntry, Node, named_entries};
use crate::config::types::variable_type::VariableType;
use crate::model::address::Name;
use crate::model::source::Span;

/// Keywords in a secret variable's declaration whose values messages may show; the value of any other keyword, such
/// as a misspelled `default`, may be the secret.
const UNREDACTED_KEYWORDS: &[&str] =
    &["type", "description", "check", "from_file", "generate", "source", "deliver_secret"];

/// Names of the variables that one unit (the stack or a module) declares.
#[derive(Default)]
struct UnitVariables<'d> {
    all: BTreeSet<&'d Name>,
    secret: BTreeSet<&'d Name>,
}

impl UnitVariables<'_> {
    /// Returns whether the value given for a name may be a secret. A name that is not declared may be a
    /// misspelling of one that is.
    fn may_be_secret(&self, name: &Name) -> bool {
        self.secret.contains(name) || !self.all.contains(name)
    }
}

/// Returns the spans of the values of secret variables: in declarations, in the `vars` and `set` of environments,
/// and in the `with` of module calls. `units` begins with the stack; `calls` maps the span of a call's `source`
/// to its unit number.
pub(in crate::config) fn secret_spans(units: &[Vec<Document>], calls: &BTreeMap<Span, usize>) -> Vec<Span> {
    let mut spans = Vec::new();
    let declared: Vec<UnitVariables<'_>> =
        units.iter().map(|unit| declared_variables(unit, &mut spans)).collect();
    for unit in units {
        for call in block_entries(unit, "use") {
            let source = child_node(&call.value, "source").and_then(|source| calls.get(&source.span));
            let Some(declared) = source.and_then(|module| declared.get(*module)) else { continue };
            spans.extend(secret_value_spans(child_node(&call.value, "with"), |name| {
                declared.may_be_secret(name)
            }));
        }
    }
    let (Some(stack), Some(own)) = (units.first(), declared.first()) else { return spans };
    // The module that an override's path leads into is not resolved here: any unit's secret of this name counts.
    let is_secret = |path: &Name| {
        let name = Name::new(path.rsplit('.').next().unwrap_or_default());
        declared.iter().any(|unit| unit.secret.contains(&name))
    };
    for environment in block_entries(stack, "environments") {
        spans.extend(secret_value_spans(child_node(&environment.value, "vars"), |name| {
            own.may_be_secret(name)
        }));
        spans.extend(secret_value_spans(child_node(&environment.value, "set"), is_secret));
    }
    spans
}

/// Returns the names of the variables of a unit that are secrets, or may be because their type cannot be read.
pub(in crate::config) fn secret_names(unit: &[Document]) -> BTreeSet<&Name> {
    declared_variables(unit, &mut Vec::new()).secret
}

/// Returns the names of the variables that a unit declares; adds the spans of the secret ones' values to `spans`.
fn declared_variables<'d>(unit: &'d [Document], spans: &mut Vec<Span>) -> UnitVariables<'d> {
    let mut declared = UnitVariables::default();
    for entry in block_entries(unit, "vars") {
        declared.all.insert(&entry.key);
        if is_secret(&entry.value) {
            declared.secret.insert(&entry.key);
            let words = named_entries(&entry.value).unwrap_or_default();
            let values = words.iter().filter(|word| !UNREDACTED_KEYWORDS.contains(&word.key.as_str()));
            spans.extend(values.map(|word| word.value.span));
        }
    }
    declared
}

/// Returns whether a declaration is of a secret, or may be one because its type cannot be read or
/// its `type` is misspelled.
fn is_secret(declaration: &Node) -> bool {
    let words = named_entries(declaration).unwrap_or_default();
    let text = |key: &str| words.iter().find(|word| word.key == key).and_then(|word| word.value.scalar());
    match text("type") {
        Some(ty) => ty.text.contains("secret") || VariableType::parse(&ty.text).is_none(),
        None => words.iter().any(|word| {
            let is_type = !["default", "description", "check"].contains(&word.key.as_str());
            is_type && word.value.scalar().is_some_and(|scalar| scalar.text.contains("secret"))
        }),
    }
}

/// Returns the spans of the values in a map whose names `hides` classifies as secret; none if it is not a map.
fn secret_value_spans(map: Option<&Node>, hides: impl Fn(&Name) -> bool) -> Vec<Span> {
    let entries = map.and_then(named_entries).unwrap_or_default();
    entries.iter().filter(|entry| hides(&entry.key)).map(|entry| entry.value.span).collect()
}

/// Returns the entries of all top-level blocks of a name, over all files of a unit.
fn block_entries<'d>(stack: &'d [Document], block: &'d str) -> impl Iterator<Item = &'d DocumentEntry> {
    let blocks = stack.iter().flat_map(|document| document.root.iter());
    blocks
        .filter(move |entry| entry.key == block)
        .flat_map(|entry| named_entries(&entry.value).unwrap_or_default())
}

fn child_node<'d>(node: &'d Node, key: &str) -> Option<&'d Node> {
    named_entries(node)?.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
}
