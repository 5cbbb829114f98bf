//! What the service charges or refunds at once for the steps of a resource: the billing of the kind's table over the
//! prices before and after. In: a decision and its steps; out: an amount for each step that has one. A rule that the
//! service does not show, or an unknown price, gives an amount that is not known.

use foldhash::{HashMap, HashMapExt};
use jiff::Timestamp;
use rust_decimal::Decimal;

use super::cost::billed_value_after;
use crate::model::address::Name;
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::{Billing, BillingChoice, Kind, Literal, Presence, RestOfMonth};
use crate::model::values::value::Value;
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::diff::free_billing::is_free;
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::join::prices::exact_price;
use crate::plan::model::due::DueAmount;
use crate::plan::model::step::{Operation, Step};

/// The billing of all resources before and after the apply, on which the billing of objects that refer to them depends.
pub(in crate::plan) struct DueRules<'s, 'a> {
    joined: &'s JoinedState<'a>,
    /// By the number of the resource, whether it will be paid in advance; `None` where that is not known.
    prepaid: HashMap<usize, Option<bool>>,
    /// By the id of their live object, whether it is paid in advance now; `None` where that is not known.
    live_prepaid: HashMap<&'s Name, Option<bool>>,
}

/// What is due for one step, before the number of the step is added.
struct Due {
    month: Option<Decimal>,
    paid_since: Option<Timestamp>,
}

impl Due {
    const UNKNOWN: Option<Self> = Some(Self { month: None, paid_since: None });

    /// Returns the amount; `None` if it is zero at any time.
    fn new(month: Option<Decimal>, paid_since: Option<Timestamp>) -> Option<Self> {
        (month != Some(Decimal::ZERO)).then_some(Self { month, paid_since })
    }
}

