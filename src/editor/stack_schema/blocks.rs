//! Blocks of the language besides resources: variables, environments, declarations, policies, reuse.

use serde_json::{Map, Value, json};

use super::resource::{lookup, named};
use super::{Known, chosen, closed, definition, described, entries, names, needed, says};
use crate::config::keywords::{self, ENVIRONMENT, IMPORT, MOVED, POLICY, REMOVED, TOP, USE, VARIABLE};

/// One part of an address.
pub(super) const NAME: &str = "^[a-z0-9_-]+$";
/// What a lookup is.
pub(super) const NAMES: &str = "What the one object is found by: plain values, locals and variables.";
/// An address.
const ADDRESS: &str = r"^[a-z0-9_-]+(\.[a-z0-9_-]+)+$";
/// An address, or the name of a module.
const MODULE: &str = r"^[a-z0-9_-]+(\.[a-z0-9_-]+)*$";
/// A whole expression.
const EXPRESSION: &str = r"^\$\{[\s\S]*\}$";
/// A path that depends on nothing.
const PATH: &str = "^[^$]+$";
/// Collections of any depth.
const COLLECTION: &str = r"^\s*(list|set|map)\s*\(.+\)\s*$";

/// Returns the schemas of the blocks that need nothing of the registry.
fn plain() -> Map<String, Value> {
    entries([
        ("stead", json!({"enum": [1, "1"], "description": says(TOP, "stead")})),
        ("stack", described(json!({"type": ["string", "integer"], "pattern": NAME}), says(TOP, "stack"))),
        ("backend", json!({"const": "required", "description": says(TOP, "backend")})),
        ("secrets", kept_secrets()),
        ("vars", named(&definition("variable"), says(TOP, "vars"))),
        ("environments", named(&definition("environment"), says(TOP, "environments"))),
        ("locals", named(&json!(true), says(TOP, "locals"))),
        ("outputs", named(&json!(true), says(TOP, "outputs"))),
        ("moved", list("moved", says(TOP, "moved"))),
        ("import", list("import", says(TOP, "import"))),
        ("removed", list("removed", says(TOP, "removed"))),
        ("include", include()),
        ("use", named(&definition("use"), says(TOP, "use"))),
        ("stacks", named(&definition("stack"), says(TOP, "stacks"))),
    ])
}

/// Returns the schemas of all blocks but kinds.
pub(super) fn properties(known: Known<'_>) -> Map<String, Value> {
    let mut blocks = plain();
    blocks.insert("policy".to_owned(), named(&policy(known), says(TOP, "policy")));
    let kinds = known.registry.top_level();
    let lookups = kinds.map(|kind| (kind.name.to_owned(), named(&lookup(known, kind), kind.summary)));
    let data = closed(lookups.collect(), &[]);
    blocks.insert("data".to_owned(), described(data, says(TOP, "data")));
    blocks
}

fn list(name: &str, text: &str) -> Value {
    json!({"type": ["array", "null"], "items": definition(name), "description": text})
}

fn kept_secrets() -> Value {
    let one = json!({"type": "string", "pattern": "^(age1|\\$)"});
    let list = json!({"anyOf": [{"type": "array", "items": one, "minItems": 1}, one]});
    let recipients = described(list, says(keywords::SECRETS, "recipients"));
    let mut block = closed(entries([("recipients", recipients)]), &[]);
    block["type"] = json!(["object", "null"]);
    described(block, says(TOP, "secrets"))
}

fn include() -> Value {
    let path = json!({"type": "string", "pattern": PATH});
    json!({
        "description": says(TOP, "include"),
        "anyOf": [{"type": "array", "items": path}, path, {"type": "null"}],
    })
}

/// Returns the definitions that blocks share.
pub(super) fn definitions() -> Map<String, Value> {
    let expression = definition("expression");
    let address = json!({"type": "string", "pattern": ADDRESS});
    let place = json!({"type": "string", "pattern": MODULE});
    let dependency = json!({"type": "string", "pattern": r"^\$?[a-z0-9_-]+(\.[a-z0-9_-]+)+$"});
    let duration = json!({"type": "string", "pattern": "^[0-9]+[smh]$", "examples": ["90s", "30m", "1h"]});
    let key = json!({"type": ["string", "integer"]});
    let condition = json!({"anyOf": [{"type": "boolean"}, expression]});
    let for_each = json!({"anyOf": [{"type": "array", "items": key}, {"type": "object"}, expression]});
    let timeouts = closed(
        entries([("create", duration.clone()), ("update", duration.clone()), ("delete", duration)]),
        &[],
    );
    let addresses = json!({"type": "array", "items": dependency, "uniqueItems": true});
    entries([
        ("condition", condition),
        ("for_each", for_each),
        ("timeouts", described(timeouts, says(keywords::LIFECYCLE, "timeouts"))),
        ("addresses", addresses),
        ("deliver_secret", deliver_secret()),
        ("variable", variable()),
        ("environment", environment()),
        ("moved", closed(entries([("from", place.clone()), ("to", place.clone())]), &needed(MOVED))),
        ("import", import(&address)),
        ("removed", removed(&place)),
        ("use", module()),
        ("stack", stack()),
    ])
}

/// Returns the schema of the name of a program that handles a secret.
fn program(what: &str) -> Value {
    let text = format!("A program of the user's own settings that {what} the secret.");
    json!({"type": "string", "pattern": "^[a-z0-9_-]{1,64}$", "description": text})
}

