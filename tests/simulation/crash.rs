//! Kills at every await of many scenarios, and in the recoveries after them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use stead::apply::context::TimingBounds;
use stead::config::stack::model::Stack;
use stead::ledger::journal::record::{IntentResolution, Record};
use stead::ledger::journal::replay::load_ledger;
use stead::ledger::state::entry::OwnedObject;
use stead::ledger::stores::shared::memory_backend::MemoryBackend;
use stead::model::address::{Address, Name};
use stead::model::expression::Expression;
use stead::model::schema::Method;

use super::cloud::meddle;
use super::disaster::{Outside, Remains};
use super::machine::SimRandom;
use super::process::{Aim, assert_converged, assert_still, beginning, listed, process};
use super::stack::{Builder, KEY, edited, id, number, setting, shop, sources, text};
use super::{converge, recorded, standing};
use stead::config::stack::declarations::MovedDeclaration;

/// Pairs that are tried when nobody says how many: `STEAD_PAIRS=20000` does.
const USUAL_PAIRS: usize = 160;

/// How soon the program is run again, in milliseconds: at once, while requests may still arrive, or when
/// everything has happened. One after the other serves for the points, unless `STEAD_POINTS=all` asks
/// for each at each.
const PAUSES: [u64; 3] = [5_000, 90_000, 900_000];

/// Where a scenario begins, and what is to be done.
type Begin = fn() -> (Outside, Aim);

const SCENARIOS: &[(&str, Begin)] = &[
    ("building", || (beginning(&shop()), Aim::build(shop()))),
    ("editing", || (standing(), Aim::build(edited()))),
    ("destroying", || (standing(), Aim::destroy(shop()))),
    ("replacing, the new one first", || changed(web(), &[("vm.a", "template", text("debian-13"))])),
    ("replacing, the old one first", || changed(net(), &[("vpc.net", "cidr", text("10.1.0.0/17"))])),
    ("moving volumes", || {
        changed(web(), &[("volume.one", "vm", id("vm.b")), ("volume.two", "vm", id("vm.a"))])
    }),
    ("a database with users", || (beginning(&base()), Aim::build(base()))),
    ("a database grows and loses a user", || {
        let (outside, mut aim) = changed(base(), &[("database.main", "storage_gb", number(60))]);
        aim.stack.resources.shift_remove("database.main.users.two");
        (outside, aim)
    }),
    ("other names", renamed),
    ("a module of another name", carried),
    ("recovering, with late requests", || half_way(true)),
    ("recovering, with nothing late", || half_way(false)),
    ("lists that lag", || {
        let mut outside = beginning(&web());
        outside.lag = Duration::from_secs(9);
        (outside, Aim::build(web()))
    }),
    ("a shared ledger", || {
        let mut outside = beginning(&web());
        outside.shelf = Some(MemoryBackend::default());
        (outside, Aim::build(web()))
    }),
    ("adopting", adopting),
    ("a saved plan", || {
        let (outside, mut aim) = changed(web(), &[("vm.b", "plan", text("std-2c-4g"))]);
        aim.saved_for = Some(Duration::from_mins(20));
        (outside, aim)
    }),
    ("an open question", asking),
    ("sources that are uploaded", || (beginning(&sources("one")), Aim::build(sources("one")))),
    ("other sources", || {
        let outside = built(&sources("one"));
        (outside, Aim::build(sources("two")))
    }),
];

fn web() -> Stack {
    let vm = [("template", text("ubuntu-24.04")), ("plan", text("std-1c-2g")), ("vpc", id("vpc.net"))];
    Builder::new()
        .with("project", "shop", &[])
        .with("ssh_key", "ops", &[("public_key", text(&format!("{KEY} ops")))])
        .with("vpc", "net", &[("cidr", text("10.1.0.0/16"))])
        .with("vm", "a", &vm)
        .with("vm", "b", &vm)
        .with("volume", "one", &[("size", number(5)), ("vm", id("vm.a"))])
        .with("volume", "two", &[("size", number(5)), ("vm", id("vm.b"))])
        .with("backup_schedule", "daily", &[("vm", id("vm.a")), ("frequency", text("daily"))])
        .build()
}

