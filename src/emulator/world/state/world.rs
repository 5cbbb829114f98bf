//! `World` and its tables: the single list of the kinds that have records, and the operations over all of them.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::account::{Account, AccountKey, StoredRow, digest_key, to_millisecond};
use crate::emulator::seeded_rng;
use crate::emulator::world::engine::billing::{Billing, HOUR, UsageMeter};
use crate::emulator::world::engine::catalog::HOST_DOMAIN;
use crate::emulator::world::engine::money::{self, MONTH_HOURS};
use crate::emulator::world::engine::monthly_meter::MonthMeter;
use crate::emulator::world::engine::monthly_meter::next_month;
use crate::emulator::world::engine::status_timeline::{Timeline, time_after};
use crate::emulator::world::engine::table::{RecordKind, Table, TableRecord};
use crate::emulator::world::records::account::{ApiKey, DEFAULT_SETTINGS, Project, SpendSettings};
use crate::emulator::world::{AccountBill, RateTier, Time, WorldSetup};

/// Seconds within which another use of a key is not recorded: each record is a row to write, and clients that
/// poll send many requests.
const LAST_USED_INTERVAL_SECS: i64 = 60;

/// A kind that has a table in the world.
pub(in crate::emulator::world) trait StoredKind: RecordKind {
    fn table(world: &World) -> &Table<Self>;
    fn table_mut(world: &mut World) -> &mut Table<Self>;
}

/// The single list of the kinds that have records: calls a macro with the name and the type of each table.
macro_rules! for_each_kind {
    ($apply:ident) => {
        $apply! {
            projects: $crate::emulator::world::records::account::Project,
            roles: $crate::emulator::world::records::account::Role,
            api_keys: $crate::emulator::world::records::account::ApiKey,
            invitations: $crate::emulator::world::records::account::Invitation,
            project_members: $crate::emulator::world::records::account::ProjectMember,
            ssh_keys: $crate::emulator::world::records::account::SshKey,
            vpcs: $crate::emulator::world::records::compute::Vpc,
            vms: $crate::emulator::world::records::compute::Vm,
            volumes: $crate::emulator::world::records::compute::Volume,
            snapshots: $crate::emulator::world::records::compute::DiskSnapshot,
            backups: $crate::emulator::world::records::compute::Backup,
            backup_schedules: $crate::emulator::world::records::compute::BackupSchedule,
            databases: $crate::emulator::world::records::database::Database,
            clusters: $crate::emulator::world::records::cluster::Cluster,
            node_pools: $crate::emulator::world::records::cluster::NodePool,
            apps: $crate::emulator::world::records::app::App,
            deployments: $crate::emulator::world::records::app_parts::Deployment,
            job_runs: $crate::emulator::world::records::app_parts::JobRun,
            previews: $crate::emulator::world::records::app_parts::Preview,
            app_domains: $crate::emulator::world::records::app_parts::AppDomain,
            app_links: $crate::emulator::world::records::app_parts::AppLink,
            app_events: $crate::emulator::world::records::app_parts::AppEvent,
            uploads: $crate::emulator::world::records::app::SourceUpload,
            spend_settings: $crate::emulator::world::records::account::SpendSettings,
            functions: $crate::emulator::world::records::app_parts::ServerlessFunction,
        }
    };
}
pub(in crate::emulator::world) use for_each_kind;

