//! Stop signals: the first lets running steps finish, the second drops the work. A step that is dropped has its
//! intent in the ledger, so the next run determines its outcome.

use std::cell::Cell;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};

/// Interval between two updates of the display.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

/// How work under the stop signals ended.
pub(in crate::cli) enum SignalOutcome<T> {
    /// The work completed, possibly early after the first signal.
    Finished(T),
    /// A second signal arrived, and the work was dropped. The journal has all that is needed to continue.
    Abandoned,
}

/// Runs work to its end; a first SIGINT or SIGTERM sets `stop` and calls `told`, a second drops the work. If `stop`
/// is set already, the first one drops it. Calls `tick` a few times a second.
///
/// # Errors
/// When the signal handlers cannot be installed.
pub(in crate::cli) async fn watch_stop_signals<T>(
    work: impl Future<Output = T>,
    stop: &Cell<bool>,
    told: impl Fn(),
    tick: impl Fn(),
) -> std::io::Result<SignalOutcome<T>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut ticks = interval(REDRAW_INTERVAL);
    // After a pause of the process, one update is enough.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return Ok(SignalOutcome::Finished(done)),
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = ticks.tick() => {
                tick();
                continue;
            }
        }
        if stop.replace(true) {
            return Ok(SignalOutcome::Abandoned);
        }
        told();
    }
}

/// Returns the wait for the first SIGINT or SIGTERM from now on, also before it is polled: without a handler, a signal
/// ends the process at once. It does not end what runs: that watches the signals itself.
///
/// # Errors
/// When the signal handlers cannot be installed.
pub(in crate::cli) fn wait_for_stop() -> std::io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
