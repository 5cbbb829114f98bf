//! Models of the crash-safe protocols, explored exhaustively: every interleaving of two processes, a service that is
//! late and loses messages, kills, take-overs and a user, within a budget. The product's protocols must have no fault;
//! the same protocols with seeded bugs must be caught: a model that finds no bug proves nothing.
//!
//! `STEAD_MODEL=full` explores the larger budget.
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
fn a_creation_creates_one_object_and_loses_none() {
    row::check("create", create_rows::rows());
}

#[test]
fn a_deletion_deletes_only_its_object_and_forgets_no_live_one() {
    row::check("delete", delete_rows::rows());
}

#[test]
fn an_update_is_not_reverted_by_a_lost_response() {
    row::check("update", update_rows::rows());
}

#[test]
fn a_replacement_never_loses_or_leaks_an_object() {
    row::check("replace", replace_rows::rows());
}