/// Declares the world's tables and the operations over all of them.
macro_rules! tables {
    ($($field:ident: $body:ty,)*) => {
        /// The complete state of the service. Its serialization is the export, so the names of fields are a format.
        #[derive(Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct World {
            pub(in crate::emulator::world) account: Account,
            $(#[serde(default)] pub(in crate::emulator::world) $field: Table<$body>,)*
        }

        /// Names of all kinds that have a table.
        pub(in crate::emulator::world) const KINDS: &[&str] = &[$(<$body>::KIND),*];

        $(impl StoredKind for $body {
            fn table(world: &World) -> &Table<Self> {
                &world.$field
            }

            fn table_mut(world: &mut World) -> &mut Table<Self> {
                &mut world.$field
            }
        })*

        impl World {
            /// Returns a world with empty tables.
            pub(in crate::emulator::world) fn without_records(account: Account) -> Self {
                Self { account, $($field: Table::default(),)* }
            }

            /// Returns the number of records, without kinds that are only the history of an object.
            pub(in crate::emulator::world) fn record_count(&self) -> usize {
                0 $(+ if <$body>::IS_OBJECT { self.$field.len(None) } else { 0 })*
            }

            /// Returns the number of records of each kind, in the order of the list.
            pub(in crate::emulator::world) fn counts_by_kind(&self) -> Vec<(&'static str, usize)> {
                vec![$((<$body>::KIND, self.$field.len(None)),)*]
            }

            /// Returns the total hourly price, in USD, of everything that is billed by the hour.
            pub(in crate::emulator::world) fn hourly_rate(&self) -> Decimal {
                Decimal::ZERO $(+ self.$field.hourly_rate())*
            }

            /// Renews the subscriptions that are due; returns their total cost in USD.
            pub(in crate::emulator::world) fn renew_all(&mut self, now: Time) -> Decimal {
                Decimal::ZERO $(+ renew_subscriptions(&mut self.$field, now))*
            }

            /// Marks the ids of another world's records as changed, so that those missing here are stored as removed.
            pub(in crate::emulator::world) fn mark_superseded(&mut self, earlier: &Self) {
                $(self.$field.mark_superseded(&earlier.$field);)*
            }

            /// Adds a row for each record that changed since the last call; a removed one gets a row without a value.
            pub(in crate::emulator::world) fn take_changes(&mut self, rows: &mut Vec<StoredRow>) {
                $(collect_changed_rows(&mut self.$field, rows);)*
            }

            /// Inserts a stored record; `None` for an unknown kind, an error if the record cannot be read.
            pub(in crate::emulator::world) fn take_in(&mut self, kind: &str, value: &[u8]) -> Option<serde_json::Result<()>> {
                match kind {
                    $(<$body>::KIND => Some(insert_stored(&mut self.$field, value)),)*
                    _ => None,
                }
            }
        }
    };
}

for_each_kind!(tables);

impl World {
    /// Returns an empty world: one account with its default project, one key, a card, and a balance of 1000 USD.
    pub fn new(setup: &WorldSetup, now: Time) -> Self {
        let now = to_millisecond(now);
        let account = Account {
            id: seeded_rng::nth_uuid(setup.seed, 0),
            default_project: seeded_rng::nth_uuid(setup.seed, 1),
            balance: Decimal::from(1_000),
            card: true,
            banned: false,
            high_tier: false,
            meter: UsageMeter::new(now),
            keys: vec![AccountKey { digest: digest_key(&setup.api_key), tier: setup.tier }],
            seed: setup.seed,
            counter: 2,
            latest: now,
            app_spend: MonthMeter::new(now),
            origin: None,
        };
        let mut world = Self::without_records(account);
        world.projects.insert(TableRecord {
            id: world.account.default_project,
            project: None,
            created_at: now,
            updated_at: now,
            timeline: Timeline::with_status(now, "active"),
            body: Project::default_of_account(),
        });
        world
    }

    /// Makes this the account's only first key; keys that were created by requests stay valid.
    pub fn set_key(&mut self, api_key: &str, tier: RateTier) {
        self.account.keys = vec![AccountKey { digest: digest_key(api_key), tier }];
    }

    /// Returns the rate tier of a key; `None` for a key that does not exist, is not active or has expired.
    #[must_use]
    pub fn tier_of(&self, api_key: &str) -> Option<RateTier> {
        let digest = digest_key(api_key);
        let first = self.account.keys.iter().find(|key| key.digest == digest).map(|key| key.tier);
        first.or_else(|| {
            let made = self.made_key(api_key, self.account.latest)?;
            self.api_keys.get(made).map(|record| record.body.rate_limit_tier)
        })
    }

    /// Returns whether a key is the account's first one, which has all permissions.
    pub(in crate::emulator::world) fn is_first_key(&self, api_key: &str) -> bool {
        let digest = digest_key(api_key);
        self.account.keys.iter().any(|key| key.digest == digest)
    }

    /// Returns the id of the project that changes without `X-Project-ID` apply to.
    #[must_use]
    pub fn default_project(&self) -> Uuid {
        self.account.default_project
    }

    /// Returns the latest time that the world has seen; later requests are never answered at an earlier one.
    #[must_use]
    pub fn latest_time(&self) -> Time {
        self.account.latest
    }

    /// Returns the number of objects, not counting the default project and the first key.
    #[must_use]
    pub fn object_count(&self) -> usize {
        let given = 1 + usize::from(self.api_keys.get(self.first_key()).is_some());
        self.record_count().saturating_sub(given)
    }

    /// Returns the account's bill at a time.
    #[must_use]
    pub fn bill(&self, now: Time) -> AccountBill {
        let meter = &self.account.meter;
        let (app_spend, app_cap) = (self.app_spend(now, true), self.current_spend_settings().notice_cap());
        AccountBill {
            app_spend,
            app_cap,
            notice: app_cap
                .and_then(|cap| crate::emulator::world::records::account::reached_notice(app_spend, cap)),
            balance: self.account.balance,
            rate_per_hour: self.hourly_rate(),
            accrued: meter.amount_at(now, self.hourly_rate()),
        }
    }

