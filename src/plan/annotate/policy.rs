//! Evaluation of policies: those on a kind for each of its resources, the others once for the plan. In: the
//! decisions, or the plan without its policy results; out: results, a blocker for each denial, and the conditions that are
//! evaluated again before a step. A policy never sees a secret's value.

pub(super) mod program;
pub(super) mod undecided;
pub(super) mod values;

use std::cell::LazyCell;
use std::collections::BTreeSet;

use foldhash::HashSet;

use self::program::{NamedFacts, PolicyEvaluation, PolicyProgram};
use self::undecided::{StepCondition, condition_of_plan, condition_of_resource};
use self::values::{ChangeValues, ContextValues, add_change_facts, plan_facts, resource_facts};
use crate::config::stack::model::Policy;
use crate::model::address::{Address, Name};
use crate::model::cel::policy::PolicyLevel;
use crate::model::diagnostic::blocker_code;
use crate::model::values::value::{Attributes, Value};
use crate::plan::artifact::fingerprint::with_fingerprint;
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::block::Blocker;
use crate::plan::model::change::{Change, ChangeCost, Plan, PolicyResult, PolicyStatus};
use crate::plan::model::note::{NoteCode, PlanNote};
use crate::plan::model::step::{Operation, Step};
use crate::plan::model::undecided::UndecidedPolicy;

/// A policy on kinds, with its results so far.
struct KindPolicy<'a> {
    program: PolicyProgram<'a>,
    evaluated: usize,
    results: Vec<PolicyResult>,
}

/// The policies of a stack, while its plan is assembled.
pub(in crate::plan) struct PlanPolicies<'s, 'a> {
    joined: &'s JoinedState<'a>,
    context: ContextValues,
    of_kinds: Vec<KindPolicy<'a>>,
    of_plan: Vec<PolicyProgram<'a>>,
    /// What all conditions over the plan read of its changes; `None` if none reads them.
    reads_of_changes: Option<NamedFacts>,
    /// The attributes of any kind that they may read.
    attributes: Vec<&'static str>,
    /// The values of the changes, by address.
    changes: Vec<(Address, ChangeValues)>,
    undecided: Vec<UndecidedPolicy>,
    /// Results of the built-in policies.
    built_in: Vec<PolicyResult>,
}

/// What the policies on its kind read of one resource.
pub(in crate::plan) struct ResourceFacts {
    /// The number of each policy, and the facts.
    of_policies: Vec<(usize, Attributes)>,
    /// Whether an object that an earlier replacement did not delete is deleted beside what is done to the resource.
    left_over: bool,
}

impl<'s, 'a> PlanPolicies<'s, 'a> {
    pub fn new(joined: &'s JoinedState<'a>) -> Self {
        let all = joined.inputs.stack.policies.iter();
        let (of_kinds, of_plan): (Vec<_>, Vec<_>) =
            all.filter_map(PolicyProgram::new).partition(|one| !one.policy.on.is_empty());
        let of_kinds = of_kinds
            .into_iter()
            .map(|program| KindPolicy { program, evaluated: 0, results: Vec::new() })
            .collect();
        let reads_changes = |program: &&PolicyProgram<'_>| program.named.names_explicitly("changes");
        let reads_of_changes =
            NamedFacts::merge(of_plan.iter().filter(reads_changes).map(|one| &one.named));
        let attributes = reads_of_changes
            .as_ref()
            .map(|named| attributes_of_any_kind(joined, named))
            .unwrap_or_default();
        Self {
            joined,
            context: ContextValues::new(joined),
            of_kinds,
            reads_of_changes,
            attributes,
            of_plan,
            changes: Vec::new(),
            undecided: Vec::new(),
            built_in: Vec::new(),
        }
    }

