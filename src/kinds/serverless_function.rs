//! `serverless_function`: code that the service runs on request. The specification names the area only, so all
//! of it is assumed.
//!
//! It is created without code and waits in `awaiting_source` until the upload of its directory.

use super::shared::{
    COUNT, CREATED_AT, NAME, PROJECT_ID, REGIONS, SHORT_TEXT, SOURCE_DIR, TEXT, UPDATED_AT,
};
use crate::model::schema::{
    Action, ApiCall, Attribute, DurationEstimate, EVERY_CHANGE, Effect, Endpoint, Kind, KindApi, KindScope,
    Literal, Method, ReadinessRule, ResponseShape, RightScope, Rights, Rule, RuleCheck, Type,
    UpdateStrategy,
};

static PATCH: ApiCall = ApiCall::new("patch", Endpoint::assumed(Method::Patch, "/api/v1/functions/{id}"));
static GRANT: ApiCall =
    ApiCall::new("source-upload", Endpoint::assumed(Method::Post, "/api/v1/functions/{id}/source-upload"));
static DEPLOY: ApiCall = ApiCall::new("deploy", Endpoint::assumed(Method::Patch, "/api/v1/functions/{id}"));

pub(super) static SERVERLESS_FUNCTION: Kind = Kind {
    name: "serverless_function",
    summary: "Code that runs on request, without a server of its own.",
    scope: KindScope::Project,
    api: KindApi {
        ready: Some(ReadinessRule {
            attribute: "status",
            wanted: &["active"],
            resting: &["awaiting_source"],
            failed: &["failed"],
            leaving: &["deleting", "deleted"],
        }),
        ..KindApi::assumed("/api/v1/functions", "/api/v1/functions/{id}")
    },
    // Which right an operation needs is assumed (specification, Authentication, 6).
    rights: Some(Rights::new(RightScope::Project, "functions:read", "functions:write")),
    attributes: &[
        Attribute::required("name", NAME).summary("Its name, unique in the project.").assumed(),
        Attribute::required("runtime", Type::Enum(&["node20", "python312", "go122", "rust"]))
            .summary("The runtime of its code.")
            .assumed(),
        Attribute::required("handler", SHORT_TEXT)
            .summary("The function in the code that is called.")
            .on_change(UpdateStrategy::Patch { call: &PATCH, body: "handler" })
            .assumed(),
        Attribute::default(
            "memory_mb",
            Type::Integer { min: 128, max: 2_048, unit: "MB" },
            Literal::Integer(128),
        )
        .summary("Memory.")
        .on_change(UpdateStrategy::Patch { call: &PATCH, body: "memory_mb" })
        .assumed(),
        Attribute::default(
            "timeout_seconds",
            Type::Integer { min: 1, max: 300, unit: "s" },
            Literal::Integer(30),
        )
        .summary("How long a call may take.")
        .on_change(UpdateStrategy::Patch { call: &PATCH, body: "timeout_seconds" })
        .assumed(),
        Attribute::optional("env_vars", Type::Map(&TEXT))
            .summary("Its environment variables, managed key by key.")
            .on_change(UpdateStrategy::Patch { call: &PATCH, body: "env_vars" })
            .unlisted()
            .private()
            .assumed(),
        Attribute::write_only("source_dir", SOURCE_DIR)
            .summary("The directory whose files are packed, uploaded and run.")
            .on_change(UpdateStrategy::Upload {
                grant: &GRANT,
                deliver: &DEPLOY,
                body: "blob_key",
                run: None,
            })
            .after_creation()
            .effects(&[Effect::Deploys])
            .assumed(),
        Attribute::computed("status", TEXT).summary("active when it responds.").assumed(),
        Attribute::computed("url", TEXT).summary("Its URL.").assumed(),
        Attribute::computed("version", COUNT)
            .summary("The number of its versions.")
            .follows(EVERY_CHANGE)
            .assumed(),
        PROJECT_ID.assumed(),
        CREATED_AT.assumed(),
        UPDATED_AT.assumed(),
    ],
    rules: &[Rule {
        code: "R1001",
        check: RuleCheck::Unique { attributes: &["name"] },
        says: "A function's name is unique in its project.",
        place: "contract, 1, names",
    }],
    estimate: DurationEstimate { create: 5, update: 5, delete: 1 },
    actions: &[Action::post(
        "source-upload",
        "/api/v1/functions/{id}/source-upload",
        "Creates a URL for one upload of a source archive.",
    )
    .assumed()
    .secret()
    .answer(ResponseShape::Record(&["blob_key", "expires_in_seconds"]))],
    other_fields: &[("blob_key", TEXT), ("region", REGIONS)],
    ..Kind::PLAIN
};
