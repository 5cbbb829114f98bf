//! Printed blocks as the literals that an edit writes.

use crate::config::edit::Literal;
use crate::config::format::blocks::{Block, Entry as PrintedEntry, Printed};
use crate::model::address::Name;

/// Returns a block's body as an edit writes it.
pub(super) fn block_literal(block: &Block) -> Literal {
    Literal::Map(block.entries.iter().map(entry_literal).collect())
}

pub(super) fn entry_literal(entry: &PrintedEntry) -> (Name, Literal) {
    (entry.key.as_str().into(), value_literal(&entry.value))
}

fn value_literal(printed: &Printed) -> Literal {
    match printed {
        Printed::Text(text) => Literal::text(text.replace('$', "$$")),
        Printed::Reference(path) => Literal::text(path.as_str()),
        Printed::Number(number) => Literal::Number(number.as_str().into()),
        Printed::Bool(yes) => Literal::Boolean(*yes),
        Printed::Null => Literal::Null,
        Printed::List(items) => Literal::List(items.iter().map(value_literal).collect()),
        Printed::Map(entries) => Literal::Map(entries.iter().map(entry_literal).collect()),
    }
}
