//! Schemas of the language's blocks other than resources: variables, environments, declarations, policies, modules.
//! Descriptions are the summaries of the keywords.

use serde_json::{Map, Value, json};

use super::fields::{NAME, lookup_block, named_blocks};
use super::vocabulary::{
    SchemaInputs, closed_map, definition_ref, named_schemas, names_of, required_words, with_description,
    word_choices, word_summary,
};
use crate::config::keywords::{self, ENVIRONMENT, IMPORT, MOVED, POLICY, REMOVED, TOP, USE, VARIABLE};

/// Pattern of an address.
const ADDRESS: &str = r"^[a-z0-9_-]+(\.[a-z0-9_-]+)+$";
/// Pattern of an address or a module name.
const MODULE: &str = r"^[a-z0-9_-]+(\.[a-z0-9_-]+)*$";
/// Pattern of a value that is a single expression.
const EXPRESSION: &str = r"^\$\{[\s\S]*\}$";
/// Pattern of a path without references.
const PATH: &str = "^[^$]+$";
/// Pattern of a collection type, nested to any depth.
const COLLECTION: &str = r"^\s*(list|set|map)\s*\(.+\)\s*$";

/// Returns the schemas of the blocks that do not depend on the registry.
fn plain_blocks() -> Map<String, Value> {
    named_schemas([
        ("stead", json!({"enum": [1, "1"], "description": word_summary(TOP, "stead")})),
        (
            "stack",
            with_description(
                json!({"type": ["string", "integer"], "pattern": NAME}),
                word_summary(TOP, "stack"),
            ),
        ),
        ("backend", json!({"const": "required", "description": word_summary(TOP, "backend")})),
        ("secrets", kept_secrets()),
        ("vars", named_blocks(&definition_ref("variable"), word_summary(TOP, "vars"))),
        ("environments", named_blocks(&definition_ref("environment"), word_summary(TOP, "environments"))),
        ("locals", named_blocks(&json!(true), word_summary(TOP, "locals"))),
        ("outputs", named_blocks(&json!(true), word_summary(TOP, "outputs"))),
        ("moved", entry_list("moved", word_summary(TOP, "moved"))),
        ("import", entry_list("import", word_summary(TOP, "import"))),
        ("removed", entry_list("removed", word_summary(TOP, "removed"))),
        ("include", include_block()),
        ("use", named_blocks(&definition_ref("use"), word_summary(TOP, "use"))),
        ("stacks", named_blocks(&definition_ref("stack"), word_summary(TOP, "stacks"))),
    ])
}

/// Returns the schemas of all blocks other than resources.
pub(super) fn block_properties(known: SchemaInputs<'_>) -> Map<String, Value> {
    let mut blocks = plain_blocks();
    blocks.insert("policy".to_owned(), named_blocks(&policy_block(known), word_summary(TOP, "policy")));
    let kinds = known.registry.top_level();
    let lookups =
        kinds.map(|kind| (kind.name.to_owned(), named_blocks(&lookup_block(known, kind), kind.summary)));
    let data = closed_map(lookups.collect(), &[]);
    blocks.insert("data".to_owned(), with_description(data, word_summary(TOP, "data")));
    blocks
}

fn entry_list(name: &str, text: &str) -> Value {
    json!({"type": ["array", "null"], "items": definition_ref(name), "description": text})
}

fn kept_secrets() -> Value {
    let one = json!({"type": "string", "pattern": "^(age1|\\$)"});
    let list = json!({"anyOf": [{"type": "array", "items": one, "minItems": 1}, one]});
    let recipients = with_description(list, word_summary(keywords::SECRETS, "recipients"));
    let mut block = closed_map(named_schemas([("recipients", recipients)]), &[]);
    block["type"] = json!(["object", "null"]);
    with_description(block, word_summary(TOP, "secrets"))
}

