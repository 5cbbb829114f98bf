//! A registry of invented kinds: a `yard` with the child `gate`, and `crane`, which refers to a yard. The tests do
//! not change when the service's kinds do.

use crate::model::schema::{
    Action, Attribute, Billing, DurationEstimate, Endpoint, FinalSnapshot, Kind, KindApi, KindScope,
    Literal, Method, Price, Registry, ReplaceOrder, Rule, RuleCheck, TextFormat, Type,
};

const ENDPOINT: Endpoint = Endpoint::assumed(Method::Get, "/api/v1/none");
const ANY: Type = Type::Text { min: 0, max: 1000, format: TextFormat::Any };
const NAME: Type = Type::Text { min: 1, max: 64, format: TextFormat::Any };

const fn kind(
    name: &'static str,
    scope: KindScope,
    attributes: &'static [Attribute],
    rules: &'static [Rule],
) -> Kind {
    Kind {
        exposures: &[],
        name,
        summary: "",
        scope,
        known_by: "name",
        api: KindApi {
            id: "id",
            other_ids: &[],
            create: ENDPOINT,
            read: None,
            list: ENDPOINT,
            delete: ENDPOINT,
            delete_body: &[],
            ready: None,
            absent_when: None,
        },
        attributes,
        rules,
        price: Price::Free,
        billing: Billing::Arrears,
        rights: None,
        estimate: DurationEstimate { create: 1, update: 1, delete: 1 },
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
    }
}

static CRANE: Kind = Kind {
    final_copy: Some(FinalSnapshot { kind: "gate", of: "crane", size: ("tons", None) }),
    ..kind(
        "crane",
        KindScope::Project,
        &[
            Attribute::required("name", NAME).summary("Its name."),
            Attribute::optional("yard", Type::Reference("yard"))
                .wire("yard_id")
                .summary("Where it stands."),
            Attribute::optional("next", Type::Reference("crane")).summary("The one beside it."),
            Attribute::optional("tons", Type::Integer { min: 1, max: 100, unit: "t" })
                .summary("What it lifts."),
            Attribute::optional("model", Type::Catalog("crane")).summary("What it is."),
            Attribute::default("power", Type::Enum(&["on", "off"]), Literal::Text("on"))
                .summary("Whether it runs."),
            Attribute::default("painted", Type::Boolean, Literal::Bool(false))
                .summary("Whether it shines."),
            Attribute::optional("note", ANY).summary("Any words."),
            Attribute::optional("key", ANY).summary("A secret.").secret(),
            Attribute::optional("labels", Type::Map(&ANY)).summary("Words by key."),
            Attribute::optional("yards", Type::Set { of: &Type::Reference("yard"), max: 3 })
                .summary("Where it may go."),
            Attribute::optional("tags", Type::Set { of: &ANY, max: 3 }).summary("Words."),
            Attribute::optional(
                "rig",
                Type::Record(&[("hook", ANY), ("length", Type::Integer { min: 1, max: 9, unit: "" })]),
            )
            .summary("What hangs on it."),
            Attribute::computed("address", ANY).summary("Where it is found."),
            Attribute::computed("height", Type::Integer { min: 0, max: 99, unit: "" })
                .summary("How high it is."),
        ],
        &[
            Rule {
                code: "R9001",
                check: RuleCheck::OnlyWith {
                    attribute: "tons",
                    unless: Literal::Integer(1),
                    other: "power",
                    values: &["on"],
                },
                says: "Only a crane that runs lifts anything.",
                place: "the invented manual",
            },
            Rule {
                code: "R9002",
                check: RuleCheck::CatalogField { attribute: "model", field: "power", equals: "power" },
                says: "A crane's model must have its power.",
                place: "the invented manual",
            },
            Rule {
                code: "R9003",
                check: RuleCheck::CatalogForbids {
                    attribute: "model",
                    field: "small",
                    forbidden: "painted",
                    unless: Literal::Bool(false),
                },
                says: "A small crane is not painted.",
                place: "the invented manual",
            },
        ],
    )
};

static GATE: Kind = Kind {
    shown_once: Some("password"),
    // The service shows it again by this action, so `deliver_secret` is optional.
    actions: &[Action::get("password", "/gates/{id}/password", "Its password.")],
    ..kind(
        "gate",
        KindScope::Child { of: "yard", collection: "gates" },
        &[
            Attribute::required("name", Type::Text { min: 1, max: 63, format: TextFormat::DatabaseUser })
                .summary("Its name."),
            Attribute::optional("crane", Type::Reference("crane")).summary("Who passes."),
            Attribute::computed("opened_at", ANY).summary("When it opened."),
        ],
        &[Rule {
            code: "R9004",
            check: RuleCheck::AtMost { count: 3 },
            says: "A yard has at most 3 gates.",
            place: "the invented manual",
        }],
    )
};

static PROJECT: Kind =
    kind("project", KindScope::Account, &[Attribute::required("name", NAME).summary("Its name.")], &[]);

static YARD: Kind = kind(
    "yard",
    KindScope::Project,
    &[
        Attribute::required("name", NAME).summary("Its name."),
        Attribute::required("cidr", Type::Text { min: 9, max: 18, format: TextFormat::Cidr4 })
            .summary("Its network."),
        Attribute::optional("crane", Type::Reference("crane")).summary("Its crane."),
        Attribute::computed("fence", ANY).summary("What is around it."),
    ],
    &[
        Rule {
            code: "R9005",
            check: RuleCheck::NoOverlap { attribute: "cidr" },
            says: "Yards must not overlap.",
            place: "the invented manual",
        },
        Rule {
            code: "R9006",
            check: RuleCheck::Unique { attributes: &["name"] },
            says: "A yard's name is unique.",
            place: "the invented manual",
        },
    ],
);

pub(super) static REGISTRY: Registry = Registry { kinds: &[&CRANE, &GATE, &PROJECT, &YARD], catalogs: &[] };
