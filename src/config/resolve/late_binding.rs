//! Late binding: replaces `$data…` and `$stacks…` by values after the live objects and the other stacks' ledgers
//! were read. In: the resolved stack and what was read. Out: a stack without such references, or every problem.
//! Values that are known now are checked as written ones are. Pure.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::codes;
use crate::config::diagnostics::messages::mismatch_diagnostic;
use crate::config::resolve::context::evaluator::NoLiveValues;
use crate::config::stack::model::{AttributeSetting, DataLookup, OtherStack, Resource, Stack};
use crate::config::syntax::budget::too_large;
use crate::config::syntax::quoting;
use crate::config::types::conform::conform_to_type;
use crate::config::types::mismatch::TypeMismatch;
use crate::model::address::{Address, Name};
use crate::model::budget::Budget;
use crate::model::crypto::digest::json_digest;
use crate::model::diagnostic::{Diagnostic, nearest_name};
use crate::model::evaluate::evaluate_expression;
use crate::model::expression::{Expression, Reference};
use crate::model::live::snapshot::{Object, ObjectKey, Snapshot};
use crate::model::schema::{Kind, Type};
use crate::model::source::Span;
use crate::model::values::value::{Attributes, Value};

/// Number of objects that a message names before it only counts the others.
const MAX_NAMED_OBJECTS: usize = 10;

/// What was read for a stack's lookups and remote stack outputs.
pub struct LateBindingInputs<'r> {
    /// Snapshot of the live objects.
    pub snapshot: &'r Snapshot,
    /// Objects in this stack's ledger, with their addresses: a lookup must not find one of them.
    pub owned: BTreeMap<ObjectKey, Address>,
    /// Outputs of other stacks, from their ledgers, by the names under `stacks`. A stack that was
    /// never applied is absent.
    pub outputs: BTreeMap<Name, Attributes>,
    /// Commands that apply those of the other stacks whose outputs are missing, by the names under `stacks`.
    pub apply_commands: BTreeMap<Name, String>,
}

/// Returns the stack with every reference to a data lookup or a remote stack output replaced by its value.
///
/// # Errors
/// Every lookup that finds nothing or several objects, or one that this stack manages; every output that is missing
/// or secret; every value that does not fit its attribute's type.
pub fn bind_lookups<'s>(
    stack: &'s Stack,
    read: &LateBindingInputs<'_>,
) -> Result<Cow<'s, Stack>, Vec<Diagnostic>> {
    if stack.data.is_empty() && stack.stacks.is_empty() {
        return Ok(Cow::Borrowed(stack));
    }
    let mut problems = Vec::new();
    let mut found: BTreeMap<Address, &Object> = BTreeMap::new();
    for (address, lookup) in &stack.data {
        match find_object(address, lookup, (stack, read)) {
            Ok(object) => drop(found.insert(address.clone(), object)),
            Err(problem) => problems.push(*problem),
        }
    }
    for (name, other) in &stack.stacks {
        let command = read.apply_commands.get(name).map_or("stead apply, in its directory", String::as_str);
        check_outputs((name, command), other, read.outputs.get(name), &mut problems);
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    // Each reference gets a copy of the value, so the copies are charged.
    let budget = Budget::default();
    let is_over = Cell::new(false);
    let value = |reference: &Reference| {
        let value = referenced_value(reference, &found, read)?;
        is_over.set(is_over.get() || budget.charge_value(&value).is_err());
        (!is_over.get()).then_some(value)
    };
    let mut settled = stack.clone();
    for resource in settled.resources.values_mut() {
        for (name, setting) in &mut resource.attributes {
            let is_bound = substitute_references(&mut setting.expression, &value);
            setting.is_read = is_bound;
            problems.extend(is_bound.then(|| secret_name_problem(name, setting)).flatten());
            if is_bound
                && let Some(attribute) = resource.kind.attribute(name)
                && let Err(problem) =
                    check_known_value(&attribute.ty, &mut setting.expression, setting.span)
            {
                problems.push(*problem);
            }
        }
        if let Some(project) = &mut resource.project {
            substitute_references(project, &value);
        }
    }
    for output in settled.outputs.values_mut() {
        substitute_references(&mut output.expression, &value);
    }
    if is_over.get() {
        let lookups = stack.data.values().map(|lookup| lookup.span);
        let span = stack.stacks.values().map(|other| other.span).chain(lookups).next();
        problems.extend(span.map(too_large));
    }
    match reads_digest(stack, &found, read) {
        Ok(reads) => settled.reads = reads,
        Err(error) => problems.push(
            Diagnostic::error(codes::DIGEST, "the values from lookups and other stacks have no digest")
                .detail(error.to_string()),
        ),
    }
    if problems.is_empty() { Ok(Cow::Owned(settled)) } else { Err(problems) }
}

