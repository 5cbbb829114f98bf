//! Blocks of a document as HTML. All text is escaped by the template.

use maud::{Markup, html};

use super::paths::page_path;
use crate::guide::document::{
    self, Block, CodeBlock, ConsoleLine, Definition, ExampleKind, Inline, Target,
};

/// Returns blocks as HTML. `root` is the path from the page to the root of the site: empty, or `../` for each folder.
pub(super) fn render_blocks(blocks: &[Block], root: &str) -> Markup {
    html! { @for block in blocks { (render_block(block, root)) } }
}

fn render_block(block: &Block, root: &str) -> Markup {
    html! {
        @match block {
            Block::Heading { level, text, anchor } => (render_heading(*level, text, anchor, root)),
            Block::Paragraph(text) => p { (render_inlines(text, root)) },
            Block::List { first: Some(first), items } => ol start=[(*first != 1).then_some(first)] {
                @for item in items { li { (render_item(item, root)) } }
            },
            Block::List { first: None, items } => ul {
                @for item in items { li { (render_item(item, root)) } }
            },
            Block::Quote(inner) => aside.note { (render_blocks(inner, root)) },
            Block::Code(code) => (render_code(code)),
            Block::Table { head, rows } => (render_table(head, rows, root)),
            Block::Values(values) => dl.facts {
                @for labeled in values {
                    dt { (labeled.label) }
                    @for value in &labeled.values { dd { (render_inlines(value, root)) } }
                }
            },
            Block::Definitions(entries) => dl.entries { @for entry in entries { (render_entry(entry, root)) } },
        }
    }
}

fn render_heading(level: u8, text: &[Inline], anchor: &str, root: &str) -> Markup {
    let text = render_inlines(text, root);
    html! {
        @match level {
            ..=2 => h2 id=(anchor) { a.anchor href={ "#" (anchor) } { (text) } },
            3 => h3 id=(anchor) { a.anchor href={ "#" (anchor) } { (text) } },
            _ => h4 id=(anchor) { a.anchor href={ "#" (anchor) } { (text) } },
        }
    }
}

/// Returns the blocks of a list's item; one paragraph alone is shown without space around it.
fn render_item(blocks: &[Block], root: &str) -> Markup {
    match blocks {
        [Block::Paragraph(text)] => render_inlines(text, root),
        [Block::Paragraph(text), rest @ ..]
            if !rest.iter().any(|block| matches!(block, Block::Paragraph(_))) =>
        {
            html! { (render_inlines(text, root)) (render_blocks(rest, root)) }
        }
        blocks => render_blocks(blocks, root),
    }
}

fn render_code(code: &CodeBlock) -> Markup {
    let class = match code.kind {
        ExampleKind::Plain => "code",
        ExampleKind::Accepted => "code right",
        ExampleKind::Rejected(_) => "code wrong",
    };
    let label = code
        .caption()
        .unwrap_or_else(|| if code.language == "console" { "Terminal".into() } else { "Example".into() });
    html! {
        figure class=(class) {
            @if let Some(caption) = code.caption() { figcaption { (caption) } }
            pre aria-label=(label) data-language=(code.language) { code { (render_lines(code)) } }
        }
    }
}

/// Returns the lines of a block; commands stand out from their output.
fn render_lines(code: &CodeBlock) -> Markup {
    let lines: Vec<(&str, &str)> = match code.language.as_str() {
        "console" => document::console_lines(&code.text)
            .map(|(kind, line)| (if kind == ConsoleLine::Command { "command" } else { "output" }, line))
            .collect(),
        "diff" => code.text.lines().map(|line| (diff_class(line), line)).collect(),
        _ => return html! { (code.text) },
    };
    html! {
        @for (at, (class, line)) in lines.iter().enumerate() {
            @if at > 0 { "\n" }
            span class=(class) { (line) }
        }
    }
}

fn diff_class(line: &str) -> &'static str {
    match line.get(..1) {
        Some("+") => "added",
        Some("-") => "removed",
        _ => "output",
    }
}

fn render_table(head: &[Vec<Inline>], rows: &[Vec<Vec<Inline>>], root: &str) -> Markup {
    let is_headless = head.iter().all(Vec::is_empty);
    html! {
        div.table {
            table {
                @if !is_headless {
                    thead { tr { @for cell in head {
                        @if cell.is_empty() { td {} } @else { th scope="col" { (render_inlines(cell, root)) } }
                    } } }
                }
                tbody {
                    @for row in rows {
                        tr { @for cell in row { td { (render_inlines(cell, root)) } } }
                    }
                }
            }
        }
    }
}

fn render_entry(entry: &Definition, root: &str) -> Markup {
    html! {
        dt {
            @match &entry.target {
                Some(target) => a href=(href(target, root)) { code { (entry.name) } },
                None => code { (entry.name) },
            }
        }
        dd { (render_inlines(&entry.text, root)) }
    }
}

/// Returns inlines as HTML.
pub(super) fn render_inlines(inlines: &[Inline], root: &str) -> Markup {
    html! {
        @for inline in inlines {
            @match inline {
                Inline::Text(text) => (text),
                Inline::Code(text) => code { (text) },
                Inline::Emphasis(inner) => em { (render_inlines(inner, root)) },
                Inline::Strong(inner) => strong { (render_inlines(inner, root)) },
                Inline::Faint(text) => span.faint { (text) },
                Inline::Notable(text) => span.notable { (text) },
                Inline::Link { target, text } => a href=(href(target, root)) { (render_inlines(text, root)) },
            }
        }
    }
}

/// Returns the address of a link, relative to the page.
pub(super) fn href(target: &Target, root: &str) -> String {
    match target {
        Target::Page { address, anchor } => {
            let anchor = anchor.as_ref().map(|anchor| format!("#{anchor}")).unwrap_or_default();
            if address.is_empty() {
                return anchor;
            }
            format!("{root}{}{anchor}", page_path(address))
        }
        Target::External(url) => url.clone(),
    }
}
