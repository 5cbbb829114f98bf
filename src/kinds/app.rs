//! `app`: a service of the application platform: web, private, worker, cron or job (specification, App platform).
//!
//! A change to how a live app runs starts a new deployment, whose end `DEPLOYMENT` recognizes; the previous
//! version runs until then. Its source is an image, a repository or an uploaded directory.

use super::shared::{
    APP_RIGHTS, BILLING, COUNT, CREATED_AT, NAME, PAID, PROJECT_ID, REGIONS, SHORT_TEXT, SOURCE_DIR, TEXT,
    TIME, UPDATED_AT,
};
use crate::model::schema::{
    Action, ActionCompletion, ApiCall, Attribute, DurationEstimate, EVERY_CHANGE, Effect, EndingChange,
    Endpoint, Envelope, Kind, KindApi, KindScope, Literal, Method, Parameter, Price, PriceFactor,
    PriceTerm, ReadinessRule, ReplaceOrder, ResponseShape, Revival, RevivalTrigger, Rule, RuleCheck,
    RunSchema, TextFormat, Type, UpdateStrategy,
};

static PATCH: ApiCall =
    ApiCall::new("patch", Endpoint::documented(Method::Patch, "/api/v1/apps/services/{id}"));
static SCALE: ApiCall =
    ApiCall::new("scale", Endpoint::assumed(Method::Post, "/api/v1/apps/services/{id}/scale"));
static DEPLOY: ApiCall =
    ApiCall::new("deploy", Endpoint::assumed(Method::Post, "/api/v1/apps/services/{id}/deployments"));
static GRANT: ApiCall = ApiCall::new(
    "source-upload",
    Endpoint::documented(Method::Post, "/api/v1/apps/services/{id}/source-upload"),
);

/// Ports that the platform reserves (specification, Errors, case 5).
const RESERVED_PORTS: &[i64] = &[8008, 8012, 8013, 8022, 9090, 9091];
const AUTOSCALING: Type = Type::Record(&[
    ("min_replicas", Type::Integer { min: 0, max: 6, unit: "" }),
    ("max_replicas", Type::Integer { min: 1, max: 6, unit: "" }),
    ("metric", Type::Enum(&["concurrency"])),
    ("target", Type::Integer { min: 1, max: 100_000, unit: "" }),
]);

/// The effect of a change that starts a new deployment.
const ROLLS_OUT: &[Effect] = &[Effect::Deploys];

const fn patch(body: &'static str) -> UpdateStrategy {
    UpdateStrategy::Patch { call: &PATCH, body }
}

