//! `ProjectScope`: which live objects belong to a stack: those in its projects. Objects in other projects
//! of the account are left to other stacks. In: a plan and the ledger; out: the scope of each object, for
//! lists of unmanaged objects.

use std::collections::BTreeSet;

use crate::ledger::state::ledger::Ledger;
use crate::model::address::Name;
use crate::model::live::snapshot::{Object, ObjectKey, Snapshot};
use crate::model::schema::{KindScope, PROJECT, Registry};
use crate::plan::model::change::Plan;
use crate::plan::model::step::{Operation, TargetProject};

/// The projects that a stack uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectScope {
    projects: BTreeSet<Name>,
}

/// The location of an object relative to a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectScope {
    /// In a project that the stack uses.
    InScope,
    /// In the account, and in no project.
    Account,
    /// In another project, whose id is given if known, or itself another project; also a child whose
    /// parent was not read.
    OtherProject(Option<Name>),
}

impl ProjectScope {
    /// Returns the projects of a stack: its own, those that it owns, and those in which it has or creates objects.
    #[must_use]
    pub fn from_plan(plan: &Plan, ledger: &Ledger) -> Self {
        let mut projects: BTreeSet<Name> = plan.base.project.iter().cloned().collect();
        for entry in ledger.entries.values() {
            let all = || entry.current.iter().chain(&entry.deposed);
            projects.extend(all().filter_map(|owned| owned.project.clone()));
            projects.extend(all().filter(|_| entry.kind == PROJECT).map(|owned| owned.id.clone()));
        }
        projects.extend(plan.steps.iter().filter_map(|step| match &step.operation {
            Operation::Create { project: TargetProject::Id(id), .. } => Some(id.clone()),
            _ => None,
        }));
        Self { projects }
    }

    /// Returns the stack's project if it uses exactly one; `None` if it uses none or several.
    #[must_use]
    pub fn only_project(&self) -> Option<&Name> {
        self.projects.first().filter(|_| self.projects.len() == 1)
    }

    /// Returns the location of an object. An object without a project, or of a kind that this version does not
    /// know, counts as the stack's.
    #[must_use]
    pub fn side_of(&self, registry: Registry, snapshot: &Snapshot, object: &Object) -> ObjectScope {
        let inside = |project: &Name| {
            let here = self.projects.contains(project);
            if here { ObjectScope::InScope } else { ObjectScope::OtherProject(Some(project.clone())) }
        };
        let Some(kind) = registry.kind(&object.kind) else { return ObjectScope::InScope };
        match (kind.scope, &object.project, kind.child_of().zip(object.parent.as_ref())) {
            (KindScope::Account, ..) if kind.name == PROJECT => inside(&object.id),
            (KindScope::Account, ..) => ObjectScope::Account,
            (_, _, Some(((of, _), parent))) => {
                let key = ObjectKey { kind: Name::new_static(of), parent: None, id: parent.clone() };
                let parent = snapshot.objects.get(&key);
                parent.map_or(ObjectScope::OtherProject(None), |parent| {
                    self.side_of(registry, snapshot, parent)
                })
            }
            (_, Some(project), None) => inside(project),
            (_, None, None) => ObjectScope::InScope,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::REGISTRY;

    fn object(kind: &str, id: &str, project: Option<&str>, parent: Option<&str>) -> Object {
        Object {
            kind: kind.into(),
            id: id.into(),
            project: project.map(Into::into),
            parent: parent.map(Into::into),
            created_at: None,
            attributes: crate::model::address::name_map::NameMap::new(),
            detailed: false,
        }
    }

    #[test]
    fn objects_in_other_projects_are_out_of_scope() {
        let reach = ProjectScope { projects: ["ours".into(), "also".into()].into() };
        let all = [
            object("project", "ours", None, None),
            object("project", "theirs", None, None),
            object("vm", "1", Some("ours"), None),
            object("vm", "2", Some("theirs"), None),
            object("vm", "3", None, None),
            object("ssh_key", "4", None, None),
            object("database", "5", Some("also"), None),
            object("database", "6", Some("theirs"), None),
            object("database_user", "7", None, Some("5")),
            object("database_user", "8", None, Some("6")),
            object("database_user", "9", None, Some("nowhere")),
        ];
        let mut snapshot = Snapshot::default();
        snapshot.objects.extend(all.iter().map(|object| (object.key(), object.clone())));
        let theirs = || ObjectScope::OtherProject(Some("theirs".into()));
        let sides: Vec<ObjectScope> =
            all.iter().map(|object| reach.side_of(REGISTRY, &snapshot, object)).collect();
        assert_eq!(
            sides,
            [
                ObjectScope::InScope,
                theirs(),
                ObjectScope::InScope,
                theirs(),
                ObjectScope::InScope,
                ObjectScope::Account,
                ObjectScope::InScope,
                theirs(),
                ObjectScope::InScope,
                theirs(),
                ObjectScope::OtherProject(None),
            ]
        );
        assert_eq!(reach.only_project(), None);
    }
}
