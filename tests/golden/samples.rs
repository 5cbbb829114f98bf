//! Documents that a JSON Schema accepts, made from the schema.

use serde_json::{Map, Value, json};

/// Returns documents that a schema accepts: together they have each declared key, each variant, and each value of a list.
pub fn samples(root: &Value) -> Vec<Value> {
    sample(root, root)
}

fn sample(root: &Value, schema: &Value) -> Vec<Value> {
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return sample(root, root.pointer(target.trim_start_matches('#')).unwrap());
    }
    for branches in ["oneOf", "anyOf"].iter().filter_map(|key| schema.get(key)?.as_array()) {
        return branches.iter().flat_map(|branch| sample(root, branch)).collect();
    }
    if let Some(only) = schema.get("const") {
        return vec![only.clone()];
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.clone();
    }
    let types = match schema.get("type") {
        Some(Value::Array(types)) => types.clone(),
        Some(one) => vec![one.clone()],
        None => return vec![json!({ "any": [null] }), json!(null), json!("any")],
    };
    types.iter().flat_map(|of| sample_of_type(root, schema, of.as_str().unwrap())).collect()
}

fn sample_of_type(root: &Value, schema: &Value, of: &str) -> Vec<Value> {
    match of {
        "null" => vec![json!(null)],
        "boolean" => vec![json!(true), json!(false)],
        "integer" => vec![json!(7)],
        "number" => vec![json!(7), json!(0.5)],
        "string" => {
            let hex = "0123456789abcdef".repeat(4);
            let fits = |text: &&str| match schema.get("pattern") {
                None => true,
                Some(pattern) => jsonschema::is_valid(&json!({ "pattern": pattern }), &json!(text)),
            };
            vec![json!(
                ["2026-11-24T12:00:00Z", "vm.web.a", "age1", &hex].iter().find(|text| fits(*text)).unwrap()
            )]
        }
        "array" => {
            let items = schema.get("items").or_else(|| schema.pointer("/prefixItems/0"));
            let items = items.map_or_else(|| vec![json!(1)], |items| sample(root, items));
            let empty = schema.get("minItems").is_none().then(|| json!([]));
            items.into_iter().map(|item| json!([item])).chain(empty).collect()
        }
        _ => {
            let mut full = Map::new();
            let mut others = Vec::new();
            for (key, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten()
            {
                let mut all = sample(root, property).into_iter();
                full.insert(key.clone(), all.next().unwrap());
                others.extend(all.map(|value| (key.clone(), value)));
            }
            if let Some(other) = schema.get("additionalProperties").filter(|other| **other != json!(false))
            {
                let mut all = sample(root, other).into_iter();
                full.insert("other".to_owned(), all.next().unwrap());
                others.extend(all.map(|value| ("other".to_owned(), value)));
            }
            let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
            let mut least = full.clone();
            least.retain(|key, _| required.contains(&json!(key)));
            let mut all = vec![full.clone(), least];
            all.extend(others.into_iter().map(|(key, value)| {
                let mut one = full.clone();
                one.insert(key, value);
                one
            }));
            all.into_iter().map(Value::Object).collect()
        }
    }
}
