//! `JournalWriter`: the one writer of the ledger for all steps (group commit). Records that wait at the same
//! time become durable in one append, in order of arrival. After a failed append nothing is written any more.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::Poll;

use futures_util::lock::Mutex;

use crate::apply::event::StepError;
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::handle::Journal;
use crate::ledger::journal::record::Record;
use crate::ledger::journal::store::Store;

/// The queue of records before the journal. `queued` and `written` count calls of `commit`, not records.
#[derive(Debug, Default)]
pub(in crate::apply) struct JournalWriter {
    queue: RefCell<Vec<Record>>,
    queued: Cell<u64>,
    written: Cell<u64>,
    failure: RefCell<Option<StepError>>,
    turn: Mutex<()>,
}

impl JournalWriter {
    /// Makes records durable and part of the ledger; on return they are. Records of one call keep their order.
    /// Facts that the journal does not take are passed to `rescue`.
    ///
    /// # Errors
    /// When the journal cannot be written, now or before: nothing may be sent any more.
    pub(in crate::apply) async fn commit<S: Store>(
        &self,
        journal: &Journal<S>,
        records: impl IntoIterator<Item = Record>,
        rescue: &dyn Fn(&[Record]),
    ) -> Result<(), StepError> {
        if let Err(error) = self.check_writable() {
            save_unrecorded_facts(&records.into_iter().collect::<Vec<_>>(), rescue);
            return Err(error);
        }
        self.queue.borrow_mut().extend(records);
        let ticket = self.queued.get() + 1;
        self.queued.set(ticket);
        let_others_queue().await;
        let _turn = self.turn.lock().await;
        // The append of another step has taken these records along.
        if self.written.get() >= ticket {
            return Ok(());
        }
        if let Err(error) = self.check_writable() {
            // The writer that failed took the whole queue; records queued after that are saved here.
            save_unrecorded_facts(&self.queue.take(), rescue);
            return Err(error);
        }
        let (batch, upto) = (self.queue.take(), self.queued.get());
        match journal.commit(&batch).await {
            Ok(()) => {
                self.written.set(upto);
                Ok(())
            }
            Err(error) => {
                save_unrecorded_facts(&batch, rescue);
                self.record_failure(&error);
                self.check_writable()
            }
        }
    }

    /// Records the reason why nothing is written any more; the first one counts, as later errors follow from it.
    pub(in crate::apply) fn record_failure(&self, error: &StoreError) {
        let text = with_sources(error);
        let failure = match error {
            StoreError::Displaced { .. } => StepError::LeaseLost(text),
            _ => StepError::Ledger(text),
        };
        self.failure.borrow_mut().get_or_insert(failure);
    }

    /// Checks that records can still be made durable. Called before every mutating request.
    ///
    /// # Errors
    /// The first failure of a write.
    pub(in crate::apply) fn check_writable(&self) -> Result<(), StepError> {
        match &*self.failure.borrow() {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }
}

/// Passes the facts that no later list can show again to `rescue`. An intent whose record failed was never
/// sent, so it is left out.
fn save_unrecorded_facts(records: &[Record], rescue: &dyn Fn(&[Record])) {
    let is_fact = |record: &&Record| {
        matches!(
            record,
            Record::Bound { .. }
                | Record::Closed { .. }
                | Record::Merged { .. }
                | Record::Gone { .. }
                | Record::SecretKept { .. }
        )
    };
    let facts: Vec<Record> = records.iter().filter(is_fact).cloned().collect();
    if !facts.is_empty() {
        rescue(&facts);
    }
}

fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// Yields once, so that other steps that are about to write queue their records first.
async fn let_others_queue() {
    let mut stepped_aside = false;
    poll_fn(|context| {
        if stepped_aside {
            return Poll::Ready(());
        }
        stepped_aside = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
