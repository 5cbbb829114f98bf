//! Whether objects can be moved from one ledger to another: the rules that need both whole ledgers. Pure. The records of
//! a transfer check again what one ledger can check alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::ledger::state::entry::Entry;
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Address;

/// Why a resource cannot be moved to another ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveRefusal {
    /// The address in the source; `None` if the reason concerns the ledgers as a whole.
    pub address: Option<Address>,
    /// The reason, as a sentence without a full stop.
    pub reason: String,
    /// The remedy, as a sentence.
    pub help: &'static str,
}

impl fmt::Display for MoveRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Some(address) => write!(f, "{address} cannot be moved: {}", self.reason),
            None => write!(f, "nothing can be moved: {}", self.reason),
        }
    }
}

impl std::error::Error for MoveRefusal {}

/// Checks that these entries of the source (new addresses by old ones) can be moved to the target.
///
/// # Errors
/// The first reason why they cannot.
pub fn check_move(
    source: &Ledger,
    target: &Ledger,
    moves: &BTreeMap<Address, Address>,
) -> Result<(), MoveRefusal> {
    let whole = |reason: &str, help| MoveRefusal { address: None, reason: reason.to_owned(), help };
    let (from, to) = (&source.identity, &target.identity);
    if from.lineage == to.lineage {
        return Err(whole(
            "both stacks have the same ledger",
            "Name the directory of another stack, or another environment.",
        ));
    }
    let Some(account) = &from.account else {
        return Err(whole(
            "the ledger that has the resources was never applied",
            "Apply the stack that has them first.",
        ));
    };
    if to.account.as_ref().is_some_and(|other| other != account) {
        return Err(whole(
            "the two ledgers belong to different accounts",
            "Objects cannot change their account: create the resource in the other stack, and copy its data.",
        ));
    }
    let named: BTreeSet<&Address> = moves.values().collect();
    if named.len() != moves.len() {
        return Err(whole("two resources would get the same address", "Correct the `moved` entries."));
    }
    let children = source.entries.iter().filter(|(address, _)| !moves.contains_key(*address));
    for (address, entry) in children {
        if entry.parent.as_ref().is_some_and(|parent| moves.contains_key(parent)) {
            return Err(MoveRefusal {
                address: entry.parent.clone(),
                reason: format!("its child {address} would stay"),
                help: "Move the resource with everything in it.",
            });
        }
    }
    let owned: BTreeSet<_> = target.entries.values().flat_map(object_keys).collect();
    for (old, new) in moves {
        let refused = |(reason, help): (&str, &'static str)| MoveRefusal {
            address: Some(old.clone()),
            reason: reason.to_owned(),
            help,
        };
        let entry = source.entries.get(old).ok_or_else(|| {
            refused(("the ledger has no such resource", "stead ls shows the resources of the ledger."))
        })?;
        check_source(source, old, entry, moves).map_err(refused)?;
        check_target(target, new, source.secrets.values.contains_key(old.as_str())).map_err(refused)?;
        if object_keys(entry).any(|key| owned.contains(&key)) {
            return Err(refused((
                "the other ledger owns its object already",
                "Forget it in one of the two stacks: stead rm ADDRESS --keep.",
            )));
        }
    }
    Ok(())
}

fn object_keys(entry: &Entry) -> impl Iterator<Item = crate::model::live::snapshot::ObjectKey> {
    entry.current.iter().chain(&entry.deposed).map(|object| object.key(&entry.kind))
}

/// A reason and its remedy.
type Refused = (&'static str, &'static str);

const RESOLVE_FIRST: &str =
    "Resolve it first: stead resolve lists it, and stead apply closes open requests.";

fn check_source(
    source: &Ledger,
    address: &Address,
    entry: &Entry,
    moves: &BTreeMap<Address, Address>,
) -> Result<(), Refused> {
    if entry.parent.as_ref().is_some_and(|parent| !moves.contains_key(parent)) {
        return Err(("its parent would stay", "Move its parent, with everything in it."));
    }
    if is_busy(source, address) {
        return Err(("a request for it is open or ambiguous", RESOLVE_FIRST));
    }
    let secret = source.secrets.values.get(address.as_str());
    if source.secrets.rotating.contains(address.as_str())
        || secret.is_some_and(|secret| secret.pending.is_some())
    {
        return Err(("its secret is being rotated", "Finish the rotation first: stead apply."));
    }
    Ok(())
}

fn check_target(target: &Ledger, address: &Address, has_secret: bool) -> Result<(), Refused> {
    if target.entries.contains_key(address) {
        return Err((
            "the other ledger has a resource at the new address",
            "Choose another address, or forget the resource of the other stack first (`rm ADDRESS --keep` there).",
        ));
    }
    if is_busy(target, address) {
        return Err(("a request for the new address is open or ambiguous", RESOLVE_FIRST));
    }
    if has_secret && target.secrets.recipients.is_empty() {
        return Err((
            "the ledger keeps its secret encrypted, and the ledger that would get it has no recipients yet",
            "Write `secrets: { recipients: [age1…] }` in the stack that gets it, and apply that stack first, without the resource and its `moved` entry.",
        ));
    }
    Ok(())
}

/// Returns whether a request or another transfer concerns the address.
fn is_busy(ledger: &Ledger, address: &Address) -> bool {
    let open = ledger.intents.values().chain(ledger.questions.values().map(|asked| &asked.intent));
    open.into_iter().any(|intent| intent.address == *address) || ledger.transfers.holding(address).is_some()
}
