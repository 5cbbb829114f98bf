//! `HttpStore`: a ledger on a state server with the protocol of Terraform's http backend.
//!
//! The server has one document and one lock. The store takes the lock first and verifies every time that the server
//! enforces it. There is no compare-and-set: the store reads a document before it replaces it, and reads it back
//! afterwards; another writer could intervene between the two if the lock was broken. So the store is strict, and only
//! the user can take over a lock.

use std::cell::RefCell;
use std::time::Duration;

use super::server::MAX_DOCUMENT_BYTES;
use crate::ledger::journal::error::StoreError;
use crate::ledger::journal::mac::{self, MacKey, check_readable};
use crate::ledger::journal::record::Record;
use crate::ledger::journal::replay::{check_owner, load_ledger, same_owner};
use crate::ledger::journal::store::Store;
use crate::ledger::journal::trail::HeadHistory;
use crate::ledger::state::entry::LedgerIdentity;
use crate::ledger::state::ledger::Ledger;
use crate::ledger::stores::open_options::OpenOptions;
use crate::ledger::stores::shared::lease::{LEASE_RENEWAL_INTERVAL, LeaseInfo, LeaseStatus};
use crate::ledger::stores::store_access::StoreAccess;
use crate::model::clock::Clock;

use super::document::{StateContents, StateDocument};
use super::server::{LockInfo, LockResponse, StateServer};
pub use super::settings::{StateServerSettings, http_variables};
use crate::ledger::journal::replay::apply_record;
use crate::ledger::stores::http::document;

/// A ledger on a state server, locked until it is released.
pub struct HttpStore<K> {
    server: StateServer,
    clock: K,
    lock: LockInfo,
    state: RefCell<HttpStoreState>,
}

struct HttpStoreState {
    document: StateDocument,
    trail: HeadHistory,
    seal: Option<MacKey>,
    /// The ledger replayed from the document's records.
    ledger: Option<Ledger>,
    /// A write is in progress or failed: the stored state is uncertain.
    poisoned: bool,
    /// A document was sent without a response: it may still arrive. If the lock were released, it could replace what
    /// another process writes then.
    under_way: bool,
    /// The records that opening read, for the first load.
    records: Option<Vec<Record>>,
}

impl<K: Clock> HttpStore<K> {
    /// Opens a ledger for writing: takes the lock, verifies that the server enforces it, and creates the ledger if it
    /// does not exist yet.
    ///
    /// # Errors
    /// When someone else has the lock, the server does not enforce it, cannot be reached, or holds something else.
    pub async fn open(
        settings: &StateServerSettings,
        clock: K,
        opening: &OpenOptions<'_>,
    ) -> Result<Self, StoreError> {
        let server = StateServer::new(settings)?;
        let lock = LockInfo::new(&opening.holder, opening.identity);
        let forced = take_lock(&server, &lock, opening.force.is_some()).await?;
        let state = HttpStoreState {
            document: StateDocument::default(),
            trail: HeadHistory::default(),
            seal: opening.seal.cloned(),
            ledger: None,
            poisoned: false,
            under_way: false,
            records: None,
        };
        let store = Self { server, clock, lock, state: RefCell::new(state) };
        match store.begin_ledger(opening, opening.force.filter(|_| forced)).await {
            Ok(()) => Ok(store),
            Err(error) => {
                // Report the first error, which is the cause. Nothing was sent under this lock.
                let _ = store.give_back().await;
                Err(error)
            }
        }
    }

    async fn begin_ledger(
        &self,
        opening: &OpenOptions<'_>,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        self.probe_lock().await?;
        let before = self.server.get().await?;
        let content = self.parse(before.as_deref(), opening.identity)?;
        check_owner(&content.records, opening.identity, opening.seal)?;
        self.probe_write(&content.document, before.as_deref()).await?;
        let is_new = content.records.is_empty();
        let ledger = (!is_new).then(|| load_ledger(content.records.iter().cloned())).transpose()?;
        let took = Record::Took {
            epoch: ledger.as_ref().map_or(0, |ledger| ledger.epoch) + 1,
            holder: opening.holder.clone(),
            proven: ledger.as_ref().is_none_or(|ledger| is_silent(ledger, opening)),
            reason: reason.map(str::to_owned),
        };
        let birth = ledger.is_none().then(|| Record::birth(opening.identity));
        let sealed = mac::mac_start_record(&content.records, opening.seal);
        let records: Vec<Record> = birth.into_iter().chain(sealed).chain([took]).collect();
        {
            let mut state = self.state.borrow_mut();
            (state.document, state.ledger, state.trail) = (content.document, ledger, content.trail);
        }
        self.append(&records).await?;
        self.state.borrow_mut().records = Some(content.records.into_iter().chain(records).collect());
        Ok(())
    }

