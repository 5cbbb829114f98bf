//! The service's rules that can be checked without a network. In: the resolved resources and the rules of their
//! kinds. Out: diagnostics with the code of each rule. A value that is not known yet passes every rule: the plan
//! and the service check it again.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashMapExt};
use ipnet::Ipv4Net;
use rust_decimal::Decimal;

use crate::config::diagnostics::collector::{DiagnosticCollector, InstanceContext};
use crate::config::stack::model::{AttributeSetting, Resource};
use crate::model::address::Address;
use crate::model::diagnostic::{Diagnostic, Severity};
use crate::model::expression::Expression;
use crate::model::live::catalog::{Catalog, CatalogRecord};
use crate::model::schema::{Kind, Literal, Presence, Rule, RuleCheck, Type};
use crate::model::source::Span;
use crate::model::values::value::Value;

/// Checks every rule of every kind. `pinned` holds the catalog names of the lock file; without them, rules
/// about the catalog pass.
pub(in crate::config) fn check(
    resources: &[Resource],
    pinned: Option<&Catalog>,
    problems: &DiagnosticCollector,
) {
    let mut kinds: BTreeMap<&str, Vec<&Resource>> = BTreeMap::new();
    for resource in resources {
        kinds.entry(resource.kind.name).or_default().push(resource);
    }
    for resources in kinds.values() {
        let Some(kind) = resources.first().map(|resource| resource.kind) else { continue };
        for rule in kind.rules {
            match rule.check {
                RuleCheck::NoOverlap { attribute } => no_overlap(rule, attribute, resources, problems),
                RuleCheck::Unique { attributes } => check_unique(rule, attributes, resources, problems),
                RuleCheck::UniqueOverall { attributes } => {
                    unique_overall(rule, attributes, resources, problems);
                }
                RuleCheck::AtMost { count } => at_most(rule, count, resources, problems),
                RuleCheck::SumAtLeast { attribute, least } => {
                    let implies = |parent: &Address| {
                        let parent = kinds.values().flatten().find(|resource| resource.address == *parent);
                        parent.is_some_and(|parent| implies_other_child(parent, kind, resources))
                    };
                    sum_at_least(rule, (attribute, least), resources, &implies, problems);
                }
                _ => {
                    for resource in resources {
                        if let Some(broken) = check_resource_rule(rule, resource, pinned) {
                            report_violation(problems, resource, broken);
                        }
                    }
                }
            }
        }
    }
}

fn report_violation(problems: &DiagnosticCollector, resource: &Resource, problem: Diagnostic) {
    let instance = InstanceContext { address: &resource.address, key: resource.key.as_ref() };
    problems.push_in(Some(instance), problem);
}

/// Returns the problem of a broken rule: the rule's own sentence, `why` it is broken, and where
/// the service documents it.
fn rule_violation(rule: &Rule, span: Span, why: &str) -> Diagnostic {
    Diagnostic::error(rule.code, rule.says.trim_end_matches('.'))
        .with_label(span, "")
        .detail(format!("{why} Rule: {}.", rule.place))
}

/// Returns the desired value of an attribute: the written value, else the kind's default, also for `null`. `None`
/// if it is not known, or not written and without a default.
fn desired_value(resource: &Resource, name: &str) -> Option<Value> {
    match resource.attributes.get(name) {
        Some(setting) => match setting.expression.known_value()? {
            Value::Null => default_value(resource.kind, name),
            value => Some(value.clone()),
        },
        None => default_value(resource.kind, name),
    }
}

fn default_value(kind: &Kind, name: &str) -> Option<Value> {
    match kind.attribute(name)?.presence {
        Presence::Default(literal) => Some(literal.value()),
        _ => None,
    }
}

/// Returns a written value that differs from `unless`, with its span. `None` for `null`, and for a value that is
/// not written or not known.
fn significant_value<'r>(resource: &'r Resource, name: &str, unless: Literal) -> Option<(&'r Value, Span)> {
    let setting = resource.attributes.get(name)?;
    let value = setting.expression.known_value()?;
    let harmless = *value == Value::Null || *value == unless.value();
    (!harmless).then_some((value, setting.span))
}

