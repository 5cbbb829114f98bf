//! A law over generated stacks: what the plan lets pass, the service takes; the next plan is empty; the
//! bill is the plan's; and a destroy leaves nothing.
//!
//! `STEAD_STACKS` says how many stacks (200), `STEAD_STACK` takes one of them by its number.

pub mod text;

use std::collections::BTreeSet;
use std::env;
use std::rc::Rc;

use rust_decimal::{Decimal, RoundingStrategy};
use stead::emulator::world::mutate;
use stead::kinds::REGISTRY;
use stead::ledger::journal::replay::load_ledger;
use stead::model::live::snapshot::ObjectKey;
use stead::model::values::value::Value;
use stead::plan::inputs::PlanningOptions;
use stead::plan::join::prices::ObjectPrices;

use crate::disaster::Outside;
use crate::loading::{loaded, seed};
use crate::machine::{SimRandom, wall};
use crate::process::{Aim, beginning, observed, process};

/// What is wrong with a run, in words; nothing is a proof.
type Found = Result<(), String>;

fn check(holds: bool, what: impl FnOnce() -> String) -> Found {
    if holds { Ok(()) } else { Err(what()) }
}

/// Applies an aim: nothing blocks it, nothing fails, and the service refuses nothing.
fn goes_through(
    outside: &Rc<Outside>,
    aim: &Aim,
    what: &str,
) -> Result<stead::plan::model::change::Plan, String> {
    let run = process(outside, aim, seed(outside)).unwrap();
    check(run.plan.blocks.is_empty(), || format!("{what} is blocked: {:#?}", run.plan.blocks))?;
    let refusals = outside.refusals.take();
    check(refusals.is_empty(), || format!("{what} is refused: {refusals:#?}"))?;
    let outcome = &run.outcome;
    let whole = outcome.failed.is_empty() && outcome.skipped.is_empty() && outcome.questions.is_empty();
    check(whole, || format!("{what} fails: {outcome:#?}"))?;
    Ok(run.plan)
}

/// An hour of a monthly price, as the service rounds it: half to even, to 4 decimals.
fn hourly(month: Decimal) -> Decimal {
    (month / Decimal::from(730)).round_dp_with_strategy(4, RoundingStrategy::MidpointNearestEven)
}

/// Every price of a month is whole cents, so the plan's lines are exact, and so are the hours that the
/// service makes of them: both are compared without a tolerance.
fn is_billed(outside: &Rc<Outside>, aim: &Aim, planned: (Decimal, usize), now: Decimal) -> Found {
    let (snapshot, catalog) = observed(outside, aim, &PlanningOptions::default());
    let prices = ObjectPrices::new(&catalog);
    let ledger = load_ledger(outside.records.borrow().iter().cloned()).unwrap();
    let (mut month, mut hour) = (Decimal::ZERO, Decimal::ZERO);
    for entry in ledger.entries.values() {
        let (Some(owned), Some(kind)) = (&entry.current, REGISTRY.kind(&entry.kind)) else { continue };
        let Some(object) = snapshot.objects.get(&owned.key(kind.name)) else { continue };
        let Some(price) = prices.monthly(kind, &object.attributes) else {
            return Err(format!("{} {} has no price", kind.name, object.id));
        };
        month += price;
        // A backup is paid for as its machine is.
        let of = object.attributes.get("vm").and_then(Value::as_text).filter(|_| kind.name == "backup");
        let machine = of.map(|id| ObjectKey { kind: "vm".into(), parent: None, id: id.into() });
        let payer = machine.and_then(|key| snapshot.objects.get(&key)).unwrap_or(object);
        let monthly = payer.attributes.get("billing_type").and_then(Value::as_text) == Some("subscription");
        hour += if monthly { Decimal::ZERO } else { hourly(price) };
    }
    check(month == now, || format!("the second plan's bill is {now}, its objects' {month}"))?;
    let (before, unpriced) = planned;
    check(unpriced > 0 || before == month, || format!("the first plan's bill is {before}, then {month}"))?;
    check(before <= month, || format!("the first plan's bill is {before}, then only {month}"))?;
    let rate = outside.world.borrow().bill(wall(outside.machine.elapsed())).rate_per_hour;
    check(rate == hour, || format!("the service bills {rate} an hour, the objects cost {hour}"))
}

