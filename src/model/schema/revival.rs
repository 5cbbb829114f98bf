//! `Revival`: the call that brings back a stopped or failed object when a change needs it in use.

use super::{ApiCall, Attribute, Effect};

/// How a stopped or failed object is brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revival {
    /// The statuses in which it applies.
    pub from: &'static [&'static str],
    /// The status that follows from it.
    pub to: &'static str,
    /// The call that brings the object back.
    pub call: &'static ApiCall,
    /// The event that triggers the call.
    pub when: RevivalTrigger,
    /// Kinds whose objects can be created and deleted only while this one is in use.
    pub needed_by: &'static [&'static str],
    /// Its additional effect, for the plan.
    pub effect: Effect,
    /// A description of what happens, as a sentence without its end.
    pub says: &'static str,
}

/// The event that triggers a revival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevivalTrigger {
    /// Before a change by any call except these.
    BeforeAllBut(&'static [&'static str]),
    /// Immediately, unless one of these calls does it by itself.
    AtOnceUnlessBy(&'static [&'static str]),
}

impl Revival {
    /// Returns whether the call must be made before these attributes change.
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
