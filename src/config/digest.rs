//! The digest of a resolved configuration: equal when it wants the same, whatever it looks like.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::policy::Policy;
use super::stack::{Confirm, Environment, Lifecycle, OnRemove, Output, Resource, SecretSink};
use crate::model::address::{Address, Name};
use crate::model::expression::Expression;
use crate::model::hex::hex;

/// One resource, as the digest sees it. Places are not part of it; secrets are there by presence.
#[derive(Serialize)]
struct Seen<'r> {
    address: &'r Address,
    kind: &'static str,
    attributes: BTreeMap<&'r Name, &'r Expression>,
    protect: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    final_snapshot: bool,
    keep: bool,
    ignore_drift: Vec<(&'r Name, Option<String>)>,
    replace: Option<crate::model::schema::ReplaceOrder>,
    timeouts: [Option<u64>; 3],
    depends_on: &'r [Address],
    project: Option<&'r Expression>,
    deliver_secret: Option<(&'r str, Option<&'r Name>)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    exclusive: Vec<&'r Name>,
}

struct Writer(Sha256);

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns 16 hexadecimal digits.
pub(super) fn digest<'r>(
    name: &Name,
    environment: &Environment,
    resources: impl Iterator<Item = &'r Resource>,
    outputs: &BTreeMap<Name, Output>,
    policies: &[Policy],
) -> String {
    let mut writer = io::BufWriter::new(Writer(Sha256::new()));
    put(&mut writer, &(name, &environment.name, environment.confirm == Confirm::Typed));
    for resource in resources {
        put(&mut writer, &seen(resource));
    }
    for (name, output) in outputs {
        put(&mut writer, &(name, &output.expression));
    }
    for policy in policies {
        let on: Vec<&str> = policy.on.iter().map(|kind| kind.name).collect();
        put(&mut writer, &("policy", &policy.name, on, &policy.deny.source));
    }
    let digest = match writer.into_inner() {
        Ok(writer) => writer.0.finalize(),
        Err(_) => return String::new(),
    };
    hex(&digest[..8])
}

fn seen(resource: &Resource) -> Seen<'_> {
    let Lifecycle { protect, on_remove, ignore_drift, replace, timeouts, final_snapshot, protect_span: _ } =
        &resource.lifecycle;
    Seen {
        address: &resource.address,
        kind: resource.kind.name,
        attributes: resource.attributes.iter().map(|(name, setting)| (name, &setting.expression)).collect(),
        protect: *protect,
        final_snapshot: *final_snapshot,
        keep: *on_remove == OnRemove::Keep,
        ignore_drift: ignore_drift
            .iter()
            .map(|ignored| (&ignored.attribute, ignored.until.map(|date| date.to_string())))
            .collect(),
        replace: *replace,
        timeouts: [timeouts.create, timeouts.update, timeouts.delete]
            .map(|time| time.map(|time| time.as_secs())),
        depends_on: &resource.depends_on,
        project: resource.project.as_ref(),
        deliver_secret: resource.deliver_secret.as_ref().map(|sink| match sink {
            SecretSink::File(path) => (path.as_str(), None),
            SecretSink::EnvFile { path, variable } => (path.as_str(), Some(variable)),
            SecretSink::Program(name) => ("", Some(name)),
        }),
        exclusive: resource
            .attributes
            .iter()
            .filter(|(_, setting)| setting.exclusive)
            .map(|(name, _)| name)
            .collect(),
    }
}

/// Writes the JSON of a part and a newline. Writing to a hasher does not fail.
fn put(writer: &mut impl io::Write, part: &impl Serialize) {
    let _ = serde_json::to_writer(&mut *writer, part);
    let _ = writer.write_all(b"\n");
}
