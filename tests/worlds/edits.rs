//! Edits by others of every declared attribute, those that a replacement alone can take back included: another value
//! that the world's own record takes. Plan and drift name each, and nothing else.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::{Value as Json, json};
use stead::kinds::REGISTRY;
use stead::plan::model::change::{Action, AttributeChange, Cause, Change, Plan};

use crate::contract::collection;
use crate::disaster::Outside;
use crate::generate::generate;
use crate::truth::{Objects, record, rows};
use crate::written::{Attr, Block, Truth, Written};

/// An edit: the block, its attribute, and what it stands at now.
pub type Edited = (Block, Attr, Truth);

/// An id that no object has.
const NO_OBJECT: &str = "00000000-0000-4000-8000-000000000001";

/// Attributes that no generated stack writes, with the reason.
const NOT_WRITTEN: &[(&str, &str)] = &[
    ("app.autoscaling", "the contract shows its parts as fields of their own: tests/simulation has it"),
    ("cluster.worker_plan", "creation makes a pool of it, and no answer shows it"),
    ("project_member.member", "people are members of an account, and no stack makes one"),
];

/// Returns an edit of every declared attribute of a stack that has another value.
pub fn of_all(outside: &Rc<Outside>, objects: &Objects, written: &Written) -> Vec<(Edited, Json)> {
    let mut edited = Vec::new();
    for block in &written.blocks {
        if record(outside, objects, block).is_none() {
            continue;
        }
        for attr in block.attributes.iter().filter(|attr| !attr.unwritten) {
            // A child that is known by its name is another one under another name.
            // An account whose cap is off has no settings: that object is gone.
            if attr.name == "enabled" && block.kind == "spend_settings" {
                continue;
            }
            let is_name = collection(block.kind).is_some_and(|of| of.id == attr.field);
            let Some((value, truth)) = other(outside, block, attr).filter(|_| !is_name) else { continue };
            edited.push(((block.clone(), attr.clone(), truth), value));
        }
    }
    edited
}

/// Returns another value of an attribute, and what it stands at then; `None` for what no answer tells.
fn other(outside: &Rc<Outside>, block: &Block, attr: &Attr) -> Option<(Json, Truth)> {
    let is = |value: Json| Some((value.clone(), Truth::Is(value)));
    match &attr.truth {
        Truth::Is(Json::Bool(flag)) => is(json!(!flag)),
        Truth::Is(Json::String(text)) => is(json!(other_text(attr.name, text))),
        Truth::Untold | Truth::Is(_) => None,
        // What grew and only grows stays: that is drift, and no plan takes it back.
        Truth::Number(number) => Some((json!(number - 1), Truth::Number(number - 1))),
        Truth::IdOf(_) => {
            let fields = collection(block.kind)?.fields;
            let optional = fields.iter().any(|field| field.name == attr.field && field.optional);
            is(if optional { Json::Null } else { json!(NO_OBJECT) })
        }
        Truth::IdsOf(_) => is(json!([])),
        Truth::Catalog(path, word) => {
            let has = |row: &Json| ["slug", "version"].iter().any(|key| row[*key].as_str() == Some(word));
            let live = rows(outside, path);
            is(live.iter().find(|row| !has(row) && !row["id"].is_null())?["id"].clone())
        }
        Truth::SetOf(members) => Some((json!([members[0]]), Truth::SetOf(vec![members[0]]))),
        Truth::Has(map) => {
            let key = map.as_object()?.keys().next()?;
            let theirs = json!({ key: if key == "maxmemory-policy" { "noeviction" } else { "theirs" } });
            Some((theirs.clone(), Truth::Has(theirs)))
        }
        Truth::Instant(_) => Some((json!("2031-01-01T00:00:00Z"), Truth::Instant("2031-01-01T00:00:00Z"))),
    }
}

