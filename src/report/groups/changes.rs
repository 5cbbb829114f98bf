//! The entries of a plan's changes: one for each change that is like no other, one for equal changes, one for a module whose
//! instances have equal changes, and one for a module whose resources all move without another change. An entry stands
//! where its first change does, so the dangerous ones stay first; dangerous changes share an entry only with their like.

use std::collections::BTreeSet;
use std::iter::Copied;
use std::slice::Iter;

use foldhash::{HashMap, HashMapExt, HashSet};
use rust_decimal::Decimal;

use super::change_items::{ShapeNumbers, change_item, effect_text, has_texts, shown_change_item};
use super::key_groups::{
    GroupItem, KEY, KeyGroup, KeyMask, KeyPosition, group_address, group_items, replace_key, replace_some,
    split_at,
};
use super::key_values::{replace_in_value, unchecked_address};
use super::module_moves::{self, ChangeLine};
use crate::model::address::Address;
use crate::model::schema::Effect;
use crate::model::values::value::Value;
use crate::plan::model::change::{Action, Change, ChangeCost, ModuleMove, Plan, PolicyStatus};
use crate::report::text::named_ids::value_with_addresses;
use crate::report::text::phrases;

static EMPTY_MASK: KeyMask = KeyMask::new();

/// An entry of a plan.
#[derive(Debug)]
pub(in crate::report) enum PlanEntry<'p> {
    /// A change that is like no other.
    Single(&'p Change),
    /// A module's move, and the resources that move with it; at least two.
    ModuleMove(&'p ModuleMove, Vec<&'p Change>),
    /// Equal changes.
    Group(Box<ChangeGroup<'p>>),
    /// The instances of a module, with equal changes.
    Module(Box<ModuleGroup<'p>>),
}

/// Changes that are equal once the key of their address is replaced by `{key}`.
#[derive(Debug)]
pub(in crate::report) struct ChangeGroup<'p> {
    /// What the members have in common, with `{key}` where they differ; costs are summed.
    pub(in crate::report) shown: Change,
    /// The common address: `vm.web`, or `shop.{key}.vm.web`.
    pub(in crate::report) address: String,
    /// The changes, in the plan's order; at least two.
    pub(in crate::report) members: Vec<&'p Change>,
}

/// Instances of a module in which the same changes are made.
#[derive(Debug)]
pub(in crate::report) struct ModuleGroup<'p> {
    /// The module's address, such as `shop`.
    pub(in crate::report) address: String,
    /// The addresses of the instances, at least two.
    pub(in crate::report) instances: Vec<String>,
    /// The changes of all instances, in the order of the instances.
    pub(in crate::report) members: Vec<&'p Change>,
    /// The entries of one instance, with `{key}` in place of its key, each with its address within the instance.
    pub(in crate::report) entries: Vec<(String, Change)>,
    /// What is done to each resource.
    pub(in crate::report) action: Action,
    /// Cost of all instances.
    pub(in crate::report) cost: ChangeCost,
}

impl ChangeGroup<'_> {
    /// Returns the address and the number of its members: `vm.web (40 instances)`.
    pub(in crate::report) fn title(&self) -> String {
        let noun = if self.address.contains(KEY) { "resource" } else { "instance" };
        format!("{} ({})", self.address, phrases::count_noun(self.members.len(), noun))
    }

    /// Returns the first `most` members and a count of the rest.
    pub(in crate::report) fn named_members(&self, most: usize) -> String {
        phrases::join_words(self.members.iter().map(|change| change.address.as_str()), most)
    }
}

