//! The way to an entry of a top-level list that is known by its place.

use super::request::{File, Path};
use crate::config::document::NodeValue;
use crate::config::syntax::parse;
use crate::model::source::{SourceId, Span};

/// Returns the path of the entry of a top-level list that stands at a place of a file; `None` when none
/// does, or the file has syntax errors.
#[must_use]
pub fn entry_at(file: &File<'_>, span: Span) -> Option<Path> {
    let document = parse(SourceId(0), file.source, &|word| file.is_kind(word))?.ok()?;
    document.root.iter().find_map(|list| {
        let NodeValue::Sequence(items) = &list.value.value else { return None };
        let here = |at: Span| (at.start, at.end) == (span.start, span.end);
        let item = items.iter().position(|item| here(item.span))?;
        Some(Path::default().key(list.key.clone()).item(item))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::schema::Registry;
    use crate::model::source::Source;

    #[test]
    fn an_entry_is_found_by_its_place_in_both_syntaxes() {
        let registry = Registry { kinds: &[], catalogs: &[] };
        for (path, text, entry) in [
            (
                "a.yaml",
                "moved:\n  - { from: a.x, to: a.y }\n  - { from: a.b, to: a.c }\n",
                "{ from: a.b, to: a.c }",
            ),
            ("a.kdl", "moved from=a.x to=a.y\nmoved from=a.b to=a.c\n", "moved from=a.b to=a.c"),
        ] {
            let source = Source::new(path, text);
            let document = parse(SourceId(0), &source, &|_| false).unwrap().unwrap();
            let NodeValue::Sequence(items) = &document.root[0].value.value else { panic!("{path}") };
            assert!(text.contains(entry));
            let file = File { source: &source, registry: &registry };
            assert_eq!(entry_at(&file, items[1].span).unwrap().to_string(), "moved[1]");
            let nowhere = Span { source: SourceId(0), start: 0, end: 1 };
            assert_eq!(entry_at(&file, nowhere), None);
        }
    }
}
