//! Steps and their order: a creation comes after its dependencies, and a deletion after all users of the object
//! have switched. In: decisions and deposed objects; out: numbered steps, or a shortest dependency cycle among
//! them. The order is deterministic, as steps are added by address.

use super::calls;
use super::durations::step_durations;
use super::ledger_metadata::{as_before, attributes_left_alone, build_remember, remembered_attributes};
use super::nodes::{DeposedNode, ResourceNodes};
use super::parents::ParentLookup;
use crate::ledger::state::entry::OwnedObject;
use crate::model::address::name_map::NameMap;
use crate::model::expression::Expression;
use crate::model::graph::{Graph, NodeId};
use crate::model::live::snapshot::Object;
use crate::model::schema::{Attribute, Rule, RuleCheck, UpdateStrategy};
use crate::model::values::value::Value;
use crate::plan::decide::checks::catalog_rules;
use crate::plan::decide::deposed::DeposedObjects;
use crate::plan::decide::final_snapshot;
use crate::plan::decide::name_handover::handover_pairs;
use crate::plan::decision::{Decision, DecisionKind, DesiredAttribute};
use crate::plan::diff::current_value;
use crate::plan::join::joined_state::{
    AdoptionReason, JoinedState, ResourceState, is_adopted, referenced_keys,
};
use crate::plan::join::live_state::{LiveState, is_leaving};
use crate::plan::model::step::{LedgerMetadata, Operation, Step};

/// The ordered steps, and the step numbers of each resource.
pub(in crate::plan) struct StepOrder {
    /// The steps; each comes after those that it depends on.
    pub steps: Vec<Step>,
    /// The step numbers of each resource, by its index in `JoinedState::subjects`, in the order of execution.
    pub of: Vec<Vec<usize>>,
    /// The steps of a dependency cycle, each waiting for the next and the last for the first; `steps` is empty then.
    pub cycle: Vec<CycleStep>,
    /// Whether deletions were left out (`hold_deletions`).
    pub holds_deletions: bool,
}

/// A step of a dependency cycle.
pub(in crate::plan) struct CycleStep {
    /// Index of the step's resource in `JoinedState::subjects`.
    pub n: usize,
    /// Its operation as a gerund: `creating`.
    pub doing: &'static str,
}

/// Returns all steps in order.
pub(in crate::plan) fn order_steps<'a>(
    joined: &JoinedState<'a>,
    decisions: &[Decision<'a>],
    leftovers: &DeposedObjects<'a>,
) -> StepOrder {
    let mut work = StepGraphBuilder {
        joined,
        decisions,
        graph: Graph::with_capacity(joined.subjects.len()),
        drafts: Vec::with_capacity(joined.subjects.len()),
        nodes: Vec::new(),
    };
    work.nodes.resize(joined.subjects.len(), ResourceNodes::default());
    for n in 0..joined.subjects.len() {
        work.add_steps(n);
    }
    // Before the dependencies: the deletion step of a parent counts as that of the children without one.
    for n in 0..joined.subjects.len() {
        work.nodes[n].delete = work.parents().deletion_of(&work.nodes, n);
    }
    work.make_room(leftovers);
    for n in 0..joined.subjects.len() {
        work.make_after_needs(n);
        work.replace_in_order(n);
        work.delete_after_holders(n);
        work.follow_all(work.parents().deletions_after_update(&work.nodes, n));
    }
    work.follow_all(work.parents().growth_before_shrinking(&work.nodes));
    work.wait_for_the_end();
    for (old, new) in handover_pairs(joined, decisions) {
        let (old, new) = (&work.nodes[old], &work.nodes[new]);
        work.add_dependency(old.delete.or(old.update), new.create.or(new.update));
    }
    work.number_steps()
}

struct StepGraphBuilder<'s, 'a> {
    joined: &'s JoinedState<'a>,
    decisions: &'s [Decision<'a>],
    graph: Graph<usize>,
    drafts: Vec<Option<Step>>,
    nodes: Vec<ResourceNodes<'a>>,
}