impl ModuleGroup<'_> {
    /// Returns the module and the number of its instances: `shop (3 instances)`.
    pub(in crate::report) fn title(&self) -> String {
        format!("{} ({})", self.address, phrases::count_noun(self.instances.len(), "instance"))
    }

    /// Returns the first `most` instances and a count of the rest.
    pub(in crate::report) fn named_instances(&self, most: usize) -> String {
        phrases::join_words(self.instances.iter(), most)
    }

    /// Returns the change in one word and how many resources of each instance have it.
    pub(in crate::report) fn describe_changes(&self) -> String {
        let each = phrases::count_noun(self.members.len() / self.instances.len().max(1), "resource");
        format!("{} {each} each", phrases::action_keyword(self.action))
    }
}

impl<'p> PlanEntry<'p> {
    /// Returns the number of resources that the entry describes.
    pub(in crate::report) fn resource_count(&self) -> usize {
        match self {
            Self::Single(_) => 1,
            Self::ModuleMove(_, members) => members.len(),
            Self::Group(group) => group.members.len(),
            Self::Module(module) => module.members.len(),
        }
    }

    /// Returns a change that represents the entry: all of its changes have this action, and are dangerous if this one is.
    /// In a module, the effects are those of its entries.
    pub(in crate::report) fn representative(&self) -> &Change {
        match self {
            Self::Single(change) => change,
            Self::ModuleMove(_, members) => members[0],
            Self::Group(group) => &group.shown,
            Self::Module(module) => module.members[0],
        }
    }

    /// Returns the changes of the entry.
    pub(in crate::report) fn members(&self) -> Vec<&'p Change> {
        match self {
            Self::Single(change) => vec![change],
            Self::ModuleMove(_, members) => members.clone(),
            Self::Group(group) => group.members.clone(),
            Self::Module(module) => module.members.clone(),
        }
    }

    /// Returns the address of the entry, with the number of its members if there are several.
    pub(in crate::report) fn title(&self) -> String {
        match self {
            Self::Single(change) => change.address.to_string(),
            Self::ModuleMove(module, _) => module.to.to_string(),
            Self::Group(group) => group.title(),
            Self::Module(module) => module.title(),
        }
    }
}

/// Returns an entry for each change, without groups.
pub(in crate::report) fn single_entries(plan: &Plan) -> Vec<PlanEntry<'_>> {
    plan.changes.iter().map(PlanEntry::Single).collect()
}

