//! Reader of Docker Compose files. In: the parsed file; out: apps and databases in a `StackDraft`, and a note
//! for each field without a counterpart. A service whose image is a database engine becomes a database, every
//! other one an app.

use super::draft::{DraftApp, DraftDatabase, StackDraft, database_engine};
use super::fields::{FieldReader, list_items, node_text};
use super::hosts::ServiceHosts;
use super::interpolate::{InterpolationPart, fill_defaults, split_pieces};
use super::render_blueprint::repository_name;
use crate::config::syntax::document::{DocumentEntry, Node};
use crate::model::source::Span;

/// Fields that can be ignored because they only matter when a user runs containers by hand.
const MEANINGLESS: &[&str] = &[
    "container_name",
    "restart",
    "tty",
    "stdin_open",
    "init",
    "pull_policy",
    "platform",
    "logging",
    "labels",
    "stop_signal",
    "stop_grace_period",
    "develop",
];

/// Fields of a database that can be ignored: the address comes from a reference, and
/// the service stores the data.
const IGNORED_DATABASE_FIELDS: &[&str] =
    &["healthcheck", "expose", "hostname", "networks", "user", "shm_size", "deploy", "depends_on"];

/// Top-level fields that are ignored without a note.
const TOP: &[&str] = &["version", "name", "volumes", "networks"];

/// Reads a Compose file into the draft; returns false when the file has no `services` map.
pub(super) fn read_compose(root: &FieldReader<'_>, draft: &mut StackDraft) -> bool {
    let Some(services) = root.map("services") else { return false };
    let entries = services.entries().iter();
    let all: Vec<_> = entries
        .map(|entry| {
            let fields =
                FieldReader::from_node(&entry.value, services.field_path(&entry.key), entry.key_span);
            (entry.key.to_string(), fields)
        })
        .collect();
    let mut hosts = ServiceHosts::default();
    for (name, fields) in &all {
        hosts.add_host(name, name);
        for key in ["container_name", "hostname"] {
            let node = fields.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.value);
            hosts.add_host(node.and_then(node_text).unwrap_or(name), name);
        }
    }
    let (databases, apps): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|(_, fields)| fields.get("build").is_none() && database_of(fields).is_some());
    for (name, fields) in &databases {
        read_compose_database(name, fields, draft);
    }
    for (name, fields) in &apps {
        let app = read_compose_service(name, fields, &hosts, draft);
        draft.apps.push(app);
    }
    draft.leave_all(root.unread_fields(TOP));
    true
}

fn read_compose_database(name: &str, fields: &FieldReader<'_>, draft: &mut StackDraft) {
    let Some((engine, version)) = database_of(fields) else { return };
    draft.databases.push(DraftDatabase {
        name: name.to_owned(),
        engine,
        version,
        ..DraftDatabase::default()
    });
    for (key, why) in [
        ("environment", "the service creates the users and passwords of a database"),
        ("env_file", "the service creates the users and passwords of a database"),
        (
            "ports",
            "an app connects through its link; other clients need `public_access` and `public_allowlist`",
        ),
        ("entrypoint", "the options of the engine are in `engine_config`"),
        ("command", "the options of the engine are in `engine_config`"),
        (
            "volumes",
            "the service manages its files; it starts empty: load a dump, and run initial statements by hand",
        ),
    ] {
        if fields.get(key).is_some() {
            draft.leave_out(fields.field_span(key), &fields.field_path(key), why);
        }
    }
    draft.leave_all(fields.unread_fields(&[MEANINGLESS, IGNORED_DATABASE_FIELDS].concat()));
}

/// Returns the engine and its major version (`None` if the tag does not name one) of a service that is a
/// database; `None` for any other service.
fn database_of(fields: &FieldReader<'_>) -> Option<(&'static str, Option<String>)> {
    let image = fill_defaults(fields.text("image")?)?;
    let image = image.split('@').next().unwrap_or_default();
    let (name, tag) = match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (image, None),
    };
    let engine = database_engine(name.rsplit('/').next()?)?;
    // The tag of a derived image (another product) is not the version of the engine.
    let own = name.ends_with(engine);
    let version = tag
        .and_then(|tag| tag.split('-').next())
        .filter(|tag| own && tag.starts_with(|c: char| c.is_ascii_digit()));
    let major = version.map(|version| version.split('.').next().unwrap_or_default().to_owned());
    Some((engine, major))
}

