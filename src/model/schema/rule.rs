//! `Rule` and `Effect`: what a configuration must keep to, and what a change does besides.

use serde::{Deserialize, Serialize};

use super::Literal;

/// A consequence of a change that people should read before they say yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Data is gone for good.
    DataLoss,
    /// The object goes down and comes back.
    Restart,
    /// Clients may lose connections for a short time.
    BriefOutage,
    /// Its address changes.
    AddressChange,
    /// Something is charged or credited at once.
    Charge,
    /// It stays live and billed, but nobody's.
    LeftBehind,
    /// Its data goes back to an earlier state.
    GoesBack,
    /// It is not in use until someone starts it again.
    Stops,
    /// What was handed out to log in stops working.
    LocksOut,
    /// Something may be written that no plan shows.
    Writes,
    /// A new deployment takes the place of the running one.
    Deploys,
    /// Something is removed that no configuration holds.
    Removes,
}

impl Effect {
    /// Returns the consequence in words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::DataLoss => "its data is lost for good",
            Self::Restart => "it restarts",
            Self::BriefOutage => "clients may lose their connections for a short time",
            Self::AddressChange => "its address changes",
            Self::Charge => "the difference is charged or credited at once",
            Self::LeftBehind => "it stays live and billed, unmanaged",
            Self::GoesBack => "its data goes back to what it was then, and what was written since is lost",
            Self::Stops => "it is out of use until it is started again",
            Self::LocksOut => "whoever uses the old credentials is locked out",
            Self::Writes => "it may change data",
            Self::Deploys => "a new deployment takes the place of the running one",
            Self::Removes => "what is removed does not come back",
        }
    }

    /// Tells whether people are asked before an action has it.
    #[must_use]
    pub const fn disrupts(self) -> bool {
        !matches!(self, Self::Charge | Self::LeftBehind | Self::Deploys)
    }
}

/// One rule of the service that stead checks before any call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The diagnostic's code, `R0101` …: unique over the registry.
    pub code: &'static str,
    /// What must hold.
    pub check: Check,
    /// The rule in one sentence, for people.
    pub says: &'static str,
    /// Where it stands: a heading of the specification or the contract.
    pub place: &'static str,
}

/// What a rule checks. Values that are not known yet pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// `attribute`, when set to something else than `unless`, needs `other` to be one of `values`.
    OnlyWith {
        /// The restricted attribute.
        attribute: &'static str,
        /// A harmless value that is always allowed (0 replicas, HA off).
        unless: Literal,
        /// The attribute that decides. Absent in the configuration, its default counts.
        other: &'static str,
        /// Its values that allow it.
        values: &'static [&'static str],
    },
    /// The catalog record that `attribute` names must have `field` equal to the attribute `equals`.
    CatalogField {
        /// A catalog attribute.
        attribute: &'static str,
        /// The record's field.
        field: &'static str,
        /// The attribute that must equal it (its default counts when absent).
        equals: &'static str,
    },
    /// When the catalog record that `attribute` names has `field` true, `forbidden` must be unset or
    /// equal to `unless`.
    CatalogForbids {
        /// A catalog attribute.
        attribute: &'static str,
        /// The record's boolean field.
        field: &'static str,
        /// The attribute that is then not to be used.
        forbidden: &'static str,
        /// Its harmless value.
        unless: Literal,
    },
    /// No two objects of the kind (per account) have overlapping networks in `attribute`.
    NoOverlap {
        /// A network attribute.
        attribute: &'static str,
    },
    /// No two objects of the kind in one project (or under one parent) agree in all of these.
    Unique {
        /// The attributes.
        attributes: &'static [&'static str],
    },
    /// At most this many children of this kind under one parent.
    AtMost {
        /// How many.
        count: usize,
    },
}