    /// Deletes all objects and restores the initial balance; the account keeps its keys and its identity.
    pub fn reset(&mut self, now: Time) {
        let setup =
            WorldSetup { seed: self.account.seed, api_key: String::new(), tier: RateTier::Standard };
        let mut empty = Self::new(&setup, now);
        empty.account.keys.clone_from(&self.account.keys);
        // The counter is kept, so that no id is used twice, even across a reset.
        empty.account.counter = self.account.counter;
        let first = self.api_keys.get(self.first_key()).cloned();
        if let Some(first) = first {
            empty.record_key(first);
        }
        self.replace(empty);
    }

    /// Replaces this world by another one; this one's keys stay valid.
    ///
    /// # Errors
    /// When the other world lacks its default project; nothing is changed then.
    pub fn import(&mut self, mut other: Self) -> Result<(), String> {
        let default = other.account.default_project;
        if other.projects.get(default).is_none() {
            return Err(format!("the account's default project {default} is not among the projects"));
        }
        other.account.keys.clone_from(&self.account.keys);
        // The other world's first key must not grant access here.
        other.api_keys.remove(other.first_key());
        let mine = self.api_keys.get(self.first_key()).cloned();
        if let Some(mine) = mine {
            other.record_key(TableRecord { id: other.first_key(), ..mine });
        }
        other.account.latest = other.account.latest.max(self.account.latest);
        self.replace(other);
        Ok(())
    }

    fn replace(&mut self, mut other: Self) {
        other.mark_superseded(self);
        *self = other;
    }

    /// Returns the changes since the last call, as rows to store; empty if no record changed, even if the account did.
    pub fn take_rows(&mut self) -> Vec<StoredRow> {
        let mut rows = Vec::new();
        self.take_changes(&mut rows);
        if !rows.is_empty() {
            rows.push(self.account_row());
        }
        rows
    }

    /// Returns the row of the account, whose meters and counter change with most changes of records.
    #[must_use]
    pub fn account_row(&self) -> StoredRow {
        StoredRow { key: "account".to_owned(), value: serde_json::to_vec(&self.account).ok() }
    }

    /// Restores a world from stored rows.
    ///
    /// # Errors
    /// When a row cannot be read, its kind is unknown, or the account's row is missing; the text is a clause about the
    /// file.
    pub fn from_rows(rows: impl IntoIterator<Item = (String, Vec<u8>)>) -> Result<Self, String> {
        let setup = WorldSetup { seed: 0, api_key: String::new(), tier: RateTier::Standard };
        let mut world = Self::new(&setup, Time::UNIX_EPOCH);
        world.projects = Table::default();
        let mut account = None;
        for (key, value) in rows {
            let kind = key.split('/').next().unwrap_or_default();
            let read = match kind {
                "account" => serde_json::from_slice(&value).map(|read| account = Some(read)),
                kind => match world.take_in(kind, &value) {
                    Some(read) => read,
                    None => return Err(format!("it holds a record of an unknown kind, `{kind}`")),
                },
            };
            read.map_err(|error| format!("its record `{key}` cannot be read: {error}"))?;
        }
        world.account = account.ok_or("it holds no account")?;
        world.take_rows();
        Ok(world)
    }

    /// Returns the cost of the apps that are billed by the hour, in this month or the previous one.
    pub(in crate::emulator::world) fn app_spend(&self, now: Time, current: bool) -> Decimal {
        let mut meter = self.account.app_spend;
        meter.run(now, self.apps.hourly_rate());
        if current { meter.current_amount() } else { meter.previous_amount() }
    }

    /// Sets the base URL at which clients reach the service, such as `http://127.0.0.1:8080`.
    pub fn set_origin(&mut self, origin: &str) {
        if self.account.origin.as_deref() != Some(origin) {
            self.account.origin = Some(origin.to_owned());
        }
    }

    /// Returns the base URL at which clients reach the service; before the first request, one of the host domain.
    pub(in crate::emulator::world) fn origin(&self) -> String {
        self.account.origin.clone().unwrap_or_else(|| format!("http://{HOST_DOMAIN}"))
    }

    /// Returns an id that was never used before.
    pub(in crate::emulator::world) fn fresh_id(&mut self) -> Uuid {
        self.account.counter += 1;
        seeded_rng::nth_uuid(self.account.seed, self.account.counter)
    }

    pub(in crate::emulator::world) fn table<T: StoredKind>(&self) -> &Table<T> {
        T::table(self)
    }

    pub(in crate::emulator::world) fn table_mut<T: StoredKind>(&mut self) -> &mut Table<T> {
        T::table_mut(self)
    }

