//! What requests to one account share.

use std::rc::Rc;
use std::time::Duration;

/// Who is told of waits.
pub(in crate::cloud) type Listener = Rc<dyn Fn(&Wait)>;

/// A request that waits before it is sent, or sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// `GET /api/v1/vms`.
    pub request: String,
    /// Why.
    pub reason: String,
    /// For how long.
    pub pause: Duration,
}
