//! The records of Kubernetes clusters: the cluster with its events, upgrade and volume claims, and its node pools.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::maintenance::{MaintenanceWindow, seconds_of_day};
use crate::emulator::seeded_rng;
use crate::emulator::world::Time;
use crate::emulator::world::engine::billing::{Billing, Charge};
use crate::emulator::world::engine::catalog::{self, CONTROL_PLANE, NodePlan};
use crate::emulator::world::engine::kubernetes_versions::{self, KubernetesVersion};
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::money::from_cents;
use crate::emulator::world::engine::request_body::RequestBody as Input;
use crate::emulator::world::engine::status_timeline::time_after;
use crate::emulator::world::engine::table::{RecordKind, TableRecord};
use crate::emulator::world::records::cluster::catalog::HOST_DOMAIN;

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

    /// Returns the monthly price of the control plane in USD; workers are billed with their node pools.
    pub(in crate::emulator::world) fn monthly_price(&self) -> Decimal {
        from_cents(if self.is_single() { CONTROL_PLANE.0 } else { CONTROL_PLANE.1 })
    }
}

/// Returns the short id, which is part of host names.
pub(in crate::emulator::world) fn cluster_short_id(record: &TableRecord<Cluster>) -> String {
    seeded_rng::derive_text(record.id, 3, b"abcdefghijklmnopqrstuvwxyz0123456789", 8)
}

/// Returns the URL of the cluster's API server, once it is available.
pub(in crate::emulator::world) fn cluster_endpoint(
    record: &TableRecord<Cluster>,
    now: Time,
) -> Option<String> {
    let up = !matches!(record.status(now), "pending" | "provisioning" | "failed");
    up.then(|| format!("https://{}.k8s.{HOST_DOMAIN}:6443", cluster_short_id(record)))
}

/// Index of the clusters by name, short id and network.
#[derive(Default)]
pub(in crate::emulator::world) struct ClusterIndex {
    pub(in crate::emulator::world) names: HashMap<(Option<Uuid>, String), BTreeSet<Uuid>>,
    pub(in crate::emulator::world) short: HashMap<String, Uuid>,
    pub(in crate::emulator::world) networks: BTreeSet<(Uuid, Uuid)>,
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
            index.short.insert(cluster_short_id(record), record.id);
            index.networks.extend(network);
            return;
        }
        if let Some(same) = index.names.get_mut(&key) {
            same.remove(&record.id);
            if same.is_empty() {
                index.names.remove(&key);
            }
        }
        index.short.remove(&cluster_short_id(record));
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
            [upgraded, claims_due_time(record), next_upgrade_time(record)].into_iter().flatten().min()
        })
    }
}

/// How many events to keep per cluster.
pub(in crate::emulator::world) const MAX_EVENTS: usize = 200;

/// An event in a cluster's event log. Its structure is assumed: the specification does not show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct ClusterEvent {
    pub(in crate::emulator::world) number: u64,
    pub(in crate::emulator::world) at: Time,
    #[serde(rename = "type")]
    pub(in crate::emulator::world) kind: String,
    pub(in crate::emulator::world) message: String,
}

/// A cluster's events, ordered by time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct ClusterEventLog {
    /// Number of events ever added.
    pub(in crate::emulator::world) total: u64,
    pub(in crate::emulator::world) kept: Vec<ClusterEvent>,
}

impl ClusterEventLog {
    /// Adds an event that occurs `seconds` from now.
    pub(in crate::emulator::world) fn add(
        &mut self,
        now: Time,
        seconds: i64,
        kind: &str,
        message: impl Into<String>,
    ) {
        self.total = self.total.wrapping_add(1);
        let at = time_after(now, seconds);
        let event = ClusterEvent { number: self.total, at, kind: kind.to_owned(), message: message.into() };
        let place = self.kept.partition_point(|earlier| earlier.at <= at);
        self.kept.insert(place, event);
        if self.kept.len() > MAX_EVENTS {
            self.kept.remove(0);
        }
    }

    /// Returns the events up to now, youngest first.
    pub(in crate::emulator::world) fn events_until(&self, now: Time) -> Vec<&ClusterEvent> {
        self.kept.iter().rev().filter(|event| event.at <= now).collect()
    }
}

