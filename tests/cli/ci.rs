//! `stead ci`, and `drift --issue`, against a server that speaks the APIs of GitHub and GitLab.

use std::process::Command;

use serde_json::{Value, json};

use crate::case::{Case, Run};
use crate::forge::{ACTIONS_BOT, Forge, HEAD, Known, ran};

const STACK: &str = "\
stead: 1
stack: shop
vars: { mail_key: { type: secret } }
environments: { staging: { default: true }, prod: {} }
vpc: { main: { cidr: 10.0.0.0/16 } }
app:
  web: { type: web, repo: acme/shop, branch: main, port: 8080, env_vars: { MAIL: $vars.mail_key } }
";

#[test]
fn a_second_run_edits_only_the_comment_of_its_own_account() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    let forge = Forge::start();
    let list = "/repos/acme/infra/issues/7/comments";
    let forged = "<!-- stead:shop/staging -->\nall is well\n<sub>`deadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeef`</sub>";
    forge.add(list, json!({ "id": 90, "body": forged, "user": { "login": "eve", "type": "User" } }));
    ran(case.command("plan --report md=plan.md"), 0);
    let created = ran(forge.hub(&case, "ci comment plan.md"), 0);
    created.says(&["comment created: https://github.example/acme/infra/pull/7#issuecomment-2"]);
    ran(forge.hub(&case, "ci comment plan.md"), 0).says(&["comment kept"]);
    case.edit("stead.yaml", "port: 8080", "port: 8081");
    ran(case.command("plan --report md=plan.md"), 0);
    ran(forge.hub(&case, "ci comment plan.md"), 0).says(&["comment changed"]);
    ran(case.command("plan -e prod --report md=prod.md"), 0);
    ran(forge.hub(&case, "ci comment prod.md"), 0).says(&["comment created"]);
    let notes = forge.notes();
    assert_eq!(notes.len(), 3, "one for each environment, and the stranger's");
    assert_eq!(notes[0]["body"], forged);
    assert!(notes[1]["body"].as_str().unwrap().contains("8081"));
    // What was reviewed is what the comment of one's own says.
    let reviewed = ran(forge.hub(&case, "ci reviewed"), 0).stdout;
    assert!(notes[1]["body"].as_str().unwrap().contains(&format!("`{}`", reviewed.trim())), "{reviewed}");
    let expected = format!("apply --expect {}", reviewed.trim());
    ran(case.command(&expected), 0);
    case.edit("stead.yaml", "port: 8081", "port: 8082");
    ran(case.command(&expected), 5).says(&["fingerprint"]);
}

/// Adds a comment with a plan of commit `head`, written by `account`.
fn forged(forge: &Forge, id: u64, account: u64, head: &str) {
    let body = format!(
        "<!-- stead:shop/staging -->\n<!-- stead-head:{head} -->\nall is well\n<sub>`{}`</sub>",
        "deadbeef".repeat(8)
    );
    let user = json!({ "login": "github-actions[bot]", "type": "Bot", "id": account });
    forge.add("/repos/acme/infra/issues/7/comments", json!({ "id": id, "body": body, "user": user }));
}

#[test]
fn only_a_comment_by_the_account_of_the_token_is_edited() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    let forge = Forge::start();
    // An app of somebody else, and an account that took a name over.
    forged(&forge, 90, 1, HEAD);
    forged(&forge, 91, 7, HEAD);
    ran(forge.hub(&case, "ci reviewed"), 1).says(&["no comment with a plan", "--author"]);
    let mut named = forge.hub(&case, "ci reviewed");
    named.args(["--author", "1"]);
    assert!(ran(named, 0).stdout.contains("dead"));
    ran(case.command("plan --report md=plan.md"), 0);
    ran(forge.hub(&case, "ci comment plan.md"), 0).says(&["comment created"]);
    ran(forge.hub(&case, "ci comment --failed"), 0).says(&["comment changed"]);
    let notes = forge.notes();
    assert_eq!(notes.len(), 3);
    for foreign in &notes[..2] {
        assert!(foreign["body"].as_str().unwrap().contains("all is well"));
    }
}