    /// Collects what the policies read of a resource. Its decision is consumed before its change is known.
    /// `left_over` says whether an object that an earlier replacement did not delete is deleted, too.
    pub fn collect_facts(
        &mut self,
        subject: &ResourceState<'_>,
        decision: &Decision<'_>,
        left_over: bool,
    ) -> ResourceFacts {
        let joined = self.joined;
        if let Some(named) = &self.reads_of_changes {
            let values = ChangeValues::new(joined, subject, decision, (named, &self.attributes));
            self.changes.push((subject.address.clone(), values));
        }
        let concerned = self.of_kinds.iter().enumerate().filter(|(_, one)| {
            let concerns = one.program.policy.on.iter().any(|kind| kind.name == subject.kind.name);
            // A policy on resources does not apply to one that is deleted or forgotten, unless it reads `action` or
            // `effects`, or computes the name of what it reads.
            let goes = matches!(decision.act, DecisionKind::Delete | DecisionKind::Forget)
                || subject.resource.is_none();
            let reads_removal =
                ["action", "effects"].iter().any(|fact| one.program.named.covers_name(fact));
            concerns && (!goes || reads_removal)
        });
        if decision.leaves_absent(subject.object()) {
            // It has no values that a policy could judge: a flag leaves it out, or it is blocked.
            let numbers: Vec<usize> = concerned.map(|(number, _)| number).collect();
            for number in numbers {
                self.of_kinds[number].evaluated += 1;
            }
            return ResourceFacts { of_policies: Vec::new(), left_over };
        }
        let of_policies = concerned
            .map(|(number, one)| (number, resource_facts(joined, subject, decision, &one.program.named)))
            .collect();
        ResourceFacts { of_policies, left_over }
    }

    /// Evaluates the policies on the kind of a resource, with its change if it has one.
    pub fn evaluate_resource(
        &mut self,
        subject: &ResourceState<'_>,
        facts: ResourceFacts,
        change: Option<&Change>,
        cost: &ChangeCost,
    ) {
        if change.is_none() && self.reads_of_changes.is_some() {
            self.changes.pop();
        }
        for (number, mut seen) in facts.of_policies {
            let one = &mut self.of_kinds[number];
            add_change_facts(&mut seen, &one.program.named, change, cost);
            let mut seen = Value::Map(seen);
            let mut said = one.program.evaluate(self.context.roots().chain([("self", &seen)]));
            if facts.left_over && matches!(said, PolicyEvaluation::Pass) {
                set_action_delete(&mut seen);
                said = one.program.evaluate(self.context.roots().chain([("self", &seen)]));
            }
            one.evaluated += 1;
            if let Some(change) = change.filter(|_| matches!(said, PolicyEvaluation::Unknown(_))) {
                let again = condition_of_resource(&one.program, &self.context, seen, subject);
                let has_steps = !change.steps.is_empty();
                let about = Some(subject.address);
                let policy = (one.program.policy, about);
                said = leave_undecided(self.joined, policy, (again, has_steps), said, &mut self.undecided);
            }
            let result =
                policy_result(self.joined, (&one.program, &self.context), Some(subject.address), said);
            one.results.extend(result);
        }
    }

    /// Adds results of built-in policies.
    pub fn add_built_in(&mut self, results: impl IntoIterator<Item = PolicyResult>) {
        self.built_in.extend(results);
    }

