//! `StepParts`: the parts of an apply that its steps share: the context, the writer of the ledger, the fence,
//! and what this run knows of objects. In: references to the parts, which one apply owns. Out: the operations
//! of every step: events, records, values. Invariant: an intent is durable before its request may leave.

use futures_util::lock::Mutex;

use super::context::ExecutionContext;
use super::dependents::Dependents;
use super::evaluation_scope::{EvaluationScope, ReadyObjects, looked_into};
use super::event::{ApplyEvent, StepError};
use super::protocol::journal_writer::JournalWriter;
use super::protocol::preexisting::PreexistingObjects;
use super::protocol::write_fence::WriteFence;
use super::step::{DurableIntent, MutationScope, MutationTarget, StepContext, read_failed};
use super::{planned_secrets, request_encoding};
use crate::cloud::error::MutationOutcome;
use crate::cloud::http::message::Transport;
use crate::cloud::write::mutation::MutationClient;
use crate::ledger::journal::record::{ClosedOutcome, Record};
use crate::ledger::journal::store::Store;
use crate::ledger::state::entry::{Intent, IntentAction, OwnedObject};
use crate::model::address::name_map::NameMap;
use crate::model::address::{Address, Name};
use crate::model::clock::{Clock, Random};
use crate::model::evaluate::evaluate_expression;
use crate::model::expression::Expression;
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::Kind;
use crate::model::values::secret::FingerprintKey;
use crate::model::values::value::{Attributes, Value};

/// The parts that all steps of one apply, or of one resolution of open intents, share.
pub(super) struct StepParts<'a, C, K, R, S> {
    pub(super) context: &'a ExecutionContext<'a, C, K, R, S>,
    pub(super) preexisting: &'a PreexistingObjects,
    pub(super) dependants: &'a Dependents,
    pub(super) writer: &'a JournalWriter,
    pub(super) fence: &'a WriteFence,
    /// Locked by the step that packs and uploads.
    pub(super) uploads: &'a Mutex<()>,
    pub(super) objects: &'a ReadyObjects,
}

