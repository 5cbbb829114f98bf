//! Examples of codes: configurations that are refused with a code, each with its nearest legal neighbour.
//!
//! They are those that the tests of the rules run, written one after the other into one text.

use serde::Serialize;

/// The texts: after `=== NAME` stand the sections of one case.
const TEXT: &str = include_str!("examples.txt");
/// Begins a section.
const SECTION: &str = "--- # ";
/// Most examples of one code that are shown.
const MOST: usize = 2;

/// One configuration that is refused, and its nearest legal neighbour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Example {
    /// What was there before, where that matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<&'static str>,
    /// What is refused, or warned of.
    pub wrong: &'static str,
    /// What is accepted.
    pub right: &'static str,
}

/// Returns the examples of a code, shortest first.
pub(super) fn of(code: &str) -> Vec<Example> {
    let of_code =
        |case: &&'static str| case.strip_prefix(code).is_some_and(|rest| rest.starts_with(['.', '-']));
    let mut found: Vec<Example> = TEXT.split("=== ").filter(of_code).filter_map(example).collect();
    found.sort_by_key(|example| example.wrong.len());
    found.truncate(MOST);
    found
}

fn example(case: &'static str) -> Option<Example> {
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

    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn they_are_those_of_the_rule_corpus() {
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

    #[test]
    fn sections_are_told_apart() {
        let [example] = of("R0301").try_into().unwrap();
        assert!(example.wrong.contains("engine: mysql, plan: pg-1c-2g"));
        assert!(example.right.contains("engine: mysql, plan: mysql-1c-2g"));
        assert!(of("R0101").iter().any(|example| example.before.is_some()));
        assert_eq!(of("R9999"), Vec::new());
    }
}
