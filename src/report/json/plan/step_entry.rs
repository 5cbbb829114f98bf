//! A step of an apply, as the plan's document and its event stream contain it.

use serde::Serialize;

use crate::model::address::Address;
use crate::model::schema::{Endpoint, Registry};
use crate::plan::annotate::rights::step_right;
use crate::plan::model::change::Plan;
use crate::plan::model::step::{Operation, Step};

/// A step of the apply.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub(in crate::report::json) struct StepEntry<'a> {
    /// Number of the step.
    step: usize,
    /// Address of the resource.
    address: &'a Address,
    /// What the step does with the object.
    operation: OperationKind,
    /// The first request, as `METHOD path`; ids are filled in when it is sent.
    request: Option<String>,
    /// Further requests, as `METHOD path`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    then: Vec<String>,
    /// Right that the key needs for it, such as `compute:write`; null if none of its kind is known.
    right: Option<&'static str>,
    /// Numbers of the steps that must succeed before.
    after: &'a [usize],
    /// Usual duration in seconds.
    seconds: u32,
}

/// What a step does with an object.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum OperationKind {
    /// It creates the object.
    Create,
    /// It changes the object in place.
    Update,
    /// It deletes the object.
    Delete,
}

impl OperationKind {
    const fn from_operation(operation: &Operation) -> Self {
        match operation {
            Operation::Create { .. } => Self::Create,
            Operation::Update { .. } => Self::Update,
            Operation::Delete { .. } => Self::Delete,
        }
    }
}

impl<'a> StepEntry<'a> {
    pub(in crate::report::json) fn from_step(number: usize, step: &'a Step, registry: Registry) -> Self {
        let mut requests = step_requests(step, registry).into_iter();
        Self {
            step: number,
            address: &step.address,
            operation: OperationKind::from_operation(&step.operation),
            request: requests.next(),
            then: requests.collect(),
            right: step_right(step, registry),
            after: &step.after,
            seconds: step.seconds,
        }
    }
}

/// Returns the requests that a step sends, such as `POST /api/v1/…`, in order.
#[must_use]
pub fn step_requests(step: &Step, registry: Registry) -> Vec<String> {
    let Some(kind) = registry.kind(&step.kind) else { return Vec::new() };
    let text = |endpoint: Endpoint| format!("{} {}", endpoint.method, endpoint.path);
    match &step.operation {
        Operation::Create { .. } => vec![text(kind.api.create)],
        Operation::Delete { .. } => vec![text(kind.api.delete)],
        Operation::Update { calls, .. } => calls
            .iter()
            .filter_map(|planned| kind.call(&planned.call))
            .map(|call| text(call.endpoint))
            .collect(),
    }
}

/// The longest chain of steps.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::report::json) struct CriticalPathEntry<'a> {
    /// Numbers of its steps, first to last.
    steps: &'a [usize],
    /// Usual duration of all its steps, in seconds.
    seconds: u32,
}

impl<'a> CriticalPathEntry<'a> {
    pub(in crate::report::json) fn from_critical_path(plan: &'a Plan) -> Self {
        Self { steps: &plan.critical_path.steps, seconds: plan.critical_path.seconds }
    }
}
