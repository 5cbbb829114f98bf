//! Small repositories for what generated ones found.

use std::collections::BTreeMap;

use super::trial::Trial;
use super::{Counts, apply_round, run_virtually};

const NET: &str = "stead: 1\nstack: net\nenvironments: { prod: {} }\nvpc: { main: { name: main, cidr: 10.30.0.0/16 } }\noutputs: { id: $vpc.main }\n";
const APP: &str = "stead: 1\nstack: app\nenvironments: { prod: {} }\nstacks: { net: ../net }\nvm: { web: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $stacks.net.id } }\n";

/// Applies two stacks, rewrites them, and returns the obstacles of the next plan; nothing is sent then.
fn obstacles_after(app: &str, edited: [&str; 2]) -> BTreeMap<String, String> {
    run_virtually(async || {
        let trial = Trial::new(1);
        trial.write_files([("net/stead.yaml", NET), ("app/stead.yaml", app)]);
        apply_round(&trial, &mut Counts::default(), false).await.unwrap();
        trial.write_files([("net/stead.yaml", edited[0]), ("app/stead.yaml", edited[1])]);
        let review = trial.plan(false).await.map_err(|failure| failure.message).unwrap();
        let sent = trial.cloud.sent().len();
        assert!(trial.apply(&review, false).await.is_empty());
        assert_eq!(trial.cloud.sent().len(), sent);
        review.obstacles()
    })
}

#[test]
fn a_network_whose_successor_has_its_addresses_is_not_deleted_under_the_machines_of_others() {
    let renamed = NET.replace("vpc: { main:", "vpc: { core:").replace("$vpc.main", "$vpc.core");
    let obstacles = obstacles_after(APP, [&renamed, APP]);
    let text = &obstacles["net/prod"];
    let deleted = "must be deleted before something else of its stack is created or changed";
    let of_net = format!("vpc.main {deleted}, and vm.web of app/prod still uses it.");
    assert!(text.contains(&of_net), "{obstacles:#?}");
    let of_app = format!("vm.web still uses vpc.main of net/prod, which {deleted}.");
    assert!(obstacles["app/prod"].contains(&of_app), "{obstacles:#?}");
}

#[test]
fn an_object_that_only_an_output_looks_up_is_not_replaced() {
    let lookup = "stead: 1\nstack: app\nenvironments: { prod: {} }\nvolume: { v: { size: 10 } }\n";
    let looking = format!(
        "{lookup}data: {{ vpc: {{ main: {{ name: main }} }} }}\noutputs: {{ id: $data.vpc.main }}\n"
    );
    let moved = NET.replace("10.30.0.0/16", "10.31.0.0/16, lifecycle: { replace: create_first }");
    let obstacles = obstacles_after(&looking, [&moved, &looking.replace("size: 10", "size: 11")]);
    assert!(
        obstacles["net/prod"].contains("vpc.main would be deleted, and data.vpc.main of app/prod uses it."),
        "{obstacles:#?}"
    );
    assert!(obstacles["app/prod"].contains("data.vpc.main"), "{obstacles:#?}");
}
