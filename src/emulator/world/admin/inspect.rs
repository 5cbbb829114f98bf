//! The operator's view of the world, for the console page and for tests: the records of a kind, their prices, and
//! the fields that `mutate` can set. It reads records in all projects and needs no permission.

use serde_json::{Value, json};
use uuid::Uuid;

use super::mutate::{ACCOUNT, MutateError, body_fields, unknown_kind};
use crate::emulator::world::engine::billing::Charge;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::money;
use crate::emulator::world::engine::table::{RecordKind, Table, TableRecord};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::state::world::{World, for_each_kind};
use crate::emulator::world::{Time, clock};

/// Selects records of a kind; they are listed youngest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordSearch {
    /// How many matching records to skip.
    pub offset: usize,
    /// Maximum number of records to return.
    pub limit: usize,
    /// Text to find in the record's API representation, ignoring ASCII case; empty matches all.
    pub find: String,
}

/// Returns each kind with its number of records, and the account with 1, after the clock moved to `now`.
pub fn list_kinds(world: &mut World, now: Time) -> Vec<(&'static str, usize)> {
    clock::tick(world, now);
    let mut counts = world.counts_by_kind();
    counts.push((ACCOUNT, 1));
    counts
}

/// Returns the selected records of a kind, as `{objects, total}`; `total` counts all that match.
///
/// # Errors
/// When there is no such kind.
pub fn inspect_many(
    world: &mut World,
    kind: &str,
    search: &RecordSearch,
    now: Time,
) -> Result<Value, MutateError> {
    let now = clock::tick(world, now);
    if kind == ACCOUNT {
        return Ok(json!({"objects": [account_object(world)], "total": 1}));
    }
    inspect_kind(world, kind, search, now).ok_or_else(|| unknown_kind(kind))
}

/// Returns one record, as `{object, fields}`: `fields` are those that `mutate` can set, secrets included. For the
/// account `id` is ignored.
///
/// # Errors
/// When there is no such kind or record.
pub fn inspect_one(world: &mut World, kind: &str, id: &str, now: Time) -> Result<Value, MutateError> {
    let now = clock::tick(world, now);
    if kind == ACCOUNT {
        let account = &world.account;
        let fields = json!({
            "balance": account.balance.normalize().to_string().parse::<serde_json::Number>().ok(),
            "banned": account.banned,
            "card": account.card,
            "high_tier": account.high_tier,
        });
        return Ok(json!({"object": account_object(world), "fields": fields}));
    }
    let unknown = || MutateError::Unknown { kind: kind.to_owned(), id: id.to_owned() };
    let found = inspect_record(world, kind, Uuid::try_parse(id).map_err(|_| unknown())?, now);
    found.ok_or_else(|| unknown_kind(kind))?.ok_or_else(unknown)
}

fn account_object(world: &World) -> Value {
    json!({
        "id": "", "name": ACCOUNT, "status": if world.account.banned { "banned" } else { "active" },
        "shown": {"id": world.account.id}, "created_at": null,
    })
}

/// Declares the searches in the tables of all kinds.
macro_rules! inspections {
    ($($field:ident: $body:ty,)*) => {
        /// Returns the selected records of a kind; `None` for an unknown kind.
        fn inspect_kind(world: &World, kind: &str, search: &RecordSearch, now: Time) -> Option<Value> {
            let view = RenderContext { world, now, detail: false };
            match kind {
                $(<$body>::KIND => Some(inspect_table(&world.$field, search, view)),)*
                _ => None,
            }
        }

        /// Returns one record of a kind; the outer `None` means an unknown kind, the inner one an unknown id.
        fn inspect_record(world: &World, kind: &str, id: Uuid, now: Time) -> Option<Option<Value>> {
            let view = RenderContext { world, now, detail: true };
            match kind {
                $(<$body>::KIND => Some(inspect_table_record(&world.$field, id, view)),)*
                _ => None,
            }
        }
    };
}

for_each_kind!(inspections);

/// Returns a record's representation in the API, as JSON.
fn render_record<T: Handlers>(record: &TableRecord<T>, view: RenderContext<'_>) -> Vec<u8> {
    let mut text = Vec::with_capacity(512);
    JsonObjectWriter::write(&mut text, |fields| T::show(record, view, fields));
    text
}

fn object_summary<T: Handlers>(record: &TableRecord<T>, view: RenderContext<'_>) -> Value {
    let identity = (record.id, record.project, record.created_at);
    let shown = render_record(record, view);
    summary_document(identity, record.status(view.now), T::charge(record), (&shown, view.detail))
}

/// Returns the summary of a record of any kind; it is not generic, because there are many kinds.
fn summary_document(
    (id, project, created_at): (Uuid, Option<Uuid>, Time),
    status: &str,
    charge: Option<Charge>,
    (shown, is_shown): (&[u8], bool),
) -> Value {
    let shown: Value = serde_json::from_slice(shown).unwrap_or_default();
    let billed = charge.map(|charge| if charge.paid_until.is_some() { "monthly" } else { "hourly" });
    let label = ["name", "domain", "email"].into_iter().find_map(|name| shown.get(name)?.as_str());
    json!({
        "id": id,
        "name": label,
        "status": shown.get("status").and_then(Value::as_str).unwrap_or(status),
        "project": project,
        "price_per_hour": charge.map(|charge| format!("{:.4}", charge.hourly_price())),
        "price_per_month": charge.map(|charge| format!("{:.2}", money::round_to_cents(charge.month))),
        "billed": billed,
        "created_at": created_at,
        "shown": if is_shown { shown } else { Value::Null },
    })
}

/// Returns the selected records of a table; a search renders each record of the table.
fn inspect_table<T: Handlers>(table: &Table<T>, search: &RecordSearch, view: RenderContext<'_>) -> Value {
    let RecordSearch { offset, limit, find } = search;
    if find.is_empty() {
        let page = table.page(None, *offset, *limit).map(|record| object_summary(record, view));
        return json!({"objects": page.collect::<Vec<_>>(), "total": table.len(None)});
    }
    // The searched text is JSON: escape the search text in the same way.
    let find = Value::from(find.to_ascii_lowercase()).to_string();
    let find = find.trim_matches('"').as_bytes();
    let fits = |record: &&TableRecord<T>| {
        let text = render_record(record, view).to_ascii_lowercase();
        text.windows(find.len()).any(|part| part == find)
    };
    let found: Vec<_> = table.page(None, 0, usize::MAX).filter(fits).collect();
    let page = found.iter().skip(*offset).take(*limit).map(|record| object_summary(record, view));
    json!({"objects": page.collect::<Vec<_>>(), "total": found.len()})
}

/// Returns one record with the fields that `mutate` can set; `None` for an unknown id.
fn inspect_table_record<T: Handlers>(table: &Table<T>, id: Uuid, view: RenderContext<'_>) -> Option<Value> {
    let record = table.get(id)?;
    let mut fields = body_fields(&record.body).unwrap_or_default();
    fields.insert("status".to_owned(), record.status(view.now).into());
    Some(json!({"object": object_summary(record, view), "fields": fields}))
}
