//! The monthly cost in USD: prices of the kind's table with values of the catalog. Each object's price is
//! computed exactly and then rounded half-even to cents, so that the shown lines add up to the shown total.

use std::collections::BTreeSet;

use rust_decimal::Decimal;

use crate::model::address::Address;
use crate::model::live::catalog::CatalogRecord;
use crate::model::live::snapshot::{Object, ObjectKey};
use crate::model::schema::{Kind, Price, PriceTerm};
use crate::model::values::value::Value;
use crate::plan::decide::final_snapshot;
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::diff::lost_values::initial_value;
use crate::plan::diff::planned_values::value_after_apply;
use crate::plan::join::catalog_index::CatalogIndex;
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::join::prices::{parts_without_price, visit_prices};
use crate::plan::model::change::{ChangeCost, PlanCost};
use crate::plan::model::due::{DueAmount, sum_due};

/// The running total of a plan's monthly cost, and the catalog prices that differ from the pinned ones.
pub(in crate::plan) struct CostAccumulator<'s, 'a> {
    joined: &'s JoinedState<'a>,
    pinned: Option<CatalogIndex<'a>>,
    cost: PlanCost,
    moved: BTreeSet<(String, Decimal, Decimal)>,
    outliving: BTreeSet<ObjectKey>,
}

impl<'s, 'a> CostAccumulator<'s, 'a> {
    /// Starts with a total of zero.
    pub fn new(joined: &'s JoinedState<'a>) -> Self {
        let pinned = joined.inputs.pinned.map(CatalogIndex::new);
        let cost = PlanCost { priced_at: joined.inputs.catalog.read_at, ..PlanCost::default() };
        Self { joined, pinned, cost, moved: BTreeSet::new(), outliving: BTreeSet::new() }
    }

    /// Adds a resource and returns its line: everything that is billed because of it, including objects that
    /// are unmanaged in the end. A price in the line is `None` where no part of it is known; the total then
    /// counts it as zero, and `unpriced` counts the resource.
    pub fn add(
        &mut self,
        subject: &ResourceState<'_>,
        decision: &Decision<'_>,
        due: Vec<DueAmount>,
    ) -> ChangeCost {
        let (present, older) = (self.price_before(subject), self.deposed_price(subject));
        let after = self.price_after(subject, decision);
        let stays =
            decision.act != DecisionKind::Delete && (decision.is_new() || subject.object().is_some());
        let unpriced = matches!(subject.kind.price, Price::Sum(_)) && stays && after.is_none();
        self.cost.unpriced += usize::from(unpriced);
        let copies = final_snapshot::planned_copies(self.joined, subject, decision);
        let copied: Vec<Option<Decimal>> = copies
            .iter()
            .map(|copy| self.object_price(copy.kind, &|name| copy.attributes.get(name).cloned()))
            .collect();
        self.cost.unpriced += copied.iter().filter(|price| price.is_none()).count();
        let left = older.filter(|_| decision.act == DecisionKind::Frozen);
        let earlier: Vec<Option<Decimal>> =
            final_snapshot::copies_of_earlier_attempts(self.joined, subject, decision)
                .into_iter()
                .map(|(kind, object)| self.object_price(kind, &|name| object.attributes.get(name).cloned()))
                .collect();
        let line = ChangeCost {
            monthly_before: sum_known(earlier.iter().copied().chain([present, older])),
            monthly_after: sum_known(copied.into_iter().chain(earlier).chain([after, left])),
            unpriced,
            due_now: sum_due(&due, self.joined.inputs.service_time()),
            due,
        };
        self.cost.due.add(&line.due, self.joined.inputs.service_time());
        self.cost.monthly_before += line.monthly_before.unwrap_or_default();
        self.cost.monthly_after += line.monthly_after.unwrap_or_default();
        line
    }

    /// Adds an object that is in no ledger and that a destroy leaves live and billed, each once.
    pub fn add_outliving(&mut self, object: &Object) {
        let Some(kind) = self.joined.inputs.registry.kind(&object.kind) else { return };
        if !self.outliving.insert(object.key()) {
            return;
        }
        match self.object_price(kind, &|name| object.attributes.get(name).cloned()) {
            Some(month) => {
                self.cost.monthly_before += month;
                self.cost.monthly_after += month;
            }
            None => self.cost.unpriced += 1,
        }
    }

    /// Returns the total cost.
    pub fn into_cost(self) -> PlanCost {
        PlanCost { moved: self.moved.into_iter().collect(), ..self.cost }
    }

    /// Returns the monthly price of a resource's live object in USD; `None` without one, and if it is not known.
    pub fn price_before(&mut self, subject: &ResourceState<'_>) -> Option<Decimal> {
        let object = subject.object()?;
        let elsewhere = self.parts_elsewhere(subject);
        self.own_price(subject, &elsewhere, &|name| object.attributes.get(name).cloned())
    }

