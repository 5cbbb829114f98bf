//! The invocation of `stead do`: one action on one object, with the arguments and the request built from them.

use super::registry::KindAction;
use super::request::PreparedAction;
use super::target::{ActionScope, ActionTarget};
use crate::cli::actions::command_line::DoArgs;
use crate::cli::command_context::CommandContext;

/// One action on one object, with all that is needed to send it and to wait for its result.
#[derive(Clone, Copy)]
pub(in crate::cli) struct ActionInvocation<'a> {
    /// Settings, output and prompts of the command.
    pub(in crate::cli) session: &'a CommandContext,
    /// The stack or the bare connection that the action runs in.
    pub(in crate::cli) ground: &'a ActionScope,
    pub(in crate::cli) deed: KindAction,
    /// Object that the action applies to, or a whole kind.
    pub(in crate::cli) target: &'a ActionTarget,
    /// Arguments of the command line.
    pub(in crate::cli) args: &'a DoArgs,
    /// The request that the action sends, built and validated.
    pub(in crate::cli) order: &'a PreparedAction,
}
