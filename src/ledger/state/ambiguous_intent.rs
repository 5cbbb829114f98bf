//! Ambiguous intents: their description, their lookup by the first digits of the request's id,
//! and the possible answers. Pure.

use std::fmt::Write;

use uuid::Uuid;

use super::entry::{Intent, IntentAction};
use super::ledger::Ledger;
use crate::model::address::Name;
use crate::model::diagnostic::nearest_name;

/// Minimum number of digits of a request's id that are displayed.
const MIN_ID_DIGITS: usize = 8;

/// The reason why no request was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IntentLookupError {
    /// No ambiguous or watched request begins with these digits.
    #[error("there is no ambiguous intent {asked}{}", near.as_deref().map(|near| format!("; did you mean {near}?")).unwrap_or_default())]
    NotFound {
        /// The digits that the user gave.
        asked: String,
        /// The most similar id, if there is one.
        near: Option<String>,
    },
    /// Several requests begin with these digits.
    #[error("{asked} matches {}", all.join(" or "))]
    MultipleMatches {
        /// The digits that the user gave.
        asked: String,
        /// All ids that begin with the digits.
        all: Vec<String>,
    },
}

/// Returns the requests that can be resolved: the ambiguous ones, and those watched for late effects.
fn answerable_intents(ledger: &Ledger) -> impl Iterator<Item = Uuid> {
    ledger.questions.keys().chain(ledger.watched.keys()).copied()
}

/// Returns the first digits of a request's id, enough to distinguish it from the others.
#[must_use]
pub fn short_handle(ledger: &Ledger, op: Uuid) -> String {
    let whole = op.to_string();
    let others: Vec<String> =
        answerable_intents(ledger).filter(|other| *other != op).map(|other| other.to_string()).collect();
    let unique = |length: &usize| !others.iter().any(|other| other.starts_with(&whole[..*length]));
    let length = (MIN_ID_DIGITS..whole.len()).find(unique).unwrap_or(whole.len());
    // Avoids a trailing dash in the displayed id.
    whole[..length].trim_end_matches('-').to_owned()
}

/// Finds a request by the first digits of its id.
///
/// # Errors
/// When none or several begin so.
pub fn find_by_prefix(ledger: &Ledger, asked: &str) -> Result<Uuid, IntentLookupError> {
    let wanted = asked.to_lowercase();
    let fits = |op: &Uuid| !wanted.is_empty() && op.to_string().starts_with(&wanted);
    let found: Vec<Uuid> = answerable_intents(ledger).filter(fits).collect();
    match found[..] {
        [op] => Ok(op),
        [] => {
            let handles: Vec<String> =
                answerable_intents(ledger).map(|op| short_handle(ledger, op)).collect();
            let near = nearest_name(&wanted, handles.iter().map(String::as_str)).map(str::to_owned);
            Err(IntentLookupError::NotFound { asked: asked.to_owned(), near })
        }
        _ => {
            let all = found.into_iter().map(|op| short_handle(ledger, op)).collect();
            Err(IntentLookupError::MultipleMatches { asked: asked.to_owned(), all })
        }
    }
}

/// Returns the answers that a request can have, as arguments after `stead resolve OP`.
#[must_use]
pub fn possible_answers(ledger: &Ledger, intent: &Intent, candidates: &[Name]) -> Vec<String> {
    // An update or a deletion creates no object, so it can only be without effect or be ignored.
    let IntentAction::Create { deposes, .. } = &intent.action else {
        return vec!["absent".to_owned(), "forget".to_owned()];
    };
    let entry = ledger.entries.get(&intent.address);
    let has_object = entry.is_some_and(|entry| entry.current.is_some());
    let mut words: Vec<String> = Vec::new();
    for id in candidates {
        if has_object == *deposes {
            words.push(format!("adopt {id}"));
        }
        words.push(format!("surplus {id}"));
    }
    words.push("absent".to_owned());
    if !candidates.is_empty() {
        words.push("forget".to_owned());
    }
    words
}

/// Returns the description of an ambiguous intent in one line, with the commands that resolve it.
#[must_use]
pub fn describe_ambiguous_intent(ledger: &Ledger, op: Uuid) -> Option<String> {
    let question = ledger.questions.get(&op)?;
    let mut text = format!("{}; to resolve it: stead resolve {} ", question.text, short_handle(ledger, op));
    let words = possible_answers(ledger, &question.intent, &question.candidates);
    // Writing to a `String` cannot fail.
    let _ = write!(text, "{}", words.join(" | "));
    Some(text)
}

/// Returns one line for each open request of a holder that lost the ledger and is not proven dead: the next apply may
/// ask the user about it.
#[must_use]
pub fn likely_ambiguous_intents(ledger: &Ledger) -> Vec<String> {
    let foreign = ledger.intents.values().filter(|intent| intent.foreign);
    let line = |intent: &Intent| {
        let address = &intent.address;
        format!(
            "{address}: a request of a process that lost the ledger's lock is open; the next apply may find it ambiguous"
        )
    };
    foreign.map(line).collect()
}

#[cfg(test)]
mod tests;
