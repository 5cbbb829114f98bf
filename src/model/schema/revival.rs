//! `Revival`: the call that restarts a stopped or failed object when a change needs it in use.
//!
//! The plan adds the call as a step of its own: otherwise the service would refuse the change, or the apply would wait
//! for an object that does not become ready by itself.

use super::{ApiCall, Attribute, Effect};

/// How a stopped or failed object is brought back into use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revival {
    /// The statuses in which it applies.
    pub from: &'static [&'static str],
    /// The status that the object has after the call.
    pub to: &'static str,
    /// The call that brings the object back.
    pub call: &'static ApiCall,
    /// The event that triggers the call.
    pub when: RevivalTrigger,
    /// Kinds whose objects can be created and deleted only while this one is in use; empty where there are none.
    pub needed_by: &'static [&'static str],
    /// Its additional effect, for the plan.
    pub effect: Effect,
    /// A description of what happens for the plan, as a clause without a full stop.
    pub says: &'static str,
}

/// The event that triggers a revival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevivalTrigger {
    /// Before a change that any call except these makes; without such a change the object stays as it is.
    BeforeAllBut(&'static [&'static str]),
    /// In every plan, with or without a change, unless one of these calls is sent anyway and has the same effect.
    AtOnceUnlessBy(&'static [&'static str]),
}

impl Revival {
    /// Returns whether the plan must make the call before these attributes change. `changed` may be empty: then only
    /// `AtOnceUnlessBy` requires the call.
    #[must_use]
    pub fn comes_before(&self, mut changed: impl Iterator<Item = &'static Attribute>) -> bool {
        let by = |attribute: &Attribute, names: &[&str]| {
            attribute.calls().iter().any(|call| names.contains(&call.name))
        };
        match self.when {
            RevivalTrigger::BeforeAllBut(idle) => changed.any(|attribute| !by(attribute, idle)),
            RevivalTrigger::AtOnceUnlessBy(calls) => !changed.any(|attribute| by(attribute, calls)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::kinds::REGISTRY;

    #[test]
    fn a_revival_precedes_the_calls_that_need_it_only() {
        for (kind, changed, wanted) in [
            ("database", &[][..], false),
            ("database", &["name"], false),
            ("database", &["name", "storage_gb"], true),
            ("database", &["vpc"], true),
            ("app", &[], true),
            ("app", &["port"], false),
            ("app", &["instances"], true),
            ("app", &["image", "instances"], false),
            ("app", &["source_dir"], false),
        ] {
            let kind = REGISTRY.kind(kind).unwrap();
            let attributes = changed.iter().map(|name| kind.attribute(name).unwrap());
            assert_eq!(kind.revival.unwrap().comes_before(attributes), wanted, "{} {changed:?}", kind.name);
        }
    }
}
