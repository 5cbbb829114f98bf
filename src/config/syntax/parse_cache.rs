//! Cache of parsed files between two checks of a stack: most files, and most parts of each,
//! do not change in between.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::document::{Document, Syntax};
use super::{kdl, yaml};
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Source, SourceId};

/// Last version of each file that could be parsed, by path.
#[derive(Debug, Default)]
pub struct ParseCache(RefCell<BTreeMap<String, (Arc<str>, Document)>>);

impl ParseCache {
    /// Returns the document of a file: from the cache, updated if possible, else by `parse`. `is_kind` is the
    /// predicate of the KDL parser.
    ///
    /// # Errors
    /// Those of `parse`; the cache then keeps the last version that could be parsed.
    pub(in crate::config) fn cached_document(
        &self,
        id: SourceId,
        source: &Source,
        is_kind: &dyn Fn(&str) -> bool,
        parse: impl FnOnce() -> Result<Document, Vec<Diagnostic>>,
    ) -> Result<Document, Vec<Diagnostic>> {
        let mut known = self.0.borrow_mut();
        if let Some((text, document)) = known.get_mut(&source.path).filter(|(_, known)| known.source == id)
        {
            if *text == source.text {
                return Ok(document.clone());
            }
            let again = match document.syntax {
                Syntax::Yaml => yaml::reparse_yaml(document, text, &source.text),
                Syntax::Kdl => kdl::reparse_kdl(document, text, &source.text, is_kind),
            };
            if again.is_some() {
                *text = source.text.clone();
                return Ok(document.clone());
            }
        }
        let document = parse()?;
        known.insert(source.path.clone(), (source.text.clone(), document.clone()));
        Ok(document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_kind(word: &str) -> bool {
        word == "vm"
    }

    /// Each text in turn, and whether it has to be read whole.
    fn all(path: &str, texts: &[(&str, u32, bool)]) {
        let trees = ParseCache::default();
        for (text, id, is_parsed) in texts {
            let (id, source) = (SourceId(*id), Source::new(path, *text));
            let whole = || crate::config::syntax::parse_source::parse(id, &source, &is_kind).unwrap();
            let mut parsed = false;
            let document = trees.cached_document(id, &source, &is_kind, || {
                parsed = true;
                whole()
            });
            assert_eq!(document.ok(), whole().ok(), "{text}");
            assert_eq!(parsed, *is_parsed, "{text}");
        }
    }

    #[test]
    fn an_unchanged_file_is_parsed_once() {
        all(
            "a.yaml",
            &[
                ("a:\n  b: 1\n  c: 2\n", 0, true),
                ("a:\n  b: 1\n  c: 2\n", 0, false),
                ("a:\n  b: 12\n  c: 2\n", 0, false),
                ("a:\n  b: [\n  c: 2\n", 0, true),
                ("a:\n  b: [x]\n  c: 2\n", 0, false),
                ("a:\n  b: [x]\n  c: 2\n", 1, true),
                ("d: 1\n", 1, true),
            ],
        );
        all(
            "a.kdl",
            &[
                ("vm a b=1\nvm c\n", 0, true),
                ("vm a b=12\nvm c\n", 0, false),
                ("vm a b={\nvm c\n", 0, true),
                ("vm a b=12 { d }\nvm c\n", 0, false),
                ("vpc a\nvm c\n", 0, true),
            ],
        );
    }
}
