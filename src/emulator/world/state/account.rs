//! `World`: the complete state of the service: the account and the records of all kinds.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::emulator::world::Time;
use crate::emulator::world::engine::billing::UsageMeter;
use crate::emulator::world::engine::monthly_meter::MonthMeter;
use crate::emulator::world::records::account::RateTier;

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
    pub(in crate::emulator::world) tier: RateTier,
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
    pub(in crate::emulator::world) origin: Option<String>,
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
