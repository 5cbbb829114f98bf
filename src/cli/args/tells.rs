//! In which forms each command tells its results.

use super::Command;

/// What a command can tell to programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tells {
    /// One document; with `ndjson`, on one line.
    Document,
    /// With `json` one document, with `ndjson` one event a line as things happen.
    Events,
    /// Nothing: its text is what other programs take, or a protocol of its own.
    Text,
}

impl Command {
    /// Returns in which forms it tells its results.
    #[must_use]
    pub const fn output_forms(&self) -> Tells {
        match self {
            Self::Apply(_) | Self::Destroy(_) | Self::Do(_) | Self::Plan(_) | Self::Show(_) => {
                Tells::Events
            }
            Self::Complete(_) | Self::Completions(_) | Self::Man(_) | Self::Schema(_) | Self::Lsp => {
                Tells::Text
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
            | Self::Version => Tells::Document,
        }
    }
}
