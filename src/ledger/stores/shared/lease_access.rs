//! Takes and reads the lease of a shared backend. A refusal names the process that has the lease.

use std::time::Duration;

use super::backend::{BackendError, LeaseVersion, SharedBackend, StoredLease};
use super::contents::backend_error;
use super::lease::{Lease, LeaseInfo, lease_status};
use crate::ledger::journal::error::StoreError;
use crate::ledger::state::holder::{LeaseHolder, ProcessIdentity};

/// Takes the lease, or finds that an attempt without a response succeeded.
pub(super) async fn take_lease<H: SharedBackend>(
    backend: &H,
    lease: &Lease,
    mark: Option<&LeaseVersion>,
) -> Result<LeaseVersion, StoreError> {
    let refused = match backend.put_lease(lease, mark).await {
        Ok(mark) => return Ok(mark),
        Err(error) => error,
    };
    match (backend.lease().await, refused) {
        (Ok(Some(found)), _) if found.lease == *lease => Ok(found.mark),
        (_, BackendError::Conflict) => Err(lost_race_error(backend).await),
        (_, error) => Err(backend_error(backend, "lock", &error)),
    }
}

pub(super) fn is_held_by(lease: &Lease, who: &LeaseHolder) -> bool {
    lease.holder.as_ref().is_some_and(|holder| holder.session == who.session)
}

/// Returns the error that names the process which took the lease first.
pub(super) async fn lost_race_error<H: SharedBackend>(backend: &H) -> StoreError {
    let holder = match backend.lease().await {
        Ok(Some(StoredLease { lease: Lease { holder: Some(holder), .. }, .. })) => holder.in_words(),
        _ => "another process that was faster".to_owned(),
    };
    StoreError::Locked { holder }
}

/// Returns the error that names the process which displaced a holder.
pub(super) async fn displaced_error<H: SharedBackend>(backend: &H, ours: &LeaseHolder) -> StoreError {
    let by = match backend.lease().await {
        Ok(Some(StoredLease { lease: Lease { holder: Some(holder), .. }, .. }))
            if holder.session != ours.session =>
        {
            holder.in_words()
        }
        _ => "someone else".to_owned(),
    };
    StoreError::Displaced { by }
}

/// Returns the holder of a backend's lease without taking it; `None` when it is free.
///
/// # Errors
/// When the lease cannot be read.
pub async fn find_lease_holder<H: SharedBackend>(
    backend: &H,
    effect: Duration,
    is_dead: &dyn Fn(&ProcessIdentity) -> bool,
) -> Result<Option<LeaseInfo>, StoreError> {
    let stored = backend.lease().await.map_err(|error| backend_error(backend, "read", &error))?;
    let Some(StoredLease { lease, age, .. }) = stored else { return Ok(None) };
    let standing = lease_status(&lease, age, effect, is_dead);
    Ok(lease.holder.map(|holder| LeaseInfo { holder, standing, renewed: Some(age) }))
}