/// Minimum number of workers in a cluster, over all pools.
pub(in crate::emulator::world) const MIN_WORKERS: u32 = 2;

/// A group of workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct NodePool {
    pub(in crate::emulator::world) cluster_id: Uuid,
    pub(in crate::emulator::world) name: String,
    pub(in crate::emulator::world) plan_id: i64,
    pub(in crate::emulator::world) node_count: u32,
    pub(in crate::emulator::world) labels: BTreeMap<String, String>,
    pub(in crate::emulator::world) taints: Vec<NodeTaint>,
}

/// A Kubernetes node taint. The API shows it in the form in which it was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(in crate::emulator::world) enum NodeTaint {
    /// `key=value:NoSchedule`, as `kubectl` takes it.
    Short(String),
    /// An object with key, value and effect.
    Long {
        key: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
        effect: String,
    },
}

impl NodePool {
    pub(in crate::emulator::world) fn plan(&self) -> Option<&'static NodePlan> {
        catalog::node_plan(self.plan_id)
    }

    pub(in crate::emulator::world) fn monthly_price(&self) -> Decimal {
        let plan = self.plan().map_or(Decimal::ZERO, NodePlan::node_monthly_price);
        plan * Decimal::from(self.node_count)
    }

    /// Returns the default pool for a cluster that is created without pools.
    pub(in crate::emulator::world) fn default_of(plan_id: i64) -> Self {
        Self {
            cluster_id: Uuid::nil(),
            name: "default".to_owned(),
            plan_id,
            node_count: MIN_WORKERS,
            labels: BTreeMap::new(),
            taints: Vec::new(),
        }
    }
}

/// Index of the pools by cluster, with the number of workers that are not being deleted.
#[derive(Default)]
pub(in crate::emulator::world) struct NodePoolIndex {
    pub(in crate::emulator::world) pools: BTreeSet<(Uuid, Time, Uuid)>,
    pub(in crate::emulator::world) workers: HashMap<Uuid, u64>,
}

impl RecordKind for NodePool {
    const KIND: &'static str = "node_pool";
    const TITLE: &'static str = "node pool";
    type Index = NodePoolIndex;

    fn index(index: &mut NodePoolIndex, record: &TableRecord<Self>, present: bool) {
        let cluster = record.body.cluster_id;
        let place = (cluster, record.created_at, record.id);
        let count = if record.timeline.gone_at().is_some() { 0 } else { u64::from(record.body.node_count) };
        let workers = index.workers.entry(cluster).or_default();
        if present {
            *workers += count;
            index.pools.insert(place);
            return;
        }
        *workers -= count;
        if *workers == 0 {
            index.workers.remove(&cluster);
        }
        index.pools.remove(&place);
    }

    fn charge(record: &TableRecord<Self>) -> Option<Charge> {
        let leaving = record.timeline.gone_at().is_some();
        (!leaving).then(|| Billing::Payg.charge(record.body.monthly_price()))
    }
}

/// Which upgrades are automatic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::emulator::world) enum UpgradeMode {
    /// Only upgrades that the user requests.
    Manual,
    /// Automatic upgrades to later patches of the same minor version.
    AutoPatch,
    /// Automatic upgrades to later minor versions, too: one per window.
    AutoMinor,
}

/// An upgrade in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct ClusterUpgrade {
    pub(in crate::emulator::world) version_id: i64,
    pub(in crate::emulator::world) done_at: Time,
}

