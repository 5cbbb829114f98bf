//! `refresh_request`: the objects and catalog tables that must be read before a plan can be made. In: stack,
//! ledger and options; out: kinds to list, objects to read by id, and tables. Invariant: an owned object is
//! either read or its absence is proven; a plan would recreate it otherwise.

use std::collections::BTreeSet;

use super::annotate::generated_secrets;
use super::decide::checks::lost_ledger;
use super::inputs::PlanningOptions;
use super::model::change::{Action, Change, Plan};
use super::moves::ledger_moves;
use super::moves::resolve::resolve_moves;
use crate::config::stack::model::{Resource, Stack};
use crate::ledger::state::entry::{Entry, OwnedObject};
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::expression::{Expression, Reference};
use crate::model::live::snapshot::{ObjectKey, RefreshRequest};
use crate::model::schema::{Kind, KindScope, PROJECT, Price, Registry, RuleCheck, Type, UpdateStrategy};
use crate::model::values::value::{Attributes, Value};

/// Returns the objects to read from the service, and the catalog tables, before `make_plan`.
///
/// Only kinds in use are listed. An object to adopt counts as owned, too, so that its absence is proven.
#[must_use]
pub fn refresh_request<'a>(
    registry: Registry,
    stack: &Stack,
    ledger: &Ledger,
    options: &PlanningOptions,
) -> (RefreshRequest, BTreeSet<&'a str>) {
    let ledger = &*resolve_moves(registry, stack, ledger).apply_to_ledger(ledger);
    let options = &*ledger_moves::with_declared_adoptions(stack, ledger, options);
    let kinds = kinds_in_use(registry, stack, ledger, options);
    let mut wanted =
        RefreshRequest { projects: known_projects(stack, ledger, options), ..RefreshRequest::default() };
    let listed = kinds.iter().filter(|kind| kind.child_of().is_none());
    wanted.kinds.extend(listed.map(|kind| Name::new(kind.name)));
    // A destroy needs no data lookups, unless the names of a lost ledger's objects may depend on them.
    let looks_up = !options.destroy || lost_ledger::may_be_lost(ledger, options);
    let lookups = || stack.data.values().filter(|_| looks_up);
    let looked_up: BTreeSet<Name> = lookups().map(|lookup| Name::new_static(lookup.kind.name)).collect();
    wanted.kinds.extend(looked_up.iter().cloned());
    let searched = lookups().filter_map(|lookup| lookup.fields.get(PROJECT)?.known_value());
    let mut projects = options.project.iter().map(Name::to_string).chain(searched.map(Value::to_string));
    if projects.any(|named| uuid::Uuid::parse_str(&named).is_err()) {
        wanted.kinds.insert(PROJECT.into());
    }
    let outputs = OutputReads::new(stack);
    for (address, entry) in &ledger.entries {
        let Some(kind) = registry.kind(&entry.kind) else { continue };
        for owned in entry.current.iter().chain(&entry.deposed) {
            wanted.owned.push(owned.key(kind.name));
            if kind.states_project && owned.project.is_none() {
                wanted.homeless.insert(owned.key(kind.name));
            }
            wanted.parents.extend(owned.parent.clone().map(|parent| (kind.name.into(), parent)));
        }
        let current = entry.current.as_ref().zip(stack.resources.get(address));
        let Some((owned, resource)) = current else { continue };
        if needs_detail(resource) || outputs.shows_detail(resource) {
            wanted.details.insert(owned.key(kind.name));
        }
        wanted.applied.insert(owned.key(kind.name), verifiable_attributes(resource, entry));
        let chosen = |name: &&Name| kind.attribute(name).is_some_and(|a| a.choices.is_some());
        let chosen = resource.attributes.keys().filter(chosen);
        wanted.choices.extend(chosen.map(|name| (owned.key(kind.name), name.clone())));
    }
    for resource in stack.resources.values() {
        let id = |parent| {
            let owned = ledger.entries.get(parent).and_then(current_owned).map(|owned| &owned.id);
            owned.or_else(|| options.adopt.get(parent))
        };
        let parent = resource.parent.as_ref().and_then(id);
        wanted.parents.extend(parent.map(|id| (resource.kind.name.into(), id.clone())));
    }
    for intent in ledger.intents.values().chain(ledger.watched.values()) {
        wanted.parents.extend(intent.parent.clone().map(|parent| (intent.kind.clone(), parent)));
    }
    // An object that shows a generated secret again is read in full.
    generated_secrets::look_for(&mut wanted, registry, ledger);
    add_adopted(registry, stack, options, &mut wanted);
    wanted.owned.sort();
    wanted.owned.dedup();
    wanted.everywhere = account_wide_kinds(stack, ledger, options, &kinds);
    wanted.everywhere.extend(looked_up);
    let mut tables = catalog_tables(&kinds);
    tables.extend(catalog_tables(&final_copy_kinds(registry, stack, ledger)));
    tables.extend(choice_tables(stack));
    (wanted, tables)
}

