//! Secret sinks: a secret replaces no content that stead did not deliver, and reaches no file that other programs
//! execute or obey.
#![allow(clippy::disallowed_methods, reason = "tests lay out a repository")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::case::Case;

const HEAD: &str = "stead: 1\nstack: shop\nproject: { p: {} }\n";

fn keys(sinks: &[&str]) -> Case {
    let keys: Vec<String> = sinks
        .iter()
        .enumerate()
        .map(|(n, sink)| format!("  k{n}: {{ role: developer, deliver_secret: {sink} }}\n"))
        .collect();
    Case::new().file("stead.yaml", format!("{HEAD}api_key:\n{}", keys.concat())).emulator()
}

fn text(case: &Case, name: &str) -> String {
    fs::read_to_string(case.path(name)).unwrap()
}

fn keys_made(case: &Case, since: u64) -> usize {
    case.cloud().mutations_since(since).iter().filter(|line| line.contains("api-keys")).count()
}

#[test]
fn a_sink_that_stead_did_not_fill_is_overwritten_only_by_name() {
    for (sink, file, mine) in [
        ("{ env_file: .env, variable: KEY }", ".env", "A=1\nexport KEY=hand-written\nB=2\n"),
        ("{ env_file: .env, variable: KEY }", ".env", "A=1\nKEY=\n"),
        ("{ file: secrets/key }", "secrets/key", "hand-written"),
    ] {
        let case = keys(&[sink]).file(file, mine);
        let before = case.cloud().last();
        case.fails(4, "plan").says(&["BLOCKED", "sink_occupied", "--overwrite-secret api_key.k0"]);
        case.fails(4, "apply --yes").says(&["--overwrite-secret api_key.k0"]);
        assert_eq!(case.cloud().mutations_since(before), [] as [&str; 0], "{sink}");
        assert_eq!(text(&case, file), mine, "{sink}");
        case.fails(64, "apply --yes --overwrite-secret api_key.k1").says(&["Did you mean api_key.k0?"]);
        case.ok("apply --yes --overwrite-secret api_key.k0");
        assert!(!text(&case, file).contains("hand-written"), "{sink}");
        assert_eq!(fs::metadata(case.path(file)).unwrap().permissions().mode() & 0o777, 0o600);
        // From now on it is known, and only its own line changes.
        let first = text(&case, file);
        fs::write(
            case.path(file),
            format!("{first}C=3\n").replace("C=3\n", if file == ".env" { "C=3\n" } else { "" }),
        )
        .unwrap();
        case.edit("stead.yaml", "role: developer", "name: other, role: developer");
        case.ok("apply --yes");
        if file == ".env" {
            let second = text(&case, file);
            assert!(second.starts_with("A=1\n") && second.ends_with("C=3\n"), "{second}");
        }
    }
}

#[test]
fn a_sink_filled_after_the_plan_is_not_overwritten() {
    let case = keys(&["{ file: key }"]);
    case.ok("plan -o x.plan");
    case.write("key", "hand-written");
    case.fails(4, "apply x.plan").says(&["key", "--overwrite-secret api_key.k0"]);
    assert_eq!((text(&case, "key").as_str(), keys_made(&case, 0)), ("hand-written", 0));
    case.ok("apply x.plan --overwrite-secret api_key.k0");
    assert_ne!(text(&case, "key"), "hand-written");
}

/// The sink is checked again before the secret is written.
#[test]
fn a_sink_filled_during_the_apply_is_not_overwritten() {
    let stack = format!(
        "{HEAD}api_key:\n  a: {{ role: developer, deliver_secret: {{ sink: vault }} }}\n  b: {{ role: developer, depends_on: [api_key.a], deliver_secret: {{ file: key }} }}\n"
    );
    let case = Case::new().file("stead.yaml", stack).emulator();
    let script = format!("cat > /dev/null; printf hand-written > {}", case.path("key").display());
    let settings =
        format!("[profiles.default.sinks]\nvault = ['/bin/sh', '-c', {}]\n", serde_json::json!(script));
    case.write(".config/stead/settings.toml", settings);
    let run = case.fails(6, "apply --yes");
    run.says(&["could not be delivered", "--overwrite-secret api_key.b", "it is kept in"]);
    assert_eq!(text(&case, "key"), "hand-written");
    let made = keys_made(&case, 0);
    case.fails(4, "apply --yes").says(&["sink_occupied"]);
    case.ok("apply --yes --overwrite-secret api_key.b");
    assert_eq!((keys_made(&case, 0), text(&case, "key") == "hand-written"), (made, false));
}

#[test]
fn a_sink_of_a_generated_secret_is_not_overwritten() {
    let stack = "stead: 1\nstack: shop\nproject: { p: {} }\nvars: { s: { type: secret, generate: 32, deliver_secret: { file: kept } } }\n\
                 app: { web: { type: web, image: 'nginx:1', env_vars: { S: $vars.s } } }\n";
    let case = Case::new().file("stead.yaml", stack).file("kept", "hand-written").emulator();
    case.fails(4, "plan").says(&["sink_occupied", "--overwrite-secret vars.s"]);
    case.fails(4, "apply --yes");
    assert_eq!(text(&case, "kept"), "hand-written");
    fs::remove_file(case.path("kept")).unwrap();
    case.ok("apply --yes");
    assert_eq!(text(&case, "kept").trim().len(), 32);
    // Another length generates another one: the old one is known to be from here.
    case.edit("stead.yaml", "generate: 32", "generate: 40");
    case.ok("apply --yes");
    assert_eq!(text(&case, "kept").trim().len(), 40);
}

