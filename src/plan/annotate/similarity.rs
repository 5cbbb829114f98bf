//! Comparison of a deletion with a creation, to suggest a `moved` entry where both describe the same resource. The name
//! does not count, because it follows the address; references do not count either.

use crate::model::address::Name;
use crate::model::schema::Type;
use crate::model::values::value::{Attributes, Value};
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::compare::{fingerprint_secrets, to_canonical};

/// The attribute that follows the address, and so does not show whether two resources are the same.
pub(in crate::plan) const NAME: &str = "name";

/// The comparable content of a resource: all written attributes except the name and references, which may point
/// to a renamed resource themselves.
type SimilarityKey = (&'static str, Attributes);

/// Returns the comparable content of a deletion or a creation as a string: equal content gives equal strings.
/// Secrets are compared by fingerprint.
pub(in crate::plan) fn similarity_key(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
) -> String {
    match decision.act {
        DecisionKind::Create => comparison_key(&created_attributes(joined, subject, decision)),
        _ => comparison_key(&deleted_attributes(subject)),
    }
}

pub(in crate::plan) fn comparison_key((kind, attributes): &SimilarityKey) -> String {
    let mut key = (*kind).to_owned();
    for (name, value) in attributes {
        key.push('\0');
        key.push_str(name);
        key.push('=');
        key.push_str(&serde_json::to_string(value).unwrap_or_default());
    }
    key
}

pub(in crate::plan) fn is_compared(subject: &ResourceState<'_>, name: &str) -> bool {
    let reference = |ty: &Type| matches!(ty, Type::Reference(_));
    let of = subject.kind.attribute(name).map(|attribute| attribute.ty);
    name != NAME
        && of.is_some_and(|ty| match ty {
            Type::List(of) | Type::Set { of, .. } => !reference(of),
            ty => !reference(&ty),
        })
}

pub(in crate::plan) fn deleted_attributes(subject: &ResourceState<'_>) -> SimilarityKey {
    let applied = subject.entry.into_iter().flat_map(|entry| &entry.applied);
    let written = applied.filter(|(name, value)| is_compared(subject, name) && **value != Value::Null);
    let written = written.filter_map(|(name, value)| {
        Some((name.clone(), to_canonical(&subject.kind.attribute(name)?.ty, value)))
    });
    (subject.kind.name, written.collect())
}

pub(in crate::plan) fn created_attributes(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
) -> SimilarityKey {
    let written = decision.wants.iter().filter(|want| want.setting.is_some());
    let written = written.filter(|want| is_compared(subject, want.attribute.name));
    let written = written.filter(|want| *want.stored_value() != Value::Null).map(|want| {
        let value =
            to_canonical(&want.attribute.ty, &fingerprint_secrets(want.stored_value(), joined.key()));
        (Name::new_static(want.attribute.name), value)
    });
    (subject.kind.name, written.collect())
}
