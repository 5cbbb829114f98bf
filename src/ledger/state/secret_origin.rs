//! `SecretOrigin`: the ledger from which a secret came with its resource, so that its fingerprint and its encrypted value
//! can still be compared and decrypted.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::key_as_hex;
use crate::model::address::Name;
use crate::model::values::secret::FingerprintKey;

/// The ledger in which a secret was fingerprinted and encrypted, if it is another one than the ledger that has it now.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SecretOrigin {
    /// The lineage of that ledger, which the encrypted value contains.
    pub lineage: Uuid,
    /// The environment of that ledger, which the encrypted value contains.
    pub environment: Name,
    /// The key of that ledger's fingerprints.
    #[serde(with = "key_as_hex")]
    pub key: FingerprintKey,
}

impl PartialEq for SecretOrigin {
    fn eq(&self, other: &Self) -> bool {
        (self.lineage, &self.environment, self.key.0) == (other.lineage, &other.environment, other.key.0)
    }
}

impl Eq for SecretOrigin {}