pub(super) static APP: Kind = Kind {
    name: "app",
    summary: "A service of the application platform: web, private, worker, cron or job.",
    scope: KindScope::Project,
    api: KindApi {
        other_ids: &["service_id"],
        ready: Some(ReadinessRule {
            attribute: "status",
            wanted: &["live"],
            resting: &["paused", "awaiting_source"],
            failed: &["failed"],
            leaving: &["deleting", "deleted"],
        }),
        ..KindApi::assumed("/api/v1/apps/services", "/api/v1/apps/services/{id}")
    },
    rights: APP_RIGHTS,
    attributes: &[
        Attribute::required("name", NAME)
            .summary("Its name, unique in the project.")
            .on_change(patch("name"))
            .at_once(),
        Attribute::required("type", Type::Enum(&["web", "private", "worker", "cron", "job"]))
            .summary("Its type: reachable from the internet, only internally, or not at all.")
            .assumed(),
        Attribute::default("description", TEXT, Literal::Text(""))
            .summary("What it is for; an empty text clears it.")
            .on_change(patch("description"))
            .at_once(),
        Attribute::optional("image", SHORT_TEXT)
            .summary("The container image that it runs.")
            .on_change(UpdateStrategy::Patch { call: &DEPLOY, body: "image" })
            .effects(&[Effect::Deploys])
            .assumed(),
        Attribute::optional("repo", SHORT_TEXT)
            .summary("The repository that it is built from, `owner/name`.")
            .assumed(),
        Attribute::optional("branch", SHORT_TEXT)
            .on_change(patch("branch"))
            .effects(ROLLS_OUT)
            .summary("The branch to build."),
        Attribute::write_only("source_dir", SOURCE_DIR)
            .summary("The directory whose files are packed, uploaded and deployed.")
            .on_change(UpdateStrategy::Upload {
                grant: &GRANT,
                deliver: &DEPLOY,
                body: "blob_key",
                run: Some(&DEPLOYMENT),
            })
            .after_creation()
            .effects(&[Effect::Deploys])
            .assumed(),
        Attribute::optional("github_installation_id", Type::Integer { min: 1, max: i64::MAX, unit: "" })
            .summary("The GitHub connection with access to a private repository."),
        Attribute::optional("size", Type::Catalog("app_size"))
            .on_change(patch("size"))
            .effects(ROLLS_OUT)
            .summary("The size of one instance, by name.")
            .usually(Literal::Text("app-xs")),
        Attribute::optional("start_command", TEXT)
            .on_change(patch("start_command"))
            .effects(ROLLS_OUT)
            .summary("The start command, if the source does not define one."),
        Attribute::optional("port", Type::Integer { min: 1, max: 65_535, unit: "" })
            .on_change(patch("port"))
            .effects(ROLLS_OUT)
            .summary("The port that it listens on.")
            .usually(Literal::Integer(8080)),
        Attribute::optional(
            "health_check_path",
            Type::Text { min: 1, max: 2_048, format: TextFormat::HttpPath },
        )
        .on_change(patch("health_check_path"))
        .effects(ROLLS_OUT)
        .summary("The path of the health check."),
        Attribute::optional("cron_schedule", Type::Text { min: 9, max: 128, format: TextFormat::Cron })
            .summary("When a cron app runs: a cron expression with five fields.")
            .on_change(patch("cron_schedule"))
            .at_once(),
        Attribute::optional("cron_timezone", Type::Text { min: 1, max: 64, format: TextFormat::TimeZone })
            .summary("The time zone of the schedule; UTC by default.")
            .on_change(patch("cron_timezone"))
            .at_once()
            .usually(Literal::Text("UTC")),
        Attribute::optional("cron_concurrency", Type::Enum(&["allow", "forbid", "replace"]))
            .summary("What happens when a run is due and the previous one is still running.")
            .on_change(patch("cron_concurrency"))
            .at_once()
            .usually(Literal::Text("allow")),
        Attribute::default("previews_enabled", Type::Boolean, Literal::Bool(false))
            .summary("Whether pull requests get a preview.")
            .on_change(patch("previews_enabled"))
            .at_once(),
        Attribute::optional("env_vars", Type::Map(&TEXT))
            .on_change(patch("env_vars"))
            .effects(ROLLS_OUT)
            .summary("Its environment variables, managed key by key.")
            .unlisted()
            .private(),
        Attribute::optional("instances", Type::Integer { min: 1, max: 6, unit: "" })
            .summary("How many instances run.")
            .on_change(UpdateStrategy::Patch { call: &SCALE, body: "instances" })
            .usually(Literal::Integer(1))
            .effects(&[Effect::Charge])
            .assumed(),
        Attribute::optional("autoscaling", AUTOSCALING)
            .spread(&[
                ("min_replicas", "min_replicas"),
                ("max_replicas", "max_replicas"),
                ("metric", "autoscaling_metric"),
                ("target", "autoscaling_target"),
            ])
            .summary("Autoscaling: the minimum and maximum number of instances, and the metric.")
            .on_change(UpdateStrategy::Patch { call: &SCALE, body: "autoscaling" })
            .effects(&[Effect::Charge]),
        BILLING.assumed(),
        Attribute::computed("service_id", TEXT).summary("Short id.").assumed(),
        Attribute::computed("status", TEXT).summary("live when it runs.").assumed(),
        Attribute::computed("url", TEXT).summary("Its URL.").assumed(),
        Attribute::computed("live_deployment_id", TEXT)
            .summary("The running deployment.")
            .follows(EVERY_CHANGE)
            .assumed(),
        Attribute::computed("deployments", COUNT)
            .summary("The number of its deployments.")
            .follows(EVERY_CHANGE)
            .assumed(),
        PROJECT_ID.assumed(),
        CREATED_AT.assumed(),
        UPDATED_AT.assumed(),
    ],
    rules: RULES,
    price: Price::Sum(&[PriceTerm {
        table: "app_size",
        chosen_by: Some("size"),
        field: "monthly_price",
        factors: &[
            PriceFactor::Instances { fixed: "instances", scaled: "autoscaling", least: "min_replicas" },
            // The service bills these types by their runs and not by the month, so the catalog price does not apply.
            PriceFactor::Unless { attribute: "type", values: &["cron", "job"] },
        ],
        implies: None,
    }]),
    billing: PAID,
    estimate: DurationEstimate { create: 25, update: 25, delete: 5 },
    replace: ReplaceOrder::DeleteFirst,
    on_replace: &[Effect::AddressChange],
    revival: Some(Revival {
        from: &["failed"],
        to: "live",
        call: &DEPLOY,
        // Either call already deploys a failed app (specification, App platform); another deployment would repeat it.
        when: RevivalTrigger::AtOnceUnlessBy(&["patch", "deploy"]),
        needed_by: &[],
        effect: Effect::Deploys,
        says: "its deployment failed, and it is deployed again",
    }),
    rollout: Some(&DEPLOYMENT),
    actions: ACTIONS,
    other_fields: &[
        ("blob_key", TEXT),
        ("monthly_price", Type::Decimal),
        ("next_run_at", TIME),
        ("price_per_hour", Type::Decimal),
        ("region", REGIONS),
        ("subscription_id", TEXT),
    ],
    also_sent: &[("deploy_now", Type::Boolean), ("link_database_id", Type::Reference("database"))],
    ..Kind::PLAIN
};

