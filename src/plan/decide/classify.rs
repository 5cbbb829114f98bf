//! Classification: one `Decision` for each resource, dependencies first. In: the joined state, the plan's scope
//! and projects; out: decisions by resource number, and blockers. It runs twice where a name or a network
//! passes from one resource to another: the first pass finds such pairs, the second decides with them.

use std::collections::HashSet;

use super::checks::{guards, kept_secrets};
use super::deposed::DeposedObjects;
use super::name_handover::NameHandover;
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
use crate::plan::diff::planned_values::PlannedValues;
use crate::plan::diff::{confirmation, desired};
use crate::plan::join::joined_state::{JoinedState, ResourceState, ambiguous_addresses};
use crate::plan::join::live_state::LiveState;
use crate::plan::join::targeting::TargetScope;
use crate::plan::model::change::Cause;

/// Decides about every resource; the result is indexed like `survey.subjects`.
pub(in crate::plan) fn classify_subjects<'a>(
    survey: &JoinedState<'a>,
    scope: &TargetScope,
    projects: &ProjectAssignment,
    leftovers: &DeposedObjects<'a>,
    blocks: &mut Blockers<'_, 'a>,
) -> Vec<Decision<'a>> {
    let (asked, succession) = (ambiguous_addresses(survey), NameHandover::default());
    let mut judge =
        Classifier { survey, scope, projects, leftovers, asked, succession, verdicts: Vec::new() };
    let before = blocks.count();
    let verdicts = judge.decide_all(blocks);
    judge.succession = NameHandover::from_decisions(survey, &verdicts);
    if judge.succession.waiting.is_empty() {
        return verdicts;
    }
    // The waiting resources and those deleted first affect the decisions of all their dependents.
    blocks.truncate_to(before);
    judge.decide_all(blocks)
}

