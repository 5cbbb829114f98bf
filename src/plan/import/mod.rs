//! Import: writes live objects as configuration, which is accepted only if its plan has nothing to do.

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
