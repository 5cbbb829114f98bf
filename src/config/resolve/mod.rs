//! Resolution of names and expressions: one recursive phase over the stack and its modules. In: merged blocks. Out:
//! resources whose attributes are values, or expressions that wait for other resources. It is one phase because a
//! `for_each` may read a local, a local an output of a module, and that output needs the module's resources.

pub(super) mod blocks;
pub(super) mod context;
pub(super) mod declarations;
pub(super) mod expressions;
pub(super) mod external_references;
pub mod late_binding;
pub(super) mod names;
pub(super) mod references;
pub(super) mod stack;
pub(super) mod template;
pub(super) mod text;
pub(super) mod unit;
pub(super) mod untyped_values;
pub(super) mod values;
