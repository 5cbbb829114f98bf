//! `WriteFence`: what lets a request out that changes something: a durable intent, a ledger that is written,
//! and a lease that outlasts the request.
//!
//! All of it is asked right before the socket is opened, after the limiter's wait, by a clock that also
//! counts while the machine sleeps: a holder that was paused sends nothing once it wakes.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::{Either, select};

use super::journal_writer::JournalWriter;
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

/// A lease must outlast a request by so much: what the two machines' clocks may differ in pace.
const CLOCK_MARGIN: Duration = Duration::from_secs(5);

/// Whether requests may leave, and how many are out.
#[derive(Debug, Default)]
pub(in crate::apply) struct WriteFence {
    /// Why nothing leaves any more, although the ledger could still be written.
    shut: RefCell<Option<StepError>>,
    /// Requests that left and were not answered.
    out: Cell<usize>,
}

impl WriteFence {
    /// Tells whether anything may still be sent and recorded.
    ///
    /// # Errors
    /// Why not.
    pub(in crate::apply) fn check_may_send(&self, scribe: &JournalWriter) -> Result<(), StepError> {
        scribe.check_writable()?;
        self.shut.borrow().clone().map_or(Ok(()), Err)
    }

    /// Tells whether nothing is left to wait for: nothing can be recorded, and nothing is out.
    pub(in crate::apply) fn is_over(&self, scribe: &JournalWriter) -> bool {
        scribe.check_writable().is_err() && self.out.get() == 0
    }

    /// Remembers that the ledger's place is lost.
    ///
    /// # Errors
    /// Always: the loss.
    pub(in crate::apply) fn cut_off(
        &self,
        scribe: &JournalWriter,
        lost: &StoreError,
    ) -> Result<(), StepError> {
        scribe.record_failure(lost);
        self.check_may_send(scribe)
    }

    /// Sends a request that changes something, its intent being durable. What has not left within
    /// the bound of sending is abandoned: then a later run can reckon with the intent's own time.
    pub(in crate::apply) async fn send_mutation<C: Transport, K: Clock, R: Random, S: Store>(
        &self,
        context: &ExecutionContext<'_, C, K, R, S>,
        scribe: &JournalWriter,
        job: &StepContext<'_>,
        armed: &DurableIntent,
        request: impl AsyncFnOnce(MutationClient<'_, C, K, R>) -> MutationOutcome,
    ) -> Result<MutationOutcome, StepError> {
        // A lease that ran short is the gate's business: what it holds back is recorded as not sent.
        scribe.check_writable()?;
        let left = Cell::new(false);
        let gate = |whole: Duration| {
            self.may_leave(context, scribe, armed, whole)?;
            if !left.replace(true) {
                self.out.set(self.out.get() + 1);
            }
            Ok(())
        };
        // Between the limiter's refusal and the next try nothing is under way.
        let back = || {
            if left.replace(false) {
                self.out.set(self.out.get() - 1);
            }
        };
        let bound = context.bounds.sending;
        let request = pin!(request(context.client.changes(&gate).telling_back(&back)));
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

    /// The gate: asked right before a request leaves that may take `whole`.
    fn may_leave<C: Transport, K: Clock, R: Random, S: Store>(
        &self,
        context: &ExecutionContext<'_, C, K, R, S>,
        scribe: &JournalWriter,
        armed: &DurableIntent,
        whole: Duration,
    ) -> Result<(), String> {
        self.check_may_send(scribe).map_err(|error| error.to_string())?;
        let held = context.journal.held_for();
        if let Some(left) = held.filter(|left| *left < whole + CLOCK_MARGIN) {
            let text = format!(
                "the ledger is ours for {} s more, and a request may take {} s: nothing more is sent",
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

/// Does the work of a run while the ledger's place is kept. When that is lost, the work comes to its
/// end by itself: nothing more is sent or recorded.
pub(in crate::apply) async fn run_under_lease<S: Store, T>(
    journal: &Journal<S>,
    scribe: &JournalWriter,
    work: impl Future<Output = T>,
) -> T {
    let (mut work, mut keep) = (pin!(work), pin!(journal.keep_lease()));
    let mut lost = false;
    poll_fn(|context| {
        if !lost && let Poll::Ready(error) = keep.as_mut().poll(context) {
            lost = true;
            scribe.record_failure(&error);
        }
        work.as_mut().poll(context)
    })
    .await
}

fn send_timeout_message(bound: Duration) -> String {
    format!("the request waited for more than {} s and was not sent", bound.as_secs())
}
