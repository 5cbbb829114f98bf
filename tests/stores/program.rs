//! The program under test with an environment of its own: what the machine or another test has set does not reach it.

use std::path::Path;
use std::process::{Command, Stdio};

/// Returns a command of the program with no settings; `home` is the user's directory.
pub fn stead(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stead"));
    let is_setting = |name: &str| ["STEAD_", "AWS_"].iter().any(|prefix| name.starts_with(prefix));
    for (name, _) in std::env::vars().filter(|(name, _)| is_setting(name)) {
        command.env_remove(name);
    }
    command.env_remove("CI").env_remove("XDG_CONFIG_HOME").env("HOME", home).stdin(Stdio::null());
    command
}

/// Returns the variables by which the program reaches an S3 server.
#[cfg(any(feature = "postgres", feature = "s3"))]
pub fn s3_variables(address: &str) -> [(&'static str, String); 4] {
    [
        ("AWS_ENDPOINT_URL", address.to_owned()),
        ("AWS_ACCESS_KEY_ID", "test".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
    ]
}
