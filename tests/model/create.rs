//! The create protocol: one resource, two processes that share a ledger, a user who may create a twin of the same name
//! and attributes at any moment, and a service without idempotency keys.
//!
//! At the end of each trace the closing sweep is assumed to have run once: it reports what is listed and carries a
//! journaled mark. "Silent" is an object of ours that is neither bound nor reported while no intent is ambiguous;
//! "wrong" is a twin that was bound although our object is live, or although the twin existed before the request.

use super::explore::{Judgement, Key, Moves, Protocol};
use super::lease::{Lease, WORKERS};
use super::network::{Answer, Fate, Request};

/// Maximum number of attempts in a state.
const MOST: usize = 3;

/// Objects by bit: one for each attempt, and the twin.
type Objects = u8;
const TWIN: Objects = 1 << MOST;
const ALL: u32 = TWIN.trailing_zeros() + 1;

/// How an object is recognized as ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A nonce in its name.
    Nonce,
    /// It did not exist before the request, and shows what was sent.
    Difference,
}

/// What to do if nothing is found after the deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// Presume that nothing was created, and try again.
    Retry,
    /// Ask the user if another epoch sent the request.
    AskOfOthers,
    /// Ask the user if another epoch sent it whose process was not proven dead when its lease was taken.
    AskOfUnproven,
    /// Always ask the user.
    Strict,
}

/// A protocol that is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// Nothing is recorded before the request leaves.
    NoIntent,
    /// An unknown outcome counts as a refusal.
    UnknownIsRefused,
    /// An open intent is not resolved first.
    NoRecovery,
    /// There is no lease, and writes are not conditional.
    NoLease,
    /// A candidate is bound before the deadline.
    BindsEarly,
    /// Nothing is listed before the request.
    NoBaseline,
}

/// Limits on what the explorer lets happen.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    pub attempts: usize,
    pub crashes: u8,
    pub take_overs: u8,
}

/// One variant of the protocol and of its environment.
#[derive(Debug, Clone, Copy)]
pub struct Create {
    pub mark: Mark,
    /// A request takes effect before the deadline, or never.
    pub effect_is_bounded: bool,
    /// The list shows every object by the deadline.
    pub listing_is_bounded: bool,
    /// A live process can lose its lease between its last check of it and the request.
    pub pauses: bool,
    pub doubt: Doubt,
    pub bug: Option<Bug>,
    pub budget: Budget,
}

/// The ledger's record of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    None,
    Open,
    /// It is known to have created nothing.
    ClosedSafe,
    /// It is presumed to have created nothing, and is watched.
    ClosedPresumed,
    Bound,
}

#[derive(Debug, Clone, Copy)]
struct Attempt {
    request: Request,
    entry: Entry,
    baseline: Objects,
    epoch: u8,
    /// Its writer lost the lease and was not proven dead.
    foreign: bool,
    /// The twin existed when its preexisting objects were listed.
    after_twin: bool,
}

/// The step that a process is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Start,
    Replay,
    Baseline,
    Intend,
    Fence,
    Send,
    Wait,
    Bind,
    Close,
    Doubt,
    Resolve,
    Decide,
    Done,
    Asked,
    Fenced,
}

#[derive(Debug, Clone, Copy)]
struct Worker {
    at: At,
    attempt: u8,
    epoch: u8,
    baseline: Objects,
    /// The objects that the list showed after the deadline.
    listed: Objects,
}

const FRESH: Worker = Worker { at: At::Start, attempt: 0, epoch: 0, baseline: 0, listed: 0 };

#[derive(Debug, Clone, Copy)]
pub struct State {
    live: Objects,
    listed: Objects,
    attempts: [Attempt; MOST],
    bound: Objects,
    provisional: bool,
    asked: bool,
    lease: Lease,
    workers: [Worker; WORKERS],
    twins: u8,
    crashes: u8,
    take_overs: u8,
}

impl At {
    /// Returns whether a process sends nothing more.
    fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Asked | Self::Fenced)
    }
}

impl State {
    fn current(&self, worker: usize) -> (Worker, Attempt) {
        let worker = self.workers[worker];
        (worker, self.attempts[usize::from(worker.attempt)])
    }

