//! `cluster`: managed Kubernetes clusters: their record, their price and their API representation.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::events::ClusterEventLog;
use super::node_pool::NodePool;
use super::upgrade::{ClusterUpgrade, UpgradeMode};
use super::versions;
use super::volume_claim::{BoundClaim, ClaimSize};
use crate::emulator::seeded_rng;
use crate::emulator::world::Time;
use crate::emulator::world::compute::volume::Volume;
use crate::emulator::world::databases::database::HOST_DOMAIN;
use crate::emulator::world::engine::billing::{Billing, Charge};
use crate::emulator::world::engine::catalog::CONTROL_PLANE;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::money::from_cents;
use crate::emulator::world::engine::table::{RecordKind, TableRecord};
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

/// A managed Kubernetes cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct Cluster {
    pub(in crate::emulator::world) name: String,
    pub(in crate::emulator::world) version_id: i64,
    /// 1, or 3 for a highly available control plane.
    pub(in crate::emulator::world) control_plane_count: i64,
    pub(in crate::emulator::world) vpc_id: Option<Uuid>,
    /// Plan of the default pool that the cluster was created with.
    pub(in crate::emulator::world) worker_plan_id: Option<i64>,
    pub(in crate::emulator::world) upgrade_mode: UpgradeMode,
    /// Day of the week; Sunday is 0.
    pub(in crate::emulator::world) maintenance_day: i8,
    /// Start of the window: `HH:MM`, UTC.
    pub(in crate::emulator::world) maintenance_start: String,
    /// End of the last weekly window in which an automatic upgrade was attempted.
    pub(in crate::emulator::world) window_used: Option<Time>,
    /// The upgrade in progress.
    pub(in crate::emulator::world) upgrade: Option<ClusterUpgrade>,
    /// How often the credentials were rotated.
    pub(in crate::emulator::world) rotations: u64,
    /// Volume sizes that workloads in the cluster request. The service's API does not set them; `mutate` does.
    pub(in crate::emulator::world) claims: BTreeMap<String, ClaimSize>,
    /// Volumes bound to the claims.
    pub(in crate::emulator::world) bound: BTreeMap<String, BoundClaim>,
    pub(in crate::emulator::world) history: ClusterEventLog,
}

impl Cluster {
    pub(in crate::emulator::world) fn is_single(&self) -> bool {
        self.control_plane_count == 1
    }

    /// Returns the monthly price of the control plane; workers are billed with their pools.
    fn monthly_price(&self) -> Decimal {
        from_cents(if self.is_single() { CONTROL_PLANE.0 } else { CONTROL_PLANE.1 })
    }
}

impl TableRecord<Cluster> {
    /// Returns the short id, which is part of host names.
    pub(in crate::emulator::world) fn short_id(&self) -> String {
        seeded_rng::derive_text(self.id, 3, b"abcdefghijklmnopqrstuvwxyz0123456789", 8)
    }

    /// Returns the URL of the cluster's API server, once it is available.
    pub(in crate::emulator::world) fn endpoint(&self, now: Time) -> Option<String> {
        let up = !matches!(self.status(now), "pending" | "provisioning" | "failed");
        up.then(|| format!("https://{}.k8s.{HOST_DOMAIN}:6443", self.short_id()))
    }
}

/// Index of the clusters by name, short id and network.
#[derive(Default)]
pub(in crate::emulator::world) struct ClusterIndex {
    names: HashMap<(Option<Uuid>, String), BTreeSet<Uuid>>,
    short: HashMap<String, Uuid>,
    networks: BTreeSet<(Uuid, Uuid)>,
}

impl ClusterIndex {
    pub(in crate::emulator::world) fn in_vpc(&self, vpc: Uuid) -> usize {
        self.networks.range((vpc, Uuid::nil())..=(vpc, Uuid::max())).count()
    }

    /// Returns whether a cluster of the project has the name.
    pub(in crate::emulator::world) fn is_name_taken(&self, project: Uuid, name: &str) -> bool {
        self.names.contains_key(&(Some(project), name.to_owned()))
    }
}

impl RecordKind for Cluster {
    const KIND: &'static str = "cluster";
    const TITLE: &'static str = "cluster";
    type Index = ClusterIndex;

    fn index(index: &mut ClusterIndex, record: &TableRecord<Self>, present: bool) {
        let key = (record.project, record.body.name.clone());
        let network = record.body.vpc_id.map(|vpc| (vpc, record.id));
        if present {
            index.names.entry(key).or_default().insert(record.id);
            index.short.insert(record.short_id(), record.id);
            index.networks.extend(network);
            return;
        }
        if let Some(same) = index.names.get_mut(&key) {
            same.remove(&record.id);
            if same.is_empty() {
                index.names.remove(&key);
            }
        }
        index.short.remove(&record.short_id());
        network.map(|network| index.networks.remove(&network));
    }