/// Returns the objects that the lookups of a stack find, each with the lookup; those that find nothing or several objects are
/// left out.
pub fn looked_up_objects<'s>(
    stack: &'s Stack,
    snapshot: &'s Snapshot,
) -> impl Iterator<Item = (&'s Object, &'s Address, &'s DataLookup)> {
    stack.data.iter().filter_map(|(address, lookup)| {
        let mut all =
            snapshot.of_kind(lookup.kind.name).filter(|object| fits_all(object, lookup, snapshot));
        let only = all.next().filter(|_| all.next().is_none())?;
        Some((only, address, lookup))
    })
}

/// Returns the only object that has all attributes of a lookup.
///
/// # Errors
/// When no object or several have them, also after an apply of the stack, or when this stack manages the object: a reference to
/// its block would order the two resources, and a lookup does not.
fn find_object<'r>(
    address: &Address,
    lookup: &DataLookup,
    (stack, read): (&Stack, &LateBindingInputs<'r>),
) -> Result<&'r Object, Box<Diagnostic>> {
    let kind = lookup.kind;
    let all = || read.snapshot.of_kind(kind.name);
    let hits: Vec<&Object> = all().filter(|object| fits_all(object, lookup, read.snapshot)).collect();
    let wanted: Vec<String> = lookup
        .fields
        .iter()
        .map(|(name, field)| {
            format!("{name} `{}`", field.known_value().map(ToString::to_string).unwrap_or_default())
        })
        .collect();
    let wanted = wanted.join(" and ");
    let problem = |summary: &str| Diagnostic::error(codes::LOOKED_UP, summary).with_label(lookup.span, "");
    match hits.as_slice() {
        [object] => match read.owned.get(&object.key()) {
            None => match repeated_object_problem(stack, address, lookup) {
                Some(problem) => Err(Box::new(problem)),
                None => Ok(object),
            },
            Some(owner) => Err(Box::new(
                problem("a lookup finds an object that this stack manages")
                    .detail(format!("The {} with {wanted} is {owner}.", kind.name))
                    .help(format!("refer to the block itself: `${owner}`")),
            )),
        },
        [] => {
            let seen = describe_objects(all(), kind);
            Err(Box::new(
                problem("a lookup finds nothing")
                    .detail(format!("{address}: there is no {} with {wanted}. {seen}", kind.name))
                    .help("create it first, correct the attributes of the lookup, or search another project or account"),
            ))
        }
        several => Err(Box::new(
            problem("a lookup finds several objects")
                .detail(format!(
                    "{address}: {} objects of kind {} have {wanted}. {}",
                    several.len(),
                    kind.name,
                    describe_objects(several.iter().copied(), kind)
                ))
                .help("add more of its attributes, or its `id`, to the lookup"),
        )),
    }
}

/// Returns the problem of a lookup that finds an object now, and would find a resource of its own stack, too, once that exists.
fn repeated_object_problem(stack: &Stack, address: &Address, lookup: &DataLookup) -> Option<Diagnostic> {
    let is_same = |resource: &&Resource| {
        let has = |name: &Name, wanted: &Value| {
            let written = resource.attributes.get(name).and_then(|one| one.expression.known_value());
            written.is_some_and(|written| is_same_value(written, wanted))
        };
        resource.kind.name == lookup.kind.name && has_all(lookup, has)
    };
    let own = &stack.resources.values().find(is_same)?.address;
    let names: Vec<&str> = lookup.fields.keys().map(Name::as_str).collect();
    let names = names.join(" and ");
    Some(
        Diagnostic::error(codes::LOOKED_UP, "a lookup would find several objects")
            .with_label(lookup.span, "")
            .detail(format!(
                "{address} finds an object by its {names}, and {own} of this stack has the same."
            ))
            .help(format!("refer to the block itself: `${own}`; or give {own} another {names}")),
    )
}

