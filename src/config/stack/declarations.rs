//! The declarations of a stack about its past: `moved`, `removed` and `import`.

use crate::model::address::{Address, Name};
use crate::model::schema::Kind;
use crate::model::source::Span;

/// What becomes of addresses and objects besides what blocks say. All of it fits the blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declarations {
    /// New addresses of what has another one in the ledger.
    pub moved: Vec<MovedDeclaration>,
    /// Live objects that become a resource's. Those whose `when` is false are left out.
    pub imports: Vec<ImportDeclaration>,
    /// What becomes of objects whose block is gone.
    pub removed: Vec<RemovedDeclaration>,
}

/// A new address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedDeclaration {
    /// The address that the ledger may still have; or the place of a module, which everything in it leaves.
    pub from: Address,
    /// The next one: a resource, a module, a whole block with `for_each`, or the `from` of another entry.
    pub to: Address,
    /// The kind of both; `None`: they are places of modules.
    pub kind: Option<&'static Kind>,
    /// `to` is a whole block with `for_each`: each instance goes to the one with its key.
    pub whole: bool,
    /// The instance of a module that says it; empty for the stack itself.
    pub module: Name,
    /// The entry.
    pub span: Span,
}

impl MovedDeclaration {
    /// Tells whether what stands at an address is not there yet: `shop` to `shop.a` leaves `shop.a.vm.web` alone.
    #[must_use]
    pub fn applies_to(&self, at: &Address) -> bool {
        !(self.to.is_within(&self.from) && at.is_within(&self.to))
    }
}

/// An object to take over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportDeclaration {
    /// The resource that it becomes.
    pub to: Address,
    /// Its id; for a kind without ids, what it is known by.
    pub id: Name,
    /// The entry.
    pub span: Span,
}

/// What becomes of objects whose block is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedDeclaration {
    /// A resource, a whole block with `for_each`, or a module.
    pub from: Address,
    /// What becomes of its objects.
    pub action: RemovedAction,
    /// The instance of a module that says it; empty for the stack itself.
    pub module: Name,
    /// The entry.
    pub span: Span,
}

/// What becomes of an object whose block is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovedAction {
    /// It stays live.
    Forget,
    /// It goes, whatever `on_remove` said.
    Delete,
}