    /// Verifies that there is only one lock, and that only its owner can release it.
    async fn probe_lock(&self) -> Result<(), StoreError> {
        let other = self.lock.with_new_id();
        if self.server.unlock(&other).await?.is_done() {
            return Err(self.broken_guarantee("it released a lock for a client that did not have it"));
        }
        match self.server.lock(&other).await? {
            LockResponse::Held(_) => Ok(()),
            LockResponse::Acquired => {
                let _ = self.server.unlock(&other).await;
                Err(self.broken_guarantee("it gave the lock to two clients at the same time"))
            }
            LockResponse::Unknown(status) => Err(self.server.unexpected_status("probe", status)),
        }
    }

    /// Verifies that the server refuses a write without the lock: tries it with the unchanged document.
    async fn probe_write(&self, document: &StateDocument, before: Option<&[u8]>) -> Result<(), StoreError> {
        let body = document.next().write().map_err(|error| self.server.action_error("write", &error))?;
        self.state.borrow_mut().under_way = true;
        let answer = self.server.post_document(&body, &self.lock.with_new_id().id).await?;
        self.state.borrow_mut().under_way = false;
        if answer.is_done() {
            return Err(
                self.broken_guarantee("it accepted a write from a client that did not have the lock")
            );
        }
        if !answer.is_refusal() {
            return Err(self.server.unexpected_status("probe", answer.0));
        }
        if self.server.get().await?.as_deref() != before {
            return Err(self.broken_guarantee("it changed the document although it refused the write"));
        }
        Ok(())
    }

    fn parse(&self, body: Option<&[u8]>, identity: &LedgerIdentity) -> Result<StateContents, StoreError> {
        let corrupt =
            |reason: String| StoreError::Corrupt { place: self.server.display_location(), reason };
        document::parse(body, identity.lineage, self.state.borrow().seal.as_ref()).map_err(corrupt)
    }

    /// Replaces the document that was read or written last, and verifies that the server stored the new one.
    async fn replace_document(&self, next: StateDocument) -> Result<(), StoreError> {
        self.check_unmoved().await?;
        let body = next.write().map_err(|error| self.server.action_error("write", &error))?;
        if body.len() > MAX_DOCUMENT_BYTES {
            let reason = format!(
                "the ledger would take {} MiB, and the limit for a state server is {} MiB; store it in S3 or PostgreSQL",
                body.len() >> 20,
                MAX_DOCUMENT_BYTES >> 20
            );
            return Err(self.server.action_error("write", &reason));
        }
        self.state.borrow_mut().under_way = true;
        let answer = self.server.post_document(&body, &self.lock.id).await;
        // Independent of the response, or of a missing one, only the stored document counts.
        let kept = self.server.get().await?;
        let is_kept = kept.as_deref().is_some_and(|kept| kept == body || next.is_in(kept));
        let is_told = answer.as_ref().is_ok_and(|answer| answer.is_done() || answer.is_refusal());
        self.state.borrow_mut().under_way = !is_kept && !is_told;
        match answer {
            _ if is_kept => {
                self.state.borrow_mut().document = next;
                Ok(())
            }
            Ok(answer) if answer.is_done() => {
                Err(self.broken_guarantee("it did not store the document that it accepted"))
            }
            Ok(answer) if answer.is_refusal() => Err(displaced_error()),
            Ok(answer) => Err(self.server.unexpected_status("write", answer.0)),
            Err(error) => Err(error),
        }
    }

    /// Reads the document again: a process that broke the lock may have replaced it.
    async fn check_unmoved(&self) -> Result<(), StoreError> {
        let found = self.server.get().await?;
        let state = self.state.borrow();
        let same = match found.as_deref() {
            None => state.document.serial == 0,
            Some(found) => state.document.is_in(found),
        };
        if same { Ok(()) } else { Err(displaced_error()) }
    }

