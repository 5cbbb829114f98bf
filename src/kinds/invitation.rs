//! `invitation`: asks a person to join the account.

use super::shared::{CREATED_AT, TEXT};
use crate::model::schema::{Api, Attribute, Check, Format, Kind, Rule, Scope, Type};

/// The table.
pub(super) static INVITATION: Kind = Kind {
    name: "invitation",
    summary: "Asks a person by mail to join the account, in a role.",
    scope: Scope::Account,
    api: Api { read: None, ..Api::assumed("/api/v1/invitations", "/api/v1/invitations/{id}") },
    attributes: &[
        Attribute::required("email", Type::Text { min: 3, max: 254, format: Format::Email })
            .summary("Whom to ask.")
            .assumed(),
        Attribute::required("role", Type::Catalog("role"))
            .wire("role_id")
            .summary("The account role that the person will have, by name or reference.")
            .assumed(),
        Attribute::computed("status", TEXT).summary("pending, accepted or expired.").assumed(),
        CREATED_AT.assumed(),
    ],
    rules: &[Rule {
        code: "R1601",
        check: Check::Unique { attributes: &["email"] },
        says: "A person is invited once.",
        place: "specification, Errors, 409",
    }],
    ..Kind::PLAIN
};
