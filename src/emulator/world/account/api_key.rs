//! `api_key`: the account's API keys, each with a role, an expiry and a rate tier ("API key"), and the authentication
//! of requests. A key's secret is in the response to its creation only; the record has its digest.

use uuid::Uuid;

use super::project_member::{remove_subject_memberships, write_project_access};
use super::role::{self, read_optional_role, role_permissions, write_role_fields};
use crate::emulator::seeded_rng;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::account::{ApiKey, RateTier};
use crate::emulator::world::request::call::{Call, Reply, message_response, success_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::account::digest_key;
use crate::emulator::world::state::grant::AccessGrant;
use crate::emulator::world::state::world::World;
use crate::emulator::world::{ApiRequest, Time};
use crate::model::schema::Method;

const COLLECTION: &str = "/api/v1/api-keys";
const ITEM: &str = "/api/v1/api-keys/{id}";

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, COLLECTION, Access::Account, |call| call.list_records::<ApiKey>()),
    Route::new(Method::Post, COLLECTION, Access::Account, create_api_key),
    Route::new(Method::Get, ITEM, Access::Account, read_api_key),
    Route::new(Method::Delete, ITEM, Access::Account, delete_api_key),
];

/// Name of the account's first key in lists.
const FIRST_KEY_NAME: &str = "first key of the account";

const MAX_NAME_CHARS: usize = 128;
/// How many leading characters of a key stay visible.
const KEY_PREFIX_CHARS: usize = 8;
impl Handlers for ApiKey {
    fn show(record: &TableRecord<Self>, view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        let key = &record.body;
        let members = view.world.project_members.index().of_subject(record.id);
        let members: Vec<_> = members.filter_map(|id| view.world.project_members.get(id)).collect();
        fields.write_field("id", &record.id);
        fields.write_field("name", &key.name);
        fields.write_field("key_prefix", &key.key_prefix);
        fields.write_field("is_active", &key.is_valid(view.now));
        fields.write_field("account_id", &view.world.account.id);
        fields.write_field("scope", if members.is_empty() { "account" } else { "project" });
        fields.write_field("rate_limit_tier", &key.rate_limit_tier);
        if let Some(end) = key.expires_at {
            fields.write_field("expires_at", &end);
        }
        fields.write_field("last_used_at", &key.last_used_at);
        write_role_fields(view.world, key.role_id, fields);
        fields.write_object_array("project_accesses", members, |fields, member| {
            write_project_access(member, view, fields);
        });
        fields.write_field("created_by", &key.created_by);
        fields.write_field("created_at", &record.created_at);
    }
}

/// Records the account's first key under a fixed id, replacing an earlier one, so that lists show it like any other
/// key. Its creation time is that of the account. No effect if the key is recorded already.
pub fn record_first_key(world: &mut World, secret: &str, tier: RateTier) {
    let (id, digest) = (world.first_key(), digest_key(secret));
    if world.api_keys.get(id).is_some_and(|known| known.body.digest == digest) {
        return;
    }
    let born = world.projects.get(world.account.default_project).map(|project| project.created_at);
    let born = born.unwrap_or(world.account.latest);
    let body = ApiKey {
        name: FIRST_KEY_NAME.to_owned(),
        digest,
        key_prefix: secret.chars().take(KEY_PREFIX_CHARS).collect(),
        is_active: true,
        rate_limit_tier: tier,
        expires_at: None,
        last_used_at: None,
        role_id: Some(role::owner_role()),
        created_by: world.account.id,
    };
    let timeline = Timeline::with_status(born, "active");
    world.record_key(TableRecord { id, project: None, created_at: born, updated_at: born, timeline, body });
}

/// Returns a new secret, computed from an id that no response shows. It is repeatable, not safe: anyone who knows
/// the world's seed can compute it.
fn generate_key_secret(world: &mut World) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    format!("sk_{}", seeded_rng::derive_text(world.fresh_id(), 2, ALPHABET, 40))
}

