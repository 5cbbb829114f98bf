//! `Document`: the content of a page, apart from how it is shown. `markdown` and `explained` write documents, `terminal`
//! and `site` show them, and `search` indexes them. A document has no markup: text in it is plain, and each reader
//! escapes it for its own output.

/// The content of one page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Title of the page.
    pub title: String,
    /// What the page gives, as one or two sentences.
    pub summary: Vec<Inline>,
    /// Words that users search for and the page does not contain.
    pub keywords: String,
    /// The blocks below title and summary, in order.
    pub blocks: Vec<Block>,
}

/// A block of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// A heading; level 2 for a section.
    Heading {
        /// Level from 2 to 6; the title of the page is the only one of level 1.
        level: u8,
        /// Text of the heading.
        text: Vec<Inline>,
        /// Anchor for links, unique in the page.
        anchor: String,
    },
    /// A paragraph.
    Paragraph(Vec<Inline>),
    /// A list; each item has blocks of its own.
    List {
        /// Number of the first item; `None` for a list without numbers.
        first: Option<u64>,
        /// The items.
        items: Vec<Vec<Block>>,
    },
    /// Quoted blocks, as for a note.
    Quote(Vec<Block>),
    /// Text of a program or a terminal, shown as it is.
    Code(CodeBlock),
    /// A table with a row of headings.
    Table {
        /// Headings of the columns.
        head: Vec<Vec<Inline>>,
        /// The rows, each with one cell for each column.
        rows: Vec<Vec<Vec<Inline>>>,
    },
    /// Labeled values, such as `type`, `default`; a label may have several values.
    Facts(Vec<Fact>),
    /// Names with descriptions.
    Entries(Vec<Entry>),
}

/// Text that is shown as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeBlock {
    /// Language of the text; empty if it has none.
    pub language: String,
    /// File that has the text; `None` if it is of no file.
    pub file: Option<String>,
    /// The text, without a newline at the end.
    pub text: String,
    /// Whether the text is right, wrong or neither.
    pub verdict: Verdict,
}

/// Whether an example is one to follow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verdict {
    /// The text is neither: output, or a situation.
    #[default]
    Neutral,
    /// stead accepts the text.
    Right,
    /// stead rejects the text or warns about it.
    Wrong,
}

/// A labeled value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The label.
    pub label: &'static str,
    /// The values, at least one.
    pub values: Vec<Vec<Inline>>,
}

/// A name with its description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name: of an attribute, a keyword, a code.
    pub name: String,
    /// Page that explains the name; `None` if this entry is all there is.
    pub target: Option<Target>,
    /// Description of the name.
    pub text: Vec<Inline>,
}

/// A piece of text within a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inline {
    /// Plain text.
    Text(String),
    /// A name, command or value, as it is written.
    Code(String),
    /// Emphasized text.
    Emphasis(Vec<Inline>),
    /// Strongly emphasized text.
    Strong(Vec<Inline>),
    /// A remark of less weight than the text around it, such as a type.
    Faint(String),
    /// A remark that the reader must see, such as `required`.
    Notable(String),
    /// A link.
    Link {
        /// What the link leads to.
        target: Target,
        /// The text of the link.
        text: Vec<Inline>,
    },
}

/// What a link leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A page of the documentation.
    Page {
        /// Address of the page, such as `how-to/test-a-stack`.
        address: String,
        /// Anchor in the page; `None` for its beginning.
        anchor: Option<String>,
    },
    /// An address outside of the documentation.
    External(String),
}

impl Target {
    /// Returns the target of a page's address, with an anchor behind `#` if it has one.
    #[must_use]
    pub fn page(address: &str) -> Self {
        match address.split_once('#') {
            Some((address, anchor)) => {
                Self::Page { address: address.to_owned(), anchor: Some(anchor.to_owned()) }
            }
            None => Self::Page { address: address.to_owned(), anchor: None },
        }
    }
}

impl Inline {
    /// Returns plain text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Returns a name, command or value.
    #[must_use]
    pub fn code(text: impl Into<String>) -> Self {
        Self::Code(text.into())
    }

    /// Returns a link to a page, by its address.
    #[must_use]
    pub fn link(address: &str, text: impl Into<String>) -> Self {
        Self::Link { target: Target::page(address), text: vec![Self::Text(text.into())] }
    }
}

/// Returns a text of the program's own tables, in which names in backticks are code.
#[must_use]
pub fn parse_backticks(text: &str) -> Vec<Inline> {
    if !text.matches('`').count().is_multiple_of(2) {
        return vec![Inline::text(text)];
    }
    let parts = text.split('`').enumerate().filter(|(_, part)| !part.is_empty());
    parts.map(|(at, part)| if at % 2 == 0 { Inline::text(part) } else { Inline::code(part) }).collect()
}

