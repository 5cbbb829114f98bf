//! `TargetScope`: which resources a plan may change, by `--target` and `--exclude`. In: the joined state and the
//! options; out: a mark for each resource. A resource outside the scope keeps its object and its ledger entry.

use super::joined_state::JoinedState;
use crate::model::address::Address;

/// The resources that the plan may change.
pub(in crate::plan) struct TargetScope {
    inside: Vec<bool>,
}

impl TargetScope {
    /// Follows the targets to their dependencies (and, for a deletion, to their users), then removes the excluded
    /// resources, with their dependents and the deleted resources that they use.
    pub fn new(joined: &JoinedState<'_>) -> Self {
        let options = joined.inputs.options;
        let count = joined.subjects.len();
        let among = |of: &std::collections::BTreeSet<Address>, n: &usize| {
            of.iter().any(|address| joined.subjects[*n].address.is_within(address))
        };
        let mut inside = vec![options.targets.is_empty(); count];
        if !options.targets.is_empty() {
            let start = (0..count).filter(|n| among(&options.targets, n)).collect();
            mark_reachable(start, &mut inside, true, |n, next| {
                let subject = &joined.subjects[n];
                next.extend(&subject.needs);
                if subject.resource.is_none() {
                    next.extend(&joined.holders[n]);
                }
            });
        }
        if !options.excluded.is_empty() {
            let start = (0..count).filter(|n| among(&options.excluded, n)).collect();
            mark_reachable(start, &mut inside, false, |n, next| {
                next.extend(&joined.users[n]);
                next.extend(
                    joined.subjects[n]
                        .held
                        .iter()
                        .filter(|held| joined.subjects[**held].resource.is_none()),
                );
            });
        }
        Self { inside }
    }

    /// Returns whether the plan may change a resource, given by its index.
    pub fn contains(&self, n: usize) -> bool {
        self.inside[n]
    }
}

/// Sets the marks of `start` and of everything that `follow` reaches, each once.
fn mark_reachable(
    start: Vec<usize>,
    marks: &mut [bool],
    mark: bool,
    follow: impl Fn(usize, &mut Vec<usize>),
) {
    let mut seen = vec![false; marks.len()];
    let mut queue: Vec<usize> = start;
    let mut next = Vec::new();
    while let Some(n) = queue.pop() {
        if std::mem::replace(&mut seen[n], true) {
            continue;
        }
        marks[n] = mark;
        follow(n, &mut next);
        queue.append(&mut next);
    }
}
