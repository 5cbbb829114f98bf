//! Before-images: what the plan looked at in each object that it touches, as keyed digests, so that
//! a saved plan can tell which field has moved without holding any value. The key is the ledger's, or the saved
//! plan's own where the ledger does not exist yet; without either there are no digests.

use std::collections::BTreeMap;

use super::attributes::returned_value;
use crate::model::address::Name;
use crate::model::meaning::to_comparable;
use crate::model::schema::{Attribute, Kind};
use crate::model::secret::{FingerprintKey, Secret};
use crate::model::snapshot::Object;
use crate::plan::decision::Decision;
use crate::plan::join::joined_state::ResourceState;
use crate::plan::model::change::BeforeImage;

/// The birth date stands for the whole object: another one has another date.
const CREATED_AT: &str = "created_at";

/// Returns the image of a touched subject's object.
pub(in crate::plan) fn before_image(
    subject: &ResourceState<'_>,
    verdict: &Decision<'_>,
    key: &FingerprintKey,
) -> Option<BeforeImage> {
    let object = subject.object()?;
    if key.is_none() {
        return Some(BeforeImage {
            address: subject.address.clone(),
            key: object.key(),
            attributes: BTreeMap::new(),
        });
    }
    let written = verdict.wants.iter().map(|want| want.attribute);
    let applied = subject.entry.into_iter().flat_map(|entry| entry.applied.keys());
    let remembered = applied.filter_map(|name| subject.kind.attribute(name));
    let mut attributes: BTreeMap<Name, String> = written
        .chain(remembered)
        .filter_map(|attribute| Some((attribute.name.into(), attribute_digest(attribute, object, key)?)))
        .collect();
    attributes.extend(creation_digest(object, key).map(|born| (CREATED_AT.into(), born)));
    Some(BeforeImage { address: subject.address.clone(), key: object.key(), attributes })
}

/// Returns the first attribute in which an object is not what the image shows.
pub(in crate::plan) fn first_moved_attribute(
    image: &BeforeImage,
    kind: &Kind,
    object: &Object,
    key: &FingerprintKey,
) -> Option<Name> {
    let differs = |(name, before): &(&Name, &String)| {
        let now = match kind.attribute(name) {
            _ if *name == CREATED_AT => creation_digest(object, key),
            // What the service does not show now has not moved for all that is known.
            Some(attribute) if returned_value(attribute, object).is_none() => return false,
            Some(attribute) => attribute_digest(attribute, object, key),
            None => None,
        };
        now.as_ref() != Some(*before)
    };
    image.attributes.iter().find(differs).map(|(name, _)| name.clone())
}

fn creation_digest(object: &Object, key: &FingerprintKey) -> Option<String> {
    keyed_digest(object.created_at.as_ref()?, key)
}

fn attribute_digest(attribute: &Attribute, object: &Object, key: &FingerprintKey) -> Option<String> {
    let value = to_comparable(&attribute.ty, &returned_value(attribute, object)?);
    keyed_digest(&serde_json::to_string(&value).ok()?, key)
}

fn keyed_digest(text: &str, key: &FingerprintKey) -> Option<String> {
    // Told apart from the fingerprint of a secret with this text.
    Secret::new(format!("stead image 2\n{text}")).fingerprint(key).map(Into::into)
}