static RULES: &[Rule] = &[
    Rule {
        code: "R1101",
        check: RuleCheck::Unique { attributes: &["name"] },
        says: "An app's name is unique in its project.",
        place: "contract, 1, names",
    },
    Rule {
        code: "R1102",
        check: RuleCheck::ExactlyOne { attributes: &["image", "repo", "source_dir"] },
        says: "An app has exactly one source.",
        place: "contract, 3, app",
    },
    Rule {
        code: "R1103",
        check: RuleCheck::Together { attribute: "branch", other: "repo" },
        says: "Only an app that is built from a repository has a branch.",
        place: "contract, 3, app",
    },
    Rule {
        code: "R1104",
        check: RuleCheck::Together { attribute: "github_installation_id", other: "repo" },
        says: "Only an app that is built from a repository has a connection to read it.",
        place: "contract, 3, app",
    },
    Rule {
        code: "R1105",
        check: RuleCheck::NotOneOf {
            attribute: "port",
            values: RESERVED_PORTS,
            when: &[("type", &["web"])],
        },
        says: "The platform reserves ports 8008, 8012, 8013, 8022, 9090 and 9091 of web apps.",
        place: "specification, Errors, case 5",
    },
    Rule {
        code: "R1106",
        check: RuleCheck::NotOneOf {
            attribute: "port",
            values: RESERVED_PORTS,
            when: &[("type", &["private"]), ("autoscaling.min_replicas", &["0"])],
        },
        says: "The platform reserves ports 8008, 8012, 8013, 8022, 9090 and 9091 of private apps that scale to zero.",
        place: "specification, Errors, case 5",
    },
    Rule {
        code: "R1107",
        check: RuleCheck::RequiredWith { attribute: "cron_schedule", other: "type", values: &["cron"] },
        says: "A cron app has a schedule.",
        place: "specification, Errors, case 5",
    },
    Rule {
        code: "R1108",
        check: RuleCheck::OnlyWith {
            attribute: "cron_schedule",
            unless: Literal::Null,
            other: "type",
            values: &["cron"],
        },
        says: "Only a cron app has a schedule.",
        place: "contract, 3, app",
    },
    Rule {
        code: "R1109",
        check: RuleCheck::NeverWith {
            attribute: "autoscaling",
            unless: Literal::Null,
            other: "type",
            values: &["worker", "cron", "job"],
        },
        says: "Workers, cron apps and jobs do not support autoscaling.",
        place: "specification, Errors, case 5",
    },
    Rule {
        code: "R1110",
        check: RuleCheck::NotBoth { attributes: &["instances", "autoscaling"] },
        says: "An app has either a fixed number of instances or autoscaling.",
        place: "contract, 3, app",
    },
    Rule {
        code: "R1111",
        check: RuleCheck::Ordered { attribute: "autoscaling", low: "min_replicas", high: "max_replicas" },
        says: "min_replicas is not above max_replicas.",
        place: "specification, Errors, case 5",
    },
    Rule {
        code: "R1112",
        check: RuleCheck::PartOneOf {
            attribute: "autoscaling",
            part: "min_replicas",
            values: &[0],
            other: "type",
            when: &["private"],
        },
        says: "A private app supports autoscaling only if it scales to zero.",
        place: "specification, Errors, case 5",
    },
    Rule {
        code: "R1113",
        check: RuleCheck::Together { attribute: "repo", other: "branch" },
        says: "An app that is built from a repository needs a branch.",
        place: "contract, 3, app",
    },
    Rule {
        code: "R1114",
        check: RuleCheck::NotOneOf {
            attribute: "instances",
            values: &[2, 3, 4, 5, 6],
            when: &[("type", &["cron", "job"])],
        },
        says: "Cron apps and jobs run one instance at a time.",
        place: "contract, 3, app",
    },
    Rule {
        code: "R1115",
        check: RuleCheck::NotWhile {
            kind: "spend_settings",
            attribute: "paused_by_cap",
            other: "billing_type",
            values: &["payg"],
            ended_by: &[
                EndingChange::Grows("monthly_cap_usd"),
                EndingChange::Becomes("enabled", Literal::Bool(false)),
                EndingChange::Becomes("cap_action", Literal::Text("notify_only")),
            ],
        },
        says: "While the spend cap pauses apps, no app that is billed by the hour can be created, deployed or scaled up; raise the cap in the same change, or turn it off.",
        place: "specification, Errors, 412",
    },
];

