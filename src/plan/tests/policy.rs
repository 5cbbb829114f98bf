//! Policies, judged.

use serde_json::json;

use super::shop;
use super::world::World;
use crate::config::stack::model::Policy;
use crate::model::expression::CelExpression;
use crate::model::source::{SourceId, Span};
use crate::plan::model::change::{Plan, PolicyResult};

impl World {
    fn policy(&mut self, name: &str, on: &[&str], deny: &str) -> &mut Self {
        let deny = CelExpression { source: deny.to_owned(), ..CelExpression::default() };
        self.stack.policies.push(Policy {
            name: name.into(),
            on: on.iter().map(|kind| self.registry.kind(kind).unwrap()).collect(),
            deny,
            message: format!("No {name}."),
            span: Span { source: SourceId(0), start: 0, end: 5 },
        });
        self
    }
}

fn said(plan: &Plan) -> Vec<String> {
    let line = |ruling: &PolicyResult| {
        let of = ruling.address.as_ref().map(|address| format!(" {address}")).unwrap_or_default();
        format!("{} {:?}{of}: {}", ruling.name, ruling.verdict, ruling.message)
    };
    plan.policy.iter().map(line).collect()
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
    later Unknown vm.web: It is evaluated once the values of vm.web are known: No later.
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
    world.set("vm.web", "plan", json!("large"));
    world.policy("still", &["vm"], "self.action == 'update' && self.id != ''");
    assert_eq!(world.plan().denying_policies().len(), 2);
}
