//! Decides which changes of a plan `--yes` approves, and whether it is the plan that the user expects. Pure.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use jiff::Timestamp;

use crate::cli::args::plan::OverrideArgs;
use crate::cli::args::values::AutoApproval;
use crate::cli::args::values::ChangeKind;
use crate::cli::process::exit_code::Exit;
use crate::cli::process::failure::CliFailure;
use crate::config::stack::model::{Policy, Stack};
use crate::ledger::state::run_history::{Run, RunEnd, RunOrigin};
use crate::model::address::Name;
use crate::model::cel::policy::PolicyLevel;
use crate::model::diagnostic::nearest_name;
use crate::plan::artifact::saved_plan::StalePlan;
use crate::plan::model::change::{Action, Change, Plan};
use crate::report::views::history::format_time;
use crate::workspace::combined::has_work;

/// Returns the changes of a plan that an approval does not cover, in the plan's order, each with a kind of change that the
/// approval lacks; empty if it covers all.
///
/// Adopting counts as creating, and as updating, too, if it changes the object; moving, which touches the ledger only, as
/// updating. What deletes the older object of an earlier replacement is a deletion, too. Reading needs no approval.
pub fn uncovered_changes<'a>(consent: &AutoApproval, plan: &'a Plan) -> Vec<(&'a Change, ChangeKind)> {
    let AutoApproval::Only(kinds) = consent else { return Vec::new() };
    let lacking =
        |change| change_kinds(plan, change).into_iter().flatten().find(|kind| !kinds.contains(kind));
    plan.changes.iter().filter_map(|change| Some((change, lacking(change)?))).collect()
}

/// Returns the kinds of change of a change; none for a read, which changes nothing.
fn change_kinds(plan: &Plan, change: &Change) -> [Option<ChangeKind>; 3] {
    let adapts = change.action == Action::Adopt && !change.attributes.is_empty();
    let kind = match change.action {
        Action::Create | Action::Adopt => Some(ChangeKind::Create),
        Action::Update | Action::Move => Some(ChangeKind::Update),
        Action::Forget => Some(ChangeKind::Forget),
        Action::Replace => Some(ChangeKind::Replace),
        Action::Delete => Some(ChangeKind::Delete),
        Action::Read => None,
    };
    let deletes = plan.deletes_older_object(change);
    [kind, adapts.then_some(ChangeKind::Update), deletes.then_some(ChangeKind::Delete)]
}

/// Policies that the command line overrides, and the reason, which the ledger records.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::cli) struct PolicyOverrides<'a>(pub(in crate::cli) Option<&'a OverrideArgs>);

impl PolicyOverrides<'_> {
    pub(in crate::cli) fn policy_names(self) -> BTreeSet<Name> {
        self.0.iter().flat_map(|args| args.policies.iter().cloned()).collect()
    }

    /// Returns the reason; `None` without an override.
    pub(in crate::cli) fn reason(self) -> Option<String> {
        self.0.and_then(|args| args.reason.clone())
    }

    /// Returns the flags as the user would type them, quoted for a shell; empty without an override.
    pub(in crate::cli) fn format_flags(self) -> Vec<String> {
        self.0.map(OverrideArgs::format_flags).unwrap_or_default()
    }

    /// Checks that each overridden policy exists in one of the stacks, and can be overridden in one of those that have it: a
    /// misspelled name would override nothing.
    pub(in crate::cli) fn check_policies<'s>(
        self,
        stacks: impl Iterator<Item = &'s Stack>,
    ) -> Result<(), CliFailure> {
        let known: Vec<&Policy> = stacks.flat_map(|stack| &stack.policies).collect();
        for name in self.0.iter().flat_map(|args| &args.policies) {
            let mut own = known.iter().filter(|policy| policy.name == *name).peekable();
            if own.peek().is_none() {
                return Err(unknown_policy(name, &known));
            }
            if own.all(|policy| policy.level == PolicyLevel::Mandatory) {
                let what = format!("the policy {name} is mandatory, so nothing overrides it");
                return Err(
                    CliFailure::new(Exit::Usage, what).help("Change what it denies, or the policy itself.")
                );
            }
        }
        Ok(())
    }
}

