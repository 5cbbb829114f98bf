//! `KeyAccess`: what an API key may do, as far as the service shows it. What it does not show is not known, which is
//! neither allowed nor refused.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::model::address::Name;

/// The rights of a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyAccess {
    /// When the key expires; `None` for a key that never expires, or whose expiry is not known.
    pub expires_at: Option<Timestamp>,
    /// The rights that the service lists: any other right is not known.
    pub listed: BTreeSet<Name>,
    /// The rights of the key's account role; `None` if they are not known.
    pub account: Option<BTreeSet<Name>>,
    /// The projects that the key has access to, by id, with its rights there (`None` if they are not known). An empty map:
    /// the account role counts in all projects. `None`: not known.
    pub projects: Option<BTreeMap<Name, Option<BTreeSet<Name>>>>,
    /// The rights of each role, by the role's id.
    pub roles: BTreeMap<Name, BTreeSet<Name>>,
}

/// Whether a key has a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RightStatus {
    /// It has the right.
    Held,
    /// The service does not show whether it has the right.
    Unknown,
    /// It does not have the right.
    Missing,
}

/// The place in which a right is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RightPlace<'a> {
    /// The account.
    Account,
    /// An object of the project with this id; `None` for a project that does not exist yet.
    InProject(Option<&'a Name>),
    /// The project with this id itself; `None` for one that does not exist yet.
    Project(Option<&'a Name>),
}

impl KeyAccess {
    /// Returns whether the key has a right in a place.
    #[must_use]
    pub fn status(&self, right: &str, place: RightPlace<'_>) -> RightStatus {
        if !self.listed.contains(right) {
            return RightStatus::Unknown;
        }
        let held = |rights: Option<&BTreeSet<Name>>| match rights {
            None => RightStatus::Unknown,
            Some(rights) if rights.contains(right) => RightStatus::Held,
            Some(_) => RightStatus::Missing,
        };
        let account = || held(self.account.as_ref());
        let in_project = |id: Option<&Name>| match &self.projects {
            None => RightStatus::Unknown,
            Some(projects) if projects.is_empty() => account(),
            Some(projects) => match id.and_then(|id| projects.get(id)) {
                Some(rights) => held(rights.as_ref()),
                None => RightStatus::Missing,
            },
        };
        match place {
            RightPlace::Account => account(),
            RightPlace::InProject(id) => in_project(id),
            RightPlace::Project(id) => account().min(in_project(id)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(names: &[&str]) -> BTreeSet<Name> {
        names.iter().map(|name| Name::from(*name)).collect()
    }

    /// The projects of a key with its rights in each; `None` where they are not shown.
    type ShownProjects<'p> = Option<&'p [(&'p str, Option<&'p [&'p str]>)]>;

    fn key(projects: ShownProjects<'_>) -> KeyAccess {
        KeyAccess {
            listed: rights(&["compute:write", "members:write"]),
            account: Some(rights(&["members:write"])),
            projects: projects
                .map(|all| all.iter().map(|(id, held)| (Name::from(*id), held.map(rights))).collect()),
            ..KeyAccess::default()
        }
    }

    #[test]
    fn the_role_in_a_project_counts_where_the_key_has_one() {
        let (p, q) = (Name::from("p"), Name::from("q"));
        let inside = |id| RightPlace::InProject(Some(id));
        let member = key(Some(&[("p", Some(&["compute:write"]))]));
        assert_eq!(member.status("compute:write", inside(&p)), RightStatus::Held);
        assert_eq!(member.status("compute:write", inside(&q)), RightStatus::Missing);
        assert_eq!(member.status("compute:write", RightPlace::InProject(None)), RightStatus::Missing);
        assert_eq!(member.status("members:write", inside(&p)), RightStatus::Missing);
        assert_eq!(member.status("members:write", RightPlace::Project(Some(&q))), RightStatus::Held);
        assert_eq!(member.status("compute:write", RightPlace::Account), RightStatus::Missing);
        let account = key(Some(&[]));
        assert_eq!(account.status("members:write", inside(&q)), RightStatus::Held);
        assert_eq!(account.status("compute:write", inside(&q)), RightStatus::Missing);
    }

    #[test]
    fn what_the_service_does_not_show_is_not_known() {
        let p = Name::from("p");
        let hidden = key(Some(&[("p", None)]));
        assert_eq!(hidden.status("compute:write", RightPlace::InProject(Some(&p))), RightStatus::Unknown);
        assert_eq!(hidden.status("apps:write", RightPlace::Account), RightStatus::Unknown, "not listed");
        assert_eq!(key(None).status("compute:write", RightPlace::InProject(None)), RightStatus::Unknown);
        let nothing = KeyAccess::default();
        assert_eq!(nothing.status("compute:write", RightPlace::Account), RightStatus::Unknown);
    }
}