/// Returns the entries of a plan in its order. `outcome` is what else must be equal in a group, such as the result of an
/// apply.
pub(in crate::report) fn plan_entries<'p>(
    plan: &'p Plan,
    outcome: &dyn Fn(&Change) -> String,
) -> Vec<PlanEntry<'p>> {
    let mut entries: Vec<(usize, PlanEntry<'p>)> = Vec::new();
    let mut changes: Vec<(usize, &'p Change)> = Vec::with_capacity(plan.changes.len());
    for (number, line) in module_moves::plan_lines(&plan.changes) {
        match line {
            ChangeLine::Single(change) => changes.push((number, change)),
            ChangeLine::Module(module, members) => {
                entries.push((number, PlanEntry::ModuleMove(module, members)));
            }
        }
    }
    let verdicts = verdicts_by_address(plan);
    let context = |change: &Change| {
        let mut verdicts = verdicts.get(&change.address).cloned().unwrap_or_default();
        verdicts.sort_unstable();
        verdicts.dedup();
        (verdicts, outcome(change))
    };
    let mut numbers = ShapeNumbers::new();
    let items: Vec<GroupItem> =
        changes.iter().map(|(_, change)| change_item(change, context(change), &mut numbers)).collect();
    let mut grouped = vec![false; changes.len()];
    for module in module_groups(&changes, &items, &mut grouped) {
        let first = module.0;
        entries.push((changes[first].0, PlanEntry::Module(Box::new(module.1))));
    }
    let open: Vec<usize> = (0..changes.len()).filter(|number| !grouped[*number]).collect();
    let mut is_grouped = grouped.iter();
    let mut open_items = items;
    open_items.retain(|_| !is_grouped.next().is_some_and(|grouped| *grouped));
    for group in group_items(&open_items, KeyPosition::Any) {
        let first = changes[open[group.members[0]]];
        let entry = match group.members.as_slice() {
            [_] => PlanEntry::Single(first.1),
            members => {
                let members: Vec<&'p Change> =
                    members.iter().map(|member| changes[open[*member]].1).collect();
                PlanEntry::Group(Box::new(change_group(&group, members)))
            }
        };
        entries.push((first.0, entry));
    }
    entries.sort_by_key(|(number, _)| *number);
    entries.into_iter().map(|(_, entry)| entry).collect()
}

/// Returns the names of the policies and the codes of the blockers that concern each address.
fn verdicts_by_address(plan: &Plan) -> HashMap<&Address, Vec<(&str, Option<PolicyStatus>)>> {
    let mut found: HashMap<&Address, Vec<(&str, Option<PolicyStatus>)>> = HashMap::new();
    for block in &plan.blocks {
        if let Some(address) = &block.address {
            found.entry(address).or_default().push((&block.code, None));
        }
    }
    for result in &plan.policy {
        if let Some(address) = &result.address {
            found.entry(address).or_default().push((&result.name, Some(result.verdict)));
        }
    }
    found
}

/// Returns a group with what its members have in common.
fn change_group<'p>(group: &KeyGroup, members: Vec<&'p Change>) -> ChangeGroup<'p> {
    let first = members[0];
    let address = first.address.as_str();
    let (_, key, _) = split_at(address, group.position);
    let mut shown = replace_in_change(first, key, &group.replaced);
    shown.cost = sum_costs(members.iter().map(|change| &change.cost));
    // The price in an effect is that of one member, and beside it stands the sum.
    let priced = shown.effects.iter_mut().filter(|effect| effect.text.ends_with(" a month"));
    priced.for_each(|effect| effect.text.push_str(" each"));
    shown.seconds = members.iter().map(|change| change.seconds).max().unwrap_or(0);
    let affected: BTreeSet<&Address> = members.iter().flat_map(|change| &change.hits).collect();
    shown.hits = affected.into_iter().cloned().collect();
    shown.address = template(&first.address, group.position);
    shown.id = None;
    shown.rest.clear();
    ChangeGroup { shown, address: group_address(address, group.position), members }
}

fn template(address: &Address, position: usize) -> Address {
    let (before, _, after) = split_at(address.as_str(), position);
    unchecked_address(&format!("{before}{KEY}{after}"))
}

/// Returns the sum of some costs; a side on which no price is known has none.
fn sum_costs<'c>(costs: impl Iterator<Item = &'c ChangeCost>) -> ChangeCost {
    let add = |sum: Option<Decimal>, one: Option<Decimal>| match (sum, one) {
        (Some(sum), Some(one)) => Some(sum + one),
        (sum, one) => sum.or(one),
    };
    costs.fold(ChangeCost::default(), |sum, cost| ChangeCost {
        monthly_before: add(sum.monthly_before, cost.monthly_before),
        monthly_after: add(sum.monthly_after, cost.monthly_after),
        unpriced: sum.unpriced || cost.unpriced,
        due: Vec::new(),
        due_now: add(sum.due_now, cost.due_now),
    })
}

