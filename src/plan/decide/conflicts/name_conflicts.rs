//! Name conflicts and network overlaps with objects that this stack does not own. In: decisions and unowned
//! live objects; out: blockers, so that no create is sent that the service answers with 409 (Errors).

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashMapExt};

use crate::model::address::Name;
use crate::model::diagnostic::blocker_code::{EXISTS, RULE};
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::meaning::to_comparable;
use crate::model::schema::{Kind, KindScope, Rule, RuleCheck};
use crate::model::values::value::Value;
use crate::plan::blockers::Blockers;
use crate::plan::decide::byproducts;
use crate::plan::decide::replacement_order::parse_network;
use crate::plan::decision::{Decision, DecisionKind, DesiredAttribute};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::join::live_state::is_leaving;
use crate::plan::model::step::TargetProject;

/// From so many existing objects with names of declared ones on, a lost ledger is suspected: a single one
/// may be an accident.
const MIN_CONFLICTS: usize = 2;

/// The limit on objects that a message names.
const MAX_LISTED_OBJECTS: usize = 10;

/// The scope within which an object's values must be unique.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::plan) enum NameScope {
    /// The whole account, over all projects.
    Account,
    /// This project, or this parent.
    Container(Name),
}

/// A claimed unique value: kind, scope, and the values, each followed by a NUL so that no two lists look alike.
pub(in crate::plan) type UniqueNameKey<'a> = (&'a str, NameScope, String);

/// Blocks the creation of an object whose name an object outside this stack has. An object that the service is
/// deleting does not count.
pub(in crate::plan) fn block_name_conflicts(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    blocks: &mut Blockers<'_, '_>,
) {
    if !decisions.iter().any(|decision| decision.act == DecisionKind::Create) {
        return;
    }
    let mut there: HashMap<UniqueNameKey<'_>, &Object> = HashMap::new();
    for object in &joined.unowned {
        let Some(kind) = joined.inputs.registry.kind(&object.kind) else { continue };
        if !is_leaving(kind, object) {
            let known = object.attributes.get(kind.known_by);
            there.extend(name_key(kind, object_home(kind, object), known).map(|key| (key, *object)));
        }
    }
    if there.is_empty() {
        return;
    }
    let mut found = Vec::new();
    for (subject, decision) in
        joined.subjects.iter().zip(decisions).filter(|(_, v)| v.act == DecisionKind::Create)
    {
        let Some(want) = decision.find_attribute(subject.kind.known_by) else { continue };
        let key = name_key(subject.kind, planned_home(joined, subject, decision), Some(&want.value));
        found.extend(key.and_then(|key| there.get(&key)).map(|object| (subject, want, *object)));
    }
    // An empty ledger and several existing objects with declared names: the ledger was probably lost.
    let is_lost = joined.inputs.ledger.entries.is_empty()
        && joined.inputs.ledger.kept.is_empty()
        && found.len() + count_in_existing_projects(joined, decisions, &found, &there) >= MIN_CONFLICTS;
    for (subject, want, object) in found {
        let (text, help) = let_go(joined, subject, object)
            .unwrap_or_else(|| describe_existing(joined, (subject, want), object, is_lost));
        blocks.add_for_subject(EXISTS, subject, want.setting.map(|setting| setting.span), text, help);
    }
}

/// Describes an object that has the name of a new one, and what to do about it. `is_lost`: the ledger was probably lost.
fn describe_existing(
    joined: &JoinedState<'_>,
    (subject, want): (&ResourceState<'_>, &DesiredAttribute<'_>),
    object: &Object,
    is_lost: bool,
) -> (String, String) {
    let kind = subject.kind;
    let known = match kind.known_by {
        "name" => "named".to_owned(),
        other => format!("with the {other}"),
    };
    let article = if kind.name.starts_with(['a', 'e', 'i', 'o']) { "An" } else { "A" };
    let there = format!("{article} {} {known} `{}` exists already ({})", kind.name, want.value, object.id);
    if let Some(owner) = joined.inputs.options.foreign.get(&object.key()) {
        let help = "Choose another name. To adopt it, forget it in that stack first (`rm ADDRESS --keep`), and apply there.";
        return (format!("{there}, and it belongs to {owner}."), help.to_owned());
    }
    if kind.is_given(&object.attributes) {
        let text = format!("{there}: the service provides it in every account.");
        let help =
            "No stack manages it. Choose another name; or name it where it is used, without a block.";
        return (text, help.to_owned());
    }
    let adopt = format!("--adopt {}={}", subject.address, object.id);
    let help = if is_lost {
        format!(
            "The ledger is empty, and this is not the only such object: if the ledger was lost, `stead recover` finds all of them. Otherwise adopt it with {adopt}, or choose another name."
        )
    } else {
        format!("Adopt it with {adopt}, or choose another name.")
    };
    (format!("{there}, and is not in this stack's ledger."), help)
}

