//! `database`: a managed PostgreSQL, MySQL, Valkey, ClickHouse or Kafka (specification, Database).
//!
//! Paths accept the UUID and the short id. A free database that the service suspended is resumed before any change
//! except a rename, and before a user, a saved query or an app's link is created or deleted.

use super::shared::{
    BILLING, COUNT, CREATED_AT, DATABASE_RIGHTS, NAME, PAYMENT, PROJECT_ID, REGION, TEXT, TIME, UPDATED_AT,
};
use crate::model::schema::{
    Action, ActionCompletion, ApiCall, Attribute, Billing, BillingChoice, DurationEstimate, Effect,
    Endpoint, Envelope, Exposure, ExposureCheck, Kind, KindApi, KindScope, Literal, Method, Parameter,
    Price, PriceFactor, PriceTerm, ReadinessRule, ReplaceOrder, ResponseShape, RestOfMonth, Revival,
    RevivalTrigger, Rule, RuleCheck, TextFormat, Type, UpdateStrategy,
};

static RENAME: ApiCall = ApiCall::new(
    "rename",
    Endpoint::documented(Method::Patch, "/api/v1/databases/{id}").answers(Envelope::Database),
);
static SCALE: ApiCall = ApiCall::new(
    "scale",
    Endpoint::assumed(Method::Post, "/api/v1/databases/{id}/scale").answers(Envelope::Database),
);
static CONNECT: ApiCall = ApiCall::new(
    "connect-vpc",
    Endpoint::documented(Method::Post, "/api/v1/databases/{id}/vpc").answers(Envelope::Database),
);
static DISCONNECT: ApiCall = ApiCall::new(
    "disconnect-vpc",
    Endpoint::documented(Method::Delete, "/api/v1/databases/{id}/vpc").answers(Envelope::Database),
);
static PUBLIC_ACCESS: ApiCall = ApiCall::new(
    "public-access",
    Endpoint::documented(Method::Post, "/api/v1/databases/{id}/public-access").answers(Envelope::Database),
)
.always(&["public_access", "public_allowlist"]);
static RESUME: ApiCall = ApiCall::new(
    "resume",
    Endpoint::documented(Method::Post, "/api/v1/databases/{id}/resume").answers(Envelope::Database),
);

const ENGINES: &[&str] = &["postgres", "mysql", "valkey", "clickhouse", "kafka"];

/// The attributes that determine the price.
const PRICED_BY: &[&str] = &["plan", "storage_gb", "ha_enabled", "replica_count"];

