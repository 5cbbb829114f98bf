//! `World`: the complete state of the service: the account and the records of all kinds.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::world::{StoredKind, World};
use crate::emulator::seeded_rng;
use crate::emulator::world::Time;
use crate::emulator::world::account::project::Project;
use crate::emulator::world::account::spend_cap;
use crate::emulator::world::databases::database::HOST_DOMAIN;
use crate::emulator::world::engine::billing::UsageMeter;
use crate::emulator::world::engine::monthly_meter::MonthMeter;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::{Table, TableRecord};

/// The rate limit of an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateTier {
    /// 30 requests per second, and a burst of 60 more per minute.
    Standard,
    /// 100 requests per second, and a burst of 200 more per minute.
    High,
}

/// The initial values of a new world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorldSetup {
    /// Seed that determines all ids and passwords.
    pub seed: u64,
    /// API key that requests must carry.
    pub api_key: String,
    /// Rate tier of the API key.
    pub tier: RateTier,
}

/// An API key. Only its digest is stored, so that no export contains the key itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::emulator::world) struct AccountKey {
    pub(in crate::emulator::world) digest: String,
    tier: RateTier,
}

/// The account: its keys, its money, and the counter from which all ids are computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct Account {
    pub(in crate::emulator::world) id: Uuid,
    pub(in crate::emulator::world) default_project: Uuid,
    /// Prepaid money that subscriptions are charged to.
    pub(in crate::emulator::world) balance: Decimal,
    /// Whether a credit card is on file, which pays what the balance does not cover.
    pub(in crate::emulator::world) card: bool,
    /// Whether billing validation fails, so that every paid request is refused.
    pub(in crate::emulator::world) banned: bool,
    /// Whether support allows keys with the high rate tier.
    #[serde(default)]
    pub(in crate::emulator::world) high_tier: bool,
    pub(in crate::emulator::world) meter: UsageMeter,
    pub(in crate::emulator::world) keys: Vec<AccountKey>,
    pub(in crate::emulator::world) seed: u64,
    pub(in crate::emulator::world) counter: u64,
    /// The latest time seen: the virtual clock never runs back.
    pub(in crate::emulator::world) latest: Time,
    /// Cost of the apps that are billed by the hour, by month.
    #[serde(default)]
    pub(in crate::emulator::world) app_spend: MonthMeter,
    /// Base URL at which clients reach the service, for URLs in responses.
    #[serde(skip)]
    origin: Option<String>,
}

/// The account's bill at one time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AccountBill {
    /// Balance that is left for subscriptions.
    pub balance: Decimal,
    /// Total hourly price of everything that is billed by the hour now.
    pub rate_per_hour: Decimal,
    /// Total of the hourly charges so far.
    pub accrued: Decimal,
    /// This month's cost of the apps that are billed by the hour.
    pub app_spend: Decimal,
    /// Monthly cap on the cost of apps; `None` if no cap is set.
    pub app_cap: Option<Decimal>,
    /// The latest notice to the owners this month, in percent of the cap; `None` if there was none.
    pub notice: Option<u8>,
}

/// One stored value: a record under `kind/id`, or the account under `account`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRow {
    /// Storage key: `kind/id`, or `account`.
    pub key: String,
    /// The value as JSON; `None` deletes the row.
    pub value: Option<Vec<u8>>,
}

impl World {
    /// Returns an empty world: one account with its default project and one key.
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

    /// Returns the rate tier of a key; `None` for a key that is not valid.
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

    /// Returns the latest time that the world has seen.
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
            notice: app_cap.and_then(|cap| spend_cap::reached_notice(app_spend, cap)),
            balance: self.account.balance,
            rate_per_hour: self.hourly_rate(),
            accrued: meter.amount_at(now, self.hourly_rate()),
        }
    }

    /// Deletes all objects; the account keeps its keys and its identity.
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
    /// When the other lacks what every world has, in words.
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

    /// Returns the changes since the last call, as rows to store.
    pub fn take_rows(&mut self) -> Vec<StoredRow> {
        let mut rows = Vec::new();
        self.take_changes(&mut rows);
        if !rows.is_empty() {
            rows.push(self.account_row());
        }
        rows
    }

    /// Returns the row of the account, which changes with most requests.
    #[must_use]
    pub fn account_row(&self) -> StoredRow {
        StoredRow { key: "account".to_owned(), value: serde_json::to_vec(&self.account).ok() }
    }

    /// Restores a world from stored rows.
    ///
    /// # Errors
    /// When a row cannot be read, or the account's is missing.
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

    /// Returns the base URL at which clients reach the service.
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
}

/// Truncates a time to milliseconds, the resolution of the world's clock.
pub(in crate::emulator::world) fn to_millisecond(time: Time) -> Time {
    Time::from_millisecond(time.as_millisecond()).unwrap_or(time)
}

/// Returns the SHA-256 digest under which a key is stored.
pub(in crate::emulator::world) fn digest_key(api_key: &str) -> String {
    use std::fmt::Write;
    Sha256::digest(api_key.as_bytes()).iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
