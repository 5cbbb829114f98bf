//! The search over all pages. In: the pages, and what a user typed. Out: pages, the best first.
//!
//! A page has a score for each of its terms, by BM25 over its title, keywords, headings and text, so that only a sum is
//! left to do for a query. The site's script does the same sum over the same scores (`SearchIndex::to_script`), and
//! therefore ranks pages like the terminal; a test compares the two.

use std::collections::BTreeMap;

use super::document::{Block, PageContent, plain_text};
use super::library::{Library, Section};

/// Words that say nothing about what is searched.
pub const STOP_WORDS: &[&str] = &[
    "a", "about", "all", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from",
    "get", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "now", "of", "on", "or",
    "over", "stead", "that", "the", "then", "there", "this", "to", "up", "use", "was", "we", "what",
    "when", "where", "which", "why", "with", "without", "you", "your",
];

/// Weight of a term's occurrence in a title, in keywords or an address, in a heading or a name, and in text.
const WEIGHTS: [f64; 4] = [10.0, 5.0, 3.0, 1.0];
/// Factor of a written page: a guide answers more questions than a table.
const GUIDE_SHARE: f64 = 1.2;
/// Saturation of repeated terms (BM25's k1) and share of the length's correction (BM25's b).
const SATURATION: f64 = 1.4;
const LENGTH_SHARE: f64 = 0.6;
/// Factor of a term of which only the beginning was typed.
const PREFIX_SHARE: f64 = 0.5;
/// Fewest letters that are completed.
const MIN_PREFIX: usize = 3;
/// Score of a page for a term that it is all about, roughly; scores are whole numbers in the site's script.
const SCALE: f64 = 100.0;

/// The scores of all pages, by term.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchIndex {
    /// Score of each page in which a term occurs, as (index of the page, score).
    terms: BTreeMap<String, Vec<(usize, u32)>>,
}

/// A page that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchHit {
    /// Index of the page in the library.
    pub page: usize,
    /// Score; only the order matters.
    pub score: u64,
}

impl SearchIndex {
    /// Builds the index of all pages.
    #[must_use]
    pub fn new(library: &Library) -> Self {
        let pages: Vec<_> =
            library.pages().iter().map(|page| count_terms(&page.address, &page.content)).collect();
        let lengths: Vec<f64> = pages.iter().map(|terms| terms.values().sum()).collect();
        let average = lengths.iter().sum::<f64>() / as_number(lengths.len().max(1));
        let mut occurrences: BTreeMap<&str, usize> = BTreeMap::new();
        for term in pages.iter().flat_map(BTreeMap::keys) {
            *occurrences.entry(term).or_default() += 1;
        }
        let mut terms: BTreeMap<String, Vec<(usize, u32)>> = BTreeMap::new();
        for (at, page) in pages.iter().enumerate() {
            let is_guide = library.pages()[at].section() != Section::Reference;
            let section = if is_guide { GUIDE_SHARE } else { 1.0 };
            let share = LENGTH_SHARE.mul_add(lengths[at] / average.max(1.0), 1.0 - LENGTH_SHARE);
            for (term, weight) in page {
                let found = as_number(occurrences.get(term.as_str()).copied().unwrap_or(1));
                let rarity = (1.0 + (as_number(pages.len()) - found + 0.5) / (found + 0.5)).ln();
                let score =
                    section * rarity * weight * (SATURATION + 1.0) / SATURATION.mul_add(share, *weight);
                // Scores are small positive numbers.
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "rounded above 0"
                )]
                terms.entry(term.clone()).or_default().push((at, (score * SCALE).round().max(1.0) as u32));
            }
        }
        Self { terms }
    }

    /// Returns the pages that fit a query, best first: a page counts more if it has more of the terms.
    #[must_use]
    pub fn search(&self, query: &str) -> Vec<SearchHit> {
        let terms = query_terms(query);
        let mut found: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        for term in &terms {
            for (page, score) in self.scores_of(term) {
                let (sum, count) = found.entry(page).or_default();
                *sum += u64::from(score);
                *count += 1;
            }
        }
        let hit = |(page, (sum, count)): (usize, (u64, u64))| SearchHit { page, score: sum * count };
        let mut hits: Vec<SearchHit> = found.into_iter().map(hit).collect();
        hits.sort_by(|a, b| b.score.cmp(&a.score).then(a.page.cmp(&b.page)));
        hits
    }

    /// Returns the score of each page for a term: the term's own, else the best of the terms that it begins.
    fn scores_of(&self, term: &str) -> BTreeMap<usize, u32> {
        if let Some(scores) = self.terms.get(term) {
            return scores.iter().copied().collect();
        }
        let mut best = BTreeMap::new();
        if term.chars().count() < MIN_PREFIX {
            return best;
        }
        let begun = self.terms.range(term.to_owned()..).take_while(|(known, _)| known.starts_with(term));
        for (page, score) in begun.flat_map(|(_, scores)| scores) {
            let share = f64::from(*score) * PREFIX_SHARE;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "half of a score")]
            let share = share.floor() as u32;
            let seen = best.entry(*page).or_insert(share);
            *seen = share.max(*seen);
        }
        best
    }

    /// Returns the index as a script that assigns it to `window.steadSearch`: a page opened from a directory may load
    /// scripts, and no other files.
    #[must_use]
    pub fn to_script(&self, library: &Library) -> String {
        let pages = library.pages().iter().map(|page| {
            serde_json::json!([page.address, page.content.title, plain_text(&page.content.summary)])
        });
        let terms = self.terms.iter().map(|(term, scores)| {
            let flat: Vec<u64> =
                scores.iter().flat_map(|(page, score)| [*page as u64, u64::from(*score)]).collect();
            (term.clone(), serde_json::json!(flat))
        });
        let index = serde_json::json!({
            "stopWords": STOP_WORDS,
            "endings": ENDINGS,
            "minPrefix": MIN_PREFIX,
            "prefixShare": PREFIX_SHARE,
            "pages": pages.collect::<Vec<_>>(),
            "terms": terms.collect::<serde_json::Map<_, _>>(),
        });
        format!("window.steadSearch = {index};\n")
    }
}

