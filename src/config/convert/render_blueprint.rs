//! Render's blueprint → a draft.

use super::draft::{App, Database, Draft, engine};
use super::fields::Fields;
use super::unsupported_fields;
use crate::config::edit::Literal;

/// Fields that mean nothing here: the platform builds and deploys by itself, and has its own sizes.
const MEANINGLESS: &[&str] =
    &["env", "runtime", "region", "autoDeploy", "autoDeployTrigger", "plan", "previewPlan"];

/// Groups of variables, by name.
type Groups<'d> = Vec<Fields<'d>>;

/// Reads a blueprint; false when it is none.
pub(super) fn read(root: &Fields<'_>, draft: &mut Draft) -> bool {
    let mut places = Vec::new();
    for project in root.list("projects") {
        for environment in project.list("environments") {
            draft.leave_all(environment.rest(&[
                "name",
                "services",
                "databases",
                "envVarGroups",
                "networkIsolationEnabled",
            ]));
            places.push(environment);
        }
        draft.leave_all(project.rest(&["name"]));
    }
    if let [_, others @ ..] = places.as_slice() {
        for other in others {
            draft.leave(
                other.at(),
                other.path(),
                "one environment is read, the first: the others are `environments` of the stack",
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
        postgres(fields, draft);
    }
    let (stores, apps): (Vec<_>, Vec<_>) =
        services.iter().partition(|fields| matches!(fields.text("type"), Some("redis" | "keyvalue")));
    for fields in stores {
        let name = fields.text("name").unwrap_or("cache").to_owned();
        let engine = engine("redis").unwrap_or_default();
        let allowed = allowed(fields, draft);
        draft.databases.push(Database { name, engine, allowed, ..Database::default() });
        draft.leave_all(fields.rest(MEANINGLESS));
    }
    for fields in apps {
        if let Some(app) = service(fields, &groups, draft) {
            draft.apps.push(app);
        }
    }
    draft.leave_all(root.rest(&["version"]));
    true
}

fn postgres(fields: &Fields<'_>, draft: &mut Draft) {
    let name = fields.text("name").unwrap_or("main").to_owned();
    let version = fields.text("postgresMajorVersion").map(str::to_owned);
    let number = |text: &str| text.parse::<u32>().is_ok().then(|| Literal::Number(text.into()));
    let mut attributes = Vec::new();
    attributes.extend(fields.text("diskSizeGB").and_then(number).map(|size| ("storage_gb", size)));
    let available = fields.map("highAvailability").is_some_and(|one| one.text("enabled") == Some("true"));
    attributes.extend(available.then_some(("ha_enabled", Literal::Boolean(true))));
    let replicas = fields.list("readReplicas").len();
    attributes
        .extend((replicas > 0).then(|| ("replica_count", Literal::Number(replicas.to_string().into()))));
    for key in ["databaseName", "user"] {
        if fields.get(key).is_some() {
            let why = unsupported_fields::reason("databaseName");
            draft.leave(fields.place(key), &fields.below(key), why);
        }
    }
    let allowed = allowed(fields, draft);
    draft.databases.push(Database { name, engine: "postgres", version, allowed, attributes });
    draft.leave_all(fields.rest(MEANINGLESS));
}

/// Returns who may reach a database from outside; nobody, unless it is said.
fn allowed(fields: &Fields<'_>, draft: &mut Draft) -> Option<Vec<String>> {
    let list = fields.list("ipAllowList");
    let all: Vec<String> = list.iter().filter_map(|item| item.text("source")).map(str::to_owned).collect();
    if all.iter().any(|source| source == "0.0.0.0/0") {
        let path = fields.below("ipAllowList");
        draft.leave(
            fields.place("ipAllowList"),
            &path,
            "0.0.0.0/0 is everyone, which here is an empty `public_allowlist`",
        );
        return Some(Vec::new());
    }
    (!all.is_empty()).then_some(all)
}

fn service(fields: &Fields<'_>, groups: &Groups<'_>, draft: &mut Draft) -> Option<App> {
    let ty = match fields.text("type").unwrap_or("web") {
        "web" => "web",
        "pserv" => "private",
        "worker" => "worker",
        "cron" => "cron",
        other => {
            draft.leave(fields.at(), fields.path(), &format!("there is no service of the type {other}"));
            return None;
        }
    };
    if fields.text("runtime").or_else(|| fields.text("env")) == Some("static") {
        draft.leave(fields.at(), fields.path(), unsupported_fields::reason("static_sites"));
        return None;
    }
    let mut app = App { name: fields.text("name").unwrap_or("web").to_owned(), ..App::default() };
    app.text("type", Some(ty));
    source(fields, &mut app, draft);
    app.text("start_command", fields.text("startCommand").or_else(|| fields.text("dockerCommand")));
    let variables = fields.list("envVars");
    if matches!(ty, "web" | "private") {
        // The port that the platform gives by default.
        let own = variables.iter().find(|variable| variable.text("key") == Some("PORT"));
        app.number("port", own.and_then(|port| port.text("value")).or(Some("10000")));
    }
    app.text("health_check_path", fields.text("healthCheckPath"));
    app.text("cron_schedule", fields.text("schedule"));
    match fields.map("scaling") {
        Some(scaling) if ty == "web" => {
            app.scales(scaling.text("minInstances"), scaling.text("maxInstances"));
            let why = "replicas follow the number of requests at once, 80 for each, and at most 6 run";
            draft.leave(fields.place("scaling"), &fields.below("scaling"), why);
        }
        _ => app.number("instances", fields.text("numInstances")),
    }
    app.domains.extend(fields.texts("domains").into_iter().map(str::to_owned));
    fields.pass("dockerfilePath", &["Dockerfile", "./Dockerfile"]);
    fields.pass("dockerContext", &[".", "./"]);
    for variable in &variables {
        environment(variable, groups, &mut app, draft);
    }
    draft.leave_all(fields.rest(MEANINGLESS));
    Some(app)
}

fn source(fields: &Fields<'_>, app: &mut App, draft: &mut Draft) {
    let image = fields.map("image");
    if let Some(image) = &image {
        app.text("image", image.text("url"));
        draft.leave_all(image.rest(&[]));
        return;
    }
    match fields.text("repo").map(repository) {
        Some(repo) => {
            app.text("repo", Some(&repo));
            app.text("branch", Some(fields.text("branch").unwrap_or("main")));
        }
        None => app.text("source_dir", Some(fields.text("rootDir").unwrap_or("."))),
    }
}

/// `https://github.com/acme/shop` is `acme/shop`.
pub(super) fn repository(url: &str) -> String {
    let url = url.trim_end_matches('/').trim_end_matches(".git");
    let path = url.split_once("github.com").map(|(_, path)| path);
    path.map_or_else(|| url.to_owned(), |path| path.trim_start_matches(['/', ':']).to_owned())
}

fn environment(variable: &Fields<'_>, groups: &Groups<'_>, app: &mut App, draft: &mut Draft) {
    if let Some(group) = variable.text("fromGroup") {
        match groups.iter().find(|known| known.text("name") == Some(group)) {
            Some(group) => {
                for variable in group.list("envVars") {
                    environment(&variable, &Vec::new(), app, draft);
                }
            }
            None => draft.leave(
                variable.at(),
                variable.path(),
                &format!("the group {group} is not in this file"),
            ),
        }
        return;
    }
    let Some(key) = variable.text("key") else {
        draft.leave(variable.at(), variable.path(), "it has no key");
        return;
    };
    if let Some(value) = variable.text("value") {
        let value = draft.value(&app.name, key, value, variable.place("value"));
        app.variable(key, value);
        return;
    }
    let from = variable.map("fromDatabase").or_else(|| variable.map("fromService"));
    let Some(from) = from else {
        // Generated, or typed in: a secret that is given from outside.
        let value = draft.asked(key, variable.text("generateValue") == Some("true"));
        app.variable(key, value);
        return;
    };
    let path = format!("{}.{key}", app.name);
    match from.text("name") {
        Some(name) if draft.is_database(name) => {
            app.uses.push(name.to_owned());
            if key != "DATABASE_URL" {
                let why = format!("the link to {name} sets DATABASE_URL and its like");
                draft.leave(variable.at(), &path, &why);
            }
        }
        Some(name) if from.text("envVarKey").is_none() => {
            let why = format!("it comes from {name}: the `url` of that app is where it answers");
            draft.leave(variable.at(), &path, &why);
        }
        _ => {
            draft.leave(
                variable.at(),
                &path,
                "it is a variable of another service: give both one variable",
            );
        }
    }
}
