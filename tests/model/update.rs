//! The update protocol: one object with two attributes, a plan of one call for each, two processes that share the
//! ledger, a user who changes the target of the first attribute, and an edit of it outside.
//!
//! "Duplicate" is a call without a target that took effect twice. "Silent" is an end in which the ledger records the
//! target as applied, nothing is open or asked, and the object shows another value of ours. "Wrong" is a request that
//! overwrites an outside edit which was visible when the object was last read.

use super::explore::{Judgement, Key, Moves, Protocol};
use super::lease::{Lease, WORKERS};
use super::network::{Answer, Fate, Request};

/// Maximum number of requests in a state.
const MOST: usize = 4;

/// Fields of the object, and calls of a plan.
const FIELDS: usize = 2;

/// The initial value of a field.
const FIRST: u8 = 0;

/// The target of each field; the first one may get another target later.
pub const TARGET: u8 = 1;
const LATER_TARGET: u8 = 2;

/// A value that no plan wants.
pub const HUMANS: u8 = 3;

/// A protocol that is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// Nothing is recorded before the request leaves.
    NoIntent,
    /// The protocol does not wait until a lost request can have no effect.
    NoWait,
    /// An unknown outcome counts as a refusal.
    UnknownIsRefused,
    /// The object is not read before a call.
    NoRead,
    /// An accepted call counts as completed.
    AcceptedIsDone,
    /// An intent of a holder that is not proven dead is resolved like one of our own.
    ForeignIsOwn,
    /// The same, but only if the object has its targets.
    ForeignIsDone,
    /// A call without a target is sent again after an unknown outcome.
    Repeats,
    /// There is no lease, and writes are not conditional.
    NoLease,
}

/// One variant of the protocol and of its environment.
#[derive(Debug, Clone, Copy)]
pub struct Update {
    /// The second call has no target: it may take effect once.
    pub once: bool,
    /// A request takes effect before the deadline, or never.
    pub effect_is_bounded: bool,
    /// The service accepts calls that it does not carry out.
    pub ignores: bool,
    /// The value that an outside edit gives the first field, once, at any moment; `None` for no edit.
    pub edit: Option<u8>,
    pub bug: Option<Bug>,
    pub requests: usize,
    pub crashes: u8,
    pub take_overs: u8,
}

/// The step that a process is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Start,
    Replay,
    /// An open intent, after the deadline.
    Recover,
    Plan,
    Check,
    Intend,
    Fence,
    Send,
    Wait,
    /// The outcome of its request is unknown.
    Outlast,
    Verify,
    Done,
    /// It stopped with an error.
    Stopped,
    Asked,
    Fenced,
}

#[derive(Debug, Clone, Copy)]
struct Worker {
    at: At,
    epoch: u8,
    /// Index of its current call.
    step: u8,
    /// The fields as its plan saw them, and as they should be.
    before: [u8; FIELDS],
    targets: [u8; FIELDS],
    /// The request whose response it waits for.
    request: u8,
    /// Its intent is open.
    intends: bool,
}

const FRESH: Worker = Worker {
    at: At::Start,
    epoch: 0,
    step: 0,
    before: [FIRST; FIELDS],
    targets: [FIRST; FIELDS],
    request: 0,
    intends: false,
};

/// A call in progress.
#[derive(Debug, Clone, Copy)]
struct Sent {
    request: Request,
    field: u8,
    target: u8,
}

/// The ledger's record of the open call.
#[derive(Debug, Clone, Copy)]
struct Intent {
    field: u8,
    target: u8,
    foreign: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct State {
    fields: [u8; FIELDS],
    applied: [u8; FIELDS],
    intent: Option<Intent>,
    asked: bool,
    /// The later target is in force.
    changed_mind: bool,
    overwrote: bool,
    sent: [Sent; MOST],
    lease: Lease,
    workers: [Worker; WORKERS],
    /// The outside edit has not happened yet.
    edits: bool,
    crashes: u8,
    take_overs: u8,
}

impl At {
    fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Stopped | Self::Asked | Self::Fenced)
    }
}

impl State {
    fn go(&mut self, worker: usize, at: At) {
        self.workers[worker].at = at;
    }

    fn finish(&mut self, worker: usize, at: At) {
        if self.lease.is_of(worker, self.workers[worker].epoch) {
            self.lease.give_back();
        }
        self.go(worker, at);
    }

