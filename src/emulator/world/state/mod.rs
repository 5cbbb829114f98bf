//! The state of the service: the tables of all kinds, the account, billing and permissions.

pub(super) mod account;
pub(super) mod grant;
pub(super) mod permission;
pub(super) mod world;
