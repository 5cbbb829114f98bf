//! Objects that workloads inside other objects created, such as the volumes of claims in a cluster. They belong to
//! their owners: no plan and no import adopts one.

use std::collections::BTreeMap;

use crate::cli::process::failure::CliFailure;
use crate::cli::service::connection::StackConnection;
use crate::cloud::error::ReadError;
use crate::cloud::http::url_path::fill_all;
use crate::cloud::write::action_request::EndpointRequest;
use crate::kinds::REGISTRY;
use crate::model::address::Name;
use crate::model::live::snapshot::{ObjectKey, Snapshot};
use crate::model::schema::Method;
use crate::model::values::value::Value;

/// Returns the objects that other objects created through the workloads that run in them, each with the key of its
/// owner. An owner whose list the service refuses is skipped: it was deleted meanwhile, or the key may not read it.
///
/// # Errors
/// When the service does not respond.
pub(in crate::cli) async fn claimed_objects(
    connection: &StackConnection,
    snapshot: &Snapshot,
) -> Result<BTreeMap<ObjectKey, ObjectKey>, CliFailure> {
    let mut found = BTreeMap::new();
    for (kind, (made, path)) in REGISTRY.top_level().filter_map(|kind| Some((kind, kind.claims?))) {
        if snapshot.of_kind(made).next().is_none() {
            continue;
        }
        for owner in snapshot.of_kind(kind.name) {
            let path = fill_all(path, |name| (name == "id").then_some(owner.id.as_str()));
            let path = path.map_err(anyhow::Error::from)?;
            let ask =
                EndpointRequest { method: Method::Get, path, query: Vec::new(), project: None, body: None };
            let rows = match connection.client.ask_rows(&ask, |_| false).await {
                Ok(rows) => rows.unwrap_or_default(),
                // The object was deleted meanwhile, or the key may not read it.
                Err(ReadError::Refused { .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            let ids = rows.iter().filter_map(|row| row.get("id")?.as_str().map(Name::new));
            let key = |id| ObjectKey { kind: Name::new_static(made), parent: None, id };
            found.extend(ids.map(|id| (key(id), owner.key())));
        }
    }
    Ok(found)
}

/// Returns the reason, as a sentence, why a claimed object is left unmanaged.
pub(in crate::cli) fn left_to_its_owner(snapshot: &Snapshot, owner: &ObjectKey) -> String {
    let name = snapshot.objects.get(owner).and_then(|object| object.attributes.get("name"));
    let name = name.and_then(Value::as_text).unwrap_or(&owner.id);
    format!("It belongs to the {} {name}: a workload there claimed it.", owner.kind)
}
