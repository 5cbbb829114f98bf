//! `Account`: the state that belongs to no record: keys, money, meters, and the counter of ids; and the rows in which
//! a world is stored.

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
    /// The account's first API key, a secret, of which the world stores the digest only.
    pub api_key: String,
    /// Rate tier of that key.
    pub tier: RateTier,
}

/// The account's first API key. Only its digest is stored, so that no export contains the key itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::emulator::world) struct AccountKey {
    pub(in crate::emulator::world) digest: String,
    pub(in crate::emulator::world) tier: RateTier,
}

/// The account: its first key, its money, and the counter from which all ids are computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct Account {
    pub(in crate::emulator::world) id: Uuid,
    pub(in crate::emulator::world) default_project: Uuid,
    /// Prepaid money in USD that subscriptions are charged to; never negative unless `mutate` makes it so.
    pub(in crate::emulator::world) balance: Decimal,
    /// Whether a credit card is on file, which pays renewals that the balance does not cover, and which paid
    /// databases need ("Errors", 402).
    pub(in crate::emulator::world) card: bool,
    /// Whether billing validation fails, so that every paid request is refused.
    pub(in crate::emulator::world) banned: bool,
    /// Whether support allows keys with the high rate tier.
    #[serde(default)]
    pub(in crate::emulator::world) high_tier: bool,
    pub(in crate::emulator::world) meter: UsageMeter,
    pub(in crate::emulator::world) keys: Vec<AccountKey>,
    pub(in crate::emulator::world) seed: u64,
    /// Number of ids that were drawn from `seed`.
    pub(in crate::emulator::world) counter: u64,
    /// The latest time seen: the virtual clock never runs back.
    pub(in crate::emulator::world) latest: Time,
    /// Cost of the apps that are billed by the hour, by month.
    #[serde(default)]
    pub(in crate::emulator::world) app_spend: MonthMeter,
    /// Base URL at which clients reach the service, for URLs in responses; `None` before the first request.
    #[serde(skip)]
    pub(in crate::emulator::world) origin: Option<String>,
}

/// The account's bill at one time, in USD.
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
    /// The highest step of the spend notices that this month's cost has reached: 75, 90 or 100 percent of the cap
    /// ("Events"); `None` below the first, or without a cap.
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
