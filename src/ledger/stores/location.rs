//! `LedgerLocation`: the location of a ledger, parsed from trusted settings. One table has the forms of locations; the
//! help and the messages derive from it. Pure: the stores open it.

use std::path::PathBuf;

use thiserror::Error;

use crate::model::diagnostic::join_list;
use crate::model::redact::redact_address;

/// The location of ledgers. Its `Debug` output contains no password.
#[derive(Clone, PartialEq, Eq)]
pub enum LedgerLocation {
    /// A directory of this machine: `file:DIR`.
    Directory(PathBuf),
    /// A PostgreSQL database: `postgres://user@host/database`.
    Postgres(String),
    /// A bucket and the prefix of its object names: `s3://bucket/prefix`.
    S3 {
        /// The name of the bucket.
        bucket: String,
        /// The prefix of the object names, without slashes at the ends.
        prefix: String,
    },
    /// A state server with locks: `https://host/path`.
    Http(String),
}

/// The reason why a setting is not a location.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{shown}` is not a ledger location: {reason}")]
pub struct LedgerLocationError {
    /// The rejected setting, without a password.
    pub shown: String,
    /// A description of the error.
    pub reason: String,
}

/// One form of locations: a row of `FORMS`.
pub struct LocationForm {
    /// The schemes with which such a location begins.
    pub schemes: &'static [&'static str],
    /// The form as help and messages show it.
    pub pattern: &'static str,
    /// What the store is, as a sentence.
    pub summary: &'static str,
    /// What the store needs: permissions, guarantees, variables; as sentences.
    pub needs: &'static str,
    /// Parses the location; the arguments are the whole setting, and its part after the scheme and the colon.
    parse: fn(&str, &str) -> Result<LedgerLocation, &'static str>,
}

/// The forms of locations, in the order in which help and messages list them.
pub const FORMS: &[LocationForm] = &[
    LocationForm {
        schemes: &["file"],
        pattern: "file:DIR",
        summary: "A directory of this machine.",
        needs: "A file system with locks. The lock ends with the process that holds it.",
        parse: parse_directory,
    },
    LocationForm {
        schemes: &["postgres", "postgresql"],
        pattern: "postgres://…",
        summary: "A PostgreSQL database, such as `postgres://user@host/database`.",
        needs: "A role that may create tables, or tables that an administrator created; also behind a pooler in transaction mode. The password comes from the address, `PGPASSWORD` or `~/.pgpass`. TLS is verified, except on this machine.",
        parse: |text, _| Ok(LedgerLocation::Postgres(text.to_owned())),
    },
    LocationForm {
        schemes: &["s3"],
        pattern: "s3://bucket/prefix",
        summary: "A bucket of an object store, and the prefix of its object names.",
        needs: "A store that enforces `If-None-Match` and `If-Match`. `AWS_REGION` or `AWS_ENDPOINT_URL`, and credentials: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`, a web identity, or the machine's role.",
        parse: |_, rest| parse_bucket(rest),
    },
    LocationForm {
        schemes: &["https", "http"],
        pattern: "https://…",
        summary: "A state server with locks, as Terraform's http backend uses it; `{stack}` and `{environment}` in the address are replaced.",
        needs: "`LOCK` and `UNLOCK`, or other methods and addresses by the variables `STEAD_HTTP_…`. Such a server cannot refuse a late writer, so ledgers there are always strict: stead asks what became of a lost request. It cannot list its ledgers.",
        parse: parse_server,
    },
];

/// Returns the forms of locations, as help and messages show them.
pub fn location_patterns() -> impl Iterator<Item = &'static str> {
    FORMS.iter().map(|form| form.pattern)
}

/// Returns the forms of locations as a choice: `file:DIR, … or https://…`.
#[must_use]
pub fn describe_location_choice() -> String {
    join_list(&location_patterns().collect::<Vec<_>>(), "or")
}

impl LedgerLocation {
    /// Parses the location of a ledger, in one of the forms of the table. It does not check that the location exists.
    ///
    /// # Errors
    /// When the setting has no such form, or is plain HTTP to another machine. The error contains no password.
    pub fn parse(text: &str) -> Result<Self, LedgerLocationError> {
        let bad = |reason| LedgerLocationError { shown: without_password(text), reason };
        let form_of = |scheme| FORMS.iter().find(|form| form.schemes.contains(&scheme));
        let found = text.split_once(':').and_then(|(scheme, rest)| Some((form_of(scheme)?, rest)));
        let (form, rest) = found.ok_or_else(|| bad(format!("write {}", describe_location_choice())))?;
        (form.parse)(text, rest).map_err(|reason| bad(reason.to_owned()))
    }
}

