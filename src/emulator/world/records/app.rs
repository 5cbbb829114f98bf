//! The records of an app service and of uploaded source.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::emulator::seeded_rng;
use crate::emulator::world::Time;
use crate::emulator::world::engine::app_sizes::find_size;
use crate::emulator::world::engine::billing::{Billing, Charge};
use crate::emulator::world::engine::catalog::HOST_DOMAIN;
use crate::emulator::world::engine::child_index::ChildIndex;
use crate::emulator::world::engine::cron::CronSchedule;
use crate::emulator::world::engine::monthly_meter::MonthMeter;
use crate::emulator::world::engine::table::{ChildKind, RecordKind, Table, TableRecord};

/// Limit on the instances counted, even if `mutate` set a larger number.
pub(in crate::emulator::world) const MAX_REPLICAS: i64 = 1_000;

/// What kind of process an app is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::emulator::world) enum AppType {
    /// Serves HTTP to the Internet.
    Web,
    /// Serves the project's network only.
    Private,
    /// Runs permanently without a port.
    Worker,
    /// Runs on a schedule.
    Cron,
    /// Runs on request.
    Job,
}

impl AppType {
    /// Returns whether an app of this type has permanent instances.
    pub(in crate::emulator::world) fn is_long_running(self) -> bool {
        matches!(self, Self::Web | Self::Private | Self::Worker)
    }

    /// Returns whether an app of this type listens on a port.
    pub(in crate::emulator::world) fn has_port(self) -> bool {
        matches!(self, Self::Web | Self::Private)
    }
}

/// A service of the application platform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct App {
    pub(in crate::emulator::world) name: String,
    #[serde(rename = "type")]
    pub(in crate::emulator::world) kind: AppType,
    pub(in crate::emulator::world) description: String,
    /// Container image; empty if the app is built from source.
    pub(in crate::emulator::world) image: String,
    /// Repository to build from; empty for an image or uploaded source.
    pub(in crate::emulator::world) repo: String,
    pub(in crate::emulator::world) branch: String,
    pub(in crate::emulator::world) github_installation_id: String,
    /// The most recently deployed uploaded source.
    pub(in crate::emulator::world) source: Option<StoredArchive>,
    pub(in crate::emulator::world) size: String,
    pub(in crate::emulator::world) start_command: String,
    pub(in crate::emulator::world) port: Option<i64>,
    pub(in crate::emulator::world) health_check_path: String,
    pub(in crate::emulator::world) cron_schedule: String,
    pub(in crate::emulator::world) cron_timezone: String,
    pub(in crate::emulator::world) cron_concurrency: String,
    pub(in crate::emulator::world) previews_enabled: bool,
    pub(in crate::emulator::world) env_vars: BTreeMap<String, String>,
    pub(in crate::emulator::world) instances: i64,
    /// Both bounds are set if autoscaling is on, and neither otherwise.
    pub(in crate::emulator::world) min_replicas: Option<i64>,
    pub(in crate::emulator::world) max_replicas: Option<i64>,
    pub(in crate::emulator::world) autoscaling_target: Option<i64>,
    pub(in crate::emulator::world) billing: Billing,
    /// The spend cap paused the app and will resume it.
    pub(in crate::emulator::world) paused_by_cap: bool,
    /// Number of deployments so far.
    pub(in crate::emulator::world) deployments: i64,
    /// The app was changed while it did not run: the next start deploys.
    pub(in crate::emulator::world) changed: bool,
    /// Number of previews opened so far.
    pub(in crate::emulator::world) previews: i64,
    /// Exit code of the app's runs, and their duration in seconds; `mutate` sets them to simulate failures.
    pub(in crate::emulator::world) job_exit_code: i64,
    pub(in crate::emulator::world) job_seconds: i64,
    /// When the schedule runs the app next.
    pub(in crate::emulator::world) next_run_at: Option<Time>,
    /// Instance use and its cost, by month.
    pub(in crate::emulator::world) used: MonthMeter,
    pub(in crate::emulator::world) spent: MonthMeter,
}

impl App {
    /// Returns whether the app is built from uploaded source.
    pub(in crate::emulator::world) fn is_uploaded(&self) -> bool {
        self.image.is_empty() && self.repo.is_empty()
    }

    /// Returns the number of instances. An emulated app has no load, so autoscaling stays at the minimum.
    pub(in crate::emulator::world) fn replica_count(&self) -> i64 {
        let wanted = self.min_replicas.unwrap_or(self.instances);
        if self.kind.is_long_running() { wanted.clamp(0, MAX_REPLICAS) } else { 0 }
    }

    /// Returns the exact monthly price of the app's instances.
    pub(in crate::emulator::world) fn monthly_price(&self) -> Decimal {
        find_size(&self.size)
            .map_or(Decimal::ZERO, |size| size.monthly_price() * Decimal::from(self.replica_count()))
    }

    /// Returns the app's schedule, if it has a valid one.
    pub(in crate::emulator::world) fn schedule(&self) -> Option<CronSchedule> {
        let cron = self.kind == AppType::Cron;
        CronSchedule::parse(&self.cron_schedule, &self.cron_timezone).ok().filter(|_| cron)
    }
}

