//! Live objects as the lists show them: a row for each, with its price and without the secrets that this process knows.

use std::collections::BTreeSet;

use crate::cli::planning::refresh::RefreshResult;
use crate::cli::service::connection::StackConnection;
use crate::kinds::REGISTRY;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::live::catalog::Catalog;
use crate::model::live::snapshot::{Object, ObjectKey, Snapshot};
use crate::model::values::value::Value;
use crate::plan::join::prices::ObjectPrices;
use crate::report::views::list::ObjectSummary;

/// Redacts the secrets that this process knows in the live objects; afterwards they can only
/// be displayed, not compared.
pub(in crate::cli) fn redact_secrets(connection: &StackConnection, world: &mut RefreshResult) {
    redact_objects(connection, &mut world.snapshot);
}

/// Redacts them in a snapshot.
pub(super) fn redact_objects(connection: &StackConnection, snapshot: &mut Snapshot) {
    for object in snapshot.objects.values_mut() {
        *object = object.to_redacted(&|text| connection.client.redact(text));
    }
}

/// Returns one row for each owned object, deposed ones included, ordered by address. An object that was not read
/// has the status `gone`.
pub(in crate::cli) fn managed_rows(
    ledger: &Ledger,
    snapshot: &Snapshot,
    catalog: &Catalog,
) -> Vec<ObjectSummary> {
    let owned: BTreeSet<ObjectKey> = ledger.owned_keys().collect();
    let is_owned = |key: &ObjectKey| owned.contains(key);
    let prices = ObjectPrices::new(catalog).beside(snapshot, &is_owned);
    let mut rows = Vec::new();
    for (address, entry) in &ledger.entries {
        for owned in entry.current.iter().chain(&entry.deposed) {
            let key = owned.key(&entry.kind);
            rows.push(match snapshot.objects.get(&key) {
                Some(object) => object_row(Some(address), object, &prices),
                None => ObjectSummary {
                    address: Some(address.clone()),
                    kind: entry.kind.clone(),
                    id: owned.id.clone(),
                    status: Some(Name::new_static("gone")),
                    ..ObjectSummary::default()
                },
            });
        }
    }
    rows
}

/// Returns the list row of a live object; `address` is `None` for an unmanaged one. The price is monthly.
pub(in crate::cli) fn object_row(
    address: Option<&Address>,
    object: &Object,
    prices: &ObjectPrices<'_>,
) -> ObjectSummary {
    let kind = REGISTRY.kind(&object.kind);
    let text = |name: &str| object.attributes.get(name).and_then(Value::as_text).map(Name::new);
    ObjectSummary {
        address: address.cloned(),
        kind: object.kind.clone(),
        id: object.id.clone(),
        name: text("name"),
        status: kind.and_then(|kind| kind.api.ready).and_then(|ready| text(ready.attribute)),
        monthly: kind.and_then(|kind| prices.monthly_of(kind, object)),
        project: object.project.clone(),
        created_at: object.created_at.clone(),
        parent: object.parent.clone(),
        of: None,
    }
}
