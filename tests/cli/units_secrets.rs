//! Secret outputs that another stack reads: only from a ledger that keeps them encrypted.

use serde_json::{Value, json};

use crate::case::{Case, Run};

const DB: &str = "stead: 1\nstack: db\nvars: { token: { type: secret, generate: 32, deliver_secret: { file: ./token } } }\napp: { core: { type: web, name: core, repo: acme/core, branch: main, port: 80, env_vars: { TOKEN: $vars.token } } }\noutputs: { token: $vars.token, url: \"https://u:${vars.token}@db/\", plain: open }\n";
const SITE: &str = "stead: 1\nstack: site\nstacks: { db: ../db }\napp: { web: { type: web, name: web, repo: acme/web, branch: main, port: 80, env_vars: { TOKEN: $stacks.db.token, URL: $stacks.db.url, BOTH: \"${stacks.db.plain} ${stacks.db.token}\" } } }\n";

/// A repository with two stacks, and the recipient of an identity in the file `ada`.
struct Repository(Case);

impl Repository {
    fn new() -> (Self, String) {
        let case =
            Case::new().file(".git/HEAD", "").file("db/stead.yaml", DB).file("site/stead.yaml", SITE);
        let recipient = case.ok("secret keygen --out ada").stdout.trim().to_owned();
        (Self(case.emulator()), recipient)
    }

    /// Returns a repository whose first stack keeps its secrets.
    fn with_recipients() -> Self {
        let (repository, recipient) = Self::new();
        let text = format!("{DB}secrets: {{ recipients: [{recipient}] }}\n");
        repository.0.write("db/stead.yaml", text);
        repository
    }

    fn exits(&self, code: i32, args: &str) -> Run {
        let mut command = self.0.command(args);
        let run = Run::of(&command.env("STEAD_AGE_IDENTITY", self.0.path("ada")).output().unwrap());
        assert_eq!(run.code, code, "stead {args}\n{}\n{}", run.stdout, run.stderr);
        run
    }

    fn apply(&self, flags: &str) -> Run {
        let plan = self.exits(0, &format!("plan --all {flags} --output json")).json();
        self.exits(0, &format!("apply --all {flags} --expect {}", plan["fingerprint"].as_str().unwrap()))
    }

    /// Returns the environment variables of an app, as the service has them.
    fn env_vars(&self, name: &str) -> Value {
        let apps = self.0.cloud().list("/api/v1/apps/services");
        let app = apps.into_iter().find(|app| app["name"] == name).unwrap();
        let path = format!("/api/v1/apps/services/{}", app["id"].as_str().unwrap());
        self.0.cloud().control("GET", &path, &Value::Null)
    }

    fn token(&self) -> String {
        std::fs::read_to_string(self.0.path("db/token")).unwrap().trim().to_owned()
    }
}

#[test]
fn a_secret_output_crosses_if_the_ledger_of_its_stack_keeps_it() {
    let repository = Repository::with_recipients();
    let case = &repository.0;
    repository.exits(0, "validate --all");
    // Neither stack was applied: the reader's values are known after the apply.
    let first = repository.apply("");
    let token = repository.token();
    assert!(!first.all().contains(&token));
    let sent = repository.env_vars("web").to_string();
    for value in [token.clone(), format!("https://u:{token}@db/"), format!("open {token}")] {
        assert!(sent.contains(&value), "{value} {sent}");
    }
    repository.exits(0, "plan --all --exit-code");
    // A stack alone reads it from the ledger of the other; so does an apply of a selection.
    case.edit("site/stead.yaml", "TOKEN: $stacks", "KEY: $stacks");
    repository.exits(2, "-C site plan --exit-code");
    repository.apply("--stacks site").says(&["1 applied"]);
    assert!(repository.env_vars("web").to_string().contains(&token));
    let kept = repository.exits(0, "-C db secret get --output json");
    assert!(
        kept.stdout.contains("outputs.token") && kept.stdout.contains("outputs.url"),
        "{}",
        kept.stdout
    );

    // An output is set by what it is computed from.
    case.write("other", "another value");
    let mut command = case.command("-C db secret set outputs.token");
    command.env("STEAD_AGE_IDENTITY", case.path("ada"));
    let run = Run::of(&command.stdin(std::fs::File::open(case.path("other")).unwrap()).output().unwrap());
    run.says(&["An output follows from other secrets"]);
    assert_eq!(run.code, 1);

    // Without the identity, a plan works, and what needs the text is blocked before the first request.
    case.ok("-C site plan --exit-code");
    case.edit("site/stead.yaml", "KEY: $stacks", "OTHER: $stacks");
    let last = case.cloud().last();
    case.fails(4, "-C site apply --yes").says(&["identity_missing", "STEAD_AGE_IDENTITY"]);
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    repository.exits(0, "-C site apply --yes");

    // Another value of the secret reaches the reader.
    repository.exits(0, "-C db secret rotate vars.token --yes");
    assert_ne!(repository.token(), token);
    let plan = repository.exits(2, "plan --all --exit-code");
    assert!(
        plan.stdout.contains("(secret)") && !plan.all().contains(&repository.token()),
        "{}",
        plan.stdout
    );
    repository.apply("");
    let sent = repository.env_vars("web").to_string();
    assert!(sent.contains(&repository.token()) && !sent.contains(&token), "{sent}");
    repository.exits(0, "plan --all --exit-code");
}

