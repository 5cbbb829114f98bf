//! Reader of DigitalOcean's app spec. In: the parsed file; out: apps and databases in a `StackDraft`, and a
//! note for each field without a counterpart.

use super::draft::{DraftApp, DraftDatabase, StackDraft, database_engine};
use super::fields::FieldReader;
use super::render_blueprint::repository_name;
use super::unsupported_fields;

/// Fields that are ignored without a note: the platform builds by itself, and has its own sizes.
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
    "alerts",
    "log_destinations",
];

/// Top-level fields that are ignored without a note.
const TOP: &[&str] = &["name", "region", "features", "alerts"];

/// Component lists of an app spec, and the app type of each in this language.
const COMPONENTS: &[(&str, &str)] = &[("services", "web"), ("workers", "worker"), ("jobs", "job")];

/// Reads an app spec into the draft; returns false when the file has no component, so is not an app spec.
pub(super) fn read_app_spec(root: &FieldReader<'_>, draft: &mut StackDraft) -> bool {
    let components: Vec<_> = COMPONENTS
        .iter()
        .flat_map(|(key, ty)| root.list(key).into_iter().map(|fields| (fields, *ty)))
        .collect();
    let databases = root.list("databases");
    let others = ["static_sites", "functions"].map(|key| (key, root.list(key)));
    for (key, fields) in others.iter().flat_map(|(key, all)| all.iter().map(move |fields| (key, fields))) {
        draft.leave_out(fields.source_span(), fields.path(), unsupported_fields::omission_reason(key));
    }
    if components.is_empty() && databases.is_empty() {
        return others.iter().any(|(_, all)| !all.is_empty());
    }
    for fields in &databases {
        let name = fields.text("name").unwrap_or("db").to_owned();
        let Some(engine) = database_engine(fields.text("engine").unwrap_or("PG")) else {
            draft.leave_out(fields.source_span(), fields.path(), "there is no such engine");
            continue;
        };
        let version = fields.text("version").filter(|_| engine != "valkey").map(str::to_owned);
        draft.databases.push(DraftDatabase { name, engine, version, ..DraftDatabase::default() });
        draft.leave_all(fields.unread_fields(MEANINGLESS));
    }
    let shared = root.list("envs");
    for (fields, ty) in &components {
        let mut app = read_component(fields, ty, draft);
        for variable in &shared {
            read_component_variable(variable, &mut app, draft);
        }
        draft.apps.push(app);
    }
    let domains: Vec<String> =
        root.list("domains").iter().filter_map(|domain| domain.text("domain")).map(str::to_owned).collect();
    let answers = components.iter().position(|(_, ty)| *ty == "web");
    match answers.and_then(|n| draft.apps.get_mut(n)) {
        Some(first) => first.domains = domains,
        None if domains.is_empty() => {}
        None => draft.leave_out(
            root.field_span("domains"),
            &root.field_path("domains"),
            "there is no web service for these domains",
        ),
    }
    draft.leave_all(root.unread_fields(TOP));
    true
}

