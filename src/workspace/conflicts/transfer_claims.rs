//! Moves between stacks that do not fit the plans of the units. In: the `moved` entries of all units of a repository that
//! name another stack, and the plans of the selected units. Out: blockers by unit, in both units of a conflict.
//! Invariant: no unit deletes or forgets an object that an entry of another unit moves there, also if that unit has no
//! plan; no object moves to two units. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use std::sync::Arc;

use super::unit_claims::UnitBlockers;
use crate::config::load::FilesRead;
use crate::config::stack::declarations::{TransferDeclaration, TransferDirection};
use crate::model::address::{Address, Name, path_prefixes};
use crate::model::diagnostic::blocker_code::UNIT_CONFLICT;
use crate::model::schema::Registry;
use crate::model::source::SourceLocation;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::{Action, Plan};
use crate::plan::model::transfers::StackMove;
use crate::workspace::unit::{Unit, UnitName};

/// The key of an entry in the stack that gets a resource; a file without this text has no such entry.
const INCOMING_KEY: &str = "from_stack";

/// The key of the files that a file includes.
const INCLUDE_KEY: &str = "include";

/// A unit of the repository, selected or not.
#[derive(Debug, Clone, Copy)]
pub struct MovingUnit<'a> {
    /// The unit itself.
    pub unit: &'a Unit,
    /// Its plan; `None` if it is not selected, or could not be planned.
    pub plan: Option<&'a Plan>,
    /// The addresses in its ledger before the plan; `None` if the ledger was not read.
    pub addresses: Option<&'a BTreeSet<Address>>,
}

/// A `moved` entry of a unit that names another stack.
#[derive(Debug, Clone)]
pub struct DeclaredMove {
    /// Number of the unit that has the entry.
    pub unit: usize,
    /// Numbers of the units that the entry can mean: those of the named directory, in an environment that belongs to that
    /// of the unit.
    pub peers: BTreeSet<usize>,
    /// The entry.
    pub declaration: TransferDeclaration,
    /// The position of the entry.
    pub source: Option<SourceLocation>,
}

/// A stack whose files have errors, so that its entries are not known.
#[derive(Debug, Clone)]
pub struct UnreadStack {
    /// Directory of the stack, relative to the root.
    pub directory: Name,
    /// The texts of its files that could be read.
    pub texts: Vec<Arc<str>>,
    /// Which of its files these are.
    pub files: FilesRead,
}

impl UnreadStack {
    /// Returns whether an entry of the stack may move a resource there: a file names it, or one that was not read may do
    /// so.
    fn may_claim(&self, registry: Registry, address: &Address) -> bool {
        // The first part of an address is a module, which an entry can name, or a kind, which is in each file.
        let mut places = path_prefixes(address.as_str()).filter(|place| registry.kind(place).is_none());
        let text = |wanted: &str| self.texts.iter().any(|text| text.contains(wanted));
        self.misses_files() || (text(INCOMING_KEY) && places.any(text))
    }

    /// Returns whether an entry may be in a file that was not read: a file that cannot be read, or one that is included.
    fn misses_files(&self) -> bool {
        match self.files {
            FilesRead::All => false,
            FilesRead::Own => self.texts.iter().any(|text| text.contains(INCLUDE_KEY)),
            FilesRead::Some => true,
        }
    }
}

/// The units of a repository with their moves to and from other stacks.
#[derive(Debug, Clone, Copy)]
pub struct TransferClaims<'a> {
    /// The kinds.
    pub registry: Registry,
    /// All units of the repository.
    pub units: &'a [MovingUnit<'a>],
    /// The entries of all units.
    pub moves: &'a [DeclaredMove],
    /// The stacks whose entries are not known.
    pub unread: &'a [UnreadStack],
}

impl<'a> TransferClaims<'a> {
    /// Returns the conflicts of the entries with the plans, and with each other.
    #[must_use]
    pub fn find_conflicts(&self) -> UnitBlockers {
        let mut blockers = UnitBlockers::new();
        for number in 0..self.units.len() {
            self.block_removals(number, &mut blockers);
            self.block_rival_claims(number, &mut blockers);
        }
        for outgoing in self.moves.iter().filter(|one| is_outgoing(one)) {
            self.block_second_objects(outgoing, &mut blockers);
        }
        blockers
    }

