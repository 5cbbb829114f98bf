//! Upgrades of a cluster: on request, or automatic in a weekly maintenance window ("Upgrade Kubernetes version").

use uuid::Uuid;

use super::find_cluster::{find_cluster, find_running};
use super::node_pool::list_cluster_pools;
use crate::emulator::world::Time;
use crate::emulator::world::engine::kubernetes_versions::{self, KubernetesVersion};
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::{Timeline, time_after};
use crate::emulator::world::records::cluster::{
    Cluster, ClusterEventLog, ClusterUpgrade, cluster_short_id,
};
use crate::emulator::world::request::call::{Call, Reply, message_response};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/k8s/clusters/{id}/upgrades", Access::Account, list_cluster_upgrades),
    Route::new(Method::Post, "/api/v1/k8s/clusters/{id}/upgrade", Access::ProjectStated, upgrade_cluster),
    Route::new(
        Method::Patch,
        "/api/v1/k8s/clusters/{id}/maintenance",
        Access::ProjectStated,
        update_maintenance,
    ),
];

/// Duration of an upgrade in seconds; the workers are upgraded in the second half.
const UPGRADE_SECS: i64 = 60;

/// Starts an automatic upgrade in an open window, which is then used up. A cluster that is not running, or has no
/// version to upgrade to, waits for the next window.
pub(in crate::emulator::world) fn start_automatic_upgrade(world: &mut World, id: Uuid, at: Time) {
    let Some(record) = world.clusters.get(id) else { return };
    let (closes, target) = (record.body.window().closes_at(at), record.body.target());
    let running = record.status(at) == "running";
    world.clusters.amend(id, |record| record.body.window_used = Some(closes));
    if let Some(target) = target.filter(|_| running) {
        begin_cluster_upgrade(world, id, target, at);
    }
}

fn begin_cluster_upgrade(world: &mut World, id: Uuid, target: &KubernetesVersion, at: Time) {
    let pools: Vec<_> = list_cluster_pools(world, id).map(|pool| pool.body.name.clone()).collect();
    world.clusters.update(id, at, |record| {
        let cluster = &mut record.body;
        let masters = if cluster.is_single() { 1 } else { 3 };
        record_upgrade_events(&mut cluster.history, at, masters, &pools, target);
        cluster.upgrade =
            Some(ClusterUpgrade { version_id: target.id, done_at: time_after(at, UPGRADE_SECS) });
        record.timeline = Timeline::new(at, &[(0, "upgrading"), (UPGRADE_SECS, "running")]);
    });
}

/// Completes an upgrade: the cluster has the new version from now on.
pub(in crate::emulator::world) fn finish_cluster_upgrade(world: &mut World, id: Uuid, at: Time) {
    world.clusters.update(id, at, |record| {
        if let Some(upgrade) = record.body.upgrade.take() {
            record.body.version_id = upgrade.version_id;
        }
    });
}

/// Records the events of an upgrade in advance: control plane nodes one at a time, then workers, pool by pool.
fn record_upgrade_events(
    history: &mut ClusterEventLog,
    at: Time,
    masters: i64,
    pools: &[String],
    target: &KubernetesVersion,
) {
    let version = target.text();
    history.add(at, 0, "upgrade.started", format!("upgrade to {version} started"));
    for node in 0..masters {
        let message = format!("control plane node {} of {masters} upgraded to {version}", node + 1);
        history.add(at, (node + 1) * UPGRADE_SECS / 2 / masters, "upgrade.control_plane", message);
    }
    let count = i64::try_from(pools.len()).unwrap_or(i64::MAX);
    for (number, pool) in (1..).zip(pools) {
        let message = format!("workers of the pool {pool} drained and upgraded to {version}");
        history.add(at, UPGRADE_SECS / 2 + number * UPGRADE_SECS / 2 / count, "upgrade.workers", message);
    }
    history.add(at, UPGRADE_SECS, "upgrade.finished", format!("upgrade to {version} finished"));
}

fn list_cluster_upgrades(call: &mut Call<'_>) -> Reply {
    let record = find_cluster(call)?;
    call.list_of(&kubernetes_versions::possible_upgrades(record.body.version_id), |fields, version| {
        kubernetes_versions::write_version(fields, version);
    })
}

fn upgrade_cluster(call: &mut Call<'_>) -> Reply {
    let record = find_running(call)?;
    let id = record.id;
    let wanted = call.body.required_field("version_id", |field| field.integer(0, i64::MAX))?;
    let confirmed =
        call.body.optional_field("confirm_single_master", BodyField::boolean)?.unwrap_or_default();
    let possible = kubernetes_versions::possible_upgrades(record.body.version_id);
    let Some(target) = possible.iter().find(|version| version.id == wanted) else {
        return Err(ErrorResponse::bad_request(format!(
            "version_id {wanted} is not among the upgrades of this cluster: read GET /api/v1/k8s/clusters/{}/upgrades",
            cluster_short_id(record)
        )));
    };
    if record.body.is_single() && !confirmed {
        return Err(ErrorResponse::bad_request(
            "confirm_single_master must be true: the API of a cluster with a single master is interrupted briefly",
        ));
    }
    let now = call.now;
    begin_cluster_upgrade(call.world, id, target, now);
    Ok(message_response("cluster upgrade accepted"))
}

fn update_maintenance(call: &mut Call<'_>) -> Reply {
    let record = find_cluster(call)?;
    let id = record.id;
    if record.timeline.gone_at().is_some() {
        return Err(ErrorResponse::conflict("the cluster is deleting"));
    }
    let (now, mut cluster) = (call.now, record.body.clone());
    cluster.read_maintenance(&call.body)?;
    call.update::<Cluster>(id, |record| {
        record.body = cluster;
        record.body.history.add(now, 0, "maintenance.changed", "maintenance settings changed");
    });
    call.record_response::<Cluster>(200, id, "maintenance settings changed")
}
