//! What a worker refuses before it needs a database; `tests/stores/workers.rs` has real workers.

use crate::case::Case;

const NET: &str = "stead: 1\nstack: net\nvpc: { main: { cidr: 10.1.0.0/16 } }\n";

#[test]
fn a_worker_without_what_it_needs_is_a_usage_error() {
    let case =
        Case::new().file(".git/HEAD", "ref: refs/heads/main\n").file("net/stead.yaml", NET).emulator();
    let expected = "a".repeat(64);
    for (args, wanted) in [
        ("apply --all --join run-1".to_owned(), "a worker never prompts: it needs an approved plan"),
        ("-C net apply --join run-1".to_owned(), "--join shares the units of a repository between workers"),
        (
            format!("apply --all --expect {expected} --join run-1"),
            "the ledger of net/default is in a directory, which workers cannot share",
        ),
        (
            format!("apply --all --expect {expected} --join run-1 --backend s3://bucket/x"),
            "workers share a run in a PostgreSQL database, and s3://bucket/x is none",
        ),
        (format!("apply --all --expect {expected} --join a*b"), "the name of a run holds letters"),
        ("runs".to_owned(), "workers share a run in a PostgreSQL database, and none is configured"),
        ("runs show 17 --backend file:ledgers".to_owned(), "and file:ledgers is none"),
    ] {
        let run = case.fails(64, &args);
        assert!(run.stderr.contains(wanted), "{args}: {}", run.stderr);
    }
    let run = case.fails(64, "runs");
    assert!(
        run.stderr.contains("Set STEAD_RUNS, or `runs` in a profile, to postgres://"),
        "{}",
        run.stderr
    );
}

#[test]
fn an_unreachable_database_of_runs_is_reported_without_its_password() {
    let case =
        Case::new().file(".git/HEAD", "ref: refs/heads/main\n").file("net/stead.yaml", NET).emulator();
    let address = "postgres://me:hunter2@127.0.0.1:1/runs";
    let mut command = case.command("runs --output json");
    let output = command.env("STEAD_RUNS", address).output().unwrap();
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("cannot list the runs: no connection") && !text.contains("hunter2"), "{text}");
}
