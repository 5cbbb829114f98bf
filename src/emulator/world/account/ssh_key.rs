//! `ssh_key`: the account's public SSH keys. The specification names the area only, so all of it is assumed.

use sha2::{Digest, Sha256};

use crate::emulator::world::engine::json_writer::JsonObjectWriter;
use crate::emulator::world::engine::message::ErrorResponse;
use crate::emulator::world::engine::request_body::BodyField;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::account::SshKey;
use crate::emulator::world::request::call::{Call, Reply, message_response};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/ssh-keys", Access::Account, |call| call.list_records::<SshKey>()),
    Route::new(Method::Post, "/api/v1/ssh-keys", Access::Account, create_ssh_key),
    Route::new(Method::Get, "/api/v1/ssh-keys/{id}", Access::Account, read_ssh_key),
    Route::new(Method::Delete, "/api/v1/ssh-keys/{id}", Access::Account, delete_ssh_key),
];

impl Handlers for SshKey {
    fn show(record: &TableRecord<Self>, _: RenderContext<'_>, fields: &mut JsonObjectWriter<'_>) {
        fields.write_field("id", &record.id);
        fields.write_field("name", &record.body.name);
        fields.write_field("public_key", &record.body.public_key);
        fields.write_field("fingerprint", &record.body.fingerprint);
        fields.write_field("created_at", &record.created_at);
    }
}

fn create_ssh_key(call: &mut Call<'_>) -> Reply {
    let name = call.body.required_field("name", BodyField::name)?;
    let public_key = call.body.required_field("public_key", |field| field.text(1, 16_384))?.to_owned();
    let fingerprint = openssh_fingerprint(&public_key).ok_or_else(|| {
        ErrorResponse::bad_request("public_key must be one OpenSSH line: a type such as ssh-ed25519, the key in base64, and a comment")
    })?;
    let now = call.now;
    let body = SshKey { name, public_key, fingerprint };
    let id = call.world.create_record(None, now, Timeline::with_status(now, "active"), body);
    call.record_response::<SshKey>(201, id, "SSH key created")
}

fn read_ssh_key(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<SshKey>()?.id;
    call.record_response::<SshKey>(200, id, "")
}

fn delete_ssh_key(call: &mut Call<'_>) -> Reply {
    let id = call.find_by_path::<SshKey>()?.id;
    call.world.ssh_keys.remove(id);
    Ok(message_response("SSH key deleted"))
}

const TYPES: &[&str] = &[
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
];

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the `SHA256:…` fingerprint of a public key in OpenSSH format, as `ssh-keygen -l` prints it; `None`
/// for any other line.
fn openssh_fingerprint(line: &str) -> Option<String> {
    if line.contains(['\n', '\r']) {
        return None;
    }
    let mut words = line.split_whitespace();
    let kind = words.next().filter(|kind| TYPES.contains(kind))?;
    let blob = decode_base64(words.next()?)?;
    // The blob begins with its type: a length of four bytes, then the text.
    let length = u32::try_from(kind.len()).ok()?.to_be_bytes();
    let inner = blob.strip_prefix(length.as_slice())?.strip_prefix(kind.as_bytes())?;
    (!inner.is_empty()).then(|| format!("SHA256:{}", encode_base64(&Sha256::digest(&blob))))
}

/// Decodes base64, with or without padding; `None` for other characters.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut held, mut bits) = (0_u32, 0);
    for byte in digits.bytes() {
        let digit = BASE64.iter().position(|known| *known == byte)?;
        held = (held << 6) | u32::try_from(digit).ok()?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((held >> bits) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

fn encode_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 4 / 3 + 1);
    let digit = |bits: u32| BASE64.get((bits & 63) as usize).map_or('A', |byte| char::from(*byte));
    for chunk in bytes.chunks(3) {
        let held =
            chunk.iter().fold(0, |held, byte| (held << 8) | u32::from(*byte)) << (8 * (3 - chunk.len()));
        text.extend((0..=chunk.len()).map(|index| digit(held >> (18 - 6 * index))));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl user@host";

    #[test]
    fn a_fingerprint_equals_that_of_openssh() {
        // `ssh-keygen -lf` of GitHub's published host key.
        assert_eq!(
            openssh_fingerprint(LINE).unwrap(),
            "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU"
        );
    }

    #[test]
    fn invalid_text_is_not_an_ssh_key() {
        let other_type = LINE.replace("ssh-ed25519 ", "ssh-rsa ");
        for line in ["", "ssh-ed25519", "ssh-ed25519 AAAA", "hello world", "ssh-ed25519 !!!", &other_type] {
            assert_eq!(openssh_fingerprint(line), None, "{line}");
        }
        assert_eq!(openssh_fingerprint(&format!("{LINE}\n{LINE}")), None);
    }
}
