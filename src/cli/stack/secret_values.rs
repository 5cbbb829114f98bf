//! The values of deferred secrets, with which a stack is resolved again.

use std::collections::BTreeMap;

use crate::model::address::Name;
use crate::model::values::secret::Secret;

/// Values of secrets, by variable path without `vars.`.
pub(in crate::cli) type SecretValues = BTreeMap<Name, Secret>;
