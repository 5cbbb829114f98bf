//! Settings of S3 and of compatible stores: the usual `AWS_*` variables. No message contains a key.

use object_store::RetryConfig;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
use reqwest::Url;
use std::time::Duration;

use super::connector::S3Connector;
use crate::ledger::stores::https;

/// The two clients of a bucket.
pub(super) struct BucketClients {
    /// Retries failed requests by itself, which is safe for reads and deletions.
    pub(super) patient: AmazonS3,
    /// Sends each request once: the caller, which knows the condition of a write, decides about a retry.
    pub(super) once: AmazonS3,
    /// The source of the credentials.
    pub(super) credentials: CredentialSource,
}

/// The source of the credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CredentialSource {
    /// Credentials in the `AWS_…` environment variables.
    Environment,
    /// A token that the variables name, exchanged for credentials.
    WebIdentity,
    /// The platform of this machine, because no variable names another source.
    InstanceMetadata,
}

impl CredentialSource {
    /// Returns the advice for missing credentials.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Self::Environment => "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN",
            Self::WebIdentity => "check the AWS_WEB_IDENTITY_… or AWS_CONTAINER_… variables",
            Self::InstanceMetadata => {
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are missing, and this machine provides no credentials (profiles of the AWS command line are not read; it prints their variables with `aws configure export-credentials --format env`)"
            }
        }
    }
}

impl BucketClients {
    /// Builds the clients of a bucket from environment variables.
    ///
    /// # Errors
    /// When one is missing or unsafe: the text says which.
    pub(super) fn from_variables(
        name: &str,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, String> {
        let builder = read_settings(variables);
        let endpoint = endpoint_url(&builder)?;
        let given = |key| builder.get_config_value(&key).is_some_and(|value| !value.is_empty());
        if endpoint.is_none()
            && !given(AmazonS3ConfigKey::Region)
            && !given(AmazonS3ConfigKey::DefaultRegion)
        {
            return Err(
                "AWS_REGION is missing; it names the bucket's region (or set AWS_ENDPOINT_URL)".to_owned()
            );
        }
        let credentials = credential_source(&builder)?;
        let build =
            |builder: AmazonS3Builder| builder.build().map_err(|error| https::root_cause_text(&error));
        let builder = builder
            .with_bucket_name(name)
            .with_conditional_put(S3ConditionalPut::ETagMatch)
            .with_http_connector(S3Connector::new(endpoint.as_ref().is_some_and(https::is_loopback)));
        let some =
            RetryConfig { max_retries: 3, retry_timeout: READ_RETRY_TIMEOUT, ..RetryConfig::default() };
        let none = RetryConfig { max_retries: 0, ..RetryConfig::default() };
        let patient = build(builder.clone().with_retry(some))?;
        let shared = patient.credentials().clone();
        let once = build(builder.with_retry(none).with_credentials(shared))?;
        Ok(Self { patient, once, credentials })
    }
}

fn read_settings(variables: impl IntoIterator<Item = (String, String)>) -> AmazonS3Builder {
    let mut builder = AmazonS3Builder::new();
    // An empty variable counts as not set.
    let ours = variables.into_iter().filter(|(name, value)| name.starts_with("AWS_") && !value.is_empty());
    for (name, value) in ours {
        if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
            builder = builder.with_config(key, value);
        }
    }
    builder
}

/// Returns the endpoint, if one is set.
fn endpoint_url(builder: &AmazonS3Builder) -> Result<Option<Url>, String> {
    let set = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
    let Some(text) = set.iter().find_map(|key| builder.get_config_value(key)) else { return Ok(None) };
    let url = https::parse_server_url(&text)
        .map_err(|reason| format!("AWS_ENDPOINT_URL is not a safe endpoint: {reason}"))?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err("AWS_ENDPOINT_URL is not a safe endpoint: it has a query or a fragment".to_owned());
    }
    Ok(Some(url))
}

fn credential_source(builder: &AmazonS3Builder) -> Result<CredentialSource, String> {
    use AmazonS3ConfigKey as Key;
    let given = |key| builder.get_config_value(&key).is_some();
    match (given(Key::AccessKeyId), given(Key::SecretAccessKey)) {
        (true, true) => return Ok(CredentialSource::Environment),
        (true, false) => return Err("AWS_SECRET_ACCESS_KEY is missing".to_owned()),
        (false, true) => return Err("AWS_ACCESS_KEY_ID is missing".to_owned()),
        (false, false) => {}
    }
    match (given(Key::WebIdentityTokenFile), given(Key::RoleArn)) {
        (true, true) => return Ok(CredentialSource::WebIdentity),
        (true, false) => return Err("AWS_ROLE_ARN is missing".to_owned()),
        _ => {}
    }
    match (given(Key::ContainerCredentialsFullUri), given(Key::ContainerAuthorizationTokenFile)) {
        (true, true) => return Ok(CredentialSource::WebIdentity),
        (true, false) => return Err("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE is missing".to_owned()),
        _ => {}
    }
    let exchanged = given(Key::ContainerCredentialsRelativeUri);
    Ok(if exchanged { CredentialSource::WebIdentity } else { CredentialSource::InstanceMetadata })
}

/// The time for which a failed read is retried.
const READ_RETRY_TIMEOUT: Duration = Duration::from_secs(30);
