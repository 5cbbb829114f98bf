//! `app_database_link`: a login of a database for an app, written in its `databases`.
//!
//! A link sets environment variables of the app (specification, App platform), so its creation and deletion start a
//! deployment of the app.

use super::shared::{APP_RIGHTS, CREATED_AT, SHORT_TEXT, TEXT, TIME};
use crate::model::schema::{
    Action, Attribute, DurationEstimate, Effect, Kind, KindApi, KindScope, ResponseShape, Rule, RuleCheck,
    Type,
};

pub(super) static APP_DATABASE_LINK: Kind = Kind {
    name: "app_database_link",
    summary: "Gives an app a database login, and the environment variables to connect with it.",
    scope: KindScope::Child { of: "app", collection: "databases" },
    plain_entry: Some("database"),
    api: KindApi {
        read: None,
        ..KindApi::assumed(
            "/api/v1/apps/services/{parent}/database-links",
            "/api/v1/apps/services/{parent}/database-links/{id}",
        )
    },
    rights: APP_RIGHTS,
    attributes: &[
        Attribute::required("database", Type::Reference("database"))
            .wire("database_id")
            .summary("The database.")
            .assumed(),
        Attribute::computed("user", TEXT).summary("The login that the app uses.").assumed(),
        Attribute::computed("variables", Type::List(&SHORT_TEXT))
            .summary("The names of the environment variables that the app gets.")
            .assumed(),
        CREATED_AT.assumed(),
    ],
    rules: &[Rule {
        code: "R1301",
        check: RuleCheck::Unique { attributes: &["database"] },
        says: "An app has at most one link to a database.",
        place: "contract, 3, app_database_link",
    }],
    estimate: DurationEstimate { create: 25, update: 1, delete: 25 },
    on_delete: &[Effect::Deploys],
    rolls_out_parent: true,
    other_fields: &[("project_id", TEXT), ("service_id", TEXT), ("updated_at", TIME)],
    actions: &[Action::post(
        "rotate-password",
        "/api/v1/apps/services/{parent}/database-links/{id}/rotate",
        "Gives the app a new password for the database.",
    )
    .assumed()
    .secret()
    .effects(&[Effect::Deploys])
    .answer(ResponseShape::Record(&["id", "user"]))
    .recorded()],
    ..Kind::PLAIN
};
