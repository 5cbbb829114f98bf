//! The connection to the service: API keys, the built-in cloud, detected capabilities, and the shared rate limiter.
//! `command_client` has the types for a service and for an emulated cloud of this process, `connection` joins them; the
//! protocol itself is the module `cloud` of the program.

pub(super) mod api_key;
#[cfg(test)]
pub(super) mod builtin_catalog;
pub(super) mod capabilities;
pub(super) mod catalog_cache;
pub(super) mod command_client;
pub(super) mod connection;
pub(super) mod credentials;
pub(super) mod embedded_cloud;
pub(super) mod in_process_cloud;
pub(super) mod key_command;
pub(super) mod keychain;
pub(super) mod rate_limit_file;
#[cfg(test)]
pub(super) mod test_transport;
pub(super) mod virtual_time;
