//! `Type`: what values an attribute can have, and the notation of its texts.

/// The notation that a text must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextFormat {
    /// Any text, without a check.
    Any,
    /// An IPv4 network, `a.b.c.d/n`.
    Cidr4,
    /// A source network of an allowlist: an IPv4 network that is not `0.0.0.0/0`.
    AllowedCidr4,
    /// One OpenSSH public key line.
    SshPublicKey,
    /// A database role name: `[a-z_][a-z0-9_]*`, not reserved.
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
        /// The unit, such as `GB`; empty for a plain count.
        unit: &'static str,
    },
    /// An exact decimal, which the API writes as a number or as text.
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
    /// One of these keywords, which the API writes as numbers: `sunday` is 0.
    Labelled(&'static [(&'static str, i64)]),
    /// Another resource of this kind; requests carry its id.
    Reference(&'static str),
    /// A name of this catalog table; requests carry its id.
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
    /// A map with exactly these keys.
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
}
