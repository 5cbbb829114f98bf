//! Stack, ledger and snapshot joined by address, for every later phase. In: the inputs of a plan and the
//! resolved moves. Out: the joined state, with the index of catalog names, prices, targeting and the projects
//! of the stack. Nothing here decides, and nothing later reads the inputs past it.

pub(super) mod catalog_index;
pub(super) mod joined_state;
pub(super) mod live_state;
pub mod prices;
pub mod project_scope;
pub(super) mod rekey;
pub(super) mod targeting;
