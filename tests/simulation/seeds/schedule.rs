//! `Schedule`: one simulation as data: what is applied when, and what goes wrong. It follows from a
//! seed; a failing one is printed, and shrunk by leaving parts of it out.

use std::time::Duration;

use super::super::machine::SimRandom;

/// What is assumed of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Requests have their effect within D, and lists show it within L: no duplicate at all.
    Within,
    /// They need not: a duplicate is reported.
    Beyond,
}

/// Where the ledger is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a journal that one process locks.
    Disk,
    /// On a shelf that many share.
    Shelf,
}

/// One run of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Who runs it: each does one after the other.
    pub actor: usize,
    /// Seconds before it begins.
    pub after: u64,
    /// Which of the stacks.
    pub stack: usize,
    pub destroy: bool,
    /// Takes the lease from whoever has it.
    pub force: bool,
}

/// How an answer to a change goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    NotSent,
    LostBefore,
    LostAfter,
    /// Thought lost, and has its effect so many milliseconds after it left.
    Late(u64),
    /// Answered after so many milliseconds.
    Slow(u64),
    /// A complete refusal.
    Refused(u16),
    /// Refused so often by the limiter; whether it says when to come back.
    Limited(u8, bool),
    /// A complete 5xx; whether the request has its effect all the same.
    Envelope(u16, bool),
    /// A proxy's page; the request has its effect at once, after so many milliseconds, or never.
    Page(u16, Option<u64>),
    Truncated,
    Malformed,
    /// 200 and `success: false`; whether it is true.
    SaysFailed(bool),
    /// The answer describes another object of the kind.
    Another,
    /// The answer has another object's id.
    AnothersId,
    /// A deletion is accepted, and done after so many milliseconds.
    DoneLater(u64),
}

/// How a read goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    Lost,
    Slow(u64),
    Limited(u8, bool),
    Status(u16),
    Page(u16),
    Truncated,
    SaysFailed,
}

/// How an append goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// Nothing is durable: the disk is full, or the line was torn.
    Before,
    /// All is durable, and an error is told: the sync failed late.
    After,
    /// From now on nothing can be written.
    ReadOnly,
}

/// What happens to a process at one of its points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    Kill,
    /// The machine sleeps for so many milliseconds.
    Suspend(u64),
    /// Its wall clock is set forwards or backwards by so many seconds.
    Clock(i64),
}

/// What people do in the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    Edit,
    Delete,
    Rename,
    /// Makes an object that has nothing to do with the stack.
    Stranger,
}

/// One thing that goes wrong. Numbers count from the beginning of the simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    Change(usize, Network),
    Read(usize, Reading),
    Append(usize, Writing),
    /// At a point of a process.
    Point(usize, usize, Blow),
    /// An operation of the shelf has its effect or not, and its answer is lost.
    Shelf(usize, bool),
    /// From an operation on, the shelf is down for so many seconds.
    Down(usize, u64),
    /// Someone makes the same object, so many milliseconds after a change leaves (0: before it
    /// arrives).
    Twin(usize, u64),
    /// The object of a creation ends in this status, for so many seconds.
    Status(usize, &'static str, u64),
    /// So many seconds from the beginning someone does something; to which object, a number says.
    Deed(u64, Deed, u64),
}

/// A whole simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    pub seed: u64,
    pub class: Class,
    pub place: Place,
    pub strict: bool,
    /// Resources of the first stack.
    pub size: usize,
    /// Milliseconds after which a list shows a new object.
    pub lag: u64,
    /// Rows of a page, where the service clamps it.
    pub page: Option<usize>,
    /// The holder of a lease can be proven dead.
    pub provable: bool,
    pub orders: Vec<Order>,
    pub faults: Vec<Fault>,
}

/// Stacks of a simulation: the first one and its edits.
pub const STACKS: usize = 3;

impl Schedule {
    /// Returns the schedule of a seed.
    pub fn of(seed: u64) -> Self {
        let chance = SimRandom::new(seed ^ 0x5EED);
        let class = if chance.once_in(5) { Class::Beyond } else { Class::Within };
        let place = if chance.once_in(3) { Place::Shelf } else { Place::Disk };
        let longest_lag = if class == Class::Beyond { 40_000 } else { 9_500 };
        let mut schedule = Self {
            seed,
            class,
            place,
            strict: chance.once_in(6),
            size: 3 + chance.below(6) as usize,
            lag: if chance.once_in(3) { chance.below(longest_lag) } else { 0 },
            page: chance.once_in(8).then(|| *chance.pick(&[1, 2, 3, 11])),
            provable: !chance.once_in(3),
            orders: orders(&chance, place),
            faults: Vec::new(),
        };
        let count = 1 + chance.below(6) + if chance.once_in(6) { chance.below(12) } else { 0 };
        schedule.faults = (0..count).map(|_| schedule.fault(&chance)).collect();
        schedule
    }

