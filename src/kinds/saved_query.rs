//! `saved_query`: a query saved in a database's console, written under its `saved_queries`.
//!
//! One PUT on the collection both creates and overwrites it, and its name is its id: another name is another query.

use super::shared::{DATABASE_RIGHTS, TEXT, TIME};
use crate::model::schema::{
    ApiCall, Attribute, Endpoint, Kind, KindApi, KindScope, Method, Rule, RuleCheck, TextFormat, Type,
    UpdateStrategy,
};

const COLLECTION: &str = "/api/v1/databases/{parent}/saved-queries";

static PUT: ApiCall =
    ApiCall::new("put", Endpoint::documented(Method::Put, COLLECTION)).always(&["name", "query"]);

pub(super) static SAVED_QUERY: Kind = Kind {
    name: "saved_query",
    summary: "A named query, saved in a database's console.",
    scope: KindScope::Child { of: "database", collection: "saved_queries" },
    api: KindApi {
        id: "name",
        create: Endpoint::documented(Method::Put, COLLECTION),
        read: None,
        ..KindApi::documented(COLLECTION, "/api/v1/databases/{parent}/saved-queries/{id}")
    },
    rights: DATABASE_RIGHTS,
    attributes: &[
        Attribute::required("name", Type::Text { min: 1, max: 128, format: TextFormat::PathName })
            .summary("Its name; a query with another name is a different query.")
            .assumed(),
        Attribute::required("query", TEXT)
            .summary("The text of the query.")
            .on_change(UpdateStrategy::Patch { call: &PUT, body: "query" })
            .assumed(),
    ],
    rules: &[Rule {
        code: "R1701",
        check: RuleCheck::Unique { attributes: &["name"] },
        says: "A saved query's name is unique in its database: another one would overwrite it.",
        place: "contract, 3, saved_query",
    }],
    other_fields: &[("created_at", TIME), ("updated_at", TIME)],
    ..Kind::PLAIN
};
