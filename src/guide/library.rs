//! `Library`: all pages of the documentation, by address. Invariant, which a test checks for the program's own pages:
//! addresses are unique, each link leads to a page and an anchor, and each page is linked from another one.

use std::collections::{BTreeMap, BTreeSet};

use super::document::{self, PageContent, Target};
use super::markdown;
use super::written;

/// A page of the documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Address without an ending, such as `how-to/test-a-stack`; it stays the same for good.
    pub address: String,
    /// Title, summary and blocks of the page.
    pub content: PageContent,
}

impl Page {
    /// Returns a page that derives from tables of the program.
    #[must_use]
    pub fn derived(address: &str, content: PageContent) -> Self {
        Self { address: address.to_owned(), content }
    }

    /// Returns the section of the page.
    #[must_use]
    pub fn section(&self) -> Section {
        let first = self.address.split('/').next().unwrap_or_default();
        Section::ALL.into_iter().find(|section| section.folder() == first).unwrap_or(Section::Home)
    }

    /// Returns the last part of the address, by which the page can be named.
    #[must_use]
    pub fn name(&self) -> &str {
        self.address.rsplit('/').next().unwrap_or_default()
    }
}

/// A section of the documentation: one kind of page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// The page with which a reader begins.
    Home,
    /// Lessons, each along one path.
    Tutorials,
    /// Steps to a goal.
    HowTo,
    /// How it works, and why.
    Explanation,
    /// For users of other tools.
    ComingFrom,
    /// What there is, derived from tables.
    Reference,
}

impl Section {
    /// All sections, in the order of the navigation.
    pub const ALL: [Self; 6] =
        [Self::Home, Self::Tutorials, Self::HowTo, Self::Explanation, Self::ComingFrom, Self::Reference];

    /// Returns the folder of the section's pages; the first page is in none.
    #[must_use]
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Home => "index",
            Self::Tutorials => "tutorials",
            Self::HowTo => "how-to",
            Self::Explanation => "explanation",
            Self::ComingFrom => "coming-from",
            Self::Reference => "reference",
        }
    }

    /// Returns the title of the section.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Home => "Start",
            Self::Tutorials => "Tutorials",
            Self::HowTo => "How-to guides",
            Self::Explanation => "Explanation",
            Self::ComingFrom => "Coming from other tools",
            Self::Reference => "Reference",
        }
    }
}

/// All pages of the documentation.
#[derive(Debug, Clone)]
pub struct Library {
    pages: Vec<Page>,
    by_address: BTreeMap<String, usize>,
}

impl Library {
    /// Returns the written pages together with derived ones, in the order of the navigation.
    #[must_use]
    pub fn new(derived: Vec<Page>) -> Self {
        let written = written::ADDRESSES.iter().map(|address| Page {
            address: (*address).to_owned(),
            content: markdown::parse_page(written::text(address), address),
        });
        Self::from_pages(written.chain(derived).collect())
    }

    /// Returns a library of these pages; of pages with one address, it finds the last.
    #[must_use]
    pub fn from_pages(mut pages: Vec<Page>) -> Self {
        pages.sort_by_key(Page::section);
        let by_address = pages.iter().enumerate().map(|(at, page)| (page.address.clone(), at)).collect();
        Self { pages, by_address }
    }

    /// Returns all pages, by section.
    #[must_use]
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// Returns the page of an address.
    #[must_use]
    pub fn page(&self, address: &str) -> Option<&Page> {
        self.by_address.get(address).map(|at| &self.pages[*at])
    }

    /// Returns the pages of a section that its list names: those of the reference that an index lists are left to it.
    pub fn listed_pages(&self, section: Section) -> impl Iterator<Item = &Page> {
        self.pages.iter().filter(move |page| page.section() == section && !self.is_in_an_index(page))
    }

    fn is_in_an_index(&self, page: &Page) -> bool {
        let folder = page.address.rsplit_once('/').map_or("", |(folder, _)| folder);
        page.name() != "index" && self.page(&format!("{folder}/index")).is_some()
    }

