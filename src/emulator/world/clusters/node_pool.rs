//! `node_pool`: groups of a cluster's workers that share one plan. A cluster keeps at least two workers
//! over all pools ("Limits").

use std::collections::BTreeMap;

use uuid::Uuid;

use super::find_cluster::{find_cluster, find_running};
use crate::emulator::world::Time;
use crate::emulator::world::engine::catalog::{self};
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::{BodyField, RequestBody as Input};
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::{RecordKind, TableRecord};
use crate::emulator::world::records::cluster::{MIN_WORKERS, NodePool, NodeTaint};
use crate::emulator::world::request::call::{Call, Reply, list_response, message_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

const COLLECTION: &str = "/api/v1/k8s/clusters/{id}/pools";
const ITEM: &str = "/api/v1/k8s/clusters/{id}/pools/{pool_id}";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, COLLECTION, Access::Account, list_node_pools),
    Route::new(Method::Post, COLLECTION, Access::ProjectStated, create_node_pool),
    Route::new(Method::Get, ITEM, Access::Account, read_node_pool),
    Route::new(Method::Patch, ITEM, Access::ProjectStated, update_node_pool),
    Route::new(Method::Delete, ITEM, Access::ProjectStated, delete_node_pool),
];

const PROVISIONING: &[(i64, &str)] = &[(0, "provisioning"), (30, "running")];
const SCALING: &[(i64, &str)] = &[(0, "scaling"), (30, "running")];

const MAX_NODES: u32 = 1_000;
const MAX_TAINTS: usize = 100;

const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Reads a pool from its create request, or from an item of a cluster's create request. The caller sets `cluster_id`.
pub(in crate::emulator::world) fn parse_node_pool(body: &Input) -> Result<NodePool, ErrorResponse> {
    Ok(NodePool {
        cluster_id: Uuid::nil(),
        name: body.required_field("name", BodyField::name)?,
        plan_id: body.required_field("plan_id", plan_id)?,
        node_count: body.required_field("node_count", node_count)?,
        labels: body.optional_field("labels", read_labels)?.unwrap_or_default(),
        taints: body.optional_field("taints", read_taints)?.unwrap_or_default(),
    })
}

/// Reads the id of a worker plan; refuses one that is not in the catalog.
pub(in crate::emulator::world) fn plan_id(field: BodyField<'_>) -> Result<i64, ErrorResponse> {
    let id = field.integer(0, i64::MAX)?;
    if catalog::node_plan(id).is_none() {
        return Err(ErrorResponse::bad_request(format!("plan {id} is not in the node plan catalog")));
    }
    Ok(id)
}

/// Reads a number of workers, from 1 to `MAX_NODES`.
pub(in crate::emulator::world) fn node_count(field: BodyField<'_>) -> Result<u32, ErrorResponse> {
    let count = field.integer(1, i64::from(MAX_NODES))?;
    Ok(u32::try_from(count).unwrap_or(MAX_NODES))
}

fn read_labels(field: BodyField<'_>) -> Result<BTreeMap<String, String>, ErrorResponse> {
    let pairs = field.object()?.iter();
    pairs
        .map(|(key, value)| match value.as_str() {
            Some(value) => Ok((key.clone(), value.to_owned())),
            None => Err(ErrorResponse::bad_request(format!("labels: the value of {key} must be a text"))),
        })
        .collect()
}

fn read_taints(field: BodyField<'_>) -> Result<Vec<NodeTaint>, ErrorResponse> {
    field.list(MAX_TAINTS, |item| {
        let taint =
            item.deserialize_value::<NodeTaint>("a list of taints, each with key, value and effect")?;
        let effect = match &taint {
            NodeTaint::Short(text) => text.rsplit_once(':').map(|(_, effect)| effect).unwrap_or_default(),
            NodeTaint::Long { effect, .. } => effect,
        };
        if EFFECTS.contains(&effect) {
            return Ok(taint);
        }
        Err(ErrorResponse::bad_request(format!("taints: the effect must be one of {}", EFFECTS.join(", "))))
    })
}

impl Handlers for NodePool {
    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let pool = &record.body;
        fields.write_field("id", &record.id);
        fields.write_field("cluster_id", &pool.cluster_id);
        fields.write_field("name", &pool.name);
        fields.write_field("plan_id", &pool.plan_id);
        fields.write_field("node_class", &pool.plan().map(|plan| plan.node_class));
        fields.write_field("node_count", &pool.node_count);
        fields.write_field("status", record.status(view.now));
        fields.write_field("project_id", &record.project);
        fields.write_field("created_at", &record.created_at);
        fields.write_field("updated_at", &record.updated_at);
        if view.detail {
            fields.write_field("labels", &pool.labels);
            fields.write_field("taints", &pool.taints);
        }
    }
}

/// Returns the pools of a cluster, youngest first.
pub(in crate::emulator::world) fn list_cluster_pools(
    world: &World,
    cluster: Uuid,
) -> impl Iterator<Item = &TableRecord<NodePool>> {
    let all = (cluster, Time::MIN, Uuid::nil())..=(cluster, Time::MAX, Uuid::max());
    let ids = world.node_pools.index().pools.range(all).rev();
    ids.filter_map(|(_, _, id)| world.node_pools.get(*id))
}

fn count_workers(world: &World, cluster: Uuid) -> u64 {
    world.node_pools.index().workers.get(&cluster).copied().unwrap_or_default()
}

