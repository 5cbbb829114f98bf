//! The secrets that a stack is resolved with once more, by the paths of their variables.

use std::collections::BTreeMap;

use crate::model::address::Name;
use crate::model::secret::Secret;

/// Secrets by the paths of their variables.
pub(in crate::cli) type SecretValues = BTreeMap<Name, Secret>;
