//! Converts printed blocks to the literals that an edit writes.

use crate::config::edit::ConfigLiteral;
use crate::config::format::blocks::{PrintedBlock, PrintedEntry, PrintedValue};
use crate::model::address::Name;

/// Returns a block's body as a literal for an edit.
pub(super) fn block_literal(block: &PrintedBlock) -> ConfigLiteral {
    ConfigLiteral::Map(block.entries.iter().map(entry_literal).collect())
}

pub(super) fn entry_literal(entry: &PrintedEntry) -> (Name, ConfigLiteral) {
    (entry.key.as_str().into(), value_literal(&entry.value))
}

/// Converts a value. A `$` in a string is doubled, because a single one begins a reference.
fn value_literal(printed: &PrintedValue) -> ConfigLiteral {
    match printed {
        PrintedValue::Text(text) => ConfigLiteral::text(text.replace('$', "$$")),
        PrintedValue::Reference(path) => ConfigLiteral::text(path.as_str()),
        PrintedValue::Number(number) => ConfigLiteral::Number(number.as_str().into()),
        PrintedValue::Bool(yes) => ConfigLiteral::Boolean(*yes),
        PrintedValue::Null => ConfigLiteral::Null,
        PrintedValue::List(items) => ConfigLiteral::List(items.iter().map(value_literal).collect()),
        PrintedValue::Map(entries) => ConfigLiteral::Map(entries.iter().map(entry_literal).collect()),
    }
}
