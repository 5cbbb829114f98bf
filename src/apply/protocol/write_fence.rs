//! `WriteFence`: the conditions under which a mutating request may be sent: a durable intent, a ledger that can
//! be written, and a lease that outlasts the request.
//!
//! All of them are checked right before the socket is opened, after the rate limiter's wait, by a clock that
//! also counts while the machine is suspended: a holder that was paused sends nothing once it wakes.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::{Either, select};

use super::journal_writer::JournalWriter;
use super::sent_requests::SentRequests;
use crate::apply::context::ExecutionContext;
use crate::apply::event::StepError;
use crate::apply::step::{DurableIntent, StepContext};
use crate::cloud::error::MutationOutcome;
use crate::cloud::http::message::Transport;
use crate::cloud::write::mutation::MutationClient;
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::handle::Journal;
use crate::ledger::journal::store::Store;
use crate::model::clock::{Clock, Random};

/// The margin by which a lease must outlast a request: the clocks of two machines may run at different speeds.
const CLOCK_MARGIN: Duration = Duration::from_secs(5);

/// Whether requests may be sent, how many are under way, and which were sent.
#[derive(Debug, Default)]
pub(in crate::apply) struct WriteFence {
    /// Why no request is sent any more, although the ledger could still be written; `None` while requests may be sent.
    shut: RefCell<Option<StepError>>,
    /// The number of requests that were sent and have no response yet.
    out: Cell<usize>,
    /// The requests that were sent.
    pub(in crate::apply) sent: SentRequests,
}

impl WriteFence {
    /// Checks that requests may still be sent and records written.
    ///
    /// # Errors
    /// The reason why no request may be sent.
    pub(in crate::apply) fn check_may_send(&self, writer: &JournalWriter) -> Result<(), StepError> {
        writer.check_writable()?;
        self.shut.borrow().clone().map_or(Ok(()), Err)
    }

    /// Returns whether nothing is left to wait for: nothing can be recorded, and no request is under way.
    pub(in crate::apply) fn is_over(&self, writer: &JournalWriter) -> bool {
        writer.check_writable().is_err() && self.out.get() == 0
    }

    /// Records that the ledger's lease is lost.
    ///
    /// # Errors
    /// Always: the error of the lost lease.
    pub(in crate::apply) fn record_lost_lease(
        &self,
        writer: &JournalWriter,
        lost: &StoreError,
    ) -> Result<(), StepError> {
        writer.record_failure(lost);
        self.check_may_send(writer)
    }

    /// Sends a mutating request whose intent is durable. A request that has not left within the sending bound
    /// is abandoned: a later run can then compute from the intent's own time.
    ///
    /// # Errors
    /// When the ledger cannot be written; every other obstacle is an outcome.
    pub(in crate::apply) async fn send_mutation<C: Transport, K: Clock, R: Random, S: Store>(
        &self,
        context: &ExecutionContext<'_, C, K, R, S>,
        writer: &JournalWriter,
        job: &StepContext<'_>,
        armed: &DurableIntent,
        request: impl AsyncFnOnce(MutationClient<'_, C, K, R>) -> MutationOutcome,
    ) -> Result<MutationOutcome, StepError> {
        // A lease that is too short is checked in `gate` alone: a request that it rejects is recorded as not sent.
        writer.check_writable()?;
        let left = Cell::new(false);
        let gate = |whole: Duration| {
            self.may_leave(context, writer, armed, whole)?;
            if !left.replace(true) {
                self.out.set(self.out.get() + 1);
            }
            Ok(())
        };
        // Between a refusal by the rate limit and the next attempt no request is under way.
        let back = || {
            if left.replace(false) {
                self.out.set(self.out.get() - 1);
            }
        };
        let bound = context.bounds.sending;
        let seen = |sent| self.sent.record(job.address, sent);
        let request = pin!(request(context.client.changes(&gate).telling_back(&back).telling_sent(&seen)));
        let time = pin!(context.client.clock().sleep(bound));
        let ended = select(request, time).await;
        if left.get() {
            self.out.set(self.out.get() - 1);
        }
        if let Some(entrance) = job.entrance {
            entrance.release_slot();
        }
        Ok(match ended {
            Either::Left((mutation, _)) => mutation,
            Either::Right(((), _)) if left.get() => {
                let reason = format!("no answer within {} s", bound.as_secs());
                MutationOutcome::Unknown { reason, settled: false, answer: None }
            }
            Either::Right(((), _)) => MutationOutcome::NotSent(send_timeout_message(bound)),
        })
    }

    /// Checks the fence right before a request is sent that may take `whole`, retries not included.
    fn may_leave<C: Transport, K: Clock, R: Random, S: Store>(
        &self,
        context: &ExecutionContext<'_, C, K, R, S>,
        writer: &JournalWriter,
        armed: &DurableIntent,
        whole: Duration,
    ) -> Result<(), String> {
        self.check_may_send(writer).map_err(|error| error.to_string())?;
        let held = context.journal.held_for();
        if let Some(left) = held.filter(|left| *left < whole + CLOCK_MARGIN) {
            let text = format!(
                "the lease on the ledger lasts {} s more, and a request may take {} s: no more requests are sent",
                left.as_secs(),
                whole.as_secs()
            );
            *self.shut.borrow_mut() = Some(StepError::LeaseLost(text.clone()));
            return Err(text);
        }
        let bound = context.bounds.sending;
        if context.client.clock().elapsed().saturating_sub(armed.since) > bound {
            return Err(send_timeout_message(bound));
        }
        Ok(())
    }
}

/// Runs `work` while the ledger's lease is renewed. When the lease is lost, `work` is still polled, but the
/// fence rejects every request and record, so it ends by itself.
pub(in crate::apply) async fn run_under_lease<S: Store, T>(
    journal: &Journal<S>,
    writer: &JournalWriter,
    work: impl Future<Output = T>,
) -> T {
    let (mut work, mut keep) = (pin!(work), pin!(journal.keep_lease()));
    let mut lost = false;
    poll_fn(|context| {
        if !lost && let Poll::Ready(error) = keep.as_mut().poll(context) {
            lost = true;
            // `work` is still polled: it must see the failure and end by itself, so that facts reach the recovery file.
            writer.record_failure(&error);
        }
        work.as_mut().poll(context)
    })
    .await
}

fn send_timeout_message(bound: Duration) -> String {
    format!("the request waited for more than {} s and was not sent", bound.as_secs())
}
