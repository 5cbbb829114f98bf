//! Paths in environments' overrides that must follow a renamed address: `environments.prod.set: {
//! shop.vm.web.plan: … }`. Otherwise the override would name a path that does not exist.

use super::request::{Edit, EditPath, EditableFile};
use crate::config::syntax::parse_source::parse;
use crate::model::address::Name;
use crate::model::source::SourceId;

/// Returns the edits that rename the paths of all overrides; `new` returns the new path, or `None` to keep it.
/// Empty for a file with syntax errors.
#[must_use]
pub fn override_path_edits(file: &EditableFile<'_>, new: &dyn Fn(&str) -> Option<String>) -> Vec<Edit> {
    let parsed = parse(SourceId(0), file.source, &|word| file.is_kind(word));
    let Some(Ok(document)) = parsed else { return Vec::new() };
    let mut edits = Vec::new();
    for block in document.root.iter().filter(|entry| entry.key == "environments") {
        for environment in block.value.entries().unwrap_or_default() {
            let words = environment.value.entries().unwrap_or_default();
            let set = words.iter().filter(|word| word.key == "set");
            for entry in set.flat_map(|set| set.value.entries().unwrap_or_default()) {
                if let Some(new) = new(&entry.key) {
                    let place = EditPath::from_text("environments")
                        .with_key(environment.key.clone())
                        .with_key("set");
                    edits.push(Edit::Rename(place.with_key(entry.key.clone()), Name::new(new)));
                }
            }
        }
    }
    edits
}
