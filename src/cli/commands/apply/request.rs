//! Command-line arguments of `apply`, and the request that `apply`, `destroy` and `secret rotate` have in common.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::cli::args::plan::{ExecutionArgs, OverrideArgs, PlanScopeArgs};
use crate::cli::args::report;
use crate::cli::args::values::{AutoApproval, parse_approval};
use crate::cli::args::workspace::{ReaderArgs, RemovalArgs, UnitArgs, format_unit_flags};
use crate::cli::artifacts::reviewed_plan::ReviewedPlans;
use crate::cli::command_context::CommandContext;
use crate::cli::files::shell_path::quote_path;
use crate::cli::planning::approval::PolicyOverrides;
use crate::ledger::runs::row::parse_run_name;
use crate::model::address::Name;
use crate::model::live::snapshot::ObjectKey;
use crate::plan::inputs::PlanningOptions;
use crate::plan::model::change::{Action, Plan};
use crate::workspace::fit::UnitPhase;
use crate::workspace::unit::UnitName;

/// Command-line arguments of `stead apply`.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    after_help = "Examples:\n  stead apply -e staging\n  stead apply prod.plan\n  stead apply --yes=create,update\n  stead apply --expect $FINGERPRINT\n  stead apply --expect $FINGERPRINT --against reviewed.md\n  stead apply prod.plan --expect $FINGERPRINT --verify-key plan.pub\n  stead apply --override budget --reason 'agreed with finance'\n  stead apply --all --expect $FINGERPRINT\n  stead apply --all --expect $FINGERPRINT --join $CI_PIPELINE_ID\n  stead apply --all --remove old/prod --expect $FINGERPRINT\n\nA secret sink that is a program is defined in your own settings.toml, and reads the secret from standard input:\n  [profiles.default.sinks]\n  vault = [\"sh\", \"-c\", \"pass insert -m shop/$STEAD_ADDRESS\"]"
)]
pub struct ApplyArgs {
    /// A saved plan, which is applied unchanged or not at all; or a directory of plans that `plan --all -o` saved
    #[arg(conflicts_with_all = ["targets", "exclude", "adopt", "replace", "delete_data", "allow_deletes", "all", "patterns", "changed", "with_dependents", "units", "force_readers"])]
    pub file: Option<PathBuf>,
    /// Apply the saved plan only if one of these Ed25519 public keys in PEM form signed it [env: STEAD_PLAN_VERIFY_KEY]
    #[arg(long, value_name = "FILE", requires = "file")]
    pub verify_key: Option<PathBuf>,
    /// Do not prompt; with kinds of change (create, update, replace, delete, forget), only if the plan has no other kind
    #[arg(long, value_name = "KINDS", num_args = 0..=1, require_equals = true, default_missing_value = "all", value_parser = parse_approval)]
    pub yes: Option<AutoApproval>,
    /// Apply only if the plan has this fingerprint; counts as approval of the plan
    #[arg(long, value_name = "FINGERPRINT", value_parser = parse_fingerprint)]
    pub expect: Option<Name>,
    /// If the plan has another fingerprint, say how it differs from this reviewed plan: a saved plan, a directory of
    /// plans, or a comment that `stead ci reviewed --save` wrote
    #[arg(long, value_name = "FILE", requires = "expect")]
    pub against: Option<PathBuf>,
    /// Apply as one of several workers, which share the units of this run; needs an approved plan
    #[arg(long, value_name = "RUN", value_parser = parse_run_name)]
    pub join: Option<Name>,
    /// Policies that are overridden, and the reason.
    #[command(flatten)]
    pub overriding: OverrideArgs,
    /// Parallelism, reports and time bounds of the run.
    #[command(flatten)]
    pub running: ExecutionArgs,
    /// Resources that the plan covers.
    #[command(flatten)]
    pub scope: PlanScopeArgs,
    /// Stacks that the command covers.
    #[command(flatten)]
    pub units: UnitArgs,
    /// Removed units whose objects are deleted.
    #[command(flatten)]
    pub removals: RemovalArgs,
    /// Units that may lose what they use.
    #[command(flatten)]
    pub readers: ReaderArgs,
}

