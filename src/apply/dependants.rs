//! `Dependants`: which owned objects go when another one goes: children with their parent, and what
//! a kind's table says that it takes along.

use std::collections::BTreeMap;

use crate::ledger::entry::Ledger;
use crate::model::address::{Address, Name};
use crate::model::schema::Registry;
use crate::model::value::Value;

/// Addresses by the id of the object that they cannot outlive, as the ledger was when the apply began.
#[derive(Debug, Default)]
pub(super) struct Dependants {
    by_id: BTreeMap<Name, Vec<Address>>,
}

impl Dependants {
    /// Looks through a ledger once.
    pub(super) fn of(ledger: &Ledger, registry: Registry) -> Self {
        let mut leaders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (taken, attribute) in registry.kinds.iter().flat_map(|kind| kind.takes_along) {
            leaders.entry(taken).or_default().push(attribute);
        }
        let mut by_id: BTreeMap<Name, Vec<Address>> = BTreeMap::new();
        for (address, entry) in &ledger.entries {
            let owned = entry.current.iter().chain(&entry.deposed);
            let mut ids: Vec<Name> = owned.filter_map(|owned| owned.parent.clone()).collect();
            for attribute in leaders.get(entry.kind.as_str()).into_iter().flatten() {
                if let Some(Value::Text(id)) = entry.applied.get(*attribute) {
                    ids.push(id.clone());
                }
            }
            ids.sort_unstable();
            ids.dedup();
            for id in ids {
                by_id.entry(id).or_default().push(address.clone());
            }
        }
        Self { by_id }
    }

    /// Returns the addresses that may have lost an object together with this one.
    pub(super) fn on(&self, id: &str) -> &[Address] {
        self.by_id.get(id).map_or(&[], Vec::as_slice)
    }
}
