//! `World`: everything the service knows: the account and the records of every kind.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::billing::UsageMeter;
use super::world::World;
use crate::emulator::seeded_rng;
use crate::emulator::world::Time;
use crate::emulator::world::account::project::Project;
use crate::emulator::world::account::spend_cap;
use crate::emulator::world::databases::database::HOST_DOMAIN;
use crate::emulator::world::engine::monthly_meter::MonthMeter;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::{RecordKind, Table, TableRecord};

/// The rate that a key may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateTier {
    /// 30 requests a second, 60 more a minute.
    Standard,
    /// 100 requests a second, 200 more a minute.
    High,
}

/// What a new world starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorldSetup {
    /// All ids and passwords follow from it.
    pub seed: u64,
    /// The key that requests must carry.
    pub api_key: String,
    /// The rate that it may use.
    pub tier: RateTier,
}

/// A key, by its digest: the key itself is in no export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::emulator::world) struct AccountKey {
    pub(in crate::emulator::world) digest: String,
    tier: RateTier,
}

/// The account: who may call, what is paid, and the counter that all ids follow from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct Account {
    pub(in crate::emulator::world) id: Uuid,
    pub(in crate::emulator::world) default_project: Uuid,
    /// Money to charge subscriptions to.
    pub(in crate::emulator::world) balance: Decimal,
    /// A card that can be charged without anyone's help.
    pub(in crate::emulator::world) card: bool,
    /// Billing validation refuses whatever costs money.
    pub(in crate::emulator::world) banned: bool,
    /// Support approved of keys with the high rate.
    #[serde(default)]
    pub(in crate::emulator::world) high_tier: bool,
    pub(in crate::emulator::world) meter: UsageMeter,
    pub(in crate::emulator::world) keys: Vec<AccountKey>,
    pub(in crate::emulator::world) seed: u64,
    pub(in crate::emulator::world) counter: u64,
    /// The latest time that was seen: the world's clock does not go back.
    pub(in crate::emulator::world) latest: Time,
    /// What apps that are billed by the hour have cost, by month.
    #[serde(default)]
    pub(in crate::emulator::world) app_spend: MonthMeter,
    /// Where clients reach the service, for the addresses that it gives them.
    #[serde(skip)]
    origin: Option<String>,
}

/// What the account has used and has left.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AccountBill {
    /// Money left for subscriptions.
    pub balance: Decimal,
    /// What an hour costs now, of everything that is billed by the hour.
    pub rate_per_hour: Decimal,
    /// What was used so far by the hour.
    pub accrued: Decimal,
    /// What apps that are billed by the hour cost this month.
    pub app_spend: Decimal,
    /// The monthly cap on that, where one is set.
    pub app_cap: Option<Decimal>,
    /// The last notice of it that owners got this month: percent of the cap.
    pub notice: Option<u8>,
}

/// One stored value: a record's `kind/id`, or `account`. Without a value, it is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRow {
    /// The key.
    pub key: String,
    /// The value, JSON.
    pub value: Option<Vec<u8>>,
}

impl World {
    /// Returns an empty cloud with one account, its default project and one key.
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

    /// Lets this key in, beside those that were made by requests, and no other.
    pub fn set_key(&mut self, api_key: &str, tier: RateTier) {
        self.account.keys = vec![AccountKey { digest: digest_key(api_key), tier }];
    }

    /// Returns the rate that a key may use; `None` for a key that is not the account's.
    #[must_use]
    pub fn tier_of(&self, api_key: &str) -> Option<RateTier> {
        let digest = digest_key(api_key);
        let first = self.account.keys.iter().find(|key| key.digest == digest).map(|key| key.tier);
        first.or_else(|| {
            let made = self.made_key(api_key, self.account.latest)?;
            self.api_keys.get(made).map(|record| record.body.rate_limit_tier)
        })
    }

    /// Tells whether a key is the account's first one, which may do everything.
    pub(in crate::emulator::world) fn is_first_key(&self, api_key: &str) -> bool {
        let digest = digest_key(api_key);
        self.account.keys.iter().any(|key| key.digest == digest)
    }

    /// Returns the id of the project that changes without `X-Project-ID` fall back to.
    #[must_use]
    pub fn default_project(&self) -> Uuid {
        self.account.default_project
    }

