//! Prevents a crash of stead from exposing secrets: no core dump, and no values in the message of a panic.

use std::io::Write;
use std::panic;

use rustix::process::{Resource, Rlimit, setrlimit};

/// Disables core dumps, for this process and its children, and makes a panic print its location without its message,
/// which can quote a secret of the input being parsed. Called once, before anything is read.
pub fn install_panic_hook() {
    // If the system refuses, its own limit for core dumps applies.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!("{}:{}", at.file(), at.line()));
        let place = place.unwrap_or_else(|| "an unknown location".to_owned());
        // If this write fails, there is no way left to report it.
        let _ = writeln!(std::io::stderr().lock(), "{}", panic_message(&place));
    }));
}

/// Returns the message for a panic at a source location.
fn panic_message(place: &str) -> String {
    // The database library of the built-in cloud panics on some kinds of file damage.
    if place.contains("/redb-") {
        return "error: the file of the built-in cloud is damaged.\n  \
                Restore it from a copy, or move it away: the cloud then starts empty."
            .to_owned();
    }
    format!(
        "error: this is a bug in stead, at {place} of version {}.\n  \
         The ledger has what was done; the next run continues from there. Please report it.",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_database_is_reported_as_a_damaged_file() {
        assert!(panic_message("/x/registry/redb-4.0.0/src/db.rs:12").contains("damaged"));
        assert!(
            panic_message("src/cli/hush.rs:12")
                .contains("a bug in stead, at src/cli/hush.rs:12 of version")
        );
    }
}