#[test]
fn several_comments_by_the_same_account_are_an_error() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    let forge = Forge::start();
    forged(&forge, 90, ACTIONS_BOT, HEAD);
    ran(forge.hub(&case, "ci reviewed"), 0);
    forged(&forge, 91, ACTIONS_BOT, HEAD);
    ran(case.command("plan --report md=plan.md"), 0);
    for args in ["ci reviewed", "ci comment plan.md"] {
        ran(forge.hub(&case, args), 1).says(&["2 notes of this account", "90, 91"]);
    }
    assert!(forge.asked().iter().all(|line| line.starts_with("GET ")));
}

#[test]
fn only_a_plan_of_the_merged_commit_counts_as_reviewed() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    let forge = Forge::start();
    ran(case.command("plan --report md=plan.md"), 0);
    ran(forge.hub(&case, "ci comment plan.md"), 0);
    ran(forge.hub(&case, "ci reviewed"), 0);
    let set = |change: fn(&mut Known)| change(&mut forge.known.lock().unwrap());
    set(|known| known.open = true);
    ran(forge.hub(&case, "ci reviewed"), 1).says(&["is not merged"]);
    set(|known| known.open = false);
    set(|known| known.head = Some("0123456789012345678901234567890123456789"));
    ran(forge.hub(&case, "ci reviewed"), 1).says(&["not of the commit that was merged"]);
    set(|known| known.head = None);
    // Planning fails now: the plan of before does not stay.
    case.edit("stead.yaml", "10.0.0.0/16", "10.0.0.0/99");
    ran(case.command("plan --report md=plan.md"), 1);
    ran(forge.hub(&case, "ci comment --failed"), 0).says(&["comment changed"]);
    assert!(forge.notes()[0]["body"].as_str().unwrap().contains("the plan failed"));
    ran(forge.hub(&case, "ci reviewed"), 1).says(&["no comment with a plan"]);
}

#[test]
fn a_token_of_another_account_is_reported_with_that_account() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    let forge = Forge::start();
    forge.known.lock().unwrap().other_app = true;
    ran(case.command("plan --report md=plan.md"), 0);
    ran(forge.hub(&case, "ci comment plan.md"), 1).says(&["reviews[bot], the account 8", "--author 8"]);
    ran(forge.hub(&case, "ci comment plan.md --author 8"), 0).says(&["comment kept"]);
    assert_eq!(forge.notes().len(), 1);
}

/// A committed link would make the job post, or overwrite, a file outside the repository.
#[test]
fn a_comment_file_is_not_read_or_written_through_a_symlink() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    let forge = Forge::start();
    ran(case.command("plan --report md=real.md"), 0);
    std::os::unix::fs::symlink("real.md", case.path("plan.md")).unwrap();
    ran(forge.hub(&case, "ci comment plan.md"), 1).says(&["plan.md", "link"]);
    assert!(forge.asked().is_empty());
}

#[test]
fn a_name_with_pipeline_syntax_is_rejected() {
    for (directory, stack) in [
        ("infra/${{ github.token }}", "shop"),
        ("infra/$(id)", "shop"),
        ("infra/`id`", "shop"),
        ("infra/%TEMP%", "shop"),
        ("infra/a\nb: c", "shop"),
        ("infra/shop", "${{ github.token }}"),
        ("infra/shop", "a'] }} b"),
    ] {
        let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n");
        case.write(&format!("{directory}/stead.yaml"), format!("stead: 1\nstack: {}\n", json!(stack)));
        for system in ["github", "gitlab"] {
            let mut command = case.command("");
            command.args(["-C", directory, "ci", "init", system]);
            // A stack whose name is none cannot be read, either.
            let code = if stack == "shop" { 64 } else { 1 };
            let run = ran(command, code);
            run.says(&[if stack == "shop" { "no pipeline is written" } else { "whose name can be read" }]);
        }
        assert!(!case.path(".github").exists() && !case.path(".gitlab").exists());
    }
    let case = Case::new().file(".git/HEAD", "ref: refs/heads/main\n");
    let env = "stead: 1\nstack: shop\nenvironments: { \"x' || 1 }} ${{ 2\": {} }\n";
    case.write("stead.yaml", env);
    case.run("ci init github");
    let written =
        std::fs::read_to_string(case.path(".github/workflows/stead-shop.yml")).unwrap_or_default();
    assert!(!written.contains("|| 1"), "{written}");
    drop(std::fs::remove_dir_all(case.path(".github")));
    // Quotes, brackets and blanks are only characters.
    let odd = "infra/it's \"a\" [b] {c}: #d";
    case.write(&format!("{odd}/stead.yaml"), "stead: 1\nstack: shop\n");
    for system in ["github", "gitlab"] {
        let mut command = case.command("");
        command.args(["-C", odd, "ci", "init", system]);
        ran(command, 0);
    }
    let dir = std::fs::read_dir(case.path(".github/workflows")).unwrap().next().unwrap().unwrap();
    let text = std::fs::read_to_string(dir.path()).unwrap();
    assert!(text.contains(&format!("  STEAD_DIR: {}\n", json!(odd))), "{text}");
}

