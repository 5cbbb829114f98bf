//! Invented kinds that use every word of the tables, so that the engine is tested without the service.

use crate::model::schema::{
    ApiCall, Attribute, Billing, DurationEstimate, Effect, Endpoint, Kind, KindApi, KindScope, Literal,
    Method, Price, PriceFactor, PriceTerm, ReadinessRule, Registry, ReplaceOrder, Rule, RuleCheck,
    TextFormat, Type, UpdateStrategy,
};

const NAME: Type = Type::Text { min: 1, max: 64, format: TextFormat::Any };
const WHOLE: Type = Type::Integer { min: 0, max: 999, unit: "" };

const fn call(name: &'static str, path: &'static str) -> ApiCall {
    ApiCall::new(name, Endpoint::documented(Method::Post, path))
}

static RENAME: ApiCall = call("rename", "/rename");
static TUNE: ApiCall = call("tune", "/tune").always(&["speed"]);
static GROW: ApiCall = call("grow", "/grow");
static LINK: ApiCall = call("link", "/link");
static UNLINK: ApiCall = call("unlink", "/unlink");

const fn api(ready: Option<ReadinessRule>) -> KindApi {
    let get = Endpoint::documented(Method::Get, "/x");
    KindApi {
        id: "id",
        other_ids: &[],
        create: get,
        read: Some(get),
        list: get,
        delete: get,
        delete_body: &[],
        ready,
        absent_when: None,
    }
}

const READY: ReadinessRule = ReadinessRule {
    attribute: "state",
    wanted: &["up"],
    resting: &["down"],
    failed: &["broken"],
    leaving: &["going"],
};

const BASE: Kind = Kind {
    name: "",
    summary: "Invented.",
    scope: KindScope::Account,
    api: api(None),
    attributes: &[],
    known_by: "name",
    rules: &[],
    exposures: &[],
    price: Price::Free,
    billing: Billing::Arrears,
    rights: None,
    estimate: DurationEstimate { create: 10, update: 5, delete: 2 },
    replace: ReplaceOrder::CreateFirst,
    on_delete: &[],
    on_replace: &[],
    data_bearing: false,
    local_data: false,
    copy_of: &[],
    takes_along: &[],
    goes_with_parent: false,
    given: None,
    made_by_service: None,
    goes_at: None,
    claims: None,
    plain_entry: None,
    states_project: false,
    also_in: None,
    other_fields: &[],
    also_sent: &[],
    also_deleted: &[],
    shown_once: None,
    final_copy: None,
    revival: None,
    rollout: None,
    rolls_out_parent: false,
    actions: &[],
};

/// Everything an attribute can be.
static GEAR: Kind = Kind {
    name: "gear",
    api: api(Some(READY)),
    attributes: &[
        Attribute::required("name", NAME).on_change(UpdateStrategy::Patch { call: &RENAME, body: "name" }),
        Attribute::optional("shape", NAME),
        Attribute::default("speed", WHOLE, Literal::Integer(1))
            .on_change(UpdateStrategy::Patch { call: &TUNE, body: "speed" })
            .effects(&[Effect::Restart]),
        Attribute::optional("day", Type::Labelled(&[("sunday", 0), ("monday", 1)]))
            .on_change(UpdateStrategy::Patch { call: &TUNE, body: "day" }),
        Attribute::default("tags", Type::Set { of: &NAME, max: 9 }, Literal::Empty)
            .on_change(UpdateStrategy::Patch { call: &TUNE, body: "tags" }),
        Attribute::optional("env", Type::Map(&NAME))
            .on_change(UpdateStrategy::Patch { call: &TUNE, body: "env" }),
        Attribute::optional("conf", Type::Record(&[("mode", NAME), ("depth", WHOLE)])).unlisted(),
        Attribute::optional("size", WHOLE)
            .on_change(UpdateStrategy::Patch { call: &GROW, body: "size" })
            .grow_only(),
        Attribute::default("power", Type::Enum(&["on", "off"]), Literal::Text("on"))
            .on_change(UpdateStrategy::Switch(&[
                ("on", call("start", "/start")),
                ("off", call("stop", "/stop")),
            ]))
            .read_as(&[("up", "on"), ("down", "off")])
            .after_creation(),
        Attribute::optional("axle", Type::Reference("axle")).on_change(UpdateStrategy::Link {
            set: &LINK,
            body: "axle",
            unset: &UNLINK,
        }),
        Attribute::write_only("token", NAME).secret(),
        Attribute::computed("state", NAME),
        Attribute::computed("address", NAME),
    ],
    price: Price::Sum(&[
        PriceTerm {
            table: "gear",
            chosen_by: None,
            field: "each",
            factors: &[PriceFactor::Count("speed")],
            implies: None,
        },
        PriceTerm {
            table: "gear",
            chosen_by: None,
            field: "each",
            factors: &[PriceFactor::Over { attribute: "size", field: "free" }],
            implies: None,
        },
    ]),
    on_delete: &[Effect::DataLoss],
    on_replace: &[Effect::AddressChange],
    ..BASE
};

/// What gears are linked to; two of one number cannot stand side by side.
static AXLE: Kind = Kind {
    name: "axle",
    attributes: &[
        Attribute::required("name", NAME),
        Attribute::required("number", WHOLE),
        Attribute::optional("metal", NAME),
    ],
    rules: &[Rule {
        code: "R9001",
        check: RuleCheck::Unique { attributes: &["number"] },
        says: "An axle's number is unique.",
        place: "invented",
    }],
    takes_along: &[("oiling", "axle")],
    ..BASE
};

/// Goes with its axle, although a call could move it.
static OILING: Kind = Kind {
    name: "oiling",
    attributes: &[Attribute::required("axle", Type::Reference("axle"))
        .on_change(UpdateStrategy::Patch { call: &LINK, body: "axle" })],
    ..BASE
};

/// Holds data and is never replaced.
static VAULT: Kind = Kind {
    name: "vault",
    api: api(Some(READY)),
    attributes: &[
        Attribute::required("name", NAME),
        Attribute::optional("metal", NAME),
        Attribute::computed("state", NAME),
    ],
    replace: ReplaceOrder::Never,
    on_delete: &[Effect::DataLoss],
    data_bearing: true,
    ..BASE
};

/// A child of `axle`, with at most two per parent.
static DRAWER: Kind = Kind {
    name: "drawer",
    scope: KindScope::Child { of: "axle", collection: "drawers" },
    attributes: &[Attribute::required("name", NAME)],
    rules: &[Rule {
        code: "R9002",
        check: RuleCheck::AtMost { count: 2 },
        says: "An axle has at most 2 drawers.",
        place: "invented",
    }],
    ..BASE
};

/// The registry of all invented kinds.
pub static INVENTED: Registry =
    Registry { kinds: &[&AXLE, &DRAWER, &GEAR, &OILING, &VAULT], catalogs: &[] };
