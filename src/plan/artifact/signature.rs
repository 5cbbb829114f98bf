//! `Signature`: the signature of a saved plan. It is Ed25519 over the unsigned file, byte for byte, and is the last
//! field of the file. Pure: keys are passed as the text of their files.

use std::fmt;

use crate::model::crypto::hex::encode_hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// The start of the field. A quotation mark within a string is escaped, so no string of the plan can contain it.
const SIGNATURE_FIELD_PREFIX: &str = ",\"signature\":";

/// The end of the file, signed or not.
const PLAN_SUFFIX: &str = "}\n";

/// The DER prefix of the 32 bytes of an Ed25519 public key.
const SPKI_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// Why a file contains no usable key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SignatureKeyError {
    /// The file contains no such key.
    #[error("it holds no {wanted} in PEM form")]
    Missing {
        /// The kind of key that was expected.
        wanted: &'static str,
    },
    /// The private key is encrypted with a password.
    #[error("its private key is encrypted, and this is not a terminal that could ask for the password")]
    Encrypted,
    /// The key is not for Ed25519.
    #[error("its key is not an Ed25519 key")]
    WrongType,
}

/// Why the signature of a plan is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SignatureError {
    /// The plan has no signature.
    #[error("the plan is not signed")]
    Unsigned,
    /// The signature has an unknown format.
    #[error("the plan's signature has a form that this version does not read")]
    UnknownFormat,
    /// The plan is signed with an untrusted key.
    #[error("the plan is signed by the key {found}, and not by {trusted}")]
    UntrustedKey {
        /// The key of the signature.
        found: KeyId,
        /// The trusted keys, joined with `or`.
        trusted: String,
    },
    /// The plan is not what was signed.
    #[error("the plan, or its signature, was changed after it was signed by the key {key}")]
    Changed {
        /// The key that the signature names.
        key: KeyId,
    },
}

/// Id of a signing key: `sha256:` and the SHA-256 of its DER-encoded public key in hexadecimal, the digits that
/// `openssl pkey -pubout -outform DER | sha256sum` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyId(String);

impl KeyId {
    fn from_public_key(public: &[u8]) -> Self {
        let digest = Sha256::new().chain_update(SPKI_PREFIX).chain_update(public).finalize();
        Self(format!("sha256:{}", encode_hex(&digest)))
    }

    /// Returns whether the string has the format of a key id: it was read from a file that may contain
    /// anything, and is printed.
    fn is_one(&self) -> bool {
        let digits = self.0.strip_prefix("sha256:").unwrap_or_default();
        digits.len() == 64 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The signature field of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignatureField {
    algorithm: SignatureAlgorithm,
    key: KeyId,
    value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SignatureAlgorithm {
    Ed25519,
}

/// A key that signs plans. Not `Debug`: it is a secret.
pub struct SigningKey {
    pair: Ed25519KeyPair,
    id: KeyId,
}

impl SigningKey {
    /// Reads a private key: PKCS#8 in PEM, as `openssl genpkey -algorithm ed25519` writes it.
    ///
    /// # Errors
    /// When the file contains no private key, an encrypted one, or one of another algorithm.
    pub fn parse(pem: &[u8]) -> Result<Self, SignatureKeyError> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem).map_err(|_| missing_private(pem))?;
        // openssl writes PKCS#8 without the public key, which the checked constructor refuses.
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.secret_pkcs8_der());
        let pair = pair.map_err(|_| SignatureKeyError::WrongType)?;
        Ok(Self { id: KeyId::from_public_key(pair.public_key().as_ref()), pair })
    }

    /// Returns the id of the key.
    #[must_use]
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// Returns the content of a saved plan with a signature over `text`, which must be
    /// exactly what `SavedPlan::to_text` returns.
    ///
    /// # Errors
    /// When the signature cannot be written as JSON.
    pub fn sign(&self, text: &str) -> Result<String, serde_json::Error> {
        let value = STANDARD.encode(self.pair.sign(text.as_bytes()));
        let field = SignatureField { algorithm: SignatureAlgorithm::Ed25519, key: self.id.clone(), value };
        // The field is inserted before the closing brace, so the signed file is still one JSON object.
        let open = text.strip_suffix(PLAN_SUFFIX).unwrap_or(text);
        Ok(format!("{open}{SIGNATURE_FIELD_PREFIX}{}{PLAN_SUFFIX}", serde_json::to_string(&field)?))
    }
}

