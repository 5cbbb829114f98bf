//! `project_member`: a person's or an API key's access to one project, written under its `members`.
//!
//! The access of a key may also be written in the `projects` of the key's block (specification, Create API key); both
//! forms declare the same child of the project.

use super::shared::{CREATED_AT, PRIVILEGED_ROLE, TEXT, TIME};
use crate::model::schema::{
    ApiCall, Attribute, Endpoint, HandedOn, Kind, KindApi, KindScope, Method, NestedPlacement, RightScope,
    Rights, Rule, RuleCheck, Type, UpdateStrategy,
};

static PATCH: ApiCall =
    ApiCall::new("patch", Endpoint::assumed(Method::Patch, "/api/v1/projects/{parent}/members/{id}"));

pub(super) static PROJECT_MEMBER: Kind = Kind {
    name: "project_member",
    summary: "Gives a person or an API key access to a project, with a role.",
    scope: KindScope::Child { of: "project", collection: "members" },
    api: KindApi {
        read: None,
        ..KindApi::assumed("/api/v1/projects/{parent}/members", "/api/v1/projects/{parent}/members/{id}")
    },
    // Which right an operation needs is assumed (specification, Authentication, 6).
    rights: Some(
        Rights::new(RightScope::ProjectItself, "members:read", "members:write")
            .handing_on(HandedOn::Role("role")),
    ),
    attributes: &[
        Attribute::optional("api_key", Type::Reference("api_key"))
            .wire("api_key_id")
            .summary("The API key that gets access.")
            .assumed(),
        Attribute::optional("member", TEXT)
            .wire("member_id")
            .summary("The id of the person who gets access.")
            .assumed(),
        Attribute::required("role", Type::Catalog("role"))
            .wire("role_id")
            .summary("Its role in the project, by name or reference.")
            .on_change(UpdateStrategy::Patch { call: &PATCH, body: "role_id" })
            .assumed(),
        CREATED_AT.assumed(),
    ],
    rules: &[
        Rule {
            code: "R0801",
            check: RuleCheck::ExactlyOne { attributes: &["api_key", "member"] },
            says: "A project's member is an API key or a person.",
            place: "contract, 3, project_member",
        },
        Rule {
            code: "R0802",
            check: RuleCheck::Unique { attributes: &["api_key"] },
            says: "An API key is a member of a project once, in one role.",
            place: "specification, Errors, 409",
        },
        Rule {
            code: "R0803",
            check: RuleCheck::Unique { attributes: &["member"] },
            says: "A person is a member of a project once, in one role.",
            place: "specification, Errors, 409",
        },
    ],
    exposures: &[PRIVILEGED_ROLE],
    other_fields: &[
        ("project_id", TEXT),
        ("project_name", TEXT),
        ("role_name", TEXT),
        ("role_slug", TEXT),
        ("updated_at", TIME),
    ],
    also_in: Some(NestedPlacement { kind: "api_key", key: "projects", refers: "api_key", says: "role" }),
    ..Kind::PLAIN
};
