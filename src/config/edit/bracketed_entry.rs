//! The text of an entry that a YAML file has in brackets, between others on its line. In: the file's text and the path of
//! the entry. Out: the entry as `key: value`, which can stand in brackets or on lines of its own.

use super::request::{EditPath, EditPathStep};
use crate::config::syntax::yaml::layout_tree::{YamlContent, parse_yaml_layout};

/// Returns the text of an entry in brackets; `None` for one with lines of its own, and if the path does not exist.
#[must_use]
pub fn bracketed_entry(text: &str, path: &EditPath) -> Option<String> {
    let tree = parse_yaml_layout(text)?;
    let mut node = tree.root.as_ref()?;
    let (mut is_bracketed, mut entry) = (false, None);
    for step in &path.0 {
        let EditPathStep::Key(name) = step else { return None };
        let YamlContent::Mapping(collection) = &node.content else { return None };
        is_bracketed |= collection.flow;
        let item = &collection.items[collection.position(name)?];
        node = &item.value;
        entry = item.key.as_ref().map(|key| (key.at.clone(), node.range.start..item.end()));
    }
    let (key, value) = entry.filter(|_| is_bracketed)?;
    Some(format!("{}: {}", text.get(key)?, text.get(value)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_in_brackets_has_a_text_of_its_own() {
        let entry = |text: &str| bracketed_entry(text, &EditPath::from_text("vm.web"));
        assert_eq!(entry("vm: { web: { cpus: 2 }, db: {} }\n").as_deref(), Some("web: { cpus: 2 }"));
        assert_eq!(entry("vm: {\"web\":&a {cpus: 2},db: {}}\n").as_deref(), Some("\"web\": &a {cpus: 2}"));
        assert_eq!(entry("{ vm: { db: 1,\n  web: [1,\n    2] } }\n").as_deref(), Some("web: [1,\n    2]"));
        for text in ["vm:\n  web: { cpus: 2 }\n", "vm: { db: {} }\n", "vm: 1\n", "", "vm: {"] {
            assert_eq!(entry(text), None, "{text}");
        }
    }
}
