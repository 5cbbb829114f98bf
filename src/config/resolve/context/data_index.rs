//! Data lookups and other stacks that the configuration declares.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::config::stack::model::{DataLookup, OtherStack};
use crate::model::address::{Address, Name};
use crate::model::source::Span;

/// All data lookups and remote stack outputs.
#[derive(Default)]
pub(in crate::config) struct DataSources {
    /// Objects that are found by their attributes.
    pub(in crate::config) data: BTreeMap<Address, DataLookup>,
    /// Other stacks, by name.
    pub(in crate::config) stacks: BTreeMap<Name, OtherStack>,
    /// Referenced outputs of other stacks, each with the span of its first use.
    pub(in crate::config) reads: RefCell<BTreeMap<Name, BTreeMap<Name, Span>>>,
}

impl DataSources {
    /// Returns the lookups, and the other stacks with the outputs that are read.
    pub(in crate::config) fn into_parts(
        self,
    ) -> (BTreeMap<Address, DataLookup>, BTreeMap<Name, OtherStack>) {
        let mut reads = self.reads.into_inner();
        let with = |(name, other): (Name, OtherStack)| {
            let reads = reads.remove(&name).unwrap_or_default();
            (name, OtherStack { reads, ..other })
        };
        (self.data, self.stacks.into_iter().map(with).collect())
    }
}