/// Checks a rule about one resource. `None` if it holds, or cannot be decided yet.
fn check_resource_rule(rule: &Rule, resource: &Resource, pinned: Option<&Catalog>) -> Option<Diagnostic> {
    match rule.check {
        RuleCheck::OnlyWith { attribute, unless, other, values } => {
            let (_, span) = significant_value(resource, attribute, unless)?;
            let decides = desired_value(resource, other)?;
            let allowed = values.iter().any(|value| decides.as_text() == Some(value));
            (!allowed).then(|| {
                let help = format!("remove `{attribute}`, or set `{other}: {}`", values.join("` or `"));
                rule_violation(rule, span, &format!("`{other}` is {decides}.")).help(help)
            })
        }
        RuleCheck::CatalogField { attribute, field, equals } => {
            let (record, setting) = catalog_record(resource, attribute, pinned?)?;
            let (is, must) = (record.fields.get(field)?, desired_value(resource, equals)?);
            (*is != must).then(|| {
                rule_violation(
                    rule,
                    setting.span,
                    &format!("`{}` has {field} {is}, and `{equals}` is {must}.", record.slug),
                )
            })
        }
        RuleCheck::CatalogForbids { attribute, field, forbidden, unless } => {
            let (record, _) = catalog_record(resource, attribute, pinned?)?;
            let (value, span) = significant_value(resource, forbidden, unless)?;
            (record.fields.get(field).and_then(Value::as_bool) == Some(true)).then(|| {
                rule_violation(
                    rule,
                    span,
                    &format!("`{attribute}` is {}, and `{forbidden}` is {value}.", record.slug),
                )
            })
        }
        _ => check_presence(rule, resource).or_else(|| check_number_rule(rule, resource)),
    }
}

/// Checks rules about which attributes require or exclude each other. `None` if the rule holds, cannot be decided
/// yet, or is of another sort.
fn check_presence(rule: &Rule, resource: &Resource) -> Option<Diagnostic> {
    match rule.check {
        RuleCheck::ExactlyOne { attributes } => exactly_one(rule, resource, attributes, true),
        RuleCheck::NotBoth { attributes } => exactly_one(rule, resource, attributes, false),
        RuleCheck::Together { attribute, other } => {
            let (_, span) = significant_value(resource, attribute, Literal::Null)?;
            let why = format!("`{attribute}` is written, and `{other}` is not.");
            is_missing(resource, other).then(|| {
                rule_violation(rule, span, &why).help(format!("write `{other}`, or remove `{attribute}`"))
            })
        }
        RuleCheck::NeverWith { attribute, unless, other, values } => {
            let (_, span) = significant_value(resource, attribute, unless)?;
            let decides = desired_value(resource, other)?;
            let forbidden = values.iter().any(|value| decides.as_text() == Some(value));
            forbidden.then(|| {
                rule_violation(rule, span, &format!("`{other}` is {decides}."))
                    .help(format!("remove `{attribute}`"))
            })
        }
        RuleCheck::RequiredWith { attribute, other, values } => {
            let decides = desired_value(resource, other)?;
            let needed = values.iter().any(|value| decides.as_text() == Some(value));
            (needed && is_missing(resource, attribute)).then(|| {
                let span = resource.attributes.get(other).map_or(resource.span, |setting| setting.span);
                let why = format!("`{other}` is {decides}, and `{attribute}` is not written.");
                rule_violation(rule, span, &why).help(format!("add `{attribute}: …`"))
            })
        }
        _ => None,
    }
}