    /// Returns the attributes that chose a part of a live object which another resource manages, and so has its price, or which is
    /// not live any more.
    fn parts_elsewhere(&self, subject: &ResourceState<'_>) -> Vec<&'static str> {
        let Some(object) = subject.object() else { return Vec::new() };
        let is_managed = |key: &ObjectKey| self.manages(subject.address, key);
        parts_without_price(subject.kind, &object.id, self.joined.inputs.snapshot, &is_managed)
    }

    /// Returns whether a child of a resource owns or adopts an object.
    fn manages(&self, parent: &Address, key: &ObjectKey) -> bool {
        let subjects = &self.joined.subjects;
        let own = subjects.partition_point(|subject| subject.address < parent);
        let near = subjects[own..].iter();
        near.take_while(|subject| subject.address.as_str().starts_with(parent.as_str()))
            .any(|subject| subject.object().is_some_and(|object| object.key() == *key))
    }

    /// Returns the price of the objects that earlier replacements left behind: each is billed until it is
    /// deleted. `None` when there are none, or no price is known.
    fn deposed_price(&mut self, subject: &ResourceState<'_>) -> Option<Decimal> {
        let deposed = subject.entry.into_iter().flat_map(|entry| &entry.deposed);
        let live = &self.joined.inputs.snapshot.objects;
        let objects = deposed.filter_map(|owned| live.get(&owned.key(subject.kind.name)));
        let prices: Vec<Option<Decimal>> = objects
            .map(|object| self.object_price(subject.kind, &|name| object.attributes.get(name).cloned()))
            .collect();
        sum_known(prices)
    }

    fn price_after(&mut self, subject: &ResourceState<'_>, decision: &Decision<'_>) -> Option<Decimal> {
        match decision.act {
            DecisionKind::Delete => None,
            // The object is forgotten, but still billed.
            DecisionKind::Forget => self.price_before(subject),
            DecisionKind::Keep | DecisionKind::Frozen if subject.object().is_none() => None,
            _ => {
                // The service creates these parts with a new object, also if the plan creates another one of the same name.
                let elsewhere = if decision.is_new() { Vec::new() } else { self.parts_elsewhere(subject) };
                self.own_price(subject, &elsewhere, &|name| billed_value_after(subject, decision, name))
            }
        }
    }

    /// Returns the price of a resource's object without the parts that these attributes chose.
    fn own_price(
        &mut self,
        subject: &ResourceState<'_>,
        elsewhere: &[&str],
        value: &dyn Fn(&str) -> Option<Value>,
    ) -> Option<Decimal> {
        let own = |name: &str| if elsewhere.contains(&name) { None } else { value(name) };
        self.object_price(subject.kind, &own)
    }

    fn object_price(&mut self, kind: &Kind, value: &dyn Fn(&str) -> Option<Value>) -> Option<Decimal> {
        let names = &self.joined.names;
        let sum =
            visit_prices(names, kind, value, &mut |term, record| self.note_price_change(term, record));
        sum.map(|sum| sum.round_dp(2))
    }

    /// Records a price that differs from the pinned catalog; without a pinned catalog, or a record of the same
    /// name in it, nothing.
    fn note_price_change(&mut self, term: &PriceTerm, record: &CatalogRecord) {
        let (Some(pinned), Some(price)) = (&self.pinned, record.number(term.field)) else { return };
        let before = match term.chosen_by {
            Some(_) => pinned.find(term.table, &Value::Text(record.slug.clone())),
            None => pinned.single_record(term.table),
        };
        let Some(before) = before.and_then(|before| before.number(term.field)) else { return };
        if before != price {
            let name = format!("{} {}", term.table, record.slug);
            self.moved.insert((name.trim_end().to_owned(), before, price));
        }
    }
}

/// Returns the value of an attribute after the apply, as far as it determines a price.
pub(in crate::plan) fn billed_value_after(
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
    name: &str,
) -> Option<Value> {
    // A value that the service measures is not zero: the price stays unknown until it is.
    let measured = subject.kind.attribute(name).is_some_and(|a| !a.is_writable());
    let waits = || Value::unknown(vec![subject.address.clone()]);
    let usual = || subject.kind.attribute(name).filter(|_| decision.is_new()).and_then(initial_value);
    // A value that the service chose for the old object is expected for the new one, too. One that was configured is not.
    let is_configured =
        decision.is_new() && subject.entry.is_some_and(|entry| entry.applied.contains_key(name));
    let chosen = || subject.object().filter(|_| !measured && !is_configured)?.attributes.get(name).cloned();
    let after = value_after_apply(subject, decision, name).or_else(usual);
    after.or_else(chosen).or_else(|| measured.then(waits))
}

/// Returns the sum of the known prices; `None` where none is known, also for an empty list.
pub(in crate::plan) fn sum_known(prices: impl IntoIterator<Item = Option<Decimal>>) -> Option<Decimal> {
    prices.into_iter().flatten().reduce(|all, one| all + one)
}
