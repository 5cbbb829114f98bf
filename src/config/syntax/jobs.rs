//! Independent work on many items. In: items, a function, and a `JobRunner`, which decides whether jobs run at the same time.
//! Out: the results in the order of the items, the same with every runner.

use std::fmt;
use std::sync::{Mutex, PoisonError};

/// A piece of work that depends on no other.
pub type Job<'j> = Box<dyn FnOnce() + Send + 'j>;

/// Runs jobs. The program has one with threads; without it they run one after the other.
pub trait JobRunner: fmt::Debug + Sync {
    /// Returns how many jobs run at the same time.
    fn workers(&self) -> usize;

    /// Runs jobs, in any order, and returns when all have ended.
    fn run(&self, jobs: Vec<Job<'_>>);
}

/// Runs one job after the other.
#[derive(Debug)]
pub struct InTurn;

impl JobRunner for InTurn {
    fn workers(&self) -> usize {
        1
    }

    fn run(&self, jobs: Vec<Job<'_>>) {
        for job in jobs {
            job();
        }
    }
}

impl Default for &'static dyn JobRunner {
    fn default() -> Self {
        &InTurn
    }
}

/// Returns the results of a function for all items, in their order.
pub(in crate::config) fn map_jobs<T: Sync, R: Send>(
    runner: &dyn JobRunner,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    if items.len() < 2 || runner.workers() < 2 {
        return items.iter().map(work).collect();
    }
    let slots: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let work = &work;
    let mut jobs: Vec<Job<'_>> = Vec::with_capacity(items.len());
    for (item, slot) in items.iter().zip(&slots) {
        jobs.push(Box::new(move || {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(work(item));
        }));
    }
    runner.run(jobs);
    let results = slots.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
    results.zip(items).map(|(result, item)| result.unwrap_or_else(|| work(item))).collect()
}
