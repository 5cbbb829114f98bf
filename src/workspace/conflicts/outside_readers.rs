//! Units without a plan, and that use what a planned one deletes: those that are not selected, and those whose configuration
//! has errors. In: the graph, the ledgers of the units without a plan, and the plans of the others. Out: by unit, who still
//! uses it and how. A unit uses an object if its ledger has the object's id; it reads outputs if its files say so, and it
//! still has objects; it looks an object up if its files say so. Pure.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;

use super::lookups::LookupLoss;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Address;
use crate::model::diagnostic::blocker_code::OUTSIDE_READER;
use crate::model::schema::Registry;
use crate::model::values::value::Value;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::Plan;
use crate::plan::model::step::{Operation, Step};
use crate::workspace::graph::UnitGraph;
use crate::workspace::selection::SelectionLimits;
use crate::workspace::unit::UnitName;

/// The units without a plan.
#[derive(Debug, Clone, Default)]
pub struct OutsideUnits<'a> {
    /// Their ledgers, those of units that were never applied without one.
    pub ledgers: BTreeMap<usize, Option<&'a Ledger>>,
    /// Those whose ledgers cannot be read.
    pub unread: BTreeSet<usize>,
    /// Those that may lose what they use.
    pub forced: BTreeSet<usize>,
    /// Those that were removed: only their ledgers tell what they read.
    pub removed: BTreeSet<usize>,
}

/// How a unit without a plan uses a planned one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutsideUse {
    /// As `Object`, and the service refuses the deletion of the object for that.
    Held(Address, Address),
    /// The first address uses the second one, of the selected unit.
    Object(Address, Address),
    /// The first address, a lookup, no longer finds its object because of what happens to the second one.
    Lookup(Address, Address, LookupLoss),
    /// It has this number of objects, and reads outputs; itself, or through units without objects. 0: it only has requests or
    /// moves in progress.
    Outputs(usize),
    /// It reads outputs, and its ledger cannot be read.
    Unread,
}

impl OutsideUse {
    /// Returns how a unit that reads outputs uses them, by its ledger; `None` if it has nothing that would lose them.
    #[must_use]
    pub fn of_reader(ledger: Option<&Ledger>) -> Option<Self> {
        let ledger = ledger.filter(|ledger| !ledger.owns_nothing())?;
        Some(Self::Outputs(ledger.entries.len()))
    }

    /// Returns the resource of the used unit, if it is about one, and the use as a sentence. `who` follows the name of the other unit:
    /// a clause between commas, or nothing.
    fn in_words(&self, name: &UnitName, who: &str) -> (Option<Address>, String) {
        match self {
            Self::Held(user, object) | Self::Object(user, object) => {
                (Some(object.clone()), format!("{user} of {name}{who} uses {object}."))
            }
            Self::Lookup(lookup, object, loss) => {
                let how = match loss {
                    LookupLoss::Deleted => format!("{object}, which is deleted"),
                    LookupLoss::Changed(attribute) => format!("{object} by its {attribute}, which changes"),
                    LookupLoss::Repeated(attributes) => {
                        format!("another object by its {attributes}, and {object} would have the same")
                    }
                };
                (Some(object.clone()), format!("{lookup} of {name}{who} finds {how}."))
            }
            Self::Outputs(objects) => {
                let has = match objects {
                    0 => "requests or moves in progress".to_owned(),
                    1 => "1 object".to_owned(),
                    objects => format!("{objects} objects"),
                };
                (None, format!("{name}{who} has {has} and reads outputs of this unit."))
            }
            Self::Unread => {
                (None, format!("{name}{who} reads outputs of this unit, and its ledger cannot be read."))
            }
        }
    }
}

/// A unit without a plan, and how it uses a planned one.
pub type OutsideReader = (usize, OutsideUse);