    /// Evaluates the policies on the plan, adds the results of all policies to it, with a blocker for each denial, and
    /// computes the fingerprint. The fingerprint is last because it covers the results.
    pub fn finish(mut self, mut plan: Plan) -> Plan {
        let mut results = Vec::new();
        for one in std::mem::take(&mut self.of_kinds) {
            if one.evaluated == 0 && !one.program.policy.is_of_settings {
                plan.notes.push(unmatched_note(self.joined, one.program.policy));
            }
            if one.results.is_empty() {
                results.push(passing_result(self.joined, &one.program, &self.context));
            }
            results.extend(one.results);
        }
        let kinds: Vec<&'static str> =
            self.joined.inputs.registry.kinds.iter().map(|kind| kind.name).collect();
        let sends = |step: &&Step| !matches!(step.operation, Operation::Delete { .. });
        let sending = LazyCell::new(|| {
            plan.steps.iter().filter(sends).map(|step| &step.address).collect::<HashSet<&Address>>()
        });
        let of_change = self.changes.iter().map(|(address, values)| (address.as_str(), values)).collect();
        for program in &self.of_plan {
            let seen = Value::Map(plan_facts(&plan, &kinds, &program.named, &of_change));
            let mut said = program.evaluate(self.context.roots().chain([("plan", &seen)]));
            if matches!(said, PolicyEvaluation::Unknown(_)) {
                let mut again =
                    condition_of_plan(self.joined, program, &self.context, (seen, &self.changes));
                again.addresses.retain(|address| sending.contains(address));
                let has_steps = !again.addresses.is_empty();
                let policy = (program.policy, None);
                said = leave_undecided(self.joined, policy, (again, has_steps), said, &mut self.undecided);
            }
            results.push(
                policy_result(self.joined, (program, &self.context), None, said)
                    .unwrap_or_else(|| passing_result(self.joined, program, &self.context)),
            );
        }
        // Stable: results of one code stay in address order.
        if !self.built_in.is_sorted_by(|a, b| a.name <= b.name) {
            self.built_in.sort_by(|a, b| a.name.cmp(&b.name));
        }
        if results.is_empty() {
            results = self.built_in;
        } else {
            results.extend(self.built_in);
        }
        plan.policy = results;
        plan.undecided = self.undecided;
        let remedy = override_command(&plan, &self.joined.inputs.options.apply_command);
        let denied = plan.policy.iter().filter(|result| result.verdict == PolicyStatus::Deny);
        plan.blocks.extend(denied.map(|result| denial_blocker(result, &remedy)));
        with_fingerprint(plan)
    }
}

/// Makes the facts about a resource those of a deletion, where a condition reads the action.
fn set_action_delete(seen: &mut Value) {
    if let Value::Map(facts) = seen
        && let Some(action) = facts.get_mut("action")
    {
        *action = Value::text("delete");
    }
}

