//! Resolution of names and expressions: one recursive phase over the stack and its modules. In: merged
//! blocks. Out: resources whose attributes are values, or expressions that wait for other resources.

pub(super) mod block_index;
pub(super) mod blocks;
pub(super) mod evaluator;
pub(super) mod expressions;
pub mod late_binding;
pub(super) mod references;
pub(super) mod scope;
pub(super) mod template;
pub(super) mod unit;
pub(super) mod values;
