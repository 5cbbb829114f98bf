//! Models of the crash-safe protocols, explored exhaustively: every interleaving of two processes, a
//! service that is late and loses things, kills, take-overs and a human, within a budget. The protocols
//! as they are built must do nothing wrong; the same protocols, broken on purpose, must be caught: a
//! model that finds nothing says nothing.
//!
//! `STEAD_MODEL=full` spends the larger budget.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]
#![allow(clippy::trivially_copy_pass_by_ref, reason = "protocols look alike, small ones and large ones")]

mod create;
mod create_rows;
mod delete;
mod delete_rows;
mod explore;
mod lease;
mod network;
mod replace;
mod replace_rows;
mod row;
mod update;
mod update_rows;

#[test]
fn a_creation_makes_one_object_and_loses_none() {
    row::check("create", create_rows::rows());
}

#[test]
fn a_deletion_forgets_nothing_that_is_there_and_takes_nothing_else() {
    row::check("delete", delete_rows::rows());
}

#[test]
fn a_change_is_not_undone_by_what_was_lost() {
    row::check("update", update_rows::rows());
}

#[test]
fn a_replacement_leaves_no_object_in_neither_place_and_nothing_without_one() {
    row::check("replace", replace_rows::rows());
}
