//! Reads what the key of a client may do: its record in the list of keys, its roles, and the rights that the service
//! lists. In: the key; out: `KeyAccess`. Keys that are listed, and what their records hold, are assumed: whatever the
//! service does not show, or shows in another form, is not known, and is no error.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join;
use jiff::Timestamp;
use serde_json::Value as Json;

use super::account::{API_KEYS_PATH, own_row};
use super::object_reader::ObjectReader;
use crate::cloud::http::message::Transport;
use crate::cloud::http::{decode, send};
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::live::key_access::KeyAccess;

const ROLES_PATH: &str = "/api/v1/roles";
const PERMISSIONS_PATH: &str = "/api/v1/permissions";

/// Maximum number of pages of one list: an account has few keys and roles.
const MAX_PAGES: usize = 50;

/// Reads what `key`, which this client uses, may do.
pub(in crate::cloud) async fn read_key_access<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    key: &str,
) -> KeyAccess {
    let keys = read_rows(reader, API_KEYS_PATH).await.unwrap_or_default();
    let Some(record) = own_row(&keys, key) else { return KeyAccess::default() };
    let (roles, listed) = join(read_rows(reader, ROLES_PATH), read_rows(reader, PERMISSIONS_PATH)).await;
    access_of(record, &roles.unwrap_or_default(), &listed.unwrap_or_default())
}

/// Returns all rows of a list; `None` if the service does not show it.
async fn read_rows<C: Transport, K: Clock, R: Random>(
    reader: &ObjectReader<C, K, R>,
    path: &str,
) -> Option<Vec<Json>> {
    let mut rows: Vec<Json> = Vec::new();
    for _ in 0..MAX_PAGES {
        let query =
            vec![("limit", reader.requests.page.get().to_string()), ("offset", rows.len().to_string())];
        let (json, _) = send::read(&reader.requests, path, query, None).await.ok()?;
        let page = decode::parse_page(json).ok()?;
        let is_last = page.rows.is_empty();
        rows.extend(page.rows);
        if is_last || page.total.is_none_or(|total| rows.len() as u64 >= total) {
            return Some(rows);
        }
    }
    None
}

fn access_of(record: &Json, roles: &[Json], listed: &[Json]) -> KeyAccess {
    let text = |row: &Json, name: &str| row.get(name).and_then(Json::as_str).map(Name::new);
    let rights = |role: &Json| -> Option<BTreeSet<Name>> {
        let rights = role.get("permissions")?.as_array()?.iter();
        rights.map(|right| right.as_str().map(Name::new)).collect()
    };
    let roles: BTreeMap<Name, BTreeSet<Name>> =
        roles.iter().filter_map(|role| Some((text(role, "id")?, rights(role)?))).collect();
    // A key without a role has no rights in the account.
    let role_of = |row: &Json| match row.get("role_id")? {
        Json::Null => Some(BTreeSet::new()),
        Json::String(id) => roles.get(id.as_str()).cloned(),
        _ => None,
    };
    let projects = record.get("project_accesses").and_then(Json::as_array).and_then(|accesses| {
        accesses.iter().map(|access| Some((text(access, "project_id")?, role_of(access)))).collect()
    });
    KeyAccess {
        expires_at: text(record, "expires_at").and_then(|at| at.parse::<Timestamp>().ok()),
        listed: listed.iter().filter_map(|right| text(right, "name")).collect(),
        account: role_of(record),
        projects,
        roles,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::live::key_access::{RightPlace, RightStatus};

    #[test]
    fn the_roles_of_a_key_give_its_rights() {
        let roles = [
            json!({"id": "r1", "permissions": ["a:read"]}),
            json!({"id": "r2", "permissions": ["a:write"]}),
        ];
        let listed = [json!({"name": "a:read"}), json!({"name": "a:write"})];
        let record = json!({"role_id": "r1", "expires_at": "2027-01-01T00:00:00Z",
            "project_accesses": [{"project_id": "p", "role_id": "r2"}, {"project_id": "q", "role_id": "gone"}]});
        let access = access_of(&record, &roles, &listed);
        assert_eq!(access.expires_at, "2027-01-01T00:00:00Z".parse().ok());
        let status =
            |right, project: &str| access.status(right, RightPlace::InProject(Some(&project.into())));
        assert_eq!(access.status("a:write", RightPlace::Account), RightStatus::Missing);
        assert_eq!(
            (status("a:write", "p"), status("a:read", "p")),
            (RightStatus::Held, RightStatus::Missing)
        );
        assert_eq!(status("a:read", "q"), RightStatus::Unknown, "its role is not shown");
    }

    #[test]
    fn records_in_another_form_give_no_rights_and_no_refusal() {
        for record in [
            json!({}),
            json!({"role_id": 7, "project_accesses": "none"}),
            json!({"role_id": "r1", "project_accesses": [7]}),
            json!({"role_id": "r1", "project_accesses": [{"project_id": null}]}),
        ] {
            let access = access_of(&record, &[json!({"id": "r1"}), json!(7)], &[json!({"name": "a:read"})]);
            assert_eq!(
                access.status("a:read", RightPlace::InProject(None)),
                RightStatus::Unknown,
                "{record}"
            );
            assert_eq!(access.status("a:read", RightPlace::Account), RightStatus::Unknown, "{record}");
        }
    }

    #[test]
    fn a_prefix_that_two_keys_share_identifies_none() {
        let rows = [
            json!({"key_prefix": "key_ab"}),
            json!({"key_prefix": "key_ab"}),
            json!({"key_prefix": "key_c"}),
        ];
        assert_eq!(own_row(&rows, "key_abcdef"), None);
        assert_eq!(own_row(&rows, "key_cdef"), Some(&rows[2]));
        assert_eq!(own_row(&rows, "key_zz"), None);
    }
}
