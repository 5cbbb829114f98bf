//! Signed plans: signed in one job, verified in another.

use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::case::Case;

const STACK: &str = "\
stead: 1
stack: signed
project:
  home: { name: home, description: one }
";

fn mode(case: &Case, name: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(case.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_plan_is_applied_only_with_a_valid_signature_of_a_trusted_key() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.signing_key("ours", 1);
    case.signing_key("theirs", 2);
    case.ok("plan -o bare.plan");
    case.ok("plan -o ours.plan --sign-key ours.pem").says(&["signed by the key sha256:"]);
    case.ok("plan -o theirs.plan --sign-key theirs.pem");
    case.ok("show bare.plan").says(&["SIGNATURE  not signed"]);
    case.ok("show ours.plan").says(&["SIGNATURE  signed by the key sha256:", "not checked"]);
    case.ok("show ours.plan --verify-key ours.pub").says(&[": checked"]);
    let before = case.cloud().last();
    let verify = "--verify-key ours.pub";
    case.fails(4, &format!("apply bare.plan {verify}")).says(&["bare.plan: the plan is not signed"]);
    case.fails(4, &format!("apply theirs.plan {verify}"))
        .says(&["signed by the key sha256:", "and not by"]);
    case.fails(4, &format!("show theirs.plan {verify}"));
    let text = std::fs::read_to_string(case.path("ours.plan")).unwrap();
    for (from, to) in
        [("\"one\"", "\"two\""), ("\"serial\":0", "\"serial\":1"), ("{\"schema\"", "{ \"schema\"")]
    {
        assert!(text.contains(from), "{from}");
        case.write("changed.plan", text.replacen(from, to, 1));
        case.fails(4, &format!("apply changed.plan {verify}")).says(&["was changed after it was signed"]);
    }
    case.write("stripped.plan", text.split(",\"signature\":").next().unwrap().to_owned() + "}\n");
    case.fails(4, &format!("apply stripped.plan {verify}")).says(&["the plan is not signed"]);
    assert_eq!(case.cloud().last(), before, "nobody was asked anything");
    case.ok(&format!("apply ours.plan {verify}")).says(&["checked"]);
    case.fails(64, "apply --yes --verify-key ours.pub").says(&["<FILE>"]);
}

#[test]
fn the_environment_or_the_user_settings_set_the_trusted_keys() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.signing_key("ours", 1);
    let (private, public) = (case.path("ours.pem"), case.path("ours.pub"));
    let run = |args: &str| {
        let mut command = case.command(args);
        command.env("STEAD_PLAN_SIGN_KEY", &private).env("STEAD_PLAN_VERIFY_KEY", &public);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    run("plan -o signed.plan");
    assert!(run("show signed.plan").contains(": checked"));
    let settings = format!("[profiles.default]\nplan_verify_key = '{}'\n", public.display());
    case.write(".config/stead/settings.toml", settings);
    case.ok("show signed.plan").says(&[": checked"]);
    case.ok("plan -o bare.plan");
    case.fails(4, "apply bare.plan").says(&["the plan is not signed"]);
}

#[test]
fn an_unusable_signing_key_is_reported_before_any_prompt() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    case.signing_key("ours", 1);
    let before = case.cloud().last();
    let plan = |key: &str| case.fails(1, &format!("plan -o a.plan --sign-key {key}"));
    plan("none.pem").says(&["cannot read none.pem"]);
    plan("stead.yaml").says(&["stead.yaml is not used"]);
    mode(&case, "ours.pub", 0o600);
    plan("ours.pub").says(&["it holds no private key", "openssl genpkey"]);
    mode(&case, "ours.pem", 0o640);
    plan("ours.pem").says(&["other users can read", "chmod 600 ours.pem"]);
    assert_eq!(case.cloud().last(), before);
    case.ok("plan -o a.plan");
    case.fails(1, "apply a.plan --verify-key ours.pem").says(&["it holds no public key", "-pubout"]);
}

#[test]
#[ignore = "needs openssl; .ci/run brings what it needs and runs it"]
fn openssl_generates_the_keys_and_verifies_the_signature() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    let openssl = |args: &str| {
        let mut command = Command::new("openssl");
        let output = command.current_dir(case.path(".")).args(args.split_whitespace()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{args}: {said}{}", String::from_utf8_lossy(&output.stderr));
        said
    };
    openssl("genpkey -algorithm ed25519 -out key.pem");
    openssl("pkey -in key.pem -pubout -out key.pub");
    case.ok("plan -o a.plan --sign-key key.pem");
    let text = std::fs::read_to_string(case.path("a.plan")).unwrap();
    let (open, field) = text.rsplit_once(",\"signature\":").unwrap();
    let field: serde_json::Value = serde_json::from_str(field.strip_suffix("}\n").unwrap()).unwrap();
    case.write("plan", format!("{open}}}\n"));
    case.write("signature", STANDARD.decode(field["value"].as_str().unwrap()).unwrap());
    openssl("pkeyutl -verify -pubin -inkey key.pub -rawin -in plan -sigfile signature");
    // The other way: what openssl signs, stead takes.
    openssl("pkeyutl -sign -inkey key.pem -rawin -in plan -out signature");
    let value = STANDARD.encode(std::fs::read(case.path("signature")).unwrap());
    let theirs = text.replace(field["value"].as_str().unwrap(), &value);
    case.write("b.plan", theirs);
    openssl("pkey -pubin -in key.pub -outform DER -out key.der");
    let print = openssl("dgst -sha256 -r key.der");
    assert_eq!(field["key"], format!("sha256:{}", print.split_whitespace().next().unwrap()));
    case.ok("apply b.plan --verify-key key.pub");
    for other in ["genpkey -algorithm RSA -out other.pem", "genpkey -algorithm X25519 -out other.pem"] {
        openssl(other);
        case.fails(1, "plan -o c.plan --sign-key other.pem").says(&["its key is not an Ed25519 key"]);
    }
}
