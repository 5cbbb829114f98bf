//! `backup_schedule`: recurring backups of one VM, daily or weekly. The service deletes it with the VM. Its backups are
//! objects of the service's own: no stack manages them.

use super::shared::{COMPUTE_RIGHTS, CREATED_AT, PROJECT_ID, TIME, WEEKDAYS};
use crate::model::schema::{
    ApiCall, Attribute, EVERY_CHANGE, Endpoint, Kind, KindApi, KindScope, Literal, Method, Rule, RuleCheck,
    Type, UpdateStrategy,
};

static PATCH: ApiCall =
    ApiCall::new("patch", Endpoint::documented(Method::Patch, "/api/v1/backup-schedules/{id}"));

pub(super) static BACKUP_SCHEDULE: Kind = Kind {
    name: "backup_schedule",
    summary: "Daily or weekly backups of one VM, with how many to keep.",
    scope: KindScope::Project,
    states_project: true,
    api: KindApi {
        id: "id",
        other_ids: &[],
        create: Endpoint::documented(Method::Post, "/api/v1/backup-schedules"),
        read: Some(Endpoint::documented(Method::Get, "/api/v1/backup-schedules/{id}")),
        list: Endpoint::documented(Method::Get, "/api/v1/backup-schedules"),
        delete: Endpoint::documented(Method::Delete, "/api/v1/backup-schedules/{id}"),
        delete_body: &[],
        ready: None,
        absent_when: None,
    },
    rights: COMPUTE_RIGHTS,
    attributes: &[
        Attribute::required("vm", Type::Reference("vm"))
            .wire("vm_id")
            .summary("The VM to back up.")
            .assumed(),
        Attribute::required("frequency", Type::Enum(&["daily", "weekly"]))
            .summary("How often.")
            .on_change(UpdateStrategy::Patch { call: &PATCH, body: "frequency" }),
        Attribute::optional("day_of_week", Type::Labelled(WEEKDAYS))
            .summary("The day of a weekly schedule; sunday (0) by default.")
            .on_change(UpdateStrategy::Patch { call: &PATCH, body: "day_of_week" })
            .assumed(),
        Attribute::default("hour", Type::Integer { min: 0, max: 23, unit: "h" }, Literal::Integer(3))
            .summary("The hour, UTC.")
            .on_change(UpdateStrategy::Patch { call: &PATCH, body: "hour" })
            .assumed(),
        Attribute::default("retention", Type::Integer { min: 1, max: 30, unit: "" }, Literal::Integer(7))
            .summary("How many backups to keep.")
            .on_change(UpdateStrategy::Patch { call: &PATCH, body: "retention" })
            .assumed(),
        Attribute::default("enabled", Type::Boolean, Literal::Bool(true))
            .summary("Whether it runs.")
            .on_change(UpdateStrategy::Patch { call: &PATCH, body: "enabled" })
            .assumed(),
        PROJECT_ID.assumed(),
        Attribute::computed("next_run_at", TIME)
            .summary("When it runs next.")
            .follows(EVERY_CHANGE)
            .assumed(),
        CREATED_AT.assumed(),
    ],
    rules: &[
        Rule {
            code: "R0201",
            check: RuleCheck::OnlyWith {
                attribute: "day_of_week",
                unless: Literal::Null,
                other: "frequency",
                values: &["weekly"],
            },
            says: "Only a weekly schedule has a day of the week.",
            place: "contract, 3, backup_schedule",
        },
        Rule {
            code: "R0202",
            check: RuleCheck::Unique { attributes: &["vm", "frequency"] },
            says: "A VM has at most one schedule of each frequency.",
            place: "contract, 3, backup_schedule",
        },
    ],
    other_fields: &[("updated_at", TIME)],
    ..Kind::PLAIN
};