/// Returns the kinds that are listed in all projects: those whose networks must not overlap, those whose objects may
/// use a deleted one, and those of which a new object must be unique overall.
fn account_wide_kinds(
    stack: &Stack,
    ledger: &Ledger,
    options: &PlanningOptions,
    kinds: &[&'static Kind],
) -> BTreeSet<Name> {
    let going = kinds_to_remove(stack, ledger, options);
    let is_new =
        |resource: &&Resource| ledger.entries.get(&resource.address).and_then(current_owned).is_none();
    let made: BTreeSet<&str> =
        stack.resources.values().filter(is_new).map(|resource| resource.kind.name).collect();
    let mut found = BTreeSet::new();
    for kind in kinds {
        for rule in kind.rules {
            match rule.check {
                RuleCheck::NoOverlap { .. } => drop(found.insert(kind.name)),
                RuleCheck::NotUsed { by } if going.contains(kind.name) => {
                    found.extend(by.iter().map(|(kind, _)| *kind));
                }
                RuleCheck::UniqueOverall { .. } if made.contains(kind.name) => {
                    found.insert(kind.name);
                    found.extend(kind.child_of().map(|(of, _)| of));
                }
                _ => {}
            }
        }
    }
    found.into_iter().map(Name::new_static).collect()
}

/// Returns the kinds with an object that may be deleted: in a destroy, without a block, or with deposed
/// objects. Replacements are not known before the plan: a second request names their kinds in `deleted_kinds`.
fn kinds_to_remove<'l>(
    stack: &Stack,
    ledger: &'l Ledger,
    options: &'l PlanningOptions,
) -> BTreeSet<&'l str> {
    let goes = |(address, entry): &(&_, &Entry)| {
        options.destroy || !stack.resources.contains_key(*address) || !entry.deposed.is_empty()
    };
    let removed = ledger.entries.iter().filter(goes).map(|(_, entry)| entry.kind.as_str());
    removed.chain(options.deleted_kinds.iter().map(Name::as_str)).collect()
}

/// Returns the options of a second plan if the first one deletes objects, as a part of replacements, of which the objects that
/// may use them were not read; `None` if all was read. `options` are those of the first plan.
#[must_use]
pub fn widen_for_deletions(
    registry: Registry,
    stack: &Stack,
    ledger: &Ledger,
    options: &PlanningOptions,
    plan: &Plan,
) -> Option<PlanningOptions> {
    let deletes = |change: &&Change| {
        matches!(change.action, Action::Replace | Action::Delete) || plan.deletes_older_object(change)
    };
    let kinds = plan.changes.iter().filter(deletes).map(|change| change.kind.clone());
    let deleted_kinds: BTreeSet<Name> = kinds.collect();
    let expected = kinds_to_remove(stack, ledger, options);
    if options.only_looks || deleted_kinds.iter().all(|kind| expected.contains(kind.as_str())) {
        return None;
    }
    let wider = PlanningOptions { deleted_kinds, ..options.clone() };
    let read = |options| {
        let (wanted, tables) = refresh_request(registry, stack, ledger, options);
        (wanted.kinds, wanted.everywhere, tables)
    };
    (read(&wider) != read(options)).then_some(wider)
}

