//! The `stead` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    stead::cli::dispatch::main()
}