    /// Returns the latest time that was seen.
    #[must_use]
    pub fn latest_time(&self) -> Time {
        self.account.latest
    }

    /// Returns how many objects have a record of their own, the default project and the first key left out.
    #[must_use]
    pub fn object_count(&self) -> usize {
        let given = 1 + usize::from(self.api_keys.get(self.first_key()).is_some());
        self.record_count().saturating_sub(given)
    }

    /// Returns what the account has used and has left at a time.
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

    /// Empties the cloud; the account keeps its keys and its identity.
    pub fn reset(&mut self, now: Time) {
        let setup =
            WorldSetup { seed: self.account.seed, api_key: String::new(), tier: RateTier::Standard };
        let mut empty = Self::new(&setup, now);
        empty.account.keys.clone_from(&self.account.keys);
        // Ids are never used twice, a reset in between or not.
        empty.account.counter = self.account.counter;
        let first = self.api_keys.get(self.first_key()).cloned();
        if let Some(first) = first {
            empty.record_key(first);
        }
        self.replace(empty);
    }

    /// Puts another world in this one's place; this one's keys stay valid.
    ///
    /// # Errors
    /// When the other lacks what every world has, in words.
    pub fn import(&mut self, mut other: Self) -> Result<(), String> {
        let default = other.account.default_project;
        if other.projects.get(default).is_none() {
            return Err(format!("the account's default project {default} is not among the projects"));
        }
        other.account.keys.clone_from(&self.account.keys);
        // Whoever has the other's first key is not let in here.
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

    /// Returns what changed since the last call, as rows to store.
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

    /// Builds a world from stored rows.
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

    /// Moves the world's clock, and lets happen in order what was to happen by then.
    pub(in crate::emulator::world) fn tick(&mut self, now: Time) -> Time {
        let now = to_millisecond(now).max(self.account.latest);
        while let Some(due) = self.next_due().filter(|due| due.at <= now) {
            self.advance(due.at);
            (due.happen)(self, due.id, due.at, now);
        }
        self.advance(now);
        now
    }

    /// Brings the bill to a time at which no price has changed since the last look.
    fn advance(&mut self, now: Time) {
        self.account.latest = now.max(self.account.latest);
        self.account.meter.run(now, self.hourly_rate());
        self.account.app_spend.run(now, self.apps.hourly_rate());
        self.settle_subscriptions(now);
    }

    /// Returns what apps that are billed by the hour cost in this month, or in the one before.
    pub(in crate::emulator::world) fn app_spend(&self, now: Time, current: bool) -> Decimal {
        let mut meter = self.account.app_spend;
        meter.run(now, self.apps.hourly_rate());
        if current { meter.current_amount() } else { meter.previous_amount() }
    }

    /// Says where clients reach the service, such as `http://127.0.0.1:8080`.
    pub fn set_origin(&mut self, origin: &str) {
        if self.account.origin.as_deref() != Some(origin) {
            self.account.origin = Some(origin.to_owned());
        }
    }

    /// Returns where clients reach the service.
    pub(in crate::emulator::world) fn origin(&self) -> String {
        self.account.origin.clone().unwrap_or_else(|| format!("http://{HOST_DOMAIN}"))
    }

    /// Returns an id that was never given out.
    pub(in crate::emulator::world) fn fresh_id(&mut self) -> Uuid {
        self.account.counter += 1;
        seeded_rng::nth_uuid(self.account.seed, self.account.counter)
    }

    pub(in crate::emulator::world) fn table<T: RecordKind>(&self) -> &Table<T> {
        T::table(self)
    }

    pub(in crate::emulator::world) fn table_mut<T: RecordKind>(&mut self) -> &mut Table<T> {
        T::table_mut(self)
    }

    /// Makes a record; returns its id.
    pub(in crate::emulator::world) fn create_record<T: RecordKind>(
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

/// Cuts what is finer than the world's clock.
fn to_millisecond(time: Time) -> Time {
    Time::from_millisecond(time.as_millisecond()).unwrap_or(time)
}

/// Returns what is kept of a key.
pub(in crate::emulator::world) fn digest_key(api_key: &str) -> String {
    use std::fmt::Write;
    Sha256::digest(api_key.as_bytes()).iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
