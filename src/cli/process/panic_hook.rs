//! When stead itself fails: no dump of its memory, and no values in what a panic prints.

use std::io::Write;
use std::panic;

use rustix::process::{Resource, Rlimit, setrlimit};

/// Turns dumps of memory off, for this process and those that it starts, and lets a panic tell where
/// it was and not what it held: a message can quote the text that it choked on.
pub fn install_panic_hook() {
    // Where the system does not let it, it dumps as it is set to: nothing to do about it here.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!("{}:{}", at.file(), at.line()));
        let place = place.unwrap_or_else(|| "an unknown place".to_owned());
        // Nobody is left to tell when this fails too.
        let _ = writeln!(std::io::stderr().lock(), "{}", panic_message(&place));
    }));
}

/// Says what a panic at a place means.
fn panic_message(place: &str) -> String {
    // The library of the built-in cloud's file answers some damage with a panic.
    if place.contains("/redb-") {
        return "error: the file of the built-in cloud is damaged.\n  \
                Put back a copy of it, or move it away: the cloud then begins anew."
            .to_owned();
    }
    format!(
        "error: this is a bug in stead, at {place} of version {}.\n  \
         What was done is in the ledger; the next run goes on from there. Please report it.",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_no_bug() {
        assert!(panic_message("/x/registry/redb-4.0.0/src/db.rs:12").contains("damaged"));
        assert!(
            panic_message("src/cli/hush.rs:12")
                .contains("a bug in stead, at src/cli/hush.rs:12 of version")
        );
    }
}
