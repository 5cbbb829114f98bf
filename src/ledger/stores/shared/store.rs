//! `SharedStore`: a ledger on a backend that many machines use: one lease, numbered lines, and a line that the new
//! holder writes before anything else.
//!
//! Taking: the holder writes the lease under the condition that it is still the one that was read; then it writes
//! `Took` at the next number. From then on a displaced holder can write nothing: the number that it expects to be free
//! is taken. The store verifies every time, before any plan, that the backend enforces both conditions.

use std::cell::RefCell;
use std::time::Duration;

use tokio::sync::Mutex;

use super::backend::{BackendError, LeaseVersion, SharedBackend, StoredLease};
use super::contents::{SharedStoreContents, backend_error, encoding_error, write_checkpoint, write_line};
use super::guarantees::{check_no_overwrite, check_no_second_create, check_no_stale_write};
use super::lease::{LEASE_DURATION, LEASE_RENEWAL_INTERVAL, Lease};
use super::lease_access::{displaced_error, is_held_by, lost_race_error, take_lease};
use super::lease_rules::{check_takeable, is_silent};
use crate::ledger::journal::chain::{self, ChainHead};
use crate::ledger::journal::checkpoint;
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::mac::{self, MacKey, check_readable};
use crate::ledger::journal::record::Record;
use crate::ledger::journal::replay::apply_record;
use crate::ledger::journal::replay::{check_not_moved, check_owner, load_ledger, same_owner};
use crate::ledger::journal::store::Store;
use crate::ledger::journal::trail::HeadHistory;
use crate::ledger::state::holder::LeaseHolder;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::open_options::OpenOptions;
use crate::ledger::stores::shared::contents;
use crate::model::clock::Clock;

/// Maximum number of attempts for a write that another process's write preceded.
const MAX_WRITE_ATTEMPTS: usize = 20;

/// Number of lines after which opening writes a checkpoint: applies without changes write lines too.
const CHECKPOINT_AFTER_LINES: u64 = 64;

/// The delay before each further attempt of a line or a renewal without a response.
const RETRY_DELAYS: [Duration; 3] =
    [Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(10)];

/// The time in which no sequence of takeovers, writes and checkpoints can free the number that a holder expects. If a
/// write takes longer, the lease is checked after it.
const MIN_PRUNE_TIME: Duration = Duration::from_secs(5);

/// A shared ledger, with its lease held until it is released or lost.
pub struct SharedStore<H, K> {
    backend: H,
    clock: K,
    holder: LeaseHolder,
    /// Held by the write of the lease in progress: two concurrent writes of this process
    /// would count as another holder's.
    turn: Mutex<()>,
    state: RefCell<SharedStoreState>,
}

struct SharedStoreState {
    epoch: u64,
    mark: LeaseVersion,
    /// The clock's elapsed time before the last renewal was sent; `None` when the lease is lost.
    renewed: Option<Duration>,
    /// A time at which the last known line was the newest one.
    seen: Duration,
    /// The number of the last line.
    number: u64,
    head: ChainHead,
    trail: HeadHistory,
    seal: Option<MacKey>,
    poisoned: bool,
    /// The records that opening read, for the first load.
    records: Option<Vec<Record>>,
}

impl<H: SharedBackend, K: Clock> SharedStore<H, K> {
    /// Opens a ledger for writing: takes its lease, verifies the backend's guarantees, fences off earlier writers, and
    /// creates it if it does not exist yet.
    ///
    /// # Errors
    /// When someone else has the lease, the place lets two write, cannot be reached, is damaged,
    /// or holds another stack's ledger.
    pub async fn open(backend: H, clock: K, opening: &OpenOptions<'_>) -> Result<Self, StoreError> {
        let found = backend.lease().await.map_err(|error| backend_error(&backend, "read", &error))?;
        let forced = check_takeable(found.as_ref(), opening)?;
        let epoch = found.as_ref().map_or(0, |found| found.lease.epoch) + 1;
        let holder = opening.holder.clone();
        let renewed = clock.elapsed();
        let lease = Lease { epoch, holder: Some(holder.clone()), lasts_seconds: LEASE_DURATION.as_secs() };
        let mark = take_lease(&backend, &lease, found.as_ref().map(|found| &found.mark)).await?;
        let state = SharedStoreState {
            epoch,
            mark,
            renewed: Some(renewed),
            seen: renewed,
            number: 0,
            head: chain::first_head(),
            trail: HeadHistory::default(),
            seal: opening.seal.cloned(),
            poisoned: false,
            records: None,
        };
        let store = Self { backend, clock, holder, turn: Mutex::new(()), state: RefCell::new(state) };
        // After any later failure the lease is released, because nothing was sent under it.
        match store.begin_ledger(found.as_ref(), forced, opening).await {
            Ok(()) => Ok(store),
            Err(error) => {
                // Report the first error, which is the cause.
                let _ = store.give_back().await;
                Err(error)
            }
        }
    }

