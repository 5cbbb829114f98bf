//! `upload`: uploads of source archives ("Request source upload URL"): grants with a signed URL, and the archives
//! received for them. The signature is the only credential of an upload, as with object storage.

use std::fmt::Write;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::app::find_undeleted_app;
use crate::emulator::world::Time;
use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::{ApiRequest, ApiResponse, ErrorResponse};
use crate::emulator::world::engine::status_timeline::{Timeline, time_after};
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::app::{SourceUpload, StoredArchive};
use crate::emulator::world::request::call::{Call, Reply, message_response, success_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    // Listed for logs and fault rules only: uploads are handled before the routes are.
    Route::new(Method::Put, "/uploads/{blob_key}", Access::Presigned, |_| {
        Err(ErrorResponse::not_found("route"))
    }),
    Route::new(Method::Post, "/api/v1/apps/services/{id}/source-upload", Access::Project, grant_to_app),
];

/// Path prefix of all signed upload URLs; the blob key follows.
pub const UPLOAD_PREFIX: &str = "/uploads/";
/// Maximum size of an archive, in bytes: 100 MiB ("Limits").
pub const MAX_ARCHIVE_BYTES: usize = 100 << 20;
/// Seconds until a grant expires.
const GRANT_VALID_SECS: i64 = 900;
/// Seconds for which a received archive can be used by a deployment.
const ARCHIVE_RETENTION_SECS: i64 = 7 * 24 * 3_600;

/// A received archive: size, digest and format only, because the emulator does not use its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedArchive {
    pub(in crate::emulator::world) size: u64,
    pub(in crate::emulator::world) sha256: String,
    pub(in crate::emulator::world) gzip: bool,
}

/// State of an archive while it is being received in chunks.
#[derive(Debug, Clone, Default)]
pub struct ArchiveReceiver {
    size: u64,
    hash: Sha256,
    first: Vec<u8>,
}

impl ArchiveReceiver {
    /// Adds the next bytes to size and digest.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        self.size += bytes.len() as u64;
        self.hash.update(bytes);
        let missing = GZIP_MAGIC.len().saturating_sub(self.first.len());
        self.first.extend(bytes.iter().take(missing));
    }

    /// Returns the complete archive's size in bytes, digest, and whether it begins like a gzip file.
    #[must_use]
    pub fn finish(self) -> ReceivedArchive {
        ReceivedArchive {
            size: self.size,
            sha256: encode_hex(&self.hash.finalize()),
            gzip: self.first == GZIP_MAGIC,
        }
    }
}

/// First bytes of a gzip file: its magic number, and the only defined compression method.
const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b, 8];

impl ReceivedArchive {
    pub(in crate::emulator::world) fn from_bytes(bytes: &[u8]) -> Self {
        let mut arriving = ArchiveReceiver::default();
        arriving.add_bytes(bytes);
        arriving.finish()
    }
}

fn encode_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl Handlers for SourceUpload {
    fn show(record: &TableRecord<Self>, _view: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        fields.write_field("blob_key", &blob_key(record.id));
    }
}

fn blob_key(id: Uuid) -> String {
    format!("src-{}", id.simple())
}

fn id_of(key: &str) -> Option<Uuid> {
    let text = key.strip_prefix("src-").filter(|text| text.len() == 32)?;
    Uuid::try_parse(text).ok()
}

/// Returns the MAC state for the signature of a grant's URL, which covers the key and the expiry in seconds since
/// 1970. `None` cannot occur: the MAC accepts keys of any length.
fn compute_upload_mac(world: &World, key: &str, expires: i64) -> Option<Hmac<Sha256>> {
    let secret = [&world.account.seed.to_be_bytes()[..], world.account.id.as_bytes()].concat();
    let mut mac = Hmac::new_from_slice(&secret).ok()?;
    mac.update(format!("PUT {key} {expires}").as_bytes());
    Some(mac)
}

