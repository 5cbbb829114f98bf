//! Examples for codes: configurations that stead rejects with a code, each with the nearest valid one.
//!
//! The examples of rules are also the test cases of the rules; all of them are in one text file. The examples
//! of the language are in another file; each states how it is tested: as a whole file, in KDL, or not at all if
//! it needs several files.

use serde::Serialize;

/// Examples of rules: each `=== NAME` starts a case, which consists of sections.
const TEXT: &str = include_str!("examples.txt");
/// Examples of the language's codes, in the same form.
const LANGUAGE: &str = include_str!("codes.txt");
/// Start of a section's heading.
const SECTION: &str = "--- # ";
/// Limit on the examples shown for a code: the others are test cases.
const MAX_EXAMPLES: usize = 2;

/// An invalid configuration and the nearest valid one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Example {
    /// The configuration applied before; `None` if the rule does not depend on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<&'static str>,
    /// The configuration that stead rejects or warns about, in YAML or KDL.
    pub wrong: &'static str,
    /// The nearest configuration that stead accepts.
    pub right: &'static str,
}

/// Returns the examples for a code, shortest first; empty if there is none.
pub(super) fn examples_of(code: &str) -> Vec<Example> {
    let of_code = |case: &&'static str| {
        case.strip_prefix(code).is_some_and(|rest| rest.starts_with(['.', '-', '\n']))
    };
    let cases = TEXT.split("=== ").chain(LANGUAGE.split("=== "));
    let mut found: Vec<Example> = cases.filter(of_code).filter_map(parse_example).collect();
    found.sort_by_key(|example| example.wrong.len());
    found.truncate(MAX_EXAMPLES);
    found
}

/// Reads a case; `None` if it has no rejected or no accepted configuration.
fn parse_example(case: &'static str) -> Option<Example> {
    let (mut before, mut wrong, mut right) = (None, None, None);
    for section in case.split(SECTION).skip(1) {
        let (title, text) = section.split_once('\n')?;
        let text = text.trim_end();
        match title.split([':', ',']).next()?.trim() {
            "theirs" | "before" => before = before.or(Some(text)),
            "refused" | "warned" => wrong = wrong.or(Some(text)),
            "accepted" => right = right.or(Some(text)),
            _ => {}
        }
    }
    Some(Example { before, wrong: wrong?, right: right? })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "the rule corpus is files")]

    use std::collections::BTreeSet;
    use std::fmt::Write as _;
    use std::path::Path;

    use super::*;
    use crate::config::codes;
    use crate::config::input::files::{DirectoryEntry, Files};
    use crate::config::input::request::LoadRequest;
    use crate::config::load::load;
    use crate::kinds::REGISTRY;
    use crate::model::source::{Source, Sources};

    #[test]
    fn the_examples_equal_the_rule_corpus() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/rules");
        let mut paths: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort_by_key(|path| path.file_name().unwrap().to_owned());
        let mut text = String::new();
        for path in paths {
            let name = path.file_name().unwrap().to_str().unwrap();
            let is_code = name.starts_with(['R', 'S']) && name.as_bytes()[1].is_ascii_digit();
            if is_code {
                _ = write!(text, "=== {name}\n{}", std::fs::read_to_string(&path).unwrap());
            }
        }
        assert!(
            text == TEXT,
            "write `=== NAME` and the text of each [RS]*.yaml of {folder} into examples.txt"
        );
    }

    /// Nothing stands beside these stacks.
    struct Nothing;

    impl Files for Nothing {
        fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
            Err(std::io::ErrorKind::NotFound.into())
        }

        fn list(&self, _: &Path) -> std::io::Result<Vec<DirectoryEntry>> {
            Err(std::io::ErrorKind::NotFound.into())
        }
    }

    /// The codes of what is wrong with a text, tried as its form says; `None` where it cannot be.
    fn codes_of(text: &str, form: &str) -> Option<BTreeSet<&'static str>> {
        let (head, path) = match form {
            "" => ("stead: 1\nstack: s\n", "stead.yaml"),
            "whole" => ("", "stead.yaml"),
            "kdl" => ("stead 1\nstack s\n", "stead.kdl"),
            "untried" => return None,
            other => panic!("{other}"),
        };
        let mut sources = Sources::default();
        sources.add(Source::new(path, format!("{head}{text}\n")));
        let found = match load(REGISTRY, sources, &LoadRequest::default(), &Nothing) {
            Ok((_, warnings)) => warnings,
            Err(rejected) => rejected.diagnostics,
        };
        Some(found.into_iter().map(|problem| problem.code).collect())
    }

    #[test]
    fn language_examples_are_rejected_with_their_code_or_accepted() {
        let mut tried = 0;
        for case in LANGUAGE.split("=== ").skip(1) {
            let (code, _) = case.split_once('\n').unwrap();
            let form = case.split_once("# refused").unwrap().1.lines().next().unwrap();
            let form = form.trim_start_matches(", ");
            let example = parse_example(case).unwrap();
            // Few examples are whole enough to use what they declare.
            let besides_unused = |text: &str| {
                let mut codes = codes_of(text, form)?;
                codes.retain(|found| code == codes::UNUSED || *found != codes::UNUSED);
                Some(codes)
            };
            let Some(wrong) = besides_unused(example.wrong) else { continue };
            assert_eq!(wrong, BTreeSet::from([code]), "{}", example.wrong);
            assert_eq!(besides_unused(example.right), Some(BTreeSet::new()), "{code}: {}", example.right);
            tried += 1;
        }
        assert!(tried > 75, "{tried}");
    }

    #[test]
    fn the_wrong_and_the_right_section_of_an_example_are_separated() {
        let [example] = examples_of("R0301").try_into().unwrap();
        assert!(example.wrong.contains("engine: mysql, plan: pg-1c-2g"));
        assert!(example.right.contains("engine: mysql, plan: mysql-1c-2g"));
        assert!(examples_of("R0101").iter().any(|example| example.before.is_some()));
        assert_eq!(examples_of("R9999"), Vec::new());
    }
}
