//! `Rule` and `Effect`: the constraints of the service on a configuration, and the consequences of a change.
//!
//! A rule is data. The validation of the configuration checks what the files alone decide; the plan checks again with
//! the live objects and the catalog.

use serde::{Deserialize, Serialize};

use super::Literal;

/// A consequence of a change that the user should read before the approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The object becomes open to more people than before.
    Exposure,
    /// Data is lost permanently.
    DataLoss,
    /// The object stops and starts again.
    Restart,
    /// Clients may lose connections for a short time.
    BriefOutage,
    /// The address of the object changes.
    AddressChange,
    /// The account is charged or credited at once.
    Charge,
    /// The object stays live, and billed where it has a price, but unmanaged.
    LeftBehind,
    /// The Kubernetes API does not answer for a short time.
    ApiInterruption,
    /// Nodes are restarted one after the other.
    RollingRestart,
    /// The workloads on its nodes are moved away first.
    Drain,
    /// The object's data is reset to an earlier state.
    GoesBack,
    /// The object is not in use until the user starts it again.
    Stops,
    /// Existing login credentials stop working.
    LocksOut,
    /// The action may write data that no plan shows.
    Writes,
    /// A new deployment replaces the running one.
    Deploys,
    /// The action removes something that no configuration declares.
    Removes,
    /// The object is in use again, and billed.
    Resumes,
}

impl Effect {
    /// All effects, in the order of declaration.
    pub const ALL: [Self; 17] = [
        Self::Exposure,
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

    /// Returns the description of the consequence for plans and prompts: a clause without a full stop.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Exposure => "it becomes open to more people than before",
            Self::DataLoss => "its data is lost for good",
            Self::Restart => "it restarts",
            Self::BriefOutage => "clients may lose their connections for a short time",
            Self::AddressChange => "its address changes",
            Self::Charge => "the difference is charged or credited at once",
            Self::LeftBehind => "it stays live, unmanaged",
            Self::ApiInterruption => "its API is interrupted for a short time",
            Self::RollingRestart => "its nodes are drained and restarted one after the other",
            Self::Drain => "the workloads on its nodes are moved to other nodes first",
            Self::GoesBack => "its data is reset to that state, and all later writes are lost",
            Self::Stops => "it does not run until it is started again",
            Self::LocksOut => "clients with the old credentials are locked out",
            Self::Writes => "it may change data",
            Self::Deploys => "a new deployment replaces the running one",
            Self::Removes => "the removed object cannot be restored",
            Self::Resumes => "it is in use again, and billed",
        }
    }

    /// Returns whether an action with this effect requires confirmation.
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
    /// The condition that must be true.
    pub check: RuleCheck,
    /// The rule in one sentence, for messages.
    pub says: &'static str,
    /// The source of the rule: a heading of the specification or the contract, such as `specification, Errors, case 5`.
    pub place: &'static str,
}

