//! Failures for addresses on the command line that do not exist, with a suggestion; shared by all commands.

use super::project::LoadedStack;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::nearest_name;
use crate::plan::inputs::PlanningOptions;

/// Maximum number of addresses that are compared for a suggestion; more would make the failure slow.
const MAX_CANDIDATES: usize = 2000;

/// Returns the failure for an address that is not in the stack; `known` has the addresses that it may have meant.
pub(in crate::cli) fn unknown_address<'a>(
    address: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> CliFailure {
    let text = format!("no resource {address} in this stack");
    match nearest_name(address, known.into_iter().take(MAX_CANDIDATES)) {
        Some(near) => CliFailure::new(Exit::Usage, format!("{text}; did you mean {near}?")),
        None => CliFailure::new(Exit::Usage, text)
            .help("stead graph lists the resources, without those that this environment leaves out."),
    }
}

/// Refuses a plan that is limited to, or leaves out, an address that does not exist. A module counts as existing,
/// and so does an address that only the ledger has, or whose deletion is approved and that an earlier run changed.
///
/// # Errors
/// When an address does not exist, or the ledger has no forgotten object to take back.
pub(in crate::cli) fn reject_unknown_scope(
    project: &LoadedStack,
    ledger: &Ledger,
    options: &PlanningOptions,
) -> Result<(), CliFailure> {
    let known = || {
        let modules = project.stack.modules.keys().map(Name::as_str);
        let declared = project.stack.resources.keys().map(Address::as_str);
        declared.chain(ledger.entries.keys().map(Address::as_str)).chain(modules)
    };
    let resources = || project.stack.resources.keys().chain(ledger.entries.keys());
    let wanted = options.targets.iter().chain(&options.excluded).chain(&options.replace);
    // An earlier attempt of the same apply may have deleted the object: the same flags continue it.
    let deleted = options.delete_data.iter().filter(|address| !ledger.has_changed(address));
    let wanted = wanted.chain(deleted);
    for address in wanted.chain(options.adopt.keys()) {
        if !resources().any(|known| known.is_within(address)) {
            return Err(unknown_address(address.as_str(), known()));
        }
    }
    for address in &options.taken_back {
        if !resources().any(|known| known.is_within(address)) {
            return Err(unknown_address(address.as_str(), known()));
        }
        let is_there =
            ledger.kept.keys().chain(ledger.entries.keys()).any(|known| known.is_within(address));
        if !is_there {
            let text = format!("the ledger has no forgotten object of {address}");
            let help = format!(
                "Name the object: --adopt {address}=ID. List the unmanaged objects: stead ls --unmanaged"
            );
            return Err(CliFailure::new(Exit::Usage, text).help(help));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_address_gets_a_suggestion() {
        let known = ["vm.web.a", "vpc.main"];
        let failure = unknown_address("vm.wbe.a", known);
        assert_eq!(failure.exit, Exit::Usage);
        assert_eq!(failure.message, "no resource vm.wbe.a in this stack; did you mean vm.web.a?");
        let failure = unknown_address("database.x", known);
        assert_eq!(failure.message, "no resource database.x in this stack");
        assert!(failure.help[0].contains("stead graph"), "{:?}", failure.help);
    }
}
