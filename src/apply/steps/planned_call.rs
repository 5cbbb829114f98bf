//! One call of a change in place, and the progress of an object towards it. In: each attribute with the value
//! that the plan saw and its target value, and an object that was just read. Out: whether the object has the
//! targets, the values before, or neither. Pure.

use std::collections::BTreeMap;

use super::wait::is_in_use;
use crate::apply::request_encoding;
use crate::model::address::Name;
use crate::model::live::reading::AttributeReading;
use crate::model::live::snapshot::Object;
use crate::model::schema::{ApiCall, Attribute, Kind, UpdateStrategy};
use crate::model::values::secret::FingerprintKey;
use crate::model::values::value::{Attributes, Value};

/// One call with all values evaluated.
pub(in crate::apply) struct PreparedCall {
    pub(in crate::apply) call: &'static ApiCall,
    /// Each attribute with the value that the plan saw, and its target value.
    pub(super) attributes: BTreeMap<Name, (Value, Value)>,
}

impl PreparedCall {
    pub(in crate::apply) fn targets(&self) -> Attributes {
        self.attributes.iter().map(|(name, (_, target))| (name.clone(), target.clone())).collect()
    }

    /// Returns a call that changes one attribute from one value to another.
    pub(in crate::apply) fn new(
        call: &'static ApiCall,
        attribute: &Attribute,
        ends: (Value, Value),
    ) -> Self {
        Self { call, attributes: [(attribute.name.into(), ends)].into() }
    }

    /// Adds another attribute to the call.
    pub(in crate::apply) fn add_attribute(&mut self, attribute: &Attribute, ends: (Value, Value)) {
        self.attributes.insert(attribute.name.into(), ends);
    }

    /// Returns a live value in which every part is a secret that was one, is to become one, or may be another
    /// writer's: the service itself does not mark a string as secret.
    pub(super) fn mark_live_secrets(&self, kind: &Kind, name: &Name, live: Option<&Value>) -> Value {
        let live = live.cloned().unwrap_or_default();
        let Some((before, target)) = self.attributes.get(name) else { return live };
        match kind.attribute(name) {
            Some(attribute) => attribute.hidden([Some(before), Some(target)], live),
            None => live,
        }
    }

    /// Returns the values to send with other writers' map entries filled in: the plan has only their
    /// fingerprints, and the object that was just read shows them. An entry that changed since the plan is not
    /// filled in, so the call is not sent.
    pub(super) fn with_what_stays(
        &self,
        sent: &Attributes,
        object: &Object,
        key: &FingerprintKey,
    ) -> Attributes {
        let mut sent = sent.clone();
        for (name, value) in &mut sent {
            let before = self.attributes.get(name).map(|(before, _)| before);
            let live = object.attributes.get(name);
            let (Value::Map(map), Some(Value::Map(before)), Some(Value::Map(live))) = (value, before, live)
            else {
                continue;
            };
            for (part, value) in map {
                let Some((before, live)) = before.get(part).zip(live.get(part)) else { continue };
                let lacks_text = matches!(value, Value::Secret(_)) && value.to_wire().is_none();
                if lacks_text
                    && request_encoding::is_equal_by_fingerprint(value, before, key)
                    && request_encoding::is_equal_by_fingerprint(before, live, key)
                {
                    *value = live.clone();
                }
            }
        }
        sent
    }
}

/// The progress of an object towards a call's targets.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::apply) enum CallProgress {
    /// Every readable attribute has its target value.
    Applied,
    /// At least one attribute has the value that the plan saw.
    NotApplied,
    /// This attribute has neither value.
    Diverged(Name),
}

/// Returns the call that an intent recorded, for comparing only: its secrets are fingerprints.
pub(in crate::apply) fn prepared_from_intent(
    call: &'static ApiCall,
    before: &Attributes,
    target: &Attributes,
) -> PreparedCall {
    let before_of = |name: &Name| before.get(name).cloned().unwrap_or_default();
    let attributes =
        target.iter().map(|(name, target)| (name.clone(), (before_of(name), target.clone()))).collect();
    PreparedCall { call, attributes }
}