/// Describes an object that an apply forgot, and how to adopt it again; `None` if this address did not forget it.
fn let_go(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    object: &Object,
) -> Option<(String, String)> {
    let kept = joined.inputs.ledger.kept.get(subject.address).filter(|kept| kept.id == object.id)?;
    let when = kept.at.map(|at| at.strftime(" on %-d %b %Y").to_string()).unwrap_or_default();
    let address = subject.address;
    let text =
        format!("{address} is live already ({}): an apply forgot it{when} and kept the object.", kept.id);
    let help =
        format!("Adopt it again, with its children: apply --adopt {address}. Or choose another name.");
    Some((text, help))
}

/// Returns the key under which the user would confuse two objects of a kind: the attribute by which they are
/// known. `None` if the scope or the value is unknown.
fn name_key(
    kind: &'static Kind,
    home: Option<NameScope>,
    known: Option<&Value>,
) -> Option<UniqueNameKey<'static>> {
    let attribute = kind.attribute(kind.known_by)?;
    let known = known.map(|value| to_comparable(&attribute.ty, value));
    uniqueness_key(kind, home, std::iter::once(known.as_ref()))
}

/// Returns how many declared objects exist inside projects that exist, too.
fn count_in_existing_projects(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    found: &[(&ResourceState<'_>, &DesiredAttribute<'_>, &Object)],
    there: &HashMap<UniqueNameKey<'_>, &Object>,
) -> usize {
    let projects: HashMap<_, _> =
        found.iter().map(|(subject, _, object)| (subject.address, object)).collect();
    let is_there = |(subject, decision): &(&ResourceState<'_>, &Decision<'_>)| {
        let TargetProject::Resource(project) = &decision.project else { return false };
        let Some(project) = projects.get(project).filter(|_| subject.kind.scope == KindScope::Project)
        else {
            return false;
        };
        let known = decision.find_attribute(subject.kind.known_by).map(|want| &want.value);
        let key = name_key(subject.kind, Some(NameScope::Container(project.id.clone())), known);
        key.is_some_and(|key| there.contains_key(&key))
    };
    joined.subjects.iter().zip(decisions).filter(is_there).count()
}

/// Blocks changes that the service would refuse because of objects that this stack does not own.
pub(in crate::plan) fn block_rule_violations(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    blocks: &mut Blockers<'_, '_>,
) {
    for kind in joined.inputs.registry.kinds {
        for rule in kind.rules {
            match rule.check {
                RuleCheck::NoOverlap { attribute } => {
                    block_network_overlaps(joined, decisions, kind, rule, attribute, blocks);
                }
                RuleCheck::AtMost { count } => {
                    block_count_excess(joined, decisions, kind, rule, count, blocks);
                }
                RuleCheck::Unique { attributes } if attributes != ["name"] => {
                    block_repeated_values(joined, decisions, kind, rule, (attributes, false), blocks);
                }
                RuleCheck::UniqueOverall { attributes } => {
                    block_repeated_values(joined, decisions, kind, rule, (attributes, true), blocks);
                }
                RuleCheck::NotUsed { by } => block_used_objects(joined, decisions, kind, rule, by, blocks),
                RuleCheck::NotFilled => block_nonempty_projects(joined, decisions, kind, rule, blocks),
                _ => {}
            }
        }
    }
}