fn net() -> Stack {
    let vm = [("template", text("ubuntu-24.04")), ("plan", text("std-1c-2g")), ("vpc", id("vpc.net"))];
    Builder::new()
        .with("project", "shop", &[])
        .with("vpc", "net", &[("cidr", text("10.1.0.0/16"))])
        .with("vm", "a", &vm)
        .with("volume", "one", &[("size", number(5)), ("vm", id("vm.a"))])
        .build()
}

fn base() -> Stack {
    Builder::new()
        .with("project", "shop", &[])
        .with("vpc", "back", &[("cidr", text("10.2.0.0/16"))])
        .with("database", "main", &[("plan", text("pg-1c-2g")), ("vpc", id("vpc.back"))])
        .child("database_user", "database.main", "users", "one")
        .child("database_user", "database.main", "users", "two")
        .build()
}

/// A database and its users have another name, and a network comes.
fn renamed() -> (Outside, Aim) {
    let outside = built(&base());
    let mut stack = base();
    let (from, to) = (Address::new("database", "main"), Address::new("database", "primary"));
    let mut resources =
        Builder::new().with("vpc", "front", &[("cidr", text("10.3.0.0/16"))]).build().resources;
    let new = |address: &Address| {
        Address::parse(&address.as_str().replacen(from.as_str(), to.as_str(), 1)).unwrap()
    };
    for (address, mut resource) in stack.resources.drain(..) {
        resource.address = new(&address);
        resource.parent = resource.parent.as_ref().map(new);
        resources.insert(resource.address.clone(), resource);
    }
    resources.sort_keys();
    let kind = Some(resources[&to].kind);
    let span = resources[&to].span;
    stack.resources = resources;
    stack.declarations.moved.push(MovedDeclaration {
        from,
        to,
        kind,
        whole: false,
        module: Name::default(),
        span,
    });
    (outside, Aim::build(stack))
}

/// A module of a database and its users has another name, and a network comes.
fn carried() -> (Outside, Aim) {
    let outside = built(&within("eu"));
    let mut stack = within("europe");
    let front = Builder::new().with("vpc", "front", &[("cidr", text("10.3.0.0/16"))]).build();
    stack.resources.extend(front.resources);
    stack.resources.sort_keys();
    let (from, to) = (Address::parse_path("eu").unwrap(), Address::parse_path("europe").unwrap());
    let span = stack.resources[0].span;
    let moved = MovedDeclaration { from, to, kind: None, whole: false, module: Name::default(), span };
    stack.declarations.moved.push(moved);
    (outside, Aim::build(stack))
}

/// The database and its users in a module.
fn within(module: &str) -> Stack {
    let mut stack = base();
    let place = |address: &Address| address.clone().in_module(module);
    for (_, mut resource) in std::mem::take(&mut stack.resources) {
        resource.address = place(&resource.address);
        resource.parent = resource.parent.as_ref().map(place);
        for setting in resource.attributes.values_mut() {
            if let Expression::Reference(reference) = &mut setting.expression {
                reference.address = place(&reference.address);
            }
        }
        stack.resources.insert(resource.address.clone(), resource);
    }
    stack.resources.sort_keys();
    stack.project = stack.project.as_ref().map(place);
    stack.modules.insert(module.into(), stack.resources[0].span);
    stack
}

/// Returns a world in which a stack stands.
fn built(stack: &Stack) -> Outside {
    let outside = Rc::new(beginning(stack));
    converge(&outside, &Aim::build(stack.clone()), 900, "it is built");
    Outside::after(&outside.left_behind(0, "standing"), Duration::from_mins(5))
}

/// A stack stands, and some of its attributes are written otherwise.
fn changed(stack: Stack, edits: &[(&str, &str, Expression)]) -> (Outside, Aim) {
    let outside = built(&stack);
    let mut stack = stack;
    for (address, name, value) in edits {
        stack.resources[*address].attributes.insert((*name).into(), setting(value.clone()));
    }
    (outside, Aim::build(stack))
}

