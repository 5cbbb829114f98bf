//! What every shelf promises: conditions that hold, lines in order, bytes as they were written.

use std::time::Duration;

use stead::ledger::state::holder::LeaseHolder;
use stead::ledger::stores::shared::backend::{BackendError, LeaseVersion, SharedBackend};
use stead::ledger::stores::shared::lease::Lease;
use stead::ledger::stores::shared::memory_backend::MemoryBackend;
use uuid::Uuid;

/// A line, and a summary, that is larger than what a store may take in one piece.
const LARGE: usize = 5 << 20;

/// Checks a shelf that holds nothing yet; `make` returns one more handle on it.
pub async fn keeps_its_word<H: SharedBackend>(make: impl Fn() -> H) {
    leases_change_under_their_condition(&make(), &make()).await;
    lines_are_written_once(&make(), &make()).await;
    summaries_are_written_once(&make(), &make()).await;
    old_ones_are_removed(&make(), &make()).await;
}

/// Returns a lease; what it holds would break a careless text.
pub fn lease(epoch: u64) -> Lease {
    let holder = LeaseHolder {
        session: Uuid::from_u128(u128::from(epoch)),
        who: "o'hara \\ \"ä\"@host\n\u{2028}; drop table x; --".to_owned(),
        process: None,
        since: "2026-11-21T12:00:00Z".parse().unwrap(),
    };
    Lease { epoch, holder: Some(holder), lasts_seconds: 180 }
}

/// Returns bytes of every value, without a short period.
pub fn bytes(length: usize, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

pub fn is_conflict<T: std::fmt::Debug>(result: &Result<T, BackendError>) -> bool {
    matches!(result, Err(BackendError::Conflict))
}

async fn leases_change_under_their_condition<H: SharedBackend>(one: &H, two: &H) {
    assert_eq!(one.lease().await.unwrap(), None, "the shelf must be empty");
    let no_such = LeaseVersion("0".to_owned());
    let stale = one.put_lease(&lease(1), Some(&no_such)).await;
    assert!(stale.is_err(), "a lease that is not there cannot be replaced: {stale:?}");
    let first = one.put_lease(&lease(1), None).await.unwrap();
    assert!(is_conflict(&two.put_lease(&lease(2), None).await), "a lease was made anew");

    let stored = two.lease().await.unwrap().unwrap();
    assert_eq!((&stored.lease, &stored.mark), (&lease(1), &first));
    assert!(stored.age < Duration::from_mins(2), "{:?}", stored.age);
    let second = two.put_lease(&lease(2), Some(&stored.mark)).await.unwrap();
    assert_ne!(first, second);
    assert!(is_conflict(&one.put_lease(&lease(3), Some(&first)).await), "a stale mark was good");

    // The same content again is another write all the same.
    let third = one.put_lease(&lease(2), Some(&second)).await.unwrap();
    assert!(is_conflict(&two.put_lease(&lease(2), Some(&second)).await), "a stale mark was good");
    let given_back = Lease { holder: None, ..lease(2) };
    one.put_lease(&given_back, Some(&third)).await.unwrap();
    assert_eq!(two.lease().await.unwrap().unwrap().lease, given_back);
}

async fn lines_are_written_once<H: SharedBackend>(one: &H, two: &H) {
    assert_eq!(one.lines(0).await.unwrap(), vec![]);
    let binary: Vec<u8> = (0..=255).collect();
    let lines = [binary, bytes(LARGE, 1), b"'; --\n".to_vec()];
    for (number, line) in (1..).zip(&lines) {
        one.put_line(number, 2, line).await.unwrap();
        assert!(is_conflict(&two.put_line(number, 2, b"other").await), "line {number} twice");
        assert!(is_conflict(&one.put_line(number, 2, line).await), "line {number} twice, the same");
    }
    // More than a listing's page may hold, and numbers whose texts sort otherwise than they do.
    for number in 4..=12 {
        two.put_line(number, 2, &[u8::try_from(number).unwrap()]).await.unwrap();
    }
    let read = two.lines(0).await.unwrap();
    assert!(read.iter().map(|(number, _)| *number).eq(1..=12), "not by number");
    assert!(read.iter().zip(&lines).all(|((_, found), line)| found == line), "other bytes");
    let tail: Vec<_> = one.lines(10).await.unwrap();
    assert_eq!(tail, vec![(11, vec![11]), (12, vec![12])]);
    assert_eq!(one.lines(12).await.unwrap(), vec![]);
}

async fn summaries_are_written_once<H: SharedBackend>(one: &H, two: &H) {
    assert_eq!(one.summaries().await.unwrap(), Vec::<u64>::new());
    assert_eq!(one.summary(3).await.unwrap(), None);
    let large = bytes(LARGE, 3);
    for number in [3, 12, 9] {
        one.put_summary(number, if number == 3 { &large } else { b"\0\xff" }).await.unwrap();
    }
    assert!(is_conflict(&two.put_summary(3, b"other").await), "a summary twice");
    assert_eq!(two.summaries().await.unwrap(), vec![3, 9, 12]);
    assert!(two.summary(3).await.unwrap().as_ref() == Some(&large), "other bytes");
    assert_eq!(two.summary(9).await.unwrap().as_deref(), Some(&b"\0\xff"[..]));
}

async fn old_ones_are_removed<H: SharedBackend>(one: &H, two: &H) {
    one.prune(9).await.unwrap();
    assert_eq!(two.summaries().await.unwrap(), vec![9, 12]);
    let numbers = |lines: Vec<(u64, Vec<u8>)>| lines.into_iter().map(|(n, _)| n).collect::<Vec<_>>();
    assert_eq!(numbers(two.lines(0).await.unwrap()), vec![10, 11, 12]);
    // Once more does nothing, and the rest goes on.
    two.prune(9).await.unwrap();
    two.put_line(13, 2, b"on").await.unwrap();
    assert_eq!(numbers(one.lines(9).await.unwrap()), vec![10, 11, 12, 13]);
}

#[tokio::test]
async fn the_memory_store_satisfies_the_contract() {
    let shelf = MemoryBackend::default();
    keeps_its_word(|| shelf.clone()).await;
}