    fn ask(&mut self, worker: usize) {
        self.asked = true;
        self.finish(worker, At::Asked);
    }

    fn close(&mut self, worker: usize, at: At) {
        self.intent = None;
        self.workers[worker].intends = false;
        if at.is_over() { self.finish(worker, at) } else { self.go(worker, at) }
    }

    /// Moves to the next call after the current one is known to have taken effect.
    fn next_step(&mut self, worker: usize) {
        self.workers[worker].step += 1;
        self.close(worker, At::Check);
    }

    fn is_under_way(&self) -> bool {
        self.sent.iter().any(|sent| sent.request.is_under_way())
    }
}

impl Protocol for Update {
    type State = State;

    fn start(&self) -> State {
        State {
            fields: [FIRST; FIELDS],
            applied: [FIRST; FIELDS],
            intent: None,
            asked: false,
            changed_mind: false,
            overwrote: false,
            sent: [Sent { request: Request::UNUSED, field: 0, target: 0 }; MOST],
            lease: Lease::default(),
            workers: [FRESH; WORKERS],
            edits: true,
            crashes: self.crashes,
            take_overs: self.take_overs,
        }
    }

    fn key(&self, state: &State) -> u128 {
        let mut key = Key::default();
        for value in state.fields.iter().chain(&state.applied) {
            key.put(2, *value);
        }
        let open = state.intent.unwrap_or(Intent { field: 0, target: 0, foreign: false });
        key.put(1, state.intent.is_some()).put(1, open.field).put(2, open.target).put(1, open.foreign);
        key.put(1, state.asked).put(1, state.changed_mind).put(1, state.overwrote).put(1, state.edits);
        for sent in &state.sent {
            key.put(3, sent.request.fate as u8).put(2, sent.request.answer as u8);
            key.put(1, sent.field).put(2, sent.target);
        }
        for worker in &state.workers {
            key.put(4, worker.at as u8).put(3, worker.epoch).put(2, worker.step);
            key.put(2, worker.before[0]).put(2, worker.before[1]);
            key.put(2, worker.targets[0]).put(2, worker.targets[1]);
            key.put(2, worker.request).put(1, worker.intends);
        }
        key.put(2, state.lease.holder).put(3, state.lease.epoch);
        key.put(2, state.crashes).put(2, state.take_overs);
        key.bits()
    }

    fn moves(&self, moves: &mut Moves<'_, State>) {
        self.surroundings(moves);
        for worker in 0..WORKERS {
            let at = moves.from.workers[worker].at;
            if moves.from.crashes > 0 && at != At::Start && !at.is_over() {
                moves.add("kill -9", |state| {
                    state.crashes -= 1;
                    state.workers[worker] = FRESH;
                });
            }
            match at {
                At::Start => self.begin(moves, worker),
                At::Replay => self.replay(moves, worker),
                At::Recover => self.recover(moves, worker),
                At::Plan => self.plan(moves, worker),
                At::Check => self.check(moves, worker),
                At::Intend => self.intend(moves, worker),
                At::Fence if self.holds(&moves.from, worker) => {
                    moves.add("the lease is ours", |state| state.go(worker, At::Send));
                }
                At::Fence => moves.add("the lease is lost: stop", |state| state.go(worker, At::Fenced)),
                At::Send => self.send(moves, worker),
                At::Wait => self.wait(moves, worker),
                At::Outlast => self.outlast(moves, worker),
                At::Verify => self.verify(moves, worker),
                At::Done | At::Stopped | At::Asked | At::Fenced => {}
            }
        }
    }

    fn judge(&self, state: &State) -> Judgement {
        let over = state.workers.iter().all(|worker| worker.at.is_over());
        let ended = over && !state.is_under_way();
        let told = state.asked || state.intent.is_some();
        let undone = |field: usize| ![state.applied[field], HUMANS].contains(&state.fields[field]);
        let twice = self.once && state.fields[1] > 1;
        Judgement {
            ended,
            asked: state.asked,
            duplicate: twice,
            silent: ended && !told && (undone(0) || (!self.once && undone(1))),
            wrong: state.overwrote,
        }
    }
}

impl Update {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    fn holds(&self, state: &State, worker: usize) -> bool {
        self.has(Bug::NoLease) || state.lease.is_of(worker, state.workers[worker].epoch)
    }

    /// Returns whether reading the object shows that a call has taken effect.
    fn is_absolute(&self, field: u8) -> bool {
        !(self.once && field == 1)
    }

