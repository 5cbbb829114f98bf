//! `Decision`: what is decided for one resource, and the differences that cause it. It is an intermediate
//! result: the plan's steps and change lines are made from it, and nothing of it is saved.

use super::model::change::Cause;
use super::model::step::TargetProject;
use crate::config::stack::model::AttributeSetting;
use crate::model::address::{Address, Name};
use crate::model::expression::Expression;
use crate::model::live::snapshot::Object;
use crate::model::schema::{Attribute, Revival, UpdateStrategy};
use crate::model::values::secret::FingerprintKey;
use crate::model::values::value::Value;

use super::model::compare::{fingerprint_secrets, sealed_expression, to_canonical};

/// The action that is decided for a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecisionKind {
    /// Leave the object as it is, or note that none exists.
    Keep,
    /// No change, because the resource is out of scope, is blocked, or depends on one that is: its object and
    /// ledger entry stay as they are.
    Frozen,
    /// Create a new object.
    Create,
    /// Change the object by calls.
    Update,
    /// Delete the object and create a new one under the same address.
    Replace {
        /// Whether the new object is created before the old one is deleted.
        create_first: bool,
    },
    /// Delete the object and remove it from the ledger.
    Delete,
    /// Remove the object from the ledger and keep it live.
    Forget,
}

/// A written attribute, evaluated.
#[derive(Debug)]
pub(super) struct DesiredAttribute<'a> {
    pub attribute: &'static Attribute,
    /// Where it was written; `None` for a link that must be undone because its target is deleted.
    pub setting: Option<&'a AttributeSetting>,
    /// The value as the configuration writes it; a `null` is replaced by the API's default, where the table has it.
    pub value: Value,
    /// The id that a request uses instead of a catalog name; `None` for every other attribute, and for a name
    /// that is unknown or not in the catalog.
    pub id: Option<Value>,
    /// The resources that the value refers to and the plan changes, or has not decided yet.
    pub changing_sources: Vec<&'a Address>,
}

impl DesiredAttribute<'_> {
    /// Returns the form for requests and the ledger: the id of a catalog name, else the value.
    pub fn stored_value(&self) -> &Value {
        self.id.as_ref().unwrap_or(&self.value)
    }

    /// Returns the form for a step: the value without secrets' plain text, or the expression that computes it.
    pub fn to_expression(&self, key: &FingerprintKey) -> Expression {
        match self.setting {
            Some(setting) if self.value.is_unknown() => sealed_expression(&setting.expression, key),
            _ if self.id.is_some() => Expression::Value(self.stored_value().clone()),
            _ => {
                Expression::Value(to_canonical(&self.attribute.ty, &fingerprint_secrets(&self.value, key)))
            }
        }
    }
}

/// An attribute, or one key of a map, that must change.
#[derive(Debug)]
pub(super) struct AttributeDiff<'a> {
    pub attribute: &'static Attribute,
    /// The attribute's name, or `name.key`.
    pub path: Name,
    /// The value before the change as the configuration would write it, without the plain text of secrets;
    /// `Null` if it is not set.
    pub before: Value,
    /// The value after the change as the configuration writes it, without the plain text of secrets; `Null`
    /// if it is removed.
    pub after: Value,
    /// The last applied value, where it differs from both; otherwise `None`.
    pub last_applied: Option<Value>,
    pub cause: Cause,
    /// Where the new value was written; `None` for a link that is undone.
    pub setting: Option<&'a AttributeSetting>,
}

impl AttributeDiff<'_> {
    /// Returns whether no call can make the change.
    pub fn forces_replacement(&self) -> bool {
        matches!(self.attribute.change, UpdateStrategy::Replace | UpdateStrategy::Never)
    }
}

/// What is decided for a resource, and why.
#[derive(Debug)]
pub(super) struct Decision<'a> {
    pub act: DecisionKind,
    /// The block's attributes, evaluated.
    pub wants: Vec<DesiredAttribute<'a>>,
    /// The differences that the action removes.
    pub differences: Vec<AttributeDiff<'a>>,
    /// Differences about which nothing is done, because the service did not keep the value before.
    pub not_kept: Vec<AttributeDiff<'a>>,
    pub cause: Cause,
    /// The reason as a clause, where the differences do not give it.
    pub reason: Option<String>,
    /// The project of a new object; `TargetProject::None` for a resource of the account.
    pub project: TargetProject,
    /// Whether its new object waits until an object of another address is deleted, because of a name or a network.
    pub waits: bool,
    /// Whether it depends, directly or not, on a resource that is deleted before it is created again, or
    /// that waits for another one.
    pub downstream: bool,
    /// Whether the object is in a state that it cannot leave by itself.
    pub broken: bool,
    /// The revival that precedes all other changes of the object; `None` if it is in use.
    pub revival: Option<&'static Revival>,
    /// Whether the new object has another parent or project than the old one.
    pub rehomed: bool,
    /// Whether the new object conflicts with deposed objects of the address that others still use.
    pub crowded: bool,
}

impl<'a> Decision<'a> {
    /// Returns a decision without desired attributes and differences.
    pub fn without_differences(act: DecisionKind, cause: Cause) -> Self {
        Self {
            act,
            wants: Vec::new(),
            differences: Vec::new(),
            not_kept: Vec::new(),
            cause,
            reason: None,
            project: TargetProject::None,
            waits: false,
            downstream: false,
            broken: false,
            revival: None,
            rehomed: false,
            crowded: false,
        }
    }

    /// Returns the decision with a reason, which the plan shows as a clause.
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Returns a written attribute by name; `None` if the block does not write it.
    pub fn find_attribute(&self, name: &str) -> Option<&DesiredAttribute<'a>> {
        self.wants.iter().find(|want| want.attribute.name == name)
    }

    /// Returns whether the resource gets a new object.
    pub fn is_new(&self) -> bool {
        matches!(self.act, DecisionKind::Create | DecisionKind::Replace { .. })
    }

    /// Returns whether there is no object, and none is created: the resource is out of scope or blocked.
    pub fn leaves_absent(&self, object: Option<&Object>) -> bool {
        self.act == DecisionKind::Frozen && object.is_none()
    }

    /// Returns whether the present object is deleted.
    pub fn removes(&self) -> bool {
        matches!(self.act, DecisionKind::Delete | DecisionKind::Replace { .. })
    }

    /// Returns whether one of these attributes differs.
    pub fn changes(&self, attributes: &[&str]) -> bool {
        self.differences.iter().any(|difference| attributes.contains(&difference.attribute.name))
    }

    /// Returns whether an object of the address is deleted before the new one is created: the current one of a
    /// replacement, or a deposed one that is in the way of a creation.
    pub fn deletes_first(&self) -> bool {
        self.act == DecisionKind::Replace { create_first: false }
            || (self.act == DecisionKind::Create && self.crowded)
    }
}
