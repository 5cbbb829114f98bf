//! Children and their parent objects: a child that the service deletes with its parent has no deletion step,
//! and minimum sums (Limits: the workers of a cluster) are kept within each parent object. In: decisions and
//! nodes; out: dependencies between nodes.

use std::collections::BTreeMap;

use super::nodes::ResourceNodes;
use crate::ledger::state::entry::OwnedObject;
use crate::model::address::Name;
use crate::model::graph::NodeId;
use crate::model::schema::{Kind, RuleCheck};
use crate::plan::decide::reactivation;
use crate::plan::decision::{AttributeDiff, Decision, DecisionKind};
use crate::plan::join::joined_state::JoinedState;
use crate::plan::join::joined_state::is_adopted;

/// The steps that affect a sum over the children of one object.
#[derive(Default)]
struct SiblingSteps {
    grows: Vec<NodeId>,
    /// Each with the growing step of the same resource that it may precede.
    shrinks: Vec<(NodeId, Option<NodeId>)>,
}

/// The parents of children, from the decisions of a plan.
pub(super) struct ParentLookup<'s, 'a> {
    pub joined: &'s JoinedState<'a>,
    pub decisions: &'s [Decision<'a>],
}

impl<'a> ParentLookup<'_, 'a> {
    /// Returns the parent of a child: by its block, or by its object. `None` for a resource that is not a
    /// child, or whose parent this stack does not have.
    fn parent(&self, n: usize) -> Option<usize> {
        let subject = &self.joined.subjects[n];
        let (of, _) = subject.kind.child_of()?;
        let written =
            subject.resource.and_then(|resource| self.joined.index.get(resource.parent.as_ref()?));
        let id = subject.owned_object().and_then(|owned| owned.parent.as_ref());
        let holds = |held: &&usize| {
            let other = &self.joined.subjects[**held];
            other.kind.name == of && id.is_some() && other.owned_object().map(|owned| &owned.id) == id
        };
        written.copied().or_else(|| subject.held.iter().find(holds).copied())
    }

    /// Returns whether the present object of a resource is deleted together with its parent object.
    pub(super) fn goes_along(&self, n: usize) -> bool {
        self.joined.subjects[n].owned_object().is_some_and(|owned| self.goes_with(n, owned).is_some())
    }

    /// Returns the parent resource of a child's object, and the parent object's id, if this plan deletes that object
    /// and the child needs no deletion step.
    pub(super) fn goes_with(&self, n: usize, owned: &'a OwnedObject) -> Option<(usize, &'a Name)> {
        let subject = &self.joined.subjects[n];
        let ((of, _), id) = (subject.kind.child_of()?, owned.parent.as_ref()?);
        let near = self.parent(n).into_iter().chain(subject.held.iter().copied());
        let mut parents = near.filter(|parent| self.joined.subjects[*parent].kind.name == of);
        let parent = parents.find(|parent| self.deletes_object(*parent, id))?;
        // A suspended parent refuses the deletion of single children, so they are deleted with it.
        let asleep = || {
            let revival = reactivation::needed_revival(&self.joined.subjects[parent]);
            let current = self.joined.subjects[parent].owned_object().is_some_and(|owned| owned.id == *id);
            current && revival.is_some_and(|revival| revival.needed_by.contains(&subject.kind.name))
        };
        (subject.kind.goes_with_parent || asleep()).then_some((parent, id))
    }

    /// Returns whether the plan has a step that deletes an object of a resource.
    fn deletes_object(&self, n: usize, id: &Name) -> bool {
        let (subject, decision) = (&self.joined.subjects[n], &self.decisions[n]);
        let goes = match decision.act {
            DecisionKind::Delete => true,
            DecisionKind::Replace { .. } => !is_adopted(subject),
            _ => false,
        };
        let current = subject.owned_object().is_some_and(|owned| owned.id == *id);
        let mut deposed = subject.entry.into_iter().flat_map(|entry| &entry.deposed);
        let absent = &self.joined.inputs.snapshot.absent;
        let is_it =
            |owned: &&OwnedObject| owned.id == *id && !absent.contains(&owned.key(subject.kind.name));
        goes && current || decision.act != DecisionKind::Frozen && deposed.any(|owned| is_it(&owned))
    }

    /// Returns the step that deletes a resource's object: its own, or that of the parent with which the service
    /// deletes it. `None` if the object stays.
    pub(super) fn deletion_of(&self, nodes: &[ResourceNodes<'_>], n: usize) -> Option<NodeId> {
        let going = self.decisions[n].removes();
        let owned = self.joined.subjects[n].owned_object().filter(|_| going);
        let Some((parent, id)) = owned.and_then(|owned| self.goes_with(n, owned)) else {
            return nodes[n].delete;
        };
        let of_parent = &nodes[parent];
        let current = self.joined.subjects[parent].owned_object().is_some_and(|owned| owned.id == *id);
        let deposed = of_parent.deposed.iter().find(|deposed| deposed.id == id).map(|deposed| deposed.node);
        if current { of_parent.delete } else { deposed }
    }

    /// Returns dependencies that keep a minimum sum over the children of one object: growing steps come first.
    pub(super) fn growth_before_shrinking(&self, nodes: &[ResourceNodes<'_>]) -> Vec<(NodeId, NodeId)> {
        let mut groups: BTreeMap<&'a Name, SiblingSteps> = BTreeMap::new();
        for (n, (subject, own)) in self.joined.subjects.iter().zip(nodes).enumerate() {
            let Some((attribute, least)) = summed_attribute(subject.kind) else { continue };
            // A new parent object has only new children, which are created with it or after it.
            let home = self.parent(n).filter(|parent| !self.decisions[*parent].is_new());
            if let Some(home) = home.and_then(|parent| self.joined.subjects[parent].owned_object()) {
                groups.entry(&home.id).or_default().grows.extend(own.create);
            }
            let Some(present) = subject.owned_object().and_then(|owned| owned.parent.as_ref()) else {
                continue;
            };
            let group = groups.entry(present).or_default();
            let less = |decision: &Decision<'_>| {
                let changed = decision.differences.iter().find(|d| d.attribute.name == attribute)?;
                Some(changed.after.as_decimal()? < changed.before.as_decimal()?)
            };
            let enough = || self.stays(n, present, attribute) >= least.into();
            let first = self.decisions[n].deletes_first() && enough();
            group.shrinks.extend(own.delete.map(|delete| (delete, own.create.filter(|_| first))));
            match less(&self.decisions[n]) {
                Some(true) => group.shrinks.extend(own.update.map(|update| (update, None))),
                Some(false) => group.grows.extend(own.update),
                None => {}
            }
        }
        let mut dependencies = Vec::new();
        for SiblingSteps { grows, shrinks } in groups.into_values() {
            for (shrink, exempt) in shrinks {
                let others = grows.iter().filter(|grow| Some(**grow) != exempt);
                dependencies.extend(others.map(|grow| (*grow, shrink)));
            }
        }
        dependencies
    }

    /// Returns the sum of a number over the other children of an object before any of them grows.
    fn stays(&self, n: usize, parent: &Name, attribute: &str) -> rust_decimal::Decimal {
        let others = (0..self.joined.subjects.len()).filter(|other| *other != n);
        let stays = others.filter(|other| {
            let subject = &self.joined.subjects[*other];
            let inside = subject.owned_object().is_some_and(|owned| owned.parent.as_ref() == Some(parent));
            inside && !self.decisions[*other].removes() && summed_attribute(subject.kind).is_some()
        });
        let number = |other: usize| {
            let live = self.joined.subjects[other].object()?.attributes.get(attribute)?.as_decimal()?;
            let differs = |d: &&AttributeDiff<'_>| d.attribute.name == attribute;
            let after = self.decisions[other].differences.iter().find(differs);
            Some(after.and_then(|d| d.after.as_decimal()).map_or(live, |after| after.min(live)))
        };
        stays.filter_map(number).sum()
    }

    /// Returns dependencies of a child's deletion on the parent's update: the service refuses the deletion
    /// while the parent is changing.
    pub(super) fn deletions_after_update(
        &self,
        nodes: &[ResourceNodes<'_>],
        n: usize,
    ) -> Vec<(NodeId, NodeId)> {
        let Some(update) = self.parent(n).and_then(|parent| nodes[parent].update) else {
            return Vec::new();
        };
        let deletions =
            nodes[n].delete.into_iter().chain(nodes[n].deposed.iter().map(|deposed| deposed.node));
        deletions.map(|deletion| (update, deletion)).collect()
    }
}

/// Returns the attribute of a kind whose sum over siblings has a minimum, and the minimum.
fn summed_attribute(kind: &Kind) -> Option<(&'static str, i64)> {
    kind.rules.iter().find_map(|rule| match rule.check {
        RuleCheck::SumAtLeast { attribute, least } => Some((attribute, least)),
        _ => None,
    })
}
