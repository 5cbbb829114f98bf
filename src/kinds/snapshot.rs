//! `snapshot`: the state of a VM or a volume at one time. It keeps the data of an object that a stack deletes.
//!
//! Only its name can change; another original replaces the snapshot.

use super::shared::{COMPUTE_RIGHTS, COUNT, CREATED_AT, NAME, PROJECT_ID, REGIONS, TEXT, TIME};
use crate::model::schema::{
    Action, ActionCompletion, ApiCall, Attribute, DurationEstimate, Effect, Endpoint, Kind, KindApi,
    KindScope, Method, Price, PriceFactor, PriceTerm, ReadinessRule, Rule, RuleCheck, Type, UpdateStrategy,
};

static RENAME: ApiCall =
    ApiCall::new("rename", Endpoint::documented(Method::Patch, "/api/v1/snapshots/{id}/rename"));

pub(super) static SNAPSHOT: Kind = Kind {
    name: "snapshot",
    summary: "The state of a VM or a volume at the time it was taken.",
    scope: KindScope::Project,
    states_project: true,
    api: KindApi {
        ready: Some(ReadinessRule {
            attribute: "status",
            wanted: &["available"],
            resting: &[],
            failed: &["failed"],
            leaving: &["deleting", "deleted"],
        }),
        ..KindApi::documented("/api/v1/snapshots", "/api/v1/snapshots/{id}")
    },
    rights: COMPUTE_RIGHTS,
    attributes: &[
        Attribute::required("name", NAME)
            .summary("Display name.")
            .on_change(UpdateStrategy::Patch { call: &RENAME, body: "name" })
            .assumed(),
        Attribute::optional("vm", Type::Reference("vm"))
            .wire("vm_id")
            .summary("The VM that the snapshot is taken of.")
            .assumed(),
        Attribute::optional("volume", Type::Reference("volume"))
            .wire("volume_id")
            .summary("The volume that the snapshot is taken of.")
            .assumed(),
        Attribute::computed("source_type", TEXT).summary("vm or volume.").assumed(),
        Attribute::computed("size", COUNT).summary("Size in GB.").assumed(),
        Attribute::computed("status", TEXT).summary("available when it is complete.").assumed(),
        PROJECT_ID.assumed(),
        CREATED_AT.assumed(),
    ],
    rules: &[Rule {
        code: "R0701",
        check: RuleCheck::ExactlyOne { attributes: &["vm", "volume"] },
        says: "A snapshot is taken of either a VM or a volume.",
        place: "contract, 3, snapshot",
    }],
    price: Price::Sum(&[PriceTerm {
        table: "snapshot",
        chosen_by: None,
        field: "price_per_gb_month",
        factors: &[PriceFactor::Count("size")],
        implies: None,
    }]),
    estimate: DurationEstimate { create: 10, update: 1, delete: 1 },
    on_delete: &[Effect::DataLoss],
    on_replace: &[Effect::DataLoss],
    data_bearing: true,
    copy_of: &["vm", "volume"],
    actions: &[
        Action::post(
            "restore",
            "/api/v1/snapshots/{id}/restore",
            "Resets the VM or the volume to the state of the snapshot.",
        )
        .effects(&[Effect::GoesBack, Effect::BriefOutage])
        .until(ActionCompletion::LinkedObjectReady(&["vm", "volume"])),
        Action::call("rename", "Changes its name."),
    ],
    other_fields: &[("price_per_hour", Type::Decimal), ("region", REGIONS), ("updated_at", TIME)],
    ..Kind::PLAIN
};
