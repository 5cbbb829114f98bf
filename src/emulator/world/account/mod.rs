//! The account: projects, members, roles, invitations, keys, spending and public catalogs. Most of
//! these routes ignore `X-Project-ID`.

pub(super) mod api_key;
pub(super) mod invitation;
pub(super) mod permission;
pub(super) mod project;
pub(super) mod project_member;
pub(super) mod public_catalog;
pub(super) mod role;
pub(super) mod spend_cap;
pub(super) mod ssh_key;
