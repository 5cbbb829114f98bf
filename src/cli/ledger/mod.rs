//! Ledger access of the commands: opening and reading, rollback detection, recovery file, remote stacks, origins,
//! ambiguous intents, and moves between stacks. The ledger itself is the module `ledger` of the program; these modules
//! connect it to settings, files and messages.

pub(super) mod ambiguous_intents;
pub(super) mod backend_ledgers;
pub(super) mod held_lock;
pub(super) mod high_water_mark;
pub(super) mod inspection;
pub(super) mod ledger_io;
pub(super) mod ledger_listing;
pub(super) mod open;
pub(super) mod other_ledgers;
pub(super) mod recovery_file;
pub(super) mod remote_stacks;
pub(super) mod stack_origin;
pub(super) mod stack_transfers;
pub(super) mod transfer_peers;
