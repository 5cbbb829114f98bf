//! Words and blocks of the language: what each one does, with an example.

use serde::Serialize;

use crate::config::language::{BODY, LIFECYCLE, TOP, Word};
use crate::editor::facts;

/// What is known of a word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WordPage {
    /// The word.
    pub word: &'static str,
    /// What it does.
    pub summary: String,
    /// How it is written, in YAML.
    pub example: &'static str,
}

/// Returns the words that stand for themselves, sorted. One that is also a kind is explained as that.
fn words() -> Vec<&'static Word> {
    let all = TOP.iter().chain(BODY).chain(LIFECYCLE);
    let mut words: Vec<&Word> = all.filter(|word| !word.example.is_empty()).collect();
    words.sort_unstable_by_key(|word| word.name);
    words
}

/// Returns what is known of a word.
pub(super) fn page(name: &str) -> Option<WordPage> {
    let word = words().into_iter().find(|word| word.name == name)?;
    Some(WordPage { word: word.name, summary: facts::word(word), example: word.example })
}

/// Returns every word.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    words().into_iter().map(|word| word.name)
}

/// Returns every word with its sentence.
pub(super) fn all() -> Vec<(&'static str, &'static str)> {
    words().into_iter().map(|word| (word.name, word.summary)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_stands_once_and_can_be_asked_for() {
        let names: Vec<_> = names().collect();
        assert!(names.len() > 20 && names.is_sorted_by(|a, b| a < b), "{names:?}");
        for name in names {
            assert!(page(name).is_some_and(|page| page.summary.ends_with('.')), "{name}");
        }
    }
}
