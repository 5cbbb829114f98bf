//! `Attribute`: one field of a kind: its type, who sets it, and how a change of it is applied.
//!
//! The tables of `crate::kinds` build each one with a constructor for its `Presence` and `const` functions that set the
//! differences. Plan, apply, refresh, editor and help derive their behavior from the result.

use super::attribute_type::{TextFormat, Type};
use super::literal::Literal;
use super::{ApiCall, Effect, Endpoint, Provenance, RunSchema};
use crate::model::address::Name;
use crate::model::values::secret::Secret;
use crate::model::values::value::Value;

/// Who sets an attribute, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The configuration must set it.
    Required,
    /// The configuration may set it; otherwise the live value stays.
    Optional,
    /// The configuration may set it; without a value the API starts with this one, and `null` resets to it.
    Default(Literal),
    /// Only the service sets it; the configuration can read it by reference.
    Computed,
    /// Sent at creation and never returned: compared with the last applied value.
    WriteOnly,
}

/// How a change is applied to the live object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateStrategy {
    /// One call with the value in its body; attributes with the same call share one request.
    Patch {
        /// The call that carries the value.
        call: &'static ApiCall,
        /// The body field that carries the value.
        body: &'static str,
    },
    /// One call selected by the new value, which the body does not carry.
    Switch(&'static [(&'static str, ApiCall)]),
    /// Two calls: one removes the old link, then one creates the new one. A change from `null` needs only the second, a
    /// change to `null` only the first.
    Link {
        /// The call that creates the link.
        set: &'static ApiCall,
        /// The body field of `set` that carries the value.
        body: &'static str,
        /// The call that removes the link.
        unset: &'static ApiCall,
    },
    /// The program uploads an archive of a directory to a URL that the service signs; then one call names the upload.
    /// Compared by the digest of the directory, because the service returns none.
    Upload {
        /// The call that requests the signed URL; it changes nothing and may be repeated.
        grant: &'static ApiCall,
        /// The call that names the upload and so makes it effective.
        deliver: &'static ApiCall,
        /// The field of `deliver`'s body that names the upload.
        body: &'static str,
        /// How to recognize the end of the run that `deliver` starts; `None` where the object's own status shows it.
        run: Option<&'static RunSchema>,
    },
    /// No call can change it: the object is replaced.
    Replace,
    /// The configuration cannot set it.
    Never,
}

