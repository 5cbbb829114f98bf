//! Policies that the plan could not decide, evaluated again before a step. In: their conditions, which read the live
//! objects. Out: nothing, or why the step is denied; at the end, the result of each. Invariant: nothing is sent for a step
//! that a policy denies, and none for one that a mandatory policy still cannot decide.

use std::cell::RefCell;
use std::collections::BTreeSet;

use foldhash::{HashMap, HashMapExt};

use crate::apply::event::{ApplyEvent, StepError};
use crate::apply::step::operation_gerund;
use crate::apply::step_parts::StepParts;
use crate::cloud::http::message::Transport;
use crate::ledger::journal::store::Store;
use crate::model::address::Address;
use crate::model::cel::policy::PolicyLevel;
use crate::model::clock::{Clock, Random};
use crate::model::values::value::Value;
use crate::plan::model::change::{Plan, PolicyResult, PolicyStatus};
use crate::plan::model::policy_outcome::{DecidingStep, PolicyOutcome};
use crate::plan::model::step::{Operation, Step};
use crate::plan::model::undecided::UndecidedPolicy;

/// The undecided policies of a plan, each with the resources whose steps are still to come.
pub(in crate::apply) struct StepPolicies<'p> {
    policies: Vec<OpenPolicy<'p>>,
    /// The numbers of the policies of each resource.
    by_address: HashMap<&'p Address, Vec<usize>>,
}

/// An undecided policy, with what the run has found so far.
struct OpenPolicy<'p> {
    policy: &'p UndecidedPolicy,
    /// The resources whose steps are still to come.
    open: RefCell<BTreeSet<&'p Address>>,
    /// The worst decision so far; `None` while it is not decided.
    decision: RefCell<Option<Decision>>,
}

/// A decision before a step.
struct Decision {
    verdict: PolicyStatus,
    message: String,
    before: DecidingStep,
}

impl<'p> StepPolicies<'p> {
    pub(in crate::apply) fn new(undecided: &'p [UndecidedPolicy]) -> Self {
        let mut by_address: HashMap<&Address, Vec<usize>> = HashMap::new();
        for (number, policy) in undecided.iter().enumerate() {
            for address in &policy.addresses {
                by_address.entry(address).or_default().push(number);
            }
        }
        let open = |policy: &'p UndecidedPolicy| OpenPolicy {
            policy,
            open: RefCell::new(policy.addresses.iter().collect()),
            decision: RefCell::default(),
        };
        Self { policies: undecided.iter().map(open).collect(), by_address }
    }

    /// Returns the results of all policies that the plan could not decide, in its order.
    pub(in crate::apply) fn outcomes(&self, plan: &Plan) -> Vec<PolicyOutcome> {
        let undecided = plan.policy.iter().filter(|result| result.verdict == PolicyStatus::Unknown);
        let named = |one: &'_ OpenPolicy<'p>| (&one.policy.name, one.policy.address.as_ref());
        let open: HashMap<_, _> = self.policies.iter().map(|one| (named(one), one)).collect();
        let own = |result: &PolicyResult| open.get(&(&result.name, result.address.as_ref())).copied();
        undecided.map(|result| OpenPolicy::outcome(own(result), result)).collect()
    }
}

impl OpenPolicy<'_> {
    /// Returns the outcome of a result of the plan; `own` is the policy with its resource, if it waits for a step.
    fn outcome(own: Option<&Self>, planned: &PolicyResult) -> PolicyOutcome {
        let result = |verdict, message: String| PolicyResult { verdict, message, ..planned.clone() };
        if let Some(decided) = own.and_then(|one| one.decision.borrow_mut().take()) {
            let result = result(decided.verdict, decided.message);
            return PolicyOutcome { result, before: Some(decided.before) };
        }
        // Without a condition for a step, its resource does not change, so that it waits for none.
        let waits = own.is_some_and(|one| !one.open.borrow().is_empty());
        let text = own.map_or("", |one| &one.policy.message);
        PolicyOutcome {
            result: result(PolicyStatus::Unknown, undecided_message(waits, text)),
            before: None,
        }
    }
}

/// Returns why a policy was not decided. `waits` says that a step that it waits for was not run.
fn undecided_message(waits: bool, message: &str) -> String {
    let why = if waits {
        "A step that it waits for was not run"
    } else {
        "No step waits for a value that it needs"
    };
    if message.is_empty() { format!("{why}.") } else { format!("{why}: {message}") }
}

