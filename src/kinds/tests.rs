//! Tests over the whole registry: names, types and references of the tables are consistent with each other.

use std::collections::BTreeSet;

use super::REGISTRY;
use crate::model::schema::{
    Action, ActionCompletion, ActionRequest, Attribute, Billing, Kind, KindScope, Literal, Method,
    ParameterLocation, ParameterPresence, Presence, Price, PriceFactor, PriceTerm, ResponseShape,
    RuleCheck, TextFormat, Type, UpdateStrategy,
};

#[test]
fn kinds_and_catalogs_are_sorted_and_every_file_is_listed() {
    let names: Vec<_> = REGISTRY.kinds.iter().map(|kind| kind.name).collect();
    assert!(names.is_sorted(), "{names:?}");
    assert!(REGISTRY.catalogs.is_sorted_by_key(|table| table.name));
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/kinds");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|name| !["mod", "catalogs", "shared", "tests"].contains(&name.as_str()))
        .collect();
    assert_eq!(files, names.iter().map(|name| (*name).to_owned()).collect());
}

#[test]
fn every_attribute_is_documented_and_unique() {
    for kind in REGISTRY.kinds {
        assert!(kind.summary.ends_with('.'), "{}", kind.name);
        let mut seen = BTreeSet::new();
        for attribute in kind.attributes {
            assert!(attribute.summary.ends_with('.'), "{}.{}", kind.name, attribute.name);
            assert!(seen.insert(attribute.name), "{}.{} twice", kind.name, attribute.name);
            let never = attribute.change == UpdateStrategy::Never;
            assert_eq!(never, attribute.presence == Presence::Computed, "{}.{}", kind.name, attribute.name);
        }
    }
}

#[test]
fn every_name_that_a_table_uses_exists() {
    for kind in REGISTRY.kinds {
        let has =
            |name: &str| assert!(kind.attribute(name).is_some(), "{}: no attribute {name}", kind.name);
        assert!(kind.api.id == "id" || kind.attribute(kind.api.id).is_some());
        if let Some(ready) = kind.api.ready {
            has(ready.attribute);
        }
        if let KindScope::Child { of, collection } = kind.scope {
            let parent = REGISTRY.kind(of).unwrap();
            assert!(parent.attribute(collection).is_none(), "{collection} is an attribute of {of} too");
        }
        for (name, attribute) in kind.takes_along {
            assert!(REGISTRY.kind(name).unwrap().attribute(attribute).is_some());
        }
        for attribute in kind.attributes {
            check_type(&attribute.ty);
            check_upload(kind, attribute);
        }
        for call in kind.calls() {
            call.always.iter().for_each(|name| has(name));
        }
        for rule in kind.rules {
            check_rule(&rule.check, &has);
        }
        if let Price::Sum(terms) = kind.price {
            for term in terms {
                check_term(term, &has);
            }
        }
        check_billing(kind, &has);
    }
}

fn check_billing(kind: &Kind, has: &dyn Fn(&str)) {
    match kind.billing {
        Billing::Arrears => {}
        Billing::AsReferred(attribute) => has(attribute),
        Billing::Chosen(choice) => {
            let Type::Enum(keywords) = kind.attribute(choice.attribute).unwrap().ty else {
                panic!("{}.{} is no keyword", kind.name, choice.attribute)
            };
            assert!(keywords.contains(&choice.prepaid), "{}", kind.name);
            choice.free.iter().for_each(|name| has(name));
        }
    }
}

fn check_rule(check: &RuleCheck, has: &dyn Fn(&str)) {
    match *check {
        RuleCheck::OnlyWith { attribute, other, .. }
        | RuleCheck::CatalogField { attribute, equals: other, .. }
        | RuleCheck::CatalogForbids { attribute, forbidden: other, .. }
        | RuleCheck::Together { attribute, other }
        | RuleCheck::NeverWith { attribute, other, .. }
        | RuleCheck::RequiredWith { attribute, other, .. } => [attribute, other].into_iter().for_each(has),
        RuleCheck::Unique { attributes }
        | RuleCheck::ExactlyOne { attributes }
        | RuleCheck::NotBoth { attributes }
        | RuleCheck::UniqueOverall { attributes } => attributes.iter().for_each(|name| has(name)),
        RuleCheck::AtMost { count } => assert!(count > 0),
        RuleCheck::NotWhile { kind, attribute, other, .. } => {
            assert!(REGISTRY.kind(kind).unwrap().attribute(attribute).is_some());
            has(other);
        }
        RuleCheck::Offered { attribute, table, within } => {
            assert!(REGISTRY.catalog(table).unwrap().advisory);
            has(attribute);
            if let Some((by, _)) = within {
                has(by);
            }
        }
        RuleCheck::NotUsed { by } => {
            let refers =
                |(kind, name): &(&str, &str)| REGISTRY.kind(kind).unwrap().attribute(name).is_some();
            assert!(by.iter().all(refers));
        }
        RuleCheck::NotFilled => has("is_default"),
        RuleCheck::NoOverlap { attribute }
        | RuleCheck::OneOf { attribute, .. }
        | RuleCheck::Granted { attribute, .. }
        | RuleCheck::Future { attribute }
        | RuleCheck::Ordered { attribute, .. }
        | RuleCheck::Is { attribute, .. }
        | RuleCheck::AtLeast { attribute, .. }
        | RuleCheck::PartOneOf { attribute, .. }
        | RuleCheck::SumAtLeast { attribute, .. } => has(attribute),
        RuleCheck::NotOneOf { attribute, when, .. } => {
            has(attribute);
            when.iter().map(|(path, _)| path.split('.').next().unwrap_or_default()).for_each(has);
        }
    }
}

