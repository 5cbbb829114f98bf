//! `database`: managed databases: their record, their price and their API representation.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::contents::DatabaseContents;
use super::saved_query::SavedQuery;
use super::user::{self, DatabaseUser};
use crate::emulator::seeded_rng;
use crate::emulator::world::Time;
use crate::emulator::world::engine::billing::{Billing, Charge};
use crate::emulator::world::engine::catalog::{self, DatabaseEngine, DatabasePlan};
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::money;
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::{Timeline, time_after};
use crate::emulator::world::engine::table::{RecordKind, TableRecord};
use crate::emulator::world::request::call::{Call, Reply};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

const ITEM: &str = "/api/v1/databases/{id}";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/databases", Access::Project, |call| call.list_records::<Database>()),
    Route::new(Method::Get, ITEM, Access::Account, read_database),
    Route::new(Method::Patch, ITEM, Access::Project, rename_database),
];

/// Parent domain of all database host names.
pub(in crate::emulator::world) const HOST_DOMAIN: &str = "emulator.internal";
/// Seconds from the creation or resumption of a free database until it is suspended as idle: an emulated
/// database never has connections.
const IDLE_PAUSE_SECS: i64 = 7 * 24 * 3_600;
/// Range of public ports, both ends included.
const PUBLIC_PORTS: (u16, u16) = (25_060, 26_060);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct Database {
    pub(in crate::emulator::world) name: String,
    pub(in crate::emulator::world) engine: String,
    pub(in crate::emulator::world) engine_version: String,
    pub(in crate::emulator::world) plan_id: i64,
    pub(in crate::emulator::world) storage_gb: i64,
    pub(in crate::emulator::world) ha_enabled: bool,
    pub(in crate::emulator::world) replica_count: i64,
    pub(in crate::emulator::world) vpc_id: Option<Uuid>,
    pub(in crate::emulator::world) public_access: bool,
    /// Kept while public access is off, so that the same port is used when it is turned on again.
    pub(in crate::emulator::world) public_port: Option<u16>,
    pub(in crate::emulator::world) public_allowlist: Vec<String>,
    pub(in crate::emulator::world) extensions: Vec<String>,
    pub(in crate::emulator::world) engine_config: BTreeMap<String, String>,
    pub(in crate::emulator::world) status_message: String,
    pub(in crate::emulator::world) billing: Billing,
    /// How often the owner's password was rotated.
    pub(in crate::emulator::world) rotations: u64,
    pub(in crate::emulator::world) users: BTreeMap<String, DatabaseUser>,
    /// Number of databases that were restored from this one.
    pub(in crate::emulator::world) restored: u32,
    #[serde(default)]
    pub(in crate::emulator::world) saved_queries: BTreeMap<String, SavedQuery>,
    #[serde(default)]
    pub(in crate::emulator::world) contents: DatabaseContents,
}

impl Database {
    pub(in crate::emulator::world) fn plan(&self) -> Option<&'static DatabasePlan> {
        catalog::database_plan(self.plan_id)
    }

    pub(in crate::emulator::world) fn catalog_engine(&self) -> Option<&'static DatabaseEngine> {
        catalog::find_engine(&self.engine)
    }

    pub(in crate::emulator::world) fn is_free(&self) -> bool {
        self.plan().is_some_and(DatabasePlan::is_free)
    }

    /// Returns the exact monthly price: plan, standby, replicas and additional storage.
    pub(in crate::emulator::world) fn monthly_price(&self) -> Decimal {
        let Some(plan) = self.plan() else { return Decimal::ZERO };
        let ha = self.catalog_engine().filter(|_| self.ha_enabled).map_or(0, |engine| engine.ha_percent);
        let percent = Decimal::from(100 + ha + 100 * self.replica_count);
        let extra = Decimal::from((self.storage_gb - plan.storage).max(0));
        plan.base_monthly_price() * percent / Decimal::ONE_HUNDRED + plan.storage_month() * extra
    }

    /// Returns how many adjacent public ports the database needs: two for postgres (pooled and direct).
    pub(in crate::emulator::world) fn port_count(&self) -> u16 {
        if self.engine == "postgres" { 2 } else { 1 }
    }

    /// Returns the timeline of a database that starts with these steps; a free one is suspended later.
    pub(in crate::emulator::world) fn coming_up(&self, now: Time, steps: &[(i64, &str)]) -> Timeline {
        let mut steps = steps.to_vec();
        let up = steps.last().map_or(0, |(seconds, _)| *seconds);
        if self.is_free() {
            steps.push((up + IDLE_PAUSE_SECS, "suspended"));
        }
        Timeline::new(now, &steps)
    }
}

