//! `PageContent`: the content of a page, apart from how it is shown. `markdown` and `explained` write documents, `terminal`
//! and `site` show them, and `search` indexes them. A document has no markup: text in it is plain, and each reader
//! escapes it for its own output.

use std::collections::BTreeMap;

/// The content of one page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageContent {
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
    /// A paragraph of running text.
    Paragraph(Vec<Inline>),
    /// A list; each item has blocks of its own.
    List {
        /// Number of the first item; `None` for a list without numbers.
        first: Option<u64>,
        /// The items, each with its own blocks.
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
    Values(Vec<LabeledValue>),
    /// Names, each with its description.
    Definitions(Vec<Definition>),
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
    /// Whether the text is an example to follow.
    pub kind: ExampleKind,
}

/// Whether stead accepts the text of a block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ExampleKind {
    /// The text is no example of either: output, or a situation.
    #[default]
    Plain,
    /// stead accepts the text.
    Accepted,
    /// stead rejects the text or warns about it; with the code of its diagnostic where the page does not name it.
    Rejected(Option<String>),
}

/// What a line of a terminal session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsoleLine {
    /// A command, or the continuation of one.
    Command,
    /// What a command printed.
    Output,
}

/// Returns the lines of a terminal session. A command begins with `$ `, and continues on the lines directly below that
/// begin with `> `.
pub fn console_lines(session: &str) -> impl Iterator<Item = (ConsoleLine, &str)> {
    let mut is_command = false;
    session.lines().map(move |line| {
        is_command = line.starts_with("$ ") || (is_command && line.starts_with("> "));
        (if is_command { ConsoleLine::Command } else { ConsoleLine::Output }, line)
    })
}

/// Values with a label, such as a type or a price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabeledValue {
    /// Label in front of the first value.
    pub label: &'static str,
    /// The values, at least one.
    pub values: Vec<Vec<Inline>>,
}

/// A name with its description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
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
    /// Text without any markup.
    Text(String),
    /// A name, command or value, as it is written.
    Code(String),
    /// Text with light emphasis.
    Emphasis(Vec<Inline>),
    /// Text with strong emphasis.
    Strong(Vec<Inline>),
    /// A remark of less weight than the text around it, such as a type.
    Faint(String),
    /// A remark that the reader must see, such as `required`.
    Notable(String),
    /// A link to another page or place.
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
        /// Address of the page, such as `how-to/test-a-stack`; empty for the page that has the link.
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

impl CodeBlock {
    /// Returns what stands above the block: its file, or that stead rejects it; `None` if there is nothing to say.
    #[must_use]
    pub fn caption(&self) -> Option<String> {
        match (&self.file, &self.kind) {
            (Some(file), _) => Some(file.clone()),
            (None, ExampleKind::Rejected(Some(code))) => Some(format!("Rejected ({code})")),
            (None, _) => None,
        }
    }
}

impl Block {
    /// Returns a heading with an anchor made of its text.
    #[must_use]
    pub fn heading(level: u8, text: &str) -> Self {
        Self::Heading { level, text: vec![Inline::text(text)], anchor: anchor_of(text) }
    }

    /// Returns a paragraph, in which names in backticks are code.
    #[must_use]
    pub fn paragraph(text: &str) -> Self {
        Self::Paragraph(parse_backticks(text))
    }

    /// Returns a block of code of no file.
    #[must_use]
    pub fn code(language: &str, text: impl Into<String>, kind: ExampleKind) -> Self {
        Self::Code(CodeBlock { language: language.to_owned(), file: None, text: text.into(), kind })
    }
}

impl Definition {
    /// Returns a name with its description, which has names in backticks.
    #[must_use]
    pub fn new(name: impl Into<String>, text: &str) -> Self {
        Self { name: name.into(), target: None, text: parse_backticks(text) }
    }

    /// Returns a name that leads to the page of an address.
    #[must_use]
    pub fn linked(name: impl Into<String>, address: &str, text: &str) -> Self {
        Self { target: Some(Target::page(address)), ..Self::new(name, text) }
    }
}

