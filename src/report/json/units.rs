//! The JSON document of a command over many units: the plan or the failure of each, and their sums.

use serde::Serialize;

use super::diagnostics::{self, DiagnosticEntry};
#[cfg(test)]
use super::list::UnmanagedRow;
use super::plan::change_entry::PlanDocumentOptions;
use super::plan::cost_entry::DueEntry;
use super::plan::document::PlanDocument;
use super::plan::policy_outcome::PolicyOutcomeEntry;
use crate::model::address::Name;
use crate::model::schema::Registry;
use crate::plan::model::change::Action;
use crate::report::json_value::JsonDecimal;
use crate::report::json_writer::{SCHEMA_VERSION, SchemaVersion, to_pretty};
use crate::report::text::table::ReportTable;
use crate::report::units::accounts::{AccountReview, UnappliedReason};
use crate::report::units::review::{UnitFailure, UnitReview, UnitStatus, UnitsReview};
use crate::report::views::list;
use crate::workspace::unit::UnitName;

/// The document of `plan`, `apply`, `destroy` and `drift` with `--all --output json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnitsDocument<'a> {
    schema_version: SchemaVersion,
    /// Fingerprint of all plans together, for `apply --all --expect`.
    fingerprint: &'a str,
    summary: UnitsSummary,
    cost: UnitsCostEntry,
    /// The units, worst first.
    units: Vec<UnitEntry<'a>>,
    /// What each account has; only of `drift`.
    #[serde(skip_serializing_if = "Option::is_none")]
    accounts: Option<Vec<AccountEntry<'a>>>,
    /// Units that are not applied as configured; only of `drift`.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_applied: Option<Vec<NotAppliedEntry<'a>>>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands on a reference")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// What an account has.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AccountEntry<'a> {
    /// Address of its service, with a number if several accounts have the same one.
    account: &'a str,
    /// Number of the selected units that use it.
    units: usize,
    /// Number of its live objects that are in a ledger.
    managed: usize,
    /// Live objects that are in no ledger of the account's backends; null if that is not known.
    #[cfg_attr(test, schemars(with = "Option<Vec<UnmanagedRow>>"))]
    unmanaged: Option<ReportTable>,
    /// Why the unmanaged objects are not known; empty if they are.
    not_known: &'a [String],
    /// Kinds that the key may not list.
    left_out: Vec<LeftOutKindEntry<'a>>,
}

/// A kind that the key may not list.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LeftOutKindEntry<'a> {
    /// Name of the kind.
    kind: &'a str,
    /// What the service answered.
    reason: &'a str,
}

/// A unit that is not applied as configured.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct NotAppliedEntry<'a> {
    /// Name of the stack.
    stack: &'a Name,
    /// Name of the environment; `default` for a stack that declares none.
    environment: &'a Name,
    reason: UnappliedReason,
}

impl<'a> NotAppliedEntry<'a> {
    const fn new(unit: &'a UnitName, reason: UnappliedReason) -> Self {
        Self { stack: &unit.stack, environment: &unit.environment, reason }
    }
}

impl<'a> AccountEntry<'a> {
    fn new(account: &'a AccountReview) -> Self {
        Self {
            account: &account.name,
            units: account.units,
            managed: account.managed,
            unmanaged: account.is_known().then(|| list::unmanaged_table(&account.unmanaged)),
            not_known: &account.unknown,
            left_out: account
                .left_out
                .iter()
                .map(|(kind, reason)| LeftOutKindEntry { kind, reason })
                .collect(),
        }
    }
}

/// What the units have together.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct UnitsSummary {
    /// Number of units.
    units: usize,
    /// Number of units whose plan has changes.
    changed: usize,
    /// Number of units whose live objects differ from what was last applied.
    drifted: usize,
    /// Number of units whose changes were applied.
    applied: usize,
    /// Number of units whose plan has blockers.
    blocked: usize,
    /// Number of units that have no result, or of whose apply nothing was done.
    failed: usize,
    /// Number of units whose apply did a part of what was planned.
    partly: usize,
    /// Number of units that were not started, are locked, or no longer fit the reviewed plan.
    skipped: usize,
    /// Number of units without changes.
    unchanged: usize,
    /// Number of links to directories with stack files, which are not searched; absent if there is none.
    #[serde(skip_serializing_if = "is_zero")]
    links: usize,
    /// Number of new objects.
    create: usize,
    /// Number of objects that change in place.
    update: usize,
    /// Number of objects that are deleted and created again.
    replace: usize,
    /// Number of objects that are deleted.
    delete: usize,
    /// Number of live objects that are taken into a ledger.
    adopt: usize,
    /// Number of resources that get a new address.
    r#move: usize,
    /// Number of objects that are removed from a ledger and stay live.
    forget: usize,
    /// Number of outputs that change, or may change.
    outputs: usize,
    /// Number of the changes that are in blocked units, and so not applied.
    blocked_changes: usize,
}

