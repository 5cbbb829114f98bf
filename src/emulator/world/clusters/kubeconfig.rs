//! The credentials of a cluster: kubeconfigs that expire, and a rotation that revokes all of them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::find_cluster::find_cluster;
use crate::emulator::seeded_rng;
use crate::emulator::world::Time;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::status_timeline::time_after;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::cluster::{Cluster, cluster_endpoint, cluster_short_id};
use crate::emulator::world::request::call::{Call, Reply, message_response, success_response};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/k8s/clusters/{id}/kubeconfig", Access::Account, issue_kubeconfig),
    Route::new(
        Method::Post,
        "/api/v1/k8s/clusters/{id}/kubeconfig/rotate",
        Access::ProjectStated,
        rotate_kubeconfig,
    ),
];

/// Shortest lifetime of a kubeconfig in seconds ("Limits").
const MIN_LIFETIME_SECS: i64 = 600;
/// Longest lifetime of a kubeconfig in seconds.
const MAX_LIFETIME_SECS: i64 = 30 * 24 * 3_600;
/// Lifetime of a kubeconfig in seconds without `expires_in`.
const DEFAULT_LIFETIME_SECS: i64 = 7 * 24 * 3_600;

const TOKEN_ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

fn issue_kubeconfig(call: &mut Call<'_>) -> Reply {
    let seconds = read_lifetime(call)?;
    let record = find_cluster(call)?;
    let server = require_endpoint(record, call.now)?;
    let expires_at = time_after(call.now, seconds);
    let text = kubeconfig_text(record, &server, expires_at);
    Ok(success_response(200, "", |fields| {
        fields.write_object("data", |fields| {
            fields.write_field("kubeconfig", &text);
            fields.write_field("expires_at", &expires_at);
        });
    }))
}

fn read_lifetime(call: &Call<'_>) -> Result<i64, ErrorResponse> {
    let Some((_, text)) = call.query.iter().find(|(name, _)| name == "expires_in") else {
        return Ok(DEFAULT_LIFETIME_SECS);
    };
    match text.parse() {
        Ok(seconds) if (MIN_LIFETIME_SECS..=MAX_LIFETIME_SECS).contains(&seconds) => Ok(seconds),
        _ => Err(ErrorResponse::bad_request(format!(
            "expires_in must be seconds from {MIN_LIFETIME_SECS} to {MAX_LIFETIME_SECS}"
        ))),
    }
}

/// Returns the URL of the cluster's API server; refuses a cluster whose API server is not available, with 409.
fn require_endpoint(record: &TableRecord<Cluster>, now: Time) -> Result<String, ErrorResponse> {
    let status = record.status(now);
    let server = cluster_endpoint(record, now).filter(|_| status != "deleting");
    server
        .ok_or_else(|| ErrorResponse::conflict(format!("the cluster is {status}; its API does not answer")))
}

/// Returns the kubeconfig as YAML, with a token in plain text. Names in it use the short id, because a cluster's name
/// can contain characters that need quotes.
fn kubeconfig_text(record: &TableRecord<Cluster>, server: &str, expires_at: Time) -> String {
    let short = cluster_short_id(record);
    let secret = |purpose: u64, length| seeded_rng::derive_text(record.id, purpose, TOKEN_ALPHABET, length);
    let pem = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", secret(4, 64));
    let authority = STANDARD.encode(pem);
    // The token depends on the expiry and on the number of rotations, so that a rotation changes all tokens.
    let purpose = seeded_rng::nth_number(record.body.rotations, expires_at.as_second().unsigned_abs());
    let token = secret(purpose, 40);
    format!(
        "apiVersion: v1
kind: Config
clusters:
  - name: {short}
    cluster:
      server: {server}
      certificate-authority-data: {authority}
users:
  - name: {short}-admin
    user:
      token: {token}
contexts:
  - name: {short}
    context:
      cluster: {short}
      user: {short}-admin
current-context: {short}
"
    )
}

fn rotate_kubeconfig(call: &mut Call<'_>) -> Reply {
    let record = find_cluster(call)?;
    let (id, now) = (record.id, call.now);
    require_endpoint(record, now)?;
    call.update::<Cluster>(id, |record| {
        record.body.rotations = record.body.rotations.wrapping_add(1);
        record.body.history.add(
            now,
            0,
            "kubeconfig.rotated",
            "every credential that was issued is invalid",
        );
    });
    Ok(message_response("kubeconfig credentials rotated"))
}