/// Checks rules about a single value: its bounds, or which values it may have. `None` if the rule holds, cannot be
/// decided yet, or is of another sort.
fn check_number_rule(rule: &Rule, resource: &Resource) -> Option<Diagnostic> {
    match rule.check {
        RuleCheck::Is { attribute, value } => {
            let (written, span) = significant_value(resource, attribute, value)?;
            Some(rule_violation(rule, span, &format!("`{attribute}` is {written}.")))
        }
        // The service accepts the value, so it is a warning.
        RuleCheck::Granted { attribute, value } => {
            let (written, span) = significant_value(resource, attribute, Literal::Null)?;
            (written.as_text() == Some(value)).then(|| Diagnostic {
                severity: Severity::Warning,
                ..rule_violation(rule, span, &format!("`{attribute}` is {value}."))
            })
        }
        RuleCheck::AtLeast { attribute, least } => {
            let (value, span) = significant_value(resource, attribute, Literal::Null)?;
            let number = value.as_decimal()?;
            (number < Decimal::from(least)).then(|| rule_violation(rule, span, &format!("It is {number}.")))
        }
        RuleCheck::PartOneOf { attribute, part: key, values, other, when } => {
            let (_, span) = significant_value(resource, attribute, Literal::Null)?;
            let decides = desired_value(resource, other)?;
            let holds = when.iter().any(|word| decides.as_text() == Some(word));
            let number: i64 = attribute_text(resource, &format!("{attribute}.{key}"))?.parse().ok()?;
            (holds && !values.contains(&number)).then(|| {
                rule_violation(rule, span, &format!("`{other}` is {decides}, and `{key}` is {number}."))
            })
        }
        RuleCheck::OneOf { attribute, values } => {
            let (value, span) = significant_value(resource, attribute, Literal::Null)?;
            let number = value.as_decimal()?;
            let allowed = values.iter().any(|value| Decimal::from(*value) == number);
            (!allowed)
                .then(|| rule_violation(rule, span, &format!("It is one of {}.", join_values(values))))
        }
        RuleCheck::NotOneOf { attribute, values, when } => {
            let (value, span) = significant_value(resource, attribute, Literal::Null)?;
            let number = value.as_decimal()?;
            let holds = |(path, words): &(&str, &[&str])| {
                attribute_text(resource, path).is_some_and(|text| words.contains(&text.as_str()))
            };
            let hit = values.iter().any(|value| Decimal::from(*value) == number) && when.iter().all(holds);
            hit.then(|| rule_violation(rule, span, &format!("{} are reserved.", join_values(values))))
        }
        RuleCheck::Ordered { attribute, low, high } => {
            let (value, span) = significant_value(resource, attribute, Literal::Null)?;
            let Value::Map(map) = value else { return None };
            let (low_is, high_is) = (map.get(low)?.as_decimal()?, map.get(high)?.as_decimal()?);
            (low_is > high_is).then(|| {
                rule_violation(rule, span, &format!("`{low}` is {low_is}, and `{high}` is {high_is}."))
            })
        }
        _ => None,
    }
}

