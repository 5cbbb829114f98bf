//! Classification: one `Decision` for each resource, dependencies first. In: the joined state, the plan's scope
//! and projects; out: decisions by resource number, and blockers. It runs twice where a name or a network
//! passes from one resource to another: the first pass finds such pairs, the second decides with them.

use foldhash::HashSet;

use super::checks::{guards, kept_secrets};
use super::deposed::DeposedObjects;
use super::name_handover::NameHandover;
use super::payment::settle_payment;
use super::project_assignment::ProjectAssignment;
use super::retention::{keep_what_is_held, keep_what_is_part_of_the_kept, leave_what_holds_the_kept};
use super::{byproducts, final_snapshot, reactivation, replacement_order};
use crate::config::stack::declarations::RemovedAction;
use crate::config::stack::model::{OnRemove, Resource};
use crate::model::address::Address;
use crate::model::diagnostic::blocker_code;
use crate::model::graph::Graph;
use crate::model::schema::Revival;
use crate::plan::blockers::Blockers;
use crate::plan::decision::{AttributeDiff, Decision, DecisionKind, DesiredAttribute};
use crate::plan::diff::attributes::AttributeDiffer;
use crate::plan::diff::planned_values::{KnownDecisions, PlannedValues};
use crate::plan::diff::{confirmation, desired};
use crate::plan::join::joined_state::{JoinedState, ResourceState, ambiguous_addresses};
use crate::plan::join::live_state::LiveState;
use crate::plan::join::targeting::TargetScope;
use crate::plan::model::change::Cause;

/// Decides about every resource; the result is indexed like `joined.subjects`.
pub(in crate::plan) fn classify_subjects<'a>(
    joined: &JoinedState<'a>,
    scope: &TargetScope,
    projects: &ProjectAssignment,
    leftovers: &DeposedObjects<'a>,
    blocks: &mut Blockers<'_, 'a>,
) -> Vec<Decision<'a>> {
    let (asked, succession) = (ambiguous_addresses(joined), NameHandover::default());
    let mut judge =
        Classifier { joined, scope, projects, leftovers, asked, succession, decisions: Vec::new() };
    let before = blocks.count();
    let decisions = judge.decide_all(blocks);
    judge.succession = NameHandover::from_decisions(joined, &decisions);
    if judge.succession.waiting.is_empty() {
        return decisions;
    }
    // The waiting resources and those deleted first affect the decisions of all their dependents.
    blocks.truncate_to(before);
    judge.decide_all(blocks)
}

/// Returns the numbers of the declared resources, each after its dependencies. The configuration rejects cycles; should
/// one remain, its members are blocked and left out.
pub(in crate::plan) fn dependencies_first(
    joined: &JoinedState<'_>,
    blocks: &mut Blockers<'_, '_>,
) -> Vec<usize> {
    let mut graph = Graph::default();
    let nodes: Vec<_> = (0..joined.subjects.len()).map(|n| graph.add(n)).collect();
    for (n, subject) in joined.subjects.iter().enumerate() {
        subject.needs.iter().for_each(|need| graph.add_edge(nodes[*need], nodes[n]));
    }
    let wanted = |n: &usize| joined.subjects[*n].resource.is_some();
    match graph.topological_order() {
        Ok(order) => order.into_iter().filter_map(|id| graph.get(id).copied()).filter(wanted).collect(),
        Err(cycles) => {
            for id in cycles.into_iter().flatten() {
                let Some(subject) = graph.get(id).map(|n| &joined.subjects[*n]) else { continue };
                let text = format!("{} depends on itself.", subject.address);
                blocks.add_for_subject(
                    blocker_code::CYCLE,
                    subject,
                    None,
                    text,
                    "Remove one reference from the cycle.".into(),
                );
            }
            Vec::new()
        }
    }
}

struct Classifier<'s, 'a> {
    joined: &'s JoinedState<'a>,
    scope: &'s TargetScope,
    projects: &'s ProjectAssignment,
    leftovers: &'s DeposedObjects<'a>,
    asked: HashSet<&'a Address>,
    /// Which resource takes over a name or network; empty in the first pass.
    succession: NameHandover,
    decisions: Vec<Option<Decision<'a>>>,
}