impl Cluster {
    /// Reads the settings for automatic upgrades from a body.
    pub(in crate::emulator::world) fn read_maintenance(
        &mut self,
        body: &Input,
    ) -> Result<(), ErrorResponse> {
        let mode = body.optional_field("upgrade_mode", |field| {
            field.one_of(&["manual", "auto_patch", "auto_minor"])
        })?;
        let day = body
            .optional_field("maintenance_day", |field| field.integer(0, 6))?
            .and_then(|day| i8::try_from(day).ok());
        let start = body.optional_field("maintenance_start", |field| field.text(1, 16))?;
        if let Some(text) = start.filter(|text| seconds_of_day(text).is_none()) {
            return Err(ErrorResponse::bad_request(format!(
                "maintenance_start must be a time of day, UTC, from 00:00 to 23:59, and not `{text}`"
            )));
        }
        self.upgrade_mode = match mode {
            Some("manual") => UpgradeMode::Manual,
            Some("auto_patch") => UpgradeMode::AutoPatch,
            Some(_) => UpgradeMode::AutoMinor,
            None => self.upgrade_mode,
        };
        self.maintenance_day = day.unwrap_or(self.maintenance_day);
        if let Some(start) = start {
            start.clone_into(&mut self.maintenance_start);
        }
        Ok(())
    }

    pub(in crate::emulator::world) fn window(&self) -> MaintenanceWindow {
        MaintenanceWindow::new(self.maintenance_day, &self.maintenance_start)
    }

    /// Returns the version of the next automatic upgrade.
    pub(in crate::emulator::world) fn target(&self) -> Option<&'static KubernetesVersion> {
        let version = kubernetes_versions::find_version(self.version_id)?;
        match self.upgrade_mode {
            UpgradeMode::Manual => None,
            UpgradeMode::AutoPatch => version.newest_patch(),
            UpgradeMode::AutoMinor => version.next_minor().or_else(|| version.newest_patch()),
        }
    }
}

/// Returns the time of the next automatic upgrade, if the cluster does not change before.
pub(in crate::emulator::world) fn next_upgrade_time(record: &TableRecord<Cluster>) -> Option<Time> {
    let cluster = &record.body;
    if cluster.upgrade.is_some() {
        return None;
    }
    cluster.target()?;
    let times = [Some(record.updated_at), record.timeline.settles_at(), cluster.window_used];
    let open = times.into_iter().flatten().max().map(|time| cluster.window().open_from(time));
    // The end of time means that no window follows.
    open.filter(|time| *time < Time::MAX)
}

/// Requested size of a claim: 10 GB to 10 TB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub(in crate::emulator::world) struct ClaimSize(pub(in crate::emulator::world) i64);

impl From<ClaimSize> for i64 {
    fn from(size: ClaimSize) -> Self {
        size.0
    }
}

impl TryFrom<i64> for ClaimSize {
    type Error = &'static str;

    fn try_from(size: i64) -> Result<Self, Self::Error> {
        if (10..=10_240).contains(&size) { Ok(Self(size)) } else { Err("a claim has 10 to 10240 GB") }
    }
}

/// The volume that is bound to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct BoundClaim {
    pub(in crate::emulator::world) volume: Uuid,
    pub(in crate::emulator::world) size: ClaimSize,
}

/// Returns when the claims are to be bound or resized; `None` if all are up to date.
pub(in crate::emulator::world) fn claims_due_time(record: &TableRecord<Cluster>) -> Option<Time> {
    let (claims, bound) = (&record.body.claims, &record.body.bound);
    let has =
        |(name, size): (&String, &ClaimSize)| bound.get(name).is_some_and(|bound| bound.size == *size);
    let settled = claims.len() == bound.len() && claims.iter().all(has);
    (!settled).then(|| record.timeline.settles_at().unwrap_or_default().max(record.updated_at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn future_events_are_hidden_and_the_oldest_are_dropped_first() {
        let zero = Time::UNIX_EPOCH;
        let mut history = ClusterEventLog::default();
        history.add(zero, 60, "later", "");
        history.add(zero, 0, "now", "");
        history.add(time_after(zero, 30), 0, "between", "");
        let seen = |history: &ClusterEventLog, seconds| {
            let events = history.events_until(time_after(zero, seconds));
            events.iter().map(|event| event.kind.clone()).collect::<Vec<_>>()
        };
        assert_eq!(seen(&history, 59), ["between", "now"]);
        assert_eq!(seen(&history, 60), ["later", "between", "now"]);
        (0..MAX_EVENTS).for_each(|_| history.add(time_after(zero, 100), 0, "more", ""));
        assert_eq!(seen(&history, 100), vec!["more"; MAX_EVENTS]);
    }
}