    fn charge(record: &TableRecord<Self>) -> Option<Charge> {
        let leaving = record.timeline.gone_at().is_some();
        (!leaving).then(|| Billing::Payg.charge(record.body.monthly_price()))
    }

    fn next(record: &TableRecord<Self>) -> Option<Time> {
        let gone = record.timeline.gone_at();
        gone.or_else(|| {
            let upgraded = record.body.upgrade.as_ref().map(|upgrade| upgrade.done_at);
            [upgraded, record.claims_due(), record.upgrade_due()].into_iter().flatten().min()
        })
    }
}

impl Handlers for Cluster {
    fn happen(world: &mut World, id: Uuid, at: Time, _until: Time) {
        let Some(record) = world.clusters.get(id) else { return };
        if record.timeline.gone_at().is_some() {
            world.remove_cluster(id, at);
        } else if record.body.upgrade.as_ref().is_some_and(|upgrade| upgrade.done_at <= at) {
            world.finish_upgrade(id, at);
        } else if record.claims_due().is_some_and(|due| due <= at) {
            world.settle_claims(id, at);
        } else {
            world.upgrade_by_itself(id, at);
        }
    }

    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let cluster = &record.body;
        fields.write_field("id", &record.id);
        fields.write_field("cluster_id", &record.short_id());
        fields.write_field("project_id", &record.project);
        fields.write_field("name", &cluster.name);
        fields.write_field("status", record.status(view.now));
        fields.write_field("region", "us-east");
        fields.write_field("endpoint", &record.endpoint(view.now).unwrap_or_default());
        fields.write_field("version_id", &cluster.version_id);
        fields.write_field(
            "version",
            &versions::find_version(cluster.version_id).map(versions::KubernetesVersion::text),
        );
        fields.write_field("control_plane_count", &cluster.control_plane_count);
        fields.write_field("vpc_id", &cluster.vpc_id);
        fields.write_field("worker_plan_id", &cluster.worker_plan_id);
        fields.write_field("upgrade_mode", &cluster.upgrade_mode);
        fields.write_field("maintenance_day", &cluster.maintenance_day);
        fields.write_field("maintenance_start", &cluster.maintenance_start);
        let pools = view.world.cluster_pools(record.id);
        // A pool has the same short form here as in the list of pools.
        fields.write_object_array("node_pools", pools, |fields, pool| {
            NodePool::show(pool, RenderContext { detail: false, ..view }, fields);
        });
        fields.write_number("price_per_hour", view.world.cluster_rate(record));
        fields.write_field("created_at", &record.created_at);
        fields.write_field("updated_at", &record.updated_at);
    }
}

impl World {
    /// Returns the hourly price of a cluster, including its workers.
    fn cluster_rate(&self, record: &TableRecord<Cluster>) -> Decimal {
        let control_plane = Cluster::charge(record).map_or(Decimal::ZERO, Charge::hourly_price);
        let pools = self.cluster_pools(record.id).filter_map(NodePool::charge).map(Charge::hourly_price);
        control_plane + pools.sum::<Decimal>()
    }

    /// Removes a cluster and its pools; the volumes of its claims stay.
    fn remove_cluster(&mut self, id: Uuid, at: Time) {
        let pools: Vec<_> = self.cluster_pools(id).map(|pool| pool.id).collect();
        for pool in pools {
            self.node_pools.remove(pool);
        }
        let Some(record) = self.clusters.remove(id) else { return };
        for bound in record.body.bound.values() {
            self.volumes.update(bound.volume, at, |volume: &mut TableRecord<Volume>| {
                volume.body.cluster_id = None;
            });
        }
    }
}

impl Call<'_> {
    /// Finds the cluster that the path identifies, by id or short id.
    pub(in crate::emulator::world) fn find_cluster(&self) -> Result<&TableRecord<Cluster>, ErrorResponse> {
        let table = self.world.table::<Cluster>();
        let text = self.param(0);
        let id = table.index().short.get(text).copied().or_else(|| Uuid::try_parse(text).ok());
        self.require_visible(id.and_then(|id| table.get(id)))
    }

    /// Finds the cluster that the path identifies; refuses one that is not running.
    pub(in crate::emulator::world) fn find_running(&self) -> Result<&TableRecord<Cluster>, ErrorResponse> {
        let record = self.find_cluster()?;
        match record.status(self.now) {
            "running" => Ok(record),
            status => Err(ErrorResponse::conflict(format!("the cluster is {status}; it must be running"))),
        }
    }
}

fn read_cluster(call: &mut Call<'_>) -> Reply {
    let id = call.find_cluster()?.id;
    call.record_response::<Cluster>(200, id, "")
}
