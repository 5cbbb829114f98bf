//! `Revival`: what brings an object back that rests or has failed, where a change needs it in use.

use super::{ApiCall, Attribute, Effect};

/// How an object is brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revival {
    /// The statuses that it leads out of.
    pub from: &'static [&'static str],
    /// The status that it leads to.
    pub to: &'static str,
    /// The call that does it.
    pub call: &'static ApiCall,
    /// When it is made.
    pub when: RevivalTrigger,
    /// Kinds whose objects come and go only while this one is in use.
    pub needed_by: &'static [&'static str],
    /// What it does besides.
    pub effect: Effect,
    /// What happens, in a sentence without its end.
    pub says: &'static str,
}

/// When an object is brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevivalTrigger {
    /// Before it changes by any call but these.
    BeforeAllBut(&'static [&'static str]),
    /// At once; and one of these calls does it by itself.
    AtOnceUnlessBy(&'static [&'static str]),
}

impl Revival {
    /// Tells whether the call is to be made before these attributes change.
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
    fn it_comes_before_what_needs_it_and_not_before_what_does_it_too() {
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
