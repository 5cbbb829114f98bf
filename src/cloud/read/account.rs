//! `AccountInfo`: the permissions and the account of the key that a client uses, and the service's clock.
//!
//! The specification documents how keys are made, and what their records hold; that they can be listed
//! is assumed. A service that does not tell is no error.

use serde_json::Value as Json;

use super::object_project::project_kind;
use super::object_reader::ObjectReader;
use super::refresh::read_snapshot;
use crate::cloud::error::ReadError;
use crate::cloud::http::message::Transport;
use crate::cloud::http::{decode, send};
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::snapshot::RefreshRequest;

/// The path of the list of keys.
pub(super) const API_KEYS_PATH: &str = "/api/v1/api-keys";

/// Minimum length of a prefix that identifies a key.
const MIN_PREFIX_CHARS: usize = 4;

/// The service's information about an API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountInfo {
    /// The default project: every account has one, and it cannot be deleted.
    pub default_project: Option<Name>,
    /// Requests per second that the client assumes the service admits; responses with rate limit headers correct it.
    pub rate: u32,
    /// The key's record, where the service shows it.
    pub key: Option<ApiKeyRecord>,
}

/// The record of an API key. It does not contain the key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApiKeyRecord {
    /// The display name of the key; `None` if it has none.
    pub name: Option<String>,
    /// The leading part of the key.
    pub prefix: String,
    /// The account that it is bound to.
    pub account: Option<String>,
    /// The tier of the rate limit: `standard` or `high`.
    pub tier: Option<String>,
    /// The expiry time; `None` for a key without one.
    pub expires_at: Option<String>,
    /// Its role in the account.
    pub role: Option<String>,
    /// The short name of that role.
    pub role_slug: Option<String>,
    /// Its purpose, as the service calls it.
    pub scope: Option<String>,
    /// Whether the key gives access.
    pub active: Option<bool>,
    /// Projects that it may access, each with its role there; `None` if the service does not show them.
    pub projects: Option<Vec<(String, Option<String>)>>,
}

/// Reads the information on `key`, which this client uses.
///
/// # Errors
/// When the service refuses the key or does not answer.
pub(in crate::cloud) async fn read_account<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    key: &str,
) -> Result<AccountInfo, ReadError> {
    // A refresh always reads the list of projects, which proves that the key is valid.
    let snapshot = read_snapshot(reader, &RefreshRequest::default()).await?;
    let query = vec![("limit", reader.requests.page.get().to_string()), ("offset", "0".to_owned())];
    let record = match send::read(&reader.requests, API_KEYS_PATH, query, None).await {
        Ok((json, _)) => decode::parse_page(json).ok().and_then(|page| record_of(&page.rows, key)),
        // Not visible to this key, or not supported.
        Err(ReadError::Refused { .. }) => None,
        Err(error) => return Err(error),
    };
    Ok(AccountInfo {
        default_project: snapshot.default_project,
        rate: reader.requests.keyed.rate(),
        key: record,
    })
}

/// Returns by how many seconds this machine's clock is ahead of the service's; `None` where the service
/// does not tell its time.
///
/// # Errors
/// When the service refuses the read or does not answer.
pub(in crate::cloud) async fn clock_skew<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
) -> Result<Option<i64>, ReadError> {
    let Some(kind) = project_kind(reader.registry) else { return Ok(None) };
    let query = vec![("limit", "1".to_owned()), ("offset", "0".to_owned())];
    let (_, date) = send::read(&reader.requests, kind.api.list.path, query, None).await?;
    let there = date.and_then(|date| jiff::fmt::rfc2822::parse(&date).ok()).map(|time| time.timestamp());
    Ok(there.map(|there| reader.requests.clock.now().as_second() - there.as_second()))
}

/// Returns the prefix that a record shows, if the key begins with it.
fn key_prefix(row: &Json, key: &str) -> Option<String> {
    // Some services mark the omitted part: `abcd…`.
    let shown = row.get("key_prefix")?.as_str()?.trim_end_matches(['.', '…', '*']);
    let fits = shown.len() >= MIN_PREFIX_CHARS && shown.len() < key.len() && key.starts_with(shown);
    fits.then(|| shown.to_owned())
}

/// Returns the row of a key among many: the one with the longest matching prefix. `None` if none fits, or several do.
pub(super) fn own_row<'r>(rows: &'r [Json], key: &str) -> Option<&'r Json> {
    let found: Vec<(&Json, usize)> =
        rows.iter().filter_map(|row| Some((row, key_prefix(row, key)?.len()))).collect();
    let longest = found.iter().map(|(_, length)| *length).max()?;
    let mut best = found.into_iter().filter(|(_, length)| *length == longest).map(|(row, _)| row);
    let first = best.next()?;
    best.next().is_none().then_some(first)
}

/// Returns the record of a key among many; `None` if none fits, or several do.
fn record_of(rows: &[Json], key: &str) -> Option<ApiKeyRecord> {
    let text = |row: &Json, name: &str| {
        let text = row.get(name)?.as_str()?;
        (!text.is_empty() && text.len() <= 128).then(|| text.to_owned())
    };
    let row = own_row(rows, key)?;
    let prefix = key_prefix(row, key)?;
    Some(ApiKeyRecord {
        name: text(row, "name"),
        prefix,
        account: text(row, "account_id"),
        tier: text(row, "rate_limit_tier"),
        expires_at: text(row, "expires_at"),
        role: text(row, "role_name"),
        role_slug: text(row, "role_slug"),
        scope: text(row, "scope"),
        active: row.get("is_active").and_then(Json::as_bool),
        projects: row.get("project_accesses").and_then(Json::as_array).map(|accesses| {
            let project =
                |access: &Json| text(access, "project_name").or_else(|| text(access, "project_id"));
            accesses
                .iter()
                .filter_map(|access| Some((project(access)?, text(access, "role_name"))))
                .collect()
        }),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_is_identified_by_its_prefix_and_never_printed() {
        let rows = [
            json!({"key_prefix": "key_", "name": "short"}),
            json!({"key_prefix": "key_ab12...", "name": "ours", "account_id": "a1", "expires_at": "2027-01-01T00:00:00Z"}),
            json!({"key_prefix": "key_zz", "name": "other"}),
            json!({"key_prefix": 7}),
            json!({}),
        ];
        let found = record_of(&rows, "key_ab12canary").unwrap();
        assert_eq!((found.prefix.as_str(), found.name.as_deref()), ("key_ab12", Some("ours")));
        assert_eq!(found.expires_at.as_deref(), Some("2027-01-01T00:00:00Z"));
        assert!(!format!("{found:?}").contains("canary"));
        // Which of two keys with one prefix it is, is not known.
        let both =
            [json!({"key_prefix": "key_ab", "name": "a"}), json!({"key_prefix": "key_ab", "name": "b"})];
        assert_eq!(record_of(&both, "key_ab12canary"), None);
        // A whole key in place of a prefix is no prefix: it would be shown.
        assert_eq!(record_of(&[json!({"key_prefix": "key_ab12canary"})], "key_ab12canary"), None);
        assert_eq!(record_of(&[json!({"key_prefix": "k"})], "key_ab12canary"), None);
    }
}
