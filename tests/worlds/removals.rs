//! Removals over generated stacks: what holds data is deleted only with consent, a ledger that is applied from
//! elsewhere is left alone, and a legitimate destroy is never refused.
//!
//! `STEAD_REMOVALS=2000` runs so many stacks (60).

use std::collections::BTreeSet;
use std::env;
use std::rc::Rc;
use std::time::Duration;

use stead::config::stack::model::Stack;
use stead::emulator::world::mutate;
use stead::ledger::journal::record::Record;
use stead::ledger::journal::replay::load_ledger;
use stead::ledger::state::origins::{CurrentOrigin, StackOrigin};
use stead::plan::decide::checks::lost_ledger;
use stead::plan::model::change::Plan;

use crate::disaster::Outside;
use crate::generate::generate;
use crate::loading::{loaded, seed};
use crate::machine::{SimRandom, wall};
use crate::process::{Aim, beginning, identity, planning, process};
use crate::truth::everything;
use crate::written::Written;

/// The kinds whose objects hold data, as the contract has it, with the collection of each.
const DATA: [(&str, &str); 6] = [
    ("vm", "/api/v1/vms"),
    ("database", "/api/v1/databases"),
    ("volume", "/api/v1/volumes"),
    ("snapshot", "/api/v1/snapshots"),
    ("backup", "/api/v1/backups"),
    ("cluster", "/api/v1/k8s/clusters"),
];

/// What was counted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    stacks: usize,
    removed: usize,
    lost_without_consent: usize,
    blocked_without_need: usize,
    foreign_plans: usize,
    foreign_not_blocked: usize,
    destroys_refused: usize,
    lost_ledgers: usize,
    lost_not_noticed: usize,
}

fn stack(written: &Written) -> Stack {
    let text = written.text();
    loaded(&text).unwrap_or_else(|codes| panic!("{codes:?}\n{text}")).0
}

/// A cloud in which the stack was applied, or nothing if its plan is blocked.
fn applied(stack: &Stack) -> Rc<Outside> {
    let outside = Rc::new(beginning(stack));
    let rich = [("balance".to_owned(), 1_000_000.into())].into_iter().collect();
    mutate(&mut outside.world.borrow_mut(), "account", "", &rich, wall(Duration::ZERO)).unwrap();
    let run = process(&outside, &Aim::build(stack.clone()), seed(&outside)).unwrap();
    assert!(
        run.plan.blocks.is_empty() && run.outcome.failed.is_empty(),
        "{:?} {:?}",
        run.plan,
        run.outcome
    );
    outside
}

/// Takes some blocks out, with all that refers to them.
fn reduced(written: &Written, chance: &SimRandom) -> Written {
    let mut gone: BTreeSet<String> = BTreeSet::new();
    for block in &written.blocks {
        // Without its project everything is replaced: that is another story.
        if block.kind != "project" && chance.once_in(2) {
            gone.insert(block.address.clone());
        }
    }
    loop {
        let needs = |text: &str, address: &String| {
            let name = format!("${address}");
            text.match_indices(&name).any(|(at, _)| {
                !text[at + name.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            })
        };
        let follows = |block: &&crate::written::Block| {
            let parent = block.parent.as_ref().is_some_and(|(of, _)| gone.contains(of));
            let refers = block.attributes.iter().any(|attr| gone.iter().any(|one| needs(&attr.text, one)));
            let besides = gone.iter().any(|one| needs(block.besides, one));
            !gone.contains(&block.address) && (parent || refers || besides)
        };
        let more: Vec<String> =
            written.blocks.iter().filter(follows).map(|block| block.address.clone()).collect();
        if more.is_empty() {
            break;
        }
        gone.extend(more);
    }
    let kept = written.blocks.iter().filter(|block| !gone.contains(&block.address));
    Written { blocks: kept.cloned().collect() }
}

fn is_data(kind: &str) -> bool {
    DATA.iter().any(|(name, _)| *name == kind)
}

fn named<'p>(plan: &'p Plan, code: &str) -> BTreeSet<&'p str> {
    let blocks = plan.blocks.iter().filter(|block| block.code == code);
    blocks.filter_map(|block| Some(block.address.as_ref()?.as_str())).collect()
}

fn objects(outside: &Rc<Outside>) -> usize {
    let all = everything(outside);
    DATA.iter().filter_map(|(_, path)| all.get(*path)).map(Vec::len).sum()
}

fn here(repository: &str, directory: &str) -> CurrentOrigin {
    let origin = StackOrigin { repository: repository.into(), directory: directory.into() };
    CurrentOrigin { origin: Some(origin), ..CurrentOrigin::default() }
}