impl TableRecord<Database> {
    /// Returns the short id, which is part of host names.
    pub(in crate::emulator::world) fn short_id(&self) -> String {
        seeded_rng::derive_text(self.id, 1, b"abcdefghijklmnopqrstuvwxyz0123456789", 8)
    }

    /// Returns the owner's password.
    pub(in crate::emulator::world) fn owner_password(&self) -> String {
        user::user_password(self.id, "", self.body.rotations)
    }

    /// Returns host name and port of the private endpoint, if the database is in a network.
    pub(in crate::emulator::world) fn private_endpoint(&self) -> Option<(String, u16)> {
        self.body.vpc_id?;
        let port = self.body.catalog_engine()?.ports.first()?;
        Some((format!("{}.db.{HOST_DOMAIN}", self.short_id()), *port))
    }

    /// Returns host name and port of the public endpoint, if it is enabled.
    pub(in crate::emulator::world) fn public_endpoint(&self) -> Option<(String, u16)> {
        let port = self.body.public_port.filter(|_| self.body.public_access)?;
        Some((format!("{}.public.db.{HOST_DOMAIN}", self.short_id()), port))
    }
}

/// Index of the databases by name, short id, network and public port.
#[derive(Default)]
pub(in crate::emulator::world) struct DatabaseIndex {
    names: HashMap<(Option<Uuid>, String), BTreeSet<Uuid>>,
    short: HashMap<String, Uuid>,
    networks: BTreeSet<(Uuid, Uuid)>,
    ports: BTreeMap<u16, u16>,
}

impl DatabaseIndex {
    pub(in crate::emulator::world) fn in_vpc(&self, vpc: Uuid) -> usize {
        self.networks.range((vpc, Uuid::nil())..=(vpc, Uuid::max())).count()
    }

    /// Returns whether another database of the project has the name.
    pub(in crate::emulator::world) fn is_name_taken(
        &self,
        project: Option<Uuid>,
        name: &str,
        except: Option<Uuid>,
    ) -> bool {
        let same = self.names.get(&(project, name.to_owned()));
        same.is_some_and(|ids| ids.iter().any(|id| Some(*id) != except))
    }

    /// Returns the first of `count` adjacent free public ports.
    pub(in crate::emulator::world) fn free_port(&self, count: u16) -> Option<u16> {
        let mut candidate = PUBLIC_PORTS.0;
        for (port, taken) in &self.ports {
            if port.saturating_sub(candidate) >= count {
                break;
            }
            candidate = candidate.max(port + taken);
        }
        (candidate + count - 1 <= PUBLIC_PORTS.1).then_some(candidate)
    }
}

impl RecordKind for Database {
    const KIND: &'static str = "database";
    const TITLE: &'static str = "database";
    type Index = DatabaseIndex;

    fn index(index: &mut DatabaseIndex, record: &TableRecord<Self>, present: bool) {
        let database = &record.body;
        let names = index.names.entry((record.project, database.name.clone())).or_default();
        if present {
            names.insert(record.id);
            index.short.insert(record.short_id(), record.id);
            index.networks.extend(database.vpc_id.map(|vpc| (vpc, record.id)));
            index.ports.extend(database.public_port.map(|port| (port, database.port_count())));
            return;
        }
        names.remove(&record.id);
        if names.is_empty() {
            index.names.remove(&(record.project, database.name.clone()));
        }
        index.short.remove(&record.short_id());
        database.vpc_id.map(|vpc| index.networks.remove(&(vpc, record.id)));
        database.public_port.map(|port| index.ports.remove(&port));
    }

    fn charge(record: &TableRecord<Self>) -> Option<Charge> {
        // A database that is being deleted is no longer billed.
        let leaving = record.timeline.gone_at().is_some();
        (!leaving).then(|| record.body.billing.charge(record.body.monthly_price()))
    }

    fn renew(record: &mut TableRecord<Self>, until: Time) {
        record.body.billing.extend(until);
    }
}

