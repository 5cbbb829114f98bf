//! A law over generated stacks, roles and keys: an apply whose key has all rights by the table is refused nothing by the
//! service, and one whose key lacks a right would be refused something. The plan that such a key makes an hour later, for another
//! actor and on another branch, has the fingerprint of the owner's.
//!
//! `STEAD_KEYS` says how many (40), `STEAD_KEY` takes one of them by its number.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use stead::cloud::client::Client;
use stead::config::stack::model::Stack;
use stead::emulator::world::{self, World, handle_request};
use stead::kinds::REGISTRY;
use stead::ledger::journal::replay::load_ledger;
use stead::model::address::Name;
use stead::model::live::key_access::KeyAccess;
use stead::model::schema::Method;
use stead::plan::annotate::rights::{RightsReview, gone_objects, review_rights};
use stead::plan::artifact::difference::{PlanSide, compare_plans};
use stead::plan::inputs::PlanningOptions;
use stead::plan::model::change::Plan;
use stead::plan::pipeline::refresh_request;

use crate::cloud::{KEY, SimCloud, meddle};
use crate::disaster::Outside;
use crate::generated::{enrich, generate};
use crate::loading::{loaded, seed};
use crate::machine::{SimClock, SimRandom};
use crate::process::{Aim, beginning, listed, planning, process};

/// What became of the keys.
#[derive(Debug, Default)]
struct Judged {
    /// The key has all rights, and nothing was refused.
    allowed: usize,
    /// The key lacks a right, and the service refuses it, too.
    refused: usize,
    /// The key may not even read what a plan needs.
    unread: usize,
    /// It is not known whether the key has a right.
    unknown: usize,
    /// The plan of this key has the fingerprint of the plan that the owner's key made an hour before.
    same: usize,
}

/// Policies over the time, the actor and the branch: each of them denies one of the two plans, and lets the other pass.
const POLICIES: &str = "policy:\n  of_actor: { level: advisory, deny: \"${actor.startsWith('eve')}\", message: Not eve. }\n  \
    of_branch: { deny: \"${branch == 'main'}\", message: Not main. }\n  \
    of_laptop: { level: advisory, deny: \"${actor == 'ada@laptop'}\", message: Not a laptop. }\n";

/// The key with which requests are sent; that of the owner at first.
type CurrentKey = Rc<RefCell<String>>;

/// Replaces the owner's key in every request by the current one.
fn use_keys(outside: &Outside) -> CurrentKey {
    let current: CurrentKey = Rc::new(RefCell::new(KEY.to_owned()));
    let used = Rc::clone(&current);
    *outside.service.borrow_mut() = Box::new(move |world: &mut World, request: &world::ApiRequest, now| {
        let api_key = Some(used.borrow().clone());
        handle_request(world, &world::ApiRequest { api_key, ..request.clone() }, now)
    });
    current
}

/// Rights of a role, each given with some probability. What shows the key its own rights is always among them.
fn rights(outside: &Outside, chance: &SimRandom, in_account: bool) -> Vec<Json> {
    let generous = chance.once_in(3);
    let all = listed(outside, "/api/v1/permissions");
    let names = all.iter().map(|row| row["name"].as_str().unwrap().to_owned());
    let shows_itself = ["api_keys:read", "members:read", "projects:read"];
    let given = names.filter(|name| {
        (in_account && shows_itself.contains(&name.as_str()))
            || generous && !chance.once_in(12)
            || !chance.once_in(4)
    });
    given.map(Json::from).collect()
}

fn make_role(outside: &Outside, chance: &SimRandom, name: &str, in_account: bool) -> Json {
    if chance.once_in(3) {
        let built_in = listed(outside, "/api/v1/roles");
        return chance.pick(&built_in)["id"].clone();
    }
    let permissions = rights(outside, chance, in_account);
    let body = json!({"name": name, "permissions": permissions});
    meddle(outside, Method::Post, "/api/v1/roles", None, body)["data"]["id"].clone()
}