fn missing_private(pem: &[u8]) -> SignatureKeyError {
    let encrypted = b"ENCRYPTED PRIVATE KEY";
    if pem.windows(encrypted.len()).any(|window| window == encrypted) {
        SignatureKeyError::Encrypted
    } else {
        SignatureKeyError::Missing { wanted: "private key (PKCS#8)" }
    }
}

/// The public keys whose signatures are accepted.
#[derive(Debug, Clone)]
pub struct VerifyingKeys(Vec<(KeyId, [u8; 32])>);

impl VerifyingKeys {
    /// Parses public keys: one or more in PEM, as `openssl pkey -pubout` writes them. Several keys allow a
    /// rotation while plans signed by either are in use.
    ///
    /// # Errors
    /// When the file contains no public key, or one of another algorithm.
    pub fn parse(pem: &[u8]) -> Result<Self, SignatureKeyError> {
        let missing = || SignatureKeyError::Missing { wanted: "public key" };
        let mut keys = Vec::new();
        for der in SubjectPublicKeyInfoDer::pem_slice_iter(pem) {
            let der = der.map_err(|_| missing())?;
            let public = der.as_ref().strip_prefix(&SPKI_PREFIX[..]).ok_or(SignatureKeyError::WrongType)?;
            let public: [u8; 32] = public.try_into().map_err(|_| SignatureKeyError::WrongType)?;
            keys.push((KeyId::from_public_key(&public), public));
        }
        if keys.is_empty() { Err(missing()) } else { Ok(Self(keys)) }
    }

    /// Checks the signature over every byte of a saved plan, and returns the id of the key that signed it.
    ///
    /// # Errors
    /// When it is unsigned, signed with a key that is not trusted, or not what was signed.
    pub fn verify_signature(&self, signed: &SignedPlanText) -> Result<KeyId, SignatureError> {
        let field = match &signed.field {
            ParsedSignature::Field(field) => field,
            ParsedSignature::Absent => return Err(SignatureError::Unsigned),
            ParsedSignature::Unreadable => return Err(SignatureError::UnknownFormat),
        };
        let key = field.key.clone();
        let Some((_, public)) = self.0.iter().find(|(id, _)| *id == key) else {
            let trusted: Vec<_> = self.0.iter().map(|(id, _)| id.to_string()).collect();
            return Err(SignatureError::UntrustedKey { found: key, trusted: trusted.join(" or ") });
        };
        let value = STANDARD.decode(&field.value).unwrap_or_default();
        let verified = UnparsedPublicKey::new(&ED25519, public).verify(signed.text.as_bytes(), &value);
        verified.map(|()| key.clone()).map_err(|_| SignatureError::Changed { key })
    }
}

/// The content of a saved plan, separated from its signature.
#[derive(Debug, Clone)]
pub struct SignedPlanText {
    /// What was signed: the plan alone. The whole content where there is no readable signature.
    pub text: String,
    field: ParsedSignature,
}

#[derive(Debug, Clone)]
enum ParsedSignature {
    Absent,
    Unreadable,
    Field(SignatureField),
}

impl SignedPlanText {
    /// Separates a file's content into the plan and its signature. Nothing is verified: an absent or unreadable
    /// signature is reported by [`VerifyingKeys::verify_signature`].
    #[must_use]
    pub fn parse(file: &str) -> Self {
        let whole = |field| Self { text: file.to_owned(), field };
        let Some((open, rest)) = file.rsplit_once(SIGNATURE_FIELD_PREFIX) else {
            return whole(ParsedSignature::Absent);
        };
        let Some(field) = rest.strip_suffix(PLAN_SUFFIX) else { return whole(ParsedSignature::Unreadable) };
        match serde_json::from_str::<SignatureField>(field) {
            // A field in any other notation was not written by `sign`.
            Ok(read) if read.key.is_one() && serde_json::to_string(&read).is_ok_and(|own| own == field) => {
                Self { text: format!("{open}{PLAN_SUFFIX}"), field: ParsedSignature::Field(read) }
            }
            _ => whole(ParsedSignature::Unreadable),
        }
    }

