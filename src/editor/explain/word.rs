//! Reference pages for the keywords and blocks of the language, with examples.

use serde::Serialize;

use super::fact;
use crate::config::keywords::{
    BODY, EACH, Keyword, KeywordValue, Keywords, LIFECYCLE, MAP, ROOTS, TEST_FILE, TOP, find_word,
};
use crate::editor::facts;

/// The reference page for a keyword.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeywordPage {
    /// The keyword with its enclosing keywords, such as `lifecycle.protect`.
    pub word: String,
    /// What the keyword does.
    pub summary: String,
    /// An example in YAML; for a nested keyword, the example of the enclosing one.
    pub example: String,
    /// Keywords that are allowed inside this one, each with its summary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<(&'static str, &'static str)>,
    /// The facts that an expression of this keyword can read, each with its summary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<(&'static str, &'static str)>,
    /// Locations at which the keyword is allowed, if there are several, each with its meaning there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<(String, &'static str)>,
}

/// Examples for the roots of references (after `$`) that are not blocks.
const ROOT_EXAMPLES: &[(&str, &str)] = &[
    ("each", "vm: { web: { for_each: [a, b], name: \"web-${each.key}\" } }"),
    ("env", "project: { shop: { name: \"shop-${env}\" } }   # or $env alone"),
];

/// Returns the keywords with a page of their own, sorted. A keyword that is also a kind
/// is explained as the kind.
fn top_level_words() -> Vec<&'static Keyword> {
    let all = TOP.iter().chain(BODY).chain(LIFECYCLE).chain(MAP).chain(TEST_FILE);
    let mut words: Vec<&Keyword> = all.filter(|word| !word.example.is_empty()).collect();
    words.extend(ROOTS.iter().filter(|root| root_example(root.name).is_some()));
    words.sort_unstable_by_key(|word| word.name);
    words
}

fn root_example(name: &str) -> Option<&'static str> {
    ROOT_EXAMPLES.iter().find(|(root, _)| *root == name).map(|(_, example)| *example)
}

/// Returns the keywords that are allowed inside a keyword; empty if it takes a value.
const fn words_inside(word: &Keyword) -> Keywords {
    match word.takes {
        KeywordValue::OneOf(words) | KeywordValue::Block(words) | KeywordValue::Named(words) => words,
        KeywordValue::Value
        | KeywordValue::Boolean
        | KeywordValue::Address
        | KeywordValue::AddressOrModule
        | KeywordValue::Kinds
        | KeywordValue::Variables => &[],
    }
}

/// Returns the page for a keyword or a nested one; `None` for an unknown path. The path may contain user-defined
/// names: both `environments.confirm` and `environments.prod.confirm` work.
pub(super) fn word_page(path: &str) -> Option<KeywordPage> {
    let mut steps = path.split('.');
    let first = steps.next()?;
    let mut word = top_level_words().into_iter().find(|word| word.name == first)?;
    let mut example = if word.example.is_empty() { root_example(word.name)? } else { word.example };
    let mut named = matches!(word.takes, KeywordValue::Named(_));
    let mut full = first.to_owned();
    for step in steps {
        let words = if word.name == "each" { EACH } else { words_inside(word) };
        match (find_word(words, step), named) {
            (Some(next), _) => {
                (word, named) = (next, matches!(next.takes, KeywordValue::Named(_)));
                example = if word.example.is_empty() { example } else { word.example };
            }
            // A user-defined name, such as `prod` in `environments`.
            (None, true) => named = false,
            (None, false) => return None,
        }
        full = format!("{full}.{step}");
    }
    let words = if word.name == "each" { EACH } else { words_inside(word) };
    let reads_facts = first == "policy" && matches!(word.name, "policy" | "deny");
    Some(KeywordPage {
        facts: if reads_facts { fact::root_facts() } else { Vec::new() },
        word: full,
        summary: facts::describe_word(word),
        example: example.to_owned(),
        words: words.iter().map(|word| (word.name, word.summary)).collect(),
        places: Vec::new(),
    })
}

/// Returns all nested keywords with their full paths and summaries: `environments.set`, `lifecycle.timeouts.create`.
pub(super) fn nested_word_paths() -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    for word in TOP.iter().chain(BODY).chain(MAP).chain(TEST_FILE) {
        collect_nested(word.name, words_inside(word), &mut found);
    }
    collect_nested("each", EACH, &mut found);
    found
}

fn collect_nested(way: &str, words: Keywords, found: &mut Vec<(String, &'static str)>) {
    for word in words {
        let way = format!("{way}.{}", word.name);
        found.push((way.clone(), word.summary));
        collect_nested(&way, words_inside(word), found);
    }
}

/// Returns the page for a nested keyword that is given without its path, such as `create_first`; if several places
/// allow it, the page lists them. `None` for an unknown one.
pub(super) fn inner_page(name: &str) -> Option<KeywordPage> {
    let mut places = nested_word_paths();
    places.retain(|(way, _)| way.rsplit('.').next() == Some(name));
    let (first, _) = places.first()?;
    let page = word_page(first)?;
    if places.len() == 1 {
        return Some(page);
    }
    let summary = "It is allowed in several places.".to_owned();
    Some(KeywordPage {
        word: name.to_owned(),
        summary,
        places,
        words: Vec::new(),
        facts: Vec::new(),
        ..page
    })
}

/// Returns the names of all keywords that have a page of their own, sorted.
pub(super) fn word_names() -> impl Iterator<Item = &'static str> + Clone {
    top_level_words().into_iter().map(|word| word.name)
}

/// Returns all keywords that have a page of their own, sorted, with their summaries.
pub(super) fn all_words() -> Vec<(&'static str, &'static str)> {
    top_level_words().into_iter().map(|word| (word.name, word.summary)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_unique_and_has_a_page() {
        let names: Vec<_> = word_names().collect();
        assert!(names.len() > 20 && names.is_sorted_by(|a, b| a < b), "{names:?}");
        for name in names {
            assert!(word_page(name).is_some_and(|page| page.summary.ends_with('.')), "{name}");
        }
    }

    #[test]
    fn nested_keywords_have_pages() {
        for path in [
            "lifecycle.protect",
            "lifecycle.timeouts.create",
            "environments.confirm",
            "environments.prod.confirm",
            "policy.budget.deny",
            "vars.size.type",
            "vars.type",
            "moved.from",
            "deliver_secret.file",
            "lifecycle.replace.create_first",
            "outputs.url",
            "each.key",
            "exclusive",
            "environments.set",
            "test",
            "test.given.world",
            "test.a.plan.monthly.max",
        ] {
            let page = word_page(path).unwrap_or_else(|| panic!("{path}"));
            assert!(page.word == path && !page.example.is_empty(), "{page:?}");
        }
        for path in ["lifecycle.protekt", "environments.prod.x", "moved.a.from", "each.x", "nothing"] {
            assert!(word_page(path).is_none(), "{path}");
        }
        for (path, summary) in nested_word_paths() {
            let page = word_page(&path).unwrap_or_else(|| panic!("{path}"));
            assert!(page.word == path && page.summary.starts_with(summary), "{page:?}");
            assert!(inner_page(path.rsplit('.').next().unwrap()).is_some(), "{path}");
        }
        assert_eq!(inner_page("set").unwrap().word, "environments.set");
        let places = inner_page("source").unwrap().places;
        assert!(places.iter().any(|(way, _)| way == "use.source") && places.len() > 2, "{places:?}");
        assert!(word_page("lifecycle").unwrap().words.iter().any(|(word, _)| *word == "protect"));
    }
}
