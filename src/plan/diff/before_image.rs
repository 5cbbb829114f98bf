//! Before-images: keyed digests of the attributes that the plan read of each touched object, so that a saved plan can
//! detect which attribute has changed without containing any value. The key is the ledger's, or the saved plan's own
//! where the ledger does not exist yet; without either there are no digests.

use std::collections::BTreeMap;

use super::attributes::returned_value;
use crate::model::address::Name;
use crate::model::live::snapshot::Object;
use crate::model::schema::meaning::to_comparable;
use crate::model::schema::{Attribute, Kind};
use crate::model::values::secret::{FingerprintKey, Secret};
use crate::plan::decision::Decision;
use crate::plan::join::joined_state::ResourceState;
use crate::plan::model::plan_base::BeforeImage;

/// The field that identifies the object itself: another object with the same id, such as a recreated one that
/// is known by name, has another creation time.
const CREATED_AT: &str = "created_at";

/// Returns the before-image of a touched resource's object; `None` if it has none. Without a key the image
/// names the object and no attribute.
pub(in crate::plan) fn before_image(
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
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
    let written = decision.wants.iter().map(|want| want.attribute);
    let applied = subject.entry.into_iter().flat_map(|entry| entry.applied.keys());
    let remembered = applied.filter_map(|name| subject.kind.attribute(name));
    let mut attributes: BTreeMap<Name, String> = written
        .chain(remembered)
        .filter_map(|attribute| Some((attribute.name.into(), attribute_digest(attribute, object, key)?)))
        .collect();
    attributes.extend(creation_digest(object, key).map(|born| (CREATED_AT.into(), born)));
    Some(BeforeImage { address: subject.address.clone(), key: object.key(), attributes })
}

/// Returns the first attribute, in the order of names, in which an object differs from the image; `None`
/// if it does not.
pub(in crate::plan) fn first_moved_attribute(
    image: &BeforeImage,
    kind: &Kind,
    object: &Object,
    key: &FingerprintKey,
) -> Option<Name> {
    let differs = |(name, before): &(&Name, &String)| {
        let now = match kind.attribute(name) {
            _ if *name == CREATED_AT => creation_digest(object, key),
            // An attribute that the service does not show now is not known to have changed.
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
    // The prefix distinguishes it from the fingerprint of a secret with the same value.
    Secret::new(format!("stead image 2\n{text}")).fingerprint(key).map(Into::into)
}
