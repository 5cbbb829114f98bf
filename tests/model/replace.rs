//! The replace protocol: an old object, the new one that takes its place, and a dependent of the one in use. One
//! process that can be killed at any moment, and a service that is late, loses responses and hides the old object for a
//! while.
//!
//! "Duplicate" is two new objects, or a new one beside the old one if the old one is deleted first. "Silent" is a live
//! object that is neither in the ledger nor in an intent, at any moment. "Wrong" is a moment in which an object in use
//! is gone: the old object before the new one is bound, or one with a dependent.

use super::explore::{Judgement, Key, Moves, Protocol};
use super::network::{Answer, Fate, Request};

/// Attempts of the creation, and requests of the deletion.
const ATTEMPTS: usize = 2;

/// Objects by bit: one for each attempt, and the old one.
type Objects = u8;
const OLD: Objects = 1 << ATTEMPTS;
const ALL: u32 = OLD.trailing_zeros() + 1;

/// Whether the creation or the deletion is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    CreateFirst,
    DeleteFirst,
}

/// A protocol that is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// Nothing is recorded before a creation is sent.
    NoIntent,
    /// The old object is forgotten when the new one is bound.
    DropsOld,
    /// Binding the new object and keeping the old one are two records.
    TwoRecords,
    /// The old object is deleted before the new one is created, although it should be last.
    OldGoesFirst,
    /// The old object is deleted while something depends on it.
    LeavesDependents,
    /// The old object is mistaken for the new one.
    OldIsCandidate,
    /// A 404 suffices to forget the old object.
    NotFoundIsGone,
    /// A deletion without a response counts as completed.
    UnknownIsGone,
}

/// One variant of the protocol and of its environment.
#[derive(Debug, Clone, Copy)]
pub struct Replace {
    pub order: Order,
    /// A request takes effect before the deadline, or never.
    pub effect_is_bounded: bool,
    pub bug: Option<Bug>,
    pub crashes: u8,
}

/// The ledger's record of an attempt to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    None,
    Open,
    /// It created nothing, or is presumed to have created nothing.
    Closed,
    Bound,
}

/// The step that the process is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Start,
    Replay,
    Plan,
    Intend,
    Create,
    AwaitCreation,
    Bind,
    /// Records the old object as deposed in a separate record.
    Depose,
    CloseCreation,
    Resolve,
    Decide,
    MoveDependent,
    Check,
    IntendDeletion,
    Delete,
    AwaitDeletion,
    Prove,
    Forget,
    Done,
    /// It stopped with an error.
    Stopped,
    Asked,
}

#[derive(Debug, Clone, Copy)]
struct Attempt {
    request: Request,
    entry: Entry,
    baseline: Objects,
}

#[derive(Debug, Clone, Copy)]
pub struct State {
    live: Objects,
    listed: Objects,
    /// The read of the old object returns 404 although it is live.
    hidden: bool,
    /// The old object can be hidden, once.
    hides: bool,
    /// The objects that have a dependent.
    needed: Objects,
    /// The ledger's objects: in use, and deposed.
    current: Objects,
    deposed: Objects,
    attempts: [Attempt; ATTEMPTS],
    deletions: [Request; ATTEMPTS],
    /// The deletion's intent is open.
    deleting: bool,
    asked: bool,
    at: At,
    /// The current attempt, the preexisting objects, and what the list showed.
    attempt: u8,
    baseline: Objects,
    found: Objects,
    crashes: u8,
}

impl At {
    fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Stopped | Self::Asked)
    }
}

impl State {
    fn is_under_way(&self) -> bool {
        let creations = self.attempts.iter().map(|attempt| attempt.request);
        creations.chain(self.deletions).any(Request::is_under_way)
    }

    fn held(&self) -> Objects {
        self.current | self.deposed
    }

    fn close(&mut self, entry: Entry) {
        self.attempts[usize::from(self.attempt)].entry = entry;
        self.at = At::Replay;
    }

    fn ask(&mut self) {
        (self.asked, self.at) = (true, At::Asked);
    }
}