fn check_term(term: &PriceTerm, has: &dyn Fn(&str)) {
    assert!(REGISTRY.catalog(term.table).is_some());
    term.chosen_by.into_iter().for_each(has);
    for factor in term.factors {
        match *factor {
            PriceFactor::Count(attribute)
            | PriceFactor::Over { attribute, .. }
            | PriceFactor::When { attribute, .. }
            | PriceFactor::Unless { attribute, .. } => {
                has(attribute);
            }
            PriceFactor::Instances { fixed, scaled, .. } => [fixed, scaled].into_iter().for_each(has),
            PriceFactor::PercentWhen { attribute, by, .. } => [attribute, by].into_iter().for_each(has),
        }
    }
}

fn check_type(ty: &Type) {
    match ty {
        Type::Reference(kind) => assert!(REGISTRY.kind(kind).is_some(), "no kind {kind}"),
        Type::Catalog(table) => assert!(REGISTRY.catalog(table).is_some(), "no catalog {table}"),
        Type::List(of) | Type::Set { of, .. } | Type::Map(of) => check_type(of),
        Type::Record(fields) => fields.iter().for_each(|(_, ty)| check_type(ty)),
        _ => {}
    }
}

#[test]
fn every_endpoint_is_well_formed_and_no_two_are_the_same() {
    let mut seen = BTreeSet::new();
    for kind in REGISTRY.kinds {
        for endpoint in kind.endpoints() {
            assert!(endpoint.path.starts_with("/api/v1/"), "{}", endpoint.path);
            let said: Vec<String> = kind
                .actions
                .iter()
                .filter(|action| action.endpoint() == Some(endpoint))
                .flat_map(|action| action.parameters)
                .filter(|parameter| parameter.place == ParameterLocation::Path)
                .map(|parameter| format!("{{{}}}", parameter.wire))
                .collect();
            for part in endpoint.path.split('/').filter(|part| part.starts_with('{')) {
                let known = ["{id}", "{parent}"].contains(&part) || said.iter().any(|said| said == part);
                assert!(known, "{}: {part}", endpoint.path);
            }
        }
        // One endpoint may both create and change: the PUT of a saved query, the PATCH of the spend settings.
        let own: BTreeSet<_> = kind.endpoints().map(|endpoint| (endpoint.method, endpoint.path)).collect();
        for (method, path) in own {
            assert!(seen.insert((method, path)), "{method} {path}");
        }
    }
}

#[test]
fn rule_codes_are_unique_and_have_a_location() {
    let mut seen = BTreeSet::new();
    for rule in REGISTRY.kinds.iter().flat_map(|kind| kind.rules) {
        assert!(seen.insert(rule.code), "{} twice", rule.code);
        assert!(rule.says.ends_with('.') && !rule.place.is_empty(), "{}", rule.code);
    }
}

#[test]
fn defaults_have_the_type_of_their_attribute() {
    for kind in REGISTRY.kinds {
        for attribute in kind.attributes {
            let Presence::Default(literal) = attribute.presence else { continue };
            let fits = match (attribute.ty, literal) {
                (Type::Boolean, Literal::Bool(_))
                | (Type::Set { .. } | Type::List(_), Literal::Empty)
                | (Type::Text { .. }, Literal::Text(_)) => true,
                (Type::Integer { min, max, .. }, Literal::Integer(n)) => (min..=max).contains(&n),
                (Type::Enum(words), Literal::Text(word)) => words.contains(&word),
                _ => false,
            };
            assert!(fits, "{}.{}", kind.name, attribute.name);
        }
    }
}

/// A read that only inspects must never receive a secret, so every endpoint with one must be marked.
#[test]
fn endpoints_with_secrets_are_marked_and_no_plan_needs_them() {
    for kind in REGISTRY.kinds {
        let plain = [Some(kind.api.list), kind.api.read, Some(kind.api.delete)];
        for endpoint in plain.into_iter().flatten().chain(kind.calls().map(|call| call.endpoint)) {
            assert!(!endpoint.secret, "{}: {}", kind.name, endpoint.path);
        }
        assert_eq!(kind.api.create.secret, kind.shown_once.is_some(), "{}", kind.name);
        for action in kind.actions {
            let telling =
                ["password", "credentials", "connection", "kubeconfig", "secret", "token", "upload"];
            let Some(endpoint) = action.endpoint() else { continue };
            let mut words = action.name.split('-').chain(endpoint.path.split(['/', '-']));
            let tells = words.any(|word| telling.contains(&word));
            assert_eq!(endpoint.secret, tells, "{}: {}", kind.name, action.name);
        }
    }
}

