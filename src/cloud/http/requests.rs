//! `Requests`: what all requests to one account share: the transport, the rate limiters, the clock, chance and the
//! counters, and what is known of the service and of secrets. `send` sends with it; every phase above takes it by
//! reference. Invariant: requests for the account and for the catalog keep to one limiter each.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::rate_limiter::RateLimiter;
use crate::cloud::capabilities::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, ServiceCapabilities};
use crate::model::clock::Clock;
use crate::model::live::snapshot::RequestCount;
use crate::model::redact::Redactor;

/// A callback for waits.
type WaitListener = Rc<dyn Fn(&RequestDelay)>;

/// A request that waits before it is sent or repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestDelay {
    /// The method and path, such as `GET /api/v1/vms`.
    pub request: String,
    /// The reason for the wait.
    pub reason: String,
    /// The duration of the wait.
    pub pause: Duration,
}

/// What the requests of one client share.
pub(in crate::cloud) struct Requests<C, K, R> {
    pub cloud: C,
    pub clock: K,
    pub random: R,
    /// The rate limiter of the account.
    pub keyed: RateLimiter,
    /// The rate limiter of the catalog: the service counts those requests by peer address.
    pub public: RateLimiter,
    pub count: Cell<RequestCount>,
    listener: RefCell<Option<WaitListener>>,
    /// The secrets that are known in this run, to be redacted in the service's text.
    pub redactor: RefCell<Redactor>,
    /// The capabilities that the service has shown.
    pub learned: RefCell<ServiceCapabilities>,
    /// The page size to request.
    pub page: Cell<usize>,
    /// The service's time in its last response, and the elapsed time of the clock then.
    date: Cell<Option<(Timestamp, Duration)>>,
}

impl<C, K, R> Requests<C, K, R> {
    /// Returns what requests share before the first one is sent.
    pub fn new(cloud: C, clock: K, random: R) -> Self {
        Self {
            cloud,
            clock,
            random,
            keyed: RateLimiter::default(),
            public: RateLimiter::default(),
            count: Cell::default(),
            listener: RefCell::default(),
            redactor: RefCell::default(),
            learned: RefCell::default(),
            page: Cell::new(DEFAULT_PAGE_SIZE),
            date: Cell::default(),
        }
    }

    /// Records the service's time of a response, whose `Date` may be missing or have another form.
    pub fn record_date(&self, date: Option<&str>)
    where
        K: Clock,
    {
        let date = date.and_then(|date| jiff::fmt::rfc2822::parse(date).ok());
        if let Some(date) = date {
            self.date.set(Some((date.timestamp(), self.clock.elapsed())));
        }
    }

    /// Returns the service's time, as its last response showed it; `None` before the first one.
    pub fn service_time(&self) -> Option<Timestamp>
    where
        K: Clock,
    {
        let (date, since) = self.date.get()?;
        let passed = SignedDuration::try_from(self.clock.elapsed().saturating_sub(since)).ok()?;
        date.checked_add(passed).ok()
    }

    /// Calls `listener` with each wait from now on.
    pub fn on_wait(&self, listener: impl Fn(&RequestDelay) + 'static) {
        *self.listener.borrow_mut() = Some(Rc::new(listener));
    }

    /// Tells the listener of a wait.
    pub fn report_wait(&self, wait: &RequestDelay) {
        // The listener may itself send or set a listener, so it must not be called under the borrow.
        let listener = self.listener.borrow().clone();
        if let Some(listener) = listener {
            listener(wait);
        }
    }

    /// Goes by what was learned of the service, until an answer says otherwise.
    pub fn use_capabilities(&self, learned: &ServiceCapabilities) {
        let legal = learned.page_limit.filter(|rows| (1..=MAX_PAGE_SIZE).contains(rows));
        self.page.set(legal.unwrap_or(DEFAULT_PAGE_SIZE));
        self.learned.replace(learned.clone());
        if let Some(rate) = learned.rate {
            self.keyed.start_at(rate);
        }
    }
}
