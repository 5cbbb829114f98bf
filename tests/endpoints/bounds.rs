//! The string lengths of the OpenAPI document hold in the emulator: one character more is refused, and the longest
//! string is not refused for its length.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};
use stead::editor::openapi;
use stead::emulator::world::{ApiRequest, Time, World, handle_request, route_template};
use stead::kinds::REGISTRY;

use crate::openapi::operations;
use crate::table::shape;

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| openapi::build_document(&REGISTRY));
static OPERATIONS: LazyLock<BTreeMap<(String, String), &'static Value>> =
    LazyLock::new(|| operations(&DOCUMENT));

/// Sends a request that would succeed to copies of the world, with each of its strings once too long and once at the
/// limit. Returns how many strings have a limit.
pub fn hold(world: &World, request: &ApiRequest, now: Time) -> usize {
    let Some(route) = route_template(request.method, &request.path) else { return 0 };
    let key = (request.method.as_str().to_owned(), shape(route));
    let Some(operation) = OPERATIONS.get(&key) else { return 0 };
    let Ok(Value::Object(body)) = serde_json::from_slice(&request.body) else { return 0 };
    let schema = whole(&operation["requestBody"]["content"]["application/json"]["schema"]);
    let Some(properties) = schema["properties"].as_object() else { return 0 };
    let copy = serde_json::to_string(world).unwrap();
    let send = |name: &str, value: Value| {
        let mut body = body.clone();
        body.insert(name.to_owned(), value);
        let request = ApiRequest { body: json!(body).to_string().into_bytes(), ..request.clone() };
        let mut world: World = serde_json::from_str(&copy).unwrap();
        let response = handle_request(&mut world, &request, now);
        (response.status, String::from_utf8(response.body).unwrap())
    };
    let mut bounds = 0;
    for (name, property) in properties {
        let property = whole(property);
        let Some(longest) = property["maxLength"].as_u64() else { continue };
        bounds += 1;
        // A path begins with a slash; what else has a form is refused for that.
        let text = |length| format!("/{}", "a".repeat(usize::try_from(length).unwrap() - 1));
        let (status, answer) = send(name, json!(text(longest + 1)));
        assert_eq!(status, 400, "{key:?} takes {name} with {} characters: {answer}", longest + 1);
        let (_, answer) = send(name, json!(text(longest)));
        let length = format!("{name} must be a text of");
        assert!(!answer.contains(&length), "{key:?} refuses {name} with {longest} characters: {answer}");
    }
    bounds
}

/// Returns a schema with its reference resolved.
fn whole(schema: &'static Value) -> &'static Value {
    match schema["$ref"].as_str() {
        Some(reference) => DOCUMENT.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    }
}
