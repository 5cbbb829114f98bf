//! `cluster`: a managed Kubernetes cluster; its workers are in the `node_pools` of its block.
//!
//! The version changes only by an upgrade that the service offers (specification, Upgrade Kubernetes version). Volumes
//! that its persistent volume claims create belong to the cluster and to no stack.

use super::shared::{
    COUNT, CREATED_AT, KUBERNETES_RIGHTS, NAME, PRICE_PER_HOUR, PROJECT_ID, REGION, TEXT, TIME, UPDATED_AT,
    WEEKDAYS,
};
use crate::model::schema::{
    Action, ActionCompletion, ApiCall, Attribute, DocumentMerge, DurationEstimate, Effect, Endpoint,
    Envelope, ImpliedPart, Kind, KindApi, KindScope, Literal, Method, Parameter, Price, PriceFactor,
    PriceTerm, ReadinessRule, ReplaceOrder, ResponseShape, Rule, RuleCheck, ServiceUpgrade, TextFormat,
    Type, UpdateStrategy,
};

static UPGRADE: ApiCall = ApiCall::new(
    "upgrade",
    Endpoint::documented(Method::Post, "/api/v1/k8s/clusters/{id}/upgrade").answers(Envelope::Message),
)
// The service refuses the upgrade of a single-master cluster without this confirmation; the
// plan shows the interruption.
.fixed_when("control_plane_count", Literal::Integer(1), &[("confirm_single_master", Literal::Bool(true))]);
static MAINTENANCE: ApiCall = ApiCall::new(
    "maintenance",
    Endpoint::documented(Method::Patch, "/api/v1/k8s/clusters/{id}/maintenance"),
);

pub(super) static CLUSTER: Kind = Kind {
    name: "cluster",
    summary: "A managed Kubernetes cluster; its workers are declared under `node_pools`.",
    scope: KindScope::Project,
    states_project: true,
    api: KindApi {
        other_ids: &["cluster_id"],
        create: Endpoint::documented(Method::Post, "/api/v1/k8s/clusters"),
        ready: Some(ReadinessRule {
            attribute: "status",
            wanted: &["running"],
            resting: &[],
            failed: &["failed"],
            leaving: &["deleting", "deleted"],
        }),
        ..KindApi::assumed("/api/v1/k8s/clusters", "/api/v1/k8s/clusters/{id}")
    },
    rights: KUBERNETES_RIGHTS,
    attributes: &[
        Attribute::required("name", NAME).summary("Its name, unique in the project.").assumed(),
        Attribute::required("version", Type::Catalog("kubernetes_version"))
            .wire("version_id")
            .summary("The Kubernetes version, by name or id; it can change only by an offered upgrade.")
            .on_change(UpdateStrategy::Patch { call: &UPGRADE, body: "version_id" })
            .choices_at(Endpoint::documented(Method::Get, "/api/v1/k8s/clusters/{id}/upgrades"))
            .moved_by(
                "upgrade_mode",
                &[("auto_patch", ServiceUpgrade::Patch), ("auto_minor", ServiceUpgrade::Higher)],
            )
            .effects(&[Effect::ApiInterruption, Effect::RollingRestart]),
        REGION,
        Attribute::optional("vpc", Type::Reference("vpc"))
            .wire("vpc_id")
            .summary("The private network of its nodes.")
            .assumed(),
        Attribute::default(
            "control_plane_count",
            Type::Integer { min: 1, max: 3, unit: "" },
            Literal::Integer(1),
        )
        .summary("Control plane nodes: 1, or 3 for high availability.")
        .assumed(),
        Attribute::default(
            "upgrade_mode",
            Type::Enum(&["manual", "auto_patch", "auto_minor"]),
            Literal::Text("manual"),
        )
        .summary("Whether the service upgrades it automatically, in the maintenance window.")
        .on_change(UpdateStrategy::Patch { call: &MAINTENANCE, body: "upgrade_mode" })
        .at_once(),
        Attribute::optional("maintenance_day", Type::Labelled(WEEKDAYS))
            .summary("The day of the weekly 4-hour maintenance window.")
            .on_change(UpdateStrategy::Patch { call: &MAINTENANCE, body: "maintenance_day" })
            .at_once()
            .usually(Literal::Integer(0)),
        Attribute::optional(
            "maintenance_start",
            Type::Text { min: 5, max: 5, format: TextFormat::ClockTime },
        )
        .summary("When the maintenance window begins, UTC.")
        .on_change(UpdateStrategy::Patch { call: &MAINTENANCE, body: "maintenance_start" })
        .at_once()
        .usually(Literal::Text("03:00")),
        Attribute::optional("worker_plan", Type::Catalog("kubernetes"))
            .wire("worker_plan_id")
            .summary("The plan of a `default` pool of two workers that is created with the cluster.")
            .assumed(),
        Attribute::computed("cluster_id", TEXT).summary("Short id.").assumed(),
        Attribute::computed("status", TEXT).summary("running when it can be used.").assumed(),
        Attribute::computed("endpoint", TEXT).summary("The address of its API.").assumed(),
        PRICE_PER_HOUR.of_children().assumed(),
        PROJECT_ID.assumed(),
        CREATED_AT.assumed(),
        UPDATED_AT.assumed(),
    ],
    rules: &[
        Rule {
            code: "R0501",
            check: RuleCheck::OneOf { attribute: "control_plane_count", values: &[1, 3] },
            says: "A cluster has 1 or 3 control plane nodes.",
            place: "contract, 3, cluster",
        },
        Rule {
            code: "R0502",
            check: RuleCheck::Unique { attributes: &["name"] },
            says: "A cluster's name is unique in its project.",
            place: "contract, 1, names",
        },
    ],
    price: Price::Sum(&[
        PriceTerm {
            table: "control_plane",
            chosen_by: None,
            field: "single_monthly",
            factors: &[PriceFactor::When { attribute: "control_plane_count", equals: 1 }],
            implies: None,
        },
        PriceTerm {
            table: "control_plane",
            chosen_by: None,
            field: "ha_monthly",
            factors: &[PriceFactor::When { attribute: "control_plane_count", equals: 3 }],
            implies: None,
        },
        PriceTerm {
            table: "kubernetes",
            chosen_by: Some("worker_plan"),
            field: "monthly_price",
            factors: &[],
            // The pool that the service creates with the cluster (contract, 6.4).
            implies: Some(ImpliedPart { kind: "node_pool", name: "default", count: 2 }),
        },
    ]),
    estimate: DurationEstimate { create: 90, update: 60, delete: 10 },
    replace: ReplaceOrder::DeleteFirst,
    on_delete: &[Effect::DataLoss],
    on_replace: &[Effect::DataLoss, Effect::AddressChange],
    data_bearing: true,
    claims: Some(("volume", "/api/v1/k8s/clusters/{id}/volumes")),
    actions: ACTIONS,
    other_fields: &[("node_pools", Type::List(&Type::Record(POOL_FIELDS))), ("version", TEXT)],
    also_sent: &[
        (
            "node_pools",
            Type::List(&Type::Record(&[
                ("name", NAME),
                ("plan_id", Type::Catalog("kubernetes")),
                ("node_count", Type::Integer { min: 1, max: 1_000, unit: "" }),
                ("labels", Type::Map(&TEXT)),
                ("taints", Type::List(&TEXT)),
            ])),
        ),
        // The service has removed this feature: it refuses anything but zero (specification, Errors, case 6).
        ("storage_node_count", Type::Integer { min: 0, max: 0, unit: "" }),
        ("storage_node_disk_gb", Type::Integer { min: 0, max: 0, unit: "" }),
    ],
    ..Kind::PLAIN
};

