//! `app`: services of the application platform: their record, their price and their API representation.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::deployment::Deployment;
use super::options::find_size;
use super::upload::StoredArchive;
use crate::emulator::seeded_rng;
use crate::emulator::world::Time;
use crate::emulator::world::databases::database::HOST_DOMAIN;
use crate::emulator::world::engine::billing::{Billing, Charge};
use crate::emulator::world::engine::cron::CronSchedule;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::money;
use crate::emulator::world::engine::monthly_meter::MonthMeter;
use crate::emulator::world::engine::table::{RecordKind, TableRecord};
use crate::emulator::world::request::call::{Call, Reply};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

pub(in crate::emulator::world) const ITEM: &str = "/api/v1/apps/services/{id}";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/apps/services", Access::Project, |call| call.list_records::<App>()),
    Route::new(Method::Get, ITEM, Access::Account, read_app),
];

/// Limit on the instances counted, even if `mutate` set a larger number.
const MAX_REPLICAS: i64 = 1_000;

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
    /// Runs only on request.
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

impl TableRecord<App> {
    /// Returns the short id, which is part of host names.
    pub(in crate::emulator::world) fn short_id(&self) -> String {
        seeded_rng::derive_text(self.id, 2, b"abcdefghijklmnopqrstuvwxyz0123456789", 8)
    }

    /// Returns the host name that custom domains point to.
    pub(in crate::emulator::world) fn host_name(&self) -> String {
        format!("{}.apps.{HOST_DOMAIN}", self.short_id())
    }

    fn url(&self) -> String {
        match self.body.kind {
            AppType::Web => format!("https://{}", self.host_name()),
            AppType::Private => {
                let port = self.body.port.unwrap_or_default();
                format!("http://{}.private.apps.{HOST_DOMAIN}:{port}", self.short_id())
            }
            _ => String::new(),
        }
    }

    /// Returns whether the app runs, or will once it has started.
    pub(in crate::emulator::world) fn is_up(&self) -> bool {
        self.timeline.final_status() == "live"
    }

    /// Returns the number of instances that are billed by the hour, and their hourly rate.
    fn metered_usage(&self) -> (Decimal, Decimal) {
        let running = if self.is_up() { self.body.replica_count() } else { 0 };
        let charge = App::charge(self).filter(|charge| charge.paid_until.is_none());
        (Decimal::from(running), charge.map_or(Decimal::ZERO, Charge::hourly_price))
    }

    /// Replaces the app's settings, and keeps its recorded use.
    pub(in crate::emulator::world) fn replace_body(&mut self, new: App) {
        self.body = App { used: self.body.used, spent: self.body.spent, ..new };
    }

    /// Updates the recorded use up to a time. Call it before each change that affects the use.
    pub(in crate::emulator::world) fn update_meters(&mut self, now: Time) {
        let (instances, rate) = self.metered_usage();
        self.body.used.run(now, instances);
        self.body.spent.run(now, rate);
    }

    /// Computes the schedule's next run after a time.
    pub(in crate::emulator::world) fn schedule_next_run(&mut self, after: Time) {
        let schedule = self.body.schedule().filter(|_| self.is_up());
        self.body.next_run_at = schedule.and_then(|cron| cron.next(after));
    }
}

/// Index of the apps by name and short id.
#[derive(Default)]
pub(in crate::emulator::world) struct AppIndex {
    names: HashMap<(Option<Uuid>, String), BTreeSet<Uuid>>,
    short: HashMap<String, Uuid>,
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
            index.short.insert(record.short_id(), record.id);
            return;
        }
        index.short.remove(&record.short_id());
        if let Some(same) = index.names.get_mut(&key) {
            same.remove(&record.id);
            if same.is_empty() {
                index.names.remove(&key);
            }
        }
    }

    fn charge(record: &TableRecord<Self>) -> Option<Charge> {
        let leaving = record.timeline.gone_at().is_some();
        let paid = record.is_up() || record.body.billing != Billing::Payg;
        (paid && !leaving).then(|| record.body.billing.charge(record.body.monthly_price()))
    }

    fn renew(record: &mut TableRecord<Self>, until: Time) {
        record.body.billing.extend(until);
    }

    fn settle(record: &mut TableRecord<Self>, now: Time) {
        record.update_meters(now);
    }

    fn next(record: &TableRecord<Self>) -> Option<Time> {
        record.timeline.gone_at().or(record.body.next_run_at)
    }
}

