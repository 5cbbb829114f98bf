//! Data lookups and other stacks that the configuration declares. In: `data` and `stacks` blocks of all units.
//! Out: what must be read before planning. Only outputs that an expression reads are recorded, so that no
//! other one is required.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::config::stack::model::{DataLookup, OtherStack};
use crate::model::address::{Address, Name};
use crate::model::source::Span;

/// Data lookups and other stacks of all units.
#[derive(Default)]
pub(in crate::config) struct DataSources {
    /// Lookups of objects by their attributes, by the address of the lookup: `data.vpc.main`.
    pub(in crate::config) data: BTreeMap<Address, DataLookup>,
    /// Other stacks, by name.
    pub(in crate::config) stacks: BTreeMap<Name, OtherStack>,
    /// Outputs that expressions read, by stack and output, each with the span of its first use. Expressions are
    /// resolved through a shared `Evaluator`, so the record has interior mutability.
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
