//! `stead test`: plans and applies a stack against the emulator, in this process and in virtual time: without
//! socket, account or files on disk. In: a stack and a test. Out: the expectations that do not hold.

mod assertions;
mod outcome;
mod run;

pub(super) use outcome::AssertionFailure;
pub(super) use run::{plan_empty_world, run};
