//! What the declarations of a stack (`moved`, `removed`, `import`) mean for the entries of a ledger, as data.
//! `movers::resolve_moves` makes it; every later phase reads it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use crate::config::stack::declarations::{RemovedAction, RemovedDeclaration};
use crate::config::stack::model::Stack;
use crate::ledger::journal::legal::first_illegal_move;
use crate::ledger::journal::record::Record;
use crate::ledger::journal::replay::apply_record;
use crate::ledger::state::entry::Entry;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::{Address, Name, path_prefixes};
use crate::model::source::Span;

/// An entry that a plan adds, and why its object is deleted.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::plan) struct AddedEntry {
    /// What the ledger will remember.
    pub entry: Entry,
    /// What it came of, and its age.
    pub reason: String,
}

/// What the declarations of a stack do to a ledger.
#[derive(Debug, Default)]
pub(in crate::plan) struct ResolvedDeclarations<'a> {
    /// New addresses by old ones.
    pub moves: BTreeMap<Address, Address>,
    /// What there was before, by new addresses.
    pub was: HashMap<Address, MoveOrigin>,
    /// What becomes of what is left at an address, or below it.
    removed: HashMap<&'a str, &'a RemovedDeclaration>,
    /// Entries that the plan adds in order to delete their objects, and those that change by that.
    pub added: BTreeMap<Address, AddedEntry>,
    /// Moves that cannot be made: the address, what and why, what to do, and the entry.
    pub impossible: Vec<ImpossibleMove>,
}

/// What there was before a move.
#[derive(Debug)]
pub(in crate::plan) struct MoveOrigin {
    /// The old address.
    pub address: Address,
    /// The entry that says so; `None`: it goes with its parent.
    pub span: Option<Span>,
    /// It moves with everything in a module: the module's old place and its new one.
    pub module: Option<(Name, Name)>,
}

/// A move that cannot be made.
#[derive(Debug)]
pub(in crate::plan) struct ImpossibleMove {
    /// The old address.
    pub address: Address,
    /// What and why.
    pub text: String,
    /// What to do.
    pub help: String,
    /// The entry.
    pub span: Option<Span>,
}

impl<'a> ResolvedDeclarations<'a> {
    /// Starts with the `removed` entries of a stack, and no moves.
    pub fn new(stack: &'a Stack) -> Self {
        let removed =
            stack.declarations.removed.iter().map(|removed| (removed.from.as_str(), removed)).collect();
        Self { removed, ..Self::default() }
    }

    /// Returns the ledger as it is once everything has its new address.
    pub fn apply_to_ledger<'l>(&mut self, ledger: &'l Ledger) -> Cow<'l, Ledger> {
        if self.moves.is_empty() {
            return Cow::Borrowed(ledger);
        }
        let mut moved = ledger.clone();
        if let Err(illegal) = apply_record(&mut moved, &Record::Moved { moves: self.moves.clone() }) {
            let barred = first_illegal_move(ledger, &self.moves).map(|(address, _)| address.clone());
            if let Some(address) = barred {
                let help = "Answer it first, or apply without the move: `stead resolve` lists it.";
                let text = format!("{address} cannot be moved: {}.", illegal.reason);
                self.impossible.push(ImpossibleMove { address, text, help: help.to_owned(), span: None });
            }
            self.moves.clear();
            self.was.clear();
            return Cow::Borrowed(ledger);
        }
        moved.serial = ledger.serial;
        Cow::Owned(moved)
    }

    /// Returns what is to become of an object whose block is gone, where an entry says it.
    pub fn removal_action(&self, address: &Address) -> Option<RemovedAction> {
        if self.removed.is_empty() {
            return None;
        }
        let found = path_prefixes(address.as_str()).filter_map(|place| self.removed.get(place)).next_back();
        found.map(|removed| removed.action)
    }
}