/// Returns the stack of a number, as it is after so many edits.
pub fn generate(number: u64, edits: u64) -> String {
    let chance = SimRandom::new(number.wrapping_mul(0x9E37) ^ 0x57EAD);
    let size = 2 + usize::try_from(chance.below(12)).unwrap();
    text::generate(&chance, &SimRandom::new(number ^ (edits << 32)), size, edits > 0)
}

/// Gives an account enough for every subscription: nothing that the service shows tells how much is left.
pub fn enrich(outside: &Outside) -> Found {
    let rich = [("balance".to_owned(), 1_000_000.into())].into_iter().collect();
    let now = wall(outside.machine.elapsed());
    mutate(&mut outside.world.borrow_mut(), "account", "", &rich, now).map_err(|error| error.to_string())
}

fn law(number: u64) -> Found {
    let texts = [generate(number, 0), generate(number, 1)];
    let story = |found: String| format!("{found}\n{}\n# then\n{}", texts[0], texts[1]);
    let stack = |text: &String| {
        loaded(text).map(|(stack, _)| stack).map_err(|codes| story(format!("it is not loaded: {codes:?}")))
    };
    let (built, edited) = (stack(&texts[0])?, stack(&texts[1])?);
    let outside = Rc::new(beginning(&built));
    enrich(&outside)?;
    let objects = || outside.world.borrow().object_count();
    let before = objects();
    let all = || {
        stands(&outside, &Aim::build(built.clone()), "the stack")?;
        let mut edit = Aim::build(edited.clone());
        // A copy of a machine that is made anew is another copy.
        let copies = edited.resources.values().filter(|resource| resource.attributes.contains_key("vm"));
        edit.replace =
            copies.filter(|copy| copy.kind.data_bearing).map(|copy| copy.address.clone()).collect();
        stands(&outside, &edit, "its edit")?;
        goes_through(&outside, &Aim::destroy(edited.clone()), "its end")?;
        check(objects() == before, || format!("{} objects stay", objects() - before))?;
        let rate = outside.world.borrow().bill(wall(outside.machine.elapsed())).rate_per_hour;
        check(rate.is_zero(), || format!("{rate} an hour is billed after the end"))
    };
    all().map_err(story)
}

/// Applies a stack; then it stands as it is written, and is billed as planned.
fn stands(outside: &Rc<Outside>, aim: &Aim, what: &str) -> Found {
    let first = goes_through(outside, aim, what)?;
    let second = goes_through(outside, aim, &format!("{what}, again"))?;
    check(second.steps.is_empty() && second.changes.is_empty(), || {
        format!("{what}: the second plan is not empty: {:#?}", second.changes)
    })?;
    let planned = (first.cost.monthly_after, first.cost.unpriced);
    is_billed(outside, aim, planned, second.cost.monthly_after)
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap())
}

/// A law about nothing holds always: the stacks have objects of every kind.
#[test]
fn the_generated_stacks_contain_every_kind() {
    let mut seen = BTreeSet::new();
    for number in 0..200 {
        let (stack, _) = loaded(&generate(number, 0)).unwrap();
        seen.extend(stack.resources.values().map(|resource| resource.kind.name));
    }
    assert_eq!(seen, REGISTRY.kinds.iter().map(|kind| kind.name).collect());
}

#[test]
fn the_service_accepts_and_bills_what_the_plan_accepts() {
    let numbers = match number("STEAD_STACK") {
        Some(one) => one..one + 1,
        None => 0..number("STEAD_STACKS").unwrap_or(200),
    };
    let found: Vec<String> =
        numbers.clone().filter_map(|n| law(n).err().map(|found| format!("stack {n}: {found}"))).collect();
    let shown = found.iter().take(5).cloned().collect::<Vec<_>>().join("\n\n");
    assert!(found.is_empty(), "{} of {}:\n{shown}", found.len(), numbers.end - numbers.start);
}
