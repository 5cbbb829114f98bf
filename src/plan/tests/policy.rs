//! Policies, judged.

use serde_json::json;

use super::shop;
use super::world::{SPAN, World};
use crate::config::stack::model::{AllowedExposure, Policy};
use crate::kinds::REGISTRY;
use crate::model::address::Address;
use crate::model::cel::policy::PolicyLevel;
use crate::model::expression::CelExpression;
use crate::model::schema::is_exposure_code;
use crate::model::source::{SourceId, Span};
use crate::model::values::value::Value;
use crate::plan::artifact::recheck::check_recomputed;
use crate::plan::model::change::{Action, Plan, PolicyResult};
use crate::plan::model::note::NoteCode;

impl World {
    fn policy(&mut self, name: &str, on: &[&str], deny: &str) -> &mut Self {
        let deny = CelExpression { source: deny.to_owned(), ..CelExpression::default() };
        self.stack.policies.push(Policy {
            name: name.into(),
            on: on.iter().map(|kind| self.registry.kind(kind).unwrap()).collect(),
            deny,
            message: format!("No {name}."),
            level: PolicyLevel::Overridable,
            is_of_settings: false,
            span: Span { source: SourceId(0), start: 0, end: 5 },
        });
        self
    }

    /// Sets the level of the policy that was added last.
    fn level(&mut self, level: PolicyLevel) -> &mut Self {
        self.stack.policies.last_mut().unwrap().level = level;
        self
    }
}

fn said(plan: &Plan) -> Vec<String> {
    let line = |ruling: &PolicyResult| {
        let of = ruling.address.as_ref().map(|address| format!(" {address}")).unwrap_or_default();
        format!("{} {:?}{of}: {}", ruling.name, ruling.verdict, ruling.message)
    };
    plan.policy.iter().filter(|ruling| !is_exposure_code(&REGISTRY, &ruling.name)).map(line).collect()
}