/// A build was killed while several requests were under way.
fn half_way(late: bool) -> (Outside, Aim) {
    let aim = Aim::build(web());
    let (_, remains) = recorded(beginning(&web()), &aim, "building");
    let busiest = remains.iter().rev().max_by_key(|left| left.in_flight.len()).unwrap();
    let outside = Outside::after(busiest, Duration::from_secs(2));
    if late {
        let requests = busiest.in_flight.iter().cloned();
        outside
            .late
            .replace(requests.map(|request| (busiest.now + Duration::from_secs(50), request)).collect());
    }
    (outside, aim)
}

/// Someone made a volume by hand, and now a block describes it.
fn adopting() -> (Outside, Aim) {
    let small = Builder::new().with("project", "shop", &[]).build();
    let outside = built(&small);
    let project = listed(&outside, "/api/v1/projects")[0]["id"].as_str().unwrap().to_owned();
    let body = json!({"name": "data", "size": 7});
    let made = meddle(&outside, Method::Post, "/api/v1/volumes", Some(&project), body);
    let made = made["data"]["id"].as_str().unwrap().to_owned();
    outside.strangers.borrow_mut().insert(made.clone());
    let stack = Builder::new()
        .with("project", "shop", &[])
        .with("volume", "data", &[("size", number(9))])
        .with("volume", "more", &[("size", number(5))])
        .build();
    let mut aim = Aim::build(stack);
    aim.adopt = BTreeMap::from([(Address::new("volume", "data"), Name::new(made))]);
    let left = outside.left_behind(0, "made by hand");
    (Outside::after(&left, Duration::from_secs(30)), aim)
}

/// One creation is asked about, and others are still to be done.
fn asking() -> (Outside, Aim) {
    let few = Builder::new().with("project", "shop", &[]).with("volume", "spare", &[("size", number(5))]);
    let aim = Aim::build(few.build());
    let mut outside = beginning(&aim.stack);
    outside.before_change = Some((1, |outside| {
        let projects = listed(outside, "/api/v1/projects");
        let project = projects.iter().find(|project| project["name"] == "shop").unwrap();
        let body = json!({"name": "spare", "size": 5});
        let made = meddle(outside, Method::Post, "/api/v1/volumes", project["id"].as_str(), body);
        outside.strangers.borrow_mut().insert(made["data"]["id"].as_str().unwrap().to_owned());
    }));
    outside.lose = vec![1];
    let outside = Rc::new(outside);
    process(&outside, &aim, 77).unwrap();
    assert_eq!(load_ledger(outside.records.borrow().iter().cloned()).unwrap().questions.len(), 1);
    let more = Builder::new()
        .with("project", "shop", &[("description", text("goes on"))])
        .with("volume", "spare", &[("size", number(5))])
        .with("volume", "more", &[("size", number(5))])
        .with("ssh_key", "ops", &[("public_key", text(&format!("{KEY} ops")))]);
    let left = outside.left_behind(0, "asked");
    (Outside::after(&left, Duration::from_mins(5)), Aim::build(more.build()))
}

/// Someone answers what is asked: one of the candidates is ours.
fn answer(outside: &Outside) {
    let ledger = load_ledger(outside.records.borrow().iter().cloned()).unwrap();
    for (op, question) in ledger.questions {
        let strangers = outside.strangers.borrow();
        let ours = question.candidates.iter().find(|id| !strangers.contains(id.as_str())).unwrap();
        let object = OwnedObject {
            id: ours.clone(),
            parent: question.intent.parent.clone(),
            project: question.intent.project.clone(),
            created_at: None,
            provisional: false,
        };
        outside
            .records
            .borrow_mut()
            .push(Record::Answered { op, answer: IntentResolution::Made { object } });
    }
}

/// Runs the program again after a disaster: once, and once more after an answer where one was asked.
fn heal(outside: &Rc<Outside>, aim: &Aim, seed: u64, story: &str) {
    let asks = !load_ledger(outside.records.borrow().iter().cloned()).unwrap().questions.is_empty();
    if asks {
        let run = process(outside, aim, seed).unwrap();
        assert!(run.outcome.failed.is_empty(), "{story}: the rest does not go on: {:?}", run.outcome);
        answer(outside);
    }
    let mut aim = aim.clone();
    aim.saved_for = None;
    let run = process(outside, &aim, seed + 1).unwrap();
    assert_converged(outside, &aim, &run, story);
    aim.adopt.clear();
    assert_still(outside, &aim, seed + 2, story);
}

