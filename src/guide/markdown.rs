//! CommonMark with tables to `PageContent`. In: the text of a page and its address, against which relative links are
//! resolved. Out: the document. HTML is not supported; comments are left out, but `search:` gives the keywords.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::document::{self, Block, CodeBlock, ExampleKind, Inline, PageContent, Target};

/// Reads a page. Its first heading is the title, its first paragraph the summary.
#[must_use]
pub fn parse_page(text: &str, address: &str) -> PageContent {
    let mut reader =
        Reader { address, events: Parser::new_ext(text, Options::ENABLE_TABLES), keywords: String::new() };
    let mut blocks = reader.read_blocks(None).into_iter().peekable();
    let mut page = PageContent::default();
    if let Some(Block::Heading { level: 1, text, .. }) = blocks.peek() {
        page.title = document::plain_text(text);
        blocks.next();
    }
    if let Some(Block::Paragraph(text)) = blocks.peek() {
        page.summary.clone_from(text);
        blocks.next();
    }
    page.blocks = blocks.collect();
    document::number_repeated_anchors(&mut page.blocks);
    page.keywords = reader.keywords;
    page
}

/// Reads blocks until their container ends.
struct Reader<'t> {
    address: &'t str,
    events: Parser<'t>,
    keywords: String,
}

impl Reader<'_> {
    /// Reads blocks until the end of their container; `None` reads to the end of the page. Text without a paragraph,
    /// as in the items of a tight list, is a paragraph.
    fn read_blocks(&mut self, end: Option<TagEnd>) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut loose: Vec<Inline> = Vec::new();
        while let Some(event) = self.events.next() {
            if let Event::End(found) = event
                && Some(found) == end
            {
                break;
            }
            let Event::Start(tag) = event else {
                push_inline(&mut loose, event);
                continue;
            };
            if let Some(inline) = self.read_span(&tag) {
                loose.push(inline);
                continue;
            }
            push_paragraph(&mut blocks, &mut loose);
            blocks.extend(self.read_block(tag));
        }
        push_paragraph(&mut blocks, &mut loose);
        blocks
    }

    fn read_block(&mut self, tag: Tag<'_>) -> Option<Block> {
        let end = tag.to_end();
        Some(match tag {
            Tag::Heading { level, .. } => {
                let text = self.read_inlines(end);
                let anchor = document::anchor_of(&document::plain_text(&text));
                Block::Heading { level: heading_level(level), text, anchor }
            }
            Tag::Paragraph => Block::Paragraph(self.read_inlines(end)),
            Tag::BlockQuote(_) => Block::Quote(self.read_blocks(Some(end))),
            Tag::List(first) => Block::List { first, items: self.read_items(end) },
            Tag::CodeBlock(kind) => Block::Code(self.read_code(&kind)),
            Tag::Table(_) => self.read_table(),
            Tag::HtmlBlock => {
                self.read_comment();
                return None;
            }
            _ => return None,
        })
    }

    fn read_items(&mut self, end: TagEnd) -> Vec<Vec<Block>> {
        let mut items = Vec::new();
        while let Some(event) = self.events.next() {
            match event {
                Event::Start(Tag::Item) => items.push(self.read_blocks(Some(TagEnd::Item))),
                Event::End(found) if found == end => break,
                _ => {}
            }
        }
        items
    }

    fn read_code(&mut self, kind: &CodeBlockKind<'_>) -> CodeBlock {
        let info = match kind {
            CodeBlockKind::Fenced(info) => info.as_ref(),
            CodeBlockKind::Indented => "",
        };
        let mut words = info.split_whitespace();
        let language = words.next().unwrap_or_default().to_owned();
        // The other words are for the tests.
        let words: Vec<&str> = words.collect();
        let file = words.iter().find_map(|word| word.strip_prefix("file=")).map(str::to_owned);
        let wrong = words.iter().find_map(|word| word.strip_prefix("wrong=")).map(str::to_owned);
        let mut text = String::new();
        for event in self.events.by_ref() {
            match event {
                Event::Text(part) => text.push_str(&part),
                Event::End(TagEnd::CodeBlock) => break,
                _ => {}
            }
        }
        text.truncate(text.trim_end().len());
        let kind = wrong.map_or(ExampleKind::Plain, |code| ExampleKind::Rejected(Some(code)));
        CodeBlock { language, file, text, kind }
    }

    fn read_table(&mut self) -> Block {
        let (mut head, mut rows) = (Vec::new(), Vec::new());
        let mut row = Vec::new();
        while let Some(event) = self.events.next() {
            match event {
                Event::Start(Tag::TableCell) => row.push(self.read_inlines(TagEnd::TableCell)),
                Event::End(TagEnd::TableHead) => head = std::mem::take(&mut row),
                Event::End(TagEnd::TableRow) => rows.push(std::mem::take(&mut row)),
                Event::End(TagEnd::Table) => break,
                _ => {}
            }
        }
        Block::Table { head, rows }
    }

    fn read_comment(&mut self) {
        let mut text = String::new();
        for event in self.events.by_ref() {
            match event {
                Event::Html(part) => text.push_str(&part),
                Event::End(TagEnd::HtmlBlock) => break,
                _ => {}
            }
        }
        let inside = text.trim().strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->"));
        if let Some(keywords) = inside.and_then(|inside| inside.trim().strip_prefix("search:")) {
            self.keywords = keywords.split_whitespace().collect::<Vec<_>>().join(" ");
        }
    }

    fn read_inlines(&mut self, end: TagEnd) -> Vec<Inline> {
        let mut inlines = Vec::new();
        while let Some(event) = self.events.next() {
            match event {
                Event::End(found) if found == end => break,
                Event::Start(tag) => inlines.extend(self.read_span(&tag)),
                event => push_inline(&mut inlines, event),
            }
        }
        inlines
    }

    /// Reads an inline with text inside; `None` if the tag begins a block.
    fn read_span(&mut self, tag: &Tag<'_>) -> Option<Inline> {
        Some(match tag {
            Tag::Emphasis => Inline::Emphasis(self.read_inlines(TagEnd::Emphasis)),
            Tag::Strong => Inline::Strong(self.read_inlines(TagEnd::Strong)),
            Tag::Link { dest_url, .. } => {
                let target = resolve_link(self.address, dest_url);
                Inline::Link { target, text: self.read_inlines(TagEnd::Link) }
            }
            _ => return None,
        })
    }
}

