//! `ActionInvocation`: one action on one object, as it was asked for.

use super::registry::KindAction;
use super::request::PreparedAction;
use super::target::{ActionScope, ActionTarget};
use crate::cli::args::DoArgs;
use crate::cli::command_context::CommandContext;

/// One action on one object, as it was asked for.
#[derive(Clone, Copy)]
pub(in crate::cli) struct ActionInvocation<'a> {
    /// Settings and voice.
    pub(in crate::cli) session: &'a CommandContext,
    /// Where.
    pub(in crate::cli) ground: &'a ActionScope,
    /// The action.
    pub(in crate::cli) deed: KindAction,
    /// Its object.
    pub(in crate::cli) target: &'a ActionTarget,
    /// What was given.
    pub(in crate::cli) args: &'a DoArgs,
    /// Its request.
    pub(in crate::cli) order: &'a PreparedAction,
}
