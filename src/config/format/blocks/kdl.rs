//! Writer of generated blocks as KDL, version 2.

use super::tree::{LineMarker, MarkedText, PrintedBlock, PrintedEntry, PrintedValue};
use crate::config::resolve::template::escape_literal;
use crate::config::syntax::quoting;

/// Returns the blocks as KDL, grouped by keyword.
pub(super) fn print_kdl_blocks(blocks: &[PrintedBlock]) -> MarkedText {
    let mut page = MarkedText::default();
    for block in blocks {
        let head = format!("{} {}", quote_node_name(&block.word), quote_node_name(&block.name));
        print_kdl_entries(&mut page, 0, &head, &block.entries, block.mark);
    }
    page
}

fn print_kdl_entries(
    page: &mut MarkedText,
    depth: usize,
    head: &str,
    all: &[PrintedEntry],
    mark: LineMarker,
) {
    // A child named `-` is a list item, so a map entry with that key must be a property.
    let (dashed, all): (Vec<&PrintedEntry>, Vec<&PrintedEntry>) =
        all.iter().partition(|entry| entry.key == "-" && is_scalar(&entry.value));
    let dashed = dashed.iter().map(|entry| format!(" \"-\"={}", print_kdl_scalar(&entry.value)));
    let head = std::iter::once(head.to_owned()).chain(dashed).collect::<String>();
    if all.is_empty() {
        page.push_line(depth, &head, mark);
        return;
    }
    page.push_line(depth, &format!("{head} {{"), mark);
    for entry in all {
        print_kdl_entry(page, depth + 1, entry);
    }
    page.push_line(depth, "}", mark);
}

fn print_kdl_entry(page: &mut MarkedText, depth: usize, entry: &PrintedEntry) {
    let name = quote_node_name(&entry.key);
    match &entry.value {
        PrintedValue::Map(all) => print_kdl_entries(page, depth, &name, all, entry.mark),
        PrintedValue::List(items)
            if items.iter().any(|item| matches!(item, PrintedValue::Map(_) | PrintedValue::List(_))) =>
        {
            page.push_line(depth, &format!("{name} {{"), entry.mark);
            for item in items {
                let item = PrintedEntry { key: "-".to_owned(), value: item.clone(), mark: entry.mark };
                print_kdl_entry(page, depth + 1, &item);
            }
            page.push_line(depth, "}", entry.mark);
        }
        PrintedValue::List(items) => {
            let items = items.iter().map(|item| format!(" {}", print_kdl_scalar(item)));
            page.push_line(depth, &format!("{name}{}", items.collect::<String>()), entry.mark);
        }
        value => page.push_line(depth, &format!("{name} {}", print_kdl_scalar(value)), entry.mark),
    }
}

fn is_scalar(value: &PrintedValue) -> bool {
    !matches!(value, PrintedValue::List(_) | PrintedValue::Map(_))
}

fn print_kdl_scalar(value: &PrintedValue) -> String {
    match value {
        PrintedValue::Text(text) => quoting::quote_kdl(&escape_literal(text)),
        PrintedValue::Reference(path) => quoting::quote_kdl(path),
        PrintedValue::Number(number) => number.clone(),
        PrintedValue::Bool(yes) => format!("#{yes}"),
        // Neither a list nor a map is possible among arguments.
        PrintedValue::Null | PrintedValue::List(_) | PrintedValue::Map(_) => "#null".to_owned(),
    }
}

fn quote_node_name(text: &str) -> String {
    if text == "-" { text.to_owned() } else { quoting::quote_kdl(text) }
}
