//! Invariants of a whole ledger: the guarantees of replay, checked for a ledger that was not replayed. Pure.

use foldhash::{HashMap, HashMapExt};
use uuid::Uuid;

use crate::ledger::state::entry::{Intent, IntentAction};
use crate::ledger::state::ledger::Ledger;
use crate::model::address::Address;
use crate::model::live::snapshot::ObjectKey;

/// Returns every contradiction in a ledger, each as a sentence.
#[must_use]
pub fn find_contradictions(ledger: &Ledger) -> Vec<String> {
    let mut found = shared_objects(ledger);
    found.extend(duplicate_intents(ledger));
    found.extend(
        unclosed_intents(ledger)
            .filter(|(op, intent)| **op != intent.op)
            .map(|(op, intent)| format!("the request {op} of {} contains another id", intent.address)),
    );
    found.extend(ledger.intents.values().filter_map(|intent| foreign_object_intent(ledger, intent)));
    found
}

/// Checks that each object belongs to one address.
fn shared_objects(ledger: &Ledger) -> Vec<String> {
    let mut owners: HashMap<ObjectKey, &Address> = HashMap::with_capacity(ledger.entries.len());
    let mut found = Vec::new();
    for (address, entry) in &ledger.entries {
        for owned in entry.current.iter().chain(&entry.deposed) {
            if let Some(other) = owners.insert(owned.key(&entry.kind), address) {
                found.push(format!("{} {} belongs to {other} and to {address}", entry.kind, owned.id));
            }
        }
    }
    found
}

/// Checks that each address has at most one open request.
fn duplicate_intents(ledger: &Ledger) -> Vec<String> {
    let open = ledger.intents.values().chain(ledger.questions.values().map(|question| &question.intent));
    let mut busy: HashMap<&Address, Uuid> = HashMap::new();
    open.filter(|intent| busy.insert(&intent.address, intent.op).is_some())
        .map(|intent| format!("{} has two open requests", intent.address))
        .collect()
}

fn unclosed_intents(ledger: &Ledger) -> impl Iterator<Item = (&Uuid, &Intent)> {
    let asked = ledger.questions.iter().map(|(op, question)| (op, &question.intent));
    ledger.intents.iter().chain(&ledger.watched).chain(asked)
}

/// Checks that an update or a deletion refers to an object of its address.
fn foreign_object_intent(ledger: &Ledger, intent: &Intent) -> Option<String> {
    let id = match &intent.action {
        IntentAction::Create { .. } => return None,
        IntentAction::Update { id, .. } => id,
        IntentAction::Delete { object } => &object.id,
    };
    let entry = ledger.entries.get(&intent.address);
    let owned =
        entry.is_some_and(|entry| entry.current.iter().chain(&entry.deposed).any(|owned| owned.id == *id));
    (!owned).then(|| format!("a request about {id} is open, which {} does not own", intent.address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::fixture::{address, adopted, delete, entry, identity, op, update};
    use crate::ledger::journal::replay::apply_record;

    #[test]
    fn a_replayed_ledger_is_consistent_and_a_tampered_one_is_not() {
        let mut ledger = Ledger::new(identity());
        for record in [adopted(1, "a"), adopted(2, "b"), update(1, 1, "a"), delete(2, 2, "b")] {
            apply_record(&mut ledger, &record).unwrap();
        }
        assert_eq!(find_contradictions(&ledger), Vec::<String>::new());
        let mut twice = ledger.clone();
        twice.entries.insert(address(3), entry(Some("a")));
        assert_eq!(find_contradictions(&twice), ["vm a belongs to vm.a1 and to vm.a3"]);
        let mut stray = ledger.clone();
        stray.entries.remove(&address(1));
        assert_eq!(find_contradictions(&stray), ["a request about a is open, which vm.a1 does not own"]);
        let mut crowded = ledger.clone();
        let mut second = crowded.intents[&op(1)].clone();
        second.op = op(9);
        crowded.intents.insert(op(9), second);
        assert_eq!(find_contradictions(&crowded), ["vm.a1 has two open requests"]);
    }
}
