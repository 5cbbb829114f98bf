//! `stead test`: a test's stack is planned and applied against the emulator's world, in this process and
//! in virtual time: no socket, no account, nothing on the disk.

mod check;
mod cloud;
mod run;
mod time;

pub(super) use run::{Missed, planned, run};
