//! Several processes in one thread: each is polled when something woke it, unless its machine sleeps;
//! when none can go on, time does.

use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use super::process::{End, Job, Process, program};
use super::universe::Universe;

/// A simulation that lasts longer hangs.
const LONGEST: Duration = Duration::from_hours(24 * 30);

struct Awake(AtomicBool);

impl Wake for Awake {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

type Life = Pin<Box<dyn Future<Output = End>>>;

struct Running {
    process: Rc<Process>,
    life: Life,
    awake: Arc<Awake>,
    waker: Waker,
}

/// Someone who runs the program, one time after the other.
struct Actor {
    jobs: VecDeque<Job>,
    running: Option<Running>,
}

impl Actor {
    fn start(&mut self, universe: &Rc<Universe>) {
        if self.running.is_some() {
            return;
        }
        let Some(job) = self.jobs.pop_front() else { return };
        let process = Process::new(universe);
        let awake = Arc::new(Awake(AtomicBool::new(true)));
        self.running = Some(Running {
            life: Box::pin(program(Rc::clone(universe), Rc::clone(&process), job)),
            waker: Waker::from(Arc::clone(&awake)),
            process,
            awake,
        });
    }

    /// Goes on as far as it can; tells how its process ended, if it did.
    fn go_on(&mut self, now: Duration) -> Option<(Rc<Process>, End)> {
        let running = self.running.as_mut()?;
        match running.process.paused_until.get() {
            Some(until) if until > now => return None,
            Some(_) => {
                running.process.paused_until.set(None);
                running.process.sleepers.take().into_iter().for_each(Waker::wake);
            }
            None => {}
        }
        while running.awake.0.swap(false, Ordering::Relaxed) {
            let poll = running.life.as_mut().poll(&mut Context::from_waker(&running.waker));
            let end = match poll {
                Poll::Ready(end) => end,
                Poll::Pending if running.process.killed.get() => End::Killed,
                Poll::Pending if running.process.paused_until.get().is_some() => return None,
                Poll::Pending => continue,
            };
            return self.running.take().map(|running| (running.process, end));
        }
        None
    }

    /// Returns until when its machine sleeps.
    fn wakes(&self) -> Option<Duration> {
        self.running.as_ref()?.process.paused_until.get()
    }
}

/// Runs jobs, those of each actor one after the other. Returns the last end.
pub fn play(universe: &Rc<Universe>, jobs: Vec<Vec<Job>>) -> Option<End> {
    let mut actors: Vec<Actor> =
        jobs.into_iter().map(|jobs| Actor { jobs: jobs.into(), running: None }).collect();
    let mut last = None;
    loop {
        universe.catch_up();
        let mut ended = false;
        for actor in &mut actors {
            actor.start(universe);
            if let Some((process, end)) = actor.go_on(universe.now()) {
                universe.buried(&process, &end);
                (last, ended) = (Some(end), true);
            }
        }
        if ended {
            continue;
        }
        if actors.iter().all(|actor| actor.running.is_none() && actor.jobs.is_empty()) {
            return last;
        }
        let next = actors.iter().filter_map(Actor::wakes);
        let next = next.chain(universe.machine.first()).chain(universe.next_event()).min();
        match next {
            Some(next) if next < LONGEST && universe.oracle.borrow().broken.len() < 5 => {
                universe.machine.advance_to(next);
            }
            _ => {
                universe.broken(format!("liveness: it hangs at {:?}", universe.now()));
                return last;
            }
        }
    }
}

impl Universe {
    /// A process ended: everything is looked at.
    fn buried(&self, process: &Process, end: &End) {
        self.oracle.borrow_mut().dead.insert(process.number);
        let text = || match end {
            End::Killed => "is dead".to_owned(),
            End::Unopened(error) => format!("cannot open: {error}"),
            End::Failed(error) => format!("gives up: {error}"),
            End::Blocked(blocks) => format!("is blocked: {blocks:?}"),
            End::Done(report) => format!("ends: {:?}", report.outcome),
        };
        self.note(|| format!("p{} {}", process.number, text()), 33);
        match end {
            // A ledger that failed could not be asked for what to report.
            End::Done(report) if report.closed && !report.outcome.interrupted => {
                let lost = report
                    .outcome
                    .failed
                    .iter()
                    .any(|(_, error)| matches!(error, stead::apply::event::StepError::Ledger(_)));
                self.look((!lost).then_some((&report.outcome, report.began)));
            }
            _ => self.look(None),
        }
    }
}
