//! `app_domain`: a host name of an app, written in its `domains`, as a map or as the host name alone.
//!
//! No call changes it, and a name belongs to one app of the account at most.

use super::shared::{APP_RIGHTS, CREATED_AT, TEXT, TIME};
use crate::model::schema::{Attribute, Kind, KindApi, KindScope, Rule, RuleCheck, TextFormat, Type};

pub(super) static APP_DOMAIN: Kind = Kind {
    name: "app_domain",
    summary: "A host name under which an app answers.",
    scope: KindScope::Child { of: "app", collection: "domains" },
    plain_entry: Some("domain"),
    api: KindApi {
        read: None,
        ..KindApi::assumed(
            "/api/v1/apps/services/{parent}/domains",
            "/api/v1/apps/services/{parent}/domains/{id}",
        )
    },
    rights: APP_RIGHTS,
    attributes: &[
        Attribute::required("domain", Type::Text { min: 4, max: 253, format: TextFormat::Domain })
            .summary("The host name.")
            .assumed(),
        Attribute::computed("status", TEXT)
            .summary("active when its DNS record points to the app.")
            .assumed(),
        Attribute::computed("dns_target", TEXT).summary("What its DNS record must point to.").assumed(),
        CREATED_AT.assumed(),
    ],
    rules: &[Rule {
        code: "R1201",
        check: RuleCheck::UniqueOverall { attributes: &["domain"] },
        says: "A domain belongs to at most one app.",
        place: "contract, 1, names",
    }],
    other_fields: &[("project_id", TEXT), ("service_id", TEXT), ("updated_at", TIME)],
    ..Kind::PLAIN
};
