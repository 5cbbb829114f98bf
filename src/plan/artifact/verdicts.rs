//! What forbids a plan, or a change in it: its blockers and the denials of policies, for a comparison of plans. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::difference_part::DifferencePart;
use crate::model::address::Address;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::Plan;

/// Blockers and denials, each as its kind and its name.
pub(super) type Verdicts<'p> = BTreeSet<(VerdictKind, &'p str)>;

/// What forbids a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum VerdictKind {
    Blocker,
    Policy,
}

impl VerdictKind {
    pub(super) const fn part(self) -> DifferencePart {
        match self {
            Self::Blocker => DifferencePart::Blocker,
            Self::Policy => DifferencePart::Policy,
        }
    }
}

pub(super) fn verdicts_by_address(plan: &Plan) -> BTreeMap<&Address, Verdicts<'_>> {
    let mut found: BTreeMap<&Address, Verdicts<'_>> = BTreeMap::new();
    for (address, verdict) in verdicts(plan) {
        if let Some(address) = address {
            found.entry(address).or_default().insert(verdict);
        }
    }
    found
}

fn verdicts(plan: &Plan) -> impl Iterator<Item = (Option<&Address>, (VerdictKind, &str))> {
    let blocks = plan.blocks.iter().filter(|block| !Blocker::is_ruling(block));
    let blocks = blocks.map(|block| (block.address.as_ref(), (VerdictKind::Blocker, block.code.as_str())));
    let denied = plan.policy.iter().filter(|result| result.is_decided_denial());
    blocks
        .chain(denied.map(|result| (result.address.as_ref(), (VerdictKind::Policy, result.name.as_str()))))
}

/// Returns the blockers and denials that are about no single resource.
pub(super) fn verdicts_of_plan(plan: &Plan) -> BTreeSet<(VerdictKind, String)> {
    let whole = verdicts(plan).filter(|(address, _)| address.is_none());
    whole.map(|(_, (kind, name))| (kind, name.to_owned())).collect()
}