impl std::fmt::Debug for LedgerLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LedgerLocation({self})")
    }
}

impl std::fmt::Display for LedgerLocation {
    /// Writes it in the notation of the settings, without a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Directory(directory) => write!(f, "file:{}", directory.display()),
            Self::S3 { bucket, prefix } if prefix.is_empty() => write!(f, "s3://{bucket}"),
            Self::S3 { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
            Self::Postgres(url) | Self::Http(url) => f.write_str(&without_password(url)),
        }
    }
}

fn parse_directory(_: &str, rest: &str) -> Result<LedgerLocation, &'static str> {
    if rest.is_empty() { Err("it names no directory") } else { Ok(LedgerLocation::Directory(rest.into())) }
}

fn parse_server(text: &str, rest: &str) -> Result<LedgerLocation, &'static str> {
    if text.starts_with("http:") && !is_loopback(rest) {
        return Err("plain http is for this machine only; use https");
    }
    Ok(LedgerLocation::Http(text.trim_end_matches('/').to_owned()))
}

fn parse_bucket(rest: &str) -> Result<LedgerLocation, &'static str> {
    let rest = rest.strip_prefix("//").ok_or("write s3://bucket/prefix")?;
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if bucket.is_empty() || !bucket.chars().all(legal) {
        return Err("a bucket's name holds letters, digits, `-`, `.` and `_`");
    }
    let prefix = prefix.trim_matches('/');
    if prefix.split('/').any(|part| part == ".." || part == "." || (part.is_empty() && !prefix.is_empty()))
    {
        return Err("its prefix has an empty segment, `.` or `..`");
    }
    Ok(LedgerLocation::S3 { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
}

fn is_loopback(rest: &str) -> bool {
    let authority = rest.trim_start_matches('/').split(['/', '?']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Returns an address without its password, for messages.
#[must_use]
pub fn without_password(text: &str) -> String {
    redact_address(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ledger_locations_are_parsed() {
        let s3 = |bucket: &str, prefix: &str| LedgerLocation::S3 {
            bucket: bucket.into(),
            prefix: prefix.into(),
        };
        for (text, wanted) in [
            ("file:/var/lib/stead", LedgerLocation::Directory("/var/lib/stead".into())),
            ("postgres://me@db/stead", LedgerLocation::Postgres("postgres://me@db/stead".into())),
            ("s3://bucket", s3("bucket", "")),
            ("s3://bucket/a/b/", s3("bucket", "a/b")),
            ("https://h/state/", LedgerLocation::Http("https://h/state".into())),
            ("http://127.0.0.1:80/s", LedgerLocation::Http("http://127.0.0.1:80/s".into())),
        ] {
            assert_eq!(LedgerLocation::parse(text), Ok(wanted));
        }
    }

    #[test]
    fn every_form_of_locations_is_described() {
        for form in FORMS {
            assert!(form.summary.ends_with('.') && form.needs.ends_with('.'), "{}", form.pattern);
        }
        assert_eq!(describe_location_choice(), "file:DIR, postgres://…, s3://bucket/prefix or https://…");
    }

    #[test]
    fn an_invalid_location_is_an_error_without_the_password() {
        for text in [
            "",
            "dir",
            "file:",
            "ftp://x",
            "s3:bucket",
            "s3://",
            "s3://b/../x",
            "s3://b/a//c",
            "http://example.com/x",
        ] {
            assert!(LedgerLocation::parse(text).is_err(), "{text}");
        }
        let error =
            LedgerLocation::parse("mysql://me:hunter2@host/db?password=hunter3").unwrap_err().to_string();
        assert!(error.contains("mysql://me@host/db") && !error.contains("hunter"), "{error}");
        let error = LedgerLocation::parse("http://me:hun@ter2@example.com/").unwrap_err().to_string();
        assert!(!error.contains("ter2"), "{error}");
        for text in ["postgres:me:hunter2@host/db", "postgres://me:hunter2@db/x?password=hunter2"] {
            let place = LedgerLocation::parse(text).unwrap();
            assert!(!format!("{place} {place:?}").contains("hunter2"), "{place}");
        }
        assert_eq!(without_password("postgres://me:a/b?c@db/x?password=d"), "postgres://me@…");
        assert_eq!(without_password("postgres://me:a/b@db/x?password=d"), "postgres://me@db/x");
        assert_eq!(without_password("postgres://me@db/x?password=a@b"), "postgres://me@…");
        assert_eq!(without_password("postgres://db/x?password=d"), "postgres://db/x");
    }
}