/// Returns whether an object has all attributes of a lookup; its project may be written by id or by name.
fn fits_all(object: &Object, lookup: &DataLookup, snapshot: &Snapshot) -> bool {
    let is_project = |id: &Name, wanted: &str| *id == wanted || snapshot.project_name(id) == Some(wanted);
    has_all(lookup, |name, wanted| match name.as_str() {
        "id" => wanted.to_string() == object.id,
        "project" => object.project.as_ref().is_some_and(|id| is_project(id, &wanted.to_string())),
        name => object.attributes.get(name).is_some_and(|live| is_same_value(live, wanted)),
    })
}

/// Returns whether each attribute of a lookup has the wanted value, as `has` decides.
fn has_all(lookup: &DataLookup, has: impl Fn(&Name, &Value) -> bool) -> bool {
    let mut fields = lookup.fields.iter();
    fields.all(|(name, field)| field.known_value().is_some_and(|wanted| has(name, wanted)))
}

/// Compares values also by their text, because a written number may be text in the API.
fn is_same_value(value: &Value, wanted: &Value) -> bool {
    value == wanted || value.to_string() == wanted.to_string()
}

/// Returns a sentence that names the objects found, at most `MAX_NAMED_OBJECTS` of them, with their ids.
fn describe_objects<'o>(objects: impl Iterator<Item = &'o Object>, kind: &Kind) -> String {
    let mut count = 0;
    let mut names = Vec::new();
    for object in objects {
        count += 1;
        if names.len() < MAX_NAMED_OBJECTS {
            let name = object.attributes.get("name").and_then(Value::as_text);
            names.push(match name {
                Some(name) => format!("{} ({})", quoting::shorten_for_message(name), object.id),
                None => object.id.to_string(),
            });
        }
    }
    match count {
        0 => format!("No {} was found at all.", kind.name),
        _ if count > names.len() => {
            format!("Found: {} and {} more.", names.join(", "), count - names.len())
        }
        _ => format!("Found: {}.", names.join(", ")),
    }
}

/// Checks that the ledger of another stack has every output that is read. `given` is `None` if the stack was never
/// applied. A secret output is a problem if that ledger stores only its fingerprint.
fn check_outputs(
    (name, command): (&Name, &str),
    other: &OtherStack,
    given: Option<&Attributes>,
    problems: &mut Vec<Diagnostic>,
) {
    let problem =
        |span: Span, summary: &str| Diagnostic::error(codes::LOOKED_UP, summary).with_label(span, "");
    let Some(given) = given else {
        let nowhere = other.reads.values().next().copied().unwrap_or(other.span);
        problems.push(
            problem(nowhere, "another stack was not applied yet")
                .with_label(other.span, "named here")
                .detail(format!("The stack in `{}` has no outputs in its ledger.", other.shown))
                .help(format!(
                    "apply that stack first: {command}; a command with `--all` can select it, too"
                )),
        );
        return;
    };
    for (output, span) in &other.reads {
        match given.get(output) {
            Some(value) if value.is_secret() && !is_readable_secret(value) => problems.push(
                problem(*span, "an output of another stack is secret")
                    .detail(format!(
                        "The ledger of that stack stores only a fingerprint of `{name}.{output}`."
                    ))
                    .help(match value {
                        Value::Secret(_) => "keep it there: add `secrets: { recipients: [age1…] }` to that stack, and apply it; or pass the secret to this stack, too, as a variable",
                        // A part of a list or a map is never kept.
                        _ => "make the secret an output of its own, and combine it with others here",
                    }),
            ),
            Some(_) => {}
            None => {
                let problem = problem(*span, "another stack has no such output").detail(format!(
                    "The last apply of the stack in `{}` did not record an output `{output}`.",
                    other.shown
                ));
                problems.push(match nearest_name(output, given.keys().map(Name::as_str)) {
                    Some(near) => problem.help(format!("did you mean `$stacks.{name}.{near}`?")),
                    None => problem
                        .help(format!("add it to that stack's `outputs`, and apply that stack: {command}")),
                });
            }
        }
    }
}

/// Returns whether a value is a secret that the ledger of another stack keeps, so that it can be read, or is withheld here.
fn is_readable_secret(value: &Value) -> bool {
    matches!(value, Value::Secret(secret) if secret.computable_text().is_some())
}

