//! Reads: pages of lists, single objects, catalogs and the account, collected in a
//! `DiskSnapshot`. Sends only GET requests.
//! Invariant: an object that a list lacks is absent only after a read by its id.

pub mod account;
pub(super) mod catalog;
pub(super) mod confirm_differences;
pub(super) mod find_object;
pub(super) mod key_access;
mod lists;
pub(super) mod object_ids;
pub(super) mod object_project;
pub(super) mod object_reader;
pub(super) mod paging;
pub(super) mod refresh;