/// Returns a change with `{key}` in the texts in which the members of its group differ, by the order of `change_item`.
fn replace_in_change(change: &Change, key: &str, replaced: &[KeyMask]) -> Change {
    let mut masks = replaced.iter();
    let mut next = || masks.next().map(Vec::as_slice).unwrap_or_default().iter().copied();
    let mut shown = change.clone();
    let text =
        |text: &str, mut mask: Copied<Iter<'_, bool>>| replace_some(text, key, &mut mask).into_owned();
    if let Some(reason) = &mut shown.reason {
        *reason = text(reason, next());
    }
    // Its text has more words than the address.
    if let Some(was) = &mut shown.was
        && next().any(|is_replaced| is_replaced)
    {
        was.address = unchecked_address(&replace_key(was.address.as_str(), key));
    }
    for effect in &mut shown.effects {
        effect.text = text(&effect_text(change, effect), next());
    }
    for one in &mut shown.attributes {
        let [before, after, last_applied, set_by, _secrets] =
            has_texts(one).map(|is_text| if is_text { next() } else { [].iter().copied() });
        let names = &one.names;
        let value = |value: &Value, mut mask: Copied<Iter<'_, bool>>| {
            if mask.clone().any(|is_replaced| is_replaced) {
                replace_in_value(&value_with_addresses(value, names), key, &mut mask)
            } else {
                value.clone()
            }
        };
        let values = (
            value(&one.before, before),
            value(&one.after, after),
            one.last_applied.as_ref().map(|last| Box::new(value(last, last_applied))),
        );
        (one.before, one.after, one.last_applied) = values;
        one.set_by = one.set_by.as_ref().map(|one| Box::new(text(one, set_by).into()));
    }
    shown
}

/// Returns the modules whose instances have equal changes, each with the number of its first change, and marks those changes
/// as grouped. An instance with a single change is left to the groups of resources.
fn module_groups<'p>(
    changes: &[(usize, &'p Change)],
    items: &[GroupItem],
    grouped: &mut [bool],
) -> Vec<(usize, ModuleGroup<'p>)> {
    let kinds: HashSet<&str> = changes.iter().map(|(_, change)| change.kind.as_str()).collect();
    let depth = |change: &Change| {
        change.address.segments().position(|segment| kinds.contains(segment)).unwrap_or(0)
    };
    let depths: Vec<usize> = changes.iter().map(|(_, change)| depth(change)).collect();
    let mut found = Vec::new();
    for position in 1..depths.iter().copied().max().unwrap_or(0) {
        let mut numbers: HashMap<(&str, Action, bool), usize> = HashMap::new();
        let mut instances: Vec<(&str, Vec<usize>)> = Vec::new();
        for (number, (_, change)) in changes.iter().enumerate() {
            if grouped[number] || depths[number] <= position {
                continue;
            }
            let address = change.address.as_str();
            let (before, key, _) = split_at(address, position);
            let instance = &address[..before.len() + key.len()];
            let next = instances.len();
            let class = (instance, change.action, is_dangerous(change));
            let instance_number = *numbers.entry(class).or_insert(next);
            if instance_number == next {
                instances.push((instance, Vec::new()));
            }
            instances[instance_number].1.push(number);
        }
        instances.retain(|(_, members)| members.len() > 1);
        let module_items: Vec<GroupItem> =
            instances.iter().map(|(instance, members)| instance_item(instance, members, items)).collect();
        for group in group_items(&module_items, KeyPosition::Last) {
            if group.members.len() < 2 {
                continue;
            }
            let members: Vec<&(&str, Vec<usize>)> =
                group.members.iter().map(|one| &instances[*one]).collect();
            for number in members.iter().flat_map(|(_, members)| members) {
                grouped[*number] = true;
            }
            found.push((members[0].1[0], module_group(&group, &members, (changes, items))));
        }
    }
    found
}

/// Returns what must be equal in two instances of a module: their changes, and the addresses within the instance, in which the
/// key can be, too. The addresses are the first text.
fn instance_item(instance: &str, members: &[usize], items: &[GroupItem]) -> GroupItem {
    let members = || members.iter().map(|number| &items[*number]);
    let exact: String = members().flat_map(|item| [&item.exact, "\n"]).collect();
    let own = members().flat_map(|item| item.texts.iter().cloned());
    GroupItem {
        address: instance.into(),
        exact: exact.into(),
        texts: std::iter::once(addresses_within(instance, members()).into()).chain(own).collect(),
        is_instance: false,
    }
}

/// Returns the addresses within an instance, one a line.
fn addresses_within<'i>(instance: &str, items: impl Iterator<Item = &'i GroupItem>) -> String {
    items.map(|item| &item.address[instance.len() + 1..]).collect::<Vec<_>>().join("\n")
}

