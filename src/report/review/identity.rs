//! Identities of findings: equal in each run, even if the lines of a file move, so that a forge recognizes a finding
//! that it has shown before.

use foldhash::{HashMap, HashMapExt};
use sha2::{Digest, Sha256};

use super::finding::ReviewFinding;
use crate::model::crypto::hex::encode_hex;

/// How many bytes of the digest an identity uses.
const DIGEST_BYTES: usize = 16;

/// Returns an identity for each finding, in their order: a digest of its rule, file and subject, and of the number of
/// equal findings before it.
pub(super) fn finding_identities(findings: &[ReviewFinding]) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    findings
        .iter()
        .map(|finding| {
            let what = format!("{}\0{}\0{}", finding.rule, finding.place.file, finding.subject);
            let before = seen.entry(what.clone()).or_default();
            let digest = Sha256::digest(format!("{what}\0{before}"));
            *before += 1;
            encode_hex(&digest[..DIGEST_BYTES])
        })
        .collect()
}
