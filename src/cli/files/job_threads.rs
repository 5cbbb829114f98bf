//! Runs independent jobs in threads, one for each processor.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::config::syntax::jobs::{Job, JobRunner};

/// Stack of a thread in bytes: as much as the main thread has, since the recursion of parsers is limited for that.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// Runs jobs in threads. The caller's thread works, too, and does all of it where no other can be started.
#[derive(Debug)]
pub(in crate::cli) struct JobThreads;

impl JobRunner for JobThreads {
    fn workers(&self) -> usize {
        thread::available_parallelism().map_or(1, NonZero::get)
    }

    fn run(&self, jobs: Vec<Job<'_>>) {
        let helpers = self.workers().min(jobs.len()).saturating_sub(1);
        let waiting = Mutex::new(jobs.into_iter());
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            while let Some(job) = next() {
                job();
            }
        };
        thread::scope(|scope| {
            for _ in 0..helpers {
                // Without this one, the others do its part.
                let _ = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
            }
            work();
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn each_job_runs_once() {
        for count in [0, 1, 2, 1_000] {
            let ran = AtomicUsize::new(0);
            let job = |_| -> Job<'_> { Box::new(|| _ = ran.fetch_add(1, Ordering::Relaxed)) };
            JobThreads.run((0..count).map(job).collect());
            assert_eq!(ran.into_inner(), count);
        }
    }
}
