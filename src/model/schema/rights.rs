//! `Rights`: what the key of a request must be allowed to do. The specification does not show which right an operation
//! needs (Authentication, 6), so all of it is assumed: a right that the service does not list is not known, and no
//! request is refused because of it.

/// The rights that requests about the objects of a kind need, by the service's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// Where a key must have them.
    pub scope: RightScope,
    /// The right to read an object: an apply reads each object that it creates or changes.
    pub read: &'static str,
    /// The right to create an object.
    pub create: &'static str,
    /// The right to change an object.
    pub update: &'static str,
    /// The right to delete an object.
    pub delete: &'static str,
    /// What an object hands on: the caller must have those rights itself. `None` if it hands on nothing.
    pub hands_on: Option<HandedOn>,
}

/// The objects for which a role of the key counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RightScope {
    /// Objects of the account: the account role of the key.
    Account,
    /// Objects of a project: the role of the key in that project; for a key without access to particular projects, its
    /// account role.
    Project,
    /// A project itself, or its members: either of the two roles. A new project is one of the account.
    ProjectItself,
}

/// The rights that an object hands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandedOn {
    /// Those of the role that this attribute names.
    Role(&'static str),
    /// Those that this attribute lists.
    Listed(&'static str),
}

impl Rights {
    /// Returns rights of which one covers every change.
    #[must_use]
    pub const fn new(scope: RightScope, read: &'static str, write: &'static str) -> Self {
        Self { scope, read, create: write, update: write, delete: write, hands_on: None }
    }

    /// Returns the rights with what objects hand on.
    #[must_use]
    pub const fn handing_on(self, what: HandedOn) -> Self {
        Self { hands_on: Some(what), ..self }
    }
}
