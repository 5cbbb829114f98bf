//! The profiles that the user's settings give units: a command on one stack uses the same ones as `--all`.

use crate::case::Case;

const NET: &str = "stead: 1\nstack: net\nenvironments: { dev: { default: true, vars: { net: 30 } }, prod: { vars: { net: 40 } } }\nvars: { net: { type: int } }\nvpc: { main: { name: \"main-${env}\", cidr: \"10.${vars.net}.0.0/16\" } }\noutputs: { vpc_id: $vpc.main }\n";
const APP: &str = "stead: 1\nstack: app\nstacks: { net: { source: ../net, env: prod } }\nvm: { web: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $stacks.net.vpc_id } }\n";

/// The ledger of `net/prod` is elsewhere than the others.
const SETTINGS: &str = "[profiles.elsewhere]\nbackend = \"file:BASE/elsewhere\"\nenv = \"dev\"\n[profiles.default]\nbackend = \"file:BASE/ledgers\"\n[[units]]\nmatch = \"net/prod\"\nprofile = \"elsewhere\"\n";

/// Returns a repository that was applied with `--all`.
fn applied() -> Case {
    let case = Case::new()
        .file("repo/.git/HEAD", "ref: refs/heads/main\n")
        .file("repo/net/stead.yaml", NET)
        .file("repo/app/stead.yaml", APP)
        .emulator();
    let base = case.path("").to_string_lossy().trim_end_matches('/').to_owned();
    case.write(".config/stead/settings.toml", SETTINGS.replace("BASE", &base));
    let plan = case.ok("plan -C repo --all --output json").json();
    let fingerprint = plan["fingerprint"].as_str().unwrap();
    case.ok(&format!("apply -C repo --all --expect {fingerprint}"));
    case
}

#[test]
fn a_command_on_one_stack_uses_the_profile_of_its_unit() {
    let case = applied();
    case.ok("plan -C repo/net -e prod --exit-code").says(&["No changes"]);
    case.ok("plan -C repo/net --exit-code").says(&["No changes"]);
    case.ok("output -C repo/net -e prod vpc_id --raw");
    // A named profile is used for all units: its ledgers do not have this one.
    case.fails(4, "plan -C repo/net -e prod -p default --exit-code").says(&["never applied", "+ vpc.main"]);
    let mut command = case.command("plan -C repo/net -e prod --exit-code");
    let run = command.env("STEAD_PROFILE", "default").output().unwrap();
    assert_eq!(run.status.code(), Some(4), "{run:?}");
    // The variable selects an environment, and that the profile.
    let mut command = case.command("plan -C repo/net --exit-code");
    let run = command.env("STEAD_ENV", "prod").output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{run:?}");
}

#[test]
fn a_command_on_one_stack_reads_another_one_by_its_profile() {
    let case = applied();
    case.ok("plan -C repo/app --exit-code").says(&["No changes"]);
    // The outputs of a stack that nothing applied where it is looked for are not known.
    case.write(".config/stead/settings.toml", SETTINGS.replace("BASE/elsewhere", "/nowhere"));
    let run = case.run("plan -C repo/app --exit-code");
    assert_ne!(run.code, 0, "{}", run.all());
}

#[test]
fn a_stack_without_a_rule_keeps_the_default_profile() {
    let case = applied();
    case.ok("ls -C repo/app").says(&["vm.web"]);
    case.edit(".config/stead/settings.toml", "match = \"net/prod\"", "match = \"*/default\"");
    // Now the rule is for the other stack.
    case.ok("ls -C repo/net").says(&["vpc.main"]);
    let other = case.ok("ls -C repo/app");
    assert!(!other.all().contains("vm.web"), "{}", other.all());
}