impl<'a> StepGraphBuilder<'_, 'a> {
    fn add_steps(&mut self, n: usize) {
        let (subject, decision) = (&self.joined.subjects[n], &self.decisions[n]);
        if decision.act != DecisionKind::Frozen {
            for owned in subject.entry.into_iter().flat_map(|entry| &entry.deposed) {
                let absent = self.joined.inputs.snapshot.absent.contains(&owned.key(subject.kind.name));
                if !absent && self.parents().goes_with(n, owned).is_none() {
                    let release = self.release_deposed(n, owned);
                    let node = self.add(n, delete_operation(owned, true));
                    self.add_dependency(release, Some(node));
                    let copy = self.add_copy(n, owned);
                    self.add_dependency(copy, Some(node));
                    self.nodes[n].deposed.push(DeposedNode { id: &owned.id, node, early: false });
                }
            }
        }
        match decision.act {
            // No steps: a guard blocks a plan that would replace an object in the apply that adopts it.
            DecisionKind::Replace { .. } if is_adopted(subject) => {}
            DecisionKind::Create => {
                let create = self.create_operation(n, false);
                self.nodes[n].create = Some(self.add(n, create));
            }
            // The parent's deletion step deletes this object, too.
            DecisionKind::Replace { create_first } if self.parents().goes_along(n) => {
                let create = self.create_operation(n, create_first);
                self.nodes[n].create = Some(self.add(n, create));
            }
            DecisionKind::Replace { create_first } => {
                self.add_release(n);
                let create = self.create_operation(n, create_first);
                self.nodes[n].create = Some(self.add(n, create));
                self.nodes[n].delete = subject.owned_object().map(|owned| {
                    self.add(n, delete_operation(&confirm_owned(subject, owned), create_first))
                });
                self.copy_first(n);
            }
            DecisionKind::Update => self.add_update(n),
            DecisionKind::Delete if self.parents().goes_along(n) => {}
            DecisionKind::Delete => {
                self.add_release(n);
                self.nodes[n].delete = subject
                    .owned_object()
                    .map(|owned| self.add(n, delete_operation(&confirm_owned(subject, owned), false)));
                self.copy_first(n);
            }
            DecisionKind::Keep | DecisionKind::Frozen | DecisionKind::Forget => {}
        }
    }

    /// Adds the final snapshot of an object before all steps that prepare its deletion.
    fn copy_first(&mut self, n: usize) {
        let Some(copy) = self.joined.subjects[n].owned_object().and_then(|owned| self.add_copy(n, owned))
        else {
            return;
        };
        let own = self.nodes[n].clone();
        self.add_dependency(Some(copy), own.release);
        self.add_dependency(Some(copy), own.delete);
    }

    /// Adds the step that makes the final snapshot of an object; `None` if none is declared or it exists already.
    fn add_copy(&mut self, n: usize, owned: &OwnedObject) -> Option<NodeId> {
        let step = final_snapshot::copy_step(self.joined, &self.joined.subjects[n], owned)?;
        self.drafts.push(Some(step));
        Some(self.graph.add(n))
    }

    /// Orders creations after the deletion of deposed objects that have the same unique values.
    fn make_room(&mut self, leftovers: &DeposedObjects<'a>) {
        let new = (0..self.decisions.len()).filter(|n| self.decisions[*n].is_new());
        for n in new {
            for leftover in leftovers.in_the_way(self.joined, n, &self.decisions[n]) {
                let used = leftovers.is_used(leftover);
                let deposed = self.nodes[leftover.n].deposed.iter_mut().find(|d| d.id == leftover.id);
                // A deposed object in use is deleted first only for its own address, whose new
                // object its users then use.
                let Some(deposed) = deposed.filter(|_| !used || leftover.n == n) else { continue };
                deposed.early = !used;
                let node = deposed.node;
                self.add_dependency(Some(node), self.nodes[n].create);
            }
        }
    }

    /// Orders a change that a state forbids after the change that ends the state.
    fn wait_for_the_end(&mut self) {
        let waits = |rule: &&Rule| matches!(rule.check, RuleCheck::NotWhile { .. });
        for kind in self.joined.inputs.registry.kinds {
            for rule in kind.rules.iter().filter(waits) {
                let ends: Vec<usize> =
                    catalog_rules::subjects_ending_state(self.joined, self.decisions, rule).collect();
                let waiting = (0..self.joined.subjects.len())
                    .filter(|n| !ends.is_empty() && self.joined.subjects[*n].kind.name == kind.name);
                for n in waiting.filter(|n| catalog_rules::rolls_out(&self.decisions[*n])) {
                    for end in &ends {
                        let end = self.nodes[*end].update.or(self.nodes[*end].delete);
                        self.add_dependency(end, self.nodes[n].create);
                        self.add_dependency(end, self.nodes[n].update);
                    }
                }
            }
        }
    }

    /// Adds a step that undoes links, and returns their names: in an update those whose target is deleted before it is
    /// recreated, else those that prevent the deletion.
    fn add_release(&mut self, n: usize) -> Vec<&'static str> {
        let subject = &self.joined.subjects[n];
        let links: Vec<&'static Attribute> = match self.decisions[n].act {
            DecisionKind::Update => self.links_to_release(n),
            _ => standing_links(subject),
        };
        let names: Vec<&'static str> = links.iter().map(|attribute| attribute.name).collect();
        let undo = |link: &&'static Attribute| {
            calls::release_call(link, current_value::present_value(subject, link))
        };
        let undone: Vec<_> = links.iter().filter_map(undo).collect();
        if !undone.is_empty() {
            let mut desired = remembered_attributes(subject);
            desired.extend(names.iter().map(|name| ((*name).into(), Expression::Value(Value::Null))));
            let object = subject.object().map(Object::key);
            // The step only undoes links: other differences are not compared, and must not stop the deletion.
            let others = desired.keys().filter(|name| !names.contains(&name.as_str())).cloned().collect();
            let remember = LedgerMetadata { unverified: others, ..as_before(subject) };
            let release = Operation::Update { object, calls: undone, desired, remember };
            self.nodes[n].release = Some(self.add(n, release));
        }
        names
    }

    /// Adds a step that undoes the links of a deposed object which prevent its deletion. The entry does not describe
    /// that object, so only its live values count.
    fn release_deposed(&mut self, n: usize, owned: &OwnedObject) -> Option<NodeId> {
        let subject = &self.joined.subjects[n];
        let key = owned.key(subject.kind.name);
        let object = self.joined.inputs.snapshot.objects.get(&key);
        let object = object.filter(|object| !is_leaving(subject.kind, object))?;
        let links = subject.kind.attributes.iter().filter(|attribute| attribute.undone_before_delete);
        let standing = links.map(|link| (link, current_value::live_value(object, link)));
        let standing = standing.filter(|(_, value)| *value != Value::Null);
        let undone: Vec<_> =
            standing.filter_map(|(link, value)| calls::release_call(link, value)).collect();
        if undone.is_empty() {
            return None;
        }
        let (desired, remember) = (NameMap::new(), as_before(subject));
        Some(self.add(n, Operation::Update { object: Some(key), calls: undone, desired, remember }))
    }

    /// Adds the update of a resource: one step, or two if a link must be undone before its target is deleted.
    fn add_update(&mut self, n: usize) {
        let names = self.add_release(n);
        let subject = &self.joined.subjects[n];
        let calls = calls::plan_calls(self.joined, subject, &self.decisions[n], &names);
        let object = subject.object().map(Object::key);
        let (desired, mut remember) = (self.desired_expressions(n), self.subject_remember(n));
        remember.unverified.extend(attributes_left_alone(self.joined, subject, &self.decisions[n]));
        self.nodes[n].update = Some(self.add(n, Operation::Update { object, calls, desired, remember }));
    }

    /// Returns the changing links whose present target is deleted before it is recreated.
    fn links_to_release(&self, n: usize) -> Vec<&'static Attribute> {
        let held = &self.joined.subjects[n].held;
        let released =
            |link: &&'static Attribute| held.iter().any(|held| self.releases_link(n, link, *held));
        self.changed_links(n).filter(released).collect()
    }

    fn changed_links(&self, n: usize) -> impl Iterator<Item = &'static Attribute> {
        let changed = self.decisions[n].differences.iter().map(|difference| difference.attribute);
        changed.filter(|attribute| matches!(attribute.change, UpdateStrategy::Link { .. }))
    }

    /// Returns whether the target of a changing link is deleted before the link can be set again: it is deleted before
    /// it is recreated, or its deletion precedes a creation that the new target waits for.
    fn releases_link(&self, n: usize, link: &Attribute, held: usize) -> bool {
        let (subject, going) = (&self.joined.subjects[n], &self.decisions[held]);
        let early = going.deletes_first() || going.removes() && self.decisions[n].downstream;
        let other = &self.joined.subjects[held];
        let deposed = other.entry.into_iter().flat_map(|entry| &entry.deposed);
        let mut ids = other.object().map(|object| &object.id).into_iter().chain(deposed.map(|o| &o.id));
        early && ids.any(|id| Some(id.as_str()) == current_value::present_value(subject, link).as_text())
    }

    /// Returns whether the live object of one resource refers to an object of another.
    fn refers_to(&self, n: usize, held: usize) -> bool {
        let (subject, other) = (&self.joined.subjects[n], &self.joined.subjects[held]);
        let deposed = other.entry.into_iter().flat_map(|entry| &entry.deposed);
        let ids: Vec<_> = other.owned_object().into_iter().chain(deposed).map(|owned| &owned.id).collect();
        let mut keys =
            subject.object().into_iter().flat_map(|object| referenced_keys(subject.kind, object));
        keys.any(|key| key.kind == other.kind.name && ids.contains(&&key.id))
    }

    fn create_operation(&self, n: usize, deposes: bool) -> Operation {
        Operation::Create {
            desired: self.desired_expressions(n),
            project: self.decisions[n].project.clone(),
            parent: self.joined.subjects[n].resource.and_then(|resource| resource.parent.clone()),
            remember: self.subject_remember(n),
            deposes,
        }
    }

    fn desired_expressions(&self, n: usize) -> NameMap<Expression> {
        let key = self.joined.key();
        let written = |want: &&DesiredAttribute<'a>| want.setting.is_some();
        let wants = self.decisions[n].wants.iter().filter(written);
        let mut desired = NameMap::with_capacity(self.decisions[n].wants.len());
        desired.extend(wants.map(|want| (want.attribute.name.into(), want.to_expression(key))));
        desired
    }

    fn subject_remember(&self, n: usize) -> LedgerMetadata {
        build_remember(self.joined, &self.joined.subjects[n])
    }

    fn add(&mut self, n: usize, operation: Operation) -> NodeId {
        let subject = &self.joined.subjects[n];
        let (seconds, timeout_seconds) = step_durations(subject, &operation);
        let step = Step {
            address: subject.address.clone(),
            kind: subject.kind.name.into(),
            operation,
            after: Vec::new(),
            seconds,
            timeout_seconds,
        };
        self.drafts.push(Some(step));
        self.graph.add(n)
    }

    fn parents(&self) -> ParentLookup<'_, 'a> {
        ParentLookup { joined: self.joined, decisions: self.decisions }
    }

    fn follow_all(&mut self, dependencies: Vec<(NodeId, NodeId)>) {
        for (before, after) in dependencies {
            self.add_dependency(Some(before), Some(after));
        }
    }

    fn add_dependency(&mut self, before: Option<NodeId>, after: Option<NodeId>) {
        if let (Some(before), Some(after)) = (before, after)
            && before != after
        {
            self.graph.add_edge(before, after);
        }
    }

    fn make_after_needs(&mut self, n: usize) {
        let own = self.nodes[n].clone();
        for need in &self.joined.subjects[n].needs {
            let ready = self.nodes[*need].create.or(self.nodes[*need].update);
            self.add_dependency(ready, own.create);
            self.add_dependency(ready, own.update);
        }
    }

    fn replace_in_order(&mut self, n: usize) {
        let own = self.nodes[n].clone();
        // The ledger records the release for the current object, so the new object must be created after it.
        for next in [own.update, own.delete, own.create] {
            self.add_dependency(own.release, next);
        }
        // Until the new object of an interrupted replacement is ready, the older one is in use.
        if self.joined.subjects[n].entry.is_some_and(|entry| entry.unfinished) {
            for deposed in own.deposed.iter().filter(|deposed| !deposed.early) {
                self.add_dependency(own.update, Some(deposed.node));
            }
        }
        match self.decisions[n].act {
            DecisionKind::Replace { create_first: true } => self.add_dependency(own.create, own.delete),
            DecisionKind::Replace { create_first: false } => self.add_dependency(own.delete, own.create),
            _ => {}
        }
    }

    fn delete_after_holders(&mut self, n: usize) {
        let own = self.nodes[n].clone();
        for held in &self.joined.subjects[n].held {
            let released = |link: &Attribute| self.releases_link(n, link, *held);
            // A dependency that exists only in the ledger, of a resource that itself waits for
            // the deletion, delays no deletion.
            let remembers = self.decisions[n].downstream && !self.refers_to(n, *held);
            let first = self.decisions[*held].deletes_first()
                || own.update.is_some() && (remembers || self.changed_links(n).any(released));
            let going = self.nodes[*held].delete;
            self.add_dependency(own.delete, going);
            self.add_dependency(own.release, going);
            if !first {
                self.add_dependency(own.update, going);
            }
            own.deposed.iter().for_each(|deposed| self.add_dependency(Some(deposed.node), going));
            let waiting = self.nodes[*held].deposed.iter().filter(|deposed| !deposed.early);
            for deposed in waiting.map(|deposed| deposed.node).collect::<Vec<_>>() {
                self.add_dependency(own.delete, Some(deposed));
                self.add_dependency(own.release, Some(deposed));
                self.add_dependency(own.update.filter(|_| !first), Some(deposed));
                own.deposed.iter().for_each(|older| self.add_dependency(Some(older.node), Some(deposed)));
            }
        }
    }

    /// Numbers the steps so that each comes after those that it depends on.
    fn number_steps(mut self) -> StepOrder {
        let mut of = vec![Vec::new(); self.joined.subjects.len()];
        let sorted = match self.graph.topological_order() {
            Ok(sorted) => sorted,
            Err(cycles) => {
                let cycle = self.shortest_cycle(&cycles);
                return StepOrder { steps: Vec::new(), of, cycle, holds_deletions: false };
            }
        };
        let mut numbers = vec![0; sorted.len()];
        let mut steps = Vec::with_capacity(sorted.len());
        for (number, node) in sorted.into_iter().enumerate() {
            numbers[node.index()] = number;
            let mut after: Vec<usize> =
                self.graph.predecessors_of(node).map(|b| numbers[b.index()]).collect();
            after.sort_unstable();
            after.dedup();
            let draft = self.drafts.get_mut(node.index()).and_then(Option::take);
            let Some((n, mut step)) = self.graph.get(node).copied().zip(draft) else { continue };
            step.after = after;
            of[n].push(number);
            steps.push(step);
        }
        StepOrder { steps, of, cycle: Vec::new(), holds_deletions: false }
    }

    /// Returns the steps of a shortest dependency cycle, each before the one that it waits for.
    fn shortest_cycle(&self, cycles: &[Vec<NodeId>]) -> Vec<CycleStep> {
        let smallest = cycles.iter().min_by_key(|cycle| (cycle.len(), cycle.iter().min().copied()));
        let steps = smallest.map(|cycle| self.graph.shortest_cycle(cycle)).unwrap_or_default();
        let waiting = |node: NodeId| {
            let step = self.drafts.get(node.index())?.as_ref()?;
            Some(CycleStep { n: *self.graph.get(node)?, doing: step_gerund(&step.operation) })
        };
        steps.into_iter().rev().filter_map(waiting).collect()
    }
}

