//! `saved_query`: a query that a database's console keeps, written under its `saved_queries`.

use super::shared::{TEXT, TIME};
use crate::model::schema::{
    Api, Attribute, Call, Check, Endpoint, Format, Kind, Method, OnChange, Rule, Scope, Type,
};

const COLLECTION: &str = "/api/v1/databases/{parent}/saved-queries";

static PUT: Call =
    Call::new("put", Endpoint::documented(Method::Put, COLLECTION)).always(&["name", "query"]);

/// The table.
pub(super) static SAVED_QUERY: Kind = Kind {
    name: "saved_query",
    summary: "A query that a database's console keeps by name.",
    scope: Scope::Child { of: "database", collection: "saved_queries" },
    api: Api {
        id: "name",
        create: Endpoint::documented(Method::Put, COLLECTION),
        read: None,
        ..Api::documented(COLLECTION, "/api/v1/databases/{parent}/saved-queries/{id}")
    },
    attributes: &[
        Attribute::required("name", Type::Text { min: 1, max: 128, format: Format::PathName })
            .summary("Its name; another name is another query.")
            .assumed(),
        Attribute::required("query", TEXT)
            .summary("The text of the query.")
            .on_change(OnChange::Patch { call: &PUT, body: "query" })
            .assumed(),
    ],
    rules: &[Rule {
        code: "R1701",
        check: Check::Unique { attributes: &["name"] },
        says: "A saved query's name is unique in its database: another one would overwrite it.",
        place: "contract, 3, saved_query",
    }],
    other_fields: &[("created_at", TIME), ("updated_at", TIME)],
    ..Kind::PLAIN
};