impl Protocol for Replace {
    type State = State;

    fn start(&self) -> State {
        State {
            live: OLD,
            listed: OLD,
            hidden: false,
            hides: true,
            needed: if self.order == Order::CreateFirst { OLD } else { 0 },
            current: OLD,
            deposed: 0,
            attempts: [Attempt { request: Request::UNUSED, entry: Entry::None, baseline: 0 }; ATTEMPTS],
            deletions: [Request::UNUSED; ATTEMPTS],
            deleting: false,
            asked: false,
            at: At::Start,
            attempt: 0,
            baseline: 0,
            found: 0,
            crashes: self.crashes,
        }
    }

    fn key(&self, state: &State) -> u128 {
        let mut key = Key::default();
        for objects in [state.live, state.listed, state.needed, state.current, state.deposed] {
            key.put(ALL, objects);
        }
        for attempt in &state.attempts {
            key.put(3, attempt.request.fate as u8).put(2, attempt.request.answer as u8);
            key.put(2, attempt.entry as u8).put(ALL, attempt.baseline);
        }
        for request in &state.deletions {
            key.put(3, request.fate as u8).put(2, request.answer as u8);
        }
        key.put(1, state.hidden).put(1, state.hides).put(1, state.deleting).put(1, state.asked);
        key.put(5, state.at as u8).put(1, state.attempt).put(ALL, state.baseline).put(ALL, state.found);
        key.put(2, state.crashes);
        key.bits()
    }

    fn moves(&self, moves: &mut Moves<'_, State>) {
        surroundings(moves);
        let at = moves.from.at;
        if moves.from.crashes > 0 && at != At::Start && !at.is_over() {
            moves.add("kill -9, and a new process", |state| {
                state.crashes -= 1;
                (state.at, state.attempt, state.baseline, state.found) = (At::Start, 0, 0, 0);
            });
        }
        match at {
            At::Start => {
                moves.add("start", |state| state.at = if state.asked { At::Asked } else { At::Replay });
            }
            At::Replay => replay(moves),
            At::Plan => self.plan(moves),
            At::Intend | At::Create | At::AwaitCreation => self.create(moves, at),
            At::Bind => moves.add("record: bound", |state| self.bind(state, 1 << state.attempt)),
            At::Depose => moves.add("record: the old one is kept", |state| {
                (state.deposed, state.at) = (OLD, At::Plan);
            }),
            At::CloseCreation => {
                moves.add("record: refused", |state| state.close(Entry::Closed));
            }
            At::Resolve => self.resolve(moves),
            At::Decide => self.decide(moves),
            At::MoveDependent => moves.add("what depends on the old one is moved", |state| {
                (state.needed, state.at) = (state.current, At::Plan);
            }),
            At::Check | At::IntendDeletion | At::Delete | At::AwaitDeletion => self.delete(moves, at),
            At::Prove => self.prove(moves),
            At::Forget => moves.add("record: gone", |state| {
                state.current &= !OLD;
                (state.deposed, state.deleting, state.at) = (0, false, At::Plan);
            }),
            At::Done | At::Stopped | At::Asked => {}
        }
    }

    fn judge(&self, state: &State) -> Judgement {
        let new = state.live & !OLD;
        let beside = self.order == Order::DeleteFirst && new != 0 && state.live & OLD != 0;
        let journaled = |number: usize| state.attempts[number].entry != Entry::None;
        let known: Objects = (0..ATTEMPTS).filter(|number| journaled(*number)).map(|n| 1 << n).sum();
        let in_use_is_gone = state.current & !state.live != 0;
        let nothing_in_use = self.order == Order::CreateFirst && state.current & state.live == 0;
        Judgement {
            ended: state.at.is_over() && !state.is_under_way(),
            asked: state.asked,
            duplicate: new.count_ones() > 1 || beside,
            silent: state.live & !(state.held() | known) != 0,
            wrong: self.order == Order::CreateFirst && (in_use_is_gone || nothing_in_use)
                || state.needed & !state.live != 0,
        }
    }
}