fn unknown_policy(name: &str, policies: &[&Policy]) -> CliFailure {
    let known: BTreeSet<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
    let help = match nearest_name(name, known.iter().copied()) {
        Some(near) => format!("Did you mean {near}?"),
        None if known.is_empty() => {
            "The configuration has no policies, or errors: leave --override out, or correct them."
                .to_owned()
        }
        None => format!("Policies are: {}.", known.into_iter().collect::<Vec<_>>().join(", ")),
    };
    CliFailure::new(Exit::Usage, format!("no policy has the name {name}")).help(&help)
}

/// Returns the failure for a saved plan that can no longer be applied.
pub(in crate::cli) fn plan_again(stale: &StalePlan) -> CliFailure {
    let help = match stale {
        StalePlan::ConfigChanged => {
            "Give the --var and --var-file flags of the plan, if it had any; or make a new plan, and review it."
        }
        _ => "Make a new plan, and review it.",
    };
    CliFailure::new(Exit::OutOfDate, stale.to_string()).help(help)
}

/// Returns the run that applied the expected plan to its end: the last one of the ledger, with the present configuration.
/// `None` if there is no such run, or something is left to do.
pub(in crate::cli) fn find_applied_run<'l>(
    expected: Option<&Name>,
    plan: &Plan,
    history: &'l VecDeque<Run>,
) -> Option<(&'l Run, &'l RunEnd)> {
    let expected = expected.filter(|expected| **expected != plan.fingerprint && !has_work(plan))?;
    let run = history.back()?;
    let RunOrigin { fingerprint, config, .. } = &run.origin;
    let is_expected = fingerprint.as_ref() == Some(expected)
        && config.as_ref().is_some_and(|config| **config == *plan.base.config);
    run.end.as_ref().filter(|end| is_expected && end.complete).map(|end| (run, end))
}

/// Returns the sentence for a review that was applied to its end.
pub(in crate::cli) fn applied_already(run: &dyn fmt::Display, at: Timestamp) -> String {
    format!("Applied already: run {run}, {}. Nothing was sent.", format_time(at))
}

/// Checks that the plan has the expected fingerprint; `None` expects none.
pub(in crate::cli) fn check_fingerprint(expected: Option<&Name>, plan: &Plan) -> Result<(), CliFailure> {
    match expected {
        Some(expected) if *expected != plan.fingerprint && !plan.has_changes() => Err(CliFailure::new(
            Exit::OutOfDate,
            format!("nothing is left to do: the current plan is empty, not {expected}"),
        )
        .help("It was applied already, or the live objects changed to the desired state otherwise. Nothing was sent.")),
        Some(expected) if *expected != plan.fingerprint => Err(CliFailure::new(
            Exit::OutOfDate,
            format!(
                "the plan is {} now, not {expected}: the configuration, its variables, the ledger or live objects changed since then",
                plan.fingerprint
            ),
        )
        .help("Nothing was sent. Review the current plan, then pass its fingerprint with --expect.")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::plans;

    #[test]
    fn a_kind_of_change_that_is_not_named_is_not_approved() {
        use ChangeKind::{Create, Delete, Forget, Replace, Update};

        let plan = plans::full();
        let outside = |kinds: &[ChangeKind]| -> Vec<String> {
            let consent = AutoApproval::Only(kinds.iter().copied().collect());
            uncovered_changes(&consent, &plan)
                .iter()
                .map(|(change, _)| change.address.to_string())
                .collect()
        };
        assert_eq!(outside(&[Create, Update]), ["vm.web.a", "volume.old", "vm.legacy"]);
        assert_eq!(outside(&[Create, Update, Replace, Delete]), ["vm.legacy"], "it stays live, and billed");
        assert_eq!(outside(&[Create, Update, Replace, Delete, Forget]), Vec::<String>::new());
        assert_eq!(uncovered_changes(&AutoApproval::All, &plan), Vec::new());
    }
}