/// Creates a key with a role, and sometimes with access to particular projects. Returns its secret.
fn make_key(outside: &Outside, chance: &SimRandom) -> String {
    let role = make_role(outside, chance, "account role", true);
    let body = json!({"name": "limited", "role_id": role});
    let key = meddle(outside, Method::Post, "/api/v1/api-keys", None, body)["data"].clone();
    if chance.once_in(2) {
        for project in listed(outside, "/api/v1/projects") {
            if chance.once_in(3) {
                continue;
            }
            let role = make_role(outside, chance, "project role", false);
            let path = format!("/api/v1/projects/{}/members", project["id"].as_str().unwrap());
            meddle(outside, Method::Post, &path, None, json!({"api_key_id": key["id"], "role_id": role}));
        }
    }
    key["secret"].as_str().unwrap().to_owned()
}

/// Reads what the current key may do; `None` if it may not read what a plan needs.
fn access(outside: &Rc<Outside>, aim: &Aim, key: &str) -> Option<KeyAccess> {
    let machine = Rc::clone(&outside.machine);
    let read = async {
        let clock = SimClock(Rc::clone(&outside.machine));
        let client = Client::new(SimCloud(Rc::clone(outside)), clock, SimRandom::new(3), REGISTRY);
        let ledger = load_ledger(outside.records.borrow().iter().cloned()).unwrap();
        let options = PlanningOptions { destroy: aim.destroy, ..PlanningOptions::default() };
        let (wanted, tables) = refresh_request(REGISTRY, &aim.stack, &ledger, &options);
        client.refresh(&wanted).await.ok()?;
        client.catalog(&tables).await.ok()?;
        Some(client.read_key_access(key).await)
    };
    machine.run(read).unwrap()
}

/// Checks that two plans have one fingerprint; the error says what differs.
fn check_same(before: &Plan, plan: &Plan) -> Result<(), String> {
    if !plan.fingerprint.is_empty() && plan.fingerprint == before.fingerprint {
        return Ok(());
    }
    let side = |plan| PlanSide { plan, ledger: "", stead_version: "" };
    Err(format!("the fingerprints differ: {:#?}", compare_plans(side(before), side(plan)).unwrap()))
}

/// Checks that plans of other keys have the fingerprint of an earlier one, also that of another actor on a branch that a
/// policy denies.
fn check_decides_the_same(before: &Plan, plan: &Plan, theirs: &Plan) -> Result<(), String> {
    check_same(before, plan)?;
    check_same(before, theirs)?;
    let is_denied = |plan: &Plan| plan.blocks.iter().any(|block| block.text.contains("Not main."));
    if !is_denied(theirs) || is_denied(before) {
        return Err("the policies do not decide by the branch".to_owned());
    }
    Ok(())
}

/// Returns what the key does: it creates the stack, changes it, or deletes it.
fn choose_aim(outside: &Rc<Outside>, chance: &SimRandom, (built, edited): (Stack, Stack)) -> Aim {
    let mut aim = match chance.below(3) {
        0 => Aim::build(built),
        1 => {
            process(outside, &Aim::build(built), seed(outside)).unwrap();
            Aim::build(edited)
        }
        _ => {
            process(outside, &Aim::build(built.clone()), seed(outside)).unwrap();
            Aim::destroy(built)
        }
    };
    let copies = aim.stack.resources.values().filter(|resource| resource.attributes.contains_key("vm"));
    aim.replace = copies.filter(|copy| copy.kind.data_bearing).map(|copy| copy.address.clone()).collect();
    aim
}

