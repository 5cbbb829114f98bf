//! What is brought back before it changes, and what is made anew because nothing changes it.

use serde_json::json;

use super::show;
use super::world::{World, is_empty};
use crate::plan::model::change::Plan;

fn effects(plan: &Plan) -> Vec<&str> {
    plan.changes.iter().flat_map(|change| &change.effects).map(|effect| effect.text.as_str()).collect()
}

fn suspended() -> World {
    let mut world = World::new();
    world.write("database.main", json!({"plan": "pg-free"}));
    world.settle();
    world.mutate("database.main", "status", json!("suspended"));
    world
}

#[test]
fn a_suspended_database_is_resumed_only_by_a_change_that_needs_it() {
    let mut world = suspended();
    assert!(is_empty(&world.plan()));
    world.set("database.main", "name", json!("other"));
    let plan = world.settle();
    insta::assert_snapshot!(show(&plan), @r#"
    ~ database.main config
        name main → other
    0 database.main rename after []
    "#);
    assert!(is_empty(&world.plan()), "a new name needs nobody awake");
    world.set("database.main", "storage_gb", json!(20));
    let plan = world.settle();
    insta::assert_snapshot!(show(&plan), @r#"
    ~ database.main config
        storage_gb null → 20
    0 database.main resume + scale after []
    "#);
    insta::assert_snapshot!(effects(&plan).join("\n"), @"it is suspended, and is resumed first; in use it costs $1.25 a month");
}

#[test]
fn a_change_to_a_child_of_a_suspended_database_resumes_it() {
    let mut world = suspended();
    world.write("database.main.users.report", json!({}));
    let plan = world.settle();
    insta::assert_snapshot!(show(&plan), @r#"
    ~ database.main upstream: database.main.users.report needs it to be active
    + database.main.users.report config
    0 database.main resume after []
    1 database.main.users.report create after [0]
    "#);
    world.mutate("database.main", "status", json!("suspended")).remove("database.main.users.report");
    let plan = world.settle();
    insta::assert_snapshot!(show(&plan), @r#"
    - database.main.users.report config: its block is gone
    ~ database.main upstream: database.main.users.report needs it to be active
    0 database.main resume after []
    1 database.main.users.report delete report after [0]
    "#);
    world.write("database.main.users.report", json!({})).settle();
    world.mutate("database.main", "status", json!("suspended"));
    world.options.destroy = true;
    // The user goes with its database.
    insta::assert_snapshot!(show(&world.plan()), @r#"
    - database.main config: everything is destroyed
    - database.main.users.report config: everything is destroyed
    0 database.main delete database-1 after []
    "#);
}

#[test]
fn a_suspended_database_holds_data_and_is_not_replaced_unapproved() {
    let mut world = suspended();
    world.set("database.main", "engine_version", json!("15"));
    let plan = world.plan();
    insta::assert_snapshot!(show(&plan), @"
    -/+ database.main config: the API cannot change engine_version in place
        engine_version null → 15 !
    0 database.main delete database-1 after []
    1 database.main create after [0]
    ! holds_data: database.main holds data and would be replaced by an empty database (the API cannot change engine_version in place). It is suspended, and its data is still in it.
    ");
    assert!(
        plan.blocks[0].help.contains("resume it (stead do resume database.main)"),
        "{}",
        plan.blocks[0].help
    );
    insta::assert_snapshot!(effects(&plan).join("\n"), @"
    it is suspended, not empty: the old object's data is lost for good
    its address changes
    ");
    world.options.destroy = true;
    insta::assert_snapshot!(effects(&world.plan()).join("\n"), @"it is suspended, not empty: its data is lost for good");
}

fn app() -> World {
    let mut world = World::new();
    world.write("app.web", json!({"type": "web", "image": "nginx", "port": 8080}));
    world.settle();
    world
}

#[test]
fn a_failed_app_is_redeployed() {
    let mut world = app();
    world.mutate("app.web", "status", json!("failed"));
    let plan = world.settle();
    insta::assert_snapshot!(show(&plan), @r#"
    ~ app.web unfinished: its deployment failed, and it is deployed again
    0 app.web deploy after []
    "#);
    insta::assert_snapshot!(effects(&plan).join("\n"), @r#"
    its deployment failed, and it is deployed again
    "#);
    world.mutate("app.web", "status", json!("failed")).set("app.web", "port", json!(8081));
    insta::assert_snapshot!(show(&world.plan()), @r#"
    ~ app.web config: its deployment failed, and it is deployed again
        port 8080 → 8081
    0 app.web patch after []
    "#);
    world.set("app.web", "port", json!(8080)).set("app.web", "instances", json!(2));
    insta::assert_snapshot!(show(&world.plan()), @r#"
    ~ app.web config: its deployment failed, and it is deployed again
        instances null → 2
    0 app.web deploy + scale after []
    "#);
}

#[test]
fn a_change_of_the_source_type_replaces_the_app() {
    let mut world = app();
    world.unset("app.web", "image").set("app.web", "source_dir", json!("sha256:1"));
    insta::assert_snapshot!(show(&world.settle()), @r#"
    -/+ app.web config: it was created with image, and no call changes that to source_dir
        source_dir null → sha256:1
        image nginx → null
    0 app.web delete app-1 after []
    1 app.web create after [0]
    "#);
    world.unset("app.web", "source_dir").set("app.web", "image", json!("nginx"));
    insta::assert_snapshot!(show(&world.settle()), @r#"
    -/+ app.web config: it was created with source_dir, and no call changes that to image
        image null → nginx
        source_dir sha256:1 → null
    0 app.web delete app-2 after []
    1 app.web create after [0]
    "#);
    world.unset("app.web", "image").set("app.web", "repo", json!("acme/shop")).set(
        "app.web",
        "branch",
        json!("main"),
    );
    insta::assert_snapshot!(show(&world.settle()), @r#"
    -/+ app.web config: it was created with image, and no call changes that to repo
        repo null → acme/shop !
        branch null → main
        image nginx → null
    0 app.web delete app-3 after []
    1 app.web create after [0]
    "#);
}