impl OutsideUnits<'_> {
    /// Returns whether a unit has no plan, and may not lose what its lookups find.
    #[must_use]
    pub fn has_lookups(&self, unit: usize) -> bool {
        let is_outside = self.ledgers.contains_key(&unit) || self.unread.contains(&unit);
        is_outside && !self.forced.contains(&unit)
    }

    /// Returns the units that read outputs of a unit with this name, and may have objects.
    #[must_use]
    pub fn readers_of(&self, graph: &UnitGraph, (unit, name): (usize, &UnitName)) -> Vec<OutsideReader> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::from([unit]);
        let mut open = graph.readers[unit].clone();
        let name = name.to_string();
        let reads = |removed: &&usize| {
            self.ledgers.get(removed).copied().flatten().is_some_and(|ledger| ledger.may_depend_on(&name))
        };
        open.extend(self.removed.iter().filter(reads));
        while let Some(reader) = open.pop() {
            if !seen.insert(reader) || self.forced.contains(&reader) {
                continue;
            }
            if self.unread.contains(&reader) {
                found.push((reader, OutsideUse::Unread));
                continue;
            }
            let Some(ledger) = self.ledgers.get(&reader) else { continue };
            match OutsideUse::of_reader(*ledger) {
                Some(how) => found.push((reader, how)),
                // Without objects, it only passes outputs on.
                None => open.extend(&graph.readers[reader]),
            }
        }
        found.sort();
        found
    }

    /// Returns the units whose objects use what the plans delete, by the unit that deletes it.
    #[must_use]
    pub fn users_of_removed<'p>(
        &self,
        registry: Registry,
        plans: impl IntoIterator<Item = (usize, &'p Plan)>,
    ) -> BTreeMap<usize, BTreeSet<OutsideReader>> {
        let steps =
            plans.into_iter().flat_map(|(number, plan)| plan.steps.iter().map(move |step| (number, step)));
        let removed: HashMap<&str, (usize, &Step)> = steps
            .filter_map(|(number, step)| match &step.operation {
                // The id of an object inside of another may be a name, which says nothing elsewhere.
                Operation::Delete { object, .. } if object.parent.is_none() => {
                    Some((object.id.as_str(), (number, step)))
                }
                _ => None,
            })
            .collect();
        let mut found = BTreeMap::new();
        if !removed.is_empty() {
            self.add_owners_of_users(registry, &removed, &mut found);
        }
        found
    }

    /// Adds the units whose ledgers have the id of a removed object.
    fn add_owners_of_users(
        &self,
        registry: Registry,
        removed: &HashMap<&str, (usize, &Step)>,
        found: &mut BTreeMap<usize, BTreeSet<OutsideReader>>,
    ) {
        let others = self.ledgers.iter().filter(|(unit, _)| !self.forced.contains(unit));
        for (unit, ledger) in others.filter_map(|(unit, ledger)| Some((*unit, (*ledger)?))) {
            for (address, entry) in &ledger.entries {
                let mut add = |id: &str, attribute: Option<&str>| {
                    let Some((owner, step)) = removed.get(id) else { return };
                    let is_held = registry
                        .kind(&step.kind)
                        .is_some_and(|kind| kind.is_held_by(&entry.kind, attribute));
                    let how = if is_held { OutsideUse::Held } else { OutsideUse::Object };
                    let user = (unit, how(address.clone(), step.address.clone()));
                    found.entry(*owner).or_default().insert(user);
                };
                for (name, value) in &entry.applied {
                    visit_texts(value, &mut |id| add(id, Some(name)));
                }
                for owned in entry.current.iter().chain(&entry.deposed) {
                    owned.parent.iter().chain(&owned.project).for_each(|id| add(id, None));
                }
            }
        }
    }
}

/// Visits each text in a value, without the keys of maps: an id that it refers to is one of them.
pub fn visit_texts(value: &Value, see: &mut dyn FnMut(&str)) {
    match value {
        Value::Text(text) => see(text),
        Value::List(items) => items.iter().for_each(|item| visit_texts(item, see)),
        Value::Map(map) => map.values().for_each(|part| visit_texts(part, see)),
        _ => {}
    }
}

/// Why a unit has no plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutsideReason {
    /// It is not selected.
    NotSelected,
    /// It was removed from the repository, and the command leaves it as it is.
    Removed,
    /// It is selected, and its configuration has errors.
    Errors,
}

/// A unit without a plan, as the blockers name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideUnit {
    /// Its name.
    pub name: UnitName,
    /// Why it has no plan.
    pub reason: OutsideReason,
}

