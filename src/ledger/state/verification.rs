//! `Verification`: the live values of an object's written attributes after the last write. In: recorded by apply as
//! soon as the object is ready. Out: how a plan explains a difference: the service did not keep the sent value, or
//! someone changed it since. Invariant: without an earlier reading that showed the applied value, no difference is
//! attributed to someone else.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::model::address::Name;
use crate::model::values::value::{Attributes, Value};

/// The live values of an object's written attributes after the last write. An attribute in neither
/// list had the sent value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// Live values that differ from the sent ones, by `name` or `name.key`: secrets as fingerprints,
    /// `Null` for an empty value.
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub not_kept: Attributes,
    /// Attributes that the object did not show.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub not_shown: BTreeSet<Name>,
}

/// What a verification proves about an attribute's last applied value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValueVerification<'v> {
    /// The object showed the applied value.
    Confirmed,
    /// The object showed this value instead.
    Different(&'v Value),
    /// No reading showed the attribute.
    Unknown,
}

impl Verification {
    /// Marks an attribute as not shown: it was written again, and has not been read since.
    pub(in crate::ledger) fn drop_attribute(&mut self, attribute: &Name) {
        self.not_kept.retain(|path, _| attribute_of(path) != attribute.as_str());
        self.not_shown.insert(attribute.clone());
    }

    /// Takes over the earlier result for an attribute that the present reading does not confirm. Without an earlier
    /// verification (an entry of an earlier version) the attribute counts as not shown.
    pub fn take_over(&mut self, earlier: Option<&Self>, attribute: &str) {
        let is_shown = earlier.is_some_and(|earlier| !earlier.not_shown.contains(attribute));
        if !is_shown {
            self.not_shown.insert(attribute.into());
        }
        let not_kept = earlier.into_iter().flat_map(|earlier| &earlier.not_kept);
        let of_attribute = not_kept.filter(|(path, _)| attribute_of(path) == attribute);
        self.not_kept.extend(of_attribute.map(|(path, shown)| (path.clone(), shown.clone())));
    }
}

/// Returns the attribute name at the start of a path (`env` of `env.A`); the whole path if it has no dot.
pub(in crate::ledger) fn attribute_of(path: &str) -> &str {
    path.split_once('.').map_or(path, |(attribute, _)| attribute)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::fixture;
    use crate::ledger::state::entry::Entry;

    #[test]
    fn a_difference_is_drift_only_if_the_value_was_read_before() {
        let plain = fixture::entry(Some("v1"));
        assert_eq!(
            plain.confirmation("size"),
            ValueVerification::Unknown,
            "an entry of an earlier version"
        );
        let shown = Value::Integer(3);
        let mut verified = Verification {
            not_kept: [("size".into(), shown.clone()), ("env.A".into(), Value::Null)].into(),
            not_shown: ["vm".into()].into(),
        };
        let entry = |verified: &Verification| Entry { verified: Some(verified.clone()), ..plain.clone() };
        let first = entry(&verified);
        for (path, wanted) in [
            ("size", ValueVerification::Different(&shown)),
            ("env.A", ValueVerification::Different(&Value::Null)),
            ("env.B", ValueVerification::Confirmed),
            ("vm", ValueVerification::Unknown),
            ("name", ValueVerification::Confirmed),
        ] {
            assert_eq!(first.confirmation(path), wanted, "{path}");
        }
        verified.drop_attribute(&"env".into());
        assert_eq!(entry(&verified).confirmation("env.A"), ValueVerification::Unknown);
        assert_eq!(entry(&verified).confirmation("size"), ValueVerification::Different(&shown));
    }

    #[test]
    fn a_read_that_does_not_confirm_a_value_keeps_its_verification() {
        let earlier = Verification {
            not_kept: [("env.A".into(), Value::Null), ("size".into(), Value::Integer(3))].into(),
            not_shown: ["vm".into()].into(),
        };
        for (attribute, wanted) in [
            (
                "env",
                Verification { not_kept: [("env.A".into(), Value::Null)].into(), ..Default::default() },
            ),
            ("vm", Verification { not_shown: ["vm".into()].into(), ..Default::default() }),
            ("name", Verification::default()),
        ] {
            let mut now = Verification::default();
            now.take_over(Some(&earlier), attribute);
            assert_eq!(now, wanted, "{attribute}");
        }
        let mut now = Verification::default();
        now.take_over(None, "name");
        assert!(now.not_shown.contains("name"), "an entry of an earlier version");
    }
}