    fn go(&mut self, worker: usize, at: At) {
        self.workers[worker].at = at;
    }

    /// Ends a process, which releases its lease.
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

    fn bind(&mut self, worker: usize, object: Objects, provisional: bool) {
        let attempt = usize::from(self.workers[worker].attempt);
        self.attempts[attempt].entry = Entry::Bound;
        (self.bound, self.provisional) = (object, provisional);
        self.finish(worker, At::Done);
    }

    /// Closes an attempt. A presumption also overwrites what the other process wrote, if nothing prevents it.
    fn close(&mut self, worker: usize, entry: Entry) {
        let attempt = &mut self.attempts[usize::from(self.workers[worker].attempt)];
        if attempt.entry == Entry::Open || entry == Entry::ClosedPresumed {
            attempt.entry = entry;
        }
        self.go(worker, At::Replay);
    }
}

impl Protocol for Create {
    type State = State;

    fn start(&self) -> State {
        let attempt = Attempt {
            request: Request::UNUSED,
            entry: Entry::None,
            baseline: 0,
            epoch: 0,
            foreign: false,
            after_twin: false,
        };
        State {
            live: 0,
            listed: 0,
            attempts: [attempt; MOST],
            bound: 0,
            provisional: false,
            asked: false,
            lease: Lease::default(),
            workers: [FRESH; WORKERS],
            twins: 1,
            crashes: self.budget.crashes,
            take_overs: self.budget.take_overs,
        }
    }

    fn key(&self, state: &State) -> u128 {
        let mut key = Key::default();
        key.put(ALL, state.live).put(ALL, state.listed).put(ALL, state.bound);
        for attempt in &state.attempts {
            key.put(3, attempt.request.fate as u8).put(2, attempt.request.answer as u8);
            key.put(3, attempt.entry as u8).put(ALL, attempt.baseline).put(3, attempt.epoch);
            key.put(1, attempt.foreign).put(1, attempt.after_twin);
        }
        for worker in &state.workers {
            key.put(4, worker.at as u8).put(2, worker.attempt).put(3, worker.epoch);
            key.put(ALL, worker.baseline).put(ALL, worker.listed);
        }
        key.put(1, state.provisional).put(1, state.asked);
        key.put(2, state.lease.holder).put(3, state.lease.epoch);
        key.put(1, state.twins).put(2, state.crashes).put(2, state.take_overs);
        key.bits()
    }

    fn moves(&self, moves: &mut Moves<'_, State>) {
        surroundings(moves);
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
                At::Baseline => self.list_before(moves, worker),
                At::Intend => self.intend(moves, worker),
                At::Fence => self.fence(moves, worker),
                At::Send => moves.add("send", |state| send(state, worker)),
                At::Wait => wait(moves, worker),
                At::Bind => self.record(moves, worker, "record: bound", |state| {
                    let made = 1 << state.workers[worker].attempt;
                    state.bind(worker, made, false);
                }),
                At::Close => self.record(moves, worker, "record: refused", |state| {
                    state.close(worker, Entry::ClosedSafe);
                }),
                At::Doubt => self.doubt(moves, worker),
                At::Resolve => self.resolve(moves, worker),
                At::Decide => self.decide(moves, worker),
                At::Done | At::Asked | At::Fenced => {}
            }
        }
    }

    fn judge(&self, state: &State) -> Judgement {
        let over = state.workers.iter().all(|worker| worker.at.is_over());
        let still = state.attempts.iter().all(|attempt| !attempt.request.is_under_way());
        if !over || !still || state.live != state.listed {
            return Judgement::default();
        }
        let ours = state.live & !TWIN;
        let known = state.bound | self.reported(state);
        let took_twin = state.bound == TWIN;
        let was_there = state.attempts.iter().any(|one| one.entry == Entry::Bound && one.after_twin);
        Judgement {
            ended: true,
            asked: state.asked,
            duplicate: ours.count_ones() > 1,
            silent: ours & !known != 0 && !state.asked,
            wrong: took_twin && (ours != 0 || was_there || !state.provisional),
        }
    }
}

