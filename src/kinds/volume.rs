//! `volume`: block storage, attached to at most one VM.

use super::shared::{BILLING, CREATED_AT, NAME, PRICE_PER_HOUR, PROJECT_ID, REGION, TEXT, UPDATED_AT};
use crate::model::schema::{
    Action, Api, Attribute, Call, Effect, Endpoint, Estimate, Factor, FinalCopy, Kind, Method, OnChange,
    Price, PriceTerm, Ready, Scope, Type,
};

static RESIZE: Call = Call::new("resize", Endpoint::documented(Method::Patch, "/api/v1/volumes/{id}"));
static ATTACH: Call =
    Call::new("attach", Endpoint::documented(Method::Post, "/api/v1/volumes/{id}/attach"));
static DETACH: Call =
    Call::new("detach", Endpoint::documented(Method::Post, "/api/v1/volumes/{id}/detach"));

/// The table.
pub(super) static VOLUME: Kind = Kind {
    name: "volume",
    summary: "Block storage that outlives the machine it is attached to.",
    scope: Scope::Project,
    states_project: true,
    api: Api {
        id: "id",
        other_ids: &[],
        create: Endpoint::documented(Method::Post, "/api/v1/volumes"),
        read: Some(Endpoint::documented(Method::Get, "/api/v1/volumes/{id}")),
        list: Endpoint::documented(Method::Get, "/api/v1/volumes"),
        delete: Endpoint::documented(Method::Delete, "/api/v1/volumes/{id}"),
        delete_body: &[],
        absent_when: None,
        ready: Some(Ready {
            attribute: "status",
            wanted: &["available", "in_use"],
            resting: &[],
            failed: &["failed"],
            leaving: &["deleting", "deleted"],
        }),
    },
    attributes: &[
        Attribute::required("name", NAME).summary("Display name.").assumed(),
        Attribute::required("size", Type::Integer { min: 1, max: 65_536, unit: "GB" })
            .summary("Size in GB; it can only grow.")
            .on_change(OnChange::Patch { call: &RESIZE, body: "new_size" })
            .grow_only()
            .effects(&[Effect::Charge]),
        REGION,
        BILLING.assumed(),
        Attribute::optional("vm", Type::Reference("vm"))
            .wire("vm_id")
            .summary("The VM that it is attached to.")
            .on_change(OnChange::Link { set: &ATTACH, body: "vm_id", unset: &DETACH })
            .effects(&[Effect::BriefOutage])
            .undone_before_delete()
            .assumed(),
        Attribute::computed("status", TEXT).summary("available, or in_use while attached.").assumed(),
        PRICE_PER_HOUR.assumed(),
        PROJECT_ID.assumed(),
        CREATED_AT.assumed(),
        UPDATED_AT.assumed(),
    ],
    price: Price::Sum(&[PriceTerm {
        table: "volume",
        chosen_by: None,
        field: "price_per_gb_month",
        factors: &[Factor::Count("size")],
    }]),
    estimate: Estimate { create: 3, update: 2, delete: 1 },
    on_delete: &[Effect::DataLoss],
    on_replace: &[Effect::DataLoss],
    data_bearing: true,
    actions: &[
        Action::make("snapshot", "volume", "Makes a snapshot now."),
        Action::through(
            "restore",
            &[("snapshot", "volume")],
            "Puts it back to the state of one of its snapshots.",
        ),
    ],
    final_copy: Some(FinalCopy { kind: "snapshot", of: "volume", size: ("size", None) }),
    ..Kind::PLAIN
};
