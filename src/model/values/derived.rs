//! `DerivedSecret`: a value computed from secrets. In: the digest of the expression, the secrets that it uses, and its
//! result. Out: an id that changes when the expression or an input changes, and the value itself for the
//! one request that needs it.
//!
//! Invariant: nothing that leaves the process depends on the value, except its fingerprint in the ledger. Otherwise a
//! plan of `${vars.s == 'guess' ? 'y' : 'n'}` would show by comparison whether the guess is right.

use std::collections::BTreeMap;
use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use smol_str::{SmolStr, format_smolstr};

use super::secret::{
    COMPUTED_FORM, DERIVED_PLACEHOLDER, FingerprintKey, Secret, SecretMarker, is_same_fingerprint,
};
use super::value::Value;
use crate::model::crypto::hex::encode_hex;

/// The digest of an expression in canonical form: locals and module inputs inlined, known parts replaced by their
/// values, secrets replaced by their names.
///
/// It is a hash tree: an expression has the same digest whether a part of it is written inline or in a local.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpressionDigest([u8; 32]);

impl ExpressionDigest {
    /// Returns the digest of a node: its tag, its own strings, and the digests of its children. Each string is
    /// hashed with its length, so that two nodes cannot have the same input.
    #[must_use]
    pub fn node(tag: &str, texts: &[&str], parts: &[Self]) -> Self {
        let mut hash = Sha256::new();
        for text in std::iter::once(&tag).chain(texts) {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        }
        hash.update((parts.len() as u64).to_le_bytes());
        for part in parts {
            hash.update(part.0);
        }
        Self(hash.finalize().into())
    }
}

impl fmt::Display for ExpressionDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encode_hex(&self.0))
    }
}

/// The canonical form of an expression over secrets: its digest and the secrets that it uses, by name.
#[derive(Clone)]
pub struct Derivation {
    expression: ExpressionDigest,
    inputs: BTreeMap<SmolStr, Secret>,
}

impl Derivation {
    /// Returns the derivation of a known value; `None` when a part of it is unknown.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        let scalar = |tag: &str| Self::node(tag, &[&value.to_string()], []);
        Some(match value {
            Value::Null => Self::node("null", &[], []),
            Value::Bool(_) => scalar("bool"),
            Value::Integer(_) => scalar("integer"),
            Value::Decimal(number) => Self::node("decimal", &[&number.normalize().to_string()], []),
            Value::Text(text) => Self::node("text", &[text], []),
            Value::List(items) => {
                let parts: Option<Vec<_>> = items.iter().map(Self::from_value).collect();
                Self::node("list", &[], parts?)
            }
            Value::Map(map) => {
                let parts: Option<Vec<_>> = map.values().map(Self::from_value).collect();
                let keys: Vec<&str> = map.keys().map(SmolStr::as_str).collect();
                Self::node("map", &keys, parts?)
            }
            Value::Secret(secret) => Self::from_secret(secret),
            Value::Unknown(_) => return None,
        })
    }

    /// Returns the digest of a text that is written in the configuration, which whoever can compare digests can read there;
    /// `None` for every other secret.
    #[must_use]
    pub fn literal_digest(secret: &Secret) -> Option<ExpressionDigest> {
        let is_literal =
            matches!(secret, Secret::Plain(_)) && secret.name().is_none() && secret.origin().is_none();
        is_literal.then(|| Self::from_secret(secret).expression)
    }

    /// Returns the derivation of a node from the derivations of its children; its inputs are those of all children.
    #[must_use]
    pub fn node(tag: &str, texts: &[&str], parts: impl IntoIterator<Item = Self>) -> Self {
        let mut inputs = BTreeMap::new();
        let mut digests = Vec::new();
        for part in parts {
            digests.push(part.expression);
            inputs.extend(part.inputs);
        }
        Self { expression: ExpressionDigest::node(tag, texts, &digests), inputs }
    }

    fn from_secret(secret: &Secret) -> Self {
        match secret {
            Secret::Derived(derived) => match &derived.form {
                DerivedForm::InMemory { derivation, .. } => derivation.clone(),
                DerivedForm::Stored { id, .. } => Self::node("sealed", &[id], []),
            },
            secret => match (secret.name(), secret) {
                (Some(name), _) => Self {
                    expression: ExpressionDigest::node("secret", &[name], &[]),
                    inputs: [(name.clone(), secret.as_input())].into(),
                },
                // A literal of the configuration: a user who can compare digests can already read it in the file.
                (None, Secret::Plain(_)) => {
                    Self::node("literal", &[secret.expose().unwrap_or_default()], [])
                }
                (None, Secret::Fingerprint(print)) => {
                    Self::node("sealed", &[print.as_deref().unwrap_or_default()], [])
                }
                (None, _) => Self {
                    expression: ExpressionDigest::node("awaited", &[], &[]),
                    inputs: [(SmolStr::default(), secret.clone())].into(),
                },
            },
        }
    }

    /// Returns the digest of the canonical expression.
    #[must_use]
    pub fn expression_digest(&self) -> ExpressionDigest {
        self.expression
    }

    /// Returns the id of the expression over these inputs: 64 hexadecimal digits.
    ///
    /// With `FingerprintKey::NONE` the id covers the expression and the names of its inputs only.
    fn id(&self, key: &FingerprintKey, print: &dyn Fn(&SmolStr, &Secret) -> SmolStr) -> SmolStr {
        let mut bytes = b"stead derived value 1".to_vec();
        bytes.extend(self.expression.0);
        let keyed = !key.is_none();
        for (name, input) in &self.inputs {
            let print = if keyed { print(name, input) } else { SmolStr::default() };
            for part in [name, &print] {
                bytes.extend((part.len() as u64).to_le_bytes());
                bytes.extend(part.as_bytes());
            }
        }
        if keyed { key.mac(&bytes).into() } else { encode_hex(&Sha256::digest(&bytes)).into() }
    }
}

