//! `Leftovers`: older objects that are still to go: a replacement left them, or someone said that they
//! are one too many. What has no place beside them is made once they are gone.

use std::collections::{HashMap, HashSet};

use ipnet::Ipv4Net;

use super::clash::{Taken, home, place, taken, unique};
use super::replace::network;
use super::survey::{Survey, referred};
use super::verdict::{Verdict, Want};
use crate::model::address::Name;
use crate::model::schema::{Check, Kind};
use crate::model::snapshot::{Object, ObjectKey};

/// All of a plan.
#[derive(Default)]
pub(super) struct Leftovers<'a> {
    all: Vec<Leftover<'a>>,
    /// Which of them have what cannot be shared.
    taken: HashMap<Taken<'a>, Vec<usize>>,
    /// Which of them have networks of their own: by kind, in order. They do not overlap.
    networks: HashMap<&'a str, Vec<(Ipv4Net, usize)>>,
    /// What objects of the stack refer to, or are in.
    used: HashSet<ObjectKey>,
}

/// An older object that is live.
pub(super) struct Leftover<'a> {
    /// The subject whose it is.
    pub n: usize,
    /// Its id.
    pub id: &'a Name,
    object: &'a Object,
}

impl<'a> Leftovers<'a> {
    /// Looks for them.
    pub fn of(survey: &Survey<'a>) -> Self {
        let mut found = Self::default();
        for (n, subject) in survey.subjects.iter().enumerate() {
            for owned in subject.entry.into_iter().flat_map(|entry| &entry.deposed) {
                let object = survey.inputs.snapshot.objects.get(&owned.key(subject.kind.name));
                if let Some(object) = object {
                    found.add(subject.kind, Leftover { n, id: &owned.id, object });
                }
            }
        }
        found.networks.values_mut().for_each(|networks| networks.sort_by_key(|(net, _)| net.network()));
        if !found.all.is_empty() {
            found.used = used(survey);
        }
        found
    }

    fn add(&mut self, kind: &'static Kind, leftover: Leftover<'a>) {
        let (number, object) = (self.all.len(), leftover.object);
        for attributes in unique(kind) {
            let values = attributes.iter().map(|name| object.attributes.get(*name));
            if let Some(key) = taken(kind, place(kind, object), values) {
                self.taken.entry(key).or_default().push(number);
            }
        }
        let nets = apart(kind).filter_map(|attribute| network(object.attributes.get(attribute)?));
        self.networks.entry(kind.name).or_default().extend(nets.map(|net| (net, number)));
        self.all.push(leftover);
    }

    /// Returns those beside which the new object of a subject has no place.
    pub fn in_the_way(&self, survey: &Survey<'a>, n: usize, verdict: &Verdict<'a>) -> Vec<&Leftover<'a>> {
        if self.all.is_empty() {
            return Vec::new();
        }
        let subject = &survey.subjects[n];
        let mut numbers = Vec::new();
        for attributes in unique(subject.kind) {
            let values = attributes.iter().map(|name| verdict.want(name).map(Want::stored));
            let key = taken(subject.kind, home(survey, subject, verdict), values);
            numbers.extend(key.and_then(|key| self.taken.get(&key)).into_iter().flatten());
        }
        for attribute in apart(subject.kind) {
            let net = verdict.want(attribute).and_then(|want| network(&want.value));
            let there = self.networks.get(subject.kind.name);
            if let Some((net, there)) = net.zip(there) {
                numbers.extend(overlapping(there, net));
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().filter_map(|number| self.all.get(number)).collect()
    }

    /// Tells whether an older object of the subject's own that is in the way is still used by others: they
    /// must let go of it before the new one can come.
    pub fn crowd(&self, survey: &Survey<'a>, n: usize, verdict: &Verdict<'a>) -> bool {
        self.in_the_way(survey, n, verdict).iter().any(|left| left.n == n && self.is_used(left))
    }

    /// Tells whether a live object of the stack refers to an older one, or is in it.
    pub fn is_used(&self, leftover: &Leftover<'a>) -> bool {
        self.used.contains(&leftover.object.key())
    }
}

/// Returns what the objects of a stack refer to, or are in.
fn used(survey: &Survey<'_>) -> HashSet<ObjectKey> {
    let mut used = HashSet::new();
    for subject in &survey.subjects {
        let Some(object) = subject.object() else { continue };
        used.extend(referred(subject.kind, object));
        let parent = subject.kind.child_of().zip(object.parent.clone());
        used.extend(parent.map(|((of, _), id)| ObjectKey { kind: of.into(), parent: None, id }));
    }
    used
}

/// Returns the attributes of a kind whose networks must not overlap.
fn apart(kind: &'static Kind) -> impl Iterator<Item = &'static str> {
    kind.rules.iter().filter_map(|rule| match rule.check {
        Check::NoOverlap { attribute } => Some(attribute),
        _ => None,
    })
}

/// Returns which networks overlap one, of networks in order that do not overlap each other.
fn overlapping(there: &[(Ipv4Net, usize)], net: Ipv4Net) -> impl Iterator<Item = usize> {
    let next = there.partition_point(|(other, _)| other.network() < net.network());
    let around = there[..next].last().filter(move |(other, _)| other.contains(&net));
    let inside =
        there[next..].iter().take_while(move |(other, _)| net.contains(other) || other.contains(&net));
    around.into_iter().chain(inside).map(|(_, number)| *number)
}