/// Checks that an attribute is uploaded, after the creation, exactly if its type is a directory.
fn check_upload(kind: &Kind, attribute: &Attribute) {
    let place = format!("{}.{}", kind.name, attribute.name);
    let is_directory = matches!(attribute.ty, Type::Text { format: TextFormat::Directory, .. });
    let UpdateStrategy::Upload { grant, deliver, run, .. } = attribute.change else {
        return assert!(!is_directory, "{place}");
    };
    assert!(is_directory && attribute.presence == Presence::WriteOnly && !attribute.at_creation, "{place}");
    assert!(grant.endpoint.method == Method::Post && kind.call(deliver.name) == Some(deliver), "{place}");
    assert!(run.is_none_or(|run| kind.action(run.listed_by).is_some()), "{place}");
}

#[test]
fn every_action_is_documented_and_uses_existing_names() {
    for kind in REGISTRY.kinds {
        let mut seen = BTreeSet::new();
        for action in kind.actions {
            let place = format!("{}: {}", kind.name, action.name);
            assert!(action.summary.ends_with('.') && seen.insert(action.name), "{place}");
            match action.request {
                ActionRequest::Send(_) => {}
                ActionRequest::Call(call) => assert!(kind.call(call).is_some(), "{place}: no call {call}"),
                ActionRequest::Create { kind: other, attribute } => {
                    assert!(REGISTRY.kind(other).unwrap().attribute(attribute).is_some(), "{place}");
                }
                ActionRequest::Through { action, from } => {
                    for (other, attribute) in from {
                        let other = REGISTRY.kind(other).unwrap();
                        assert!(other.action(action).is_some_and(Action::needs_object), "{place}");
                        assert!(other.attribute(attribute).is_some(), "{place}");
                    }
                }
            }
            match action.until {
                ActionCompletion::ObjectReady(Some(feed)) => {
                    let told = kind.action(feed).map(|feed| feed.answer);
                    assert!(matches!(told, Some(ResponseShape::Feed { .. })), "{place}: {feed}");
                }
                ActionCompletion::RunFinished(run) => {
                    assert!(kind.action(run.listed_by).is_some(), "{place}");
                }
                ActionCompletion::ReturnedObjectReady => {
                    assert_eq!(action.answer, ResponseShape::Object, "{place}");
                }
                ActionCompletion::LinkedObjectReady(attributes) => {
                    for name in attributes {
                        let ty = kind.attribute(name).map(|attribute| attribute.ty);
                        assert!(matches!(ty, Some(Type::Reference(_))), "{place}: {name}");
                    }
                }
                ActionCompletion::RecordDeleted { listed_by, parameter } => {
                    let place_of = action.parameter(parameter).map(|parameter| parameter.place);
                    assert!(
                        kind.action(listed_by).is_some() && place_of == Some(ParameterLocation::Path),
                        "{place}"
                    );
                }
                ActionCompletion::ObjectReady(None) | ActionCompletion::OnResponse => {}
            }
            for name in action.exclusive {
                assert!(action.parameter(name).is_some(), "{place}: {name}");
            }
        }
    }
}

#[test]
fn every_parameter_is_documented_and_sent_somewhere() {
    let letters = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    let actions = REGISTRY.kinds.iter().flat_map(|kind| kind.actions.iter().map(move |a| (kind, a)));
    for (kind, action) in actions {
        let (mut names, mut wires) = (BTreeSet::new(), BTreeSet::new());
        for parameter in action.parameters {
            let place = format!("{}: {} --{}", kind.name, action.name, parameter.name);
            assert!(parameter.summary.ends_with('.') && letters(parameter.name), "{place}");
            assert!(names.insert(parameter.name) && wires.insert(parameter.wire), "{place}");
            check_type(&parameter.ty);
            let in_path = format!("{{{}}}", parameter.wire);
            let found = action.endpoint().is_some_and(|endpoint| endpoint.path.contains(&in_path));
            assert_eq!(found, parameter.place == ParameterLocation::Path, "{place}");
            assert!(
                parameter.place != ParameterLocation::Path || parameter.need == ParameterPresence::Required,
                "{place}"
            );
            assert!(!parameter.inverted || parameter.ty == Type::Boolean, "{place}");
            if parameter.ty == Type::Boolean {
                assert_eq!(parameter.need, ParameterPresence::Default(Literal::Bool(false)), "{place}");
            }
        }
        let positions = action.parameters.iter().skip_while(|parameter| parameter.positional);
        assert!(positions.clone().all(|parameter| !parameter.positional), "{}: {}", kind.name, action.name);
    }
}
