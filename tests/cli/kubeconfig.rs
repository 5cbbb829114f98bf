//! A kubeconfig of a hostile service: `kubectl` runs programs and reads files that it names.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::case::{Case, Run};
use crate::lying::Liar;

const STACK: &str = "\
stead: 1
stack: work
environments: { prod: { default: true } }
cluster: { jobs: { version: \"1.31\", node_pools: { a: { plan: std-2c-4g, node_count: 2 } } } }
";

const MINE: &str = "\
apiVersion: v1
kind: Config
clusters: [{name: mine, cluster: {server: 'https://mine'}}]
users: [{name: mine, user: {token: mine}}]
contexts: [{name: mine, context: {cluster: mine, user: mine}}]
current-context: mine
";

fn case() -> Case {
    let case = Case::new().emulator().file("stead.yaml", STACK);
    case.ok("apply --yes");
    case
}

/// Replaces a part of the kubeconfig in a response.
fn instead(line: &str, mut body: Value, from: &str, to: &str) -> Value {
    if line.contains("/kubeconfig") {
        let text = body["data"]["kubeconfig"].as_str().unwrap();
        let at = text.find(from).unwrap();
        let end = at + text[at..].find('\n').unwrap();
        body["data"]["kubeconfig"] = json!(format!("{}{to}{}", &text[..at], &text[end..]));
    }
    body
}

#[test]
fn a_kubeconfig_that_runs_a_program_or_reads_a_file_is_rejected() {
    let case = case();
    let liar = Liar::before(&case);
    let lies: [crate::lying::Lie; 9] = [
        |line, status, body| {
            (status, instead(line, body, "token: ", "exec: {apiVersion: v1, command: canary}"))
        },
        |line, status, body| (status, instead(line, body, "token: ", "auth-provider: {name: canary}")),
        |line, status, body| (status, instead(line, body, "token: ", "tokenFile: /canary")),
        |line, status, body| {
            (
                status,
                instead(line, body, "token: ", "client-certificate: /canary\n      client-key: /canary"),
            )
        },
        |line, status, body| {
            (status, instead(line, body, "certificate-authority-data", "certificate-authority: /canary"))
        },
        |line, status, body| {
            (status, instead(line, body, "certificate-authority-data", "insecure-skip-tls-verify: true"))
        },
        |line, status, body| (status, instead(line, body, "server: ", "server: http://canary:6443")),
        |line, status, body| {
            (status, instead(line, body, "server: ", "server: https://h\n      proxy-url: http://canary"))
        },
        |line, status, body| (status, instead(line, body, "current-context: ", "current-context: [")),
    ];
    for lie in lies {
        liar.tell(lie);
        for args in
            ["--merge=kc", "--to kc", "--to -", "--to - --output json", "--to kc --output json", "--merge"]
        {
            let mut command = case.command(&format!("do kubeconfig cluster.jobs {args}"));
            let run = Run::of(&command.env("STEAD_API_URL", &liar.url).output().unwrap());
            assert_eq!(run.code, 1, "{args}: {}", run.all());
            run.says(&["kubeconfig is refused"]);
            assert!(!run.all().contains("canary"), "{args}: {}", run.all());
            assert!(!case.path("kc").exists() && !case.path(".kube").exists(), "{args}");
        }
    }
}

#[test]
fn a_merge_never_replaces_a_kubeconfig_entry_that_is_in_use() {
    let case = case().file("kc", MINE);
    std::fs::set_permissions(case.path("kc"), std::fs::Permissions::from_mode(0o640)).unwrap();
    let text = || std::fs::read_to_string(case.path("kc")).unwrap();
    let merge = |args: &str| {
        let mut command = case.command(&format!("do kubeconfig cluster.jobs --merge {args}"));
        Run::of(&command.env("KUBECONFIG", case.path("kc")).output().unwrap())
    };
    assert_eq!(merge("").code, 0);
    let first = text();
    for kept in ["name: mine", "token: mine", "name: work/prod/cluster.jobs", "current-context: mine\n"] {
        assert!(first.contains(kept), "{kept}: {first}");
    }
    assert_eq!(std::fs::metadata(case.path("kc")).unwrap().permissions().mode() & 0o777, 0o600);
    // Another credential under the same name: only with consent.
    case.ok("do rotate-kubeconfig cluster.jobs --yes");
    let refused = merge("");
    assert_eq!(refused.code, 64, "{}", refused.all());
    refused.says(&["--yes"]);
    assert_eq!(text(), first);
    assert_eq!(merge("--yes").code, 0);
    assert!(text() != first && text().contains("current-context: mine\n"));
    assert_eq!(merge("--yes --use").code, 0);
    assert!(text().contains("current-context: work/prod/cluster.jobs\n"));
    // A link is left alone, and what it leads to, too.
    symlink(case.path("kc"), case.path("link")).unwrap();
    let before = text();
    case.fails(1, "do kubeconfig cluster.jobs --merge=link --yes").says(&["was not changed", "not a link"]);
    assert_eq!(text(), before);
    // A file of its own holds nothing but the one connection.
    case.ok("do kubeconfig cluster.jobs --to own");
    let own = std::fs::read_to_string(case.path("own")).unwrap();
    assert!(own.contains("current-context: work/prod/cluster.jobs"), "{own}");
}