/// Adds the moves of the environment: requests, the list, and the user.
fn surroundings(moves: &mut Moves<'_, State>) {
    for (number, attempt) in moves.from.attempts.into_iter().enumerate() {
        attempt.request.happens(&mut |label, request, takes_effect| {
            moves.add(label, |state| {
                state.attempts[number].request = request;
                state.live |= u8::from(takes_effect) << number;
            });
        });
    }
    let unlisted = moves.from.live & !moves.from.listed;
    for object in (0..MOST).map(|number| 1 << number).filter(|object| unlisted & object != 0) {
        moves.add("the list shows it", |state| state.listed |= object);
    }
    if moves.from.twins > 0 {
        moves.add("a human makes a twin", |state| {
            state.twins -= 1;
            state.live |= TWIN;
            state.listed |= TWIN;
        });
    }
}

fn send(state: &mut State, worker: usize) {
    let attempt = usize::from(state.workers[worker].attempt);
    state.attempts[attempt].request.fate = Fate::UnderWay;
    state.go(worker, At::Wait);
}

fn wait(moves: &mut Moves<'_, State>, worker: usize) {
    let (_, attempt) = moves.from.current(worker);
    match attempt.request.answer {
        Answer::Awaited => {}
        Answer::Done => moves.add("read: created", |state| state.go(worker, At::Bind)),
        Answer::Refused => moves.add("read: refused", |state| state.go(worker, At::Close)),
        Answer::Unknown => moves.add("read: nobody can tell", |state| state.go(worker, At::Doubt)),
    }
}

impl Create {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    fn holds(&self, state: &State, worker: usize) -> bool {
        self.has(Bug::NoLease) || state.lease.is_of(worker, state.workers[worker].epoch)
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
        if proven || (self.pauses && state.take_overs > 0) {
            let label = if proven { "take the lease" } else { "take over from a paused holder" };
            moves.add(label, |state| {
                state.take_overs -= u8::from(!proven);
                state.workers[worker].epoch = state.lease.take(worker);
                state.go(worker, At::Replay);
                if self.doubt == Doubt::AskOfUnproven && !proven {
                    for attempt in state.attempts.iter_mut().filter(|one| one.entry == Entry::Open) {
                        attempt.foreign = true;
                    }
                }
            });
        }
    }

    fn replay(&self, moves: &mut Moves<'_, State>, worker: usize) {
        let state = moves.from;
        let open = (0..MOST).find(|number| state.attempts[*number].entry == Entry::Open);
        if state.bound != 0 {
            moves.add("bound already", |state| state.finish(worker, At::Done));
        } else if let Some(open) = open.filter(|_| !self.has(Bug::NoRecovery)) {
            moves.add("an intent is open", |state| {
                state.workers[worker].attempt = index(open);
                state.workers[worker].baseline = state.attempts[open].baseline;
                state.go(worker, At::Resolve);
            });
        } else {
            moves.add("nothing is open", |state| state.go(worker, At::Baseline));
        }
    }

    fn list_before(&self, moves: &mut Moves<'_, State>, worker: usize) {
        let state = moves.from;
        if state.listed & !state.bound != 0 && !self.has(Bug::NoBaseline) {
            moves.add("the name is taken: ask", |state| state.ask(worker));
            return;
        }
        let unused = |number: &usize| {
            let attempt = &state.attempts[*number];
            attempt.entry == Entry::None && attempt.request.fate == Fate::Unused
        };
        let Some(number) = (0..self.budget.attempts).find(unused) else {
            moves.add("no attempt is left: ask", |state| state.ask(worker));
            return;
        };
        moves.add("list what is there", |state| {
            let baseline = if self.has(Bug::NoBaseline) { 0 } else { state.listed };
            state.workers[worker].attempt = index(number);
            state.workers[worker].baseline = baseline;
            state.attempts[number].request.fate = Fate::Planned;
            state.attempts[number].after_twin = state.live & TWIN != 0;
            state.go(worker, if self.has(Bug::NoIntent) { At::Fence } else { At::Intend });
        });
    }