/// Adds the moves of the environment.
fn surroundings(moves: &mut Moves<'_, State>) {
    for (number, attempt) in moves.from.attempts.into_iter().enumerate() {
        attempt.request.happens(&mut |label, request, takes_effect| {
            moves.add(label, |state| {
                state.attempts[number].request = request;
                state.live |= Objects::from(takes_effect) << number;
            });
        });
    }
    for (number, request) in moves.from.deletions.into_iter().enumerate() {
        request.happens(&mut |label, request, takes_effect| {
            moves.add(label, |state| {
                state.deletions[number] = request;
                if takes_effect {
                    state.live &= !OLD;
                    state.listed &= !OLD;
                }
            });
        });
    }
    let unlisted = moves.from.live & !moves.from.listed;
    for object in (0..ATTEMPTS).map(|number| 1 << number).filter(|object| unlisted & object != 0) {
        moves.add("the list shows it", |state| state.listed |= object);
    }
    if moves.from.hidden {
        moves.add("the old object is shown again", |state| state.hidden = false);
    } else if moves.from.hides {
        moves.add("the old object's read answers 404 for a while", |state| {
            (state.hidden, state.hides) = (true, false);
        });
    }
}

fn replay(moves: &mut Moves<'_, State>) {
    let state = moves.from;
    let open = (0..ATTEMPTS).find(|number| state.attempts[*number].entry == Entry::Open);
    if let Some(open) = open {
        moves.add("a creation is open", |state| {
            state.attempt = u8::try_from(open).expect("few attempts");
            (state.baseline, state.at) = (state.attempts[open].baseline, At::Resolve);
        });
    } else {
        let next = if state.deleting { At::Check } else { At::Plan };
        moves.add("look at what is open", |state| state.at = next);
    }
}

impl Replace {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Returns whether lost requests may still take effect.
    fn waits(&self, state: &State) -> bool {
        self.effect_is_bounded && (state.is_under_way() || state.live != state.listed)
    }

    /// Adds the next step that ledger and live objects require.
    fn plan(&self, moves: &mut Moves<'_, State>) {
        let state = moves.from;
        let old_first = self.order == Order::DeleteFirst || self.has(Bug::OldGoesFirst);
        if state.current & OLD != 0 && old_first || state.deposed != 0 && self.is_free(&state) {
            moves.add("plan: delete the old one", |state| state.at = At::Check);
        } else if state.deposed != 0 {
            moves.add("plan: move what depends on it", |state| state.at = At::MoveDependent);
        } else if state.current & !OLD != 0 {
            moves.add("everything is as it should be", |state| state.at = At::Done);
        } else {
            self.list_before(moves);
        }
    }

    /// Returns whether the old object has no dependent any more.
    fn is_free(&self, state: &State) -> bool {
        state.needed == state.current || self.has(Bug::LeavesDependents)
    }

    fn list_before(&self, moves: &mut Moves<'_, State>) {
        let state = moves.from;
        let unused = |number: &usize| state.attempts[*number].request.fate == Fate::Unused;
        match (0..ATTEMPTS).find(unused) {
            _ if state.listed & !state.held() != 0 => {
                moves.add("something of that name turned up: ask", State::ask);
            }
            None => moves.add("no attempt is left: stop", |state| state.at = At::Stopped),
            Some(number) => moves.add("plan: create; list what is there", |state| {
                state.attempt = u8::try_from(number).expect("few attempts");
                state.baseline = if self.has(Bug::OldIsCandidate) { 0 } else { state.listed };
                state.attempts[number].request.fate = Fate::Planned;
                state.at = if self.has(Bug::NoIntent) { At::Create } else { At::Intend };
            }),
        }
    }

