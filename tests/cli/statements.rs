//! Statements about failures, plans and names are true: a refused tier, an empty computed value, where children are
//! allowed, which certificates are trusted.
#![allow(clippy::disallowed_methods, reason = "tests drive real processes")]

use crate::case::{Case, Run};

#[test]
fn a_refused_rate_limit_tier_is_not_blamed_on_the_role() {
    let stack = "\
stead: 1
stack: keys
api_key:
  fast: { rate_limit_tier: high, deliver_secret: { file: ./secrets/key } }
vpc:
  main: { cidr: 10.1.0.0/16 }
vm:
  web: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $vpc.main }
";
    let case = Case::new().file("stead.yaml", stack).emulator();
    let run = case.run("apply --yes");
    run.says(&["403", "support", "rate_limit_tier: high"]);
    assert!(!run.all().contains("key's role does not allow"), "{}", run.all());
    // The other resources do not need it.
    case.ok("ls").says(&["vm.web", "vpc.main"]);
    // The remedy that is printed.
    case.edit("stead.yaml", "rate_limit_tier: high, ", "");
    case.ok("plan").says(&["api_key.fast"]);
}

#[test]
fn an_empty_computed_value_is_known_unless_its_inputs_change() {
    let stack = "\
stead: 1
stack: links
database:
  main: { plan: pg-1c-2g, name: first }
app:
  web: { type: web, image: nginx, port: 8080, env_vars: { HOST: $database.main.public_dns_hostname } }
";
    let case = Case::new().file("stead.yaml", stack).emulator();
    case.ok("apply --yes");
    case.edit("stead.yaml", "name: first", "name: second");
    let plan = case.ok("plan");
    plan.says(&["database.main", "second"]);
    assert!(!plan.all().contains("app.web"), "{}", plan.all());
    let before = case.cloud().last();
    case.ok("apply --yes");
    assert_eq!(case.cloud().mutations_since(before).len(), 1);
    // This fills it, so the app waits for it and is rolled out.
    case.edit("stead.yaml", "name: second", "name: second, public_access: true");
    case.ok("plan").says(&["app.web", "HOST"]).says(&["database.main", "public_access"]);
    case.ok("apply --yes");
    case.ok("apply --yes").says(&["No changes"]);
}

#[test]
fn children_nested_in_another_kind_are_explained_there() {
    let case = Case::new();
    case.ok("explain api_key.projects").says(&["project_member"]);
    case.ok("explain api_key.projects.role").says(&["role"]);
    case.ok("explain api_key").says(&["projects"]);
    case.fails(64, "explain api_key.project").says(&["api_key.projects"]);
}

/// Runs `doctor` with the system's certificates hidden by mounts; needs root.
fn doctor_without_certificates(case: &Case, variable: Option<&str>) -> Run {
    let script = "for dir in /etc/ssl /etc/pki /usr/share/ca-certificates /usr/local/share/ca-certificates /usr/lib/ssl; do
            if [ -d \"$dir\" ]; then mount -t tmpfs none \"$dir\"; fi
        done
        exec \"$0\" doctor";
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, crate::case::STEAD]).current_dir(case.path(""));
    command
        .env("HOME", case.path(""))
        .env("STEAD_API_URL", "https://127.0.0.1:1")
        .env("STEAD_API_KEY", "sk_x");
    command.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR");
    if let Some(variable) = variable {
        command.env(variable, case.path("none.pem"));
    }
    Run::of(&command.output().unwrap())
}

#[test]
#[ignore = "only root can cover the system's certificates"]
fn built_in_root_certificates_are_used_where_the_system_has_none() {
    let case = Case::new().file("stead.yaml", "stead: 1\nstack: a\n");
    doctor_without_certificates(&case, None).says(&["trusting the roots that are built in"]);
    for variable in ["SSL_CERT_FILE", "SSL_CERT_DIR", "STEAD_CA_FILE"] {
        let run = doctor_without_certificates(&case, Some(variable));
        assert!(!run.all().contains("built in,"), "{variable}: {}", run.all());
    }
}