fn read_component(fields: &FieldReader<'_>, ty: &str, draft: &mut StackDraft) -> DraftApp {
    let mut app = DraftApp { name: fields.text("name").unwrap_or("web").to_owned(), ..DraftApp::default() };
    let schedule = fields.map("schedule");
    let port = fields.text("http_port");
    let internal = fields.texts("internal_ports").first().copied();
    let ty = match ty {
        "job" if schedule.is_some() => "cron",
        "web" if port.is_none() && internal.is_some() => "private",
        ty => ty,
    };
    app.set_text("type", Some(ty));
    read_component_source(fields, &mut app, draft);
    app.set_text("start_command", fields.text("run_command"));
    app.set_number("port", port.or(internal).or(matches!(ty, "web").then_some("8080")));
    app.set_text("health_check_path", fields.map("health_check").and_then(|check| check.text("http_path")));
    if let Some(schedule) = &schedule {
        app.set_text("cron_schedule", schedule.text("cron"));
        app.set_text("cron_timezone", schedule.text("time_zone"));
    }
    match fields.map("autoscaling") {
        Some(scaling) if ty == "web" => {
            app.set_scaling(scaling.text("min_instance_count"), scaling.text("max_instance_count"));
            draft.leave_out(
                fields.field_span("autoscaling"),
                &fields.field_path("autoscaling.metrics"),
                "the number of replicas follows the concurrent requests, 80 for each replica, and is at most 6",
            );
        }
        _ => match fields.text("instance_count") {
            Some("0") => {
                let why = "at least one instance runs: remove the block, or give it a `when`";
                draft.leave_out(
                    fields.field_span("instance_count"),
                    &fields.field_path("instance_count"),
                    why,
                );
            }
            // One instance is the service's default.
            Some("1") => {}
            count => app.set_number("instances", count),
        },
    }
    for variable in fields.list("envs") {
        read_component_variable(&variable, &mut app, draft);
    }
    fields.skip_default("dockerfile_path", &["Dockerfile", "./Dockerfile"]);
    fields.skip_default("kind", &["UNSPECIFIED"]);
    draft.leave_all(fields.unread_fields(MEANINGLESS));
    app
}

fn read_component_source(fields: &FieldReader<'_>, app: &mut DraftApp, draft: &mut StackDraft) {
    if let Some(image) = fields.map("image") {
        let path = [image.text("registry"), image.text("repository")]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("/");
        let tag = image.text("tag").map(|tag| format!(":{tag}")).unwrap_or_default();
        app.set_text("image", Some(&format!("{path}{tag}")));
        draft.leave_all(image.unread_fields(&["registry_type", "deploy_on_push"]));
        return;
    }
    let github = fields.map("github").and_then(|git| Some((git.text("repo")?, git.text("branch"))));
    let git = fields.map("git").and_then(|git| Some((git.text("repo_clone_url")?, git.text("branch"))));
    if let Some((repo, branch)) = github.or(git) {
        app.set_text("repo", Some(&repository_name(repo)));
        app.set_text("branch", Some(branch.unwrap_or("main")));
    } else {
        let below = fields.text("source_dir").map(|path| path.trim_start_matches('/'));
        app.set_text("source_dir", Some(below.filter(|path| !path.is_empty()).unwrap_or(".")));
    }
}

fn read_component_variable(variable: &FieldReader<'_>, app: &mut DraftApp, draft: &mut StackDraft) {
    let Some(key) = variable.text("key") else { return };
    if app.env.iter().any(|(known, _)| known == key) {
        return;
    }
    let (path, at) = (format!("{}.{key}", app.name), variable.source_span());
    let value = variable.text("value").unwrap_or_default();
    let bound = value.split("${").skip(1).filter_map(|rest| rest.split_once('}')).map(|(inner, _)| inner);
    let bound: Vec<&str> = bound.collect();
    let of_database = bound.iter().filter_map(|inner| inner.split_once('.')).map(|(name, _)| name);
    if let Some(name) = of_database.into_iter().find(|name| draft.is_database(name)) {
        app.uses.push(name.to_owned());
        if key != "DATABASE_URL" {
            draft.leave_out(
                at,
                &path,
                &format!("the link to {name} sets DATABASE_URL and related variables"),
            );
        }
    } else if let Some(inner) = bound.first() {
        let why = match inner.split_once('.') {
            Some((other, _)) if other != "_self" && *inner != "APP_URL" => {
                format!("it comes from {other}: the address of an app is its `url`")
            }
            _ => format!("`{inner}` is filled in by the other platform"),
        };
        draft.leave_out(at, &path, &why);
    } else if variable.text("type") == Some("SECRET") {
        let value = draft.declare_deferred_secret(key, false);
        app.set_variable(key, value);
    } else {
        let value = draft.value_literal(&app.name, key, value, at);
        app.set_variable(key, value);
    }
}