impl<C: Transport, K: Clock, R: Random, S: Store> StepParts<'_, C, K, R, S> {
    pub(super) fn clock(&self) -> &K {
        self.context.client.clock()
    }

    /// Emits an event, with secrets redacted that the service may have repeated.
    pub(super) fn emit_event(&self, event: ApplyEvent) {
        (self.context.tell)(event.redact_event(&|text| self.context.client.redact(&text)));
    }

    /// Emits a step's progress; an intent of an earlier run has no step and emits `Recovering`.
    pub(super) fn emit_progress(&self, job: &StepContext<'_>, text: String) {
        match job.step {
            Some(step) => {
                self.emit_event(ApplyEvent::Progress { step, address: job.address.clone(), text });
            }
            None => self.emit_event(ApplyEvent::Recovering { address: job.address.clone(), text }),
        }
    }

    /// Returns a kind's table.
    ///
    /// # Errors
    /// When this version does not have the kind: the ledger or the plan is of another version.
    pub(super) fn kind(&self, name: &str) -> Result<&'static Kind, StepError> {
        let unknown = || StepError::Failed(format!("this stead does not know the kind {name}"));
        self.context.client.registry().kind(name).ok_or_else(unknown)
    }

    /// Returns the key of the ledger's fingerprints.
    pub(super) fn secret_key(&self) -> FingerprintKey {
        self.context.journal.ledger().identity.key.clone()
    }

    /// Returns the current object of an address; `None` if the ledger has none. Deposed objects are not included.
    pub(super) fn current_object(&self, address: &Address) -> Option<OwnedObject> {
        self.context.journal.ledger().entries.get(address)?.current.clone()
    }

    /// Makes records durable, grouped with those of other steps; on return they are part of the ledger.
    pub(super) async fn commit(&self, records: impl IntoIterator<Item = Record>) -> Result<(), StepError> {
        self.writer.commit(self.context.journal, records, self.context.rescue).await
    }

    /// Records an intent and returns it once it is durable: only then may its request be sent. Each address has
    /// at most one open intent.
    pub(super) async fn record_intent(
        &self,
        job: &StepContext<'_>,
        scope: MutationScope,
        action: IntentAction,
    ) -> Result<DurableIntent, StepError> {
        self.check_may_send()?;
        // Before the commit: the sending bound includes the time that the recording takes.
        let since = self.clock().elapsed();
        let intent = Intent {
            op: self.context.client.random().uuid(),
            address: job.address.clone(),
            kind: job.kind.name.into(),
            parent: scope.parent,
            project: scope.project,
            at: self.clock().now(),
            foreign: false,
            action,
        };
        self.check_quiet(job.address)?;
        self.commit([Record::Intent(intent.clone())]).await?;
        Ok(DurableIntent { intent, since })
    }

    fn check_quiet(&self, address: &Address) -> Result<(), StepError> {
        let ledger = self.context.journal.ledger();
        if ledger.intents.values().any(|intent| intent.address == *address) {
            let text = "the outcome of an earlier request is still unknown; the next apply checks it first";
            return Err(StepError::Unreachable(text.to_owned()));
        }
        Ok(())
    }

    /// Records the outcome of a request that created no object.
    pub(super) async fn close(&self, intent: &Intent, outcome: ClosedOutcome) -> Result<(), StepError> {
        self.commit([Record::Closed { op: intent.op, outcome }]).await
    }

    /// Records that a request was not sent, and checks that another one may be.
    pub(super) async fn not_sent(&self, intent: &Intent) -> Result<(), StepError> {
        self.close(intent, ClosedOutcome::NotSent).await?;
        self.check_may_send()
    }

    /// Waits until a request with an unknown outcome has had its effect and shows it, or never will. With
    /// `settled` the service has answered, so only the listing bound counts.
    pub(super) async fn wait_until_visible(&self, settled: bool) {
        let bounds = self.context.bounds;
        let wait = if settled { bounds.listing } else { bounds.effect + bounds.listing };
        self.clock().sleep(wait).await;
    }

    /// Evaluates all written attributes of a resource for a request, with the plain text of secrets.
    pub(super) async fn evaluate_all(
        &self,
        address: &Address,
        desired: &NameMap<Expression>,
    ) -> Result<Attributes, StepError> {
        let mut values = Attributes::new();
        for (name, expression) in desired {
            values.insert(name.clone(), self.evaluate(address, name, expression).await?);
        }
        Ok(values)
    }

    /// Evaluates all written attributes of a resource for the ledger. A secret whose fingerprint the plan has
    /// needs no plain text; a secret that this apply generates has no fingerprint in the plan yet.
    pub(super) async fn evaluate_stored(
        &self,
        address: &Address,
        desired: &NameMap<Expression>,
    ) -> Result<Attributes, StepError> {
        let mut values = Attributes::new();
        for (name, expression) in desired {
            let value = match expression {
                // The ledger has more of a computed value than the plan: the fingerprint of its result.
                Expression::Value(value) if value.is_derived() => match self.last_applied(address, name) {
                    Some(applied) if applied == *value => applied,
                    _ => self.evaluate(address, name, expression).await?,
                },
                Expression::Value(value) if !value.is_unknown() && !value.lacks_fingerprint() => {
                    value.clone()
                }
                expression => self.evaluate(address, name, expression).await?,
            };
            values.insert(name.clone(), value);
        }
        Ok(values)
    }

    /// Replaces values that were computed from secrets by the ledger's form, which has the result's fingerprint. A
    /// value that cannot be computed now stays as the plan has it: then the live value is not compared with it.
    pub(super) async fn record_computed(&self, address: &Address, applied: &mut Attributes) {
        for (name, value) in applied.iter_mut().filter(|(_, value)| value.is_derived()) {
            let planned = Expression::Value(value.clone());
            *value = match self.last_applied(address, name) {
                Some(applied) if applied == *value => applied,
                _ => match self.evaluate(address, name, &planned).await {
                    Ok(computed) => request_encoding::seal_parts(&computed, &self.secret_key()),
                    Err(_) => continue,
                },
            };
        }
    }

    /// Returns the last applied value of an attribute; `None` if the ledger has none.
    fn last_applied(&self, address: &Address, name: &Name) -> Option<Value> {
        self.context.journal.ledger().entries.get(address)?.applied.get(name).cloned()
    }

    /// Evaluates one written attribute. A secret's plain text is read from the configuration and must be the
    /// secret that the plan was made with.
    ///
    /// # Errors
    /// When a value cannot be computed, depends on an object that does not exist, or is not what was planned.
    pub(super) async fn evaluate(
        &self,
        address: &Address,
        name: &Name,
        planned: &Expression,
    ) -> Result<Value, StepError> {
        self.evaluate_beside(address, name, (planned, None)).await
    }

    /// Does the same for an attribute whose drift the block ignores: of a map, the plan leaves the keys as they are that it
    /// does not change, whatever is configured. `live` is the value that the plan was made with.
    pub(super) async fn evaluate_beside(
        &self,
        address: &Address,
        name: &Name,
        (planned, live): (&Expression, Option<&Value>),
    ) -> Result<Value, StepError> {
        let configured = planned.is_secret().then(|| (self.context.secrets)(address, name)).flatten();
        let configured = configured.map(|configured| match live {
            Some(live) => planned_secrets::with_live_keys(configured, planned, live),
            None => configured,
        });
        let expression = configured.as_ref().unwrap_or(planned);
        let value = self.evaluate_expression(expression).await?;
        if let Some(first) = value.waits_for().first() {
            let text = format!("{name} waits for {first}, which has no object");
            return Err(StepError::Failed(text));
        }
        if let Some(configured) = &configured {
            let key = self.secret_key();
            if !planned_secrets::is_planned(planned, configured, &value, &key) {
                return Err(StepError::ObjectChanged(format!(
                    "{name}, or a secret in it, is not what the plan was made with"
                )));
            }
        }
        Ok(if configured.is_some() { with_what_stays(planned, value) } else { value })
    }

    /// Evaluates an expression, reading the objects whose attributes it uses. The result may still be unknown.
    pub(super) async fn evaluate_expression(&self, expression: &Expression) -> Result<Value, StepError> {
        for address in looked_into(expression) {
            self.look_at(address).await?;
        }
        let (ledger, seen) = (self.context.journal.ledger(), self.objects.seen());
        let registry = self.context.client.registry();
        let world = EvaluationScope { registry, ledger: &ledger, seen: &seen };
        evaluate_expression(expression, &world).map_err(|error| StepError::Failed(error.to_string()))
    }

    async fn look_at(&self, address: &Address) -> Result<(), StepError> {
        let entry = self.context.journal.ledger().entries.get(address).cloned();
        let Some((name, owned)) = entry.and_then(|entry| Some((entry.kind, entry.current?))) else {
            return Ok(());
        };
        let kind = self.kind(&name)?;
        let whole = kind.attributes.iter().all(|attribute| attribute.listed);
        let enough = |object: &Object| object.id == owned.id && (whole || object.detailed);
        if self.objects.seen().get(address).is_some_and(enough) {
            return Ok(());
        }
        match self.get(&MutationTarget::from_owned(kind, &owned).key).await? {
            Some(object) => {
                self.objects.keep_object(address, object);
                Ok(())
            }
            None => Err(StepError::ObjectChanged(format!(
                "{address} is gone: no object has the id {}",
                owned.id
            ))),
        }
    }

    /// Reads one object; `None` if no object has the id.
    pub(super) async fn get(&self, key: &ObjectKey) -> Result<Option<Object>, StepError> {
        self.context.client.get(key).await.map_err(read_failed)
    }

    /// Returns values in the form that the ledger stores: fingerprints in place of secrets, unset values left out.
    pub(super) fn fingerprint_secrets(&self, kind: &Kind, values: &Attributes) -> Attributes {
        request_encoding::fingerprint_secrets(kind, values, &self.secret_key())
    }

    /// Checks that requests may still be sent and records written.
    ///
    /// # Errors
    /// The reason why no request may be sent.
    pub(super) fn check_may_send(&self) -> Result<(), StepError> {
        self.fence.check_may_send(self.writer)
    }

    /// Sends a request that changes something, its intent being durable.
    pub(super) async fn send_mutation(
        &self,
        job: &StepContext<'_>,
        armed: &DurableIntent,
        request: impl AsyncFnOnce(MutationClient<'_, C, K, R>) -> MutationOutcome,
    ) -> Result<MutationOutcome, StepError> {
        self.fence.send_mutation(self.context, self.writer, job, armed, request).await
    }

    /// Lists the objects of a scope until two passes agree; a missing parent has none. With the `Date` header
    /// of the response, if there is one.
    pub(super) async fn list_stable(
        &self,
        kind: &'static Kind,
        scope: &MutationScope,
    ) -> Result<(Vec<Object>, Option<Name>), StepError> {
        self.preexisting.list_stable(self.context.client, kind, scope).await
    }
}

/// Adds the keys of a map that no block writes but the plan keeps: they are missing in the configuration, from which
/// the secrets are read.
fn with_what_stays(planned: &Expression, value: Value) -> Value {
    let Value::Map(mut all) = value else { return value };
    let mut add = |key: &Name, part: &Value| {
        if !part.is_unknown() {
            all.get_or_insert_with(key.clone(), || part.clone());
        }
    };
    match planned {
        Expression::Value(Value::Map(map)) => map.iter().for_each(|(key, part)| add(key, part)),
        Expression::Map(map) => {
            for (key, part) in map {
                if let Some(part) = part.known_value() {
                    add(key, part);
                }
            }
        }
        _ => {}
    }
    Value::Map(all)
}