/// Evaluates the policies that wait for the values of a step's resource. The deletion of the old object in a replacement is
/// denied as the creation of the new one would be, and while that is not decided: otherwise its data would be lost for
/// nothing.
///
/// # Errors
/// When one of them denies the step, with all that do.
pub(in crate::apply) async fn check_policies<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    policies: &StepPolicies<'_>,
    (number, step): (usize, &Step),
) -> Result<(), StepError> {
    let deletes = matches!(step.operation, Operation::Delete { .. });
    // All are decided, also after a denial: its correction alone would lead to the next one.
    let mut denials: Vec<String> = Vec::new();
    for position in policies.by_address.get(&step.address).into_iter().flatten() {
        let Some(OpenPolicy { policy, open, decision }) = policies.policies.get(*position) else {
            continue;
        };
        // The object that a new one has replaced goes after the creation, which was evaluated.
        let is_open = if deletes {
            open.borrow().contains(&step.address)
        } else {
            open.borrow_mut().remove(&step.address)
        };
        if !is_open {
            continue;
        }
        let moment = match (deletes, open.borrow().is_empty()) {
            (true, _) => Moment::BeforeDeletion,
            (false, false) => Moment::BeforeOthers,
            (false, true) => Moment::Last,
        };
        let (verdict, message) = match evaluate_again(parts, policy, moment).await {
            Evaluation::Undecided => continue,
            Evaluation::Passed => (PolicyStatus::Pass, policy.message.clone()),
            Evaluation::Denied(why) => (denial_of(policy), why),
        };
        if decision.borrow().as_ref().is_none_or(|known| known.verdict < verdict) {
            let (address, doing) = (step.address.clone(), operation_gerund(&step.operation));
            let before = DecidingStep { step: number, doing, address };
            *decision.borrow_mut() = Some(Decision { verdict, message: message.clone(), before });
        }
        let why = format!("{}: {message}", policy.name);
        let text = match verdict {
            PolicyStatus::Deny => {
                denials.push(why);
                continue;
            }
            PolicyStatus::Warn if !deletes => format!("warning: {why}"),
            PolicyStatus::Overridden if !deletes => format!("overridden: {why}"),
            _ => continue,
        };
        parts.emit_event(ApplyEvent::Progress { step: number, address: step.address.clone(), text });
    }
    if denials.is_empty() { Ok(()) } else { Err(StepError::Denied(denials.join("; "))) }
}

/// Returns what a denial by a policy is: its level and an override decide that.
const fn denial_of(policy: &UndecidedPolicy) -> PolicyStatus {
    match policy.level {
        PolicyLevel::Advisory => PolicyStatus::Warn,
        PolicyLevel::Overridable if policy.is_overridden => PolicyStatus::Overridden,
        PolicyLevel::Overridable | PolicyLevel::Mandatory => PolicyStatus::Deny,
    }
}

/// When a policy is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Before the old object is deleted, and the new one created.
    BeforeDeletion,
    /// Before a step, with steps of other resources to come that the policy waits for.
    BeforeOthers,
    /// Before the last step that the policy waits for.
    Last,
}

/// The result of an evaluation before a step.
enum Evaluation {
    Passed,
    /// It denies the step, with this message.
    Denied(String),
    /// A value is not known yet, and that does not deny the step.
    Undecided,
}

/// Evaluates a policy before a step. A policy over the plan is decided at the latest before the last step that it waits
/// for; a mandatory one that is not decided then denies the step.
async fn evaluate_again<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    policy: &UndecidedPolicy,
    moment: Moment,
) -> Evaluation {
    let is_early = moment == Moment::BeforeDeletion && policy.is_waiting;
    Evaluation::Denied(match parts.evaluate_expression(&policy.condition).await {
        Ok(Value::Bool(true)) => policy.message.clone(),
        Ok(Value::Bool(false)) => return Evaluation::Passed,
        // One that would not deny the deletion is decided before the creation.
        Ok(Value::Unknown(_)) if is_early && denial_of(policy) != PolicyStatus::Deny => {
            return Evaluation::Undecided;
        }
        Ok(Value::Unknown(_)) if is_early => format!(
            "it is not decided before the old object is deleted; once the other changes are made, the next apply \
             decides it: {}",
            policy.message
        ),
        Ok(Value::Unknown(_)) if policy.level != PolicyLevel::Mandatory || moment != Moment::Last => {
            return Evaluation::Undecided;
        }
        Ok(Value::Unknown(_)) => format!(
            "it is mandatory, and a value that it needs is known only after this step: {}",
            policy.message
        ),
        Ok(Value::Secret(_)) => "it reads a secret, which a policy cannot do".to_owned(),
        Ok(other) => format!("it is {}, and not true or false", other.type_name()),
        Err(error) => format!("it cannot be evaluated: {error}"),
    })
}
