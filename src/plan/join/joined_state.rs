//! `JoinedState`: stack, ledger and snapshot joined by address: one `ResourceState` for each resource that is
//! declared, owned or both, with its dependencies and dependents. Resources are known by their index in
//! `subjects`, which is sorted by address, so that a parent precedes its children.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt, HashSet};

use super::catalog_index::CatalogIndex;
use super::live_state::{LiveState, copies_by_name, live_state};
use crate::config::diagnostics::hints::suggestions;
use crate::config::stack::model::Resource;
use crate::ledger::journal::intent_candidates;
use crate::ledger::state::entry::{Entry, Intent, IntentAction, OwnedObject};
use crate::model::address::{Address, Name, path_prefixes};
use crate::model::budget::Budget;
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::{Kind, KindScope, Type};
use crate::model::source::Span;
use crate::model::values::secret::{FingerprintKey, Secret};
use crate::model::values::value::Value;
use crate::plan::inputs::PlanInputs;
use crate::plan::moves::resolved::ResolvedDeclarations;

/// The joined state of one address.
pub(in crate::plan) struct ResourceState<'a> {
    pub address: &'a Address,
    pub kind: &'static Kind,
    /// The block that applies; `None` if it was removed, or in a destroy.
    pub resource: Option<&'a Resource>,
    /// The block as written, for locations and lifecycle settings; also in a destroy.
    pub block: Option<&'a Resource>,
    /// The ledger's entry, if there is one.
    pub entry: Option<&'a Entry>,
    /// The state of the live object.
    pub live: LiveState<'a>,
    /// Why the plan adopts or confirms the object; `None` if it does neither.
    pub adoption: Option<AdoptionReason<'a>>,
    /// The numbers of the resources to which the block refers.
    pub needs: Vec<usize>,
    /// The numbers of the resources that the object was built on or refers to: they cannot be
    /// deleted while it uses them.
    pub held: Vec<usize>,
}

/// Returns the fingerprints of the secrets from which applied values were computed, by the names
/// of the secrets (`vars.NAME`).
fn recorded_inputs(inputs: &PlanInputs<'_>) -> BTreeMap<Name, Name> {
    fn collect_inputs(value: &Value, into: &mut BTreeMap<Name, Name>) {
        match value {
            Value::Secret(Secret::Derived(derived)) => {
                let inputs = derived.recorded_inputs().into_iter().flatten();
                into.extend(inputs.map(|(name, print)| (name.clone(), print.clone())));
            }
            Value::List(items) => items.iter().for_each(|item| collect_inputs(item, into)),
            Value::Map(map) => map.values().for_each(|part| collect_inputs(part, into)),
            _ => {}
        }
    }
    let mut found = BTreeMap::new();
    let applied = inputs.ledger.entries.values().flat_map(|entry| entry.applied.values());
    applied.for_each(|value| collect_inputs(value, &mut found));
    let generated = inputs.ledger.generated.iter();
    found.extend(
        generated.map(|(name, one)| (smol_str::format_smolstr!("vars.{name}"), one.fingerprint.clone())),
    );
    found
}

/// Why an object is adopted or confirmed.
#[derive(Clone, Copy)]
pub(in crate::plan) enum AdoptionReason<'a> {
    /// The command line or a declaration requests it.
    Requested,
    /// An earlier apply created it and could not record it; the entry is the one that it would have recorded.
    Recovered(&'a Entry),
    /// An earlier apply bound it unconfirmed; now the user confirms it.
    Confirmed,
}

/// The number of value nodes that each resource adds to the evaluation limit of a plan: the limit must grow
/// with the stack, and still stop an expression that multiplies values.
const NODES_PER_RESOURCE: usize = 40;

