//! The declarations of a stack about its past: `moved`, `removed` and `import`, as data. In: entries that the
//! check phase has verified against the blocks; the plan phase compares them with the ledger.

use crate::model::address::{Address, Name};
use crate::model::schema::Kind;
use crate::model::source::Span;

/// Declarations about the past of addresses and objects, checked against the blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declarations {
    /// New addresses for objects that have another one in the ledger.
    pub moved: Vec<MovedDeclaration>,
    /// Live objects to adopt. Entries whose `when` is false are left out.
    pub imports: Vec<ImportDeclaration>,
    /// Decisions about objects whose block was removed.
    pub removed: Vec<RemovedDeclaration>,
    /// Moves between this stack and another one.
    pub transfers: Vec<TransferDeclaration>,
}

/// New address of a resource or a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedDeclaration {
    /// Address that the ledger may still have. That of a module covers everything inside it.
    pub from: Address,
    /// The new address: a resource, a module, a whole block with `for_each`, or the `from` of another entry.
    pub to: Address,
    /// Kind of both addresses; `None` if they are modules.
    pub kind: Option<&'static Kind>,
    /// Whether `to` is a whole block with `for_each`: each instance moves to the one with its key.
    pub whole: bool,
    /// Module instance that contains the entry; empty for the stack itself.
    pub module: Name,
    /// Span of the entry in its file.
    pub span: Span,
}

impl MovedDeclaration {
    /// Returns whether a move applies to an address that is not yet at its target: `shop` to `shop.a` does
    /// not apply to `shop.a.vm.web`.
    #[must_use]
    pub fn applies_to(&self, at: &Address) -> bool {
        !(self.to.is_within(&self.from) && at.is_within(&self.to))
    }
}

/// Direction of a move between two stacks, seen from the stack that declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransferDirection {
    /// The other stack gets the resources: `{ from: vm.web, to: vm.web, stack: ../web }`.
    Outgoing,
    /// This stack gets the resources: `{ from: vm.web, from_stack: ../shop, to: vm.web }`.
    Incoming,
}

/// Move of a resource, of a whole block with `for_each` or of a module to another stack, or from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferDeclaration {
    /// Which of the two stacks gets the resources.
    pub direction: TransferDirection,
    /// Address in the stack that has the resources.
    pub from: Address,
    /// Address in the stack that gets them. What is in `from` keeps the rest of its address.
    pub to: Address,
    /// Kind of both addresses; `None` if they are modules.
    pub kind: Option<&'static Kind>,
    /// Directory of the other stack, from the root within which configuration is shared.
    pub directory: Name,
    /// Directory as the file writes it.
    pub shown: Name,
    /// Span of the entry in its file.
    pub span: Span,
}

impl TransferDeclaration {
    /// Returns the address in the stack that declares the move.
    #[must_use]
    pub const fn own_address(&self) -> &Address {
        match self.direction {
            TransferDirection::Outgoing => &self.from,
            TransferDirection::Incoming => &self.to,
        }
    }

    /// Returns whether an entry of the other stack is about resources that this one is about.
    #[must_use]
    pub fn is_about_same(&self, other: &Self) -> bool {
        self.direction != other.direction
            && (self.from.is_within(&other.from) || other.from.is_within(&self.from))
    }

    /// Returns whether this entry and one of the other stack give the resources that both are about the same addresses.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        let wider =
            |wide: &Self, narrow: &Self| wide.new_address(&narrow.from).as_ref() == Some(&narrow.to);
        wider(self, other) || wider(other, self)
    }

    /// Returns the new address of something in `from`; `None` for another address.
    #[must_use]
    pub fn new_address(&self, at: &Address) -> Option<Address> {
        let rest = at.as_str().strip_prefix(self.from.as_str())?;
        match rest.strip_prefix('.') {
            Some(rest) => Some(self.to.join(rest)),
            None => rest.is_empty().then(|| self.to.clone()),
        }
    }
}

/// Live object to adopt into the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportDeclaration {
    /// Address of the resource that adopts the object.
    pub to: Address,
    /// Id of the object; for a kind without ids, its identifying attribute.
    pub id: Name,
    /// Span of the entry in its file.
    pub span: Span,
}

/// Decision about objects whose block was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedDeclaration {
    /// A resource, a whole block with `for_each`, or a module.
    pub from: Address,
    /// Whether its objects are forgotten or deleted.
    pub action: RemovedAction,
    /// Module instance that contains the entry; empty for the stack itself.
    pub module: Name,
    /// Span of the entry in its file.
    pub span: Span,
}

/// Action for an object whose block was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovedAction {
    /// Forget it: the object stays live, but leaves the ledger.
    Forget,
    /// Delete it, whatever `on_remove` declared.
    Delete,
}
