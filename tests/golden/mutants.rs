//! Documents that violate a JSON Schema, each in one place: made from the schema and a document that it accepts.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// A schema, with the definitions that its `$ref`s name.
pub struct Mutator<'a> {
    root: &'a Value,
    /// Rules that were violated already; a rule is violated once for all documents.
    seen: BTreeSet<String>,
}

/// One violation: the rule, and the document that violates it.
pub struct Mutant {
    pub rule: String,
    pub document: Value,
}

/// A place in a document: keys and indexes, as in a JSON pointer.
type Path = Vec<String>;

impl<'a> Mutator<'a> {
    pub fn new(root: &'a Value) -> Self {
        Self { root, seen: BTreeSet::new() }
    }

    /// Returns one mutant of the document for each rule of the schema that applies to it and was not violated before.
    pub fn mutants(&mut self, document: &Value) -> Vec<Mutant> {
        let mut edits = Vec::new();
        self.walk(self.root, document, &Path::new(), &mut edits);
        let fresh =
            edits.into_iter().filter(|(rule, ..)| self.seen.insert(rule.clone())).collect::<Vec<_>>();
        let mutant = |(rule, path, value): (String, Path, Value)| {
            let mut document = document.clone();
            *document.pointer_mut(&path.iter().map(|key| format!("/{key}")).collect::<String>()).unwrap() =
                value;
            Mutant { rule, document }
        };
        fresh.into_iter().map(mutant).collect()
    }

    /// Adds the edits that violate the rules for one value: the rule, the place, and the new value.
    fn walk(&self, schema: &Value, value: &Value, path: &Path, edits: &mut Vec<(String, Path, Value)>) {
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            self.walk(self.root.pointer(target.trim_start_matches('#')).unwrap(), value, path, edits);
        }
        for branches in ["oneOf", "anyOf"].iter().filter_map(|key| schema.get(key)?.as_array()) {
            if let Some(branch) = branches.iter().find(|branch| self.accepts(branch, value)) {
                let mut of_branch = Vec::new();
                self.walk(branch, value, path, &mut of_branch);
                // Another branch may allow what this one does not.
                of_branch.retain(|(_, at, value)| at != path || !self.accepts(schema, value));
                edits.append(&mut of_branch);
            }
        }
        let place: String = path
            .iter()
            .map(|key| if key.parse::<usize>().is_ok() { "[]" } else { key })
            .collect::<Vec<_>>()
            .join(".");
        let mut violate =
            |rule: &str, value: Value| edits.push((format!("{place}: {rule}"), path.clone(), value));
        for wrong in wrong_values(schema) {
            violate(&format!("is not {wrong}"), wrong);
        }
        match value {
            Value::Object(map) => {
                for key in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
                    let mut without = map.clone();
                    without.remove(key.as_str().unwrap());
                    violate(&format!("{key} is required"), Value::Object(without));
                }
                self.walk_object(schema, map, path, edits);
            }
            Value::Array(items) => {
                let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
                if let Some(least) = bound("minItems") {
                    violate("minItems", items[..usize::try_from(least).unwrap() - 1].into());
                }
                if let Some(most) = bound("maxItems") {
                    violate("maxItems", vec![items[0].clone(); usize::try_from(most).unwrap() + 1].into());
                }
                for (at, item) in items.iter().enumerate() {
                    if let Some(schema) = schema.get("items") {
                        self.walk(schema, item, &[path.as_slice(), &[at.to_string()]].concat(), edits);
                    }
                }
            }
            _ => {}
        }
    }

    fn walk_object(
        &self,
        schema: &Value,
        map: &Map<String, Value>,
        path: &Path,
        edits: &mut Vec<(String, Path, Value)>,
    ) {
        let other = schema.get("additionalProperties");
        if other == Some(&json!(false)) {
            let mut more = map.clone();
            more.insert("not_in_the_schema".to_owned(), json!(1));
            edits.push((format!("{}: no other key", path.join(".")), path.clone(), Value::Object(more)));
        }
        for (key, value) in map {
            let own = schema.get("properties").and_then(|all| all.get(key));
            if let Some(schema) =
                own.or_else(|| other.filter(|_| schema.get("properties").is_some() || own.is_none()))
            {
                self.walk(schema, value, &[path.as_slice(), &[key.clone()]].concat(), edits);
            }
        }
    }

    /// Returns whether a part of the schema accepts a value.
    fn accepts(&self, part: &Value, value: &Value) -> bool {
        let mut part = part.clone();
        if let (Some(part), Some(definitions)) = (part.as_object_mut(), self.root.get("$defs")) {
            part.insert("$defs".to_owned(), definitions.clone());
        }
        jsonschema::is_valid(&part, value)
    }
}

/// Returns values that the rules of a schema for a single value do not allow.
fn wrong_values(schema: &Value) -> Vec<Value> {
    let mut wrong = Vec::new();
    if let Some(types) = schema.get("type") {
        let types: Vec<&str> = match types {
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        for (of, value) in [
            ("null", json!(null)),
            ("boolean", json!(true)),
            ("integer", json!(1)),
            ("number", json!(1.5)),
            ("string", json!("text")),
            ("array", json!([])),
            ("object", json!({})),
        ] {
            if !types.contains(&of) && !(of == "integer" && types.contains(&"number")) {
                wrong.push(value);
            }
        }
    }
    if schema.get("const").is_some() || schema.get("enum").is_some() {
        wrong.extend([json!("not a value of the list"), json!(0)]);
    }
    if schema.get("pattern").is_some() {
        wrong.push(json!("?"));
    }
    if let Some(least) = schema.get("minimum").and_then(Value::as_i64) {
        wrong.push(json!(least - 1));
    }
    wrong
}