fn include_block() -> Value {
    let path = json!({"type": "string", "pattern": PATH});
    json!({
        "description": word_summary(TOP, "include"),
        "anyOf": [{"type": "array", "items": path}, path, {"type": "null"}],
    })
}

/// Returns the definitions that the blocks share.
pub(super) fn block_definitions() -> Map<String, Value> {
    let expression = definition_ref("expression");
    let address = json!({"type": "string", "pattern": ADDRESS});
    let place = json!({"type": "string", "pattern": MODULE});
    let path = json!({"type": "string", "pattern": PATH});
    let dependency = json!({"type": "string", "pattern": r"^\$?[a-z0-9_-]+(\.[a-z0-9_-]+)+$"});
    let duration = json!({"type": "string", "pattern": "^[0-9]+[smh]$", "examples": ["90s", "30m", "1h"]});
    let key = json!({"type": ["string", "integer"]});
    let condition = json!({"anyOf": [{"type": "boolean"}, expression]});
    let for_each = json!({"anyOf": [{"type": "array", "items": key}, {"type": "object"}, expression]});
    let timeouts = closed_map(
        named_schemas([("create", duration.clone()), ("update", duration.clone()), ("delete", duration)]),
        &[],
    );
    let addresses = json!({"type": "array", "items": dependency, "uniqueItems": true});
    named_schemas([
        ("condition", condition),
        ("for_each", for_each),
        ("timeouts", with_description(timeouts, word_summary(keywords::LIFECYCLE, "timeouts"))),
        ("addresses", addresses),
        ("deliver_secret", deliver_secret()),
        ("variable", variable_block()),
        ("environment", environment_block()),
        (
            "moved",
            closed_map(
                named_schemas([
                    ("from", place.clone()),
                    ("to", place.clone()),
                    ("stack", path.clone()),
                    ("from_stack", path),
                ]),
                &required_words(MOVED),
            ),
        ),
        ("import", import_entry(&address)),
        ("removed", removed_entry(&place)),
        ("use", module_block()),
        ("stack", stack_block()),
    ])
}

/// Returns the schema for the name of a program that handles a secret; `what` is the verb of its
/// description: `takes` or `prints`.
fn program_name(what: &str) -> Value {
    let text = format!("A program of the user's own settings that {what} the secret.");
    json!({"type": "string", "pattern": "^[a-z0-9_-]{1,64}$", "description": text})
}

fn deliver_secret() -> Value {
    let text = json!({"type": "string", "minLength": 1});
    let file = closed_map(named_schemas([("file", text.clone())]), &["file"]);
    let line = named_schemas([("env_file", text.clone()), ("variable", text)]);
    let sink = closed_map(named_schemas([("sink", program_name("takes"))]), &["sink"]);
    json!({"anyOf": [file, closed_map(line, &["env_file", "variable"]), sink]})
}

fn import_entry(address: &Value) -> Value {
    let entry = named_schemas([
        ("to", address.clone()),
        ("id", json!({"type": ["string", "integer"], "minLength": 1})),
        ("when", definition_ref("condition")),
    ]);
    closed_map(entry, &required_words(IMPORT))
}

fn removed_entry(place: &Value) -> Value {
    let action = json!({
        "enum": word_choices(REMOVED, "action"),
        "description": word_summary(REMOVED, "action"),
    });
    closed_map(named_schemas([("from", place.clone()), ("action", action)]), &required_words(REMOVED))
}

fn module_block() -> Value {
    let with = with_description(json!({"type": ["object", "null"]}), word_summary(USE, "with"));
    let call = named_schemas([
        ("source", json!({"type": "string", "pattern": PATH, "description": word_summary(USE, "source")})),
        ("with", with),
        ("name", json!({"type": ["string", "integer"], "description": word_summary(USE, "name")})),
        ("for_each", definition_ref("for_each")),
        ("when", definition_ref("condition")),
    ]);
    closed_map(call, &required_words(USE))
}