pub(super) static DATABASE: Kind = Kind {
    name: "database",
    summary: "A managed database: postgres, mysql, valkey, clickhouse or kafka.",
    scope: KindScope::Project,
    api: KindApi {
        id: "id",
        other_ids: &["database_id"],
        create: Endpoint::documented(Method::Post, "/api/v1/databases").answers(Envelope::Database),
        read: Some(Endpoint::assumed(Method::Get, "/api/v1/databases/{id}").answers(Envelope::Database)),
        list: Endpoint::assumed(Method::Get, "/api/v1/databases"),
        delete: Endpoint::assumed(Method::Delete, "/api/v1/databases/{id}").answers(Envelope::Message),
        delete_body: &[],
        absent_when: None,
        ready: Some(ReadinessRule {
            attribute: "status",
            // A database in `warning` runs with a degraded component (specification, States and transitions).
            wanted: &["running", "warning"],
            resting: &["suspended"],
            failed: &["failed"],
            leaving: &["deleting", "deleted"],
        }),
    },
    rights: DATABASE_RIGHTS,
    attributes: &[
        Attribute::required("name", NAME)
            .summary("Display name; connection addresses do not depend on it.")
            .on_change(UpdateStrategy::Patch { call: &RENAME, body: "name" })
            .at_once(),
        Attribute::default("engine", Type::Enum(ENGINES), Literal::Text("postgres"))
            .summary("The database system."),
        Attribute::optional("engine_version", Type::Text { min: 1, max: 32, format: TextFormat::Any })
            .summary("Major version; the newest one by default."),
        Attribute::required("plan", Type::Catalog("database"))
            .wire("plan_id")
            .summary("Size and price, by name or id.")
            .on_change(UpdateStrategy::Patch { call: &SCALE, body: "plan_id" })
            .effects(&[Effect::BriefOutage, Effect::Charge]),
        Attribute::optional("storage_gb", Type::Integer { min: 1, max: 65_536, unit: "GB" })
            .summary("Storage in GB; the plan's by default. It can only grow.")
            .on_change(UpdateStrategy::Patch { call: &SCALE, body: "storage_gb" })
            .grow_only()
            .follows(&["plan"])
            .effects(&[Effect::Charge]),
        Attribute::default("ha_enabled", Type::Boolean, Literal::Bool(false))
            .summary("A standby with automatic failover; +70 % of the plan price (mysql, kafka +140 %).")
            .on_change(UpdateStrategy::Patch { call: &SCALE, body: "ha_enabled" })
            .effects(&[Effect::Charge]),
        Attribute::default(
            "replica_count",
            Type::Integer { min: 0, max: 16, unit: "" },
            Literal::Integer(0),
        )
        .summary("Read replicas (postgres); each costs the plan price.")
        .on_change(UpdateStrategy::Patch { call: &SCALE, body: "replica_count" })
        .effects(&[Effect::Charge]),
        Attribute::optional("vpc", Type::Reference("vpc"))
            .wire("vpc_id")
            .summary("The network of its private endpoint.")
            .on_change(UpdateStrategy::Link { set: &CONNECT, body: "vpc_id", unset: &DISCONNECT })
            .effects(&[Effect::BriefOutage]),
        Attribute::default("public_access", Type::Boolean, Literal::Bool(false))
            .summary("Whether it can be reached from the internet.")
            .on_change(UpdateStrategy::Patch { call: &PUBLIC_ACCESS, body: "enabled" }),
        Attribute::default(
            "public_allowlist",
            Type::Set { of: &Type::Text { min: 9, max: 18, format: TextFormat::AllowedCidr4 }, max: 20 },
            Literal::Empty,
        )
        .summary("Source networks that may connect; an empty list allows all.")
        .on_change(UpdateStrategy::Patch { call: &PUBLIC_ACCESS, body: "allowlist" }),
        Attribute::optional(
            "extensions",
            Type::Set { of: &Type::Text { min: 1, max: 63, format: TextFormat::Any }, max: 64 },
        )
        .summary("Extensions (postgres).")
        .unlisted(),
        Attribute::optional(
            "engine_config",
            Type::Record(&[("maxmemory-policy", Type::Enum(&["noeviction", "allkeys-lru"]))]),
        )
        .summary("Settings of the engine (valkey).")
        .unlisted(),
        BILLING,
        REGION,
        Attribute::computed("database_id", TEXT).summary("Short id, part of its host names."),
        Attribute::computed("status", Type::Enum(STATUSES)).summary("running when it can be used."),
        Attribute::computed("status_message", TEXT).summary("Details of the status warning or failed."),
        Attribute::computed("connection_host", TEXT).summary("Private host name.").follows(&["vpc"]),
        Attribute::computed("connection_port", COUNT)
            .summary("Port of the private host.")
            .follows(&["vpc"]),
        Attribute::computed("subscription_id", TEXT).summary("Set for monthly billing.").follows(&["plan"]),
        Attribute::computed("price_per_hour", Type::Decimal)
            .summary("The price per hour, in USD.")
            .follows(PRICED_BY),
        Attribute::computed("monthly_price", Type::Decimal)
            .summary("The price per month, in USD.")
            .follows(PRICED_BY),
        Attribute::computed("public_port", COUNT)
            .summary("Public port; 0 while public access is off.")
            .follows(&["public_access"]),
        Attribute::computed("public_dns_hostname", TEXT)
            .summary("Public host name.")
            .follows(&["public_access"]),
        Attribute::computed("is_free", Type::Boolean)
            .summary("Whether it is on the free plan.")
            .follows(&["plan"]),
        Attribute::computed("suspended_at", TIME)
            .summary("When the service suspended it because it was idle."),
        PROJECT_ID,
        CREATED_AT,
        UPDATED_AT,
    ],
    rules: &[
        Rule {
            code: "R0301",
            check: RuleCheck::CatalogField { attribute: "plan", field: "engine", equals: "engine" },
            says: "A database's plan must be one of its engine's.",
            place: "specification, Errors, case 2",
        },
        Rule {
            code: "R0302",
            check: RuleCheck::OnlyWith {
                attribute: "replica_count",
                unless: Literal::Integer(0),
                other: "engine",
                values: &["postgres"],
            },
            says: "Only postgres has read replicas.",
            place: "specification, Errors, case 2",
        },
        Rule {
            code: "R0303",
            check: RuleCheck::CatalogForbids {
                attribute: "plan",
                field: "is_free",
                forbidden: "ha_enabled",
                unless: Literal::Bool(false),
            },
            says: "The free plan has no high availability.",
            place: "specification, Errors, case 2",
        },
        Rule {
            code: "R0304",
            check: RuleCheck::OnlyWith {
                attribute: "engine_config",
                unless: Literal::Null,
                other: "engine",
                values: &["valkey"],
            },
            says: "Only valkey has engine settings: maxmemory-policy.",
            place: "specification, Errors, case 2",
        },
        Rule {
            code: "R0305",
            check: RuleCheck::OnlyWith {
                attribute: "extensions",
                unless: Literal::Null,
                other: "engine",
                values: &["postgres"],
            },
            says: "Only postgres has extensions.",
            place: "specification, Catalogue of other endpoints, Databases",
        },
        Rule {
            code: "R0306",
            check: RuleCheck::Unique { attributes: &["name"] },
            says: "A database's name is unique in its project.",
            place: "contract, 1, names",
        },
        Rule {
            code: "R0307",
            check: RuleCheck::Offered {
                attribute: "engine_version",
                table: "database_engine",
                within: Some(("engine", "versions")),
            },
            says: "A database's version must be one that the service offers for its engine.",
            place: "specification, Database",
        },
    ],
    exposures: &[
        Exposure {
            code: "X01",
            text: "it is public, and any address may connect",
            check: ExposureCheck::OpenToAll { open: "public_access", allowlist: "public_allowlist" },
            meaning: "A database has public access and an empty allowlist: every address on the internet may connect, and only the password protects the data.",
            remedy: "List the networks that need it in `public_allowlist`, or turn `public_access` off and connect inside of the VPC.",
            is_default: false,
        },
        Exposure {
            code: "X02",
            text: "it is public, and its allowlist is very wide",
            check: ExposureCheck::WideAllowlist {
                open: "public_access",
                allowlist: "public_allowlist",
                shortest_prefix: 16,
                most_addresses: 1 << 20,
            },
            meaning: "A database has public access, and its allowlist has an entry shorter than /16, or allows more than 1,048,576 addresses all together.",
            remedy: "List the networks that need it only; a provider's whole range also has machines of strangers.",
            is_default: false,
        },
        Exposure {
            code: "X03",
            text: "it accepts unencrypted connections",
            check: ExposureCheck::CreatedBefore {
                attribute: "engine",
                values: &["postgres", "mysql"],
                day: "2026-10-13",
            },
            meaning: "A postgres or mysql database that was created before 13 October 2026 still accepts unencrypted connections on its own port and inside of the VPC (specification, Database).",
            remedy: "Require TLS in every client; or restore a backup as a new database, which refuses unencrypted connections, and move the clients to it.",
            is_default: false,
        },
    ],
    price: Price::Sum(&[
        PriceTerm {
            table: "database",
            chosen_by: Some("plan"),
            field: "monthly_price",
            factors: &[],
            implies: None,
        },
        PriceTerm {
            table: "database",
            chosen_by: Some("plan"),
            field: "monthly_price",
            factors: &[PriceFactor::PercentWhen {
                attribute: "ha_enabled",
                percent: 70,
                except: &[("mysql", 140), ("kafka", 140)],
                by: "engine",
            }],
            implies: None,
        },
        PriceTerm {
            table: "database",
            chosen_by: Some("plan"),
            field: "monthly_price",
            factors: &[PriceFactor::Count("replica_count")],
            implies: None,
        },
        PriceTerm {
            table: "database",
            chosen_by: Some("plan"),
            field: "storage_price_per_gb_month",
            factors: &[PriceFactor::Over { attribute: "storage_gb", field: "included_storage_gb" }],
            implies: None,
        },
    ]),
    // Database status: a change of scale is charged or credited for the rest of the month, and a free database that
    // moves to a paid plan becomes a monthly subscription. For a deletion nothing is shown.
    billing: Billing::Chosen(BillingChoice {
        on_change: RestOfMonth::Prorated,
        free: Some("is_free"),
        ..PAYMENT
    }),
    estimate: DurationEstimate { create: 47, update: 30, delete: 10 },
    replace: ReplaceOrder::DeleteFirst,
    on_delete: &[Effect::DataLoss],
    on_replace: &[Effect::DataLoss, Effect::AddressChange],
    data_bearing: true,
    revival: Some(Revival {
        from: &["suspended"],
        to: "running",
        call: &RESUME,
        when: RevivalTrigger::BeforeAllBut(&["rename"]),
        needed_by: &["app_database_link", "database_user", "saved_query"],
        effect: Effect::Resumes,
        says: "it is suspended, and is resumed first",
    }),
    also_sent: &[("backups_enabled", Type::Boolean)],
    actions: ACTIONS,
    ..Kind::PLAIN
};

