//! What holds of each command as a whole: whether it needs the secrets of the stack, and in which
//! forms it writes its results.

use super::{Command, SecretAction};

/// Machine-readable output of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputSupport {
    /// One document; with `ndjson`, on a single line.
    Document,
    /// One document with `json`; with `ndjson`, one event per line while the command runs.
    Events,
    /// None: the text is meant for other programs, or the command has its own protocol.
    Text,
}

impl Command {
    /// Returns the machine-readable output formats of the command.
    #[must_use]
    pub const fn output_forms(&self) -> OutputSupport {
        match self {
            Self::Apply(_) | Self::Destroy(_) | Self::Do(_) | Self::Plan(_) | Self::Show(_) => {
                OutputSupport::Events
            }
            Self::Complete(_) | Self::Completions(_) | Self::Man(_) | Self::Schema(_) | Self::Lsp => {
                OutputSupport::Text
            }
            Self::Init(_)
            | Self::Validate(_)
            | Self::Fmt(_)
            | Self::Convert(_)
            | Self::Render(_)
            | Self::Eval(_)
            | Self::Explain(_)
            | Self::Graph(_)
            | Self::Why(_)
            | Self::Test(_)
            | Self::Drift(_)
            | Self::Import(_)
            | Self::Mv(_)
            | Self::Rm(_)
            | Self::Ls(_)
            | Self::Get(_)
            | Self::Resolve(_)
            | Self::Login(_)
            | Self::Logout
            | Self::Whoami
            | Self::Doctor(_)
            | Self::Catalog(_)
            | Self::Cost(_)
            | Self::Recover(_)
            | Self::History(_)
            | Self::Lock(_)
            | Self::State(_)
            | Self::Secret(_)
            | Self::Ci(_)
            | Self::Emulator(_)
            | Self::Version => OutputSupport::Document,
        }
    }
}

impl Command {
    /// Returns whether the command needs the values of the stack's secrets: it sends them, compares them, or computes
    /// with them. All other commands must work without them, for example in a scheduled job or during a recovery.
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