/// The record of a job's run and its final statuses.
static JOB: RunSchema = RunSchema {
    listed_by: "runs",
    id: "id",
    status: "status",
    done: &["succeeded"],
    failed: &["failed", "canceled"],
    replaced: &[],
    exit_code: Some("exit_code"),
    error: Some("error"),
    told_by: None,
};

/// The record of a deployment and its final statuses.
static DEPLOYMENT: RunSchema = RunSchema {
    listed_by: "deployments",
    id: "id",
    status: "status",
    done: &["live"],
    failed: &["failed", "superseded"],
    replaced: &["superseded"],
    exit_code: None,
    error: Some("error"),
    told_by: Some(("events", "message")),
};

const PREVIEW: Parameter = Parameter::required("preview", SHORT_TEXT)
    .in_path()
    .summary("The preview's id, as `stead do previews` lists it.");

static ACTIONS: &[Action] = &[
    Action::post("run", "/api/v1/apps/services/{id}/jobs/run", "Runs a cron app or a job now.")
        .envelope(Envelope::Run)
        .answer(ResponseShape::Record(&[]))
        .until(ActionCompletion::RunFinished(&JOB)),
    Action::get("runs", "/api/v1/apps/services/{id}/jobs/runs", "Runs of a cron app or a job.")
        .assumed()
        .answer(ResponseShape::Feed {
            columns: &["id", "trigger", "status", "exit_code", "started_at", "finished_at"],
            id: "id",
        }),
    Action::post(
        "redeploy",
        "/api/v1/apps/services/{id}/deployments",
        "Deploys it again: the same source, or another source once.",
    )
    .assumed()
    .parameters(&[
        Parameter::optional("branch", SHORT_TEXT).summary("The branch to build."),
        Parameter::optional("image", SHORT_TEXT).summary("The image to run."),
        Parameter::optional("blob", SHORT_TEXT).wire("blob_key").summary("The key of an uploaded source."),
    ])
    .exclusive(&["branch", "image", "blob"])
    .effects(&[Effect::Deploys])
    .answer(ResponseShape::Record(&[]))
    .until(ActionCompletion::RunFinished(&DEPLOYMENT)),
    Action::get("deployments", "/api/v1/apps/services/{id}/deployments", "Its deployments, newest first.")
        .assumed()
        .answer(ResponseShape::Feed { columns: &["id", "status", "created_at"], id: "id" }),
    Action::post(
        "pause",
        "/api/v1/apps/services/{id}/pause",
        "Stops it; it does not respond until it is resumed.",
    )
    .assumed()
    .effects(&[Effect::Stops])
    .until(ActionCompletion::ObjectReady(None)),
    Action::post("resume", "/api/v1/apps/services/{id}/resume", "Starts it again after a pause.")
        .assumed()
        .until(ActionCompletion::ObjectReady(None)),
    Action::get("events", "/api/v1/apps/services/{id}/events", "Its events, newest first.")
        .assumed()
        .answer(ResponseShape::Feed { columns: &["created_at", "type", "message"], id: "id" }),
    Action::get("instances", "/api/v1/apps/services/{id}/instances", "Its running instances.")
        .assumed()
        .answer(ResponseShape::Rows(&["id", "status"])),
    Action::get("previews", "/api/v1/apps/services/{id}/previews", "Previews of pull requests.")
        .assumed()
        .answer(ResponseShape::Rows(&["id", "status", "url"])),
    Action::post(
        "redeploy-preview",
        "/api/v1/apps/previews/{preview}/redeploy",
        "Deploys the preview of a pull request again.",
    )
    .assumed()
    .parameters(&[PREVIEW])
    .effects(&[Effect::Deploys]),
    Action::delete("delete-preview", "/api/v1/apps/previews/{preview}", "Removes a preview.")
        .envelope(Envelope::Message)
        .parameters(&[PREVIEW])
        .effects(&[Effect::Removes])
        .until(ActionCompletion::RecordDeleted { listed_by: "previews", parameter: "preview" }),
    Action::post(
        "source-upload",
        "/api/v1/apps/services/{id}/source-upload",
        "Creates a URL for one upload of a source archive.",
    )
    .secret()
    .answer(ResponseShape::Record(&["blob_key", "expires_in_seconds"])),
    Action::get("usage", "/api/v1/apps/usage", "The usage of apps, and its cost.")
        .parameters(&[
            Parameter::optional("period", Type::Enum(&["current", "previous"]))
                .in_query()
                .summary("The month: current or previous."),
            Parameter::optional("service", Type::Reference("app"))
                .wire("service_id")
                .in_query()
                .summary("Only this app."),
        ])
        .answer(ResponseShape::Rows(&["service_id", "instance_hours", "usd"])),
    Action::get("templates", "/api/v1/apps/templates", "Templates for new apps.")
        .assumed()
        .answer(ResponseShape::Rows(&["id", "name"])),
    Action::get("github-connections", "/api/v1/apps/github/connections", "Connections to GitHub.")
        .assumed()
        .answer(ResponseShape::Rows(&["id", "account"])),
];
