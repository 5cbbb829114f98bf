//! Fixtures of the ledger's tests: an identity, records, and a predictable random source.

use std::cell::Cell;
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::journal::record::Record;
use super::state::entry::{Entry, Intent, IntentAction, LedgerIdentity, OwnedObject};
use super::state::holder::LeaseHolder;
use super::stores::open_options::OpenOptions;
use crate::model::address::{Address, Name};
use crate::model::clock::Random;
use crate::model::values::value::Attributes;

/// A random source that counts up, so that ids are predictable.
#[derive(Default)]
pub(super) struct Counted(Cell<u128>);

impl Random for Counted {
    fn uuid(&self) -> Uuid {
        self.0.set(self.0.get() + 1);
        Uuid::from_u128(self.0.get())
    }

    fn fraction(&self) -> f64 {
        0.5
    }
}

pub(super) fn identity() -> LedgerIdentity {
    LedgerIdentity::new_random("shop", "prod", &Counted::default())
}

/// Returns the options of a process that opens a ledger without force, key or knowledge of other processes.
pub(super) fn open_options<'a>(identity: &'a LedgerIdentity, who: &str) -> OpenOptions<'a> {
    let (session, since) = (Uuid::nil(), Timestamp::UNIX_EPOCH);
    let holder = LeaseHolder { session, who: who.to_owned(), process: None, since };
    OpenOptions::new(identity, holder, Duration::ZERO)
}

pub(super) fn op(n: u8) -> Uuid {
    Uuid::from_u128(1_000 + u128::from(n))
}

pub(super) fn address(n: u8) -> Address {
    Address::new("vm", &format!("a{n}"))
}

pub(super) fn owned(id: &str) -> OwnedObject {
    OwnedObject { id: Name::new(id), parent: None, project: None, created_at: None, provisional: false }
}

pub(super) fn entry(current: Option<&str>) -> Entry {
    Entry {
        kind: Name::new("vm"),
        current: current.map(owned),
        deposed: Vec::new(),
        parent: None,
        applied: Attributes::new(),
        depends_on: Vec::new(),
        protect: false,
        keep_on_remove: false,
        delete_on_remove: false,
        unfinished: false,
        secret_lost: false,
        secret_origin: None,
        final_snapshot: false,
        verified: None,
    }
}

fn intent(n: u8, at: u8, action: IntentAction) -> Record {
    let (op, address, kind) = (op(n), address(at), Name::new("vm"));
    Record::Intent(Intent {
        op,
        address,
        kind,
        parent: None,
        project: None,
        at: Timestamp::UNIX_EPOCH,
        foreign: false,
        action,
    })
}

pub(super) fn create(n: u8, at: u8, deposes: bool) -> Record {
    let entry = Box::new(entry(None));
    let (expected, baseline) = (Attributes::new(), vec![Name::new("old")]);
    intent(n, at, IntentAction::Create { expected, baseline, server_date: None, entry, deposes })
}

pub(super) fn update(n: u8, at: u8, id: &str) -> Record {
    let (before, target) = (Attributes::new(), Attributes::new());
    intent(n, at, IntentAction::Update { id: Name::new(id), call: Name::new("resize"), before, target })
}

pub(super) fn delete(n: u8, at: u8, id: &str) -> Record {
    intent(n, at, IntentAction::Delete { object: owned(id) })
}

pub(super) fn bound(n: u8, id: &str) -> Record {
    Record::Bound { op: op(n), object: owned(id) }
}

pub(super) fn gone(n: Option<u8>, at: u8, id: &str) -> Record {
    Record::Gone { op: n.map(op), address: address(at), id: Name::new(id) }
}

pub(super) fn adopted(at: u8, id: &str) -> Record {
    Record::Adopted { address: address(at), entry: Box::new(entry(Some(id))) }
}