    async fn begin_ledger(
        &self,
        before: Option<&StoredLease>,
        forced: bool,
        opening: &OpenOptions<'_>,
    ) -> Result<(), StoreError> {
        self.probe_lease(before.map(|before| &before.mark)).await?;
        let reason = opening.force.filter(|_| forced);
        for _ in 0..MAX_WRITE_ATTEMPTS {
            let mut content = SharedStoreContents::read(&self.backend, opening.seal).await?;
            check_owner(&content.records, opening.identity, opening.seal)?;
            let is_new = content.records.is_empty();
            let sealed = mac::mac_start_record(&content.records, opening.seal);
            let mut records = if is_new { vec![Record::birth(opening.identity)] } else { Vec::new() };
            let known = if is_new { records.clone() } else { content.records };
            let mut ledger = load_ledger(known)?;
            if let Some(sealed) = sealed {
                apply_record(&mut ledger, &sealed)?;
                records.push(sealed);
            }
            self.ensure_highest_epoch(ledger.epoch).await?;
            let took = Record::Took {
                epoch: self.state.borrow().epoch,
                holder: opening.holder.clone(),
                proven: is_silent(&ledger, before, opening),
                reason: reason.map(str::to_owned),
            };
            apply_record(&mut ledger, &took)?;
            records.push(took);
            let (text, head) = write_line(&self.backend, &records, &content.head, opening.seal)?;
            let number = content.number + 1;
            match self.try_line(number, &text).await {
                Ok(()) => {
                    self.set_head(number, head);
                    content.trail.advance(&records, head);
                    self.state.borrow_mut().trail = content.trail;
                    self.probe_line(number, &text).await?;
                    if content.lines >= CHECKPOINT_AFTER_LINES {
                        // If the checkpoint fails, the next opening writes it.
                        let _ = self.sum_up(&ledger).await;
                    }
                    self.state.borrow_mut().records = Some(vec![Record::Condensed(Box::new(ledger))]);
                    return self.renew_if_old().await;
                }
                // A displaced holder wrote a line first, or this process itself was displaced.
                Err(StoreError::Displaced { .. }) => self.check_ours().await?,
                Err(error) => return Err(error),
            }
        }
        Err(lost_race_error(&self.backend).await)
    }

    /// Ensures that the lease's fencing token is higher than any in the ledger. It is lower when another process took
    /// the lease later, or when the lease was lost and the lines were not: then it continues from them.
    async fn ensure_highest_epoch(&self, epoch: u64) -> Result<(), StoreError> {
        if self.state.borrow().epoch > epoch {
            return Ok(());
        }
        self.check_ours().await?;
        let holder = Some(self.holder.clone());
        let lease = Lease { epoch: epoch + 1, holder, lasts_seconds: LEASE_DURATION.as_secs() };
        let mark = self.state.borrow().mark.clone();
        let mark = take_lease(&self.backend, &lease, Some(&mark)).await?;
        let mut state = self.state.borrow_mut();
        (state.epoch, state.mark) = (lease.epoch, mark);
        Ok(())
    }

    /// Fails when another process has the lease.
    async fn check_ours(&self) -> Result<(), StoreError> {
        let found =
            self.backend.lease().await.map_err(|error| backend_error(&self.backend, "read", &error))?;
        let ours = |found: &StoredLease| {
            found.lease.epoch == self.state.borrow().epoch && is_held_by(&found.lease, &self.holder)
        };
        if found.as_ref().is_some_and(ours) { Ok(()) } else { Err(lost_race_error(&self.backend).await) }
    }

