//! Writer of generated blocks as YAML.

use super::tree::{LineMarker, MarkedText, PrintedBlock, PrintedEntry, PrintedValue};
use crate::config::resolve::template::escape_literal;
use crate::config::syntax::quoting;

/// Maximum width in characters of a list on one line; a wider one is written with one item per line.
const MAX_LINE_WIDTH: usize = 90;

/// Returns the blocks as YAML; those with the same keyword are grouped below it.
pub(super) fn print_yaml_blocks(blocks: &[PrintedBlock]) -> MarkedText {
    let mut page = MarkedText::default();
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

fn print_yaml_entries(
    page: &mut MarkedText,
    depth: usize,
    name: &str,
    all: &[PrintedEntry],
    mark: LineMarker,
) {
    if all.is_empty() {
        page.push_line(depth, &format!("{}: {{}}", quote_key(name)), mark);
        return;
    }
    page.push_line(depth, &format!("{}:", quote_key(name)), mark);
    for entry in all {
        print_yaml_entry(page, depth + 1, entry);
    }
}

fn print_yaml_entry(page: &mut MarkedText, depth: usize, entry: &PrintedEntry) {
    let name = quote_key(&entry.key);
    match &entry.value {
        PrintedValue::Map(all) => print_yaml_entries(page, depth, &entry.key, all, entry.mark),
        PrintedValue::List(items) => {
            let flow: Vec<String> = items.iter().map(|item| print_yaml_scalar(item, true)).collect();
            let line = format!("{name}: [{}]", flow.join(", "));
            if depth * 2 + line.chars().count() <= MAX_LINE_WIDTH || items.is_empty() {
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

fn print_yaml_scalar(value: &PrintedValue, flow: bool) -> String {
    match value {
        PrintedValue::Text(written) => quoting::quote_yaml(&escape_literal(written), flow),
        PrintedValue::Reference(path) => quoting::quote_yaml(path, flow),
        PrintedValue::Number(number) => number.clone(),
        PrintedValue::Bool(yes) => yes.to_string(),
        PrintedValue::Null => "null".to_owned(),
        PrintedValue::List(items) => {
            let items: Vec<String> = items.iter().map(|item| print_yaml_scalar(item, true)).collect();
            format!("[{}]", items.join(", "))
        }
        PrintedValue::Map(all) => {
            let entry = |entry: &PrintedEntry| {
                format!("{}: {}", quote_key(&entry.key), print_yaml_scalar(&entry.value, true))
            };
            format!("{{ {} }}", all.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

fn quote_key(name: &str) -> String {
    quoting::quote_yaml(name, true)
}