/// Returns the operation of a step as a gerund, for the description of a cycle.
fn step_gerund(operation: &Operation) -> &'static str {
    match operation {
        Operation::Create { remember, .. } if remember.let_go => "copying",
        Operation::Create { .. } => "creating",
        Operation::Update { .. } => "changing",
        Operation::Delete { deposed: true, .. } => "deleting the older object of",
        Operation::Delete { .. } => "deleting",
    }
}

/// Returns the links of a live object that are set and must be undone before it can be deleted.
fn standing_links(subject: &ResourceState<'_>) -> Vec<&'static Attribute> {
    let all = subject.kind.attributes.iter().filter(|attribute| attribute.undone_before_delete);
    let stands = |attribute: &&Attribute| current_value::present_value(subject, attribute) != Value::Null;
    all.filter(stands).filter(|_| matches!(subject.live, LiveState::Present(_))).collect()
}

/// Returns the recorded identity, confirmed if the user confirmed the object.
fn confirm_owned(subject: &ResourceState<'_>, owned: &OwnedObject) -> OwnedObject {
    let confirmed = matches!(subject.adoption, Some(AdoptionReason::Confirmed));
    OwnedObject { provisional: owned.provisional && !confirmed, ..owned.clone() }
}

fn delete_operation(owned: &OwnedObject, deposed: bool) -> Operation {
    Operation::Delete { object: owned.clone(), deposed }
}
