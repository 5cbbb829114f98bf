//! Moves between this stack and others, as a plan sees them: the ledger as it is once they are made, and their change
//! lines. In: the moves that an apply makes before its first step, found by the caller, which can read the other
//! ledgers. Invariant: an object that is on its way, or whose move cannot be made, is neither created nor deleted.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::change::{Action, Cause, Change, ChangeCost};
use rust_decimal::Decimal;

use crate::config::stack::declarations::TransferDirection;
use crate::ledger::journal::error::IllegalRecord;
use crate::ledger::journal::record::Record;
use crate::ledger::journal::replay::apply_record;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::state::transfer::{IncomingTransfer, Transfer};
use crate::model::address::{Address, Name};
use crate::model::source::Span;

/// A move that cannot be made.
#[derive(Debug, Clone, PartialEq)]
pub struct ImpossibleMove {
    /// The address in this stack.
    pub address: Address,
    /// What is wrong and why.
    pub text: String,
    /// The remedy, as a sentence.
    pub help: String,
    /// The span of the entry; `None` if no entry is the cause.
    pub span: Option<Span>,
}

/// The moves between this stack and others that belong to a plan.
#[derive(Debug, Clone, Default)]
pub struct StackTransfers {
    /// Moves that an apply makes before its first step.
    pub moves: Vec<StackMove>,
    /// Moves that cannot be made, and those that were interrupted.
    pub blocked: Vec<ImpossibleMove>,
}

/// A move of entries between this stack's ledger and another one.
#[derive(Debug, Clone, PartialEq)]
pub struct StackMove {
    /// Which of the two gets the entries.
    pub direction: TransferDirection,
    /// The other stack, as `stack/environment`.
    pub peer: Name,
    /// New addresses by old ones, children included.
    pub moves: BTreeMap<Address, Address>,
    /// The entries and what belongs to them, as the stack that gets them will have them.
    pub content: Box<IncomingTransfer>,
    /// Span of the declaration.
    pub span: Span,
}

impl StackTransfers {
    /// Returns the ledger as it is once the moves are made, with its serial unchanged.
    ///
    /// # Errors
    /// When the ledger forbids one of them.
    pub fn apply_to_ledger<'l>(&self, ledger: &'l Ledger) -> Result<Cow<'l, Ledger>, IllegalRecord> {
        if self.moves.is_empty() {
            return Ok(Cow::Borrowed(ledger));
        }
        let mut moved = ledger.clone();
        for one in &self.moves {
            one.apply_to_ledger(&mut moved)?;
        }
        moved.serial = ledger.serial;
        // The moves are not made yet: nothing of them may be seen but their result.
        moved.transfers.clone_from(&ledger.transfers);
        Ok(Cow::Owned(moved))
    }

    /// Returns the ledger as it is once the moves are made; the present one if it forbids one of them, so that the plan is
    /// blocked.
    #[must_use]
    pub fn expected_ledger<'l>(&self, ledger: &'l Ledger) -> Cow<'l, Ledger> {
        self.apply_to_ledger(ledger).unwrap_or(Cow::Borrowed(ledger))
    }

    /// Returns the same moves as impossible ones, because the ledger forbids one of them.
    #[must_use]
    pub(in crate::plan) fn refused(&self, illegal: &IllegalRecord) -> Self {
        let own = |one: &StackMove| {
            let first = one.moves.iter().next();
            first.map(|(from, to)| match one.direction {
                TransferDirection::Outgoing => from.clone(),
                TransferDirection::Incoming => to.clone(),
            })
        };
        let refused = self.moves.iter().filter_map(|one| {
            let address = own(one)?;
            Some(ImpossibleMove {
                text: format!("{address} cannot be moved: {}.", illegal.reason),
                address,
                help: "Resolve it first, or apply without the move: `stead resolve` lists it.".to_owned(),
                span: Some(one.span),
            })
        });
        Self { moves: Vec::new(), blocked: self.blocked.iter().cloned().chain(refused).collect() }
    }
}

impl StackMove {
    /// Returns a change line for each entry that leaves this stack; none if it comes here.
    pub(in crate::plan) fn departures(&self) -> impl Iterator<Item = Change> {
        let leaves = self.direction == TransferDirection::Outgoing;
        self.moves.iter().filter(move |_| leaves).map(|(from, to)| self.departure(from, to))
    }

    fn apply_to_ledger(&self, ledger: &mut Ledger) -> Result<(), IllegalRecord> {
        let transfer = self.content.transfer.id;
        let records = match self.direction {
            TransferDirection::Outgoing => {
                let offer = Transfer { moves: self.moves.clone(), ..self.content.transfer.clone() };
                [Record::TransferOffered(Box::new(offer)), Record::TransferGiven { transfer }]
            }
            TransferDirection::Incoming => {
                [Record::TransferPending(self.content.clone()), Record::TransferOwned { transfer }]
            }
        };
        records.iter().try_for_each(|record| apply_record(ledger, record))
    }

    fn departure(&self, from: &Address, to: &Address) -> Change {
        let entry = self.content.entries.get(to);
        let object = entry.and_then(|entry| entry.current.as_ref());
        Change {
            address: from.clone(),
            kind: entry.map(|entry| entry.kind.clone()).unwrap_or_default(),
            id: object.map(|object| object.id.clone()),
            was: None,
            action: Action::Move,
            create_first: None,
            cause: Cause::Config,
            reason: Some(format!("moves to {} as {to}", self.peer)),
            attributes: Vec::new(),
            rest: Vec::new(),
            effects: Vec::new(),
            cost: ChangeCost { due_now: Some(Decimal::ZERO), ..ChangeCost::default() },
            hits: Vec::new(),
            steps: Vec::new(),
            source: None,
            seconds: 0,
        }
    }
}

/// Returns the problems of the transfers that are open in a ledger: an apply ends them before it plans, so a plan that
/// sees one is made without the ledger's lock, or the other ledger could not be read.
#[must_use]
pub fn interrupted_moves(ledger: &Ledger) -> Vec<ImpossibleMove> {
    let problem = |address: &Address, peer: &dyn std::fmt::Display, what: &str| ImpossibleMove {
        address: address.clone(),
        text: format!(
            "The move of {address} {what} {peer} was interrupted: until it ends, neither stack changes it."
        ),
        help: "stead apply ends it, in this stack or in the other one.".to_owned(),
        span: None,
    };
    let outgoing = ledger.transfers.outgoing.values().filter(|one| !one.is_given());
    let outgoing = outgoing.filter_map(|one| {
        let transfer = &one.transfer;
        transfer.moves.keys().next().map(|from| problem(from, &transfer.peer, "to"))
    });
    let incoming = ledger.transfers.incoming.values().filter_map(|one| {
        let transfer = &one.transfer;
        transfer.moves.values().next().map(|to| problem(to, &transfer.peer, "from"))
    });
    outgoing.chain(incoming).collect()
}