#[test]
fn policies_are_evaluated_for_each_resource_and_for_the_plan() {
    let mut world = shop();
    world
        .policy("open", &["database"], "self.public_access && size(self.public_allowlist) == 0")
        .policy("small", &["vm", "volume"], "self.kind == 'volume' && self.size > 50")
        .policy("plans", &["vm"], "self.plan == 'large'")
        .policy("later", &["vm"], "self.public_ipv4_address == ''")
        .policy("wrong", &["vm"], "self.name > 3")
        .policy("budget", &[], "plan.monthly_after > 10.5")
        .policy("many", &[], "plan.create > 100 || plan.changes.exists(c, c.action == 'delete')");
    insta::assert_snapshot!(said(&world.plan()).join("\n"), @r#"
    open Pass: No open.
    small Deny volume.media: No small.
    plans Pass: No plans.
    later Unknown vm.web: It is decided neither here nor before a step, since values of vm.web are known only after it: No later.
    wrong Deny vm.web: It cannot be evaluated: a text and a whole number cannot be ordered.
    budget Deny: No budget.
    many Pass: No many.
    "#);
    let codes: Vec<String> = world.plan().blocks.iter().map(|block| block.text.clone()).collect();
    insta::assert_snapshot!(codes.join("\n"), @r#"
    small: No small.
    wrong: It cannot be evaluated: a text and a whole number cannot be ordered.
    budget: No budget.
    "#);
}

#[test]
fn a_policy_override_lifts_the_blocker_and_keeps_the_fingerprint() {
    let mut world = shop();
    world.policy("size", &["volume"], "self.size > 50").policy("price", &[], "plan.monthly_after > 0.0");
    let plan = world.plan();
    assert_eq!(plan.blocks.len(), 2);
    world.options.overrides = ["size".into()].into();
    assert_eq!(world.plan().blocks.len(), 1);
    assert!(plan.is_blocked(&world.options.overrides), "one of two is not enough");
    world.options.overrides.insert("price".into());
    let overridden = world.plan();
    assert_eq!((overridden.blocks.len(), overridden.denying_policies().len()), (0, 2));
    assert!(!plan.is_blocked(&world.options.overrides));
    assert_eq!(plan.fingerprint, overridden.fingerprint, "it is what was reviewed");
    world.stack.policies.clear();
    assert_ne!(plan.fingerprint, world.plan().fingerprint);
}

#[test]
fn a_deletion_is_evaluated_only_by_policies_that_use_the_action() {
    let mut world = shop();
    world.settle();
    world.policy("size", &["volume"], "self.size > 50");
    world.consents = true;
    world.remove("volume.media");
    assert_eq!(said(&world.plan()), ["size Pass: No size."]);
    world.policy("keep", &["volume"], "self.action == 'delete'");
    assert_eq!(world.plan().blocks[0].text, "keep: No keep.");
    // A name that is computed may be that of the action.
    world.policy("hidden", &["volume"], "self['act' + 'ion'] == 'delete'");
    assert_eq!(world.plan().blocks[1].text, "hidden: No hidden.");
    world.stack.policies.pop();
    world.set("vm.web", "plan", json!("large"));
    world.policy("still", &["vm"], "self.action == 'update' && self.id != ''");
    assert_eq!(world.plan().denying_policies().len(), 2);
}

#[test]
fn the_deletion_of_what_a_replacement_left_is_a_deletion() {
    let mut world = shop();
    world.settle();
    let mut old = world.ledger.entries["vm.web"].current.clone().unwrap();
    old.id = "old".into();
    world.stranger("vm", "old", json!({"name": "web", "plan": 1, "status": "active"}));
    world.ledger.entries.get_mut("vm.web").unwrap().deposed.push(old);
    world.policy("never", &["vm"], "self.action == 'delete'").level(PolicyLevel::Mandatory);
    world.policy("kept", &["vm"], "'data_loss' in self.effects");
    assert_eq!(world.plan().changes[0].action, Action::Delete);
    let denied = ["never Deny vm.web: No never.", "kept Deny vm.web: No kept."];
    assert_eq!(said(&world.plan()), denied);
    // The resource is updated in the same plan: the old object is deleted all the same.
    world.set("vm.web", "plan", json!("large"));
    assert_eq!(world.plan().changes[0].action, Action::Update);
    assert_eq!(said(&world.plan()), denied);
}

#[test]
fn an_advisory_policy_warns_and_a_mandatory_one_cannot_be_lifted() {
    let mut world = shop();
    world.policy("advice", &["volume"], "self.size > 50").level(PolicyLevel::Advisory);
    let advised = world.plan();
    assert_eq!(said(&advised), ["advice Warn volume.media: No advice."]);
    assert!(advised.blocks.is_empty() && advised.denying_policies().is_empty());
    world.policy("never", &["volume"], "self.size > 50").level(PolicyLevel::Mandatory);
    world.options.overrides = ["never".into(), "advice".into()].into();
    let denied = world.plan();
    assert_eq!(denied.blocks.len(), 1);
    assert!(denied.blocks[0].help.contains("mandatory") && !denied.blocks[0].help.contains("--override"));
    assert!(denied.is_blocked(&world.options.overrides), "nothing lifts it");
    assert_eq!(said(&denied)[1], "never Deny volume.media: No never.");
}

#[test]
fn a_condition_reads_values_before_and_after_effects_cause_cost_and_counts() {
    let mut world = shop();
    world.settle();
    world.consents = true;
    world.set("vm.web", "plan", json!("large")).set("database.main", "storage_gb", json!(60));
    world.remove("backup_schedule.nightly");
    let facts = [
        "self.before.plan == 'small' && self.plan == 'large'",
        "self.effects == ['restart', 'charge'] || 'restart' in self.effects",
        "self.cause == 'config'",
        "self.monthly_before == 6.0 && self.monthly_after == 24.0",
        "unit == 'shop/prod'",
    ];
    for (n, fact) in facts.iter().enumerate() {
        world.policy(&format!("vm{n}"), &["vm"], fact);
    }
    let bound: Vec<_> = world.stack.policies.iter_mut().map(|policy| &mut policy.deny.bindings).collect();
    for bindings in bound {
        bindings.insert("unit".into(), Value::text("shop/prod"));
    }
    let of_plan = [
        "plan.counts.vm.update == 1 && plan.counts.database.update == 1 && plan.counts.vpc.delete == 0",
        "plan.counts.backup_schedule.delete == plan.delete",
        "plan.changes.exists(c, c.before.storage_gb == 40 && c.after.storage_gb == 60)",
        "plan.changes.exists(c, c.action == 'delete' && c.before.frequency == 'daily' && c.after.frequency == null)",
        "plan.changes.exists(c, c.kind == 'vm' && 'restart' in c.effects && c.cause == 'config')",
        "plan.changes.exists(c, c.monthly_after == 24.0 && c.monthly_before == 6.0)",
        "!plan.destroy && plan.unpriced == 0",
        "plan.due_now == 0.0 && plan.changes.all(c, c.due_now == null || c.due_now == 0.0)",
    ];
    for (n, fact) in of_plan.iter().enumerate() {
        world.policy(&format!("plan{n}"), &[], fact);
    }
    let plan = world.plan();
    let open: Vec<_> = said(&plan).into_iter().filter(|line| !line.contains(" Deny")).collect();
    assert_eq!(open, Vec::<String>::new(), "{}", super::show(&plan));
    assert_eq!(said(&plan).len(), facts.len() + of_plan.len());
}

#[test]
fn a_policy_of_which_the_plan_has_no_resource_is_a_note() {
    let mut world = shop();
    world.policy("lonely", &["cluster"], "true").policy("used", &["vm"], "false");
    world.policy("mine", &["cluster"], "true");
    world.stack.policies.last_mut().unwrap().is_of_settings = true;
    let plan = world.plan();
    let notes: Vec<&str> = plan
        .notes
        .iter()
        .filter(|note| note.code == NoteCode::Unmatched)
        .map(|note| note.text.as_str())
        .collect();
    assert_eq!(notes, ["the policy lonely matched nothing: there is no cluster that it applies to"]);
    assert!(plan.blocks.is_empty());
}

#[test]
fn a_freeze_blocks_inside_of_it_only_and_is_not_part_of_what_was_reviewed() {
    let mut world = shop();
    world.policy("freeze", &[], "now >= '2026-12-20' && now < '2027-01-04' && size(plan.changes) > 0");
    let at = |world: &mut World, time: &str| {
        world.options.policy.time = Some(time.parse().unwrap());
        world.plan()
    };
    let before = at(&mut world, "2026-12-19T23:59:59Z");
    let inside = at(&mut world, "2026-12-20T00:00:00Z");
    let after = at(&mut world, "2027-01-04T00:00:00Z");
    assert!(before.blocks.is_empty() && after.blocks.is_empty());
    assert_eq!(inside.blocks[0].text, "freeze: No freeze.");
    assert_eq!(before.fingerprint, inside.fingerprint);
    assert_eq!(inside.fingerprint, after.fingerprint);
    // A saved plan that was reviewed in the freeze is the same one after it, and the other way round.
    assert_eq!(check_recomputed(&inside, &after), Ok(()));
    assert_eq!(check_recomputed(&before, &inside), Ok(()));
    let context: Vec<_> =
        inside.policy[0].context.iter().map(|(fact, value)| format!("{fact} {value}")).collect();
    assert_eq!(context, ["now 2026-12-20T00:00:00Z"]);
}

#[test]
fn time_actor_and_branch_are_in_no_fingerprint() {
    let conditions = [
        "now > '2026-07-01T12:30:00Z'",
        "actor.startsWith('eve')",
        "branch != 'main'",
        "now.endsWith('Z') && (actor == 'ada@vm' || branch == 'main')",
    ];
    let (mut compared, mut differ, mut decided) = (0, 0, 0);
    for seed in 0_u32..1_000 {
        let mut world = shop();
        world.set("volume.media", "size", json!(10 + seed % 90));
        world.set("database.main", "storage_gb", json!(20 + seed / 90));
        if seed % 3 == 0 {
            world.write("api_key.ci", json!({"expires_at": "2027-07-01T12:30:00Z"}));
            // A silencer that ends between the two plans.
            world.block("api_key.ci").allowed_exposures.push(AllowedExposure {
                code: "X04".into(),
                reason: "soon replaced".to_owned(),
                until: Some("2026-07-01".parse().unwrap()),
                span: SPAN,
            });
        }
        let number = usize::try_from(seed).unwrap();
        world.policy("context", &[], conditions[number % 4]);
        world.policy("each", &["vm"], conditions[(number / 4) % 4]);
        let mut two =
            [("2026-07-01T12:00:00Z", "ada@vm", "main"), ("2026-07-02T13:00:00Z", "eve@ci", "fix")].map(
                |(time, actor, branch)| {
                    world.now = time.parse().unwrap();
                    let policy = &mut world.options.policy;
                    (policy.time, policy.actor, policy.branch) =
                        (Some(world.now), actor.into(), branch.into());
                    world.plan()
                },
            );
        let [first, second] = &mut two;
        differ += u32::from(first.fingerprint != second.fingerprint);
        decided += u32::from(first.blocks != second.blocks);
        assert_eq!(check_recomputed(first, second), Ok(()), "{seed}");
        compared += 1;
    }
    assert_eq!((compared, differ), (1_000, 0));
    assert!(decided > 500, "the verdicts themselves differ: {decided}");
}

#[test]
fn what_is_not_known_yet_waits_for_the_step_that_knows_it() {
    let mut world = shop();
    world.policy("linked", &["volume"], "self.vm == 'x'").level(PolicyLevel::Mandatory);
    world.policy("address", &[], "plan.changes.exists(c, c.after.vm == 'x')");
    let plan = world.plan();
    assert_eq!(said(&plan).len(), 2);
    assert!(said(&plan).iter().all(|line| line.contains("Unknown")), "{:?}", said(&plan));
    assert!(plan.blocks.is_empty(), "it is decided before the step");
    let waits: Vec<String> = plan
        .undecided
        .iter()
        .map(|policy| {
            let addresses: Vec<&str> = policy.addresses.iter().map(Address::as_str).collect();
            let reads: Vec<&str> =
                policy.condition.addresses().iter().map(|address| address.as_str()).collect();
            format!("{} {:?} {addresses:?} reads {reads:?}", policy.name, policy.level)
        })
        .collect();
    insta::assert_snapshot!(waits.join("\n"), @r#"
    linked Mandatory ["volume.media"] reads ["vm.web"]
    address Overridable ["backup_schedule.nightly", "volume.media"] reads ["vm.web"]
    "#);
    world.settle();
    assert!(world.plan().undecided.is_empty(), "an unchanged resource has no step");
}
