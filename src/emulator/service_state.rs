//! `HttpService`: the parts of one emulated service, as plain data. `http_service` handles requests with it, and
//! `control` the emulator's own endpoints.

use super::clock::VirtualClock;
use super::faults;
use super::limiter::ServerRateLimiter;
use super::log::RequestLog;
use super::store::WriteQueue;
use super::world::World;

/// The world, and the limiter, fault plan, clock, log and journal around it.
pub(super) struct HttpService {
    pub(super) world: World,
    pub(super) clock: VirtualClock,
    /// `None` applies no rate limit.
    pub(super) limiter: Option<ServerRateLimiter>,
    pub(super) faults: faults::FaultPlan,
    pub(super) log: RequestLog,
    pub(super) journal: WriteQueue,
    /// OpenAPI document to serve, as JSON; `None` serves none.
    pub(super) openapi: Option<String>,
}