/// The joined state of all addresses, which every later phase reads.
pub(in crate::plan) struct JoinedState<'a> {
    /// The inputs of the plan.
    pub inputs: PlanInputs<'a>,
    /// The resolved declarations (`moved`, `removed`, `import`).
    pub declared: &'a ResolvedDeclarations<'a>,
    /// All resources, sorted by address.
    pub subjects: Vec<ResourceState<'a>>,
    /// The number of each address in `subjects`.
    pub index: HashMap<&'a Address, usize>,
    /// By resource: the resources whose blocks refer to it.
    pub users: Vec<Vec<usize>>,
    /// By resource: the resources whose objects use its object.
    pub holders: Vec<Vec<usize>>,
    /// The index of catalog names and prices.
    pub names: CatalogIndex<'a>,
    /// Live objects that this stack does not own.
    pub unowned: Vec<&'a Object>,
    /// Those of them that may be final snapshots, by kind and name.
    pub copies: HashMap<(&'a str, &'a str), Vec<&'a Object>>,
    /// Entries of kinds that this version does not know.
    pub strangers: Vec<&'a Address>,
    /// The fingerprints of secrets from which applied values were computed, by the names of their variables.
    pub recorded_inputs: BTreeMap<Name, Name>,
    /// Abandoned requests, with the ids of the objects that look like their late effects.
    pub late: Vec<(&'a Intent, Vec<Name>)>,
    /// The evaluation limit of the plan's values.
    pub budget: Budget,
}

impl<'a> JoinedState<'a> {
    /// Renders a help message, whose code is in YAML, in the syntax of the file that it is about, or else of
    /// the stack's first file.
    pub fn render_help(&self, about: Option<Span>, help: &str) -> String {
        let sources = &self.inputs.stack.sources;
        let source = about.and_then(|span| sources.get(span.source));
        let source = source.or_else(|| sources.iter().next().map(|(_, source)| source));
        let file = source.map(|source| source.path.as_str()).unwrap_or_default();
        suggestions::hint_in_syntax(&self.inputs.registry, file, help)
    }

    /// Returns the live objects that neither this stack nor another unit of the same run owns.
    pub fn owned_by_no_unit(&self) -> impl Iterator<Item = &'a Object> {
        let elsewhere = &self.inputs.options.planned_elsewhere;
        let all = self.unowned.iter().copied();
        all.filter(|object| elsewhere.is_empty() || !elsewhere.contains(&object.key()))
    }

    /// Joins stack, ledger and snapshot.
    pub fn new(inputs: PlanInputs<'a>, declared: &'a ResolvedDeclarations<'a>) -> Self {
        let (mut subjects, strangers) = join_subjects(&inputs);
        let index: HashMap<&Address, usize> =
            subjects.iter().enumerate().map(|(i, subject)| (subject.address, i)).collect();
        let taken = owned_keys(&subjects);
        let on_the_way: HashSet<ObjectKey> =
            inputs.ledger.transfers.objects_on_the_way().map(|(key, ..)| key).collect();
        let is_unowned = |key: &ObjectKey| !taken.contains_key(key) && !on_the_way.contains(key);
        let unowned = inputs.snapshot.objects.iter().filter(|(key, _)| is_unowned(key));
        let unowned = unowned.map(|(_, object)| object).collect();
        let copies = copies_by_name(inputs.registry, inputs.snapshot, is_unowned);
        mark_children_gone(&mut subjects, &index, &inputs);
        link_subjects(&mut subjects, &index, &taken, &inputs);
        let users = reverse_edges(&subjects, |subject| &subject.needs);
        let holders = reverse_edges(&subjects, |subject| &subject.held);
        let names = CatalogIndex::new(inputs.catalog);
        let late = late_effects(&inputs);
        let count = subjects.len();
        let recorded_inputs = recorded_inputs(&inputs);
        Self {
            inputs,
            declared,
            subjects,
            index,
            users,
            holders,
            names,
            unowned,
            copies,
            strangers,
            recorded_inputs,
            late,
            budget: Budget::with_extra(0, NODES_PER_RESOURCE.saturating_mul(count)),
        }
    }

    /// Returns why a resource with an entry is not declared any more, and where that is decided: a `when`, or a
    /// key that left a `for_each`. `None` if its block was removed.
    pub fn left_out(&self, address: &Address) -> Option<(String, Span)> {
        let stack = self.inputs.stack;
        let text = address.as_str();
        let mut found =
            path_prefixes(text).filter_map(|place| Some((place.len(), stack.left_out.get(place)?)));
        let found = found.next_back();
        let (end, decides) = found?;
        let (of, rest) = text.split_at(end);
        let key = rest.trim_start_matches('.').split('.').next().unwrap_or_default();
        let says = match (decides.keyed, rest.is_empty()) {
            // Without a key the address is no instance, and anything below an existing instance was removed on its own.
            (true, true) => return None,
            (true, false) if self.is_wanted(of, key) => return None,
            (true, false) => format!("`{key}` is no longer a key of the `for_each` of {of}"),
            (false, true) => "its `when` is false now".to_owned(),
            (false, false) => format!("the `when` of {of} is false now"),
        };
        Some((says, decides.span))
    }

    /// Returns whether a `removed` entry may name the address of a resource that is not declared any more. It is
    /// rejected where a `when` leaves the resource out, as the block still exists.
    pub fn takes_removal(&self, address: &Address) -> bool {
        let left_out = &self.inputs.stack.left_out;
        let decides = path_prefixes(address.as_str()).filter_map(|place| left_out.get(place)).next_back();
        self.left_out(address).is_none() || decides.is_some_and(|decides| decides.keyed)
    }

    fn is_wanted(&self, block: &str, key: &str) -> bool {
        let instance = format!("{block}.{key}");
        self.inputs.stack.resources.contains_key(instance.as_str())
    }

    /// Returns the ledger's key for the fingerprints of secrets; a ledger that does not exist yet has none.
    pub fn key(&self) -> &'a FingerprintKey {
        &self.inputs.ledger.identity.key
    }
}

