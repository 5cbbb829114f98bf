//! Reader of Render's blueprints. In: the parsed file; out: apps and databases in a `StackDraft`, and a note
//! for each field without a counterpart. Of several environments only the first is read.

use super::draft::{DraftApp, DraftDatabase, StackDraft, database_engine};
use super::fields::FieldReader;
use super::unsupported_fields;
use crate::config::edit::ConfigLiteral;

/// Fields that are ignored without a note: the platform builds and deploys by itself, and has its own sizes.
const MEANINGLESS: &[&str] =
    &["env", "runtime", "region", "autoDeploy", "autoDeployTrigger", "plan", "previewPlan"];

/// Groups of environment variables, each a map with a `name`.
type EnvVarGroups<'d> = Vec<FieldReader<'d>>;

/// Reads a blueprint into the draft; returns false when the file has no service and no database.
pub(super) fn read_blueprint(root: &FieldReader<'_>, draft: &mut StackDraft) -> bool {
    let mut places = Vec::new();
    for project in root.list("projects") {
        for environment in project.list("environments") {
            draft.leave_all(environment.unread_fields(&[
                "name",
                "services",
                "databases",
                "envVarGroups",
                "networkIsolationEnabled",
            ]));
            places.push(environment);
        }
        draft.leave_all(project.unread_fields(&["name"]));
    }
    if let [_, others @ ..] = places.as_slice() {
        for other in others {
            draft.leave_out(
                other.source_span(),
                other.path(),
                "only the first environment is read: declare the others as `environments` of the stack",
            );
        }
        places.truncate(1);
    }
    let holders = || std::iter::once(root).chain(&places);
    let all = |key: &str| holders().flat_map(|holder| holder.list(key)).collect::<Vec<_>>();
    let (services, databases, groups) = (all("services"), all("databases"), all("envVarGroups"));
    if services.is_empty() && databases.is_empty() {
        return false;
    }
    for fields in &databases {
        read_postgres(fields, draft);
    }
    let (stores, apps): (Vec<_>, Vec<_>) =
        services.iter().partition(|fields| matches!(fields.text("type"), Some("redis" | "keyvalue")));
    for fields in stores {
        let name = fields.text("name").unwrap_or("cache").to_owned();
        let engine = database_engine("redis").unwrap_or_default();
        let allowed = allowed_networks(fields, draft);
        draft.databases.push(DraftDatabase { name, engine, allowed, ..DraftDatabase::default() });
        draft.leave_all(fields.unread_fields(MEANINGLESS));
    }
    for fields in apps {
        if let Some(app) = read_blueprint_service(fields, &groups, draft) {
            draft.apps.push(app);
        }
    }
    draft.leave_all(root.unread_fields(&["version"]));
    true
}

fn read_postgres(fields: &FieldReader<'_>, draft: &mut StackDraft) {
    let name = fields.text("name").unwrap_or("main").to_owned();
    let version = fields.text("postgresMajorVersion").map(str::to_owned);
    let number = |text: &str| text.parse::<u32>().is_ok().then(|| ConfigLiteral::Number(text.into()));
    let mut attributes = Vec::new();
    attributes.extend(fields.text("diskSizeGB").and_then(number).map(|size| ("storage_gb", size)));
    let available = fields.map("highAvailability").is_some_and(|one| one.text("enabled") == Some("true"));
    attributes.extend(available.then_some(("ha_enabled", ConfigLiteral::Boolean(true))));
    let replicas = fields.list("readReplicas").len();
    attributes.extend(
        (replicas > 0).then(|| ("replica_count", ConfigLiteral::Number(replicas.to_string().into()))),
    );
    for key in ["databaseName", "user"] {
        if fields.get(key).is_some() {
            let why = unsupported_fields::omission_reason("databaseName");
            draft.leave_out(fields.field_span(key), &fields.field_path(key), why);
        }
    }
    let allowed = allowed_networks(fields, draft);
    draft.databases.push(DraftDatabase { name, engine: "postgres", version, allowed, attributes });
    draft.leave_all(fields.unread_fields(MEANINGLESS));
}

/// Returns the networks that may connect to a database from outside: `None` if none may, which is the default;
/// empty if all may.
fn allowed_networks(fields: &FieldReader<'_>, draft: &mut StackDraft) -> Option<Vec<String>> {
    let list = fields.list("ipAllowList");
    let all: Vec<String> = list.iter().filter_map(|item| item.text("source")).map(str::to_owned).collect();
    if all.iter().any(|source| source == "0.0.0.0/0") {
        let path = fields.field_path("ipAllowList");
        draft.leave_out(
            fields.field_span("ipAllowList"),
            &path,
            "0.0.0.0/0 means every address, which here is an empty `public_allowlist`",
        );
        return Some(Vec::new());
    }
    (!all.is_empty()).then_some(all)
}