/// Returns the blockers of the unit `own`, for each unit that still uses it one, and one for its lookups: what helps against the
/// one does not help against the other.
#[must_use]
pub fn reader_blockers<'r>(
    readers: impl IntoIterator<Item = &'r OutsideReader>,
    units: impl Fn(usize) -> OutsideUnit,
    (own, limits, destroy): (&UnitName, &SelectionLimits, bool),
) -> Vec<Blocker> {
    let mut blockers: BTreeMap<(usize, bool), Blocker> = BTreeMap::new();
    for (unit, how) in readers {
        let OutsideUnit { name, reason } = units(*unit);
        let who = match reason {
            OutsideReason::Errors => ", whose configuration has errors,",
            OutsideReason::NotSelected => ", which is not selected,",
            OutsideReason::Removed => ", which was removed from the repository,",
        };
        let (address, text) = how.in_words(&name, who);
        // A destroy leaves removed units as they are, and an apply deletes only those that it names.
        let select = match (reason, destroy) {
            (OutsideReason::Errors, _) => "Correct its errors: stead validate --all".to_owned(),
            (OutsideReason::Removed, true) => {
                format!("Delete its objects first: stead apply --all --remove {name}")
            }
            (OutsideReason::Removed, false) => format!("Delete its objects, too: --remove {name}"),
            (OutsideReason::NotSelected, true) => {
                format!("Destroy it, too: {}", limits.flags_to_add(own, &name))
            }
            (OutsideReason::NotSelected, false) => match how {
                // To select the unit would not help: its lookup stays as it is.
                OutsideUse::Lookup(lookup, ..) => format!("Change or remove {lookup} in {name} first"),
                _ => format!("Apply it, too: {}", limits.flags_to_add(own, &name)),
            },
        };
        let force = match how {
            OutsideUse::Lookup(..) if !destroy => {
                format!("If {name} may fail until its lookup is changed: --force-readers {name}")
            }
            OutsideUse::Held(user, _) => format!("The service refuses the deletion while {user} uses it"),
            _ => format!("If it may lose what it uses: --force-readers {name}"),
        };
        let help = format!("{select}. {force}. Readers in other repositories are not known.");
        let blocker = Blocker { code: OUTSIDE_READER.code.into(), address, text, help, source: None };
        let is_lookup = matches!(how, OutsideUse::Lookup(..));
        blockers.entry((*unit, is_lookup)).or_insert(blocker);
    }
    blockers.into_values().collect()
}

/// What to do about a unit that reads the outputs of one that is destroyed alone, as commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoneDestroyRemedy {
    /// The whole unit is destroyed.
    Both {
        /// Destroys the reader, too.
        both: String,
        /// Lets the reader lose what it reads.
        forced: String,
    },
    /// Only some of its resources are destroyed.
    ReaderFirst {
        /// Destroys the reader alone.
        reader: String,
    },
}

/// Returns the blocker of a unit that is destroyed alone, for a unit that reads an output that the destroy removes.
#[must_use]
pub fn lone_destroy_blocker(reader: &UnitName, how: &OutsideUse, remedy: &LoneDestroyRemedy) -> Blocker {
    let (address, text) = how.in_words(reader, "");
    let help = match remedy {
        LoneDestroyRemedy::Both { both, forced } => {
            format!("Destroy both: {both}. If it may lose what it reads: {forced}.")
        }
        LoneDestroyRemedy::ReaderFirst { reader } => {
            format!("Leave out what its outputs need, or destroy the reader first: {reader}.")
        }
    };
    Blocker { code: OUTSIDE_READER.code.into(), address, text, help, source: None }
}

