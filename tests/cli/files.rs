//! Commands that edit the files of a stack: they change only what they must, completely or not at all.
#![allow(clippy::disallowed_methods, reason = "tests look at the files that commands leave")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::json;

use crate::case::{Case, Run};

const UNTIDY: &str = "stead:   1 # one\nstack: demo\nvpc:\n    main: {cidr: '10.0.0.0/16'}\n";
const TIDY: &str = "stead: 1   # one\nstack: demo\nvpc:\n  main: { cidr: \"10.0.0.0/16\" }\n";

fn text(case: &Case, name: &str) -> String {
    fs::read_to_string(case.path(name)).unwrap()
}

#[test]
fn fmt_checks_shows_a_diff_and_writes() {
    let case = Case::new().file("stead.yaml", UNTIDY);
    fs::set_permissions(case.path("stead.yaml"), fs::Permissions::from_mode(0o640)).unwrap();
    let run = case.fails(1, "fmt --check");
    assert_eq!(run.stdout, "stead.yaml\n");
    case.fails(1, "fmt --check --diff").says(&["- stead:   1 # one", "+ stead: 1   # one"]);
    assert_eq!(text(&case, "stead.yaml"), UNTIDY);
    case.ok("fmt");
    assert_eq!(text(&case, "stead.yaml"), TIDY);
    assert_eq!(fs::metadata(case.path("stead.yaml")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(case.ok("fmt --check").stdout, "");
    assert_eq!(case.ok("fmt --output json").json()["files"], json!([]));
    let broken = case.file("other.stead.yaml", "a: [\n");
    broken.fails(1, "fmt").says(&["S0125", "other.stead.yaml"]);
}

#[test]
fn fmt_reads_standard_input_and_follows_no_symlink() {
    let case = Case::new().file("real.yaml", UNTIDY);
    let mut command = case.command("fmt -");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), UNTIDY.as_bytes()).unwrap();
    assert_eq!(Run::of(&child.wait_with_output().unwrap()).stdout, TIDY);
    std::os::unix::fs::symlink(case.path("real.yaml"), case.path("link.yaml")).unwrap();
    case.fails(1, "fmt link.yaml").says(&["link.yaml"]);
    assert_eq!(text(&case, "real.yaml"), UNTIDY);
}

#[test]
fn every_example_converts_to_a_valid_stack_in_the_other_syntax() {
    for name in ["shop", "apps", "team"] {
        let case = Case::example(name);
        let file = if name == "shop" { "shop.stead.yaml" } else { "stead.yaml" };
        let plan = case.ok("plan --cloud local --output json").json();
        case.ok(&format!("convert --to kdl {file} -o other.stead.kdl"));
        fs::remove_file(case.path(file)).unwrap();
        fs::remove_dir_all(case.path(".stead")).unwrap();
        let other = case.ok("plan --cloud local --output json").json();
        assert_eq!(plan["summary"], other["summary"], "{name}");
        case.fails(1, "convert other.stead.kdl -o other.stead.kdl").says(&["--force"]);
    }
}

#[test]
fn another_tools_file_becomes_a_valid_stack() {
    let compose = "services:\n  web: { image: acme/web:1, ports: [\"80:8080\"], volumes: [.:/srv] }\n";
    let case = Case::new().file("docker-compose.yml", compose);
    let run = case.ok("convert --from compose docker-compose.yml -o stead.yaml");
    assert!(run.stderr.contains("services.web.volumes"), "{}", run.stderr);
    assert!(text(&case, "stead.yaml").contains("services.web.volumes"));
    case.ok("validate").says(&["is valid"]);
    case.fails(1, "convert --from render docker-compose.yml").says(&["S0370"]);
}

#[test]
fn validate_fix_applies_the_safe_suggestions() {
    let stack = "stead: 1\nstack: demo\nvpc:\n  main: { cdir: 10.0.0.0/16 } # keep\nvm:\n  web:\n    tempalte: ubuntu-24.04\n    plan: std-1c-1g\n    vpc: $vpc.mian\n";
    let case = Case::new().file("stead.yaml", stack);
    case.fails(1, "validate").says(&["--fix"]);
    let json = case.fails(1, "validate --output json").json();
    assert_eq!(json["diagnostics"][0]["fix"]["replacement"], "cidr");
    case.fails(64, "validate --fix").says(&["+", "cidr", "--yes"]);
    assert_eq!(text(&case, "stead.yaml"), stack);
    case.ok("validate --fix --yes").says(&["is valid"]);
    let mended = stack.replace("cdir", "cidr").replace("tempalte", "template").replace("mian", "main");
    assert_eq!(text(&case, "stead.yaml"), mended);
    let case = Case::new().file("stead.kdl", "stead 1\nstack demo\nvpc main cidr=10.0.0.0/16 // keep\nvm web template: ubuntu-24.04 plan=std-1c-1g\n");
    case.ok("validate --fix --yes").says(&["is valid"]);
    assert!(text(&case, "stead.kdl").contains("cidr=\"10.0.0.0/16\" // keep"));
}

#[test]
fn accepted_drift_is_written_to_the_file_that_declares_the_attribute() {
    let case = Case::new().emulator().file(
        "stead.yaml",
        "stead: 1\nstack: demo\nvars:\n  size: { type: int, default: 10 }\nproject: { demo: {} }\nvolume:\n  # photos\n  media: { size: 10 } # GB\n  other: { size: $vars.size }\n",
    );
    case.ok("apply --yes");
    for volume in case.cloud().list("/api/v1/volumes") {
        case.cloud().mutate("volume", volume["id"].as_str().unwrap(), &json!({ "size": 25 }));
    }
    case.fails(3, "drift --exit-code").says(&["volume.media.size"]);
    case.fails(1, "drift --accept volume.media.sice --yes").says(&["volume.media.size"]);
    case.fails(1, "drift --accept volume.other.size --yes").says(&["vars.size"]);
    case.fails(64, "drift --accept volume.media.size").says(&["+", "size: 25", "--yes"]);
    case.ok("drift --accept volume.media.size --yes");
    assert!(text(&case, "stead.yaml").contains("  # photos\n  media: { size: 25 } # GB\n"));
}