/// Returns a count for a computation; no library has as many pages as a `u32`.
fn as_number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}

/// Returns the terms of a query. If all of its words are stop words, they count.
#[must_use]
pub fn query_terms(query: &str) -> Vec<String> {
    let words = split_words(query);
    let telling: Vec<_> = words.iter().filter(|word| !STOP_WORDS.contains(&word.as_str())).collect();
    let chosen = if telling.is_empty() { words.iter().collect() } else { telling };
    let mut terms: Vec<String> = chosen.into_iter().map(|word| stem(word)).collect();
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Splits a text into words in lower case. A name with underscores is one word, and each of its parts is one, too.
fn split_words(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let mut words = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()) {
        words.push(word.trim_matches('_').to_owned());
        if word.trim_matches('_').contains('_') {
            words.extend(word.split('_').filter(|part| !part.is_empty()).map(str::to_owned));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Endings that are cut, longest first, each with the fewest letters that stay.
const ENDINGS: &[(&str, usize)] = &[
    ("ings", 4),
    ("ions", 4),
    ("ing", 4),
    ("ion", 4),
    ("ies", 3),
    ("ied", 3),
    ("ed", 4),
    ("es", 4),
    ("s", 3),
    ("e", 3),
    ("y", 3),
];

/// Returns the stem of a word: `rename`, `renames`, `renamed` and `renaming` have one.
fn stem(word: &str) -> String {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    for (ending, least) in ENDINGS {
        if let Some(rest) = word.strip_suffix(ending)
            && rest.len() >= *least
            && !(*ending == "s" && rest.ends_with('s'))
        {
            return rest.to_owned();
        }
    }
    word.to_owned()
}

/// Returns the weight of each term of a page.
fn count_terms(address: &str, page: &PageContent) -> BTreeMap<String, f64> {
    let mut terms = BTreeMap::new();
    let mut add = |text: &str, weight: f64| {
        for word in split_words(text).iter().filter(|word| !STOP_WORDS.contains(&word.as_str())) {
            *terms.entry(stem(word)).or_default() += weight;
        }
    };
    let [title, keyword, heading, text] = WEIGHTS;
    add(&page.title, title);
    add(&page.keywords, keyword);
    add(address, heading);
    add(&plain_text(&page.summary), heading);
    add_blocks(&page.blocks, &mut add, heading, text);
    terms
}

fn add_blocks(blocks: &[Block], add: &mut dyn FnMut(&str, f64), heading: f64, text: f64) {
    for block in blocks {
        match block {
            Block::Heading { text: line, .. } => add(&plain_text(line), heading),
            Block::Paragraph(line) => add(&plain_text(line), text),
            Block::List { items, .. } => items.iter().for_each(|item| add_blocks(item, add, heading, text)),
            Block::Quote(inner) => add_blocks(inner, add, heading, text),
            Block::Code(code) => add(&code.text, text / 2.0),
            Block::Table { head, rows } => {
                head.iter().chain(rows.iter().flatten()).for_each(|cell| add(&plain_text(cell), text));
            }
            Block::Values(facts) => {
                facts.iter().flat_map(|fact| &fact.values).for_each(|value| add(&plain_text(value), text));
            }
            Block::Definitions(entries) => {
                for entry in entries {
                    add(&entry.name, text);
                    add(&plain_text(&entry.text), text / 2.0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guide::library::Page;
    use crate::guide::markdown::parse_page;

    fn library() -> Library {
        let page = |address: &str, text: &str| Page {
            address: address.to_owned(),
            content: parse_page(text, address),
        };
        Library::from_pages(vec![
            page("how-to/rename", "# Rename a resource\n\nWith `moved`.\n\n<!-- search: mv -->\n"),
            page("how-to/drift", "# Check for drift\n\nEvery night.\n\n## Rename\n\nNot here.\n"),
            page("reference/kinds/node_pool", "# node_pool\n\nNodes of a cluster.\n"),
        ])
    }

    fn find(query: &str) -> Vec<String> {
        let library = library();
        let hits = SearchIndex::new(&library).search(query);
        hits.into_iter().map(|hit| library.pages()[hit.page].name().to_owned()).collect()
    }

    #[test]
    fn the_best_page_is_first() {
        assert_eq!(find("how do I rename it"), ["rename", "drift"]);
        assert_eq!(find("renaming resources"), ["rename", "drift"]);
        assert_eq!(find("node pool"), ["node_pool"]);
        assert_eq!(find("node_pool"), ["node_pool"]);
        assert_eq!(find("clus"), ["node_pool"], "the beginning of a word is enough");
        assert_eq!(find("mv"), ["rename"]);
        assert!(find("zebra").is_empty() && find("").is_empty());
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for words in [
            &["rename", "renames", "renamed", "renaming"][..],
            &["policy", "policies"],
            &["migrate", "migration", "migrations", "migrating"],
            &["environment", "environments"],
            &["delete", "deletion", "deleted", "deletes"],
        ] {
            let stems: std::collections::BTreeSet<_> = words.iter().map(|word| stem(word)).collect();
            assert_eq!(stems.len(), 1, "{words:?}: {stems:?}");
        }
        assert_eq!(stem("s0201"), "s0201");
        assert_eq!(stem("access"), "access");
    }
}