/// Parameters of an apply or a destroy of many units.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct UnitsApplyRequest<'a> {
    /// Which units are selected.
    pub(in crate::cli) units: &'a UnitArgs,
    /// Removed units whose objects are deleted.
    pub(in crate::cli) removals: &'a [UnitName],
    /// Units that are not selected, and may lose what they use.
    pub(in crate::cli) readers: &'a [UnitName],
    /// Options of the plans.
    pub(in crate::cli) scope: &'a PlanScopeArgs,
    /// Parallelism, reports and time bounds of the run.
    pub(in crate::cli) running: &'a ExecutionArgs,
    /// Approval given on the command line; `None` prompts for it.
    pub(in crate::cli) yes: Option<&'a AutoApproval>,
    /// Fingerprint that the plans must have together; `None` accepts any.
    pub(in crate::cli) expected: Option<&'a Name>,
    /// What was reviewed, for the message if the fingerprint is another one.
    pub(in crate::cli) against: Option<&'a Path>,
    /// Whether to delete the resources of the stack.
    pub(in crate::cli) destroy: bool,
    /// Name that the root directory must have (`--confirm`); `None` if the command line states none.
    pub(in crate::cli) confirm: Option<&'a Name>,
    /// Policies that are overridden, and the reason.
    pub(in crate::cli) overriding: &'a OverrideArgs,
    /// Run that this process joins as a worker; `None` applies all units itself.
    pub(in crate::cli) join: Option<&'a Name>,
}

impl UnitsApplyRequest<'_> {
    /// Returns the command with the flags that select units, without global flags.
    pub(in crate::cli) fn format_command(&self) -> String {
        if self.destroy {
            // A destroy takes no approval of deletions, and leaves removed units.
            return format!("destroy{}", format_unit_flags(self.units, &[], &[], self.readers));
        }
        let command = format!("apply{}", self.format_flags());
        std::iter::once(command).chain(self.overriding.format_flags()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the command that plans what this one applies, without global flags.
    pub(in crate::cli) fn format_plan_command(&self) -> String {
        let destroy = if self.destroy { " --destroy" } else { "" };
        format!("plan{}{destroy}", self.format_flags())
    }

    /// Returns the flags that select units and approve what else blocks them, as the user would type them.
    pub(in crate::cli) fn format_flags(&self) -> String {
        format_unit_flags(self.units, self.removals, &self.scope.format_approvals(), self.readers)
    }
}

impl<'a> From<&'a ApplyArgs> for UnitsApplyRequest<'a> {
    fn from(args: &'a ApplyArgs) -> Self {
        Self {
            units: &args.units,
            removals: &args.removals.units,
            readers: &args.readers.force_readers,
            scope: &args.scope,
            running: &args.running,
            yes: args.yes.as_ref(),
            expected: args.expect.as_ref(),
            against: args.against.as_deref(),
            destroy: false,
            confirm: None,
            overriding: &args.overriding,
            join: args.join.as_ref(),
        }
    }
}

/// Parameters of an apply, from the command line of `apply`, `destroy` or `secret rotate`.
#[derive(Debug, Clone)]
pub(in crate::cli) struct ApplyRequest<'a> {
    /// Resources that the plan covers.
    pub(in crate::cli) scope: &'a PlanScopeArgs,
    /// Parallelism, reports and time bounds of the run.
    pub(in crate::cli) running: &'a ExecutionArgs,
    /// Approval given on the command line; `None` prompts for it.
    pub(in crate::cli) yes: Option<AutoApproval>,
    /// Fingerprint that the plan must have (`--expect`), 64 lower-case digits; `None` accepts any plan.
    pub(in crate::cli) expected: Option<Name>,
    /// What was reviewed, for the message if the fingerprint is another one.
    pub(in crate::cli) against: Option<&'a ReviewedPlans>,
    /// Policies that are overridden, and the reason.
    pub(in crate::cli) overriding: PolicyOverrides<'a>,
    /// Whether to delete the resources of the stack.
    pub(in crate::cli) destroy: bool,
    /// Name that the stack must have (`--confirm`); `None` if the command line states none.
    pub(in crate::cli) stack: Option<&'a Name>,
    /// Whether to also delete objects derived from the stack's objects: backups, and volumes of claims.
    pub(in crate::cli) with_leftovers: bool,
}

