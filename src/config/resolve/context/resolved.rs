//! What the resolution has produced: the blocks, resources and declarations of the stack and of the module
//! instances that are resolved so far, and at the end the resolved stack.

use std::collections::BTreeMap;

use super::block_index::{BlockIndex, ModuleExpansion};
use super::data_index::DataSources;
use super::evaluator::{ConfigContext, Evaluator};
use super::scope::ModuleScope;
use crate::config::stack::declarations::{MovedDeclaration, RemovedDeclaration, TransferDeclaration};
use crate::config::stack::model::{AttributeSetting, Output, Recipients, Resource};
use crate::model::address::{Address, Name};
use crate::model::expression::Expression;

/// Results of the units that are resolved so far. Only `resolve_unit` and the functions that it calls for a module
/// instance add to it; every other step reads it through an `Evaluator`.
#[derive(Default)]
pub(in crate::config) struct ResolvedUnits<'d> {
    /// Blocks that are declared so far, of all units.
    pub(in crate::config) blocks: BlockIndex<'d>,
    /// Data lookups and other stacks that are declared so far.
    pub(in crate::config) data: DataSources,
    /// Resources, in the order of their resolution; `resolve_config` sorts them by address at the end.
    pub(in crate::config) resources: Vec<Resource>,
    /// Instances of each `use` block, by the block's address prefix.
    pub(in crate::config) module_expansions: BTreeMap<Name, ModuleExpansion>,
    /// Address prefixes of the modules that this environment leaves out.
    pub(in crate::config) absent_modules: Vec<Name>,
    /// `moved` entries of the stack and of its modules.
    pub(in crate::config) moved: Vec<MovedDeclaration>,
    /// `moved` entries of the stack that name another stack.
    pub(in crate::config) transfers: Vec<TransferDeclaration>,
    /// `removed` entries of the stack and of its modules.
    pub(in crate::config) removed: Vec<RemovedDeclaration>,
    /// Number of module instances so far, nested ones included.
    pub(in crate::config) instances: usize,
    /// Whether the limit of module instances was exceeded and reported.
    pub(in crate::config) exhausted: bool,
}

impl<'d> ResolvedUnits<'d> {
    /// Returns the evaluator of expressions in a unit, over everything that is declared so far.
    pub(in crate::config) const fn evaluator<'e>(
        &'e self,
        context: &'e ConfigContext<'d>,
        scope: &'e ModuleScope,
    ) -> Evaluator<'e, 'd> {
        Evaluator { context, scope, blocks: &self.blocks, data: &self.data }
    }
}

/// Output of the phase `resolve`.
pub(in crate::config) struct ResolvedConfig<'d> {
    /// Names in scope in the stack itself.
    pub(in crate::config) scope: ModuleScope,
    /// Blocks, resources (sorted by address) and declarations of all units.
    pub(in crate::config) units: ResolvedUnits<'d>,
    /// The only project of the stack, to which resources without `project` belong; `None` if there is none, or several.
    pub(in crate::config) project: Option<Address>,
    /// Outputs of the stack; one with a problem is absent.
    pub(in crate::config) outputs: BTreeMap<Name, Output>,
    /// Recipients to whom the ledger's secrets are encrypted; `None` without a valid `secrets` block.
    pub(in crate::config) recipients: Option<Recipients>,
    /// The requested expression (`stead eval`); `None` if none was requested, or after a problem that was reported.
    pub(in crate::config) evaluated: Option<Expression>,
    /// Variables and locals that have a value, by their paths: `vars.size`. The value may be secret,
    /// or unknown until apply.
    pub(in crate::config) named: BTreeMap<Name, AttributeSetting>,
}