/// Returns the blocker of a unit that is destroyed while the files of a directory cannot be read: its stack, if it is one, may
/// use what the unit has.
#[must_use]
pub fn unreadable_blocker(directory: &str) -> Blocker {
    Blocker {
        code: OUTSIDE_READER.code.into(),
        address: None,
        text: format!(
            "The stack in `{directory}` cannot be read, so whether it uses what this unit has is not known."
        ),
        help: "Correct its errors: stead validate --all. Then plan again.".to_owned(),
        source: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::state::entry::LedgerIdentity;

    /// 0 ← 1 ← 2, and 0 ← 3.
    fn graph() -> UnitGraph {
        UnitGraph {
            upstream: vec![vec![], vec![0], vec![1], vec![0]],
            readers: vec![vec![1, 3], vec![2], vec![], vec![]],
            waves: vec![0, 1, 2, 1],
            order: vec![0, 1, 3, 2],
            cycles: Vec::new(),
        }
    }

    #[test]
    fn a_reader_counts_if_it_has_objects_itself_or_passes_outputs_to_one_that_has() {
        let empty = Ledger::new(LedgerIdentity::new_placeholder("a", "default"));
        let mut full = empty.clone();
        let entry = serde_json::json!({ "kind": "vm", "current": null, "applied": {} });
        full.entries.insert(Address::new("vm", "web"), serde_json::from_value(entry).unwrap());
        let readers = |ledgers: &[(usize, Option<&Ledger>)], unread: &[usize], forced: &[usize]| {
            let outside = OutsideUnits {
                ledgers: ledgers.iter().copied().collect(),
                unread: unread.iter().copied().collect(),
                forced: forced.iter().copied().collect(),
                ..OutsideUnits::default()
            };
            let name = UnitName { stack: "net".into(), environment: "prod".into() };
            outside.readers_of(&graph(), (0, &name))
        };
        let uses = OutsideUse::Outputs(1);
        // Unit 1 is empty, or was never applied: what it passes on counts.
        for first in [None, Some(&empty)] {
            assert_eq!(readers(&[(1, first), (2, Some(&full))], &[], &[]), [(2, uses.clone())]);
        }
        // Unit 1 is selected: unit 2 reads only what is destroyed with it.
        assert!(readers(&[(2, Some(&full))], &[], &[]).is_empty());
        let all = [(1, Some(&full)), (2, Some(&full)), (3, Some(&full))];
        assert_eq!(readers(&all, &[], &[]), [(1, uses.clone()), (3, uses.clone())]);
        assert_eq!(readers(&all, &[], &[3]), [(1, uses)]);
        assert_eq!(readers(&[(1, None)], &[3], &[]), [(3, OutsideUse::Unread)]);
    }

    #[test]
    fn a_reader_is_named_once_with_the_flag_that_allows_its_loss() {
        let app = |reason: OutsideReason| OutsideUnit {
            name: UnitName { stack: "app".into(), environment: "prod".into() },
            reason,
        };
        let object = OutsideUse::Object(Address::new("vm", "web"), Address::new("vpc", "main"));
        let own = UnitName { stack: "net".into(), environment: "prod".into() };
        let limits = SelectionLimits { has_patterns: true, ..SelectionLimits::default() };
        let readers = [(1, object), (1, OutsideUse::Outputs(2))];
        let blockers =
            reader_blockers(&readers, |_| app(OutsideReason::NotSelected), (&own, &limits, true));
        let [blocker] = blockers.as_slice() else { panic!("{blockers:?}") };
        assert_eq!(blocker.text, "vm.web of app/prod, which is not selected, uses vpc.main.");
        assert!(blocker.help.contains("--force-readers app/prod"), "{}", blocker.help);
        assert!(blocker.help.starts_with("Destroy it, too: --stacks app/prod. If"), "{}", blocker.help);
        let failed = reader_blockers(&readers, |_| app(OutsideReason::Errors), (&own, &limits, true));
        assert_eq!(failed[0].text, "vm.web of app/prod, whose configuration has errors, uses vpc.main.");
        assert!(!failed[0].help.contains("--stacks"), "{}", failed[0].help);
        let help = |limits: SelectionLimits| {
            let blockers =
                reader_blockers(&readers, |_| app(OutsideReason::NotSelected), (&own, &limits, true));
            blockers[0].help.split(". If").next().unwrap_or_default().to_owned()
        };
        let both = "Destroy it, too: --stacks net/prod --stacks app/prod";
        let changed = SelectionLimits { is_changed: true, ..SelectionLimits::default() };
        assert_eq!(help(changed), format!("{both} in place of --changed"));
        let of = |environment: &str| SelectionLimits {
            environment: Some(environment.into()),
            ..SelectionLimits::default()
        };
        assert_eq!(
            help(of("dev")),
            "Destroy it, too: --stacks '*/dev' --stacks app/prod in place of -e dev"
        );
        assert_eq!(help(of("prod")), both);
        let help = |destroy| {
            reader_blockers(&readers, |_| app(OutsideReason::Removed), (&own, &limits, destroy))[0]
                .help
                .clone()
        };
        assert!(help(true).contains("first: stead apply --all --remove app/prod. If"), "{}", help(true));
        assert!(help(false).contains("too: --remove app/prod. If"), "{}", help(false));
    }
}