fn read_blueprint_service(
    fields: &FieldReader<'_>,
    groups: &EnvVarGroups<'_>,
    draft: &mut StackDraft,
) -> Option<DraftApp> {
    let ty = match fields.text("type").unwrap_or("web") {
        "web" => "web",
        "pserv" => "private",
        "worker" => "worker",
        "cron" => "cron",
        other => {
            draft.leave_out(
                fields.source_span(),
                fields.path(),
                &format!("there is no service of the type {other}"),
            );
            return None;
        }
    };
    if fields.text("runtime").or_else(|| fields.text("env")) == Some("static") {
        draft.leave_out(
            fields.source_span(),
            fields.path(),
            unsupported_fields::omission_reason("static_sites"),
        );
        return None;
    }
    let mut app = DraftApp { name: fields.text("name").unwrap_or("web").to_owned(), ..DraftApp::default() };
    app.set_text("type", Some(ty));
    read_service_source(fields, &mut app, draft);
    app.set_text("start_command", fields.text("startCommand").or_else(|| fields.text("dockerCommand")));
    let variables = fields.list("envVars");
    if matches!(ty, "web" | "private") {
        // Render sets this port by default.
        let own = variables.iter().find(|variable| variable.text("key") == Some("PORT"));
        app.set_number("port", own.and_then(|port| port.text("value")).or(Some("10000")));
    }
    app.set_text("health_check_path", fields.text("healthCheckPath"));
    app.set_text("cron_schedule", fields.text("schedule"));
    match fields.map("scaling") {
        Some(scaling) if ty == "web" => {
            app.set_scaling(scaling.text("minInstances"), scaling.text("maxInstances"));
            let why = "the number of replicas follows the concurrent requests, 80 for each replica, and is at most 6";
            draft.leave_out(fields.field_span("scaling"), &fields.field_path("scaling"), why);
        }
        _ => app.set_number("instances", fields.text("numInstances")),
    }
    app.domains.extend(fields.texts("domains").into_iter().map(str::to_owned));
    fields.skip_default("dockerfilePath", &["Dockerfile", "./Dockerfile"]);
    fields.skip_default("dockerContext", &[".", "./"]);
    for variable in &variables {
        read_service_variable(variable, groups, &mut app, draft);
    }
    draft.leave_all(fields.unread_fields(MEANINGLESS));
    Some(app)
}

fn read_service_source(fields: &FieldReader<'_>, app: &mut DraftApp, draft: &mut StackDraft) {
    let image = fields.map("image");
    if let Some(image) = &image {
        app.set_text("image", image.text("url"));
        draft.leave_all(image.unread_fields(&[]));
        return;
    }
    match fields.text("repo").map(repository_name) {
        Some(repo) => {
            app.set_text("repo", Some(&repo));
            app.set_text("branch", Some(fields.text("branch").unwrap_or("main")));
        }
        None => app.set_text("source_dir", Some(fields.text("rootDir").unwrap_or("."))),
    }
}

/// Shortens a repository URL: `https://github.com/acme/shop` becomes `acme/shop`; a URL of another host stays whole.
pub(super) fn repository_name(url: &str) -> String {
    let url = url.trim_end_matches('/').trim_end_matches(".git");
    let path = url.split_once("github.com").map(|(_, path)| path);
    path.map_or_else(|| url.to_owned(), |path| path.trim_start_matches(['/', ':']).to_owned())
}

fn read_service_variable(
    variable: &FieldReader<'_>,
    groups: &EnvVarGroups<'_>,
    app: &mut DraftApp,
    draft: &mut StackDraft,
) {
    if let Some(group) = variable.text("fromGroup") {
        match groups.iter().find(|known| known.text("name") == Some(group)) {
            Some(group) => {
                for variable in group.list("envVars") {
                    read_service_variable(&variable, &Vec::new(), app, draft);
                }
            }
            None => draft.leave_out(
                variable.source_span(),
                variable.path(),
                &format!("the group {group} is not in this file"),
            ),
        }
        return;
    }
    let Some(key) = variable.text("key") else {
        draft.leave_out(variable.source_span(), variable.path(), "it has no key");
        return;
    };
    if let Some(value) = variable.text("value") {
        let value = draft.value_literal(&app.name, key, value, variable.field_span("value"));
        app.set_variable(key, value);
        return;
    }
    let from = variable.map("fromDatabase").or_else(|| variable.map("fromService"));
    let Some(from) = from else {
        // Generated or entered: in both cases a secret without a value in the file.
        let value = draft.declare_deferred_secret(key, variable.text("generateValue") == Some("true"));
        app.set_variable(key, value);
        return;
    };
    let path = format!("{}.{key}", app.name);
    match from.text("name") {
        Some(name) if draft.is_database(name) => {
            app.uses.push(name.to_owned());
            if key != "DATABASE_URL" {
                let why = format!("the link to {name} sets DATABASE_URL and related variables");
                draft.leave_out(variable.source_span(), &path, &why);
            }
        }
        Some(name) if from.text("envVarKey").is_none() => {
            let why = format!("it comes from {name}: the address of that app is its `url`");
            draft.leave_out(variable.source_span(), &path, &why);
        }
        _ => {
            draft.leave_out(
                variable.source_span(),
                &path,
                "it is a variable of another service: use one variable for both",
            );
        }
    }
}