/// Blocks are removed: the plan names each object whose data would go, and applies only where none would.
fn remove(number: u64, written: &Written, outside: &Rc<Outside>, figures: &mut Figures) {
    let chance = SimRandom::new(number ^ 0x7E57);
    let less = reduced(written, &chance);
    let kept: BTreeSet<&str> = less.blocks.iter().map(|block| block.address.as_str()).collect();
    let lost: BTreeSet<&str> = written
        .blocks
        .iter()
        .filter(|block| is_data(block.kind) && !kept.contains(block.address.as_str()))
        .map(|block| block.address.as_str())
        .collect();
    figures.removed += lost.len();
    let mut aim = Aim::build(stack(&less));
    aim.consents = false;
    let plan = planning(outside, &aim, seed(outside));
    let blocked = named(&plan, "holds_data");
    figures.lost_without_consent += lost.difference(&blocked).count();
    figures.blocked_without_need += blocked.difference(&lost).count();
    assert!(
        blocked.is_subset(&lost),
        "stack {number}: {:?}\n{}\n---\n{}",
        plan.blocks,
        written.text(),
        less.text()
    );
    if plan.blocks.is_empty() {
        let before = objects(outside);
        process(outside, &aim, seed(outside)).unwrap();
        figures.lost_without_consent += before.saturating_sub(objects(outside));
    }
}

/// Another stack of the same name is planned over the ledger.
fn intrude(number: u64, written: &Written, outside: &Rc<Outside>, figures: &mut Figures) {
    let ledger = load_ledger(outside.records.borrow().iter().cloned()).unwrap();
    if ledger.entries.is_empty() {
        // All of it was removed, and nothing of it held data.
        return;
    }
    let origins = [here("host/infra", "shop").origin.unwrap()].into();
    outside.records.borrow_mut().push(Record::Origins { origins });
    let other = generate(number + 1);
    for (from, stack) in
        [(here("host/infra", "copy"), stack(&other)), (here("host/fork", "shop"), stack(written))]
    {
        for mut aim in [Aim::build(stack.clone()), Aim::destroy(stack.clone())] {
            aim.directory = Some(from.clone());
            let plan = planning(outside, &aim, seed(outside));
            figures.foreign_plans += 1;
            let blocked = plan.blocks.iter().any(|block| block.code == "other_directory");
            figures.foreign_not_blocked += usize::from(!blocked);
        }
    }
}

/// The ledger is lost: neither a destroy nor a look for drift says that there is nothing.
fn lose_ledger(written: &Written, outside: &Rc<Outside>, figures: &mut Figures) {
    // An account has its settings in any case: they prove nothing.
    if written.blocks.iter().all(|block| block.kind == "spend_settings") {
        return;
    }
    let whole = stack(written);
    let kept = outside.records.replace(vec![Record::birth(&identity(&whole))]);
    let ledger = load_ledger(outside.records.borrow().iter().cloned()).unwrap();
    let destroy = planning(outside, &Aim::destroy(whole.clone()), seed(outside));
    let look = planning(outside, &Aim::build(whole), seed(outside));
    let noticed = [
        destroy.blocks.iter().any(|block| block.code == "ledger_lost"),
        lost_ledger::lost_ledger_blocker(&ledger, &look).is_some(),
    ];
    if noticed != [true, true] {
        println!("a lost ledger is not noticed: {noticed:?}\n{}", written.text());
    }
    figures.lost_ledgers += noticed.len();
    figures.lost_not_noticed += noticed.iter().filter(|noticed| !**noticed).count();
    outside.records.replace(kept);
}

/// After a complete destroy the ledger remembers that it had objects: it is not lost, whoever takes their names.
fn destroy_again(whole: &Stack, outside: &Rc<Outside>, figures: &mut Figures) {
    let written = planning(outside, &Aim::destroy(whole.clone()), seed(outside));
    figures.destroys_refused += usize::from(!written.blocks.is_empty());
}

#[test]
fn data_is_deleted_only_with_approval_and_a_destroy_is_never_refused() {
    let stacks = env::var("STEAD_REMOVALS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let mut figures = Figures::default();
    for number in 0..stacks {
        let written = generate(number);
        let whole = stack(&written);
        let outside = applied(&whole);
        figures.stacks += 1;
        lose_ledger(&written, &outside, &mut figures);
        remove(number, &written, &outside, &mut figures);
        intrude(number, &written, &outside, &mut figures);
        let mut aim = Aim::destroy(whole.clone());
        aim.consents = false;
        aim.directory = Some(here("host/infra", "shop"));
        let run = process(&outside, &aim, seed(&outside)).unwrap();
        let refused = !run.plan.blocks.is_empty() || !run.outcome.failed.is_empty();
        figures.destroys_refused += usize::from(refused);
        assert!(!refused, "stack {number}: {:?} {:?}", run.plan.blocks, run.outcome.failed);
        destroy_again(&whole, &outside, &mut figures);
    }
    println!("{figures:?}");
    assert!(figures.removed > 0 && figures.foreign_plans > 0);
    let wrong = (figures.lost_without_consent, figures.blocked_without_need, figures.foreign_not_blocked);
    assert_eq!(wrong, (0, 0, 0), "{figures:?}");
    assert_eq!((figures.destroys_refused, figures.lost_not_noticed), (0, 0), "{figures:?}");
}
