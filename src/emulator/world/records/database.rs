//! The record of a database, with its users and saved queries.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::database_contents::DatabaseContents;
use crate::emulator::seeded_rng;
use crate::emulator::world::Time;
use crate::emulator::world::engine::billing::{Billing, Charge};
use crate::emulator::world::engine::catalog::{self, DatabaseEngine, DatabasePlan};
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::{RecordKind, TableRecord};
use crate::emulator::world::records::database::catalog::HOST_DOMAIN;

/// Seconds from the creation or resumption of a free database until it is suspended as idle: an emulated
/// database never has connections.
pub(in crate::emulator::world) const IDLE_PAUSE_SECS: i64 = 7 * 24 * 3_600;

/// Range of public ports, both ends included.
pub(in crate::emulator::world) const PUBLIC_PORTS: (u16, u16) = (25_060, 26_060);

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

/// Returns the short id, which is part of host names.
pub(in crate::emulator::world) fn database_short_id(record: &TableRecord<Database>) -> String {
    seeded_rng::derive_text(record.id, 1, b"abcdefghijklmnopqrstuvwxyz0123456789", 8)
}

/// Returns the owner's password.
pub(in crate::emulator::world) fn owner_password(record: &TableRecord<Database>) -> String {
    user_password(record.id, "", record.body.rotations)
}

/// Returns host name and port of the private endpoint, if the database is in a network.
pub(in crate::emulator::world) fn private_endpoint(
    record: &TableRecord<Database>,
) -> Option<(String, u16)> {
    record.body.vpc_id?;
    let port = record.body.catalog_engine()?.ports.first()?;
    Some((format!("{}.db.{HOST_DOMAIN}", database_short_id(record)), *port))
}

/// Returns host name and port of the public endpoint, if it is enabled.
pub(in crate::emulator::world) fn public_endpoint(record: &TableRecord<Database>) -> Option<(String, u16)> {
    let port = record.body.public_port.filter(|_| record.body.public_access)?;
    Some((format!("{}.public.db.{HOST_DOMAIN}", database_short_id(record)), port))
}

/// Index of the databases by name, short id, network and public port.
#[derive(Default)]
pub(in crate::emulator::world) struct DatabaseIndex {
    pub(in crate::emulator::world) names: HashMap<(Option<Uuid>, String), BTreeSet<Uuid>>,
    pub(in crate::emulator::world) short: HashMap<String, Uuid>,
    pub(in crate::emulator::world) networks: BTreeSet<(Uuid, Uuid)>,
    pub(in crate::emulator::world) ports: BTreeMap<u16, u16>,
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
            index.short.insert(database_short_id(record), record.id);
            index.networks.extend(database.vpc_id.map(|vpc| (vpc, record.id)));
            index.ports.extend(database.public_port.map(|port| (port, database.port_count())));
            return;
        }
        names.remove(&record.id);
        if names.is_empty() {
            index.names.remove(&(record.project, database.name.clone()));
        }
        index.short.remove(&database_short_id(record));
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct SavedQuery {
    pub(in crate::emulator::world) query: String,
    pub(in crate::emulator::world) created_at: Time,
    pub(in crate::emulator::world) updated_at: Time,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct DatabaseUser {
    pub(in crate::emulator::world) created_at: Time,
    /// Counter that determines the password; a rotation or a new login changes it.
    pub(in crate::emulator::world) rotations: u64,
}

/// Returns the password of a database login; the empty name is the owner.
pub(in crate::emulator::world) fn user_password(database: Uuid, user: &str, rotations: u64) -> String {
    let purpose = user.bytes().fold(17_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let alphabet = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
    seeded_rng::derive_text(database, purpose.wrapping_add(rotations << 40), alphabet, 24)
}
