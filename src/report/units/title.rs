//! The title of a selection of units. Two jobs that plan different selections write different comments, so the title tells
//! the selections apart.

use crate::model::crypto::digest::json_digest;

/// Title of the comment of all units, in its hidden first line.
pub const ALL_UNITS_TITLE: &str = "all";

/// How many characters of a selection the title repeats; the digest tells longer ones apart.
const MAX_TITLE_CHARS: usize = 60;

/// Number of digits of the digest.
const DIGEST_DIGITS: usize = 12;

/// The title of a selection of units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitsTitle {
    /// What identifies the comment: `all`, with the selection and a digest of it.
    pub title: String,
    /// The flags of the selection, for a reader; empty for all units.
    pub flags: String,
}

impl UnitsTitle {
    /// Returns the title of the units of an environment that match one of the patterns. The order of the patterns makes no
    /// difference.
    #[must_use]
    pub fn new(environment: Option<&str>, patterns: &[&str]) -> Self {
        let mut patterns = patterns.to_vec();
        patterns.sort_unstable();
        patterns.dedup();
        if environment.is_none() && patterns.is_empty() {
            return Self { title: ALL_UNITS_TITLE.to_owned(), flags: String::new() };
        }
        let flags = environment.iter().map(|name| format!("-e {name}"));
        let flags: Vec<String> =
            flags.chain(patterns.iter().map(|pattern| format!("--stacks {pattern}"))).collect();
        let words: Vec<&str> = environment.into_iter().chain(patterns.iter().copied()).collect();
        let words: String = words.join(" ").chars().take(MAX_TITLE_CHARS).collect();
        // A text and a list of texts can always be written as JSON.
        let digest = json_digest("stead selection 1", &(environment, &patterns)).unwrap_or_default();
        let digest = digest.get(..DIGEST_DIGITS).unwrap_or_default();
        Self { title: format!("{ALL_UNITS_TITLE} {words} {digest}"), flags: flags.join(" ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_selections_have_different_titles() {
        let all = UnitsTitle::new(None, &[]);
        assert_eq!((all.title.as_str(), all.flags.as_str()), ("all", ""));
        let one = UnitsTitle::new(Some("prod"), &["shop", "*/x"]);
        assert_eq!(one, UnitsTitle::new(Some("prod"), &["*/x", "shop", "shop"]));
        assert_eq!(one.flags, "-e prod --stacks */x --stacks shop");
        let long = "x".repeat(100);
        let selections: [(Option<&str>, &[&str]); 8] = [
            (None, &[]),
            (Some("prod"), &[]),
            (None, &["prod"]),
            (None, &["*/prod"]),
            (None, &["?/prod"]),
            (None, &["**/prod"]),
            (None, &[&long]),
            (Some("dev"), &[&long]),
        ];
        let mut titles: Vec<String> = selections
            .iter()
            .map(|(environment, patterns)| UnitsTitle::new(*environment, patterns).title)
            .collect();
        assert!(titles.iter().all(|title| title.len() < 100), "{titles:?}");
        titles.sort();
        titles.dedup();
        assert_eq!(titles.len(), selections.len(), "{titles:?}");
    }
}
