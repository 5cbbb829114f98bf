//! `role`: a named set of permissions of the account. The specification names the area only, so all of it is assumed.
//!
//! The four built-in roles exist in every account: a configuration can refer to them and not create or delete them.

use super::shared::{CREATED_AT, NAME, TEXT, UPDATED_AT};
use crate::model::schema::{
    Action, ApiCall, Attribute, Endpoint, HandedOn, Kind, KindApi, KindScope, Literal, Method,
    ResponseShape, RightScope, Rights, Rule, RuleCheck, TextFormat, Type, UpdateStrategy,
};

static PATCH: ApiCall = ApiCall::new("patch", Endpoint::assumed(Method::Patch, "/api/v1/roles/{id}"));

pub(super) static ROLE: Kind = Kind {
    name: "role",
    summary: "A named set of permissions, in addition to owner, admin, developer and viewer.",
    scope: KindScope::Account,
    api: KindApi::assumed("/api/v1/roles", "/api/v1/roles/{id}"),
    // Which right an operation needs is assumed (specification, Authentication, 6).
    rights: Some(
        Rights::new(RightScope::Account, "members:read", "members:write")
            .handing_on(HandedOn::Listed("permissions")),
    ),
    attributes: &[
        Attribute::required("name", NAME)
            .summary("Display name.")
            .on_change(UpdateStrategy::Patch { call: &PATCH, body: "name" })
            .assumed(),
        Attribute::optional(
            "permissions",
            Type::Set { of: &Type::Text { min: 1, max: 128, format: TextFormat::Any }, max: 256 },
        )
        .summary("What a user with this role may do.")
        .on_change(UpdateStrategy::Patch { call: &PATCH, body: "permissions" })
        .assumed(),
        Attribute::computed("slug", TEXT).summary("Its short name.").assumed(),
        CREATED_AT.assumed(),
        UPDATED_AT.assumed(),
    ],
    rules: &[
        Rule {
            code: "R1501",
            check: RuleCheck::NotUsed { by: &[("api_key", "role"), ("invitation", "role")] },
            says: "A role can be deleted only when no API key and no invitation has it.",
            place: "contract, 3, role",
        },
        Rule {
            code: "R1502",
            check: RuleCheck::Offered { attribute: "permissions", table: "permission", within: None },
            says: "The permissions of a role must exist.",
            place: "contract, 3, role",
        },
    ],
    actions: &[Action::get("permissions", "/api/v1/permissions", "Every permission that a role can give.")
        .assumed()
        .answer(ResponseShape::Rows(&["permission"]))],
    other_fields: &[("is_builtin", Type::Boolean)],
    given: Some((
        "slug",
        &[
            Literal::Text("owner"),
            Literal::Text("admin"),
            Literal::Text("developer"),
            Literal::Text("viewer"),
        ],
    )),
    ..Kind::PLAIN
};
