//! The delete protocol: one object, whose id is in the ledger, two processes that share the ledger, a service that
//! sometimes hides live objects, and a user who deletes the object, too, or decides to keep it.
//!
//! "Silent" is a live object that the ledger has forgotten, at any moment. "Wrong" is a deletion that took effect on a
//! foreign object, or on ours while a later plan keeps it.

use super::explore::{Judgement, Key, Moves, Protocol};
use super::lease::{Lease, WORKERS};
use super::network::{Answer, Fate, Request};

/// Maximum number of requests in a state.
const MOST: usize = 3;

/// The object that has the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Object {
    Live,
    /// Its deletion was accepted and can still fail.
    Leaving,
    Gone,
    /// A foreign object.
    Strangers,
}

/// What the service shows of the live object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    Clear,
    /// The object's own read answers 404.
    NotRead,
    /// Lists omit the object.
    NotListed,
    /// The project is invisible: the permission is revoked, or the project is the wrong one.
    Blind,
}

/// What proves that the object is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// A 404.
    NotFound,
    /// A 404, and no list contains it.
    NotListed,
    /// Afterwards another object of ours is read, which must be visible.
    CanaryLast,
    /// Another object of ours is read before and after.
    CanaryAround,
}

/// How long the service hides something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spell {
    /// It never ends during a proof.
    EndsOutside,
    /// It lasts at least as long as a proof.
    OutlastsAProof,
}

/// A protocol that is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// Nothing is recorded before the request leaves.
    NoIntent,
    /// An unknown outcome counts as a refusal.
    UnknownIsRefused,
    /// A refusal of the second request closes the intent, whatever the first one does.
    RefusalClosesAll,
    /// The object is deleted without a check that it is ours.
    NoCertificate,
    /// An accepted deletion counts as completed.
    AcceptedIsGone,
    /// An intent of a holder that is not proven dead is closed like one of our own.
    ForeignIsOwn,
    /// There is no lease, and writes are not conditional.
    NoLease,
}

/// One variant of the protocol and of its environment.
#[derive(Debug, Clone, Copy)]
pub struct Delete {
    pub proof: Proof,
    pub spell: Spell,
    /// How often the service hides something.
    pub spells: u8,
    /// A request takes effect before the deadline, or never.
    pub effect_is_bounded: bool,
    /// The service can reuse an id for another object.
    pub ids_return: bool,
    /// The ledger's id belongs to a foreign object from the start.
    pub is_strangers: bool,
    pub bug: Option<Bug>,
    pub attempts: usize,
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
    Close,
    Plan,
    Check,
    Intend,
    Fence,
    Send,
    Wait,
    ReadCanary,
    Read,
    List,
    ReadCanaryAgain,
    Forget,
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
    /// The request whose response it waits for.
    request: u8,
    /// An earlier request of its intent had no response.
    doubts: bool,
    /// Its intent is open.
    intends: bool,
}

const FRESH: Worker = Worker { at: At::Start, epoch: 0, request: 0, doubts: false, intends: false };

#[derive(Debug, Clone, Copy)]
pub struct State {
    object: Object,
    /// The ledger has the id.
    owned: bool,
    intent: bool,
    foreign: bool,
    asked: bool,
    /// A plan that keeps the object is in force.
    kept: bool,
    harmed: bool,
    requests: [Request; MOST],
    sight: Sight,
    /// The service began to hide something during a proof.
    young: bool,
    lease: Lease,
    workers: [Worker; WORKERS],
    spells: u8,
    /// The user can delete it, once; its deletion can fail, once.
    meddles: bool,
    fails: bool,
    crashes: u8,
    take_overs: u8,
}

impl At {
    fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Stopped | Self::Asked | Self::Fenced)
    }

    fn is_proving(self) -> bool {
        matches!(self, Self::Read | Self::List | Self::ReadCanaryAgain)
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

    /// Returns what a read of the id shows.
    fn read(&self) -> Object {
        match self.sight {
            Sight::NotRead | Sight::Blind => Object::Gone,
            Sight::Clear | Sight::NotListed => self.object,
        }
    }

    fn is_listed(&self) -> bool {
        self.object != Object::Gone && matches!(self.sight, Sight::Clear | Sight::NotRead)
    }

    fn is_being_proven(&self) -> bool {
        self.workers.iter().any(|worker| worker.at.is_proving())
    }

    /// Applies a deletion at the service.
    fn delete(&mut self) {
        match self.object {
            Object::Live => {
                self.harmed |= self.kept;
                self.object = Object::Leaving;
            }
            Object::Strangers => {
                self.harmed = true;
                self.object = Object::Gone;
            }
            Object::Leaving | Object::Gone => {}
        }
    }
}

impl Protocol for Delete {
    type State = State;

    fn start(&self) -> State {
        State {
            object: if self.is_strangers { Object::Strangers } else { Object::Live },
            owned: true,
            intent: false,
            foreign: false,
            asked: false,
            kept: false,
            harmed: false,
            requests: [Request::UNUSED; MOST],
            sight: Sight::Clear,
            young: false,
            lease: Lease::default(),
            workers: [FRESH; WORKERS],
            spells: self.spells,
            meddles: true,
            fails: true,
            crashes: self.crashes,
            take_overs: self.take_overs,
        }
    }