/// A change of an object that ends the condition of a `RuleCheck::NotWhile`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndingChange {
    /// The attribute changes to this value.
    Becomes(&'static str, Literal),
    /// The number of the attribute grows.
    Grows(&'static str),
}

/// The condition that a rule checks. Unknown values pass: only the service can refuse them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleCheck {
    /// If `attribute` is set to something other than `unless`, `other` must be one of `values`.
    OnlyWith {
        /// The attribute that the rule restricts.
        attribute: &'static str,
        /// A harmless value that is always allowed (0 replicas, HA off).
        unless: Literal,
        /// The attribute that decides. Its default applies when the configuration does not set it.
        other: &'static str,
        /// The values of `other` that allow it.
        values: &'static [&'static str],
    },
    /// The catalog record that `attribute` names must have `field` equal to the attribute `equals`.
    CatalogField {
        /// The attribute that names the catalog record.
        attribute: &'static str,
        /// The field of the catalog record.
        field: &'static str,
        /// The attribute that must equal it (its default applies when absent).
        equals: &'static str,
    },
    /// When the catalog record that `attribute` names has `field` true, `forbidden` must be
    /// unset or equal to `unless`.
    CatalogForbids {
        /// The attribute that names the catalog record.
        attribute: &'static str,
        /// The boolean field of the catalog record.
        field: &'static str,
        /// The attribute that must then be unset.
        forbidden: &'static str,
        /// The value that is allowed nevertheless.
        unless: Literal,
    },
    /// No two objects of the kind in an account may have overlapping networks in `attribute`.
    NoOverlap {
        /// The attribute with the network.
        attribute: &'static str,
    },
    /// No two objects of the kind in one project (or under one parent) may agree in all of these.
    Unique {
        /// The names of the attributes.
        attributes: &'static [&'static str],
    },
    /// At most this many children of this kind under one parent.
    AtMost {
        /// The maximum number of children.
        count: usize,
    },
    /// Exactly one of these must be set.
    ExactlyOne {
        /// The names of the attributes.
        attributes: &'static [&'static str],
    },
    /// `attribute` may be set only together with `other`.
    Together {
        /// The attribute that needs the other one.
        attribute: &'static str,
        /// The attribute that must be set as well.
        other: &'static str,
    },
    /// If `attribute` is set to something other than `unless`, `other` must not be one of `values`.
    NeverWith {
        /// The attribute that the rule restricts.
        attribute: &'static str,
        /// A harmless value that is always allowed.
        unless: Literal,
        /// The attribute that decides. Its default applies when the configuration does not set it.
        other: &'static str,
        /// The values of `other` that forbid it.
        values: &'static [&'static str],
    },
    /// `attribute` must be set when `other` is one of `values`.
    RequiredWith {
        /// The attribute that must then be set.
        attribute: &'static str,
        /// The attribute that decides. Its default applies when the configuration does not set it.
        other: &'static str,
        /// The values of `other` that require it.
        values: &'static [&'static str],
    },
    /// The number must be one of these; an unset one passes.
    OneOf {
        /// The attribute that the rule checks.
        attribute: &'static str,
        /// The numbers that are allowed.
        values: &'static [i64],
    },
    /// The number must be none of these while every condition holds: `(path, values)`, where a path may select a key of
    /// a record (`autoscaling.min_replicas`), and an unset one counts as its default or as "".
    NotOneOf {
        /// The attribute that the rule checks.
        attribute: &'static str,
        /// The numbers that are forbidden.
        values: &'static [i64],
        /// The conditions, all of which must hold; empty: the rule always applies.
        when: &'static [(&'static str, &'static [&'static str])],
    },
    /// One number of a record must not be greater than another one.
    Ordered {
        /// The attribute with the record.
        attribute: &'static str,
        /// The key of the smaller number.
        low: &'static str,
        /// The key of the larger one.
        high: &'static str,
    },
    /// The sum of a number over all children of this kind under one parent must be at least this.
    SumAtLeast {
        /// The attribute that the rule checks.
        attribute: &'static str,
        /// The minimum of the sum.
        least: i64,
    },
    /// A boolean or number must have this value where the configuration sets it.
    Is {
        /// The attribute that the rule checks.
        attribute: &'static str,
        /// The value that the configuration must have.
        value: Literal,
    },
    /// The number must be at least this.
    AtLeast {
        /// The attribute that the rule checks.
        attribute: &'static str,
        /// The minimum of the number.
        least: i64,
    },
    /// At most one of these may be set.
    NotBoth {
        /// The names of the attributes.
        attributes: &'static [&'static str],
    },
    /// A number in a record must be one of these while `other` is one of `when`.
    PartOneOf {
        /// The attribute with the record.
        attribute: &'static str,
        /// The record's key with the number.
        part: &'static str,
        /// The numbers that are allowed.
        values: &'static [i64],
        /// The attribute that the condition reads.
        other: &'static str,
        /// The values of `other` under which the rule applies.
        when: &'static [&'static str],
    },
    /// No two objects of the kind in any project may agree in all of these.
    UniqueOverall {
        /// The names of the attributes.
        attributes: &'static [&'static str],
    },
    /// A value that only the service's support grants: a warning when the attribute has it.
    Granted {
        /// The attribute that the rule checks.
        attribute: &'static str,
        /// The value that needs a grant.
        value: &'static str,
    },
    /// A time that must not be past when the object is created.
    Future {
        /// The attribute that the rule checks.
        attribute: &'static str,
    },
    /// While a boolean attribute of a live object of another kind is true, no object whose `other` is one of `values`
    /// may be created, rolled out or enlarged.
    NotWhile {
        /// The name of the other kind.
        kind: &'static str,
        /// The boolean attribute of the other kind.
        attribute: &'static str,
        /// The attribute that decides. Its default applies when the configuration does not set it.
        other: &'static str,
        /// The values of `other` under which the rule applies.
        values: &'static [&'static str],
        /// Changes of the other object that end the condition: the waiting changes are ordered after them.
        ended_by: &'static [EndingChange],
    },
    /// A value, or each value of a list, must be one that the service offers: a record of `table`, or an entry of a
    /// list in the record that another attribute names. A service without the table allows all.
    Offered {
        /// The attribute that the rule checks.
        attribute: &'static str,
        /// The name of the catalog table.
        table: &'static str,
        /// `(attribute, field)`: the attribute that selects the record, and its list;
        /// `None` for the records themselves.
        within: Option<(&'static str, &'static str)>,
    },
    /// An object cannot be deleted while others refer to it: `(kind, attribute)`.
    NotUsed {
        /// The kinds and attributes that may refer to it.
        by: &'static [(&'static str, &'static str)],
    },
    /// A project cannot be deleted while it contains objects.
    NotFilled,
}