    /// Renews the lease if reading has taken long.
    async fn renew_if_old(&self) -> Result<(), StoreError> {
        if self.held_for().is_some_and(|left| left + LEASE_RENEWAL_INTERVAL > LEASE_DURATION) {
            return Ok(());
        }
        self.renew_at_once("lock").await
    }

    async fn renew_at_once(&self, action: &'static str) -> Result<(), StoreError> {
        match self.renew(Some(&self.holder)).await {
            Ok(()) => Ok(()),
            Err(BackendError::Conflict) => Err(lost_race_error(&self.backend).await),
            Err(error) => Err(backend_error(&self.backend, action, &error)),
        }
    }

    /// Verifies that the backend writes a lease only under its condition.
    async fn probe_lease(&self, before: Option<&LeaseVersion>) -> Result<(), StoreError> {
        let lease = self.own_lease(Some(&self.holder));
        check_no_second_create(&self.backend, &lease).await?;
        let stale = if let Some(mark) = before {
            mark.clone()
        } else {
            // The very first lease has no earlier version, so a renewal makes the one just
            // written outdated for the probe.
            let mark = self.state.borrow().mark.clone();
            self.renew_at_once("probe").await?;
            mark
        };
        check_no_stale_write(&self.backend, &lease, &stale).await
    }

    /// Verifies that the backend never overwrites a line.
    async fn probe_line(&self, number: u64, text: &[u8]) -> Result<(), StoreError> {
        let epoch = self.state.borrow().epoch;
        check_no_overwrite(&self.backend, number, epoch, text).await
    }

    /// Reads a ledger without the lease; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or is another stack's.
    pub async fn read(
        backend: &H,
        stack: &str,
        environment: &str,
        key: Option<&MacKey>,
    ) -> Result<Option<Ledger>, StoreError> {
        Ok(Self::read_with_trail(backend, stack, environment, key).await?.map(|(ledger, _)| ledger))
    }

    /// Does the same as `read`, and returns the digests of the lines.
    ///
    /// # Errors
    /// The errors of `read`.
    pub async fn read_with_trail(
        backend: &H,
        stack: &str,
        environment: &str,
        key: Option<&MacKey>,
    ) -> Result<Option<(Ledger, HeadHistory)>, StoreError> {
        let content = SharedStoreContents::read(backend, key).await?;
        if content.records.is_empty() {
            return Ok(None);
        }
        check_readable(&content.records, key)?;
        let ledger = load_ledger(content.records)?;
        same_owner(&ledger.identity.stack, &ledger.identity.environment, stack, environment)?;
        check_not_moved(&ledger)?;
        Ok(Some((ledger, content.trail)))
    }

    /// Writes a line, and repeats the write without a response. That is safe: a number has one line forever, so the
    /// line is stored once, or another process's is.
    async fn put_line(&self, number: u64, text: &[u8]) -> Result<(), StoreError> {
        let mut put = self.try_line(number, text).await;
        for pause in RETRY_DELAYS {
            match put {
                Err(StoreError::Shared { .. }) if self.held_for() > Some(pause) => {
                    self.clock.sleep(pause).await;
                    put = self.try_line(number, text).await;
                }
                done => return done,
            }
        }
        put
    }

    /// Tries to write a line. A taken number counts as success if it has this very line: the response to
    /// an earlier attempt was lost.
    async fn try_line(&self, number: u64, text: &[u8]) -> Result<(), StoreError> {
        let epoch = self.state.borrow().epoch;
        match self.backend.put_line(number, epoch, text).await {
            Ok(()) => Ok(()),
            Err(BackendError::Conflict) => {
                let lines = self.backend.lines(number - 1).await;
                let lines = lines.map_err(|error| backend_error(&self.backend, "read", &error))?;
                let ours = lines.first().is_some_and(|(at, found)| *at == number && found == text);
                if ours { Ok(()) } else { Err(self.displaced_error().await) }
            }
            Err(error) => Err(backend_error(&self.backend, "write", &error)),
        }
    }