#[test]
fn a_merge_request_of_a_fork_gets_no_token_and_reports_leave_the_checkout() {
    let case = Case::new().file("stead.yaml", STACK).file(".git/HEAD", "ref: refs/heads/main\n");
    case.ok("ci init gitlab");
    case.ok("ci init github");
    let lab = std::fs::read_to_string(case.path(".gitlab/stead-shop.yml")).unwrap();
    let jobs: Vec<&str> = lab.split("\nstead-shop ").skip(1).collect();
    // check, plan, plan again, an apply for each environment, drift
    assert_eq!(jobs.len(), 6, "{lab}");
    for job in jobs {
        let own = "$CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_PROJECT_ID";
        let reaches = job.contains("API_KEY") || job.contains("ci comment") || job.contains("ci reviewed");
        let of_requests = job.contains("merge_request_event");
        assert!(!reaches || !of_requests || job.contains(own), "{job}");
    }
    let hub = std::fs::read_to_string(case.path(".github/workflows/stead-shop.yml")).unwrap();
    for report in hub.lines().chain(lab.lines()).flat_map(|line| line.split("--report ").skip(1)) {
        let path = report.split('=').nth(1).unwrap();
        let outside = path.starts_with("$REPORTS/") || path.starts_with("$reports/");
        assert!(outside || path.starts_with(".stead-reports/"), "{report}");
    }
}

#[test]
fn a_lost_response_does_not_create_a_second_comment() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    ran(case.command("plan --report md=plan.md"), 0);
    let forge = Forge::start();
    let set = |change: fn(&mut Known)| change(&mut forge.known.lock().unwrap());
    set(|known| known.loses = true);
    ran(forge.hub(&case, "ci comment plan.md"), 0).says(&["comment created"]);
    assert_eq!(forge.notes().len(), 1);
    forge.asked();
    set(|known| known.busy = 2);
    ran(forge.hub(&case, "ci comment plan.md"), 0).says(&["comment kept"]);
    assert_eq!(forge.asked().iter().filter(|line| line.as_str() == "GET /user").count(), 3);
    // A change that is refused is not sent again.
    case.edit("plan.md", "### ", "### again ");
    set(|known| known.refuses = true);
    ran(forge.hub(&case, "ci comment plan.md"), 1)
        .says(&["127.0.0.1 refused the request: 502", "Run the step again"]);
    assert_eq!(forge.asked().iter().filter(|line| line.starts_with("PATCH ")).count(), 1);
    set(|known| known.refuses = false);
    set(|known| known.person = true);
    ran(forge.hub(&case, "ci comment plan.md"), 0).says(&["comment created"]);
    assert_eq!(forge.notes().len(), 2, "a person does not write over an app's comment");
}

#[test]
fn gitlab_and_a_job_after_the_merge_find_the_merge_request() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    ran(case.command("plan --report md=plan.md"), 0);
    let forge = Forge::start();
    forge.known.lock().unwrap().person = true;
    let created = ran(forge.lab(&case, "ci comment plan.md"), 0);
    created.says(&["comment created: https://gitlab.example/a/b/-/merge_requests/7#note_1"]);
    let mut merged = forge.lab(&case, "ci reviewed --output json");
    merged.env_remove("CI_MERGE_REQUEST_IID").env("CI_COMMIT_SHA", &"c0ffee".repeat(7)[..40]);
    let run = ran(merged, 0);
    assert_eq!(run.json()["number"], 7);
    let mut neither = forge.hub(&case, "ci comment plan.md");
    neither.env("GITHUB_REF", "refs/heads/main").env_remove("GITHUB_EVENT_PATH");
    ran(neither, 1).says(&["no pull request and no commit", "--number"]);
}