/// Identifies the caller by its API key, records the use, and returns its permissions; 401 without a key, and for one
/// that does not exist or has expired.
pub(in crate::emulator::world) fn authenticate(
    world: &mut World,
    request: &ApiRequest,
    now: Time,
) -> Result<AccessGrant, ErrorResponse> {
    let unauthorized = |message: &str| ErrorResponse::new(401, "Unauthorized", message);
    let Some(key) = &request.api_key else {
        return Err(unauthorized("authentication required: send the header X-API-Key"));
    };
    if world.is_first_key(key) {
        return Ok(AccessGrant::Unrestricted);
    }
    let made = world.made_key(key, now);
    let id = made.ok_or_else(|| unauthorized("authentication required: the API key is not valid"))?;
    world.note_use(id, now);
    Ok(grant_of(world, id))
}

fn grant_of(world: &World, key: Uuid) -> AccessGrant {
    let role = world.api_keys.get(key).and_then(|record| record.body.role_id);
    let account = role.map(|role| role_permissions(world, role)).unwrap_or_default();
    let members = world.project_members.index().of_subject(key);
    let memberships = members.filter_map(|id| world.project_members.get(id));
    let projects = memberships
        .filter_map(|record| Some((record.project?, role_permissions(world, record.body.role_id))))
        .collect();
    AccessGrant::Key { id: key, account, projects }
}

/// Reads the rate tier, `standard` by default. At the service, support grants the high tier; here the field
/// `high_tier` of the account does, which `mutate` sets.
fn read_rate_tier(call: &Call<'_>) -> Result<RateTier, ErrorResponse> {
    let word = call.body.optional_field("rate_limit_tier", |field| field.one_of(&["standard", "high"]))?;
    match word {
        Some("high") if !call.world.account.high_tier => Err(ErrorResponse::new(
            403,
            "Forbidden",
            "access denied: rate_limit_tier high needs the approval of support; use standard",
        )),
        Some("high") => Ok(RateTier::High),
        _ => Ok(RateTier::Standard),
    }
}

/// Reads `expires_at`; `None` for a key that never expires.
fn read_expiry(call: &Call<'_>) -> Result<Option<Time>, ErrorResponse> {
    let Some(text) = call.body.optional_field("expires_at", |field| field.text(1, 64))? else {
        return Ok(None);
    };
    let wrong = "expires_at must be an RFC 3339 time such as 2026-12-31T12:00:00Z";
    let time: Time = text.parse().map_err(|_| ErrorResponse::bad_request(wrong))?;
    if time <= call.now {
        return Err(ErrorResponse::bad_request("expires_at must lie in the future"));
    }
    Ok(Some(time))
}

fn create_api_key(call: &mut Call<'_>) -> Reply {
    let name = call.body.required_field("name", |field| field.text(1, MAX_NAME_CHARS))?.to_owned();
    let expires_at = read_expiry(call)?;
    let role_id = read_optional_role(call, call.grant.account_permissions())?;
    let rate_limit_tier = read_rate_tier(call)?;
    let secret = generate_key_secret(call.world);
    let (now, created_by) = (call.now, call.caller_id());
    let body = ApiKey {
        name,
        digest: digest_key(&secret),
        key_prefix: secret.chars().take(KEY_PREFIX_CHARS).collect(),
        is_active: true,
        rate_limit_tier,
        expires_at,
        last_used_at: None,
        role_id,
        created_by,
    };
    let id = call.world.create_record(None, now, Timeline::with_status(now, "active"), body);
    let record = call.find_by_id::<ApiKey>(id)?;
    let view = RenderContext { world: call.world, now, detail: true };
    Ok(success_response(201, "API key created: this is the only time that its secret is shown", |fields| {
        fields.write_object("data", |fields| {
            ApiKey::show(record, view, fields);
            fields.write_field("secret", &secret);
        });
    }))
}

fn read_api_key(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<ApiKey>()?.id;
    call.record_response::<ApiKey>(200, id, "")
}

fn delete_api_key(call: &mut Call<'_>) -> Reply {
    let record = call.find_by_path::<ApiKey>()?;
    let (id, digest) = (record.id, record.body.digest.clone());
    // Deleting the key in use locks its caller out, as at the service.
    call.world.account.keys.retain(|key| key.digest != digest);
    remove_subject_memberships(call.world, id);
    call.world.api_keys.remove(id);
    Ok(message_response("API key deleted"))
}