    /// Returns whether the protocol must wait because a lost request may still take effect.
    fn waits(&self, state: &State) -> bool {
        self.effect_is_bounded && state.is_under_way() && !self.has(Bug::NoWait)
    }

    /// Adds a write to the ledger, which only the lease's holder can make.
    fn record(
        &self,
        moves: &mut Moves<'_, State>,
        worker: usize,
        label: &'static str,
        change: impl FnOnce(&mut State),
    ) {
        if self.holds(&moves.from, worker) {
            moves.add(label, change);
        } else {
            moves.add("the ledger refuses a displaced writer", |state| state.go(worker, At::Fenced));
        }
    }

    /// Adds the moves of the environment.
    fn surroundings(&self, moves: &mut Moves<'_, State>) {
        for (number, sent) in moves.from.sent.into_iter().enumerate() {
            let field = usize::from(sent.field);
            sent.request.happens(&mut |label, request, takes_effect| {
                moves.add(label, |state| {
                    state.sent[number].request = request;
                    if takes_effect && self.is_absolute(sent.field) {
                        state.fields[field] = sent.target;
                    } else if takes_effect {
                        state.fields[field] += 1;
                    }
                });
            });
            if self.ignores && sent.request.is_under_way() && sent.request.answer == Answer::Awaited {
                moves.add("the service accepts, and does nothing", |state| {
                    state.sent[number].request = Request { fate: Fate::Vain, answer: Answer::Done };
                });
            }
        }
        if let Some(edit) = self.edit.filter(|_| moves.from.edits) {
            moves.add("a human edits the first field", |state| {
                (state.edits, state.fields[0]) = (false, edit);
            });
        }
    }

    fn begin(&self, moves: &mut Moves<'_, State>, worker: usize) {
        let state = moves.from;
        if state.asked {
            moves.add("an ambiguous intent is open", |state| state.go(worker, At::Asked));
            return;
        }
        if self.has(Bug::NoLease) {
            moves.add("start without a lease", |state| state.go(worker, At::Replay));
            return;
        }
        let is_dead = |holder: usize| {
            let at = state.workers[holder].at;
            holder == worker || at == At::Start || at.is_over()
        };
        let proven = state.lease.held_by().is_none_or(is_dead);
        if proven || state.take_overs > 0 {
            let label = if proven { "take the lease" } else { "take over from a paused holder" };
            moves.add(label, |state| {
                state.take_overs -= u8::from(!proven);
                if let Some(intent) = &mut state.intent {
                    intent.foreign |= !proven;
                }
                state.workers[worker].epoch = state.lease.take(worker);
                state.go(worker, At::Replay);
            });
        }
    }

    fn replay(&self, moves: &mut Moves<'_, State>, worker: usize) {
        if moves.from.intent.is_none() {
            moves.add("nothing is open", |state| state.go(worker, At::Plan));
        } else if !self.waits(&moves.from) {
            moves.add("the deadline of an open intent is over", |state| state.go(worker, At::Recover));
        }
    }

    /// Adds the moves that resolve a call of an earlier process.
    fn recover(&self, moves: &mut Moves<'_, State>, worker: usize) {
        let state = moves.from;
        let Some(Intent { field, target, foreign }) = state.intent else {
            moves.add("closed meanwhile", |state| state.go(worker, At::Plan));
            return;
        };
        let there = self.is_absolute(field) && state.fields[usize::from(field)] == target;
        let trusts = self.has(Bug::ForeignIsOwn) || (there && self.has(Bug::ForeignIsDone));
        let asks = foreign && !trusts || !self.is_absolute(field) && !self.has(Bug::Repeats);
        if asks {
            self.record(moves, worker, "its request may still leave, or took effect: ask", |state| {
                state.ask(worker);
            });
        } else if there {
            self.record(moves, worker, "record: done", |state| {
                state.applied[usize::from(field)] = target;
                state.close(worker, At::Plan);
            });
        } else {
            self.record(moves, worker, "record: presumed without effect", |state| {
                state.close(worker, At::Plan);
            });
        }
    }

    /// Adds the plans from the current values, for the first target or for the second.
    fn plan(&self, moves: &mut Moves<'_, State>, worker: usize) {
        for changed in [false, true] {
            if moves.from.changed_mind && !changed {
                continue;
            }
            let label = if changed { "plan: the later target" } else { "plan: the first target" };
            self.record(moves, worker, label, |state| {
                state.changed_mind = changed;
                let targets = [if changed { LATER_TARGET } else { TARGET }, TARGET];
                let before = state.fields;
                state.workers[worker] = Worker { before, targets, step: 0, ..state.workers[worker] };
                state.go(worker, At::Check);
            });
        }
    }

