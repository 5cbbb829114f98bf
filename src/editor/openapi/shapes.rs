//! Response payloads of endpoints that do not return an object of a kind: job runs, grants, prices, plans.
//!
//! The table has one row per endpoint; `answer::payload_schema` builds the schema. Rows that are not marked
//! `.assumed()` in the kinds' tables follow the specification field by field, the others follow the contract.

use crate::model::schema::Method::{self, Delete, Get, Patch, Post};
use crate::model::schema::{Envelope, TextFormat, Type};

/// Fields, each with its type.
type PayloadFields = &'static [(&'static str, Type)];

/// The position of the payload in a response.
#[derive(Debug, Clone, Copy)]
pub(super) enum Payload {
    /// The fields are beside `success`.
    Flat(PayloadFields),
    /// A single record under this key.
    Record(&'static str, PayloadFields),
    /// A list of records under `data`, with `total`.
    Rows(PayloadFields),
    /// A list of strings.
    Texts,
    /// The object in its current state.
    Object,
    /// A list, and one record under the given key beside it.
    RowsBeside(PayloadFields, &'static str, PayloadFields),
}

use Payload::{Flat, Object, Record, Rows, RowsBeside, Texts};

const TEXT: Type = Type::Text { min: 0, max: 0, format: TextFormat::Any };
const TIME: Type = Type::Text { min: 0, max: 0, format: TextFormat::Timestamp };
const COUNT: Type = Type::Integer { min: 0, max: i64::MAX, unit: "" };
const REGION: Type = Type::Enum(&["us-east"]);
const TEXTS: Type = Type::List(&TEXT);

/// A run of a job, in start and list responses.
const JOB_RUN: PayloadFields = &[
    ("id", TEXT),
    ("service_id", TEXT),
    ("deployment_id", TEXT),
    ("trigger", TEXT),
    ("status", TEXT),
    ("exit_code", COUNT),
    ("error", TEXT),
    ("scheduled_for", TIME),
    ("started_at", TIME),
    ("finished_at", TIME),
    ("created_at", TIME),
];

const DEPLOYMENT: PayloadFields = &[
    ("id", TEXT),
    ("service_id", TEXT),
    ("status", TEXT),
    ("trigger", TEXT),
    ("image", TEXT),
    ("branch", TEXT),
    ("blob_key", TEXT),
    ("source_size", COUNT),
    ("source_sha256", TEXT),
    ("finished_at", TIME),
    ("created_at", TIME),
];

const PREVIEW: PayloadFields = &[
    ("id", TEXT),
    ("service_id", TEXT),
    ("project_id", TEXT),
    ("pull_request", COUNT),
    ("branch", TEXT),
    ("status", TEXT),
    ("url", TEXT),
    ("created_at", TIME),
    ("updated_at", TIME),
];

/// An event of an app; one of a cluster has `cluster_id` and no deployment.
const APP_EVENT: PayloadFields = &[
    ("id", TEXT),
    ("service_id", TEXT),
    ("type", TEXT),
    ("message", TEXT),
    ("deployment_id", TEXT),
    ("created_at", TIME),
];
const CLUSTER_EVENT: PayloadFields =
    &[("id", TEXT), ("cluster_id", TEXT), ("type", TEXT), ("message", TEXT), ("created_at", TIME)];

/// An upload grant: the signed URL for a source archive.
const GRANT: PayloadFields = &[("upload_url", TEXT), ("blob_key", TEXT), ("expires_in_seconds", COUNT)];

const DATABASE_PLAN: PayloadFields = &[
    ("id", COUNT),
    ("slug", TEXT),
    ("engine", TEXT),
    ("cpu", COUNT),
    ("ram", COUNT),
    ("included_storage_gb", COUNT),
    ("price_per_hour", Type::Decimal),
    ("monthly_price", Type::Decimal),
    ("storage_price_per_gb_month", Type::Decimal),
    ("is_free", Type::Boolean),
];

const NODE_PLAN: PayloadFields = &[
    ("id", COUNT),
    ("slug", TEXT),
    ("node_class", TEXT),
    ("cpu", COUNT),
    ("ram", COUNT),
    ("storage", COUNT),
    ("price_per_hour", Type::Decimal),
    ("monthly_price", Type::Decimal),
];

const VERSION: PayloadFields = &[("id", COUNT), ("version", TEXT), ("is_default", Type::Boolean)];

const TERMS: Type = Type::Record(&[
    ("price_per_hour", Type::Decimal),
    ("monthly_price", Type::Decimal),
    ("yearly_price", Type::Decimal),
    ("twenty_four_month_price", Type::Decimal),
]);

const BY_GB: PayloadFields = &[("price_per_gb_month", Type::Decimal), ("price_per_gb_hour", Type::Decimal)];

const CREDENTIALS: PayloadFields = &[("user", TEXT), ("password", TEXT)];
const USER_PASSWORD: PayloadFields = &[("name", TEXT), ("password", TEXT)];
/// Name of the field with the logical database to connect to, which equals the envelope's key.
const LOGICAL: &str = match Envelope::Database.key() {
    Some(key) => key,
    None => "",
};
const ADDRESS: Type = Type::Record(&[("host", TEXT), ("port", COUNT), ("uri", TEXT)]);

/// Error statuses besides those that any request may return, and the operations that may return them. A path
/// that ends with `/` matches all paths below it: the specification has status 501 for some operations of a
/// database, without naming them.
pub(super) static REFUSALS: &[(&str, &[(Method, &str)])] = &[
    (
        "402",
        &[
            (Post, "/api/v1/vms"),
            (Post, "/api/v1/vms/{id}/resize"),
            (Post, "/api/v1/volumes"),
            (Patch, "/api/v1/volumes/{id}"),
            (Post, "/api/v1/snapshots"),
            (Post, "/api/v1/backups"),
            (Post, "/api/v1/databases"),
            (Post, "/api/v1/databases/{id}/scale"),
            (Post, "/api/v1/databases/{id}/restore"),
            (Post, "/api/v1/k8s/clusters"),
            (Post, "/api/v1/k8s/clusters/{parent}/pools"),
            (Patch, "/api/v1/k8s/clusters/{parent}/pools/{id}"),
            (Post, "/api/v1/apps/services"),
            (Patch, "/api/v1/apps/services/{id}"),
            (Post, "/api/v1/apps/services/{id}/scale"),
            (Post, "/api/v1/functions"),
        ],
    ),
    (
        "412",
        &[
            (Post, "/api/v1/apps/services"),
            (Patch, "/api/v1/apps/services/{id}"),
            (Post, "/api/v1/apps/services/{id}/deployments"),
            (Post, "/api/v1/apps/services/{id}/jobs/run"),
            (Post, "/api/v1/apps/services/{id}/resume"),
            (Post, "/api/v1/apps/services/{id}/scale"),
            (Post, "/api/v1/apps/previews/{preview}/redeploy"),
        ],
    ),
    (
        "501",
        &[
            (Get, "/api/v1/databases/{id}/"),
            (Post, "/api/v1/databases/{id}/"),
            (Delete, "/api/v1/databases/{id}/"),
            (Get, "/api/v1/databases/{parent}/"),
            (Post, "/api/v1/databases/{parent}/"),
            (Method::Put, "/api/v1/databases/{parent}/"),
            (Delete, "/api/v1/databases/{parent}/"),
        ],
    ),
];

/// An alternative path of the database plans, from the service's changelog. No table uses it.
pub(super) const OTHER_PLANS: &str = "/api/v1/database/plans";

/// The table of payloads; all uses of an endpoint share its row.
pub(super) static SHAPES: &[(Method, &str, Payload)] = &[
    (
        Patch,
        "/api/v1/volumes/{id}",
        Flat(&[
            ("id", TEXT),
            (
                "billing",
                Type::Record(&[
                    ("type", TEXT),
                    ("pro_rata_amount", Type::Decimal),
                    ("balance_applied", Type::Decimal),
                    ("new_monthly_price", Type::Decimal),
                    ("new_price_per_hour", TEXT),
                ]),
            ),
        ]),
    ),
    (Post, "/api/v1/apps/services/{id}/source-upload", Flat(GRANT)),
    (Post, "/api/v1/functions/{id}/source-upload", Flat(GRANT)),
    (Delete, "/api/v1/apps/previews/{preview}", Flat(&[("accepted", Type::Boolean)])),
    (Post, "/api/v1/apps/previews/{preview}/redeploy", Record("data", PREVIEW)),
    (Get, "/api/v1/apps/services/{id}/previews", Rows(PREVIEW)),
    (Post, "/api/v1/apps/services/{id}/jobs/run", Record("run", JOB_RUN)),
    (Get, "/api/v1/apps/services/{id}/jobs/runs", Rows(JOB_RUN)),
    (Post, "/api/v1/apps/services/{id}/deployments", Record("data", DEPLOYMENT)),
    (Get, "/api/v1/apps/services/{id}/deployments", Rows(DEPLOYMENT)),
    (Get, "/api/v1/apps/services/{id}/events", Rows(APP_EVENT)),
    (
        Get,
        "/api/v1/apps/services/{id}/instances",
        Rows(&[
            ("id", TEXT),
            ("name", TEXT),
            ("status", TEXT),
            ("deployment_id", TEXT),
            ("size", TEXT),
            ("started_at", TIME),
        ]),
    ),
    (
        Get,
        "/api/v1/apps/usage",
        Record(
            "data",
            &[
                ("period", Type::Enum(&["current", "previous"])),
                ("total_usd", Type::Decimal),
                (
                    "services",
                    Type::List(&Type::Record(&[
                        ("service_id", TEXT),
                        ("instance_hours", Type::Decimal),
                        ("usd", Type::Decimal),
                    ])),
                ),
            ],
        ),
    ),
    (
        Get,
        "/api/v1/apps/sizes",
        Rows(&[
            ("slug", TEXT),
            ("cpu", Type::Decimal),
            ("ram", COUNT),
            ("price_per_hour", Type::Decimal),
            ("monthly_price", Type::Decimal),
        ]),
    ),
    (
        Get,
        "/api/v1/apps/templates",
        Rows(&[("slug", TEXT), ("name", TEXT), ("type", TEXT), ("image", TEXT), ("port", COUNT)]),
    ),
    (
        Get,
        "/api/v1/apps/github/connections",
        Rows(&[("id", TEXT), ("installation_id", COUNT), ("account", TEXT), ("status", TEXT)]),
    ),
    (Get, "/api/v1/databases/plans", Rows(DATABASE_PLAN)),
    (Get, OTHER_PLANS, Rows(DATABASE_PLAN)),
    (Get, "/api/v1/public/pricing/database", Rows(DATABASE_PLAN)),
    (
        Get,
        "/api/v1/databases/engines",
        Rows(&[
            ("engine", TEXT),
            ("versions", TEXTS),
            ("default_version", TEXT),
            ("ports", Type::List(&COUNT)),
        ]),
    ),
    (
        Get,
        "/api/v1/databases/{id}/backups",
        Rows(&[
            ("id", TEXT),
            ("created_at", TIME),
            ("size_gb", COUNT),
            ("restorable", Type::Boolean),
            ("restore_window_start", TIME),
        ]),
    ),
    (
        Get,
        "/api/v1/databases/{id}/connection",
        Record(
            "data",
            &[
                ("private", ADDRESS),
                ("public", ADDRESS),
                ("user", TEXT),
                ("password", TEXT),
                (LOGICAL, TEXT),
            ],
        ),
    ),
    (Post, "/api/v1/databases/{id}/credentials/rotate", Record("data", CREDENTIALS)),
    (Get, "/api/v1/databases/{id}/parameters", Rows(&[("name", TEXT), ("value", TEXT), ("default", TEXT)])),
    (
        Get,
        "/api/v1/databases/{id}/consumers",
        Rows(&[("group", TEXT), ("topic", TEXT), ("partitions", COUNT), ("lag", COUNT)]),
    ),
    (
        Post,
        "/api/v1/databases/{id}/browse",
        Record("data", &[("path", TEXTS), ("entries", Type::List(&Type::Map(&TEXT)))]),
    ),
    (Get, "/api/v1/databases/{parent}/users/{id}/password", Record("data", USER_PASSWORD)),
    (Post, "/api/v1/databases/{parent}/users/{id}/rotate", Record("data", USER_PASSWORD)),
    (Get, "/api/v1/k8s/clusters/{id}/events", Rows(CLUSTER_EVENT)),
    (
        Get,
        "/api/v1/k8s/clusters/{id}/kubeconfig",
        Record("data", &[("kubeconfig", TEXT), ("expires_at", TIME)]),
    ),
    (Get, "/api/v1/k8s/clusters/{id}/upgrades", Rows(VERSION)),
    (Get, "/api/v1/k8s/versions", Rows(VERSION)),
    (Get, "/api/v1/k8s/node-plans", Rows(NODE_PLAN)),
    (
        Get,
        "/api/v1/public/pricing/kubernetes",
        RowsBeside(
            NODE_PLAN,
            "control_planes",
            &[("single_monthly", Type::Decimal), ("ha_monthly", Type::Decimal)],
        ),
    ),
    (
        Get,
        "/api/v1/public/pricing/vm",
        Rows(&[
            ("id", COUNT),
            ("slug", TEXT),
            ("name", TEXT),
            ("cpu", COUNT),
            ("ram", COUNT),
            ("storage", COUNT),
            ("price_per_hour", Type::Decimal),
            ("monthly_price", Type::Decimal),
        ]),
    ),
    (Get, "/api/v1/public/pricing/ip", Record("pricing", &[("ipv4", TERMS), ("ipv6", TERMS)])),
    (
        Get,
        "/api/v1/public/pricing/volume",
        Record(
            "pricing",
            &[
                ("id", COUNT),
                ("price_per_gb_hour", Type::Decimal),
                ("price_per_gb_month", Type::Decimal),
                ("yearly_price_per_gb", Type::Decimal),
                ("twenty_four_month_price_per_gb", Type::Decimal),
                ("region", REGION),
            ],
        ),
    ),
    (Get, "/api/v1/public/pricing/snapshot", Record("pricing", BY_GB)),
    (Get, "/api/v1/public/pricing/backup", Record("pricing", BY_GB)),
    (Get, "/api/v1/public/regions", Rows(&[("slug", REGION), ("name", TEXT)])),
    (
        Get,
        "/api/v1/public/templates",
        Rows(&[("id", TEXT), ("slug", TEXT), ("name", TEXT), ("os_family", TEXT), ("version", TEXT)]),
    ),
    (Get, "/api/v1/permissions", Rows(&[("name", TEXT), ("description", TEXT)])),
    (
        Get,
        "/api/v1/members",
        Rows(&[
            ("id", TEXT),
            ("email", TEXT),
            ("role_id", TEXT),
            ("role_name", TEXT),
            ("role_slug", TEXT),
            ("created_at", TIME),
        ]),
    ),
    (Get, "/api/v1/vpcs/cidr-suggestions", Texts),
    (Get, "/api/v1/databases/{id}/metrics/clients", Rows(&[])),
    (Post, "/api/v1/vms/{id}/reboot", Object),
    (Post, "/api/v1/apps/services/{id}/pause", Object),
    (Post, "/api/v1/apps/services/{id}/resume", Object),
    (Post, "/api/v1/backups/{id}/restore", Object),
    (Post, "/api/v1/snapshots/{id}/restore", Object),
    (
        Get,
        "/api/v1/k8s/clusters/{id}/volumes",
        Rows(&[
            ("id", TEXT),
            ("name", TEXT),
            ("size", COUNT),
            ("status", TEXT),
            ("vm_id", TEXT),
            ("billing_type", TEXT),
            ("price_per_hour", TEXT),
            ("region", REGION),
            ("project_id", TEXT),
            ("created_at", TIME),
            ("updated_at", TIME),
            ("claim", TEXT),
        ]),
    ),
    (Get, "/health", Flat(&[("status", TEXT)])),
    (Get, "/ready", Flat(&[("status", TEXT)])),
];

/// Returns the payload of an endpoint; `None` if its response is an object of a kind, or has no data.
pub(super) fn payload_of(method: Method, path: &str) -> Option<Payload> {
    SHAPES.iter().find(|(verb, known, _)| *verb == method && *known == path).map(|(_, _, payload)| *payload)
}
