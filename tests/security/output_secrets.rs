//! Secret outputs between stacks: nothing that is printed or written holds one, in any encoding.

use std::path::PathBuf;

use stead::report::review::ReviewFormat;

use crate::case::{Case, Run};
use crate::forms::forms;

const DB: &str = "stead: 1\nstack: db\nvars: { given: { type: secret }, made: { type: secret, generate: 32, deliver_secret: { file: ./made } } }\napp: { core: { type: web, name: core, repo: acme/core, branch: main, port: 80, env_vars: { A: $vars.made, B: $vars.given } } }\noutputs: { given: $vars.given, made: $vars.made, url: \"https://u:${vars.given}@db/\" }\n";
const SITE: &str = "stead: 1\nstack: site\nstacks: { db: ../db }\napp: { web: { type: web, name: web, repo: acme/web, branch: main, port: 80, start_command: \"serve ${stacks.db.given}\", env_vars: { G: $stacks.db.given, M: $stacks.db.made, U: $stacks.db.url, C: \"${base64(stacks.db.made)}\" } } }\noutputs: { again: $stacks.db.given, more: \"x ${stacks.db.made}\" }\n";
const GIVEN: &str = "cnry-1<\"q\\&é 7919";

struct Harness {
    case: Case,
    secrets: Vec<String>,
    searched: usize,
}

impl Harness {
    fn search(&mut self, what: &str, bytes: &[u8]) {
        self.searched += 1;
        for secret in &self.secrets {
            for (name, form) in forms(secret).into_iter().filter(|(_, form)| form.len() >= 8) {
                let holds = bytes.windows(form.len()).any(|part| part == form);
                assert!(!holds, "{what} holds {secret} as {name}: {}", String::from_utf8_lossy(bytes));
            }
        }
    }

    fn exits(&mut self, code: i32, args: &str) -> Run {
        let mut command = self.case.command(args);
        command.env("STEAD_AGE_IDENTITY", self.case.path("ada")).env("STEAD_VAR_GIVEN", GIVEN);
        let output = command.output().unwrap();
        self.search(&format!("stead {args}: stdout"), &output.stdout);
        self.search(&format!("stead {args}: stderr"), &output.stderr);
        let run = Run::of(&output);
        assert_eq!(run.code, code, "stead {args}\n{}\n{}", run.stdout, run.stderr);
        run
    }

    /// Searches all files but those that hold a secret on purpose.
    fn search_files(&mut self) {
        let kept = ["cloud", "db/made"].map(|name| self.case.path(name));
        let mut folders: Vec<PathBuf> = vec![self.case.path("")];
        while let Some(folder) = folders.pop() {
            let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            for path in paths.filter(|path| !kept.contains(path)).collect::<Vec<_>>() {
                if path.is_dir() {
                    folders.push(path);
                } else {
                    self.search(&path.display().to_string(), &std::fs::read(&path).unwrap());
                }
            }
        }
    }
}

#[test]
fn no_command_shows_a_secret_output_that_another_stack_reads() {
    let case = Case::new().file(".git/HEAD", "").file("site/stead.yaml", SITE);
    let recipient = case.ok("secret keygen --out ada").stdout.trim().to_owned();
    let case =
        case.file("db/stead.yaml", format!("{DB}secrets: {{ recipients: [{recipient}] }}\n")).emulator();
    std::fs::create_dir(case.path("out")).unwrap();
    let mut harness = Harness { case, secrets: vec![GIVEN.to_owned()], searched: 0 };
    let plan = harness.exits(0, "plan --all --output json").json();
    harness.exits(0, &format!("apply --all --expect {} -v", plan["fingerprint"].as_str().unwrap()));
    let made = std::fs::read_to_string(harness.case.path("db/made")).unwrap().trim().to_owned();
    let cloud = harness.case.cloud();
    for app in cloud.list("/api/v1/apps/services") {
        let path = format!("/api/v1/apps/services/{}", app["id"].as_str().unwrap());
        let sent = cloud.control("GET", &path, &serde_json::Value::Null).to_string();
        assert!(sent.contains(&made), "the service has the secret: {sent}");
    }
    harness.secrets.push(made);
    harness.search_files();
    harness.case.edit("site/stead.yaml", "G: $stacks", "H: $stacks");
    let reports = ReviewFormat::ALL.iter().map(|format| format.name());
    let reports =
        reports.fold(String::new(), |all, name| format!("{all} --report {name}=out/report.{name}"));
    for output in ["text", "json", "ndjson"] {
        for args in ["plan --all -v", "-C site plan -vv", "drift --all", "stacks", "validate --all"] {
            harness.exits(0, &format!("{args} --output {output}"));
        }
    }
    harness.exits(0, &format!("plan --all{reports}"));
    harness.exits(0, "plan --all -o out/set");
    harness.exits(0, "-C site plan -o out/saved.plan");
    harness.exits(0, "show out/saved.plan -v");
    harness.exits(0, "-C site eval stacks.db.given");
    harness.exits(0, "-C site render");
    harness.exits(0, "apply out/set -v");
    for args in
        ["get app.web -v", "state pull", "state list -v", "history show 1", "secret get", "ls -o wide"]
    {
        harness.exits(0, &format!("-C site {args}"));
        if args != "get app.web -v" {
            harness.exits(0, &format!("-C db {args}"));
        }
    }
    harness.search_files();
    assert!(harness.searched > 60, "{}", harness.searched);
}
