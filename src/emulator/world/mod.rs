//! The service as a pure state machine: `handle_request(&mut World, &ApiRequest, Time) -> ApiResponse`.
//!
//! It uses no file, socket, clock or thread: each status follows from a record's timeline and the time that the
//! caller passes in, each id from a seeded counter. `records` has the fields of each kind; one file per kind, in a
//! folder per part of the service, contains its routes and behavior; `router` finds the route of a request.

mod account;
mod admin;
mod apps;
mod clock;
mod clusters;
mod compute;
mod databases;
mod engine;
mod records;
mod request;
mod router;
mod state;

pub use self::account::api_key::record_first_key;
pub use self::admin::inspect::{RecordSearch, inspect_many, inspect_one, list_kinds};
pub use self::admin::mutate::{MutateError, mutate};
pub use self::apps::upload::{
    ArchiveReceiver, MAX_ARCHIVE_BYTES as LARGEST_ARCHIVE, ReceivedArchive, UPLOAD_PREFIX as UPLOADS,
};
pub use self::engine::message::{ApiRequest, ApiResponse};
pub use self::records::account::RateTier;
pub use self::router::{all_routes, handle_request, handle_upload, route_template};
pub use self::state::account::{AccountBill, StoredRow, WorldSetup};
pub use self::state::world::World;

pub(super) use self::engine::catalog::{DATABASE_PLANS, NODE_PLANS, TEMPLATES, VM_PLANS};
pub(super) use self::engine::kubernetes_versions::VERSIONS as KUBERNETES_VERSIONS;

/// A time on the emulator's virtual clock, in UTC; the world keeps whole milliseconds.
pub type Time = jiff::Timestamp;

#[cfg(test)]
mod tests;
