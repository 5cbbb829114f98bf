//! Sending of requests: every request passes the rate limiter; reads are retried while that can help, a mutating
//! request only when the rate limit refused it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value as Json;

use super::message::{HttpRequest, HttpResponse, SentRequest, Transport, TransportError, is_public};
use super::rate_limit::backoff_delay;
use super::rate_limiter::RateLimiter;
use super::requests::{RequestDelay, Requests};
use super::response_class::{ResponseClass, classify_exchange, parse_refusal};
use super::retry::{RetryReason, RetryState};
use super::{decode, redact};
use crate::cloud::error::{ApiError, MutationOutcome, ReadError};
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::redact::SentSecrets;
use crate::model::schema::Method;

/// Timeout of one attempt of a read.
pub(in crate::cloud) const READ_DEADLINE: Duration = Duration::from_secs(30);

/// Maximum number of attempts for a request that only observes.
const MAX_PROBE_ATTEMPTS: u32 = 3;

/// Maximum time between the first attempt of a rate-limited change and the start of the last one: the caller then knows
/// that the change was refused and need not resolve its outcome.
const MAX_MUTATION_RETRY_TIME: Duration = Duration::from_secs(90);

/// Minimum wait for the rate limiter that is reported.
const MIN_REPORTED_DELAY: Duration = Duration::from_secs(1);

/// Whether this process has sent a mutating request.
static MUTATION_SENT: AtomicBool = AtomicBool::new(false);

/// Returns whether this process has sent a mutating request: then no error may claim that nothing was changed.
#[must_use]
pub fn has_sent_changes() -> bool {
    MUTATION_SENT.load(Ordering::Relaxed)
}

/// The reason why one attempt of a read has no result.
enum SendError {
    /// A retry would fail in the same way.
    Final(ReadError),
    /// A retry may succeed. Includes the service's response, if there was one.
    Retryable(RetryReason, String, Option<ApiError>),
}

/// Reads a path: returns the JSON of a 2xx response, and the service's `Date`.
pub(in crate::cloud) async fn read<C: Transport, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    path: &str,
    query: Vec<(&'static str, String)>,
    project: Option<&Name>,
) -> Result<(Json, Option<Name>), ReadError> {
    let project = project.cloned();
    read_as(
        requests,
        &HttpRequest {
            method: Method::Get,
            path: path.to_owned(),
            query,
            project,
            body: None,
            secrets: SentSecrets::default(),
            deadline: READ_DEADLINE,
        },
    )
    .await
}

/// Sends a request that changes nothing, whatever its method, with retries while they can help.
pub(in crate::cloud) async fn read_as<C: Transport, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    request: &HttpRequest,
) -> Result<(Json, Option<Name>), ReadError> {
    let mut retry = RetryState::new(requests.clock.elapsed());
    loop {
        let (failure, reason, said) = match classify_read(send_once(requests, request, None).await, request)
        {
            Ok((mut json, date)) => {
                requests.learned.borrow().unwrap_envelope(&mut json);
                return Ok((json, date));
            }
            Err(SendError::Final(error)) => return Err(error),
            Err(SendError::Retryable(failure, reason, said)) => (failure, reason, said),
        };
        let held = select_limiter(requests, request).blocked_for(&requests.clock);
        let failure = if let RetryReason::RateLimited(_) = failure {
            RetryReason::RateLimited(held)
        } else {
            failure
        };
        let pause = retry.next_delay(failure, requests.clock.elapsed(), requests.random.fraction());
        let Some(pause) = pause else {
            return Err(given_up(request_name(request), reason, said));
        };
        report_wait(requests, request, reason, pause);
        if !matches!(failure, RetryReason::RateLimited(_)) {
            requests.clock.sleep(pause).await;
        }
    }
}

/// Sends a GET and returns its response with any status; retries only temporary failures, and not for long. The
/// error is the reason as text.
pub(in crate::cloud) async fn send_get<C: Transport, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    request: &HttpRequest,
) -> Result<HttpResponse, String> {
    let mut tries = 0;
    loop {
        let sent = send_once(requests, request, None).await;
        let reason = match &sent {
            Ok(answer) if !matches!(answer.status, 429 | 500 | 502..=599) => {
                return sent.map_err(|e| e.to_string());
            }
            Ok(answer) => format!("the service answered {}", answer.status),
            Err(error) => error.to_string(),
        };
        tries += 1;
        if tries >= MAX_PROBE_ATTEMPTS || matches!(sent, Err(TransportError::Untrusted { .. })) {
            return sent.map_err(|_| reason);
        }
        let limited = matches!(&sent, Ok(answer) if answer.status == 429);
        let pause = backoff_delay(tries - 1, requests.random.fraction());
        report_wait(requests, request, reason, pause);
        if !limited {
            requests.clock.sleep(pause).await;
        }
    }
}

/// Sends a mutating request once; again only when a complete response shows that the rate limit refused it, because
/// then it had no effect. The gate is called before each attempt.
pub(in crate::cloud) async fn send_mutation<C: Transport, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    request: &HttpRequest,
    gate: SendPermit<'_>,
    (back, seen): (&dyn Fn(), &dyn Fn(SentRequest)),
) -> ResponseClass {
    let mut retry = RetryState::new(requests.clock.elapsed()).with_time_limit(MAX_MUTATION_RETRY_TIME);
    loop {
        let exchanged = send_once(requests, request, Some(gate)).await;
        if let Some(sent) = SentRequest::from_exchange(request, &exchanged) {
            seen(sent);
        }
        let settled = classify_exchange(exchanged);
        let ResponseClass::Failure(MutationOutcome::Refused(refusal)) = &settled else { return settled };
        if refusal.status != 429 {
            return settled;
        }
        back();
        let held = select_limiter(requests, request).blocked_for(&requests.clock);
        let pause = retry.next_delay(
            RetryReason::RateLimited(held),
            requests.clock.elapsed(),
            requests.random.fraction(),
        );
        let Some(pause) = pause else { return settled };
        report_wait(requests, request, "rate limited".to_owned(), pause);
    }
}

