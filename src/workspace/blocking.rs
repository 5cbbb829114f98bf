//! Which units cannot be applied because of other units. In: the graph, the units that are blocked by themselves, and who
//! uses what another deletes. Out: by unit, the units that block it. Invariant: a unit is not changed if it reads outputs
//! of a unit that stays as it is, and it deletes nothing that such a unit uses. Pure.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::conflicts::RemovalUsers;
use super::graph::UnitGraph;

/// Returns the units that others block, with those that block them. `units` are those of the plan, `blocked` the ones of
/// them that are blocked by themselves, `users` the pairs of a unit and one whose objects use an object that the first deletes. An apply follows
/// the outputs: a reader is blocked with its upstream unit. A destroy goes back: an upstream unit is blocked with its
/// reader.
#[must_use]
pub fn find_blocked(
    graph: &UnitGraph,
    units: &BTreeSet<usize>,
    blocked: &BTreeSet<usize>,
    users: &BTreeSet<(usize, usize)>,
    destroy: bool,
) -> BTreeMap<usize, BTreeSet<usize>> {
    let edges = if destroy { &graph.upstream } else { &graph.readers };
    let mut waiting: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (unit, user) in users.iter().filter(|(unit, user)| unit != user) {
        waiting.entry(*user).or_default().push(*unit);
    }
    let mut found: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    // The unit by which each was reached first; `None` for those that are blocked by themselves.
    let mut reached_by: BTreeMap<usize, Option<usize>> = blocked.iter().map(|unit| (*unit, None)).collect();
    let mut queue: VecDeque<usize> = blocked.iter().copied().collect();
    while let Some(cause) = queue.pop_front() {
        let dependents = edges[cause].iter().chain(waiting.get(&cause).into_iter().flatten());
        // A unit outside of the plan does not change, so nothing waits for it.
        for unit in dependents.filter(|unit| units.contains(unit)) {
            if is_blocked_through(&reached_by, cause, *unit) {
                continue;
            }
            found.entry(*unit).or_default().insert(cause);
            reached_by.entry(*unit).or_insert_with(|| {
                queue.push_back(*unit);
                Some(cause)
            });
        }
    }
    found
}

/// Returns whether a unit was reached through another: that one would be told to wait for what waits for it.
fn is_blocked_through(reached_by: &BTreeMap<usize, Option<usize>>, unit: usize, other: usize) -> bool {
    let before = |unit: &usize| reached_by.get(unit).copied().flatten();
    std::iter::successors(Some(unit), before).any(|unit| unit == other)
}

/// Returns the pairs of users that the order of an apply, or of a destroy, keeps: all whose use the service protects, and of the
/// others those that do not contradict it. `users` has the pairs of a unit and one whose objects use what the first deletes.
#[must_use]
pub fn users_in_order(graph: &UnitGraph, users: &RemovalUsers) -> BTreeSet<(usize, usize)> {
    let mut kept = users.held.clone();
    // Deletions go back along the outputs, so a unit waits for its readers, too.
    let mut waits_for: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (unit, user) in &kept {
        waits_for.entry(*unit).or_default().insert(*user);
    }
    for (unit, user) in users.attached.difference(&users.held) {
        if !reaches(graph, &waits_for, *user, *unit) {
            waits_for.entry(*unit).or_default().insert(*user);
            kept.insert((*unit, *user));
        }
    }
    kept
}

/// Returns whether a unit waits for another, directly or through others.
fn reaches(
    graph: &UnitGraph,
    waits_for: &BTreeMap<usize, BTreeSet<usize>>,
    from: usize,
    to: usize,
) -> bool {
    let mut seen = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(unit) = open.pop() {
        if unit == to {
            return true;
        }
        let next = graph.readers[unit].iter().chain(waits_for.get(&unit).into_iter().flatten());
        open.extend(next.copied().filter(|next| seen.insert(*next)));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [usize; 4] = [0, 1, 2, 3];

    /// 0 ← 1 ← 2: unit 1 reads outputs of unit 0, and unit 2 of unit 1. Unit 3 stands alone.
    fn chain() -> UnitGraph {
        UnitGraph {
            upstream: vec![vec![], vec![0], vec![1], vec![]],
            readers: vec![vec![1], vec![2], vec![], vec![]],
            waves: vec![0, 1, 2, 0],
            order: vec![0, 3, 1, 2],
            cycles: Vec::new(),
        }
    }

    #[test]
    fn an_apply_blocks_readers_and_a_destroy_blocks_what_is_read() {
        let blocked = |unit: usize, destroy| {
            find_blocked(&chain(), &ALL.into(), &[unit].into(), &BTreeSet::new(), destroy)
        };
        assert_eq!(blocked(1, false), [(2, [1].into())].into());
        assert_eq!(blocked(0, false), [(1, [0].into()), (2, [1].into())].into());
        assert_eq!(blocked(1, true), [(0, [1].into())].into());
        assert_eq!(blocked(2, true), [(0, [1].into()), (1, [2].into())].into());
        assert!(blocked(3, true).is_empty() && blocked(3, false).is_empty());
    }

    #[test]
    fn an_attachment_never_makes_two_units_wait_for_each_other() {
        let pairs = |held: &[(usize, usize)], attached: &[(usize, usize)]| {
            let users = RemovalUsers {
                held: held.iter().copied().collect(),
                attached: attached.iter().copied().collect(),
            };
            users_in_order(&chain(), &users).into_iter().collect::<Vec<_>>()
        };
        // Unit 0 waits for its readers, so no reader waits for it.
        assert_eq!(pairs(&[], &[(0, 3), (2, 0), (0, 2)]), [(0, 2), (0, 3)]);
        // Unit 3 waits for unit 0, and so for unit 2.
        assert_eq!(pairs(&[(3, 0)], &[(0, 3), (2, 3)]), [(3, 0)]);
        assert_eq!(pairs(&[], &[(0, 3), (3, 0)]), [(0, 3)]);
        // What the service protects is kept, whatever the order.
        assert_eq!(pairs(&[(2, 0)], &[]), [(2, 0)]);
    }

    #[test]
    fn units_outside_of_the_plan_block_nothing() {
        let units = [0, 2, 3].into();
        assert!(find_blocked(&chain(), &units, &[0].into(), &BTreeSet::new(), false).is_empty());
    }

    #[test]
    fn two_units_are_not_blocked_by_each_other() {
        // Unit 0 deletes what its reader uses, and is blocked by itself.
        let users = [(0, 1)].into();
        let found = find_blocked(&chain(), &ALL.into(), &[0].into(), &users, false);
        assert_eq!(found, [(1, [0].into()), (2, [1].into())].into());
        // The other way round, and through a unit between them.
        let found = find_blocked(&chain(), &ALL.into(), &[1].into(), &users, false);
        assert_eq!(found, [(0, [1].into()), (2, [1].into())].into());
        let found = find_blocked(&chain(), &ALL.into(), &[0].into(), &[(0, 2)].into(), false);
        assert_eq!(found, [(1, [0].into()), (2, [1].into())].into());
    }

    #[test]
    fn what_a_blocked_unit_uses_is_not_deleted() {
        let users = [(3, 1), (1, 1)].into();
        for destroy in [false, true] {
            let found = find_blocked(&chain(), &ALL.into(), &[1].into(), &users, destroy);
            assert_eq!(found.get(&3), Some(&[1].into()), "{destroy}");
            assert!(!found.contains_key(&1));
        }
    }
}
