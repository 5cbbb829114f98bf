//! Render's blueprint → a draft.

use super::draft::{App, Database, Draft, engine, plain};
use super::fields::Fields;
use crate::config::edit::Literal;

/// Fields that mean nothing here: the platform builds and deploys by itself, and has its own sizes.
const MEANINGLESS: &[&str] = &["env", "runtime", "region", "autoDeploy", "autoDeployTrigger", "plan"];

/// Reads a blueprint; false when it is none.
pub(super) fn read(root: &Fields<'_>, draft: &mut Draft) -> bool {
    let (services, databases) = (root.list("services"), root.list("databases"));
    if services.is_empty() && databases.is_empty() {
        return false;
    }
    for fields in &databases {
        let name = fields.text("name").unwrap_or("main").to_owned();
        let version = fields.text("postgresMajorVersion").map(str::to_owned);
        draft.databases.push(Database { name, engine: "postgres", version, allowed: allowed(fields) });
        draft.leave_all(fields.rest(MEANINGLESS));
    }
    let (stores, apps): (Vec<_>, Vec<_>) =
        services.iter().partition(|fields| matches!(fields.text("type"), Some("redis" | "keyvalue")));
    for fields in stores {
        let name = fields.text("name").unwrap_or("cache").to_owned();
        let engine = engine("redis").unwrap_or_default();
        draft.databases.push(Database { name, engine, version: None, allowed: allowed(fields) });
        draft.leave_all(fields.rest(MEANINGLESS));
    }
    for fields in apps {
        if let Some(app) = service(fields, draft) {
            draft.apps.push(app);
        }
    }
    draft.leave_all(root.rest(&["version"]));
    true
}

fn allowed(fields: &Fields<'_>) -> Vec<String> {
    fields.list("ipAllowList").iter().filter_map(|item| item.text("source")).map(str::to_owned).collect()
}

fn service(fields: &Fields<'_>, draft: &mut Draft) -> Option<App> {
    let ty = match fields.text("type").unwrap_or("web") {
        "web" => "web",
        "pserv" => "private",
        "worker" => "worker",
        "cron" => "cron",
        other => {
            draft.leave(fields.path(), &format!("there is no service of the type {other}"));
            return None;
        }
    };
    if fields.text("runtime").or_else(|| fields.text("env")) == Some("static") {
        draft.leave(fields.path(), "there are no static sites");
        return None;
    }
    let mut app = App { name: fields.text("name").unwrap_or("web").to_owned(), ..App::default() };
    app.text("type", Some(ty));
    let image = fields.map("image").and_then(|image| image.text("url"));
    app.text("image", image);
    let repo = fields.text("repo").map(repository);
    match (&repo, image) {
        (Some(repo), _) => app.text("repo", Some(repo)),
        (None, None) => app.text("source_dir", Some(fields.text("rootDir").unwrap_or("."))),
        (None, Some(_)) => {}
    }
    if repo.is_some() {
        app.text("branch", Some(fields.text("branch").unwrap_or("main")));
    }
    app.text("start_command", fields.text("startCommand").or_else(|| fields.text("dockerCommand")));
    if matches!(ty, "web" | "private") {
        // The port that the platform gives by default.
        app.number("port", Some("10000"));
    }
    app.text("health_check_path", fields.text("healthCheckPath"));
    app.text("cron_schedule", fields.text("schedule"));
    app.number("instances", fields.text("numInstances"));
    app.domains.extend(fields.texts("domains").into_iter().map(str::to_owned));
    for variable in fields.list("envVars") {
        environment(&variable, &mut app, draft);
    }
    draft.leave_all(fields.rest(MEANINGLESS));
    Some(app)
}

/// `https://github.com/acme/shop` is `acme/shop`.
pub(super) fn repository(url: &str) -> String {
    let path = url.trim_end_matches(".git").split_once("github.com").map(|(_, path)| path);
    path.map_or_else(|| url.to_owned(), |path| path.trim_start_matches(['/', ':']).to_owned())
}

fn environment(variable: &Fields<'_>, app: &mut App, draft: &mut Draft) {
    let Some(key) = variable.text("key") else {
        draft.leave(variable.path(), "groups of variables have no counterpart");
        return;
    };
    if let Some(value) = variable.text("value") {
        app.env.push((key.to_owned(), plain(value)));
        return;
    }
    let from = variable.map("fromDatabase").or_else(|| variable.map("fromService"));
    let Some(from) = from else {
        // Generated, or typed in: a secret that is given from outside.
        let path = draft.variable(key, "secret", None);
        app.env.push((key.to_owned(), Literal::text(format!("${path}"))));
        return;
    };
    match from.text("name") {
        Some(name) if draft.is_database(name) => {
            app.uses.push(name.to_owned());
            if key != "DATABASE_URL" {
                draft.leave(
                    &format!("{}.{key}", app.name),
                    &format!("the link to {name} sets DATABASE_URL and its like"),
                );
            }
        }
        _ => draft.leave(&format!("{}.{key}", app.name), "it comes from another service"),
    }
}
