//! The list of a cluster's events, in which the progress of an upgrade appears ("Events"). All events of an upgrade
//! are recorded when it starts, each with its future time, and become visible when the clock reaches that time.

use uuid::Uuid;

use super::find_cluster::find_cluster;
use crate::emulator::seeded_rng;
use crate::emulator::world::request::call::{Call, Reply};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] =
    &[Route::new(Method::Get, "/api/v1/k8s/clusters/{id}/events", Access::Account, list_cluster_events)];

fn list_cluster_events(call: &mut Call<'_>) -> Reply {
    let record = find_cluster(call)?;
    let id = |number| seeded_rng::nth_uuid(record.id.as_u64_pair().1, number);
    let (id, cluster): (_, Uuid) = (id, record.id);
    call.list_of(&record.body.history.events_until(call.now), |fields, event| {
        fields.write_field("id", &id(event.number));
        fields.write_field("cluster_id", &cluster);
        fields.write_field("type", &event.kind);
        fields.write_field("message", &event.message);
        fields.write_field("created_at", &event.at);
    })
}