#[test]
fn a_sink_is_not_written_through_a_symlink() {
    let elsewhere = tempfile::tempdir().unwrap();
    let victim = elsewhere.path().join("victim");
    fs::write(&victim, "mine\n").unwrap();
    let case = keys(&["{ file: key }", "{ env_file: .env, variable: KEY }", "{ file: dir/key }"]);
    symlink(&victim, case.path("key")).unwrap();
    symlink(&victim, case.path(".env")).unwrap();
    symlink(elsewhere.path(), case.path("dir")).unwrap();
    case.fails(4, "apply --yes").says(&["link"]);
    assert_eq!(keys_made(&case, 0), 0);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine\n");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
}

#[test]
fn a_sink_in_a_file_that_tools_execute_is_rejected_with_its_location() {
    for path in [
        "stead.yaml",
        "./STEAD.yaml",
        "sub/x.stead.kdl",
        "stead.lock",
        ".git/config",
        ".github/workflows/x.yml",
        ".GitLab-CI.yml",
        ".vscode/tasks.json",
        ".stead/key",
        "prod.vars.yaml",
    ] {
        let case = keys(&[&format!("{{ file: '{path}' }}")]).file("prod.vars.yaml", "{}\n");
        let run = case.fails(1, "validate --var-file prod.vars.yaml");
        run.says(&["S0273", "stead.yaml:5:"]);
        case.fails(1, "apply --yes --var-file prod.vars.yaml");
        assert_eq!(case.cloud().requests(), [], "{path}");
    }
}

#[test]
fn two_sinks_of_one_target_are_an_error() {
    for sinks in [
        ["{ file: key }", "{ file: ./KEY }"],
        ["{ file: .env }", "{ env_file: ./.env, variable: A }"],
        ["{ env_file: .env, variable: A }", "{ env_file: ./.ENV, variable: A }"],
    ] {
        keys(&sinks).fails(1, "validate").says(&["S0272", "two secrets have one target"]);
    }
    let both = keys(&["{ env_file: .env, variable: A }", "{ env_file: .env, variable: B }"]);
    both.ok("apply --yes");
    let lines = text(&both, ".env");
    let names: std::collections::BTreeSet<&str> = lines.lines().map(|line| &line[..3]).collect();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["A='", "B='"], "{lines}");
    let each = "api_key: { k: { for_each: [a, b], role: developer, deliver_secret: { file: key } } }\n";
    let case = Case::new().file("stead.yaml", format!("{HEAD}{each}"));
    case.fails(1, "validate").says(&["${each.key}"]);
    case.edit("stead.yaml", "file: key", "file: 'key-${each.key}'");
    case.ok("validate");
}

#[test]
fn two_environments_with_one_sink_target_are_an_error() {
    let stack = String::from(
        "stead: 1\nstack: shop\nenvironments: { dev: { default: true }, prod: {} }\napi_key: { ci: { name: 'ci-${env}', role: developer, deliver_secret: { file: ./key } } }\n",
    );
    let case = Case::new().file("stead.yaml", stack).emulator();
    for args in ["validate", "plan -e dev", "apply -e prod --yes"] {
        case.fails(1, args).says(&["S0272", "two secrets have one target", "`./secrets/${env}/NAME`"]);
    }
    assert_eq!(case.cloud().requests(), []);
    case.edit("stead.yaml", "file: ./key", "file: './${env}/key'");
    case.ok("apply -e dev --yes");
    case.ok("apply -e prod --yes");
    assert_ne!(text(&case, "dev/key"), text(&case, "prod/key"));
    case.edit("stead.yaml", "file: './${env}/key'", "file: ./key, when: \"${env == 'dev'}\"");
    // `when` belongs to the block.
    case.edit("stead.yaml", ", when: \"${env == 'dev'}\" } }", " }, when: \"${env == 'dev'}\" }");
    case.ok("validate");
}

#[test]
fn a_sink_that_git_would_commit_is_a_warning_with_its_line() {
    let case = Case::new()
        .file(
            "infra/stead.yaml",
            format!("{HEAD}api_key: {{ ci: {{ role: developer, deliver_secret: {{ file: ./key }} }} }}\n"),
        )
        .file(".git/HEAD", "ref: refs/heads/main\n");
    let run = case.ok("-C infra validate");
    run.says(&["git would commit a secret", "/infra/key"]);
    case.write(".gitignore", "/infra/key\n");
    assert!(!case.ok("-C infra validate").all().contains("git would"));
}

#[test]
fn a_plan_names_each_target() {
    let case = keys(&["{ file: key }", "{ env_file: .env, variable: KEY }"]);
    case.ok("plan").says(&["the secret of api_key.k0 is delivered to key"]);
    case.ok("plan").says(&["the secret of api_key.k1 is delivered to .env as KEY"]);
}
