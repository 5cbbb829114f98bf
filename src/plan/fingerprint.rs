//! The fingerprint: a short digest of what a plan decides. Times, counts of requests and the nonce
//! do not enter it, so two plans of the same world have the same one.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::change::{Base, Bookkeeping, Plan, RulingVerdict, Step};
use super::policy::POLICY;
use crate::model::address::{Address, Name};
use crate::model::expression::Expression;
use crate::model::hex::hex;

/// Everything that is decided.
#[derive(Serialize)]
struct Decided<'p> {
    whose: (&'p str, &'p str, &'p str, &'p str, bool),
    steps: &'p [Step],
    bookkeeping: &'p [Bookkeeping],
    blocks: Vec<(&'p str, Option<&'p Address>)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    denied: Vec<(&'p str, Option<&'p Address>)>,
    outputs: &'p BTreeMap<Name, Expression>,
    #[serde(skip_serializing_if = "str::is_empty")]
    reads: &'p str,
}

/// Returns the fingerprint: `7f3a-c91e`.
pub(super) fn fingerprint(plan: &Plan) -> String {
    let Base { stack, environment, account, config, destroy, .. } = &plan.base;
    let digest = digest(&Decided {
        whose: (stack, environment, account, config, *destroy),
        steps: &plan.steps,
        bookkeeping: &plan.bookkeeping,
        blocks: plan
            .blocks
            .iter()
            // Whether someone overrides a policy is no part of what is decided: its verdict is.
            .filter(|block| block.code != POLICY)
            .map(|block| (block.code.as_str(), block.address.as_ref()))
            .collect(),
        denied: plan
            .policy
            .iter()
            .filter(|ruling| ruling.verdict >= RulingVerdict::Overridden)
            .map(|ruling| (ruling.name.as_str(), ruling.address.as_ref()))
            .collect(),
        outputs: &plan.outputs,
        reads: &plan.base.reads,
    });
    format!("{}-{}", &digest[..4], &digest[4..8])
}

/// Returns the SHA-256 of something as JSON: 64 hexadecimal digits.
pub(super) fn digest(what: &impl Serialize) -> String {
    let mut sink = Sink(Sha256::new());
    // Writing to a digest cannot fail; what cannot be written as JSON has the digest of its beginning.
    let _ = serde_json::to_writer(&mut sink, what);
    hex(&sink.0.finalize())
}

struct Sink(Sha256);

impl io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
