//! `saved_query`: named queries of a database, stored in its record. The specification does not show the shapes,
//! so they are assumed.

use super::database::find_database;
use super::user::find_running_database;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::records::database::{Database, SavedQuery};
use crate::emulator::world::request::call::{Call, Reply, message_response, success_response};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

const COLLECTION: &str = "/api/v1/databases/{id}/saved-queries";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, COLLECTION, Access::Account, list_saved_queries),
    Route::new(Method::Put, COLLECTION, Access::Project, store_saved_query),
    Route::new(
        Method::Delete,
        "/api/v1/databases/{id}/saved-queries/{name}",
        Access::Project,
        delete_saved_query,
    ),
];

const MAX_QUERIES: usize = 100;
const MAX_QUERY_CHARS: usize = 65_535;

fn list_saved_queries(call: &mut Call<'_>) -> Reply {
    let record = find_database(call)?;
    let mut queries: Vec<_> = record.body.saved_queries.iter().collect();
    queries.sort_by_key(|(name, saved)| std::cmp::Reverse((saved.created_at, *name)));
    call.list_of(&queries, |fields, (name, saved)| write_saved_query(fields, name, saved))
}

fn write_saved_query(fields: &mut JsonObjectWriter<'_>, name: &str, saved: &SavedQuery) {
    fields.write_field("name", name);
    fields.write_field("query", &saved.query);
    fields.write_field("created_at", &saved.created_at);
    fields.write_field("updated_at", &saved.updated_at);
}

fn store_saved_query(call: &mut Call<'_>) -> Reply {
    let record = find_running_database(call)?;
    let id = record.id;
    let name = call.body.required_field("name", |field| field.text(1, 128))?.to_owned();
    if name.chars().any(char::is_control) {
        return Err(ErrorResponse::bad_request("name must hold no control character"));
    }
    let query = call.body.required_field("query", |field| field.text(1, MAX_QUERY_CHARS))?.to_owned();
    let earlier = record.body.saved_queries.get(&name);
    if earlier.is_none() && record.body.saved_queries.len() >= MAX_QUERIES {
        return Err(ErrorResponse::bad_request(format!(
            "a database has at most {MAX_QUERIES} saved queries: delete one first"
        )));
    }
    let created_at = earlier.map_or(call.now, |saved| saved.created_at);
    let saved = SavedQuery { query, created_at, updated_at: call.now };
    let (key, kept) = (name.clone(), saved.clone());
    call.update::<Database>(id, |record| {
        record.body.saved_queries.insert(key, kept);
    });
    Ok(success_response(200, "query saved", |fields| {
        fields.write_object("data", |fields| write_saved_query(fields, &name, &saved));
    }))
}

fn delete_saved_query(call: &mut Call<'_>) -> Reply {
    let record = find_running_database(call)?;
    let (id, name) = (record.id, decode_percent(call.param(1)));
    if !record.body.saved_queries.contains_key(&name) {
        return Err(ErrorResponse::not_found("saved query"));
    }
    call.update::<Database>(id, |record| {
        record.body.saved_queries.remove(&name);
    });
    Ok(message_response("saved query deleted"))
}

/// Decodes the percent escapes of a path segment; keeps invalid ones, and replaces bytes that are not UTF-8.
fn decode_percent(part: &str) -> String {
    let mut pieces = part.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let code = piece.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        if let Some(code) = code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            bytes.push(code);
            bytes.extend(piece.bytes().skip(2));
        } else {
            bytes.push(b'%');
            bytes.extend(piece.bytes());
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_encoding_is_decoded() {
        for (part, wanted) in
            [("a", "a"), ("a%20b", "a b"), ("%C3%A9", "é"), ("100%", "100%"), ("%+1", "%+1"), ("%é", "%é")]
        {
            assert_eq!(decode_percent(part), wanted);
        }
    }
}