#[test]
fn a_secret_output_is_refused_where_nothing_keeps_it() {
    let (repository, recipient) = Repository::new();
    let case = &repository.0;
    repository.exits(1, "validate --all").says(&[
        "S0325",
        "`db.token` contains a secret",
        "add `secrets: { recipients: [age1…] }` to that stack",
    ]);
    repository.exits(1, "plan --all --stacks site").says(&["S0325"]);
    // The stack alone, too: the other one was applied without recipients.
    repository.exits(0, "-C db apply --yes");
    repository.exits(1, "-C site plan").says(&["stores only a fingerprint of `db.token`"]);
    // The remedy.
    case.write("db/stead.yaml", format!("{DB}secrets: {{ recipients: [{recipient}] }}\n"));
    repository.exits(0, "validate --all");
    repository.apply("").says(&["2 applied"]);
    assert!(repository.env_vars("web").to_string().contains(&repository.token()));
    // A secret beside a live value is not kept.
    case.edit(
        "db/stead.yaml",
        "url: \"https://u:${vars.token}@db/\"",
        "url: \"${app.core.url} ${vars.token}\"",
    );
    repository.exits(1, "validate --all").says(&["`db.url` is more than a secret", "an output of its own"]);
    case.edit("db/stead.yaml", "url: \"${app.core.url} ${vars.token}\"", "url: open");
    // A name would show it.
    case.edit("site/stead.yaml", "name: web", "name: \"web-${stacks.db.token}\"");
    repository
        .exits(1, "validate --all")
        .says(&["S0325", "a name would contain a secret of another stack"]);
    repository.exits(1, "-C site plan").says(&["a text that is not secret"]);
}

#[test]
fn a_plan_of_all_stacks_is_blocked_where_an_apply_cannot_read_a_secret() {
    let repository = Repository::with_recipients();
    let case = &repository.0;
    let fingerprint = |plan: &Run| plan.json()["fingerprint"].as_str().unwrap().to_owned();
    let env_vars = |plan: &Run| {
        let plan = plan.json();
        let units = plan["units"].as_array().unwrap();
        let site = units.iter().find(|unit| unit["stack"] == "site").unwrap();
        site["plan"]["changes"][0]["attributes"]
            .as_array()
            .unwrap()
            .iter()
            .find(|attribute| attribute["path"].as_str().unwrap().starts_with("env_vars"))
            .unwrap()
            .clone()
    };
    // The secret does not exist yet, and is one for the reader, too.
    let plan = repository.exits(0, "plan --all --output json");
    let shown = env_vars(&plan);
    assert_eq!(
        (&shown["secret"], &shown["after"]["TOKEN"]),
        (&true.into(), &json!({"secret": true})),
        "{shown}"
    );
    // Without an identity, the reader cannot be applied: the blocker says so before anything is sent. It is a fact of this
    // machine, and the fingerprint is the same.
    case.fails(4, "plan --all").says(&[
        "site/default",
        "identity_missing",
        "app.web",
        "STEAD_AGE_IDENTITY",
        "1 blocked",
    ]);
    assert_eq!(fingerprint(&case.fails(4, "plan --all --output json")), fingerprint(&plan));
    // One identity that is not a recipient's is none.
    case.ok("secret keygen --out eve");
    let mut command = case.command("plan --all");
    let other = Run::of(&command.env("STEAD_AGE_IDENTITY", case.path("eve")).output().unwrap());
    assert_eq!(other.code, 4, "{}", other.all());
    repository.apply("");

    // A plan knows the text, because the service shows it; an apply reads what the ledger keeps.
    case.edit("site/stead.yaml", "TOKEN: $stacks", "KEY: $stacks");
    let plan = repository.exits(0, "plan --all --output json");
    let blocked = case.fails(4, "plan --all --output json");
    assert!(blocked.stdout.contains("identity_missing"), "{}", blocked.stdout);
    assert_eq!(fingerprint(&blocked), fingerprint(&plan));
    let last = case.cloud().last();
    case.fails(4, &format!("apply --all --expect {}", fingerprint(&plan))).says(&["identity"]);
    assert_eq!(case.cloud().mutations_since(last), Vec::<String>::new());
    repository.exits(0, &format!("apply --all --expect {}", fingerprint(&plan)));
    case.ok("plan --all --exit-code");
}