impl Handlers for Database {
    fn happen(world: &mut World, id: Uuid, _at: Time, _until: Time) {
        world.databases.remove(id);
        world.unlink_database(id);
    }

    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let database = &record.body;
        fields.write_field("id", &record.id);
        fields.write_field("database_id", &record.short_id());
        fields.write_field("project_id", &record.project);
        fields.write_field("name", &database.name);
        fields.write_field("engine", &database.engine);
        fields.write_field("engine_version", &database.engine_version);
        fields.write_field("status", record.status(view.now));
        fields.write_field("status_message", &database.status_message);
        fields.write_field("region", "us-east");
        fields.write_field("plan_id", &database.plan_id);
        fields.write_field("storage_gb", &database.storage_gb);
        fields.write_field("ha_enabled", &database.ha_enabled);
        fields.write_field("replica_count", &database.replica_count);
        show_endpoints(record, fields);
        fields.write_field("billing_type", database.billing.as_str());
        fields.write_field("subscription_id", &text_or_empty(database.billing.subscription_id()));
        fields.write_number("price_per_hour", money::hourly_price(database.monthly_price()));
        fields.write_number("monthly_price", money::round_to_cents(database.monthly_price()));
        fields.write_field("is_free", &database.is_free());
        let paused =
            record.timeline.status_since(view.now).filter(|_| record.status(view.now) == "suspended");
        fields.write_field("suspended_at", &text_or_empty(paused));
        fields.write_field("created_at", &record.created_at);
        fields.write_field("updated_at", &record.updated_at);
        if view.detail {
            fields.write_field("extensions", &database.extensions);
            fields.write_field("engine_config", &database.engine_config);
        }
    }
}

fn show_endpoints(record: &TableRecord<Database>, fields: &mut JsonObjectWriter<'_>) {
    let database = &record.body;
    let (host, port) = record.private_endpoint().unwrap_or_default();
    fields.write_field("vpc_id", &text_or_empty(database.vpc_id));
    fields.write_field("connection_host", &host);
    fields.write_field("connection_port", &port);
    let (host, port) = record.public_endpoint().unwrap_or_default();
    fields.write_field("public_access", &database.public_access);
    fields.write_field("public_port", &port);
    fields.write_field("public_dns_hostname", &host);
    fields.write_field("public_allowlist", &database.public_allowlist);
}

/// Returns a value as text; empty for `None`.
fn text_or_empty(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

impl Call<'_> {
    /// Finds the database that the path identifies, by id or short id.
    pub(in crate::emulator::world) fn find_database(
        &self,
    ) -> Result<&TableRecord<Database>, ErrorResponse> {
        let table = self.world.table::<Database>();
        let text = self.param(0);
        let id = table.index().short.get(text).copied().or_else(|| Uuid::try_parse(text).ok());
        self.require_visible(id.and_then(|id| table.get(id)))
    }

    /// Finds the database that the path identifies; refuses one that is being deleted.
    pub(in crate::emulator::world) fn find_staying(&self) -> Result<&TableRecord<Database>, ErrorResponse> {
        let record = self.find_database()?;
        match record.status(self.now) {
            status @ ("deleting" | "deleted") => {
                Err(ErrorResponse::conflict(format!("the database is {status}")))
            }
            _ => Ok(record),
        }
    }

    /// Returns a response with a database under the key `database`.
    pub(in crate::emulator::world) fn show_database(&self, status: u16, id: Uuid, message: &str) -> Reply {
        self.show_as::<Database>("database", status, id, message)
    }

    /// Refuses a name that another database of the project already has.
    pub(in crate::emulator::world) fn free_name(
        &self,
        project: Option<Uuid>,
        name: &str,
        except: Option<Uuid>,
    ) -> Result<(), ErrorResponse> {
        if self.world.databases.index().is_name_taken(project, name, except) {
            return Err(ErrorResponse::conflict(format!(
                "the name {name} is already taken in this project"
            )));
        }
        Ok(())
    }

    /// Refuses a paid database if the account has no credit card.
    pub(in crate::emulator::world) fn needs_card(&self, month: Decimal) -> Result<(), ErrorResponse> {
        if self.world.account.card || month.is_zero() {
            return Ok(());
        }
        Err(ErrorResponse::payment_required(format!(
            "a paid database needs a card that can be charged automatically: add one at https://console.{HOST_DOMAIN}/billing/cards"
        )))
    }
}

fn read_database(call: &mut Call<'_>) -> Reply {
    let id = call.find_database()?.id;
    call.show_database(200, id, "")
}

fn rename_database(call: &mut Call<'_>) -> Reply {
    let record = call.find_staying()?;
    let (id, project) = (record.id, record.project);
    let name = call.body.required_field("name", BodyField::name)?;
    call.free_name(project, &name, Some(id))?;
    call.update::<Database>(id, |record| record.body.name = name);
    call.show_database(200, id, "database renamed")
}

/// Returns the time of a daily backup by its number, past or future.
pub(in crate::emulator::world) fn backup_time(record: &TableRecord<Database>, number: i64) -> Time {
    time_after(record.created_at, number.saturating_mul(24 * 3_600))
}
