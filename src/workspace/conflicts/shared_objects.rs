//! Objects that two units own. In: the units of one account. Out: a blocker in both units for each such object: each would
//! change or delete it for the other, and its price would count twice.

use std::collections::{BTreeMap, BTreeSet};

use super::unit_claims::{Claimant, UnitBlockers, UnitClaims, add_pair_with_help, equal_sides};
use crate::model::address::Address;
use crate::model::live::snapshot::ObjectKey;
use crate::plan::model::change::Action;

const REMEDY: &str =
    " In one of the two, remove the block, and write `removed: [{ from: ADDRESS, action: forget }]`.";

/// Blocks the units whose ledgers have the same object, unless one of them forgets it.
pub(super) fn block_shared_objects(units: &[UnitClaims<'_>], blockers: &mut UnitBlockers) {
    let mut owned: BTreeMap<ObjectKey, Claimant<'_>> = BTreeMap::new();
    for (number, unit) in units.iter().enumerate() {
        let forgotten = unit.plan.changes.iter().filter(|change| change.action == Action::Forget);
        let forgotten: BTreeSet<&Address> = forgotten.map(|change| &change.address).collect();
        let stay = unit.ledger.entries.iter().filter(|(address, _)| !forgotten.contains(address));
        for (address, entry) in stay {
            for object in entry.current.iter().chain(&entry.deposed) {
                match owned.get(&object.key(&entry.kind)) {
                    Some(other) if other.0 != number => {
                        let pair = ((number, address), *other);
                        let what = |_| format!("are one object, {}: both ledgers have it", object.id);
                        let texts = equal_sides(units, pair.0, pair.1, what);
                        add_pair_with_help(units, pair, (texts, REMEDY), blockers);
                    }
                    Some(_) => {}
                    None => drop(owned.insert(object.key(&entry.kind), (number, address))),
                }
            }
        }
    }
}
