//! `Attribute`: one field of a kind: its type, who sets it, and what changing it means.

use super::literal::Literal;
use super::{ApiCall, Effect, Endpoint, Provenance, RunSchema};
use crate::model::address::Name;
use crate::model::secret::Secret;
use crate::model::value::Value;

/// What a text must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextFormat {
    /// Anything.
    Any,
    /// An IPv4 network, `a.b.c.d/n`.
    Cidr4,
    /// A source network of an allowlist: an IPv4 network that is not `0.0.0.0/0`.
    AllowedCidr4,
    /// One OpenSSH public key line.
    SshPublicKey,
    /// A database role name: `[a-z_][a-z0-9_]*`, not reserved.
    DatabaseUser,
    /// RFC 3339.
    Timestamp,
    /// A path of a web address: it begins with a slash.
    HttpPath,
    /// A cron schedule of five fields.
    Cron,
    /// A time zone of the IANA database.
    TimeZone,
    /// A time of the day, `HH:MM`.
    ClockTime,
    /// A host name of a domain: letters, digits and hyphens between dots.
    Domain,
    /// An address of electronic mail.
    Email,
    /// What keeps workloads away from a node: `key=value:Effect`, or `key:Effect`.
    Taint,
    /// A name that can stand in the path of a request as it is.
    PathName,
    /// A directory below the stack's own, by its relative path. The value is the digest of what is in it.
    Directory,
}

/// The type of an attribute's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// `true` or `false`.
    Boolean,
    /// A whole number within bounds.
    Integer {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
        /// What one is, such as `GB`; empty for a plain count.
        unit: &'static str,
    },
    /// An exact decimal, as number or as text on the wire.
    Decimal,
    /// Text with bounds on its length in characters.
    Text {
        /// Shortest.
        min: u16,
        /// Longest.
        max: u16,
        /// Its form.
        format: TextFormat,
    },
    /// One of a few words.
    Enum(&'static [&'static str]),
    /// One of a few words that the wire writes as numbers: `sunday` is 0.
    Labelled(&'static [(&'static str, i64)]),
    /// Another resource of this kind; the wire carries its id.
    Reference(&'static str),
    /// A name of this catalog table; the wire carries its id.
    Catalog(&'static str),
    /// Values in order.
    List(&'static Type),
    /// Values without order or repetition.
    Set {
        /// Of what.
        of: &'static Type,
        /// How many at most.
        max: usize,
    },
    /// Any keys, managed one by one.
    Map(&'static Type),
    /// These keys and no others.
    Record(&'static [(&'static str, Type)]),
}

impl Type {
    /// Tells whether `null` empties a value of the type; of the others it leaves the value to the service.
    #[must_use]
    pub const fn can_be_emptied(&self) -> bool {
        matches!(
            self,
            Self::Reference(_) | Self::List(_) | Self::Set { .. } | Self::Map(_) | Self::Record(_)
        )
    }
}

/// Who sets an attribute, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The configuration must.
    Required,
    /// The configuration may; otherwise the live value is left alone.
    Optional,
    /// The configuration may; the API starts with this, and `null` goes back to it.
    Default(Literal),
    /// Only the service; the configuration can read it by reference.
    Computed,
    /// Sent at creation and never returned: compared by what was last applied.
    WriteOnly,
}

/// How a change reaches the live object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateStrategy {
    /// One call with the value in its body; attributes with the same call travel together.
    Patch {
        /// The call.
        call: &'static ApiCall,
        /// The body's field.
        body: &'static str,
    },
    /// One call that the new value chooses, without a value in its body.
    Switch(&'static [(&'static str, ApiCall)]),
    /// Two calls: one undoes the old link, one makes the new; either alone from or to `null`.
    Link {
        /// Makes the link.
        set: &'static ApiCall,
        /// The body's field of `set`.
        body: &'static str,
        /// Undoes the link.
        unset: &'static ApiCall,
    },
    /// An archive of a directory goes to an address that the service signs for it; then one call names
    /// what was uploaded. Compared by the digest of the directory, for the service returns none.
    Upload {
        /// Asks for the signed address. It changes nothing, however often it is asked.
        grant: &'static ApiCall,
        /// Names the upload: from then on it counts.
        deliver: &'static ApiCall,
        /// The field of `deliver`'s body.
        body: &'static str,
        /// Where the record that `deliver` answers with shows that it ended; `None` where the object
        /// itself does.
        run: Option<&'static RunSchema>,
    },
    /// No call changes it: a new object takes the old one's place.
    Replace,
    /// The configuration does not set it.
    Never,
}

