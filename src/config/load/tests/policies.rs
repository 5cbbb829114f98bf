//! Policies: which values they bind, and the message of every mistake in one.

use super::{expression, yaml};
use crate::model::expression::Expression;

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
    # policy: { a: { deny: '${true}', message: m, reason: x } }
    S0220 3:45 this key is not known | There is no `reason` here. | keys are: deny, message, on
    # policy: { a: { on: cranes, deny: '${true}', message: m } }
    S0295 3:20 a policy is wrong | `on` names kinds of resources. | did you mean `crane`? | fix: crane
    # policy: { a: { on: crane, deny: '${self.ton > 1}', message: m } }
    S0202 3:41 there is no attribute of this name | A crane has no `ton`. | did you mean `tons`? | fix: tons
    # policy: { a: { deny: '${self.tons > 1}', message: m } }
    S0295 3:22 a policy is wrong | `self` is a resource of the kind that `on` names. | write `deny: "${…}"`, over `self` with `on: KIND`, or over `plan`
    # policy: { a: { deny: '${plan.monthly > 1}', message: m } }
    S0202 3:30 there is no attribute of this name | A plan has no `monthly`. | it has adopt, changes, create, delete, env, forget, monthly_after, monthly_before, monthly_delta, move, replace, stack, unchanged, update
    # policy: { a: { deny: '${vars.x > 1}', message: m } }
    S0209 3:30 this variable is not declared | There is no variable `x`. | declare it under `vars`
    # policy: { a: { deny: '${crane.one.tons > 1}', message: m } }
    crane: { one: {} }
    S0295 3:25 a policy is wrong | `crane` is not available in a policy. | write `deny: "${…}"`, over `self` with `on: KIND`, or over `plan`
    # policy: { a: { deny: '${locals.x == ""}', message: m } }
    locals: { x: $crane.one.address }
    crane: { one: {} }
    S0208 3:22 this must be known before any resource exists | a policy is evaluated while the configuration is loaded, and attributes of a resource that the local names are known only later. | use a variable, or a local that refers to no resource
    # policy: { a: { deny: '${each.key == ""}', message: m } }
    S0295 3:25 a policy is wrong | `each` is not available in a policy. | write `deny: "${…}"`, over `self` with `on: KIND`, or over `plan`
    "#);
}
