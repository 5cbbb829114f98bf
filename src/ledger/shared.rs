//! `SharedStore`: a ledger on a shelf that many machines use: one lease, numbered lines, and a line of
//! the taker's before anything else that it writes.
//!
//! Taking: the lease is written under the condition that it still is the one that was read; then the
//! taker writes `Took` at the next number. From then on a displaced holder can write nothing: the
//! number that it counts on is taken. That the place enforces both conditions is proven every time,
//! before anything is planned.

use std::cell::RefCell;
use std::time::Duration;

use jiff::Timestamp;

use super::entry::{Identity, Ledger};
use super::lease::{Held, Holder, LASTS, Lease, Process, RENEWED_EVERY, Standing, standing};
use super::line::{self, Head};
use super::record::Record;
use super::replay::{check_owner, here, load_ledger, same_owner};
use super::shelf::{Mark, Shelf, ShelfError, Stored};
use super::store::{Store, StoreError};
use super::summary;
use crate::model::clock::Clock;

/// Summaries that are kept, with their lines.
const KEPT: usize = 10;

/// How often a write is tried that someone else's write came before.
const TRIES: usize = 20;

/// What opening a shared ledger for writing needs to know.
pub struct Opening<'a> {
    /// Whose ledger it is, if it is not there yet; else stack and environment must agree.
    pub identity: &'a Identity,
    /// Who opens it.
    pub holder: Holder,
    /// The bound within which a request of a displaced holder has its effect.
    pub effect: Duration,
    /// Says of a process that it is proven dead.
    pub is_dead: &'a dyn Fn(&Process) -> bool,
    /// Takes the lease from whoever has it, for this reason.
    pub force: Option<&'a str>,
}

/// A shared ledger, its lease held until it is released or lost.
pub struct SharedStore<H, K> {
    shelf: H,
    clock: K,
    holder: Holder,
    state: RefCell<State>,
}

struct State {
    epoch: u64,
    mark: Mark,
    /// The clock's elapsed time before the last renewal was sent.
    renewed: Duration,
    /// The number of the last line.
    number: u64,
    head: Head,
    poisoned: bool,
    /// What opening read, for the first load.
    records: Option<Vec<Record>>,
}

/// What a shelf holds.
struct Content {
    records: Vec<Record>,
    number: u64,
    head: Head,
}

impl<H: Shelf, K: Clock> SharedStore<H, K> {
    /// Opens a ledger for writing: takes its lease, proves that the place keeps its word, fences off
    /// whoever wrote before, and begins it if it is not there yet.
    ///
    /// # Errors
    /// When someone else has the lease, the place lets two write, cannot be reached, is damaged, or
    /// holds another stack's ledger.
    pub async fn open(shelf: H, clock: K, opening: &Opening<'_>) -> Result<Self, StoreError> {
        let found = shelf.lease().await.map_err(|error| failed(&shelf, "read", error))?;
        takeable(found.as_ref(), opening)?;
        let renewed = clock.elapsed();
        let lease = Lease {
            epoch: found.as_ref().map_or(0, |found| found.lease.epoch) + 1,
            holder: Some(opening.holder.clone()),
            lasts_seconds: LASTS.as_secs(),
        };
        let mark = match shelf.put_lease(&lease, found.as_ref().map(|found| &found.mark)).await {
            Ok(mark) => mark,
            Err(ShelfError::Conflict) => return Err(outrun(&shelf).await),
            Err(error) => return Err(failed(&shelf, "lock", error)),
        };
        let store = Self {
            holder: opening.holder.clone(),
            state: RefCell::new(State {
                epoch: lease.epoch,
                mark,
                renewed,
                number: 0,
                head: line::first_head(),
                poisoned: false,
                records: None,
            }),
            shelf,
            clock,
        };
        // Whatever goes wrong from here on: the lease is given back, as nothing was sent under it.
        match store.begin(&lease, found.as_ref(), opening).await {
            Ok(()) => Ok(store),
            Err(error) => {
                // The first error is the one to tell.
                let _ = store.give_back().await;
                Err(error)
            }
        }
    }

