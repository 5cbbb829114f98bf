//! The probe: checks which assumptions of the contract a live service confirms, by GETs only. `ask` collects evidence;
//! the other modules compare it with the tables and are pure.

mod catalogs;
mod collect;
mod contract;
mod endpoints;
mod fields;
mod finding;
mod observations;
mod run;

#[cfg(test)]
mod tests;

pub(super) use self::collect::collect_evidence;
pub use self::observations::Observations;
pub use crate::cloud::capabilities::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, ServiceCapabilities};
pub use finding::{ContractCheckResult, ProbeFinding};
pub use run::findings;
