//! What units claim, and the blockers of two units whose claims exclude each other. In: two resources of two units, and what
//! they have to do with each other. Out: a blocker in each of the two, with a text from its side.

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::blocker_code::UNIT_CONFLICT;
use crate::model::live::snapshot::ObjectKey;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::Plan;
use crate::workspace::conflicts::lookups::UnitLookup;
use crate::workspace::unit::UnitName;

/// Objects of others that a unit needs.
#[derive(Debug, Clone, Default)]
pub struct UsedObjects {
    /// Those that its blocks name by id or find by `data`, each with the address of a block.
    pub used: BTreeMap<ObjectKey, Address>,
    /// Its lookups that find an object.
    pub lookups: Vec<UnitLookup>,
    /// The attributes that it reads of what its lookups find, `None` for any of them, with the lookup.
    pub reads: BTreeMap<(ObjectKey, Option<Name>), Address>,
}

/// What a unit plans, and what it needs of the objects of others.
#[derive(Clone, Copy)]
pub struct UnitClaims<'a> {
    /// Name of the unit.
    pub name: &'a UnitName,
    /// Its plan.
    pub plan: &'a Plan,
    /// Its ledger when the plan was made.
    pub ledger: &'a Ledger,
    /// Objects of others that it needs.
    pub uses: &'a UsedObjects,
    /// Outputs that it reads, by the unit that has them.
    pub reads: &'a BTreeMap<UnitName, BTreeSet<Name>>,
}

/// Blockers by the position of the unit in the list.
pub type UnitBlockers = BTreeMap<usize, Vec<Blocker>>;

/// A resource of a unit, by the unit's position.
pub(super) type Claimant<'a> = (usize, &'a Address);

/// Adds a blocker to both sides of a conflict that goes when one of them is changed; the texts describe it in the unit of the
/// first and in that of the second.
pub(super) fn add_pair(
    units: &[UnitClaims<'_>],
    (one, other): (Claimant<'_>, Claimant<'_>),
    texts: [String; 2],
    blockers: &mut UnitBlockers,
) {
    add_pair_with_help(units, (one, other), (texts, ""), blockers);
}

/// Does the same, with a further remedy.
pub(super) fn add_pair_with_help(
    units: &[UnitClaims<'_>],
    (one, other): (Claimant<'_>, Claimant<'_>),
    (texts, remedy): ([String; 2], &str),
    blockers: &mut UnitBlockers,
) {
    let [text, back] = texts;
    for ((unit, own), with, text) in [(one, other.0, text), (other, one.0, back)] {
        let help = format!("Change one of the two: {} or {}.{remedy}", units[unit].name, units[with].name);
        let source = units[unit].plan.changes.iter().find(|change| change.address == *own);
        let source = source.and_then(|change| change.source.clone());
        blockers.entry(unit).or_default().push(Blocker {
            code: UNIT_CONFLICT.code.into(),
            address: Some(own.clone()),
            text,
            help,
            source,
        });
    }
}

/// Returns the texts of a conflict that is the same from both sides.
pub(super) fn equal_sides(
    units: &[UnitClaims<'_>],
    one: Claimant<'_>,
    other: Claimant<'_>,
    what: impl Fn(bool) -> String,
) -> [String; 2] {
    let text = |own: Claimant<'_>, with: Claimant<'_>, is_first| {
        format!("{} and {} of {} {}.", own.1, with.1, units[with.0].name, what(is_first))
    };
    [text(one, other, true), text(other, one, false)]
}

/// How a resource uses an object of another unit that is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RemovalUse {
    /// It uses the object after its plan.
    Planned,
    /// It uses the object until its plan is applied, and the object is deleted before it is created again.
    LiveWhileReplaced,
    /// It uses the object until its plan is applied, and other changes wait for the deletion.
    LiveWhileAwaited,
}

impl RemovalUse {
    /// Returns the texts of the conflict: in the unit that deletes the object, and in the one that uses it.
    pub(super) fn texts(
        self,
        units: &[UnitClaims<'_>],
        removed: Claimant<'_>,
        user: Claimant<'_>,
    ) -> [String; 2] {
        let (verb, still) = match self {
            Self::Planned => ("would be deleted", ""),
            Self::LiveWhileReplaced => ("must be deleted before it is created again", "still "),
            Self::LiveWhileAwaited => {
                ("must be deleted before something else of its stack is created or changed", "still ")
            }
        };
        let name = |claimant: Claimant<'_>| units[claimant.0].name;
        [
            format!("{} {verb}, and {} of {} {still}uses it.", removed.1, user.1, name(user)),
            format!("{} {still}uses {} of {}, which {verb}.", user.1, removed.1, name(removed)),
        ]
    }
}