    fn key(&self, state: &State) -> u128 {
        let mut key = Key::default();
        key.put(2, state.object as u8).put(2, state.sight as u8);
        for flag in [state.owned, state.intent, state.foreign, state.asked, state.kept, state.harmed] {
            key.put(1, flag);
        }
        key.put(1, state.young).put(1, state.meddles).put(1, state.fails);
        for request in &state.requests {
            key.put(3, request.fate as u8).put(2, request.answer as u8);
        }
        for worker in &state.workers {
            key.put(5, worker.at as u8).put(3, worker.epoch).put(2, worker.request);
            key.put(1, worker.doubts).put(1, worker.intends);
        }
        key.put(2, state.lease.holder).put(3, state.lease.epoch);
        key.put(2, state.spells).put(2, state.crashes).put(2, state.take_overs);
        key.bits()
    }

    fn moves(&self, moves: &mut Moves<'_, State>) {
        self.service(moves);
        for worker in 0..WORKERS {
            let at = moves.from.workers[worker].at;
            if moves.from.crashes > 0 && at != At::Start && !at.is_over() {
                moves.add("kill -9", |state| {
                    state.crashes -= 1;
                    state.workers[worker] = FRESH;
                });
            }
            self.work(moves, worker, at);
        }
    }

    fn judge(&self, state: &State) -> Judgement {
        let over = state.workers.iter().all(|worker| worker.at.is_over());
        let still = state.requests.iter().all(|request| !request.is_under_way());
        let live = matches!(state.object, Object::Live | Object::Leaving);
        Judgement {
            ended: over && still,
            asked: state.asked,
            duplicate: false,
            silent: live && !state.owned,
            wrong: state.harmed,
        }
    }
}

impl Delete {
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

    /// Adds the moves of the environment.
    fn service(&self, moves: &mut Moves<'_, State>) {
        for (number, request) in moves.from.requests.into_iter().enumerate() {
            request.happens(&mut |label, request, takes_effect| {
                moves.add(label, |state| {
                    state.requests[number] = request;
                    if takes_effect {
                        state.delete();
                    }
                });
            });
        }
        let state = moves.from;
        match state.object {
            Object::Leaving => {
                moves.add("the object is gone", |state| state.object = Object::Gone);
                if state.fails {
                    moves.add("the deletion fails later", |state| {
                        (state.object, state.fails) = (Object::Live, false);
                    });
                }
            }
            Object::Live if state.meddles => moves.add("a human deletes it", |state| {
                (state.object, state.meddles) = (Object::Gone, false);
            }),
            Object::Gone if self.ids_return => {
                moves.add("the id is given to another object", |state| state.object = Object::Strangers);
            }
            _ => {}
        }
        if state.sight != Sight::Clear {
            let may_end = !state.is_being_proven() || (self.spell == Spell::OutlastsAProof && !state.young);
            if may_end {
                moves.add("everything is shown again", |state| {
                    (state.sight, state.young) = (Sight::Clear, false);
                });
            }
        } else if state.spells > 0 {
            for (label, sight) in [
                ("its read answers 404 from now on", Sight::NotRead),
                ("lists omit it from now on", Sight::NotListed),
                ("nothing of the project is shown from now on", Sight::Blind),
            ] {
                moves.add(label, |state| {
                    state.spells -= 1;
                    state.sight = sight;
                    state.young = state.is_being_proven();
                });
            }
        }
    }