    /// Returns the key that the signature claims; nothing is verified. `None` if the signature is absent or unreadable.
    #[must_use]
    pub fn signer(&self) -> Option<&KeyId> {
        match &self.field {
            ParsedSignature::Field(field) => Some(&field.key),
            ParsedSignature::Absent | ParsedSignature::Unreadable => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURVE: &str = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE+G3Mh9PFmTFyDp4gotbOrHo07rFL\n\
        qjJQykl6ANq2D0gJdH/J+JTi304PXp51c91sBj5lgj3paarIG6+ywF5ZTA==\n-----END PUBLIC KEY-----\n";

    const PLAN: &str = "{\"schema\":1,\"plan\":{\"steps\":[\",\\\"signature\\\":{}}\"]}}\n";

    /// A key of these bytes, in the form in which openssl writes one.
    fn private(seed: u8) -> String {
        let mut der = vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
        der.extend([seed; 32]);
        pem("PRIVATE", &der)
    }

    fn public(seed: u8) -> String {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        pem("PUBLIC", &[&SPKI_PREFIX, pair.public_key().as_ref()].concat())
    }

    fn pem(kind: &str, der: &[u8]) -> String {
        format!("-----BEGIN {kind} KEY-----\n{}\n-----END {kind} KEY-----\n", STANDARD.encode(der))
    }

    fn signed() -> (String, KeyId) {
        let key = SigningKey::parse(private(1).as_bytes()).unwrap();
        (key.sign(PLAN).unwrap(), key.id().clone())
    }

    fn checked(file: &str, public: &str) -> Result<KeyId, SignatureError> {
        VerifyingKeys::parse(public.as_bytes()).unwrap().verify_signature(&SignedPlanText::parse(file))
    }

    #[test]
    fn a_signature_names_its_key_and_leaves_the_plan_unchanged() {
        let (file, key) = signed();
        let parts = SignedPlanText::parse(&file);
        assert_eq!((parts.text.as_str(), parts.signer()), (PLAN, Some(&key)));
        assert_eq!(checked(&file, &public(1)).as_ref(), Ok(&key));
        assert_eq!(checked(&file, &(public(2) + &public(1))).as_ref(), Ok(&key), "one of several");
        assert_eq!(SignedPlanText::parse(PLAN).signer(), None);
    }

    #[test]
    fn every_changed_byte_invalidates_the_signature() {
        let (file, _) = signed();
        for at in 0..file.len() {
            for bit in 0..7 {
                let mut bytes = file.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                let text = String::from_utf8(bytes).unwrap();
                assert!(checked(&text, &public(1)).is_err(), "bit {bit} of byte {at}: {text}");
            }
        }
        for (more, at) in [(" ", 0), (" ", 1), ("\n", file.len()), (" ", file.len() - 2)] {
            let mut text = file.clone();
            text.insert_str(at, more);
            assert!(checked(&text, &public(1)).is_err(), "{text}");
        }
    }

    #[test]
    fn each_signature_error_has_its_own_message() {
        let (file, key) = signed();
        let why = |file: &str, seed| checked(file, &public(seed)).unwrap_err().to_string();
        assert_eq!(why(PLAN, 1), "the plan is not signed");
        assert!(
            why(&file, 2).starts_with(&format!("the plan is signed by the key {key}, and not by sha256:"))
        );
        assert!(why(&file.replacen('1', "2", 1), 1).contains("was changed after it was signed"));
        let form = "the plan's signature has a form that this version does not read";
        assert_eq!(why(&file.replace("ed25519", "slh-dsa"), 1), form);
        assert_eq!(why(&file.replace("sha256:", "\\u001b[2J"), 1), form, "it is shown to people");
    }

    #[test]
    fn an_unusable_key_is_described_by_its_type() {
        let no_private = |pem: &str| SigningKey::parse(pem.as_bytes()).err().unwrap().to_string();
        let no_public = |pem: &str| VerifyingKeys::parse(pem.as_bytes()).unwrap_err().to_string();
        assert_eq!(no_private(&public(1)), "it holds no private key (PKCS#8) in PEM form");
        assert_eq!(no_public(&private(1)), "it holds no public key in PEM form");
        assert_eq!(no_public("canary"), "it holds no public key in PEM form");
        assert_eq!(no_public(CURVE), "its key is not an Ed25519 key");
        let encrypted = private(1).replace("PRIVATE", "ENCRYPTED PRIVATE");
        assert_eq!(no_private(&encrypted).split(',').next(), Some("its private key is encrypted"));
    }
}
