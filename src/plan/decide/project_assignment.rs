//! `ProjectAssignment`: the project of each project-scoped resource. In: the stack's `project` block, the
//! `--project` option and the account's default project; out: a target for each new object. Invariant: an
//! object is never moved between projects; it is replaced.

use crate::model::address::Name;
use crate::model::diagnostic::blocker_code;
use crate::model::evaluate::evaluate_expression;
use crate::model::expression::{AttributeLookup, Expression, Reference};
use crate::model::live::snapshot::Snapshot;
use crate::model::schema::{KindScope, PROJECT};
use crate::model::values::value::Value;
use crate::plan::blockers::Blockers;
use crate::plan::diff::planned_values::PlannedValues;
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::step::TargetProject;

/// The default project of resources that do not declare one, and the id and name of each live project.
pub(in crate::plan) struct ProjectAssignment {
    default: TargetProject,
    known: Vec<(Name, Name)>,
}

impl ProjectAssignment {
    /// Determines the stack's project: its one block, the command line's option, or the account's default.
    pub fn new(joined: &JoinedState<'_>, blocks: &mut Blockers<'_, '_>) -> Self {
        let inputs = &joined.inputs;
        let known = project_names(inputs.snapshot);
        let named = inputs.options.project.as_ref();
        let default = match (&inputs.stack.project, named) {
            (Some(address), _) if !inputs.options.destroy => TargetProject::Resource(address.clone()),
            (_, Some(named)) => find_project(&known, named).map_or_else(
                || {
                    let text = format!("There is no project `{named}`.");
                    let help = "Give a project's name or id with --project.".to_owned();
                    blocks.add_for_address(blocker_code::PROJECT, None, text, help);
                    TargetProject::None
                },
                TargetProject::Id,
            ),
            (_, None) => {
                inputs.snapshot.default_project.clone().map_or(TargetProject::None, TargetProject::Id)
            }
        };
        Self { default, known }
    }

    /// Returns the id of the stack's project; `None` if it does not exist yet.
    pub fn id(&self, joined: &JoinedState<'_>) -> Option<Name> {
        match &self.default {
            TargetProject::Id(id) => Some(id.clone()),
            TargetProject::Resource(address) => {
                let n = joined.index.get(address)?;
                joined.subjects[*n].object().map(|object| object.id.clone())
            }
            TargetProject::None => None,
        }
    }

    /// Returns the project of a resource's new object: `None` for a resource of the account, and where
    /// no project is known.
    pub fn project_of(
        &self,
        joined: &JoinedState<'_>,
        subject: &ResourceState<'_>,
        outlook: &PlannedValues<'_, '_>,
    ) -> TargetProject {
        match subject.kind.scope {
            KindScope::Account => return TargetProject::None,
            // A child is in its parent's project, and its requests name it.
            KindScope::Child { .. } => {
                let parent = subject.resource.and_then(|resource| resource.parent.as_ref());
                let parent = parent.and_then(|parent| joined.index.get(parent));
                return parent.map_or(TargetProject::None, |n| {
                    self.project_of(joined, &joined.subjects[*n], outlook)
                });
            }
            KindScope::Project => {}
        }
        match subject.resource.and_then(|resource| resource.project.as_ref()) {
            None => self.default.clone(),
            Some(Expression::Reference(Reference { address, attribute: None })) => {
                TargetProject::Resource(address.clone())
            }
            Some(expression) => match evaluate_expression(expression, outlook) {
                Ok(Value::Text(named)) => {
                    TargetProject::Id(find_project(&self.known, &named).unwrap_or(named))
                }
                _ => self.default.clone(),
            },
        }
    }

    /// Returns why a live object is in the wrong project, which no call can change; `None` if it is in the
    /// right one, or if either is unknown.
    pub fn wrong_project_reason(
        &self,
        joined: &JoinedState<'_>,
        subject: &ResourceState<'_>,
        outlook: &PlannedValues<'_, '_>,
    ) -> Option<String> {
        let present = subject.object()?.project.as_ref()?;
        let wanted = match self.project_of(joined, subject, outlook) {
            TargetProject::None => return None,
            TargetProject::Id(id) => Value::Text(id),
            TargetProject::Resource(address) => outlook.attribute(&address, None),
        };
        let there = matches!(&wanted, Value::Text(id) if id == present);
        (!there).then(|| format!("it is in project {present}, and cannot be moved to another one"))
    }
}

fn project_names(snapshot: &Snapshot) -> Vec<(Name, Name)> {
    snapshot
        .of_kind(PROJECT)
        .filter_map(|object| Some((object.id.clone(), object.attributes.get("name")?.as_text()?.into())))
        .collect()
}

fn find_project(known: &[(Name, Name)], named: &str) -> Option<Name> {
    let by_id = known.iter().find(|(id, _)| id == named);
    let found = by_id.or_else(|| known.iter().find(|(_, name)| name == named));
    found.map(|(id, _)| id.clone()).or_else(|| uuid::Uuid::parse_str(named).is_ok().then(|| named.into()))
}
