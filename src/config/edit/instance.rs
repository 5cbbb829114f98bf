//! One instance of a block with `for_each`: the location of its key, and the block that it
//! would be if written separately.

use super::literal::ConfigLiteral;
use super::references::{PathRenames, redirect_text};
use super::request::{EditPath, EditableFile};
use crate::config::syntax::document::{DocumentEntry, Node, NodeValue};
use crate::config::syntax::parse_source::parse;
use crate::config::syntax::scalar_class::{ScalarClass, scalar_class};
use crate::model::address::Name;
use crate::model::source::{SourceId, Span};

/// Key of a block that declares its instances.
const FOR_EACH: &str = "for_each";
/// Root of the expressions that differ between instances.
const EACH: &str = "each";

/// An instance of a block with `for_each`, as the file writes it.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceSource {
    /// Location of its key; as an error the span of the expression, if the key is computed or reached by an alias.
    pub key: Result<InstanceKeyPath, Span>,
    /// Whether the block has no other instance.
    pub is_only: bool,
    /// Body of the block for this instance without `for_each`; as an error the span of the first part that
    /// cannot be written literally.
    pub body: Result<Vec<(Name, ConfigLiteral)>, Span>,
}

/// Location of an instance's key in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstanceKeyPath {
    /// It is the item of a list.
    Item(EditPath),
    /// It is the key of a map.
    Entry(EditPath),
}

impl InstanceKeyPath {
    /// Returns the path of the item or entry that holds the key.
    #[must_use]
    pub fn path(&self) -> &EditPath {
        match self {
            Self::Item(path) | Self::Entry(path) => path,
        }
    }
}

/// Returns the instance of a block as the file writes it; `None` when the file does not parse, or does not
/// declare the block with `for_each`. `block` is the block's path, such as `vm.web`.
#[must_use]
pub fn find_instance(file: &EditableFile<'_>, block: &str, key: &str) -> Option<InstanceSource> {
    let document = parse(SourceId(0), file.source, &|word| file.is_kind(word))?.ok()?;
    let mut steps = block.split('.');
    let first = steps.next()?;
    let top = document.root.iter().find(|entry| entry.key == first)?;
    let found = steps.try_fold(&top.value, |node, step| {
        Some(&node.entries()?.iter().find(|entry| entry.key == step)?.value)
    })?;
    let entries = found.entries()?;
    let each = &entries.iter().find(|entry| entry.key == FOR_EACH)?.value;
    let way = EditPath::from_text(block).with_key(FOR_EACH);
    let is_it = |node: &Node| node.scalar().is_some_and(|scalar| scalar.text == key);
    let (place, value, count) = match &each.value {
        NodeValue::Sequence(items) => {
            let at = items.iter().position(is_it);
            (
                at.map(|at| InstanceKeyPath::Item(way.with_item(at))),
                at.and_then(|at| items.get(at)),
                items.len(),
            )
        }
        NodeValue::Scalar(scalar) if scalar.sole_argument && is_it(each) => {
            (Some(InstanceKeyPath::Item(way.with_item(0))), Some(each), 1)
        }
        NodeValue::Mapping(keys) => {
            let entry = keys.iter().find(|entry| entry.key == key);
            (
                entry.map(|_| InstanceKeyPath::Entry(way.with_key(key))),
                entry.map(|entry| &entry.value),
                keys.len(),
            )
        }
        _ => (None, None, 0),
    };
    // A value reached through an alias is written elsewhere, so this instance cannot be edited alone.
    let (Some(place), Some(value), None) = (place, value, each.through) else {
        return Some(InstanceSource { key: Err(each.span), is_only: false, body: Err(each.span) });
    };
    let own = EachBinding { key: ConfigLiteral::text(key), value: node_to_literal(value) };
    let body = entries
        .iter()
        .filter(|entry| entry.key != FOR_EACH)
        .map(|entry| own.resolve_entry(entry))
        .collect();
    Some(InstanceSource { key: Ok(place), is_only: count == 1, body })
}

