//! `Endpoint` and `ApiCall`: one request of the service's API, as an entry of a kind's table.
//!
//! An endpoint is a method, a path with placeholders, the envelope of the response and its provenance. A call adds the
//! fields of the body that do not come from a changed attribute.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Literal;

/// How certain it is that the service has an endpoint or field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// The specification documents it.
    Documented,
    /// The contract assumes it, because the specification does not mention it.
    Assumed,
}

/// The HTTP method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Reads without changing anything.
    Get,
    /// Creates an object or runs an action.
    Post,
    /// Writes one named object completely.
    Put,
    /// Changes fields of an object.
    Patch,
    /// Deletes one named object.
    Delete,
}

impl Method {
    /// Returns the name of the HTTP method in upper case, as in a request line.
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

    /// Returns whether a request with this method can change anything: all except GET. A query that is sent
    /// by POST counts, too.
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

/// The key under which a success body has its payload (specification, Resources and their fields, Conventions).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Envelope {
    /// `{success, data, message}`, and `{data, total}` for lists.
    Data,
    /// `{success, database}`: the payload is under `database`.
    Database,
    /// `{success, run}`: the payload is under `run`.
    Run,
    /// `{success, settings}`: the payload is under `settings`.
    Settings,
    /// `{success, pricing}`: the payload is under `pricing`.
    Pricing,
    /// `{success, message}`: only the confirmation that it was done.
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

/// One endpoint of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The HTTP method of the request.
    pub method: Method,
    /// The path from the base address. It may contain `{id}` (the object), `{parent}` (a child's parent object) and the
    /// names of an action's path parameters, such as `{preview}`.
    pub path: &'static str,
    /// The envelope of the response's payload.
    pub envelope: Envelope,
    /// Whether the specification documents it or the contract assumes it.
    pub provenance: Provenance,
    /// Whether the response has a secret: commands that only inspect do not send such a request.
    pub secret: bool,
}

impl Endpoint {
    /// Returns an endpoint that the specification names, with the `data` envelope.
    #[must_use]
    pub const fn documented(method: Method, path: &'static str) -> Self {
        Self { method, path, envelope: Envelope::Data, provenance: Provenance::Documented, secret: false }
    }

    /// Returns an endpoint that the contract assumes, with the `data` envelope and without a secret.
    #[must_use]
    pub const fn assumed(method: Method, path: &'static str) -> Self {
        Self { method, path, envelope: Envelope::Data, provenance: Provenance::Assumed, secret: false }
    }

    /// Marks the response as one that contains a secret.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// Returns whether a request's path, without its query, matches this endpoint. A placeholder matches one
    /// segment that is not empty.
    #[must_use]
    pub fn fits(&self, path: &str) -> bool {
        let mut parts = path.split('/');
        let fits = self.path.split('/').all(|wanted| {
            parts.next().is_some_and(|part| wanted == part || (wanted.starts_with('{') && !part.is_empty()))
        });
        fits && parts.next().is_none()
    }

    /// Sets the envelope of the response.
    #[must_use]
    pub const fn answers(mut self, envelope: Envelope) -> Self {
        self.envelope = envelope;
        self
    }
}

/// Body fields with constant values.
pub type BodyFields = &'static [(&'static str, Literal)];

/// A request that changes an existing object. Its body has the changed attributes, the `always` ones
/// and the fixed fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiCall {
    /// A short stable name for plans and journals: `resize`, `attach`, `scale`.
    pub name: &'static str,
    /// The endpoint that receives the request.
    pub endpoint: Endpoint,
    /// Attributes that the body carries even when they do not change.
    pub always: &'static [&'static str],
    /// Body fields with constant values.
    pub fixed: &'static [(&'static str, Literal)],
    /// Body fields that are sent only while an attribute has this value: `(attribute, value, fields)`;
    /// `None` without such fields.
    pub fixed_when: Option<(&'static str, Literal, BodyFields)>,
}

impl ApiCall {
    /// Returns a call whose body has only the changed attributes.
    #[must_use]
    pub const fn new(name: &'static str, endpoint: Endpoint) -> Self {
        Self { name, endpoint, always: &[], fixed: &[], fixed_when: None }
    }

    /// Sets the attributes that the body always carries, changed or not.
    #[must_use]
    pub const fn always(mut self, attributes: &'static [&'static str]) -> Self {
        self.always = attributes;
        self
    }

    /// Sets the body fields with constant values.
    #[must_use]
    pub const fn fixed(mut self, fields: &'static [(&'static str, Literal)]) -> Self {
        self.fixed = fields;
        self
    }

    /// Sets the body fields that are sent only while the attribute has this value.
    #[must_use]
    pub const fn fixed_when(mut self, attribute: &'static str, value: Literal, fields: BodyFields) -> Self {
        self.fixed_when = Some((attribute, value, fields));
        self
    }
}
