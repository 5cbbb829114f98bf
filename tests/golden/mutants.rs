//! Documents that violate a JSON Schema, each in one place: made from the schema and a document that it accepts.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// A schema, with the definitions that its `$ref`s name.
pub struct Mutator<'a> {
    root: &'a Value,
    /// Rules that were violated already; a rule is violated once for all documents.
    seen: BTreeSet<String>,
    /// Compiled parts of the schema.
    validators: RefCell<BTreeMap<*const Value, Validator>>,
}

/// One violation: the rule, and the document that violates it.
pub struct Mutant {
    pub rule: String,
    pub document: Value,
}

/// A value of a document, and the rules for it.
#[derive(Clone, Default)]
struct Location {
    /// Keys and indexes that lead to the value, as in a JSON pointer.
    path: Vec<String>,
    /// Keys, and the numbers of the variants of the schema, that lead to the rules.
    rules: String,
}

impl Location {
    fn child(&self, key: &str, rule: &str) -> Self {
        let path = self.path.iter().cloned().chain([key.to_owned()]).collect();
        Self { path, rules: format!("{}.{rule}", self.rules) }
    }

    fn variant(&self, number: usize) -> Self {
        Self { path: self.path.clone(), rules: format!("{}({number})", self.rules) }
    }

    fn edit(&self, rule: &str, value: Value) -> Edit {
        Edit { rule: format!("{}: {rule}", self.rules), path: self.path.clone(), value }
    }
}

/// The violation of a rule: a value of a document gets another value.
struct Edit {
    rule: String,
    path: Vec<String>,
    value: Value,
}

impl<'a> Mutator<'a> {
    pub fn new(root: &'a Value) -> Self {
        Self { root, seen: BTreeSet::new(), validators: RefCell::default() }
    }

    /// Returns one mutant of the document for each rule of the schema that applies to it and was not violated before.
    pub fn mutants(&mut self, document: &Value) -> Vec<Mutant> {
        let mut edits = Vec::new();
        self.walk(self.root, document, &Location::default(), &mut edits);
        edits.retain(|edit| self.seen.insert(edit.rule.clone()));
        let mutant = |edit: Edit| {
            let keys: Vec<String> = edit.path.iter().map(|key| key.replace('/', "~1")).collect();
            let pointer = if keys.is_empty() { String::new() } else { format!("/{}", keys.join("/")) };
            let mut document = document.clone();
            *document.pointer_mut(&pointer).unwrap() = edit.value;
            Mutant { rule: edit.rule, document }
        };
        edits.into_iter().map(mutant).collect()
    }

    /// Adds the edits that violate the rules for one value.
    fn walk(&self, schema: &Value, value: &Value, at: &Location, edits: &mut Vec<Edit>) {
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            self.walk(self.root.pointer(target.trim_start_matches('#')).unwrap(), value, at, edits);
        }
        for variants in ["oneOf", "anyOf"].iter().filter_map(|key| schema.get(key)?.as_array()) {
            if let Some(number) = variants.iter().position(|variant| self.accepts(variant, value)) {
                let mut of_variant = Vec::new();
                self.walk(&variants[number], value, &at.variant(number), &mut of_variant);
                // Another variant may allow what this one does not.
                of_variant.retain(|edit| edit.path != at.path || !self.accepts(schema, &edit.value));
                edits.append(&mut of_variant);
            }
        }
        edits.extend(
            wrong_values(schema).into_iter().map(|wrong| at.edit(&format!("is not {wrong}"), wrong)),
        );
        match value {
            Value::Object(map) => self.walk_object(schema, map, at, edits),
            Value::Array(items) => self.walk_array(schema, items, at, edits),
            _ => {}
        }
    }

    fn walk_array(&self, schema: &Value, items: &[Value], at: &Location, edits: &mut Vec<Edit>) {
        let bound = |key: &str| {
            schema.get(key).and_then(Value::as_u64).map(|bound| usize::try_from(bound).unwrap())
        };
        if let Some(least) = bound("minItems") {
            edits.push(at.edit("minItems", items[..least - 1].into()));
        }
        if let Some(most) = bound("maxItems") {
            edits.push(at.edit("maxItems", vec![items[0].clone(); most + 1].into()));
        }
        for (number, item) in items.iter().enumerate() {
            if let Some(schema) = schema.get("items") {
                self.walk(schema, item, &at.child(&number.to_string(), "[]"), edits);
            }
        }
    }

    fn walk_object(&self, schema: &Value, map: &Map<String, Value>, at: &Location, edits: &mut Vec<Edit>) {
        for key in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            let mut without = map.clone();
            without.remove(key.as_str().unwrap());
            edits.push(at.edit(&format!("{key} is required"), Value::Object(without)));
        }
        let other = schema.get("additionalProperties");
        if other == Some(&json!(false)) {
            let mut more = map.clone();
            more.insert("not_in_the_schema".to_owned(), json!(1));
            edits.push(at.edit("has no other key", Value::Object(more)));
        }
        for (key, value) in map {
            let declared = schema.get("properties").and_then(|all| all.get(key));
            let rule = if declared.is_some() { key } else { "{key}" };
            if let Some(schema) = declared.or(other) {
                self.walk(schema, value, &at.child(key, rule), edits);
            }
        }
    }

    /// Returns whether a part of the schema accepts a value.
    fn accepts(&self, part: &Value, value: &Value) -> bool {
        let compile = || {
            let mut part = part.clone();
            if let (Some(part), Some(definitions)) = (part.as_object_mut(), self.root.get("$defs")) {
                part.insert("$defs".to_owned(), definitions.clone());
            }
            jsonschema::validator_for(&part).unwrap()
        };
        // Compiling takes longer than all else here, and a part does not move while the schema is borrowed.
        let mut validators = self.validators.borrow_mut();
        validators.entry(std::ptr::from_ref(part)).or_insert_with(compile).is_valid(value)
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
            let is_number = of == "integer" && types.contains(&"number");
            if !types.contains(&of) && !is_number {
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
