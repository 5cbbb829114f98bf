//! `Session`: what all steps of one apply share: the context, the writer of the ledger, the objects
//! that were read, and the baselines of creations.

use crate::model::evaluate::evaluate_expression;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use futures_util::lock::Mutex;

use super::context::Context;
use super::dependents::Dependants;
use super::evaluation_scope::{World, looked_into, looked_into_by};
use super::event::{Event, StepError};
use super::protocol::journal_writer::Scribe;
use super::protocol::preexisting::Baselines;
use super::protocol::write_fence::Fence;
use super::step::{Armed, Job, Scope, Target, read_failed};
use super::{planned_secrets, request_encoding};
use crate::cloud::http::message::Cloud;
use crate::ledger::journal::record::{ClosedOutcome, Record};
use crate::ledger::journal::store::Store;
use crate::ledger::state::entry::{Intent, IntentAction, Owned};
use crate::model::address::{Address, Name};
use crate::model::clock::{Clock, Random};
use crate::model::expression::Expression;
use crate::model::schema::Kind;
use crate::model::secret::FingerprintKey;
use crate::model::snapshot::{Object, ObjectKey};
use crate::model::value::{Attributes, Value};
use crate::plan::model::change::Plan;

/// One apply, or one recovery.
pub(super) struct Session<'a, C, K, R, S> {
    pub(super) context: &'a Context<'a, C, K, R, S>,
    pub(super) baselines: Baselines,
    pub(super) dependants: Dependants,
    pub(super) scribe: Scribe,
    pub(super) fence: Fence,
    /// Held by the step that packs and uploads.
    pub(super) uploads: Mutex<()>,
    /// Resources into whose attributes some expression looks: only their objects are kept.
    looked_into: BTreeSet<Address>,
    seen: RefCell<BTreeMap<Address, Object>>,
    /// Resources whose objects came to rest in this run.
    at_rest: RefCell<BTreeSet<Address>>,
}

impl<'a, C: Cloud, K: Clock, R: Random, S: Store> Session<'a, C, K, R, S> {
    pub(super) fn new(context: &'a Context<'a, C, K, R, S>, plan: Option<&Plan>) -> Self {
        let (dependants, baselines) = {
            let ledger = context.journal.ledger();
            (Dependants::from_ledger(&ledger, context.client.registry()), Baselines::from_ledger(&ledger))
        };
        Self {
            context,
            baselines,
            dependants,
            scribe: Scribe::default(),
            fence: Fence::default(),
            uploads: Mutex::default(),
            looked_into: plan.map(looked_into_by).unwrap_or_default(),
            seen: RefCell::default(),
            at_rest: RefCell::default(),
        }
    }

    pub(super) fn clock(&self) -> &K {
        self.context.client.clock()
    }

    /// Tells of an event, without the secrets that the service may have repeated.
    pub(super) fn emit_event(&self, event: Event) {
        (self.context.tell)(event.redact_event(&|text| self.context.client.redact(&text)));
    }

    /// Tells of a step's progress; an intent of an earlier run has no step to tell of.
    pub(super) fn emit_progress(&self, job: &Job<'_>, text: String) {
        match job.step {
            Some(step) => self.emit_event(Event::Progress { step, address: job.address.clone(), text }),
            None => self.emit_event(Event::Recovering { address: job.address.clone(), text }),
        }
    }