/// The statuses of the documented enum (specification, Database). A status that is not in the list, such as
/// `moving`, is not an error: the program waits for a known one.
const STATUSES: &[&str] = &[
    "pending",
    "deploying",
    "running",
    "warning",
    "resizing",
    "restoring",
    "suspended",
    "failed",
    "deleting",
    "deleted",
];

static ACTIONS: &[Action] =
    &[
        Action::call("rename", "Changes its display name."),
        Action::post(
            "resume",
            "/api/v1/databases/{id}/resume",
            "Resumes a free database that was suspended because it was idle.",
        )
        .envelope(Envelope::Database)
        .answer(ResponseShape::Object)
        .until(ActionCompletion::ObjectReady(None)),
        Action::post(
            "restore",
            "/api/v1/databases/{id}/restore",
            "Restores a backup as a new database, or over this one.",
        )
        .envelope(Envelope::Database)
        .parameters(&[
            Parameter::optional("backup", TEXT)
                .wire("backup_id")
                .summary("The backup's id, as `stead do backups` lists it; the newest by default."),
            Parameter::optional("time", TIME)
                .wire("restore_time")
                .summary("A time within a backup's window, as 2026-10-14T12:00:00Z."),
            Parameter::flag("in-place")
                .wire("in_place")
                .summary("Restore over this database instead of into a new one.")
                .effects(&[Effect::GoesBack, Effect::BriefOutage]),
        ])
        .exclusive(&["backup", "time"])
        .effects(&[Effect::Charge])
        .answer(ResponseShape::Object)
        .until(ActionCompletion::ReturnedObjectReady)
        .recorded(),
        Action::post(
            "rotate-credentials",
            "/api/v1/databases/{id}/credentials/rotate",
            "Generates a new password for the owner.",
        )
        .secret()
        .effects(&[Effect::LocksOut])
        .answer(ResponseShape::Record(&["user"]))
        .recorded(),
        Action::get(
            "connection",
            "/api/v1/databases/{id}/connection",
            "Hosts, ports and addresses to connect to.",
        )
        .secret()
        .answer(ResponseShape::Record(&[
            "private.host",
            "private.port",
            "public.host",
            "public.port",
            "user",
            "database",
        ])),
        Action::get("parameters", "/api/v1/databases/{id}/parameters", "The engine's parameters.")
            .answer(ResponseShape::Rows(&["name", "value", "default"])),
        Action::get("clients", "/api/v1/databases/{id}/metrics/clients", "Connected clients over time.")
            .answer(ResponseShape::Rows(&[])),
        Action::get("consumers", "/api/v1/databases/{id}/consumers", "Consumer groups (kafka).")
            .answer(ResponseShape::Rows(&[])),
        Action::get("backups", "/api/v1/databases/{id}/backups", "Daily backups that can be restored.")
            .assumed()
            .answer(ResponseShape::Rows(&[
                "id",
                "created_at",
                "size_gb",
                "restorable",
                "restore_window_start",
            ])),
        Action::post("console", "/api/v1/databases/{id}/console", "Runs a query, read-only by default.")
            .parameters(&[
                Parameter::required("query", TEXT)
                    .summary("The query: its text, @FILE, or - for standard input.")
                    .positional()
                    .from_file(),
                Parameter::flag("write")
                    .wire("read_only")
                    .inverted()
                    .summary("Let the query change data.")
                    .effects(&[Effect::Writes]),
            ])
            .only_reads()
            .answer(ResponseShape::QueryResult),
        Action::post("browse", "/api/v1/databases/{id}/browse", "Lists schemas, tables, keys or messages.")
            .parameters(&[Parameter::default("path", Type::List(&TEXT), Literal::Empty)
                .summary("What to list: SCHEMA TABLE, or TOPIC PARTITION.")
                .positional()])
            .only_reads()
            .answer(ResponseShape::Rows(&["name", "type"])),
        Action::get("engines", "/api/v1/databases/engines", "Engines and their versions.")
            .answer(ResponseShape::Rows(&["engine", "default_version", "versions"])),
        Action::get("plans", "/api/v1/databases/plans", "Plans and prices.")
            .answer(ResponseShape::Rows(&["id", "slug", "engine", "cpu", "ram", "monthly_price"])),
    ];