fn module_group<'p>(
    group: &KeyGroup,
    instances: &[&(&str, Vec<usize>)],
    (changes, items): (&[(usize, &'p Change)], &[GroupItem]),
) -> ModuleGroup<'p> {
    let (instance, own) = instances[0];
    let (before, key, _) = split_at(instance, group.position);
    let members: Vec<&'p Change> =
        instances.iter().flat_map(|(_, members)| members).map(|number| changes[*number].1).collect();
    // First the key of the module, then that of each resource within it.
    let (in_addresses, mut masks) = group.replaced.split_first().unwrap_or((&EMPTY_MASK, &[]));
    let addresses = addresses_within(instance, own.iter().map(|number| &items[*number]));
    let addresses = replace_some(&addresses, key, &mut in_addresses.iter().copied());
    let mut shown: Vec<Change> = Vec::with_capacity(own.len());
    for (place, number) in own.iter().enumerate() {
        let (these, rest) = masks.split_at(items[*number].texts.len().min(masks.len()));
        masks = rest;
        let mut change = replace_in_change(changes[*number].1, key, these);
        // The change of each instance affects resources of its own.
        let same = instances.iter().filter_map(|(_, members)| members.get(place));
        let affected: BTreeSet<&Address> = same.flat_map(|number| &changes[*number].1.hits).collect();
        change.hits = affected.into_iter().cloned().collect();
        shown.push(change);
    }
    let mut numbers = ShapeNumbers::new();
    let within: Vec<GroupItem> = shown
        .iter()
        .zip(addresses.lines())
        .map(|(change, address)| {
            let item = shown_change_item(change, Default::default(), &mut numbers);
            GroupItem { address: address.into(), is_instance: false, ..item }
        })
        .collect();
    let entries = group_items(&within, KeyPosition::Any).into_iter().map(|inner| {
        let of_group: Vec<&Change> = inner.members.iter().map(|member| &shown[*member]).collect();
        let address = within[inner.members[0]].address.as_str();
        if of_group.len() == 1 {
            return (address.to_owned(), of_group[0].clone());
        }
        // The position counts from the instance.
        let offset = instance.matches('.').count() + 1;
        let moved =
            KeyGroup { position: inner.position + offset, replaced: inner.replaced, members: Vec::new() };
        let count = phrases::count_noun(of_group.len(), "instance");
        let name = group_address(address, inner.position);
        (format!("{name} ({count})"), change_group(&moved, of_group).shown)
    });
    ModuleGroup {
        address: before.trim_end_matches('.').to_owned(),
        instances: instances.iter().map(|(instance, _)| (*instance).to_owned()).collect(),
        action: members[0].action,
        cost: sum_costs(members.iter().map(|change| &change.cost)),
        entries: entries.collect(),
        members,
    }
}

/// Returns the changes whose difference is charged or credited at once, if there are several: a report says it once.
pub(in crate::report) fn charged_at_once(plan: &Plan) -> Vec<&Change> {
    let is_charged = |change: &&Change| change.effects.iter().any(|effect| effect.code == Effect::Charge);
    let charged: Vec<&Change> = plan.changes.iter().filter(is_charged).collect();
    if charged.len() > 1 { charged } else { Vec::new() }
}

/// Returns whether a reviewer must look at a change: it deletes an object or disrupts its users.
pub(in crate::report) fn is_dangerous(change: &Change) -> bool {
    matches!(change.action, Action::Replace | Action::Delete)
        || change.effects.iter().any(|effect| affects_users(effect.code))
}

/// Returns whether users of the object notice an effect, or an object stays behind unmanaged.
pub(in crate::report) fn affects_users(effect: Effect) -> bool {
    effect.disrupts() || effect == Effect::LeftBehind
}
