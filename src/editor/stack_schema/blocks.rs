//! Blocks of the language besides resources: variables, environments, declarations, policies, reuse.

use serde_json::{Map, Value, json};

use super::resource::{lookup, named};
use super::{Known, closed, definition, described, entries};

/// One part of an address.
pub(super) const NAME: &str = "^[a-z0-9_-]+$";
/// What a lookup is.
pub(super) const NAMES: &str = "What the one object is found by: plain values, locals and variables.";
/// An address.
const ADDRESS: &str = r"^[a-z0-9_-]+(\.[a-z0-9_-]+)+$";
/// A whole expression.
const EXPRESSION: &str = r"^\$\{[\s\S]*\}$";
/// A path that depends on nothing.
const PATH: &str = "^[^$]+$";
/// The types of variables.
const TYPES: &[&str] =
    &["string", "int", "number", "bool", "cidr", "secret", "list(string)", "set(string)", "map(string)"];
/// Collections of any depth.
const COLLECTION: &str = r"^\s*(list|set|map)\s*\(.+\)\s*$";

/// Returns the schemas of the blocks that need nothing of the registry.
fn plain() -> Map<String, Value> {
    entries([
        ("stead", json!({"enum": [1, "1"], "description": "The version of the language."})),
        ("stack", described(json!({"type": ["string", "integer"], "pattern": NAME}), "The stack's name.")),
        (
            "backend",
            json!({"const": "required", "description": "The local ledger is refused: settings say where it is kept."}),
        ),
        ("vars", named(&definition("variable"), "Variables: the only thing that environments differ in.")),
        ("environments", named(&definition("environment"), "Environments, chosen by `-e`.")),
        ("locals", named(&json!(true), "Values with a name; computed once.")),
        ("outputs", named(&json!(true), "What to print when all is done, and other stacks may read.")),
        ("moved", list("moved", "New addresses of what the ledger has under old ones.")),
        ("import", list("import", "Live objects that become a resource's.")),
        ("removed", list("removed", "What becomes of objects whose block is gone.")),
        ("include", include()),
        ("use", named(&definition("use"), "Directories as modules.")),
        ("stacks", named(&definition("stack"), "Other stacks whose outputs are read.")),
    ])
}

/// Returns the schemas of all blocks but kinds.
pub(super) fn properties(known: Known<'_>) -> Map<String, Value> {
    let mut blocks = plain();
    blocks.insert("policy".to_owned(), named(&policy(known), "Rules that a plan must pass."));
    let kinds = known.registry.top_level();
    let lookups = kinds.map(|kind| (kind.name.to_owned(), named(&lookup(known, kind), kind.summary)));
    let data = closed(lookups.collect(), &[]);
    blocks.insert("data".to_owned(), described(data, "Objects that this stack does not manage."));
    blocks
}

fn list(name: &str, text: &str) -> Value {
    json!({"type": ["array", "null"], "items": definition(name), "description": text})
}

fn include() -> Value {
    let path = json!({"type": "string", "pattern": PATH});
    json!({
        "description": "Files that are read as if they stood beside this one.",
        "anyOf": [{"type": "array", "items": path}, path, {"type": "null"}],
    })
}