/// Returns the attributes of all kinds that conditions name; none if they may read any: then each change has those of its
/// own kind.
fn attributes_of_any_kind(joined: &JoinedState<'_>, named: &NamedFacts) -> Vec<&'static str> {
    if named.reads_all() {
        return Vec::new();
    }
    let all = joined.inputs.registry.kinds.iter().flat_map(|kind| kind.attributes).map(|one| one.name);
    let mut names: Vec<&str> = all.filter(|name| named.covers_attribute(name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the command that overrides all denials of a plan which can be overridden: one alone is not enough. `command` is
/// the one that applies the plan; empty for one without flags.
fn override_command(plan: &Plan, command: &str) -> String {
    let is_overridable = |result: &&PolicyResult| {
        result.level == PolicyLevel::Overridable
            && matches!(result.verdict, PolicyStatus::Deny | PolicyStatus::Overridden)
    };
    let names: BTreeSet<&Name> =
        plan.policy.iter().filter(is_overridable).map(|result| &result.name).collect();
    let options: String = names.iter().flat_map(|name| [" --override ", name.as_str()]).collect();
    let command = match command {
        "" if plan.base.destroy => "stead destroy",
        "" => "stead apply",
        command => command,
    };
    format!("{command}{options} --reason \"...\"")
}

/// Returns the blocker of a denial. `remedy` is the command that overrides all of them.
fn denial_blocker(result: &PolicyResult, remedy: &str) -> Blocker {
    Blocker {
        code: blocker_code::POLICY.code.into(),
        address: result.address.clone(),
        text: format!("{}: {}", result.name, result.message),
        help: match result.level {
            PolicyLevel::Mandatory => {
                "Change what the policy denies: it is mandatory, so nothing overrides it.".to_owned()
            }
            PolicyLevel::Advisory | PolicyLevel::Overridable => {
                format!("Change what the policy denies, or: {remedy} (recorded).")
            }
        },
        source: result.source.clone(),
    }
}

/// Returns the result of an evaluation; `None` if the policy passes.
fn policy_result(
    joined: &JoinedState<'_>,
    (program, context): (&PolicyProgram<'_>, &ContextValues),
    address: Option<&Address>,
    said: PolicyEvaluation,
) -> Option<PolicyResult> {
    let policy = program.policy;
    let no = match policy.level {
        PolicyLevel::Advisory => PolicyStatus::Warn,
        PolicyLevel::Overridable if is_overridden(joined, policy) => PolicyStatus::Overridden,
        PolicyLevel::Overridable | PolicyLevel::Mandatory => PolicyStatus::Deny,
    };
    let (verdict, message) = match said {
        PolicyEvaluation::Pass => return None,
        PolicyEvaluation::Deny => (no, policy.message.clone()),
        PolicyEvaluation::Unknown(waits) => (
            PolicyStatus::Unknown,
            format!("It is evaluated once the values of {waits} are known: {}", policy.message),
        ),
        PolicyEvaluation::Undecidable(waits) => (
            PolicyStatus::Unknown,
            format!(
                "It is decided neither here nor before a step, since values of {waits} are known only after it: {}",
                policy.message
            ),
        ),
        PolicyEvaluation::Failed(why) => (no, format!("It cannot be evaluated: {why}.")),
    };
    Some(PolicyResult {
        address: address.cloned(),
        verdict,
        message,
        ..passing_result(joined, program, context)
    })
}

fn is_overridden(joined: &JoinedState<'_>, policy: &Policy) -> bool {
    policy.level == PolicyLevel::Overridable && joined.inputs.options.overrides.contains(&policy.name)
}

fn passing_result(
    joined: &JoinedState<'_>,
    program: &PolicyProgram<'_>,
    context: &ContextValues,
) -> PolicyResult {
    let policy = program.policy;
    PolicyResult {
        name: policy.name.clone(),
        address: None,
        level: policy.level,
        verdict: PolicyStatus::Pass,
        message: policy.message.clone(),
        context: context.select(&program.context),
        is_default: false,
        source: joined.inputs.stack.sources.location_of(policy.span),
    }
}

/// Adds a policy that is evaluated again before the steps of its resources, and returns what the plan says of it until then. A
/// mandatory one whose verdict does not become known before a step is denied in the plan already: what the apply would have to
/// refuse is refused before it begins.
fn leave_undecided(
    joined: &JoinedState<'_>,
    (policy, about): (&Policy, Option<&Address>),
    (again, has_steps): (StepCondition, bool),
    said: PolicyEvaluation,
    undecided: &mut Vec<UndecidedPolicy>,
) -> PolicyEvaluation {
    let waits_for_steps = again.is_waiting && has_steps;
    if policy.level == PolicyLevel::Mandatory && !waits_for_steps {
        let why = "it is mandatory, and a value that it needs is known only after the change";
        return PolicyEvaluation::Failed(why.to_owned());
    }
    undecided.push(UndecidedPolicy {
        name: policy.name.clone(),
        level: policy.level,
        message: policy.message.clone(),
        address: about.cloned(),
        is_overridden: is_overridden(joined, policy),
        addresses: again.addresses,
        condition: again.condition,
        is_waiting: again.is_waiting,
    });
    said.for_steps(waits_for_steps)
}

/// Returns the note about a policy on kinds of which the plan has no resource: a misspelled one would deny nothing.
fn unmatched_note(joined: &JoinedState<'_>, policy: &Policy) -> PlanNote {
    let kinds: Vec<&str> = policy.on.iter().map(|kind| kind.name).collect();
    PlanNote {
        code: NoteCode::Unmatched,
        text: format!("the policy {} matched nothing: there is no {} that it applies to", policy.name, kinds.join(" and no ")),
        help: "Nothing to do if that is intended; otherwise check its `on`. A policy applies to a deletion only if it reads `self.action` or `self.effects`.".to_owned(),
        source: joined.inputs.stack.sources.location_of(policy.span),
        address: None,
    }
}
