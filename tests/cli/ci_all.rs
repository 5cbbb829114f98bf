//! `stead ci` for all stacks of a repository, against a server that speaks the API of GitHub.

use crate::case::Case;
use crate::forge::{Forge, ran};

const SHOP: &str = "\
stead: 1
stack: shop
vars: { mail_key: { type: secret } }
environments: { staging: { default: true }, prod: {} }
vpc: { main: { cidr: 10.0.0.0/16 } }
app:
  web: { type: web, repo: acme/shop, branch: main, port: 8080, env_vars: { MAIL: $vars.mail_key } }
";

const NETWORK: &str = "stead: 1\nstack: network\nenvironments: { staging: { default: true }, prod: { confirm: typed, vars: { cidr: 10.9.0.0/16 } } }\nvars: { cidr: { default: 10.8.0.0/16 } }\nvpc: { net: { name: \"net-${env}\", cidr: $vars.cidr } }\noutputs: { vpc: $vpc.net }\n";

#[test]
fn the_comment_of_all_stacks_approves_their_apply() {
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("network/stead.yaml", NETWORK)
        .file("app/stead.yaml", "stead: 1\nstack: app\nstacks: { network: { source: ../network, env: prod } }\nvm: { web: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $stacks.network.vpc } }\n")
        .emulator();
    let forge = Forge::start();
    ran(forge.hub(&case, "ci reviewed --all"), 1).says(&["no comment with a plan of all"]);
    ran(case.command("plan --all --report md=plan.md"), 0);
    ran(forge.hub(&case, "ci comment plan.md"), 0).says(&["comment created"]);
    assert!(forge.notes()[0]["body"].as_str().unwrap().starts_with("<!-- stead:all -->\n"));
    let reviewed = ran(forge.hub(&case, "ci reviewed --all"), 0).stdout;
    let flags = reviewed.strip_suffix('\n').unwrap();
    let json = ran(forge.hub(&case, "ci reviewed --all --output json"), 0).json();
    let names = "--stacks app/default --stacks network/prod --stacks network/staging";
    assert_eq!(flags, format!("{names} --expect {}", json["fingerprint"].as_str().unwrap()));
    assert_eq!(json["units"].as_array().unwrap().len(), 3);
    ran(case.command(&format!("apply --all {flags}")), 0).says(&["3 applied"]);
    // Without a plan of this commit, the one of before approves nothing.
    ran(forge.hub(&case, "ci comment --all --failed"), 0).says(&["comment changed"]);
    ran(forge.hub(&case, "ci reviewed --all"), 1).says(&["no comment with a plan of all"]);
    assert_eq!(forge.notes().len(), 1);
}

#[test]
fn jobs_with_different_selections_have_different_comments() {
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("network/stead.yaml", NETWORK)
        .file("app/stead.yaml", "stead: 1\nstack: app\nstacks: { network: { source: ../network, env: prod } }\nvm: { web: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $stacks.network.vpc } }\n")
        .emulator();
    let forge = Forge::start();
    let selections = ["-e staging", "-e prod", "--stacks */prod --stacks app", ""];
    for selection in selections {
        ran(case.command(&format!("plan --all {selection} --report md=plan.md")), 0);
        ran(forge.hub(&case, "ci comment plan.md"), 0).says(&["comment created"]);
    }
    assert_eq!(forge.notes().len(), selections.len());
    // The same selection updates its own comment, whatever the order of its patterns.
    ran(case.command("plan --all --stacks app --stacks */prod --report md=plan.md"), 0);
    ran(forge.hub(&case, "ci comment plan.md"), 0).says(&["comment"]);
    assert_eq!(forge.notes().len(), selections.len());
    let flags = |selection: &str| {
        ran(forge.hub(&case, &format!("ci reviewed --all {selection}")), 0).stdout.trim().to_owned()
    };
    let prod = flags("-e prod");
    assert!(prod.starts_with("--stacks network/prod --expect "), "{prod}");
    let both = flags("--stacks app --stacks */prod");
    assert!(both.starts_with("--stacks app/default --stacks network/prod --expect "), "{both}");
    // A failed plan of one selection leaves the others as they are.
    ran(forge.hub(&case, "ci comment --all -e prod --failed"), 0).says(&["comment changed"]);
    ran(forge.hub(&case, "ci reviewed --all -e prod"), 1).says(&["no comment with a plan of all prod"]);
    assert_eq!(flags("--stacks app --stacks */prod"), both);
    // What was reviewed is applied, and nothing else.
    ran(case.command(&format!("apply --all {both}")), 0).says(&["2 applied"]);
    ran(case.command("plan --all -e staging --exit-code"), 2);
    ran(forge.hub(&case, "ci reviewed --stacks app"), 64).says(&["--all"]);
}

#[test]
fn one_pipeline_is_written_for_all_stacks() {
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("network/stead.yaml", NETWORK)
        .file("infra/shop/stead.yaml", SHOP);
    // From a directory inside of the repository, too: the file is written at its root.
    case.ok("-C infra/shop ci init github --all").says(&["wrote .github/workflows/stead-all.yml"]);
    case.fails(1, "ci init github --all").says(&["exists already", "--force"]);
    case.ok("ci init gitlab --all --branch trunk").says(&["wrote .gitlab/stead-all.yml"]);
    let text = |name: &str| std::fs::read_to_string(case.path(name)).unwrap();
    let hub = text(".github/workflows/stead-all.yml");
    assert!(hub.contains("      STEAD_VAR_MAIL_KEY: ${{ secrets.STEAD_VAR_MAIL_KEY }}\n"), "{hub}");
    let lab = text(".gitlab/stead-all.yml");
    assert!(lab.contains("$CI_COMMIT_BRANCH == \"trunk\"\n      when: manual"), "{lab}");
    for report in hub.lines().chain(lab.lines()).flat_map(|line| line.split("--report ").skip(1)) {
        let path = report.split('=').nth(1).unwrap();
        let is_outside = path.starts_with("$REPORTS/") || path.starts_with("$reports/");
        assert!(is_outside || path.starts_with(".stead-reports/"), "{report}");
    }
}
