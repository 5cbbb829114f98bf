//! The ledger's bytes: raw journals and checkpoints, and well-framed ones with hostile content.
//!
//! The first byte selects the format: `j` a journal, `s` a checkpoint, `r` records in JSON, one per line, `l` a ledger
//! in JSON. The last two are framed here, by code that is independent of the ledger's own.

use sha2::{Digest, Sha256};
use stead::ledger::integrity::check_bytes::{ReplayResult, replay_bytes, summary_bytes};
use stead::ledger::state::ledger::Ledger;

/// Number of bits to flip in one input.
const FLIPS: usize = 12;

pub fn journal(bytes: &[u8]) {
    let Some((form, rest)) = bytes.split_first() else { return };
    match form {
        b's' => summary(rest),
        b'l' => summary(&framed_summary(rest)),
        b'r' => lines(&framed_journal(rest)),
        _ => lines(rest),
    }
}

/// For a journal that can be read: each truncation is a number of complete lines and a torn end, and each flipped bit
/// in a complete line is detected.
fn lines(bytes: &[u8]) {
    let Ok(ReplayResult { ledger, whole }) = replay_bytes(None, bytes) else { return };
    assert!(whole <= bytes.len() && bytes[..whole].last().is_none_or(|last| *last == b'\n'));
    assert!(!bytes[whole..].contains(&b'\n'), "what was torn off holds no whole line");
    let again = replay_bytes(None, &bytes[..whole]).expect("whole lines can be read");
    assert_eq!(text(again.ledger.as_ref()), text(ledger.as_ref()));
    for at in places(bytes, whole) {
        let cut = replay_bytes(None, &bytes[..at]).expect("a cut only tears the last line");
        assert!(cut.whole <= at);
        assert!(serial(cut.ledger.as_ref()) <= serial(ledger.as_ref()));
        assert!(replay_bytes(None, &flipped(bytes, at)).is_err(), "byte {at} was changed and not seen");
    }
    if let Some(ledger) = ledger {
        let written = summary_bytes(&ledger).expect("a ledger can be written");
        let read = replay_bytes(Some(&written), b"").expect("what was written can be read").ledger;
        assert_eq!(text(read.as_ref()), text(Some(&ledger)));
        assert!(ledger.intents.values().all(|intent| !ledger.questions.contains_key(&intent.op)));
    }
}

/// For a checkpoint that can be read: it is refused with any flipped bit.
fn summary(bytes: &[u8]) {
    let Ok(replayed) = replay_bytes(Some(bytes), b"") else { return };
    let ledger = replayed.ledger.expect("a summary is a record");
    for at in places(bytes, bytes.len()) {
        assert!(
            replay_bytes(Some(&flipped(bytes, at)), b"").is_err(),
            "byte {at} was changed and not seen"
        );
        assert!(replay_bytes(Some(&bytes[..at]), b"").is_err(), "a summary is never shorter");
    }
    let written = summary_bytes(&ledger).expect("a ledger can be written");
    let read = replay_bytes(Some(&written), b"").expect("what was written can be read").ledger;
    assert_eq!(text(read.as_ref()), text(Some(&ledger)));
}

fn serial(ledger: Option<&Ledger>) -> u64 {
    ledger.map_or(0, |ledger| ledger.serial)
}

/// Returns a ledger as JSON, for comparisons: secrets without a fingerprint are not even equal to themselves.
fn text(ledger: Option<&Ledger>) -> String {
    serde_json::to_string(&ledger).expect("a ledger can be written")
}

/// Returns some offsets below `whole`, derived from the bytes.
fn places(bytes: &[u8], whole: usize) -> impl Iterator<Item = usize> + use<> {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    let at = move |n: usize| usize::from(u16::from_le_bytes([digest[2 * n], digest[2 * n + 1]]));
    (0..FLIPS).filter(move |_| whole > 0).map(move |n| at(n) * whole / 65_536)
}

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    changed[at] ^= 1 << (at % 8);
    changed
}

fn hex(digest: &[u8]) -> String {
    digest
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|n| char::from_digit(n.into(), 16))
        .collect()
}

fn framed_journal(records: &[u8]) -> Vec<u8> {
    let mut head = Sha256::digest(b"stead journal 1");
    let mut journal = Vec::new();
    for json in records.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        head = Sha256::new().chain_update(head).chain_update(json).finalize();
        journal.extend(format!("{:08x} {} ", json.len(), hex(&head)).into_bytes());
        journal.extend_from_slice(json);
        journal.push(b'\n');
    }
    journal
}

fn framed_summary(ledger: &[u8]) -> Vec<u8> {
    let mut summary = format!("{{\"format\":1,\"head\":\"{}\",\"ledger\":", "0".repeat(64)).into_bytes();
    summary.extend_from_slice(ledger.strip_suffix(b"\n").unwrap_or(ledger));
    let digest = hex(&Sha256::digest(&summary));
    summary.extend(format!(",\"sha256\":\"{digest}\"}}\n").into_bytes());
    summary
}