impl<'a> ResourceState<'a> {
    /// Returns the live object, also while the service is deleting it; `None` if there is none, or it was not seen.
    pub fn object(&self) -> Option<&'a Object> {
        match self.live {
            LiveState::Present(object) | LiveState::Deleting(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the object that the ledger owns, if any.
    pub fn owned_object(&self) -> Option<&'a OwnedObject> {
        self.entry.and_then(|entry| entry.current.as_ref())
    }

    /// Returns whether the block, or else the ledger, protects the resource from deletion.
    pub fn is_protected(&self) -> bool {
        self.block
            .map_or_else(|| self.entry.is_some_and(|entry| entry.protect), |block| block.lifecycle.protect)
    }

    /// Returns the parent's address, from the block or else from the ledger; `None` if the resource is not a child.
    pub fn parent(&self) -> Option<&'a Address> {
        let written = self.resource.and_then(|resource| resource.parent.as_ref());
        written.or_else(|| self.entry.and_then(|entry| entry.parent.as_ref()))
    }

    /// Returns the object's status; `None` if its kind has none or the object is not live.
    pub fn status(&self) -> Option<&'a str> {
        self.object()?.status(self.kind.api.ready?.attribute)
    }
}

/// Returns the identity that the ledger records of a live object.
pub(in crate::plan) fn owned_from_object(object: &Object, provisional: bool) -> OwnedObject {
    OwnedObject {
        id: object.id.clone(),
        parent: object.parent.clone(),
        project: object.project.clone(),
        created_at: object.created_at.clone(),
        provisional,
    }
}

fn join_subjects<'a>(inputs: &PlanInputs<'a>) -> (Vec<ResourceState<'a>>, Vec<&'a Address>) {
    let (stack, ledger) = (inputs.stack, inputs.ledger);
    let removed = ledger.entries.keys().filter(|address| !stack.resources.contains_key(*address));
    let mut addresses: Vec<&Address> = stack.resources.keys().chain(removed).collect();
    addresses.sort_unstable();
    let recovered = recovered_objects(inputs);
    let mut strangers = Vec::new();
    let mut subjects = Vec::with_capacity(addresses.len());
    for address in addresses {
        let block = stack.resources.get(address);
        let entry = ledger.entries.get(address);
        let kind = block.map(|block| block.kind);
        let Some(kind) = kind.or_else(|| inputs.registry.kind(&entry?.kind)) else {
            strangers.push(address);
            continue;
        };
        let (live, adoption) = match entry.and_then(|entry| entry.current.as_ref()) {
            Some(owned) => match live_state(inputs, kind, owned) {
                // Another object can take the place of one that is gone.
                LiveState::Gone(_) if inputs.options.adopt.contains_key(address) => {
                    adopted_state(inputs, address, kind, &recovered)
                }
                live => (live, confirmed_adoption(inputs, address, owned)),
            },
            None => adopted_state(inputs, address, kind, &recovered),
        };
        subjects.push(ResourceState {
            address,
            kind,
            resource: block.filter(|_| !inputs.options.destroy),
            block,
            entry,
            live,
            adoption,
            needs: Vec::new(),
            held: Vec::new(),
        });
    }
    (subjects, strangers)
}

