//! Schedules that once broke a promise, shrunk, each with a word. Seeds alone would not do: what one
//! makes changes whenever another fault is added.

use super::schedule::{Blow, Class, Fault, Network, Order, Place, Reading, Schedule, Writing};

/// What a schedule was about, and the schedule.
pub type Case = (&'static str, Schedule);

/// Returns all of them.
pub fn all() -> Vec<Case> {
    let mut all = within_the_bounds();
    all.extend(beyond_the_bounds());
    all.extend(lists_that_lag());
    all.extend(twins());
    all
}

fn disk(seed: u64, size: usize) -> Schedule {
    Schedule {
        seed,
        class: Class::Within,
        place: Place::Disk,
        strict: false,
        size,
        lag: 0,
        page: None,
        provable: true,
        orders: vec![order(0, 1)],
        faults: Vec::new(),
    }
}

fn shelf(seed: u64, size: usize) -> Schedule {
    Schedule { place: Place::Shelf, ..disk(seed, size) }
}

fn within_the_bounds() -> Vec<Case> {
    vec![
        (
            "an answer names another volume of ours, which was then owned twice",
            Schedule {
                orders: vec![order(0, 7), Order { destroy: true, ..order(0, 9) }, order(0, 2)],
                faults: vec![Fault::Change(13, Network::AnothersId)],
                ..disk(510, 5)
            },
        ),
        (
            "an answer was right in all but the id, which was that of a volume whose own answer was lost",
            Schedule {
                lag: 3_601,
                orders: vec![order(0, 4)],
                faults: vec![Fault::Change(3, Network::Truncated), Fault::Change(6, Network::AnothersId)],
                ..disk(374_334, 6)
            },
        ),
        (
            "a stranger's machine in a network of ours, which was to go after its replacement and could not",
            Schedule {
                orders: vec![Order { after: 4, ..order(0, 1) }, Order { after: 8, ..order(0, 2) }],
                faults: vec![Fault::Point(1, 15, Blow::Suspend(36_000)), Fault::Twin(3, 65_012)],
                ..disk(70_698, 6)
            },
        ),
        (
            "a taker slept between its lease and its first line, and wrote an older epoch than the last",
            Schedule {
                orders: vec![order(0, 5), Order { actor: 1, force: true, ..order(0, 28) }],
                faults: vec![Fault::Point(0, 3, Blow::Suspend(1_002_000))],
                ..shelf(648, 1)
            },
        ),
        (
            "a holder died, and whoever took over waited longer than a renewal",
            Schedule {
                provable: false,
                faults: vec![Fault::Point(0, 26, Blow::Clock(3_600)), Fault::Point(0, 31, Blow::Kill)],
                ..shelf(110, 5)
            },
        ),
    ]
}

fn beyond_the_bounds() -> Vec<Case> {
    vec![
        (
            "a stranger's twin was taken for ours, which came late and was nobody's",
            Schedule {
                class: Class::Beyond,
                faults: vec![Fault::Twin(4, 0), Fault::Change(4, Network::Late(588_807))],
                ..disk(2_338, 6)
            },
        ),
        (
            "a late effect was answered with while a newer request for the address was open",
            Schedule {
                class: Class::Beyond,
                orders: vec![order(0, 2)],
                faults: vec![
                    Fault::Append(7, Writing::ReadOnly),
                    Fault::Read(5, Reading::Slow(25_130)),
                    Fault::Change(1, Network::Late(99_559)),
                ],
                ..disk(9_639, 5)
            },
        ),
        (
            "a network came late, was called one too many, and lay where its replacement had to be",
            Schedule {
                class: Class::Beyond,
                orders: vec![
                    order(0, 8),
                    order(1, 8),
                    Order { actor: 1, ..order(1, 43) },
                    Order { actor: 1, ..order(1, 54) },
                ],
                faults: vec![Fault::Shelf(50, true), Fault::Change(7, Network::Late(447_674))],
                ..shelf(266_976, 6)
            },
        ),
        (
            "a volume too many was attached: the planner did not undo the links of old objects",
            Schedule {
                class: Class::Beyond,
                lag: 38_448,
                faults: vec![
                    Fault::Change(3, Network::Malformed),
                    Fault::Change(0, Network::LostBefore),
                    Fault::Change(5, Network::Late(537_027)),
                ],
                ..disk(4_879, 6)
            },
        ),
    ]
}

fn lists_that_lag() -> Vec<Case> {
    vec![
        (
            "an answer named the network that was to step down, which no list showed yet",
            Schedule {
                class: Class::Beyond,
                lag: 32_725,
                orders: vec![order(0, 1), order(1, 1), order(2, 8)],
                faults: vec![Fault::Change(11, Network::AnothersId)],
                ..disk(303_668, 4)
            },
        ),
        (
            "a list that lagged had pages and totals that did not",
            Schedule {
                class: Class::Beyond,
                strict: true,
                lag: 25_520,
                page: Some(11),
                faults: vec![Fault::Point(1, 12, Blow::Kill), Fault::Point(0, 30, Blow::Kill)],
                ..disk(425_102, 6)
            },
        ),
    ]
}

fn twins() -> Vec<Case> {
    let late = |sent, milliseconds| Fault::Change(sent, Network::Late(milliseconds));
    vec![
        (
            "a person's twin was taken for ours and let go of, and the late one of ours with it",
            Schedule {
                class: Class::Beyond,
                provable: false,
                orders: vec![order(0, 5), order(1, 4)],
                faults: vec![late(0, 253_863), Fault::Twin(0, 0)],
                ..disk(947_175, 8)
            },
        ),
        (
            "the same of a machine",
            Schedule {
                class: Class::Beyond,
                orders: vec![order(0, 4), order(1, 9)],
                faults: vec![late(7, 267_277), Fault::Twin(7, 0)],
                ..disk(836_243, 8)
            },
        ),
        (
            "a person made the database user again that we had deleted: its name is its id",
            Schedule {
                class: Class::Beyond,
                provable: false,
                orders: vec![order(0, 3), order(1, 6), Order { actor: 1, ..order(1, 223) }],
                faults: vec![Fault::Twin(2, 56_755)],
                ..shelf(995_747, 3)
            },
        ),
    ]
}

fn order(stack: usize, after: u64) -> Order {
    Order { actor: 0, after, stack, destroy: false, force: false }
}