    /// Ensures that a line which was just written is the next one for all processes. It is not when another process
    /// took over long ago and the lines from then on were removed: then its number was free again. Returns a moment at
    /// which it was the last.
    async fn look_again(&self, sent: Duration) -> Result<Duration, StoreError> {
        let looked = self.clock.elapsed();
        let seen = self.state.borrow().renewed.max(Some(self.state.borrow().seen));
        if seen.is_some_and(|seen| looked.saturating_sub(seen) <= MIN_PRUNE_TIME) {
            return Ok(sent);
        }
        match self.check_ours().await {
            Ok(()) => Ok(looked),
            Err(StoreError::Locked { .. }) => Err(self.displaced_error().await),
            Err(error) => Err(error),
        }
    }

    async fn displaced_error(&self) -> StoreError {
        displaced_error(&self.backend, &self.holder).await
    }

    fn own_lease(&self, holder: Option<&LeaseHolder>) -> Lease {
        let epoch = self.state.borrow().epoch;
        Lease { epoch, holder: holder.cloned(), lasts_seconds: LEASE_DURATION.as_secs() }
    }

    /// Renews the lease if this process still holds it. `None` releases it.
    async fn renew(&self, holder: Option<&LeaseHolder>) -> Result<(), BackendError> {
        let _turn = self.turn.lock().await;
        let lease = self.own_lease(holder);
        let mark = self.state.borrow().mark.clone();
        let mut sent = self.clock.elapsed();
        let mark = match self.backend.put_lease(&lease, Some(&mark)).await {
            Err(BackendError::Conflict) => match self.backend.lease().await? {
                // The response to an earlier renewal was lost, or the wait for it was canceled.
                Some(found)
                    if found.lease.epoch == lease.epoch && is_held_by(&found.lease, &self.holder) =>
                {
                    sent = self.clock.elapsed();
                    self.backend.put_lease(&lease, Some(&found.mark)).await?
                }
                Some(found) if found.lease == lease && holder.is_none() => found.mark,
                _ => return Err(BackendError::Conflict),
            },
            done => done?,
        };
        let mut state = self.state.borrow_mut();
        (state.mark, state.renewed) = (mark, holder.map(|_| sent));
        Ok(())
    }

    async fn give_back(&self) -> Result<(), StoreError> {
        match self.renew(None).await {
            Ok(()) => {
                self.mark_lease_lost();
                Ok(())
            }
            Err(BackendError::Conflict) => Err(self.displaced_error().await),
            Err(error) => Err(backend_error(&self.backend, "unlock", &error)),
        }
    }

    async fn sum_up(&self, ledger: &Ledger) -> Result<(), StoreError> {
        let seal = self.state.borrow().seal.clone();
        let (number, bytes) = self.encode_checkpoint(ledger, seal.as_ref())?;
        let done = write_checkpoint(&self.backend, number, &bytes).await;
        done.map_err(|error| backend_error(&self.backend, "write", &error))
    }

    /// Returns the checkpoint of all lines so far, and its number.
    fn encode_checkpoint(
        &self,
        ledger: &Ledger,
        key: Option<&MacKey>,
    ) -> Result<(u64, Vec<u8>), StoreError> {
        let state = self.state.borrow();
        let bytes = checkpoint::serialize_checkpoint(Vec::new(), ledger, &state.head, key);
        Ok((state.number, bytes.map_err(|error| encoding_error(&self.backend, &error))?))
    }

    fn set_head(&self, number: u64, head: ChainHead) {
        let mut state = self.state.borrow_mut();
        (state.number, state.head) = (number, head);
    }

    /// Marks the lease as lost: no further write is allowed.
    fn mark_lease_lost(&self) {
        let mut state = self.state.borrow_mut();
        (state.renewed, state.poisoned) = (None, true);
    }

    fn poison(&self) -> Result<(), StoreError> {
        if std::mem::replace(&mut self.state.borrow_mut().poisoned, true) {
            return Err(StoreError::Poisoned);
        }
        Ok(())
    }
}