impl<'s, 'a> DueRules<'s, 'a> {
    /// Looks up how each resource will be paid.
    pub fn new(joined: &'s JoinedState<'a>, decisions: &[Decision<'_>]) -> Self {
        let (mut prepaid, mut live_prepaid) = (HashMap::new(), HashMap::new());
        for (n, (subject, decision)) in joined.subjects.iter().zip(decisions).enumerate() {
            let Billing::Chosen(choice) = subject.kind.billing else { continue };
            let after = billed_value_after(subject, decision, choice.attribute);
            prepaid.insert(n, is_prepaid(subject.kind, &choice, after.as_ref()));
            if let Some(object) = subject.object() {
                let live = object.attributes.get(choice.attribute);
                live_prepaid.insert(&object.id, is_prepaid(subject.kind, &choice, live));
            }
        }
        Self { joined, prepaid, live_prepaid }
    }

    /// Returns what is due for a resource's steps; `steps` are indexes into `all`. Steps without a charge or a refund are
    /// left out.
    pub fn of_steps(
        &self,
        subject: &ResourceState<'_>,
        decision: &Decision<'_>,
        steps: &[usize],
        all: &[Step],
    ) -> Vec<DueAmount> {
        // An earlier update of the same object only releases what another step needs.
        let is_update = |number: &&usize| {
            all.get(**number).is_some_and(|step| matches!(step.operation, Operation::Update { .. }))
        };
        let last_update = steps.iter().rfind(is_update);
        let due = |number: &usize| {
            let step = all.get(*number)?;
            // The final snapshot of an object has a kind of its own.
            let kind = self.joined.inputs.registry.kind(&step.kind)?;
            let due = match &step.operation {
                _ if kind.billing == Billing::Arrears => None,
                Operation::Create { .. } => self.at_creation(subject, decision),
                Operation::Update { .. }
                    if decision.act == DecisionKind::Update && last_update == Some(number) =>
                {
                    self.at_change(subject, decision)
                }
                Operation::Update { .. } => None,
                Operation::Delete { object, .. } => self.at_deletion(subject, &object.key(kind.name)),
            }?;
            Some(DueAmount { step: *number, month: due.month, paid_since: due.paid_since })
        };
        steps.iter().filter_map(due).collect()
    }

    /// The first month is paid in advance.
    fn at_creation(&self, subject: &ResourceState<'_>, decision: &Decision<'_>) -> Option<Due> {
        let value = |name: &str| billed_value_after(subject, decision, name);
        match subject.kind.billing {
            Billing::Arrears => None,
            Billing::AsReferred(attribute) => self.as_referred(value(attribute).as_ref()),
            Billing::Chosen(choice) => {
                match is_prepaid(subject.kind, &choice, value(choice.attribute).as_ref()) {
                    Some(false) => None,
                    Some(true) => Due::new(self.exact_price(subject.kind, &value), None),
                    None => Due::UNKNOWN,
                }
            }
        }
    }

    fn at_change(&self, subject: &ResourceState<'_>, decision: &Decision<'_>) -> Option<Due> {
        let Billing::Chosen(choice) = subject.kind.billing else { return None };
        let object = subject.object()?;
        let live = |name: &str| object.attributes.get(name).cloned();
        let before = self.exact_price(subject.kind, &live);
        let after = self.exact_price(subject.kind, &|name| billed_value_after(subject, decision, name));
        if before.is_some() && before == after {
            return None;
        }
        if is_free(&choice, object) {
            return Due::new(after, None);
        }
        match (is_prepaid(subject.kind, &choice, live(choice.attribute).as_ref()), choice.on_change) {
            (Some(false), _) => None,
            (Some(true), RestOfMonth::Prorated) => {
                let month = after.zip(before).map(|(after, before)| after - before);
                for_the_rest(subject, &choice, object, month)
            }
            (Some(true), RestOfMonth::NotShown) | (None, _) => Due::UNKNOWN,
        }
    }

    fn at_deletion(&self, subject: &ResourceState<'_>, key: &ObjectKey) -> Option<Due> {
        let Some(object) = self.joined.inputs.snapshot.objects.get(key) else { return Due::UNKNOWN };
        let live = |name: &str| object.attributes.get(name).cloned();
        let choice = match subject.kind.billing {
            Billing::Arrears => return None,
            Billing::AsReferred(attribute) => return self.as_referred(live(attribute).as_ref()),
            Billing::Chosen(choice) => choice,
        };
        let price = self.exact_price(subject.kind, &live);
        match (is_prepaid(subject.kind, &choice, live(choice.attribute).as_ref()), choice.on_delete) {
            (Some(false), _) => None,
            _ if price == Some(Decimal::ZERO) => None,
            (Some(true), RestOfMonth::Prorated) => {
                for_the_rest(subject, &choice, object, price.map(|price| -price))
            }
            (Some(true), RestOfMonth::NotShown) | (None, _) => Due::UNKNOWN,
        }
    }

    /// Returns what is due for an object that is paid as the one that its attribute refers to: nothing if that one is paid
    /// in arrears, otherwise an amount that is not known.
    fn as_referred(&self, reference: Option<&Value>) -> Option<Due> {
        let is_prepaid = match reference {
            Some(Value::Unknown(unknown)) => {
                let number = unknown.waits_for.first().and_then(|address| self.joined.index.get(address));
                number.and_then(|n| *self.prepaid.get(n)?)
            }
            Some(Value::Text(id)) => self.live_prepaid.get(id).copied().flatten(),
            _ => None,
        };
        match is_prepaid {
            Some(false) => None,
            _ => Due::UNKNOWN,
        }
    }

    fn exact_price(&self, kind: &Kind, value: &dyn Fn(&str) -> Option<Value>) -> Option<Decimal> {
        exact_price(&self.joined.names, kind, value)
    }
}

/// Returns the amount for the rest of the month that an object has paid; it is not known if the beginning is not.
fn for_the_rest(
    subject: &ResourceState<'_>,
    choice: &BillingChoice,
    object: &Object,
    month: Option<Decimal>,
) -> Option<Due> {
    // An object that was free once is paid since it left the free plan, and nothing shows when that was.
    let applied = subject.entry.and_then(|entry| entry.applied.get(choice.attribute));
    let was_prepaid = is_prepaid(subject.kind, choice, applied) == Some(true);
    let since = object.created_at.as_ref().and_then(|at| at.parse().ok());
    match since.filter(|_| choice.free.is_none() || was_prepaid) {
        Some(since) => Due::new(month, Some(since)),
        None => Due::UNKNOWN,
    }
}

/// Returns whether an object with this value of the selecting attribute is paid in advance: the default of the attribute
/// holds where there is no value. `None` for a value that is not known.
fn is_prepaid(kind: &Kind, choice: &BillingChoice, value: Option<&Value>) -> Option<bool> {
    match value {
        Some(Value::Text(keyword)) => Some(keyword == choice.prepaid),
        None | Some(Value::Null) => match kind.attribute(choice.attribute)?.presence {
            Presence::Default(Literal::Text(keyword)) => Some(keyword == choice.prepaid),
            _ => None,
        },
        Some(_) => None,
    }
}