    /// Creates a record; returns its id.
    pub(in crate::emulator::world) fn create_record<T: StoredKind>(
        &mut self,
        project: Option<Uuid>,
        now: Time,
        timeline: Timeline,
        body: T,
    ) -> Uuid {
        let id = self.fresh_id();
        let record = TableRecord { id, project, created_at: now, updated_at: now, timeline, body };
        self.table_mut().insert(record);
        id
    }

    /// Refunds the unused part of a subscription to the balance, by whole hours ("Delete VM");
    /// nothing for hourly billing.
    pub(in crate::emulator::world) fn refund(&mut self, billing: Billing, month: Decimal, now: Time) {
        self.account.balance += money::share_of_month(month, billing.hours_left(now));
    }

    /// Returns the id of the created key with this secret; `None` if there is none, or if it is not valid at `now`.
    pub(in crate::emulator::world) fn made_key(&self, secret: &str, now: Time) -> Option<Uuid> {
        let id = self.api_keys.index().digests.get(&digest_key(secret)).copied()?;
        self.api_keys.get(id).filter(|record| record.body.is_valid(now)).map(|record| record.id)
    }

    /// Records that a key was used, at most once per minute; no effect for a key without a record.
    pub(in crate::emulator::world) fn note_use(&mut self, key: Uuid, now: Time) {
        let last = self.api_keys.get(key).and_then(|record| record.body.last_used_at);
        if last.is_none_or(|last| time_after(last, LAST_USED_INTERVAL_SECS) <= now) {
            self.api_keys.amend(key, |record| record.body.last_used_at = Some(now));
        }
    }

    /// Returns the id of the account's first key. It differs from every other object's id.
    pub(in crate::emulator::world) fn first_key(&self) -> Uuid {
        seeded_rng::nth_uuid(!self.account.seed, 0)
    }

    /// Stores a key, replacing the one with the same id.
    pub(in crate::emulator::world) fn record_key(&mut self, key: TableRecord<ApiKey>) {
        self.api_keys.remove(key.id);
        self.api_keys.insert(key);
    }

    /// Returns the current spend settings; the defaults for an account that never changed them.
    pub(in crate::emulator::world) fn current_spend_settings(&self) -> &SpendSettings {
        self.spend_settings.iter().next().map_or(&DEFAULT_SETTINGS, |record| &record.body)
    }

    /// Returns when the spend cap pauses apps next, or when the start of a month lifts the pause; `None` if neither can
    /// happen at the current prices.
    pub(in crate::emulator::world) fn next_cap_change(&self) -> Option<Time> {
        let settings = self.current_spend_settings();
        let rate = self.apps.hourly_rate();
        let reached = settings.pause_cap().filter(|_| !settings.paused_by_cap);
        let reached = reached.and_then(|cap| self.account.app_spend.limit_reached_at(cap, rate));
        let matters = settings.paused_by_cap || (settings.pause_cap().is_some() && !rate.is_zero());
        // At the end of time there is no next month.
        let month = matters.then(|| next_month(self.account.latest)).filter(|at| *at > self.account.latest);
        Some(reached.into_iter().chain(month).min()?.max(self.account.latest))
    }

    /// Returns the id of the settings record; creates the record if it is missing.
    pub(in crate::emulator::world) fn spend_record(&mut self, now: Time) -> Uuid {
        let known = self.spend_settings.iter().next().map(|record| record.id);
        known.unwrap_or_else(|| {
            self.create_record(None, now, Timeline::with_status(now, "active"), DEFAULT_SETTINGS)
        })
    }
}

/// Renews the subscriptions that are due; returns their total cost.
fn renew_subscriptions<T: RecordKind>(table: &mut Table<T>, now: Time) -> Decimal {
    let mut total = Decimal::ZERO;
    while let Some((time, id)) = table.due_subscription(now) {
        let months = now.duration_since(time).as_secs() / (MONTH_HOURS * HOUR) + 1;
        let until = time_after(time, months * MONTH_HOURS * HOUR);
        let month = table.get(id).and_then(T::charge).map_or(Decimal::ZERO, |charge| charge.month);
        total += money::round_to_cents(month) * Decimal::from(months);
        table.amend(id, |record| T::renew(record, until));
        if until <= now {
            // The end of time is reached: no renewal can follow.
            break;
        }
    }
    total
}

fn insert_stored<T: RecordKind>(table: &mut Table<T>, value: &[u8]) -> serde_json::Result<()> {
    table.insert(serde_json::from_slice(value)?);
    Ok(())
}

fn collect_changed_rows<T: RecordKind>(table: &mut Table<T>, rows: &mut Vec<StoredRow>) {
    rows.extend(table.take_changes().map(|(id, record)| StoredRow {
        key: format!("{}/{id}", T::KIND),
        value: record.and_then(|record| serde_json::to_vec(record).ok()),
    }));
}
