//! Digest of a resolved configuration: equal if the desired state is equal, however it is written. A saved plan
//! is refused if it differs, so nothing that affects decisions may be missing, and no location may be in it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::model::{
    AttributeSetting, ConfirmationMode, DeferredSecret, Environment, Lifecycle, OnRemove, Output, Policy,
    Resource, SecretOrigin, SecretSink,
};
use crate::config::syntax::jobs::{JobRunner, map_jobs};
use crate::model::address::name_map::NameMap;
use crate::model::address::{Address, Name};
use crate::model::cel::policy::PolicyLevel;
use crate::model::crypto::digest::JsonDigest;
use crate::model::expression::Expression;
use crate::model::schema::ReplaceOrder;

/// Usual number of bytes of a resource in the digest.
const USUAL_BYTES: usize = 384;

/// Least number of resources for which a job is worth its thread.
const RESOURCES_PER_JOB: usize = 500;

/// Digest input of one resource. It has no spans; a secret is represented by its variable's name, and a value
/// computed from a secret by its expression. Fields that were added later are omitted while unset, so that
/// older digests stay valid.
#[derive(Serialize)]
struct ResourceDigestInput<'r> {
    address: &'r Address,
    kind: &'static str,
    attributes: AttributesDigestInput<'r>,
    protect: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    final_snapshot: bool,
    keep: bool,
    /// Part of the review: the author approved the deletion of the data.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    delete: bool,
    ignore_drift: Vec<(&'r Name, Option<String>)>,
    replace: Option<ReplaceOrder>,
    timeouts: [Option<u64>; 3],
    depends_on: &'r [Address],
    project: Option<Cow<'r, Expression>>,
    deliver_secret: Option<(&'r str, Option<&'r Name>)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    exclusive: Vec<&'r Name>,
}

/// Digest input of a resource's attributes: their expressions by name.
struct AttributesDigestInput<'r>(&'r NameMap<AttributeSetting>);

impl Serialize for AttributesDigestInput<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let expressions = self.0.iter().map(|(name, setting)| (name, setting.expression.to_digest_form()));
        serializer.collect_map(expressions)
    }
}

/// Digest input of a deferred secret: its origin and its sink.
#[derive(Serialize)]
struct SecretDigestInput<'s> {
    name: &'s Name,
    length: Option<usize>,
    deliver: Option<(&'s str, Option<&'s Name>)>,
    source: Option<&'s Name>,
}

/// Digest input of a whole configuration.
pub(in crate::config) struct StackDigestInput<'s> {
    pub(in crate::config) name: &'s Name,
    pub(in crate::config) environment: &'s Environment,
    pub(in crate::config) outputs: &'s BTreeMap<Name, Output>,
    pub(in crate::config) policies: &'s [Policy],
    pub(in crate::config) deferred_secrets: &'s BTreeMap<Name, DeferredSecret>,
}

/// Returns the whole SHA-256: 64 hexadecimal digits. `resources` must be in address order. Many of them are written in jobs.
///
/// # Errors
/// When a part cannot be written as JSON.
pub(in crate::config) fn stack_digest(
    parts: &StackDigestInput<'_>,
    resources: &[&Resource],
    jobs: &dyn JobRunner,
) -> Result<String, serde_json::Error> {
    let StackDigestInput { name, environment, outputs, policies, deferred_secrets } = parts;
    let mut digest = JsonDigest::new("stead configuration 2");
    digest.add(&(name, &environment.name, environment.confirm == ConfirmationMode::TypeName))?;
    let ranges: Vec<&[&Resource]> =
        resources.chunks(resources.len().div_ceil(jobs.workers()).max(RESOURCES_PER_JOB)).collect();
    for written in map_jobs(jobs, &ranges, |range| write_lines(range)) {
        digest.add_written(&written?);
    }
    for (name, output) in *outputs {
        digest.add(&("output", name, output.expression.to_digest_form()))?;
    }
    // Those of the settings are not part of the stack: each machine that applies it evaluates its own.
    for policy in policies.iter().filter(|policy| !policy.is_of_settings) {
        let on: Vec<&str> = policy.on.iter().map(|kind| kind.name).collect();
        match policy.level {
            PolicyLevel::Overridable => digest.add(&("policy", &policy.name, on, &policy.deny.source))?,
            level => digest.add(&("policy", &policy.name, on, &policy.deny.source, level))?,
        }
    }
    for (name, deferred) in *deferred_secrets {
        digest.add(&("secret", seen_secret(name, deferred)))?;
    }
    Ok(digest.finish())
}

/// Writes resources as the digest has them, one a line.
fn write_lines(resources: &[&Resource]) -> Result<Vec<u8>, serde_json::Error> {
    let mut lines = Vec::with_capacity(resources.len() * USUAL_BYTES);
    for resource in resources {
        serde_json::to_writer(&mut lines, &resource_digest_input(resource))?;
        lines.push(b'\n');
    }
    Ok(lines)
}

fn seen_secret<'s>(name: &'s Name, deferred: &'s DeferredSecret) -> SecretDigestInput<'s> {
    match &deferred.origin {
        SecretOrigin::Generated { length, deliver } => SecretDigestInput {
            name,
            length: Some(*length),
            deliver: deliver.as_ref().map(seen_sink),
            source: None,
        },
        SecretOrigin::Source(source) => {
            SecretDigestInput { name, length: None, deliver: None, source: Some(source) }
        }
    }
}

fn seen_sink(sink: &SecretSink) -> (&str, Option<&Name>) {
    match sink {
        SecretSink::File(path) => (path.as_str(), None),
        SecretSink::EnvFile { path, variable } => (path.as_str(), Some(variable)),
        SecretSink::Program(name) => ("", Some(name)),
    }
}

fn resource_digest_input(resource: &Resource) -> ResourceDigestInput<'_> {
    let Lifecycle { protect, on_remove, ignore_drift, replace, timeouts, final_snapshot, protect_span: _ } =
        &resource.lifecycle;
    ResourceDigestInput {
        address: &resource.address,
        kind: resource.kind.name,
        attributes: AttributesDigestInput(&resource.attributes),
        protect: *protect,
        final_snapshot: *final_snapshot,
        keep: *on_remove == OnRemove::Keep,
        delete: *on_remove == OnRemove::Delete,
        ignore_drift: ignore_drift
            .iter()
            .map(|ignored| (&ignored.attribute, ignored.until.map(|date| date.to_string())))
            .collect(),
        replace: *replace,
        timeouts: [timeouts.create, timeouts.update, timeouts.delete]
            .map(|time| time.map(|time| time.as_secs())),
        depends_on: &resource.depends_on,
        project: resource.project.as_ref().map(Expression::to_digest_form),
        deliver_secret: resource.deliver_secret.as_deref().map(seen_sink),
        exclusive: resource
            .attributes
            .iter()
            .filter(|(_, setting)| setting.exclusive)
            .map(|(name, _)| name)
            .collect(),
    }
}
