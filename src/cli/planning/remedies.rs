//! Completes the remedies of a plan to commands that work where they are read: with the directory, the environment and the
//! other global flags of the stack. In: a plan, and the settings of its stack. Out: the plan with longer help texts, which its
//! fingerprint does not cover. Pure.

use crate::cli::process::settings::Settings;
use crate::cli::process::settings::printed_commands::{add_global_flags, bare, opening, without_end};
use crate::plan::model::change::Plan;
use crate::workspace::unit::UnitName;

/// Flags that name an address of one stack, or that only one stack takes: no command over many stacks has them.
const SINGLE_STACK_FLAGS: &[&str] =
    &["--adopt", "--exclude", "--overwrite-secret", "--target", "--with-leftovers"];

/// Flags that name an address, and of many stacks its unit, too.
const UNIT_FLAGS: &[&str] = &["--replace", "--delete-data"];

/// Gives the commands in the remedies of a plan the global flags of its stack.
pub(in crate::cli) fn complete_commands(plan: &mut Plan, settings: &Settings) {
    for_each_remedy(plan, |help| add_global_flags(help, &settings.said));
}

/// Does the same for a plan of many stacks, where a remedy can also be a flag that only a command on one stack takes: it
/// becomes that command. An approval of a loss names the unit: a plan of the stack alone may not show what replaces the object,
/// or who reads it.
pub(in crate::cli) fn complete_for_one_stack(plan: &mut Plan, unit: &UnitName, settings: &Settings) {
    let verb = if plan.base.destroy { "destroy" } else { "apply" };
    for_each_remedy(plan, |help| {
        if SINGLE_STACK_FLAGS.iter().any(|flag| help.contains(flag)) {
            return add_global_flags(&add_commands(help, verb), &settings.said);
        }
        add_global_flags(&name_unit(help, unit), &settings.said)
    });
}

fn for_each_remedy(plan: &mut Plan, complete: impl Fn(&str) -> String) {
    let blocks = plan.blocks.iter_mut().map(|block| &mut block.help);
    for help in blocks.chain(plan.notes.iter_mut().map(|note| &mut note.help)) {
        let completed = complete(help);
        if completed != *help {
            *help = completed;
        }
    }
}

/// Returns a remedy whose flags that name an address name the unit, too, where they do not yet.
fn name_unit(help: &str, unit: &UnitName) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in help.split(' ') {
        let follows_flag = words.last().is_some_and(|last| UNIT_FLAGS.contains(&bare(last)));
        words.push(if follows_flag && !word.contains(':') {
            format!("{unit}:{word}")
        } else {
            word.to_owned()
        });
    }
    words.join(" ")
}

/// Returns a remedy whose flags of one stack have the command before them.
fn add_commands(help: &str, verb: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in help.split(' ') {
        let is_flag = SINGLE_STACK_FLAGS.iter().chain(UNIT_FLAGS).any(|flag| *flag == without_end(word));
        // The value of another flag of the same command is before it.
        let follows_flag = words.len() > 1 && words[words.len() - 2].starts_with("--");
        if is_flag && !follows_flag {
            let named = words.pop_if(|last| ["apply", "destroy", "plan"].contains(&bare(last)));
            let before = words.pop_if(|last| bare(last) == "stead");
            let quote = opening(before.as_deref().or(named.as_deref()).unwrap_or_default());
            let command = named.as_deref().map_or(verb, bare);
            words.push(format!("{quote}stead"));
            words.push(command.to_owned());
        }
        words.push(word.to_owned());
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_of_one_stack_gets_the_command_that_takes_it() {
        for (help, complete) in [
            (
                "Adopt it with --adopt vm.a=1, or rename it.",
                "Adopt it with stead apply --adopt vm.a=1, or rename it.",
            ),
            ("Adopt it again: apply --adopt vm.a.", "Adopt it again: stead apply --adopt vm.a."),
            (
                "with stead apply --adopt vm.a=1 --replace vm.a.",
                "with stead apply --adopt vm.a=1 --replace vm.a.",
            ),
            ("`stead apply --exclude vm.a` has none.", "`stead apply --exclude vm.a` has none."),
            ("`destroy --with-leftovers` does.", "`stead destroy --with-leftovers` does."),
        ] {
            assert_eq!(add_commands(help, "apply"), complete);
        }
        let excluded = "Leave it out with --exclude vm.a.";
        assert_eq!(add_commands(excluded, "destroy"), "Leave it out with stead destroy --exclude vm.a.");
    }
}
