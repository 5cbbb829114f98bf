//! `spend_settings`: the account's monthly cap on what its apps spend, in USD (specification, Spend settings).
//!
//! There is one object and no list: one PATCH creates it, changes it and, with `enabled: false`, deletes it. While the
//! cap pauses apps, the service refuses to create, deploy and enlarge pay-as-you-go apps.

use crate::model::schema::{
    ApiCall, Attribute, EVERY_CHANGE, Endpoint, Envelope, Kind, KindApi, KindScope, Literal, Method,
    RightScope, Rights, Rule, RuleCheck, Type, UpdateStrategy,
};

const PATH: &str = "/api/v1/apps/spend-settings";
const READ: Endpoint = Endpoint::documented(Method::Get, PATH).answers(Envelope::Settings);
const WRITE: Endpoint = Endpoint::documented(Method::Patch, PATH).answers(Envelope::Settings);

static PATCH: ApiCall = ApiCall::new("patch", WRITE);

pub(super) static SPEND_SETTINGS: Kind = Kind {
    name: "spend_settings",
    summary: "The account's monthly cap on what its apps spend; an account has one, or none.",
    scope: KindScope::Account,
    api: KindApi {
        create: WRITE,
        read: None,
        list: READ,
        delete: WRITE,
        delete_body: &[("enabled", Literal::Bool(false))],
        absent_when: Some(("enabled", Literal::Bool(false))),
        ..KindApi::assumed(PATH, PATH)
    },
    // Which right an operation needs is assumed (specification, Authentication, 6).
    rights: Some(Rights::new(RightScope::Account, "billing:read", "billing:write")),
    attributes: &[
        Attribute::default("enabled", Type::Boolean, Literal::Bool(true))
            .summary("Always true: without the block there is no cap.")
            .on_change(UpdateStrategy::Patch { call: &PATCH, body: "enabled" }),
        Attribute::required("monthly_cap_usd", Type::Decimal)
            .summary("The cap, USD a month; at least 1.")
            .on_change(UpdateStrategy::Patch { call: &PATCH, body: "monthly_cap_usd" }),
        Attribute::default(
            "cap_action",
            Type::Enum(&["notify_only", "pause"]),
            Literal::Text("notify_only"),
        )
        .summary("What happens at the cap: a notice, or all pay-as-you-go apps are paused.")
        .on_change(UpdateStrategy::Patch { call: &PATCH, body: "cap_action" }),
        Attribute::computed("paused_by_cap", Type::Boolean)
            .summary("Whether apps are paused now.")
            .follows(EVERY_CHANGE),
    ],
    rules: &[
        Rule {
            code: "R1401",
            check: RuleCheck::Is { attribute: "enabled", value: Literal::Bool(true) },
            says: "A declared cap is enabled: for no cap, omit the block, or give it a `when`.",
            place: "specification, Spend settings",
        },
        Rule {
            code: "R1402",
            check: RuleCheck::AtLeast { attribute: "monthly_cap_usd", least: 1 },
            says: "A cap is at least 1 USD.",
            place: "specification, Limits",
        },
        Rule {
            code: "R1403",
            check: RuleCheck::AtMost { count: 1 },
            says: "An account has one cap.",
            place: "specification, Spend settings",
        },
    ],
    ..Kind::PLAIN
};
