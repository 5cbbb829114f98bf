//! The pages of `history` and `lock`. In: what the ledger records of its runs and of its lock. Out: text; the documents
//! take the records.

mod lock;
mod page;
mod record;

pub use lock::{LockHolder, LockStatus, lock_page};
pub use page::{incidents_table, run_page, runs_table};
pub use record::{
    ApplyStatus, BegunRecord, IncidentRecord, OutputRecord, OutputValue, PolicyRecord, RequestOutcome,
    RequestRecord, ResourceRecord, RunRecord, format_time,
};