/// The fields of a pool in the record of its cluster. Pools are managed as children; these fields are only accepted.
const POOL_FIELDS: &[(&str, Type)] = &[
    ("id", TEXT),
    ("cluster_id", TEXT),
    ("project_id", TEXT),
    ("name", TEXT),
    ("plan_id", Type::Catalog("kubernetes")),
    ("node_class", TEXT),
    ("node_count", COUNT),
    ("status", TEXT),
    ("labels", Type::Map(&TEXT)),
    ("taints", Type::List(&TEXT)),
    ("created_at", TIME),
    ("updated_at", TIME),
];

static ACTIONS: &[Action] = &[
    Action::get(
        "kubeconfig",
        "/api/v1/k8s/clusters/{id}/kubeconfig",
        "Creates credentials for kubectl and writes them.",
    )
    .parameters(&[Parameter::optional("expires-in", Type::Integer { min: 600, max: 2_592_000, unit: "s" })
        .wire("expires_in")
        .in_query()
        .summary("How long they are valid, in seconds; 7 days by default.")])
    .secret()
    .answer(ResponseShape::Document { field: "kubeconfig", merge: Some(DocumentMerge::Kubeconfig) }),
    Action::post(
        "rotate-kubeconfig",
        "/api/v1/k8s/clusters/{id}/kubeconfig/rotate",
        "Revokes all credentials that were issued for kubectl.",
    )
    .secret()
    .effects(&[Effect::LocksOut])
    .recorded(),
    Action::get("upgrades", "/api/v1/k8s/clusters/{id}/upgrades", "Versions that it can be upgraded to.")
        .answer(ResponseShape::Rows(&["id", "version"])),
    Action::post("upgrade", "/api/v1/k8s/clusters/{id}/upgrade", "Upgrades Kubernetes, node by node.")
        .envelope(Envelope::Message)
        .parameters(&[
            Parameter::required("version", Type::Catalog("kubernetes_version"))
                .wire("version_id")
                .summary("The version's id, as `stead do upgrades` lists it."),
            Parameter::flag("confirm-single-master")
                .wire("confirm_single_master")
                .summary("Required for a cluster with one control plane node.")
                .effects(&[Effect::ApiInterruption]),
        ])
        .effects(&[Effect::RollingRestart])
        .until(ActionCompletion::ObjectReady(Some("events")))
        .recorded(),
    Action::get("volumes", "/api/v1/k8s/clusters/{id}/volumes", "Volumes of its persistent volume claims.")
        .answer(ResponseShape::Rows(&["id", "name", "size", "status"])),
    Action::get("events", "/api/v1/k8s/clusters/{id}/events", "Its events, newest first.")
        .assumed()
        .answer(ResponseShape::Feed { columns: &["created_at", "type", "message"], id: "id" }),
    Action::get("node-plans", "/api/v1/k8s/node-plans", "Plans of nodes, and their prices.")
        .answer(ResponseShape::Rows(&["id", "slug", "node_class", "cpu", "ram", "monthly_price"])),
];