    /// Returns the entries of other units that move resources of a unit there. A destroy moves nothing to its unit.
    fn claims_on(&self, number: usize) -> impl Iterator<Item = &'a DeclaredMove> {
        let units = self.units;
        let is_destroyed = |unit: usize| units[unit].plan.is_some_and(|plan| plan.base.destroy);
        self.moves.iter().filter(move |one| {
            !is_outgoing(one)
                && one.peers.contains(&number)
                && one.unit != number
                && !is_destroyed(one.unit)
        })
    }

    /// Returns the address that an entry gives a resource; `None` if it does not cover the resource, or is done: its unit
    /// has the address already.
    fn pending_address(&self, claim: &DeclaredMove, address: &Address) -> Option<Address> {
        let to = claim.declaration.new_address(address)?;
        let is_done = self.units[claim.unit].addresses.is_some_and(|known| known.contains(&to));
        (!is_done).then_some(to)
    }

    /// Blocks a plan that deletes or forgets what an entry of another unit moves there.
    fn block_removals(&self, number: usize, blockers: &mut UnitBlockers) {
        let Some(plan) = self.units[number].plan else { return };
        let removed = plan.changes.iter().filter_map(|change| match change.action {
            Action::Delete => Some((&change.address, "deleted")),
            Action::Forget => Some((&change.address, "forgotten")),
            _ => None,
        });
        let removed: Vec<(&Address, &str)> = removed.collect();
        for claim in self.claims_on(number) {
            let pending = |(address, _): &(&Address, &str)| self.pending_address(claim, address).is_some();
            if let Some(first) = removed.iter().find(|one| pending(one)) {
                self.block_removal(number, claim, *first, blockers);
            }
        }
        let unit = self.units[number].unit;
        for stack in self.unread.iter().filter(|stack| stack.directory != unit.directory) {
            let claimed = removed.iter().find(|(address, _)| stack.may_claim(self.registry, address));
            let Some((address, verb)) = claimed else { continue };
            let directory = &stack.directory;
            let text = format!(
                "{address} would be {verb}, and whether a `moved` entry of the stack in `{directory}` moves it there is not known: the stack has errors."
            );
            let help = format!("Correct the stack in `{directory}` first: stead -C {directory} validate");
            add_blocker(number, address, (text, help, None), blockers);
        }
    }

    fn block_removal(
        &self,
        number: usize,
        claim: &DeclaredMove,
        (address, verb): (&Address, &str),
        blockers: &mut UnitBlockers,
    ) {
        let (source, target) = (self.units[number].unit, self.units[claim.unit].unit);
        let to = claim.declaration.new_address(address).unwrap_or_else(|| claim.declaration.to.clone());
        let (there, entry) = (entry_place(claim), self.missing_entry(claim, number));
        let help = if source.is_removed {
            format!(
                "Restore the files of the stack in `{}`, with the entry `{entry}` in `moved`, apply the move, and remove the files then: stead apply --all --stacks {} --stacks {}. To delete the object instead, remove the entry of {} first.",
                source.directory, source.name, target.name, target.name
            )
        } else {
            format!(
                "Add the entry `{entry}` to `moved` in `{}`, or remove the entry of {}.",
                source.directory, target.name
            )
        };
        let text = format!(
            "{address} would be {verb}, and an entry of {} moves it there with `{INCOMING_KEY}`{there}.",
            target.name
        );
        add_blocker(number, address, (text, help.clone(), None), blockers);
        if self.units[claim.unit].plan.is_some_and(|plan| !is_blocked_at(plan, &to)) {
            let text =
                format!("{to} is {address} of {} until the move, which would be {verb}.", source.name);
            add_blocker(claim.unit, &to, (text, help, claim.source.clone()), blockers);
        }
    }

    /// Blocks the units whose entries move the same resource of a unit to two units.
    fn block_rival_claims(&self, number: usize, blockers: &mut UnitBlockers) {
        let Some(addresses) = self.units[number].addresses else { return };
        let claims: Vec<&DeclaredMove> = self.claims_on(number).collect();
        for (position, one) in claims.iter().enumerate() {
            for other in claims[position + 1..].iter().filter(|other| other.unit != one.unit) {
                let both = addresses.iter().find_map(|address| {
                    let (to, with) =
                        (self.pending_address(one, address)?, self.pending_address(other, address)?);
                    Some((address, to, with))
                });
                let Some((address, to, with)) = both else { continue };
                self.add_rivals(number, address, [(one, &to), (other, &with)], blockers);
            }
        }
    }

    fn add_rivals(
        &self,
        number: usize,
        address: &Address,
        rivals: [(&DeclaredMove, &Address); 2],
        blockers: &mut UnitBlockers,
    ) {
        let name = |claim: &DeclaredMove| &self.units[claim.unit].unit.name;
        let source = &self.units[number].unit.name;
        let [(one, _), (other, _)] = rivals;
        let help = format!("Remove the `moved` entry of {} or of {}.", name(one), name(other));
        let [first, second] = rivals;
        for ((claim, to), (rival, rival_to)) in [(first, second), (second, first)] {
            let text = format!(
                "{to} and {rival_to} of {} would get one object: {address} of {source}{}.",
                name(rival),
                entry_place(rival)
            );
            if self.units[claim.unit].plan.is_some() {
                add_blocker(claim.unit, to, (text, help.clone(), claim.source.clone()), blockers);
            }
        }
        let moves = |plan: &Plan| {
            let mut changes = plan.changes.iter();
            changes.any(|change| change.address == *address && change.action == Action::Move)
        };
        if self.units[number].plan.is_some_and(moves) {
            let text = format!("Entries of {} and {} both move {address} there.", name(one), name(other));
            add_blocker(number, address, (text, help, None), blockers);
        }
    }

    /// Blocks a unit that would create a second object at an address to which an entry of another unit moves one.
    fn block_second_objects(&self, outgoing: &DeclaredMove, blockers: &mut UnitBlockers) {
        let Some(addresses) = self.units[outgoing.unit].addresses else { return };
        let source = &self.units[outgoing.unit].unit.name;
        for peer in &outgoing.peers {
            let Some(plan) = self.units[*peer].plan else { continue };
            let created = |address: &Address| {
                let to = outgoing.declaration.new_address(address)?;
                let mut changes = plan.changes.iter();
                let creates = changes.any(|one| one.address == to && one.action == Action::Create);
                creates.then_some((address.clone(), to))
            };
            let Some((address, to)) = addresses.iter().find_map(created) else { continue };
            let (entry, there) = (self.missing_entry(outgoing, *peer), entry_place(outgoing));
            let text =
                format!("{to} would be created, and an entry of {source} moves {address} here{there}.");
            let help = format!(
                "Add the entry `{entry}` to `moved` in `{}`, or remove the entry of {source}.",
                self.units[*peer].unit.directory
            );
            add_blocker(*peer, &to, (text, help, None), blockers);
        }
    }

    /// Returns the entry that the other unit of a move needs.
    fn missing_entry(&self, declared: &DeclaredMove, other: usize) -> String {
        let TransferDeclaration { from, to, direction, .. } = &declared.declaration;
        let (own, there) = (&self.units[declared.unit].unit.directory, &self.units[other].unit.directory);
        let back = relative_path(Path::new(there.as_str()), Path::new(own.as_str()));
        let back = back.filter(|path| !path.is_empty()).unwrap_or_else(|| Name::new_static("."));
        counterpart_entry(*direction, (from, to), &back)
    }
}