/// Returns the abandoned requests that seem to have had an effect after all. A request is watched for
/// a limited time only.
fn late_effects<'a>(inputs: &PlanInputs<'a>) -> Vec<(&'a Intent, Vec<Name>)> {
    let watched = inputs.ledger.watched.values();
    let watched = watched.filter(|intent| intent_candidates::is_watched(intent, inputs.now));
    let found = watched.map(|intent| {
        let objects = inputs.snapshot.of_kind(&intent.kind);
        let found = intent_candidates::creation_candidates(inputs.registry, intent, inputs.ledger, objects);
        (intent, found.into_iter().map(|object| object.id.clone()).collect::<Vec<_>>())
    });
    found.filter(|(_, ids)| !ids.is_empty()).collect()
}

fn confirmed_adoption<'a>(
    inputs: &PlanInputs<'a>,
    address: &Address,
    owned: &OwnedObject,
) -> Option<AdoptionReason<'a>> {
    let asked = inputs.options.adopt.get(address).is_some_and(|id| *id == owned.id);
    (asked && owned.provisional).then_some(AdoptionReason::Confirmed)
}

fn adopted_state<'a>(
    inputs: &PlanInputs<'a>,
    address: &'a Address,
    kind: &'static Kind,
    recovered: &HashMap<&'a Address, (&'a Object, &'a Entry)>,
) -> (LiveState<'a>, Option<AdoptionReason<'a>>) {
    if let Some(id) = inputs.options.adopt.get(address) {
        let parent = kind.child_of().and_then(|_| parent_id(inputs, address));
        let key = ObjectKey { kind: kind.name.into(), parent: parent.cloned(), id: id.clone() };
        let found = inputs.snapshot.find(&key);
        return found.map_or((LiveState::None, None), |object| {
            (LiveState::Present(object), Some(AdoptionReason::Requested))
        });
    }
    match recovered.get(address) {
        Some((object, entry)) => (LiveState::Present(object), Some(AdoptionReason::Recovered(entry))),
        None => (LiveState::None, None),
    }
}

/// Returns the id of a child's parent object, owned or to be adopted; `None` if it does not exist yet.
fn parent_id<'a>(inputs: &PlanInputs<'a>, address: &Address) -> Option<&'a Name> {
    let parent = inputs.stack.resources.get(address)?.parent.as_ref()?;
    let owned = inputs.ledger.entries.get(parent).and_then(|entry| entry.current.as_ref());
    owned.map(|owned| &owned.id).or_else(|| inputs.options.adopt.get(parent))
}

/// Returns the objects of open creations, where exactly one object matches. With several candidates the intent
/// is ambiguous, and the user decides.
fn recovered_objects<'a>(inputs: &PlanInputs<'a>) -> HashMap<&'a Address, (&'a Object, &'a Entry)> {
    let mut found = HashMap::new();
    for intent in inputs.ledger.intents.values() {
        let IntentAction::Create { entry, .. } = &intent.action else { continue };
        let objects = inputs.snapshot.of_kind(&intent.kind);
        if let [object] =
            intent_candidates::creation_candidates(inputs.registry, intent, inputs.ledger, objects)[..]
        {
            found.insert(&intent.address, (object, entry.as_ref()));
        }
    }
    found
}

