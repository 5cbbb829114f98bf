//! Stacks whose directory was renamed while their ledger stayed: git ignores a ledger, so it does not rename it, and the plan
//! would create each object a second time. In: the units that create something and own nothing. Out: a blocker for each whose
//! ledger is in another directory of the repository. Only a ledger without a backend is in a directory; it is only read.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cli::files::shell_path::quote_path;
use crate::cli::files::stack_files;
use crate::cli::ledger::ledger_listing::{self, ListedLedger};
use crate::cli::ledger::open::CommandStore;
use crate::cli::process::ledger_settings;
use crate::cli::process::settings::Settings;
use crate::cli::stack::repository_walk::{self, LedgerDirectory};
use crate::cli::workspace::planned_units::UnitResults;
use crate::cli::workspace::units::Workspace;
use crate::ledger::state::ledger::Ledger;
use crate::model::diagnostic::blocker_code::LEDGER_PLACE;
use crate::plan::artifact::fingerprint::with_blockers;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::{Action, Plan};
use crate::report::text::phrases::count_noun;
use crate::workspace::unit::UnitName;

/// A unit that creates objects and owns none.
pub(super) struct NewUnit<'a> {
    pub(super) name: &'a UnitName,
    pub(super) settings: &'a Settings,
}

impl<'a> NewUnit<'a> {
    /// Returns the unit of a plan; `None` if its ledger owns something, is on a backend or may not be looked for, or the plan
    /// creates nothing.
    pub(super) fn new(
        name: &'a UnitName,
        settings: &'a Settings,
        (plan, ledger): (&Plan, &Ledger),
    ) -> Option<Self> {
        let creates = || plan.changes.iter().any(|change| change.action == Action::Create);
        let is_local = !(settings.untrusted || ledger_settings::is_shared(settings));
        (is_local && ledger.owns_nothing() && creates()).then_some(Self { name, settings })
    }
}

/// Blocks the planned units whose ledger is in another directory.
pub(in crate::cli::workspace) async fn block_misplaced(workspace: &Workspace, units: &mut UnitResults) {
    let new: BTreeMap<usize, NewUnit<'_>> = units
        .iter()
        .filter_map(|(number, result)| {
            let (one, planned) = (&workspace.units[*number], result.as_ref().ok()?);
            let new = NewUnit::new(&one.unit.name, &one.settings, (&planned.plan, &planned.ledger))?;
            Some((*number, new))
        })
        .collect();
    for (number, blocker) in find_misplaced(&workspace.root, &new).await {
        if let Some(Ok(planned)) = units.get_mut(&number) {
            planned.plan = with_blockers(planned.plan.clone(), [blocker]);
        }
    }
}

/// Returns a blocker for each of the units whose ledger is in another directory below the root.
pub(super) async fn find_misplaced(
    root: &Path,
    units: &BTreeMap<usize, NewUnit<'_>>,
) -> BTreeMap<usize, Blocker> {
    let mut blockers = BTreeMap::new();
    let Some(any) = units.values().next() else { return blockers };
    let directories = repository_walk::directories_with_ledgers(root);
    for LedgerDirectory { path: relative, .. } in directories.into_iter().filter(|one| !one.is_ignored) {
        let directory = root.join(&relative);
        let base = ledger_settings::local_directory(any.settings, &directory);
        for ListedLedger { place, stack, environment } in
            ledger_listing::list_named(&base).unwrap_or_default()
        {
            let is_of = |unit: &NewUnit<'_>| {
                (&unit.name.stack, &unit.name.environment) == (&stack, &environment)
                    && stack_files::real_path(&unit.settings.dir) != stack_files::real_path(&directory)
            };
            let Some((number, unit)) = units.iter().find(|(_, unit)| is_of(unit)) else { continue };
            // It was not authenticated: a plan does that when it is in the directory of the stack.
            let read = Box::pin(CommandStore::read(&place, &stack, &environment, None)).await;
            let Some(ledger) = read.ok().flatten().filter(|ledger| !ledger.owns_nothing()) else {
                continue;
            };
            blockers.entry(*number).or_insert_with(|| misplaced(unit, &relative, (&base, &ledger)));
        }
    }
    blockers
}

fn misplaced(unit: &NewUnit<'_>, found_in: &Path, (base, ledger): (&Path, &Ledger)) -> Blocker {
    let NewUnit { name, settings } = unit;
    let objects = count_noun(ledger.entries.len(), "object");
    let text = format!(
        "The ledger of {name} with {objects} is in `{}`, and the stack is in another directory: each object would be created a second time.",
        found_in.display()
    );
    let to = ledger_settings::local_directory(settings, &settings.dir);
    let from = base.join(name.environment.as_str());
    let there = to.join(name.environment.as_str());
    // An empty ledger of an attempt is in the way.
    let first = if stack_files::path_exists(&there) {
        format!("rm -r {}", quote_path(&there))
    } else {
        format!("mkdir -p {}", quote_path(&to))
    };
    let help = format!("Move the ledger: {first} && mv {} {}", quote_path(&from), quote_path(&there));
    Blocker { code: LEDGER_PLACE.code.into(), address: None, text, help, source: None }
}