fn deliver_secret() -> Value {
    let text = json!({"type": "string", "minLength": 1});
    let file = closed(entries([("file", text.clone())]), &["file"]);
    let line = entries([("env_file", text.clone()), ("variable", text)]);
    let sink = closed(entries([("sink", program("takes"))]), &["sink"]);
    json!({"anyOf": [file, closed(line, &["env_file", "variable"]), sink]})
}

fn import(address: &Value) -> Value {
    let entry = entries([
        ("to", address.clone()),
        ("id", json!({"type": ["string", "integer"], "minLength": 1})),
        ("when", definition("condition")),
    ]);
    closed(entry, &needed(IMPORT))
}

fn removed(place: &Value) -> Value {
    let action = json!({
        "enum": chosen(REMOVED, "action"),
        "description": says(REMOVED, "action"),
    });
    closed(entries([("from", place.clone()), ("action", action)]), &needed(REMOVED))
}

fn module() -> Value {
    let with = described(json!({"type": ["object", "null"]}), says(USE, "with"));
    let call = entries([
        ("source", json!({"type": "string", "pattern": PATH, "description": says(USE, "source")})),
        ("with", with),
        ("name", json!({"type": ["string", "integer"], "description": says(USE, "name")})),
        ("for_each", definition("for_each")),
        ("when", definition("condition")),
    ]);
    closed(call, &needed(USE))
}

fn stack() -> Value {
    let path = json!({"type": "string", "pattern": PATH, "description": says(keywords::STACK, "source")});
    let entry = entries([("source", path.clone()), ("env", json!({"type": "string", "pattern": PATH}))]);
    json!({"anyOf": [path, closed(entry, &needed(keywords::STACK))]})
}

fn environment() -> Value {
    let paths = json!({
        "type": ["object", "null"],
        "propertyNames": {"pattern": r"^[^.]+(\.[^.]+)+$"},
        "description": says(ENVIRONMENT, "set"),
    });
    let mut schema = closed(
        entries([
            ("default", json!({"type": "boolean", "description": says(ENVIRONMENT, "default")})),
            (
                "confirm",
                json!({"enum": chosen(ENVIRONMENT, "confirm"), "description": says(ENVIRONMENT, "confirm")}),
            ),
            ("vars", json!({"type": ["object", "null"], "description": says(ENVIRONMENT, "vars")})),
            ("set", paths),
        ]),
        &[],
    );
    schema["type"] = json!(["object", "null"]);
    schema
}

fn variable() -> Value {
    let ty = json!({
        "description": says(VARIABLE, "type"),
        "anyOf": [{"enum": names(keywords::TYPES)}, {"type": "string", "pattern": COLLECTION}],
    });
    let mut schema = closed(
        entries([
            ("type", ty),
            ("default", json!({"description": says(VARIABLE, "default")})),
            (
                "one_of",
                json!({"type": "array", "minItems": 1, "uniqueItems": true, "description": says(VARIABLE, "one_of")}),
            ),
            (
                "check",
                json!({"type": "string", "pattern": EXPRESSION, "description": says(VARIABLE, "check")}),
            ),
            (
                "description",
                json!({"type": ["string", "number", "boolean"], "description": says(VARIABLE, "description")}),
            ),
            ("from_file", json!({"type": "string", "description": says(VARIABLE, "from_file")})),
            (
                "generate",
                json!({"type": "integer", "minimum": 16, "maximum": 128, "description": says(VARIABLE, "generate")}),
            ),
            ("source", program("prints")),
            ("deliver_secret", described(definition("deliver_secret"), says(VARIABLE, "deliver_secret"))),
        ]),
        &[],
    );
    schema["type"] = json!(["object", "null"]);
    let mut conditions = defaults();
    conditions.push(json!({
        "if": {"anyOf": [{"required": ["generate"]}, {"required": ["source"]}]},
        "then": {"required": ["type"], "properties": {"type": {"const": "secret"}}},
    }));
    schema["allOf"] = json!(conditions);
    schema
}

/// A default has the variable's type.
fn defaults() -> Vec<Value> {
    let simple = [
        ("^int$", json!({"type": "integer"})),
        ("^number$", json!({"type": "number"})),
        ("^bool$", json!({"type": "boolean"})),
        (r"^\s*(list|set)\s*\(", json!({"type": "array"})),
        (r"^\s*map\s*\(", json!({"type": "object"})),
        ("^(string|cidr)$", json!({"type": ["string", "number", "boolean"]})),
    ];
    simple
        .into_iter()
        .map(|(pattern, schema)| {
            json!({
                "if": {"required": ["type"], "properties": {"type": {"pattern": pattern}}},
                "then": {"properties": {"default": schema}},
            })
        })
        .collect()
}

fn policy(known: Known<'_>) -> Value {
    let kinds: Vec<&str> = known.registry.kinds.iter().map(|kind| kind.name).collect();
    let kind = json!({"enum": kinds});
    let on = json!({
        "description": says(POLICY, "on"),
        "anyOf": [kind, {"type": "array", "items": kind, "minItems": 1, "uniqueItems": true}],
    });
    let rule = entries([
        ("on", on),
        ("deny", json!({"type": "string", "pattern": EXPRESSION, "description": says(POLICY, "deny")})),
        (
            "message",
            json!({"type": ["string", "number", "boolean"], "minLength": 1, "description": says(POLICY, "message")}),
        ),
    ]);
    closed(rule, &needed(POLICY))
}
