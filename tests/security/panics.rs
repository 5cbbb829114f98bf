//! A panic prints its location and not its message; memory is not dumped.

use std::process::Command;

use stead::cli::process::panic_hook;

/// Panics with a secret in the message, in a separate process.
#[test]
#[ignore = "runs in a process of its own: it panics"]
fn child_process_that_panics() {
    panic_hook::install_panic_hook();
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    println!("{}", limits.lines().find(|line| line.contains("core file")).unwrap());
    let secret = "canary-ü".to_owned();
    let cut = secret.find('ü').unwrap() + 1;
    println!("{}", &secret[cut..]);
}

#[test]
fn a_panic_shows_no_value_and_writes_no_core_dump() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "panics::child_process_that_panics", "--ignored", "--nocapture"])
        .env("RUST_BACKTRACE", "full");
    let output = command.output().unwrap();
    assert!(!output.status.success());
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("this is a bug in stead, at "), "{said}");
    assert!(!said.contains("canary"), "{said}");
    let limit = said.lines().find(|line| line.contains("core file")).unwrap();
    let figures: Vec<&str> = limit.split_whitespace().filter(|word| *word == "0").collect();
    assert_eq!(figures.len(), 2, "{limit}");
}
