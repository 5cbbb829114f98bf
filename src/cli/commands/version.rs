//! `stead version`: which program this is.

use crate::cli::exit::Exit;
use crate::cli::session::Session;

/// Prints name and version.
pub(in crate::cli) fn run(session: &Session) -> Exit {
    let version = env!("CARGO_PKG_VERSION");
    if session.ui.json {
        session.ui.out(&format!("{{\"schema_version\":1,\"version\":\"{version}\",\"language\":1}}\n"));
    } else {
        session.ui.out(&format!("stead {version} (language 1, plan format 1)\n"));
    }
    Exit::Done
}