/// Blocks an object with the same unique values as another: in the same scope, or `overall`.
fn block_repeated_values(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    kind: &'static Kind,
    rule: &Rule,
    (attributes, overall): (&[&str], bool),
    blocks: &mut Blockers<'_, '_>,
) {
    let at = |home: Option<NameScope>| if overall { Some(NameScope::Account) } else { home };
    if changed_subjects(joined, decisions, kind, attributes).next().is_none() {
        return;
    }
    let mut there: HashMap<UniqueNameKey<'_>, &Object> = HashMap::new();
    for object in joined.unowned.iter().filter(|object| object.kind == kind.name) {
        let values = attributes.iter().map(|name| object.attributes.get(*name));
        there.extend(uniqueness_key(kind, at(object_home(kind, object)), values).map(|key| (key, *object)));
    }
    for (subject, decision) in
        changed_subjects(joined, decisions, kind, attributes).filter(|_| !there.is_empty())
    {
        let values =
            attributes.iter().map(|name| decision.find_attribute(name).map(DesiredAttribute::stored_value));
        let key = uniqueness_key(kind, at(planned_home(joined, subject, decision)), values);
        if let Some(object) = key.and_then(|key| there.get(&key)) {
            let (address, same) = (subject.address, attributes.join(" and "));
            let text = format!(
                "{} ({address}: {} has the same {same})",
                rule.says,
                describe_object(joined, object)
            );
            let help = format!(
                "Rule {}: {}. Delete that object first, or write another {same}.",
                rule.code, rule.place
            );
            let setting = attributes.first().and_then(|name| decision.find_attribute(name)?.setting);
            blocks.add_for_subject(RULE, subject, setting.map(|setting| setting.span), text, help);
        }
    }
}

/// Describes an object by its id; a child also by its parent and the parent's project.
fn describe_object(joined: &JoinedState<'_>, object: &Object) -> String {
    let snapshot = joined.inputs.snapshot;
    let parent =
        joined.inputs.registry.kind(&object.kind).and_then(Kind::child_of).zip(object.parent.clone());
    let parent = parent.and_then(|((of, _), id)| {
        snapshot.objects.get(&ObjectKey { kind: Name::new_static(of), parent: None, id })
    });
    let Some(parent) = parent else { return object.id.to_string() };
    let name = |object: &Object| {
        object.attributes.get("name").and_then(Value::as_text).unwrap_or(&object.id).to_owned()
    };
    let project = parent.project.as_ref().map(|id| snapshot.project_name(id).unwrap_or(id));
    let place = project.map(|project| format!(" in the project {project}")).unwrap_or_default();
    format!("{} of the {} {}{place}", object.id, parent.kind, name(parent))
}

/// Returns the objects of a kind that this plan deletes, or that a replacement left to be deleted, by id.
fn objects_to_remove<'s, 'a>(
    joined: &'s JoinedState<'a>,
    decisions: &'s [Decision<'a>],
    kind: &'static Kind,
) -> HashMap<&'a str, &'s ResourceState<'a>> {
    let mut going = HashMap::new();
    for (subject, decision) in joined.subjects.iter().zip(decisions) {
        if subject.kind.name != kind.name {
            continue;
        }
        let current = subject.object().filter(|_| decision.removes()).map(|object| object.id.as_str());
        let deposed = subject.entry.into_iter().flat_map(|entry| &entry.deposed);
        let ids = current.into_iter().chain(deposed.map(|owned| owned.id.as_str()));
        going.extend(ids.map(|id| (id, subject)));
    }
    going
}

/// Blocks the deletion of objects that objects outside this stack refer to.
fn block_used_objects(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    kind: &'static Kind,
    rule: &Rule,
    by: &[(&str, &str)],
    blocks: &mut Blockers<'_, '_>,
) {
    let going = objects_to_remove(joined, decisions, kind);
    if going.is_empty() {
        return;
    }
    for object in joined.owned_by_no_unit() {
        let names = by.iter().filter(|(kind, _)| object.kind == *kind);
        let ids = names.filter_map(|(_, attribute)| object.attributes.get(*attribute)?.as_text());
        let leaves = joined.inputs.registry.kind(&object.kind).is_some_and(|kind| is_leaving(kind, object));
        for subject in ids.filter(|_| !leaves).filter_map(|id| going.get(id)) {
            let owner = joined.inputs.options.foreign.get(&object.key());
            let owner = owner.map(|owner| format!(", {owner},")).unwrap_or_default();
            let address = subject.address;
            let text =
                format!("{} ({address}: the {} {}{owner} uses it)", rule.says, object.kind, object.id);
            let help = format!(
                "Rule {}: {}. Delete or replace that {} first.",
                rule.code, rule.place, object.kind
            );
            blocks.add_for_subject(RULE, subject, None, text, help);
        }
    }
}