/// Blocks the units of a destroy between which a move is pending: the unit that gets the object was planned without it, so
/// it would stay in the ledger of that unit. `destroyed` has the units of the destroy with their moves.
#[must_use]
pub fn find_moves_of_destroyed(destroyed: &[(usize, &UnitName, &[StackMove])]) -> UnitBlockers {
    let mut blockers = UnitBlockers::new();
    for (number, name, moves) in destroyed {
        let given = moves.iter().filter(|one| one.direction == TransferDirection::Outgoing);
        for one in given {
            let peer = destroyed.iter().find(|(_, peer, _)| *one.peer == *peer.to_string());
            let (Some((peer_number, peer, _)), Some((address, to))) = (peer, one.moves.first_key_value())
            else {
                continue;
            };
            let help = format!(
                "Make the move first, and destroy then: stead apply --all --stacks {name} --stacks {peer}"
            );
            let text = format!(
                "{address} would move to {peer} as {to} and stay there: {peer} is destroyed, too, without it."
            );
            add_blocker(*number, address, (text, help.clone(), None), &mut blockers);
            let text = format!(
                "{to} would be {address} of {name} after the move, and stay: {name} is destroyed, too, and makes the move."
            );
            add_blocker(*peer_number, to, (text, help, None), &mut blockers);
        }
    }
    blockers
}

/// Returns the `moved` entry that belongs to one with a direction: that of the other stack. `back` is the path from the
/// other stack.
#[must_use]
pub fn counterpart_entry(
    direction: TransferDirection,
    (from, to): (&Address, &Address),
    back: &str,
) -> String {
    let key = match direction {
        TransferDirection::Incoming => "stack",
        TransferDirection::Outgoing => INCOMING_KEY,
    };
    format!("{{ from: {from}, to: {to}, {key}: {back} }}")
}

