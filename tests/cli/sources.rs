//! Apps and functions from a directory: uploaded, deployed, unchanged, and deployed again.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::case::Case;

const STACK: &str = "\
stead: 1
stack: shop
app: { web: { type: web, source_dir: app } }
serverless_function: { resize: { runtime: python312, handler: main.handle, source_dir: functions/resize } }
";

fn case() -> Case {
    let case = Case::new().file("stead.yaml", STACK);
    fs::create_dir_all(case.path("app/.git")).unwrap();
    fs::create_dir_all(case.path("functions/resize")).unwrap();
    case.file("app/main.py", "print(1)")
        .file("app/.git/HEAD", "ref: x")
        .file("app/.steadignore", "*.log\n")
        .file("app/run.log", "noise")
        .file("functions/resize/main.py", "def handle(): pass")
}

#[test]
fn sources_are_deployed_once_while_unchanged() {
    let case = case().emulator();
    let run = case.ok("apply --yes -v");
    assert!(!run.all().contains("signature"), "{}", run.all());
    let apps = case.cloud().list("/api/v1/apps/services");
    assert_eq!(apps[0]["status"], "live");
    let deployments = format!("/api/v1/apps/services/{}/deployments", apps[0]["id"].as_str().unwrap());
    assert_eq!(case.cloud().list(&deployments).len(), 1);
    // Times, what is ignored and what git keeps for itself are nobody's business.
    case.write("app/main.py", "print(1)");
    case.write("app/run.log", "more noise");
    case.write("app/.git/HEAD", "ref: y");
    let seq = case.cloud().last();
    case.ok("plan").says(&["No changes"]);
    case.ok("apply --yes");
    assert_eq!(case.cloud().mutations_since(seq), Vec::<String>::new());
    case.write("app/main.py", "print(2)");
    case.ok("plan").says(&["app.web", "source_dir", "sha256:", "sha256:", "a new deployment"]);
    case.ok("plan --untrusted").says(&["app.web", "source_dir"]);
    case.ok("apply --yes");
    let sent = case.cloud().mutations_since(seq);
    assert_eq!(sent.len(), 3, "leave to upload, the upload, and the deployment: {sent:?}");
    assert_eq!(case.cloud().list(&deployments).len(), 2);
    case.ok("plan").says(&["No changes"]);
    // That a file can be run is a change.
    let mode = |mode| fs::set_permissions(case.path("app/main.py"), fs::Permissions::from_mode(mode));
    mode(0o755).unwrap();
    case.ok("plan").says(&["app.web", "source_dir"]);
    mode(0o640).unwrap();
    case.ok("plan").says(&["No changes"]);
}

#[test]
fn both_syntaxes_mean_the_same_sources() {
    let case = case().emulator();
    case.ok("apply --yes");
    fs::remove_file(case.path("stead.yaml")).unwrap();
    case.write(
        "stead.kdl",
        "stead 1\nstack shop\napp web type=web source_dir=\"./app/\"\n\
         serverless_function resize runtime=python312 handler=main.handle source_dir=\"functions/resize\"\n",
    );
    case.ok("plan").says(&["No changes"]);
}

#[test]
fn a_saved_plan_does_not_deploy_other_sources() {
    let case = case().emulator();
    case.ok("apply --yes");
    case.write("app/main.py", "print(2)");
    case.ok("plan -o next.plan");
    case.write("app/main.py", "print(3)");
    let seq = case.cloud().last();
    let run = case.run("apply next.plan --yes");
    assert_ne!(run.code, 0, "{}", run.all());
    assert_eq!(case.cloud().mutations_since(seq), Vec::<String>::new());
}

#[test]
fn a_source_path_outside_the_stack_is_rejected_before_it_is_read() {
    let case = case();
    symlink("/etc/passwd", case.path("app/passwd")).unwrap();
    case.fails(1, "validate").says(&["S0276", "app/passwd", "/etc/passwd", ".steadignore"]);
    case.write("app/.steadignore", "*.log\npasswd\n");
    case.ok("validate");
    fs::remove_file(case.path("app/passwd")).unwrap();
    symlink("main.py", case.path("app/again.py")).unwrap();
    case.ok("validate");
    symlink("/etc", case.path("outside")).unwrap();
    case.edit("stead.yaml", "source_dir: app", "source_dir: outside");
    case.fails(1, "validate").says(&["S0276", "outside", "link"]);
    case.edit("stead.yaml", "source_dir: outside", "source_dir: ../app");
    case.fails(1, "validate").says(&["S0273"]);
}

#[test]
fn an_upload_that_fails_is_tried_again() {
    let case = case().emulator();
    case.cloud().faults(&["PUT *=503:1", "POST /apps/services/{id}/source-upload=500:1"]);
    case.ok("apply --yes");
    case.ok("plan").says(&["No changes"]);
}