/// Values of `each` in one instance.
struct EachBinding {
    key: ConfigLiteral,
    value: ConfigLiteral,
}

impl EachBinding {
    fn resolve_entry(&self, entry: &DocumentEntry) -> Result<(Name, ConfigLiteral), Span> {
        Ok((entry.key.clone(), self.resolve_node(&entry.value)?))
    }

    fn resolve_node(&self, node: &Node) -> Result<ConfigLiteral, Span> {
        Ok(match &node.value {
            NodeValue::Sequence(items) => ConfigLiteral::List(
                items.iter().map(|item| self.resolve_node(item)).collect::<Result<_, _>>()?,
            ),
            NodeValue::Mapping(entries) => ConfigLiteral::Map(
                entries.iter().map(|entry| self.resolve_entry(entry)).collect::<Result<_, _>>()?,
            ),
            NodeValue::Scalar(scalar) if scalar.text.contains('$') => {
                let text = self.substitute_each(&scalar.text).ok_or(node.span)?;
                if scalar.sole_argument { ConfigLiteral::List(vec![text]) } else { text }
            }
            _ => node_to_literal(node),
        })
    }

    /// Returns a string after replacing each use of `each` by its value; `None` if a use is left
    /// that cannot be replaced.
    fn substitute_each(&self, text: &str) -> Option<ConfigLiteral> {
        let inner = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).map(str::trim);
        let whole = inner.or_else(|| text.strip_prefix('$')).unwrap_or_default();
        let names = |path: &str| path.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
        if let Some(path) = whole.strip_prefix(EACH).and_then(|rest| rest.strip_prefix('.'))
            && names(path)
        {
            return self.value_at(path).cloned();
        }
        let mut leaves = vec![(vec![EACH, "key"], &self.key)];
        collect_leaves(&mut vec![EACH, "value"], &self.value, &mut leaves);
        let mut text = text.to_owned();
        for (path, leaf) in &leaves {
            if let ConfigLiteral::Text(said) | ConfigLiteral::Number(said) = leaf
                && !said.contains('$')
            {
                text = text.replace(&format!("${{{}}}", path.join(".")), said);
            }
        }
        let said: Vec<(Vec<&str>, String)> =
            leaves.into_iter().filter_map(|(path, leaf)| Some((path, literal_to_cel(leaf)?))).collect();
        let new = redirect_text(&text, &PathRenames::from_replacements(&said), false).ok()?.unwrap_or(text);
        let rest = [(vec![EACH], String::new())];
        let is_left = redirect_text(&new, &PathRenames::from_replacements(&rest), false);
        matches!(is_left, Ok(None)).then(|| ConfigLiteral::text(new))
    }

    fn value_at(&self, path: &str) -> Option<&ConfigLiteral> {
        let mut steps = path.split('.');
        let first = match steps.next()? {
            "key" => &self.key,
            "value" => &self.value,
            _ => return None,
        };
        steps.try_fold(first, |literal, step| match literal {
            ConfigLiteral::Map(entries) => {
                entries.iter().find(|(key, _)| key == step).map(|(_, inner)| inner)
            }
            _ => None,
        })
    }
}

/// Collects the plain values of a literal with their paths.
fn collect_leaves<'l>(
    path: &mut Vec<&'l str>,
    literal: &'l ConfigLiteral,
    leaves: &mut Vec<(Vec<&'l str>, &'l ConfigLiteral)>,
) {
    match literal {
        ConfigLiteral::Map(entries) => {
            for (key, inner) in entries {
                path.push(key);
                collect_leaves(path, inner, leaves);
                path.pop();
            }
        }
        leaf => leaves.push((path.clone(), leaf)),
    }
}

/// Returns a scalar as a CEL literal; `None` for a list, a map, and a string that would need escapes.
fn literal_to_cel(literal: &ConfigLiteral) -> Option<String> {
    match literal {
        ConfigLiteral::Null => Some("null".to_owned()),
        ConfigLiteral::Boolean(value) => Some(value.to_string()),
        ConfigLiteral::Number(number) => Some(number.to_string()),
        ConfigLiteral::Text(text) if !text.contains(['\'', '\\', '$', '\n']) => Some(format!("'{text}'")),
        _ => None,
    }
}

