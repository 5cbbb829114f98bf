//! Blocks as KDL, version 2.

use super::tree::{Block, Entry, Mark, Page, Printed};
use crate::config::resolve::template::literal;
use crate::config::syntax::quoting;

/// Writes blocks.
pub(super) fn blocks(blocks: &[Block]) -> Page {
    let mut page = Page::default();
    for block in blocks {
        let head = format!("{} {}", word(&block.word), word(&block.name));
        entries(&mut page, 0, &head, &block.entries, block.mark);
    }
    page
}

fn entries(page: &mut Page, depth: usize, head: &str, all: &[Entry], mark: Mark) {
    // A child `-` is an item of a list: a key of that name is a property.
    let (dashed, all): (Vec<&Entry>, Vec<&Entry>) =
        all.iter().partition(|entry| entry.key == "-" && is_scalar(&entry.value));
    let dashed = dashed.iter().map(|entry| format!(" \"-\"={}", scalar(&entry.value)));
    let head = std::iter::once(head.to_owned()).chain(dashed).collect::<String>();
    if all.is_empty() {
        page.line(depth, &head, mark);
        return;
    }
    page.line(depth, &format!("{head} {{"), mark);
    for entry in all {
        self::entry(page, depth + 1, entry);
    }
    page.line(depth, "}", mark);
}

fn entry(page: &mut Page, depth: usize, entry: &Entry) {
    let name = word(&entry.key);
    match &entry.value {
        Printed::Map(all) => entries(page, depth, &name, all, entry.mark),
        Printed::List(items)
            if items.iter().any(|item| matches!(item, Printed::Map(_) | Printed::List(_))) =>
        {
            page.line(depth, &format!("{name} {{"), entry.mark);
            for item in items {
                let item = Entry { key: "-".to_owned(), value: item.clone(), mark: entry.mark };
                self::entry(page, depth + 1, &item);
            }
            page.line(depth, "}", entry.mark);
        }
        Printed::List(items) => {
            let items = items.iter().map(|item| format!(" {}", scalar(item)));
            page.line(depth, &format!("{name}{}", items.collect::<String>()), entry.mark);
        }
        value => page.line(depth, &format!("{name} {}", scalar(value)), entry.mark),
    }
}

fn is_scalar(value: &Printed) -> bool {
    !matches!(value, Printed::List(_) | Printed::Map(_))
}

fn scalar(value: &Printed) -> String {
    match value {
        Printed::Text(text) => quoting::kdl(&literal(text)),
        Printed::Reference(path) => quoting::kdl(path),
        Printed::Number(number) => number.clone(),
        Printed::Bool(yes) => format!("#{yes}"),
        // Neither stands among arguments.
        Printed::Null | Printed::List(_) | Printed::Map(_) => "#null".to_owned(),
    }
}

fn word(text: &str) -> String {
    if text == "-" { text.to_owned() } else { quoting::kdl(text) }
}
