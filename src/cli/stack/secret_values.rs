//! The secrets that a stack is resolved with once more, by the paths of their variables.

use std::collections::BTreeMap;

use crate::model::address::Name;
use crate::model::values::secret::Secret;

/// Values of secrets, by variable path.
pub(in crate::cli) type SecretValues = BTreeMap<Name, Secret>;