/// Returns the archive that was uploaded under a key for this app or function; an error 400 if there is none, or if
/// the key was granted to another owner.
pub(in crate::emulator::world) fn find_uploaded_archive(
    world: &World,
    owner: Uuid,
    key: &str,
) -> Result<StoredArchive, ErrorResponse> {
    let record = id_of(key).and_then(|id| world.uploads.get(id));
    let record = record.filter(|record| record.body.owner == owner);
    record.and_then(|record| record.body.received.clone()).ok_or_else(|| {
        ErrorResponse::bad_request(format!(
            "blob_key {key}: nothing was uploaded for it; upload the source first"
        ))
    })
}

/// Creates an upload grant for an app or function; returns the response with the URL, which is a
/// secret until it expires.
pub(in crate::emulator::world) fn create_upload_grant(
    call: &mut Call<'_>,
    owner: Uuid,
    project: Option<Uuid>,
) -> ApiResponse {
    let now = call.now;
    let expires_at = time_after(now, GRANT_VALID_SECS);
    let timeline = Timeline::with_status(now, "pending").gone_after(now, GRANT_VALID_SECS);
    let upload = SourceUpload { owner, expires_at, received: None };
    let id = call.world.create_record(project, now, timeline, upload);
    let (key, expires) = (blob_key(id), expires_at.as_second());
    let signature =
        compute_upload_mac(call.world, &key, expires).map(|mac| encode_hex(&mac.finalize().into_bytes()));
    let url = format!(
        "{}{UPLOAD_PREFIX}{key}?expires={expires}&signature={}",
        call.world.origin(),
        signature.unwrap_or_default()
    );
    success_response(200, "upload the source to upload_url with PUT", |fields| {
        fields.write_field("upload_url", &url);
        fields.write_field("blob_key", &key);
        fields.write_field("expires_in_seconds", &GRANT_VALID_SECS);
    })
}

fn grant_to_app(call: &mut Call<'_>) -> Reply {
    let record = find_undeleted_app(call)?;
    let (id, project) = (record.id, record.project);
    if !record.body.is_uploaded() {
        return Err(ErrorResponse::bad_request(
            "the app is built from an image or a repository, not from uploaded source",
        ));
    }
    Ok(create_upload_grant(call, id, project))
}

/// Accepts the archive that a client uploaded to a signed URL: 403 for a signature that is wrong or expired, 413 for
/// a large archive, 400 for one that is not gzipped. A second upload replaces the first.
pub(in crate::emulator::world) fn receive_upload(
    world: &mut World,
    request: &ApiRequest,
    archive: &ReceivedArchive,
    now: Time,
) -> Reply {
    let denied =
        |why: &str| ErrorResponse::new(403, "Forbidden", format!("the upload URL {why}: request another"));
    let value = |name: &str| {
        let found = request.query.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value.as_str())
    };
    let key = request.path.strip_prefix(UPLOAD_PREFIX).unwrap_or_default();
    let expires: i64 = value("expires").parse().map_err(|_| denied("is not signed"))?;
    let mac = compute_upload_mac(world, key, expires).ok_or_else(|| denied("is not signed"))?;
    // Compared in constant time, and before the key is looked up: a wrong signature says nothing about the keys.
    mac.verify_slice(&decode_hex(value("signature"))).map_err(|_| denied("has a wrong signature"))?;
    let id = id_of(key).filter(|_| now.as_second() < expires);
    let id = id.filter(|id| world.uploads.get(*id).is_some()).ok_or_else(|| denied("has expired"))?;
    if archive.size > MAX_ARCHIVE_BYTES as u64 {
        let message = format!("a source archive may have {} MB at most", MAX_ARCHIVE_BYTES >> 20);
        return Err(ErrorResponse::new(413, "Payload Too Large", message));
    }
    if !archive.gzip {
        return Err(ErrorResponse::bad_request(
            "the body is not a gzipped tarball: pack it with tar and gzip",
        ));
    }
    let blob = StoredArchive { key: key.to_owned(), size: archive.size, sha256: archive.sha256.clone() };
    world.uploads.update(id, now, |record| {
        record.body.received = Some(blob);
        record.timeline = Timeline::with_status(now, "received").gone_after(now, ARCHIVE_RETENTION_SECS);
    });
    Ok(message_response("source received"))
}

/// Decodes hexadecimal digits. Invalid input gives an empty signature, which never verifies.
fn decode_hex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2);
    let bytes = pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    bytes.collect::<Option<_>>().unwrap_or_default()
}