/// Returns the short id, which is part of host names.
pub(in crate::emulator::world) fn app_short_id(record: &TableRecord<App>) -> String {
    seeded_rng::derive_text(record.id, 2, b"abcdefghijklmnopqrstuvwxyz0123456789", 8)
}

/// Returns the host name that custom domains point to.
pub(in crate::emulator::world) fn app_host_name(record: &TableRecord<App>) -> String {
    format!("{}.apps.{HOST_DOMAIN}", app_short_id(record))
}

pub(in crate::emulator::world) fn app_url(record: &TableRecord<App>) -> String {
    match record.body.kind {
        AppType::Web => format!("https://{}", app_host_name(record)),
        AppType::Private => {
            let port = record.body.port.unwrap_or_default();
            format!("http://{}.private.apps.{HOST_DOMAIN}:{port}", app_short_id(record))
        }
        _ => String::new(),
    }
}

/// Returns whether the app runs, or will once it has started.
pub(in crate::emulator::world) fn is_app_up(record: &TableRecord<App>) -> bool {
    record.timeline.final_status() == "live"
}

/// Returns the number of instances that are billed by the hour, and their hourly rate.
fn metered_usage(record: &TableRecord<App>) -> (Decimal, Decimal) {
    let running = if is_app_up(record) { record.body.replica_count() } else { 0 };
    let charge = App::charge(record).filter(|charge| charge.paid_until.is_none());
    (Decimal::from(running), charge.map_or(Decimal::ZERO, Charge::hourly_price))
}

/// Replaces the app's settings, and keeps its recorded use.
pub(in crate::emulator::world) fn replace_app_body(record: &mut TableRecord<App>, new: App) {
    record.body = App { used: record.body.used, spent: record.body.spent, ..new };
}

/// Updates the recorded use up to a time. Call it before each change that affects the use.
pub(in crate::emulator::world) fn update_app_meters(record: &mut TableRecord<App>, now: Time) {
    let (instances, rate) = metered_usage(record);
    record.body.used.run(now, instances);
    record.body.spent.run(now, rate);
}

/// Computes the schedule's next run after a time.
pub(in crate::emulator::world) fn schedule_next_run(record: &mut TableRecord<App>, after: Time) {
    let schedule = record.body.schedule().filter(|_| is_app_up(record));
    record.body.next_run_at = schedule.and_then(|cron| cron.next(after));
}

/// Index of the apps by name and short id.
#[derive(Default)]
pub(in crate::emulator::world) struct AppIndex {
    pub(in crate::emulator::world) names: HashMap<(Option<Uuid>, String), BTreeSet<Uuid>>,
    pub(in crate::emulator::world) short: HashMap<String, Uuid>,
}

impl AppIndex {
    /// Returns whether another app of the project has the name.
    pub(in crate::emulator::world) fn is_name_taken(
        &self,
        project: Option<Uuid>,
        name: &str,
        except: Option<Uuid>,
    ) -> bool {
        let same = self.names.get(&(project, name.to_owned()));
        same.is_some_and(|ids| ids.iter().any(|id| Some(*id) != except))
    }
}

impl RecordKind for App {
    const KIND: &'static str = "app";
    const TITLE: &'static str = "app service";
    type Index = AppIndex;

    fn index(index: &mut AppIndex, record: &TableRecord<Self>, present: bool) {
        let key = (record.project, record.body.name.clone());
        if present {
            index.names.entry(key).or_default().insert(record.id);
            index.short.insert(app_short_id(record), record.id);
            return;
        }
        index.short.remove(&app_short_id(record));
        if let Some(same) = index.names.get_mut(&key) {
            same.remove(&record.id);
            if same.is_empty() {
                index.names.remove(&key);
            }
        }
    }

    fn charge(record: &TableRecord<Self>) -> Option<Charge> {
        let leaving = record.timeline.gone_at().is_some();
        let paid = is_app_up(record) || record.body.billing != Billing::Payg;
        (paid && !leaving).then(|| record.body.billing.charge(record.body.monthly_price()))
    }

    fn renew(record: &mut TableRecord<Self>, until: Time) {
        record.body.billing.extend(until);
    }

    fn settle(record: &mut TableRecord<Self>, now: Time) {
        update_app_meters(record, now);
    }

    fn next(record: &TableRecord<Self>) -> Option<Time> {
        record.timeline.gone_at().or(record.body.next_run_at)
    }
}

/// An archive that a deployment was built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct StoredArchive {
    pub(in crate::emulator::world) key: String,
    pub(in crate::emulator::world) size: u64,
    pub(in crate::emulator::world) sha256: String,
}

/// An upload grant, and the archive received for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct SourceUpload {
    /// Id of the app or function that the source is for.
    pub(in crate::emulator::world) owner: Uuid,
    pub(in crate::emulator::world) expires_at: Time,
    pub(in crate::emulator::world) received: Option<StoredArchive>,
}

impl RecordKind for SourceUpload {
    const KIND: &'static str = "upload";
    const TITLE: &'static str = "upload";
    const IS_OBJECT: bool = false;
    type Index = ChildIndex;

    fn index(index: &mut ChildIndex, record: &TableRecord<Self>, present: bool) {
        index.index_child(record.body.owner, record.age_key(), present);
    }
}

impl ChildKind for SourceUpload {
    fn children(table: &Table<Self>) -> &ChildIndex {
        table.index()
    }
}