    /// Returns the pages that a topic names: by address, else by the last part of it, written pages first. An ending and a
    /// slash at the beginning are ignored, and a folder names its index.
    #[must_use]
    pub fn find_topic(&self, topic: &str) -> Vec<&Page> {
        let topic =
            topic.trim_matches('/').trim_end_matches(".html").trim_end_matches(".md").to_lowercase();
        let is_named = |page: &&Page, name: &str| page.address.to_lowercase() == name;
        let index = format!("{topic}/index");
        let whole = self.pages.iter().find(|page| is_named(page, &topic) || is_named(page, &index));
        if let Some(page) = whole {
            return vec![page];
        }
        self.pages.iter().filter(|page| page.name().to_lowercase() == topic && topic != "index").collect()
    }

    /// Returns what is wrong with the pages: an address twice, a dead link, a page that nothing links. Empty for the
    /// program's own pages.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut linked: BTreeSet<&str> = BTreeSet::new();
        for page in &self.pages {
            if self.page(&page.address) != Some(page) {
                problems.push(format!("{}: two pages have this address", page.address));
            }
            if page.content.title.is_empty() || page.content.summary.is_empty() {
                problems.push(format!("{}: a page begins with a title and a paragraph", page.address));
            }
            for target in document::link_targets(&page.content) {
                let Target::Page { address, anchor } = target else { continue };
                let address = if address.is_empty() { &page.address } else { address };
                match self.page(address) {
                    None => problems.push(format!("{}: no page {address}", page.address)),
                    Some(to) if anchor.as_deref().is_some_and(|anchor| !has_anchor(to, anchor)) => {
                        let anchor = anchor.as_deref().unwrap_or_default();
                        problems.push(format!("{}: {address} has no anchor {anchor}", page.address));
                    }
                    Some(to) if to.address != page.address => drop(linked.insert(&to.address)),
                    Some(_) => {}
                }
            }
        }
        let is_orphan = |page: &&Page| page.address != "index" && !linked.contains(page.address.as_str());
        let orphans = self.pages.iter().filter(is_orphan);
        problems.extend(orphans.map(|page| format!("{}: nothing links this page", page.address)));
        problems
    }
}

fn has_anchor(page: &Page, anchor: &str) -> bool {
    document::anchors(&page.content).any(|known| known == anchor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(address: &str, text: &str) -> Page {
        Page { address: address.to_owned(), content: markdown::parse_page(text, address) }
    }

    #[test]
    fn problems_name_dead_links_orphans_and_repeated_addresses() {
        let library = Library::from_pages(vec![
            page("index", "# A\n\nS.\n\n[b](how-to/b.md) [c](how-to/c.md) [d](how-to/b.md#no)\n"),
            page("how-to/b", "# B\n\nS.\n\n## Yes\n\n[a](#yes)\n"),
            page("how-to/e", "# E\n\nS.\n"),
            page("how-to/b", "# B\n\n"),
        ]);
        assert_eq!(
            library.problems(),
            [
                "index: no page how-to/c",
                "index: how-to/b has no anchor no",
                "how-to/b: two pages have this address",
                "how-to/b: how-to/b has no anchor yes",
                "how-to/b: a page begins with a title and a paragraph",
                "how-to/e: nothing links this page",
            ]
        );
    }

    #[test]
    fn a_topic_is_an_address_or_its_last_part() {
        let library = Library::from_pages(vec![
            page("reference/commands/plan", "# stead plan\n\nS.\n"),
            page("reference/documents/plan", "# plan\n\nS.\n"),
            page("reference/documents/index", "# Documents\n\nS.\n"),
            page("how-to/test-a-stack", "# Test\n\nS.\n"),
        ]);
        let find =
            |topic| library.find_topic(topic).iter().map(|page| page.address.as_str()).collect::<Vec<_>>();
        assert_eq!(find("test-a-stack"), ["how-to/test-a-stack"]);
        assert_eq!(find("/How-To/Test-a-Stack.html"), ["how-to/test-a-stack"]);
        assert_eq!(find("plan"), ["reference/commands/plan", "reference/documents/plan"]);
        assert_eq!(find("reference/documents"), ["reference/documents/index"]);
        assert!(find("nothing").is_empty() && find("index").is_empty());
    }
}
