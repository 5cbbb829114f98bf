//! The `stead` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// A plan makes millions of small values and few large ones, so the allocator decides a sixth of its time.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    stead::cli::dispatch::main()
}
