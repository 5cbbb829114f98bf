//! Creation and deletion of clusters. Both take time: a cluster and its pools change their statuses together.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::find_cluster::find_cluster;
use super::node_pool::{self, add_node_pool, list_cluster_pools, parse_node_pool};
use crate::emulator::world::engine::kubernetes_versions;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::{BodyField, RequestBody as Input};
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::records::cluster::{
    Cluster, ClusterEventLog, MIN_WORKERS, NodePool, UpgradeMode,
};
use crate::emulator::world::records::compute::Vpc;
use crate::emulator::world::request::call::{Call, Reply, message_response};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Post, "/api/v1/k8s/clusters", Access::ProjectStated, create_cluster),
    Route::new(Method::Delete, "/api/v1/k8s/clusters/{id}", Access::ProjectStated, delete_cluster),
];

/// Seconds until a new cluster is running, together with its initial pools.
const CREATION_SECS: i64 = 90;
const DELETION_SECS: i64 = 10;
const MAX_POOLS: usize = 100;

fn create_cluster(call: &mut Call<'_>) -> Reply {
    no_storage_nodes(&call.body)?;
    let mut cluster = read_new_cluster(&call.body)?;
    let pools = read_initial_pools(&call.body, cluster.worker_plan_id)?;
    call.body.check_region()?;
    if let Some(vpc) = cluster.vpc_id {
        call.find_by_id::<Vpc>(vpc)?;
    }
    let (now, project) = (call.now, call.project_id());
    if call.world.clusters.index().is_name_taken(project, &cluster.name) {
        return Err(ErrorResponse::conflict(format!(
            "the name {} is already taken in this project",
            cluster.name
        )));
    }
    call.validate_billing()?;
    cluster.history.add(now, 0, "cluster.created", "cluster created");
    cluster.history.add(now, CREATION_SECS, "cluster.ready", "the control plane and all workers are ready");
    let timeline = Timeline::new(now, &[(0, "pending"), (2, "provisioning"), (CREATION_SECS, "running")]);
    let id = call.world.create_record(Some(project), now, timeline, cluster);
    for pool in pools {
        let timeline = Timeline::new(now, &[(0, "provisioning"), (CREATION_SECS, "running")]);
        add_node_pool(call.world, id, pool, timeline, now);
    }
    call.record_response::<Cluster>(201, id, "cluster created")
}

/// Refuses storage nodes, which earlier versions of the API offered ("Errors", case 6); 0 is accepted.
fn no_storage_nodes(body: &Input) -> Result<(), ErrorResponse> {
    for name in ["storage_node_count", "storage_node_disk_gb"] {
        if body.optional_field(name, |field| field.integer(0, i64::MAX))?.is_some_and(|number| number != 0)
        {
            return Err(ErrorResponse::bad_request(format!(
                "{name}: clusters have no storage nodes any more; set it to 0, or leave it out"
            )));
        }
    }
    Ok(())
}

/// Reads the body of a create request, except for the pools. Without settings, upgrades are manual and the
/// maintenance window opens on Sunday at 03:00 UTC.
fn read_new_cluster(body: &Input) -> Result<Cluster, ErrorResponse> {
    let version_id = body.required_field("version_id", |field| field.integer(0, i64::MAX))?;
    if kubernetes_versions::find_version(version_id).is_none() {
        return Err(ErrorResponse::bad_request(format!(
            "version_id {version_id} is not among GET /api/v1/k8s/versions"
        )));
    }
    let count = body.optional_field("control_plane_count", |field| field.integer(1, 3))?.unwrap_or(1);
    if count == 2 {
        return Err(ErrorResponse::bad_request(
            "control_plane_count must be 1, or 3 for high availability",
        ));
    }
    let mut cluster = Cluster {
        name: body.required_field("name", BodyField::name)?,
        version_id,
        control_plane_count: count,
        vpc_id: body.optional_field("vpc_id", BodyField::uuid)?,
        worker_plan_id: body.optional_field("worker_plan_id", node_pool::plan_id)?,
        upgrade_mode: UpgradeMode::Manual,
        maintenance_day: 0,
        maintenance_start: "03:00".to_owned(),
        window_used: None,
        upgrade: None,
        rotations: 0,
        claims: BTreeMap::new(),
        bound: BTreeMap::new(),
        history: ClusterEventLog::default(),
    };
    cluster.read_maintenance(body)?;
    Ok(cluster)
}

/// Reads the initial pools of a cluster: those of the body, else one default pool of the worker plan, else none. Pools
/// in the body must have the least number of workers together ("Limits").
fn read_initial_pools(body: &Input, worker_plan: Option<i64>) -> Result<Vec<NodePool>, ErrorResponse> {
    let read = body.optional_field("node_pools", |field| {
        field.list(MAX_POOLS, |item| {
            parse_node_pool(&item.nested_body()?).map_err(|refusal| refusal.with_field("node_pools"))
        })
    })?;
    let pools = read.unwrap_or_default();
    if pools.is_empty() {
        return Ok(worker_plan.map(NodePool::default_of).into_iter().collect());
    }
    let workers: u32 = pools.iter().map(|pool| pool.node_count).sum();
    if workers < MIN_WORKERS {
        return Err(ErrorResponse::bad_request(format!(
            "node_pools: a cluster has at least {MIN_WORKERS} workers over all pools, and these have {workers}"
        )));
    }
    Ok(pools)
}

fn delete_cluster(call: &mut Call<'_>) -> Reply {
    let record = find_cluster(call)?;
    let id = record.id;
    let status = record.status(call.now);
    if !matches!(status, "running" | "failed") {
        return Err(ErrorResponse::conflict(format!(
            "the cluster is {status}; it must be running or failed"
        )));
    }
    let now = call.now;
    let leaving = Timeline::with_status(now, "deleting").gone_after(now, DELETION_SECS);
    let pools: Vec<Uuid> = list_cluster_pools(call.world, id).map(|pool| pool.id).collect();
    for pool in pools {
        call.update::<NodePool>(pool, |record| record.timeline = leaving.clone());
    }
    call.update::<Cluster>(id, |record| {
        record.timeline = leaving;
        record.body.history.add(now, 0, "cluster.deleting", "deletion of the cluster accepted");
    });
    Ok(message_response("cluster deletion accepted"))
}