/// Returns the text of inlines without its markup.
#[must_use]
pub fn plain_text(inlines: &[Inline]) -> String {
    let mut text = String::new();
    for inline in inlines {
        match inline {
            Inline::Text(part) | Inline::Code(part) | Inline::Faint(part) | Inline::Notable(part) => {
                text.push_str(part);
            }
            Inline::Emphasis(inner) | Inline::Strong(inner) | Inline::Link { text: inner, .. } => {
                text.push_str(&plain_text(inner));
            }
        }
    }
    text
}

/// Returns the anchor of a heading: its words in lower case, joined by dashes, as GitHub makes it.
#[must_use]
pub fn anchor_of(heading: &str) -> String {
    let legal = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    legal.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Calls a function for each inline of a document, also those inside of others.
pub fn visit_inlines<'d>(document: &'d Document, visit: &mut dyn FnMut(&'d Inline)) {
    visit_line(&document.summary, visit);
    visit_blocks(&document.blocks, visit);
}

fn visit_blocks<'d>(blocks: &'d [Block], visit: &mut dyn FnMut(&'d Inline)) {
    for block in blocks {
        match block {
            Block::Heading { text, .. } | Block::Paragraph(text) => visit_line(text, visit),
            Block::List { items, .. } => items.iter().for_each(|item| visit_blocks(item, visit)),
            Block::Quote(inner) => visit_blocks(inner, visit),
            Block::Code(_) => {}
            Block::Table { head, rows } => {
                head.iter().chain(rows.iter().flatten()).for_each(|cell| visit_line(cell, visit));
            }
            Block::Facts(facts) => {
                facts.iter().flat_map(|fact| &fact.values).for_each(|value| visit_line(value, visit));
            }
            Block::Entries(entries) => entries.iter().for_each(|entry| visit_line(&entry.text, visit)),
        }
    }
}

fn visit_line<'d>(line: &'d [Inline], visit: &mut dyn FnMut(&'d Inline)) {
    for inline in line {
        visit(inline);
        if let Inline::Emphasis(inner) | Inline::Strong(inner) | Inline::Link { text: inner, .. } = inline {
            visit_line(inner, visit);
        }
    }
}

/// Returns all targets to which a document links, those of entries included.
#[must_use]
pub fn link_targets(document: &Document) -> Vec<&Target> {
    let mut targets = Vec::new();
    visit_inlines(document, &mut |inline| {
        if let Inline::Link { target, .. } = inline {
            targets.push(target);
        }
    });
    collect_entry_targets(&document.blocks, &mut targets);
    targets
}

fn collect_entry_targets<'d>(blocks: &'d [Block], targets: &mut Vec<&'d Target>) {
    for block in blocks {
        match block {
            Block::Entries(entries) => {
                targets.extend(entries.iter().filter_map(|entry| entry.target.as_ref()))
            }
            Block::List { items, .. } => items.iter().for_each(|item| collect_entry_targets(item, targets)),
            Block::Quote(inner) => collect_entry_targets(inner, targets),
            Block::Heading { .. }
            | Block::Paragraph(_)
            | Block::Code(_)
            | Block::Table { .. }
            | Block::Facts(_) => {}
        }
    }
}

/// Returns the anchors of a document's headings.
pub fn anchors(document: &Document) -> impl Iterator<Item = &str> {
    document.blocks.iter().filter_map(|block| match block {
        Block::Heading { anchor, .. } => Some(anchor.as_str()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_those_of_github() {
        for (heading, anchor) in [
            ("See also", "see-also"),
            ("What `--yes` means, and what not", "what---yes-means-and-what-not"),
            ("PostgreSQL", "postgresql"),
            ("stead state migrate", "stead-state-migrate"),
            ("node_pools.max", "node_poolsmax"),
        ] {
            assert_eq!(anchor_of(heading), anchor);
        }
    }

    #[test]
    fn names_in_backticks_are_code() {
        assert_eq!(parse_backticks("a `b` c"), [Inline::text("a "), Inline::code("b"), Inline::text(" c")]);
        assert_eq!(parse_backticks("`b`"), [Inline::code("b")]);
        assert_eq!(parse_backticks("it's ` alone"), [Inline::text("it's ` alone")]);
        assert_eq!(plain_text(&parse_backticks("a `b`.")), "a b.");
    }
}
