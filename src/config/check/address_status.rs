//! Status of the addresses that declarations name: how many resources each one denotes, or why it denotes none. In:
//! an address of the stack. Out: its `AddressStatus`, and the diagnostics for addresses that do not fit the blocks.

use foldhash::HashMap;

use crate::config::codes;
use crate::config::resolve::context::block_index::{BlockExpansion, ModuleExpansion};
use crate::config::resolve::context::evaluator::ConfigContext;
use crate::config::resolve::context::resolved::ResolvedUnits;
use crate::config::stack::model::Resource;
use crate::config::stack::module_path::module_of;
use crate::model::address::{Address, Name};
use crate::model::diagnostic::{Diagnostic, MAX_CANDIDATES, nearest_name};
use crate::model::source::Span;

/// How many resources an address denotes, or why it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) enum AddressStatus {
    /// It is one resource, or one instance of a module.
    One,
    /// It is a block with `for_each`.
    Many,
    /// A block is written, but this environment leaves it out.
    Absent,
    /// The block has a problem that was already reported, or its resource is missing because of one.
    Broken,
    /// No block declares it.
    Undeclared,
}

/// Index of all resources by address, for queries about the status of an address.
pub(in crate::config) struct AddressIndex<'g, 'd> {
    pub(in crate::config) context: &'g ConfigContext<'d>,
    units: &'g ResolvedUnits<'d>,
    resources: HashMap<&'g Address, &'g Resource>,
}

impl<'g, 'd> AddressIndex<'g, 'd> {
    /// Builds the index over the resources of all units.
    pub(in crate::config) fn new(context: &'g ConfigContext<'d>, units: &'g ResolvedUnits<'d>) -> Self {
        let resources = units.resources.iter().map(|resource| (&resource.address, resource)).collect();
        Self { context, units, resources }
    }

    /// Returns the status of the address of a resource, of a whole block or of a module.
    pub(in crate::config) fn address_status(&self, address: &Address) -> AddressStatus {
        let (module, rest) = module_of(&self.context.registry, address.as_str());
        if rest.is_empty() {
            return self.module_status(module);
        }
        if self.resources.contains_key(address) {
            return AddressStatus::One;
        }
        let index = &self.units.blocks;
        let mut end = Some(address.as_str().len());
        // Everything inside a block that is left out is left out with it.
        while let Some(at) = end {
            let part = &address.as_str()[..at];
            if let Some(block) = index.get(part) {
                let rest = address.as_str()[at..].trim_start_matches('.');
                let key = rest.split('.').next().unwrap_or_default();
                return match &block.state {
                    BlockExpansion::Broken => AddressStatus::Broken,
                    BlockExpansion::Absent => AddressStatus::Absent,
                    BlockExpansion::Keyed(_) if rest.is_empty() => AddressStatus::Many,
                    BlockExpansion::Keyed(keys) if matches!(keys.get(key), Some(None)) => {
                        AddressStatus::Absent
                    }
                    // A single resource that is not in the index was dropped, which only an exceeded budget does.
                    BlockExpansion::One if rest.is_empty() => AddressStatus::Broken,
                    BlockExpansion::One | BlockExpansion::Keyed(_) => AddressStatus::Undeclared,
                };
            }
            end = part.rfind('.');
        }
        match self.module_status(module) {
            left_out @ (AddressStatus::Absent | AddressStatus::Broken) => left_out,
            _ => AddressStatus::Undeclared,
        }
    }

