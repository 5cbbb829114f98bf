//! `api_key`: a key to the service's API (specification, Create API key).
//!
//! Only the response to the creation shows the secret, so it is delivered to a secret sink. No call changes a key: a
//! change replaces it, and clients with the old one are locked out. Access to projects is a `project_member`.

use super::shared::{CREATED_AT, PRIVILEGED_ROLE, TEXT, TIME};
use crate::model::schema::{
    Attribute, Effect, Endpoint, Exposure, ExposureCheck, HandedOn, Kind, KindApi, KindScope, Literal,
    Method, RightScope, Rights, Rule, RuleCheck, TextFormat, Type,
};

pub(super) static API_KEY: Kind = Kind {
    name: "api_key",
    summary: "A key to the service's API; its secret is shown once, at creation.",
    scope: KindScope::Account,
    api: KindApi {
        create: Endpoint::documented(Method::Post, "/api/v1/api-keys").secret(),
        ..KindApi::assumed("/api/v1/api-keys", "/api/v1/api-keys/{id}")
    },
    // Which right an operation needs is assumed (specification, Authentication, 6).
    rights: Some(
        Rights::new(RightScope::Account, "api_keys:read", "api_keys:write")
            .handing_on(HandedOn::Role("role")),
    ),
    attributes: &[
        Attribute::required("name", Type::Text { min: 1, max: 128, format: TextFormat::Any })
            .summary("Display name, 1–128 characters."),
        Attribute::default("rate_limit_tier", Type::Enum(&["standard", "high"]), Literal::Text("standard"))
            .summary("Its rate limit per second; high needs an approval by the service's support."),
        Attribute::optional("expires_at", Type::Text { min: 1, max: 64, format: TextFormat::Timestamp })
            .summary("When it expires; never by default.")
            .omitted_when_empty(),
        Attribute::optional("role", Type::Catalog("role"))
            .wire("role_id")
            .summary("The account role whose permissions it has, by name or reference."),
        Attribute::computed("key_prefix", TEXT).summary("The first characters of the key."),
        Attribute::computed("is_active", Type::Boolean).summary("Whether the key is active."),
        Attribute::computed("account_id", TEXT).summary("The account that it gives access to."),
        Attribute::computed("scope", TEXT).summary("What it is for."),
        Attribute::computed("last_used_at", TIME).summary("When it was last used."),
        Attribute::computed("role_name", TEXT).summary("The role's display name.").follows(&["role"]),
        Attribute::computed("role_slug", TEXT).summary("The role's short name.").follows(&["role"]),
        Attribute::computed("created_by", TEXT).summary("Who created it."),
        CREATED_AT,
    ],
    rules: &[
        Rule {
            code: "R1801",
            check: RuleCheck::Future { attribute: "expires_at" },
            says: "The expiry time of a new key must be in the future.",
            place: "specification, Create API key",
        },
        Rule {
            code: "R1802",
            check: RuleCheck::Granted { attribute: "rate_limit_tier", value: "high" },
            says: "The high tier needs approval by the service's support: without it, creation is refused.",
            place: "specification, Create API key",
        },
    ],
    exposures: &[
        Exposure {
            code: "X04",
            text: "it is valid for more than a year",
            check: ExposureCheck::LongLived { attribute: "expires_at" },
            meaning: "An API key has no `expires_at`, or one that is more than a year ahead: if it leaks, it can be used for a long time.",
            remedy: "Set `expires_at` to a time within a year, and replace the key before.",
            is_default: false,
        },
        PRIVILEGED_ROLE,
    ],
    on_replace: &[Effect::LocksOut],
    shown_once: Some("secret"),
    other_fields: &[(
        "project_accesses",
        Type::List(&Type::Record(&[
            ("project_id", TEXT),
            ("project_name", TEXT),
            ("role_id", TEXT),
            ("role_name", TEXT),
            ("role_slug", TEXT),
        ])),
    )],
    ..Kind::PLAIN
};
