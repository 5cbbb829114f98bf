//! `vm`: a virtual machine (specification, Virtual machine).
//!
//! `power` is not in the create body: a new VM runs, and start and stop are calls of their own. A VM has a local disk,
//! which its replacement loses; volumes and the VPC are resources of their own and outlive it.

use super::shared::{
    BILLING, COMPUTE_RIGHTS, COUNT, CREATED_AT, NAME, PAYMENT, PRICE_PER_HOUR, PROJECT_ID, REGION, TEXT,
    UPDATED_AT,
};
use crate::model::schema::{
    Action, ActionCompletion, ApiCall, Attribute, Billing, BillingChoice, DurationEstimate, Effect,
    Endpoint, Envelope, Exposure, ExposureCheck, FinalSnapshot, Kind, KindApi, KindScope, Literal, Method,
    Price, PriceTerm, ReadinessRule, RestOfMonth, Type, UpdateStrategy,
};

static RESIZE: ApiCall =
    ApiCall::new("resize", Endpoint::documented(Method::Post, "/api/v1/vms/{id}/resize"));
static CONSOLE: ApiCall =
    ApiCall::new("console-policy", Endpoint::documented(Method::Patch, "/api/v1/vms/{id}/console-policy"));
const START: ApiCall = ApiCall::new("start", Endpoint::documented(Method::Post, "/api/v1/vms/{id}/start"));
const STOP: ApiCall = ApiCall::new("stop", Endpoint::documented(Method::Post, "/api/v1/vms/{id}/stop"));

pub(super) static VM: Kind = Kind {
    name: "vm",
    summary: "A virtual machine, created from a template; its plan defines the size.",
    scope: KindScope::Project,
    states_project: true,
    api: KindApi {
        id: "id",
        other_ids: &[],
        create: Endpoint::documented(Method::Post, "/api/v1/vms"),
        read: Some(Endpoint::documented(Method::Get, "/api/v1/vms/{id}")),
        list: Endpoint::documented(Method::Get, "/api/v1/vms"),
        delete: Endpoint::documented(Method::Delete, "/api/v1/vms/{id}").answers(Envelope::Message),
        // Volumes and the VPC may belong to other blocks: a VM's deletion must not delete
        // them (specification, Delete VM).
        delete_body: &[("volume_action", Literal::Text("detach")), ("delete_vpc", Literal::Bool(false))],
        absent_when: None,
        ready: Some(ReadinessRule {
            attribute: "status",
            wanted: &["active"],
            resting: &["stopped"],
            failed: &["failed"],
            leaving: &["deleting", "deleted"],
        }),
    },
    rights: COMPUTE_RIGHTS,
    attributes: &[
        Attribute::required("name", NAME).summary("Display name; the API cannot rename a VM."),
        Attribute::required("template", Type::Catalog("template"))
            .wire("template_id")
            .summary("Operating system template, by name or id."),
        Attribute::required("plan", Type::Catalog("vm"))
            .wire("pricing_id")
            .summary("Size and price, by name or id; the new plan's disk must not be smaller.")
            .on_change(UpdateStrategy::Patch { call: &RESIZE, body: "pricing_id" })
            .catalog_grow_only("storage")
            .effects(&[Effect::Restart, Effect::Charge]),
        REGION,
        Attribute::optional("vpc", Type::Reference("vpc"))
            .wire("vpc_id")
            .summary("The private network it joins.")
            .assumed(),
        Attribute::optional("ssh_keys", Type::Set { of: &Type::Reference("ssh_key"), max: 64 })
            .wire("ssh_key_ids")
            .summary("SSH keys that may log in.")
            .assumed(),
        Attribute::write_only("user_data", TEXT)
            .summary("Script for the first boot; never shown again.")
            .secret()
            .assumed(),
        BILLING,
        Attribute::default("console_require_mfa", Type::Boolean, Literal::Bool(false))
            .summary("Whether the web console asks for a fresh authenticator code.")
            .on_change(UpdateStrategy::Patch { call: &CONSOLE, body: "console_require_mfa" })
            .unlisted(),
        Attribute::default("power", Type::Enum(&["on", "off"]), Literal::Text("on"))
            .returned("status")
            .summary("Whether it runs.")
            .on_change(UpdateStrategy::Switch(&[("on", START), ("off", STOP)]))
            .effects_to(&[("off", Effect::Stops)])
            .read_as(&[("active", "on"), ("stopped", "off")])
            .after_creation()
            .assumed(),
        Attribute::computed("status", TEXT).summary("active when it runs.").follows(&["power"]),
        Attribute::computed("cpu", COUNT).summary("Processor cores.").follows(&["plan"]),
        Attribute::computed("ram", COUNT).summary("Memory in MB.").follows(&["plan"]),
        Attribute::computed("storage", COUNT).summary("Disk in GB.").follows(&["plan"]),
        Attribute::computed("public_ipv4_address", TEXT).summary("Its address on the internet."),
        Attribute::computed("private_ipv4_address", TEXT).summary("Its address in the VPC.").assumed(),
        PRICE_PER_HOUR.follows(&["plan"]),
        PROJECT_ID.assumed(),
        CREATED_AT,
        UPDATED_AT.assumed(),
    ],
    exposures: &[Exposure {
        code: "X06",
        text: "its web console asks for no authenticator code",
        check: ExposureCheck::LeftAt { attribute: "console_require_mfa", value: Literal::Bool(false) },
        meaning: "The web console of a VM opens without a fresh authenticator code, and the stack does not say that this is intended. Of a live VM it is assumed where lists do not show the value: stead get shows it.",
        remedy: "Set `console_require_mfa: true`; or write `console_require_mfa: false` if it is intended, for example because an API key must open the console.",
        is_default: true,
    }],
    price: Price::Sum(&[PriceTerm {
        table: "vm",
        chosen_by: Some("plan"),
        field: "monthly_price",
        factors: &[],
        implies: None,
    }]),
    // Delete VM: the rest of the month is refunded by full hours. For a resize nothing is shown.
    billing: Billing::Chosen(BillingChoice { on_delete: RestOfMonth::Prorated, ..PAYMENT }),
    estimate: DurationEstimate { create: 20, update: 5, delete: 1 },
    on_delete: &[Effect::DataLoss],
    on_replace: &[Effect::AddressChange],
    local_data: true,
    takes_along: &[("backup_schedule", "vm")],
    also_deleted: &[("volume_action", Type::Enum(&["detach", "delete"]))],
    actions: &[
        Action::call("start", "Starts it."),
        Action::call("stop", "Shuts it down; it is still billed.").effects(&[Effect::Stops]),
        Action::post("reboot", "/api/v1/vms/{id}/reboot", "Restarts it.")
            .effects(&[Effect::Restart])
            .until(ActionCompletion::ObjectReady(None)),
        Action::make("backup", "vm", "Creates a backup now."),
        Action::make("snapshot", "vm", "Creates a snapshot now."),
        Action::through(
            "restore",
            &[("backup", "vm"), ("snapshot", "vm")],
            "Resets it to the state of one of its backups or snapshots.",
        ),
    ],
    final_copy: Some(FinalSnapshot { kind: "snapshot", of: "vm", size: ("plan", Some("storage")) }),
    ..Kind::PLAIN
};
