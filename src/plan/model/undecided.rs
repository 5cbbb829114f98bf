//! `UndecidedPolicy`: a policy whose condition depends on values that only a part of the apply shows. It is evaluated again
//! before the steps of its resources. It is not part of a saved plan: the plan that an apply makes again has it.

use crate::model::address::{Address, Name};
use crate::model::cel::policy::PolicyLevel;
use crate::model::expression::Expression;

/// A policy that is evaluated again during the apply.
#[derive(Debug, Clone, PartialEq)]
pub struct UndecidedPolicy {
    /// The name of the policy.
    pub name: Name,
    /// What a denial does.
    pub level: PolicyLevel,
    /// The message of the denial.
    pub message: String,
    /// The resource that it is about; `None` for a policy over the plan.
    pub address: Option<Address>,
    /// Whether the user overrides it.
    pub is_overridden: bool,
    /// The resources before whose steps it is evaluated.
    pub addresses: Vec<Address>,
    /// The condition, which reads the live objects.
    pub condition: Expression,
    /// Whether a value that it needs becomes known before a step. Otherwise its verdict stays unknown.
    pub is_waiting: bool,
}
