//! `ssh_key`: a public key that new VMs can trust. The specification names the area only, so all of it is assumed. No
//! call changes a key: a change replaces it.

use super::shared::{CREATED_AT, NAME, TEXT};
use crate::model::schema::{
    Attribute, Endpoint, Kind, KindApi, KindScope, Method, RightScope, Rights, TextFormat, Type,
};

pub(super) static SSH_KEY: Kind = Kind {
    name: "ssh_key",
    summary: "A public key that can be authorized to log in to new VMs.",
    scope: KindScope::Account,
    api: KindApi {
        id: "id",
        other_ids: &[],
        create: Endpoint::assumed(Method::Post, "/api/v1/ssh-keys"),
        read: Some(Endpoint::assumed(Method::Get, "/api/v1/ssh-keys/{id}")),
        list: Endpoint::assumed(Method::Get, "/api/v1/ssh-keys"),
        delete: Endpoint::assumed(Method::Delete, "/api/v1/ssh-keys/{id}"),
        delete_body: &[],
        ready: None,
        absent_when: None,
    },
    // Which right an operation needs is assumed (specification, Authentication, 6).
    rights: Some(Rights::new(RightScope::Account, "ssh_keys:read", "ssh_keys:write")),
    attributes: &[
        Attribute::required("name", NAME).summary("Display name.").assumed(),
        Attribute::required(
            "public_key",
            Type::Text { min: 1, max: 16_384, format: TextFormat::SshPublicKey },
        )
        .summary("One line in OpenSSH form: type, key, comment.")
        .assumed(),
        Attribute::computed("fingerprint", TEXT).summary("Digest of the key.").assumed(),
        CREATED_AT.assumed(),
    ],
    ..Kind::PLAIN
};
