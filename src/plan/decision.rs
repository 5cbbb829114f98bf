//! `Decision`: what becomes of one subject, and the differences that say so.

use super::model::change::Cause;
use super::model::step::TargetProject;
use crate::config::stack::model::AttributeSetting;
use crate::model::address::Name;
use crate::model::expression::Expression;
use crate::model::schema::{Attribute, Revival, UpdateStrategy};
use crate::model::secret::FingerprintKey;
use crate::model::value::Value;

use super::model::compare::{fingerprint_secrets, sealed_expression, to_canonical};

/// What becomes of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecisionKind {
    /// Nothing.
    Keep,
    /// Nothing, because it is out of scope or waits for an answer.
    Frozen,
    /// A new object.
    Create,
    /// Calls.
    Update,
    /// A new object takes the old one's place.
    Replace {
        /// The new one comes before the old one goes.
        create_first: bool,
    },
    /// The object goes.
    Delete,
    /// stead lets go of the object.
    Forget,
}

/// A written attribute, evaluated.
#[derive(Debug)]
pub(super) struct DesiredAttribute<'a> {
    /// The attribute.
    pub attribute: &'static Attribute,
    /// Where it was written; `None` for a link that must go because its other end goes.
    pub setting: Option<&'a AttributeSetting>,
    /// The value in the language's words; a `null` is the API's default, where the table knows it.
    pub value: Value,
    /// What a request says instead of a catalog name.
    pub id: Option<Value>,
    /// Another resource's value enters it.
    pub refers: bool,
}

impl DesiredAttribute<'_> {
    /// Returns what requests and the ledger hold: the id of a catalog name, else the value.
    pub fn stored_value(&self) -> &Value {
        self.id.as_ref().unwrap_or(&self.value)
    }

    /// Returns what a step holds: the value without secrets, or how to get it.
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

/// One attribute, or one key of a map, that is to change.
#[derive(Debug)]
pub(super) struct AttributeDiff<'a> {
    /// The attribute.
    pub attribute: &'static Attribute,
    /// The attribute's name, or `name.key`.
    pub path: Name,
    /// As it is, in the language's words, sealed.
    pub before: Value,
    /// As it will be, in the language's words, sealed.
    pub after: Value,
    /// What was last applied, where it is neither.
    pub last_applied: Option<Value>,
    /// Why.
    pub cause: Cause,
    /// Where the new value was written.
    pub setting: Option<&'a AttributeSetting>,
}

impl AttributeDiff<'_> {
    /// Tells whether no call can make the change.
    pub fn forces_replacement(&self) -> bool {
        matches!(self.attribute.change, UpdateStrategy::Replace | UpdateStrategy::Never)
    }
}

/// What becomes of a subject, and why.
#[derive(Debug)]
pub(super) struct Decision<'a> {
    /// What.
    pub act: DecisionKind,
    /// The block's attributes, evaluated.
    pub wants: Vec<DesiredAttribute<'a>>,
    /// What differs.
    pub differences: Vec<AttributeDiff<'a>>,
    /// What differs, and nothing is done about: the service did not keep it.
    pub not_kept: Vec<AttributeDiff<'a>>,
    /// Why.
    pub cause: Cause,
    /// Why, in a sentence, where the differences do not say it.
    pub reason: Option<String>,
    /// Where a new object is made.
    pub project: TargetProject,
    /// Its new object waits until an object of another address has gone, because of a name or a network.
    pub waits: bool,
    /// It waits, directly or not, for something that is deleted before it is made anew, or that waits so.
    pub downstream: bool,
    /// The object is already in a state that it cannot leave.
    pub broken: bool,
    /// What brings the object back before anything else happens to it.
    pub revival: Option<&'static Revival>,
    /// The new object will stand under another parent or in another project than the old one.
    pub rehomed: bool,
    /// The new object has no place beside older ones of the address, which others still use.
    pub crowded: bool,
}

impl<'a> Decision<'a> {
    /// Returns a verdict without wants and differences.
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

    /// Says why.
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Returns a written attribute.
    pub fn find_attribute(&self, name: &str) -> Option<&DesiredAttribute<'a>> {
        self.wants.iter().find(|want| want.attribute.name == name)
    }

    /// Tells whether the resource's object will be another one, or one that is not there yet.
    pub fn is_new(&self) -> bool {
        matches!(self.act, DecisionKind::Create | DecisionKind::Replace { .. })
    }

    /// Tells whether the present object goes.
    pub fn removes(&self) -> bool {
        matches!(self.act, DecisionKind::Delete | DecisionKind::Replace { .. })
    }

    /// Tells whether one of these attributes differs.
    pub fn changes(&self, attributes: &[&str]) -> bool {
        self.differences.iter().any(|difference| attributes.contains(&difference.attribute.name))
    }

    /// Tells whether the old object goes before the new one comes.
    pub fn deletes_first(&self) -> bool {
        self.act == DecisionKind::Replace { create_first: false }
            || (self.act == DecisionKind::Create && self.crowded)
    }
}
