//! `Dependents`: which owned objects disappear when another object is deleted: children with their parent, and
//! the objects that a kind's table declares in `takes_along`. In: the ledger; out: addresses by object id.
//! Without it the ledger would keep objects that the service has deleted.

use std::collections::BTreeMap;

use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::schema::Registry;
use crate::model::values::value::Value;

/// Addresses by the id of the object whose deletion deletes theirs, read from the ledger when the apply began.
#[derive(Debug, Default)]
pub(super) struct Dependents {
    by_id: BTreeMap<Name, Vec<Address>>,
}

impl Dependents {
    /// Builds the index from the ledger in one pass.
    pub(super) fn from_ledger(ledger: &Ledger, registry: Registry) -> Self {
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

    /// Returns the addresses that may have lost an object when the object with this id was deleted; empty if
    /// there are none. Those outside the parent's own children must still be read.
    pub(super) fn dependents_of(&self, id: &str) -> &[Address] {
        self.by_id.get(id).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::REGISTRY;
    use crate::ledger::state::entry::{Entry, LedgerIdentity, OwnedObject};
    use crate::model::values::secret::FingerprintKey;
    use crate::model::values::value::Attributes;

    fn entry(kind: &str, parent: Option<&str>, applied: &[(&str, &str)]) -> Entry {
        let parent = parent.map(Into::into);
        let current =
            OwnedObject { id: "x".into(), parent, project: None, created_at: None, provisional: false };
        let applied: Attributes =
            applied.iter().map(|(name, value)| ((*name).into(), Value::text(value))).collect();
        Entry {
            kind: kind.into(),
            current: Some(current),
            deposed: Vec::new(),
            parent: None,
            applied,
            depends_on: Vec::new(),
            protect: false,
            keep_on_remove: false,
            delete_on_remove: false,
            unfinished: false,
            secret_lost: false,
            secret_origin: None,
            final_snapshot: false,
            verified: None,
        }
    }

    #[test]
    fn a_deletion_removes_only_children_and_declared_dependents() {
        let mut ledger = Ledger::new(LedgerIdentity {
            lineage: uuid::Uuid::nil(),
            stack: "s".into(),
            environment: "e".into(),
            account: None,
            key: FingerprintKey([0; 32]),
        });
        for (address, entry) in [
            ("database.main.users.app", entry("database_user", Some("d1"), &[("name", "app")])),
            ("backup_schedule.nightly", entry("backup_schedule", None, &[("vm", "v1")])),
            ("volume.data", entry("volume", None, &[("vm", "v1")])),
        ] {
            ledger.entries.insert(Address::parse(address).unwrap(), entry);
        }
        let dependants = Dependents::from_ledger(&ledger, REGISTRY);
        let on = |id| dependants.dependents_of(id).iter().map(Address::as_str).collect::<Vec<_>>();
        assert_eq!(on("v1"), ["backup_schedule.nightly"]);
        assert_eq!(on("d1"), ["database.main.users.app"]);
        assert_eq!(on("x"), [] as [&str; 0]);
    }
}
