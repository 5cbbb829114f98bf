//! `cluster`: managed Kubernetes clusters: their record, their price and their API representation.

use rust_decimal::Decimal;
use uuid::Uuid;

use super::find_cluster::find_cluster;
use super::node_pool::list_cluster_pools;
use super::upgrade::{finish_cluster_upgrade, start_automatic_upgrade};
use super::volume_claim::apply_volume_claims;
use crate::emulator::world::Time;
use crate::emulator::world::engine::billing::Charge;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::kubernetes_versions;
use crate::emulator::world::engine::table::{RecordKind, TableRecord};
use crate::emulator::world::records::cluster::{
    Cluster, NodePool, claims_due_time, cluster_endpoint, cluster_short_id,
};
use crate::emulator::world::records::compute::Volume;
use crate::emulator::world::request::call::{Call, Reply};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/k8s/clusters", Access::ProjectStated, |call| {
        call.list_records::<Cluster>()
    }),
    Route::new(Method::Get, "/api/v1/k8s/clusters/{id}", Access::Account, read_cluster),
];

impl Handlers for Cluster {
    fn happen(world: &mut World, id: Uuid, at: Time, _until: Time) {
        let Some(record) = world.clusters.get(id) else { return };
        if record.timeline.gone_at().is_some() {
            remove_cluster(world, id, at);
        } else if record.body.upgrade.as_ref().is_some_and(|upgrade| upgrade.done_at <= at) {
            finish_cluster_upgrade(world, id, at);
        } else if claims_due_time(record).is_some_and(|due| due <= at) {
            apply_volume_claims(world, id, at);
        } else {
            start_automatic_upgrade(world, id, at);
        }
    }

    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let cluster = &record.body;
        fields.write_field("id", &record.id);
        fields.write_field("cluster_id", &cluster_short_id(record));
        fields.write_field("project_id", &record.project);
        fields.write_field("name", &cluster.name);
        fields.write_field("status", record.status(view.now));
        fields.write_field("region", "us-east");
        fields.write_field("endpoint", &cluster_endpoint(record, view.now).unwrap_or_default());
        fields.write_field("version_id", &cluster.version_id);
        fields.write_field(
            "version",
            &kubernetes_versions::find_version(cluster.version_id)
                .map(kubernetes_versions::KubernetesVersion::text),
        );
        fields.write_field("control_plane_count", &cluster.control_plane_count);
        fields.write_field("vpc_id", &cluster.vpc_id);
        fields.write_field("worker_plan_id", &cluster.worker_plan_id);
        fields.write_field("upgrade_mode", &cluster.upgrade_mode);
        fields.write_field("maintenance_day", &cluster.maintenance_day);
        fields.write_field("maintenance_start", &cluster.maintenance_start);
        let pools = list_cluster_pools(view.world, record.id);
        // A pool has the same short form here as in the list of pools.
        fields.write_object_array("node_pools", pools, |fields, pool| {
            NodePool::show(pool, RenderContext { detail: false, ..view }, fields);
        });
        fields.write_number("price_per_hour", cluster_hourly_price(view.world, record));
        fields.write_field("created_at", &record.created_at);
        fields.write_field("updated_at", &record.updated_at);
    }
}

/// Returns the hourly price of a cluster in USD, including its workers.
fn cluster_hourly_price(world: &World, record: &TableRecord<Cluster>) -> Decimal {
    let control_plane = Cluster::charge(record).map_or(Decimal::ZERO, Charge::hourly_price);
    let pools = list_cluster_pools(world, record.id).filter_map(NodePool::charge).map(Charge::hourly_price);
    control_plane + pools.sum::<Decimal>()
}

/// Removes a cluster and its pools; the volumes of its claims stay, as ordinary volumes: they hold data.
fn remove_cluster(world: &mut World, id: Uuid, at: Time) {
    let pools: Vec<_> = list_cluster_pools(world, id).map(|pool| pool.id).collect();
    for pool in pools {
        world.node_pools.remove(pool);
    }
    let Some(record) = world.clusters.remove(id) else { return };
    for bound in record.body.bound.values() {
        world.volumes.update(bound.volume, at, |volume: &mut TableRecord<Volume>| {
            volume.body.cluster_id = None;
        });
    }
}

fn read_cluster(call: &mut Call<'_>) -> Reply {
    let id = find_cluster(call)?.id;
    call.record_response::<Cluster>(200, id, "")
}
