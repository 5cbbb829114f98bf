//! A small subset of SQL, enough to try the console: queries of one table or catalog, and simple changes.
//!
//! `token` splits a query into tokens, `parse` builds a statement from them, `catalog` finds the rows of a
//! table, and `query` and `modify` run the statement on the contents of a database. Every error is a response 400.

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