/// Returns the catalog tables that list the legal values of a written attribute.
fn choice_tables<'a>(stack: &Stack) -> BTreeSet<&'a str> {
    let of = |resource: &Resource| {
        resource
            .kind
            .rules
            .iter()
            .filter_map(|rule| match rule.check {
                RuleCheck::Offered { attribute, table, .. } => {
                    resource.attributes.contains_key(attribute).then_some(table)
                }
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    stack.resources.values().flat_map(of).collect()
}

/// Returns the kinds with a block or an entry, and those whose objects may be linked to a deleted one, so that the plan
/// can report what stays behind.
fn kinds_in_use(
    registry: Registry,
    stack: &Stack,
    ledger: &Ledger,
    options: &PlanningOptions,
) -> Vec<&'static Kind> {
    let mut used: BTreeSet<&str> = stack.resources.values().map(|resource| resource.kind.name).collect();
    used.extend(ledger.entries.values().map(|entry| entry.kind.as_str()));
    let sent = ledger.intents.values().chain(ledger.watched.values());
    used.extend(sent.map(|intent| intent.kind.as_str()));
    let going = kinds_to_remove(stack, ledger, options);
    let links_to_going = |kind: &Kind| {
        kind.attributes.iter().any(|attribute| {
            matches!((attribute.change, attribute.ty), (UpdateStrategy::Link { .. }, Type::Reference(of)) if going.contains(of))
        })
    };
    let copies_what_goes = |kind: &Kind| {
        let sources = kind.copy_of.iter().filter_map(|name| kind.attribute(name));
        sources.into_iter().any(|a| matches!(a.ty, Type::Reference(of) if going.contains(of)))
    };
    let claims = |of: &&str| Some(registry.kind(of)?.claims?.0);
    let claimed: BTreeSet<&str> = going.iter().filter(|_| options.destroy).filter_map(claims).collect();
    let told = rule_kinds(registry, &used, &going);
    let all = registry.kinds.iter().copied();
    let listed = |kind: &Kind| {
        let told = told.contains(kind.name) || claimed.contains(kind.name);
        links_to_going(kind) || copies_what_goes(kind) || told
    };
    all.filter(|kind| used.contains(kind.name) || (kind.child_of().is_none() && listed(kind))).collect()
}

/// Returns the kinds that a rule of a used kind examines.
fn rule_kinds(registry: Registry, used: &BTreeSet<&str>, going: &BTreeSet<&str>) -> BTreeSet<&'static str> {
    let mut kinds = BTreeSet::new();
    for kind in registry.kinds.iter().filter(|kind| used.contains(kind.name)) {
        for rule in kind.rules {
            match rule.check {
                RuleCheck::NotWhile { kind, .. } => drop(kinds.insert(kind)),
                RuleCheck::NotFilled if going.contains(kind.name) => {
                    let inside = registry.top_level().filter(|kind| kind.scope == KindScope::Project);
                    kinds.extend(inside.map(|kind| kind.name));
                }
                RuleCheck::NotUsed { by } if going.contains(kind.name) => {
                    kinds.extend(by.iter().map(|(kind, _)| *kind));
                }
                _ => {}
            }
        }
    }
    kinds
}

/// Returns the kinds of the configured final snapshots.
fn final_copy_kinds(registry: Registry, stack: &Stack, ledger: &Ledger) -> Vec<&'static Kind> {
    let declared = stack.resources.values().filter(|one| one.lifecycle.final_snapshot);
    let remembered = ledger.entries.values().filter(|entry| entry.final_snapshot);
    let names: BTreeSet<&str> = declared
        .map(|resource| resource.kind.name)
        .chain(remembered.map(|entry| entry.kind.as_str()))
        .collect();
    let copies = names.into_iter().filter_map(|name| registry.kind(registry.kind(name)?.final_copy?.kind));
    copies.collect()
}

fn needs_detail(resource: &Resource) -> bool {
    let unlisted =
        |name: &Name| resource.kind.attribute(name).is_some_and(|a| !a.listed && a.is_readable());
    resource.attributes.keys().any(unlisted)
}

/// What the outputs of a stack read.
struct OutputReads<'s> {
    /// The resources of which an expression may read any attribute.
    whole: BTreeSet<&'s Address>,
    /// Single attributes.
    attributes: BTreeSet<(&'s Address, &'s Name)>,
}

