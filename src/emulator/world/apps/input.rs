//! Reads and checks the fields of an app in a request body, and sets them in a record. Absent fields keep their
//! values. The rules are those of "Errors", case 5.

use std::collections::BTreeMap;

use crate::emulator::world::engine::app_sizes::{SIZES, find_size};
use crate::emulator::world::engine::cron::CronSchedule;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::{BodyField, RequestBody as Input};
use crate::emulator::world::records::app::{App, AppType};

/// Ports that the platform's proxy in front of an app uses itself.
const RESERVED_PORTS: &[i64] = &[8008, 8012, 8013, 8022, 9090, 9091];
const MAX_DESCRIPTION_CHARS: usize = 65_535;
const MAX_COMMAND_CHARS: usize = 65_535;
const MAX_PATH_CHARS: usize = 2_048;
const MAX_SOURCE_CHARS: usize = 253;
const MAX_VARIABLES: usize = 1_000;
const MAX_VALUE_CHARS: usize = 65_536;

/// Sets a field to a value, if there is one.
fn set_if_given(field: &mut String, said: Option<&str>) {
    if let Some(text) = said {
        text.clone_into(field);
    }
}

/// Reads the fields that create and update requests share. An empty description clears it.
pub(in crate::emulator::world) fn read_settings(body: &Input, app: &mut App) -> Result<(), ErrorResponse> {
    let text = |name, most| body.optional_field(name, |field| field.text(0, most));
    set_if_given(&mut app.description, text("description", MAX_DESCRIPTION_CHARS)?);
    set_if_given(&mut app.start_command, text("start_command", MAX_COMMAND_CHARS)?);
    set_if_given(&mut app.health_check_path, text("health_check_path", MAX_PATH_CHARS)?);
    if !app.health_check_path.is_empty() && !app.health_check_path.starts_with('/') {
        return Err(ErrorResponse::bad_request(format!(
            "health_check_path {} must begin with a slash, such as /healthz",
            app.health_check_path
        )));
    }
    let size = body.optional_field("size", |field| field.text(1, 64))?;
    set_if_given(&mut app.size, size.map(known_size).transpose()?);
    app.port = body.optional_field("port", |field| field.integer(1, 65_535))?.or(app.port);
    // Also without a new port: the type and the scaling decide which ports are reserved.
    check_port(app)?;
    app.previews_enabled =
        body.optional_field("previews_enabled", BodyField::boolean)?.unwrap_or(app.previews_enabled);
    if let Some(variables) = body.optional_field("env_vars", read_env_variables)? {
        app.env_vars = variables;
    }
    read_cron(body, app)
}

fn known_size(slug: &str) -> Result<&'static str, ErrorResponse> {
    find_size(slug).map(|size| size.slug).ok_or_else(|| {
        let known: Vec<_> = SIZES.iter().map(|size| size.slug).collect();
        ErrorResponse::bad_request(format!(
            "size {slug} is not in the catalog: choose one of {}",
            known.join(", ")
        ))
    })
}

/// Refuses a port that the platform's proxy in front of this app uses: only web apps and private apps that scale
/// to zero have one.
pub(in crate::emulator::world) fn check_port(app: &App) -> Result<(), ErrorResponse> {
    let fronted = match app.kind {
        AppType::Web => true,
        AppType::Private => app.min_replicas == Some(0),
        _ => false,
    };
    match app.port.filter(|port| fronted && RESERVED_PORTS.contains(port)) {
        Some(port) => Err(ErrorResponse::bad_request(format!(
            "port {port} is reserved: choose one other than 8008, 8012, 8013, 8022, 9090 and 9091"
        ))),
        None => Ok(()),
    }
}