    async fn begin(
        &self,
        lease: &Lease,
        before: Option<&Stored>,
        opening: &Opening<'_>,
    ) -> Result<(), StoreError> {
        self.probe_lease(lease, before.map(|before| &before.mark)).await?;
        let took = |ledger: Option<&Ledger>| Record::Took {
            epoch: lease.epoch,
            holder: opening.holder.clone(),
            proven: ledger.is_none_or(|ledger| is_silent(ledger, before, opening)),
            reason: opening.force.map(str::to_owned),
        };
        for _ in 0..TRIES {
            let content = read_content(&self.shelf).await?;
            check_owner(&content.records, opening.identity)?;
            let mut records = Vec::new();
            if content.records.is_empty() {
                records.extend([opening.identity.birth(), took(None)]);
            } else {
                let ledger = load_ledger(content.records.iter().cloned())?;
                if ledger.epoch >= lease.epoch {
                    // Someone took the lease, and wrote, before this taker's first line.
                    return Err(outrun(&self.shelf).await);
                }
                records.push(took(Some(&ledger)));
            }
            let (text, head) = write_line(&self.shelf, &records, &content.head)?;
            let number = content.number + 1;
            match self.put_line(number, &text).await {
                Ok(()) => {
                    let all = content.records.into_iter().chain(records).collect();
                    {
                        let mut state = self.state.borrow_mut();
                        (state.number, state.head, state.records) = (number, head, Some(all));
                    }
                    return self.probe_line(number, &text).await;
                }
                // A displaced holder got a line in before: it is read, and the next number tried.
                Err(StoreError::Displaced { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(outrun(&self.shelf).await)
    }

    /// Proves that a lease is written only under its condition.
    async fn probe_lease(&self, lease: &Lease, before: Option<&Mark>) -> Result<(), StoreError> {
        let lax = |what| StoreError::Lax { place: self.shelf.place(), what };
        match self.shelf.put_lease(lease, None).await {
            Err(ShelfError::Conflict) => {}
            Ok(_) => return Err(lax("it made anew what was there already")),
            Err(error) => return Err(failed(&self.shelf, "probe", error)),
        }
        let Some(stale) = before else { return Ok(()) };
        match self.shelf.put_lease(lease, Some(stale)).await {
            Err(ShelfError::Conflict) => Ok(()),
            Ok(_) => Err(lax("it replaced what had changed since it was read")),
            Err(error) => Err(failed(&self.shelf, "probe", error)),
        }
    }

    /// Proves that a line is never written twice.
    async fn probe_line(&self, number: u64, text: &[u8]) -> Result<(), StoreError> {
        let epoch = self.state.borrow().epoch;
        match self.shelf.put_line(number, epoch, text).await {
            Err(ShelfError::Conflict) => Ok(()),
            Ok(()) => Err(StoreError::Lax {
                place: self.shelf.place(),
                what: "it wrote over a line that was there already",
            }),
            Err(error) => Err(failed(&self.shelf, "probe", error)),
        }
    }

    /// Reads a ledger without taking anything; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or is another stack's.
    pub async fn read(shelf: &H, stack: &str, environment: &str) -> Result<Option<Ledger>, StoreError> {
        let content = read_content(shelf).await?;
        if content.records.is_empty() {
            return Ok(None);
        }
        let ledger = load_ledger(content.records)?;
        same_owner(&ledger.identity.stack, &ledger.identity.environment, stack, environment)?;
        here(&ledger)?;
        Ok(Some(ledger))
    }

    /// Writes a line. A number that is taken is ours all the same if it holds this very line: the
    /// answer to an earlier try was lost.
    async fn put_line(&self, number: u64, text: &[u8]) -> Result<(), StoreError> {
        let epoch = self.state.borrow().epoch;
        match self.shelf.put_line(number, epoch, text).await {
            Ok(()) => Ok(()),
            Err(ShelfError::Conflict) => {
                let lines = self.shelf.lines(number - 1).await;
                let lines = lines.map_err(|error| failed(&self.shelf, "read", error))?;
                let ours = lines.first().is_some_and(|(at, found)| *at == number && found == text);
                if ours { Ok(()) } else { Err(self.displaced().await) }
            }
            Err(error) => Err(failed(&self.shelf, "write", error)),
        }
    }

    async fn displaced(&self) -> StoreError {
        let by = match self.shelf.lease().await {
            Ok(Some(Stored { lease: Lease { holder: Some(holder), .. }, .. })) => holder.in_words(),
            _ => "someone else".to_owned(),
        };
        StoreError::Displaced { by }
    }

    /// Writes the lease anew, if it still is ours.
    async fn renew(&self, holder: Option<&Holder>) -> Result<(), ShelfError> {
        let (epoch, mark) = {
            let state = self.state.borrow();
            (state.epoch, state.mark.clone())
        };
        let lease = Lease { epoch, holder: holder.cloned(), lasts_seconds: LASTS.as_secs() };
        let sent = self.clock.elapsed();
        let mark = self.shelf.put_lease(&lease, Some(&mark)).await?;
        let mut state = self.state.borrow_mut();
        (state.mark, state.renewed) = (mark, sent);
        Ok(())
    }

    async fn give_back(&self) -> Result<(), StoreError> {
        match self.renew(None).await {
            Ok(()) => Ok(()),
            Err(ShelfError::Conflict) => Err(self.displaced().await),
            Err(error) => Err(failed(&self.shelf, "unlock", error)),
        }
    }

    fn poison(&self) -> Result<(), StoreError> {
        if std::mem::replace(&mut self.state.borrow_mut().poisoned, true) {
            return Err(StoreError::Poisoned);
        }
        Ok(())
    }
}

impl<H: Shelf, K: Clock> Store for SharedStore<H, K> {
    async fn load(&self) -> Result<Vec<Record>, StoreError> {
        let read = self.state.borrow_mut().records.take();
        match read {
            Some(records) => Ok(records),
            None => Ok(read_content(&self.shelf).await?.records),
        }
    }

    async fn append(&self, records: &[Record]) -> Result<(), StoreError> {
        self.poison()?;
        let (number, head) = {
            let state = self.state.borrow();
            (state.number + 1, state.head)
        };
        let (text, head) = write_line(&self.shelf, records, &head)?;
        self.put_line(number, &text).await?;
        let mut state = self.state.borrow_mut();
        (state.number, state.head, state.records, state.poisoned) = (number, head, None, false);
        Ok(())
    }

    async fn condense(&self, ledger: &Ledger) -> Result<(), StoreError> {
        self.poison()?;
        let (number, head) = {
            let state = self.state.borrow();
            (state.number, state.head)
        };
        let bytes = summary::write(Vec::new(), ledger, &head);
        let bytes = bytes.map_err(|error| unwritable(&self.shelf, &error))?;
        let write = |error| failed(&self.shelf, "write", error);
        match self.shelf.put_summary(number, &bytes).await {
            // A summary of the same lines says the same.
            Ok(()) | Err(ShelfError::Conflict) => {}
            Err(error) => return Err(write(error)),
        }
        let summaries = self.shelf.summaries().await.map_err(write)?;
        if let Some(at) = summaries.len().checked_sub(KEPT) {
            self.shelf.prune(summaries[at]).await.map_err(write)?;
        }
        self.state.borrow_mut().poisoned = false;
        Ok(())
    }

    fn held_for(&self) -> Option<Duration> {
        let state = self.state.borrow();
        Some((state.renewed + LASTS).saturating_sub(self.clock.elapsed()))
    }

    async fn keep(&self) -> StoreError {
        // What is kept in turns is renewed in time all the same.
        let since = self.clock.elapsed().saturating_sub(self.state.borrow().renewed);
        let mut pause = RENEWED_EVERY.saturating_sub(since);
        loop {
            self.clock.sleep(pause).await;
            pause = RENEWED_EVERY;
            match self.renew(Some(&self.holder)).await {
                Ok(()) => {}
                Err(ShelfError::Conflict) => return self.displaced().await,
                Err(error) if self.held_for() == Some(Duration::ZERO) => {
                    return failed(&self.shelf, "lock", error);
                }
                // There is time for another try.
                Err(_) => {}
            }
        }
    }

    async fn release(&self) -> Result<(), StoreError> {
        let epoch = self.state.borrow().epoch;
        if !self.state.borrow().poisoned {
            self.append(&[Record::Released { epoch }]).await?;
        }
        self.give_back().await
    }
}

/// Says whether a lease may be taken.
fn takeable(found: Option<&Stored>, opening: &Opening<'_>) -> Result<(), StoreError> {
    let Some(Stored { lease, age, .. }) = found else { return Ok(()) };
    match standing(lease, *age, opening.effect, opening.is_dead) {
        Standing::Held(left) if opening.force.is_none() => {
            let holder = lease.holder.as_ref().map(Holder::in_words).unwrap_or_default();
            let left = left.as_secs();
            Err(StoreError::Locked { holder: format!("{holder}; at the latest it runs out in {left} s") })
        }
        _ => Ok(()),
    }
}

/// Tells whether the last one who wrote the ledger is known to send nothing any more: it said so, gave
/// its own lease back, or is proven dead. A lease that is free says nothing by itself: someone may have
/// taken it over, and given it back before the first line.
fn is_silent(ledger: &Ledger, before: Option<&Stored>, opening: &Opening<'_>) -> bool {
    let Some(holder) = &ledger.holder else { return true };
    let gave_back =
        before.is_some_and(|before| before.lease.holder.is_none() && before.lease.epoch == ledger.epoch);
    gave_back || holder.process.as_ref().is_some_and(opening.is_dead)
}

/// Returns who was quicker.
async fn outrun<H: Shelf>(shelf: &H) -> StoreError {
    let holder = match shelf.lease().await {
        Ok(Some(Stored { lease: Lease { holder: Some(holder), .. }, .. })) => holder.in_words(),
        _ => "someone who was quicker".to_owned(),
    };
    StoreError::Locked { holder }
}

/// Reads the newest summary and the lines after it. Someone may prune meanwhile: then once more.
async fn read_content<H: Shelf>(shelf: &H) -> Result<Content, StoreError> {
    let mut content = try_content(shelf).await;
    for _ in 0..3 {
        match content {
            Err(StoreError::Corrupt { .. }) => content = try_content(shelf).await,
            done => return done,
        }
    }
    content
}

async fn try_content<H: Shelf>(shelf: &H) -> Result<Content, StoreError> {
    let read = |error| failed(shelf, "read", error);
    let corrupt = |what: String, reason: &str| StoreError::Corrupt {
        place: format!("{}, {what}", shelf.place()),
        reason: reason.to_owned(),
    };
    let newest = shelf.summaries().await.map_err(read)?.last().copied();
    let mut content = Content { records: Vec::new(), number: 0, head: line::first_head() };
    if let Some(number) = newest {
        let bytes = shelf.summary(number).await.map_err(read)?.unwrap_or_default();
        let (ledger, head) =
            summary::parse(&bytes).map_err(|reason| corrupt(format!("summary {number}"), reason))?;
        content = Content { records: vec![Record::Condensed(Box::new(ledger))], number, head };
    }
    for (number, text) in shelf.lines(content.number).await.map_err(read)? {
        let at = || format!("line {number}");
        if number != content.number + 1 {
            return Err(corrupt(at(), "the line before it is missing"));
        }
        let lines = line::read(&text, content.head).map_err(|damage| corrupt(at(), damage.reason))?;
        if lines.whole != text.len() {
            return Err(corrupt(at(), "its end is missing"));
        }
        content.records.extend(lines.records);
        (content.number, content.head) = (number, lines.head);
    }
    Ok(content)
}

fn write_line<H: Shelf>(
    shelf: &H,
    records: &[Record],
    before: &Head,
) -> Result<(Vec<u8>, Head), StoreError> {
    line::write(records, before).map_err(|error| unwritable(shelf, &error))
}

fn unwritable<H: Shelf>(shelf: &H, error: &dyn std::error::Error) -> StoreError {
    StoreError::Shared { action: "write", place: shelf.place(), reason: error.to_string() }
}

fn failed<H: Shelf>(shelf: &H, action: &'static str, error: ShelfError) -> StoreError {
    StoreError::Shared { action, place: shelf.place(), reason: error.to_string() }
}

/// Tells who has a shelf's lease, without taking anything; `None` when nobody has.
///
/// # Errors
/// When the lease cannot be read.
pub async fn held<H: Shelf>(
    shelf: &H,
    effect: Duration,
    is_dead: &dyn Fn(&Process) -> bool,
) -> Result<Option<Held>, StoreError> {
    let stored = shelf.lease().await.map_err(|error| failed(shelf, "read", error))?;
    let Some(Stored { lease, age, .. }) = stored else { return Ok(None) };
    let standing = standing(&lease, age, effect, is_dead);
    Ok(lease.holder.map(|holder| Held { holder, standing, renewed: Some(age) }))
}

/// When the lease of a stored one was renewed last, for people: the store's age against our clock.
#[must_use]
pub fn renewed_at(stored: &Stored, now: Timestamp) -> Timestamp {
    now - jiff::SignedDuration::try_from(stored.age).unwrap_or_default()
}

#[cfg(test)]
#[path = "shared/tests.rs"]
mod tests;