    /// Returns a kind's table, unless the ledger or the plan is of another stead.
    pub(super) fn kind(&self, name: &str) -> Result<&'static Kind, StepError> {
        let unknown = || StepError::Failed(format!("this stead does not know the kind {name}"));
        self.context.client.registry().kind(name).ok_or_else(unknown)
    }

    /// Returns the key of the ledger's fingerprints.
    pub(super) fn secret_key(&self) -> FingerprintKey {
        self.context.journal.ledger().identity.key.clone()
    }

    /// Returns the object that an address owns.
    pub(super) fn current_object(&self, address: &Address) -> Option<Owned> {
        self.context.journal.ledger().entries.get(address)?.current.clone()
    }

    /// Makes records durable, together with those of other steps.
    pub(super) async fn commit(&self, records: impl IntoIterator<Item = Record>) -> Result<(), StepError> {
        self.scribe.commit(self.context.journal, records, self.context.rescue).await
    }

    /// Records an intent, and returns it once it is durable: only then may its request leave. There is
    /// one at a time for each address.
    pub(super) async fn record_intent(
        &self,
        job: &Job<'_>,
        scope: Scope,
        action: IntentAction,
    ) -> Result<Armed, StepError> {
        self.check_may_send()?;
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
        Ok(Armed { intent, since })
    }

    fn check_quiet(&self, address: &Address) -> Result<(), StepError> {
        let ledger = self.context.journal.ledger();
        if ledger.intents.values().any(|intent| intent.address == *address) {
            let text = "an earlier request is still without an answer; the next apply looks it up first";
            return Err(StepError::Unreachable(text.to_owned()));
        }
        Ok(())
    }

    /// Records how a request ended that made no object.
    pub(super) async fn close(&self, intent: &Intent, outcome: ClosedOutcome) -> Result<(), StepError> {
        self.commit([Record::Closed { op: intent.op, outcome }]).await
    }

    /// Records that a request did not leave, and tells whether another may.
    pub(super) async fn not_sent(&self, intent: &Intent) -> Result<(), StepError> {
        self.close(intent, ClosedOutcome::NotSent).await?;
        self.check_may_send()
    }

    /// Waits until a request whose outcome is unknown has had its effect and shows it, or never will.
    pub(super) async fn wait_until_visible(&self, settled: bool) {
        let bounds = self.context.bounds;
        let wait = if settled { bounds.listing } else { bounds.effect + bounds.listing };
        self.clock().sleep(wait).await;
    }

    /// Remembers that a resource's object came to rest.
    pub(super) fn mark_ready(&self, address: &Address) {
        self.at_rest.borrow_mut().insert(address.clone());
    }

    /// Remembers that a resource's object begins to change: it must come to rest again.
    pub(super) fn mark_changing(&self, address: &Address) {
        self.at_rest.borrow_mut().remove(address);
    }

    pub(super) fn is_ready(&self, address: &Address) -> bool {
        self.at_rest.borrow().contains(address)
    }

    /// Keeps an object at rest for the expressions that look into it.
    pub(super) fn store_ready_object(&self, address: &Address, object: Object) {
        self.mark_ready(address);
        if self.looked_into.contains(address) {
            self.seen.borrow_mut().insert(address.clone(), object);
        }
    }

    /// Forgets an object that is gone.
    pub(super) fn drop_object(&self, address: &Address) {
        self.seen.borrow_mut().remove(address);
    }

    /// Computes all written attributes of a resource.
    pub(super) async fn evaluate_all(
        &self,
        address: &Address,
        desired: &BTreeMap<Name, Expression>,
    ) -> Result<Attributes, StepError> {
        let mut values = Attributes::new();
        for (name, expression) in desired {
            values.insert(name.clone(), self.evaluate(address, name, expression).await?);
        }
        Ok(values)
    }

    /// Computes all written attributes of a resource for the ledger: a secret of which the plan holds
    /// the fingerprint needs no text; one that this apply generates has none there yet.
    pub(super) async fn evaluate_stored(
        &self,
        address: &Address,
        desired: &BTreeMap<Name, Expression>,
    ) -> Result<Attributes, StepError> {
        let mut values = Attributes::new();
        for (name, expression) in desired {
            let value = match expression {
                // The ledger has more of a computed value than the plan: the fingerprint of what it gave.
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

    /// Adds to values that were computed from secrets what only the ledger has of them. One that cannot be computed
    /// now stays as the plan has it: the live value is not compared with it then.
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

    /// Returns what was last applied of an attribute.
    fn last_applied(&self, address: &Address, name: &Name) -> Option<Value> {
        self.context.journal.ledger().entries.get(address)?.applied.get(name).cloned()
    }

    /// Computes one written attribute; a secret comes from the configuration and must be the one
    /// that the plan saw.
    pub(super) async fn evaluate(
        &self,
        address: &Address,
        name: &Name,
        planned: &Expression,
    ) -> Result<Value, StepError> {
        let configured = planned.is_secret().then(|| (self.context.secrets)(address, name)).flatten();
        let expression = configured.as_ref().unwrap_or(planned);
        let value = self.evaluate_expression(expression).await?;
        if let Some(first) = value.waits_for().first() {
            let text = format!("{name} waits for {first}, which has no object");
            return Err(StepError::Failed(text));
        }
        if let Some(configured) = &configured {
            let key = self.secret_key();
            if !planned_secrets::is_planned(planned, configured, &value, &key) {
                return Err(StepError::Moved(format!(
                    "{name}, or a secret in it, is not what the plan was made with"
                )));
            }
        }
        Ok(if configured.is_some() { with_what_stays(planned, value) } else { value })
    }

    /// Computes an expression, reading the objects that it looks into.
    pub(super) async fn evaluate_expression(&self, expression: &Expression) -> Result<Value, StepError> {
        for address in looked_into(expression) {
            self.look_at(address).await?;
        }
        let (ledger, seen) = (self.context.journal.ledger(), self.seen.borrow());
        let registry = self.context.client.registry();
        let world = World { registry, ledger: &ledger, seen: &seen };
        evaluate_expression(&expression, &world).map_err(|error| StepError::Failed(error.to_string()))
    }

    async fn look_at(&self, address: &Address) -> Result<(), StepError> {
        let entry = self.context.journal.ledger().entries.get(address).cloned();
        let Some((name, owned)) = entry.and_then(|entry| Some((entry.kind, entry.current?))) else {
            return Ok(());
        };
        let kind = self.kind(&name)?;
        let whole = kind.attributes.iter().all(|attribute| attribute.listed);
        let enough = |object: &Object| object.id == owned.id && (whole || object.detailed);
        if self.seen.borrow().get(address).is_some_and(enough) {
            return Ok(());
        }
        match self.get(&Target::from_owned(kind, &owned).key).await? {
            Some(object) => {
                self.seen.borrow_mut().insert(address.clone(), object);
                Ok(())
            }
            None => Err(StepError::Moved(format!("{address} is gone: nothing has the id {}", owned.id))),
        }
    }

    /// Reads one object; `None` when nothing has the id.
    pub(super) async fn get(&self, key: &ObjectKey) -> Result<Option<Object>, StepError> {
        self.context.client.get(key).await.map_err(read_failed)
    }

    /// Returns what the ledger may remember of values.
    pub(super) fn fingerprint_secrets(&self, kind: &Kind, values: &Attributes) -> Attributes {
        request_encoding::fingerprint_secrets(kind, values, &self.secret_key())
    }
}

/// Adds the keys of a map that no block writes and that stay: the plan has them, and the configuration, which
/// the secrets beside them are taken from, has not.
fn with_what_stays(planned: &Expression, value: Value) -> Value {
    let Value::Map(mut all) = value else { return value };
    let mut add = |key: &Name, part: &Value| {
        if !part.is_unknown() {
            all.entry(key.clone()).or_insert_with(|| part.clone());
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
