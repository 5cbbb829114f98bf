//! `project_member`: API keys and people with a role in one project. The specification describes the access of keys
//! ("Create API key"); the routes and fields are assumed.

use uuid::Uuid;

use super::role::{read_required_role, write_role_fields};
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::{RecordKind, TableRecord};
use crate::emulator::world::records::account::{
    ApiKey, Project, ProjectMember, Subject, is_invitation_accepted,
};
use crate::emulator::world::request::call::{Call, Reply, list_response, message_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

const COLLECTION: &str = "/api/v1/projects/{id}/members";
const ITEM: &str = "/api/v1/projects/{id}/members/{member}";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, COLLECTION, Access::Account, list_project_members),
    Route::new(Method::Post, COLLECTION, Access::Account, create_project_member),
    Route::new(Method::Patch, ITEM, Access::Account, update_project_member),
    Route::new(Method::Delete, ITEM, Access::Account, delete_project_member),
];

impl Handlers for ProjectMember {
    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let (key, member) = match record.body.subject {
            Subject::ApiKey(id) => (Some(id), None),
            Subject::Member(id) => (None, Some(id)),
        };
        fields.write_field("id", &record.id);
        fields.write_field("api_key_id", &key);
        fields.write_field("member_id", &member);
        write_project_access(record, view, fields);
        fields.write_field("created_at", &record.created_at);
        fields.write_field("updated_at", &record.updated_at);
    }
}

/// Writes the project that a membership gives access to, and the role in it, as in a key's `project_accesses`.
pub(in crate::emulator::world) fn write_project_access(
    record: &TableRecord<ProjectMember>,
    view: RenderContext<'_>,
    fields: &mut JsonObjectWriter<'_>,
) {
    let project = record.project.and_then(|id| view.world.projects.get(id));
    fields.write_field("project_id", &record.project);
    fields.write_field("project_name", &project.map(|project| &project.body.name));
    write_role_fields(view.world, Some(record.body.role_id), fields);
}

/// Returns whether an id is that of the owner or of a person who accepted an invitation.
pub(in crate::emulator::world) fn is_account_member(world: &World, id: Uuid) -> bool {
    id == world.account.id || world.invitations.get(id).is_some_and(is_invitation_accepted)
}

/// Removes all memberships of a key or a person, which is about to be deleted.
pub(in crate::emulator::world) fn remove_subject_memberships(world: &mut World, subject: Uuid) {
    let ended: Vec<_> = world.project_members.index().of_subject(subject).collect();
    for id in ended {
        world.project_members.remove(id);
    }
}

/// Removes all memberships in a project, which is about to be deleted.
pub(in crate::emulator::world) fn remove_project_memberships(world: &mut World, project: Uuid) {
    let all = world.project_members.page(Some(project), 0, usize::MAX);
    let ended: Vec<_> = all.map(|record| record.id).collect();
    for id in ended {
        world.project_members.remove(id);
    }
}

fn list_project_members(call: &mut Call<'_>) -> Reply {
    let project = Some(call.find_by_path::<Project>()?.id);
    let (offset, limit) = call.page_bounds()?;
    let table = &call.world.project_members;
    let view = RenderContext { world: call.world, now: call.now, detail: false };
    let page = table.page(project, offset, limit);
    Ok(list_response(table.len(project), page, |fields, record| ProjectMember::show(record, view, fields)))
}

/// Reads the key or person that is to become a member: exactly one of `api_key_id` and `member_id`.
fn read_subject(call: &Call<'_>) -> Result<Subject, ErrorResponse> {
    let key = call.body.optional_field("api_key_id", BodyField::uuid)?;
    let member = call.body.optional_field("member_id", BodyField::uuid)?;
    match (key, member) {
        (Some(id), None) => call.find_by_id::<ApiKey>(id).map(|_| Subject::ApiKey(id)),
        (None, Some(id)) if is_account_member(call.world, id) => Ok(Subject::Member(id)),
        (None, Some(_)) => Err(ErrorResponse::not_found("member")),
        (Some(_), Some(_)) => {
            Err(ErrorResponse::bad_request("leave api_key_id or member_id out: a membership has one"))
        }
        (None, None) => Err(ErrorResponse::bad_request("one of api_key_id and member_id is required")),
    }
}

fn create_project_member(call: &mut Call<'_>) -> Reply {
    let project = call.find_by_path::<Project>()?.id;
    let subject = read_subject(call)?;
    let role_id = read_required_role(call, call.grant.permissions_on_project(project))?;
    let world = &*call.world;
    let mut theirs = world.project_members.index().of_subject(subject.id());
    if theirs.any(|id| world.project_members.get(id).is_some_and(|record| record.project == Some(project)))
    {
        return Err(ErrorResponse::conflict(
            "it is a member of the project already: change its role instead",
        ));
    }
    drop(theirs);
    let now = call.now;
    let body = ProjectMember { subject, role_id };
    let id = call.world.create_record(Some(project), now, Timeline::with_status(now, "active"), body);
    call.record_response::<ProjectMember>(201, id, "project member added")
}

/// Finds the membership that the path identifies; "not found" for one of another project.
fn find_project_member<'c>(call: &'c Call<'_>) -> Result<&'c TableRecord<ProjectMember>, ErrorResponse> {
    let project = call.find_by_path::<Project>()?.id;
    let id = Uuid::try_parse(call.param(1)).ok();
    let found = id.and_then(|id| call.world.project_members.get(id));
    found
        .filter(|record| record.project == Some(project))
        .ok_or_else(|| ErrorResponse::not_found(ProjectMember::TITLE))
}

fn update_project_member(call: &mut Call<'_>) -> Reply {
    let record = find_project_member(call)?;
    let (id, project) = (record.id, record.project.unwrap_or_default());
    let role_id = read_required_role(call, call.grant.permissions_on_project(project))?;
    call.update::<ProjectMember>(id, |record| record.body.role_id = role_id);
    call.record_response::<ProjectMember>(200, id, "project member updated")
}

fn delete_project_member(call: &mut Call<'_>) -> Reply {
    let id = find_project_member(call)?.id;
    call.world.project_members.remove(id);
    Ok(message_response("project member removed"))
}