fn read_compose_service(
    name: &str,
    fields: &FieldReader<'_>,
    hosts: &ServiceHosts,
    draft: &mut StackDraft,
) -> DraftApp {
    let mut app = DraftApp { name: name.to_owned(), ..DraftApp::default() };
    let published = published_port(fields, draft);
    let exposed = fields.texts("expose").first().and_then(|text| fill_defaults(text));
    let ty = match (&published, &exposed) {
        (Some(_), _) => "web",
        (None, Some(_)) => "private",
        (None, None) => "worker",
    };
    app.set_text("type", Some(ty));
    read_build_source(fields, &mut app, draft);
    if let Some(command) = command_line(fields) {
        let (key, at) = ["command", "entrypoint"]
            .map(|key| (fields.field_path(key), fields.field_span(key)))
            .into_iter()
            .find(|(_, at)| *at != fields.source_span())
            .unwrap_or_else(|| (fields.field_path("command"), fields.source_span()));
        if let Some(host) = hosts.named_in(&command).filter(|host| *host != name) {
            draft.leave_out(
                at,
                &key,
                &format!("it names the container {host}, which has another address here"),
            );
        }
        app.set_attribute("start_command", Some(draft.filled_command(name, &command, (at, &key))));
    }
    app.set_number("port", published.as_deref().or(exposed.as_deref()));
    read_instances(fields, &mut app, draft);
    if let Some(path) = health_check_path(fields) {
        app.set_text("health_check_path", Some(&path));
    } else if fields.get("healthcheck").is_some() {
        let path = fields.field_path("healthcheck");
        draft.leave_out(
            fields.field_span("healthcheck"),
            &path,
            "a health check can only request an HTTP path of the app",
        );
    }
    read_environment(fields, &mut app, hosts, draft);
    for other in service_dependencies(fields) {
        if draft.is_database(&other) {
            app.uses.push(other);
        } else {
            app.waits.push(other);
        }
    }
    draft.leave_all(fields.unread_fields(MEANINGLESS));
    app
}

/// Sets the app's source: an image, a repository or a directory.
fn read_build_source(fields: &FieldReader<'_>, app: &mut DraftApp, draft: &mut StackDraft) {
    let (at, path) = (fields.field_span("image"), fields.field_path("image"));
    let image = fields.text("image").filter(|image| !image.is_empty());
    let Some(build) = fields.get("build") else {
        match image {
            Some(image) => app.set_attribute("image", Some(draft.filled_in(image, (at, &path)))),
            None => draft.leave_out(
                fields.source_span(),
                fields.path(),
                "it has neither `image` nor `build`: write `image`, `repo` or `source_dir`",
            ),
        }
        return;
    };
    if image.is_some() {
        draft.leave_out(at, &path, "it is built from its sources");
    }
    let (at, path) = (fields.field_span("build"), fields.field_path("build"));
    let parts = FieldReader::from_node(build, path.clone(), at);
    let context = node_text(build).or_else(|| parts.text("context")).unwrap_or(".");
    parts.skip_default("dockerfile", &["Dockerfile", "./Dockerfile"]);
    if context.starts_with("..") {
        let why = "it is outside of the stack's directory: put the stack's file above it, and write the path from there";
        draft.leave_out(at, &path, why);
    }
    draft.leave_all(parts.unread_fields(&[
        "platforms",
        "tags",
        "cache_from",
        "labels",
        "pull",
        "no_cache",
        "network",
    ]));
    if let Some((url, fragment)) = parse_git_context(context) {
        app.set_text("repo", Some(&repository_name(url)));
        app.set_text("branch", Some(fragment.filter(|branch| !branch.is_empty()).unwrap_or("main")));
        return;
    }
    app.set_attribute("source_dir", Some(draft.filled_in(context, (at, &path))));
}

