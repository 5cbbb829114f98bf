//! Checks what a stack reads from other stacks against what these declare: offline, without a ledger. In: a stack, and
//! the other stacks as their files are now. Out: a diagnostic for each output that is not declared, that is a secret which
//! the ledger of that stack does not keep, or whose type does not fit where it is used: in an attribute, a part of one, or a text.

use std::collections::BTreeMap;

use crate::config::codes;
use crate::config::diagnostics::messages::{evaluation_problem, mismatch_diagnostic};
use crate::config::stack::known_values::substitute_known_values;
use crate::config::stack::model::{AttributeSetting, OtherStack, Output, Stack};
use crate::config::types::conform::conform_to_type;
use crate::config::types::mismatch::TypeMismatch;
use crate::config::types::reference_fit::{is_fitting_type, referenced_type};
use crate::config::types::scalar::type_name;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::evaluate::evaluate_expression;
use crate::model::expression::{AttributeLookup, Expression, Reference};
use crate::model::schema::{PROJECT, Registry, Type};
use crate::model::source::Span;
use crate::model::values::value::{Attributes, Value};

/// First part of the address of an output of another stack.
const STACKS: &str = "stacks";

/// Summary of the problem of an output that does not fit where it is used.
const WRONG_TYPE: &str = "an output of another stack has the wrong type";

/// Returns why an output of another stack, as it is declared now, does not fit where `stack` reads it under this alias; `None` if
/// all do. That one is missing or secret is another problem.
#[must_use]
pub fn find_misfit(
    registry: Registry,
    stack: &Stack,
    (alias, declared): (&Name, &Stack),
) -> Option<String> {
    let problems = check_remote_outputs(registry, stack, &BTreeMap::from([(alias.clone(), declared)]));
    let is_misfit =
        |problem: &Diagnostic| problem.code != codes::REMOTE_OUTPUT || problem.summary == WRONG_TYPE;
    let misfit = problems.into_iter().find(is_misfit)?;
    Some(misfit.detail.unwrap_or(misfit.summary))
}

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
    let mut checked = UsedOutputs { registry, stack, upstream, problems: Vec::new() };
    for resource in stack.resources.values() {
        for (name, setting) in &resource.attributes {
            let Some(attribute) = resource.kind.attribute(name) else { continue };
            if name == "name" {
                problems.extend(secret_name_problem(setting, upstream));
            }
            checked.check(Some(&attribute.ty), &setting.expression, setting.span);
        }
        if let Some(project) = &resource.project {
            checked.check(Some(&Type::Reference(PROJECT)), project, resource.span);
        }
    }
    for output in stack.outputs.values() {
        checked.check(None, &output.expression, output.span);
    }
    problems.extend(checked.problems);
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
    let other = upstream.get(address.last()).filter(|_| address.root() == STACKS)?;
    Some((other, other.outputs.get(output)?))
}

/// Where a stack uses outputs of others, and the problems that were found.
struct UsedOutputs<'s> {
    registry: Registry,
    stack: &'s Stack,
    upstream: &'s BTreeMap<Name, &'s Stack>,
    problems: Vec<Diagnostic>,
}

