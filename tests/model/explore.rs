//! Explicit-state exploration: every state that a protocol can reach, breadth first, so that the trace to the first bad
//! state is a shortest one.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// A protocol together with its environment.
pub trait Protocol {
    /// One global state: service, network, ledger and processes.
    type State: Copy;

    /// Returns the first state.
    fn start(&self) -> Self::State;

    /// Encodes a state in 128 bits. Two states differ exactly if their keys do.
    fn key(&self, state: &Self::State) -> u128;

    /// Adds all possible next moves.
    fn moves(&self, moves: &mut Moves<'_, Self::State>);

    /// Returns the faults of a state.
    fn judge(&self, state: &Self::State) -> Judgement;
}

/// A violated property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Something happened twice that may happen only once.
    Duplicate,
    /// Something was lost or undone, and no message will report it.
    Silent,
    /// Something was taken, changed or deleted that should not have been.
    Wrong,
}

pub const FAULTS: [Fault; 3] = [Fault::Duplicate, Fault::Silent, Fault::Wrong];

/// The properties of one state.
#[derive(Debug, Clone, Copy, Default)]
pub struct Judgement {
    /// No process acts any more.
    pub ended: bool,
    /// A user must resolve something.
    pub asked: bool,
    pub duplicate: bool,
    pub silent: bool,
    pub wrong: bool,
}

impl Judgement {
    fn has(self, fault: Fault) -> bool {
        match fault {
            Fault::Duplicate => self.duplicate,
            Fault::Silent => self.silent,
            Fault::Wrong => self.wrong,
        }
    }
}

/// The moves from one state.
pub struct Moves<'a, S> {
    pub from: S,
    found: &'a mut Vec<(&'static str, S)>,
}

impl<S: Copy> Moves<'_, S> {
    /// Adds a move with its label and its change of the state.
    pub fn add(&mut self, label: &'static str, change: impl FnOnce(&mut S)) {
        let mut next = self.from;
        change(&mut next);
        self.found.push((label, next));
    }
}

/// What an exploration found.
pub struct Findings<S> {
    pub ends: usize,
    pub asked: usize,
    /// For each fault the number of states, and the first one.
    counts: [(usize, Option<u32>); FAULTS.len()],
    /// The first state without moves that is not an end.
    pub stuck: Option<u32>,
    /// Every state, with the number of its predecessor.
    reached: Vec<(S, u32)>,
}

impl<S> Findings<S> {
    pub fn states(&self) -> usize {
        self.reached.len()
    }

    /// Returns how many states have a fault.
    pub fn count(&self, fault: Fault) -> usize {
        self.counts[fault as usize].0
    }

    /// Returns the first state with a fault.
    pub fn first(&self, fault: Fault) -> Option<u32> {
        self.counts[fault as usize].1
    }
}

/// Explores every reachable state.
pub fn explore<P: Protocol>(protocol: &P) -> Findings<P::State> {
    let start = protocol.start();
    let mut seen: HashSet<u128, BuildHasherDefault<Mixer>> = HashSet::default();
    seen.insert(protocol.key(&start));
    let mut findings =
        Findings { ends: 0, asked: 0, counts: Default::default(), stuck: None, reached: vec![(start, 0)] };
    let mut found = Vec::new();
    let mut number = 0;
    while let Some(&(state, _)) = findings.reached.get(number) {
        let here = u32::try_from(number).expect("fewer than four thousand million states");
        let judgement = protocol.judge(&state);
        findings.note(here, judgement);
        found.clear();
        protocol.moves(&mut Moves { from: state, found: &mut found });
        let (key, mut goes_on) = (protocol.key(&state), judgement.ended);
        for &(_, next) in &found {
            let next_key = protocol.key(&next);
            goes_on |= next_key != key;
            if seen.insert(next_key) {
                findings.reached.push((next, here));
            }
        }
        if !goes_on {
            findings.stuck.get_or_insert(here);
        }
        number += 1;
    }
    findings
}

impl<S> Findings<S> {
    fn note(&mut self, number: u32, judgement: Judgement) {
        self.ends += usize::from(judgement.ended);
        self.asked += usize::from(judgement.ended && judgement.asked);
        for fault in FAULTS.into_iter().filter(|fault| judgement.has(*fault)) {
            let (count, first) = &mut self.counts[fault as usize];
            *count += 1;
            first.get_or_insert(number);
        }
    }
}

/// Returns the labels of the moves that lead to a state.
pub fn trace<P: Protocol>(protocol: &P, findings: &Findings<P::State>, to: u32) -> Vec<&'static str> {
    let mut way = vec![to];
    while let Some(&last) = way.last().filter(|number| **number != 0) {
        way.push(findings.reached[last as usize].1);
    }
    way.reverse();
    let label = |pair: &[u32]| {
        let [from, to] = [pair[0], pair[1]].map(|number| findings.reached[number as usize].0);
        let mut found = Vec::new();
        protocol.moves(&mut Moves { from, found: &mut found });
        let (label, _) = found.iter().find(|(_, next)| protocol.key(next) == protocol.key(&to))?;
        Some(*label)
    };
    way.windows(2).filter_map(label).collect()
}

/// A key under construction: small numbers packed into 128 bits.
#[derive(Default)]
pub struct Key {
    bits: u128,
    width: u32,
}

impl Key {
    /// Appends a number in `width` bits; panics if it does not fit.
    pub fn put(&mut self, width: u32, value: impl Into<u8>) -> &mut Self {
        let value = value.into();
        assert!(value.checked_shr(width).unwrap_or(0) == 0, "{value} needs more than {width} bits");
        self.bits |= u128::from(value) << self.width;
        self.width += width;
        assert!(self.width <= u128::BITS, "the key is too long");
        self
    }

    pub fn bits(&self) -> u128 {
        self.bits
    }
}

/// A fast hash for keys that are already distinct.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u128(u128::from(*byte));
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
    fn write_u128(&mut self, key: u128) {
        let (low, high) = (key as u64, (key >> 64) as u64);
        let mixed = u128::from(low ^ self.0 ^ 0x9E37_79B9_7F4A_7C15)
            * u128::from(high.rotate_left(32) ^ 0xD6E8_FEB8_6659_FD93);
        self.0 = mixed as u64 ^ (mixed >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts to a number, one or two at a time.
    struct Counter(u8);

    impl Protocol for Counter {
        type State = u8;

        fn start(&self) -> u8 {
            0
        }

        fn key(&self, state: &u8) -> u128 {
            Key::default().put(8, *state).bits()
        }

        fn moves(&self, moves: &mut Moves<'_, u8>) {
            if moves.from < self.0 {
                moves.add("one", |n| *n += 1);
                moves.add("two", |n| *n += 2);
            }
        }

        fn judge(&self, state: &u8) -> Judgement {
            Judgement { ended: *state == self.0, wrong: *state == 5, ..Judgement::default() }
        }
    }

    #[test]
    fn exploration_visits_each_state_once_by_a_shortest_path() {
        let counter = Counter(7);
        let findings = explore(&counter);
        assert_eq!((findings.states(), findings.ends), (9, 1));
        assert_eq!(findings.count(Fault::Wrong), 1);
        let way = trace(&counter, &findings, findings.first(Fault::Wrong).unwrap());
        assert_eq!(way.len(), 3, "{way:?}");
        let over = trace(&counter, &findings, findings.stuck.expect("eight is no end"));
        assert_eq!(over.len(), 4, "{over:?}");
    }
}
