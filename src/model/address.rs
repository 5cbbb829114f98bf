//! `Address`: the dotted path that names a resource in files, expressions, plans and flags.
//!
//! In: strings of users and of ledgers, which `parse` validates; names of the configuration, which are validated
//! before. Out: an address that needs no quotes in a shell and no escaping in a message.

pub mod name_map;

use std::borrow::Borrow;
use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use thiserror::Error;

/// A short immutable string that is cheap to clone: names, keys, attribute names.
pub type Name = SmolStr;

/// Values by name or address, in the order in which they were inserted.
pub type OrderedMap<K, V> = IndexMap<K, V, foldhash::fast::RandomState>;

/// The dotted path of a resource: `vm.web`, `vm.web.a`, `database.main.users.reporting`.
///
/// The address of a resource in a module begins with the module's name: `shop_eu.vm.web.a`, or `shop.eu.vm.web` for the
/// instance `eu` of the module `shop`. Segments are `[a-z0-9_-]+`, so an address needs no quotes in a shell.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("pattern" = r"^[a-z0-9_-]+(\.[a-z0-9_-]+)+$")))]
#[serde(try_from = "SmolStr", into = "SmolStr")]
pub struct Address(SmolStr);

/// The reason why a string is not a valid address. The message shows at most 128 of its characters.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is not an address: {reason}")]
pub struct AddressError {
    text: String,
    reason: &'static str,
}

impl Address {
    /// Returns the address of the resource `name` of the kind `kind`. The caller passes legal
    /// segments: nothing is checked.
    #[must_use]
    pub fn new(kind: &str, name: &str) -> Self {
        Self(smol_str::format_smolstr!("{kind}.{name}"))
    }

    /// Returns the address of an instance, or of an entry in a child collection, below this address. `segment` is not
    /// checked and may be a dotted path, such as `users.reporting`.
    #[must_use]
    pub fn join(&self, segment: &str) -> Self {
        Self(smol_str::format_smolstr!("{}.{segment}", self.0))
    }

    /// Returns the address in a module: `shop_eu` and `vm.web` give `shop_eu.vm.web`. An empty module
    /// is the stack itself.
    #[must_use]
    pub fn in_module(self, module: &str) -> Self {
        if module.is_empty() { self } else { Self(smol_str::format_smolstr!("{module}.{}", self.0)) }
    }

    /// Returns the path as the module itself would write it; `None` for a resource outside the module. For the stack
    /// itself, an empty `module`, it is the whole path.
    #[must_use]
    pub fn strip_module(&self, module: &str) -> Option<&str> {
        if module.is_empty() { Some(&self.0) } else { self.0.strip_prefix(module)?.strip_prefix('.') }
    }

    /// Parses a dotted path of at least two legal segments.
    ///
    /// # Errors
    /// When there are fewer than two segments, or one is empty or has an illegal character.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let fail = |reason| AddressError { text: text.chars().take(128).collect(), reason };
        if !text.contains('.') {
            return Err(fail("it has the form KIND.NAME"));
        }
        if text.split('.').any(|segment| !is_legal_segment(segment)) {
            return Err(fail("each part holds a-z, 0-9, _ and - only, and is not empty"));
        }
        Ok(Self(SmolStr::new(text)))
    }

    /// Parses a path prefix that covers several resources: a module's name alone, or any address. A path of one segment
    /// must not be serialized: reading it back requires two.
    ///
    /// # Errors
    /// When a part is empty or has an illegal character.
    pub fn parse_path(text: &str) -> Result<Self, AddressError> {
        if is_legal_segment(text) { Ok(Self(SmolStr::new(text))) } else { Self::parse(text) }
    }

    /// Returns the whole path, with dots between its segments.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the parts of the path, first to last.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('.')
    }

    /// Returns the first part: the kind that the path starts with (the parent's kind for a child), or
    /// the module that it is in.
    #[must_use]
    pub fn root(&self) -> &str {
        self.0.split('.').next().unwrap_or_default()
    }

    /// Returns the last part: the resource's name, or the instance's key.
    #[must_use]
    pub fn last(&self) -> &str {
        self.0.rsplit('.').next().unwrap_or_default()
    }

    /// Returns whether this address is `other`, or an instance or child below it.
    #[must_use]
    pub fn is_within(&self, other: &Address) -> bool {
        is_in(&self.0, &other.0)
    }
}

/// Returns whether a dotted path equals the prefix `place` or is below it.
#[must_use]
pub fn is_in(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns the prefixes of a dotted path, outermost first, ending with the path itself; none for an empty path.
pub fn path_prefixes(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    let ends = path.match_indices('.').map(|(end, _)| end).chain([path.len()]);
    ends.filter(|end| *end > 0).map(|end| &path[..end])
}

/// Returns whether a string is a legal segment of an address: `[a-z0-9_-]+`.
#[must_use]
pub fn is_legal_segment(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Borrow<str> for Address {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl TryFrom<SmolStr> for Address {
    type Error = AddressError;
    fn try_from(text: SmolStr) -> Result<Self, AddressError> {
        Self::parse(&text)
    }
}

impl From<Address> for SmolStr {
    fn from(address: Address) -> Self {
        address.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed_and_related() {
        let web = Address::parse("vm.web").unwrap();
        let a = web.join("a");
        assert_eq!(a.as_str(), "vm.web.a");
        assert_eq!((a.root(), a.last()), ("vm", "a"));
        assert!(a.is_within(&web) && web.is_within(&web));
        assert!(!Address::new("vm", "web2").is_within(&web));
    }

    #[test]
    fn a_module_is_a_prefix_of_an_address() {
        let web = Address::new("vm", "web").in_module("shop.eu");
        assert_eq!((web.as_str(), web.strip_module("shop.eu")), ("shop.eu.vm.web", Some("vm.web")));
        assert_eq!((web.strip_module(""), web.strip_module("shop.e")), (Some("shop.eu.vm.web"), None));
        assert_eq!(Address::new("vm", "web").in_module(""), Address::new("vm", "web"));
    }

    #[test]
    fn a_whole_module_is_a_valid_path() {
        let module = Address::parse_path("shop").unwrap();
        assert!(Address::new("vm", "web").in_module("shop").is_within(&module));
        assert!(!Address::new("vm", "web").in_module("shop2").is_within(&module));
        assert_eq!(Address::parse_path("vm.web"), Address::parse("vm.web"));
        for text in ["", "Shop", "a b", "shop."] {
            assert!(Address::parse_path(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_with_shell_characters_is_rejected() {
        for text in ["vm", "vm.", ".web", "vm.We", "vm.a b", "vm.$x", "vm..a"] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
