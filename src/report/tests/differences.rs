//! Generated pairs of plans: what the comparison names is what was changed, by attribute with both plans, and by address with
//! the digests of a comment alone.

use std::collections::BTreeSet;
use std::env;

use rust_decimal::Decimal;

use super::plans;
use crate::model::address::Address;
use crate::model::expression::Expression;
use crate::model::values::secret::FingerprintKey;
use crate::model::values::value::Value;
use crate::plan::artifact::change_digests::{ReviewedDigests, with_change_digests};
use crate::plan::artifact::difference::{PlanDifference, PlanSide, compare_plans};
use crate::plan::artifact::difference_part::MovedSide;
use crate::plan::artifact::fingerprint::with_blockers;
use crate::plan::artifact::review_difference::ReviewDifference;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::{Action, Change, Plan};
use crate::plan::model::step::{Operation, Step};
use crate::report::terminal;
use crate::report::text::style::TextStyle;

const KEY: FingerprintKey = FingerprintKey([7; 32]);

/// How many pairs are compared, unless `STEAD_PLAN_PAIRS` says otherwise.
const PAIRS: u64 = 400;

/// Numbers that are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn fresh_change(number: u64, numbers: &mut Numbers) -> Change {
    let actions = [Action::Create, Action::Update, Action::Replace, Action::Delete];
    let action = actions[usize::try_from(numbers.below(4)).unwrap()];
    let mut change = plans::change(action, &format!("vm.web.n{number}"));
    if action != Action::Delete {
        let before = if action == Action::Create { Value::Null } else { Value::text("old") };
        change.attributes = vec![
            plans::attribute(
                "plan",
                before.clone(),
                Value::Integer(i64::try_from(numbers.below(9)).unwrap()),
            ),
            plans::attribute("template", before, Value::text("ubuntu")),
        ];
    }
    change.cost.monthly_after = Some(Decimal::from(numbers.below(50)));
    change
}

/// Returns a plan of some changes, each with one step.
fn plan_of(changes: Vec<Change>) -> Plan {
    let step = |change: &Change| Step {
        address: change.address.clone(),
        kind: change.kind.clone(),
        operation: plans::create(),
        after: Vec::new(),
        seconds: 1,
        timeout_seconds: 60,
    };
    let steps: Vec<Step> = changes.iter().map(step).collect();
    let changes =
        changes.into_iter().enumerate().map(|(number, change)| Change { steps: vec![number], ..change });
    Plan { changes: changes.collect(), steps, ..plans::empty() }
}

fn number_steps(plan: &mut Plan) {
    for (number, change) in plan.changes.iter_mut().enumerate() {
        change.steps = vec![number];
    }
}

/// Returns a plan with its fingerprint and digests.
fn finished(plan: Plan) -> Plan {
    let block = Blocker {
        code: "other_plans".into(),
        address: None,
        text: String::new(),
        help: String::new(),
        source: None,
    };
    with_change_digests(with_blockers(plan, [block]), &KEY)
}

/// What a mutation changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mutation {
    Planned,
    Live,
    Price,
    OtherOutput,
    Request,
    Removed,
    Added,
    Unrelated,
}

const MUTATIONS: [Mutation; 8] = [
    Mutation::Planned,
    Mutation::Live,
    Mutation::Price,
    Mutation::OtherOutput,
    Mutation::Request,
    Mutation::Removed,
    Mutation::Added,
    Mutation::Unrelated,
];

