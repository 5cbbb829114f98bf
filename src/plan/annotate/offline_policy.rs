//! Policies that need nothing of the live world nor of the plan, judged on the configuration alone. What
//! is not known before anything is read leaves a policy to the plan. Pure.

use super::policy::{PolicyEvaluation, evaluate_policy};
use crate::config::check::policies::{PLAN_FIELDS, SELF_FIELDS};
use crate::config::stack::model::{Policy, Resource, Stack};
use crate::model::address::{Address, Name};
use crate::model::cel::CelProgram;
use crate::model::diagnostic::Diagnostic;
use crate::model::evaluate::evaluate_expression;
use crate::model::expression::AttributeLookup;
use crate::model::schema::{Attribute, Type};
use crate::model::value::{Attributes, Value};

/// Returns what policies say no to already.
#[must_use]
pub fn offline_denials(stack: &Stack) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for policy in &stack.policies {
        let Ok(program) = CelProgram::parse(&policy.deny.source) else { continue };
        if policy.on.is_empty() {
            let plan = Value::Map(of_plan(stack));
            found.extend(policy_denial(
                policy,
                None,
                &evaluate_policy(policy, &program, &[("plan", &plan)]),
            ));
            continue;
        }
        let concerns = |resource: &&Resource| policy.on.iter().any(|kind| kind.name == resource.kind.name);
        for resource in stack.resources.values().filter(concerns) {
            let seen = Value::Map(of_resource(resource));
            found.extend(policy_denial(
                policy,
                Some(resource),
                &evaluate_policy(policy, &program, &[("self", &seen)]),
            ));
        }
    }
    found
}

/// What cannot be decided is left to the plan, which knows more.
fn policy_denial(
    policy: &Policy,
    resource: Option<&Resource>,
    said: &PolicyEvaluation,
) -> Option<Diagnostic> {
    matches!(said, PolicyEvaluation::Deny).then(|| policy.denial_problem(resource))
}

/// What is known of a plan before it is made.
fn of_plan(stack: &Stack) -> Attributes {
    let value = |name: &str| match name {
        "stack" => Value::Text(stack.name.clone()),
        "env" => Value::Text(stack.environment.name.clone()),
        _ => unknown_value(None),
    };
    PLAN_FIELDS.iter().map(|name| (Name::new_static(name), value(name))).collect()
}

/// What is known of a resource before anything is read: what its block says.
fn of_resource(resource: &Resource) -> Attributes {
    let attribute =
        |attribute: &Attribute| (Name::new_static(attribute.name), written_value(resource, attribute));
    let mut seen: Attributes = resource.kind.attributes.iter().map(attribute).collect();
    for name in SELF_FIELDS {
        let value = match *name {
            "address" => Value::text(resource.address.as_str()),
            "kind" => Value::text(resource.kind.name),
            "key" => resource.key.clone().map_or(Value::Null, Value::Text),
            _ => unknown_value(Some(&resource.address)),
        };
        seen.insert(Name::new_static(name), value);
    }
    seen
}

/// Returns what a block says of an attribute. What it does not say, or resets, is the service's.
fn written_value(resource: &Resource, attribute: &Attribute) -> Value {
    let later = || unknown_value(Some(&resource.address));
    let Some(setting) = resource.attributes.get(attribute.name) else { return later() };
    let value = evaluate_expression(&setting.expression, &UnreadValues).unwrap_or_else(|_| later());
    let is_later = match (&attribute.ty, &value) {
        (_, Value::Null) | (Type::Catalog(_), Value::Integer(_)) => true,
        // The catalog alone tells the name of an id.
        (Type::Catalog(_), Value::Text(text)) => is_id(text),
        _ => false,
    };
    if is_later { later() } else { value }
}

fn is_id(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit()) || uuid::Uuid::parse_str(text).is_ok()
}

fn unknown_value(address: Option<&Address>) -> Value {
    Value::Unknown(address.cloned().into_iter().collect())
}

/// The live world before anything is read.
struct UnreadValues;

impl AttributeLookup for UnreadValues {
    fn attribute(&self, address: &Address, _attribute: Option<&str>) -> Value {
        unknown_value(Some(address))
    }

    fn object(&self, _address: &Address) -> (Attributes, bool) {
        (Attributes::new(), false)
    }
}
