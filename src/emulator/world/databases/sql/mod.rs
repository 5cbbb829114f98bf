//! A small SQL, enough to try the console with: queries of one table or catalog, and plain changes.
//!
//! `token` cuts a text, `parse` makes a statement of it, `catalog` finds the rows that a name means, and
//! `query` and `change` run it on the contents of a database.

mod catalog;
mod modify;
mod parse;
mod query;
mod statement;
mod token;

pub(super) use catalog::{QueryContext, columns_of, schema_names, tables_of};
pub(super) use modify::apply_statement;
pub(super) use parse::parse;
pub(super) use query::{QueryResult, matches_pattern, run_select};
pub(super) use statement::Statement;
