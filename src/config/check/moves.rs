//! `moved` entries checked against the blocks: each is followed to its end, through moved modules as well.
//!
//! In: the entries of all units, with addresses of the stack. Out: the moves that end at a resource, and removals
//! for those whose end was removed. An entry of a caller names an object in a module by the module's address at
//! that time; it also holds for the module's later addresses.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt};

use super::address_status::{AddressIndex, AddressStatus, duplicate_declaration};
use crate::config::codes;
use crate::config::stack::declarations::{MovedDeclaration, RemovedDeclaration};
use crate::model::address::{Address, path_prefixes};
use crate::model::diagnostic::Diagnostic;

/// End address of a chain of moves, and whether no entry moves this move's own target further. `None` for a move
/// whose chain is a cycle.
type MoveEnd = Option<(Address, bool)>;

/// All moves, with an index by the address that each leaves.
struct MoveChains<'m> {
    moved: &'m [MovedDeclaration],
    by_from: BTreeMap<&'m str, usize>,
}

impl MoveChains<'_> {
    /// Returns the index of the next move that applies to an address, and the address after it; `None` at the end
    /// of a chain. An entry for the address itself wins, then one for the innermost module around it.
    fn next(&self, at: &Address) -> Option<(usize, Address)> {
        if let Some(n) = self.by_from.get(at.as_str()) {
            return Some((*n, self.moved[*n].to.clone()));
        }
        let mut part = at.as_str();
        while let Some((above, _)) = part.rsplit_once('.') {
            part = above;
            let Some(n) = self.by_from.get(above) else { continue };
            let step = &self.moved[*n];
            if step.kind.is_none() && step.applies_to(at) {
                return Some((*n, step.to.join(&at.as_str()[above.len() + 1..])));
            }
        }
        None
    }
}

/// Follows all moves to their ends. Returns those that end at a resource, a module or a block with `for_each`, and
/// the removals that others become: a move whose end was removed later is a removal of its `from` address, because
/// the ledger may still have that address. A wrong move is reported, and in neither list.
pub(in crate::config) fn resolve_moves(
    addresses: &AddressIndex<'_, '_>,
    mut moved: Vec<MovedDeclaration>,
    removed: &[RemovedDeclaration],
) -> (Vec<MovedDeclaration>, Vec<RemovedDeclaration>) {
    let (mut by_from, mut by_to) = (BTreeMap::new(), HashMap::new());
    for (n, step) in moved.iter().enumerate() {
        if let Some(first) = by_from.insert(step.from.as_str(), n) {
            report_contradiction(
                addresses,
                step,
                &moved[first],
                &format!("{} moves to two addresses.", step.from),
            );
        }
        if let Some(first) = by_to.insert(&step.to, n) {
            report_contradiction(
                addresses,
                step,
                &moved[first],
                &format!("Two addresses move to {}.", step.to),
            );
        }
    }
    let later = at_later_places(addresses, &moved, &by_from);
    moved.extend(later);
    let by_from = moved.iter().enumerate().map(|(n, step)| (step.from.as_str(), n)).collect();
    let ends = move_ends(addresses, &MoveChains { moved: &moved, by_from });
    let (mut kept, mut left) = (Vec::new(), Vec::new());
    for (step, end) in moved.into_iter().zip(ends) {
        match end.as_ref().and_then(|(end, _)| removal_for(addresses, &step, end, removed)) {
            Some(removal) => left.push(removal),
            None => {
                kept.extend(
                    check_move(addresses, &step, end).map(|whole| MovedDeclaration { whole, ..step }),
                );
            }
        }
    }
    // The `removed` entry for the same address is the user's own, and decides its action.
    left.retain(|removal| removed.iter().all(|one| one.from != removal.from));
    (kept, left)
}

/// Returns copies of entries that continue a chain of moves at the present address of a module. Example: `a.vm.x` moved
/// to `vm.y`, and `a` to `b`. A move within the module to `vm.x` now ends at `b.vm.x`, and continues to `vm.y`.
fn at_later_places(
    addresses: &AddressIndex<'_, '_>,
    moved: &[MovedDeclaration],
    by_from: &BTreeMap<&str, usize>,
) -> Vec<MovedDeclaration> {
    let modules = moved.iter().filter(|step| step.kind.is_none());
    let by_to: HashMap<&str, &MovedDeclaration> = modules.map(|step| (step.to.as_str(), step)).collect();
    let mut found: BTreeMap<&Address, MovedDeclaration> = BTreeMap::new();
    let leads_nowhere = |step: &&MovedDeclaration| {
        !by_from.contains_key(step.to.as_str())
            && addresses.address_status(&step.to) == AddressStatus::Undeclared
    };
    for at in moved.iter().filter(leads_nowhere).map(|step| &step.to) {
        let further = further_from_before(at, &by_to, by_from);
        let further = further.map(|n| MovedDeclaration { from: at.clone(), ..moved[n].clone() });
        found.extend(further.map(|step| (at, step)));
    }
    found.into_values().collect()
}

/// Returns the removal that a move becomes if no block declares its end nor its `from`, and a `removed` entry names
/// the end or what contains it; the innermost such entry decides the action. `None` for any other move.
fn removal_for(
    addresses: &AddressIndex<'_, '_>,
    step: &MovedDeclaration,
    end: &Address,
    removed: &[RemovedDeclaration],
) -> Option<RemovedDeclaration> {
    let nowhere = |address| addresses.address_status(address) == AddressStatus::Undeclared;
    let about = removed.iter().filter(|one| end.is_within(&one.from));
    let said = about.max_by_key(|one| one.from.as_str().len()).filter(|_| nowhere(end))?;
    nowhere(&step.from).then(|| RemovedDeclaration {
        from: step.from.clone(),
        action: said.action,
        module: step.module.clone(),
        span: step.span,
    })
}

