//! `mutate`: changes a record outside the API, so that tests can produce drift. It checks the types of the values,
//! and none of the service's rules.

use serde::Serialize;
use serde_json::{Map, Value};
use thiserror::Error;
use uuid::Uuid;

use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::RecordKind;
use crate::emulator::world::records::account::SpendSettings;
use crate::emulator::world::state::world::{KINDS, StoredKind, World, for_each_kind};
use crate::emulator::world::{Time, clock};
use crate::model::diagnostic::nearest_name;

/// Why `mutate` did not change a record.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MutateError {
    /// No record of this kind has this id.
    #[error("there is no {kind} with the id {id}")]
    Unknown {
        /// The kind's name in the request.
        kind: String,
        /// The id in the request, which need not be a UUID.
        id: String,
    },
    /// The kind, a field or a value is not valid; contains the message.
    #[error("{0}")]
    Invalid(String),
}

/// The kind under which `mutate` addresses the account.
pub(in crate::emulator::world) const ACCOUNT: &str = "account";

fn invalid_input<T>(message: impl Into<String>) -> Result<T, MutateError> {
    Err(MutateError::Invalid(message.into()))
}

/// Returns ` Did you mean …?` with the nearest known name, or an empty string if none is near.
fn suggest_name<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest_name(name, known).map(|known| format!(" Did you mean `{known}`?")).unwrap_or_default()
}

/// Returns the error for an unknown kind.
pub(in crate::emulator::world) fn unknown_kind(kind: &str) -> MutateError {
    let hint = suggest_name(kind, KINDS.iter().copied().chain([ACCOUNT]));
    MutateError::Invalid(format!("there is no kind `{kind}`.{hint}"))
}

/// Sets fields of a record; on an error nothing is changed. A `status` set here is permanent. The kind `account`
/// takes `balance`, `card`, `banned` and `high_tier`, and no id; the kind with a single record takes no id either.
///
/// # Errors
/// When there is no such record, no such field, or the value does not fit it.
pub fn mutate(
    world: &mut World,
    kind: &str,
    id: &str,
    set: &Map<String, Value>,
    now: Time,
) -> Result<(), MutateError> {
    let now = clock::tick(world, now);
    if kind == ACCOUNT {
        return mutate_account(world, set);
    }
    let only = (kind == SpendSettings::KIND).then(|| world.spend_record(now).to_string());
    let id = only.as_deref().unwrap_or(id);
    mutate_kind(world, kind, id, set, now).unwrap_or_else(|| Err(unknown_kind(kind)))
}

/// Declares the change of a record of any kind.
macro_rules! mutations {
    ($($field:ident: $body:ty,)*) => {
        /// Sets fields of a record; `None` for an unknown kind.
        fn mutate_kind(
            world: &mut World,
            kind: &str,
            id: &str,
            set: &Map<String, Value>,
            now: Time,
        ) -> Option<Result<(), MutateError>> {
            match kind {
                $(<$body>::KIND => Some(mutate_record::<$body>(world, id, set, now)),)*
                _ => None,
            }
        }
    };
}

for_each_kind!(mutations);

fn mutate_record<T: StoredKind>(
    world: &mut World,
    id: &str,
    set: &Map<String, Value>,
    now: Time,
) -> Result<(), MutateError> {
    let unknown = || MutateError::Unknown { kind: T::KIND.to_owned(), id: id.to_owned() };
    let key = Uuid::try_parse(id).map_err(|_| unknown())?;
    // Fields that follow the time must be current before they are read, or the old values would be written back.
    world.table_mut::<T>().amend(key, |record| T::settle(record, now));
    let record = world.table::<T>().get(key).ok_or_else(unknown)?;
    let Some(fields) = body_fields(&record.body) else {
        return invalid_input("the record cannot be changed");
    };
    let (text, status) = set_fields(T::KIND, fields, set)?;
    let status = status.map(|status| Timeline::with_status(now, status));
    let body: T = serde_json::from_slice(&text)
        .map_err(|error| MutateError::Invalid(format!("a value is not valid: {error}")))?;
    world.table_mut::<T>().update(key, now, |record| {
        record.body = body;
        record.timeline = status.unwrap_or_else(|| record.timeline.clone());
    });
    Ok(())
}

/// Returns the fields of a record's body. By way of its text: that is how records are kept, so no other way of reading
/// and writing each kind is built.
pub(super) fn body_fields<T: Serialize>(body: &T) -> Option<Map<String, Value>> {
    serde_json::from_slice(&serde_json::to_vec(body).ok()?).ok()
}

/// Sets fields of a record's body; returns its text, and the status if that is set.
fn set_fields<'s>(
    kind: &str,
    mut fields: Map<String, Value>,
    set: &'s Map<String, Value>,
) -> Result<(Vec<u8>, Option<&'s str>), MutateError> {
    let mut status = None;
    for (name, value) in set {
        if name == "status" {
            let Some(text) = value.as_str() else { return invalid_input("status must be a text") };
            status = Some(text);
        } else if fields.contains_key(name) {
            fields.insert(name.clone(), value.clone());
        } else {
            let known = fields.keys().map(String::as_str).chain(["status"]);
            let hint = suggest_name(name, known.clone());
            let list = known.collect::<Vec<_>>().join(", ");
            return invalid_input(format!("a {kind} has no `{name}` to set.{hint} It has {list}"));
        }
    }
    Ok((Value::Object(fields).to_string().into_bytes(), status))
}

fn mutate_account(world: &mut World, set: &Map<String, Value>) -> Result<(), MutateError> {
    let mut account = world.account.clone();
    for (name, value) in set {
        match (name.as_str(), value) {
            ("card", Value::Bool(card)) => account.card = *card,
            ("banned", Value::Bool(banned)) => account.banned = *banned,
            ("high_tier", Value::Bool(high)) => account.high_tier = *high,
            ("balance", Value::Number(number)) => {
                let read = number.to_string().parse();
                account.balance = read.map_err(|_| MutateError::Invalid("balance is too large".into()))?;
            }
            ("card" | "banned" | "high_tier", _) => {
                return invalid_input(format!("{name} must be true or false"));
            }
            ("balance", _) => return invalid_input("balance must be a number"),
            _ => {
                return invalid_input(format!(
                    "an account has no `{name}` to set. It has balance, banned, card, high_tier"
                ));
            }
        }
    }
    world.account = account;
    Ok(())
}