impl<H: SharedBackend, K: Clock> Store for SharedStore<H, K> {
    async fn load(&self) -> Result<Vec<Record>, StoreError> {
        let read = self.state.borrow_mut().records.take();
        if let Some(records) = read {
            return Ok(records);
        }
        let seal = self.state.borrow().seal.clone();
        Ok(SharedStoreContents::read(&self.backend, seal.as_ref()).await?.records)
    }

    async fn append(&self, records: &[Record]) -> Result<(), StoreError> {
        self.poison()?;
        if self.held_for() == Some(Duration::ZERO) {
            // After a long suspension this write detects another holder, also where the expected numbers
            // were written and removed meanwhile.
            match self.renew(Some(&self.holder)).await {
                Ok(()) => {}
                Err(BackendError::Conflict) => return Err(self.displaced_error().await),
                Err(error) => return Err(backend_error(&self.backend, "lock", &error)),
            }
        }
        let (number, text, head) = {
            let state = self.state.borrow();
            let (text, head) = write_line(&self.backend, records, &state.head, state.seal.as_ref())?;
            (state.number + 1, text, head)
        };
        let sent = self.clock.elapsed();
        self.put_line(number, &text).await?;
        let seen = self.look_again(sent).await?;
        let mut state = self.state.borrow_mut();
        (state.number, state.head, state.seen) = (number, head, seen);
        state.trail.advance(records, head);
        (state.records, state.poisoned) = (None, false);
        Ok(())
    }

    async fn condense(&self, ledger: &Ledger) -> Result<(), StoreError> {
        self.poison()?;
        self.sum_up(ledger).await?;
        self.state.borrow_mut().poisoned = false;
        Ok(())
    }

    async fn condense_with_macs(&self, ledger: &Ledger, key: &MacKey) -> Result<(), StoreError> {
        self.poison()?;
        self.check_ours().await?;
        let (number, bytes) = self.encode_checkpoint(ledger, Some(key))?;
        let done = contents::replace_checkpoint(&self.backend, number, &bytes).await;
        done.map_err(|error| backend_error(&self.backend, "write", &error))?;
        let mut state = self.state.borrow_mut();
        (state.seal, state.records, state.poisoned) = (Some(key.clone()), None, false);
        Ok(())
    }

    fn trail(&self) -> HeadHistory {
        self.state.borrow().trail.clone()
    }

    fn held_for(&self) -> Option<Duration> {
        let renewed = self.state.borrow().renewed;
        Some(
            renewed.map_or(Duration::ZERO, |at| (at + LEASE_DURATION).saturating_sub(self.clock.elapsed())),
        )
    }

    async fn keep_lease(&self) -> StoreError {
        // `keep` may be dropped and called again, so the first pause counts from the last renewal.
        let renewed = self.state.borrow().renewed;
        let since = renewed.map(|renewed| self.clock.elapsed().saturating_sub(renewed));
        let mut pause = LEASE_RENEWAL_INTERVAL.saturating_sub(since.unwrap_or_default());
        let mut failures = 0_usize;
        loop {
            self.clock.sleep(pause).await;
            match self.renew(Some(&self.holder)).await {
                Ok(()) => failures = 0,
                Err(BackendError::Conflict) => {
                    self.mark_lease_lost();
                    return self.displaced_error().await;
                }
                Err(error) if self.held_for() == Some(Duration::ZERO) => {
                    return backend_error(&self.backend, "lock", &error);
                }
                // There is time for another attempt.
                Err(_) => failures += 1,
            }
            let soon = failures.checked_sub(1).map(|at| RETRY_DELAYS[at.min(RETRY_DELAYS.len() - 1)]);
            pause = soon.unwrap_or(LEASE_RENEWAL_INTERVAL);
        }
    }

    async fn release(&self) -> Result<(), StoreError> {
        let epoch = self.state.borrow().epoch;
        if self.state.borrow().poisoned {
            return self.give_back().await;
        }
        match self.append(&[Record::Released { epoch }]).await {
            Err(displaced @ StoreError::Displaced { .. }) => Err(displaced),
            // A released lease expresses the same.
            written => self.give_back().await.and(written),
        }
    }
}

#[cfg(test)]
mod tests;
