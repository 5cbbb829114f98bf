//! Checks what a stack reads from other stacks against what these declare: offline, without a ledger. In: a stack, and
//! the other stacks as their files are now. Out: a diagnostic for each output that is not declared, that is a secret which
//! the ledger of that stack does not keep, or whose type does not fit the attribute that takes it.

use std::collections::BTreeMap;

use crate::config::codes;
use crate::config::diagnostics::messages::mismatch_diagnostic;
use crate::config::stack::known_values::substitute_known_values;
use crate::config::stack::model::{AttributeSetting, OtherStack, Output, Stack};
use crate::config::types::conform::conform_to_type;
use crate::config::types::mismatch::TypeMismatch;
use crate::config::types::reference_fit::{is_fitting_type, referenced_type};
use crate::config::types::scalar::type_name;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::expression::{Expression, Reference};
use crate::model::schema::{Registry, Type};
use crate::model::values::value::Value;

/// Returns the problems of what `stack` reads from other stacks. `upstream` has them by their names under `stacks`; one
/// that is absent is not checked.
#[must_use]
pub fn check_remote_outputs(
    registry: Registry,
    stack: &Stack,
    upstream: &BTreeMap<Name, &Stack>,
) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for (alias, other) in &stack.stacks {
        if let Some(declared) = upstream.get(alias) {
            check_declared_outputs(alias, other, declared, &mut problems);
        }
    }
    for resource in stack.resources.values() {
        for (name, setting) in &resource.attributes {
            let Some(attribute) = resource.kind.attribute(name) else { continue };
            if name == "name" {
                problems.extend(secret_name_problem(setting, upstream));
            }
            let Some((other, output)) = referenced_output(&setting.expression, upstream) else { continue };
            problems.extend(type_problem(registry, other, output, &attribute.ty, setting));
        }
    }
    problems
}

/// Returns whether an output contains a secret: one that is written, or the value of a secret attribute.
#[must_use]
pub fn is_secret_output(stack: &Stack, output: &Output) -> bool {
    let is_secret_attribute = |reference: &Reference| {
        let kind = stack.resources.get(&reference.address).map(|resource| resource.kind);
        let attribute =
            kind.zip(reference.attribute.as_deref()).and_then(|(kind, name)| kind.attribute(name));
        attribute.is_some_and(|attribute| attribute.secret)
    };
    output.expression.is_secret() || any_reference(&output.expression, &is_secret_attribute)
}

fn any_reference(expression: &Expression, test: &impl Fn(&Reference) -> bool) -> bool {
    match expression {
        Expression::Value(_) => false,
        Expression::Reference(reference) => test(reference),
        Expression::Text(parts) | Expression::List(parts) => {
            parts.iter().any(|part| any_reference(part, test))
        }
        Expression::Map(map) => map.values().any(|part| any_reference(part, test)),
        Expression::Cel(cel) => cel.waiting.values().any(|part| any_reference(part, test)),
    }
}

fn check_declared_outputs(
    alias: &Name,
    other: &OtherStack,
    declared: &Stack,
    problems: &mut Vec<Diagnostic>,
) {
    for (output, span) in &other.reads {
        match declared.outputs.get(output) {
            Some(found) if is_secret_output(declared, found) => {
                let problem = || {
                    Diagnostic::error(codes::REMOTE_OUTPUT, "an output of another stack is secret")
                        .with_label(*span, "")
                        .with_label(other.span, "read from here")
                };
                if declared.recipients.is_none() {
                    problems.push(
                        problem()
                            .detail(format!(
                                "`{alias}.{output}` contains a secret, of which the ledger of that stack stores only a fingerprint."
                            ))
                            .help("keep it there: add `secrets: { recipients: [age1…] }` to that stack; or pass the secret to this stack, too, as a variable"),
                    );
                } else if !matches!(found.expression, Expression::Value(Value::Secret(_))) {
                    problems.push(
                        problem()
                            .detail(format!(
                                "`{alias}.{output}` is more than a secret: the ledger of that stack keeps a value that is computed from its secret variables, and not from objects."
                            ))
                            .help("make the secret an output of its own, and combine it with others here"),
                    );
                }
            }
            Some(_) => {}
            None => {
                let problem = Diagnostic::error(codes::REMOTE_OUTPUT, "another stack has no such output")
                    .with_label(*span, "")
                    .with_label(other.span, "read from here")
                    .detail(format!(
                        "The stack in `{}` does not declare the output `{output}`.",
                        other.shown
                    ));
                problems.push(match nearest_name(output, declared.outputs.keys().map(Name::as_str)) {
                    Some(near) => problem.help(format!("did you mean `$stacks.{alias}.{near}`?")),
                    None if declared.outputs.is_empty() => {
                        problem.help("that stack has no `outputs`; declare it there")
                    }
                    None => {
                        let known: Vec<&str> = declared.outputs.keys().map(Name::as_str).collect();
                        problem.help(format!("declare it there; its outputs are: {}", known.join(", ")))
                    }
                });
            }
        }
    }
}