#[test]
fn drift_opens_one_issue_and_closes_it_when_the_drift_ends() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    ran(case.command("apply --yes"), 0);
    let forge = Forge::start();
    ran(forge.hub(&case, "drift --issue"), 0);
    assert_eq!(forge.notes(), Vec::<Value>::new(), "where nothing drifted, nothing is opened");
    let apps = case.cloud().list("/api/v1/apps/services");
    case.cloud().mutate("app", apps[0]["id"].as_str().unwrap(), &json!({ "port": 9000 }));
    ran(forge.hub(&case, "drift --issue --exit-code"), 3).says(&["the issue is created"]);
    ran(forge.hub(&case, "drift --issue --exit-code"), 3).says(&["the issue is"]);
    let notes = forge.notes();
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0]["title"], "stead drift: shop/staging");
    assert!(notes[0]["body"].as_str().unwrap().contains("8080 → 9000"), "{}", notes[0]["body"]);
    ran(case.command("apply --yes"), 0);
    ran(forge.hub(&case, "drift --issue --exit-code"), 0);
    assert_eq!(forge.notes()[0]["state"], "closed");
    forge.asked();
    ran(forge.hub(&case, "drift --issue"), 0);
    assert!(forge.asked().iter().all(|line| line.starts_with("GET ")));
}

#[test]
fn a_missing_ci_variable_is_reported_before_any_request() {
    let case = Case::new().file("stead.yaml", STACK).file("note.md", "# a note\n").emulator();
    let forge = Forge::start();
    ran(forge.hub(&case, "ci comment note.md"), 64).says(&["is not a Markdown report of stead"]);
    ran(case.command("plan --report md=plan.md"), 0);
    let mut bare = forge.hub(&case, "ci comment plan.md");
    bare.env_remove("GITHUB_TOKEN");
    ran(bare, 64).says(&["GITHUB_TOKEN is not set", "github.token"]);
    let mut plain = forge.hub(&case, "ci comment plan.md");
    plain.env("GITHUB_API_URL", "http://example.com");
    ran(plain, 64).says(&["plain http is for this machine only"]);
    assert!(forge.asked().is_empty());
}

