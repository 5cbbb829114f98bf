//! Drafts: the chosen objects as blocks, with names, references and secrets extracted. In: live objects and
//! what must be left out; out: blocks whose entries have marks, by which a finding in a file leads back to an
//! object. Pure: nothing is written.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashMapExt};

use super::addresses::{AddressAllocator, to_legal_name};
use super::draft_inputs::{
    ChildrenByParent, DEFAULT_PROJECT_ATTRIBUTE, DraftInputs, DraftOmissions, chosen_objects,
    group_children, has_one_home,
};
use super::literal::LiteralWriter;
use crate::config::format::blocks::{PrintedBlock, PrintedEntry, PrintedValue};
use crate::model::address::{Address, Name};
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::redact::secret_heuristics::looks_secret;
use crate::model::schema::{Attribute, Kind, KindScope, Presence, Type};
use crate::model::values::secret::Secret;
use crate::model::values::value::Value;

/// The attribute whose default is the block's own name.
const NAME_ATTRIBUTE: &str = "name";

/// A variable that replaces a secret of a live object.
#[derive(Debug, Clone, PartialEq)]
pub struct SecretVariable {
    /// The variable's name, without `vars.`.
    pub name: Name,
    /// The live value of the secret.
    pub value: Secret,
    /// The attributes that use it, such as `app.web.env_vars.STRIPE_KEY`; never empty.
    pub of: Vec<String>,
}

impl SecretVariable {
    /// Returns the attributes that use it, joined with commas.
    #[must_use]
    pub fn describe_uses(&self) -> String {
        self.of.join(", ")
    }
}

/// A private value that is written in plain text, because nothing marks it as a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaintextSecret {
    /// The address of its resource.
    pub address: Address,
    /// The name of its attribute.
    pub attribute: &'static str,
    /// The key of the map entry.
    pub key: Name,
}

