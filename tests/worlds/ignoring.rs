//! Variations that ignore or rewrite what is sent: a creation leaves a field out that a call of its own sets, or no
//! request sets it at all. A client must say so, and neither call it done nor make another object for it.

use serde_json::Value as Json;
use stead::model::schema::Method;

use crate::layer::{Asked, Effect, Seen, Told, Variation};

/// Fields that a call sets, too: `kind.field`.
const SET_BY_A_CALL: &[&str] = &[
    "vm.console_require_mfa",
    "volume.vm_id",
    "backup_schedule.hour",
    "backup_schedule.retention",
    "backup_schedule.enabled",
    "app.description",
    "app.health_check_path",
    "app.port",
    "app.start_command",
    "node_pool.labels",
    "node_pool.taints",
    "project.description",
    "serverless_function.memory_mb",
    "serverless_function.timeout_seconds",
];

const NEVER_KEPT: &[&str] = &[
    "api_key.expires_at",
    "app.start_command",
    "backup_schedule.retention",
    "node_pool.labels",
    "project.description",
    "serverless_function.memory_mb",
    "vm.console_require_mfa",
];

const REWRITTEN: &[&str] = &["app.description", "app.start_command", "project.description"];

fn as_told(_: &mut Seen, _: &Asked, _: &mut Told) {}

pub static VARIATIONS: &[Variation] = &[
    Variation {
        name: "creations ignore what a call sets",
        effect: Effect::Timing,
        ask: |_, asked| {
            if asked.is_create() {
                leave_out(asked, SET_BY_A_CALL);
            }
        },
        tell: as_told,
    },
    Variation {
        name: "values are never kept",
        effect: Effect::Ignores(NEVER_KEPT),
        ask: |_, asked| {
            leave_out(asked, NEVER_KEPT);
            // The service takes a change of nothing.
            if asked.method == Method::Patch && asked.body.as_ref().is_some_and(is_empty) {
                (asked.method, asked.body) = (Method::Get, None);
                if asked.path.ends_with("/console-policy") {
                    asked.path = asked.path.replace("/console-policy", "");
                }
            }
        },
        tell: as_told,
    },
    Variation {
        name: "texts are rewritten",
        effect: Effect::Ignores(REWRITTEN),
        ask: |_, asked| {
            let fields = sent_fields(asked, REWRITTEN);
            let Some(body) = asked.body.as_mut().and_then(Json::as_object_mut) else { return };
            for field in fields {
                if let Some(text) = body.get(field).and_then(Json::as_str) {
                    let text = text.to_uppercase();
                    body.insert(field.to_owned(), text.into());
                }
            }
        },
        tell: as_told,
    },
];

fn is_empty(body: &Json) -> bool {
    body.as_object().is_some_and(serde_json::Map::is_empty)
}

/// Returns the fields of a list that a request may carry.
fn sent_fields(asked: &Asked, fields: &[&'static str]) -> Vec<&'static str> {
    let Some(target) = asked.target.as_ref().filter(|_| asked.method.mutates()) else { return Vec::new() };
    let of = fields.iter().filter_map(|field| field.split_once('.'));
    of.filter(|(kind, _)| *kind == target.of.kind).map(|(_, field)| field).collect()
}

fn leave_out(asked: &mut Asked, fields: &[&'static str]) {
    let fields = sent_fields(asked, fields);
    if let Some(body) = asked.body.as_mut().and_then(Json::as_object_mut) {
        for field in fields {
            body.remove(field);
        }
    }
}