impl Handlers for App {
    fn happen(world: &mut World, id: Uuid, at: Time, until: Time) {
        let leaving = world.apps.get(id).is_some_and(|record| record.timeline.gone_at().is_some());
        if leaving {
            world.remove_app(id);
        } else {
            world.run_schedule(id, at, until);
        }
    }

    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let app = &record.body;
        fields.write_field("id", &record.id);
        fields.write_field("service_id", &record.short_id());
        fields.write_field("project_id", &record.project);
        fields.write_field("name", &app.name);
        fields.write_field("type", &app.kind);
        fields.write_field("description", &app.description);
        fields.write_field("status", record.status(view.now));
        fields.write_field("region", "us-east");
        fields.write_field("image", &app.image);
        fields.write_field("repo", &app.repo);
        fields.write_field("branch", &app.branch);
        fields.write_field("github_installation_id", &app.github_installation_id.parse::<i64>().ok());
        fields.write_field("blob_key", app.source.as_ref().map_or("", |blob| blob.key.as_str()));
        fields.write_field("url", &record.url());
        let live = Deployment::find_live(view.world, record.id, view.now);
        fields.write_field("live_deployment_id", &live.map(|id| id.to_string()).unwrap_or_default());
        fields.write_field("deployments", &app.deployments);
        show_settings(app, fields);
        if view.detail {
            fields.write_field("env_vars", &app.env_vars);
        }
        let up = record.is_up() && app.kind == AppType::Cron;
        fields.write_field("next_run_at", &app.next_run_at.filter(|_| up));
        let subscription = app.billing.subscription_id().map(|id| id.to_string());
        fields.write_field("billing_type", app.billing.as_str());
        fields.write_field("subscription_id", &subscription.unwrap_or_default());
        fields.write_number("price_per_hour", money::hourly_price(app.monthly_price()));
        fields.write_number("monthly_price", money::round_to_cents(app.monthly_price()));
        fields.write_field("created_at", &record.created_at);
        fields.write_field("updated_at", &record.updated_at);
    }
}

/// Writes the settings that determine how an app runs.
fn show_settings(app: &App, fields: &mut JsonObjectWriter<'_>) {
    fields.write_field("size", &app.size);
    fields.write_field("start_command", &app.start_command);
    fields.write_field("port", &app.port);
    fields.write_field("health_check_path", &app.health_check_path);
    fields.write_field("cron_schedule", &app.cron_schedule);
    fields.write_field("cron_timezone", &app.cron_timezone);
    fields.write_field("cron_concurrency", &app.cron_concurrency);
    fields.write_field("previews_enabled", &app.previews_enabled);
    let fixed = app.min_replicas.is_none() && app.kind.is_long_running();
    fields.write_field("instances", &fixed.then_some(app.instances));
    fields.write_field("min_replicas", &app.min_replicas);
    fields.write_field("max_replicas", &app.max_replicas);
    fields.write_field("autoscaling_metric", &app.min_replicas.map(|_| "concurrency"));
    fields.write_field("autoscaling_target", &app.autoscaling_target);
}

impl Call<'_> {
    /// Finds the app that the path identifies, by id or short id.
    pub(in crate::emulator::world) fn find_app(&self) -> Result<&TableRecord<App>, ErrorResponse> {
        self.find_app_named(self.param(0))
    }

    /// Finds an app by id or short id.
    pub(in crate::emulator::world) fn find_app_named(
        &self,
        text: &str,
    ) -> Result<&TableRecord<App>, ErrorResponse> {
        let table = self.world.table::<App>();
        let id = table.index().short.get(text).copied().or_else(|| Uuid::try_parse(text).ok());
        self.require_visible(id.and_then(|id| table.get(id)))
    }

    /// Finds the app that the path identifies; refuses one that is being deleted.
    pub(in crate::emulator::world) fn find_app_staying(&self) -> Result<&TableRecord<App>, ErrorResponse> {
        let record = self.find_app()?;
        match record.status(self.now) {
            "deleting" => Err(ErrorResponse::conflict("the app is deleting")),
            _ => Ok(record),
        }
    }

    /// Finds the app that the path identifies; refuses one that is building, deploying or being deleted.
    pub(in crate::emulator::world) fn find_app_settled(&self) -> Result<&TableRecord<App>, ErrorResponse> {
        let record = self.find_app()?;
        match record.status(self.now) {
            status @ ("building" | "deploying" | "deleting") => {
                Err(ErrorResponse::conflict(format!("the app is {status}; wait until it has settled")))
            }
            _ => Ok(record),
        }
    }

    /// Updates an app's use record, then applies a change to the app.
    pub(in crate::emulator::world) fn change_app(
        &mut self,
        id: Uuid,
        change: impl FnOnce(&mut TableRecord<App>),
    ) {
        let now = self.now;
        self.update::<App>(id, |record| {
            record.update_meters(now);
            change(record);
        });
    }
}

fn read_app(call: &mut Call<'_>) -> Reply {
    let id = call.find_app()?.id;
    call.record_response::<App>(200, id, "")
}