/// Returns the path from one directory to another, with `..` where necessary; both are absolute, or relative to one
/// directory. Empty for the same directory; `None` for a path that is no text.
#[must_use]
pub fn relative_path(from: &Path, to: &Path) -> Option<Name> {
    let is_named = |part: &Component<'_>| *part != Component::CurDir;
    let (from, to) = (|| from.components().filter(is_named), || to.components().filter(is_named));
    let shared = from().zip(to()).take_while(|(a, b)| a == b).count();
    let up = from().skip(shared).map(|_| Some(".."));
    let down = to().skip(shared).map(|part| part.as_os_str().to_str());
    let parts: Option<Vec<&str>> = up.chain(down).collect();
    parts.map(|parts| Name::new(parts.join("/")))
}

fn is_outgoing(one: &DeclaredMove) -> bool {
    one.declaration.direction == TransferDirection::Outgoing
}

fn is_blocked_at(plan: &Plan, address: &Address) -> bool {
    plan.blocks.iter().any(|block| block.address.as_ref() == Some(address))
}

/// Returns the position of an entry for a message, in parentheses.
fn entry_place(one: &DeclaredMove) -> String {
    one.source.as_ref().map(|at| format!(" ({}:{})", at.file, at.line)).unwrap_or_default()
}

fn add_blocker(
    unit: usize,
    address: &Address,
    (text, help, source): (String, String, Option<SourceLocation>),
    blockers: &mut UnitBlockers,
) {
    let address = Some(address.clone());
    let blocker = Blocker { code: UNIT_CONFLICT.code.into(), address, text, help, source };
    blockers.entry(unit).or_default().push(blocker);
}

/// Returns the pairs of units that cannot be applied at the same time, because both need the lease of one ledger. `leases`
/// has the names of the other ledgers that the moves of a unit need, by its number; `name` is that of a unit's own ledger.
#[must_use]
pub fn lease_conflicts(
    leases: &BTreeMap<usize, BTreeSet<Name>>,
    name: impl Fn(usize) -> Name,
) -> BTreeSet<(usize, usize)> {
    let mut users: BTreeMap<Name, BTreeSet<usize>> = BTreeMap::new();
    for (unit, others) in leases {
        users.entry(name(*unit)).or_default().insert(*unit);
        for other in others {
            users.entry(other.clone()).or_default().insert(*unit);
        }
    }
    let mut pairs = BTreeSet::new();
    for units in users.values() {
        for one in units {
            pairs.extend(units.range(one + 1..).map(|other| (*one, *other)));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_that_need_the_ledger_of_a_third_one_are_not_applied_at_the_same_time() {
        let names = ["a/dev", "b/dev", "c/dev", "d/dev"];
        let name = |unit: usize| Name::new(names[unit]);
        let from_a = || BTreeSet::from([Name::new("a/dev")]);
        let none = BTreeSet::new();
        let all = BTreeMap::from([(0, none.clone()), (1, from_a()), (2, from_a()), (3, none)]);
        assert_eq!(lease_conflicts(&all, name), BTreeSet::from([(0, 1), (0, 2), (1, 2)]));
        // The unit that gives the objects away is not selected.
        let selected = BTreeMap::from([(1, from_a()), (2, from_a())]);
        assert_eq!(lease_conflicts(&selected, name), BTreeSet::from([(1, 2)]));
    }

    #[test]
    fn a_stack_with_errors_may_claim_what_its_files_name() {
        let registry = crate::kinds::REGISTRY;
        let entry = "moved: [{ from: volume.data, to: volume.data, from_stack: ../a }]";
        let claims = |texts: &[&str], files: FilesRead, address: &str| {
            let texts = texts.iter().map(|text| Arc::from(*text)).collect();
            let stack = UnreadStack { directory: "b".into(), texts, files };
            stack.may_claim(registry, &Address::parse(address).unwrap())
        };
        for files in [FilesRead::All, FilesRead::Own] {
            let may = |texts: &[&str], address: &str| claims(texts, files, address);
            assert!(may(&[entry], "volume.data") && may(&["stead: 1", entry], "volume.data.part"));
            assert!(!may(&[entry], "volume.other") && !may(&["volume: { data: {} }"], "volume.data"));
            assert!(may(&[&entry.replace("volume.data", "shop")], "shop.volume.data"));
        }
        // The entry may be in a file that was not read.
        let includes = ["include: [../shared.stead.yaml]"];
        assert!(claims(&includes, FilesRead::Own, "volume.data"));
        assert!(!claims(&includes, FilesRead::All, "volume.data"));
        assert!(claims(&["stead: 1"], FilesRead::Some, "volume.data"));
    }

    #[test]
    fn a_path_between_two_directories_is_relative() {
        for (from, to, path) in
            [("a", "b", "../b"), (".", "b", "b"), ("a/x", ".", "../.."), ("a/x", "a/y", "../y")]
        {
            assert_eq!(relative_path(Path::new(from), Path::new(to)).as_deref(), Some(path));
        }
    }
}