/// Returns a parsed node as a literal to write.
fn node_to_literal(node: &Node) -> ConfigLiteral {
    match &node.value {
        NodeValue::Null => ConfigLiteral::Null,
        NodeValue::Bare => ConfigLiteral::Map(Vec::new()),
        NodeValue::Sequence(items) => ConfigLiteral::List(items.iter().map(node_to_literal).collect()),
        NodeValue::Mapping(entries) => ConfigLiteral::Map(
            entries.iter().map(|entry| (entry.key.clone(), node_to_literal(&entry.value))).collect(),
        ),
        NodeValue::Scalar(scalar) => match scalar_class(scalar) {
            ScalarClass::Text => ConfigLiteral::Text(scalar.text.clone()),
            ScalarClass::Number => ConfigLiteral::Number(scalar.text.clone()),
            ScalarClass::Boolean => ConfigLiteral::Boolean(scalar.text == "true"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::REGISTRY;
    use crate::model::source::Source;

    fn of(path: &str, text: &str, key: &str) -> InstanceSource {
        let source = Source::new(path, text);
        find_instance(&EditableFile { source: &source, registry: &REGISTRY }, "vm.web", key).unwrap()
    }

    #[test]
    fn an_instance_is_written_as_a_block_of_its_own() {
        let yaml = "vm:\n  web:\n    for_each: [a, b]\n    plan: p\n    size: 2\n    x: ${each.key}\n    y: [\"n-${each.value}\", \"${each.key + '-x'}\", $vpc.m]\n";
        let kdl = "vm web plan=p size=2 x=\"${each.key}\" {\n  for_each a b\n  y \"n-${each.value}\" \"${each.key + '-x'}\" $vpc.m\n}\n";
        for (path, text) in [("a.yaml", yaml), ("a.kdl", kdl)] {
            let found = of(path, text, "b");
            assert_eq!(
                found.key,
                Ok(InstanceKeyPath::Item(EditPath::from_text("vm.web.for_each").with_item(1)))
            );
            assert!(!found.is_only);
            let texts = ["n-b", "${'b' + '-x'}", "$vpc.m"].map(ConfigLiteral::text);
            let body = [
                ("plan", ConfigLiteral::text("p")),
                ("size", ConfigLiteral::Number("2".into())),
                ("x", ConfigLiteral::text("b")),
                ("y", ConfigLiteral::List(texts.into())),
            ];
            assert_eq!(found.body.map(ConfigLiteral::Map), Ok(ConfigLiteral::map(body)), "{path}");
        }
        let mapped = "vm:\n  web:\n    for_each: { a: { n: 1, p: $vars.x } }\n    size: $each.value.n\n    plan: ${each.value.p}\n    z: \"${each.value.n + 1}\"\n";
        let found = of("a.yaml", mapped, "a");
        assert!(found.is_only && matches!(found.key, Ok(InstanceKeyPath::Entry(_))));
        let body = [
            ("size", ConfigLiteral::Number("1".into())),
            ("plan", ConfigLiteral::text("$vars.x")),
            ("z", ConfigLiteral::text("${1 + 1}")),
        ];
        assert_eq!(found.body.map(ConfigLiteral::Map), Ok(ConfigLiteral::map(body)));
    }

    #[test]
    fn a_computed_instance_cannot_be_written_as_a_block() {
        let found = of("a.yaml", "vm: { web: { for_each: $vars.nodes, plan: p } }\n", "a");
        assert!(found.key.is_err() && found.body.is_err());
        let found =
            of("a.yaml", "vm: { web: { for_each: { a: [x] }, plan: \"${each.value[0]}\" } }\n", "a");
        assert!(found.key.is_ok() && found.body.is_err());
    }
}
