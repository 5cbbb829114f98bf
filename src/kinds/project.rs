//! `project`: a group of resources within the account. The specification names the area only, so all of it is assumed.
//!
//! The default project exists in every account: no stack creates or deletes it. A project must be empty to be deleted,
//! so the plan orders its deletion after that of its objects.

use super::shared::{CREATED_AT, NAME, TEXT, UPDATED_AT};
use crate::model::schema::{
    ApiCall, Attribute, Endpoint, Kind, KindApi, KindScope, Literal, Method, RightScope, Rights, Rule,
    RuleCheck, Type, UpdateStrategy,
};

static PATCH: ApiCall = ApiCall::new("patch", Endpoint::assumed(Method::Patch, "/api/v1/projects/{id}"));

pub(super) static PROJECT: Kind = Kind {
    name: "project",
    summary: "The folder of the account that other resources belong to.",
    scope: KindScope::Account,
    api: KindApi {
        id: "id",
        other_ids: &[],
        create: Endpoint::assumed(Method::Post, "/api/v1/projects"),
        read: Some(Endpoint::assumed(Method::Get, "/api/v1/projects/{id}")),
        list: Endpoint::assumed(Method::Get, "/api/v1/projects"),
        delete: Endpoint::assumed(Method::Delete, "/api/v1/projects/{id}"),
        delete_body: &[],
        ready: None,
        absent_when: None,
    },
    // Which right an operation needs is assumed (specification, Authentication, 6).
    rights: Some(Rights::new(RightScope::ProjectItself, "projects:read", "projects:write")),
    attributes: &[
        Attribute::required("name", NAME)
            .summary("Display name, 1–64 characters.")
            .on_change(UpdateStrategy::Patch { call: &PATCH, body: "name" })
            .assumed(),
        Attribute::default("description", TEXT, Literal::Text(""))
            .summary("What it is for.")
            .on_change(UpdateStrategy::Patch { call: &PATCH, body: "description" })
            .assumed(),
        Attribute::computed("is_default", Type::Boolean)
            .summary("Whether it is the account's default project, which cannot be deleted.")
            .assumed(),
        CREATED_AT.assumed(),
        UPDATED_AT.assumed(),
    ],
    rules: &[Rule {
        code: "R1901",
        check: RuleCheck::NotFilled,
        says: "A project can be deleted only when it is empty.",
        place: "contract, 3, project",
    }],
    given: Some(("is_default", &[Literal::Bool(true)])),
    ..Kind::PLAIN
};
