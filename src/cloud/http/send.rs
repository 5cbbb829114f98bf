//! Sending: every request passes the limiter; reads are sent again while that can help, and a
//! request that changes something only when the limiter refused it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value as Json;

use super::message::{Answer, Cloud, ExchangeError, Request, is_public};
use super::rate_limit::backoff_delay;
use super::rate_limiter::Turnstile;
use super::requests::Wait;
use super::response_class::{Settled, classify_exchange, parse_refusal};
use super::retry::{Failure, Retry};
use super::{decode, redact};
use crate::cloud::client::Client;
use crate::cloud::error::{Mutation, ReadError, Refusal};
use crate::model::address::Name;
use crate::model::clock::{Clock, Random};
use crate::model::redact::SentSecrets;
use crate::model::schema::Method;

/// Whole time of one try of a read.
pub(in crate::cloud) const READ_DEADLINE: Duration = Duration::from_secs(30);

/// Most sendings of a request whose answer is only looked at.
const MOST_LOOKS: u32 = 3;

/// No sending of a change that the limiter refuses starts later than this after the first: whoever intends
/// it knows then that it was refused, and does not have to look for what came of it.
const CHANGE_LONGEST: Duration = Duration::from_secs(90);

/// Waits for the limiter that are worth telling.
const NOTABLE: Duration = Duration::from_secs(1);

/// Whether this process has sent a request that changes something.
static SENT: AtomicBool = AtomicBool::new(false);

/// Tells whether this process has sent a request that changes something: then no failure may say that none was.
#[must_use]
pub fn has_sent_changes() -> bool {
    SENT.load(Ordering::Relaxed)
}

/// Why one try of a read has no result.
enum Trouble {
    /// It would be the same again.
    Final(ReadError),
    /// Time can heal it. What the service said, if it did.
    Again(Failure, String, Option<Refusal>),
}