/// Adds a pool to a cluster and its project, and an event to its history; returns the pool's id.
pub(in crate::emulator::world) fn add_node_pool(
    world: &mut World,
    cluster: Uuid,
    pool: NodePool,
    timeline: Timeline,
    now: Time,
) -> Uuid {
    let project = world.clusters.get(cluster).and_then(|record| record.project);
    record_pool_event(world, cluster, now, "pool.created", format!("node pool {} created", pool.name));
    world.create_record(project, now, timeline, NodePool { cluster_id: cluster, ..pool })
}

/// Records an event of a pool in its cluster's history.
fn record_pool_event(world: &mut World, cluster: Uuid, now: Time, kind: &str, message: String) {
    world.clusters.amend(cluster, |record| record.body.history.add(now, 0, kind, message));
}

/// Finds the pool that the path identifies; "not found" for one of another cluster.
fn find_node_pool<'c>(call: &'c Call<'_>) -> Result<&'c TableRecord<NodePool>, ErrorResponse> {
    let cluster = find_cluster(call)?.id;
    let id = Uuid::try_parse(call.param(1)).ok();
    let found = id.and_then(|id| call.world.node_pools.get(id));
    found
        .filter(|pool| pool.body.cluster_id == cluster)
        .ok_or_else(|| ErrorResponse::not_found(NodePool::TITLE))
}

/// Finds the pool that the path identifies; refuses it with 409 while the pool or its cluster is changing.
fn find_stable_pool<'c>(call: &'c Call<'_>) -> Result<&'c TableRecord<NodePool>, ErrorResponse> {
    let pool = find_node_pool(call)?;
    find_running(call)?;
    match pool.status(call.now) {
        "running" | "failed" => Ok(pool),
        status => {
            Err(ErrorResponse::conflict(format!("the node pool is {status}; it must be running or failed")))
        }
    }
}

/// Refuses a change that removes `taken` workers if fewer than `MIN_WORKERS` would remain in the cluster.
fn require_remaining_workers(
    call: &Call<'_>,
    pool: &TableRecord<NodePool>,
    taken: u32,
) -> Result<(), ErrorResponse> {
    let left = count_workers(call.world, pool.body.cluster_id).saturating_sub(u64::from(taken));
    if taken == 0 || left >= u64::from(MIN_WORKERS) {
        return Ok(());
    }
    Err(ErrorResponse::bad_request(format!(
        "a cluster keeps at least {MIN_WORKERS} workers over all pools, and this leaves {left}: add workers first"
    )))
}

fn list_node_pools(call: &mut Call<'_>) -> Reply {
    let cluster = find_cluster(call)?.id;
    let (offset, limit) = call.page_bounds()?;
    let view = RenderContext { world: call.world, now: call.now, detail: false };
    let page = list_cluster_pools(view.world, cluster).skip(offset).take(limit);
    Ok(list_response(list_cluster_pools(view.world, cluster).count(), page, |fields, pool| {
        NodePool::show(pool, view, fields);
    }))
}

fn create_node_pool(call: &mut Call<'_>) -> Reply {
    let cluster = find_running(call)?.id;
    let pool = parse_node_pool(&call.body)?;
    call.validate_billing()?;
    let now = call.now;
    let id = add_node_pool(call.world, cluster, pool, Timeline::new(now, PROVISIONING), now);
    call.record_response::<NodePool>(201, id, "node pool created")
}

fn read_node_pool(call: &mut Call<'_>) -> Reply {
    let id = find_node_pool(call)?.id;
    call.record_response::<NodePool>(200, id, "")
}

fn update_node_pool(call: &mut Call<'_>) -> Reply {
    let pool = find_stable_pool(call)?;
    let (id, cluster, mut body) = (pool.id, pool.body.cluster_id, pool.body.clone());
    let old = body.node_count;
    body.node_count = call.body.optional_field("node_count", node_count)?.unwrap_or(old);
    body.labels = call.body.optional_field("labels", read_labels)?.unwrap_or(body.labels);
    body.taints = call.body.optional_field("taints", read_taints)?.unwrap_or(body.taints);
    let new = body.node_count;
    require_remaining_workers(call, pool, old.saturating_sub(new))?;
    if new > old {
        call.validate_billing()?;
    }
    let now = call.now;
    if new != old {
        let message = format!("node pool {} scaled from {old} to {new} workers", body.name);
        record_pool_event(call.world, cluster, now, "pool.scaled", message);
    }
    call.update::<NodePool>(id, |record| {
        record.body = body;
        if new != old {
            record.timeline = Timeline::new(now, SCALING);
        }
    });
    call.record_response::<NodePool>(200, id, "node pool updated")
}

fn delete_node_pool(call: &mut Call<'_>) -> Reply {
    let pool = find_stable_pool(call)?;
    let (id, cluster, name) = (pool.id, pool.body.cluster_id, pool.body.name.clone());
    require_remaining_workers(call, pool, pool.body.node_count)?;
    let now = call.now;
    record_pool_event(call.world, cluster, now, "pool.deleted", format!("node pool {name} deleted"));
    call.update::<NodePool>(id, |record| {
        record.timeline = Timeline::with_status(now, "deleting").gone_after(now, 5);
    });
    Ok(message_response("node pool deletion accepted"))
}
