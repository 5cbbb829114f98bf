//! Variations of time: lists that lag, shift and change their order, states that come back. Within the bounds of the
//! contract, all of it ends as in the plain world.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use serde_json::Value as Json;
use stead::emulator::world::Time;
use stead::model::schema::Method;

use crate::layer::{Asked, Effect, Seen, Told, Variation};

/// How long a list may lag: a little less than the bound that the client keeps.
const LAG: Duration = Duration::from_secs(8);

/// Pages of a list that differ before they settle.
const UNSETTLED: u64 = 4;

fn as_asked(_: &mut Seen, _: &mut Asked) {}

fn as_told(_: &mut Seen, _: &Asked, _: &mut Told) {}

pub static VARIATIONS: &[Variation] = &[
    Variation {
        name: "lists show new objects late",
        effect: Effect::Timing,
        ask: as_asked,
        tell: new_objects_late,
    },
    Variation {
        name: "lists show changes late",
        effect: Effect::Timing,
        ask: as_asked,
        tell: changes_late,
    },
    Variation {
        name: "lists show deleted objects",
        effect: Effect::Timing,
        ask: |_, asked| asked.take_page(100),
        tell: deleted_objects,
    },
    Variation {
        name: "pages shift down while they are read",
        effect: Effect::Representation,
        ask: |seen, asked| shift(seen, asked, 1),
        tell: |seen, _, told| count_shifted(seen, told, 1),
    },
    Variation {
        name: "pages shift up while they are read",
        effect: Effect::Representation,
        ask: |seen, asked| shift(seen, asked, -1),
        tell: |seen, _, told| count_shifted(seen, told, -1),
    },
    Variation {
        name: "lists change their order while they are read",
        effect: Effect::Timing,
        ask: |_, asked| asked.take_page(2),
        tell: another_order,
    },
    Variation {
        name: "the offset is ignored",
        effect: Effect::Refuses,
        ask: |_, asked| {
            asked.set("limit", 2);
            asked.set("offset", 0);
        },
        tell: as_told,
    },
    Variation {
        name: "the limit is ignored",
        effect: Effect::Representation,
        ask: |_, asked| asked.set("limit", 100),
        tell: as_told,
    },
    Variation {
        name: "a resize starts a stopped machine",
        effect: Effect::Timing,
        ask: resizes_start,
        tell: as_told,
    },
    Variation {
        name: "states come back",
        // While it is busy, a machine is neither on nor off.
        effect: Effect::Hides(&["vm.status"]),
        ask: as_asked,
        tell: states_come_back,
    },
    Variation {
        name: "states are skipped",
        effect: Effect::Timing,
        ask: as_asked,
        tell: states_are_skipped,
    },
];

fn add_to_total(told: &mut Told, difference: i64) {
    if let Some(total) = told.body.as_mut().and_then(|body| body.get_mut("total")) {
        *total = (total.as_i64().unwrap_or_default() + difference).into();
    }
}

fn is_within_lag(then: Time, now: Time) -> bool {
    now.duration_since(then).unsigned_abs() < LAG
}

/// What was there before the first request is not new.
fn new_objects_late(seen: &mut Seen, asked: &Asked, told: &mut Told) {
    let Some(now) = seen.now else { return };
    let begun = *seen.times.entry("begun".to_owned()).or_insert(now);
    let Some(rows) = told.rows().filter(|_| asked.is_list()) else { return };
    let before = rows.len();
    rows.retain(|row| {
        let born: Option<Time> = row["created_at"].as_str().and_then(|text| text.parse().ok());
        born.is_none_or(|born| born <= begun || !is_within_lag(born, now))
    });
    let hidden = before - rows.len();
    add_to_total(told, -i64::try_from(hidden).unwrap());
}

/// Remembers when an object was changed by a request, and tells whether that was lately.
fn changed_lately(seen: &mut Seen, asked: &Asked, told: &Told, id: Option<&str>) -> bool {
    let Some(now) = seen.now else { return false };
    let target = asked.target.as_ref().and_then(|target| target.id.clone());
    if let Some(id) = target.filter(|_| asked.method.mutates() && told.status < 300) {
        seen.times.insert(id, now);
    }
    id.and_then(|id| seen.times.get(id)).is_some_and(|then| is_within_lag(*then, now))
}

/// A record's place: its list and its id.
fn place(asked: &Asked, row: &Json) -> Option<(String, String)> {
    let id = row[asked.target.as_ref()?.of.id].as_str()?;
    Some((format!("{} {id}", asked.path), id.to_owned()))
}

