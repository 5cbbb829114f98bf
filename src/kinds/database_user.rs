//! `database_user`: a login of a database, written under its `users`.
//!
//! It has no id of its own: its name identifies it in paths, so another name is another login. The service
//! generates the password, and the `password` action shows it again.

use super::shared::{CREATED_AT, DATABASE_RIGHTS};
use crate::model::schema::{
    Action, Attribute, Effect, Endpoint, Kind, KindApi, KindScope, Method, ResponseShape, Rule, RuleCheck,
    TextFormat, Type,
};

pub(super) static DATABASE_USER: Kind = Kind {
    name: "database_user",
    summary: "A login of a database.",
    scope: KindScope::Child { of: "database", collection: "users" },
    api: KindApi {
        id: "name",
        other_ids: &[],
        create: Endpoint::documented(Method::Post, "/api/v1/databases/{parent}/users").secret(),
        read: None,
        list: Endpoint::documented(Method::Get, "/api/v1/databases/{parent}/users"),
        delete: Endpoint::documented(Method::Delete, "/api/v1/databases/{parent}/users/{id}"),
        delete_body: &[],
        ready: None,
        absent_when: None,
    },
    rights: DATABASE_RIGHTS,
    attributes: &[
        Attribute::required("name", Type::Text { min: 1, max: 63, format: TextFormat::DatabaseUser })
            .summary("Login name: a-z, 0-9 and _, not beginning with app_ or fnb_."),
        CREATED_AT.assumed(),
    ],
    rules: &[
        Rule {
            code: "R0401",
            check: RuleCheck::AtMost { count: 20 },
            says: "A database has at most 20 users.",
            place: "specification, Errors, case 4; the number: contract, 3, database_user",
        },
        Rule {
            code: "R0402",
            check: RuleCheck::Unique { attributes: &["name"] },
            says: "A user's name is unique in its database.",
            place: "specification, Errors, 409",
        },
    ],
    shown_once: Some("password"),
    actions: &[
        Action::post(
            "rotate-password",
            "/api/v1/databases/{parent}/users/{id}/rotate",
            "Generates a new password.",
        )
        .secret()
        .effects(&[Effect::LocksOut])
        .answer(ResponseShape::Record(&["name"]))
        .recorded(),
        Action::get("password", "/api/v1/databases/{parent}/users/{id}/password", "Shows the password.")
            .secret()
            .answer(ResponseShape::Record(&["name"])),
    ],
    ..Kind::PLAIN
};
