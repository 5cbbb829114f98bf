//! Parts that an import cannot manage: attributes that the service never shows, and objects that blocks name
//! by id. In: a draft, and all objects that were read. Out: what is left out with the reason, and references
//! that could replace ids.

use super::addresses::to_legal_name;
use super::draft::ImportDraft;
use super::draft_inputs::DraftInputs;
use crate::model::address::{Address, Name};
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::{Attribute, Presence, Type};
use crate::model::values::value::Value;

/// An id in a written block that a reference could replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceSuggestion {
    /// The address of the resource.
    pub address: Address,
    /// The attribute that contains the id.
    pub attribute: Name,
    /// The object that has the id.
    pub object: ObjectKey,
    /// The reference to write in place of the id, once the object is managed here; `None` if
    /// another stack owns the object.
    pub reference: Option<String>,
    /// A description with the remedy, as a sentence.
    pub text: String,
}

/// Returns the attributes of drafted objects that the service never shows, as omissions with the reason.
pub(super) fn hidden_attributes(material: &DraftInputs<'_>, drafted: &ImportDraft) -> Vec<ImportOmission> {
    let mut found = Vec::new();
    for key in drafted.adopt.values() {
        let Some(kind) = material.registry.kind(&key.kind) else { continue };
        let hidden = kind.attributes.iter().filter(|attribute| attribute.presence == Presence::WriteOnly);
        found.extend(hidden.map(|attribute| ImportOmission {
            key: key.clone(),
            attribute: Some(Name::new_static(attribute.name)),
            why: "The service does not show it: what was set stays, and is not managed.".to_owned(),
        }));
    }
    found
}

/// Returns the suggested replacements of ids by references, by address and in the order of the kind's table. An
/// id of an object that is not live gets none.
pub(super) fn reference_suggestions(
    material: &DraftInputs<'_>,
    drafted: &ImportDraft,
) -> Vec<ReferenceSuggestion> {
    let given = |key: &ObjectKey| {
        material.owned.contains_key(key) || drafted.adopt.values().any(|adopted| adopted == key)
    };
    let mut found = Vec::new();
    for (address, key) in &drafted.adopt {
        let (kind, object) = (material.registry.kind(&key.kind), material.snapshot.objects.get(key));
        let Some((kind, object)) = kind.zip(object) else { continue };
        for attribute in kind.attributes.iter().filter(|attribute| attribute.is_writable()) {
            for other in named_objects(attribute, object).into_iter().filter(|other| !given(other)) {
                found.extend(suggest_reference(material, (address, attribute.name), other));
            }
        }
    }
    found
}

/// Returns the objects to which an attribute refers.
fn named_objects(attribute: &Attribute, object: &Object) -> Vec<ObjectKey> {
    let of = match attribute.ty {
        Type::Reference(of) => of,
        Type::Set { of: Type::Reference(of), .. } => *of,
        _ => return Vec::new(),
    };
    let items = match object.attributes.get(attribute.name) {
        Some(Value::List(items)) => items.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let key = |id: &str| ObjectKey { kind: of.into(), parent: None, id: id.into() };
    items.iter().filter_map(Value::as_text).map(key).collect()
}

fn suggest_reference(
    material: &DraftInputs<'_>,
    (address, attribute): (&Address, &'static str),
    object: ObjectKey,
) -> Option<ReferenceSuggestion> {
    let live = material.snapshot.objects.get(&object)?;
    let ObjectKey { kind, id, .. } = &object;
    let name = live.attributes.get("name").and_then(Value::as_text);
    let label = name.unwrap_or(id);
    let what = format!("{address}.{attribute} is the id of the {kind} `{label}`");
    let (reference, text) = if let Some(owner) = material.foreign.get(&object) {
        (None, format!("{what}, which belongs to {owner}: take it from an output of that stack"))
    } else {
        let word =
            Some(to_legal_name(label)).filter(|word| !word.is_empty()).unwrap_or_else(|| kind.clone());
        let text = format!(
            "{what}, which is not managed here: import it, too (stead import {kind}.{word} {id}), and write \
             `${kind}.{word}` in its place"
        );
        (Some(format!("${kind}.{word}")), text)
    };
    let (address, attribute) = (address.clone(), Name::new_static(attribute));
    Some(ReferenceSuggestion { address, attribute, object, reference, text })
}

/// An object or an attribute that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportOmission {
    /// The live object that was left out, or whose attribute was left out.
    pub key: ObjectKey,
    /// The attribute; `None` if the whole object was left out.
    pub attribute: Option<Name>,
    /// The reason, as a sentence.
    pub why: String,
}
