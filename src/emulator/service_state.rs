//! What one emulated service is made of: the world, its clock, limits, faults, log and store.

use super::clock::VirtualClock;
use super::faults;
use super::limiter::Limiter;
use super::log::Log;
use super::store::Journal;
use super::world::World;

/// The cloud, and what stands before it.
pub(super) struct Shell {
    pub(super) world: World,
    pub(super) clock: VirtualClock,
    pub(super) limiter: Option<Limiter>,
    pub(super) faults: faults::Plan,
    pub(super) log: Log,
    pub(super) journal: Journal,
    /// The description of the service's API.
    pub(super) openapi: Option<String>,
}