/// Returns the keys of this stack's objects, deposed and adopted ones included, with the number of the
/// resource that owns each.
fn owned_keys(subjects: &[ResourceState<'_>]) -> HashMap<ObjectKey, usize> {
    let mut keys = HashMap::new();
    for (i, subject) in subjects.iter().enumerate() {
        let deposed = subject.entry.into_iter().flat_map(|entry| &entry.deposed);
        for owned in subject.owned_object().into_iter().chain(deposed) {
            keys.insert(owned.key(subject.kind.name), i);
        }
        if let LiveState::Present(object) = subject.live {
            keys.insert(object.key(), i);
        }
    }
    keys
}

/// Marks a child as gone if its parent object is gone: no list shows it, and no read proves it.
fn mark_children_gone<'a>(
    subjects: &mut [ResourceState<'a>],
    index: &HashMap<&'a Address, usize>,
    inputs: &PlanInputs<'a>,
) {
    for i in 0..subjects.len() {
        let (LiveState::Unseen(owned), Some((of, _))) = (subjects[i].live, subjects[i].kind.child_of())
        else {
            continue;
        };
        let Some(id) = owned.parent.clone() else { continue };
        let parent = subjects[i].parent().and_then(|address| index.get(address));
        let current = parent.and_then(|p| subjects[*p].owned_object()).is_some_and(|owned| owned.id == id);
        let key = ObjectKey { kind: of.into(), parent: None, id };
        let seen = inputs.snapshot.objects.contains_key(&key);
        if inputs.snapshot.absent.contains(&key) || (!current && !seen) {
            subjects[i].live = LiveState::Gone(owned);
        }
    }
}

fn link_subjects<'a>(
    subjects: &mut [ResourceState<'a>],
    index: &HashMap<&'a Address, usize>,
    taken: &HashMap<ObjectKey, usize>,
    inputs: &PlanInputs<'a>,
) {
    for (i, subject) in subjects.iter_mut().enumerate() {
        if let Some(resource) = subject.resource {
            subject.needs = subject_numbers(needed_addresses(resource, inputs), index, i);
        }
        let remembered =
            subject.entry.into_iter().flat_map(|entry| entry.depends_on.iter().chain(&entry.parent));
        let mut held = subject_numbers(remembered, index, i);
        if let Some(object) = subject.object() {
            held.extend(
                referenced_keys(subject.kind, object)
                    .filter_map(|key| taken.get(&key))
                    .filter(|n| **n != i),
            );
            held.sort_unstable();
            held.dedup();
        }
        subject.held = held;
    }
}

/// Returns the addresses to which a block refers: in its attributes, as its parent or project (also the stack's
/// own), or by `depends_on`.
fn needed_addresses<'a>(
    resource: &'a Resource,
    inputs: &PlanInputs<'a>,
) -> impl Iterator<Item = &'a Address> {
    let project = resource.kind.scope == KindScope::Project;
    let shared = inputs.stack.project.as_ref().filter(|_| project && resource.project.is_none());
    let expressions = resource.attributes.values().map(|setting| &setting.expression);
    expressions
        .chain(&resource.project)
        .flat_map(|expression| expression.addresses())
        .chain(&resource.parent)
        .chain(&resource.depends_on)
        .chain(shared)
}

fn subject_numbers<'a>(
    addresses: impl Iterator<Item = &'a Address>,
    index: &HashMap<&'a Address, usize>,
    except: usize,
) -> Vec<usize> {
    let mut found: Vec<_> =
        addresses.filter_map(|a| index.get(a).copied()).filter(|n| *n != except).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the keys of the objects to which a live object refers by its attributes; its parent and
/// project are not included.
pub(in crate::plan) fn referenced_keys<'o>(
    kind: &'static Kind,
    object: &'o Object,
) -> impl Iterator<Item = ObjectKey> + 'o {
    kind.attributes.iter().flat_map(move |attribute| {
        let (of, value) = match (&attribute.ty, object.attributes.get(attribute.name)) {
            (Type::Reference(of) | Type::Set { of: Type::Reference(of), .. }, Some(value)) => (*of, value),
            (_, _) => ("", &Value::Null),
        };
        let items = match value {
            Value::List(items) => items.as_slice(),
            other => std::slice::from_ref(other),
        };
        items.iter().filter_map(Value::as_text).map(move |id| ObjectKey {
            kind: of.into(),
            parent: None,
            id: id.into(),
        })
    })
}

fn reverse_edges<'s, 'a>(
    subjects: &'s [ResourceState<'a>],
    of: impl Fn(&'s ResourceState<'a>) -> &'s Vec<usize>,
) -> Vec<Vec<usize>> {
    let mut back = vec![Vec::new(); subjects.len()];
    for (i, subject) in subjects.iter().enumerate() {
        for n in of(subject) {
            back[*n].push(i);
        }
    }
    back
}

/// Returns the addresses with an ambiguous intent, and those for which an apply would record one.
pub(in crate::plan) fn ambiguous_addresses<'a>(joined: &JoinedState<'a>) -> HashSet<&'a Address> {
    let open = joined.inputs.ledger.questions.values().map(|question| &question.intent.address);
    open.chain(joined.late.iter().map(|(intent, _)| &intent.address)).collect()
}

/// Returns whether the plan adopts an object that the ledger does not own.
pub(in crate::plan) fn is_adopted(subject: &ResourceState<'_>) -> bool {
    matches!(subject.adoption, Some(AdoptionReason::Requested | AdoptionReason::Recovered(_)))
}