/// A value that was computed from secrets.
#[derive(Clone)]
pub struct DerivedSecret {
    form: DerivedForm,
}

#[derive(Clone)]
enum DerivedForm {
    /// In memory, with its value or a substitute for it.
    InMemory { derivation: Derivation, content: DerivedContent },
    /// In a plan or a ledger, without the value.
    Stored {
        id: SmolStr,
        /// The fingerprint of the value itself; in a ledger only.
        fingerprint: Option<SmolStr>,
        /// In a ledger the fingerprints of all inputs; in a plan the inputs that do not exist yet.
        inputs: BTreeMap<SmolStr, SmolStr>,
    },
}

#[derive(Clone)]
enum DerivedContent {
    Text(SecretString),
    Other(Box<Value>),
    /// The result for substitute inputs: at least one input has no text in this run (deferred or withheld).
    Placeholder(Box<Value>),
}

impl DerivedSecret {
    /// Wraps the result of an expression.
    #[must_use]
    pub fn new(derivation: Derivation, value: Value) -> Self {
        let value = reveal_secrets(value);
        let content = match value {
            value if derivation.inputs.values().any(Secret::is_deferred) => {
                DerivedContent::Placeholder(Box::new(value))
            }
            Value::Text(text) => DerivedContent::Text(SecretString::from(text.to_string())),
            other => DerivedContent::Other(Box::new(other)),
        };
        Self { form: DerivedForm::InMemory { derivation, content } }
    }

    /// Returns the substitute for an expression that cannot be computed in this run: not even whether it is a string
    /// or a list is known.
    #[must_use]
    pub fn unavailable(derivation: Derivation) -> Self {
        let content = DerivedContent::Placeholder(Box::new(Value::text(DERIVED_PLACEHOLDER)));
        Self { form: DerivedForm::InMemory { derivation, content } }
    }

    /// Returns a copy that has the identity of the value and not the value itself.
    pub(in crate::model) fn without_value(&self) -> Self {
        match &self.form {
            DerivedForm::InMemory { derivation, .. } => {
                let content = DerivedContent::Placeholder(Box::default());
                Self { form: DerivedForm::InMemory { derivation: derivation.clone(), content } }
            }
            DerivedForm::Stored { .. } => self.clone(),
        }
    }

    /// Returns whether even the type of its value is unknown.
    pub(in crate::model) fn is_undecided(&self) -> bool {
        matches!(&self.form, DerivedForm::InMemory { content: DerivedContent::Placeholder(value), .. } if value.as_text() == Some(DERIVED_PLACEHOLDER))
    }

    /// Returns the value that expressions compute with: the value itself or its substitute. `None` in a
    /// plan or a ledger.
    #[must_use]
    pub fn to_computable(&self) -> Option<Value> {
        match &self.form {
            DerivedForm::InMemory { content: DerivedContent::Placeholder(value), .. } => {
                Some(value.as_ref().clone())
            }
            _ => self.expose(),
        }
    }

    pub(in crate::model) const fn read(
        id: SmolStr,
        fingerprint: Option<SmolStr>,
        inputs: BTreeMap<SmolStr, SmolStr>,
    ) -> Self {
        Self { form: DerivedForm::Stored { id, fingerprint, inputs } }
    }

    /// Returns the plaintext value, for the one request that needs it; `None` when only a substitute or the stored
    /// form is available in this run.
    #[must_use]
    pub fn expose(&self) -> Option<Value> {
        match &self.form {
            DerivedForm::InMemory { content: DerivedContent::Text(text), .. } => {
                Some(Value::text(text.expose_secret()))
            }
            DerivedForm::InMemory { content: DerivedContent::Other(value), .. } => {
                Some(value.as_ref().clone())
            }
            DerivedForm::InMemory { content: DerivedContent::Placeholder(_), .. }
            | DerivedForm::Stored { .. } => None,
        }
    }