    /// Reads a ledger without the lock; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or is another stack's.
    pub async fn read(
        settings: &StateServerSettings,
        stack: &str,
        environment: &str,
        key: Option<&MacKey>,
    ) -> Result<Option<Ledger>, StoreError> {
        Ok(Self::read_with_trail(settings, stack, environment, key).await?.map(|(ledger, _)| ledger))
    }

    /// Does the same as `read`, and returns the digests of the lines.
    ///
    /// # Errors
    /// The errors of `read`.
    pub async fn read_with_trail(
        settings: &StateServerSettings,
        stack: &str,
        environment: &str,
        key: Option<&MacKey>,
    ) -> Result<Option<(Ledger, HeadHistory)>, StoreError> {
        let server = StateServer::new(settings)?;
        let body = server.get().await?;
        let corrupt = |reason: String| StoreError::Corrupt { place: server.display_location(), reason };
        let content = document::parse(body.as_deref(), uuid::Uuid::nil(), key).map_err(corrupt)?;
        let StateContents { records, trail, .. } = content;
        if records.is_empty() {
            return Ok(None);
        }
        check_readable(&records, key)?;
        let ledger = load_ledger(records)?;
        same_owner(&ledger.identity.stack, &ledger.identity.environment, stack, environment)?;
        Ok(Some((ledger, trail)))
    }

    /// Releases the lock, unless a write may still arrive.
    async fn give_back(&self) -> Result<(), StoreError> {
        if self.state.borrow().under_way {
            let reason = "a write that was sent may still arrive, so the lock is not released; break it after one minute";
            return Err(self.server.action_error("unlock", &reason));
        }
        match self.server.unlock(&self.lock).await? {
            answer if answer.is_done() => Ok(()),
            answer if answer.is_refusal() => Err(displaced_error()),
            answer => Err(self.server.unexpected_status("unlock", answer.0)),
        }
    }

    fn broken_guarantee(&self, what: &'static str) -> StoreError {
        StoreError::Lax { place: self.server.display_location(), what }
    }

    fn poison(&self) -> Result<(), StoreError> {
        if std::mem::replace(&mut self.state.borrow_mut().poisoned, true) {
            return Err(StoreError::Poisoned);
        }
        Ok(())
    }
}

impl StoreAccess for StateServerSettings {
    type Store<K: Clock> = HttpStore<K>;

    async fn open<K: Clock>(self, clock: K, options: &OpenOptions<'_>) -> Result<HttpStore<K>, StoreError> {
        HttpStore::open(&self, clock, options).await
    }

    async fn read_with_trail<K: Clock>(
        &self,
        (stack, environment): (&str, &str),
        key: Option<&MacKey>,
    ) -> Result<Option<(Ledger, HeadHistory)>, StoreError> {
        HttpStore::<K>::read_with_trail(self, stack, environment, key).await
    }

    /// Takes the lock for a moment: the protocol has no other way to ask for its holder.
    async fn find_holder(&self, options: &OpenOptions<'_>) -> Result<Option<LeaseInfo>, StoreError> {
        let server = StateServer::new(self)?;
        let lock = LockInfo::new(&options.holder, options.identity);
        match server.lock(&lock).await? {
            LockResponse::Held(by) => {
                let standing = LeaseStatus::Held(Duration::MAX);
                Ok(Some(LeaseInfo { holder: by.holder(), standing, renewed: None }))
            }
            LockResponse::Acquired => {
                server.unlock(&lock).await?;
                Ok(None)
            }
            LockResponse::Unknown(status) => Err(server.unexpected_status("lock", status)),
        }
    }
}

impl<K: Clock> Store for HttpStore<K> {
    async fn load(&self) -> Result<Vec<Record>, StoreError> {
        if let Some(records) = self.state.borrow_mut().records.take() {
            return Ok(records);
        }
        let body = self.server.get().await?;
        let corrupt =
            |reason: String| StoreError::Corrupt { place: self.server.display_location(), reason };
        let content =
            document::parse(body.as_deref(), uuid::Uuid::nil(), self.state.borrow().seal.as_ref());
        Ok(content.map_err(corrupt)?.records)
    }

