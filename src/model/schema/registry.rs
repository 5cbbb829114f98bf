//! `Registry`: all kinds and catalog tables that the program supports, and the relation of parent and child kinds.
//!
//! Functions receive a registry as an argument, so that tests can use one with invented kinds.

use super::{Exposure, Kind, Provenance};

/// The structure of a catalog table's response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatalogShape {
    /// A list response: `{data: [record…], total}`.
    List,
    /// `{pricing: record}`: one record without a name.
    Single,
    /// One record without a name under this key, next to a list.
    Beside(&'static str),
}

/// One public catalog table of names and prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogTable {
    /// Its name, as used in `Type::Catalog` and `PriceTerm`.
    pub name: &'static str,
    /// The path of the request that reads it.
    pub path: &'static str,
    /// The structure of the response.
    pub shape: CatalogShape,
    /// The field of a record with the name that configurations use.
    pub named_by: &'static str,
    /// The kind whose objects these records are: a reference to such an object means its record, and its
    /// id belongs to the account. `None` where the records are the service's own.
    pub of_kind: Option<&'static str>,
    /// Records are versions: `1.31` matches any `1.31.x`, and a new object gets the newest.
    pub versions: bool,
    /// It is used only for validation: where the service does not have it, nothing is checked.
    pub advisory: bool,
    /// Whether the specification documents it or the contract assumes it.
    pub provenance: Provenance,
}

impl CatalogTable {
    /// Returns a table whose records are named by their `slug`, assumed by the contract unless set otherwise.
    #[must_use]
    pub const fn list(name: &'static str, path: &'static str) -> Self {
        let provenance = Provenance::Assumed;
        Self {
            name,
            path,
            shape: CatalogShape::List,
            named_by: "slug",
            of_kind: None,
            versions: false,
            advisory: false,
            provenance,
        }
    }

    /// Returns a table of one record without a name, under `pricing` in the response.
    #[must_use]
    pub const fn single(name: &'static str, path: &'static str) -> Self {
        let mut table = Self::list(name, path);
        table.shape = CatalogShape::Single;
        table
    }

    /// Declares that its only record is under a key of another table's response.
    #[must_use]
    pub const fn beside(mut self, key: &'static str) -> Self {
        self.shape = CatalogShape::Beside(key);
        self
    }

    /// Declares that its records are versions and sets the field that names them. The user may write a prefix of one.
    #[must_use]
    pub const fn versions(mut self, field: &'static str) -> Self {
        self.named_by = field;
        self.versions = true;
        self
    }

    /// Declares that it is used only for validation, and sets the field that names its records.
    #[must_use]
    pub const fn advisory(mut self, field: &'static str) -> Self {
        self.named_by = field;
        self.advisory = true;
        self
    }

    /// Sets the kind whose objects its records are.
    #[must_use]
    pub const fn of_kind(mut self, kind: &'static str) -> Self {
        self.of_kind = Some(kind);
        self
    }

    /// Marks its shape as documented by the specification.
    #[must_use]
    pub const fn documented(mut self) -> Self {
        self.provenance = Provenance::Documented;
        self
    }
}

/// The kinds and the catalog tables of the service.
#[derive(Debug, Clone, Copy)]
pub struct Registry {
    /// All kinds, sorted by name.
    pub kinds: &'static [&'static Kind],
    /// All catalog tables, sorted by name.
    pub catalogs: &'static [CatalogTable],
}

impl Registry {
    /// Returns the kind with this name; `None` where there is none, as for a ledger of a newer version.
    #[must_use]
    pub fn kind(&self, name: &str) -> Option<&'static Kind> {
        self.kinds.iter().copied().find(|kind| kind.name == name)
    }

    /// Returns the catalog table with this name; `None` where there is none.
    #[must_use]
    pub fn catalog(&self, name: &str) -> Option<&'static CatalogTable> {
        self.catalogs.iter().find(|table| table.name == name)
    }

    /// Returns the kinds of the children that blocks of the kind `parent` may contain, sorted by name; none for
    /// a kind without children.
    pub fn children<'a>(&'a self, parent: &'a str) -> impl Iterator<Item = &'static Kind> + 'a {
        let is_child = move |kind: &&'static Kind| kind.child_of().is_some_and(|(of, _)| of == parent);
        self.kinds.iter().copied().filter(is_child)
    }

    /// Returns the kind of the children under the key `collection` of the kind `parent`; `None` where that key
    /// is not a collection.
    #[must_use]
    pub fn child(&self, parent: &str, collection: &str) -> Option<&'static Kind> {
        self.kinds.iter().copied().find(|kind| kind.child_of() == Some((parent, collection)))
    }

    /// Returns the kinds that a configuration declares at the top level, sorted by name: all except children.
    pub fn top_level(&self) -> impl Iterator<Item = &'static Kind> {
        self.kinds.iter().copied().filter(|kind| kind.child_of().is_none())
    }
}

/// Returns the exposure with a code, and the kinds that have it; `None` if there is none.
#[must_use]
pub fn find_exposure(registry: &Registry, code: &str) -> Option<(&'static Exposure, Vec<&'static str>)> {
    let has = |kind: &&'static Kind| kind.exposures.iter().any(|one| one.code == code);
    let kinds: Vec<_> = registry.kinds.iter().copied().filter(has).collect();
    let exposure = kinds.first()?.exposures.iter().find(|one| one.code == code)?;
    Some((exposure, kinds.iter().map(|kind| kind.name).collect()))
}

/// Returns whether a name is the code of a built-in policy.
#[must_use]
pub fn is_exposure_code(registry: &Registry, name: &str) -> bool {
    find_exposure(registry, name).is_some()
}
