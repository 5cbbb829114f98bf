//! `vpc`: a private network (specification, VPC). No call changes one: a change replaces it, and the addresses in it
//! change. The networks of an account must not overlap.

use super::shared::{COUNT, CREATED_AT, NAME, PROJECT_ID, REGION, TEXT, UPDATED_AT};
use crate::model::schema::{
    Action, Attribute, Effect, Endpoint, Kind, KindApi, KindScope, Method, ReadinessRule, ResponseShape,
    RightScope, Rights, Rule, RuleCheck, TextFormat, Type,
};

pub(super) static VPC: Kind = Kind {
    name: "vpc",
    summary: "A private network that VMs and databases join.",
    scope: KindScope::Project,
    states_project: true,
    api: KindApi {
        id: "id",
        other_ids: &[],
        create: Endpoint::documented(Method::Post, "/api/v1/vpcs"),
        read: Some(Endpoint::assumed(Method::Get, "/api/v1/vpcs/{id}")),
        list: Endpoint::assumed(Method::Get, "/api/v1/vpcs"),
        delete: Endpoint::assumed(Method::Delete, "/api/v1/vpcs/{id}"),
        delete_body: &[],
        absent_when: None,
        ready: Some(ReadinessRule {
            attribute: "status",
            wanted: &["active"],
            resting: &[],
            failed: &["failed"],
            leaving: &["deleting", "deleted"],
        }),
    },
    // Which right an operation needs is assumed (specification, Authentication, 6).
    rights: Some(Rights::new(RightScope::Project, "networks:read", "networks:write")),
    attributes: &[
        Attribute::required("name", NAME).summary("Display name, 1–64 characters."),
        Attribute::required("cidr", Type::Text { min: 9, max: 18, format: TextFormat::Cidr4 })
            .summary("IPv4 network; must not overlap another VPC of the account."),
        REGION,
        Attribute::computed("status", TEXT).summary("active when it can be used."),
        Attribute::computed("account_id", TEXT).summary("The account's id."),
        PROJECT_ID,
        Attribute::computed("gateway", TEXT).summary("Gateway address inside the network."),
        Attribute::computed("dns", TEXT).summary("Name server."),
        Attribute::computed("total_ips", COUNT).summary("Addresses in the network."),
        Attribute::computed("used_ips", COUNT).summary("Addresses in use."),
        Attribute::computed("gateway_type", TEXT).summary("Kind of gateway."),
        Attribute::computed("router_public_ip", TEXT).summary("The router's public address."),
        Attribute::computed("router_status", TEXT).summary("The router's status."),
        CREATED_AT,
        UPDATED_AT,
    ],
    rules: &[
        Rule {
            code: "R0101",
            check: RuleCheck::NoOverlap { attribute: "cidr" },
            says: "The networks of an account's VPCs must not overlap.",
            place: "specification, Resources, VPC, cidr",
        },
        Rule {
            code: "R0102",
            check: RuleCheck::NotUsed { by: &[("vm", "vpc"), ("database", "vpc"), ("cluster", "vpc")] },
            says: "A VPC can be deleted only when no VM, database or cluster is in it.",
            place: "contract, 3, vpc",
        },
    ],
    on_replace: &[Effect::AddressChange],
    actions: &[Action::get(
        "cidr-suggestions",
        "/api/v1/vpcs/cidr-suggestions",
        "Lists networks that overlap no VPC of the account.",
    )
    .answer(ResponseShape::Rows(&["cidr"]))],
    ..Kind::PLAIN
};
