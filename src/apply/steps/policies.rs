//! Policies that the plan could not decide, evaluated again before a step. In: their conditions, which read the live
//! objects. Out: nothing, or why the step is denied. Invariant: nothing is sent for a step that a policy denies, and none
//! for one that a mandatory policy still cannot decide.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use crate::apply::event::{ApplyEvent, StepError};
use crate::apply::step_parts::StepParts;
use crate::cloud::http::message::Transport;
use crate::ledger::journal::store::Store;
use crate::model::address::Address;
use crate::model::cel::policy::PolicyLevel;
use crate::model::clock::{Clock, Random};
use crate::model::values::value::Value;
use crate::plan::model::step::{Operation, Step};
use crate::plan::model::undecided::UndecidedPolicy;

/// The undecided policies of a plan, each with the resources whose steps are still to come.
pub(in crate::apply) struct StepPolicies<'p> {
    policies: Vec<(&'p UndecidedPolicy, RefCell<BTreeSet<&'p Address>>)>,
    /// The numbers of the policies of each resource.
    by_address: HashMap<&'p Address, Vec<usize>>,
}

impl<'p> StepPolicies<'p> {
    pub(in crate::apply) fn new(undecided: &'p [UndecidedPolicy]) -> Self {
        let mut by_address: HashMap<&Address, Vec<usize>> = HashMap::new();
        for (number, policy) in undecided.iter().enumerate() {
            for address in &policy.addresses {
                by_address.entry(address).or_default().push(number);
            }
        }
        let open = |policy: &'p UndecidedPolicy| RefCell::new(policy.addresses.iter().collect());
        Self { policies: undecided.iter().map(|policy| (policy, open(policy))).collect(), by_address }
    }
}

/// Evaluates the policies that wait for the values of a step's resource. The deletion of the old object in a replacement is
/// denied as the creation of the new one would be, and while that is not decided: otherwise its data would be lost for
/// nothing.
///
/// # Errors
/// When one of them denies the step.
pub(in crate::apply) async fn check_policies<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    policies: &StepPolicies<'_>,
    (number, step): (usize, &Step),
) -> Result<(), StepError> {
    let deletes = matches!(step.operation, Operation::Delete { .. });
    for policy in policies.by_address.get(&step.address).into_iter().flatten() {
        let Some((policy, open)) = policies.policies.get(*policy) else { continue };
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
        let Some(why) = why_denied(parts, policy, moment).await else { continue };
        if policy.level != PolicyLevel::Advisory && !policy.is_overridden {
            return Err(StepError::Denied(why));
        }
        if deletes {
            continue;
        }
        let text = match policy.level {
            PolicyLevel::Advisory => format!("warning: {why}"),
            PolicyLevel::Overridable | PolicyLevel::Mandatory => format!("overridden: {why}"),
        };
        parts.emit_event(ApplyEvent::Progress { step: number, address: step.address.clone(), text });
    }
    Ok(())
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

/// Returns why a policy denies the step; `None` if it does not, or cannot be decided and is not mandatory. A policy over
/// the plan is decided at the latest before the last step that it waits for.
async fn why_denied<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    policy: &UndecidedPolicy,
    moment: Moment,
) -> Option<String> {
    let name = &policy.name;
    match parts.evaluate_expression(&policy.condition).await {
        Ok(Value::Bool(true)) => Some(format!("{name}: {}", policy.message)),
        Ok(Value::Bool(false)) => None,
        Ok(Value::Unknown(_)) if moment == Moment::BeforeDeletion && policy.is_waiting => Some(format!(
            "{name}: it is not decided before the old object is deleted; once the other changes are made, the next \
             apply decides it: {}",
            policy.message
        )),
        Ok(Value::Unknown(_)) if policy.level != PolicyLevel::Mandatory || moment != Moment::Last => None,
        Ok(Value::Unknown(_)) => Some(format!(
            "{name}: it is mandatory, and a value that it needs is known only after this step: {}",
            policy.message
        )),
        Ok(Value::Secret(_)) => Some(format!("{name}: it reads a secret, which a policy cannot do")),
        Ok(other) => Some(format!("{name}: it is {}, and not true or false", other.type_name())),
        Err(error) => Some(format!("{name}: it cannot be evaluated: {error}")),
    }
}
