//! Random stacks of all kinds with references, and their edits.

use std::rc::Rc;

use stead::config::stack::model::Stack;
use stead::model::expression::Expression;
use stead::model::values::secret::Secret;
use stead::model::values::value::Value;

use super::super::machine::SimRandom;
use super::super::stack::{Builder, KEY, id, number, setting, text};
use super::schedule::STACKS;

/// What no output may show.
pub const CANARY: &str = "canary-3f1c";

/// One resource before it is built.
struct Draft {
    kind: &'static str,
    name: String,
    parent: Option<String>,
    attributes: Vec<(&'static str, Expression)>,
}

/// Returns the stack of a seed, and what its edits make of it.
pub fn stacks(seed: u64, size: usize) -> Vec<Rc<Stack>> {
    let chance = SimRandom::new(seed ^ 0x57AC);
    let mut stacks = vec![first(&chance, size)];
    while stacks.len() < STACKS {
        let last = stacks.last().unwrap();
        stacks.push(edited(last, &chance, stacks.len()));
    }
    stacks.into_iter().map(Rc::new).collect()
}

fn first(chance: &SimRandom, size: usize) -> Stack {
    let mut drafts = vec![Draft {
        kind: "project",
        name: "shop".to_owned(),
        parent: None,
        attributes: vec![("description", text("the shop"))],
    }];
    for n in 1..size.max(1) {
        let draft = draft(chance, n, &drafts);
        drafts.push(draft);
    }
    let builder = drafts.into_iter().fold(Builder::new(), |builder, draft| match draft.parent {
        Some(parent) => builder.child(draft.kind, &parent, "users", &draft.name),
        None => builder.with(draft.kind, &draft.name, &draft.attributes),
    });
    builder.build()
}

fn draft(chance: &SimRandom, n: usize, before: &[Draft]) -> Draft {
    let any = |kind: &str| {
        let all: Vec<&Draft> = before.iter().filter(|draft| draft.kind == kind).collect();
        (!all.is_empty()).then(|| format!("{kind}.{}", chance.pick(&all).name))
    };
    let mut attributes = Vec::new();
    let mut parent = None;
    // A VM has at most one of a frequency.
    let schedules = before.iter().filter(|draft| draft.kind == "backup_schedule").count();
    let kind = match chance.below(16) {
        0 | 1 => "ssh_key",
        2 | 3 => "vpc",
        4..=6 => "vm",
        11 | 12 if any("vm").is_some() && schedules < 2 => "backup_schedule",
        13 => "database",
        14 if any("database").is_some() => "database_user",
        // Seven of sixteen at least.
        _ => "volume",
    };
    match kind {
        "ssh_key" => attributes.push(("public_key", text(&format!("{KEY} k{n}")))),
        "vpc" => attributes.push(("cidr", text(&format!("10.{n}.0.0/16")))),
        "vm" => {
            attributes.extend([("template", text("ubuntu-24.04")), ("plan", text("std-1c-2g"))]);
            attributes.extend(any("vpc").filter(|_| chance.once_in(2)).map(|vpc| ("vpc", id(&vpc))));
            let key = any("ssh_key").map(|key| ("ssh_keys", Expression::List(vec![id(&key)])));
            attributes.extend(key);
            if chance.once_in(3) {
                attributes.push(("user_data", Expression::Value(Value::Secret(Secret::new(CANARY)))));
            }
            if chance.once_in(4) {
                attributes.push(("power", text("off")));
            }
        }
        "backup_schedule" => {
            attributes.extend([
                ("vm", id(&any("vm").unwrap())),
                ("frequency", text(if schedules > 0 { "daily" } else { "weekly" })),
            ]);
        }
        "database" => {
            attributes.push(("plan", text("pg-1c-2g")));
            attributes.extend(any("vpc").filter(|_| chance.once_in(2)).map(|vpc| ("vpc", id(&vpc))));
        }
        "database_user" => parent = any("database"),
        _ => {
            attributes.push(("size", number(5)));
            attributes.extend(any("vm").filter(|_| chance.once_in(2)).map(|vm| ("vm", id(&vm))));
        }
    }
    // Some share their name: then their creations could be taken for each other.
    if matches!(kind, "volume" | "vm") && chance.once_in(6) {
        attributes.push(("name", text("same")));
    }
    Draft { kind, name: format!("r{n}"), parent, attributes }
}

fn edited(before: &Stack, chance: &SimRandom, generation: usize) -> Stack {
    let mut stack = before.clone();
    let addresses: Vec<_> = stack.resources.keys().cloned().collect();
    for (n, address) in addresses.iter().enumerate() {
        let kind = stack.resources[address].kind.name;
        if !chance.once_in(3) {
            continue;
        }
        let grown = |step: i64| number(5 + i64::try_from(generation).unwrap() * step);
        let (name, value) = match kind {
            "project" => ("description", text(&format!("edit {generation}"))),
            "vpc" if chance.once_in(2) => {
                ("cidr", text(&format!("10.{}.0.0/16", 100 + 4 * n + generation)))
            }
            "vm" if chance.once_in(3) => {
                ("template", text(if chance.once_in(2) { "debian-13" } else { "ubuntu-24.04" }))
            }
            "vm" if chance.once_in(2) => ("plan", text("std-2c-4g")),
            "vm" => ("console_require_mfa", Expression::Value(Value::Bool(true))),
            "volume" => ("size", grown(5)),
            "backup_schedule" => ("retention", grown(1)),
            "database" => ("storage_gb", number(50 + 10 * i64::try_from(generation).unwrap())),
            "ssh_key" if chance.once_in(2) => ("public_key", text(&format!("{KEY} e{generation}"))),
            _ => continue,
        };
        stack.resources[address].attributes.insert(name.into(), setting(value));
    }
    remove_one(&mut stack, chance);
    stack
}

/// Removes a resource that nothing else names.
fn remove_one(stack: &mut Stack, chance: &SimRandom) {
    let named = |address: &str| {
        stack.resources.values().any(|resource| {
            let text = format!("{:?}", resource.attributes);
            resource.parent.as_ref().is_some_and(|parent| parent.as_str() == address)
                || text.contains(&format!("address: {address}, "))
        })
    };
    let free: Vec<_> = stack
        .resources
        .values()
        .filter(|resource| resource.kind.name != "project" && !named(resource.address.as_str()))
        .map(|resource| resource.address.clone())
        .collect();
    if !free.is_empty() && chance.once_in(2) {
        stack.resources.shift_remove(chance.pick(&free));
    }
}
