//! The ledger of a stack: opening it, what protects it against rollback, and what it asks people.

pub(super) mod ambiguous_intents;
pub(super) mod high_water_mark;
pub(super) mod ledger_io;
pub(super) mod open;
pub(super) mod recovery_file;
pub(super) mod remote_stacks;
pub(super) mod stack_origin;