impl<C: Cloud, K: Clock, R: Random> Client<C, K, R> {
    /// Reads a path: the JSON of a 2xx answer, and the service's `Date`.
    pub(in crate::cloud) async fn read(
        &self,
        path: &str,
        query: Vec<(&'static str, String)>,
        project: Option<&Name>,
    ) -> Result<(Json, Option<Name>), ReadError> {
        let project = project.cloned();
        self.read_as(&Request {
            method: Method::Get,
            path: path.to_owned(),
            query,
            project,
            body: None,
            secrets: SentSecrets::default(),
            deadline: READ_DEADLINE,
        })
        .await
    }

    /// Sends a request that changes nothing, whatever its verb: again while that can help.
    pub(in crate::cloud) async fn read_as(
        &self,
        request: &Request,
    ) -> Result<(Json, Option<Name>), ReadError> {
        let mut retry = Retry::new(self.clock.elapsed());
        loop {
            let (failure, reason, said) = match classify_read(self.send_once(request, None).await, request)
            {
                Ok((mut json, date)) => {
                    self.learned.borrow().unwrap_envelope(&mut json);
                    return Ok((json, date));
                }
                Err(Trouble::Final(error)) => return Err(error),
                Err(Trouble::Again(failure, reason, said)) => (failure, reason, said),
            };
            let held = self.rate_limiter(request).blocked_for(&self.clock);
            let failure = if let Failure::Limited(_) = failure { Failure::Limited(held) } else { failure };
            let pause = retry.next_delay(failure, self.clock.elapsed(), self.random.fraction());
            let Some(pause) = pause else {
                return Err(given_up(request_name(request), reason, said));
            };
            self.report_wait(request, reason, pause);
            if !matches!(failure, Failure::Limited(_)) {
                self.clock.sleep(pause).await;
            }
        }
    }

    /// Sends a GET and returns its answer, whatever its status: again only while time can heal it, and not
    /// for long. Why there is none is told in words.
    pub(in crate::cloud) async fn send_get(&self, request: &Request) -> Result<Answer, String> {
        let mut tries = 0;
        loop {
            let sent = self.send_once(request, None).await;
            let reason = match &sent {
                Ok(answer) if !matches!(answer.status, 429 | 500 | 502..=599) => {
                    return sent.map_err(|e| e.to_string());
                }
                Ok(answer) => format!("the service answered {}", answer.status),
                Err(error) => error.to_string(),
            };
            tries += 1;
            if tries >= MOST_LOOKS || matches!(sent, Err(ExchangeError::Untrusted { .. })) {
                return sent.map_err(|_| reason);
            }
            let limited = matches!(&sent, Ok(answer) if answer.status == 429);
            let pause = backoff_delay(tries - 1, self.random.fraction());
            self.report_wait(request, reason, pause);
            if !limited {
                self.clock.sleep(pause).await;
            }
        }
    }

    /// Sends a request that changes something, once; again only when the limiter refused it with a
    /// complete answer, for then it had no effect. The gate is asked before each.
    pub(in crate::cloud) async fn send_mutation(
        &self,
        request: &Request,
        gate: Gate<'_>,
        back: &dyn Fn(),
    ) -> Settled {
        let mut retry = Retry::new(self.clock.elapsed()).with_time_limit(CHANGE_LONGEST);
        loop {
            let settled = classify_exchange(self.send_once(request, Some(gate)).await);
            let Settled::Ended(Mutation::Refused(refusal)) = &settled else { return settled };
            if refusal.status != 429 {
                return settled;
            }
            back();
            let held = self.rate_limiter(request).blocked_for(&self.clock);
            let pause =
                retry.next_delay(Failure::Limited(held), self.clock.elapsed(), self.random.fraction());
            let Some(pause) = pause else { return settled };
            self.report_wait(request, "rate limited".to_owned(), pause);
        }
    }

    /// Sends a request once, when the limiter lets it.
    async fn send_once(&self, request: &Request, gate: Option<Gate<'_>>) -> Result<Answer, ExchangeError> {
        let turnstile = self.rate_limiter(request);
        let tell = |pause| {
            if pause >= NOTABLE {
                self.report_wait(request, "waits for the rate limit".to_owned(), pause);
            }
        };
        let waited = turnstile.wait_for_slot(&self.clock, tell).await;
        // The wait may have been long, and the machine asleep meanwhile: nothing stands between this
        // look and the socket.
        if let Some(Err(reason)) = gate.map(|gate| gate(request.deadline)) {
            return Err(ExchangeError::Held { reason });
        }
        if gate.is_some() {
            SENT.store(true, Ordering::Relaxed);
        }
        let mut count = self.count.get();
        count.sent += 1;
        count.waited_ms += u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        self.count.set(count);
        request.secrets.register_secrets(&mut self.redactor.borrow_mut());
        let answer =
            redact::redact_answer(self.cloud.exchange(request).await?, request, &self.redactor.borrow());
        if answer.status == 429 {
            let mut count = self.count.get();
            count.limited += 1;
            self.count.set(count);
        }
        turnstile.observe_answer(&answer, &self.clock, &self.random);
        Ok(answer)
    }

    fn rate_limiter(&self, request: &Request) -> &Turnstile {
        if is_public(&request.path) { &self.public } else { &self.keyed }
    }

    fn report_wait(&self, request: &Request, reason: String, pause: Duration) {
        // The listener may itself send or listen: it is not called under the borrow.
        let listener = self.listener.borrow().clone();
        if let Some(listener) = listener {
            listener(&Wait { request: request_name(request), reason, pause });
        }
    }
}

fn request_name(request: &Request) -> String {
    format!("{} {}", request.method, request.path)
}

/// Says what one try of a read came to.
fn classify_read(
    result: Result<Answer, ExchangeError>,
    request: &Request,
) -> Result<(Json, Option<Name>), Trouble> {
    let again = |reason: String| Trouble::Again(Failure::Passing(None), reason, None);
    let answer = result.map_err(|error| match error {
        ExchangeError::Untrusted { host, reason } => {
            Trouble::Final(ReadError::Untrusted { request: request_name(request), host, reason })
        }
        error => again(error.to_string()),
    })?;
    let failed = |reason| Trouble::Final(ReadError::Failed { request: request_name(request), reason });
    match answer.status {
        200..=299 => {
            let json = decode::parse_json(&answer.body).map_err(again)?;
            if decode::says_failure(&json) {
                return Err(again("the answer says that it failed".to_owned()));
            }
            Ok((json, answer.date))
        }
        300..=399 => Err(failed(format!("{} redirects, and no redirect is followed", answer.status))),
        429 => {
            let (limited, reason) = (Failure::Limited(Duration::ZERO), "rate limited".to_owned());
            Err(Trouble::Again(limited, reason, parse_refusal(&answer)))
        }
        408 => Err(again("408, the service waited too long".to_owned())),
        400..=499 | 501 => Err(Trouble::Final(refusal_error(&answer, request))),
        status => {
            let said = parse_refusal(&answer);
            let reason = said.as_ref().map_or_else(|| status.to_string(), ToString::to_string);
            Err(Trouble::Again(Failure::Passing(answer.retry_after), reason, said))
        }
    }
}

/// Returns why a read was given up: in the service's own words, where it had some.
fn given_up(request: String, reason: String, said: Option<Refusal>) -> ReadError {
    match said {
        Some(refusal) if refusal.status < 500 => ReadError::Refused { request, refusal },
        Some(refusal) => ReadError::Broken { request, refusal },
        None => ReadError::Failed { request, reason },
    }
}

/// Returns the refusal of a 4xx answer. A 404 counts as one only in the service's own words: a proxy's
/// page is no proof of absence.
fn refusal_error(answer: &Answer, request: &Request) -> ReadError {
    let bare = || match answer.status {
        404 => None,
        status => Some(Refusal {
            status,
            error: "refused".to_owned(),
            message: "the answer does not say why".to_owned(),
            reason: None,
        }),
    };
    let request = request_name(request);
    match parse_refusal(answer).or_else(bare) {
        Some(refusal) => ReadError::Refused { request, refusal },
        None => ReadError::Failed { request, reason: "404, but not in the service's words".to_owned() },
    }
}

/// Asked after the limiter's wait and right before the socket is opened, with the whole time that the
/// request may take: it leaves, or it does not, and why not.
pub type Gate<'g> = &'g dyn Fn(Duration) -> Result<(), String>;
