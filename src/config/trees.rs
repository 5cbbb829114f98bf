//! `Trees`: what files were read as, kept from one look at a stack to the next: most of them, and most of each,
//! are what they were.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::document::{Document, Syntax};
use super::yaml;
use crate::model::diagnostic::Diagnostic;
use crate::model::source::{Source, SourceId};

/// The files of one stack as they could be read last, by their paths.
#[derive(Debug, Default)]
pub struct Trees(RefCell<BTreeMap<String, (Arc<str>, Document)>>);

impl Trees {
    /// Returns what a file is read as: by `parse`, unless what is known of it is enough.
    pub(super) fn document(
        &self,
        id: SourceId,
        source: &Source,
        parse: impl FnOnce() -> Result<Document, Vec<Diagnostic>>,
    ) -> Result<Document, Vec<Diagnostic>> {
        let mut known = self.0.borrow_mut();
        if let Some((text, document)) = known.get_mut(&source.path).filter(|(_, known)| known.source == id)
        {
            if *text == source.text {
                return Ok(document.clone());
            }
            let is_yaml = document.syntax == Syntax::Yaml;
            if let Some(new) = is_yaml.then(|| yaml::again(document, text, &source.text)).flatten() {
                (*text, *document) = (source.text.clone(), new.clone());
                return Ok(new);
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

    #[test]
    fn a_file_is_parsed_once_and_again_where_that_is_needed() {
        let trees = Trees::default();
        let read = |text: &str, id: u32| {
            let (id, source) = (SourceId(id), Source::new("a.yaml", text));
            let mut parsed = false;
            let document = trees.document(id, &source, || {
                parsed = true;
                yaml::parse(id, &source)
            });
            assert_eq!(document.ok(), yaml::parse(id, &source).ok(), "{text}");
            parsed
        };
        for (text, id, is_parsed) in [
            ("a:\n  b: 1\n  c: 2\n", 0, true),
            ("a:\n  b: 1\n  c: 2\n", 0, false),
            ("a:\n  b: 12\n  c: 2\n", 0, false),
            ("a:\n  b: [\n  c: 2\n", 0, true),
            ("a:\n  b: [x]\n  c: 2\n", 0, false),
            ("a:\n  b: [x]\n  c: 2\n", 1, true),
            ("d: 1\n", 1, true),
        ] {
            assert_eq!(read(text, id), is_parsed, "{text}");
        }
    }
}
