//! The emulator's own endpoints, under `/_emulator/`: log, counts, clock, faults, objects, drift, export and
//! import; and the files of its console page. They are no part of the service: they need no API key, and answer
//! programs on this machine only.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::message::{CONTROL_PREFIX, IncomingRequest, RequestTimes};
use super::service_state::HttpService;
use super::world::{
    ApiResponse, MutateError, RecordSearch, World, inspect_many, inspect_one, list_kinds, mutate,
};
use super::{console, faults};

/// Format version of an export; one of another version is refused.
const EXPORT_FORMAT: u32 = 1;

type ControlResult = Result<Value, ApiResponse>;

/// One of the emulator's own calls: a row of `CONTROL_CALLS`.
pub struct ControlCall {
    /// Method of the request.
    pub method: &'static str,
    /// Path of the call below `/_emulator/`.
    pub name: &'static str,
    /// What the call does and what it answers, as sentences.
    pub summary: &'static str,
    /// Parameters of the query, each with its meaning; empty if it takes none.
    pub query: &'static [(&'static str, &'static str)],
    /// An example of the body; `None` if it takes none.
    pub body: Option<&'static str>,
    answer: fn(&mut HttpService, &IncomingRequest, RequestTimes) -> ControlResult,
}

/// All calls, by name; the documentation lists them.
pub const CONTROL_CALLS: &[ControlCall] = &[
    ControlCall {
        method: "GET",
        name: "clock",
        summary: "Returns the time of the emulated service, and its speed in seconds per real second.",
        query: &[],
        body: None,
        answer: |shell, _, moment| Ok(clock_state(shell, moment)),
    },
    ControlCall {
        method: "POST",
        name: "clock",
        summary: "Sets the speed (`speed`) or moves the clock forward (`advance_seconds`); returns the clock.",
        query: &[],
        body: Some(r#"{"advance_seconds": 86400}"#),
        answer: set_clock,
    },
    ControlCall {
        method: "GET",
        name: "export",
        summary: "Returns the whole world, for `import` and for `stead emulator --seed`.",
        query: &[],
        body: None,
        answer: |shell, _, _| export_world(shell),
    },
    ControlCall {
        method: "GET",
        name: "faults",
        summary: "Returns the seed and the rules of the injected failures.",
        query: &[],
        body: None,
        answer: |shell, _, _| Ok(json!(shell.faults)),
    },
    ControlCall {
        method: "POST",
        name: "faults",
        summary: "Replaces the rules of the injected failures. A rule has the form of `stead emulator --fail`.",
        query: &[],
        body: Some(r#"{"seed": 1, "rules": ["POST /vms=503:10%"]}"#),
        answer: |shell, incoming, _| set_faults(shell, incoming),
    },
    ControlCall {
        method: "POST",
        name: "import",
        summary: "Replaces the world by an exported one: the body is the answer of `export`. Returns the number of its objects.",
        query: &[],
        body: None,
        answer: import_world,
    },
    ControlCall {
        method: "POST",
        name: "mutate",
        summary: "Changes attributes of an object as if somebody else did it, so that it drifts. The account is the kind `account`, without an id.",
        query: &[],
        body: Some(r#"{"kind": "vm", "id": "ID", "set": {"console_require_mfa": true}}"#),
        answer: mutate_object,
    },
    ControlCall {
        method: "GET",
        name: "objects",
        summary: "Returns the number of objects of each kind; with a kind, its objects; with an id, that object.",
        query: &[
            ("kind", "the kind"),
            ("id", "the id of one object"),
            ("find", "a text that the objects contain"),
            ("offset", "the number of objects to skip, 0 by default"),
            ("limit", "the largest number of objects, 50 by default, 1,000 at most"),
        ],
        body: None,
        answer: inspect_objects,
    },
    ControlCall {
        method: "GET",
        name: "requests",
        summary: "Returns the requests that the service received, oldest first, and their number.",
        query: &[("since", "the number of the last request that is known")],
        body: None,
        answer: |shell, incoming, _| list_requests(shell, incoming),
    },
    ControlCall {
        method: "POST",
        name: "reset",
        summary: "Deletes all objects, and sets up a new account.",
        query: &[],
        body: Some("{}"),
        answer: |shell, _, moment| Ok(reset_cloud(shell, moment)),
    },
    ControlCall {
        method: "GET",
        name: "stats",
        summary: "Returns the number of requests by route, the peak per second, the objects, the bill and the clock.",
        query: &[],
        body: None,
        answer: |shell, _, moment| Ok(collect_stats(shell, moment)),
    },
];

/// Answers a request to one of the emulator's own endpoints. They need no API key, and accept
/// requests from this machine only.
pub(super) fn handle_control_request(
    shell: &mut HttpService,
    incoming: &IncomingRequest,
    moment: RequestTimes,
) -> ApiResponse {
    if !incoming.trusted {
        let message = "the emulator's own calls are open to programs on this machine only";
        return ApiResponse::error(403, "Forbidden", message);
    }
    if let ("GET", Some(file)) = (incoming.method.as_str(), console::console_file(&incoming.path)) {
        return file;
    }
    let name = incoming.path.strip_prefix(CONTROL_PREFIX).unwrap_or_default();
    let call = CONTROL_CALLS.iter().find(|call| call.method == incoming.method && call.name == name);
    let reply = match call {
        Some(call) => (call.answer)(shell, incoming, moment),
        None => Err(ApiResponse::error(404, "Not Found", &format!("the emulator has no call {name}"))),
    };
    match reply {
        Ok(data) => {
            ApiResponse::from_json(200, json!({"success": true, "data": data}).to_string().into_bytes())
        }
        Err(refused) => refused,
    }
}

fn bad_request(message: &str) -> ApiResponse {
    ApiResponse::error(400, "Bad Request", message)
}

fn parse_json_body<T: DeserializeOwned>(incoming: &IncomingRequest) -> Result<T, ApiResponse> {
    serde_json::from_slice(&incoming.body)
        .map_err(|error| bad_request(&format!("the body is not valid: {error}")))
}

/// Returns the first value of a query parameter; `None` without the parameter.
fn query_parameter<'a>(incoming: &'a IncomingRequest, wanted: &str) -> Option<&'a str> {
    incoming.query.iter().find(|(name, _)| name == wanted).map(|(_, text)| text.as_str())
}

/// Limit on the objects in one response; a larger `limit` of the request counts as this.
const MAX_OBJECTS: usize = 1_000;

/// Lists the kinds; with a kind, its objects; with a kind and an id, that object.
fn inspect_objects(
    shell: &mut HttpService,
    incoming: &IncomingRequest,
    moment: RequestTimes,
) -> ControlResult {
    let now = shell.clock.now(moment.real);
    let number = |name: &str, default: usize| match query_parameter(incoming, name) {
        Some(text) => text.parse().map_err(|_| bad_request(&format!("{name} must be a whole number"))),
        None => Ok(default),
    };
    let Some(kind) = query_parameter(incoming, "kind") else {
        let kinds = list_kinds(&mut shell.world, now).into_iter();
        let kinds = kinds.map(|(kind, total)| json!({"kind": kind, "total": total}));
        return Ok(json!({"kinds": kinds.collect::<Vec<_>>()}));
    };
    if let Some(id) = query_parameter(incoming, "id") {
        return inspect_one(&mut shell.world, kind, id, now).map_err(|error| mutate_error_response(&error));
    }
    let search = RecordSearch {
        offset: number("offset", 0)?,
        limit: number("limit", 50)?.min(MAX_OBJECTS),
        find: query_parameter(incoming, "find").unwrap_or_default().to_owned(),
    };
    inspect_many(&mut shell.world, kind, &search, now).map_err(|error| mutate_error_response(&error))
}

fn mutate_error_response(error: &MutateError) -> ApiResponse {
    match error {
        MutateError::Unknown { .. } => ApiResponse::error(404, "Not Found", &error.to_string()),
        MutateError::Invalid(message) => bad_request(message),
    }
}

fn list_requests(shell: &HttpService, incoming: &IncomingRequest) -> ControlResult {
    let since = match query_parameter(incoming, "since") {
        Some(text) => text.parse().map_err(|_| bad_request("since must be the number of a request"))?,
        None => 0,
    };
    let entries: Vec<_> = shell.log.entries_after(since).collect();
    Ok(json!({"requests": entries, "total": shell.log.request_count()}))
}

fn collect_stats(shell: &HttpService, moment: RequestTimes) -> Value {
    let now = shell.clock.now(moment.real);
    json!({
        "requests": shell.log.request_count(),
        "peak_per_second": shell.log.peak_per_second(),
        "routes": shell.log.counts_by_route().collect::<Vec<_>>(),
        "objects": shell.world.object_count(),
        "bill": shell.world.bill(now),
        "clock": clock_state(shell, moment),
    })
}

fn clock_state(shell: &HttpService, moment: RequestTimes) -> Value {
    json!({"now": shell.clock.now(moment.real), "speed": shell.clock.speed()})
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClockBody {
    speed: Option<f64>,
    advance_seconds: Option<f64>,
}

fn set_clock(shell: &mut HttpService, incoming: &IncomingRequest, moment: RequestTimes) -> ControlResult {
    let body: ClockBody = parse_json_body(incoming)?;
    let changed = match (body.speed, body.advance_seconds) {
        (Some(speed), None) => shell.clock.with_speed(moment.real, speed),
        (None, Some(seconds)) => shell.clock.with_advance(seconds),
        _ => return Err(bad_request("the body must have one of speed and advance_seconds")),
    };
    shell.clock = changed.map_err(|error| bad_request(&error.to_string()))?;
    // A restart must continue at the time and speed that were set, even if no record changes until then.
    shell.journal.submit(Vec::new(), Some(shell.clock));
    Ok(clock_state(shell, moment))
}

fn set_faults(shell: &mut HttpService, incoming: &IncomingRequest) -> ControlResult {
    let plan: faults::FaultPlan = parse_json_body(incoming)?;
    shell.faults = plan;
    Ok(json!(shell.faults))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MutateBody {
    kind: String,
    #[serde(default)]
    id: String,
    set: Map<String, Value>,
}

fn mutate_object(
    shell: &mut HttpService,
    incoming: &IncomingRequest,
    moment: RequestTimes,
) -> ControlResult {
    let MutateBody { kind, id, set } = parse_json_body(incoming)?;
    let now = shell.clock.now(moment.real);
    mutate(&mut shell.world, &kind, &id, &set, now).map_err(|error| mutate_error_response(&error))?;
    store_account(shell);
    Ok(json!({"kind": kind, "id": id}))
}

fn reset_cloud(shell: &mut HttpService, moment: RequestTimes) -> Value {
    let now = shell.clock.now(moment.real);
    shell.world.reset(now);
    store_account(shell);
    json!({"objects": 0})
}

/// Stores the account and the clock: changes of the account alone are no change of a record, so `take_rows`
/// would not report them.
fn store_account(shell: &mut HttpService) {
    let row = shell.world.account_row();
    shell.journal.submit(vec![row], Some(shell.clock));
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorldExport {
    format: u32,
    world: World,
}

fn export_world(shell: &HttpService) -> ControlResult {
    // By way of its text: records are written as text anyway, and no other way of writing each kind is built.
    let world = serde_json::to_vec(&shell.world).and_then(|text| serde_json::from_slice::<Value>(&text));
    let world =
        world.map_err(|error| ApiResponse::error(500, "Internal Server Error", &error.to_string()))?;
    Ok(json!({"format": EXPORT_FORMAT, "world": world}))
}

fn import_world(
    shell: &mut HttpService,
    incoming: &IncomingRequest,
    moment: RequestTimes,
) -> ControlResult {
    let world = read_export(&incoming.body).map_err(|message| bad_request(&message))?;
    shell.world.import(world).map_err(|message| bad_request(&message))?;
    shell.clock = shell.clock.not_before(moment.real, shell.world.latest_time());
    store_account(shell);
    Ok(json!({"objects": shell.world.object_count()}))
}

/// Reads an export: the whole response of the export endpoint, or its `data` alone.
///
/// # Errors
/// When it is not valid JSON, not an export, or of another format version; the text is the message.
pub fn read_export(text: &[u8]) -> Result<World, String> {
    #[derive(Deserialize)]
    struct ExportResponse {
        data: WorldExport,
    }
    let read = serde_json::from_slice::<WorldExport>(text);
    let read = read.or_else(|error| {
        // The error of the bare form is more precise, unless the text is the whole response.
        serde_json::from_slice::<ExportResponse>(text).map(|answer| answer.data).map_err(|_| error)
    });
    let export = read.map_err(|error| format!("this is not an export of the emulator: {error}"))?;
    if export.format != EXPORT_FORMAT {
        return Err(format!(
            "the export has the format {}, and this stead reads {EXPORT_FORMAT}",
            export.format
        ));
    }
    Ok(export.world)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_are_sorted_and_their_bodies_are_json() {
        let names: Vec<_> = CONTROL_CALLS.iter().map(|call| (call.name, call.method)).collect();
        assert!(names.is_sorted(), "{names:?}");
        for call in CONTROL_CALLS {
            assert!(call.summary.ends_with('.'), "{}", call.name);
            let parsed = call.body.map(serde_json::from_str::<Value>);
            assert!(parsed.is_none_or(|body| body.is_ok()), "{}", call.name);
            assert!(call.body.is_none() || call.method == "POST", "{}", call.name);
        }
    }
}
