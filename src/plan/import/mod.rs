//! Import: writes live objects as configuration. In: live objects and the existing stack; out: files or blocks,
//! entries for the ledger, and what was left out. Invariant: a result is accepted only if its plan has nothing
//! to do. Pure: the caller writes the files and the ledger.

mod accept;
mod addresses;
mod draft;
mod draft_inputs;
mod existing_child;
mod literal;
pub mod rebuild_ledger;
mod suggestions;

pub use self::accept::{
    DraftRejection, ImportError, ImportRequest, ImportResult, ImportSyntax, accept_order,
};
pub use self::draft::{PlaintextSecret, SecretVariable};
pub use self::existing_child::accept_child;
pub use self::suggestions::{ImportOmission, ReferenceSuggestion};
