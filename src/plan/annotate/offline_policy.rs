//! Policies that need neither live objects nor a plan, evaluated on the configuration alone. A policy that depends on
//! an unknown value is left to the plan. Pure.

use super::policy::program::{PolicyEvaluation, PolicyProgram};
use super::policy::values::ContextValues;
use crate::config::stack::model::{Policy, Resource, Stack};
use crate::model::address::{Address, Name};
use crate::model::cel::policy::facts_below;
use crate::model::diagnostic::Diagnostic;
use crate::model::evaluate::evaluate_expression;
use crate::model::expression::AttributeLookup;
use crate::model::schema::{Attribute, Type};
use crate::model::values::value::{Attributes, Value};

/// Returns a diagnostic for each policy that denies the configuration already, once for each resource that it
/// denies. `apply` is the command that applies the stack, for the remedies. A policy whose expression does not parse is
/// skipped: loading the configuration reported it.
#[must_use]
pub fn offline_denials(stack: &Stack, apply: &str) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    // The same files give the same diagnostics at every time, and for everyone.
    let context = ContextValues::unknown();
    for policy in &stack.policies {
        let Some(program) = PolicyProgram::new(policy) else { continue };
        if policy.on.is_empty() {
            let plan = Value::Map(of_plan(stack));
            let said = program.evaluate(context.roots().chain([("plan", &plan)]));
            found.extend(policy_denial(policy, None, (&said, apply)));
            continue;
        }
        let concerns = |resource: &&Resource| policy.on.iter().any(|kind| kind.name == resource.kind.name);
        for resource in stack.resources.values().filter(concerns) {
            let seen = Value::Map(of_resource(resource));
            let said = program.evaluate(context.roots().chain([("self", &seen)]));
            found.extend(policy_denial(policy, Some(resource), (&said, apply)));
        }
    }
    found
}

/// Returns the diagnostic of a denial; `None` for every other result. An undecided or failed evaluation is left
/// to the plan, which knows more values.
fn policy_denial(
    policy: &Policy,
    resource: Option<&Resource>,
    (said, apply): (&PolicyEvaluation, &str),
) -> Option<Diagnostic> {
    matches!(said, PolicyEvaluation::Deny).then(|| policy.denial_problem(resource, apply))
}

/// Returns the attributes of `plan` that are known before a plan is made.
fn of_plan(stack: &Stack) -> Attributes {
    let value = |name: &str| match name {
        "stack" => Value::Text(stack.name.clone()),
        "env" => Value::Text(stack.environment.name.clone()),
        _ => unknown_value(None),
    };
    facts_below("plan").map(|name| (Name::new_static(name), value(name))).collect()
}

/// Returns the attributes of `self` that are known before anything is read: those that its block writes.
fn of_resource(resource: &Resource) -> Attributes {
    let attribute =
        |attribute: &Attribute| (Name::new_static(attribute.name), written_value(resource, attribute));
    let mut seen: Attributes = resource.kind.attributes.iter().map(attribute).collect();
    for name in facts_below("self") {
        let value = match name {
            "address" => Value::text(resource.address.as_str()),
            "kind" => Value::text(resource.kind.name),
            "key" => resource.key.clone().map_or(Value::Null, Value::Text),
            _ => unknown_value(Some(&resource.address)),
        };
        seen.insert(Name::new_static(name), value);
    }
    seen
}

/// Returns the value that a block writes for an attribute. An attribute that it omits or resets is
/// unknown: the service decides it.
fn written_value(resource: &Resource, attribute: &Attribute) -> Value {
    let later = || unknown_value(Some(&resource.address));
    let Some(setting) = resource.attributes.get(attribute.name) else { return later() };
    let value = evaluate_expression(&setting.expression, &UnreadValues).unwrap_or_else(|_| later());
    let is_later = match (&attribute.ty, &value) {
        (_, Value::Null) | (Type::Catalog(_), Value::Integer(_)) => true,
        // Only the catalog can map an id to its name.
        (Type::Catalog(_), Value::Text(text)) => is_id(text),
        _ => false,
    };
    if is_later { later() } else { value }
}

fn is_id(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit()) || uuid::Uuid::parse_str(text).is_ok()
}

fn unknown_value(address: Option<&Address>) -> Value {
    Value::unknown(address.cloned().into_iter().collect())
}

/// Live values before anything is read: all of them are unknown.
struct UnreadValues;

impl AttributeLookup for UnreadValues {
    fn attribute(&self, address: &Address, _attribute: Option<&str>) -> Value {
        unknown_value(Some(address))
    }

    fn object(&self, _address: &Address) -> (Attributes, bool) {
        (Attributes::new(), false)
    }
}
