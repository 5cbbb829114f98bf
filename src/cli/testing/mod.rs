//! `stead test`: a test's stack is planned and applied against the emulator's world, in this process and
//! in virtual time: no socket, no account, nothing on the disk.

mod assertions;
mod in_process_cloud;
mod outcome;
mod run;
mod virtual_time;

pub(super) use outcome::AssertionFailure;
pub(super) use run::{plan_empty_world, run};