fn push_inline(inlines: &mut Vec<Inline>, event: Event<'_>) {
    let text = match event {
        Event::Text(text) => text.into_string(),
        Event::Code(code) => {
            inlines.push(Inline::Code(code.into_string()));
            return;
        }
        Event::SoftBreak | Event::HardBreak => " ".to_owned(),
        _ => return,
    };
    match inlines.last_mut() {
        Some(Inline::Text(before)) => before.push_str(&text),
        _ => inlines.push(Inline::Text(text)),
    }
}

fn push_paragraph(blocks: &mut Vec<Block>, loose: &mut Vec<Inline>) {
    if !loose.is_empty() {
        blocks.push(Block::Paragraph(std::mem::take(loose)));
    }
}

const fn heading_level(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// Resolves a link of a page: `../how-to/x.md#y`, `#y`, or an address of the web.
fn resolve_link(address: &str, link: &str) -> Target {
    if link.contains("://") || link.starts_with("mailto:") {
        return Target::External(link.to_owned());
    }
    let (path, anchor) = match link.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor.to_owned())),
        None => (link, None),
    };
    if path.is_empty() {
        return Target::Page { address: address.to_owned(), anchor };
    }
    let mut parts: Vec<&str> = address.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches(".md").split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Target::Page { address: parts.join("/"), anchor }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_title_summary_keywords_and_blocks() {
        let page = parse_page(
            "# Test a *stack*\n\nHow to `test`.\n\n<!-- search: unit\ncheck -->\n\n## Run it\n\n- one\n- two [x](../a/b.md#c)\n\n\
             ```yaml file=stead.yaml\na: 1\n```\n\n| a | b |\n|---|---|\n| 1 | **2** |\n",
            "how-to/test",
        );
        assert_eq!((page.title.as_str(), page.keywords.as_str()), ("Test a stack", "unit check"));
        assert_eq!(page.summary, [Inline::text("How to "), Inline::code("test"), Inline::text(".")]);
        assert_eq!(document::anchors(&page).collect::<Vec<_>>(), ["run-it"]);
        let [_, Block::List { first: None, items }, Block::Code(code), Block::Table { head, rows }] =
            &page.blocks[..]
        else {
            panic!("{:?}", page.blocks);
        };
        assert_eq!(items.len(), 2);
        assert_eq!((code.file.as_deref(), code.text.as_str()), (Some("stead.yaml"), "a: 1"));
        assert_eq!((head.len(), rows.len()), (2, 1));
        assert_eq!(document::link_targets(&page), [&Target::page("a/b#c")]);
    }

    #[test]
    fn links_are_relative_to_their_page() {
        for (from, link, target) in [
            ("how-to/x", "y.md", "how-to/y"),
            ("how-to/x", "../reference/kinds/vm.md#plan", "reference/kinds/vm#plan"),
            ("index", "how-to/x.md", "how-to/x"),
            ("how-to/x", "#below", "how-to/x#below"),
        ] {
            assert_eq!(resolve_link(from, link), Target::page(target));
        }
        assert_eq!(resolve_link("a/b", "https://cel.dev"), Target::External("https://cel.dev".to_owned()));
    }

    #[test]
    fn a_list_keeps_its_nested_blocks() {
        let page = parse_page("# T\n\nS.\n\n1. one\n\n   more\n2. two\n   - inner\n", "index");
        let [Block::List { first: Some(1), items }] = &page.blocks[..] else { panic!("{:?}", page.blocks) };
        assert_eq!(items[0].len(), 2);
        assert!(matches!(&items[1][..], [Block::Paragraph(_), Block::List { .. }]), "{items:?}");
    }
}
