//! A law over generated worlds: what is written of a whole account reads back, and its plan is empty.
//!
//! `STEAD_WORLDS` says how many worlds (8), `STEAD_WORLD` takes one of them by its number. Every second
//! one is of all kinds, built by an apply; the others are seeded, with up to 2,000 objects.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use stead::cloud::client::Client;
use stead::config::input::request::LoadRequest;
use stead::config::load::load;
use stead::config::stack::model::Stack;
use stead::config::syntax::document::Syntax;
use stead::emulator::seed::seed_objects;
use stead::kinds::REGISTRY;
use stead::ledger::journal::record::Record;
use stead::ledger::journal::replay::apply_record;
use stead::ledger::state::ledger::Ledger;
use stead::model::address::Name;
use stead::model::live::catalog::Catalog;
use stead::model::live::snapshot::{Object, ObjectKey, RefreshRequest, Snapshot};
use stead::model::source::{Source, Sources};
use stead::plan::import::{ImportRequest, ImportResult, accept_order};
use stead::plan::inputs::{PlanInputs, PlanningOptions};
use stead::plan::pipeline::make_plan;
use uuid::Uuid;

use crate::cloud::{KEY, SimCloud};
use crate::disaster::Outside;
use crate::generated::{enrich, text};
use crate::loading::{loaded, seed};
use crate::machine::{SimClock, SimRandom, wall};
use crate::process::{Aim, beginning, identity, process};

/// Most objects of a seeded world.
const MOST: u64 = 2_000;

const MINUTE: Duration = Duration::from_mins(1);

fn read(_: &Path) -> std::io::Result<Vec<u8>> {
    Err(std::io::ErrorKind::NotFound.into())
}

fn empty() -> Stack {
    loaded("").unwrap().0
}

/// A world in which people have worked, and whose ledger nobody has.
fn world(number: u64) -> Rc<Outside> {
    let chance = SimRandom::new(number ^ 0x1A4E);
    if number.is_multiple_of(2) {
        let size = 20 + usize::try_from(chance.below(40)).unwrap();
        let text = text::generate(&chance, &SimRandom::new(number), size, false);
        let (stack, _) = loaded(&text).unwrap_or_else(|codes| panic!("world {number}: {codes:?}\n{text}"));
        let outside = Rc::new(beginning(&stack));
        enrich(&outside).unwrap();
        let run = process(&outside, &Aim::build(stack), seed(&outside)).unwrap();
        assert!(run.outcome.failed.is_empty(), "world {number}: {:?}", run.outcome);
        outside
    } else {
        let outside = Rc::new(beginning(&empty()));
        let count = usize::try_from(20 + chance.below(MOST - 19)).unwrap();
        seed_objects(&mut outside.world.borrow_mut(), KEY, count, wall(Duration::ZERO)).unwrap();
        outside
    }
}

/// Reads all that there is.
fn everything(outside: &Rc<Outside>) -> (Snapshot, Catalog) {
    let machine = Rc::clone(&outside.machine);
    let reading = async {
        outside.machine.sleep(10 * MINUTE).await;
        let clock = SimClock(Rc::clone(&outside.machine));
        let client = Client::new(SimCloud(Rc::clone(outside)), clock, SimRandom::new(1), REGISTRY);
        let kinds = REGISTRY.top_level().map(|kind| Name::new(kind.name)).collect();
        let mut all = client.refresh(&RefreshRequest { kinds, ..RefreshRequest::default() }).await.unwrap();
        for _ in 0..2 {
            let under = |kind: &stead::model::schema::Kind| {
                let children: Vec<Name> = REGISTRY.children(kind.name).map(|c| c.name.into()).collect();
                let objects: Vec<Name> = all.of_kind(kind.name).map(|object| object.id.clone()).collect();
                children
                    .into_iter()
                    .flat_map(move |child| objects.clone().into_iter().map(move |id| (child.clone(), id)))
                    .collect::<Vec<_>>()
            };
            let parents: BTreeSet<(Name, Name)> = REGISTRY.top_level().flat_map(under).collect();
            let short: BTreeSet<ObjectKey> = all
                .objects
                .values()
                .filter(|object| !object.detailed)
                .filter(|object| REGISTRY.kind(&object.kind).unwrap().attributes.iter().any(|a| !a.listed))
                .map(Object::key)
                .collect();
            let more = client
                .refresh(&RefreshRequest { parents, details: short, ..RefreshRequest::default() })
                .await
                .unwrap();
            for (key, object) in more.objects {
                if object.detailed || !all.objects.get(&key).is_some_and(|known| known.detailed) {
                    all.objects.insert(key, object);
                }
            }
        }
        let tables = REGISTRY.catalogs.iter().map(|table| table.name).collect();
        (all, client.catalog(&tables).await.unwrap())
    };
    machine.run(reading).unwrap()
}

