//! Finds the cluster that the path of a request identifies; shared by all routes below a cluster.

use uuid::Uuid;

use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::cluster::Cluster;
use crate::emulator::world::request::call::Call;

/// Finds the cluster that the path identifies, by id or short id; "not found" outside the request's scope.
pub(in crate::emulator::world) fn find_cluster<'c>(
    call: &'c Call<'_>,
) -> Result<&'c TableRecord<Cluster>, ErrorResponse> {
    let table = call.world.table::<Cluster>();
    let text = call.param(0);
    let id = table.index().short.get(text).copied().or_else(|| Uuid::try_parse(text).ok());
    call.require_visible(id.and_then(|id| table.get(id)))
}

/// Finds the cluster that the path identifies; refuses one that is not running, with 409.
pub(in crate::emulator::world) fn find_running<'c>(
    call: &'c Call<'_>,
) -> Result<&'c TableRecord<Cluster>, ErrorResponse> {
    let record = find_cluster(call)?;
    match record.status(call.now) {
        "running" => Ok(record),
        status => Err(ErrorResponse::conflict(format!("the cluster is {status}; it must be running"))),
    }
}