    fn check(&self, moves: &mut Moves<'_, State>, worker: usize) {
        let Worker { step, before, targets, intends, .. } = moves.from.workers[worker];
        let field = usize::from(step);
        if field == FIELDS {
            moves.add("every call is done", |state| state.finish(worker, At::Done));
            return;
        }
        let live = moves.from.fields[field];
        let done = if self.is_absolute(step) { live } else { moves.from.applied[field] };
        let next = if intends || self.has(Bug::NoIntent) { At::Fence } else { At::Intend };
        let stale = self.is_absolute(step) && live != before[field] && live != targets[field];
        if stale && self.has(Bug::NoRead) {
            moves.add("go on without a look", |state| {
                state.overwrote |= live == HUMANS;
                state.go(worker, next);
            });
        } else if done == targets[field] {
            self.record(moves, worker, "read: as it should be", |state| {
                state.applied[field] = targets[field];
                state.next_step(worker);
            });
        } else if stale {
            self.record(moves, worker, "read: neither as before nor as it should be: stop", |state| {
                state.close(worker, At::Stopped);
            });
        } else {
            moves.add("read: as before", |state| state.go(worker, next));
        }
    }

    fn intend(&self, moves: &mut Moves<'_, State>, worker: usize) {
        self.record(moves, worker, "record: intent", |state| {
            let Worker { step, targets, .. } = state.workers[worker];
            let target = targets[usize::from(step)];
            state.intent = Some(Intent { field: step, target, foreign: false });
            state.workers[worker].intends = true;
            state.go(worker, At::Fence);
        });
    }

    fn send(&self, moves: &mut Moves<'_, State>, worker: usize) {
        let unused = |number: &usize| moves.from.sent[*number].request.fate == Fate::Unused;
        let Some(number) = (0..self.requests).find(unused) else {
            moves.add("no attempt is left: stop", |state| state.finish(worker, At::Stopped));
            return;
        };
        moves.add("send", |state| {
            let Worker { step, targets, .. } = state.workers[worker];
            let request = Request { fate: Fate::UnderWay, answer: Answer::Awaited };
            state.sent[number] = Sent { request, field: step, target: targets[usize::from(step)] };
            state.workers[worker].request = u8::try_from(number).expect("few requests");
            state.go(worker, At::Wait);
        });
    }

    fn wait(&self, moves: &mut Moves<'_, State>, worker: usize) {
        let Worker { request, step, .. } = moves.from.workers[worker];
        match moves.from.sent[usize::from(request)].request.answer {
            Answer::Awaited => {}
            Answer::Done => moves.add("read: accepted", |state| state.go(worker, At::Verify)),
            Answer::Refused => self.record(moves, worker, "record: refused", |state| {
                state.close(worker, At::Stopped);
            }),
            Answer::Unknown if self.has(Bug::UnknownIsRefused) => {
                self.record(moves, worker, "record: refused, a guess", |state| {
                    state.close(worker, At::Stopped);
                });
            }
            Answer::Unknown if !self.is_absolute(step) && !self.has(Bug::Repeats) => {
                self.record(moves, worker, "read: nobody can tell: ask", |state| state.ask(worker));
            }
            Answer::Unknown => {
                moves.add("read: nobody can tell", |state| state.go(worker, At::Outlast));
            }
        }
    }

    fn outlast(&self, moves: &mut Moves<'_, State>, worker: usize) {
        if !self.waits(&moves.from) {
            moves.add("its deadline is over: look", |state| state.go(worker, At::Check));
        }
    }

    fn verify(&self, moves: &mut Moves<'_, State>, worker: usize) {
        let Worker { step, targets, .. } = moves.from.workers[worker];
        let (field, target) = (usize::from(step), targets[usize::from(step)]);
        let shows = !self.is_absolute(step) || moves.from.fields[field] == target;
        if shows || self.has(Bug::AcceptedIsDone) {
            self.record(moves, worker, "record: done", |state| {
                state.applied[field] = target;
                state.next_step(worker);
            });
        } else {
            self.record(moves, worker, "read: accepted, and yet not there: stop", |state| {
                state.close(worker, At::Stopped);
            });
        }
    }
}
