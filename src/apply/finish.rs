//! The end of an apply: the closing sweep for late effects, open questions, and the outputs.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;

use super::session::Session;
use crate::cloud::exchange::Cloud;
use crate::ledger::entry::Intent;
use crate::ledger::record::ClosedOutcome;
use crate::ledger::store::Store;
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::expression::Expression;
use crate::model::value::Value;

/// How long a creation that was presumed without effect is watched.
const WATCHED_FOR: Duration = Duration::from_hours(7 * 24);

impl<C: Cloud, K: Clock, R: Random, S: Store> Session<'_, C, K, R, S> {
    /// Returns everything that only a human can answer: recorded questions, and objects that look
    /// like late effects of requests that were given up.
    pub(super) async fn questions(&self) -> Vec<String> {
        let (mut texts, watched) = {
            let ledger = self.context.journal.ledger();
            let texts: Vec<String> =
                ledger.questions.values().map(|question| question.text.clone()).collect();
            let watched: Vec<Intent> = ledger.watched.values().cloned().collect();
            (texts, watched)
        };
        let now = self.clock().now();
        for intent in watched {
            let age: SignedDuration = now.duration_since(intent.at);
            if Duration::try_from(age).is_ok_and(|age| age > WATCHED_FOR) {
                // Long past every bound: a failure to say so is told by the run's last record.
                let _ = self.close(&intent, ClosedOutcome::PresumedAbsent).await;
                continue;
            }
            let Ok(kind) = self.kind(&intent.kind) else { continue };
            match self.late_effect(kind, &intent).await {
                Ok(text) => texts.extend(text),
                Err(error) => texts.push(format!(
                    "{}: an earlier request was given up; whether it has had a late effect cannot be read: {error}",
                    intent.address
                )),
            }
        }
        texts
    }

    /// Returns the outputs whose values are known now.
    pub(super) async fn outputs(&self, planned: &BTreeMap<Name, Expression>) -> BTreeMap<Name, Value> {
        let mut outputs = BTreeMap::new();
        for (name, expression) in planned {
            if let Ok(value) = self.value(expression).await
                && !value.is_unknown()
            {
                outputs.insert(name.clone(), value);
            }
        }
        outputs
    }
}
