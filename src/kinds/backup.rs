//! `backup`: a copy of a VM, made once (specification, Backup). A `backup_schedule` makes recurring ones.
//!
//! No call changes a backup. The service creates backups asynchronously: the first status is `pending`.

use super::shared::{COMPUTE_RIGHTS, COUNT, CREATED_AT, NAME, PRICE_PER_HOUR, PROJECT_ID, TEXT, TIME};
use crate::model::schema::{
    Action, ActionCompletion, Attribute, Billing, DurationEstimate, Effect, Kind, KindApi, KindScope,
    Price, PriceFactor, PriceTerm, ReadinessRule, Type,
};

pub(super) static BACKUP: Kind = Kind {
    name: "backup",
    summary: "A single backup of a VM; schedules create recurring ones.",
    scope: KindScope::Project,
    states_project: true,
    api: KindApi {
        ready: Some(ReadinessRule {
            attribute: "status",
            wanted: &["completed"],
            resting: &[],
            failed: &["failed"],
            leaving: &["deleting", "deleted"],
        }),
        ..KindApi::documented("/api/v1/backups", "/api/v1/backups/{id}")
    },
    rights: COMPUTE_RIGHTS,
    attributes: &[
        Attribute::required("name", NAME).summary("Display name; the API cannot rename a backup."),
        Attribute::required("vm", Type::Reference("vm"))
            .wire("vm_id")
            .returned("product_vm")
            .summary("The VM to copy."),
        Attribute::computed("storage_size", COUNT).summary("Size in GB."),
        Attribute::computed("status", TEXT).summary("completed when the backup is complete."),
        Attribute::computed("created_by", TEXT).summary("Who created it."),
        Attribute::computed("region", TEXT).summary("The region where it is stored."),
        Attribute::computed("expire_date", TIME).summary("When the service deletes it automatically."),
        Attribute::computed("increment_id", COUNT).summary("Its number among the backups of the VM."),
        PRICE_PER_HOUR,
        PROJECT_ID,
        CREATED_AT,
    ],
    price: Price::Sum(&[PriceTerm {
        table: "backup",
        chosen_by: None,
        field: "price_per_gb_month",
        factors: &[PriceFactor::Count("storage_size")],
        implies: None,
    }]),
    // Refused with 402 if the balance does not cover the subscription (specification, Create backup).
    billing: Billing::AsReferred("vm"),
    estimate: DurationEstimate { create: 15, update: 1, delete: 1 },
    on_delete: &[Effect::DataLoss],
    on_replace: &[Effect::DataLoss],
    data_bearing: true,
    copy_of: &["vm"],
    // Backups of a schedule have this prefix and expire; no block declares them (contract, sections 6 and 17).
    made_by_service: Some(("name", "auto-")),
    goes_at: Some("expire_date"),
    actions: &[Action::post(
        "restore",
        "/api/v1/backups/{id}/restore",
        "Resets the VM to the state of the backup.",
    )
    .effects(&[Effect::GoesBack, Effect::Restart])
    .until(ActionCompletion::LinkedObjectReady(&["vm"]))],
    other_fields: &[("account_id", TEXT)],
    ..Kind::PLAIN
};