fn other_text(name: &str, text: &str) -> String {
    let other = match (name, text) {
        ("cidr", _) => "10.250.0.0/16",
        ("power", "active") => "stopped",
        ("power", _) => "active",
        ("frequency", "daily") => "weekly",
        ("frequency", _) => "daily",
        ("engine", _) => "mysql",
        ("billing_type", _) => "subscription",
        ("type", "worker") => "private",
        ("type", _) => "worker",
        ("runtime", _) => "node20",
        ("upgrade_mode", _) => "manual",
        ("maintenance_start", _) => "05:00",
        ("cap_action", _) => "pause",
        ("email", _) => "theirs@example.com",
        ("domain", _) => "theirs.example.com",
        ("cron_schedule", _) => "0 5 1 1 *",
        ("public_key", _) => {
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3mKKLlbVBFvrD9eKLmSTG9CkzTgUKPhTO1DNyuE5x7 theirs"
        }
        _ => return format!("{text}x"),
    };
    other.to_owned()
}

/// Returns whether a line is about a value that no block writes, and that a replaced object does not have any more.
pub fn is_lost_with_object(change: &Change, line: &AttributeChange) -> bool {
    change.action == Action::Replace && line.source.is_none()
}

/// Returns what a plan leaves out or makes up after edits of everything. An edit that is hidden may be seen.
pub fn wrong(
    plan: &Plan,
    edits: &[Edited],
    is_hidden: impl Fn(&Edited) -> bool,
    drifts: &[(String, String)],
) -> Vec<String> {
    let top = |path: &str| path.split('.').next().unwrap_or_default().to_owned();
    let edit_of = |address: &str, path: &str| {
        edits.iter().find(|(block, attr, _)| block.address == address && attr.name == top(path))
    };
    let in_drift: BTreeSet<(String, String)> =
        drifts.iter().map(|(address, path)| (address.clone(), top(path))).collect();
    let lines =
        plan.changes.iter().flat_map(|change| change.attributes.iter().map(move |line| (change, line)));
    let in_plan: BTreeSet<(String, String)> = lines
        .filter(|(change, line)| !is_lost_with_object(change, line))
        .filter(|(change, line)| {
            // What it refers to is replaced, too: that is the cause then.
            let edit = edit_of(change.address.as_str(), &line.path);
            matches!(line.cause, Cause::Drift) || edit.is_some_and(|(_, attr, _)| attr.is_reference())
        })
        .map(|(change, line)| (change.address.to_string(), top(&line.path)))
        .collect();
    let mut found = Vec::new();
    for (what, told) in [("drift", &in_drift), ("plan", &in_plan)] {
        for (block, attr, _) in edits.iter().filter(|edit| !is_hidden(edit)) {
            if !told.contains(&(block.address.clone(), attr.name.to_owned())) {
                found.push(format!("the {what} does not have {}.{}", block.address, attr.name));
            }
        }
        for (address, name) in told.iter().filter(|(address, name)| edit_of(address, name).is_none()) {
            found.push(format!("the {what} has {address}.{name}"));
        }
    }
    found
}

#[test]
fn every_writable_attribute_is_written_and_edited_by_some_stack() {
    let mut written: BTreeSet<String> = BTreeSet::new();
    for number in 0..400 {
        for block in generate(number).blocks {
            let names = block.attributes.iter().filter(|attr| !attr.unwritten);
            written.extend(names.map(|attr| format!("{}.{}", block.kind, attr.name)));
        }
    }
    let mut missing = Vec::new();
    for kind in REGISTRY.kinds {
        let names =
            kind.attributes.iter().filter(|attribute| attribute.is_writable() && attribute.is_readable());
        for name in names.map(|attribute| format!("{}.{}", kind.name, attribute.name)) {
            if !written.contains(&name) && !NOT_WRITTEN.iter().any(|(known, _)| *known == name) {
                missing.push(name);
            }
        }
    }
    assert!(missing.is_empty(), "no stack writes {missing:?}");
}
