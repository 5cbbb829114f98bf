//! The `stead` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    stead::cli::entry::main()
}