/// One attribute of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute {
    /// The language's name.
    pub name: &'static str,
    /// The field of the create body.
    pub wire: &'static str,
    /// The field of the answers.
    pub returned: &'static str,
    /// One sentence for people.
    pub summary: &'static str,
    /// Its type.
    pub ty: Type,
    /// Who sets it.
    pub presence: Presence,
    /// How it changes.
    pub change: UpdateStrategy,
    /// It can only grow; a smaller wish is refused at plan time.
    pub grow_only: bool,
    /// A field of the chosen catalog record that can only grow (`storage` of a VM plan).
    pub catalog_grow_only: Option<&'static str>,
    /// What else a change of it does.
    pub effects: &'static [Effect],
    /// A change of it is only written down: nothing is built, moved or restarted for it.
    pub at_once: bool,
    /// Whether list answers carry it; otherwise only a by-id GET does.
    pub listed: bool,
    /// Whether the service leaves its field out of a by-id GET while it is not set.
    pub omitted_when_empty: bool,
    /// For what is computed: the attributes whose change may give it another value.
    pub follows: &'static [&'static str],
    /// It is part of the create body (`power` is not: a call follows).
    pub at_creation: bool,
    /// Live values that stand for the language's (`active` is `on`); empty for the value itself.
    pub read_as: &'static [(&'static str, &'static str)],
    /// Its value is remembered by fingerprint only.
    pub secret: bool,
    /// What no block writes of it may be somebody's secret: it is shown by fingerprint only.
    pub private: bool,
    /// The service refuses to delete the object while this link stands.
    pub undone_before_delete: bool,
    /// Where the service lists, for one object, the values that it can be changed to.
    pub choices: Option<Endpoint>,
    /// The service itself moves the value, so far, while this attribute has one of these values.
    pub moved_by: Option<(&'static str, &'static [(&'static str, ServiceUpgrade)])>,
    /// A record that has no field of its own on the wire: its keys, and the fields that carry them.
    pub spread: &'static [(&'static str, &'static str)],
    /// What a new object gets where nothing is written, though it is no default that `null` goes back to: a
    /// takeover leaves it out.
    pub usual: Option<Literal>,
    /// Said by the specification, or assumed by the contract.
    pub provenance: Provenance,
}

/// How far the service moves a version by itself. It never lowers one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceUpgrade {
    /// To a higher patch of the same minor version.
    Patch,
    /// To any higher version.
    Higher,
}

impl ServiceUpgrade {
    /// Tells whether it leads from one version to another. Versions that are no numbers cannot be compared: nothing is
    /// held against them.
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

impl Attribute {
    /// Returns a live value with a secret wherever something that is `known` of it has one, and wherever a private
    /// attribute has what none of that knows: somebody else set it.
    #[must_use]
    pub fn hidden(&self, known: [Option<&Value>; 2], live: Value) -> Value {
        self.hidden_by(known, live, &|secret, text| secret.expose() == Some(text))
    }

    /// As `hidden`, where the caller can tell whether a text `is` a secret.
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
            at_once: false,
            listed: true,
            omitted_when_empty: false,
            follows: &[],
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

    /// Returns an attribute that the configuration must set; a change replaces, until told otherwise.
    #[must_use]
    pub const fn required(name: &'static str, ty: Type) -> Self {
        Self::new(name, ty, Presence::Required)
    }

    /// Returns an attribute that the configuration may set.
    #[must_use]
    pub const fn optional(name: &'static str, ty: Type) -> Self {
        Self::new(name, ty, Presence::Optional)
    }

    /// Returns an attribute with the API's default.
    #[must_use]
    pub const fn default(name: &'static str, ty: Type, literal: Literal) -> Self {
        Self::new(name, ty, Presence::Default(literal))
    }

    /// Returns an attribute that only the service sets.
    #[must_use]
    pub const fn computed(name: &'static str, ty: Type) -> Self {
        let mut attribute = Self::new(name, ty, Presence::Computed);
        attribute.change = UpdateStrategy::Never;
        attribute.at_creation = false;
        attribute
    }

    /// Returns an attribute that is sent at creation and never returned.
    #[must_use]
    pub const fn write_only(name: &'static str, ty: Type) -> Self {
        Self::new(name, ty, Presence::WriteOnly)
    }

    /// Sets the one sentence for people.
    #[must_use]
    pub const fn summary(mut self, summary: &'static str) -> Self {
        self.summary = summary;
        self
    }

    /// Sets the field of the create body and of the answers.
    #[must_use]
    pub const fn wire(mut self, wire: &'static str) -> Self {
        self.wire = wire;
        self.returned = wire;
        self
    }

    /// Sets the field of the answers, where it differs from the create body's.
    #[must_use]
    pub const fn returned(mut self, returned: &'static str) -> Self {
        self.returned = returned;
        self
    }

    /// Sets how a change reaches the object.
    #[must_use]
    pub const fn on_change(mut self, change: UpdateStrategy) -> Self {
        self.change = change;
        self
    }

    /// Lets the value only grow.
    #[must_use]
    pub const fn grow_only(mut self) -> Self {
        self.grow_only = true;
        self
    }

    /// Lets a field of the chosen catalog record only grow.
    #[must_use]
    pub const fn catalog_grow_only(mut self, field: &'static str) -> Self {
        self.catalog_grow_only = Some(field);
        self
    }

    /// Says what else a change does.
    #[must_use]
    pub const fn effects(mut self, effects: &'static [Effect]) -> Self {
        self.effects = effects;
        self
    }

    /// Says that a change of it is only written down.
    #[must_use]
    pub const fn at_once(mut self) -> Self {
        self.at_once = true;
        self
    }

    /// Says what a new object gets where nothing is written.
    #[must_use]
    pub const fn usually(mut self, literal: Literal) -> Self {
        self.usual = Some(literal);
        self
    }

    /// Says that list answers leave it out.
    #[must_use]
    pub const fn unlisted(mut self) -> Self {
        self.listed = false;
        self
    }

    /// Says that the service leaves it out of a by-id GET while it is not set.
    #[must_use]
    pub const fn omitted_when_empty(mut self) -> Self {
        self.omitted_when_empty = true;
        self
    }

    /// Says a change of which attributes may give it another value.
    #[must_use]
    pub const fn follows(mut self, attributes: &'static [&'static str]) -> Self {
        self.follows = attributes;
        self
    }

    /// Says that the create body does not take it: a call sets it after creation.
    #[must_use]
    pub const fn after_creation(mut self) -> Self {
        self.at_creation = false;
        self
    }

    /// Says which live values stand for the language's.
    #[must_use]
    pub const fn read_as(mut self, map: &'static [(&'static str, &'static str)]) -> Self {
        self.read_as = map;
        self
    }

    /// Lets only a fingerprint of the value be remembered.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// Lets only a fingerprint of what no block writes be shown.
    #[must_use]
    pub const fn private(mut self) -> Self {
        self.private = true;
        self
    }

    /// Says that the link is undone before the object is deleted.
    #[must_use]
    pub const fn undone_before_delete(mut self) -> Self {
        self.undone_before_delete = true;
        self
    }

    /// Says where the service lists the values that it can be changed to, each by its `id`.
    #[must_use]
    pub const fn choices_at(mut self, endpoint: Endpoint) -> Self {
        self.choices = Some(endpoint);
        self
    }

    /// Says that the service itself moves the value while another attribute has one of these values, and how far.
    #[must_use]
    pub const fn moved_by(
        mut self,
        attribute: &'static str,
        values: &'static [(&'static str, ServiceUpgrade)],
    ) -> Self {
        self.moved_by = Some((attribute, values));
        self
    }

    /// Says which fields of bodies and answers carry the keys of a record.
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

    /// Returns the calls that change it in place.
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

    /// Tells whether an object can be without it. A name, a number, a yes or no and a word of a few always have a
    /// value: a `null` in place of one says only that the service does not show it.
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

    /// Tells whether the configuration may write it.
    #[must_use]
    pub const fn is_writable(&self) -> bool {
        !matches!(self.presence, Presence::Computed)
    }

    /// Returns where an address is asked for to which its archive goes.
    #[must_use]
    pub fn grant(&self) -> Option<Endpoint> {
        match self.change {
            UpdateStrategy::Upload { grant, .. } => Some(grant.endpoint),
            _ => None,
        }
    }

    /// Tells whether the API returns it.
    #[must_use]
    pub const fn is_readable(&self) -> bool {
        !matches!(self.presence, Presence::WriteOnly)
    }
}
