//! `invitation`, and the account's members: the owner, and each person who accepted. The specification names the area
//! only, so all of it is assumed.
//!
//! The API cannot accept an invitation; a person does so by a link. Here `mutate` sets the status `accepted`,
//! and from then on the invitation is a member under the same id.

use uuid::Uuid;

use super::project_member::{is_account_member, remove_subject_memberships};
use super::role::{self, read_required_role, write_role_fields};
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::{Timeline, time_after};
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::account::{Invitation, is_invitation_accepted};
use crate::emulator::world::request::call::{Call, Reply, list_response, message_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

const COLLECTION: &str = "/api/v1/invitations";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, COLLECTION, Access::Account, |call| call.list_records::<Invitation>()),
    Route::new(Method::Post, COLLECTION, Access::Account, create_invitation),
    Route::new(Method::Delete, "/api/v1/invitations/{id}", Access::Account, delete_invitation),
    Route::new(Method::Get, "/api/v1/members", Access::Account, list_members),
    Route::new(Method::Delete, "/api/v1/members/{id}", Access::Account, delete_member),
];

/// Seconds for which an invitation can be accepted.
const INVITATION_VALID_SECS: i64 = 7 * 24 * 3_600;
const OWNER_EMAIL: &str = "owner@example.com";

impl Handlers for Invitation {
    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        fields.write_field("id", &record.id);
        fields.write_field("email", &record.body.email);
        fields.write_field("status", record.status(view.now));
        write_role_fields(view.world, Some(record.body.role_id), fields);
        fields.write_field("expires_at", &time_after(record.created_at, INVITATION_VALID_SECS));
        fields.write_field("created_at", &record.created_at);
    }
}

/// Reads an email address; checks its shape only, not whether it exists.
fn read_email(field: BodyField<'_>) -> Result<String, ErrorResponse> {
    let text = field.text(3, 254)?;
    let well = text.split_once('@').is_some_and(|(name, host)| {
        let host_is = host.split('.').count() > 1 && host.split('.').all(|label| !label.is_empty());
        !name.is_empty() && host_is && !host.contains('@')
    });
    if !well || text.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
        return Err(ErrorResponse::bad_request("email must be an address such as someone@example.com"));
    }
    Ok(text.to_owned())
}

fn create_invitation(call: &mut Call<'_>) -> Reply {
    let email = call.body.required_field("email", read_email)?;
    let role_id = read_required_role(call, call.grant.account_permissions())?;
    let world = &*call.world;
    let same = world.invitations.index().emails.get(&email.to_lowercase()).into_iter().flatten();
    for record in same.filter_map(|(_, id)| world.invitations.get(*id)) {
        // A pending invitation may be sent again; an accepted one is a member already.
        if is_invitation_accepted(record) {
            return Err(ErrorResponse::conflict(format!("{email} is a member already")));
        }
    }
    let now = call.now;
    let timeline = Timeline::new(now, &[(0, "pending"), (INVITATION_VALID_SECS, "expired")]);
    let id = call.world.create_record(None, now, timeline, Invitation { email, role_id });
    call.record_response::<Invitation>(201, id, "invitation sent")
}

fn delete_invitation(call: &mut Call<'_>) -> Reply {
    let record = call.find_by_path::<Invitation>()?;
    let id = record.id;
    if is_invitation_accepted(record) {
        return Err(ErrorResponse::conflict("the invitation was accepted: delete the member instead"));
    }
    call.world.invitations.remove(id);
    Ok(message_response("invitation deleted"))
}

fn list_members(call: &mut Call<'_>) -> Reply {
    let (offset, limit) = call.page_bounds()?;
    let world = &*call.world;
    let accepted = &world.invitations.index().accepted;
    let guests = accepted.iter().rev().filter_map(|(_, id)| world.invitations.get(*id)).map(Some);
    // The owner is the oldest member, and lists start with the youngest.
    let page = guests.chain([None]).skip(offset).take(limit);
    let since = world.projects.get(world.default_project()).map(|project| project.created_at);
    Ok(list_response(accepted.len() + 1, page, |fields, guest| {
        let email = guest.map_or(OWNER_EMAIL, |guest| &guest.body.email);
        fields.write_field("id", &guest.map_or(world.account.id, |guest| guest.id));
        fields.write_field("email", email);
        write_role_fields(
            world,
            Some(guest.map_or(role::owner_role(), |guest| guest.body.role_id)),
            fields,
        );
        fields.write_field("created_at", &guest.map(|guest| guest.created_at).or(since));
    }))
}

fn delete_member(call: &mut Call<'_>) -> Reply {
    let id = Uuid::try_parse(call.param(0)).unwrap_or_default();
    if id == call.world.account.id {
        return Err(ErrorResponse::new(403, "Forbidden", "access denied: the owner of the account stays"));
    }
    if !is_account_member(call.world, id) {
        return Err(ErrorResponse::not_found("member"));
    }
    remove_subject_memberships(call.world, id);
    call.world.invitations.remove(id);
    Ok(message_response("member removed"))
}
