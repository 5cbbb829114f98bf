//! `Scribe`: one writer for many steps. Records that wait at the same time become durable in one
//! append, in the order in which they came; after a failed append nothing is written any more.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::Poll;

use futures_util::lock::Mutex;

use super::event::StepError;
use crate::ledger::journal::Journal;
use crate::ledger::record::Record;
use crate::ledger::store::Store;

/// The queue in front of a journal.
#[derive(Debug, Default)]
pub(super) struct Scribe {
    queue: RefCell<Vec<Record>>,
    queued: Cell<u64>,
    written: Cell<u64>,
    failure: RefCell<Option<String>>,
    turn: Mutex<()>,
}

impl Scribe {
    /// Makes records durable and part of the ledger. What comes first in one call stays first.
    ///
    /// # Errors
    /// When the journal cannot be written, now or before: nothing may be sent any more.
    pub(super) async fn commit<S: Store>(
        &self,
        journal: &Journal<S>,
        records: impl IntoIterator<Item = Record>,
    ) -> Result<(), StepError> {
        self.standing()?;
        self.queue.borrow_mut().extend(records);
        let ticket = self.queued.get() + 1;
        self.queued.set(ticket);
        let_others_queue().await;
        let _turn = self.turn.lock().await;
        if self.written.get() >= ticket {
            return Ok(());
        }
        self.standing()?;
        let (batch, upto) = (self.queue.take(), self.queued.get());
        match journal.commit(&batch).await {
            Ok(()) => {
                self.written.set(upto);
                Ok(())
            }
            Err(error) => {
                let text = with_sources(&error);
                *self.failure.borrow_mut() = Some(text.clone());
                Err(StepError::Ledger(text))
            }
        }
    }

    /// Tells whether records still become durable. Asked before every request that changes something.
    ///
    /// # Errors
    /// The first failure.
    pub(super) fn standing(&self) -> Result<(), StepError> {
        match &*self.failure.borrow() {
            Some(text) => Err(StepError::Ledger(text.clone())),
            None => Ok(()),
        }
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

/// Steps aside once, so that other steps that are about to write do so first.
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