    fn create(&self, moves: &mut Moves<'_, State>, at: At) {
        let attempt = usize::from(moves.from.attempt);
        match (at, moves.from.attempts[attempt].request.answer) {
            (At::Intend, _) => moves.add("record: a creation", |state| {
                state.attempts[attempt].entry = Entry::Open;
                state.attempts[attempt].baseline = state.baseline;
                state.at = At::Create;
            }),
            (At::Create, _) => moves.add("send the creation", |state| {
                state.attempts[attempt].request.fate = Fate::UnderWay;
                state.at = At::AwaitCreation;
            }),
            (_, Answer::Awaited) => {}
            (_, Answer::Done) => moves.add("read: created", |state| state.at = At::Bind),
            (_, Answer::Refused) => moves.add("read: refused", |state| state.at = At::CloseCreation),
            (_, Answer::Unknown) if self.has(Bug::NoIntent) => {
                moves.add("read: nobody can tell; try again", |state| state.at = At::Plan);
            }
            (_, Answer::Unknown) => {
                moves.add("read: nobody can tell", |state| state.at = At::Resolve);
            }
        }
    }

    /// Records the new object as in use and the old one as deposed, in one record.
    fn bind(&self, state: &mut State, object: Objects) {
        state.attempts[usize::from(state.attempt)].entry = Entry::Bound;
        let before = std::mem::replace(&mut state.current, object);
        state.at = At::Plan;
        if self.has(Bug::TwoRecords) {
            state.at = At::Depose;
        } else if !self.has(Bug::DropsOld) {
            state.deposed |= before;
        }
    }

    fn resolve(&self, moves: &mut Moves<'_, State>) {
        if !self.waits(&moves.from) {
            moves.add("the deadline is over: list", |state| {
                let owned = if self.has(Bug::OldIsCandidate) { 0 } else { state.held() };
                state.found = state.listed & !state.baseline & !owned;
                state.at = At::Decide;
            });
        }
    }

    fn decide(&self, moves: &mut Moves<'_, State>) {
        let found = moves.from.found;
        match found.count_ones() {
            0 => moves.add("nothing was found: presumed absent", |state| state.close(Entry::Closed)),
            1 => moves.add("one could be it: bound", |state| self.bind(state, found)),
            _ => moves.add("several could be it: ask", State::ask),
        }
    }

    fn delete(&self, moves: &mut Moves<'_, State>, at: At) {
        let state = moves.from;
        let there = state.live & OLD != 0 && !state.hidden;
        let sent = state.deletions.iter().rfind(|request| request.fate != Fate::Unused);
        match (at, sent.map(|request| request.answer)) {
            (At::Check, _) if !there => moves.add("read: gone", |state| state.at = At::Prove),
            (At::Check, _) => {
                let next = if state.deleting { At::Delete } else { At::IntendDeletion };
                moves.add("read: live", |state| state.at = next);
            }
            (At::IntendDeletion, _) => moves.add("record: a deletion", |state| {
                (state.deleting, state.at) = (true, At::Delete);
            }),
            (At::Delete, _) => {
                let unused = state.deletions.iter().position(|request| request.fate == Fate::Unused);
                let Some(number) = unused else {
                    moves.add("no attempt is left: stop", |state| state.at = At::Stopped);
                    return;
                };
                moves.add("send the deletion", |state| {
                    state.deletions[number].fate = Fate::UnderWay;
                    state.at = At::AwaitDeletion;
                });
            }
            (_, None | Some(Answer::Awaited)) => {}
            (_, Some(Answer::Done)) => moves.add("read: accepted", |state| state.at = At::Prove),
            (_, Some(Answer::Refused)) => {
                moves.add("read: refused; it stays open: stop", |state| state.at = At::Stopped);
            }
            (_, Some(Answer::Unknown)) => {
                let next = if self.has(Bug::UnknownIsGone) { At::Forget } else { At::Check };
                moves.add("read: nobody can tell", |state| state.at = next);
            }
        }
    }

    /// Proves that the old object is gone: neither a read nor a list shows it.
    fn prove(&self, moves: &mut Moves<'_, State>) {
        let state = moves.from;
        let gone = state.live & OLD == 0 || state.hidden && self.has(Bug::NotFoundIsGone);
        if gone {
            moves.add("it is gone", |state| state.at = At::Forget);
        } else {
            moves.add("it is still there: look again", |state| state.at = At::Check);
        }
    }
}