/// Returns the problem of a name that is computed from a secret output: plans, messages and lists of the service show names.
fn secret_name_problem(
    setting: &AttributeSetting,
    upstream: &BTreeMap<Name, &Stack>,
) -> Option<Diagnostic> {
    let is_secret = |reference: &Reference| {
        let whole = Expression::Reference(reference.clone());
        referenced_output(&whole, upstream).is_some_and(|(other, output)| is_secret_output(other, output))
    };
    any_reference(&setting.expression, &is_secret).then(|| {
        Diagnostic::error(codes::REMOTE_OUTPUT, "a name would contain a secret of another stack")
            .with_label(setting.span, "")
            .detail("Plans, messages and lists of the service show names.".to_owned())
            .help("compute the name from values that are not secret")
    })
}

/// Returns the stack and the output of an expression that is a reference to an output and nothing else.
fn referenced_output<'s>(
    expression: &Expression,
    upstream: &BTreeMap<Name, &'s Stack>,
) -> Option<(&'s Stack, &'s Output)> {
    let Expression::Reference(Reference { address, attribute: Some(output) }) = expression else {
        return None;
    };
    let other = upstream.get(address.last()).filter(|_| address.root() == "stacks")?;
    Some((other, other.outputs.get(output)?))
}

/// Returns the problem of an output whose type does not fit the attribute `setting`; `None` if it fits, or its type is
/// not known.
fn type_problem(
    registry: Registry,
    other: &Stack,
    output: &Output,
    ty: &Type,
    setting: &AttributeSetting,
) -> Option<Diagnostic> {
    match substitute_known_values(other, &output.expression) {
        // An id or a catalog name is a text that only the service can judge.
        Expression::Value(_) if matches!(ty, Type::Reference(_) | Type::Catalog(_)) => None,
        Expression::Value(value) => {
            let mistake = conform_to_type(ty, value).err()?;
            Some(located(mismatch_diagnostic(&mistake, setting.span), other, output))
        }
        Expression::Reference(reference) => reference_problem(registry, other, &reference, ty, setting)
            .map(|problem| located(problem, other, output)),
        Expression::List(_) if matches!(ty, Type::Boolean | Type::Integer { .. } | Type::Decimal) => {
            let mistake = TypeMismatch::wrong_type(&type_name(ty), "a list");
            Some(located(mismatch_diagnostic(&mistake, setting.span), other, output))
        }
        _ => None,
    }
}

fn reference_problem(
    registry: Registry,
    other: &Stack,
    Reference { address, attribute }: &Reference,
    ty: &Type,
    setting: &AttributeSetting,
) -> Option<Diagnostic> {
    let kind = other.resources.get::<Address>(address)?.kind;
    let found = referenced_type(kind, attribute.as_deref())?;
    let whole = attribute.is_none();
    // An id is a text: it may be sent wherever a text is taken.
    let takes_text = whole && matches!(ty, Type::Text { .. });
    if takes_text || is_fitting_type(&registry, ty, &found, (whole, false)) {
        return None;
    }
    let what = match attribute {
        None => format!("the id of {}, a {}", address, kind.name),
        Some(name) => format!("{address}.{name}, which is {}", type_name(&found)),
    };
    let problem = Diagnostic::error(codes::REMOTE_OUTPUT, "an output of another stack has the wrong type");
    Some(
        problem
            .with_label(setting.span, "")
            .detail(format!("The attribute takes {}, and the output is {what}.", type_name(ty))),
    )
}

/// Adds the file and line of the output's declaration, which is in the sources of the other stack.
fn located(mut problem: Diagnostic, other: &Stack, output: &Output) -> Diagnostic {
    let Some(at) = other.sources.location_of(output.span) else { return problem };
    let detail = problem.detail.take().unwrap_or_default();
    let said = format!("{detail} It is declared in {}:{}.", at.file, at.line);
    problem.detail(said.trim_start().to_owned())
}
