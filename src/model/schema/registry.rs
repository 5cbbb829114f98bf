//! `Registry`: all kinds and catalog tables that a program works with.

use super::{Kind, Provenance};

/// How a catalog table's answer is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatalogShape {
    /// `{data: [record…], total}`.
    List,
    /// `{pricing: record}`: one record without a name.
    Single,
}

/// One public table of names and prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogTable {
    /// Its name, as `Type::Catalog` and `PriceTerm` use it.
    pub name: &'static str,
    /// Where it is read.
    pub path: &'static str,
    /// How the answer is built.
    pub shape: CatalogShape,
    /// Said by the specification, or assumed by the contract.
    pub provenance: Provenance,
}

/// Kinds in alphabetical order, and catalog tables.
#[derive(Debug, Clone, Copy)]
pub struct Registry {
    /// All kinds, sorted by name.
    pub kinds: &'static [&'static Kind],
    /// All catalog tables, sorted by name.
    pub catalogs: &'static [CatalogTable],
}

impl Registry {
    /// Returns a kind by name.
    #[must_use]
    pub fn kind(&self, name: &str) -> Option<&'static Kind> {
        self.kinds.iter().copied().find(|kind| kind.name == name)
    }

    /// Returns a catalog table by name.
    #[must_use]
    pub fn catalog(&self, name: &str) -> Option<&'static CatalogTable> {
        self.catalogs.iter().find(|table| table.name == name)
    }

    /// Returns the kinds that stand inside the blocks of a kind.
    pub fn children<'a>(&'a self, parent: &'a str) -> impl Iterator<Item = &'static Kind> + 'a {
        let is_child = move |kind: &&'static Kind| kind.child_of().is_some_and(|(of, _)| of == parent);
        self.kinds.iter().copied().filter(is_child)
    }

    /// Returns the kind of the children in one collection of a kind.
    #[must_use]
    pub fn child(&self, parent: &str, collection: &str) -> Option<&'static Kind> {
        self.kinds.iter().copied().find(|kind| kind.child_of() == Some((parent, collection)))
    }

    /// Returns the kinds that a configuration writes at the top level.
    pub fn top_level(&self) -> impl Iterator<Item = &'static Kind> {
        self.kinds.iter().copied().filter(|kind| kind.child_of().is_none())
    }
}