/// Returns the problem of a name that a secret output gives: plans, messages and lists of the service show names.
fn secret_name_problem(name: &str, setting: &AttributeSetting) -> Option<Diagnostic> {
    (name == "name" && setting.expression.is_secret()).then(|| {
        let mistake = TypeMismatch::wrong_type("a text that is not secret", "a secret");
        mismatch_diagnostic(&mistake.help("compute the name from values that are not secret"), setting.span)
    })
}

/// Returns the value of a reference to a lookup or to another stack's output: null if the object found has no such
/// attribute. `None` for a reference to a resource of this stack, which stays.
fn referenced_value(
    reference: &Reference,
    found: &BTreeMap<Address, &Object>,
    read: &LateBindingInputs<'_>,
) -> Option<Value> {
    if reference.address.root() == "stacks" {
        let given = read.outputs.get(reference.address.last())?;
        return given.get(reference.attribute.as_ref()?).cloned();
    }
    let object = found.get(&reference.address)?;
    Some(match reference.attribute.as_deref() {
        None | Some("id") => Value::Text(object.id.clone()),
        Some(name) => object.attributes.get(name).cloned().unwrap_or_default(),
    })
}

/// Replaces references in an expression by values, and evaluates it if it waits for nothing else. Returns
/// whether any was replaced.
fn substitute_references(expression: &mut Expression, value: &dyn Fn(&Reference) -> Option<Value>) -> bool {
    let any = fill_references(expression, value);
    if any
        && expression.addresses().is_empty()
        && let Ok(known) = evaluate_expression(expression, &NoLiveValues)
    {
        *expression = Expression::Value(known);
    }
    any
}

fn fill_references(expression: &mut Expression, value: &dyn Fn(&Reference) -> Option<Value>) -> bool {
    match expression {
        Expression::Value(_) => false,
        Expression::Reference(reference) => match value(reference) {
            Some(known) => {
                *expression = Expression::Value(known);
                true
            }
            None => false,
        },
        Expression::Text(parts) | Expression::List(parts) => fill_all(parts.iter_mut(), value),
        Expression::Map(map) => fill_all(map.values_mut(), value),
        Expression::Cel(cel) => {
            let mut filled = cel.waiting.clone();
            if !fill_all(filled.values_mut(), value) {
                return false;
            }
            // Objects whose values are known now are no longer waited for.
            let cel = Arc::make_mut(cel);
            cel.objects.retain(|address| {
                let whole = Reference { address: address.clone(), attribute: None };
                value(&whole).is_none()
            });
            cel.waiting = filled;
            true
        }
    }
}

/// Fills every part: `any` would stop at the first that had something to fill.
fn fill_all<'e>(
    parts: impl Iterator<Item = &'e mut Expression>,
    value: &dyn Fn(&Reference) -> Option<Value>,
) -> bool {
    let mut any = false;
    for part in parts {
        any |= fill_references(part, value);
    }
    any
}

/// Checks a value that is known now against its attribute's type. A reference or a catalog name is an id by now,
/// and is not checked.
fn check_known_value(ty: &Type, expression: &mut Expression, span: Span) -> Result<(), Box<Diagnostic>> {
    if matches!(ty, Type::Reference(_) | Type::Catalog(_)) {
        return Ok(());
    }
    let Expression::Value(value) = expression else { return Ok(()) };
    match conform_to_type(ty, std::mem::take(value)) {
        Ok(good) => {
            *value = good;
            Ok(())
        }
        Err(mistake) => Err(Box::new(mismatch_diagnostic(&mistake, span))),
    }
}

/// Returns a digest of the ids and outputs that were read: part of a plan's fingerprint, so that a saved plan is
/// stale once a lookup finds another object.
fn reads_digest(
    stack: &Stack,
    found: &BTreeMap<Address, &Object>,
    read: &LateBindingInputs<'_>,
) -> Result<String, serde_json::Error> {
    let objects: Vec<_> = found.iter().map(|(address, object)| (address, &object.id)).collect();
    let outputs: Vec<_> = stack
        .stacks
        .iter()
        .flat_map(|(name, other)| {
            let given = read.outputs.get(name);
            let reads: Vec<Name> = other.reads.keys().cloned().collect();
            reads.into_iter().map(move |output| {
                let value = given.and_then(|given| given.get(&output));
                (name, value, output.clone())
            })
        })
        .collect();
    json_digest("stead reads 2", &(objects, outputs))
}
