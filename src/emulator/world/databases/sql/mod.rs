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

pub(super) use catalog::{Place, columns_of, schemas, tables_of};
pub(super) use modify::change;
pub(super) use parse::parse;
pub(super) use query::{Answer, like, query};
pub(super) use statement::Statement;