    fn work(&self, moves: &mut Moves<'_, State>, worker: usize, at: At) {
        match at {
            At::Start => self.begin(moves, worker),
            At::Replay => self.replay(moves, worker),
            At::Recover => self.recover(moves, worker),
            At::Close => self.record(moves, worker, "record: closed", |state| {
                (state.intent, state.workers[worker].intends) = (false, false);
                state.go(worker, At::Plan);
            }),
            At::Plan => self.plan(moves, worker),
            At::Check => self.check(moves, worker),
            At::Intend => self.record(moves, worker, "record: intent", |state| {
                (state.intent, state.foreign) = (true, false);
                state.workers[worker].intends = true;
                state.go(worker, At::Fence);
            }),
            At::Fence if self.holds(&moves.from, worker) => {
                moves.add("the lease is ours", |state| state.go(worker, At::Send));
            }
            At::Fence => moves.add("the lease is lost: stop", |state| state.go(worker, At::Fenced)),
            At::Send => self.send(moves, worker),
            At::Wait => self.wait(moves, worker),
            At::ReadCanary | At::Read | At::List | At::ReadCanaryAgain => self.prove(moves, worker, at),
            At::Forget => self.record(moves, worker, "record: gone", |state| {
                (state.owned, state.intent) = (false, false);
                state.finish(worker, At::Done);
            }),
            At::Done | At::Stopped | At::Asked | At::Fenced => {}
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
                state.foreign |= state.intent && !proven;
                state.workers[worker].epoch = state.lease.take(worker);
                state.go(worker, At::Replay);
            });
        }
    }

    fn replay(&self, moves: &mut Moves<'_, State>, worker: usize) {
        let state = moves.from;
        let under_way = state.requests.iter().any(|request| request.is_under_way());
        if !state.owned {
            moves.add("nothing is owned", |state| state.finish(worker, At::Done));
        } else if !state.intent {
            moves.add("nothing is open", |state| state.go(worker, At::Plan));
        } else if !(self.effect_is_bounded && under_way) {
            moves.add("the deadline of an open intent is over", |state| state.go(worker, At::Recover));
        }
    }

    /// Adds the moves that resolve an intent of an earlier process.
    fn recover(&self, moves: &mut Moves<'_, State>, worker: usize) {
        let state = moves.from;
        let asks = state.foreign && !self.has(Bug::ForeignIsOwn);
        match state.read() {
            Object::Gone | Object::Leaving => {
                moves.add("read: gone or leaving", |state| state.go(worker, At::ReadCanary));
            }
            Object::Live | Object::Strangers if asks => {
                self.record(moves, worker, "read: live, and its holder may still send: ask", |state| {
                    state.asked = true;
                    state.finish(worker, At::Asked);
                });
            }
            Object::Live | Object::Strangers => {
                moves.add("read: live", |state| state.go(worker, At::Close));
            }
        }
    }

    /// Adds the plans: to delete the object, or to keep it. A plan is in force once its start is recorded.
    fn plan(&self, moves: &mut Moves<'_, State>, worker: usize) {
        if !moves.from.kept {
            moves.add("plan: delete", |state| state.go(worker, At::Check));
        }
        self.record(moves, worker, "plan: keep", |state| {
            state.kept = true;
            state.finish(worker, At::Done);
        });
    }

    fn check(&self, moves: &mut Moves<'_, State>, worker: usize) {
        let intends = moves.from.workers[worker].intends || self.has(Bug::NoIntent);
        match moves.from.read() {
            Object::Strangers if !self.has(Bug::NoCertificate) => {
                moves.add("read: someone else's: stop", |state| state.finish(worker, At::Stopped));
            }
            Object::Gone => moves.add("read: gone", |state| state.go(worker, At::ReadCanary)),
            _ => {
                let next = if intends { At::Fence } else { At::Intend };
                moves.add("read: live and ours", |state| state.go(worker, next));
            }
        }
    }

    fn send(&self, moves: &mut Moves<'_, State>, worker: usize) {
        let unused = |number: &usize| moves.from.requests[*number].fate == Fate::Unused;
        let Some(number) = (0..self.attempts).find(unused) else {
            moves.add("no attempt is left: stop", |state| state.finish(worker, At::Stopped));
            return;
        };
        moves.add("send", |state| {
            state.requests[number].fate = Fate::UnderWay;
            state.workers[worker].request = u8::try_from(number).expect("few requests");
            state.go(worker, At::Wait);
        });
    }

    fn wait(&self, moves: &mut Moves<'_, State>, worker: usize) {
        let Worker { request, doubts, .. } = moves.from.workers[worker];
        match moves.from.requests[usize::from(request)].answer {
            Answer::Awaited => {}
            Answer::Done => {
                let next = if self.has(Bug::AcceptedIsGone) { At::Forget } else { At::ReadCanary };
                moves.add("read: accepted", |state| state.go(worker, next));
            }
            Answer::Refused if doubts && !self.has(Bug::RefusalClosesAll) => {
                moves.add("read: refused; an earlier request is open: stop", |state| {
                    state.finish(worker, At::Stopped);
                });
            }
            Answer::Refused => self.record(moves, worker, "record: refused", |state| {
                state.intent = false;
                state.finish(worker, At::Stopped);
            }),
            Answer::Unknown if self.has(Bug::UnknownIsRefused) => {
                self.record(moves, worker, "record: refused, a guess", |state| {
                    state.intent = false;
                    state.finish(worker, At::Stopped);
                });
            }
            Answer::Unknown => moves.add("read: nobody can tell; look, and send again", |state| {
                state.workers[worker].doubts = true;
                state.go(worker, At::Check);
            }),
        }
    }

    /// Adds one read of the proof that the object is gone.
    fn prove(&self, moves: &mut Moves<'_, State>, worker: usize, at: At) {
        let state = moves.from;
        let (holds, next) = match at {
            At::ReadCanary => (self.proof != Proof::CanaryAround || state.sight != Sight::Blind, At::Read),
            At::Read if self.proof == Proof::NotFound => (state.read() == Object::Gone, At::Forget),
            At::Read => (state.read() == Object::Gone, At::List),
            At::List if self.proof == Proof::NotListed => (!state.is_listed(), At::Forget),
            At::List => (!state.is_listed(), At::ReadCanaryAgain),
            _ => (state.sight != Sight::Blind, At::Forget),
        };
        if holds {
            moves.add("a proof that it is gone", |state| state.go(worker, next));
        } else if state.workers[worker].intends {
            moves.add("no proof that it is gone: look again", |state| state.go(worker, At::Check));
        } else {
            moves.add("no proof that it is gone: stop", |state| state.finish(worker, At::Stopped));
        }
    }
}