/// Blocks the deletion of a project that contains objects outside this stack.
fn block_nonempty_projects(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    kind: &'static Kind,
    rule: &Rule,
    blocks: &mut Blockers<'_, '_>,
) {
    let going = objects_to_remove(joined, decisions, kind);
    if going.is_empty() {
        return;
    }
    let mut inside: BTreeMap<&str, Vec<&Object>> = BTreeMap::new();
    for object in joined.owned_by_no_unit().filter(|object| object.kind != kind.name) {
        if let Some(id) = object.project.as_deref().filter(|id| going.contains_key(id)) {
            inside.entry(id).or_default().push(object);
        }
    }
    let ours = if inside.is_empty() { BTreeSet::new() } else { byproducts::byproduct_keys(joined) };
    for (id, objects) in inside {
        let Some(subject) = going.get(id) else { continue };
        let one = |object: &&Object| {
            format!("the {} {}", object.kind, byproducts::describe_priced_object(&joined.inputs, object))
        };
        let mut named: Vec<String> = objects.iter().take(MAX_LISTED_OBJECTS).map(one).collect();
        let more = objects.len().saturating_sub(MAX_LISTED_OBJECTS);
        named.extend((more > 0).then(|| format!("{more} more")));
        let verb = if objects.len() == 1 { "is" } else { "are" };
        let text = format!("{} ({}: {} {verb} in it)", rule.says, subject.address, named.join("; "));
        let stranger = objects.iter().find(|object| !ours.contains(&object.key()));
        let mut help = format!("Rule {}: {}.", rule.code, rule.place);
        if joined.inputs.options.destroy && objects.iter().any(|object| ours.contains(&object.key())) {
            help += " `destroy --with-leftovers` deletes objects that originate from this stack's objects.";
        }
        if let Some(stranger) = stranger {
            let (kind, id) = (&stranger.kind, &stranger.id);
            let way = format!("if it is not needed: `stead do delete {kind} {id}`.");
            help = format!("{help} Move the objects that belong to others; {way}");
        }
        blocks.add_for_subject(RULE, subject, None, text, help);
    }
}

fn block_network_overlaps(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    kind: &'static Kind,
    rule: &Rule,
    attribute: &str,
    blocks: &mut Blockers<'_, '_>,
) {
    if changed_subjects(joined, decisions, kind, &[attribute]).next().is_none() {
        return;
    }
    // Two networks nest or are disjoint. With nested ones removed and the rest sorted by start, a new network can
    // overlap only its neighbors.
    let foreign = joined.unowned.iter().filter(|object| object.kind == kind.name);
    let mut there: Vec<(ipnet::Ipv4Net, &Object)> = foreign
        .filter_map(|object| Some((parse_network(object.attributes.get(attribute)?)?, *object)))
        .collect();
    there.sort_by_key(|(net, _)| (net.network(), net.prefix_len()));
    there.dedup_by(|inner, outer| outer.0.contains(&inner.0));
    for (subject, decision) in
        changed_subjects(joined, decisions, kind, &[attribute]).filter(|_| !there.is_empty())
    {
        let Some(net) = decision.find_attribute(attribute).and_then(|want| parse_network(&want.value))
        else {
            continue;
        };
        let next = there.partition_point(|(other, _)| other.network() <= net.network());
        let neighbours = there[next.saturating_sub(1)..].iter().take(2);
        let other = neighbours.into_iter().find(|(other, _)| other.contains(&net) || net.contains(other));
        if let Some((other, object)) = other {
            add_rule_blocker(subject, rule, &format!("{net} overlaps {other} of {}", object.id), blocks);
        }
    }
}

