//! `Endpoint` and `ApiCall`: one request of the service's API, as a table entry.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Literal;

/// How sure we are that the service has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// The specification says so.
    Documented,
    /// The contract assumes it, where the specification is silent.
    Assumed,
}

/// The verb of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Reads.
    Get,
    /// Creates or acts.
    Post,
    /// Writes one named thing whole.
    Put,
    /// Changes fields.
    Patch,
    /// Removes.
    Delete,
}

impl Method {
    /// Returns the verb as it stands on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Tells whether a request of this verb can change anything.
    #[must_use]
    pub const fn mutates(self) -> bool {
        !matches!(self, Self::Get)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The key of a success body that holds the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Envelope {
    /// `{success, data, message}`, and `{data, total}` for lists.
    Data,
    /// `{success, database}`.
    Database,
    /// `{success, run}`.
    Run,
    /// `{success, settings}`.
    Settings,
    /// `{success, pricing}`.
    Pricing,
    /// `{success, message}`: nothing but the word that it was done.
    Message,
}

impl Envelope {
    /// Returns the key of the payload; `None` where there is none.
    #[must_use]
    pub const fn key(self) -> Option<&'static str> {
        match self {
            Self::Data => Some("data"),
            Self::Database => Some("database"),
            Self::Run => Some("run"),
            Self::Settings => Some("settings"),
            Self::Pricing => Some("pricing"),
            Self::Message => None,
        }
    }
}

/// One endpoint. `path` may hold `{id}` (the object), `{parent}` (a child's parent object).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The verb.
    pub method: Method,
    /// The path from the base address, with `{id}` and `{parent}` to fill in.
    pub path: &'static str,
    /// Where the answer keeps its payload.
    pub envelope: Envelope,
    /// Said by the specification, or assumed by the contract.
    pub provenance: Provenance,
    /// Its answer holds a secret: nothing that only looks sends it.
    pub secret: bool,
}

impl Endpoint {
    /// Returns an endpoint that the specification names, with the `data` envelope.
    #[must_use]
    pub const fn documented(method: Method, path: &'static str) -> Self {
        Self { method, path, envelope: Envelope::Data, provenance: Provenance::Documented, secret: false }
    }

    /// Returns an endpoint that the contract assumes, with the `data` envelope.
    #[must_use]
    pub const fn assumed(method: Method, path: &'static str) -> Self {
        Self { method, path, envelope: Envelope::Data, provenance: Provenance::Assumed, secret: false }
    }

    /// Says that the answer holds a secret.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// Tells whether a request's path is one of this endpoint's.
    #[must_use]
    pub fn fits(&self, path: &str) -> bool {
        let mut parts = path.split('/');
        let fits = self.path.split('/').all(|wanted| {
            parts.next().is_some_and(|part| wanted == part || (wanted.starts_with('{') && !part.is_empty()))
        });
        fits && parts.next().is_none()
    }

    /// Sets the envelope of the answer.
    #[must_use]
    pub const fn answers(mut self, envelope: Envelope) -> Self {
        self.envelope = envelope;
        self
    }
}

/// Fields of a body, each with its value.
pub type BodyFields = &'static [(&'static str, Literal)];

/// A request that changes an existing object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiCall {
    /// A short stable name for plans and journals: `resize`, `attach`, `scale`.
    pub name: &'static str,
    /// Where it goes.
    pub endpoint: Endpoint,
    /// Attributes that the body carries even when they do not change.
    pub always: &'static [&'static str],
    /// Body fields that never vary.
    pub fixed: &'static [(&'static str, Literal)],
    /// Body fields that are sent while an attribute has a value: `(attribute, value, fields)`.
    pub fixed_when: Option<(&'static str, Literal, BodyFields)>,
}

impl ApiCall {
    /// Returns a call whose body holds what changes, and nothing else.
    #[must_use]
    pub const fn new(name: &'static str, endpoint: Endpoint) -> Self {
        Self { name, endpoint, always: &[], fixed: &[], fixed_when: None }
    }

    /// Sends these attributes along, changed or not.
    #[must_use]
    pub const fn always(mut self, attributes: &'static [&'static str]) -> Self {
        self.always = attributes;
        self
    }

    /// Sends these fields along.
    #[must_use]
    pub const fn fixed(mut self, fields: &'static [(&'static str, Literal)]) -> Self {
        self.fixed = fields;
        self
    }

    /// Sends these fields along while an attribute has a value.
    #[must_use]
    pub const fn fixed_when(mut self, attribute: &'static str, value: Literal, fields: BodyFields) -> Self {
        self.fixed_when = Some((attribute, value, fields));
        self
    }
}