/// Returns the repository of a build context that is a Git URL, and the branch after `#`; `None` for a directory.
fn parse_git_context(context: &str) -> Option<(&str, Option<&str>)> {
    let (url, behind) =
        context.split_once('#').map_or((context, None), |(url, behind)| (url, Some(behind)));
    let remote =
        ["https://", "http://", "git://", "git@", "github.com/"].iter().any(|start| url.starts_with(start));
    remote.then(|| (url, behind.and_then(|text| text.split(':').next())))
}

/// Returns the container's port of the first published TCP port, and notes the others: an app has one. `None`
/// if none is published.
fn published_port(fields: &FieldReader<'_>, draft: &mut StackDraft) -> Option<String> {
    let all = fields.get("ports").map(list_items).unwrap_or_default();
    let numbers: Vec<_> =
        all.iter().map(|node| container_port(node).ok_or_else(|| describe_port(node))).collect();
    let first = numbers.iter().position(Result::is_ok);
    for (n, number) in numbers.iter().enumerate().filter(|(n, _)| Some(*n) != first) {
        let at = all.get(n).map_or(fields.source_span(), |node| node.span);
        let (port, why) = match number {
            Ok(port) => (port, "an app listens on one port"),
            Err(text) => (text, "it is not a TCP port with a known number"),
        };
        if first.and_then(|first| numbers[first].as_ref().ok()) != Some(port) {
            draft.leave_out(at, &format!("{}: {port}", fields.field_path("ports")), why);
        }
    }
    numbers.into_iter().find_map(Result::ok)
}

fn describe_port(node: &Node) -> String {
    let written = node_text(node).or_else(|| mapping_text(node, "target")).unwrap_or_default();
    match mapping_text(node, "protocol") {
        Some(protocol) => format!("{written}/{protocol}"),
        None => written.to_owned(),
    }
}

/// Returns one field of a port or volume that is written as a map; `None` for any other node.
fn mapping_text<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.entries()?.iter().find(|entry| entry.key == key).and_then(|entry| node_text(&entry.value))
}

fn container_port(node: &Node) -> Option<String> {
    let part = |key: &str| mapping_text(node, key);
    let written = node_text(node).or_else(|| part("target"))?;
    let known = |piece| match piece {
        InterpolationPart::Text(text) => text,
        InterpolationPart::Variable { default, .. } => default.unwrap_or_else(|| "?".to_owned()),
    };
    let whole: String = split_pieces(written).into_iter().map(known).collect();
    let (number, protocol) = whole.split_once('/').unwrap_or((&whole, part("protocol").unwrap_or("tcp")));
    let inner = number.rsplit(':').next()?.split('-').next()?;
    (protocol == "tcp" && inner.parse::<u16>().is_ok()).then(|| inner.to_owned())
}

fn read_instances(fields: &FieldReader<'_>, app: &mut DraftApp, draft: &mut StackDraft) {
    let deploy = fields.map("deploy");
    let replicas =
        fields.text("scale").or_else(|| deploy.as_ref().and_then(|deploy| deploy.text("replicas")));
    if let Some(deploy) = &deploy {
        draft.leave_all(deploy.unread_fields(&[
            "mode",
            "restart_policy",
            "update_config",
            "rollback_config",
            "labels",
            "placement",
            "endpoint_mode",
        ]));
    }
    let Some(replicas) = replicas.and_then(fill_defaults) else { return };
    if replicas.parse::<u32>().is_ok_and(|number| (1..=6).contains(&number)) {
        app.set_number("instances", Some(&replicas));
    } else {
        draft.leave_out(
            fields.source_span(),
            fields.path(),
            &format!("an app has 1 to 6 instances, and not {replicas}"),
        );
    }
}

