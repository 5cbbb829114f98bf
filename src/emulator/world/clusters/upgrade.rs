//! Upgrades of a cluster: on request, or automatic in a weekly maintenance window.

use jiff::civil;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::cluster::Cluster;
use super::events::ClusterEventLog;
use super::versions::{self, KubernetesVersion};
use crate::emulator::world::Time;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::{BodyField, RequestBody as Input};
use crate::emulator::world::engine::status_timeline::{Timeline, time_after};
use crate::emulator::world::engine::table::TableRecord;
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
const DAY: i64 = 24 * 3_600;
const WEEK: i64 = 7 * DAY;
/// Seconds for which a maintenance window is open.
const WINDOW_SECS: i64 = 4 * 3_600;

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
    version_id: i64,
    pub(in crate::emulator::world) done_at: Time,
}

/// A weekly window of four hours; the value is its start, in seconds from the beginning of Sunday.
#[derive(Debug, Clone, Copy)]
struct MaintenanceWindow(i64);

impl MaintenanceWindow {
    fn new(day: i8, start: &str) -> Self {
        Self(i64::from(day) * DAY + seconds_of_day(start).unwrap_or_default())
    }

    /// Returns the seconds since the window last opened.
    fn since_opening(self, time: Time) -> i64 {
        // 1970 began on a Thursday.
        (time.as_second() + 4 * DAY - self.0).rem_euclid(WEEK)
    }

    /// Returns the first moment at or after `time` at which the window is open.
    fn open_from(self, time: Time) -> Time {
        match self.since_opening(time) {
            open if open < WINDOW_SECS => time,
            past => Time::from_second(time.as_second() + WEEK - past).unwrap_or(Time::MAX),
        }
    }

    /// Returns when the window closes; it must be open at `time`.
    fn closes_at(self, time: Time) -> Time {
        time_after(time, WINDOW_SECS - self.since_opening(time))
    }
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

    fn window(&self) -> MaintenanceWindow {
        MaintenanceWindow::new(self.maintenance_day, &self.maintenance_start)
    }

    /// Returns the version of the next automatic upgrade.
    fn target(&self) -> Option<&'static KubernetesVersion> {
        let version = versions::find_version(self.version_id)?;
        match self.upgrade_mode {
            UpgradeMode::Manual => None,
            UpgradeMode::AutoPatch => version.newest_patch(),
            UpgradeMode::AutoMinor => version.next_minor().or_else(|| version.newest_patch()),
        }
    }
}

/// Reads a time in exactly the form `HH:MM`; returns seconds since midnight.
fn seconds_of_day(text: &str) -> Option<i64> {
    let shape = text.len() == 5 && text.as_bytes().get(2) == Some(&b':');
    let time: civil::Time = shape.then(|| format!("{text}:00"))?.parse().ok()?;
    Some(i64::from(time.hour()) * 3_600 + i64::from(time.minute()) * 60)
}

impl TableRecord<Cluster> {
    /// Returns the time of the next automatic upgrade, if the cluster does not change before.
    pub(in crate::emulator::world) fn upgrade_due(&self) -> Option<Time> {
        let cluster = &self.body;
        if cluster.upgrade.is_some() {
            return None;
        }
        cluster.target()?;
        let times = [Some(self.updated_at), self.timeline.settles_at(), cluster.window_used];
        let open = times.into_iter().flatten().max().map(|time| cluster.window().open_from(time));
        // The end of time means that no window follows.
        open.filter(|time| *time < Time::MAX)
    }
}

impl World {
    /// Starts an automatic upgrade in an open window. A cluster that is not running waits for the next window.
    pub(in crate::emulator::world) fn upgrade_by_itself(&mut self, id: Uuid, at: Time) {
        let Some(record) = self.clusters.get(id) else { return };
        let (closes, target) = (record.body.window().closes_at(at), record.body.target());
        let running = record.status(at) == "running";
        self.clusters.amend(id, |record| record.body.window_used = Some(closes));
        if let Some(target) = target.filter(|_| running) {
            self.begin_upgrade(id, target, at);
        }
    }

