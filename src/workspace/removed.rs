//! Removed units: ledgers of the repository whose stack or environment it has no longer. In: the origins that a ledger
//! records, and where this checkout is. Out: whose ledger it is, and the blocker of a removed unit that nothing names.
//! Invariant: a ledger that another repository applies, too, or whose origin is not known, is never that of a removed unit.
//! Pure.

use std::collections::BTreeSet;

use super::unit::{Unit, UnitName};
use crate::ledger::state::origins::{CurrentOrigin, StackOrigin};
use crate::model::address::Name;
use crate::model::diagnostic::blocker_code::REMOVED_UNIT;
use crate::plan::model::block::Blocker;

/// Whose a ledger is that no unit of the repository has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerOwner {
    /// A removed unit, which was applied from this directory.
    RemovedUnit(Name),
    /// Another repository, or a directory that still has a stack of this name.
    Other,
    /// It cannot be decided; the reason, as a clause.
    Unknown(&'static str),
}

/// Returns whose a ledger is. `here` was made with the ledger's origins; `is_whole` is false if a directory whose files cannot
/// be read may have its stack.
#[must_use]
pub fn find_owner(origins: &BTreeSet<StackOrigin>, here: &CurrentOrigin, is_whole: bool) -> LedgerOwner {
    let Some(own) = &here.origin else {
        return LedgerOwner::Unknown(
            "this repository has no remote `origin` on a host, and STEAD_ORIGIN is not set",
        );
    };
    let Some(first) = origins.first() else {
        return LedgerOwner::Unknown("the ledger does not record which repository it is applied from");
    };
    if origins.iter().any(|one| one.repository != own.repository) {
        return LedgerOwner::Other;
    }
    if here.sparse {
        return LedgerOwner::Unknown("in a sparse checkout, a missing directory proves nothing");
    }
    if !is_whole {
        return LedgerOwner::Unknown("its stack may be in a directory whose files cannot be read");
    }
    if origins.iter().all(|one| here.vacated.contains(&one.directory)) {
        LedgerOwner::RemovedUnit(first.directory.clone())
    } else {
        LedgerOwner::Other
    }
}

/// Returns the blocker of a removed unit whose removal the command line does not name. `objects` is the number of objects
/// in its ledger, as a phrase; `remove` the command that names it.
#[must_use]
pub fn removal_blocker<'u>(
    unit: &UnitName,
    units: impl IntoIterator<Item = &'u Unit>,
    (objects, remove): (&str, &str),
) -> Blocker {
    let is_stack = |one: &&Unit| one.name.stack == unit.stack && !one.is_removed;
    let what = match units.into_iter().find(is_stack) {
        Some(_) => format!("The stack `{}` has no environment `{}` anymore", unit.stack, unit.environment),
        None => format!("This repository has no stack `{}` anymore", unit.stack),
    };
    Blocker {
        code: REMOVED_UNIT.code.into(),
        address: None,
        text: format!("{what}, and the ledger of {unit} has {objects}."),
        help: format!("To delete the objects: {remove}. To keep them, restore the files of the stack."),
        source: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(repository: &str, directory: &str) -> StackOrigin {
        StackOrigin { repository: repository.into(), directory: directory.into() }
    }

    #[test]
    fn only_a_ledger_of_this_repository_alone_is_that_of_a_removed_unit() {
        let here = |vacated: &[&str], sparse| CurrentOrigin {
            origin: Some(origin("r", ".")),
            vacated: vacated.iter().map(Name::new).collect(),
            sparse,
        };
        let owner = |origins: &[StackOrigin], here: &CurrentOrigin| {
            find_owner(&origins.iter().cloned().collect(), here, true)
        };
        let removed = LedgerOwner::RemovedUnit("a".into());
        assert_eq!(owner(&[origin("r", "a")], &here(&["a"], false)), removed);
        assert_eq!(owner(&[origin("r", "a"), origin("r", "b")], &here(&["a", "b"], false)), removed);
        for (origins, vacated) in [
            (vec![origin("r", "a")], &[][..]),
            (vec![origin("r", "a"), origin("r", "b")], &["a"]),
            (vec![origin("s", "a")], &["a"]),
            (vec![origin("r", "a"), origin("s", "a")], &["a"]),
        ] {
            assert_eq!(owner(&origins, &here(vacated, false)), LedgerOwner::Other, "{origins:?}");
        }
        for (origins, here) in [
            (vec![origin("r", "a")], here(&["a"], true)),
            (vec![], here(&["a"], false)),
            (vec![origin("r", "a")], CurrentOrigin::default()),
        ] {
            assert!(matches!(owner(&origins, &here), LedgerOwner::Unknown(_)), "{origins:?}");
        }
        let found = find_owner(&[origin("r", "a")].into(), &here(&["a"], false), false);
        assert!(matches!(found, LedgerOwner::Unknown(_)));
    }
}
