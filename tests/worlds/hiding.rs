//! Variations that hide: lists that show little of each object, fields that no answer has, secrets that are masked, and
//! catalogs that are empty.

use serde_json::{Value as Json, json};

use crate::contract::Form;
use crate::layer::{Asked, Effect, Seen, Told, Variation};

/// Fields that no answer shows: `kind.field`.
const NEVER_SHOWN: &[&str] = &[
    "app.health_check_path",
    "app.port",
    "app.start_command",
    "backup_schedule.retention",
    "cluster.maintenance_start",
    "database.extensions",
    "database.storage_gb",
    "node_pool.labels",
    "node_pool.taints",
    "project.description",
    "serverless_function.memory_mb",
    "vm.console_require_mfa",
    "vm.ssh_key_ids",
    "volume.billing_type",
];

/// Secrets whose values are masked.
pub const SECRETS: &[&str] = &["app.env_vars", "serverless_function.env_vars"];

/// What a list has of an object in any case: it is known by these, and found by them.
const IN_LISTS: &[&str] = &["id", "name", "status", "project_id", "created_at", "updated_at"];

/// Roles that come with an account.
const BUILT_IN: &[&str] = &["owner", "admin", "developer", "viewer"];

/// What a stack takes from catalogs that need a key.
const CATALOGS: &[&str] = &[
    "/api/v1/databases/plans",
    "/api/v1/databases/engines",
    "/api/v1/k8s/node-plans",
    "/api/v1/k8s/versions",
    "/api/v1/apps/sizes",
];

fn as_asked(_: &mut Seen, _: &mut Asked) {}

const fn variation(
    name: &'static str,
    effect: Effect,
    tell: fn(&mut Seen, &Asked, &mut Told),
) -> Variation {
    Variation { name, effect, ask: as_asked, tell }
}

pub static VARIATIONS: &[Variation] = &[
    variation("lists show little", Effect::Representation, |_, asked, told| {
        in_lists(asked, told, |map, field| drop(map.remove(field)));
    }),
    variation("lists show null", Effect::Representation, |_, asked, told| {
        in_lists(asked, told, |map, field| {
            if let Some(value) = map.get_mut(field) {
                *value = Json::Null;
            }
        });
    }),
    variation("fields that nothing shows", Effect::Hides(NEVER_SHOWN), |_, asked, told| {
        told.records(asked, |of, record, _| {
            let Some(map) = record.as_object_mut() else { return };
            for (kind, field) in NEVER_SHOWN.iter().filter_map(|name| name.split_once('.')) {
                if kind == of.kind {
                    map.remove(field);
                }
            }
        });
    }),
    variation("masked secrets", Effect::Hides(SECRETS), |_, asked, told| {
        told.fields(asked, |field, value| {
            if let (Form::Secrets, Some(map)) = (field.form, value.as_object_mut()) {
                map.values_mut().for_each(|secret| *secret = "***".into());
            }
        });
    }),
    variation("no built-in roles", Effect::Refuses, |_, asked, told| {
        let Some(rows) = list_of(asked, told, "/api/v1/roles") else { return };
        rows.retain(|row| !row["slug"].as_str().is_some_and(|slug| BUILT_IN.contains(&slug)));
        let count = rows.len();
        told.body.as_mut().expect("a list")["total"] = json!(count);
    }),
    variation("empty catalogs", Effect::Refuses, |_, asked, told| {
        let is_catalog =
            asked.path.starts_with("/api/v1/public/") || CATALOGS.contains(&asked.path.as_str());
        if let Some(body) = told.body.as_mut().filter(|body| is_catalog && body["data"].is_array()) {
            body["data"] = json!([]);
            body["total"] = json!(0);
        }
    }),
];

/// Changes the fields of records in lists, where a read of one object shows them.
fn in_lists(asked: &Asked, told: &mut Told, change: impl Fn(&mut serde_json::Map<String, Json>, &str)) {
    told.records(asked, |of, record, listed| {
        let Some(map) = record.as_object_mut().filter(|_| listed && of.readable) else { return };
        let is_key = |name: &str| IN_LISTS.contains(&name) || name == of.id || name == of.name;
        for field in of.fields.iter().filter(|field| !is_key(field.name)) {
            change(map, field.name);
        }
    });
}

fn list_of<'t>(asked: &Asked, told: &'t mut Told, path: &str) -> Option<&'t mut Vec<Json>> {
    told.rows().filter(|_| asked.path == path)
}