/// Reads environment variables, and checks their number, names and lengths. The values are secrets.
pub(in crate::emulator::world) fn read_env_variables(
    field: BodyField<'_>,
) -> Result<BTreeMap<String, String>, ErrorResponse> {
    let map = field.object()?;
    if map.len() > MAX_VARIABLES {
        return Err(ErrorResponse::bad_request(format!(
            "env_vars may have {MAX_VARIABLES} entries at most"
        )));
    }
    let mut read = BTreeMap::new();
    for (name, value) in map {
        let mut letters = name.bytes();
        let first = letters.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        if !first || !letters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(ErrorResponse::bad_request(format!(
                "env_vars: {name} is not the name of a variable: use letters, digits and _, and no digit \
                 first"
            )));
        }
        // A value may be a secret: error messages must not repeat it.
        match value.as_str() {
            Some(text) if text.len() <= MAX_VALUE_CHARS => drop(read.insert(name.clone(), text.to_owned())),
            Some(_) => {
                return Err(ErrorResponse::bad_request(format!(
                    "env_vars: {name} is longer than {MAX_VALUE_CHARS} bytes"
                )));
            }
            None => return Err(ErrorResponse::bad_request(format!("env_vars: {name} must be a text"))),
        }
    }
    Ok(read)
}

fn read_cron(body: &Input, app: &mut App) -> Result<(), ErrorResponse> {
    let schedule = body.optional_field("cron_schedule", |field| field.text(1, 128))?;
    let timezone = body.optional_field("cron_timezone", |field| field.text(1, 64))?;
    let concurrency =
        body.optional_field("cron_concurrency", |field| field.one_of(&["allow", "forbid", "replace"]))?;
    let said = schedule.is_some() || timezone.is_some();
    set_if_given(&mut app.cron_schedule, schedule);
    set_if_given(&mut app.cron_timezone, timezone);
    set_if_given(&mut app.cron_concurrency, concurrency);
    match (app.kind, app.cron_schedule.is_empty()) {
        (AppType::Cron, true) => {
            return Err(ErrorResponse::bad_request("cron_schedule is required for a cron app"));
        }
        // Without a schedule, the time zone still has to be valid.
        (_, true) if said => CronSchedule::parse("* * * * *", &app.cron_timezone)?,
        (_, false) if said => CronSchedule::parse(&app.cron_schedule, &app.cron_timezone)?,
        _ => return Ok(()),
    };
    Ok(())
}

/// Reads the source of an app: an image, or a repository with its branch; without either, the app is
/// built from uploaded source.
pub(in crate::emulator::world) fn read_source(body: &Input, app: &mut App) -> Result<(), ErrorResponse> {
    let text = |name| body.optional_field(name, |field| field.text(1, MAX_SOURCE_CHARS));
    let (image, repo, branch) = (text("image")?, text("repo")?, text("branch")?);
    let installation =
        body.optional_field("github_installation_id", |field| field.text_or_number(MAX_SOURCE_CHARS))?;
    match (image, repo) {
        (Some(_), Some(_)) => {
            return Err(ErrorResponse::bad_request("image and repo exclude each other: send one of them"));
        }
        (Some(image), None) => image.clone_into(&mut app.image),
        (None, Some(repo)) => {
            let branch =
                branch.ok_or_else(|| ErrorResponse::bad_request("branch is required with repo"))?;
            repo.clone_into(&mut app.repo);
            branch.clone_into(&mut app.branch);
            app.github_installation_id = installation.clone().unwrap_or_default();
        }
        (None, None) => {}
    }
    if repo.is_none() && (branch.is_some() || installation.is_some()) {
        return Err(ErrorResponse::bad_request(
            "branch and github_installation_id go with repo: send repo too",
        ));
    }
    Ok(())
}

/// Reads a new branch; refused for apps that are not built from a repository.
pub(in crate::emulator::world) fn read_branch(body: &Input, app: &mut App) -> Result<(), ErrorResponse> {
    let Some(branch) = body.optional_field("branch", |field| field.text(1, MAX_SOURCE_CHARS))? else {
        return Ok(());
    };
    if app.repo.is_empty() {
        return Err(ErrorResponse::bad_request("branch is for apps that are built from a repository"));
    }
    branch.clone_into(&mut app.branch);
    Ok(())
}

/// Reads a new image; refused for apps that do not run one.
pub(in crate::emulator::world) fn read_image(body: &Input, app: &mut App) -> Result<(), ErrorResponse> {
    let Some(image) = body.optional_field("image", |field| field.text(1, MAX_SOURCE_CHARS))? else {
        return Ok(());
    };
    if app.image.is_empty() {
        return Err(ErrorResponse::bad_request(
            "image is for apps that run one: this app is built from its source",
        ));
    }
    image.clone_into(&mut app.image);
    Ok(())
}