impl<'a> Classifier<'_, 'a> {
    fn decide_all(&mut self, blocks: &mut Blockers<'_, 'a>) -> Vec<Decision<'a>> {
        let joined = self.joined;
        self.decisions.clear();
        self.decisions.resize_with(joined.subjects.len(), || None);
        for n in dependencies_first(joined, blocks) {
            let decision = self.decide_declared(n, blocks);
            self.decisions[n] = Some(decision);
        }
        for (n, subject) in joined.subjects.iter().enumerate() {
            if self.decisions[n].is_none() {
                self.decisions[n] = Some(self.decide_undeclared(n, subject, blocks));
            }
        }
        // The members of a dependency cycle have no decision.
        let left_out = || Decision::without_differences(DecisionKind::Frozen, Cause::Config);
        let decisions = std::mem::take(&mut self.decisions).into_iter();
        let mut decisions: Vec<_> = decisions.map(|decision| decision.unwrap_or_else(left_out)).collect();
        // These passes need the decisions of all resources. Forgotten children and projects come before the
        // objects that hold them, because those are kept for what is forgotten.
        reactivation::bring_back_what_is_needed(joined, &mut decisions);
        keep_what_is_part_of_the_kept(joined, &mut decisions);
        final_snapshot::leave_their_projects(joined, &mut decisions);
        keep_what_is_held(joined, &mut decisions);
        leave_what_holds_the_kept(joined, &mut decisions);
        decisions
    }

    /// Returns whether the secret of a live object is lost: it is not kept, the service does not show it again, and no
    /// new object is planned.
    fn has_lost_secret(&self, subject: &ResourceState<'_>) -> bool {
        let inputs = &self.joined.inputs;
        let is_live =
            matches!(subject.live, LiveState::Present(_)) && self.rotation_reason(subject).is_none();
        let Some(resource) = subject.resource.filter(|_| is_live) else { return false };
        let wanted = resource.deliver_secret.is_some() || inputs.stack.recipients.is_some();
        let again = subject.kind.reveal().is_some() || inputs.options.undelivered.contains(subject.address);
        wanted && has_lost_secret(subject) && !again
    }

    /// Returns why an object is replaced for the rotation of its secret; `None` if no rotation has begun.
    fn rotation_reason(&self, subject: &ResourceState<'_>) -> Option<String> {
        let asked = self.joined.inputs.ledger.secrets.rotating.contains(subject.address.as_str());
        asked.then(|| {
            "its secret is rotated, and the service shows a secret only when an object is created"
                .to_owned()
        })
    }

    fn decide_declared(&self, n: usize, blocks: &mut Blockers<'_, 'a>) -> Decision<'a> {
        let subject = &self.joined.subjects[n];
        let Some(resource) = subject.resource else {
            return Decision::without_differences(DecisionKind::Frozen, Cause::Config);
        };
        if !self.scope.contains(n) {
            return Decision::without_differences(DecisionKind::Frozen, Cause::Config);
        }
        let outlook =
            PlannedValues { joined: self.joined, decisions: KnownDecisions::SoFar(&self.decisions) };
        let wants = desired::desired_attributes(self.joined, subject, resource, &outlook, blocks);
        let mut decision = if self.is_frozen(n, subject, blocks) {
            Decision::without_differences(DecisionKind::Frozen, Cause::Config)
        } else {
            self.by_object(subject, resource, &wants, blocks)
        };
        decision.wants = wants;
        decision.project = self.projects.project_of(self.joined, subject, &outlook);
        let needs = subject.needs.iter().filter_map(|need| self.decisions[*need].as_ref());
        decision.downstream =
            needs.into_iter().any(|need| need.downstream || need.waits || need.deletes_first());
        decision.waits = self.succession.waiting.contains(&n);
        decision.crowded = decision.is_new() && self.leftovers.blocks_creation(self.joined, n, &decision);
        if decision.removes() {
            self.choose_replacement_order(n, &mut decision, blocks);
        }
        decision
    }

    fn by_object(
        &self,
        subject: &ResourceState<'a>,
        resource: &'a Resource,
        wants: &[DesiredAttribute<'a>],
        blocks: &mut Blockers<'_, 'a>,
    ) -> Decision<'a> {
        match subject.live {
            LiveState::None => {
                let lost = subject.entry.is_some_and(|entry| entry.current.is_none());
                let create = Decision::without_differences(
                    DecisionKind::Create,
                    if lost { Cause::Unfinished } else { Cause::Config },
                );
                if lost {
                    create
                        .with_reason("an earlier apply deleted the old object but did not create a new one")
                } else {
                    create
                }
            }
            LiveState::Gone(_) => Decision::without_differences(DecisionKind::Create, Cause::Drift)
                .with_reason("the object is gone from the service"),
            LiveState::Unseen(_) => {
                guards::block_unread(subject, blocks);
                Decision::without_differences(DecisionKind::Frozen, Cause::Drift)
            }
            LiveState::Deleting(_) => {
                let mut decision = Decision::without_differences(
                    DecisionKind::Replace { create_first: false },
                    Cause::Drift,
                )
                .with_reason("the service is deleting the object; a new one is created when it is gone");
                decision.broken = true;
                decision
            }
            LiveState::Present(_) => self.decide_existing(subject, resource, wants, blocks),
        }
    }

    fn decide_existing(
        &self,
        subject: &ResourceState<'a>,
        resource: &'a Resource,
        wants: &[DesiredAttribute<'a>],
        blocks: &mut Blockers<'_, 'a>,
    ) -> Decision<'a> {
        let Some(diff) = AttributeDiffer::new(self.joined, subject) else {
            return Decision::without_differences(DecisionKind::Frozen, Cause::Drift);
        };
        let mut differences = diff.differences(wants);
        // Before `must` is computed: a value that the service does not keep must not replace the object.
        let not_kept = confirmation::take_not_kept(&mut differences);
        settle_payment(subject, wants, &mut differences, blocks);
        let rehomed = self.relocation_reason(subject, resource);
        let forced = rehomed.clone().or_else(|| self.taken_along(subject, &differences));
        let forced = forced.or_else(|| self.rotation_reason(subject));
        let exchanged = reactivation::exchange_reason(subject, wants);
        let revival = reactivation::needed_revival(subject);
        let broken = has_failed(subject) && revival.is_none();
        if broken && !guards::may_replace_failed(subject, blocks) {
            return Decision::without_differences(DecisionKind::Frozen, Cause::Unfinished);
        }
        let must = broken
            || forced.is_some()
            || exchanged.is_some()
            || differences.iter().any(AttributeDiff::forces_replacement);
        if !must {
            differences.retain(|difference| guards::may_change(self.joined, subject, difference, blocks));
        }
        let left = left_to_do(subject, resource, revival);
        let act = match (must, differences.is_empty() && left.is_none()) {
            (true, _) => DecisionKind::Replace { create_first: true },
            (false, true) => DecisionKind::Keep,
            (false, false) => DecisionKind::Update,
        };
        let mut decision = Decision::without_differences(act, combined_cause(&differences));
        if let Some(left) = left.filter(|_| act == DecisionKind::Update && differences.is_empty()) {
            decision = Decision::without_differences(act, Cause::Unfinished).with_reason(left);
        }
        if broken {
            decision = Decision::without_differences(act, Cause::Unfinished)
                .with_reason(failed_status_reason(subject));
        } else if let Some(reason) = forced {
            decision = Decision::without_differences(act, Cause::Upstream).with_reason(reason);
        } else if must {
            decision.reason = exchanged.or_else(|| Some(immutable_reason(&differences)));
        } else if act == DecisionKind::Update {
            decision.revival = reactivation::revival_before(subject, &differences);
            let anew = revival.filter(|_| has_failed(subject));
            decision.reason = anew.map(|revival| revival.says.to_owned()).or(decision.reason);
        }
        decision.broken = broken;
        decision.rehomed = rehomed.is_some();
        decision.differences = differences;
        decision.not_kept = not_kept;
        decision
    }

    /// Returns why the new object has another parent or project; `None` if it has the same.
    fn relocation_reason(&self, subject: &ResourceState<'a>, resource: &Resource) -> Option<String> {
        let decision = |address: &Address| self.decisions[*self.joined.index.get(address)?].as_ref();
        if let Some(parent) = &resource.parent
            && decision(parent).is_some_and(Decision::is_new)
        {
            return Some(format!("{parent} is replaced, and this is deleted with the old one"));
        }
        if let Some(parent) = &resource.parent
            && self.is_in_an_older_one(subject, parent)
        {
            return Some(format!("{parent} was replaced, and this was deleted with the old one"));
        }
        self.projects.wrong_project_reason(
            self.joined,
            subject,
            &PlannedValues { joined: self.joined, decisions: KnownDecisions::SoFar(&self.decisions) },
        )
    }

    /// Returns whether a child's object is in a deposed object of its parent.
    fn is_in_an_older_one(&self, subject: &ResourceState<'a>, parent: &Address) -> bool {
        let home = subject.owned_object().and_then(|owned| owned.parent.as_ref());
        let entry = self.joined.index.get(parent).and_then(|n| self.joined.subjects[*n].entry);
        let mut deposed = entry.into_iter().flat_map(|entry| &entry.deposed);
        deposed.any(|owned| Some(&owned.id) == home)
    }

    /// Returns why an object is replaced rather than changed: the service deletes it together with another one.
    /// `None` if it does not.
    fn taken_along(
        &self,
        subject: &ResourceState<'a>,
        differences: &[AttributeDiff<'_>],
    ) -> Option<String> {
        subject.needs.iter().find_map(|need| {
            let (owner, decision) = (&self.joined.subjects[*need], self.decisions[*need].as_ref()?);
            let (_, attribute) =
                owner.kind.takes_along.iter().find(|(kind, _)| *kind == subject.kind.name)?;
            let follows = differences.iter().any(|difference| difference.attribute.name == *attribute);
            (decision.removes() && follows)
                .then(|| format!("it is deleted together with the old {}", owner.address))
        })
    }

    fn choose_replacement_order(
        &self,
        n: usize,
        decision: &mut Decision<'a>,
        blocks: &mut Blockers<'_, 'a>,
    ) {
        let subject = &self.joined.subjects[n];
        if matches!(subject.live, LiveState::Deleting(_)) {
            return;
        }
        // A resource without a block is decided later, and is deleted.
        let goes_first = |n: &usize| {
            let decision = self.decisions[*n].as_ref();
            self.succession.leaving.contains(n)
                || decision.map_or(self.joined.subjects[*n].resource.is_none(), Decision::deletes_first)
        };
        let held_first = subject.held.iter().chain(&subject.needs).any(goes_first);
        let forced = if decision.downstream && held_first {
            Some("a dependency is deleted before it is created again")
        } else if self.succession.cyclic.contains(&n) {
            Some("it and other resources exchange names or networks")
        } else {
            None
        };
        let (create_first, why) = replacement_order::replacement_order(subject, decision, forced, blocks);
        decision.act = DecisionKind::Replace { create_first };
        if let Some(why) = why {
            let reason = decision.reason.take().unwrap_or_default();
            decision.reason = Some(format!("{reason}; the old one is deleted first, because {why}"));
        }
    }

    fn is_frozen(&self, n: usize, subject: &ResourceState<'a>, blocks: &mut Blockers<'_, 'a>) -> bool {
        if !self.scope.contains(n) {
            return true;
        }
        // The blocker of the move says so.
        if self.joined.declared.is_between_stacks(subject.address) {
            return true;
        }
        if self.asked.contains(subject.address) {
            guards::block_ambiguous_intent(self.joined, subject, blocks);
            return true;
        }
        if self.has_lost_secret(subject) {
            kept_secrets::skip_lost_secret(subject, blocks);
            return true;
        }
        subject.needs.iter().any(|need| {
            self.decisions[*need]
                .as_ref()
                .is_none_or(|v| v.act == DecisionKind::Frozen && self.scope.contains(*need))
        })
    }

    fn decide_undeclared(
        &self,
        n: usize,
        subject: &ResourceState<'a>,
        blocks: &mut Blockers<'_, 'a>,
    ) -> Decision<'a> {
        if subject.resource.is_some() || self.is_frozen(n, subject, blocks) {
            return Decision::without_differences(DecisionKind::Frozen, Cause::Config);
        }
        if byproducts::stays_as_leftover(self.joined, subject) {
            return Decision::without_differences(DecisionKind::Keep, Cause::Config);
        }
        let remembered = subject.entry.is_some_and(|entry| entry.keep_on_remove);
        let keep = subject.block.map_or(remembered, |block| block.lifecycle.on_remove == OnRemove::Keep);
        let declared = self.joined.declared.removal_action(subject.address);
        let keep = declared.map_or(keep, |action| action == RemovedAction::Forget);
        match subject.live {
            LiveState::Unseen(_) if !keep => {
                guards::block_unread(subject, blocks);
                Decision::without_differences(DecisionKind::Frozen, Cause::Drift)
            }
            LiveState::None | LiveState::Gone(_) => {
                Decision::without_differences(DecisionKind::Keep, Cause::Drift)
            }
            _ if keep => {
                let word = if declared.is_some() { "removed" } else { "on_remove" };
                Decision::without_differences(DecisionKind::Forget, Cause::Config)
                    .with_reason(format!("it stays live, as `{word}` specifies"))
            }
            _ => {
                let added = self.joined.declared.added.get(subject.address);
                let why = if let Some(added) = added.filter(|added| !added.reason.is_empty()) {
                    added.reason.clone()
                } else if self.joined.inputs.options.destroy {
                    "everything is destroyed".to_owned()
                } else {
                    let left_out = self.joined.left_out(subject.address);
                    left_out.map_or_else(|| "its block is gone".to_owned(), |(why, _)| why)
                };
                Decision::without_differences(DecisionKind::Delete, Cause::Config).with_reason(why)
            }
        }
    }
}

