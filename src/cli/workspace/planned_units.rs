//! The plans of the selected units, as the commands show and apply them.

use std::collections::{BTreeMap, BTreeSet};

use super::units::Workspace;
use crate::cli::ledger::high_water_mark::RollbackDetected;
use crate::cli::planning::key_rights::KeyReview;
use crate::cli::process::failure::CliFailure;
use crate::cli::secrets::output_secrets;
use crate::cli::service::connection::StackConnection;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::live::catalog::Catalog;
use crate::model::live::snapshot::Snapshot;
use crate::model::values::value::{Attributes, Value};
use crate::plan::inputs::PlanningOptions;
use crate::plan::model::change::Plan;
use crate::plan::model::resource_values::PlanValues;
use crate::workspace::combined::has_work;
use crate::workspace::conflicts::UsedObjects;
use crate::workspace::unit::UnitName;

/// Plan or failure by the number of the unit.
pub(in crate::cli) type UnitResults = BTreeMap<usize, Result<PlannedUnit, CliFailure>>;

/// Ledgers of the units that are not selected, as far as they were read; `None` for a unit that was never applied.
pub(in crate::cli) type OtherLedgers = BTreeMap<usize, Option<Ledger>>;

/// Options of the plans of many units.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct UnitsOptions {
    /// Options of each plan.
    pub(in crate::cli) planning: PlanningOptions,
    /// Units whose deletions are approved, whatever their number.
    pub(in crate::cli) allowed_deletions: BTreeSet<UnitName>,
    /// Objects with data that may be replaced, by unit.
    pub(in crate::cli) replacements: BTreeMap<UnitName, BTreeSet<Address>>,
    /// Objects that may be deleted with their data, by unit.
    pub(in crate::cli) deleted_data: BTreeMap<UnitName, BTreeSet<Address>>,
    /// Units that are not selected, and may lose what they use.
    pub(in crate::cli) forced_readers: BTreeSet<UnitName>,
    /// Whether all units may lose what they use.
    pub(in crate::cli) forces_all_readers: bool,
}

/// A unit that was planned.
pub(in crate::cli) struct PlannedUnit {
    pub(in crate::cli) plan: Plan,
    /// Outputs as they are after the apply.
    pub(in crate::cli) outputs: Attributes,
    /// The values of all resources; empty unless the options of the plans ask for them.
    pub(in crate::cli) values: PlanValues,
    /// Ledger that the plan was made with.
    pub(in crate::cli) ledger: Ledger,
    /// Problem of a ledger that is older than the last one seen on this machine; `None` without one.
    pub(in crate::cli) rollback: Option<RollbackDetected>,
    /// Options that the plan was made with.
    pub(in crate::cli) options: PlanningOptions,
    /// Digest of the secrets' values under the key of a saved plan; `None` unless the plan is to be saved before the
    /// ledger exists.
    pub(in crate::cli) secrets: Option<String>,
    /// Number of the account that the unit uses.
    pub(in crate::cli) account: usize,
    /// What the API key lacks for the plan; `None` if nothing was compared.
    pub(in crate::cli) key: Option<KeyReview>,
    /// Objects of others that it needs.
    pub(super) uses: UsedObjects,
    /// Outputs that it reads, by the unit that has them.
    pub(super) reads: BTreeMap<UnitName, BTreeSet<Name>>,
}

/// The live state of one account.
pub(in crate::cli) struct AccountState {
    pub(in crate::cli) snapshot: Snapshot,
    pub(in crate::cli) catalog: Catalog,
}

/// The plans of the selected units.
pub(in crate::cli) struct WorkspacePlan {
    /// Plan or failure by the number of the unit, for each selected unit.
    pub(in crate::cli) units: UnitResults,
    /// Fingerprint of all plans together: 64 hexadecimal digits.
    pub(in crate::cli) fingerprint: String,
    /// Pairs of a unit and one whose live objects use an object that the first deletes.
    pub(in crate::cli) users: BTreeSet<(usize, usize)>,
    /// Pairs of units between which resources move; the first of a pair is applied before the second.
    pub(in crate::cli) moves: BTreeSet<(usize, usize)>,
    /// Number of readers that `--with-dependents` leaves out, because what they read does not change.
    pub(in crate::cli) left_out: usize,
    /// Live state of each account that was read, by number, with the connection of one of its units; empty unless the
    /// purpose of the plans needs it, because an apply opens the accounts again.
    pub(in crate::cli) accounts: BTreeMap<usize, (AccountState, StackConnection)>,
    /// Ledgers of the units that are not selected, as far as they were read.
    pub(in crate::cli) others: OtherLedgers,
}

impl PlannedUnit {
    /// Returns whether it has objects and reads a unit that its last runs did not read: an apply records that, because nothing else
    /// tells who reads an output once the files are gone.
    pub(in crate::cli) fn begins_to_read(&self) -> bool {
        let is_new = |unit: &UnitName| !self.ledger.may_depend_on(&unit.to_string());
        !self.ledger.entries.is_empty() && self.reads.keys().any(is_new)
    }

    /// Returns whether an apply would record other outputs than the ledger has. A secret counts if the ledger keeps it for
    /// readers.
    pub(in crate::cli) fn changes_outputs(&self) -> bool {
        let recorded = self.ledger.outputs.as_ref();
        let is_recorded = |(name, value): (&Name, &Value)| {
            let known = recorded.and_then(|recorded| recorded.get(name));
            if let Value::Secret(secret) = value
                && (secret.is_yet_unknown() || output_secrets::lacks_output(&self.ledger, name, secret))
            {
                return false;
            }
            !value.is_unknown() && known.is_some_and(|known| value.is_secret() || known == value)
        };
        !self.outputs.iter().all(is_recorded)
            || recorded.is_some_and(|recorded| recorded.len() != self.outputs.len())
    }
}

impl WorkspacePlan {
    /// Refuses an apply that the start of a unit would refuse: a unit with something to do has an older ledger than this machine
    /// has seen, or its key lacks a right, or expires before the unit would be applied.
    ///
    /// # Errors
    /// With `Exit::OutOfDate` or `Exit::Refused`, naming the unit, and the right with its steps.
    pub(in crate::cli) fn require_applicable(
        &self,
        workspace: &Workspace,
        accepts_older: bool,
    ) -> Result<(), CliFailure> {
        for (number, unit) in self.planned() {
            let rollback = unit.rollback.filter(|_| !accepts_older && has_work(&unit.plan));
            let refused = match (rollback, &unit.key) {
                (Some(rollback), _) => Err(rollback.into()),
                (None, Some(review)) => review.require(&unit.plan),
                (None, None) => Ok(()),
            };
            refused.map_err(|failure: CliFailure| {
                let message = format!("{}: {}", workspace.units[number].unit.name, failure.message);
                CliFailure { message, ..failure }
            })?;
        }
        Ok(())
    }

    /// Returns the units that were planned, by number.
    pub(in crate::cli) fn planned(&self) -> impl Iterator<Item = (usize, &PlannedUnit)> {
        self.units.iter().filter_map(|(number, result)| Some((*number, result.as_ref().ok()?)))
    }
}
