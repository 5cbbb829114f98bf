//! `DifferencePart`: the part of a plan in which it differs from the reviewed one. Documents name it by its key; pages have a
//! phrase for each.

use std::borrow::Cow;

use serde::Serialize;

use crate::model::address::Name;

/// What moved between two plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MovedSide {
    /// The configuration, its variables or its policies.
    Configuration,
    /// The live object.
    LiveObject,
    /// The ledger, by another apply.
    Ledger,
    /// The price in the catalog.
    CatalogPrice,
    /// An output of another stack, or a lookup.
    OtherStack,
    /// The version of stead.
    SteadVersion,
    /// Options of the command line that leave something out.
    Options,
}

impl MovedSide {
    pub(super) const fn describe(self) -> &'static str {
        match self {
            Self::Configuration => "the configuration",
            Self::LiveObject => "the live object",
            Self::Ledger => "the ledger",
            Self::CatalogPrice => "the catalog price",
            Self::OtherStack => "an output of another stack or a lookup",
            Self::SteadVersion => "the version of stead",
            Self::Options => "the selection of the command line",
        }
    }
}

/// A part in which two plans differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DifferencePart {
    /// An attribute, by its path.
    Attribute(Name, AttributePart),
    /// The action for the resource.
    Action,
    /// Why it changes.
    Cause,
    /// Its kind.
    Kind,
    /// Id of its live object.
    Object,
    /// The address from which it moves.
    PreviousAddress,
    /// The reason of the action, as a clause.
    Reason,
    /// Whether a replacement creates the new object first.
    Order,
    /// What the change does to others, and to data.
    Effects,
    /// The resources that it affects.
    Affects,
    /// Its monthly price before and after.
    Price,
    /// The requests, or what the ledger records; the plans show no more.
    Requests,
    /// A blocker, by its code.
    Blocker,
    /// A denial by a policy, by its name.
    Policy,
    /// An output, by its name.
    Output(Name),
    /// The value of an output that an apply recorded, by its name.
    RecordedOutput(Name),
    /// What is generated, read or delivered for a secret.
    Secrets,
    /// Moves, transfers and recipients of secrets in the ledger.
    LedgerUpdates,
    /// The stack.
    Stack,
    /// The environment.
    Environment,
    /// The account.
    Account,
    /// Options of the command line.
    Options,
    /// What no other part shows: the fingerprints differ.
    Rest,
}

/// In what an attribute differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributePart {
    /// In the live value.
    Live,
    /// In the value that both plans set.
    Planned,
    /// Only the later plan sets it.
    NewlyPlanned,
    /// Only the earlier plan sets it.
    NoLongerPlanned,
    /// In the secrets that the planned value contains, by their names.
    Secrets,
    /// In why it changes, or in whether that replaces the object.
    Why,
}

impl DifferencePart {
    /// Returns the key of the part, for documents.
    #[must_use]
    pub fn key(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Attribute(path, part) => return Cow::Owned(format!("{path} ({})", part.key())),
            Self::Output(name) => return Cow::Owned(format!("output {name}")),
            Self::RecordedOutput(name) => return Cow::Owned(format!("output {name} (recorded)")),
            Self::Secrets => "secrets",
            Self::Rest => "rest of the plan",
            Self::Action => "action",
            Self::Cause => "cause",
            Self::Kind => "kind",
            Self::Object => "object",
            Self::PreviousAddress => "previous address",
            Self::Reason => "reason",
            Self::Order => "order",
            Self::Effects => "effects",
            Self::Affects => "affects",
            Self::Price => "price",
            Self::Requests => "requests and ledger entry",
            Self::Blocker => "blocker",
            Self::Policy => "policy",
            Self::LedgerUpdates => "moves and recipients in the ledger",
            Self::Stack => "stack",
            Self::Environment => "environment",
            Self::Account => "account",
            Self::Options => "options of the command line",
        })
    }
}

impl AttributePart {
    const fn key(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Planned | Self::NewlyPlanned | Self::NoLongerPlanned => "planned",
            Self::Secrets => "secrets",
            Self::Why => "why",
        }
    }
}