impl ApplyRequest<'_> {
    /// Returns the command with all flags that decide what is applied, without global flags: with fewer of them, it would
    /// change more.
    pub(super) fn format_command(&self) -> String {
        let command = self.scope.format_command(self.destroy, self.with_leftovers);
        std::iter::once(command).chain(self.overriding.format_flags()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the command of a destroy that needs no prompt, without global flags.
    pub(super) fn format_confirmed_command(&self, stack: &Name) -> String {
        format!("{} --yes --confirm {stack}", self.format_command())
    }

    /// Returns the options of the plan.
    pub(super) fn planning_options(&self, session: &CommandContext) -> PlanningOptions {
        let command = self.scope.format_command(self.destroy, self.with_leftovers);
        PlanningOptions {
            overrides: self.overriding.policy_names(),
            with_leftovers: self.with_leftovers,
            wants_values: report::shows_whole(&self.running.reports.wanted),
            apply_command: session.command_line(&command),
            ..session.options(self.scope, self.destroy)
        }
    }
}

/// Returns the command that applies a saved plan, or a directory of them.
pub(super) fn apply_file_command(path: &Path) -> String {
    format!("apply {}", quote_path(path))
}

/// A unit of an apply of many units, with the plan that was reviewed.
pub(super) struct ReviewedUnit<'a> {
    pub(super) plan: &'a Plan,
    /// Which part of the plan runs.
    pub(super) phase: UnitPhase,
    /// Whether its deletions wait for other units.
    pub(super) holds_deletions: bool,
    /// Whether an earlier attempt of the same apply made some of its changes.
    pub(super) is_begun: bool,
    /// Objects that the other units of the run own.
    pub(super) planned_elsewhere: Arc<BTreeSet<ObjectKey>>,
}

impl ReviewedUnit<'_> {
    /// Returns the options of its next plan. The review covered the deletions, and the replacements that it shows; the plan must
    /// fit it.
    pub(super) fn planning_options(
        &self,
        session: &CommandContext,
        overrides: BTreeSet<Name>,
    ) -> PlanningOptions {
        let base = &self.plan.base;
        let replaced = self.plan.changes.iter().filter(|change| change.action == Action::Replace);
        PlanningOptions {
            destroy: base.destroy,
            allow_deletes: true,
            replace: replaced.map(|change| change.address.clone()).collect(),
            delete_data: base.delete_data.clone(),
            holds_deletions: self.holds_deletions && self.phase == UnitPhase::Changes,
            planned_elsewhere: Arc::clone(&self.planned_elsewhere),
            overrides,
            apply_command: session.command_line("apply"),
            project: session.settings.project.clone(),
            ..PlanningOptions::default()
        }
    }
}

/// Parses a full fingerprint. Eight digits are only for display: an attacker who writes two plans can make their
/// first eight digits equal.
fn parse_fingerprint(text: &str) -> Result<Name, String> {
    const FULL_FINGERPRINT_HINT: &str = "give the whole fingerprint, 64 hexadecimal digits: `stead plan --output json`, `stead plan -v` \
                         and the last line of a plan's Markdown report have it";
    let digits = text.trim().to_lowercase();
    let is_hex = |digits: &str| digits.bytes().all(|b| b.is_ascii_hexdigit());
    match digits.len() {
        64 if is_hex(&digits) => Ok(Name::new(&digits)),
        8 | 9 if is_hex(&digits.replacen('-', "", 1)) => Err(format!(
            "eight digits are for display only, for two plans can have the same eight; {FULL_FINGERPRINT_HINT}"
        )),
        _ => Err(format!("this is not the fingerprint of a plan; {FULL_FINGERPRINT_HINT}")),
    }
}
