//! Detection of the tool that a file belongs to, from its content alone: file names differ between users.

use super::SourceFormat;
use crate::config::syntax::document::NodeValue;
use crate::config::syntax::yaml;
use crate::model::source::{Source, SourceId};

/// Top-level keys that only a stack's own file has.
const STEAD_KEYS: &[&str] = &["stead", "stack"];

/// Top-level keys of an app spec that list components.
const COMPONENTS: &[&str] = &["services", "workers", "jobs", "functions", "static_sites", "databases"];

/// Returns the tool that a file belongs to; `None` for a stack's own file, for an unknown one, and for one
/// that does not parse.
#[must_use]
pub fn guess_origin(source: &Source) -> Option<SourceFormat> {
    let document = yaml::parse(SourceId(0), source).ok()?;
    let wrapped = document.root.iter().find(|entry| entry.key == "spec");
    let entries = wrapped.and_then(|entry| entry.value.entries()).unwrap_or(&document.root);
    let value = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value.value);
    let is_list = |key: &str| matches!(value(key), Some(NodeValue::Sequence(_)));
    if STEAD_KEYS.iter().any(|key| value(key).is_some()) {
        return None;
    }
    if matches!(value("services"), Some(NodeValue::Mapping(_))) {
        return Some(SourceFormat::Compose);
    }
    // An app has a name; a blueprint has none.
    let named = matches!(value("name"), Some(NodeValue::Scalar(_)));
    if named && COMPONENTS.iter().any(|key| is_list(key)) {
        return Some(SourceFormat::AppSpec);
    }
    if wrapped.is_some() {
        return None;
    }
    ["services", "databases", "projects", "envVarGroups"]
        .iter()
        .any(|key| is_list(key))
        .then_some(SourceFormat::Render)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_is_detected_by_its_distinctive_keys() {
        let table = [
            ("services:\n  web: { image: nginx }\n", Some(SourceFormat::Compose)),
            ("name: shop\nservices:\n  web: { image: nginx }\n", Some(SourceFormat::Compose)),
            ("services:\n  - { type: web, name: shop }\n", Some(SourceFormat::Render)),
            ("databases:\n  - { name: main }\n", Some(SourceFormat::Render)),
            ("name: shop\nservices:\n  - { name: web }\n", Some(SourceFormat::AppSpec)),
            ("name: shop\nworkers: [{ name: w }]\n", Some(SourceFormat::AppSpec)),
            ("spec:\n  name: shop\n  services: [{ name: web }]\n", Some(SourceFormat::AppSpec)),
            ("spec:\n  services: [{ type: web }]\n", None),
            ("projects:\n  - { name: shop }\n", Some(SourceFormat::Render)),
            ("stead: 1\nstack: s\nvm: { web: {} }\n", None),
            ("vm: { web: {} }\n", None),
            ("services: [\n", None),
        ];
        for (text, origin) in table {
            assert_eq!(guess_origin(&Source::new("x.yaml", text)), origin, "{text}");
        }
    }
}
