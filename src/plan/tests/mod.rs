//! Tests of the plan, over a pure model of the world.

mod alone;
mod bill;
mod cycles;
mod declared;
mod diff;
mod due;
mod exposure;
mod expressions;
mod files;
mod finals;
mod forged;
mod generated;
mod guards;
mod invented;
mod laws;
mod moved_modules;
mod moves;
mod not_kept;
mod policy;
mod prices;
mod promises;
mod recovery;
mod removals;
mod revive;
mod succession;
mod words;
mod world;

use serde_json::json;

use super::model::change::{Action, Change, Plan};
use super::model::note::{NoteCode, PlanNote};
use super::model::step::Operation;
use crate::model::address::Address;
use crate::model::values::value::Value;
pub use world::World;

/// A plan in few words: a line for each change, one for each step, one for each block and drift.
pub fn show(plan: &Plan) -> String {
    let mut lines = Vec::new();
    for change in &plan.changes {
        let cause = format!("{:?}", change.cause).to_lowercase();
        let reason = change.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let was = change.was.as_ref().map(|was| format!(" was {}", was.address)).unwrap_or_default();
        lines.push(format!("{} {}{was} {cause}{reason}", sign(change), change.address));
        for attribute in change.attributes.iter().filter(|_| change.action != Action::Create) {
            let forces = if attribute.forces_replacement { " !" } else { "" };
            lines
                .push(format!("    {} {} → {}{forces}", attribute.path, attribute.before, attribute.after));
        }
    }
    for (number, step) in plan.steps.iter().enumerate() {
        let what = match &step.operation {
            Operation::Create { .. } => "create".to_owned(),
            Operation::Update { calls, .. } => {
                calls.iter().map(|call| call.call.as_str()).collect::<Vec<_>>().join(" + ")
            }
            Operation::Delete { object, .. } => format!("delete {}", object.id),
        };
        lines.push(format!("{number} {} {what} after {:?}", step.address, step.after));
    }
    for drift in &plan.drift {
        let path = drift.path.as_ref().map(|path| format!(".{path}")).unwrap_or_default();
        let (before, now, class) = (&drift.last_applied, &drift.live, drift.class);
        lines.push(format!("≠ {}{path} {before} → {now} {class:?}", drift.address));
    }
    // The worlds of these tests agree to every replacement and deletion beforehand.
    let is_shown = |note: &&PlanNote| !matches!(note.code, NoteCode::NotReplaced | NoteCode::NotDeleted);
    let notes = plan.notes.iter().filter(is_shown);
    lines.extend(notes.map(|note| format!("i {} | {}", note.text, note.help)));
    lines.extend(plan.blocks.iter().map(|block| format!("! {}: {}", block.code, block.text)));
    lines.join("\n")
}

fn sign(change: &Change) -> &'static str {
    match (change.action, change.create_first) {
        (Action::Replace, Some(true)) => "+/-",
        (Action::Replace, _) => "-/+",
        (Action::Delete, _) => "-",
        (Action::Update, _) => "~",
        (Action::Create, _) => "+",
        (Action::Adopt, _) => "<",
        (Action::Forget, _) => "x",
        (Action::Move, _) => ">",
        (Action::Read, _) => "?",
    }
}

/// The differences of all changes but creations.
pub fn changes(plan: &Plan) -> Vec<String> {
    let lines = show(plan);
    lines.lines().filter_map(|line| line.strip_prefix("    ").map(str::to_owned)).collect()
}

/// A network, a machine in it, its volume, its schedule, and a database with a user.
pub fn shop() -> World {
    let mut world = World::new();
    world
        .write("project.shop", json!({}))
        .write("vpc.main", json!({"cidr": "10.20.0.0/16"}))
        .write("vm.web", json!({"template": "ubuntu-22.04", "plan": "small", "vpc": "$vpc.main"}))
        .write("volume.media", json!({"size": 100, "vm": "$vm.web"}))
        .write("backup_schedule.nightly", json!({"vm": "$vm.web", "frequency": "daily"}))
        .write(
            "database.main",
            json!({"plan": "pg-1", "engine": "postgres", "storage_gb": 40, "vpc": "$vpc.main", "public_allowlist": []}),
        )
        .write("database.main.users.reporting", json!({}));
    world.stack.project = Some(Address::new("project", "shop"));
    world
}

/// Puts the live text of what a call only carries along in the place of its seal.
fn with_what_stays(after: Value, live: Option<&Value>) -> Value {
    let (Value::Map(mut map), Some(Value::Map(live))) = (after.clone(), live) else { return after };
    for (key, part) in &mut map {
        let sealed = matches!(part, Value::Secret(secret) if secret.expose().is_none());
        if let (true, Some(live)) = (sealed, live.get(key)) {
            *part = live.clone();
        }
    }
    Value::Map(map)
}

/// Puts what is written in the place of its seals.
fn with_written(planned: Value, written: Value) -> Value {
    match (planned, written) {
        (Value::Map(mut all), Value::Map(written)) => {
            all.extend(written);
            Value::Map(all)
        }
        (_, written) => written,
    }
}