/// One attribute of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute {
    /// The name in the configuration language.
    pub name: &'static str,
    /// The field name in the create body, and in the body of a call that always carries it.
    pub wire: &'static str,
    /// The field name in responses.
    pub returned: &'static str,
    /// One sentence for the help.
    pub summary: &'static str,
    /// The type of its value.
    pub ty: Type,
    /// Who sets it, and when.
    pub presence: Presence,
    /// How a change is applied.
    pub change: UpdateStrategy,
    /// Whether the value can only grow; a smaller desired value is refused at plan time.
    pub grow_only: bool,
    /// A field of the chosen catalog record that can only grow (`storage` of a VM plan); `None` allows every record.
    pub catalog_grow_only: Option<&'static str>,
    /// Additional effects of a change; empty where a change in place has no side effect.
    pub effects: &'static [Effect],
    /// Additional effects of a change to one of these values.
    pub effects_to: &'static [(&'static str, Effect)],
    /// Whether the service only stores a change: it builds, moves or restarts nothing.
    pub at_once: bool,
    /// Whether list responses have it; otherwise only a GET by id does.
    pub listed: bool,
    /// Whether the service omits its field from a GET by id while it is not set.
    pub omitted_when_empty: bool,
    /// The attributes whose change may give it another value, or `EVERY_CHANGE`: with such a change, the value that no block
    /// writes counts as unknown in the plan.
    pub follows: &'static [&'static str],
    /// Whether the service computes it from the object's children, such as the sum of their prices.
    pub of_children: bool,
    /// Whether the create body has it; otherwise a call sets it after the creation, such as `power`.
    pub at_creation: bool,
    /// Live values and their names in the language (`active` is `on`); empty where they are equal.
    pub read_as: &'static [(&'static str, &'static str)],
    /// Whether the value is a secret: the ledger stores its fingerprint only.
    pub secret: bool,
    /// Whether an entry of the map that no block writes may be another user's secret: it is shown
    /// as a fingerprint only.
    pub private: bool,
    /// Whether the service refuses to delete the object while this link exists, so that an apply
    /// removes the link first.
    pub undone_before_delete: bool,
    /// The endpoint that lists, for one object, the values to which it can be changed; `None` where the
    /// type alone limits them.
    pub choices: Option<Endpoint>,
    /// `(attribute, values)`: the service itself changes the value while the other attribute has one of these
    /// values, each with the limit of such a change. `None` where only a user changes it.
    pub moved_by: Option<(&'static str, &'static [(&'static str, ServiceUpgrade)])>,
    /// For a record without a field of its own in the API: its keys, and the fields that carry them. Otherwise empty.
    pub spread: &'static [(&'static str, &'static str)],
    /// The value that a new object has where the configuration sets none, although `null` does not reset to it: an
    /// import leaves it out of the block. `None` where the value is not known beforehand.
    pub usual: Option<Literal>,
    /// Whether the specification documents it or the contract assumes it.
    pub provenance: Provenance,
}

/// How far the service upgrades a version by itself. It never downgrades one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceUpgrade {
    /// To a higher patch of the same minor version.
    Patch,
    /// To any higher version.
    Higher,
}

impl ServiceUpgrade {
    /// Returns whether the service may have upgraded `from` to `to`: `to` must be higher. Versions with a part that is
    /// not a number cannot be compared and count as allowed.
    #[must_use]
    pub fn leads(self, from: &str, to: &str) -> bool {
        let parts = |version: &str| -> Option<Vec<u64>> {
            version.split('.').map(|part| part.parse().ok()).collect()
        };
        let Some((from, to)) = parts(from).zip(parts(to)) else { return true };
        let minor = |version: &[u64]| version.get(..2).map(<[u64]>::to_vec);
        to > from && (self == Self::Higher || minor(&from) == minor(&to))
    }
}

/// What a computed attribute follows whose value any change of the object may change.
pub const EVERY_CHANGE: &[&str] = &["*"];

impl Attribute {
    /// Returns the additional effects of a change from one value to another: none where a link is only made, which nothing uses
    /// yet.
    pub fn effects_of(&self, before: &Value, after: &Value) -> impl Iterator<Item = Effect> {
        let is_new_link = matches!(self.change, UpdateStrategy::Link { .. }) && *before == Value::Null;
        let any = self.effects.iter().filter(move |_| !is_new_link);
        let to = self.effects_to.iter().filter(|(value, _)| after.as_text() == Some(value));
        any.copied().chain(to.map(|(_, effect)| *effect))
    }

    /// Returns a live value with a secret at each position where one of the `known` values has one. Of a private
    /// attribute also every entry whose key no known value has becomes a secret: another user set it.
    #[must_use]
    pub fn hidden(&self, known: [Option<&Value>; 2], live: Value) -> Value {
        self.hidden_by(known, live, &|secret, text| secret.expose() == Some(text))
    }

    /// Does the same as `hidden` with the caller's decision whether a string `is` a secret: a recorded secret has
    /// only a fingerprint to compare with.
    pub(crate) fn hidden_by(
        &self,
        known: [Option<&Value>; 2],
        live: Value,
        is: &impl Fn(&Secret, &str) -> bool,
    ) -> Value {
        let known: Vec<_> = known.into_iter().flatten().collect();
        let has = |value: &&Value, name: &Name| matches!(value, Value::Map(map) if map.contains_key(name));
        let knows = |name: &Name| known.iter().any(|value| has(value, name));
        let part = |(name, part): (Name, Value)| match part {
            Value::Text(text) if !knows(&name) => (name, Value::Secret(Secret::new(text.as_str()))),
            part => (name, part),
        };
        match live.with_secrets_like(&known, is) {
            Value::Map(map) if self.private => Value::Map(map.into_iter().map(part).collect()),
            live => live,
        }
    }

    const fn new(name: &'static str, ty: Type, presence: Presence) -> Self {
        Self {
            name,
            wire: name,
            returned: name,
            summary: "",
            ty,
            presence,
            change: UpdateStrategy::Replace,
            grow_only: false,
            catalog_grow_only: None,
            effects: &[],
            effects_to: &[],
            at_once: false,
            listed: true,
            omitted_when_empty: false,
            follows: &[],
            of_children: false,
            at_creation: true,
            read_as: &[],
            secret: false,
            private: false,
            undone_before_delete: false,
            choices: None,
            moved_by: None,
            spread: &[],
            usual: None,
            provenance: Provenance::Documented,
        }
    }

    /// Returns an attribute that the configuration must set; a change replaces the object, unless set otherwise.
    #[must_use]
    pub const fn required(name: &'static str, ty: Type) -> Self {
        Self::new(name, ty, Presence::Required)
    }

    /// Returns an attribute that the configuration may set; a change replaces the object, unless set otherwise.
    #[must_use]
    pub const fn optional(name: &'static str, ty: Type) -> Self {
        Self::new(name, ty, Presence::Optional)
    }

    /// Returns an attribute with the API's default; a change replaces the object, unless set otherwise.
    #[must_use]
    pub const fn default(name: &'static str, ty: Type, literal: Literal) -> Self {
        Self::new(name, ty, Presence::Default(literal))
    }

    /// Returns an attribute that only the service sets: no request carries it.
    #[must_use]
    pub const fn computed(name: &'static str, ty: Type) -> Self {
        let mut attribute = Self::new(name, ty, Presence::Computed);
        attribute.change = UpdateStrategy::Never;
        attribute.at_creation = false;
        attribute
    }

    /// Returns an attribute that is sent at creation and never returned; a change replaces the
    /// object, unless set otherwise.
    #[must_use]
    pub const fn write_only(name: &'static str, ty: Type) -> Self {
        Self::new(name, ty, Presence::WriteOnly)
    }

    /// Sets the one sentence for the help.
    #[must_use]
    pub const fn summary(mut self, summary: &'static str) -> Self {
        self.summary = summary;
        self
    }

    /// Sets the field name in the create body and in responses, where it differs from the language's name.
    #[must_use]
    pub const fn wire(mut self, wire: &'static str) -> Self {
        self.wire = wire;
        self.returned = wire;
        self
    }

    /// Sets the field name in responses, where it differs from the create body's. It must follow
    /// `wire`, which sets both.
    #[must_use]
    pub const fn returned(mut self, returned: &'static str) -> Self {
        self.returned = returned;
        self
    }

    /// Sets how a change is applied to the object.
    #[must_use]
    pub const fn on_change(mut self, change: UpdateStrategy) -> Self {
        self.change = change;
        self
    }

    /// Allows the value only to grow.
    #[must_use]
    pub const fn grow_only(mut self) -> Self {
        self.grow_only = true;
        self
    }

    /// Allows only a change to a catalog record whose number in `field` is not smaller.
    #[must_use]
    pub const fn catalog_grow_only(mut self, field: &'static str) -> Self {
        self.catalog_grow_only = Some(field);
        self
    }

    /// Sets the additional effects of a change.
    #[must_use]
    pub const fn effects(mut self, effects: &'static [Effect]) -> Self {
        self.effects = effects;
        self
    }

    /// Sets the additional effects of a change to one of these values.
    #[must_use]
    pub const fn effects_to(mut self, effects: &'static [(&'static str, Effect)]) -> Self {
        self.effects_to = effects;
        self
    }

    /// Declares that the service only stores a change of it.
    #[must_use]
    pub const fn at_once(mut self) -> Self {
        self.at_once = true;
        self
    }

    /// Sets the value that a new object has where the configuration sets none, and that `null` does not restore.
    #[must_use]
    pub const fn usually(mut self, literal: Literal) -> Self {
        self.usual = Some(literal);
        self
    }

    /// Declares that list responses omit it.
    #[must_use]
    pub const fn unlisted(mut self) -> Self {
        self.listed = false;
        self
    }

    /// Declares that the service omits it from a GET by id while it is not set.
    #[must_use]
    pub const fn omitted_when_empty(mut self) -> Self {
        self.omitted_when_empty = true;
        self
    }

    /// Sets the attributes whose change may give it another value.
    #[must_use]
    pub const fn follows(mut self, attributes: &'static [&'static str]) -> Self {
        self.follows = attributes;
        self
    }

    /// Declares that the service computes it from the object's children: a change of one may give it another value.
    #[must_use]
    pub const fn of_children(mut self) -> Self {
        self.of_children = true;
        self
    }

    /// Declares that the create body does not accept it: a call sets it after creation.
    #[must_use]
    pub const fn after_creation(mut self) -> Self {
        self.at_creation = false;
        self
    }

    /// Sets the live values and their names in the language. A live value that is not in the map
    /// counts as in transition.
    #[must_use]
    pub const fn read_as(mut self, map: &'static [(&'static str, &'static str)]) -> Self {
        self.read_as = map;
        self
    }

    /// Declares that the ledger stores only a fingerprint of the value.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// Declares that a value which no block writes is shown only as a fingerprint.
    #[must_use]
    pub const fn private(mut self) -> Self {
        self.private = true;
        self
    }

    /// Declares that the link must be removed before the object is deleted.
    #[must_use]
    pub const fn undone_before_delete(mut self) -> Self {
        self.undone_before_delete = true;
        self
    }

    /// Sets the endpoint that lists the values to which it can be changed, each by its `id`.
    #[must_use]
    pub const fn choices_at(mut self, endpoint: Endpoint) -> Self {
        self.choices = Some(endpoint);
        self
    }

    /// Declares that the service itself moves the value while another attribute has one of these values, and how far.
    #[must_use]
    pub const fn moved_by(
        mut self,
        attribute: &'static str,
        values: &'static [(&'static str, ServiceUpgrade)],
    ) -> Self {
        self.moved_by = Some((attribute, values));
        self
    }

    /// Sets the fields of bodies and responses that carry the keys of a record.
    #[must_use]
    pub const fn spread(mut self, fields: &'static [(&'static str, &'static str)]) -> Self {
        self.spread = fields;
        self
    }

    /// Marks it as assumed by the contract.
    #[must_use]
    pub const fn assumed(mut self) -> Self {
        self.provenance = Provenance::Assumed;
        self
    }

    /// Returns the calls that change it in place; empty where a change replaces the object, or is not possible.
    #[must_use]
    pub fn calls(&self) -> Vec<&'static ApiCall> {
        match self.change {
            UpdateStrategy::Patch { call, .. } => vec![call],
            UpdateStrategy::Switch(choices) => choices.iter().map(|(_, call)| call).collect(),
            UpdateStrategy::Link { set, unset, .. } => vec![set, unset],
            UpdateStrategy::Upload { deliver, .. } => vec![deliver],
            UpdateStrategy::Replace | UpdateStrategy::Never => Vec::new(),
        }
    }

    /// Returns whether the attribute of an object can be empty. A name, a number, a boolean and a keyword always have a
    /// value: `null` in such a field only means that the service does not show it.
    #[must_use]
    pub const fn can_be_empty(&self) -> bool {
        match self.ty {
            Type::Reference(_)
            | Type::List(_)
            | Type::Set { .. }
            | Type::Map(_)
            | Type::Record(_)
            | Type::Text { format: TextFormat::Timestamp, .. } => true,
            Type::Text { .. } => !matches!(self.presence, Presence::Required),
            Type::Boolean
            | Type::Integer { .. }
            | Type::Decimal
            | Type::Enum(_)
            | Type::Labelled(_)
            | Type::Catalog(_) => false,
        }
    }

    /// Returns whether the configuration may write it.
    #[must_use]
    pub const fn is_writable(&self) -> bool {
        !matches!(self.presence, Presence::Computed)
    }

    /// Returns the endpoint that signs the URL for the upload of its archive; `None` where the attribute is no upload.
    #[must_use]
    pub fn grant(&self) -> Option<Endpoint> {
        match self.change {
            UpdateStrategy::Upload { grant, .. } => Some(grant.endpoint),
            _ => None,
        }
    }

    /// Returns whether the API returns it.
    #[must_use]
    pub const fn is_readable(&self) -> bool {
        !matches!(self.presence, Presence::WriteOnly)
    }
}
