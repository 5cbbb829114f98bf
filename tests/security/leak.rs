//! The leak harness: every command, in every format and report, with canaries in every kind of secret, on a
//! service that repeats what it is sent. Everything that is printed or written is searched for every canary in
//! every encoding.
//!
//! What takes more than a minute is run with `STEAD_LEAK=all`: every command and format on the service that
//! quotes secrets, too.

mod commands;
mod echo;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use regex::bytes::Regex;
use stead::report::review::ReviewFormat;

use crate::case::{Case, Run};
use crate::forms::forms;
use echo::{Echo, Mode};

/// All output formats.
const OUTPUTS: &[&str] = &["text", "json", "ndjson"];

const STACK: &str = r##"stead: 1
stack: leak
environments: { prod: { default: true } }
vars:
  by_env: { type: secret }
  by_file: { type: secret }
  in_file: { type: secret, from_file: secret.txt }
  lines: { type: secret, from_file: lines.txt }
  printed: { type: secret, source: tool }
  made: { type: secret, generate: 32, deliver_secret: { file: ./made } }
vpc: { main: { cidr: 10.0.0.0/16 } }
vm:
  web:
    plan: std-1c-2g
    template: ubuntu-24.04
    vpc: $vpc.main
    user_data: "#!/bin/sh\nexport A='${vars.by_env}'\n${vars.lines}\nexport B=${vars.made}"
app:
  web:
    type: web
    repo: acme/shop
    branch: main
    port: 8080
    start_command: "serve --token ${vars.by_file}"
    env_vars:
      PLAIN: $vars.by_env
      INSIDE: "https://user:${vars.in_file}@host/"
      CODED: "${base64(vars.by_file)}"
      PRINTED: $vars.printed
      MADE: $vars.made
database: { shop: { plan: pg-free, users: { app: { deliver_secret: { file: ./sink } } } } }
api_key: { ci: { role: viewer, deliver_secret: { file: ./ci-key } } }
outputs:
  plain: $vars.by_env
  inside: "a${vars.by_file}b"
  printed: "${base64(vars.printed)}"
  made: $vars.made
  status: $vm.web.status
"##;

const SMALL: &str = "stead: 1\nstack: small\nvpc: { main: { cidr: 10.0.0.0/16 } }\n";

/// Returns secret number `n`, with characters that JSON, HTML and URLs escape.
fn canary(n: usize) -> String {
    format!("{}-{n}<\"q\\&é {}", echo::CANARY, n * 7919 % 1000)
}

/// Returns a secret without such characters, for places that cannot contain them.
fn plain(n: usize) -> String {
    format!("{}{n}plain{}", echo::CANARY, n * 7919 % 1000)
}

