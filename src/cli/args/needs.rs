//! Which commands have a use for a stack's secrets.

use super::{Command, SecretAction};

impl Command {
    /// Tells whether the stack's secrets enter what the command does: what it sends, compares with what it sends, or
    /// computes. The others must work for whoever has none of them: at night, in a cron, before a rescue.
    #[must_use]
    pub const fn needs_secrets(&self) -> bool {
        match self {
            Self::Plan(args) => !args.destroy,
            Self::Secret(args) => matches!(args.action, SecretAction::Rotate(_)),
            Self::Validate(_)
            | Self::Apply(_)
            | Self::Import(_)
            | Self::Eval(_)
            | Self::Test(_)
            | Self::Doctor(_)
            | Self::Recover(_)
            | Self::Lsp => true,
            Self::Init(_)
            | Self::Fmt(_)
            | Self::Convert(_)
            | Self::Render(_)
            | Self::Explain(_)
            | Self::Graph(_)
            | Self::Why(_)
            | Self::Show(_)
            | Self::Destroy(_)
            | Self::Drift(_)
            | Self::Mv(_)
            | Self::Rm(_)
            | Self::Ls(_)
            | Self::Get(_)
            | Self::Resolve(_)
            | Self::Login(_)
            | Self::Logout
            | Self::Whoami
            | Self::Catalog(_)
            | Self::Cost(_)
            | Self::Do(_)
            | Self::History(_)
            | Self::Lock(_)
            | Self::State(_)
            | Self::Ci(_)
            | Self::Emulator(_)
            | Self::Schema(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Complete(_)
            | Self::Version => false,
        }
    }
}
