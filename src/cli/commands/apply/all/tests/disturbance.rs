//! Changes by others between a review and its apply.

use serde_json::json;

use super::repository::Dice;
use super::trial::{COLLECTIONS, Review, Trial};
use crate::model::address::Address;
use crate::model::schema::Method;
use crate::plan::model::change::Action;

/// What others did.
#[derive(Debug)]
pub(super) struct Disturbance {
    /// The unit that owns the object.
    pub(super) unit: String,
    pub(super) address: Address,
    #[expect(dead_code, reason = "it is printed when a test fails")]
    what: &'static str,
    pub(super) verdict: Verdict,
}

/// Whether a unit is applied after what others did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Its plan does something that was not reviewed.
    Refused,
    /// Its plan does nothing but what was reviewed.
    Applied,
    /// What others changed cannot be taken back, so it is left alone; that may leave nothing unreviewed.
    Either,
}

/// Changes or deletes an object of a unit that is about to be applied; `None` if there is none that can be changed.
pub(super) fn disturb(trial: &Trial, review: &Review, dice: &mut Dice) -> Option<Disturbance> {
    let work = review.work();
    let owned = review.planned.planned().filter(|(number, _)| work.contains_key(&review.name(*number)));
    let objects: Vec<_> = owned
        .flat_map(|(number, unit)| {
            let entries = unit.ledger.entries.iter();
            entries.filter_map(move |(address, entry)| {
                let object = entry.current.as_ref()?;
                Some((number, address, entry.kind.as_str(), object))
            })
        })
        .filter(|(_, _, kind, _)| ["app", "volume", "ssh_key"].contains(kind))
        .collect();
    let (number, address, kind, object) = *dice.pick(&objects)?;
    let plan = review.plans().find(|(known, _)| *known == number)?.1;
    let action = plan.changes.iter().find(|change| change.address == *address).map(|change| change.action);
    let is_deletion = kind == "ssh_key" || dice.once_in(2);
    if is_deletion {
        let (_, path) = COLLECTIONS.iter().find(|(known, _)| *known == kind)?;
        let path = format!("{path}/{}", object.id);
        let (status, _) = trial.cloud.ask(Method::Delete, &path, object.project.as_deref());
        if status >= 300 {
            return None;
        }
    } else if kind == "app" {
        trial.cloud.mutate("app", &object.id, &json!({ "branch": "theirs" }));
    } else {
        trial.cloud.mutate("volume", &object.id, &json!({ "size": 77 }));
    }
    Some(Disturbance {
        unit: review.name(number),
        address: address.clone(),
        what: if is_deletion { "deleted" } else { "changed" },
        verdict: match action {
            // What was to be deleted is gone.
            Some(Action::Delete) if is_deletion => Verdict::Applied,
            None | Some(Action::Update) if !is_deletion && kind == "volume" => Verdict::Either,
            _ => Verdict::Refused,
        },
    })
}
