//! `node_pool`: workers of one size, written under a cluster's `node_pools`.
//!
//! The service deletes the pools with their cluster. All pools of a cluster together need at least
//! 2 workers (specification, Limits).

use super::shared::{CREATED_AT, KUBERNETES_RIGHTS, NAME, SHORT_TEXT, TEXT, TIME};
use crate::model::schema::{
    ApiCall, Attribute, DurationEstimate, Effect, Endpoint, Kind, KindApi, KindScope, Method, Price,
    PriceFactor, PriceTerm, ReadinessRule, Rule, RuleCheck, TextFormat, Type, UpdateStrategy,
};

const TAINT: Type = Type::Text { min: 3, max: 253, format: TextFormat::Taint };
const COLLECTION: &str = "/api/v1/k8s/clusters/{parent}/pools";
const ITEM: &str = "/api/v1/k8s/clusters/{parent}/pools/{id}";

static PATCH: ApiCall = ApiCall::new("patch", Endpoint::assumed(Method::Patch, ITEM));

pub(super) static NODE_POOL: Kind = Kind {
    name: "node_pool",
    summary: "Workers of one size in a Kubernetes cluster.",
    scope: KindScope::Child { of: "cluster", collection: "node_pools" },
    states_project: true,
    api: KindApi {
        create: Endpoint::documented(Method::Post, COLLECTION),
        ready: Some(ReadinessRule {
            attribute: "status",
            wanted: &["running"],
            resting: &[],
            failed: &["failed"],
            leaving: &["deleting", "deleted"],
        }),
        ..KindApi::assumed(COLLECTION, ITEM)
    },
    rights: KUBERNETES_RIGHTS,
    attributes: &[
        Attribute::required("name", NAME).summary("Its name.").assumed(),
        Attribute::required("plan", Type::Catalog("kubernetes"))
            .wire("plan_id")
            .summary("The size of its workers, by name or id."),
        Attribute::required("node_count", Type::Integer { min: 1, max: 1_000, unit: "" })
            .summary("How many workers; a cluster needs at least two over all its pools.")
            .on_change(UpdateStrategy::Patch { call: &PATCH, body: "node_count" })
            .effects(&[Effect::Charge]),
        Attribute::optional("labels", Type::Map(&SHORT_TEXT))
            .summary("Labels of its nodes.")
            .on_change(UpdateStrategy::Patch { call: &PATCH, body: "labels" })
            .at_once()
            .unlisted()
            .assumed(),
        Attribute::optional("taints", Type::Set { of: &TAINT, max: 50 })
            .summary("Taints of its nodes: key=value:NoSchedule, PreferNoSchedule or NoExecute.")
            .on_change(UpdateStrategy::Patch { call: &PATCH, body: "taints" })
            .at_once()
            .unlisted()
            .assumed(),
        Attribute::computed("node_class", TEXT)
            .summary("shared or cpu_optimized.")
            .follows(&["plan"])
            .assumed(),
        Attribute::computed("status", TEXT).summary("running when its workers are running.").assumed(),
        CREATED_AT.assumed(),
    ],
    rules: &[Rule {
        code: "R0901",
        check: RuleCheck::SumAtLeast { attribute: "node_count", least: 2 },
        says: "A cluster needs at least 2 workers over all its pools.",
        place: "specification, Limits",
    }],
    price: Price::Sum(&[PriceTerm {
        table: "kubernetes",
        chosen_by: Some("plan"),
        field: "monthly_price",
        factors: &[PriceFactor::Count("node_count")],
        implies: None,
    }]),
    estimate: DurationEstimate { create: 30, update: 30, delete: 5 },
    goes_with_parent: true,
    on_delete: &[Effect::Drain],
    on_replace: &[Effect::Drain],
    other_fields: &[("cluster_id", TEXT), ("project_id", TEXT), ("updated_at", TIME)],
    ..Kind::PLAIN
};
