//! `Type`: the values that an attribute can have, and `TextFormat`: the notation that a string must have.
//!
//! The validation of the configuration, the JSON schemas, the comparison of values and the requests all read it.

/// The notation that a string must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextFormat {
    /// Any string, without a check.
    Any,
    /// An IPv4 network, `a.b.c.d/n`.
    Cidr4,
    /// A source network of an allowlist: an IPv4 network that is not `0.0.0.0/0`.
    AllowedCidr4,
    /// One OpenSSH public key line.
    SshPublicKey,
    /// A database role name: `[a-z_][a-z0-9_]*`, without a reserved prefix (specification, Errors, case 4).
    DatabaseUser,
    /// A point in time, as RFC 3339.
    Timestamp,
    /// The path of a URL: it begins with a slash.
    HttpPath,
    /// A cron schedule of five fields.
    Cron,
    /// A time zone of the IANA database.
    TimeZone,
    /// A time of the day, `HH:MM`.
    ClockTime,
    /// A host name of a domain: letters, digits and hyphens between dots.
    Domain,
    /// An address of an e-mail account.
    Email,
    /// A Kubernetes node taint, which keeps workloads away from a node: `key=value:Effect`, or `key:Effect`.
    Taint,
    /// A name that needs no escaping in a request path.
    PathName,
    /// A directory below the stack's own, by its relative path. The value is the digest of its contents.
    Directory,
}

/// The type of an attribute's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// A boolean, written `true` or `false`.
    Boolean,
    /// A whole number within bounds.
    Integer {
        /// Smallest number that is allowed.
        min: i64,
        /// Largest number that is allowed.
        max: i64,
        /// The unit for messages and help, such as `GB`; empty for a plain count. Requests carry the number alone.
        unit: &'static str,
    },
    /// An exact decimal, which the API writes as a number or as a string.
    Decimal,
    /// Text with bounds on its length in characters.
    Text {
        /// Minimum length in characters.
        min: u16,
        /// Maximum length in characters.
        max: u16,
        /// The notation that the text must have.
        format: TextFormat,
    },
    /// One of these keywords.
    Enum(&'static [&'static str]),
    /// One of these keywords, each with the number that the API writes for it: `sunday` is 0.
    Labelled(&'static [(&'static str, i64)]),
    /// Another resource of this kind; requests carry its id.
    Reference(&'static str),
    /// A name of this catalog table; requests carry the id of its record.
    Catalog(&'static str),
    /// Values of this type, in order.
    List(&'static Type),
    /// Values without order and without duplicates.
    Set {
        /// The type of the values.
        of: &'static Type,
        /// Maximum number of values.
        max: usize,
    },
    /// A map with any keys, each managed separately.
    Map(&'static Type),
    /// A map with these keys and no others, each with its type.
    Record(&'static [(&'static str, Type)]),
}

impl Type {
    /// Returns whether `null` clears a value of the type; for the other types it leaves the value to the service.
    #[must_use]
    pub const fn can_be_emptied(&self) -> bool {
        matches!(
            self,
            Self::Reference(_) | Self::List(_) | Self::Set { .. } | Self::Map(_) | Self::Record(_)
        )
    }

    /// Returns the kind whose objects a value, or each entry of a list or a set, refers to; `None` for other types.
    #[must_use]
    pub const fn referenced_kind(&self) -> Option<&'static str> {
        match self.innermost() {
            Self::Reference(kind) => Some(kind),
            _ => None,
        }
    }

    /// Returns the type of the innermost entries of a list, a set or a map; of any other type, the type itself.
    #[must_use]
    pub const fn innermost(&self) -> &Self {
        match self {
            Self::List(part) | Self::Map(part) | Self::Set { of: part, .. } => part.innermost(),
            _ => self,
        }
    }
}
