//! Identification of this process, and proof that another one is dead. Reads the machine's process table.
#![allow(clippy::disallowed_methods, reason = "the edge where the process table is read")]

use std::fs;

use crate::ledger::state::holder::ProcessIdentity;
use crate::model::address::Name;

/// Returns this process; `None` on a machine without unique process identification.
#[must_use]
pub fn current_process() -> Option<ProcessIdentity> {
    let id = std::process::id();
    Some(ProcessIdentity { boot: boot_id()?, namespace: pid_namespace()?, id, started: start_time(id)? })
}

/// Returns whether a process is proven dead: it ran on this boot of this machine, in this namespace, and its number is
/// free or belongs to another process now.
#[must_use]
pub fn is_dead(process: &ProcessIdentity) -> bool {
    let here = boot_id().is_some_and(|boot| boot == process.boot)
        && pid_namespace().is_some_and(|namespace| namespace == process.namespace);
    // An unreadable process table proves nothing.
    here && start_time(std::process::id()).is_some()
        && match fs::exists(format!("/proc/{}", process.id)) {
            Ok(false) => is_gone(process.id),
            Ok(true) => start_time(process.id).is_some_and(|started| started != process.started),
            Err(_) => false,
        }
}

/// Returns whether a process number is free. The table may hide processes of other users
/// (`hidepid`); signal 0 finds them.
#[cfg(unix)]
fn is_gone(id: u32) -> bool {
    let id = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw);
    id.is_some_and(|id| rustix::process::test_kill_process(id) == Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn is_gone(_id: u32) -> bool {
    false
}

fn boot_id() -> Option<Name> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(Name::new(text.trim()))
}

fn pid_namespace() -> Option<Name> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(Name::new(link.to_str()?))
}

/// Returns the start time, field 22 of the process's stat line. The name before it is in parentheses
/// and may contain any character.
fn start_time(id: u32) -> Option<u64> {
    let line = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    line.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_live_process_is_not_dead_and_a_reused_process_id_is() {
        let me = current_process().unwrap();
        assert!(!is_dead(&me));
        assert!(
            is_dead(&ProcessIdentity { started: me.started + 1, ..me.clone() }),
            "its process id was reused"
        );
        assert!(!is_dead(&ProcessIdentity { boot: "elsewhere".into(), started: 0, ..me.clone() }));
        assert!(!is_dead(&ProcessIdentity { namespace: "pid:[1]".into(), started: 0, ..me.clone() }));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let id = child.id();
        let dead = ProcessIdentity { id, started: start_time(id).unwrap(), ..me };
        child.wait().unwrap();
        assert!(is_dead(&dead));
        assert!(!is_gone(1) && is_gone(id), "someone else's process is no free number");
        assert!(!is_dead(&ProcessIdentity { id: 0, ..current_process().unwrap() }) && !is_gone(u32::MAX));
    }
}
