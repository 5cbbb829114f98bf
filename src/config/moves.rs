//! `moved` entries held against the blocks: each followed to its end, through the places of modules as well.

use std::collections::{BTreeMap, HashMap};

use super::codes;
use super::declarations::{Moved, twice};
use super::ground::{Ground, Standing};
use crate::model::address::Address;
use crate::model::diagnostic::Diagnostic;

/// Where a move ends, and whether it is itself the last one on the way.
type End = Option<(Address, bool)>;

/// Moves, each by the address that it leaves.
struct Ways<'m> {
    moved: &'m [Moved],
    by_from: BTreeMap<&'m str, usize>,
}

impl Ways<'_> {
    /// Returns the move that takes an address further, and where to. The one that says most of it counts.
    fn next(&self, at: &Address) -> Option<(usize, Address)> {
        if let Some(n) = self.by_from.get(at.as_str()) {
            return Some((*n, self.moved[*n].to.clone()));
        }
        let mut part = at.as_str();
        while let Some((above, _)) = part.rsplit_once('.') {
            part = above;
            let Some(n) = self.by_from.get(above) else { continue };
            let step = &self.moved[*n];
            if step.kind.is_none() && step.takes(at) {
                return Some((*n, step.to.join(&at.as_str()[above.len() + 1..])));
            }
        }
        None
    }
}

impl Ground<'_, '_> {
    /// Follows all moves to their ends, and keeps those that lead to a resource or into a module.
    pub(super) fn moves(&self, moved: Vec<Moved>) -> Vec<Moved> {
        let (mut by_from, mut by_to) = (BTreeMap::new(), HashMap::new());
        for (n, step) in moved.iter().enumerate() {
            if let Some(first) = by_from.insert(step.from.as_str(), n) {
                self.contradict(step, &moved[first], &format!("{} moves to two addresses.", step.from));
            }
            if let Some(first) = by_to.insert(&step.to, n) {
                self.contradict(step, &moved[first], &format!("Two addresses move to {}.", step.to));
            }
        }
        let ends = self.ends(&Ways { moved: &moved, by_from });
        let fits: Vec<Option<bool>> =
            moved.iter().zip(ends).map(|(step, end)| self.fits(step, end)).collect();
        let kept = moved.into_iter().zip(fits);
        kept.filter_map(|(step, whole)| Some(Moved { whole: whole?, ..step })).collect()
    }

    fn contradict(&self, step: &Moved, first: &Moved, text: &str) {
        let problems = &self.resolver.problems;
        problems.within(&step.module, || problems.push(twice(text, first.span, step.span)));
    }

    /// Tells whether a move is kept, and whether it leads to a whole block with `for_each`.
    fn fits(&self, step: &Moved, end: End) -> Option<bool> {
        let (end, is_last) = end?;
        let problems = &self.resolver.problems;
        let into_itself = step.to.is_within(&step.from);
        let standing = self.standing(&step.from);
        // Which keys there are is the caller's to say: what a module says of others means nothing to it.
        let is_callers = |address| !step.module.is_empty() && self.is_key(address);
        if standing != Standing::Nowhere && !(standing == Standing::Several && into_itself) {
            if !(standing == Standing::One && is_callers(&step.from)) {
                let help = "rename the block, or remove this entry";
                problems.within(&step.module, || self.still_declared(&step.from, step.span, help));
            }
            return None;
        }
        match self.standing(&end) {
            Standing::One => Some(false),
            Standing::Several => Some(true),
            Standing::Nowhere if is_last && !is_callers(&end) => {
                let help = "write its block, or remove the entry";
                problems.within(&step.module, || self.undeclared(&end, step.span, help));
                None
            }
            Standing::Absent | Standing::Broken | Standing::Nowhere => None,
        }
    }

    /// Returns where each move ends; `None` for those that lead round in a circle, which is reported once.
    fn ends(&self, ways: &Ways<'_>) -> Vec<End> {
        let moved = ways.moved;
        let mut ends: Vec<Option<Option<Address>>> = vec![None; moved.len()];
        for start in 0..moved.len() {
            // With each move on the way: whether it was met at its own address, or somewhere below it.
            let mut way: Vec<(usize, bool)> = Vec::new();
            let (mut n, mut to) = (start, moved[start].to.clone());
            let end = loop {
                let own = to == moved[n].to;
                if let Some(known) = ends[n].as_ref().filter(|known| own || known.is_none()) {
                    break known.clone();
                }
                if let Some(at) = way.iter().position(|(m, _)| *m == n) {
                    self.circle(moved, &way[at..]);
                    break None;
                }
                way.push((n, own));
                match self.next(ways, &to) {
                    Some(next) => (n, to) = next,
                    None => break Some(to),
                }
            };
            for (m, own) in way {
                if own || end.is_none() {
                    ends[m] = Some(end.clone());
                }
            }
        }
        // What another entry leads on from is told there.
        let last = |n: usize| !ways.by_from.contains_key(moved[n].to.as_str());
        let ends = ends.into_iter().enumerate();
        ends.map(|(n, end)| end.flatten().map(|end| (end, last(n)))).collect()
    }

    /// Returns the move that takes an address further. What is declared is where it is to be, whatever is said of
    /// the module around it; that of an entry of its own is told elsewhere.
    fn next(&self, ways: &Ways<'_>, at: &Address) -> Option<(usize, Address)> {
        let (n, to) = ways.next(at)?;
        let is_there = ways.moved[n].from != *at && self.standing(at) != Standing::Nowhere;
        (!is_there).then_some((n, to))
    }

    fn circle(&self, moved: &[Moved], way: &[(usize, bool)]) {
        let mut problem = Diagnostic::error(codes::MOVED_IN_CIRCLE, "moves lead round in a circle");
        for (n, _) in way {
            let Moved { from, to, span, .. } = &moved[*n];
            problem = problem.at(*span, format!("{from} moves to {to}"));
        }
        let help =
            "remove one of the entries; to swap two resources, apply a move to a third address first";
        self.resolver.problems.push(problem.help(help));
    }
}