/// Returns the definitions that blocks share.
pub(super) fn definitions() -> Map<String, Value> {
    let expression = definition("expression");
    let address = json!({"type": "string", "pattern": ADDRESS});
    let dependency = json!({"type": "string", "pattern": r"^\$?[a-z0-9_-]+(\.[a-z0-9_-]+)+$"});
    let duration = json!({"type": "string", "pattern": "^[0-9]+[smh]$", "examples": ["90s", "30m", "1h"]});
    let key = json!({"type": ["string", "integer"]});
    let condition = json!({"anyOf": [{"type": "boolean"}, expression]});
    let for_each = json!({"anyOf": [{"type": "array", "items": key}, {"type": "object"}, expression]});
    let timeouts = closed(
        entries([("create", duration.clone()), ("update", duration.clone()), ("delete", duration)]),
        &[],
    );
    let addresses = json!({"anyOf": [{"type": "array", "items": dependency}, dependency]});
    entries([
        ("condition", condition),
        ("for_each", for_each),
        ("timeouts", described(timeouts, "How long it may take.")),
        ("addresses", addresses),
        ("deliver_secret", deliver_secret()),
        ("variable", variable()),
        ("environment", environment()),
        ("moved", closed(entries([("from", address.clone()), ("to", address.clone())]), &["from", "to"])),
        ("import", import(&address)),
        ("removed", removed(&address)),
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
    closed(entry, &["to", "id"])
}

fn removed(address: &Value) -> Value {
    let action = json!({
        "enum": ["forget", "delete"],
        "description": "forget: the object stays live; delete: it goes.",
    });
    closed(entries([("from", address.clone()), ("action", action)]), &["from", "action"])
}

fn module() -> Value {
    let with = described(json!({"type": ["object", "null"]}), "Values of the module's variables.");
    let call = entries([
        ("source", json!({"type": "string", "pattern": PATH, "description": "The module's directory."})),
        ("with", with),
        ("for_each", definition("for_each")),
        ("when", definition("condition")),
    ]);
    closed(call, &["source"])
}

fn stack() -> Value {
    let path = json!({"type": "string", "pattern": PATH, "description": "The stack's directory."});
    let entry = entries([("source", path.clone()), ("env", json!({"type": "string", "pattern": PATH}))]);
    json!({"anyOf": [path, closed(entry, &["source"])]})
}

fn environment() -> Value {
    let paths = json!({
        "type": ["object", "null"],
        "propertyNames": {"pattern": r"^[^.]+(\.[^.]+)+$"},
        "description": "Values that replace exactly one path each: `database.main.storage_gb: 80`.",
    });
    let mut schema = closed(
        entries([
            ("default", json!({"type": "boolean", "description": "It is meant when none is said."})),
            ("confirm", json!({"enum": ["ask", "typed"], "description": "How an apply asks."})),
            ("vars", json!({"type": ["object", "null"], "description": "Values of variables."})),
            ("set", paths),
        ]),
        &[],
    );
    schema["type"] = json!(["object", "null"]);
    schema
}

fn variable() -> Value {
    let ty = json!({
        "description": "Its type; string when it is not said.",
        "anyOf": [{"enum": TYPES}, {"type": "string", "pattern": COLLECTION}],
    });
    let mut schema = closed(
        entries([
            ("type", ty),
            (
                "default",
                json!({"description": "Its value when nobody gives one; without it, one must be given."}),
            ),
            ("one_of", json!({"type": "array", "description": "The only values that it takes."})),
            (
                "check",
                json!({"type": "string", "pattern": EXPRESSION, "description": "What must hold of `self`."}),
            ),
            (
                "description",
                json!({"type": ["string", "number", "boolean"], "description": "What it is for."}),
            ),
            (
                "from_file",
                json!({"type": "string", "description": "The file that holds it, below the stack's directory."}),
            ),
            (
                "generate",
                json!({"type": "integer", "minimum": 16, "maximum": 128, "description": "A secret of so many characters that the first apply makes."}),
            ),
            ("source", program("prints")),
            ("deliver_secret", described(definition("deliver_secret"), "Where a generated secret goes.")),
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
        "description": "The kinds that it is about; without it, the plan as a whole.",
        "anyOf": [kind, {"type": "array", "items": kind}],
    });
    let rule = entries([
        ("on", on),
        ("deny", json!({"type": "string", "pattern": EXPRESSION, "description": "What must not be true."})),
        (
            "message",
            json!({"type": ["string", "number", "boolean"], "minLength": 1, "description": "What to tell then."}),
        ),
    ]);
    closed(rule, &["deny", "message"])
}