/// What became of a world: objects that are managed, and what was left out.
struct Figure {
    live: usize,
    managed: usize,
    left: Vec<String>,
}

fn law(number: u64) -> Result<Figure, String> {
    let outside = world(number);
    let (snapshot, catalog) = everything(&outside);
    let stack = empty();
    let ledger = Ledger::new(identity(&stack));
    let options = PlanningOptions::default();
    let inputs = PlanInputs {
        registry: REGISTRY,
        stack: &stack,
        ledger: &ledger,
        snapshot: &snapshot,
        catalog: &catalog,
        pinned: None,
        options: &options,
        now: wall(outside.machine.elapsed()),
        nonce: Uuid::from_u128(number.into()),
    };
    let format = if number % 4 < 2 { Syntax::Yaml } else { Syntax::Kdl };
    let order = ImportRequest {
        inputs,
        files: &Sources::default(),
        request: &LoadRequest::default(),
        read: &read,
        format,
        only: None,
        project: None,
        kept_out: &BTreeMap::new(),
        hidden: &[],
    };
    let accepted = accept_order(&order).map_err(|refused| format!("refused: {refused:#?}"))?;
    let made = |object: &&Object| !REGISTRY.kind(&object.kind).unwrap().is_given(&object.attributes);
    let live = snapshot.objects.values().filter(made).count();
    let left = accepted.left.iter().map(|left| {
        format!("{} {} {}", left.key.kind, left.attribute.as_deref().unwrap_or("whole"), left.why)
    });
    let figure = Figure { live, managed: accepted.entries.len(), left: left.collect() };
    holds(&accepted, &inputs)?;
    Ok(figure)
}

/// Reads the written files anew; with the ledger that goes with them, nothing is left to do.
fn holds(accepted: &ImportResult, inputs: &PlanInputs<'_>) -> Result<(), String> {
    let mut sources = Sources::default();
    for (name, text) in &accepted.files {
        sources.add(Source::new(name.clone(), text.as_str()));
    }
    let secrets: BTreeMap<_, _> =
        accepted.variables.iter().map(|secret| (secret.name.clone(), secret.value.clone())).collect();
    let request = LoadRequest { env_vars: secrets, ..LoadRequest::default() };
    let all = || accepted.files.iter().map(|(_, text)| text.as_str()).collect::<String>();
    let (stack, _) = load(REGISTRY, sources, &request, &read)
        .map_err(|rejected| format!("{:#?}\n{}", rejected.diagnostics, all()))?;
    let mut ledger = inputs.ledger.clone();
    for (address, entry) in &accepted.entries {
        let record = Record::Adopted { address: address.clone(), entry: entry.clone() };
        apply_record(&mut ledger, &record).map_err(|illegal| illegal.to_string())?;
    }
    let plan = make_plan(&PlanInputs { stack: &stack, ledger: &ledger, ..*inputs });
    let quiet = plan.changes.is_empty() && plan.steps.is_empty() && plan.blocks.is_empty();
    let wrong = || format!("{:#?}\n{:#?}\n{}", plan.changes, plan.blocks, all());
    if !quiet || !plan.bookkeeping.is_empty() || plan.unchanged != accepted.entries.len() {
        return Err(wrong());
    }
    Ok(())
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn an_imported_account_has_an_empty_plan() {
    let numbers = match number("STEAD_WORLD") {
        Some(one) => one..one + 1,
        None => 0..number("STEAD_WORLDS").unwrap_or(8),
    };
    let (mut wrong, mut live, mut managed) = (Vec::new(), 0, 0);
    let mut left: BTreeMap<String, usize> = BTreeMap::new();
    let count = numbers.end - numbers.start;
    for n in numbers {
        match law(n) {
            Ok(figure) => {
                (live, managed) = (live + figure.live, managed + figure.managed);
                figure.left.into_iter().for_each(|why| *left.entry(why).or_default() += 1);
            }
            Err(found) => wrong.push(format!("world {n}: {found}")),
        }
    }
    println!(
        "{} of {count} worlds, {managed} of {live} objects; left out: {left:#?}",
        count - wrong.len() as u64
    );
    let shown = wrong.iter().take(3).cloned().collect::<Vec<_>>().join("\n\n");
    assert!(wrong.is_empty(), "{} of {count}:\n{shown}", wrong.len());
    // A law about nothing holds always.
    assert!(managed * 100 >= live * 95, "only {managed} of {live} objects: {left:#?}");
}
