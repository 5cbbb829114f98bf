//! Notes about values that could not be read. In: resources, with their objects as read. Out: at most one note about
//! attributes that the service does not show, and one about objects that were read one by one. A value that is not
//! shown is no drift, and no proof of its absence.

use std::collections::BTreeMap;

use crate::model::address::Address;
use crate::model::live::reading::AttributeReading;
use crate::model::schema::Attribute;
use crate::model::schema::meaning::is_unset;
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::note::{NoteCode, PlanNote};

/// The number of reads of single objects up to which no note is given.
const UNREPORTED_READS: usize = 100;

/// The limit on addresses that a note names for each attribute.
const MAX_LISTED_ADDRESSES: usize = 3;

/// Returns the notes about unread values.
pub(in crate::plan) fn observation_notes(joined: &JoinedState<'_>) -> Vec<PlanNote> {
    unverified_note(joined).into_iter().chain(one_by_one(joined)).collect()
}

/// Names the declared attributes that the service does not show; `None` if it shows all of them.
fn unverified_note(joined: &JoinedState<'_>) -> Option<PlanNote> {
    let mut found: BTreeMap<(&str, &str), Vec<&Address>> = BTreeMap::new();
    for subject in &joined.subjects {
        for attribute in unreported_attributes(subject) {
            found.entry((subject.kind.name, attribute.name)).or_default().push(subject.address);
        }
    }
    let one = |((kind, name), addresses): (&(&str, &str), &Vec<&Address>)| {
        let named: Vec<&str> =
            addresses.iter().take(MAX_LISTED_ADDRESSES).map(|address| address.as_str()).collect();
        let more = addresses.len().saturating_sub(MAX_LISTED_ADDRESSES);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("{kind}.{name} ({}{more})", named.join(", "))
    };
    let all: Vec<String> = found.iter().map(one).collect();
    (!all.is_empty()).then(|| PlanNote {
        code: NoteCode::Unverified,
        text: format!("not verified, because the service does not return them: {}", all.join("; ")),
        help: "stead cannot detect changes to these by others; a key with more permissions may".to_owned(),
        source: None,
        address: None,
    })
}

/// Returns the attributes that a block writes, that were applied, and that the object does not show.
fn unreported_attributes(subject: &ResourceState<'_>) -> impl Iterator<Item = &'static Attribute> {
    let parts = subject.resource.zip(subject.entry).zip(subject.object());
    let written = parts.into_iter().flat_map(|((resource, entry), object)| {
        let applied = entry.applied.iter().filter(|(_, value)| !is_unset(value)).map(|(name, _)| name);
        let written = applied.filter(|name| resource.attributes.contains_key(*name));
        written.filter_map(|name| subject.kind.attribute(name)).map(move |attribute| (attribute, object))
    });
    written
        .filter(|(attribute, object)| {
            attribute.is_readable()
                && AttributeReading::new(attribute, object) == AttributeReading::NotReturned
        })
        .map(|(attribute, _)| attribute)
}

/// Explains why a plan took long: its objects were read one by one. `None` up to `UNREPORTED_READS` objects.
fn one_by_one(joined: &JoinedState<'_>) -> Option<PlanNote> {
    let counts = &joined.inputs.snapshot.one_by_one;
    let objects: usize = counts.values().map(|count| count.objects).sum();
    let names: Vec<String> = counts
        .iter()
        .flat_map(|(kind, count)| count.attributes.iter().map(move |name| format!("{kind}.{name}")))
        .collect();
    (objects > UNREPORTED_READS && !names.is_empty()).then(|| PlanNote {
        code: NoteCode::OneByOne,
        text: format!(
            "{objects} objects were read one by one: list responses do not contain {}",
            names.join(", ")
        ),
        help: "each needs a request; a stack that does not set these attributes needs list requests only"
            .to_owned(),
        source: None,
        address: None,
    })
}
