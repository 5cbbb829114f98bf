//! Checks of a resolved stack that need no network: rules of the service, dependency cycles, declarations and
//! policies. In: the resolved stack. Out: diagnostics, and the parts that the checks read (declarations, policies,
//! secret sinks). No check changes a resource.

pub(super) mod address_status;
pub(super) mod config;
pub mod declarations;
pub(super) mod dependency_cycles;
pub mod environments;
pub(super) mod moves;
pub(super) mod overrides;
pub(super) mod policies;
pub(super) mod policy_facts;
pub mod remote_outputs;
pub mod secret_sinks;
pub(super) mod service_rules;
pub(super) mod transfers;
pub(super) mod unused;
