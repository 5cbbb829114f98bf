//! `BodySchema`: the fields of a request body, collected from attributes and parameters.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::types;
use crate::model::schema::{
    Action, ApiCall, Attribute, Kind, Literal, Parameter, ParameterLocation, ParameterPresence, Presence,
    Type, UpdateStrategy,
};

/// The fields of a body, and the names of the required ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct BodySchema {
    fields: Map<String, Value>,
    required: BTreeSet<String>,
}

impl BodySchema {
    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Returns the schema of the body. Optional fields also accept `null`, which means absent.
    pub(super) fn to_schema(&self) -> Value {
        let fields = self.fields.iter().map(|(field, schema)| {
            let needed = self.required.contains(field);
            (field.clone(), if needed { schema.clone() } else { types::or_null(schema.clone()) })
        });
        let mut schema = json!({"type": "object", "properties": fields.collect::<Map<_, _>>()});
        if !self.required.is_empty() {
            schema["required"] = json!(self.required);
        }
        schema
    }

    /// Combines two bodies of one endpoint; a field is required only if both require it, and keeps its first schema.
    pub(super) fn merge(mut self, other: Self) -> Self {
        self.required.retain(|field| other.required.contains(field));
        for (field, schema) in other.fields {
            self.fields.entry(field).or_insert(schema);
        }
        self
    }

    /// Returns whether any field is required.
    pub(super) fn is_required(&self) -> bool {
        !self.required.is_empty()
    }

    fn add(&mut self, attribute: &Attribute, field: &str, required: bool) {
        for (field, schema) in types::request_fields(attribute, field) {
            if required {
                self.required.insert(field.clone());
            }
            self.fields.insert(field, schema);
        }
    }

    /// Adds optional fields that do not correspond to an attribute.
    fn add_unwritten(&mut self, fields: &[(&str, Type)]) {
        let fields = fields.iter().map(|(field, ty)| ((*field).to_owned(), types::request_schema(ty)));
        self.fields.extend(fields);
    }

    fn add_literal(&mut self, field: &str, literal: Literal) {
        self.fields.entry(field).or_insert_with(|| types::of_literal(literal));
    }
}

/// Returns the body of a kind's create request.
pub(super) fn of_creation(kind: &Kind) -> BodySchema {
    let mut body = BodySchema::default();
    for attribute in kind.attributes.iter().filter(|attribute| attribute.is_writable()) {
        if attribute.at_creation {
            body.add(attribute, attribute.wire, attribute.presence == Presence::Required);
        }
    }
    body.add_unwritten(kind.also_sent);
    body
}

/// Returns the body of a kind's delete request; empty for most kinds.
pub(super) fn of_deletion(kind: &Kind) -> BodySchema {
    let mut body = BodySchema::default();
    body.add_unwritten(kind.also_deleted);
    for (field, literal) in kind.api.delete_body {
        body.add_literal(field, *literal);
    }
    body
}

/// Returns the body of an update call. A field is required if it is the only one or is always sent; otherwise
/// all fields are optional.
pub(super) fn of_call(kind: &Kind, call: &ApiCall) -> BodySchema {
    let carried: Vec<_> = kind
        .attributes
        .iter()
        .filter_map(|attribute| Some((attribute, call_field(attribute, call)?)))
        .collect();
    let mut body = BodySchema::default();
    for (attribute, field) in &carried {
        let left_out_is_empty = attribute.presence == Presence::Default(Literal::Empty);
        let always = call.always.contains(&attribute.name) && !left_out_is_empty;
        body.add(attribute, field, always || carried.len() == 1);
    }
    for name in call.always {
        let sent = carried.iter().any(|(attribute, _)| attribute.name == *name);
        if let Some(attribute) = kind.attribute(name).filter(|_| !sent) {
            body.add(attribute, attribute.wire, true);
        }
    }
    let sometimes = call.fixed_when.into_iter().flat_map(|(_, _, fields)| fields);
    for (field, literal) in call.fixed.iter().chain(sometimes) {
        body.add_literal(field, *literal);
    }
    body
}

/// Returns the name of an attribute's field in a call; `None` if the call does not carry the attribute.
fn call_field(attribute: &Attribute, call: &ApiCall) -> Option<&'static str> {
    match attribute.change {
        UpdateStrategy::Patch { call: own, body } if own.name == call.name => Some(body),
        UpdateStrategy::Link { set, body, .. } if set.name == call.name => Some(body),
        UpdateStrategy::Upload { deliver, body, .. } if deliver.name == call.name => Some(body),
        _ => None,
    }
}

/// Returns the body of an action.
pub(super) fn of_action(action: &Action) -> BodySchema {
    let mut body = BodySchema::default();
    for parameter in action.parameters.iter().filter(|parameter| parameter.place == ParameterLocation::Body)
    {
        if parameter.need == ParameterPresence::Required {
            body.required.insert(parameter.wire.to_owned());
        }
        body.fields.insert(parameter.wire.to_owned(), of_parameter(parameter));
    }
    body
}

/// Returns the schema of a parameter, with its description.
pub(super) fn of_parameter(parameter: &Parameter) -> Value {
    let mut schema = types::request_schema(&parameter.ty);
    schema["description"] = json!(parameter.summary);
    schema
}
