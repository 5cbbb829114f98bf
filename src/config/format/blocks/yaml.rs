//! Blocks as YAML.

use super::tree::{Block, Entry, Mark, Page, Printed};
use crate::config::resolve::template::literal;
use crate::config::syntax::quoting;

/// Columns beyond which a list is broken into lines.
const WIDEST: usize = 90;

/// Writes blocks; those of one word stand together.
pub(super) fn blocks(blocks: &[Block]) -> Page {
    let mut page = Page::default();
    let mut word = None;
    for block in blocks {
        if word != Some(&block.word) {
            page.line(0, &format!("{}:", key(&block.word)), block.mark);
            word = Some(&block.word);
        }
        entries(&mut page, 1, &block.name, &block.entries, block.mark);
    }
    page
}

fn entries(page: &mut Page, depth: usize, name: &str, all: &[Entry], mark: Mark) {
    if all.is_empty() {
        page.line(depth, &format!("{}: {{}}", key(name)), mark);
        return;
    }
    page.line(depth, &format!("{}:", key(name)), mark);
    for entry in all {
        self::entry(page, depth + 1, entry);
    }
}

fn entry(page: &mut Page, depth: usize, entry: &Entry) {
    let name = key(&entry.key);
    match &entry.value {
        Printed::Map(all) => entries(page, depth, &entry.key, all, entry.mark),
        Printed::List(items) => {
            let flow: Vec<String> = items.iter().map(|item| scalar(item, true)).collect();
            let line = format!("{name}: [{}]", flow.join(", "));
            if depth * 2 + line.chars().count() <= WIDEST || items.is_empty() {
                page.line(depth, &line, entry.mark);
                return;
            }
            page.line(depth, &format!("{name}:"), entry.mark);
            for item in items {
                page.line(depth + 1, &format!("- {}", scalar(item, false)), entry.mark);
            }
        }
        value => page.line(depth, &format!("{name}: {}", scalar(value, false)), entry.mark),
    }
}

fn scalar(value: &Printed, flow: bool) -> String {
    match value {
        Printed::Text(written) => quoting::yaml(&literal(written), flow),
        Printed::Reference(path) => quoting::yaml(path, flow),
        Printed::Number(number) => number.clone(),
        Printed::Bool(yes) => yes.to_string(),
        Printed::Null => "null".to_owned(),
        Printed::List(items) => {
            let items: Vec<String> = items.iter().map(|item| scalar(item, true)).collect();
            format!("[{}]", items.join(", "))
        }
        Printed::Map(all) => {
            let entry = |entry: &Entry| format!("{}: {}", key(&entry.key), scalar(&entry.value, true));
            format!("{{ {} }}", all.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

fn key(name: &str) -> String {
    quoting::yaml(name, true)
}