    fn begin_upgrade(&mut self, id: Uuid, target: &KubernetesVersion, at: Time) {
        let pools: Vec<_> = self.cluster_pools(id).map(|pool| pool.body.name.clone()).collect();
        self.clusters.update(id, at, |record| {
            let cluster = &mut record.body;
            let masters = if cluster.is_single() { 1 } else { 3 };
            record_upgrade_events(&mut cluster.history, at, masters, &pools, target);
            cluster.upgrade =
                Some(ClusterUpgrade { version_id: target.id, done_at: time_after(at, UPGRADE_SECS) });
            record.timeline = Timeline::new(at, &[(0, "upgrading"), (UPGRADE_SECS, "running")]);
        });
    }

    /// Records that an upgrade is complete.
    pub(in crate::emulator::world) fn finish_upgrade(&mut self, id: Uuid, at: Time) {
        self.clusters.update(id, at, |record| {
            if let Some(upgrade) = record.body.upgrade.take() {
                record.body.version_id = upgrade.version_id;
            }
        });
    }
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
    let record = call.find_cluster()?;
    call.list_of(&versions::possible_upgrades(record.body.version_id), |fields, version| {
        versions::write_version(fields, version);
    })
}

fn upgrade_cluster(call: &mut Call<'_>) -> Reply {
    let record = call.find_running()?;
    let id = record.id;
    let wanted = call.body.required_field("version_id", |field| field.integer(0, i64::MAX))?;
    let confirmed =
        call.body.optional_field("confirm_single_master", BodyField::boolean)?.unwrap_or_default();
    let possible = versions::possible_upgrades(record.body.version_id);
    let Some(target) = possible.iter().find(|version| version.id == wanted) else {
        return Err(ErrorResponse::bad_request(format!(
            "version_id {wanted} is not among the upgrades of this cluster: read GET /api/v1/k8s/clusters/{}/upgrades",
            record.short_id()
        )));
    };
    if record.body.is_single() && !confirmed {
        return Err(ErrorResponse::bad_request(
            "confirm_single_master must be true: the API of a cluster with a single master is interrupted briefly",
        ));
    }
    let now = call.now;
    call.world.begin_upgrade(id, target, now);
    Ok(message_response("cluster upgrade accepted"))
}

fn update_maintenance(call: &mut Call<'_>) -> Reply {
    let record = call.find_cluster()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_opens_on_its_day_for_four_hours() {
        // 4 March 2026 is a Wednesday.
        for (day, start, time, wanted) in [
            (3, "12:00", "2026-03-04T12:00:00Z", "2026-03-04T12:00:00Z"),
            (3, "12:00", "2026-03-04T15:59:59.5Z", "2026-03-04T15:59:59.5Z"),
            (3, "12:00", "2026-03-04T16:00:00Z", "2026-03-11T12:00:00Z"),
            (3, "12:01", "2026-03-04T12:00:00Z", "2026-03-04T12:01:00Z"),
            (0, "03:00", "2026-03-04T12:00:00Z", "2026-03-08T03:00:00Z"),
            // Over midnight, and over the end of a week.
            (2, "23:30", "2026-03-04T01:00:00Z", "2026-03-04T01:00:00Z"),
            (6, "22:00", "2026-03-08T01:00:00Z", "2026-03-08T01:00:00Z"),
            (6, "22:00", "2026-03-08T02:00:00.25Z", "2026-03-14T22:00:00Z"),
        ] {
            let time: Time = time.parse().unwrap();
            let window = MaintenanceWindow::new(day, start);
            let open = window.open_from(time);
            assert_eq!(open.to_string(), wanted, "{day} {start} {time}");
            let next = window.open_from(window.closes_at(open));
            assert!(next > open && window.since_opening(next) == 0, "{next}");
        }
    }

    #[test]
    fn a_time_of_day_has_one_format() {
        assert_eq!(seconds_of_day("00:00"), Some(0));
        assert_eq!(seconds_of_day("23:59"), Some(DAY - 60));
        for bad in ["", "3:00", "03:0", "24:00", "03:60", "03-00", "03:00:00", "0300", "aé:00", "-1:00"] {
            assert_eq!(seconds_of_day(bad), None, "{bad}");
        }
    }
}