    /// Returns a value that is not a string, or the substitute of any value; `None` for a string and
    /// for the stored form.
    pub(in crate::model) fn non_text_value(&self) -> Option<&Value> {
        match &self.form {
            DerivedForm::InMemory {
                content: DerivedContent::Other(value) | DerivedContent::Placeholder(value),
                ..
            } => Some(value),
            _ => None,
        }
    }

    /// Returns the plaintext of a value that is a string; `None` for any other value, a substitute and the stored form.
    pub(in crate::model) fn text(&self) -> Option<&str> {
        match &self.form {
            DerivedForm::InMemory { content: DerivedContent::Text(text), .. } => Some(text.expose_secret()),
            _ => None,
        }
    }

    /// Returns the same expression with a converted value, such as the form that an attribute requires. The stored form
    /// stays as it is.
    ///
    /// # Errors
    /// The error of `convert`.
    pub fn try_map<E>(self, convert: impl FnOnce(Value) -> Result<Value, E>) -> Result<Self, E> {
        match (self.to_computable(), self.form) {
            (Some(value), DerivedForm::InMemory { derivation, .. }) => {
                Ok(Self::new(derivation, convert(value)?))
            }
            (_, form) => Ok(Self { form }),
        }
    }

    /// Returns whether only a substitute for the value is in memory, because an input is deferred or withheld.
    #[must_use]
    pub const fn is_deferred(&self) -> bool {
        matches!(self.form, DerivedForm::InMemory { content: DerivedContent::Placeholder(_), .. })
    }

    /// Returns the names of the secrets that it is computed from; none for a stored one.
    pub fn input_names(&self) -> impl Iterator<Item = &SmolStr> {
        self.inputs().map(|(name, _)| name)
    }

    pub(in crate::model) fn inputs(&self) -> impl Iterator<Item = (&SmolStr, &Secret)> {
        let open = match &self.form {
            DerivedForm::InMemory { derivation, .. } => Some(&derivation.inputs),
            DerivedForm::Stored { .. } => None,
        };
        open.into_iter().flatten()
    }

    /// Returns the fingerprints of the inputs that a ledger recorded, by variable name; from a plan only those
    /// that did not exist. `None` while the value is still in memory.
    #[must_use]
    pub const fn recorded_inputs(&self) -> Option<&BTreeMap<SmolStr, SmolStr>> {
        match &self.form {
            DerivedForm::Stored { inputs, .. } => Some(inputs),
            DerivedForm::InMemory { .. } => None,
        }
    }

    /// Returns the same value with the recorded fingerprint of each input that is withheld from this run. An input
    /// without a recorded fingerprint stays withheld; the stored form stays as it is.
    #[must_use]
    pub fn with_inputs(mut self, recorded: &dyn Fn(&str) -> Option<SmolStr>) -> Self {
        if let DerivedForm::InMemory { derivation, .. } = &mut self.form {
            for (name, input) in &mut derivation.inputs {
                if let Some(print) = recorded(name).filter(|_| input.is_withheld()) {
                    *input = Secret::Fingerprint(Some(print));
                }
            }
        }
        self
    }

    /// Returns the id under a key: 64 hexadecimal digits over the expression and the fingerprints of its inputs.
    /// The stored form returns the recorded id, whatever the key.
    #[must_use]
    pub fn id(&self, key: &FingerprintKey) -> SmolStr {
        match &self.form {
            DerivedForm::Stored { id, .. } => id.clone(),
            DerivedForm::InMemory { derivation, .. } => {
                derivation.id(key, &|_, input| input_fingerprint(input, key))
            }
        }
    }

    /// Returns the recorded id in hexadecimal; `None` while the value is still in memory.
    #[must_use]
    pub const fn sealed_id(&self) -> Option<&SmolStr> {
        match &self.form {
            DerivedForm::Stored { id, .. } => Some(id),
            DerivedForm::InMemory { .. } => None,
        }
    }

    /// Returns whether a plan has it, and one of the secrets that it is computed from does not exist yet: it has no value that
    /// could be compared.
    #[must_use]
    pub fn awaits_inputs(&self) -> bool {
        matches!(&self.form, DerivedForm::Stored { fingerprint: None, inputs, .. } if !inputs.is_empty())
    }

    /// Returns the fingerprint of the value itself; `None` without a key, in a plan, and while the
    /// value is not available.
    pub(in crate::model) fn fingerprint(&self, key: &FingerprintKey) -> Option<SmolStr> {
        match &self.form {
            DerivedForm::Stored { fingerprint, .. } => fingerprint.clone(),
            DerivedForm::InMemory { .. } => Secret::new(comparable_text(&self.expose()?)).fingerprint(key),
        }
    }