fn stack_block() -> Value {
    let path =
        json!({"type": "string", "pattern": PATH, "description": word_summary(keywords::STACK, "source")});
    let entry =
        named_schemas([("source", path.clone()), ("env", json!({"type": "string", "pattern": PATH}))]);
    json!({"anyOf": [path, closed_map(entry, &required_words(keywords::STACK))]})
}

fn environment_block() -> Value {
    let paths = json!({
        "type": ["object", "null"],
        "propertyNames": {"pattern": r"^[^.]+(\.[^.]+)+$"},
        "description": word_summary(ENVIRONMENT, "set"),
    });
    let mut schema = closed_map(
        named_schemas([
            ("default", json!({"type": "boolean", "description": word_summary(ENVIRONMENT, "default")})),
            (
                "confirm",
                json!({"enum": word_choices(ENVIRONMENT, "confirm"), "description": word_summary(ENVIRONMENT, "confirm")}),
            ),
            ("vars", json!({"type": ["object", "null"], "description": word_summary(ENVIRONMENT, "vars")})),
            ("set", paths),
        ]),
        &[],
    );
    schema["type"] = json!(["object", "null"]);
    schema
}

fn variable_block() -> Value {
    let ty = json!({
        "description": word_summary(VARIABLE, "type"),
        "anyOf": [{"enum": names_of(keywords::TYPES)}, {"type": "string", "pattern": COLLECTION}],
    });
    let mut schema = closed_map(
        named_schemas([
            ("type", ty),
            ("default", json!({"description": word_summary(VARIABLE, "default")})),
            (
                "one_of",
                json!({"type": "array", "minItems": 1, "uniqueItems": true, "description": word_summary(VARIABLE, "one_of")}),
            ),
            (
                "check",
                json!({"type": "string", "pattern": EXPRESSION, "description": word_summary(VARIABLE, "check")}),
            ),
            (
                "description",
                json!({"type": ["string", "number", "boolean"], "description": word_summary(VARIABLE, "description")}),
            ),
            ("from_file", json!({"type": "string", "description": word_summary(VARIABLE, "from_file")})),
            (
                "generate",
                json!({"type": "integer", "minimum": 16, "maximum": 128, "description": word_summary(VARIABLE, "generate")}),
            ),
            ("source", program_name("prints")),
            (
                "deliver_secret",
                with_description(
                    definition_ref("deliver_secret"),
                    word_summary(VARIABLE, "deliver_secret"),
                ),
            ),
        ]),
        &[],
    );
    schema["type"] = json!(["object", "null"]);
    let mut conditions = default_conditions();
    conditions.push(json!({
        "if": {"anyOf": [{"required": ["generate"]}, {"required": ["source"]}]},
        "then": {"required": ["type"], "properties": {"type": {"const": "secret"}}},
    }));
    schema["allOf"] = json!(conditions);
    schema
}

/// Returns the conditions by which a default must have the variable's type.
fn default_conditions() -> Vec<Value> {
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

fn policy_block(known: SchemaInputs<'_>) -> Value {
    let kinds: Vec<&str> = known.registry.kinds.iter().map(|kind| kind.name).collect();
    let kind = json!({"enum": kinds});
    let on = json!({
        "description": word_summary(POLICY, "on"),
        "anyOf": [kind, {"type": "array", "items": kind, "minItems": 1, "uniqueItems": true}],
    });
    let rule = named_schemas([
        ("on", on),
        (
            "level",
            json!({"enum": word_choices(POLICY, "level"), "default": "overridable", "description": word_summary(POLICY, "level")}),
        ),
        (
            "deny",
            json!({"type": "string", "pattern": EXPRESSION, "description": word_summary(POLICY, "deny")}),
        ),
        (
            "message",
            json!({"type": ["string", "number", "boolean"], "minLength": 1, "description": word_summary(POLICY, "message")}),
        ),
    ]);
    closed_map(rule, &required_words(POLICY))
}