fn block_count_excess(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
    kind: &'static Kind,
    rule: &Rule,
    count: usize,
    blocks: &mut Blockers<'_, '_>,
) {
    let mut under: HashMap<Name, usize> = HashMap::new();
    let all = joined.inputs.snapshot.of_kind(kind.name);
    all.filter_map(|object| object.parent.clone())
        .for_each(|parent| *under.entry(parent).or_default() += 1);
    for (subject, decision) in
        joined.subjects.iter().zip(decisions).filter(|(s, _)| s.kind.name == kind.name)
    {
        let parent = subject.object().and_then(|object| object.parent.as_ref());
        if let Some(count) =
            parent.filter(|_| decision.act == DecisionKind::Delete).and_then(|p| under.get_mut(p))
        {
            *count -= 1;
        }
    }
    for (subject, decision) in
        changed_subjects(joined, decisions, kind, &[]).filter(|(_, v)| v.act == DecisionKind::Create)
    {
        let Some(NameScope::Container(parent)) = planned_home(joined, subject, decision) else { continue };
        let present = under.entry(parent).or_default();
        *present += 1;
        if *present > count {
            add_rule_blocker(subject, rule, &format!("there would be {present}"), blocks);
        }
    }
}

/// Returns the resources of a kind that get a new object, or a new value in one of these attributes.
fn changed_subjects<'s, 'a>(
    joined: &'s JoinedState<'a>,
    decisions: &'s [Decision<'a>],
    kind: &'static Kind,
    attributes: &'s [&str],
) -> impl Iterator<Item = (&'s ResourceState<'a>, &'s Decision<'a>)> {
    joined.subjects.iter().zip(decisions).filter(move |(subject, decision)| {
        subject.kind.name == kind.name && (decision.is_new() || decision.changes(attributes))
    })
}

fn add_rule_blocker(subject: &ResourceState<'_>, rule: &Rule, what: &str, blocks: &mut Blockers<'_, '_>) {
    let text = format!("{} ({}: {what})", rule.says, subject.address);
    blocks.add_for_subject(RULE, subject, None, text, format!("Rule {}: {}.", rule.code, rule.place));
}

/// Returns the attribute sets whose values must be unique among the objects of a kind in one scope: those of
/// its rules, and the name where requests address objects by name.
pub(in crate::plan) fn unique_attributes(
    kind: &'static Kind,
) -> impl Iterator<Item = &'static [&'static str]> {
    let by_id = (kind.api.id == "name").then_some(&["name"] as &[&str]);
    kind.rules
        .iter()
        .filter_map(|rule| match rule.check {
            RuleCheck::Unique { attributes } => Some(attributes),
            _ => None,
        })
        .chain(by_id)
}

/// Returns the scope of a live object; `None` if the service does not show its project or parent.
pub(in crate::plan) fn object_home(kind: &Kind, object: &Object) -> Option<NameScope> {
    match kind.scope {
        KindScope::Account => Some(NameScope::Account),
        KindScope::Project => object.project.clone().map(NameScope::Container),
        KindScope::Child { .. } => object.parent.clone().map(NameScope::Container),
    }
}

/// Returns the scope of a new object; `None` where the project or parent does not exist yet, so that nothing
/// can conflict in it.
pub(in crate::plan) fn planned_home(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
) -> Option<NameScope> {
    let at = |address| {
        let other = &joined.subjects[*joined.index.get(address)?];
        other.object().map(|object| NameScope::Container(object.id.clone()))
    };
    match (subject.kind.scope, &decision.project) {
        (KindScope::Account, _) => Some(NameScope::Account),
        (KindScope::Child { .. }, _) => at(subject.parent()?),
        (KindScope::Project, TargetProject::Id(project)) => Some(NameScope::Container(project.clone())),
        (KindScope::Project, TargetProject::Resource(address)) => at(address),
        (KindScope::Project, TargetProject::None) => None,
    }
}

/// Returns the unique values that an object claims; `None` if the scope or one of the values is unknown or not set.
pub(in crate::plan) fn uniqueness_key<'v>(
    kind: &'static Kind,
    home: Option<NameScope>,
    values: impl Iterator<Item = Option<&'v Value>>,
) -> Option<UniqueNameKey<'static>> {
    let home = home?;
    let mut all = String::new();
    for value in values {
        let value = value.filter(|value| !value.is_unknown() && **value != Value::Null)?;
        all.push_str(&value.to_string());
        all.push('\0');
    }
    Some((kind.name, home, all))
}