fn report_contradiction(
    addresses: &AddressIndex<'_, '_>,
    step: &MovedDeclaration,
    first: &MovedDeclaration,
    text: &str,
) {
    let problems = &addresses.context.problems;
    problems.in_instance(&step.module, || {
        problems.push(duplicate_declaration(text, first.span, step.span));
    });
}

/// Returns whether a move leads to a whole block with `for_each`; `None` for one that is not kept: it is wrong,
/// which is reported, or its end is absent in this environment.
fn check_move(addresses: &AddressIndex<'_, '_>, step: &MovedDeclaration, end: MoveEnd) -> Option<bool> {
    let (end, is_last) = end?;
    let problems = &addresses.context.problems;
    let into_itself = step.to.is_within(&step.from);
    let standing = addresses.address_status(&step.from);
    // The caller decides which keys exist, so an entry inside the module about a key of
    // it is not checked here.
    let is_callers = |address| !step.module.is_empty() && addresses.is_key(address);
    if standing != AddressStatus::Undeclared && !(standing == AddressStatus::Many && into_itself) {
        if !(standing == AddressStatus::One && is_callers(&step.from)) {
            let help = "rename the block, or remove this entry";
            problems.in_instance(&step.module, || addresses.still_declared(&step.from, step.span, help));
        }
        return None;
    }
    match addresses.address_status(&end) {
        AddressStatus::One => Some(false),
        AddressStatus::Many => Some(true),
        AddressStatus::Undeclared if is_last && !is_callers(&end) => {
            let help = "write its block, or remove the entry";
            problems.in_instance(&step.module, || addresses.report_undeclared(&end, step.span, help));
            None
        }
        AddressStatus::Absent | AddressStatus::Broken | AddressStatus::Undeclared => None,
    }
}

/// Returns where each move ends, in the order of the moves; `None` for those that lead into a cycle, which is
/// reported once. Ends are shared between chains, so that the work does not grow with the square of their length.
fn move_ends(addresses: &AddressIndex<'_, '_>, ways: &MoveChains<'_>) -> Vec<MoveEnd> {
    let moved = ways.moved;
    let mut ends: Vec<Option<Option<Address>>> = vec![None; moved.len()];
    for start in 0..moved.len() {
        // Each move of the chain, and whether it matched its own address exactly
        // or an address inside it.
        let mut way: Vec<(usize, bool)> = Vec::new();
        let (mut n, mut to) = (start, moved[start].to.clone());
        let end = loop {
            let own = to == moved[n].to;
            if let Some(known) = ends[n].as_ref().filter(|known| own || known.is_none()) {
                break known.clone();
            }
            if let Some(at) = way.iter().position(|(m, _)| *m == n) {
                report_move_cycle(addresses, moved, &way[at..]);
                break None;
            }
            way.push((n, own));
            match next_move(addresses, ways, &to) {
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
    // Where another entry continues the chain, that entry reports the problem.
    let last = |n: usize| !ways.by_from.contains_key(moved[n].to.as_str());
    let ends = ends.into_iter().enumerate();
    ends.map(|(n, end)| end.flatten().map(|end| (end, last(n)))).collect()
}

/// Returns the next move that applies to an address; `None` at the end of a chain. A declared resource keeps its
/// address, even if its module moves; a move that names exactly this address is reported with its own entry.
fn next_move(
    addresses: &AddressIndex<'_, '_>,
    ways: &MoveChains<'_>,
    at: &Address,
) -> Option<(usize, Address)> {
    let (n, to) = ways.next(at)?;
    let is_there = ways.moved[n].from != *at && addresses.address_status(at) != AddressStatus::Undeclared;
    (!is_there).then_some((n, to))
}

fn report_move_cycle(addresses: &AddressIndex<'_, '_>, moved: &[MovedDeclaration], way: &[(usize, bool)]) {
    let mut problem = Diagnostic::error(codes::MOVED_IN_CIRCLE, "the `moved` entries form a cycle");
    for (n, _) in way {
        let MovedDeclaration { from, to, span, .. } = &moved[*n];
        problem = problem.with_label(*span, format!("{from} moves to {to}"));
    }
    let help = "remove one of the entries; to swap two resources, apply a move to a third address first";
    addresses.context.problems.push(problem.help(help));
}

/// Returns the index of the entry that moves the object further from an address that it had before its modules
/// moved; `None` if no entry does.
fn further_from_before(
    at: &Address,
    by_to: &HashMap<&str, &MovedDeclaration>,
    by_from: &BTreeMap<&str, usize>,
) -> Option<usize> {
    let mut before = at.clone();
    // Moves of modules have no cycle; the bound is for entries that are wrong.
    for _ in 0..by_to.len() {
        let earlier = path_prefixes(before.as_str()).rev().find_map(|place| {
            let step = by_to.get(place)?;
            Some(step.from.join(before.strip_module(place)?)).filter(|from| step.applies_to(from))
        });
        before = earlier?;
        if let Some(n) = by_from.get(before.as_str()) {
            return Some(*n);
        }
    }
    None
}
