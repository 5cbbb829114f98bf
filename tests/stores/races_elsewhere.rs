//! The races at S3 and at a state server.

use std::process::Command;

use crate::races;
use crate::state_server::StateServer;

/// What the environment calls the place of the races that this process is started for.
const PLACE: &str = "STEAD_TEST_RACES_AT";

/// S3's settings are variables, and a process does not change its own: so the races run in another one.
#[cfg(feature = "s3")]
#[test]
#[ignore = "needs an S3 server (moto); .ci/run brings what it needs and runs it"]
fn races_in_s3() {
    crate::moto::bucket("races");
    let this = std::env::current_exe().unwrap();
    let mut command = Command::new(this);
    // Whatever this machine's own settings are, they are not for a test.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
        command.env_remove(name);
    }
    let raced = command
        .args(["--exact", "races_elsewhere::child_process_that_races_at_the_given_location", "--nocapture"])
        .env(PLACE, "s3://races/here")
        .env("AWS_ENDPOINT_URL", crate::moto::address())
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .status();
    assert!(raced.unwrap().success());
}

#[tokio::test]
async fn child_process_that_races_at_the_given_location() {
    let Ok(place) = std::env::var(PLACE) else { return };
    races::one_of_two_gets_it(&place, &[]).await;
    races::the_dead_are_succeeded_at_once(&place, &[]).await;
    races::a_sleeper_wakes_to_nothing(&place, &[]).await;
}

/// A lock there has no end, and only a human breaks it: so the dead are not succeeded.
#[tokio::test]
async fn races_at_a_state_server() {
    let place = format!("{}/{{stack}}-{{environment}}", StateServer::new().address);
    races::one_of_two_gets_it(&place, &[]).await;
    races::a_sleeper_wakes_to_nothing(&place, &[]).await;
}
