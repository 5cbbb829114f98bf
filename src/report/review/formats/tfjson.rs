//! The plan in the shape of Terraform's JSON, for tools that read it, such as policy checks and review bots.
//!
//! `before` and `after` contain only the attributes that differ. A resource of a child kind or of `for_each`
//! has its stead address.

use serde_json::{Map, Value as Json, json};

use crate::model::address::Address;
use crate::model::schema::Registry;
use crate::model::values::value::Value;
use crate::plan::model::change::{Action, AttributeChange, Change, Drift, PolicyStatus};
use crate::report::json::{JsonValue, to_pretty};
use crate::report::review::view::PlanReview;
use crate::report::text::phrases;

/// Version of Terraform's JSON format that the document follows; tools refuse another major version.
const FORMAT_VERSION: &str = "1.2";

/// Returns the plan in the shape of Terraform's JSON.
pub(super) fn tfjson_plan(of: &PlanReview<'_>) -> String {
    let plan = of.plan;
    let blocked = plan.is_blocked(&std::collections::BTreeSet::new());
    to_pretty(&json!({
        "format_version": FORMAT_VERSION,
        "applyable": !blocked && !plan.steps.is_empty(),
        "complete": true,
        "errored": false,
        "timestamp": plan.base.made_at.to_string(),
        "resource_changes": plan.changes.iter().map(tfjson_change).collect::<Vec<_>>(),
        "resource_drift": plan.drift.iter().map(|one| tfjson_drift(one, of.registry)).collect::<Vec<_>>(),
        "output_changes": {},
        "checks": of.plan.policy.iter().map(|ruling| json!({
            "address": {"kind": "check", "name": ruling.name, "to_display": format!("policy.{}", ruling.name)},
            "status": match ruling.verdict {
                PolicyStatus::Pass => "pass",
                PolicyStatus::Unknown => "unknown",
                _ => "fail",
            },
            "instances": ruling.address.iter().map(|address| json!({
                "address": {"to_display": address}, "problems": [{"message": ruling.message}],
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    }))
}

fn tfjson_change(change: &Change) -> Json {
    let (mut before, mut after, mut unknown) =
        (AttributeTree::default(), AttributeTree::default(), AttributeTree::default());
    let (mut hidden_before, mut hidden_after) = (AttributeTree::default(), AttributeTree::default());
    for attribute in &change.attributes {
        before.insert_at(&attribute.path, value_json(&attribute.before));
        if attribute.after.waits_for().is_empty() {
            after.insert_at(&attribute.path, value_json(&attribute.after));
        } else {
            unknown.insert_at(&attribute.path, true.into());
        }
        hidden_before.put_if(attribute.before.is_secret(), &attribute.path);
        hidden_after.put_if(attribute.after.is_secret(), &attribute.path);
    }
    let made = matches!(change.action, Action::Create);
    let gone = matches!(change.action, Action::Delete | Action::Forget);
    let mut entry = json!({
        "address": change.address,
        "mode": "managed",
        "type": change.kind,
        "name": resource_name(&change.address),
        "provider_name": "stead",
        "change": {
            "actions": tfjson_actions(change),
            "before": if made { Json::Null } else { before.into() },
            "after": if gone { Json::Null } else { after.into() },
            "after_unknown": Json::from(unknown),
            "before_sensitive": Json::from(hidden_before),
            "after_sensitive": Json::from(hidden_after),
        },
    });
    if let Some(was) = &change.was {
        entry["previous_address"] = was.address.as_str().into();
    }
    if change.action == Action::Adopt {
        entry["change"]["importing"] = json!({"id": change.id});
    }
    let forced: Vec<&AttributeChange> =
        change.attributes.iter().filter(|one| one.forces_replacement).collect();
    if !forced.is_empty() {
        let paths: Vec<Vec<&str>> = forced.iter().map(|one| one.path.splitn(2, '.').collect()).collect();
        entry["change"]["replace_paths"] = json!(paths);
        entry["action_reason"] = "replace_because_cannot_update".into();
    }
    entry
}

fn tfjson_actions(change: &Change) -> &'static [&'static str] {
    match (change.action, change.create_first) {
        (Action::Create, _) => &["create"],
        (Action::Update, _) => &["update"],
        (Action::Replace, Some(true)) => &["create", "delete"],
        (Action::Replace, _) => &["delete", "create"],
        (Action::Delete, _) => &["delete"],
        (Action::Forget, _) => &["forget"],
        (Action::Read, _) => &["read"],
        (Action::Adopt, _) if !change.steps.is_empty() => &["update"],
        (Action::Adopt | Action::Move, _) => &["no-op"],
    }
}

fn resource_name(address: &Address) -> &str {
    address.as_str().split_once('.').map_or(address.as_str(), |(_, name)| name)
}

/// Returns the kind of the resource at an address: that of the last child collection in it, else that of the block;
/// `None` if no segment is a kind.
fn kind_of(address: &Address, registry: Registry) -> Option<&'static str> {
    let segments: Vec<&str> = address.segments().collect();
    let is_block = |name: &&str| registry.top_level().any(|kind| kind.name == *name);
    let at = segments.iter().position(is_block)?;
    let mut kind = registry.kind(segments.get(at)?)?;
    // The segment after the kind is a name, even if it equals the name of a kind.
    for segment in segments.iter().skip(at + 2) {
        kind = registry.child(kind.name, segment).unwrap_or(kind);
    }
    Some(kind.name)
}

fn tfjson_drift(drift: &Drift, registry: Registry) -> Json {
    let (mut before, mut after) = (AttributeTree::default(), AttributeTree::default());
    if let Some(path) = &drift.path {
        before.insert_at(path, value_json(&drift.last_applied));
        after.insert_at(path, value_json(&drift.live));
    }
    let gone = drift.path.is_none();
    json!({
        "address": drift.address,
        "mode": "managed",
        "type": kind_of(&drift.address, registry).unwrap_or(drift.address.root()),
        "name": resource_name(&drift.address),
        "provider_name": "stead",
        "change": {
            "actions": [if gone { "delete" } else { "update" }],
            "before": Json::from(before),
            "after": if gone { Json::Null } else { after.into() },
        },
        "class": phrases::drift_class(drift.class),
    })
}

fn value_json(value: &Value) -> Json {
    serde_json::to_value(JsonValue(value)).unwrap_or(Json::Null)
}

/// Attributes by path, converted to nested JSON objects.
#[derive(Default)]
struct AttributeTree(Map<String, Json>);

impl AttributeTree {
    /// Sets the value at `attribute` or `attribute.key`; no effect on a key of an attribute that is no object. Only the
    /// first dot separates, because a key may contain dots.
    fn insert_at(&mut self, path: &str, value: Json) {
        let Some((attribute, key)) = path.split_once('.') else {
            self.0.insert(path.to_owned(), value);
            return;
        };
        let inner = self.0.entry(attribute).or_insert_with(|| Json::Object(Map::new()));
        if let Json::Object(inner) = inner {
            inner.insert(key.to_owned(), value);
        }
    }

    fn put_if(&mut self, wanted: bool, path: &str) {
        if wanted {
            self.insert_at(path, true.into());
        }
    }
}

impl From<AttributeTree> for Json {
    fn from(tree: AttributeTree) -> Self {
        Self::Object(tree.0)
    }
}