/// The object, and the attribute if any, that a mark belongs to.
pub(super) type MarkOwner = (ObjectKey, Option<&'static Attribute>);

/// Chosen objects as blocks.
#[derive(Default)]
pub(super) struct ImportDraft {
    /// The blocks, sorted by kind and name.
    pub(super) blocks: Vec<PrintedBlock>,
    /// The object and attribute of each mark; a mark is an index into this list.
    pub(super) marks: Vec<MarkOwner>,
    /// The object of each address.
    pub(super) adopt: BTreeMap<Address, ObjectKey>,
    pub(super) variables: Vec<SecretVariable>,
    /// Private values that are written in plain text.
    pub(super) in_clear: Vec<PlaintextSecret>,
}

impl ImportDraft {
    /// Returns the keys from `hidden` that no extracted secret has.
    pub(super) fn unmatched_keys(&self, hidden: &[String]) -> Vec<String> {
        let places: Vec<_> = self.variables.iter().flat_map(|secret| &secret.of).collect();
        let has = |key: &str| {
            places.iter().any(|place| place.strip_suffix(key).is_some_and(|front| front.ends_with('.')))
        };
        let missed: BTreeSet<&String> = hidden.iter().filter(|key| *key != "*" && !has(key)).collect();
        missed.into_iter().cloned().collect()
    }
}

struct DraftBuilder<'m, 'a> {
    material: &'m DraftInputs<'a>,
    omitted: &'m DraftOmissions,
    writer: LiteralWriter<'a>,
    given: HashMap<ObjectKey, Address>,
    children: ChildrenByParent<'a>,
    /// Whether every resource must declare its project.
    says_project: bool,
    variables: BTreeSet<Name>,
    /// The index of the variable for an entry, by the entry's key and text.
    by_entry: HashMap<(Name, String), usize>,
    draft: ImportDraft,
}

/// Drafts all objects that are chosen and not omitted.
pub(super) fn make_draft(material: &DraftInputs<'_>, omitted: &DraftOmissions) -> ImportDraft {
    let chosen = chosen_objects(material, omitted);
    let children = group_children(material, omitted);
    let mut drafter = DraftBuilder {
        material,
        omitted,
        writer: LiteralWriter::new(material.registry, material.catalog),
        given: assign_addresses(material, &chosen, &children),
        children,
        says_project: !has_one_home(material, &chosen),
        variables: material.declared.clone(),
        by_entry: HashMap::new(),
        draft: ImportDraft::default(),
    };
    // In order of addresses: which secret gets the short name must not depend on the ids.
    let mut ordered: Vec<_> = chosen
        .iter()
        .map(|(kind, object)| (drafter.given.get(&object.key()).cloned(), kind, *object))
        .collect();
    ordered.sort_by(|a, b| a.0.cmp(&b.0));
    for (_, kind, object) in ordered {
        drafter.add_block(kind, object);
    }
    let mut draft = drafter.draft;
    draft.blocks.sort_by(|a, b| (&a.word, &a.name).cmp(&(&b.word, &b.name)));
    draft
}

/// Drafts one child whose parent is written already, and returns the attributes of its block with the draft,
/// whose `blocks` are empty.
pub(super) fn draft_child(
    material: &DraftInputs<'_>,
    omitted: &DraftOmissions,
    kind: &'static Kind,
    object: &Object,
    address: &Address,
) -> (Vec<PrintedEntry>, ImportDraft) {
    let mut given = material.owned.clone();
    given.insert(object.key(), address.clone());
    let mut drafter = DraftBuilder {
        material,
        omitted,
        writer: LiteralWriter::new(material.registry, material.catalog),
        given,
        children: ChildrenByParent::new(),
        says_project: false,
        variables: material.declared.clone(),
        by_entry: HashMap::new(),
        draft: ImportDraft::default(),
    };
    let entries = drafter.block_entries(kind, object, address);
    (entries, drafter.draft)
}

/// Assigns an address to every chosen object; objects after which others are named come first.
fn assign_addresses(
    material: &DraftInputs<'_>,
    chosen: &[(&'static Kind, &Object)],
    children: &ChildrenByParent<'_>,
) -> HashMap<ObjectKey, Address> {
    let mut namer = AddressAllocator::new(material.catalog, material.owned.clone(), material.taken.clone());
    let ordered = by_need(chosen);
    let mut parents = Vec::with_capacity(ordered.len());
    for (kind, object) in ordered {
        let address = match material.only {
            Some((address, key)) if *key == object.key() => {
                namer.given.insert(object.key(), address.clone());
                address.clone()
            }
            _ => namer.assign_address(kind, object, None),
        };
        parents.push((kind, object, address));
    }
    // The targets of links have their addresses now, and children are named after them.
    for (kind, object, address) in parents {
        for child in material.registry.children(kind.name) {
            for object in children.get(&(child.name, &object.id)).into_iter().flatten() {
                namer.assign_address(child, object, Some(&address));
            }
        }
    }
    namer.given
}

/// Sorts the chosen objects so that one without a name of its own follows those that it refers to,
/// after which it is named.
fn by_need<'a>(chosen: &[(&'static Kind, &'a Object)]) -> Vec<(&'static Kind, &'a Object)> {
    type Chosen<'a> = (&'static Kind, &'a Object);
    let has_name = |(_, object): &Chosen<'_>| {
        object
            .attributes
            .get(NAME_ATTRIBUTE)
            .and_then(Value::as_text)
            .is_some_and(|name| !to_legal_name(name).is_empty())
    };
    let (mut found, mut rest): (Vec<Chosen<'a>>, Vec<_>) = chosen.iter().copied().partition(has_name);
    while !rest.is_empty() {
        let open: BTreeSet<(&str, &Name)> =
            rest.iter().map(|(kind, object)| (kind.name, &object.id)).collect();
        let waits = |(kind, object): &Chosen<'_>| {
            let mut links = kind.attributes.iter().filter_map(|attribute| {
                let Type::Reference(of) = attribute.ty else { return None };
                match object.attributes.get(attribute.name)? {
                    Value::Text(id) => Some((of, id)),
                    _ => None,
                }
            });
            links.any(|link| link != (kind.name, &object.id) && open.contains(&link))
        };
        let (waiting, ready): (Vec<_>, Vec<_>) = rest.iter().copied().partition(waits);
        // Objects that refer to each other in a cycle are named in the given order.
        let stuck = ready.is_empty();
        found.extend(if stuck { waiting.clone() } else { ready });
        rest = if stuck { Vec::new() } else { waiting };
    }
    found
}

impl DraftBuilder<'_, '_> {
    fn add_block(&mut self, kind: &'static Kind, object: &Object) {
        let Some(address) = self.given.get(&object.key()).cloned() else { return };
        let mark = self.add_mark(object, None);
        let mut entries = self.block_entries(kind, object, &address);
        let key = object.key();
        for child in self.material.registry.children(kind.name) {
            let Some((_, collection)) = child.child_of() else { continue };
            let all = self.children.get(&(child.name, &key.id)).cloned().unwrap_or_default();
            let mut inner = Vec::with_capacity(all.len());
            for object in all {
                let Some(address) = self.given.get(&object.key()).cloned() else { continue };
                let mark = self.add_mark(object, None);
                let entries = self.block_entries(child, object, &address);
                inner.push(PrintedEntry {
                    key: address.last().to_owned(),
                    value: PrintedValue::Map(entries),
                    mark,
                });
            }
            inner.sort_by(|a, b| a.key.cmp(&b.key));
            let items = child.plain_entry.filter(|_| self.material.listed);
            let items = items
                .and_then(|attribute| inner.iter().map(|one| sole_attribute(one, attribute)).collect());
            let value = items.map_or_else(|| PrintedValue::Map(inner.clone()), PrintedValue::List);
            if !inner.is_empty() {
                entries.push(PrintedEntry { key: collection.to_owned(), value, mark });
            }
        }
        let name = address.segments().nth(1).unwrap_or_default().to_owned();
        self.draft.blocks.push(PrintedBlock { word: kind.name.to_owned(), name, entries, mark });
    }

    fn add_mark(&mut self, object: &Object, attribute: Option<&'static Attribute>) -> usize {
        self.draft.marks.push((object.key(), attribute));
        self.draft.marks.len() - 1
    }

    fn block_entries(
        &mut self,
        kind: &'static Kind,
        object: &Object,
        address: &Address,
    ) -> Vec<PrintedEntry> {
        let key = object.key();
        self.draft.adopt.insert(address.clone(), key.clone());
        let mut entries = Vec::new();
        for attribute in kind.attributes {
            if self.omitted.attributes.contains_key(&(key.clone(), attribute.name.into())) {
                continue;
            }
            if attribute.presence == Presence::Optional && self.writer.comes_along(kind, attribute, object)
            {
                continue;
            }
            let Some(value) = LiteralWriter::value_to_write(attribute, object) else { continue };
            // The block's name is the default of the object's name.
            if attribute.name == NAME_ATTRIBUTE && value.as_text() == Some(address.last()) {
                continue;
            }
            let mark = self.add_mark(object, Some(attribute));
            let value = self.attribute_value(attribute, &value, address, mark);
            entries.push(PrintedEntry { key: attribute.name.to_owned(), value, mark });
        }
        if kind.scope == KindScope::Project && self.says_project {
            entries.extend(self.project_entry(object));
        }
        if kind.shown_once.is_some() && kind.reveal().is_none() {
            entries.push(self.secret_goes(object, address));
        }
        entries
    }

    /// Returns the `deliver_secret` entry of an object whose secret was shown once. The secret is in use where the
    /// object was created; if the object is ever replaced, the new one has another secret, which must be delivered.
    fn secret_goes(&mut self, object: &Object, address: &Address) -> PrintedEntry {
        let mark = self.add_mark(object, None);
        let value = PrintedValue::Text(format!("./secrets/{}", address.last()));
        let file = PrintedEntry { key: "file".to_owned(), value, mark };
        PrintedEntry { key: "deliver_secret".to_owned(), value: PrintedValue::Map(vec![file]), mark }
    }

    fn project_entry(&mut self, object: &Object) -> Option<PrintedEntry> {
        let id = object.project.as_ref()?;
        let mark = self.add_mark(object, None);
        let home = self
            .material
            .registry
            .top_level()
            .find(|kind| kind.attribute(DEFAULT_PROJECT_ATTRIBUTE).is_some())?;
        let key = ObjectKey { kind: home.name.into(), parent: None, id: id.clone() };
        let value = match self.given.get(&key) {
            Some(address) => PrintedValue::Reference(format!("${address}")),
            None => PrintedValue::Text(id.to_string()),
        };
        Some(PrintedEntry { key: home.name.to_owned(), value, mark })
    }

    fn attribute_value(
        &mut self,
        attribute: &'static Attribute,
        value: &Value,
        address: &Address,
        mark: usize,
    ) -> PrintedValue {
        let place = format!("{address}.{}", attribute.name);
        match (attribute.ty, value) {
            (_, Value::Text(text)) if attribute.secret => self.extract_secret(&place, &place, text),
            (Type::Map(of), Value::Map(map)) => {
                let entry = |(key, part): (&Name, &Value)| {
                    let value = match part {
                        Value::Null => return None,
                        Value::Text(text) if attribute.secret || self.is_secret(attribute, key, text) => {
                            self.secret_entry(&place, address, key, text)
                        }
                        part => {
                            if attribute.private {
                                let (address, attribute) = (address.clone(), attribute.name);
                                self.draft.in_clear.push(PlaintextSecret {
                                    address,
                                    attribute,
                                    key: key.clone(),
                                });
                            }
                            self.writer.print_value(of, part, &self.given, mark)
                        }
                    };
                    Some(PrintedEntry { key: key.to_string(), value, mark })
                };
                PrintedValue::Map(map.iter().filter_map(entry).collect())
            }
            (ty, value) => self.writer.print_value(&ty, value, &self.given, mark),
        }
    }

    /// Returns whether an entry is a secret: by its appearance, or because the user declared a private one secret.
    fn is_secret(&self, attribute: &Attribute, key: &str, text: &str) -> bool {
        let said = |hidden: &String| hidden == "*" || hidden == key;
        attribute.private && self.material.hidden.iter().any(said) || looks_secret(key, text)
    }

    /// Extracts a secret entry of a map. An entry that several resources have becomes one variable.
    fn secret_entry(&mut self, place: &str, address: &Address, key: &str, text: &str) -> PrintedValue {
        let place = format!("{place}.{key}");
        let entry = (Name::new(key), text.to_owned());
        if let Some(known) = self.by_entry.get(&entry).and_then(|n| self.draft.variables.get_mut(*n)) {
            known.of.push(place);
            return PrintedValue::Reference(format!("$vars.{}", known.name));
        }
        if !text.is_empty() {
            self.by_entry.insert(entry, self.draft.variables.len());
        }
        let free = !self.variables.contains(&variable_name(key));
        let wanted = if free { key.to_owned() } else { format!("{}_{key}", address.last()) };
        self.extract_secret(&wanted, &place, text)
    }

    /// Extracts a secret into a new variable, whose name gets a number if it is taken, and returns the reference.
    fn extract_secret(&mut self, wanted: &str, place: &str, text: &str) -> PrintedValue {
        let wanted = variable_name(wanted);
        let mut name = wanted.clone();
        let mut number = 1;
        while !self.variables.insert(name.clone()) {
            number += 1;
            name = Name::new(format!("{wanted}_{number}"));
        }
        let variable =
            SecretVariable { name: name.clone(), value: Secret::new(text), of: vec![place.to_owned()] };
        self.draft.variables.push(variable);
        PrintedValue::Reference(format!("$vars.{name}"))
    }
}

/// Converts a string to a legal variable name; `secret` if nothing of it is legal.
fn variable_name(text: &str) -> Name {
    let name = to_legal_name(&text.replace('.', "_")).replace('-', "_");
    Name::new(if name.is_empty() { "secret" } else { &name })
}

/// Returns the value of an entry with only this one attribute; `None` if it has others, or not this one.
fn sole_attribute(entry: &PrintedEntry, attribute: &str) -> Option<PrintedValue> {
    match &entry.value {
        PrintedValue::Map(parts) => match parts.as_slice() {
            [part] if part.key == attribute => Some(part.value.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether an object can be written without an attribute.
pub(super) fn can_miss(attribute: &Attribute) -> bool {
    attribute.presence != Presence::Required
}