    fn fault(&self, chance: &SimRandom) -> Fault {
        let change = chance.below(3 + 4 * self.size as u64) as usize;
        let process = chance.below(self.orders.len() as u64 + 2) as usize;
        match chance.below(20) {
            0..=4 => Fault::Point(process, few_or_many(chance, 160), Blow::Kill),
            5..=9 => Fault::Change(change, self.network(chance)),
            10 => Fault::Change(change, Network::Limited(1 + chance.below(10) as u8, chance.once_in(2))),
            11 => Fault::Read(few_or_many(chance, 120), reading(chance)),
            12 if self.place == Place::Disk => {
                let how = *chance.pick(&[Writing::Before, Writing::After, Writing::ReadOnly]);
                Fault::Append(few_or_many(chance, 40), how)
            }
            12 => Fault::Shelf(few_or_many(chance, 60), chance.once_in(2)),
            13 if self.place == Place::Shelf => Fault::Down(few_or_many(chance, 60), 5 + chance.below(400)),
            13 | 14 => Fault::Point(process, few_or_many(chance, 160), self.blow(chance)),
            15 => Fault::Twin(change, if chance.once_in(2) { 0 } else { chance.below(90_000) }),
            16 => {
                let status = *chance.pick(&["failed", "moving", "creating", "error"]);
                Fault::Status(change, status, chance.below(600))
            }
            _ => {
                let deeds = [Deed::Edit, Deed::Edit, Deed::Delete, Deed::Rename, Deed::Stranger];
                Fault::Deed(chance.below(400), *chance.pick(&deeds), chance.number())
            }
        }
    }

    fn blow(&self, chance: &SimRandom) -> Blow {
        let hours = 3_600 * (1 + chance.below(30).cast_signed());
        match (chance.below(4), self.class) {
            (0, _) => Blow::Clock(hours),
            (1, _) => Blow::Clock(-hours),
            (2, _) => Blow::Suspend(1_000 * chance.below(60)),
            _ => Blow::Suspend(1_000 * chance.below(1_500)),
        }
    }

    /// A request has its effect within D of leaving, or, beyond the bounds, much later.
    fn late(&self, chance: &SimRandom) -> u64 {
        match self.class {
            Class::Within => chance.below(59_000),
            Class::Beyond => chance.below(600_000),
        }
    }

    fn network(&self, chance: &SimRandom) -> Network {
        match chance.below(16) {
            0 => Network::NotSent,
            1 | 2 => Network::LostBefore,
            3 | 4 => Network::LostAfter,
            5 | 6 => Network::Late(self.late(chance)),
            7 => Network::Slow(chance.below(55_000)),
            8 => Network::Refused(*chance.pick(&[401, 402, 403, 409, 412, 400, 422])),
            9 => Network::Envelope(*chance.pick(&[500, 503]), chance.once_in(2)),
            10 => {
                let effect = [None, Some(0), Some(self.late(chance))];
                Network::Page(*chance.pick(&[502, 504, 408, 302, 200]), *chance.pick(&effect))
            }
            11 => Network::Truncated,
            12 => Network::Malformed,
            13 => Network::SaysFailed(chance.once_in(2)),
            14 => *chance.pick(&[Network::Another, Network::AnothersId]),
            _ => Network::DoneLater(chance.below(100_000)),
        }
    }

    /// Returns the schedule without one of its parts; `None` when there is no such part.
    pub fn without(&self, part: usize) -> Option<Self> {
        let mut less = self.clone();
        if part < self.faults.len() {
            less.faults.remove(part);
            return Some(less);
        }
        let part = part - self.faults.len();
        if part < self.orders.len() {
            less.orders.remove(part);
            return (!less.orders.is_empty()).then_some(less);
        }
        match part - self.orders.len() {
            0 if self.size > 1 => less.size -= 1,
            0 | 1 => less.lag = 0,
            2 => less.page = None,
            3 => less.strict = false,
            _ => return None,
        }
        Some(less)
    }
}

fn few_or_many(chance: &SimRandom, most: u64) -> usize {
    let most = if chance.once_in(2) { most / 4 } else { most };
    chance.below(most) as usize
}

fn reading(chance: &SimRandom) -> Reading {
    match chance.below(7) {
        0 => Reading::Lost,
        1 => Reading::Slow(chance.below(29_000)),
        2 => Reading::Limited(1 + chance.below(12) as u8, chance.once_in(2)),
        3 => Reading::Status(*chance.pick(&[401, 403, 500, 503])),
        4 => Reading::Page(*chance.pick(&[404, 502, 504])),
        5 => Reading::Truncated,
        _ => Reading::SaysFailed,
    }
}

/// Two to four runs, with edits between them; on a shelf the second of two may come in between.
fn orders(chance: &SimRandom, place: Place) -> Vec<Order> {
    let actors = if place == Place::Shelf { 2 } else { 1 };
    let count = 1 + chance.below(3);
    let mut stack = 0;
    let mut orders: Vec<Order> = (0..count)
        .map(|number| {
            if number > 0 && chance.once_in(2) {
                stack = (stack + 1).min(STACKS - 1);
            }
            Order {
                actor: 0,
                after: chance.below(10),
                stack,
                destroy: number > 0 && chance.once_in(6),
                force: false,
            }
        })
        .collect();
    if actors == 2 {
        let force = chance.once_in(3);
        for _ in 0..=chance.below(2) {
            let after = chance.below(if chance.once_in(2) { 60 } else { 900 });
            orders.push(Order { actor: 1, after, stack, destroy: false, force });
        }
    }
    orders
}

/// Returns milliseconds as a time.
pub fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