/// Returns the numbers of the declared resources, each after its dependencies. The configuration rejects cycles; should
/// one remain, its members are blocked and left out.
pub(in crate::plan) fn dependencies_first(
    survey: &JoinedState<'_>,
    blocks: &mut Blockers<'_, '_>,
) -> Vec<usize> {
    let mut graph = Graph::default();
    let nodes: Vec<_> = (0..survey.subjects.len()).map(|n| graph.add(n)).collect();
    for (n, subject) in survey.subjects.iter().enumerate() {
        subject.needs.iter().for_each(|need| graph.add_edge(nodes[*need], nodes[n]));
    }
    let wanted = |n: &usize| survey.subjects[*n].resource.is_some();
    match graph.topological_order() {
        Ok(order) => order.into_iter().filter_map(|id| graph.get(id).copied()).filter(wanted).collect(),
        Err(knots) => {
            for id in knots.into_iter().flatten() {
                let Some(subject) = graph.get(id).map(|n| &survey.subjects[*n]) else { continue };
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
    survey: &'s JoinedState<'a>,
    scope: &'s TargetScope,
    projects: &'s ProjectAssignment,
    leftovers: &'s DeposedObjects<'a>,
    asked: HashSet<&'a Address>,
    /// Which resource takes over a name or network; empty in the first pass.
    succession: NameHandover,
    verdicts: Vec<Option<Decision<'a>>>,
}

impl<'a> Classifier<'_, 'a> {
    fn decide_all(&mut self, blocks: &mut Blockers<'_, 'a>) -> Vec<Decision<'a>> {
        let survey = self.survey;
        self.verdicts.clear();
        self.verdicts.resize_with(survey.subjects.len(), || None);
        for n in dependencies_first(survey, blocks) {
            let verdict = self.decide_declared(n, blocks);
            self.verdicts[n] = Some(verdict);
        }
        for (n, subject) in survey.subjects.iter().enumerate() {
            if self.verdicts[n].is_none() {
                self.verdicts[n] = Some(self.decide_undeclared(n, subject, blocks));
            }
        }
        // The members of a dependency cycle have no decision.
        let left_out = || Decision::without_differences(DecisionKind::Frozen, Cause::Config);
        let verdicts = self.verdicts.drain(..);
        let mut verdicts: Vec<_> = verdicts.map(|verdict| verdict.unwrap_or_else(left_out)).collect();
        // These passes need the decisions of all resources. Forgotten children and projects come before the
        // objects that hold them, because those are kept for what is forgotten.
        reactivation::bring_back_what_is_needed(survey, &mut verdicts);
        keep_what_is_part_of_the_kept(survey, &mut verdicts);
        final_snapshot::leave_their_projects(survey, &mut verdicts);
        keep_what_is_held(survey, &mut verdicts);
        leave_what_holds_the_kept(survey, &mut verdicts);
        verdicts
    }

    /// Returns whether the secret of a live object is lost: it is not kept, the service does not show it again, and no
    /// new object is planned.
    fn has_lost_secret(&self, subject: &ResourceState<'_>) -> bool {
        let inputs = &self.survey.inputs;
        let is_live =
            matches!(subject.live, LiveState::Present(_)) && self.rotation_reason(subject).is_none();
        let Some(resource) = subject.resource.filter(|_| is_live) else { return false };
        let wanted = resource.deliver_secret.is_some() || inputs.stack.recipients.is_some();
        let again = subject.kind.reveal().is_some() || inputs.options.undelivered.contains(subject.address);
        wanted && has_lost_secret(subject) && !again
    }

    /// Returns why an object is replaced for the rotation of its secret; `None` if no rotation has begun.
    fn rotation_reason(&self, subject: &ResourceState<'_>) -> Option<String> {
        let asked = self.survey.inputs.ledger.secrets.rotating.contains(subject.address.as_str());
        asked.then(|| {
            "its secret is rotated, and the service shows a secret only when an object is created"
                .to_owned()
        })
    }

    fn decide_declared(&self, n: usize, blocks: &mut Blockers<'_, 'a>) -> Decision<'a> {
        let subject = &self.survey.subjects[n];
        let Some(resource) = subject.resource else {
            return Decision::without_differences(DecisionKind::Frozen, Cause::Config);
        };
        if !self.scope.contains(n) {
            return Decision::without_differences(DecisionKind::Frozen, Cause::Config);
        }
        let outlook = PlannedValues { survey: self.survey, verdicts: &self.verdicts };
        let wants = desired::desired_attributes(self.survey, subject, resource, &outlook, blocks);
        let mut verdict = if self.is_frozen(n, subject, blocks) {
            Decision::without_differences(DecisionKind::Frozen, Cause::Config)
        } else {
            self.by_object(subject, resource, &wants, blocks)
        };
        verdict.wants = wants;
        verdict.project = self.projects.project_of(self.survey, subject, &outlook);
        let needs = subject.needs.iter().filter_map(|need| self.verdicts[*need].as_ref());
        verdict.downstream =
            needs.into_iter().any(|need| need.downstream || need.waits || need.deletes_first());
        verdict.waits = self.succession.waiting.contains(&n);
        verdict.crowded = verdict.is_new() && self.leftovers.blocks_creation(self.survey, n, &verdict);
        if verdict.removes() {
            self.choose_replacement_order(n, &mut verdict, blocks);
        }
        verdict
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
                let mut verdict = Decision::without_differences(
                    DecisionKind::Replace { create_first: false },
                    Cause::Drift,
                )
                .with_reason("the service is deleting the object; a new one is created when it is gone");
                verdict.broken = true;
                verdict
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
        let Some(diff) = AttributeDiffer::new(self.survey, subject) else {
            return Decision::without_differences(DecisionKind::Frozen, Cause::Drift);
        };
        let mut differences = diff.differences(wants);
        // Before `must` is computed: a value that the service does not keep must not replace the object.
        let not_kept = confirmation::take_not_kept(&mut differences);
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
            differences.retain(|difference| guards::may_change(self.survey, subject, difference, blocks));
        }
        let left = left_to_do(subject, resource, revival);
        let act = match (must, differences.is_empty() && left.is_none()) {
            (true, _) => DecisionKind::Replace { create_first: true },
            (false, true) => DecisionKind::Keep,
            (false, false) => DecisionKind::Update,
        };
        let mut verdict = Decision::without_differences(act, combined_cause(&differences));
        if let Some(left) = left.filter(|_| act == DecisionKind::Update && differences.is_empty()) {
            verdict = Decision::without_differences(act, Cause::Unfinished).with_reason(left);
        }
        if broken {
            verdict = Decision::without_differences(act, Cause::Unfinished)
                .with_reason(failed_status_reason(subject));
        } else if let Some(reason) = forced {
            verdict = Decision::without_differences(act, Cause::Upstream).with_reason(reason);
        } else if must {
            verdict.reason = exchanged.or_else(|| Some(immutable_reason(&differences)));
        } else if act == DecisionKind::Update {
            verdict.revival = reactivation::revival_before(subject, &differences);
            let anew = revival.filter(|_| has_failed(subject));
            verdict.reason = anew.map(|revival| revival.says.to_owned()).or(verdict.reason);
        }
        verdict.broken = broken;
        verdict.rehomed = rehomed.is_some();
        verdict.differences = differences;
        verdict.not_kept = not_kept;
        verdict
    }

    /// Returns why the new object has another parent or project; `None` if it has the same.
    fn relocation_reason(&self, subject: &ResourceState<'a>, resource: &Resource) -> Option<String> {
        let verdict = |address: &Address| self.verdicts[*self.survey.index.get(address)?].as_ref();
        if let Some(parent) = &resource.parent
            && verdict(parent).is_some_and(Decision::is_new)
        {
            return Some(format!("{parent} is replaced, and this is deleted with the old one"));
        }
        if let Some(parent) = &resource.parent
            && self.is_in_an_older_one(subject, parent)
        {
            return Some(format!("{parent} was replaced, and this was deleted with the old one"));
        }
        self.projects.wrong_project_reason(
            self.survey,
            subject,
            &PlannedValues { survey: self.survey, verdicts: &self.verdicts },
        )
    }

    /// Returns whether a child's object is in a deposed object of its parent.
    fn is_in_an_older_one(&self, subject: &ResourceState<'a>, parent: &Address) -> bool {
        let home = subject.owned_object().and_then(|owned| owned.parent.as_ref());
        let entry = self.survey.index.get(parent).and_then(|n| self.survey.subjects[*n].entry);
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
            let (owner, verdict) = (&self.survey.subjects[*need], self.verdicts[*need].as_ref()?);
            let (_, attribute) =
                owner.kind.takes_along.iter().find(|(kind, _)| *kind == subject.kind.name)?;
            let follows = differences.iter().any(|difference| difference.attribute.name == *attribute);
            (verdict.removes() && follows)
                .then(|| format!("it is deleted together with the old {}", owner.address))
        })
    }

    fn choose_replacement_order(
        &self,
        n: usize,
        verdict: &mut Decision<'a>,
        blocks: &mut Blockers<'_, 'a>,
    ) {
        let subject = &self.survey.subjects[n];
        if matches!(subject.live, LiveState::Deleting(_)) {
            return;
        }
        // A resource without a block is decided later, and is deleted.
        let goes_first = |n: &usize| {
            let verdict = self.verdicts[*n].as_ref();
            self.succession.leaving.contains(n)
                || verdict.map_or(self.survey.subjects[*n].resource.is_none(), Decision::deletes_first)
        };
        let held_first = subject.held.iter().chain(&subject.needs).any(goes_first);
        let forced = if verdict.downstream && held_first {
            Some("a dependency is deleted before it is created again")
        } else if self.succession.circle.contains(&n) {
            Some("it and other resources exchange names or networks")
        } else {
            None
        };
        let (create_first, why) = replacement_order::replacement_order(subject, verdict, forced, blocks);
        verdict.act = DecisionKind::Replace { create_first };
        if let Some(why) = why {
            let reason = verdict.reason.take().unwrap_or_default();
            verdict.reason = Some(format!("{reason}; the old one is deleted first, because {why}"));
        }
    }

    fn is_frozen(&self, n: usize, subject: &ResourceState<'a>, blocks: &mut Blockers<'_, 'a>) -> bool {
        if !self.scope.contains(n) {
            return true;
        }
        if self.asked.contains(subject.address) {
            guards::block_ambiguous_intent(self.survey, subject, blocks);
            return true;
        }
        if self.has_lost_secret(subject) {
            kept_secrets::skip_lost_secret(subject, blocks);
            return true;
        }
        subject.needs.iter().any(|need| {
            self.verdicts[*need]
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
        if byproducts::stays_as_leftover(self.survey, subject) {
            return Decision::without_differences(DecisionKind::Keep, Cause::Config);
        }
        let remembered = subject.entry.is_some_and(|entry| entry.keep_on_remove);
        let keep = subject.block.map_or(remembered, |block| block.lifecycle.on_remove == OnRemove::Keep);
        let declared = self.survey.declared.removal_action(subject.address);
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
                let added = self.survey.declared.added.get(subject.address);
                let why = if let Some(added) = added.filter(|added| !added.reason.is_empty()) {
                    added.reason.clone()
                } else if self.survey.inputs.options.destroy {
                    "everything is destroyed".to_owned()
                } else {
                    let left_out = self.survey.left_out(subject.address);
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
    unfinished.then_some("an earlier apply stopped waiting before it was ready")
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
