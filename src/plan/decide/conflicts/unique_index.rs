//! `UniqueIndex`: an index of the unique values and networks of live objects, to find the objects that conflict
//! with a new value without comparing all pairs. Objects are known by numbers that the caller chooses.

use foldhash::HashMap;
use ipnet::Ipv4Net;

use super::name_conflicts::{UniqueNameKey, object_home, planned_home, unique_attributes, uniqueness_key};
use crate::model::live::snapshot::Object;
use crate::model::schema::{Kind, RuleCheck};
use crate::plan::decide::replacement_order::parse_network;
use crate::plan::decision::{Decision, DesiredAttribute};
use crate::plan::join::joined_state::JoinedState;

/// The unique names and the networks of numbered objects.
#[derive(Default)]
pub(in crate::plan) struct UniqueIndex<'a> {
    /// The numbers of the objects by the unique values that they claim.
    taken: HashMap<UniqueNameKey<'a>, Vec<usize>>,
    /// The networks by kind and attribute, sorted. They do not overlap each other.
    networks: HashMap<(&'a str, &'a str), Vec<(Ipv4Net, usize)>>,
}

impl<'a> UniqueIndex<'a> {
    /// Builds the index of objects, each with its number. `counts` returns whether an object's values
    /// of these attributes are included.
    pub fn from_objects(
        objects: impl Iterator<Item = (&'static Kind, &'a Object, usize)>,
        counts: impl Fn(usize, &[&str]) -> bool,
    ) -> Self {
        let mut found = Self::default();
        for (kind, object, number) in objects {
            for attributes in unique_attributes(kind).filter(|attributes| counts(number, attributes)) {
                let values = attributes.iter().map(|name| object.attributes.get(*name));
                if let Some(key) = uniqueness_key(kind, object_home(kind, object), values) {
                    found.taken.entry(key).or_default().push(number);
                }
            }
            for attribute in
                non_overlapping_attributes(kind).filter(|attribute| counts(number, &[attribute]))
            {
                if let Some(net) = object.attributes.get(attribute).and_then(parse_network) {
                    found.networks.entry((kind.name, attribute)).or_default().push((net, number));
                }
            }
        }
        found.networks.values_mut().for_each(|networks| networks.sort_by_key(|(net, _)| net.network()));
        found
    }

    /// Returns whether the index has no values and no networks.
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty() && self.networks.is_empty()
    }

    /// Returns the numbers of the objects that conflict with the planned values of a resource,
    /// sorted and without duplicates.
    pub fn holders_of(&self, joined: &JoinedState<'a>, n: usize, decision: &Decision<'a>) -> Vec<usize> {
        let kind = joined.subjects[n].kind;
        // A value that stays the same was free for the resource already.
        let comes = |attributes: &[&str]| decision.is_new() || decision.changes(attributes);
        let mut numbers = Vec::new();
        for attributes in unique_attributes(kind).filter(|attributes| comes(attributes)) {
            let values = attributes
                .iter()
                .map(|name| decision.find_attribute(name).map(DesiredAttribute::stored_value));
            let key = uniqueness_key(kind, planned_home(joined, &joined.subjects[n], decision), values);
            numbers.extend(key.and_then(|key| self.taken.get(&key)).into_iter().flatten());
        }
        for attribute in non_overlapping_attributes(kind).filter(|attribute| comes(&[attribute])) {
            let net = decision.find_attribute(attribute).and_then(|want| parse_network(&want.value));
            if let Some((net, there)) = net.zip(self.networks.get(&(kind.name, attribute))) {
                numbers.extend(overlapping_networks(there, net));
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

/// Returns the attributes of a kind whose networks must not overlap.
fn non_overlapping_attributes(kind: &'static Kind) -> impl Iterator<Item = &'static str> {
    kind.rules.iter().filter_map(|rule| match rule.check {
        RuleCheck::NoOverlap { attribute } => Some(attribute),
        _ => None,
    })
}

/// Returns which of the sorted, disjoint networks overlap `net`.
fn overlapping_networks(there: &[(Ipv4Net, usize)], net: Ipv4Net) -> impl Iterator<Item = usize> {
    let next = there.partition_point(|(other, _)| other.network() < net.network());
    // The networks are disjoint, so only the nearest one to the left can contain `net`.
    let around = there[..next].last().filter(move |(other, _)| other.contains(&net));
    let inside =
        there[next..].iter().take_while(move |(other, _)| net.contains(other) || other.contains(&net));
    around.into_iter().chain(inside).map(|(_, number)| *number)
}