fn has_lost_secret(subject: &ResourceState<'_>) -> bool {
    subject.entry.is_some_and(|entry| entry.secret_lost)
}

/// Returns what an update must do besides the differences, as a clause; `None` if nothing. An update without
/// calls waits until the object is ready: only then may dependents use it.
fn left_to_do(
    subject: &ResourceState<'_>,
    resource: &Resource,
    revival: Option<&'static Revival>,
) -> Option<&'static str> {
    if let Some(revival) = revival.filter(|_| has_failed(subject)) {
        return Some(revival.says);
    }
    if resource.deliver_secret.is_some() && has_lost_secret(subject) {
        return Some("its secret did not reach its sink, and is delivered again");
    }
    let unfinished = subject.adoption.is_none() && subject.entry.is_some_and(|entry| entry.unfinished);
    unfinished.then_some("no apply has seen it ready yet")
}

fn has_failed(subject: &ResourceState<'_>) -> bool {
    let failed = subject.kind.api.ready.map(|ready| ready.failed);
    failed.zip(subject.status()).is_some_and(|(failed, status)| failed.contains(&status))
}

fn failed_status_reason(subject: &ResourceState<'_>) -> String {
    format!("its status is {}, from which it does not recover", subject.status().unwrap_or("failed"))
}

fn immutable_reason(differences: &[AttributeDiff<'_>]) -> String {
    let mut names: Vec<&str> =
        differences.iter().filter(|d| d.forces_replacement()).map(|d| d.attribute.name).collect();
    names.dedup();
    format!("the API cannot change {} in place", names.join(", "))
}

/// Combines the causes of a resource's differences into the one that the plan shows: `Both` where the
/// configuration and the object changed, `Config` where there are no differences.
fn combined_cause(differences: &[AttributeDiff<'_>]) -> Cause {
    let has = |cause| differences.iter().any(|difference| difference.cause == cause);
    match (has(Cause::Both), has(Cause::Config), has(Cause::Drift), has(Cause::Unfinished)) {
        (true, ..) | (_, true, true, _) => Cause::Both,
        (_, true, ..) => Cause::Config,
        (_, _, true, _) => Cause::Drift,
        (.., true) => Cause::Unfinished,
        _ if has(Cause::Unconfirmed) => Cause::Unconfirmed,
        _ if has(Cause::NotKept) => Cause::NotKept,
        _ if differences.is_empty() => Cause::Config,
        _ => Cause::Upstream,
    }
}
