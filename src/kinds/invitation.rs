//! `invitation`: an invitation of a person to the account. The specification names the area only, so all
//! of it is assumed.
//!
//! Its actions read and remove the members, which are people and no resources of a stack.

use super::shared::{CREATED_AT, TEXT, TIME};
use crate::model::schema::{
    Action, Attribute, Effect, Envelope, HandedOn, Kind, KindApi, KindScope, Parameter, ResponseShape,
    RightScope, Rights, TextFormat, Type,
};

pub(super) static INVITATION: Kind = Kind {
    name: "invitation",
    summary: "Invites a person by mail to join the account, with a role.",
    scope: KindScope::Account,
    api: KindApi { read: None, ..KindApi::assumed("/api/v1/invitations", "/api/v1/invitations/{id}") },
    // Which right an operation needs is assumed (specification, Authentication, 6).
    rights: Some(
        Rights::new(RightScope::Account, "members:read", "members:write")
            .handing_on(HandedOn::Role("role")),
    ),
    attributes: &[
        Attribute::required("email", Type::Text { min: 3, max: 254, format: TextFormat::Email })
            .summary("The mail address of the person to invite.")
            .assumed(),
        Attribute::required("role", Type::Catalog("role"))
            .wire("role_id")
            .summary("The account role that the person will have, by name or reference.")
            .assumed(),
        Attribute::computed("status", TEXT).summary("pending, accepted or expired.").assumed(),
        CREATED_AT.assumed(),
    ],
    known_by: "email",
    actions: &[
        Action::get("members", "/api/v1/members", "The members of the account.")
            .assumed()
            .answer(ResponseShape::Rows(&["id", "email", "role_name"])),
        Action::delete("remove-member", "/api/v1/members/{member}", "Removes a person from the account.")
            .assumed()
            .envelope(Envelope::Message)
            .parameters(&[Parameter::required("member", TEXT)
                .in_path()
                .summary("The person's id, as `stead do members` lists it.")])
            .effects(&[Effect::LocksOut]),
    ],
    other_fields: &[("expires_at", TIME), ("role_name", TEXT), ("role_slug", TEXT)],
    ..Kind::PLAIN
};