#[test]
fn pipelines_and_hooks_are_written_without_overwriting_other_files() {
    let case = Case::new()
        .file("infra/shop/stead.yaml", format!("{STACK}include: [../common/net.stead.yaml]\n"))
        .file("infra/common/net.stead.yaml", "vpc: { other: { cidr: 10.1.0.0/16 } }\n")
        .file(".git/HEAD", "ref: refs/heads/main\n");
    let run = case.ok("-C infra/shop ci init github");
    run.says(&["wrote .github/workflows/stead-shop.yml"]);
    case.fails(1, "-C infra/shop ci init github").says(&["exists already", "--force"]);
    case.ok("-C infra/shop ci init gitlab --image registry.example.com/ci:1 --branch trunk");
    let text = |name: &str| std::fs::read_to_string(case.path(name)).unwrap();
    let hub = text(".github/workflows/stead-shop.yml");
    for line in [
        "  STEAD_DIR: infra/shop",
        "    paths: [\"infra/shop/**\", \"infra/common/**\", .github/workflows/stead-shop.yml]",
        "        environment: [staging, prod]",
        "      STEAD_VAR_MAIL_KEY: ${{ secrets.STEAD_VAR_MAIL_KEY }}",
    ] {
        assert!(hub.lines().any(|found| found == line), "{line}\n{hub}");
    }
    assert!(text(".gitlab/stead-shop.yml").contains("$CI_COMMIT_BRANCH == \"trunk\""));
    case.ok("-C infra/shop ci hook").says(&["wrote .git/hooks/pre-commit"]);
    let hook = |expected: bool| {
        let path = std::env::join_paths(
            [std::path::Path::new(crate::case::STEAD).parent().unwrap().to_owned()]
                .into_iter()
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        let mut command = Command::new(case.path(".git/hooks/pre-commit"));
        let ended = command.current_dir(case.path("")).env("PATH", path.unwrap()).output().unwrap();
        assert_eq!(ended.status.success(), expected, "{}", Run::of(&ended).all());
    };
    hook(true);
    case.edit("infra/shop/stead.yaml", "10.0.0.0/16", "10.0.0.0/99");
    hook(false);
}

/// Runs a script of a workflow as its runner does; returns its outputs.
fn step(case: &Case, script: &str, variables: &[(&str, &str)]) -> String {
    let output = case.path("output");
    std::fs::write(&output, "").unwrap();
    let mut command = Command::new("bash");
    command.args(["-e", "-c", script]).current_dir(case.path("")).env("GITHUB_OUTPUT", &output);
    let run = Run::of(&command.envs(variables.iter().copied()).output().unwrap());
    assert_eq!(run.code, 0, "{}", run.all());
    std::fs::read_to_string(output).unwrap()
}

/// Runs git in the case's repository.
fn git(case: &Case, line: &str) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(line.split(' '));
    let output = command.current_dir(case.path("")).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_workflow_detects_which_pull_requests_change_the_stack() {
    let case = Case::new().file("infra/shop/stead.yaml", STACK).file("README", "a");
    git(&case, "init -q -b main");
    case.ok("-C infra/shop ci init github");
    let text = std::fs::read_to_string(case.path(".github/workflows/stead-shop.yml")).unwrap();
    let workflow: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
    let script = |job: &str| {
        let steps = workflow["jobs"][job]["steps"].as_sequence().unwrap();
        let look = steps.iter().find(|step| step["id"].as_str() == Some("look")).unwrap();
        look["run"].as_str().unwrap().to_owned()
    };
    git(&case, "add infra README .github");
    git(&case, "commit -qm base");
    // Three requests, each merged onto the branch: one changes the stack, one does not, one is merged onto an older commit.
    for (number, file) in [(1, "infra/shop/stead.yaml"), (2, "README"), (3, "infra/shop/stead.yaml")] {
        git(&case, "checkout -q --detach main");
        case.write(file, format!("{}# {number}\n", std::fs::read_to_string(case.path(file)).unwrap()));
        git(&case, &format!("commit -qam {number}"));
        let head = git(&case, "rev-parse HEAD");
        git(&case, "checkout -q --detach main");
        git(&case, &format!("merge -q --no-ff -m merge {head}"));
        git(&case, &format!("update-ref refs/pull/{number}/merge HEAD"));
        let found = step(&case, &script("changes"), &[("BEFORE", "HEAD^1")]);
        assert_eq!(found, format!("found={}\n", number != 2));
    }
    let stale = git(&case, "rev-parse refs/pull/3/merge^1");
    git(&case, "checkout -q main");
    git(&case, "commit -q --allow-empty -m newer");
    for number in [1, 2] {
        let tree = git(&case, &format!("rev-parse refs/pull/{number}/merge^{{tree}}"));
        let second = git(&case, &format!("rev-parse refs/pull/{number}/merge^2"));
        let merge = git(&case, &format!("commit-tree {tree} -p main -p {second} -m merge"));
        git(&case, &format!("update-ref refs/pull/{number}/merge {merge}"));
    }
    assert_ne!(stale, git(&case, "rev-parse main"));
    git(&case, "clone -q --mirror . origin.git");
    git(&case, &format!("remote add origin file://{}", case.path("origin.git").display()));
    // `gh` lists them, and a fourth that cannot be merged; `jq` is a runner's, `sleep` would wait for GitHub.
    let tools = "gh() { if [ \"$1\" = pr ]; then echo '1 2 3 4'; fi; }
        sleep() { :; }
        jq() { printf '[{\"number\":%s,\"commit\":\"%s\"}]' \"$4\" \"$7\"; }\n";
    let open = step(&case, &format!("{tools}{}", script("requests")), &[("GITHUB_REPOSITORY", "a/b")]);
    let merge = git(&case, "rev-parse refs/pull/1/merge");
    assert_eq!(open, format!("open=[{{\"number\":1,\"commit\":\"{merge}\"}}]\n"));
}
