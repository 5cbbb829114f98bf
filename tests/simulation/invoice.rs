//! A law over generated stacks: what is due by the plan at the time of each step is what the service takes from the
//! balance, or gives back, for that step's request: to the cent. Steps for which no rule is shown are left out.
//!
//! `STEAD_INVOICES` says how many stacks (50).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use rust_decimal::Decimal;
use serde_json::Value as Json;
use stead::emulator::world::{self, World, handle_request};
use stead::ledger::journal::replay::load_ledger;
use stead::plan::model::block::Blocker;
use stead::plan::model::step::Operation;

use crate::disaster::Outside;
use crate::generated::{enrich, generate};
use crate::loading::{loaded, seed};
use crate::machine::SimRandom;
use crate::process::{Aim, Run, beginning, process};

/// What one request took from the balance; negative if it gave something back.
struct InvoiceLine {
    /// The ids of the objects that the request was about.
    ids: Vec<String>,
    amount: Decimal,
}

type Invoice = Rc<RefCell<Vec<InvoiceLine>>>;

/// What was compared.
#[derive(Debug, Default)]
struct Compared {
    charged: usize,
    refunded: usize,
    unknown: usize,
}

/// Puts a cashier before the service: the balance before and after each request that changes something. Reading the
/// account first renews the subscriptions that are due by then, which is no matter of the request.
fn watch_balance(outside: &Outside) -> Invoice {
    let invoice = Invoice::default();
    let lines = Rc::clone(&invoice);
    let balance = |world: &World, now| world.bill(now).balance;
    *outside.service.borrow_mut() = Box::new(move |world, request: &world::ApiRequest, now| {
        world::inspect_one(world, "account", "", now).unwrap();
        let before = balance(world, now);
        let answer = handle_request(world, request, now);
        let amount = before - balance(world, now);
        if !amount.is_zero() {
            let mut ids: Vec<String> = request.path.split('/').map(ToOwned::to_owned).collect();
            let body: Json = serde_json::from_slice(&answer.body).unwrap();
            let made = ["data", "database"].iter().find_map(|key| body.get(key));
            let made = made
                .into_iter()
                .flat_map(|made| ["id", "database_id", "service_id"].map(|key| made[key].as_str()));
            ids.extend(made.flatten().map(ToOwned::to_owned));
            lines.borrow_mut().push(InvoiceLine { ids, amount });
        }
        answer
    });
    invoice
}

/// Applies an aim and compares what was due with the invoice.
fn compare(
    outside: &Rc<Outside>,
    invoice: &Invoice,
    aim: &Aim,
    compared: &mut Compared,
) -> Result<(), String> {
    invoice.borrow_mut().clear();
    let run: Run = process(outside, aim, seed(outside)).unwrap();
    let outcome = &run.outcome;
    // Backups that the service made block the deletion of their project. The simulation makes it anyway: the plan, and so
    // what is due, is the same with and without that blocker.
    let is_about_project =
        |block: &Blocker| block.address.as_ref().is_some_and(|at| at.as_str().starts_with("project."));
    let is_blocked = run.plan.blocks.iter().any(|block| !is_about_project(block));
    if is_blocked || !outcome.failed.is_empty() || !outcome.skipped.is_empty() {
        return Err(format!("it is not applied: {:?} {outcome:?}", run.plan.blocks));
    }
    let ledger = load_ledger(outside.records.borrow().iter().cloned()).unwrap();
    let all = || run.plan.changes.iter().flat_map(|change| &change.cost.due);
    let mut unknown: BTreeSet<String> = BTreeSet::new();
    for due in all().filter(|due| due.month.is_none()) {
        let step = &run.plan.steps[due.step];
        let current = || ledger.entries[&step.address].current.as_ref().unwrap().id.to_string();
        unknown.insert(match &step.operation {
            Operation::Create { .. } => current(),
            Operation::Update { object, .. } => {
                object.as_ref().map_or_else(current, |key| key.id.to_string())
            }
            Operation::Delete { object, .. } => object.id.to_string(),
        });
    }
    compared.unknown += unknown.len();
    let lines = invoice.borrow();
    let known = lines.iter().filter(|line| !line.ids.iter().any(|id| unknown.contains(id)));
    let mut paid = Decimal::ZERO;
    for line in known {
        paid += line.amount;
        compared.charged += usize::from(line.amount > Decimal::ZERO);
        compared.refunded += usize::from(line.amount < Decimal::ZERO);
    }
    let due = run.results.due(&run.plan);
    if due.amount != paid {
        let (each, lines): (Vec<_>, Vec<_>) =
            (all().collect(), lines.iter().map(|line| (&line.ids, line.amount)).collect());
        return Err(format!("{} was due, and {paid} was paid: {each:#?} {lines:?}", due.amount));
    }
    let counted = run.plan.changes.iter().filter(|change| change.cost.due_now.is_none()).count();
    if counted != run.plan.cost.due.unknown {
        return Err(format!(
            "{} changes without an amount are counted, of {counted}",
            run.plan.cost.due.unknown
        ));
    }
    Ok(())
}

/// A stack, its edit and its end, with days or months between them.
fn law(number: u64, compared: &mut Compared) -> Result<(), String> {
    let texts = [generate(number, 0), generate(number, 1)];
    let story = |found: String| format!("{found}\n{}\n# then\n{}", texts[0], texts[1]);
    let stack = |text: &String| {
        let read = loaded(text).map_err(|codes| format!("stack {number}: {codes:?}\n{text}"));
        read.unwrap().0
    };
    let (built, edited) = (stack(&texts[0]), stack(&texts[1]));
    let outside = Rc::new(beginning(&built));
    enrich(&outside).map_err(story)?;
    let invoice = watch_balance(&outside);
    let chance = SimRandom::new(number ^ 0x1_2402);
    let pause = || outside.machine.skip(Duration::from_secs(chance.below(3_000 * 3_600)));
    let mut all = || {
        compare(&outside, &invoice, &Aim::build(built.clone()), compared)?;
        pause();
        let mut edit = Aim::build(edited.clone());
        let copies = edited.resources.values().filter(|resource| resource.attributes.contains_key("vm"));
        edit.replace =
            copies.filter(|copy| copy.kind.data_bearing).map(|copy| copy.address.clone()).collect();
        compare(&outside, &invoice, &edit, compared)?;
        pause();
        compare(&outside, &invoice, &Aim::destroy(edited.clone()), compared)
    };
    all().map_err(story)
}

#[test]
fn what_is_due_is_what_the_service_charges() {
    let count = std::env::var("STEAD_INVOICES").map_or(50, |count| count.parse().unwrap());
    let mut compared = Compared::default();
    let found: Vec<String> = (0..count)
        .filter_map(|number| {
            law(number, &mut compared).err().map(|found| format!("stack {number}: {found}"))
        })
        .collect();
    let shown = found.iter().take(3).cloned().collect::<Vec<_>>().join("\n\n");
    assert!(found.is_empty(), "{} of {count}:\n{shown}", found.len());
    let Compared { charged, refunded, unknown } = compared;
    assert!(charged > 10 && refunded > 5 && unknown > 5, "too little to compare: {compared:?}");
    println!("{count} stacks: {charged} charges, {refunded} refunds, {unknown} unknown");
}