    /// Returns the form for a plan: its id and the names of the inputs that do not exist yet.
    #[must_use]
    pub fn to_planned(&self, key: &FingerprintKey) -> Self {
        let inputs = match &self.form {
            DerivedForm::InMemory { derivation, .. } => {
                let missing = derivation.inputs.iter().filter(|(_, input)| input.is_deferred());
                missing.map(|(name, input)| (name.clone(), input_fingerprint(input, key))).collect()
            }
            DerivedForm::Stored { .. } => BTreeMap::new(),
        };
        Self::read(self.id(key), None, inputs)
    }

    /// Returns the form for the ledger, with the fingerprints of the value and its inputs.
    pub(in crate::model) fn to_recorded(&self, key: &FingerprintKey) -> Self {
        match &self.form {
            DerivedForm::Stored { .. } => self.clone(),
            DerivedForm::InMemory { derivation, .. } => {
                let prints = derivation.inputs.iter();
                let prints = prints.filter(|(_, input)| !input.is_deferred());
                let prints = prints.map(|(name, input)| (name.clone(), input_fingerprint(input, key)));
                Self::read(self.id(key), self.fingerprint(key), prints.collect())
            }
        }
    }

    /// Returns whether this is the planned form of `open`: the same expression over the same inputs. Inputs that did
    /// not exist when the plan was made are compared by their names and lengths.
    #[must_use]
    pub fn is_seal_of(&self, open: &Self, key: &FingerprintKey) -> bool {
        match (&self.form, &open.form) {
            (DerivedForm::Stored { id, inputs, .. }, DerivedForm::InMemory { derivation, .. }) => {
                let planned = |name: &SmolStr, input: &Secret| {
                    inputs.get(name).cloned().unwrap_or_else(|| input_fingerprint(input, key))
                };
                *id == derivation.id(key, &planned)
            }
            _ => self == open,
        }
    }

    pub(in crate::model) fn to_marker(&self) -> SecretMarker {
        match &self.form {
            DerivedForm::InMemory { .. } => SecretMarker::default(),
            DerivedForm::Stored { id, fingerprint, inputs } => SecretMarker {
                secret: true,
                fingerprint: fingerprint.clone(),
                derived: Some(id.clone()),
                form: fingerprint.as_ref().map(|_| COMPUTED_FORM),
                inputs: inputs.clone(),
            },
        }
    }

    /// Returns whether a live value equals the last applied one, by the fingerprint in the ledger; `None` when the
    /// ledger has no fingerprint. A live value without a fingerprint is not equal.
    #[must_use]
    pub fn is_live(&self, live: &Secret, key: &FingerprintKey) -> Option<bool> {
        let recorded = self.fingerprint(key)?;
        Some(live.fingerprint(key).is_some_and(|live| is_same_fingerprint(&live, &recorded)))
    }
}

impl PartialEq for DerivedSecret {
    /// Compares the expressions and the inputs of two computed values; their results do not matter.
    fn eq(&self, other: &Self) -> bool {
        match (&self.form, &other.form) {
            (DerivedForm::Stored { id: a, .. }, DerivedForm::Stored { id: b, .. }) => a == b,
            (DerivedForm::InMemory { derivation: a, .. }, DerivedForm::InMemory { derivation: b, .. }) => {
                a.expression == b.expression && a.inputs == b.inputs
            }
            _ => false,
        }
    }
}

/// Returns the string that fingerprints are computed from. It has no type: the number 7 and the string `7` give the
/// same one, because the service may return either.
#[must_use]
pub fn comparable_text(value: &Value) -> String {
    match value {
        // Serializing a value into memory does not fail: its keys are strings.
        Value::List(_) | Value::Map(_) => serde_json::to_string(value).unwrap_or_default(),
        value => value.to_string(),
    }
}

/// Returns the identity of an input: its fingerprint, or the length of an input that does not exist yet.
fn input_fingerprint(input: &Secret, key: &FingerprintKey) -> SmolStr {
    match (input.computable_text().filter(|_| input.is_deferred()), input.origin()) {
        (Some(stand_in), _) => format_smolstr!("awaited:{}", stand_in.len()),
        (None, Some(origin)) => origin.id(key),
        (None, None) => input.fingerprint(key).unwrap_or_default(),
    }
}

/// Returns a value in which each secret is replaced by its text or by its substitute.
fn reveal_secrets(value: Value) -> Value {
    match value {
        Value::Secret(Secret::Derived(derived)) => derived.to_computable().unwrap_or_default(),
        Value::Secret(secret) => Value::text(secret.computable_text().unwrap_or_default()),
        Value::List(items) => Value::List(items.into_iter().map(reveal_secrets).collect()),
        Value::Map(map) => {
            Value::Map(map.into_iter().map(|(key, part)| (key, reveal_secrets(part))).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