impl Mutation {
    /// Changes a plan; returns the address that it decides differently then.
    fn apply(self, plan: &mut Plan, numbers: &mut Numbers) -> Option<Address> {
        let count = u64::try_from(plan.changes.len()).unwrap();
        if count == 0 && self != Self::Added {
            return None;
        }
        if self == Self::Added {
            let change = fresh_change(1_000 + numbers.below(1_000_000), numbers);
            let address = change.address.clone();
            let added = plan_of(vec![change]);
            plan.changes.extend(added.changes);
            plan.steps.extend(added.steps);
            number_steps(plan);
            plan.base.config = "another".into();
            return Some(address);
        }
        let picked = usize::try_from(numbers.below(count)).unwrap();
        let address = plan.changes[picked].address.clone();
        let attribute = plan.changes[picked].attributes.first_mut();
        match self {
            Self::Planned | Self::OtherOutput => {
                attribute?.after = Value::Integer(i64::try_from(100 + numbers.below(1_000_000)).unwrap());
                match self {
                    Self::Planned => plan.base.config = "another".into(),
                    _ => plan.base.reads = "another".into(),
                }
            }
            Self::Live => attribute?.before = Value::text(format!("live {}", numbers.below(1_000_000))),
            Self::Price => {
                plan.changes[picked].cost.monthly_after =
                    Some(Decimal::from(100 + numbers.below(1_000_000)));
            }
            Self::Request => {
                let value = Value::text(format!("{}", numbers.below(1_000_000)));
                if let Operation::Create { desired, .. } = &mut plan.steps[picked].operation {
                    *desired = [("user_data".into(), Expression::Value(value))].into_iter().collect();
                }
                plan.base.config = "another".into();
            }
            Self::Removed => {
                plan.changes.remove(picked);
                plan.steps.remove(picked);
                number_steps(plan);
                plan.base.serial += 7;
            }
            Self::Unrelated => {
                plan.base.serial += 1;
                plan.base.config = "a merge of something else".into();
                plan.base.made_at = plans::time(500);
                plan.base.nonce = uuid::Uuid::from_u128(9);
                plan.requests.sent += 5;
                plan.unchanged += 3;
                plan.changes[picked].source = Some(plans::at(77));
                plan.changes[picked].seconds += 1;
                return None;
            }
            Self::Added => return None,
        }
        Some(address)
    }

    const fn side(self) -> Option<MovedSide> {
        match self {
            Self::Planned | Self::Request | Self::Added => Some(MovedSide::Configuration),
            Self::Live => Some(MovedSide::LiveObject),
            Self::Price => Some(MovedSide::CatalogPrice),
            Self::OtherOutput => Some(MovedSide::OtherStack),
            Self::Removed => Some(MovedSide::Ledger),
            Self::Unrelated => None,
        }
    }
}

fn compare(old: &Plan, new: &Plan) -> PlanDifference {
    let side = |plan| PlanSide { plan, ledger: "", stead_version: "1" };
    compare_plans(side(old), side(new)).unwrap()
}

fn reviewed(plan: &Plan) -> ReviewedDigests {
    let fingerprint = Some(plan.fingerprint[..8].into());
    ReviewedDigests { fingerprint, count: plan.digests.len(), digests: plan.digests.clone() }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "how many pairs are compared is a setting of the test run")]
fn the_comparison_names_what_was_changed() {
    let pairs = env::var("STEAD_PLAN_PAIRS").ok().and_then(|count| count.parse().ok()).unwrap_or(PAIRS);
    for seed in 0..pairs {
        let mut numbers = Numbers(seed);
        let count = 1 + numbers.below(12);
        let old = plan_of((0..count).map(|number| fresh_change(number, &mut numbers)).collect());
        let mut new = old.clone();
        let (mut changed, mut decided) = (BTreeSet::new(), BTreeSet::new());
        let (mut made, mut has_unrelated) = (Vec::new(), false);
        for _ in 0..numbers.below(4) {
            let mutation = MUTATIONS[usize::try_from(numbers.below(8)).unwrap()];
            has_unrelated |= mutation == Mutation::Unrelated;
            let Some(address) = mutation.apply(&mut new, &mut numbers) else { continue };
            // An address that was added and removed again is in neither plan.
            changed.insert(address.clone());
            if mutation != Mutation::Price {
                decided.insert(address);
            }
            made.push(mutation);
        }
        let is_in = |address: &Address| {
            [&old, &new].iter().any(|plan| plan.changes.iter().any(|one| one.address == *address))
        };
        changed.retain(is_in);
        decided.retain(is_in);
        let (old, new) = (finished(old), finished(new));
        let difference = compare(&old, &new);
        let named: BTreeSet<Address> = difference.resources.iter().map(|one| one.address.clone()).collect();
        assert_eq!(named, changed, "{seed} {made:?} {difference:?}");
        assert!(difference.whole.is_empty(), "{seed} {made:?} {difference:?}");
        // Where several inputs moved, each of them may be the cause.
        if let ([only], false) = (made.as_slice(), has_unrelated) {
            let sides: BTreeSet<_> = difference
                .resources
                .iter()
                .flat_map(|one| &one.parts)
                .flat_map(|part| part.moved.clone())
                .collect();
            assert_eq!(
                sides.into_iter().collect::<Vec<_>>(),
                only.side().into_iter().collect::<Vec<_>>(),
                "{seed} {only:?} {difference:?}"
            );
        }
        // The fingerprint and the digests cover what is decided; a price is no decision.
        let found = reviewed(&old).compare(&new);
        assert_eq!(found.addresses, decided.iter().cloned().collect::<Vec<_>>(), "{seed} {made:?}");
        assert_eq!(found.not_compared, 0, "{seed}");
        assert_eq!(old.fingerprint == new.fingerprint, decided.is_empty(), "{seed} {made:?}");
        assert_eq!(reviewed(&old).is_same_plan(&new), decided.is_empty(), "{seed} {made:?}");
    }
}

