//! Blocks as YAML.

use super::tree::{Block, Entry, Mark, Page, Printed};
use crate::config::resolve::template::escape_literal;
use crate::config::syntax::quoting;

/// Columns beyond which a list is broken into lines.
const WIDEST: usize = 90;

/// Writes blocks; those of one word stand together.
pub(super) fn print_yaml_blocks(blocks: &[Block]) -> Page {
    let mut page = Page::default();
    let mut word = None;
    for block in blocks {
        if word != Some(&block.word) {
            page.push_line(0, &format!("{}:", quote_key(&block.word)), block.mark);
            word = Some(&block.word);
        }
        print_yaml_entries(&mut page, 1, &block.name, &block.entries, block.mark);
    }
    page
}

fn print_yaml_entries(page: &mut Page, depth: usize, name: &str, all: &[Entry], mark: Mark) {
    if all.is_empty() {
        page.push_line(depth, &format!("{}: {{}}", quote_key(name)), mark);
        return;
    }
    page.push_line(depth, &format!("{}:", quote_key(name)), mark);
    for entry in all {
        print_yaml_entry(page, depth + 1, entry);
    }
}

fn print_yaml_entry(page: &mut Page, depth: usize, entry: &Entry) {
    let name = quote_key(&entry.key);
    match &entry.value {
        Printed::Map(all) => print_yaml_entries(page, depth, &entry.key, all, entry.mark),
        Printed::List(items) => {
            let flow: Vec<String> = items.iter().map(|item| print_yaml_scalar(item, true)).collect();
            let line = format!("{name}: [{}]", flow.join(", "));
            if depth * 2 + line.chars().count() <= WIDEST || items.is_empty() {
                page.push_line(depth, &line, entry.mark);
                return;
            }
            page.push_line(depth, &format!("{name}:"), entry.mark);
            for item in items {
                page.push_line(depth + 1, &format!("- {}", print_yaml_scalar(item, false)), entry.mark);
            }
        }
        value => page.push_line(depth, &format!("{name}: {}", print_yaml_scalar(value, false)), entry.mark),
    }
}

fn print_yaml_scalar(value: &Printed, flow: bool) -> String {
    match value {
        Printed::Text(written) => quoting::quote_yaml(&escape_literal(written), flow),
        Printed::Reference(path) => quoting::quote_yaml(path, flow),
        Printed::Number(number) => number.clone(),
        Printed::Bool(yes) => yes.to_string(),
        Printed::Null => "null".to_owned(),
        Printed::List(items) => {
            let items: Vec<String> = items.iter().map(|item| print_yaml_scalar(item, true)).collect();
            format!("[{}]", items.join(", "))
        }
        Printed::Map(all) => {
            let entry = |entry: &Entry| {
                format!("{}: {}", quote_key(&entry.key), print_yaml_scalar(&entry.value, true))
            };
            format!("{{ {} }}", all.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

fn quote_key(name: &str) -> String {
    quoting::quote_yaml(name, true)
}
