//! Policies: which values they bind, and the message of every mistake in one.

use super::{expression, yaml};
use crate::model::cel::policy::PolicyLevel;
use crate::model::expression::Expression;
use crate::model::source::Source;

#[test]
fn a_policy_binds_only_the_names_it_uses() {
    let stack = yaml(
        "
vars: { most: { type: int, default: 5 }, other: { default: x } }
locals: { least: 1 }
policy:
  heavy: { on: crane, deny: '${self.tons > vars.most && self.tons > locals.least}', message: Too heavy. }
  both: { on: [crane, gate], deny: '${self.name == env || self.address == stack}', message: No. }
  budget: { deny: '${plan.monthly_after > 400.0}', message: Over the budget. }
",
    )
    .stack();
    let lines = stack.policies.iter().map(|policy| {
        let on: Vec<&str> = policy.on.iter().map(|kind| kind.name).collect();
        let deny = expression(&Expression::Cel(std::sync::Arc::new(policy.deny.clone())));
        format!("{} {on:?} {deny} {}", policy.name, policy.message)
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
    both ["crane", "gate"] cel(self.name == env || self.address == stack | env: default, stack: test | ) No.
    budget [] cel(plan.monthly_after > 400.0 |  | ) Over the budget.
    heavy ["crane"] cel(self.tons > vars.most && self.tons > locals.least | locals: { least: 1 }, vars: { most: 5 } | ) Too heavy.
    "#);
    let kdl = "
stead 1
stack test
policy budget deny=\"${plan.monthly_after > 400.0}\" message=\"Over the budget.\"
";
    let stack = yaml("").without_yaml().file("a.stead.kdl", kdl).stack();
    assert_eq!((stack.policies.len(), stack.policies[0].name.as_str()), (1, "budget"));
}

#[test]
fn every_policy_error_is_reported_once() {
    let cases = [
        "policy: [x]",
        "policy: { a: x }",
        "policy: { a: { deny: '${true}' } }",
        "policy: { a: { deny: true, message: m } }",
        "policy: { a: { deny: '${true', message: m } }",
        "policy: { a: { deny: '${true &&}', message: m } }",
        "policy: { a: { deny: '${true}', message: [m] } }",
        "policy: { a: { deny: '${true}', message: '${env} is closed' } }",
        "policy: { a: { deny: '${true}', message: m, reason: x } }",
        "policy: { a: { on: cranes, deny: '${true}', message: m } }",
        "policy: { a: { on: crane, deny: '${self.ton > 1}', message: m } }",
        "policy: { a: { deny: '${self.tons > 1}', message: m } }",
        "policy: { a: { deny: '${plan.monthly > 1}', message: m } }",
        "policy: { a: { deny: '${vars.x > 1}', message: m } }",
        "policy: { a: { deny: '${crane.one.tons > 1}', message: m } }\ncrane: { one: {} }",
        "policy: { a: { deny: '${locals.x == \"\"}', message: m } }\nlocals: { x: $crane.one.address }\ncrane: { one: {} }",
        "policy: { a: { deny: '${each.key == \"\"}', message: m } }",
    ];
    let table = cases.map(|case| format!("# {case}\n{}", yaml(&format!("{case}\n")).problems()));
    insta::assert_snapshot!(table.join("\n"), @r#"
    # policy: [x]
    S0236 3:9 a map was expected | `policy` holds named entries. | each entry is a key, not an item: write `policy: { x: { … } }`
    # policy: { a: x }
    S0236 3:14 a map was expected | `a` holds named entries. | write `a: { NAME: … }`
    # policy: { a: { deny: '${true}' } }
    S0295 3:11 a policy is wrong | A policy has a condition that denies a change, and a message that explains the denial. | write `deny: "${…}"`, over `self` with `on: KIND`, or over `plan`
    # policy: { a: { deny: true, message: m } }
    S0295 3:22 a policy is wrong | `deny` is one expression. | write `deny: "${…}"`, over `self` with `on: KIND`, or over `plan`
    # policy: { a: { deny: '${true', message: m } }
    S0295 3:22 a policy is wrong | `deny` is one expression. | write `deny: "${…}"`, over `self` with `on: KIND`, or over `plan`
    # policy: { a: { deny: '${true &&}', message: m } }
    S0214 3:32 an expression cannot be read | The expression ends where a value is expected. | write the value; for the text `${` itself, write `$${`
    # policy: { a: { deny: '${true}', message: [m] } }
    S0295 3:42 a policy is wrong | A `message` is a text. | write `deny: "${…}"`, over `self` with `on: KIND`, or over `plan`
    # policy: { a: { deny: '${true}', message: '${env} is closed' } }
    S0295 3:42 a policy is wrong | A `message` is a text: the expression in it would be shown as it is written. | write `deny: "${…}"`, over `self` with `on: KIND`, or over `plan`
    # policy: { a: { deny: '${true}', message: m, reason: x } }
    S0220 3:45 this key is not known | There is no `reason` here. | keys are: deny, level, message, on
    # policy: { a: { on: cranes, deny: '${true}', message: m } }
    S0295 3:20 a policy is wrong | `on` names kinds of resources. | did you mean `crane`? | fix: crane
    # policy: { a: { on: crane, deny: '${self.ton > 1}', message: m } }
    S0202 3:41 there is no attribute of this name | A crane has no `ton`. | did you mean `tons`? | fix: tons
    # policy: { a: { deny: '${self.tons > 1}', message: m } }
    S0295 3:22 a policy is wrong | `self` is a resource of the kind that `on` names. | write `deny: "${…}"`, over `self` with `on: KIND`, or over `plan`
    # policy: { a: { deny: '${plan.monthly > 1}', message: m } }
    S0202 3:30 there is no attribute of this name | A plan has no `monthly`. | it has adopt, changes, counts, create, delete, destroy, due_now, env, forget, monthly_after, monthly_before, monthly_delta, move, replace, stack, unchanged, unpriced, update
    # policy: { a: { deny: '${vars.x > 1}', message: m } }
    S0209 3:30 this variable is not declared | There is no variable `x`. | declare it under `vars`
    # policy: { a: { deny: '${crane.one.tons > 1}', message: m } }
    crane: { one: {} }
    S0295 3:25 a policy is wrong | `crane` is not available in a policy. | a policy reads actor, branch, env, locals, now, plan, self, stack, unit, vars
    # policy: { a: { deny: '${locals.x == ""}', message: m } }
    locals: { x: $crane.one.address }
    crane: { one: {} }
    S0208 3:22 this must be known before any resource exists | a policy is evaluated while the configuration is loaded, and attributes of a resource that the local names are known only later. | use a variable, or a local that refers to no resource
    # policy: { a: { deny: '${each.key == ""}', message: m } }
    S0295 3:25 a policy is wrong | `each` is not available in a policy. | a policy reads actor, branch, env, locals, now, plan, self, stack, unit, vars
    "#);
}

#[test]
fn a_kind_an_attribute_or_a_fact_that_does_not_exist_is_reported_at_its_place() {
    let cases = [
        "policy: { a: { level: mandatry, deny: '${true}', message: m } }",
        "policy: { a: { on: crane, deny: '${self.before.ton > 1}', message: m } }",
        "policy: { a: { deny: '${plan.counts.crain.create > 1}', message: m } }",
        "policy: { a: { deny: '${plan.counts.crane.creat > 1}', message: m } }",
        "policy: { a: { deny: '${plan.changes.exists(c, c.acton == \"delete\")}', message: m } }",
        "policy: { a: { deny: '${plan.changes.exists(c, c.after.ton > 1)}', message: m } }",
        "policy: { a: { deny: '${plan.changes.exists(c, c.kind == \"crain\")}', message: m } }",
        "policy: { a: { deny: '${actr == \"eve\"}', message: m } }",
    ];
    let table = cases.map(|case| format!("# {case}\n{}", yaml(&format!("{case}\n")).problems()));
    insta::assert_snapshot!(table.join("\n"), @r#"
    # policy: { a: { level: mandatry, deny: '${true}', message: m } }
    S0295 3:23 a policy is wrong | `level` is advisory, overridable or mandatory. | did you mean `mandatory`? | fix: mandatory
    # policy: { a: { on: crane, deny: '${self.before.ton > 1}', message: m } }
    S0202 3:48 there is no attribute of this name | A crane has no `ton`. | did you mean `tons`? | fix: tons
    # policy: { a: { deny: '${plan.counts.crain.create > 1}', message: m } }
    S0202 3:37 there is no attribute of this name | `plan.counts` has no `crain`. | did you mean `crane`? | fix, unsure: crane
    # policy: { a: { deny: '${plan.counts.crane.creat > 1}', message: m } }
    S0202 3:43 there is no attribute of this name | `plan.counts` has no `creat`. | did you mean `create`? | fix: create
    # policy: { a: { deny: '${plan.changes.exists(c, c.acton == "delete")}', message: m } }
    S0202 3:50 there is no attribute of this name | A change has no `acton`. | did you mean `action`? | fix: action
    # policy: { a: { deny: '${plan.changes.exists(c, c.after.ton > 1)}', message: m } }
    S0202 3:56 there is no attribute of this name | No kind has `ton`. | did you mean `tons`? | fix: tons
    # policy: { a: { deny: '${plan.changes.exists(c, c.kind == "crain")}', message: m } }
    S0202 3:22 there is no attribute of this name | The service has no `crain`. | did you mean `crane`?
    # policy: { a: { deny: '${actr == "eve"}', message: m } }
    S0295 3:25 a policy is wrong | `actr` is not available in a policy. | did you mean `actor`?
    "#);
    let known = "policy: { a: { level: advisory, on: crane, message: m, deny: '${now > \"2026\" && actor != branch && unit == \"a/b\" && self.before.tons > 1 && \"data_loss\" in self.effects && self.cause == \"drift\"}' } }\n";
    assert_eq!(yaml(known).stack().policies[0].level, PolicyLevel::Advisory);
}

#[test]
fn a_stack_has_no_influence_on_the_policies_of_the_settings() {
    let shared = |text: &str| Source::new("/etc/stead/rules.stead.yaml", format!("stead: 1\n{text}\n"));
    let with =
        |stack: &str, text: &str| yaml(stack).request(|request| request.policies = vec![shared(text)]);
    let rule =
        "policy: { heavy: { on: crane, level: mandatory, deny: '${self.tons > 5}', message: Too heavy. } }";
    let stack = with("", rule).stack();
    assert!(stack.policies[0].is_of_settings && stack.policies[0].level == PolicyLevel::Mandatory);
    assert_eq!(stack.digest, yaml("").stack().digest, "another machine may have other settings");
    let own = "policy: { heavy: { level: advisory, deny: '${false}', message: Fine. } }\n";
    let cases = [
        with(own, rule).problems(),
        with("vars: { most: { default: 5 } }\n", &rule.replace("> 5", "> int(vars.most)")).problems(),
        with("", "vpc: { a: {} }").problems(),
    ];
    insta::assert_snapshot!(cases.join("\n"), @r#"
    S0295 3:11 a policy is wrong [2:11 the settings name this one] | The user's settings have a policy `heavy` already. | give it another name: both hold
    S0295 2:74 a policy is wrong | A policy that the settings name cannot read `vars`: each stack sets its own. | write the value itself; where it depends on the stack, compare `unit`, `stack` or `env`
    S0295 2:1 a policy is wrong | A file of policies that the settings name has only `policy`, not `vpc`. | write `deny: "${…}"`, over `self` with `on: KIND`, or over `plan`
    "#);
}