    async fn append(&self, records: &[Record]) -> Result<(), StoreError> {
        self.poison()?;
        let (next, ledger) = {
            let mut state = self.state.borrow_mut();
            let ledger = state.ledger.take();
            let ledger = match ledger {
                None => load_ledger(records.iter().cloned())?,
                Some(mut ledger) => {
                    for record in records {
                        apply_record(&mut ledger, record)?;
                    }
                    ledger
                }
            };
            let next = state.document.with_records(records, &ledger, state.seal.as_ref());
            (next.map_err(|error| self.server.action_error("write", &error))?, ledger)
        };
        self.replace_document(next).await?;
        let mut state = self.state.borrow_mut();
        let head = state.document.head();
        state.trail.advance(records, head);
        (state.ledger, state.records, state.poisoned) = (Some(ledger), None, false);
        Ok(())
    }

    async fn condense(&self, ledger: &Ledger) -> Result<(), StoreError> {
        self.poison()?;
        let next = {
            let state = self.state.borrow();
            state.document.to_condensed(ledger, state.seal.as_ref())
        };
        self.replace_document(next.map_err(|error| self.server.action_error("write", &error))?).await?;
        self.state.borrow_mut().poisoned = false;
        Ok(())
    }

    async fn condense_with_macs(&self, ledger: &Ledger, key: &MacKey) -> Result<(), StoreError> {
        self.poison()?;
        let next = self.state.borrow().document.to_condensed(ledger, Some(key));
        self.replace_document(next.map_err(|error| self.server.action_error("write", &error))?).await?;
        let mut state = self.state.borrow_mut();
        (state.seal, state.ledger) = (Some(key.clone()), Some(ledger.clone()));
        (state.records, state.poisoned) = (None, false);
        Ok(())
    }

    fn trail(&self) -> HeadHistory {
        self.state.borrow().trail.clone()
    }

    async fn keep_lease(&self) -> StoreError {
        loop {
            self.clock.sleep(LEASE_RENEWAL_INTERVAL).await;
            let serial = self.state.borrow().document.serial;
            let found = self.check_unmoved().await;
            // A write of this process may have been in progress meanwhile.
            let quiet = {
                let state = self.state.borrow();
                !state.poisoned && state.document.serial == serial
            };
            if let (Err(error @ StoreError::Displaced { .. }), true) = (found, quiet) {
                return error;
            }
        }
    }

    async fn release(&self) -> Result<(), StoreError> {
        let epoch = self.state.borrow().ledger.as_ref().map(|ledger| ledger.epoch);
        if let Some(epoch) = epoch.filter(|_| !self.state.borrow().poisoned) {
            self.append(&[Record::Released { epoch }]).await?;
        }
        self.give_back().await
    }

    fn is_strict(&self) -> bool {
        true
    }
}

/// Takes the lock; breaks the lock of another holder if the user requested it, and returns whether it did.
async fn take_lock(server: &StateServer, lock: &LockInfo, force: bool) -> Result<bool, StoreError> {
    let mut answer = server.take_lock(lock).await?;
    let mut forced = false;
    if let (true, LockResponse::Held(by)) = (force, &answer) {
        let broken = server.unlock(by).await?;
        if !broken.is_done() {
            return Err(server.unexpected_status("unlock", broken.0));
        }
        answer = server.take_lock(lock).await?;
        forced = true;
    }
    match answer {
        LockResponse::Acquired => Ok(forced),
        LockResponse::Held(by) => Err(StoreError::Locked { holder: by.in_words() }),
        LockResponse::Unknown(404 | 405 | 501) => {
            Err(StoreError::Lax { place: server.display_location(), what: "it does not support locks" })
        }
        LockResponse::Unknown(status) => Err(server.unexpected_status("lock", status)),
    }
}

/// Returns whether the last writer of the ledger is known to send no more requests.
fn is_silent(ledger: &Ledger, opening: &OpenOptions<'_>) -> bool {
    let Some(holder) = &ledger.holder else { return true };
    holder.process.as_ref().is_some_and(opening.is_dead)
}

fn displaced_error() -> StoreError {
    StoreError::Displaced { by: "someone who broke the lock".to_owned() }
}