/// A stack with canaries in every kind of secret, and the findings so far.
struct Harness {
    case: Case,
    echo: Echo,
    given: Vec<(&'static str, String)>,
    canaries: Vec<String>,
    /// Every canary in every encoding, except for very short ones: three characters of base64 prove nothing.
    needles: Vec<(String, &'static str, Vec<u8>)>,
    /// A pattern that matches any of them.
    any: Option<Regex>,
    searched: usize,
    runs: usize,
    /// Canaries found where none may be, and unexpected exit codes.
    found: Vec<String>,
}

impl Harness {
    fn new() -> Self {
        let case = Case::new().file("stead.yaml", STACK).file("small.yaml", SMALL).emulator();
        case.write("vars.yaml", format!("by_file: '{}'\n", canary(2)));
        case.write("secret.txt", plain(3));
        case.write("lines.txt", format!("{}\n{}\n", canary(4), canary(5)));
        case.write("printed.txt", plain(6));
        case.write("ledger.key", format!("{}{}", plain(7), "k".repeat(40)));
        private(&case.path("ledger.key"));
        // The program notes what it is given and what all processes are called with.
        let script = "env > child.env\ncat /proc/[0-9]*/cmdline > processes 2>/dev/null\ncat printed.txt\n";
        let script = script.replace("child.env", &case.path("out/child.env").display().to_string());
        let script = script.replace("> processes", &format!("> {}", case.path("out/processes").display()));
        let script = script.replace("printed.txt", &case.path("printed.txt").display().to_string());
        case.write("tool.sh", script);
        let tool = case.path("tool.sh").display().to_string();
        case.write(
            ".config/stead/settings.toml",
            format!("[profiles.default.sources]\ntool = ['sh', '{tool}']\n"),
        );
        std::fs::create_dir(case.path("out")).unwrap();
        std::fs::create_dir(case.path("tmp")).unwrap();
        let echo = Echo::before(&case);
        let given = vec![
            ("STEAD_API_URL", echo.url.clone()),
            ("STEAD_VAR_BY_ENV", canary(1)),
            ("STEAD_VAR_FILE", "vars.yaml".to_owned()),
            ("STEAD_LEDGER_KEY", "ledger.key".to_owned()),
            ("TMPDIR", case.path("tmp").display().to_string()),
            ("PGPASSWORD", plain(8)),
            ("HTTPS_PROXY", format!("http://user:{}@127.0.0.1:1", plain(9))),
        ];
        let mut harness = Self {
            case,
            echo,
            given,
            canaries: Vec::new(),
            needles: Vec::new(),
            any: None,
            searched: 0,
            runs: 0,
            found: Vec::new(),
        };
        let key = harness.case.cloud().key.clone();
        let kinds = [1, 2, 4, 5].map(canary).into_iter().chain([3, 6, 7, 8, 9].map(plain)).chain([key]);
        kinds.for_each(|secret| harness.add(&secret));
        harness
    }

    fn add(&mut self, secret: &str) {
        let secret = secret.trim();
        assert!(secret.len() >= 12, "{secret}");
        self.canaries.push(secret.to_owned());
        self.any = None;
        let forms = forms(secret).into_iter().filter(|(_, form)| form.len() >= 8);
        self.needles.extend(forms.map(|(name, form)| (secret.to_owned(), name, form)));
    }

    fn search(&mut self, what: &str, bytes: &[u8]) {
        self.searched += 1;
        let any = self.any.get_or_insert_with(|| any_of(&self.needles));
        if let Some(found) = any.find(bytes) {
            let (secret, name, _) =
                self.needles.iter().find(|(_, _, form)| found.as_bytes() == form).unwrap();
            let from = found.start().saturating_sub(200);
            let around =
                String::from_utf8_lossy(&bytes[from..(found.end() + 40).min(bytes.len())]).into_owned();
            self.found.push(format!("{what} holds {secret} as {name}: {around}"));
        }
    }

    fn run(&mut self, args: &str) -> Run {
        self.runs += 1;
        let mut command = self.case.command(args);
        command.envs(self.given.iter().map(|(name, value)| (*name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let key = self.case.cloud().key.clone();
        let _ = writeln!(child.stdin.take().unwrap(), "{key}");
        let output = child.wait_with_output().unwrap();
        self.search(&format!("stead {args}: stdout"), &output.stdout);
        self.search(&format!("stead {args}: stderr"), &output.stderr);
        let run = Run::of(&output);
        assert!(run.code != 101 && run.code >= 0, "stead {args}: {}", run.all());
        run
    }

    fn done(&mut self, code: i32, args: &str) {
        let run = self.run(args);
        if code != commands::ANY && run.code != code {
            self.found.push(format!("stead {args} exits with {}: {}", run.code, run.all()));
        }
    }

    /// Applies the stack, and searches for the generated secrets, too, from then on.
    fn applied(mut self) -> Self {
        self.done(0, "apply --yes");
        for sink in ["made", "sink", "ci-key"] {
            let secret = std::fs::read_to_string(self.case.path(sink)).unwrap();
            self.add(&secret);
        }
        self
    }

    /// Searches all files except those that contain a secret on purpose.
    fn files(&mut self) {
        let kept = [
            "cloud",
            "vars.yaml",
            "secret.txt",
            "lines.txt",
            "printed.txt",
            "ledger.key",
            "made",
            "sink",
            "ci-key",
            "fresh",
        ];
        let kept: BTreeSet<_> = kept.map(|name| self.case.path(name)).into();
        let mut folders = vec![self.case.path("")];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if kept.contains(&path) {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push(path);
                }
            }
        }
        assert!(files.len() > 3, "{files:?}");
        for path in files {
            self.search(&path.display().to_string(), &std::fs::read(&path).unwrap());
        }
    }

    /// Prints a summary, and fails if a canary was found.
    fn end(self, what: &str, commands: usize) {
        let encodings: BTreeSet<&str> = self.needles.iter().map(|(_, name, _)| *name).collect();
        println!(
            "leak harness, {what}: {commands} command lines, {} runs, {} canaries, {} encodings ({} needles), \
             {} texts and files searched, {} findings",
            self.runs,
            self.canaries.len(),
            encodings.len(),
            self.needles.len(),
            self.searched,
            self.found.len()
        );
        assert!(self.found.is_empty(), "{}", self.found.join("\n\n"));
    }
}

/// Returns a pattern that matches any of these.
fn any_of(needles: &[(String, &'static str, Vec<u8>)]) -> Regex {
    let byte = |byte: &u8| format!("\\x{byte:02x}");
    let texts = needles.iter().map(|(_, _, form)| form.iter().map(byte).collect::<String>());
    Regex::new(&format!("(?-u){}", texts.collect::<Vec<_>>().join("|"))).unwrap()
}

fn private(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

fn reports() -> String {
    let names = ReviewFormat::ALL.iter().map(|format| format.name());
    names.fold(String::new(), |flags, name| format!("{flags} --report {name}=out/report.{name}"))
}

fn all() -> bool {
    std::env::var("STEAD_LEAK").is_ok_and(|value| value == "all")
}

#[test]
fn every_command_is_run_by_the_harness() {
    let missing: Vec<String> =
        commands::all().into_iter().filter(|name| !commands::is_covered(name)).collect();
    assert!(commands::all().len() > 45, "{:?}", commands::all());
    assert_eq!(missing, Vec::<String>::new(), "add each of them to tests/security/leak/commands.rs");
}

#[test]
fn no_command_shows_a_secret_in_any_format() {
    let mut harness = Harness::new().applied();
    let lines = commands::RUNS.len() + commands::LAST.len();
    for (code, args) in commands::RUNS {
        for output in OUTPUTS {
            // A command with one form refuses the others.
            let expected = if *output == "text" { *code } else { commands::ANY };
            harness.done(expected, &format!("{args} --output {output}"));
        }
    }
    for command in ["plan", "drift", "apply --yes"] {
        harness.done(0, &format!("{command}{}", reports()));
    }
    harness.files();
    for (code, args) in commands::LAST {
        harness.done(*code, args);
    }
    harness.files();
    harness.end("every command", lines);
}

#[test]
fn a_secret_in_an_error_response_is_redacted() {
    let mut harness = Harness::new();
    let reports = reports();
    for form in 0..echo::count() {
        let field = ["message", "error", "reason", "details", "key"][form % 5];
        let status = [400, 409, 422, 402, 501][form % 5];
        harness.echo.set(Mode::Refuse { status, form, field });
        let output = OUTPUTS[form % OUTPUTS.len()];
        let run = harness.run(&format!("apply --yes --output {output} -vv{reports}"));
        assert!(run.code != 0, "{}", run.all());
        harness.files();
    }
    // One that may have had an effect is asked about, recorded, and shown by every command that follows.
    if all() {
        harness.echo.set(Mode::Refuse { status: 503, form: 0, field: "message" });
        harness.run(&format!("apply --yes{reports}"));
    }
    harness.echo.set(Mode::Truth);
    for args in ["resolve", "history", "history show 1 -v", "doctor", "state pull"] {
        harness.run(args);
    }
    harness.files();
    assert!(*harness.echo.repeated.lock().unwrap() >= echo::count());
    harness.end("refusals", echo::count() + 1);
}

#[test]
fn secrets_in_other_text_of_the_service_are_redacted() {
    let mut harness = Harness::new().applied();
    // What this run knows: not what only the sinks have.
    let known: Vec<String> =
        [1, 2, 4, 5].map(canary).into_iter().chain([plain(3), harness.case.cloud().key.clone()]).collect();
    let (mut lines, outputs) = (0, if all() { OUTPUTS } else { &["text"][..] });
    for status in [200, 403, 400] {
        for (_, args) in commands::RUNS.iter().filter(|(_, args)| all() || asks(args)) {
            // A public table is asked for without a key, so this run knows none.
            if *args == "catalog vm" {
                continue;
            }
            // What reads no stack knows no secret but its key.
            let texts =
                if reads_no_stack(args) { known[known.len() - 1..].to_vec() } else { known.clone() };
            let quotes = Mode::Quote { status, texts: texts.clone() };
            harness.echo.set(if status == 200 { Mode::Inside(texts) } else { quotes });
            lines += 1;
            for output in outputs {
                harness.run(&format!("{args} --output {output}"));
            }
        }
    }
    harness.files();
    harness.end("other text", lines);
}

#[test]
fn a_status_that_repeats_a_secret_is_redacted() {
    for output in OUTPUTS {
        let mut harness = Harness::new();
        // Not while it lists objects, but after the request was sent.
        harness.echo.set(Mode::Status { text: format!("waiting for {}", canary(1)), times: 4 });
        let run = harness.run(&format!("apply --yes -vv --output {output}"));
        assert!(*output != "ndjson" || run.all().contains("(secret)"), "{}", run.all());
        harness.echo.set(Mode::Status { text: canary(1), times: 1_000 });
        for args in
            ["get vm.web", "ls -o wide", "ls --unmanaged", "drift", "plan -v", "apply --yes", "state pull"]
        {
            harness.run(&format!("{args} --output {output}"));
        }
        harness.run("history show 1 -v");
        harness.files();
        harness.end(&format!("statuses, {output}"), 9);
    }
}

#[test]
fn a_secret_in_an_action_response_is_redacted() {
    let mut harness = Harness::new().applied();
    harness.echo.set(Mode::Inside(vec![canary(1), plain(3)]));
    for output in OUTPUTS {
        for args in [
            "do redeploy app.web --yes",
            "do deployments app.web",
            "do events app.web",
            "do reboot vm.web --yes",
        ] {
            let run = harness.run(&format!("{args} --output {output}"));
            assert!(run.code != 64, "{args}: {}", run.all());
        }
    }
    let run = harness.run("do events app.web --output json");
    assert!(run.stdout.contains("(secret)"), "{}", run.all());
    harness.end("actions", 4);
}

#[test]
fn a_state_server_password_in_a_response_is_redacted() {
    let mut harness = Harness::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 16_384];
            let count = std::io::Read::read(&mut stream, &mut bytes).unwrap_or(0);
            let head = String::from_utf8_lossy(&bytes[..count]).into_owned();
            let login =
                head.lines().find(|line| line.to_lowercase().starts_with("authorization")).unwrap_or("");
            let lock = serde_json::json!({"ID": "7", "Who": plain(10), "Operation": login, "Info": login})
                .to_string();
            let head =
                format!("HTTP/1.1 423 X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", lock.len());
            let _ = stream.write_all(format!("{head}{lock}").as_bytes());
        }
    });
    harness.add(&plain(10));
    harness.given.extend([
        ("STEAD_BACKEND", format!("http://{address}/state")),
        ("STEAD_HTTP_USERNAME", "ci".to_owned()),
        ("STEAD_HTTP_PASSWORD", plain(10)),
    ]);
    for args in ["plan", "apply --yes", "lock status", "state verify", "lock break --reason stuck --yes"] {
        for output in OUTPUTS {
            assert_ne!(harness.run(&format!("{args} --output {output}")).code, 0);
        }
    }
    harness.files();
    harness.end("a state server", 5);
}

/// Returns whether a command does not read the stack.
fn reads_no_stack(args: &str) -> bool {
    ["whoami", "doctor", "do engines"].contains(&args)
}

/// Returns whether a command sends requests to the service.
fn asks(args: &str) -> bool {
    ["plan", "drift", "ls", "get", "whoami", "doctor", "catalog", "cost", "do ", "import"]
        .iter()
        .any(|word| args.starts_with(word))
}

#[test]
fn short_secrets_do_not_garble_text() {
    let stack = "stead: 1\nstack: short\nvars: { a: { type: secret }, b: { type: secret } }\n\
                 app:\n  dev: { type: web, repo: acme/dev, branch: dev, port: 8080, env_vars: { A: $vars.a, B: $vars.b } }\n";
    let case = Case::new().file("stead.yaml", stack).emulator();
    let echo = Echo::before(&case);
    let run = |args: &str| {
        let mut command = case.command(args);
        command.env("STEAD_VAR_A", "a").env("STEAD_VAR_B", "dev").env("STEAD_API_URL", &echo.url);
        Run::of(&command.output().unwrap())
    };
    echo.set(Mode::Quote { status: 403, texts: vec!["branch dev is a mistake".to_owned()] });
    run("plan").says(&["[branch dev is a mistake]"]);
    echo.set(Mode::Truth);
    let applied = run("apply --yes");
    assert_eq!(applied.code, 0, "{}", applied.all());
    let got = run("get app.dev");
    got.says(&["branch", "dev", "acme/dev"]);
    assert!(!got.stdout.contains("br(secret)nch"), "{}", got.stdout);
}

#[test]
fn the_language_server_shows_no_secret() {
    let mut harness = Harness::new().applied();
    let uri = format!("file://{}", harness.case.path("stead.yaml").display());
    let document = serde_json::json!({"uri": uri, "languageId": "yaml", "version": 1, "text": STACK});
    let mut messages = vec![
        (1, "initialize", serde_json::json!({"capabilities": {}, "rootUri": null})),
        (0, "textDocument/didOpen", serde_json::json!({"textDocument": document})),
    ];
    for line in 0..STACK.lines().count() {
        for character in [4, 12, 22, 40] {
            let place = serde_json::json!({"textDocument": {"uri": uri}, "position": {"line": line, "character": character}});
            messages.push((2, "textDocument/hover", place.clone()));
            messages.push((2, "textDocument/completion", place));
        }
    }
    messages.push((3, "shutdown", serde_json::Value::Null));
    messages.push((0, "exit", serde_json::Value::Null));
    let mut command = harness.case.command("lsp");
    command.envs(harness.given.iter().map(|(name, value)| (*name, value)));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        for (id, method, params) in messages {
            let mut message = serde_json::json!({"jsonrpc": "2.0", "method": method, "params": params});
            if id > 0 {
                message["id"] = id.into();
            }
            let text = message.to_string();
            write!(input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        }
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.stdout.len() > 10_000, "{}", String::from_utf8_lossy(&output.stdout));
    harness.search("the language server", &output.stdout);
    harness.search("the language server", &output.stderr);
    harness.end("the language server", 1);
}

#[test]
fn a_lost_ledger_is_rebuilt_without_a_secret() {
    let mut harness = Harness::new().applied();
    std::fs::remove_dir_all(harness.case.path(".stead")).unwrap();
    for output in OUTPUTS {
        harness.run(&format!("recover --yes --output {output}"));
    }
    harness.run("drift -v");
    harness.files();
    harness.end("a lost ledger", 2);
}