/// Monthly cost of all units, in USD.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct UnitsCostEntry {
    /// Before the apply.
    monthly_before: JsonDecimal,
    /// After the apply. Blocked units stay as they are.
    monthly_after: JsonDecimal,
    /// Difference of the two.
    delta: JsonDecimal,
    /// Number of billed objects without a known price.
    unpriced: usize,
    #[serde(flatten)]
    due: DueEntry,
}

/// A unit.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct UnitEntry<'a> {
    /// Name of the stack; null if its files cannot be read.
    stack: Option<&'a Name>,
    /// Name of the environment; `default` for a stack that declares none, null if its files cannot be read.
    environment: Option<&'a Name>,
    /// Directory relative to the root of the repository; null if the stack or the environment is gone.
    directory: Option<&'a Name>,
    /// How the unit fares.
    status: UnitStatus,
    /// Exit code that the command would have for this unit alone.
    exit: u8,
    /// The plan; null if the unit has none.
    plan: Option<PlanDocument<'a>>,
    /// Why the unit has no result; null if it has one.
    error: Option<UnitErrorEntry<'a>>,
    /// Results of the policies that its plan could not decide, after an apply.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policies: Vec<PolicyOutcomeEntry<'a>>,
}

/// Why a unit has no result.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct UnitErrorEntry<'a> {
    /// What happened and why.
    message: &'a str,
    /// Remedies, one per entry.
    help: Vec<&'a str>,
    /// Problems of the configuration; empty if they are not the reason.
    diagnostics: Vec<DiagnosticEntry<'a>>,
}

/// Returns the JSON document of a review of many units.
#[must_use]
pub fn units_document(
    review: &UnitsReview<'_>,
    registry: Registry,
    options: PlanDocumentOptions<'_>,
) -> String {
    let number = |statuses: &[UnitStatus]| {
        review.units().iter().filter(|unit| statuses.contains(&unit.status)).count()
    };
    let cost = review.cost();
    to_pretty(&UnitsDocument {
        schema_version: SCHEMA_VERSION,
        fingerprint: review.fingerprint,
        summary: UnitsSummary {
            units: review.units().len(),
            changed: number(&[UnitStatus::Changed]),
            drifted: number(&[UnitStatus::Drifted]),
            applied: number(&[UnitStatus::Applied]),
            blocked: number(&[UnitStatus::Blocked]),
            failed: number(&[UnitStatus::Failed]),
            partly: number(&[UnitStatus::Partly]),
            skipped: number(&[UnitStatus::Skipped, UnitStatus::Locked, UnitStatus::OutOfDate]),
            unchanged: number(&[UnitStatus::Unchanged]),
            links: review.links,
            create: review.count(Action::Create),
            update: review.count(Action::Update),
            replace: review.count(Action::Replace),
            delete: review.count(Action::Delete),
            adopt: review.count(Action::Adopt),
            r#move: review.count(Action::Move),
            forget: review.count(Action::Forget),
            outputs: review.output_count(),
            blocked_changes: review.blocked_count(),
        },
        cost: UnitsCostEntry {
            monthly_before: JsonDecimal(cost.before),
            monthly_after: JsonDecimal(cost.after),
            delta: JsonDecimal(cost.after - cost.before),
            unpriced: cost.unpriced,
            due: DueEntry::from_total(&cost.due),
        },
        units: review.units().iter().map(|unit| unit_entry(unit, registry, options)).collect(),
        accounts: review.drift.map(|drift| drift.accounts.iter().map(AccountEntry::new).collect()),
        not_applied: review.drift.map(|drift| {
            let found = drift.not_applied.iter();
            found.map(|(unit, reason)| NotAppliedEntry::new(unit, *reason)).collect()
        }),
    })
}

fn unit_entry<'a>(
    unit: &UnitReview<'a>,
    registry: Registry,
    options: PlanDocumentOptions<'a>,
) -> UnitEntry<'a> {
    let options = PlanDocumentOptions { ran: unit.run, ..options };
    UnitEntry {
        stack: unit.name.unit().map(|name| &name.stack),
        environment: unit.name.unit().map(|name| &name.environment),
        directory: unit.directory,
        status: unit.status,
        exit: unit.exit,
        plan: unit.plan.map(|plan| PlanDocument::new(plan, registry, options)),
        error: unit.failure.map(UnitErrorEntry::new),
        policies: unit.policy_outcomes().iter().map(PolicyOutcomeEntry::from_outcome).collect(),
    }
}

impl<'a> UnitErrorEntry<'a> {
    pub(super) fn new(failure: UnitFailure<'a>) -> Self {
        Self {
            message: failure.message,
            help: failure.help.iter().map(String::as_str).filter(|text| !text.is_empty()).collect(),
            diagnostics: failure
                .problems
                .map(|(found, sources)| diagnostics::diagnostic_entries(found, sources))
                .unwrap_or_default(),
        }
    }
}