/// Sends a request once, when the limiter lets it.
async fn send_once<C: Transport, K: Clock, R: Random>(
    requests: &Requests<C, K, R>,
    request: &HttpRequest,
    gate: Option<SendPermit<'_>>,
) -> Result<HttpResponse, TransportError> {
    let turnstile = select_limiter(requests, request);
    let tell = |pause| {
        if pause >= MIN_REPORTED_DELAY {
            report_wait(requests, request, "waits for the rate limit".to_owned(), pause);
        }
    };
    let waited = turnstile.wait_for_slot(&requests.clock, tell).await;
    // The wait may have been long, and the machine suspended meanwhile, so check immediately before sending.
    if let Some(Err(reason)) = gate.map(|gate| gate(request.deadline)) {
        return Err(TransportError::NotPermitted { reason });
    }
    if gate.is_some() {
        MUTATION_SENT.store(true, Ordering::Relaxed);
    }
    let mut count = requests.count.get();
    count.sent += 1;
    count.waited_ms += u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
    requests.count.set(count);
    request.secrets.register_secrets(&mut requests.redactor.borrow_mut());
    let answer = redact::redact_answer(
        requests.cloud.exchange(request).await?,
        request,
        &requests.redactor.borrow(),
    );
    if answer.status == 429 {
        let mut count = requests.count.get();
        count.limited += 1;
        requests.count.set(count);
    }
    requests.record_date(answer.date.as_deref());
    turnstile.observe_answer(&answer, &requests.clock, &requests.random);
    Ok(answer)
}

fn select_limiter<'r, C, K, R>(requests: &'r Requests<C, K, R>, request: &HttpRequest) -> &'r RateLimiter {
    if is_public(&request.path) { &requests.public } else { &requests.keyed }
}

fn report_wait<C, K, R>(
    requests: &Requests<C, K, R>,
    request: &HttpRequest,
    reason: String,
    pause: Duration,
) {
    requests.report_wait(&RequestDelay { request: request_name(request), reason, pause });
}

fn request_name(request: &HttpRequest) -> String {
    format!("{} {}", request.method, request.path)
}

/// Classifies the result of one attempt of a read.
fn classify_read(
    result: Result<HttpResponse, TransportError>,
    request: &HttpRequest,
) -> Result<(Json, Option<Name>), SendError> {
    let again = |reason: String| SendError::Retryable(RetryReason::Transient(None), reason, None);
    let answer = result.map_err(|error| match error {
        TransportError::Untrusted { host, reason } => {
            SendError::Final(ReadError::Untrusted { request: request_name(request), host, reason })
        }
        error => again(error.to_string()),
    })?;
    let failed = |reason| SendError::Final(ReadError::Failed { request: request_name(request), reason });
    match answer.status {
        200..=299 => {
            let json = decode::parse_json(&answer.body).map_err(again)?;
            if decode::says_failure(&json) {
                return Err(again("the answer reports a failure".to_owned()));
            }
            Ok((json, answer.date))
        }
        300..=399 => Err(failed(format!("{} is a redirect, which stead does not follow", answer.status))),
        429 => {
            let (limited, reason) = (RetryReason::RateLimited(Duration::ZERO), "rate limited".to_owned());
            Err(SendError::Retryable(limited, reason, parse_refusal(&answer)))
        }
        408 => Err(again("408, the service timed out waiting for the request".to_owned())),
        400..=499 | 501 => Err(SendError::Final(refusal_error(&answer, request))),
        status => {
            let said = parse_refusal(&answer);
            let reason = said.as_ref().map_or_else(|| status.to_string(), ToString::to_string);
            Err(SendError::Retryable(RetryReason::Transient(answer.retry_after), reason, said))
        }
    }
}

/// Returns the error of a read that was given up, with the service's own text where there is one.
fn given_up(request: String, reason: String, said: Option<ApiError>) -> ReadError {
    match said {
        Some(refusal) if refusal.status < 500 => ReadError::Refused { request, refusal },
        Some(refusal) => ReadError::ServerError { request, refusal },
        None => ReadError::Failed { request, reason },
    }
}

/// Returns the refusal of a 4xx response. A 404 counts only in the service's own envelope: a proxy's error
/// page does not prove absence.
fn refusal_error(answer: &HttpResponse, request: &HttpRequest) -> ReadError {
    let bare = || match answer.status {
        404 => None,
        status => Some(ApiError {
            status,
            error: "refused".to_owned(),
            message: "the answer gives no reason".to_owned(),
            reason: None,
        }),
    };
    let request = request_name(request);
    match parse_refusal(answer).or_else(bare) {
        Some(refusal) => ReadError::Refused { request, refusal },
        None => {
            ReadError::Failed { request, reason: "404 without an error message of the service".to_owned() }
        }
    }
}

/// A check after the rate limiter's wait and right before the socket is opened, with the timeout of the request:
/// permits it, or returns the reason why not.
pub type SendPermit<'g> = &'g dyn Fn(Duration) -> Result<(), String>;