fn law(number: u64, judged: &mut Judged) -> Result<(), String> {
    let texts = [0, 1].map(|edit| format!("{}{POLICIES}", generate(number, edit)));
    let stack = |text: &String| loaded(text).map(|(stack, _)| stack).unwrap();
    let (built, edited) = (stack(&texts[0]), stack(&texts[1]));
    let outside = Rc::new(beginning(&built));
    enrich(&outside)?;
    let current = use_keys(&outside);
    let chance = SimRandom::new(number ^ 0x5EC_0DE);
    let mut aim = choose_aim(&outside, &chance, (built, edited));
    let key = make_key(&outside, &chance);
    aim.actor = "ada@laptop".into();
    let before = planning(&outside, &aim, seed(&outside));
    current.replace(key.clone());
    let Some(access) = access(&outside, &aim, &key) else {
        judged.unread += 1;
        return Ok(());
    };
    // The same plan an hour later, by another key and another actor: what it decides is the same.
    outside.machine.skip(Duration::from_hours(1));
    (aim.actor, aim.branch) = ("eve@ci".into(), "main".into());
    let theirs = planning(&outside, &aim, seed(&outside));
    // Without the denial of that branch, the plan can be applied.
    (aim.actor, aim.branch) = ("ada@laptop".into(), Name::default());
    let plan = planning(&outside, &aim, seed(&outside));
    let ledger = load_ledger(outside.records.borrow().iter().cloned()).unwrap();
    // What a key may not read is gone for it, which no answer of the service shows.
    let lacks = review_rights(&before, &ledger, REGISTRY, &access).missing;
    let sees_all = gone_objects(&plan).eq(gone_objects(&before));
    if sees_all && !lacks.iter().any(|needing| needing.needed.right.ends_with(":read")) {
        check_decides_the_same(&before, &plan, &theirs)
            .map_err(|why| format!("{why}\n{}\n# then\n{}", texts[0], texts[1]))?;
        judged.same += 1;
    }
    if !plan.blocks.is_empty() || plan.steps.is_empty() {
        judged.unread += 1;
        return Ok(());
    }
    let RightsReview { missing, unknown } = review_rights(&plan, &ledger, REGISTRY, &access);
    // Objects that the key cannot see are taken for gone: no request would show that they are not.
    if missing.iter().any(|needing| !needing.gone.is_empty()) {
        judged.unread += 1;
        return Ok(());
    }
    outside.refusals.take();
    process(&outside, &aim, seed(&outside)).unwrap();
    let refusals = outside.refusals.take();
    let denied: Vec<&String> =
        refusals.iter().filter(|text| text.contains(" 403 ") || text.contains(" 404 ")).collect();
    let story = |what: &str| {
        Err(format!(
            "{what}: missing {missing:?}, unknown {unknown:?}, {denied:#?}\n{access:?}\n{}\n# then\n{}",
            texts[0], texts[1]
        ))
    };
    match (missing.is_empty(), denied.is_empty()) {
        (true, true) => judged.allowed += 1,
        (false, false) => judged.refused += 1,
        (true, false) if !unknown.is_empty() => judged.unknown += 1,
        (true, false) => return story("the apply began and was refused"),
        (false, true) => return story("the key is refused although the service allows all"),
    }
    Ok(())
}

#[test]
fn a_key_is_refused_exactly_where_the_service_would_refuse_it() {
    let read = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let numbers = match read("STEAD_KEY") {
        Some(one) => one..one + 1,
        None => 0..read("STEAD_KEYS").unwrap_or(40),
    };
    let count = numbers.end - numbers.start;
    let mut judged = Judged::default();
    let found: Vec<String> = numbers
        .filter_map(|number| law(number, &mut judged).err().map(|found| format!("key {number}: {found}")))
        .collect();
    let shown = found.iter().take(3).cloned().collect::<Vec<_>>().join("\n\n");
    assert!(found.is_empty(), "{} of {count}:\n{shown}", found.len());
    assert!(count < 40 || (judged.allowed > 4 && judged.refused > 4), "too little is judged: {judged:?}");
    println!("{count} keys: {judged:?}");
}