impl UsedOutputs<'_> {
    /// Checks the outputs in an expression, which `span` covers, that gives a value of the type `ty`; `None`: of any type.
    fn check(&mut self, ty: Option<&Type>, expression: &Expression, span: Span) {
        let before = self.problems.len();
        match expression {
            // What is written here was checked where it is.
            // An expression is evaluated below.
            Expression::Value(_) | Expression::Cel(_) => {}
            Expression::Reference(reference) => {
                if let Some((ty, (other, output))) = ty.zip(referenced_output(expression, self.upstream)) {
                    let known = substitute_known_values(other, &output.expression);
                    let problem =
                        type_problem(&self.registry, other, &known, ty, self.span_of(reference, span));
                    self.problems.extend(problem.map(|problem| located(problem, other, output)));
                }
            }
            Expression::List(parts) => {
                let of = ty.and_then(|ty| part_type(ty, None));
                for part in parts {
                    self.check(of, part, span);
                }
            }
            Expression::Map(parts) => {
                for (key, part) in parts {
                    self.check(ty.and_then(|ty| part_type(ty, Some(key))), part, span);
                }
            }
            Expression::Text(parts) => {
                for part in parts {
                    self.check_inserted(part, span);
                }
            }
        }
        let is_computed = matches!(expression, Expression::Text(_) | Expression::Cel(_));
        if is_computed && self.problems.len() == before {
            self.check_computed(ty, expression, span);
        }
    }

    /// Checks a part of a text: a list, a map or null cannot be inserted.
    fn check_inserted(&mut self, part: &Expression, span: Span) {
        let (Expression::Reference(reference), Some((other, output))) =
            (part, referenced_output(part, self.upstream))
        else {
            return self.check(None, part, span);
        };
        let shape = match substitute_known_values(other, &output.expression) {
            Expression::List(_) => Some("a list"),
            Expression::Map(_) => Some("a map"),
            Expression::Value(value @ (Value::Null | Value::List(_) | Value::Map(_))) => {
                Some(value.type_name())
            }
            Expression::Reference(source) => match type_of_reference(other, &source) {
                Some(Type::List(_) | Type::Set { .. }) => Some("a list"),
                Some(Type::Map(_) | Type::Record(_)) => Some("a map"),
                _ => None,
            },
            _ => None,
        };
        self.problems.extend(shape.map(|shape| {
            let problem = Diagnostic::error(codes::REMOTE_OUTPUT, WRONG_TYPE)
                .with_label(self.span_of(reference, span), "")
                .detail(format!("The output is {shape}, which cannot be inserted into a text."));
            located(problem, other, output)
        }));
    }

    /// Evaluates a text or an expression with the outputs that are known without a ledger, and checks the result.
    fn check_computed(&mut self, ty: Option<&Type>, expression: &Expression, span: Span) {
        let from_outputs = any_reference(expression, &|reference| reference.address.root() == STACKS);
        if !from_outputs {
            return;
        }
        match evaluate_expression(expression, &DeclaredOutputs(self.upstream)) {
            Err(error) => self.problems.push(evaluation_problem(&error, span, None)),
            Ok(value) if value.is_unknown() => {}
            Ok(value) => {
                let mistake = ty.and_then(|ty| known_value_mismatch(ty, value));
                self.problems.extend(mistake.map(|mistake| mismatch_diagnostic(&mistake, span)));
            }
        }
    }

    /// Returns where an output is used in an expression: where the stack reads it first, if that is within the expression.
    fn span_of(&self, Reference { address, attribute }: &Reference, whole: Span) -> Span {
        let other = self.stack.stacks.get(address.last());
        let first = other.zip(attribute.as_ref()).and_then(|(other, output)| other.reads.get(output));
        let is_within = |span: &&Span| {
            span.source == whole.source && span.start >= whole.start && span.end <= whole.end
        };
        first.filter(is_within).copied().unwrap_or(whole)
    }
}

/// The outputs of other stacks, as far as their files alone show the values.
struct DeclaredOutputs<'s>(&'s BTreeMap<Name, &'s Stack>);

impl AttributeLookup for DeclaredOutputs<'_> {
    fn attribute(&self, address: &Address, attribute: Option<&str>) -> Value {
        let other = self.0.get(address.last()).filter(|_| address.root() == STACKS);
        let output = other.zip(attribute).and_then(|(other, name)| Some((other, other.outputs.get(name)?)));
        match output.map(|(other, output)| substitute_known_values(other, &output.expression)) {
            Some(Expression::Value(value)) => value,
            _ => Value::unknown(vec![address.clone()]),
        }
    }

    fn object(&self, _: &Address) -> (Attributes, bool) {
        (Attributes::new(), false)
    }
}

/// Returns the type of the entries of a list, or of a map under a key; `None` for other types.
fn part_type<'t>(ty: &'t Type, key: Option<&Name>) -> Option<&'t Type> {
    match (ty, key) {
        (Type::List(of) | Type::Set { of, .. }, None) | (Type::Map(of), Some(_)) => Some(of),
        (Type::Record(fields), Some(key)) => fields.iter().find(|(name, _)| *name == key).map(|(_, of)| of),
        _ => None,
    }
}

