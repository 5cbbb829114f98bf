//! Docker Compose → a draft.

use super::draft::{App, Database, Draft, engine};
use super::fields::{Fields, items, text};
use crate::config::document::Node;
use crate::config::edit::Literal;

/// Fields that mean nothing where nobody runs containers by hand.
const MEANINGLESS: &[&str] = &["container_name", "restart", "tty", "stdin_open", "init"];

/// Top-level fields that mean nothing.
const TOP: &[&str] = &["version", "name"];

/// Reads a Compose file; false when it is none.
pub(super) fn read(root: &Fields<'_>, draft: &mut Draft) -> bool {
    let Some(services) = root.map("services") else { return false };
    let entries = services.entries().iter();
    let all: Vec<_> = entries
        .map(|entry| (entry.key.to_string(), Fields::of(&entry.value, services.below(&entry.key))))
        .collect();
    let (databases, apps): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|(_, fields)| fields.get("build").is_none() && database_of(fields).is_some());
    for (name, fields) in &databases {
        let Some((engine, version)) = database_of(fields) else { continue };
        draft.databases.push(Database { name: name.clone(), engine, version, allowed: Vec::new() });
        let path = fields.below("environment");
        if fields.get("environment").is_some() {
            draft.leave(&path, "the service makes the users and passwords of a database");
        }
        draft.leave_all(
            fields.rest(&[MEANINGLESS, &["ports", "volumes", "healthcheck", "expose", "command"]].concat()),
        );
    }
    for (name, fields) in &apps {
        let app = service(name, fields, draft);
        draft.apps.push(app);
    }
    draft.leave_all(root.rest(&[TOP, &["volumes", "networks"]].concat()));
    true
}

/// Returns the engine and version of a service that is a database.
fn database_of(fields: &Fields<'_>) -> Option<(&'static str, Option<String>)> {
    let image = fields.text("image")?;
    let image = image.split('@').next().unwrap_or_default();
    let (name, tag) = match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (image, None),
    };
    let engine = engine(name.rsplit('/').next()?)?;
    // A version of another product says nothing.
    let own = name.ends_with(engine);
    let version = tag
        .and_then(|tag| tag.split('-').next())
        .filter(|tag| own && tag.starts_with(|c: char| c.is_ascii_digit()));
    let major = version.map(|version| version.split('.').next().unwrap_or_default().to_owned());
    Some((engine, major))
}

fn service(name: &str, fields: &Fields<'_>, draft: &mut Draft) -> App {
    let mut app = App { name: name.to_owned(), ..App::default() };
    let published = port(fields.get("ports"));
    let exposed = fields.texts("expose").first().map(|text| (*text).to_owned());
    app.text(
        "type",
        Some(if published.is_some() {
            "web"
        } else if exposed.is_some() {
            "private"
        } else {
            "worker"
        }),
    );
    let build = fields.get("build");
    match build.and_then(|build| {
        text(build).or_else(|| text(&build.entries()?.iter().find(|entry| entry.key == "context")?.value))
    }) {
        Some(context) => app.text("source_dir", Some(context)),
        None => app.text("image", fields.text("image")),
    }
    if build.is_some() && fields.text("image").is_some() {
        draft.leave(&fields.below("image"), "it is built from its sources");
    }
    app.text("start_command", command(fields).as_deref());
    app.number("port", published.as_deref().or(exposed.as_deref()));
    let replicas =
        fields.text("scale").or_else(|| fields.map("deploy").and_then(|deploy| deploy.text("replicas")));
    app.number("instances", replicas);
    if let Some(path) = health(fields) {
        app.text("health_check_path", Some(&path));
    }
    for (key, value) in environment(fields) {
        let value = interpolated(value.as_deref(), &key, draft);
        app.env.push((key, value));
    }
    for other in depends(fields) {
        if draft.is_database(&other) {
            app.uses.push(other);
        } else {
            app.waits.push(other);
        }
    }
    draft.leave_all(fields.rest(MEANINGLESS));
    app
}

/// Returns the container's port of the first published one.
fn port(ports: Option<&Node>) -> Option<String> {
    let first = items(ports?).first()?;
    let written = match text(first) {
        Some(written) => written,
        None => text(&first.entries()?.iter().find(|entry| entry.key == "target")?.value)?,
    };
    let inner = written.split('/').next()?.rsplit(':').next()?;
    Some(inner.split('-').next()?.to_owned())
}

fn command(fields: &Fields<'_>) -> Option<String> {
    let word = |word: &&str| {
        let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c));
        if plain && !word.is_empty() {
            (*word).to_owned()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    let joined = |key: &str| match fields.get(key) {
        Some(node) if text(node).is_some() => text(node).map(str::to_owned),
        Some(_) => Some(fields.texts(key).iter().map(word).collect::<Vec<_>>().join(" ")),
        None => None,
    };
    let parts: Vec<String> = [joined("entrypoint"), joined("command")].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Returns the path that a health check asks for.
fn health(fields: &Fields<'_>) -> Option<String> {
    let test = fields.map("healthcheck")?.texts("test").join(" ");
    let url = test.split("http://").nth(1)?;
    let path = url.split_once('/').map_or("/", |(_, rest)| rest);
    let path: String = path.chars().take_while(|c| !c.is_whitespace() && !"\"'|;".contains(*c)).collect();
    Some(format!("/{}", path.trim_start_matches('/')))
}

fn environment(fields: &Fields<'_>) -> Vec<(String, Option<String>)> {
    let Some(node) = fields.get("environment") else { return Vec::new() };
    if let Some(entries) = node.entries() {
        return entries
            .iter()
            .map(|entry| (entry.key.to_string(), text(&entry.value).map(str::to_owned)))
            .collect();
    }
    let pair = |text: &str| match text.split_once('=') {
        Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
        None => (text.to_owned(), None),
    };
    items(node).iter().filter_map(text).map(pair).collect()
}

fn depends(fields: &Fields<'_>) -> Vec<String> {
    match fields.get("depends_on").and_then(|node| node.entries()) {
        Some(entries) => entries.iter().map(|entry| entry.key.to_string()).collect(),
        None => fields.texts("depends_on").into_iter().map(str::to_owned).collect(),
    }
}

/// Returns a value of the environment: what Compose fills in becomes a variable.
fn interpolated(value: Option<&str>, key: &str, draft: &mut Draft) -> Literal {
    let Some(value) = value else {
        let path = draft.variable(key, "secret", None);
        return Literal::text(format!("${path}"));
    };
    let mut out = String::new();
    let mut rest = value;
    let mut only = None;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            out.push_str("$$");
            rest = after;
            continue;
        }
        let (inner, after) = match after.strip_prefix('{').and_then(|body| body.split_once('}')) {
            Some(parts) => parts,
            None => after.split_at(
                after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len()),
            ),
        };
        rest = after;
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
        if end == 0 {
            out.push_str("$$");
            out.push_str(inner);
            continue;
        }
        let default = inner[end..].strip_prefix(":-").or_else(|| inner[end..].strip_prefix('-'));
        let path =
            draft.variable(&inner[..end], if default.is_some() { "string" } else { "secret" }, default);
        if out.is_empty() && rest.is_empty() {
            only = Some(format!("${path}"));
        }
        out.extend(["${", path.as_str(), "}"]);
    }
    out.push_str(rest);
    Literal::text(only.unwrap_or(out))
}