#[test]
fn what_a_comment_had_no_room_for_is_counted() {
    for seed in 0..100 {
        let mut numbers = Numbers(seed);
        let old = plan_of((0..8).map(|number| fresh_change(number, &mut numbers)).collect());
        let mut new = old.clone();
        let changed = Mutation::Request.apply(&mut new, &mut numbers).unwrap();
        let (old, new) = (finished(old), finished(new));
        let mut comment = reviewed(&old);
        let left_out: Vec<Address> = comment.digests.keys().skip(5).cloned().collect();
        comment.digests.retain(|address, _| !left_out.contains(address));
        let found = comment.compare(&new);
        assert_eq!(found.not_compared, left_out.len());
        assert_eq!(found.addresses, if left_out.contains(&changed) { Vec::new() } else { vec![changed] });
    }
    // Without a key there is nothing to compare, and that is counted, too.
    let plan = plan_of(vec![fresh_change(1, &mut Numbers(1))]);
    let keyless = with_change_digests(plan.clone(), &FingerprintKey::NONE);
    assert!(keyless.digests.is_empty());
    assert_eq!(reviewed(&finished(plan)).compare(&keyless).not_compared, 1);
}

#[test]
fn another_key_gives_other_digests() {
    let plan = plan_of(vec![fresh_change(1, &mut Numbers(1))]);
    let one = with_change_digests(plan.clone(), &KEY);
    let other = with_change_digests(plan, &FingerprintKey([8; 32]));
    assert_ne!(one.digests, other.digests);
}

#[test]
fn a_difference_is_rendered_with_the_side_that_moved() {
    let mut old = plans::full();
    let mut new = old.clone();
    new.changes[2].attributes[0].after = Value::Integer(3);
    new.base.config = "another".into();
    new.changes[0].attributes[0].before = Value::text("debian-12");
    new.changes.remove(4);
    old.changes[7].cost.monthly_after = Some(Decimal::from(10));
    // Instances that differ in the same way are one entry; where the ledger moved, too, it may be the cause.
    for key in ["a", "b", "c"] {
        let own = |name: &str| plans::attribute("name", Value::Null, Value::text(format!("{name}-{key}")));
        let change = |name| Change {
            attributes: vec![own(name)],
            ..plans::change(Action::Create, &format!("vpc.net.{key}"))
        };
        old.changes.push(change("old"));
        new.changes.push(change("new"));
    }
    old.base.serial += 1;
    let page = terminal::difference_page(
        "shop/prod",
        &ReviewDifference::Parts(compare(&old, &new)),
        TextStyle::plain(100),
    );
    insta::assert_snapshot!(page, @"
    shop/prod  7 resources decided differently
      database.main
          replica_count, planned value  2 → 3  the configuration changed
      vm.legacy
          monthly price  $10.00 instead of $12.00 → $12.00  the catalog price changed
      vm.web.a
          template, live value  ubuntu-22.04 → debian-12  the live object changed
      vm.web.b
          action  create → not in the plan  the configuration or the ledger changed
      vpc.net (3 instances): vpc.net.a, vpc.net.b, vpc.net.c
          name, planned value  old-{key} → new-{key}  the configuration changed
    ");
}