impl<'s> OutputReads<'s> {
    fn new(stack: &'s Stack) -> Self {
        let (mut whole, mut attributes) = (BTreeSet::new(), BTreeSet::new());
        for output in stack.outputs.values() {
            match &output.expression {
                Expression::Reference(Reference { address, attribute: Some(name) }) => {
                    attributes.insert((address, name));
                }
                other => whole.extend(other.addresses()),
            }
        }
        Self { whole, attributes }
    }

    /// Returns whether an output may show an attribute of a resource that lists lack: an apply records it from a read by id,
    /// and a plan compares it with that.
    fn shows_detail(&self, resource: &Resource) -> bool {
        let mut unlisted = resource.kind.attributes.iter().filter(|one| !one.listed && one.is_readable());
        let is_read =
            |name: &'static str| self.attributes.contains(&(&resource.address, &Name::new_static(name)));
        unlisted.any(|one| self.whole.contains(&resource.address) || is_read(one.name))
    }
}

/// Returns the last applied values of the written attributes that can be compared with a list: no secrets, which need
/// the ledger's key, and no attribute whose drift is ignored.
fn verifiable_attributes(resource: &Resource, entry: &Entry) -> Attributes {
    let left_alone = |name: &Name| {
        resource.lifecycle.ignore_drift.iter().any(|one| one.attribute == *name && one.until.is_none())
    };
    let compared = entry.applied.iter().filter(|(name, value)| {
        resource.attributes.contains_key(*name) && !value.is_secret() && !left_alone(name)
    });
    compared.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn current_owned(entry: &Entry) -> Option<&OwnedObject> {
    entry.current.as_ref()
}

fn add_adopted(registry: Registry, stack: &Stack, options: &PlanningOptions, wanted: &mut RefreshRequest) {
    for (address, id) in &options.adopt {
        let Some(resource) = stack.resources.get(address) else { continue };
        if registry.kind(resource.kind.name).is_none_or(|kind| kind.child_of().is_some()) {
            continue;
        }
        let key = ObjectKey { kind: resource.kind.name.into(), parent: None, id: id.clone() };
        // An adopted object is written or planned from a read by id.
        if resource.kind.api.read.is_some() {
            wanted.details.insert(key.clone());
        }
        wanted.adopted.insert(key.clone());
        if resource.kind.states_project {
            wanted.homeless.insert(key.clone());
        }
        wanted.owned.push(key);
    }
}

/// Returns the ids of the projects to read; `None` unless all of them are known: then every project is read.
fn known_projects(stack: &Stack, ledger: &Ledger, options: &PlanningOptions) -> Option<Vec<Name>> {
    let id = |address| ledger.entries.get(address).and_then(current_owned).map(|owned| owned.id.clone());
    let mut found = BTreeSet::new();
    found.insert(match (&stack.project, &options.project) {
        (Some(address), _) => id(address)?,
        (None, Some(named)) => uuid::Uuid::parse_str(named).ok().map(|_| named.clone())?,
        (None, None) => ledger.identity.account.clone()?,
    });
    for entry in ledger.entries.values() {
        found.extend(entry.current.iter().chain(&entry.deposed).filter_map(|owned| owned.project.clone()));
    }
    // The contents of a project matter when it is deleted.
    let own = ledger.entries.values().filter(|entry| entry.kind == PROJECT);
    found
        .extend(own.flat_map(|entry| entry.current.iter().chain(&entry.deposed)).map(|own| own.id.clone()));
    let sent = ledger.intents.values().chain(ledger.watched.values());
    found.extend(sent.filter_map(|intent| intent.project.clone()));
    for resource in stack.resources.values().filter(|resource| resource.kind.scope == KindScope::Project) {
        found.extend(match &resource.project {
            None => None,
            Some(Expression::Reference(Reference { address, attribute: None })) => Some(id(address)?),
            Some(Expression::Value(Value::Text(named))) if uuid::Uuid::parse_str(named).is_ok() => {
                Some(named.clone())
            }
            Some(_) => return None,
        });
    }
    Some(found.into_iter().collect())
}

fn catalog_tables<'a>(kinds: &[&'static Kind]) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    for kind in kinds {
        found.extend(kind.attributes.iter().filter_map(|attribute| match attribute.ty {
            Type::Catalog(table) => Some(table),
            _ => None,
        }));
        if let Price::Sum(terms) = kind.price {
            found.extend(terms.iter().map(|term| term.table));
        }
    }
    found
}