fn changes_late(seen: &mut Seen, asked: &Asked, told: &mut Told) {
    changed_lately(seen, asked, told, None);
    let mut told_rows = told.clone();
    let Some(old) = told_rows.rows().filter(|_| asked.is_list()) else { return };
    for row in old.iter_mut() {
        let Some((place, id)) = place(asked, row) else { continue };
        if changed_lately(seen, asked, told, Some(&id))
            && let Some(known) = seen.records.get(&place)
        {
            row.clone_from(known);
        } else {
            seen.records.insert(place, row.clone());
        }
    }
    *told = told_rows;
}

fn deleted_objects(seen: &mut Seen, asked: &Asked, told: &mut Told) {
    if asked.method == Method::Delete {
        changed_lately(seen, asked, told, None);
    }
    if !asked.is_list() || told.status >= 300 {
        return;
    }
    let Some(now) = seen.now else { return };
    let list = format!("{} ", asked.path);
    let Some(rows) = told.rows() else { return };
    let mut gone = Vec::new();
    for (place, record) in
        seen.records.range(list.clone()..).take_while(|(place, _)| place.starts_with(&list))
    {
        let id = place.rsplit(' ').next().unwrap_or_default();
        let is_gone = seen.times.get(id).is_some_and(|then| is_within_lag(*then, now));
        if is_gone
            && !rows.iter().any(|row| crate::timing::place(asked, row).is_some_and(|(at, _)| at == *place))
        {
            gone.push(record.clone());
        }
    }
    for row in rows.iter() {
        if let Some((place, _)) = place(asked, row) {
            seen.records.insert(place, row.clone());
        }
    }
    let count = i64::try_from(gone.len()).unwrap();
    rows.extend(gone);
    if let Some((offset, limit)) = asked.page {
        *rows = rows.iter().skip(offset).take(limit).cloned().collect();
    }
    add_to_total(told, count);
}

/// While a list is read for the first time, an object appears or goes: the second page begins elsewhere.
fn shift(seen: &mut Seen, asked: &mut Asked, by: i64) {
    seen.shifted = false;
    // A catalog changes by the week.
    if !asked.is_list() {
        return;
    }
    asked.set("limit", 2);
    let offset = asked.query.iter_mut().find(|(name, _)| name == "offset");
    let Some((_, offset)) = offset.filter(|(_, value)| value != "0") else { return };
    if seen.counts.insert(format!("shifted {}", asked.path), 1).is_none() {
        let from: i64 = offset.parse().unwrap();
        *offset = (from - by).max(0).to_string();
        seen.shifted = true;
    }
}

fn count_shifted(seen: &mut Seen, told: &mut Told, by: i64) {
    if seen.shifted {
        add_to_total(told, by);
    }
}

/// Each of the first pages is of another order; then it stays.
fn another_order(seen: &mut Seen, asked: &Asked, told: &mut Told) {
    let Some((offset, limit)) = asked.page else { return };
    let order = seen.count(&format!("order {}", asked.path)).min(UNSETTLED);
    let Some(rows) = told.rows() else { return };
    rows.sort_by_key(|row| {
        let mut hasher = DefaultHasher::new();
        (order, row["id"].to_string(), row["name"].to_string()).hash(&mut hasher);
        hasher.finish()
    });
    *rows = rows.iter().skip(offset).take(limit).cloned().collect();
}

/// Each seventh look at an object that is ready shows it busy.
fn states_come_back(seen: &mut Seen, asked: &Asked, told: &mut Told) {
    told.records(asked, |of, record, _| {
        let is_ready = record["status"].as_str().is_some_and(|status| of.ready.contains(&status));
        let id = record["id"].as_str().unwrap_or_default().to_owned();
        if is_ready && seen.count(&format!("looks at {id}")) % 7 == 6 {
            record["status"] = "updating".into();
        }
    });
}

/// An object stays as it began until it is ready.
fn states_are_skipped(_: &mut Seen, asked: &Asked, told: &mut Told) {
    told.records(asked, |of, record, _| {
        let began = ["deploying", "provisioning", "building"];
        if !of.ready.is_empty() && record["status"].as_str().is_some_and(|status| began.contains(&status)) {
            record["status"] = "pending".into();
        }
    });
}

/// Remembers a machine that is resized. The world takes the request before it is looked at again.
fn resizes_start(seen: &mut Seen, asked: &mut Asked) {
    let machine = asked.path.strip_suffix("/resize").filter(|_| asked.method == Method::Post);
    seen.resized.extend(machine.map(|machine| (machine.to_owned(), asked.project.clone())));
}
