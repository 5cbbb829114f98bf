//! Warnings about declarations that nothing uses: variables, locals, blocks without entries. In: the documents of
//! one unit. Out: warnings. Often the name is misspelt where it should be used. The text is searched and not
//! resolved, so that a use in a block that this environment leaves out counts.

use std::collections::BTreeSet;

use crate::config::codes;
use crate::config::keywords;
use crate::config::syntax::document::{Document, DocumentEntry, Node, NodeValue, named_entries};
use crate::model::diagnostic::Diagnostic;
use crate::model::schema::Registry;

/// Returns warnings about unused declarations in the documents of a stack or of a module, in the order of the files.
pub(in crate::config) fn find_unused(registry: &Registry, documents: &[Document]) -> Vec<Diagnostic> {
    let mut used = UsedNames::default();
    let roots = || documents.iter().flat_map(|document| &document.root);
    for entry in roots() {
        used.read(&entry.value);
    }
    let mut found = Vec::new();
    for entry in roots() {
        let word = match entry.key.as_str() {
            "vars" => "variable",
            "locals" => "local",
            _ => {
                found.extend(empty_block_problem(registry, entry));
                continue;
            }
        };
        let entries = named_entries(&entry.value).unwrap_or_default();
        for declared in entries.iter().filter(|declared| !used.is_used(&entry.key, declared)) {
            found.push(
                Diagnostic::warning(codes::UNUSED, format!("nothing uses this {word}"))
                    .with_label(declared.key_span, "")
                    .detail(format!("No expression and no reference names {}.{}.", entry.key, declared.key))
                    .help(format!("use it, as in `${}.{}`, or remove it", entry.key, declared.key)),
            );
        }
        found.extend(empty_block_problem(registry, entry));
    }
    found
}

/// Names that expressions and references use. A name in a quoted string of an expression counts, too:
/// a missing warning does less harm than a wrong one.
#[derive(Default)]
struct UsedNames {
    /// Paths such as `vars.size`.
    names: BTreeSet<String>,
    /// Roots that an expression reads as a whole or with a computed key, so that each of
    /// their entries counts as used.
    whole: BTreeSet<&'static str>,
}

impl UsedNames {
    fn read(&mut self, node: &Node) {
        match &node.value {
            NodeValue::Null | NodeValue::Bare => {}
            NodeValue::Scalar(scalar) => self.record_uses(&scalar.text),
            NodeValue::Sequence(items) => items.iter().for_each(|item| self.read(item)),
            NodeValue::Mapping(entries) => entries.iter().for_each(|entry| self.read(&entry.value)),
        }
    }

    fn record_uses(&mut self, text: &str) {
        if !text.contains('$') {
            return;
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        for root in ["vars", "locals"] {
            for (at, _) in text.match_indices(root) {
                let (before, after) = (&text[..at], &text[at + root.len()..]);
                if before.ends_with(|c| is_name(c) || c == '.') || after.starts_with(is_name) {
                    continue;
                }
                match after.trim_start().strip_prefix('.') {
                    Some(rest) => {
                        let name: String = rest.trim_start().chars().take_while(|c| is_name(*c)).collect();
                        // In an expression a hyphen is the minus sign.
                        let first = name.split('-').next().unwrap_or_default().to_owned();
                        self.names.extend([first, name].map(|name| format!("{root}.{name}")));
                    }
                    None => {
                        self.whole.insert(root);
                    }
                }
            }
        }
    }

    fn is_used(&self, root: &str, declared: &DocumentEntry) -> bool {
        // A secret that is generated and delivered needs no reference to be useful.
        let delivered = || {
            let words = named_entries(&declared.value).unwrap_or_default();
            words.iter().any(|word| word.key == "deliver_secret")
        };
        self.whole.contains(root) || self.names.contains(&format!("{root}.{}", declared.key)) || delivered()
    }
}

/// Returns the warning about a block or a top-level list without entries; `None` for any other entry.
fn empty_block_problem(registry: &Registry, entry: &DocumentEntry) -> Option<Diagnostic> {
    let holds = registry.top_level().any(|kind| kind.name == entry.key)
        || keywords::find_word(keywords::TOP, &entry.key).is_some();
    let says_nothing = match &entry.value.value {
        NodeValue::Null => true,
        NodeValue::Mapping(entries) => entries.is_empty(),
        NodeValue::Sequence(items) => items.is_empty(),
        NodeValue::Bare | NodeValue::Scalar(_) => false,
    };
    let scalar = matches!(entry.key.as_str(), "stead" | "stack" | "backend");
    (holds && says_nothing && !scalar).then(|| {
        Diagnostic::warning(codes::UNUSED, "this block is empty")
            .with_label(entry.key_span, "")
            .detail(format!("`{}` has no entries.", entry.key))
            .help("indent below it what belongs to it, or remove it")
    })
}
