//! `PlanNote`: what a plan says besides its changes. A note blocks nothing.

use serde::{Deserialize, Serialize};

use crate::model::address::Address;
use crate::model::source::SourceLocation;

/// A note about a plan, which blocks nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanNote {
    /// The category of the note.
    pub code: NoteCode,
    /// What was found, as a sentence.
    pub text: String,
    /// The remedy, as a sentence or command.
    pub help: String,
    /// The source location that it is about; `None` if it is about none.
    pub source: Option<SourceLocation>,
    /// The resource, for a note about exactly one; otherwise `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
}

/// The category of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoteCode {
    /// A declaration has nothing left to do and can be removed.
    Done,
    /// A deletion and a creation look like a rename.
    Rename,
    /// The apply generates a secret.
    Generated,
    /// A shown-once secret is delivered to its sink.
    Delivered,
    /// A program gives a secret whose value the plan cannot compare yet.
    SecretSource,
    /// An object stays live after a destroy.
    Left,
    /// An object is deleted with its data, with approval.
    DataLost,
    /// Recipients of kept secrets, and unfinished work for them.
    Recipients,
    /// The service does not keep a value: the object will differ from its declaration.
    NotKept,
    /// The service does not show declared attributes.
    Unverified,
    /// Many objects were read one by one.
    OneByOne,
    /// An approval for a replacement that the plan does not make.
    NotReplaced,
    /// An approval for the deletion of data that the plan does not make.
    NotDeleted,
    /// A policy on kinds of which the plan has no resource.
    Unmatched,
    /// An allowed exposure that the object does not have.
    NotExposed,
    /// The API key lacks a right that steps need.
    MissingRight,
    /// It is not known whether the API key has a right that steps need.
    UnknownRight,
    /// The API key expires before an apply of the plan would end.
    KeyExpires,
    /// Another process holds the ledger's lock: it may be applying.
    LockHeld,
    /// Another unit of the run changes an attribute that a lookup reads.
    StaleRead,
}

impl NoteCode {
    /// Returns whether the note says that the plan may not hold for long, so that it belongs beside "no changes".
    #[must_use]
    pub const fn is_about_moment(self) -> bool {
        matches!(self, Self::LockHeld | Self::StaleRead)
    }

    /// Returns whether the note is about the API key that makes the plan, or the moment, not about the plan itself.
    #[must_use]
    pub const fn is_about_planning(self) -> bool {
        matches!(self, Self::MissingRight | Self::UnknownRight | Self::KeyExpires | Self::LockHeld)
    }
}
