//! `volume`: block storage, attached to at most one VM. It can only grow (specification, Resize volume).
//!
//! The attribute `vm` is a link: attach and detach are calls of their own, and a volume is
//! detached before its deletion.

use super::shared::{
    BILLING, COMPUTE_RIGHTS, CREATED_AT, NAME, PAYMENT, PRICE_PER_HOUR, PROJECT_ID, REGION, TEXT,
    UPDATED_AT,
};
use crate::model::schema::{
    Action, ApiCall, Attribute, Billing, BillingChoice, DurationEstimate, Effect, Endpoint, FinalSnapshot,
    Kind, KindApi, KindScope, Method, Price, PriceFactor, PriceTerm, ReadinessRule, RestOfMonth, Type,
    UpdateStrategy,
};

static RESIZE: ApiCall =
    ApiCall::new("resize", Endpoint::documented(Method::Patch, "/api/v1/volumes/{id}"));
static ATTACH: ApiCall =
    ApiCall::new("attach", Endpoint::documented(Method::Post, "/api/v1/volumes/{id}/attach"));
static DETACH: ApiCall =
    ApiCall::new("detach", Endpoint::documented(Method::Post, "/api/v1/volumes/{id}/detach"));

pub(super) static VOLUME: Kind = Kind {
    name: "volume",
    summary: "Block storage that is kept when the VM that it is attached to is deleted.",
    scope: KindScope::Project,
    states_project: true,
    api: KindApi {
        id: "id",
        other_ids: &[],
        create: Endpoint::documented(Method::Post, "/api/v1/volumes"),
        read: Some(Endpoint::documented(Method::Get, "/api/v1/volumes/{id}")),
        list: Endpoint::documented(Method::Get, "/api/v1/volumes"),
        delete: Endpoint::documented(Method::Delete, "/api/v1/volumes/{id}"),
        delete_body: &[],
        absent_when: None,
        ready: Some(ReadinessRule {
            attribute: "status",
            wanted: &["available", "in_use"],
            resting: &[],
            failed: &["failed"],
            leaving: &["deleting", "deleted"],
        }),
    },
    rights: COMPUTE_RIGHTS,
    attributes: &[
        Attribute::required("name", NAME).summary("Display name.").assumed(),
        Attribute::required("size", Type::Integer { min: 1, max: 65_536, unit: "GB" })
            .summary("Size in GB; it can only grow.")
            .on_change(UpdateStrategy::Patch { call: &RESIZE, body: "new_size" })
            .grow_only()
            .effects(&[Effect::Charge]),
        REGION,
        BILLING.assumed(),
        Attribute::optional("vm", Type::Reference("vm"))
            .wire("vm_id")
            .summary("The VM that it is attached to.")
            .on_change(UpdateStrategy::Link { set: &ATTACH, body: "vm_id", unset: &DETACH })
            .effects(&[Effect::BriefOutage])
            .undone_before_delete()
            .assumed(),
        Attribute::computed("status", TEXT)
            .summary("available, or in_use while attached.")
            .follows(&["vm"])
            .assumed(),
        PRICE_PER_HOUR.follows(&["size"]).assumed(),
        PROJECT_ID.assumed(),
        CREATED_AT.assumed(),
        UPDATED_AT.assumed(),
    ],
    price: Price::Sum(&[PriceTerm {
        table: "volume",
        chosen_by: None,
        field: "price_per_gb_month",
        factors: &[PriceFactor::Count("size")],
        implies: None,
    }]),
    // Resize volume: the difference is charged pro rata. For a deletion nothing is shown.
    billing: Billing::Chosen(BillingChoice { on_change: RestOfMonth::Prorated, ..PAYMENT }),
    estimate: DurationEstimate { create: 3, update: 2, delete: 1 },
    on_delete: &[Effect::DataLoss],
    on_replace: &[Effect::DataLoss],
    data_bearing: true,
    actions: &[
        Action::make("snapshot", "volume", "Creates a snapshot now."),
        Action::through(
            "restore",
            &[("snapshot", "volume")],
            "Resets it to the state of one of its snapshots.",
        ),
    ],
    final_copy: Some(FinalSnapshot { kind: "snapshot", of: "volume", size: ("size", None) }),
    ..Kind::PLAIN
};