fn join_values(values: &[i64]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns whether an attribute is not written, or written as `null`.
fn is_missing(resource: &Resource, name: &str) -> bool {
    let written = resource.attributes.get(name).map(|setting| &setting.expression);
    written.is_none_or(|expression| *expression == Expression::Value(Value::Null))
}

/// Returns the text of an attribute, or of a part of a record (`attribute.part`). An attribute that is not written
/// has its default, else an empty text, as has a missing part. `None` if the value is not known.
fn attribute_text(resource: &Resource, path: &str) -> Option<String> {
    let (name, key) = path.split_once('.').map_or((path, None), |(name, key)| (name, Some(key)));
    if is_missing(resource, name) && default_value(resource.kind, name).is_none() {
        return Some(String::new());
    }
    let value = desired_value(resource, name)?;
    let Some(key) = key else { return Some(value.to_string()) };
    let Value::Map(map) = value else { return None };
    Some(map.get(key).map(ToString::to_string).unwrap_or_default())
}

/// Reports more than one written attribute of several, and none if one is `needed`.
fn exactly_one(rule: &Rule, resource: &Resource, attributes: &[&str], needed: bool) -> Option<Diagnostic> {
    let written: Vec<&&str> = attributes.iter().filter(|name| !is_missing(resource, name)).collect();
    let names = attributes.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match written.as_slice() {
        [] if !needed => None,
        [_] => None,
        [] => Some(
            rule_violation(rule, resource.span, "None of them is written.")
                .help(format!("write one of {names}")),
        ),
        [first, .., last] => {
            let place = |name: &&&str| resource.attributes.get(**name).map_or(resource.span, |s| s.span);
            Some(
                rule_violation(rule, place(last), &format!("`{first}` and `{last}` are both written."))
                    .with_label(place(first), "")
                    .help(format!("keep one of {names}")),
            )
        }
    }
}

/// Reports each parent whose children's numbers add up to less than `least`, at its first child. A parent with a
/// child whose number is not known passes.
/// Returns whether the service creates a child of a kind with a resource that is none of the written ones.
fn implies_other_child(parent: &Resource, child: &Kind, written: &[&Resource]) -> bool {
    let is_written = |name: &str| {
        let mut children = written.iter().filter(|one| one.parent.as_ref() == Some(&parent.address));
        children.any(|one| attribute_text(one, "name").as_deref() == Some(name))
    };
    let mut parts = parent.kind.price.implied_parts();
    parts.any(|(choice, part)| {
        part.kind == child.name && !is_missing(parent, choice) && !is_written(part.name)
    })
}

/// Checks a minimum of a sum over the children of each parent; `implies`: the service creates another child with the parent.
fn sum_at_least(
    rule: &Rule,
    (attribute, least): (&str, i64),
    resources: &[&Resource],
    implies: &dyn Fn(&Address) -> bool,
    problems: &DiagnosticCollector,
) {
    let mut parents: BTreeMap<Option<&Address>, (Decimal, &Resource)> = BTreeMap::new();
    let mut unknown: BTreeSet<Option<&Address>> = BTreeSet::new();
    for resource in resources {
        let parent = resource.parent.as_ref();
        match desired_value(resource, attribute).and_then(|value| value.as_decimal()) {
            Some(number) => parents.entry(parent).or_insert((Decimal::ZERO, resource)).0 += number,
            None => drop(unknown.insert(parent)),
        }
    }
    for (parent, (sum, resource)) in parents {
        // An unknown number, or a child that no block writes, may make up the difference.
        let is_open = || unknown.contains(&parent) || parent.is_some_and(implies);
        if sum < Decimal::from(least) && !is_open() {
            let place = parent.map_or_else(String::new, |parent| format!(" of {parent}"));
            let why = format!("All `{attribute}`{place} add up to {sum}.");
            report_violation(problems, resource, rule_violation(rule, resource.span, &why));
        }
    }
}

/// Returns the record of the catalog that an attribute names, and the attribute's setting. `None` if the value is
/// not known or not in the pinned catalog.
fn catalog_record<'c, 'r>(
    resource: &'r Resource,
    attribute: &str,
    pinned: &'c Catalog,
) -> Option<(&'c CatalogRecord, &'r AttributeSetting)> {
    let Type::Catalog(table) = resource.kind.attribute(attribute)?.ty else { return None };
    let setting = resource.attributes.get(attribute)?;
    Some((pinned.find(table, setting.expression.known_value()?)?, setting))
}

/// Reports networks that overlap. Sorted by first address, a network overlaps an earlier one only if it begins
/// before the widest end, so that one pass finds all.
fn no_overlap(rule: &Rule, attribute: &str, resources: &[&Resource], problems: &DiagnosticCollector) {
    let mut networks: Vec<(Ipv4Net, &Resource, Span)> = resources
        .iter()
        .filter_map(|resource| {
            let setting = resource.attributes.get(attribute)?;
            let network = setting.expression.known_value()?.as_text()?.parse().ok()?;
            Some((network, *resource, setting.span))
        })
        .collect();
    networks.sort_by(|a, b| {
        (a.0.network(), a.0.prefix_len(), &a.1.address).cmp(&(
            b.0.network(),
            b.0.prefix_len(),
            &b.1.address,
        ))
    });
    let mut widest: Option<(Ipv4Net, &Resource, Span)> = None;
    for (network, resource, span) in networks {
        match widest {
            Some((other, first, place)) if network.network() <= other.broadcast() => {
                let why =
                    format!("{network} of {} overlaps {other} of {}.", resource.address, first.address);
                report_violation(
                    problems,
                    resource,
                    rule_violation(rule, span, &why)
                        .with_label(place, format!("{} is here", first.address)),
                );
            }
            _ => widest = Some((network, resource, span)),
        }
    }
}

fn check_unique(rule: &Rule, attributes: &[&str], resources: &[&Resource], problems: &DiagnosticCollector) {
    unique_within(rule, attributes, resources, problems, |resource| {
        match (&resource.parent, &resource.project) {
            (Some(parent), _) => parent.to_string(),
            (None, Some(project)) => project.addresses().into_iter().map(Address::as_str).collect(),
            (None, None) => String::new(),
        }
    });
}

fn unique_overall(
    rule: &Rule,
    attributes: &[&str],
    resources: &[&Resource],
    problems: &DiagnosticCollector,
) {
    unique_within(rule, attributes, resources, problems, |_| String::new());
}

/// Reports resources that agree in all given attributes with an earlier resource of the same scope, as `place`
/// names it. A resource with a value that is not known passes.
fn unique_within(
    rule: &Rule,
    attributes: &[&str],
    resources: &[&Resource],
    problems: &DiagnosticCollector,
    place: impl Fn(&Resource) -> String,
) {
    let mut seen: HashMap<String, &Resource> = HashMap::new();
    for resource in resources {
        let values: Option<Vec<String>> =
            attributes.iter().map(|name| value_identity(resource, name)).collect();
        let Some(values) = values else { continue };
        let place = place(resource);
        if let Some(first) = seen.get(&format!("{place}\0{}", values.join("\0"))) {
            let span = attributes
                .iter()
                .find_map(|name| resource.attributes.get(*name))
                .map(|setting| setting.span);
            let why = format!(
                "{} and {} have the same {}.",
                first.address,
                resource.address,
                attributes.join(" and ")
            );
            let problem = rule_violation(rule, span.unwrap_or(resource.span), &why);
            report_violation(
                problems,
                resource,
                problem.with_label(first.span, format!("{} is here", first.address)),
            );
        } else {
            seen.insert(format!("{place}\0{}", values.join("\0")), resource);
        }
    }
}

/// Returns a key that two values share if they are known to be equal; `None` if the value is not known, or is a
/// secret without a variable's name.
fn value_identity(resource: &Resource, name: &str) -> Option<String> {
    match resource.attributes.get(name).map(|setting| &setting.expression) {
        Some(Expression::Reference(reference)) => {
            Some(format!("${}.{}", reference.address, reference.attribute.as_deref().unwrap_or_default()))
        }
        _ => match desired_value(resource, name)? {
            // Comparing the texts of two secrets would reveal whether they are equal; the
            // same variable is equal anyway.
            Value::Secret(secret) => secret.name().map(|name| format!("${name}")),
            value if value.is_secret() => None,
            value => Some(value.to_string()),
        },
    }
}

/// Reports each parent with more than `count` children of the kind, at the first child over it.
fn at_most(rule: &Rule, count: usize, resources: &[&Resource], problems: &DiagnosticCollector) {
    let mut parents: BTreeMap<Option<&Address>, Vec<&Resource>> = BTreeMap::new();
    for resource in resources {
        parents.entry(resource.parent.as_ref()).or_default().push(resource);
    }
    for (parent, children) in parents {
        if let Some(first_over) = children.get(count) {
            let place = parent.map_or_else(|| "There are".to_owned(), |parent| format!("{parent} has"));
            report_violation(
                problems,
                first_over,
                rule_violation(rule, first_over.span, &format!("{place} {}.", children.len())),
            );
        }
    }
}