/// Compares an object with the start and target values of a call. A value in `reached`, the target of an
/// earlier call of the step, counts as a start value, too.
pub(in crate::apply) fn call_progress(
    kind: &Kind,
    step: &PreparedCall,
    reached: &Attributes,
    object: &Object,
    key: &FingerprintKey,
) -> CallProgress {
    let mut all_there = is_told(kind, step, object);
    for (name, (before, target)) in &step.attributes {
        let told =
            |attribute: &&Attribute| AttributeReading::new(attribute, object).comparable_value().is_some();
        // An attribute that the service does not show matches neither value.
        let Some(attribute) = kind.attribute(name).filter(told) else { continue };
        let live = step.mark_live_secrets(kind, name, object.attributes.get(name));
        let is = |value: &Value| request_encoding::same_sealed(attribute, &live, value, key);
        // A call that brings an object back is done when the object is in use.
        if is(target) || (!attribute.is_writable() && is_in_use(kind, object)) {
            continue;
        }
        let unlinked = matches!(attribute.change, UpdateStrategy::Link { .. }) && is(&Value::Null);
        if !is(before) && !unlinked && !reached.get(name).is_some_and(is) {
            return CallProgress::Diverged(name.clone());
        }
        all_there = false;
    }
    if all_there { CallProgress::Applied } else { CallProgress::NotApplied }
}

/// Returns whether an object shows any attribute that a call changes, so that its effect can be seen.
pub(super) fn is_told(kind: &Kind, step: &PreparedCall, object: &Object) -> bool {
    let told = |name: &Name| {
        kind.attribute(name)
            .is_some_and(|attribute| AttributeReading::new(attribute, object).comparable_value().is_some())
    };
    step.attributes.keys().any(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::REGISTRY;

    const KEY: FingerprintKey = FingerprintKey([7; 32]);

    fn attributes(pairs: &[(&str, Value)]) -> Attributes {
        pairs.iter().map(|(name, value)| ((*name).into(), value.clone())).collect()
    }

    fn object(kind: &str, pairs: &[(&str, Value)]) -> Object {
        Object {
            kind: kind.into(),
            id: "x".into(),
            parent: None,
            project: None,
            created_at: None,
            attributes: attributes(pairs),
            detailed: true,
        }
    }

    #[test]
    fn an_object_has_its_old_its_new_or_a_diverged_value() {
        let (vm, volume) = (REGISTRY.kind("vm").unwrap(), REGISTRY.kind("volume").unwrap());
        let elsewhere = |name: &str| CallProgress::Diverged(name.into());
        let size = |n: i64| ("size", Value::Integer(n));
        let link = |id: &str| ("vm", Value::text(id));
        let power = |word: &str| ("power", Value::text(word));
        for (kind, call, before, target, live, wanted) in [
            (volume, "resize", size(5), size(9), vec![size(5)], CallProgress::NotApplied),
            (volume, "resize", size(5), size(9), vec![size(9)], CallProgress::Applied),
            (volume, "resize", size(5), size(9), vec![size(7)], elsewhere("size")),
            (volume, "detach", link("a"), ("vm", Value::Null), vec![link("a")], CallProgress::NotApplied),
            (
                volume,
                "detach",
                link("a"),
                ("vm", Value::Null),
                vec![("vm", Value::Null)],
                CallProgress::Applied,
            ),
            (volume, "detach", link("a"), ("vm", Value::Null), vec![link("c")], elsewhere("vm")),
            // Undone by the call before it.
            (volume, "attach", link("a"), link("b"), vec![("vm", Value::Null)], CallProgress::NotApplied),
            // Nothing tells what it is: the call is made.
            (volume, "resize", size(5), size(9), vec![], CallProgress::NotApplied),
            (volume, "attach", link("a"), link("b"), vec![link("b")], CallProgress::Applied),
            (vm, "stop", power("on"), power("off"), vec![], CallProgress::NotApplied),
            (vm, "stop", power("on"), power("off"), vec![power("off")], CallProgress::Applied),
        ] {
            let call = kind.call(call).unwrap();
            let step = prepared_from_intent(call, &attributes(&[before]), &attributes(&[target]));
            let stands = call_progress(kind, &step, &Attributes::new(), &object(kind.name, &live), &KEY);
            assert_eq!(stands, wanted, "{} with {live:?}", call.name);
        }
    }

    #[test]
    fn a_value_set_by_an_earlier_call_of_the_step_is_not_a_divergence() {
        let volume = REGISTRY.kind("volume").unwrap();
        let ends = |n: i64| attributes(&[("size", Value::Integer(n))]);
        let step = prepared_from_intent(volume.call("resize").unwrap(), &ends(5), &ends(9));
        let live = object("volume", &[("size", Value::Integer(7))]);
        assert_eq!(call_progress(volume, &step, &ends(7), &live, &KEY), CallProgress::NotApplied);
    }
}
