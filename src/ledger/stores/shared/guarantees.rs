//! The guarantees of a shared backend, each verified by a write that must be refused. In: a backend, and what this
//! process has just written to it. A backend that accepts such a write lets two processes change one ledger.

use super::backend::{BackendError, LeaseVersion, SharedBackend};
use super::contents::backend_error;
use super::lease::Lease;
use crate::ledger::journal::error::StoreError;

/// Verifies that the backend does not create a lease a second time.
pub(super) async fn check_no_second_create<H: SharedBackend>(
    backend: &H,
    lease: &Lease,
) -> Result<(), StoreError> {
    let put = backend.put_lease(lease, None).await.map(drop);
    check_refused(backend, put, "it accepted the creation of an object that existed already")
}

/// Verifies that the backend does not replace a lease whose version is outdated.
pub(super) async fn check_no_stale_write<H: SharedBackend>(
    backend: &H,
    lease: &Lease,
    stale: &LeaseVersion,
) -> Result<(), StoreError> {
    let put = backend.put_lease(lease, Some(stale)).await.map(drop);
    check_refused(backend, put, "it replaced an object that had changed since it was read")
}

/// Verifies that the backend refuses to overwrite a line: tries to write `text` as the line `number`,
/// which must exist already.
pub(super) async fn check_no_overwrite<H: SharedBackend>(
    backend: &H,
    number: u64,
    epoch: u64,
    text: &[u8],
) -> Result<(), StoreError> {
    let put = backend.put_line(number, epoch, text).await;
    check_refused(backend, put, "it overwrote a line that existed already")
}

fn check_refused<H: SharedBackend>(
    backend: &H,
    put: Result<(), BackendError>,
    what: &'static str,
) -> Result<(), StoreError> {
    match put {
        Err(BackendError::Conflict) => Ok(()),
        Ok(()) => Err(StoreError::Lax { place: backend.display_location(), what }),
        Err(error) => Err(backend_error(backend, "probe", &error)),
    }
}