    /// Returns the status of the address of a `use` block or of one of its instances.
    fn module_status(&self, place: &str) -> AddressStatus {
        let mut end = Some(place.len());
        while let Some(at) = end {
            let part = &place[..at];
            if let Some(used) = self.units.module_expansions.get(part) {
                let rest = place[at..].trim_start_matches('.');
                let key = rest.split('.').next().unwrap_or_default();
                return match used {
                    ModuleExpansion::Broken => AddressStatus::Broken,
                    ModuleExpansion::Absent => AddressStatus::Absent,
                    ModuleExpansion::One if rest.is_empty() => AddressStatus::One,
                    ModuleExpansion::Keyed(_) if rest.is_empty() => AddressStatus::Many,
                    ModuleExpansion::Keyed(keys) => match keys.get(key) {
                        Some(true) if rest == key => AddressStatus::One,
                        Some(false) => AddressStatus::Absent,
                        _ => AddressStatus::Undeclared,
                    },
                    ModuleExpansion::One => AddressStatus::Undeclared,
                };
            }
            end = part.rfind('.');
        }
        AddressStatus::Undeclared
    }

    /// Returns whether the part before the last `.` is a block or a module call with `for_each`, so that the last
    /// part is a key, whether or not that key exists.
    pub(in crate::config) fn is_key(&self, address: &Address) -> bool {
        let Some((above, _)) = address.as_str().rsplit_once('.') else { return false };
        let block = self.units.blocks.get(above);
        block.is_some_and(|block| matches!(block.state, BlockExpansion::Keyed(_)))
            || matches!(self.units.module_expansions.get(above), Some(ModuleExpansion::Keyed(_)))
    }

    /// Reports an address that no block declares. `help` says what to do if no similar address is meant.
    pub(in crate::config) fn report_undeclared(&self, address: &Address, span: Span, help: &str) {
        let (_, rest) = module_of(&self.context.registry, address.as_str());
        let is_module = rest.is_empty();
        let mut known: Vec<&str> = if is_module {
            self.units.module_expansions.keys().map(Name::as_str).take(MAX_CANDIDATES).collect()
        } else {
            // In the order of their addresses: the same names are searched in every run.
            self.units.resources.iter().map(|known| known.address.as_str()).take(MAX_CANDIDATES).collect()
        };
        known.sort_unstable();
        let what = if is_module { "`use` block" } else { "block" };
        let problem = Diagnostic::error(codes::NOT_DECLARED, "a declaration names an unknown address")
            .with_label(span, "")
            .detail(format!("No {what} declares {address}."));
        let kinds = self.context.registry.top_level().map(|kind| kind.name);
        let near_kind = nearest_name(address.root(), kinds).filter(|_| is_module);
        let misspelt = near_kind.zip(address.as_str().split_once('.'));
        self.context.problems.push(match (nearest_name(address.as_str(), known), misspelt) {
            (Some(near), _) => problem.help(format!("did you mean `{near}`? If not, {help}")),
            (None, Some((kind, (_, rest)))) => problem.help(format!("did you mean `{kind}.{rest}`?")),
            (None, None) => problem.help(help),
        });
    }

    /// Reports an address that a declaration moves away or removes, although its block still exists.
    pub(in crate::config) fn still_declared(&self, address: &Address, span: Span, help: &str) {
        let (module, rest) = module_of(&self.context.registry, address.as_str());
        let what = if rest.is_empty() { "`use` block" } else { "block" };
        let problem = Diagnostic::error(codes::STILL_DECLARED, "an address still has its block")
            .with_label(span, "")
            .detail(format!("The entry moves or removes {address}, but a {what} still declares it."))
            .help(help);
        let call = || self.context.problems.call_span(module).filter(|_| rest.is_empty());
        self.context.problems.push(match (self.units.blocks.of_instance(address), call()) {
            (Some(block), _) => {
                problem.with_label(block.entry.key_span, format!("{} is declared here", block.address))
            }
            (None, Some(call)) => problem.with_label(call, format!("{address} is used here")),
            (None, None) => problem,
        });
    }
}

/// Returns the problem of two declarations about one address; `text` says in which way they contradict each other.
pub(in crate::config) fn duplicate_declaration(text: &str, first: Span, again: Span) -> Diagnostic {
    Diagnostic::error(codes::SAID_TWICE, "two declarations contradict each other")
        .with_label(again, "declared again here")
        .with_label(first, "declared here first")
        .detail(text)
        .help("keep one of the two")
}