/// Returns why a known value does not fit a type; `None` if it fits.
fn known_value_mismatch(ty: &Type, value: Value) -> Option<TypeMismatch> {
    // An id or a catalog name is a text that only the service can judge.
    let is_name = matches!(ty, Type::Reference(_) | Type::Catalog(_));
    if is_name && matches!(value, Value::Null | Value::Text(_) | Value::Secret(_)) {
        return None;
    }
    if is_name {
        return Some(TypeMismatch::wrong_type(&type_name(ty), value.type_name()));
    }
    conform_to_type(ty, value).err()
}

/// Returns the problem of an output, whose `known` expression belongs to the stack `other`, that does not fit a type; `None`
/// if it fits, or its type is not known.
fn type_problem(
    registry: &Registry,
    other: &Stack,
    known: &Expression,
    ty: &Type,
    span: Span,
) -> Option<Diagnostic> {
    let wrong =
        |found: &str| Some(mismatch_diagnostic(&TypeMismatch::wrong_type(&type_name(ty), found), span));
    match known {
        Expression::Value(value) => {
            known_value_mismatch(ty, value.clone()).map(|mistake| mismatch_diagnostic(&mistake, span))
        }
        Expression::Reference(reference) => reference_problem(registry, other, reference, ty, span),
        Expression::List(parts) => match part_type(ty, None) {
            Some(of) => parts.iter().find_map(|part| type_problem(registry, other, part, of, span)),
            None => wrong("a list"),
        },
        Expression::Map(parts) => {
            if !matches!(ty, Type::Map(_) | Type::Record(_)) {
                return wrong("a map");
            }
            parts.iter().find_map(|(key, part)| match part_type(ty, Some(key)) {
                Some(of) => type_problem(registry, other, part, of, span),
                None => wrong(&format!("a map with `{key}`")),
            })
        }
        Expression::Text(_) => match ty {
            Type::Boolean
            | Type::Integer { .. }
            | Type::Decimal
            | Type::List(_)
            | Type::Set { .. }
            | Type::Map(_)
            | Type::Record(_) => wrong("a text"),
            _ => None,
        },
        Expression::Cel(_) => None,
    }
}

/// Returns the type of what a reference of a stack leads to; `None` if it is none of its blocks.
fn type_of_reference(stack: &Stack, Reference { address, attribute }: &Reference) -> Option<Type> {
    referenced_type(stack.resources.get::<Address>(address)?.kind, attribute.as_deref())
}

fn reference_problem(
    registry: &Registry,
    other: &Stack,
    reference: &Reference,
    ty: &Type,
    span: Span,
) -> Option<Diagnostic> {
    let found = type_of_reference(other, reference)?;
    let Reference { address, attribute } = reference;
    let whole = attribute.is_none();
    // An id is a text: it may be sent wherever a text is taken.
    let takes_text = whole && matches!(ty, Type::Text { .. });
    if takes_text || is_fitting_type(registry, ty, &found, (whole, false)) {
        return None;
    }
    let kind = other.resources.get::<Address>(address)?.kind;
    let what = match attribute {
        None => format!("the id of {}, a {}", address, kind.name),
        Some(name) => format!("{address}.{name}, which is {}", type_name(&found)),
    };
    let problem = Diagnostic::error(codes::REMOTE_OUTPUT, WRONG_TYPE);
    Some(
        problem
            .with_label(span, "")
            .detail(format!("It takes {}, and the output is {what}.", type_name(ty))),
    )
}

/// Adds the file and line of the output's declaration, which is in the sources of the other stack.
fn located(mut problem: Diagnostic, other: &Stack, output: &Output) -> Diagnostic {
    let Some(at) = other.sources.location_of(output.span) else { return problem };
    let detail = problem.detail.take().unwrap_or_default();
    let said = format!("{detail} It is declared in {}:{}.", at.file, at.line);
    problem.detail(said.trim_start().to_owned())
}
