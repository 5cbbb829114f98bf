//! DigitalOcean's app spec → a draft.

use super::draft::{App, Database, Draft, engine, plain};
use super::fields::Fields;
use super::render::repository;
use crate::config::edit::Literal;

/// Fields that mean nothing here: the platform builds by itself, and has its own sizes.
const MEANINGLESS: &[&str] = &[
    "instance_size_slug",
    "environment_slug",
    "production",
    "cluster_name",
    "db_name",
    "db_user",
    "deploy_on_push",
    "size",
    "num_nodes",
];

/// Top-level fields that mean nothing.
const TOP: &[&str] = &["name", "region", "features"];

/// The lists of components, and what each is here.
const COMPONENTS: &[(&str, &str)] = &[("services", "web"), ("workers", "worker"), ("jobs", "job")];

/// Reads an app spec; false when it is none.
pub(super) fn read(root: &Fields<'_>, draft: &mut Draft) -> bool {
    let components: Vec<_> = COMPONENTS
        .iter()
        .flat_map(|(key, ty)| root.list(key).into_iter().map(|fields| (fields, *ty)))
        .collect();
    let databases = root.list("databases");
    if components.is_empty() && databases.is_empty() {
        return false;
    }
    for fields in &databases {
        let name = fields.text("name").unwrap_or("db").to_owned();
        let Some(engine) = engine(fields.text("engine").unwrap_or("PG")) else {
            draft.leave(fields.path(), "there is no such engine");
            continue;
        };
        let version = fields.text("version").filter(|_| engine != "valkey").map(str::to_owned);
        draft.databases.push(Database { name, engine, version, allowed: Vec::new() });
        draft.leave_all(fields.rest(MEANINGLESS));
    }
    let shared = root.list("envs");
    for (fields, ty) in &components {
        let mut app = component(fields, ty, draft);
        for variable in &shared {
            environment(variable, &mut app, draft);
        }
        draft.apps.push(app);
    }
    let domains =
        root.list("domains").iter().filter_map(|domain| domain.text("domain")).map(str::to_owned).collect();
    match draft.apps.first_mut() {
        Some(first) => first.domains = domains,
        None => draft.leave("domains", "no service answers there"),
    }
    draft.leave_all(root.rest(TOP));
    true
}

fn component(fields: &Fields<'_>, ty: &str, draft: &mut Draft) -> App {
    let mut app = App { name: fields.text("name").unwrap_or("web").to_owned(), ..App::default() };
    let schedule = fields.map("schedule");
    let port = fields.text("http_port");
    let internal = fields.texts("internal_ports").first().copied();
    let ty = match ty {
        "job" if schedule.is_some() => "cron",
        "web" if port.is_none() && internal.is_some() => "private",
        ty => ty,
    };
    app.text("type", Some(ty));
    source(fields, &mut app);
    app.text("start_command", fields.text("run_command"));
    app.number("port", port.or(internal).or(matches!(ty, "web").then_some("8080")));
    app.text("health_check_path", fields.map("health_check").and_then(|check| check.text("http_path")));
    if let Some(schedule) = &schedule {
        app.text("cron_schedule", schedule.text("cron"));
        app.text("cron_timezone", schedule.text("time_zone"));
    }
    let scaling = fields.map("autoscaling");
    match &scaling {
        Some(scaling) if ty == "web" => {
            let number = |key: &str, least: u32| {
                let n = scaling
                    .text(key)
                    .and_then(|text| text.parse::<u32>().ok())
                    .unwrap_or(least)
                    .clamp(least, 6);
                Literal::Number(n.to_string().into())
            };
            app.set(
                "autoscaling",
                Some(Literal::map([
                    ("min_replicas", number("min_instance_count", 1)),
                    ("max_replicas", number("max_instance_count", 1)),
                    ("metric", Literal::text("concurrency")),
                    ("target", Literal::Number("80".into())),
                ])),
            );
            draft.leave(
                &fields.below("autoscaling.metrics"),
                "replicas follow the number of requests at once, 80 for each",
            );
        }
        _ => app.number("instances", fields.text("instance_count")),
    }
    for variable in fields.list("envs") {
        environment(&variable, &mut app, draft);
    }
    draft.leave_all(fields.rest(MEANINGLESS));
    app
}

fn source(fields: &Fields<'_>, app: &mut App) {
    if let Some(image) = fields.map("image") {
        let path = [image.text("registry"), image.text("repository")]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("/");
        let tag = image.text("tag").map(|tag| format!(":{tag}")).unwrap_or_default();
        app.text("image", Some(&format!("{path}{tag}")));
        return;
    }
    let github = fields.map("github").and_then(|git| Some((git.text("repo")?, git.text("branch"))));
    let git = fields.map("git").and_then(|git| Some((git.text("repo_clone_url")?, git.text("branch"))));
    match github.or(git) {
        Some((repo, branch)) => {
            app.text("repo", Some(&repository(repo)));
            app.text("branch", Some(branch.unwrap_or("main")));
        }
        None => app.text("source_dir", Some(fields.text("source_dir").unwrap_or("."))),
    }
}

fn environment(variable: &Fields<'_>, app: &mut App, draft: &mut Draft) {
    let Some(key) = variable.text("key") else { return };
    if app.env.iter().any(|(known, _)| known == key) {
        return;
    }
    let value = variable.text("value").unwrap_or_default();
    let bound = value
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'))
        .and_then(|inner| inner.split_once('.'));
    if let Some((name, _)) = bound.filter(|(name, _)| draft.is_database(name)) {
        app.uses.push(name.to_owned());
        if key != "DATABASE_URL" {
            draft.leave(
                &format!("{}.{key}", app.name),
                &format!("the link to {name} sets DATABASE_URL and its like"),
            );
        }
    } else if value.contains("${") {
        draft.leave(&format!("{}.{key}", app.name), "it comes from another component");
    } else if variable.text("type") == Some("SECRET") || value.is_empty() {
        let path = draft.variable(key, "secret", None);
        app.env.push((key.to_owned(), Literal::text(format!("${path}"))));
    } else {
        app.env.push((key.to_owned(), plain(value)));
    }
}