impl Inline {
    /// Returns text without any markup.
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
pub fn visit_inlines<'d>(document: &'d PageContent, visit: &mut dyn FnMut(&'d Inline)) {
    visit_line(&document.summary, visit);
    visit_blocks(&document.blocks, &mut |block| {
        for line in lines_of(block) {
            visit_line(line, visit);
        }
    });
}

/// Calls a function for each block, also those inside of others.
fn visit_blocks<'d>(blocks: &'d [Block], visit: &mut dyn FnMut(&'d Block)) {
    for block in blocks {
        visit(block);
        match block {
            Block::List { items, .. } => items.iter().for_each(|item| visit_blocks(item, visit)),
            Block::Quote(inner) => visit_blocks(inner, visit),
            _ => {}
        }
    }
}

/// Returns the lines of text that a block has itself, not those of blocks inside of it.
fn lines_of(block: &Block) -> Vec<&[Inline]> {
    match block {
        Block::Heading { text, .. } | Block::Paragraph(text) => vec![text],
        Block::Table { head, rows } => {
            head.iter().chain(rows.iter().flatten()).map(Vec::as_slice).collect()
        }
        Block::Values(values) => values.iter().flat_map(|value| &value.values).map(Vec::as_slice).collect(),
        Block::Definitions(entries) => entries.iter().map(|entry| entry.text.as_slice()).collect(),
        Block::List { .. } | Block::Quote(_) | Block::Code(_) => Vec::new(),
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

/// Returns all targets to which a document links, those of definitions included.
#[must_use]
pub fn link_targets(document: &PageContent) -> Vec<&Target> {
    let mut targets = Vec::new();
    visit_inlines(document, &mut |inline| {
        if let Inline::Link { target, .. } = inline {
            targets.push(target);
        }
    });
    visit_blocks(&document.blocks, &mut |block| {
        if let Block::Definitions(entries) = block {
            targets.extend(entries.iter().filter_map(|entry| entry.target.as_ref()));
        }
    });
    targets
}

/// Returns the part of a document below one heading, as a document; `None` without such a heading.
#[must_use]
pub fn section_at(document: &PageContent, anchor: &str) -> Option<PageContent> {
    let level_of = |block: &Block| match block {
        Block::Heading { level, .. } => Some(*level),
        _ => None,
    };
    let is_wanted =
        |block: &Block| matches!(block, Block::Heading { anchor: known, .. } if known == anchor);
    let start = document.blocks.iter().position(is_wanted)?;
    let (heading, below) = document.blocks[start..].split_first()?;
    let level = level_of(heading)?;
    let end = below.iter().position(|block| level_of(block).is_some_and(|other| other <= level));
    let Block::Heading { text, .. } = heading else { return None };
    Some(PageContent {
        title: format!("{}: {}", document.title, plain_text(text)),
        summary: document.summary.clone(),
        keywords: String::new(),
        blocks: below[..end.unwrap_or(below.len())].to_vec(),
    })
}

/// Gives a repeated anchor a number, `text-1`, as GitHub does: an anchor is unique in its page.
pub fn number_repeated_anchors(blocks: &mut [Block]) {
    let mut seen = BTreeMap::new();
    for block in blocks {
        if let Block::Heading { anchor, .. } = block {
            let count: &mut usize = seen.entry(anchor.clone()).or_default();
            if *count > 0 {
                *anchor = format!("{anchor}-{count}");
            }
            *count += 1;
        }
    }
}

/// Returns the anchors of a document's headings.
pub fn anchors(document: &PageContent) -> impl Iterator<Item = &str> {
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

    #[test]
    fn only_a_line_below_a_command_continues_it() {
        let session = "$ stead plan \\\n>   -v\nvpc\n> quoted\n$vpc.main\n$ ls";
        let commands: Vec<_> = console_lines(session)
            .filter(|(kind, _)| *kind == ConsoleLine::Command)
            .map(|(_, line)| line)
            .collect();
        assert_eq!(commands, ["$ stead plan \\", ">   -v", "$ ls"]);
    }

    #[test]
    fn a_section_ends_at_the_next_heading_of_its_level() {
        let page = PageContent {
            title: "t".into(),
            blocks: vec![
                Block::heading(2, "a"),
                Block::paragraph("1"),
                Block::heading(3, "b"),
                Block::paragraph("2"),
                Block::heading(2, "c"),
            ],
            ..PageContent::default()
        };
        let section = section_at(&page, "a").unwrap();
        assert_eq!((section.title.as_str(), section.blocks.len()), ("t: a", 3));
        assert_eq!(section_at(&page, "b").unwrap().blocks, [Block::paragraph("2")]);
        assert!(section_at(&page, "d").is_none());
    }
}