    fn intend(&self, moves: &mut Moves<'_, State>, worker: usize) {
        self.record(moves, worker, "record: intent", |state| {
            let Worker { attempt, baseline, epoch, .. } = state.workers[worker];
            let attempt = &mut state.attempts[usize::from(attempt)];
            (attempt.entry, attempt.baseline, attempt.epoch) = (Entry::Open, baseline, epoch);
            state.go(worker, At::Fence);
        });
    }

    fn fence(&self, moves: &mut Moves<'_, State>, worker: usize) {
        if !self.holds(&moves.from, worker) {
            moves.add("the lease is lost: stop", |state| state.go(worker, At::Fenced));
        } else if self.pauses {
            moves.add("the lease is ours", |state| state.go(worker, At::Send));
        } else {
            moves.add("the lease is ours: send", |state| send(state, worker));
        }
    }

    fn doubt(&self, moves: &mut Moves<'_, State>, worker: usize) {
        if self.has(Bug::UnknownIsRefused) {
            self.record(moves, worker, "record: refused, a guess", |state| {
                state.close(worker, Entry::ClosedSafe);
            });
        } else if self.has(Bug::NoIntent) {
            moves.add("try again at once", |state| state.go(worker, At::Replay));
        } else {
            moves.add("look for it", |state| state.go(worker, At::Resolve));
        }
    }

    fn resolve(&self, moves: &mut Moves<'_, State>, worker: usize) {
        let state = moves.from;
        let Worker { attempt, baseline, .. } = state.workers[worker];
        let ours = 1 << attempt;
        let candidate = state.listed & !baseline & !state.bound;
        if self.mark == Mark::Nonce && state.listed & ours != 0 {
            self.record(moves, worker, "the nonce is listed: bound", |state| {
                state.bind(worker, ours, false);
            });
        }
        if self.has(Bug::BindsEarly) && candidate.is_power_of_two() {
            self.record(moves, worker, "bound before the deadline", |state| {
                state.bind(worker, candidate, true);
            });
        }
        let under_way = state.attempts.iter().any(|attempt| attempt.request.is_under_way());
        let lags = state.live != state.listed;
        if !(self.effect_is_bounded && under_way || self.listing_is_bounded && lags) {
            moves.add("the deadline is over: list", |state| {
                state.workers[worker].listed = state.listed;
                state.go(worker, At::Decide);
            });
        }
    }

    fn decide(&self, moves: &mut Moves<'_, State>, worker: usize) {
        let state = moves.from;
        let (Worker { attempt: number, epoch, baseline, listed, .. }, attempt) = state.current(worker);
        let found = match self.mark {
            Mark::Nonce => listed & (1 << number),
            Mark::Difference => listed & !baseline & !state.bound,
        };
        let asks = match self.doubt {
            Doubt::Retry => false,
            Doubt::AskOfOthers => attempt.epoch != epoch,
            Doubt::AskOfUnproven => attempt.foreign,
            Doubt::Strict => true,
        };
        let sure = self.mark == Mark::Nonce;
        let (label, change): (_, &dyn Fn(&mut State)) = match found.count_ones() {
            1 if sure => ("the nonce was listed: bound", &|state| state.bind(worker, found, false)),
            0 if asks => ("nothing was found: ask", &|state| state.ask(worker)),
            0 => ("nothing was found: presumed absent", &|state| {
                state.close(worker, Entry::ClosedPresumed);
            }),
            1 if self.doubt == Doubt::Strict => {
                ("one could be it: ask, being strict", &|state| state.ask(worker))
            }
            1 => ("one could be it: bound provisionally", &|state| state.bind(worker, found, true)),
            _ => ("several could be it: ask", &|state| state.ask(worker)),
        };
        self.record(moves, worker, label, change);
    }

    /// Returns what the closing sweep reports: with a nonce, what carries one of the journal; else all objects of that
    /// name, once there was an intent.
    fn reported(&self, state: &State) -> Objects {
        let journaled = |number: &usize| state.attempts[*number].entry != Entry::None;
        match self.mark {
            Mark::Nonce => (0..MOST).filter(journaled).map(|number| 1 << number).sum(),
            Mark::Difference if (0..MOST).any(|number| journaled(&number)) => state.live,
            Mark::Difference => 0,
        }
    }
}

fn index(attempt: usize) -> u8 {
    u8::try_from(attempt).expect("few attempts")
}
