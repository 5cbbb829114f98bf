//! The merge base of two commits: the best common ancestor, as `git merge-base` finds it. In: access to commits. Out: the
//! commit, or that history does not reach far enough to know it. Commits are visited from the newest to the oldest,
//! each with the marks of the tips that reach it; times that are wrong cost visits, not correctness.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use gix_hash::ObjectId;

/// Mark: reached from the first tip.
const FIRST: u8 = 1;
/// Mark: reached from the second tip.
const SECOND: u8 = 2;
/// Mark: an ancestor of a common ancestor.
const STALE: u8 = 4;
/// Mark: a common ancestor.
const COMMON: u8 = 8;

/// A commit, as far as ancestry needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitNode {
    /// Ids of the parents.
    pub parents: Vec<ObjectId>,
    /// Time of the commit, in seconds since 1970.
    pub time: i64,
}

/// Access to the commits of a repository.
pub trait CommitGraph {
    /// Why a commit cannot be read.
    type Error;

    /// Returns a commit; `None` if it is not in this clone.
    ///
    /// # Errors
    /// When it cannot be read.
    fn commit(&self, id: &ObjectId) -> Result<Option<CommitNode>, Self::Error>;
}

/// Result of the search for a merge base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeBase {
    /// The best common ancestor; the newest of several.
    Found(ObjectId),
    /// The commits have no common ancestor.
    Unrelated,
    /// The answer depends on a commit that is not in this clone.
    Unknown,
}

/// Finds the merge base of two commits.
///
/// # Errors
/// When a commit cannot be read.
pub fn find_merge_base<G: CommitGraph>(
    graph: &G,
    first: ObjectId,
    second: ObjectId,
) -> Result<MergeBase, G::Error> {
    let mut walk = AncestorWalk::new(graph);
    walk.add(first, FIRST)?;
    walk.add(second, SECOND)?;
    walk.run()?;
    let common = walk.common();
    let best = match common.as_slice() {
        [] if walk.is_cut => return Ok(MergeBase::Unknown),
        [] => return Ok(MergeBase::Unrelated),
        [only] => *only,
        [newest, ..] => independent(graph, &common)?.first().copied().unwrap_or(*newest),
    };
    // A tip is the best ancestor in any case. Instead of another one, the commits that a shallow clone lacks may have a
    // better one.
    let is_certain = !walk.is_cut || best == first || best == second;
    Ok(if is_certain { MergeBase::Found(best) } else { MergeBase::Unknown })
}

struct AncestorWalk<'g, G: CommitGraph> {
    graph: &'g G,
    marks: BTreeMap<ObjectId, u8>,
    nodes: BTreeMap<ObjectId, CommitNode>,
    /// Commits to visit, the newest first.
    queue: BinaryHeap<(i64, ObjectId)>,
    /// Whether a commit that is not known to be superseded has a parent that is not in this clone.
    is_cut: bool,
}

impl<'g, G: CommitGraph> AncestorWalk<'g, G> {
    fn new(graph: &'g G) -> Self {
        let (marks, nodes) = (BTreeMap::new(), BTreeMap::new());
        Self { graph, marks, nodes, queue: BinaryHeap::new(), is_cut: false }
    }

    /// Adds marks to a commit, and visits it again if it had not all of them.
    fn add(&mut self, id: ObjectId, marks: u8) -> Result<(), G::Error> {
        let known = self.marks.get(&id).copied().unwrap_or_default();
        if known & marks == marks {
            return Ok(());
        }
        if !self.nodes.contains_key(&id) {
            let Some(node) = self.graph.commit(&id)? else {
                self.is_cut |= marks & STALE == 0;
                return Ok(());
            };
            self.nodes.insert(id, node);
        }
        self.marks.insert(id, known | marks);
        self.queue.push((self.nodes[&id].time, id));
        Ok(())
    }

    fn run(&mut self) -> Result<(), G::Error> {
        while self.queue.iter().any(|(_, id)| self.marks[id] & STALE == 0) {
            let Some((_, id)) = self.queue.pop() else { break };
            let mut marks = self.marks[&id] & (FIRST | SECOND | STALE);
            if marks == FIRST | SECOND {
                self.marks.entry(id).and_modify(|marks| *marks |= COMMON);
                marks |= STALE;
            }
            for parent in self.nodes[&id].parents.clone() {
                self.add(parent, marks)?;
            }
        }
        Ok(())
    }