fn command_line(fields: &FieldReader<'_>) -> Option<String> {
    let word = |word: &&str| {
        let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,@%+${}".contains(c));
        if plain && !word.is_empty() {
            (*word).to_owned()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    let joined = |key: &str| match fields.get(key) {
        Some(node) if node_text(node).is_some() => node_text(node).map(|text| text.trim_end().to_owned()),
        Some(_) => Some(fields.texts(key).iter().map(word).collect::<Vec<_>>().join(" ")),
        None => None,
    };
    let parts: Vec<String> = [joined("entrypoint"), joined("command")].into_iter().flatten().collect();
    let all = parts.join(" ");
    (!all.trim().is_empty()).then_some(all)
}

/// Returns the path that a health check requests from the container itself; `None` if it requests none.
fn health_check_path(fields: &FieldReader<'_>) -> Option<String> {
    let test = fields.map("healthcheck")?.texts("test").join(" ");
    let (_, url) = test.split_once("http://").or_else(|| test.split_once("https://"))?;
    let host: String = url.chars().take_while(|c| !":/".contains(*c) && !c.is_whitespace()).collect();
    if !["localhost", "127.0.0.1", "0.0.0.0", "[::1]"].contains(&host.as_str()) {
        return None;
    }
    let path = url.split_once('/').map_or("/", |(_, rest)| rest);
    let path: String = path.chars().take_while(|c| !c.is_whitespace() && !"\"'|;$)".contains(*c)).collect();
    Some(format!("/{}", path.trim_start_matches('/')))
}

/// Converts the environment variables. One that names a database's container becomes a link, one that names
/// another container is noted.
fn read_environment(
    fields: &FieldReader<'_>,
    app: &mut DraftApp,
    hosts: &ServiceHosts,
    draft: &mut StackDraft,
) {
    let mut known: Vec<String> = Vec::new();
    for (key, value, at) in environment_variables(fields) {
        let path = format!("{}.{key}", fields.field_path("environment"));
        if known.contains(&key) {
            draft.leave_out(at, &path, "it is written twice, and the last value is used");
        }
        known.push(key.clone());
        let Some(value) = value else {
            let reference = draft.filled_in(&format!("${{{key}}}"), (at, &path));
            app.set_variable(&key, reference);
            continue;
        };
        let host = hosts.service_for(&key, &value).filter(|host| *host != app.name);
        match host {
            Some(host) if draft.is_database(host) => {
                app.uses.push(host.to_owned());
                if key != "DATABASE_URL" {
                    let why = format!(
                        "it names the container {host}: the link to it sets DATABASE_URL and related variables"
                    );
                    draft.leave_out(at, &path, &why);
                }
            }
            Some(host) => {
                let why = format!("it names the container {host}: the address of that app is its `url`");
                draft.leave_out(at, &path, &why);
            }
            None => {
                let literal = draft.filled_value(&app.name, &key, &value, (at, &path));
                app.set_variable(&key, literal);
            }
        }
    }
}

/// Returns the entries of a Compose service's `environment` field (a mapping, or a list of `KEY=VALUE`) as key,
/// value and span; the value is `None` for a key without one, which Compose reads from the process environment.
fn environment_variables(fields: &FieldReader<'_>) -> Vec<(String, Option<String>, Span)> {
    let Some(node) = fields.get("environment") else { return Vec::new() };
    if let Some(entries) = node.entries() {
        let of = |entry: &DocumentEntry| {
            (entry.key.to_string(), node_text(&entry.value).map(str::to_owned), entry.key_span)
        };
        return entries.iter().map(of).collect();
    }
    let pair = |node: &Node| {
        let text = node_text(node)?;
        Some(match text.split_once('=') {
            Some((key, value)) => (key.to_owned(), Some(value.to_owned()), node.span),
            None => (text.to_owned(), None, node.span),
        })
    };
    list_items(node).iter().filter_map(pair).collect()
}

fn service_dependencies(fields: &FieldReader<'_>) -> Vec<String> {
    match fields.get("depends_on").and_then(|node| node.entries()) {
        Some(entries) => entries.iter().map(|entry| entry.key.to_string()).collect(),
        None => fields.texts("depends_on").into_iter().map(str::to_owned).collect(),
    }
}
