//! The deletion limit over the selected units together: many small units can each stay below the limit of a plan. In: what
//! each unit deletes and has. Out: one blocker for the units that delete, which names them. Pure.

use super::unit::UnitName;
use crate::ledger::state::ledger::Ledger;
use crate::model::diagnostic::blocker_code::DELETION_BUDGET;
use crate::model::schema::Registry;
use crate::plan::inputs::{DELETION_LIMIT_PERCENT, MIN_DELETION_LIMIT};
use crate::plan::model::block::Blocker;
use crate::plan::model::change::{Action, Change, Plan};

/// Number of units that the blocker names before it only counts the others.
const MAX_NAMED_UNITS: usize = 10;

/// What a unit deletes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitDeletions<'a> {
    /// Name of the unit.
    pub name: &'a UnitName,
    /// Number of objects that its plan deletes, and of objects with data that it replaces.
    pub deletions: usize,
    /// Number of objects that its ledger has.
    pub managed: usize,
}

impl<'a> UnitDeletions<'a> {
    /// Counts what a plan deletes, as the limit of one plan does.
    #[must_use]
    pub fn new(registry: Registry, name: &'a UnitName, plan: &Plan, ledger: &Ledger) -> Self {
        let counts = |change: &&Change| match change.action {
            Action::Delete => plan.deletes_current_object(change),
            Action::Replace => registry.kind(&change.kind).is_some_and(|kind| kind.data_bearing),
            _ => false,
        };
        Self {
            name,
            deletions: plan.changes.iter().filter(counts).count(),
            managed: ledger.entries.values().filter(|entry| entry.current.is_some()).count(),
        }
    }
}

/// Returns the blocker of the units that delete something; `None` if they delete no more than the limit together, or only
/// one of them deletes, which its own limit covers.
#[must_use]
pub fn limit_blocker(units: &[UnitDeletions<'_>]) -> Option<Blocker> {
    let mut deleting: Vec<_> = units.iter().filter(|unit| unit.deletions > 0).collect();
    let managed: usize = units.iter().map(|unit| unit.managed).sum();
    let deletions: usize = deleting.iter().map(|unit| unit.deletions).sum();
    let exceeds = deletions >= MIN_DELETION_LIMIT && deletions * 100 > managed * DELETION_LIMIT_PERCENT;
    if deleting.len() < 2 || !exceeds {
        return None;
    }
    deleting.sort_by_key(|unit| (std::cmp::Reverse(unit.deletions), unit.name));
    let named = deleting.iter().take(MAX_NAMED_UNITS);
    let mut named: Vec<String> =
        named.map(|unit| format!("{} of {} in {}", unit.deletions, unit.managed, unit.name)).collect();
    if deleting.len() > MAX_NAMED_UNITS {
        named.push(format!("and more in {} other units", deleting.len() - MAX_NAMED_UNITS));
    }
    Some(Blocker {
        code: DELETION_BUDGET.code.into(),
        address: None,
        text: format!(
            "{deletions} of {managed} managed objects of the selected units would be deleted: {}.",
            named.join(", ")
        ),
        help: "If this is intended: --allow-deletes for all units, or --allow-deletes=STACK/ENVIRONMENT for each. Otherwise look for a wrong environment or a missing file.".to_owned(),
        source: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_that_each_stay_below_the_limit_exceed_it_together() {
        let names: Vec<UnitName> = (0..12)
            .map(|number| UnitName { stack: format!("s{number:02}").into(), environment: "prod".into() })
            .collect();
        let text = |all: &[(usize, usize)]| {
            let units: Vec<_> = all
                .iter()
                .zip(&names)
                .map(|((deletions, managed), name)| UnitDeletions {
                    name,
                    deletions: *deletions,
                    managed: *managed,
                })
                .collect();
            limit_blocker(&units).map(|blocker| blocker.text)
        };
        assert_eq!(
            text(&[(2, 2), (1, 3), (0, 4)]).unwrap(),
            "3 of 9 managed objects of the selected units would be deleted: 2 of 2 in s00/prod, 1 of 3 in s01/prod."
        );
        // Not more than 30 percent, fewer than three, or one unit alone.
        for all in [&[(2, 2), (1, 8)][..], &[(1, 1), (1, 1)], &[(4, 4), (0, 1)], &[]] {
            assert_eq!(text(all), None, "{all:?}");
        }
        assert!(text(&[(1, 1); 12]).unwrap().ends_with("1 of 1 in s09/prod, and more in 2 other units."));
    }
}
