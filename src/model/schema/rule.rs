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
    /// It stays live, and billed where it costs something, but nobody's.
    LeftBehind,
    /// The Kubernetes API does not answer for a short time.
    ApiInterruption,
    /// Nodes are restarted one after the other.
    RollingRestart,
    /// What runs on its nodes is moved away first.
    Drain,
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
    /// It is in use again, and billed.
    Resumes,
}

impl Effect {
    /// All of them, in order.
    pub const ALL: [Self; 16] = [
        Self::DataLoss,
        Self::Restart,
        Self::BriefOutage,
        Self::AddressChange,
        Self::Charge,
        Self::LeftBehind,
        Self::ApiInterruption,
        Self::RollingRestart,
        Self::Drain,
        Self::GoesBack,
        Self::Stops,
        Self::LocksOut,
        Self::Writes,
        Self::Deploys,
        Self::Removes,
        Self::Resumes,
    ];

    /// Returns the consequence in words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::DataLoss => "its data is lost for good",
            Self::Restart => "it restarts",
            Self::BriefOutage => "clients may lose their connections for a short time",
            Self::AddressChange => "its address changes",
            Self::Charge => "the difference is charged or credited at once",
            Self::LeftBehind => "it stays live, unmanaged",
            Self::ApiInterruption => "its API is interrupted for a short time",
            Self::RollingRestart => "its nodes are drained and restarted one after the other",
            Self::Drain => "what runs on its nodes is moved to others first",
            Self::GoesBack => "its data goes back to what it was then, and what was written since is lost",
            Self::Stops => "it is out of use until it is started again",
            Self::LocksOut => "whoever uses the old credentials is locked out",
            Self::Writes => "it may change data",
            Self::Deploys => "a new deployment takes the place of the running one",
            Self::Removes => "what is removed does not come back",
            Self::Resumes => "it is in use again, and billed",
        }
    }

    /// Tells whether people are asked before an action has it.
    #[must_use]
    pub const fn disrupts(self) -> bool {
        !matches!(self, Self::Charge | Self::LeftBehind | Self::Deploys | Self::Resumes)
    }
}

/// One rule of the service that stead checks before any call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The diagnostic's code, `R0101` …: unique over the registry.
    pub code: &'static str,
    /// What must hold.
    pub check: RuleCheck,
    /// The rule in one sentence, for people.
    pub says: &'static str,
    /// Where it stands: a heading of the specification or the contract.
    pub place: &'static str,
}

/// A change that ends a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndingChange {
    /// The attribute becomes this.
    Becomes(&'static str, Literal),
    /// The number grows.
    Grows(&'static str),
}

/// What a rule checks. Values that are not known yet pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleCheck {
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
    /// Exactly one of these is set.
    ExactlyOne {
        /// The attributes.
        attributes: &'static [&'static str],
    },
    /// `attribute` is set only together with `other`.
    Together {
        /// The attribute that cannot stand alone.
        attribute: &'static str,
        /// What it needs.
        other: &'static str,
    },
    /// `attribute`, when set to something else than `unless`, forbids `other` to be one of `values`.
    NeverWith {
        /// The restricted attribute.
        attribute: &'static str,
        /// A harmless value that is always allowed.
        unless: Literal,
        /// The attribute that decides. Absent in the configuration, its default counts.
        other: &'static str,
        /// Its values that forbid it.
        values: &'static [&'static str],
    },
    /// `attribute` must be set when `other` is one of `values`.
    RequiredWith {
        /// The attribute that is then needed.
        attribute: &'static str,
        /// The attribute that decides. Absent in the configuration, its default counts.
        other: &'static str,
        /// Its values that need it.
        values: &'static [&'static str],
    },
    /// A number is one of a few.
    OneOf {
        /// The attribute.
        attribute: &'static str,
        /// What it may be.
        values: &'static [i64],
    },
    /// A number is none of these while every condition holds: `(path, values)`, where a path may lead
    /// into a record (`autoscaling.min_replicas`), and an unset one counts as its default or as "".
    NotOneOf {
        /// The attribute.
        attribute: &'static str,
        /// What it must not be.
        values: &'static [i64],
        /// When.
        when: &'static [(&'static str, &'static [&'static str])],
    },
    /// One number of a record is not above another of it.
    Ordered {
        /// The record.
        attribute: &'static str,
        /// The key of the smaller number.
        low: &'static str,
        /// The key of the larger one.
        high: &'static str,
    },
    /// Over all children of this kind under one parent, a number adds up to at least this.
    SumAtLeast {
        /// The attribute.
        attribute: &'static str,
        /// The sum.
        least: i64,
    },
    /// A boolean or number is this, whenever it is written.
    Is {
        /// The attribute.
        attribute: &'static str,
        /// What it must be.
        value: Literal,
    },
    /// A number is at least this.
    AtLeast {
        /// The attribute.
        attribute: &'static str,
        /// The bound.
        least: i64,
    },
    /// At most one of these is set.
    NotBoth {
        /// The attributes.
        attributes: &'static [&'static str],
    },
    /// A number in a record is one of these while `other` is one of `when`.
    PartOneOf {
        /// The record.
        attribute: &'static str,
        /// The key of the number.
        part: &'static str,
        /// What it may be.
        values: &'static [i64],
        /// The attribute that decides.
        other: &'static str,
        /// Its values under which the rule holds.
        when: &'static [&'static str],
    },
    /// No two objects of the kind, wherever they are, agree in all of these.
    UniqueOverall {
        /// The attributes.
        attributes: &'static [&'static str],
    },
    /// What only the service's support grants: a warning when the attribute is this.
    Granted {
        /// The attribute.
        attribute: &'static str,
        /// What is granted.
        value: &'static str,
    },
    /// A time that is not past when an object is made.
    Future {
        /// The attribute.
        attribute: &'static str,
    },
    /// While a live object of another kind says so, nothing is made, rolled out or made larger whose
    /// `other` is one of `values`.
    NotWhile {
        /// The other kind.
        kind: &'static str,
        /// Its boolean attribute.
        attribute: &'static str,
        /// The attribute that decides. Absent in the configuration, its default counts.
        other: &'static str,
        /// Its values under which the rule holds.
        values: &'static [&'static str],
        /// Changes of the other object that end it: what waits for the end comes after them.
        ended_by: &'static [EndingChange],
    },
    /// A value, or each of a list, is one that the service has: a record of `table`, or in a list of the
    /// record that another attribute names. A service that does not tell has all.
    Offered {
        /// The attribute.
        attribute: &'static str,
        /// The catalog table.
        table: &'static str,
        /// `(attribute, field)`: which record, and its list; `None` for the records themselves.
        within: Option<(&'static str, &'static str)>,
    },
    /// An object cannot go while others refer to it: `(kind, attribute)`.
    NotUsed {
        /// Who may refer to it.
        by: &'static [(&'static str, &'static str)],
    },
    /// A project cannot go while anything is in it.
    NotFilled,
}