/// Runs a scenario once, and returns what a kill at each point leaves behind.
fn points(begin: Begin, what: &str) -> (Aim, Vec<Remains>) {
    let (mut outside, aim) = begin();
    outside.remains = Some(RefCell::default());
    let outside = Rc::new(outside);
    let run = process(&outside, &aim, 1).unwrap();
    assert!(run.outcome.failed.is_empty(), "{what}: {:?}", run.outcome);
    (aim, outside.remains.as_ref().unwrap().take())
}

/// A kill, and what was on its way lost, or arriving late but within the bound.
fn after_kill(left: &Remains, late: bool, pause: u64, chance: &SimRandom) -> Outside {
    let outside = Outside::after(left, Duration::from_millis(chance.below(pause)));
    if late {
        let within = TimingBounds::default().effect.as_millis() as u64;
        let requests = left.in_flight.iter();
        let late = requests
            .map(|request| (left.now + Duration::from_millis(chance.below(within)), request.clone()));
        outside.late.replace(late.collect());
    }
    outside
}

fn kill_everywhere(begin: Begin, what: &str) -> usize {
    let (aim, remains) = points(begin, what);
    let chance = SimRandom::new(42);
    let mut kills = 0;
    let all = std::env::var("STEAD_POINTS").is_ok_and(|text| text == "all");
    for left in &remains {
        for late in [false, true] {
            if late && left.in_flight.is_empty() {
                continue;
            }
            for (turn, pause) in PAUSES.into_iter().enumerate() {
                if all || left.number % PAUSES.len() == turn {
                    let (number, label) = (left.number, &left.label);
                    let story =
                        format!("{what}, killed at point {number} ({label}), late {late}, {pause} ms");
                    let outside = after_kill(left, late, pause, &chance);
                    heal(&Rc::new(outside), &aim, 1_000, &story);
                    kills += 1;
                }
            }
        }
    }
    kills
}

/// Kills at a point, and then at points of the recovery.
fn kill_twice(begin: Begin, what: &str, pairs: usize) -> usize {
    let (aim, first) = points(begin, what);
    let chance = SimRandom::new(4_711);
    let mut done = 0;
    while done < pairs {
        let left = chance.pick(&first);
        let late = chance.once_in(2);
        let mut again = after_kill(left, late, PAUSES[0], &chance);
        again.remains = Some(RefCell::default());
        let again = Rc::new(again);
        process(&again, &aim, 1_000).unwrap();
        let second = again.remains.as_ref().unwrap().take();
        for _ in 0..8.min(pairs - done).min(second.len()) {
            // The first points are those of the recovery.
            let early = chance.below(16.min(second.len() as u64)) as usize;
            let number = if chance.once_in(2) { early } else { chance.below(second.len() as u64) as usize };
            let (one, two) = (&left.label, &second[number].label);
            let story = format!("{what}, killed at {} ({one}), then at {number} ({two})", left.number);
            heal(&Rc::new(after_kill(&second[number], true, PAUSES[0], &chance)), &aim, 2_000, &story);
            done += 1;
        }
        done += usize::from(second.is_empty());
    }
    done
}

/// Does something with every scenario, on all cores.
fn with_each(work: fn(Begin, &str) -> usize) -> usize {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let one = || {
            let mut sum = 0;
            while let Some((what, begin)) = SCENARIOS.get(next.fetch_add(1, Ordering::Relaxed)) {
                let count = work(*begin, what);
                println!("{what}: {count}");
                sum += count;
            }
            sum
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    })
}

#[test]
fn a_kill_at_any_await_point_loses_and_duplicates_nothing() {
    let kills = with_each(kill_everywhere);
    println!("{kills} kills in {} scenarios", SCENARIOS.len());
    assert!(kills >= 1_500, "{kills}");
}

#[test]
fn a_second_kill_while_resolving_open_intents_changes_nothing() {
    let pairs = with_each(|begin, what| {
        let wanted = std::env::var("STEAD_PAIRS").map_or(USUAL_PAIRS, |text| text.parse().unwrap());
        kill_twice(begin, what, wanted.div_ceil(SCENARIOS.len()))
    });
    println!("{pairs} pairs of kills");
    assert!(pairs >= USUAL_PAIRS, "{pairs}");
}
