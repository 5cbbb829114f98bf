//! `UniqueIndex`: what live objects have that no other object may have beside them, and who would need it.

use std::collections::HashMap;

use ipnet::Ipv4Net;

use super::name_conflicts::{UniqueNameKey, object_home, planned_home, unique_attributes, uniqueness_key};
use crate::model::schema::{Kind, RuleCheck};
use crate::model::snapshot::Object;
use crate::plan::decide::replacement_order::parse_network;
use crate::plan::decision::{Decision, DesiredAttribute};
use crate::plan::join::joined_state::JoinedState;

/// Names and networks of numbered objects.
#[derive(Default)]
pub(in crate::plan) struct UniqueIndex<'a> {
    /// Which of them have what cannot be shared.
    taken: HashMap<UniqueNameKey<'a>, Vec<usize>>,
    /// Which of them have networks of their own: by kind and attribute, in order. They do not overlap.
    networks: HashMap<(&'a str, &'a str), Vec<(Ipv4Net, usize)>>,
}

impl<'a> UniqueIndex<'a> {
    /// Gathers what objects have, each with the number by which it is found. `counts` tells whether what an
    /// object has in these attributes is of interest.
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

    /// Tells whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty() && self.networks.is_empty()
    }

    /// Returns the numbers of the objects that have what a subject comes to have, in order.
    pub fn holders_of(&self, survey: &JoinedState<'a>, n: usize, verdict: &Decision<'a>) -> Vec<usize> {
        let kind = survey.subjects[n].kind;
        // What stays as it is was free for it already.
        let comes = |attributes: &[&str]| verdict.is_new() || verdict.changes(attributes);
        let mut numbers = Vec::new();
        for attributes in unique_attributes(kind).filter(|attributes| comes(attributes)) {
            let values = attributes
                .iter()
                .map(|name| verdict.find_attribute(name).map(DesiredAttribute::stored_value));
            let key = uniqueness_key(kind, planned_home(survey, &survey.subjects[n], verdict), values);
            numbers.extend(key.and_then(|key| self.taken.get(&key)).into_iter().flatten());
        }
        for attribute in non_overlapping_attributes(kind).filter(|attribute| comes(&[attribute])) {
            let net = verdict.find_attribute(attribute).and_then(|want| parse_network(&want.value));
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

/// Returns which networks overlap one, of networks in order that do not overlap each other.
fn overlapping_networks(there: &[(Ipv4Net, usize)], net: Ipv4Net) -> impl Iterator<Item = usize> {
    let next = there.partition_point(|(other, _)| other.network() < net.network());
    let around = there[..next].last().filter(move |(other, _)| other.contains(&net));
    let inside =
        there[next..].iter().take_while(move |(other, _)| net.contains(other) || other.contains(&net));
    around.into_iter().chain(inside).map(|(_, number)| *number)
}
