//! What the service returned: objects (`snapshot`), the reading of one attribute of an object (`reading`), and the
//! names and prices of the catalog. All of it is data without requests; the cloud layer fills it.

pub mod catalog;
pub mod key_access;
pub mod reading;
pub mod snapshot;
