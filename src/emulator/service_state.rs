//! What one emulated service is made of: the world, its clock, limits, faults, log and store.

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
    pub(super) limiter: Option<ServerRateLimiter>,
    pub(super) faults: faults::FaultPlan,
    pub(super) log: RequestLog,
    pub(super) journal: WriteQueue,
    /// OpenAPI document of the service.
    pub(super) openapi: Option<String>,
}