#[test]
fn a_new_secret_passes_through_a_stack_without_resources() {
    let repository = Repository::with_recipients();
    let case = &repository.0;
    let recipient = case.ok("secret keygen --out backup").stdout.trim().to_owned();
    let own = std::fs::read_to_string(case.path("db/stead.yaml")).unwrap();
    let recipients = own.split_once("secrets: ").unwrap().1.trim().replace(']', &format!(", {recipient}]"));
    case.edit("db/stead.yaml", own.split_once("secrets: ").unwrap().1.trim(), &recipients);
    case.write(
        "pass/stead.yaml",
        format!("stead: 1\nstack: pass\nstacks: {{ db: ../db }}\nproject: {{ p: {{ name: p }} }}\noutputs: {{ token: $stacks.db.token }}\nsecrets: {recipients}\n"),
    );
    case.write(
        "site/stead.yaml",
        SITE.replace("../db", "../pass").replace(
            "URL: $stacks.db.url, BOTH: \"${stacks.db.plain} ${stacks.db.token}\"",
            "BOTH: \"-${stacks.db.token}\"",
        ),
    );
    repository.apply("");
    assert!(repository.env_vars("web").to_string().contains(&repository.token()));
    // Another length gives another value, which all three get in one apply.
    case.edit("db/stead.yaml", "generate: 32", "generate: 40");
    repository.exits(2, "plan --all --exit-code").says(&["pass/default", "~ token"]);
    repository.apply("");
    assert_eq!(repository.token().len(), 40);
    assert!(repository.env_vars("web").to_string().contains(&repository.token()));
    repository.exits(0, "plan --all --exit-code");
}

/// A stack that only gives away a generated secret.
#[test]
fn a_secret_that_only_an_output_has_is_replaced_only_as_the_plan_says() {
    let text = |recipient: &str, length: u8| {
        format!(
            "stead: 1\nstack: db\nsecrets: {{ recipients: [{recipient}] }}\nvars: {{ pw: {{ type: secret, generate: {length} }} }}\nvolume: {{ v: {{ size: 20 }} }}\noutputs: {{ pw: $vars.pw }}\n"
        )
    };
    let (repository, recipient) = Repository::new();
    let case = &repository.0;
    std::fs::remove_dir_all(case.path("site")).unwrap();
    case.write("db/stead.yaml", text(&recipient, 24));
    let shown = || repository.exits(0, "-C db output pw --show --raw").stdout.trim().to_owned();
    repository.exits(0, "-C db apply --yes");
    repository.exits(0, "-C db plan --exit-code");
    let first = shown();
    // An unchanged length generates nothing, whatever else changes.
    let other = text(&recipient, 24).replace("size: 20", "size: 30");
    case.write("db/stead.yaml", &other);
    repository.exits(0, "-C db apply --yes");
    assert_eq!(shown(), first);
    case.write("db/stead.yaml", other.replace("generate: 24", "generate: 30"));
    let plan = repository.exits(2, "-C db plan --exit-code");
    plan.says(&["~ pw", "vars.pw is generated by the apply: 30 characters", "1 output"]);
    let plan = repository.exits(0, "plan --all --output json").json();
    assert_eq!(plan["units"][0]["status"], "changed", "{plan}");
    repository.exits(0, "-C db apply --yes").says(&["pw"]);
    assert_ne!(shown(), first);
    let second = shown();
    repository.exits(0, "-C db plan --exit-code");
    repository.exits(0, "-C db apply --yes");
    assert_eq!(shown(), second);
}

/// A generated secret that only the expression of an output has, in an apply without a step.
#[test]
fn a_secret_that_only_an_expression_of_an_output_has_is_kept_and_crosses() {
    let (repository, recipient) = Repository::new();
    let case = &repository.0;
    std::fs::remove_file(case.path("site/stead.yaml")).unwrap();
    let secrets = format!("secrets: {{ recipients: [{recipient}] }}\n");
    let volume = "volume: { v: { name: v, size: 10 } }\n";
    case.write("db/stead.yaml", format!("stead: 1\nstack: db\n{secrets}{volume}"));
    repository.apply("");
    let more =
        "vars: { pw: { type: secret, generate: 20 } }\noutputs: { url: \"redis://:${vars.pw}@h\" }\n";
    case.write("db/stead.yaml", format!("stead: 1\nstack: db\n{secrets}{volume}{more}"));
    let site = "stead: 1\nstack: site\nstacks: { db: ../db }\n\
        app: { web: { type: web, name: web, repo: acme/web, branch: main, port: 80, env_vars: { URL: $stacks.db.url } } }\n";
    case.write("site/stead.yaml", site);
    repository.exits(0, "-C db plan").says(&["vars.pw is generated by the apply: 20 characters"]);
    repository.apply("");
    repository.exits(0, "plan --all --exit-code");
    repository.exits(0, "-C db secret get").says(&["vars.pw"]);
    let app = repository.env_vars("web").to_string();
    assert!(app.contains("redis://:"), "{app}");
}