    /// Returns the common ancestors that are not ancestors of another one, as far as the walk shows; the newest first.
    fn common(&self) -> Vec<ObjectId> {
        let is_best = |marks: u8| marks & COMMON != 0 && marks & STALE == 0;
        let mut found: Vec<ObjectId> =
            self.marks.iter().filter(|(_, marks)| is_best(**marks)).map(|(id, _)| *id).collect();
        found.sort_by_key(|id| std::cmp::Reverse(self.nodes[id].time));
        found
    }
}

/// Returns the commits that no other one of them has as an ancestor, in their order.
fn independent<G: CommitGraph>(graph: &G, commits: &[ObjectId]) -> Result<Vec<ObjectId>, G::Error> {
    let mut superseded = BTreeSet::new();
    for commit in commits {
        let mut seen = BTreeSet::new();
        let mut next = vec![*commit];
        while let Some(id) = next.pop() {
            for parent in graph.commit(&id)?.map(|node| node.parents).unwrap_or_default() {
                if seen.insert(parent) {
                    next.push(parent);
                }
            }
        }
        superseded.extend(commits.iter().filter(|other| seen.contains(*other)).copied());
    }
    Ok(commits.iter().filter(|commit| !superseded.contains(*commit)).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commits by number: time and parents.
    struct Graph(&'static [(u8, i64, &'static [u8])]);

    fn id(number: u8) -> ObjectId {
        ObjectId::from_bytes_or_panic(&[number; 20])
    }

    impl CommitGraph for Graph {
        type Error = std::convert::Infallible;

        fn commit(&self, wanted: &ObjectId) -> Result<Option<CommitNode>, Self::Error> {
            let found = self.0.iter().find(|(number, ..)| id(*number) == *wanted);
            let node = |(_, time, parents): &(u8, i64, &[u8])| CommitNode {
                parents: parents.iter().map(|number| id(*number)).collect(),
                time: *time,
            };
            Ok(found.map(node))
        }
    }

    fn base(graph: &Graph, first: u8, second: u8) -> MergeBase {
        find_merge_base(graph, id(first), id(second)).unwrap()
    }

    #[test]
    fn the_best_common_ancestor_is_found() {
        let graph =
            Graph(&[(1, 1, &[]), (2, 2, &[1]), (3, 3, &[2]), (4, 4, &[2]), (5, 5, &[3, 4]), (6, 6, &[])]);
        for (first, second, wanted) in [(3, 4, 2), (5, 4, 4), (4, 5, 4), (3, 3, 3), (5, 1, 1)] {
            assert_eq!(base(&graph, first, second), MergeBase::Found(id(wanted)), "{first} {second}");
        }
        assert_eq!(base(&graph, 5, 6), MergeBase::Unrelated);
    }

    #[test]
    fn a_wrong_time_does_not_change_the_result() {
        // Commit 2 claims to be older than its parent, so both are found before one is known to be superseded.
        let graph = Graph(&[(1, 50, &[]), (2, 1, &[1]), (3, 60, &[2, 1]), (4, 61, &[1, 2])]);
        assert_eq!(base(&graph, 3, 4), MergeBase::Found(id(2)));
    }

    #[test]
    fn of_several_bases_the_newest_is_taken() {
        let graph = Graph(&[(1, 1, &[]), (2, 2, &[1]), (3, 3, &[1]), (4, 4, &[2, 3]), (5, 5, &[3, 2])]);
        assert_eq!(base(&graph, 4, 5), MergeBase::Found(id(3)));
    }

    #[test]
    fn a_history_that_is_cut_off_gives_no_uncertain_result() {
        // The parents of 3 and 4 are not in the clone.
        let graph = Graph(&[(3, 3, &[2]), (4, 4, &[2])]);
        assert_eq!(base(&graph, 3, 4), MergeBase::Unknown);
        // A tip that is an ancestor of the other one is certain.
        let graph = Graph(&[(3, 3, &[2]), (4, 4, &[3, 9])]);
        assert_eq!(base(&graph, 3, 4), MergeBase::Found(id(3)));
        // A common ancestor is not, as long as another one could be newer.
        let graph = Graph(&[(1, 1, &[]), (3, 3, &[1, 2]), (4, 4, &[1, 2])]);
        assert_eq!(base(&graph, 3, 4), MergeBase::Unknown);
        // What is cut off below the common ancestor does not matter.
        let graph = Graph(&[(2, 2, &[1]), (3, 3, &[2]), (4, 4, &[2])]);
        assert_eq!(base(&graph, 3, 4), MergeBase::Found(id(2)));
    }
}
