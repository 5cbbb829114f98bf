//! The end of an apply: the check of watched creations for late effects, the description of ambiguous intents,
//! and the outputs. Only the watched creations change the ledger.

use std::collections::BTreeMap;

use super::event::StepError;
use super::step_parts::StepParts;
use super::steps::resolve_intent::look_for_late_effect;
use crate::cloud::http::message::Transport;
use crate::ledger::journal::intent_candidates::is_watched;
use crate::ledger::journal::record::ClosedOutcome;
use crate::ledger::journal::store::Store;
use crate::ledger::state::ambiguous_intent;
use crate::ledger::state::entry::Intent;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::expression::Expression;
use crate::model::values::value::Value;

/// Checks every watched creation for a late effect: records an ambiguous intent where an object has appeared,
/// and closes those that were watched long enough. Returns a message for each one that could not be checked;
/// empty if all were.
pub(super) async fn sweep_watched_creations<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
) -> Vec<String> {
    let watched: Vec<Intent> = parts.context.journal.ledger().watched.values().cloned().collect();
    let now = parts.clock().now();
    let mut notes = Vec::new();
    for intent in watched {
        let result = match parts.kind(&intent.kind) {
            Ok(kind) if is_watched(&intent, now) => look_for_late_effect(parts, kind, &intent).await,
            Ok(_) => parts.close(&intent, ClosedOutcome::PresumedAbsent).await,
            Err(error) => Err(error),
        };
        match result {
            // The ambiguous intent is recorded, and reported with all the others.
            Ok(()) | Err(StepError::Ambiguous(_)) => {}
            Err(error) => notes.push(format!(
                "{}: an earlier request was abandoned; stead cannot determine whether it took effect later: {error}",
                intent.address
            )),
        }
    }
    notes
}

/// Returns a description of each ambiguous intent, with the possible answers.
pub(super) fn describe_ambiguous_intents<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
) -> Vec<String> {
    let ledger = parts.context.journal.ledger();
    ledger
        .questions
        .keys()
        .filter_map(|op| ambiguous_intent::describe_ambiguous_intent(&ledger, *op))
        .collect()
}

/// Returns the outputs whose values are known now; one that is unknown or cannot be computed is left out.
pub(super) async fn known_outputs<C: Transport, K: Clock, R: Random, S: Store>(
    parts: &StepParts<'_, C, K, R, S>,
    planned: &BTreeMap<Name, Expression>,
) -> BTreeMap<Name, Value> {
    let mut outputs = BTreeMap::new();
    for (name, expression) in planned {
        if let Ok(value) = parts.evaluate_expression(expression).await
            && !value.is_unknown()
        {
            // The value of a lone reference is the service's, which may repeat a secret; other expressions also
            // contain strings of the configuration, which redaction could damage.
            let redact = |text: &str| parts.context.client.redact(text);
            let is_live = matches!(expression, Expression::Reference(_));
            outputs.insert(name.clone(), if is_live { value.to_redacted(&redact) } else { value });
        }
    }
    outputs
}
