//! Hostile text, in names that the service returns and in the stack itself, through every output: nothing controls a
//! terminal, and no line begins a CI runner's command.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::json;

use crate::case::{Case, Run, STEAD};
use crate::lying::Liar;

/// Strings with an effect somewhere: in terminals, CI runners, documents, chats.
const PIECES: &[&str] = &[
    "\u{1b}[31m",
    "\u{1b}]8;;http://evil.test\u{7}link\u{1b}]8;;\u{7}",
    "\u{1b}]52;c;Y2FuYXJ5\u{7}",
    "\u{1b}[2J",
    "\u{1b}]0;title\u{7}",
    "\u{1b}P+q\u{1b}\\",
    "\u{9b}31m",
    "\u{9d}52;c;x\u{9c}",
    "\r",
    "\n",
    "\r\n",
    "\u{85}",
    "\u{2028}",
    "\u{2029}",
    "\u{b}",
    "\u{c}",
    "\u{8}\u{8}",
    "\u{7f}",
    "\u{202a}",
    "\u{202b}",
    "\u{202d}",
    "\u{202e}",
    "\u{2066}",
    "\u{2067}",
    "\u{2068}",
    "\u{2069}",
    "\u{200b}",
    "\u{200d}",
    "\u{200e}",
    "\u{200f}",
    "\u{2060}",
    "\u{feff}",
    "\u{ad}",
    "\u{61c}",
    "\u{180e}",
    "\u{3164}",
    "\u{e0041}",
    "\u{fe0f}",
    "::error::",
    "::set-output name=a::b",
    "::add-mask::x",
    "::stop-commands::x",
    "##vso[task.setvariable variable=a]b",
    "##[error]",
    "##teamcity[x]",
    "section_start:1:a",
    "section_end:1:a",
    "```",
    "````",
    "~~~",
    "<script>alert(1)</script>",
    "<img src=x>",
    "@everyone",
    "[x](javascript:x)",
    "${vars.x}",
    "$(id)",
    "`id`",
    "|x|y|",
    "\"",
    "'",
    "\\",
    "%0A::error::",
    "::",
];

/// Returns at least five hundred strings: each piece alone, at the beginning and in the middle, after a line break,
/// and beside others.
fn corpus() -> Vec<String> {
    let mut all: BTreeSet<String> =
        (0..0x20u32).chain(0x7f..0xa0).filter_map(char::from_u32).map(|c| format!("a{c}b")).collect();
    for (at, piece) in PIECES.iter().enumerate() {
        let other = PIECES[(at * 7 + 3) % PIECES.len()];
        all.extend([
            format!("x{piece}"),
            format!("{piece}x"),
            format!("x{piece}y"),
            format!("x\n{piece}y"),
            format!("x\r{piece}y"),
            format!("x {piece}{other}y"),
            format!("{other}{piece}"),
            format!("  {piece}"),
        ]);
    }
    all.into_iter().filter(|text| text.len() <= 64).collect()
}

/// Checks that both streams contain nothing with an effect.
fn check(what: &str, run: &Run) {
    for (stream, text) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
        for (number, line) in text.split('\n').enumerate() {
            let hidden = |c: char| {
                c.is_control()
                    || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
            };
            let place = || format!("{what}, {stream}, line {}: {line:?}", number + 1);
            assert!(!line.contains(hidden), "{}", place());
            let start = line.trim_start_matches([' ', '"', ',', '[', '{']);
            assert!(!start.starts_with("::"), "{}", place());
            // GitLab's section markers need a carriage return and an escape, which were looked for above.
            for command in ["##[", "##vso[", "##teamcity["] {
                assert!(!line.contains(command), "{}", place());
            }
        }
    }
}

const STACK: &str = "\
stead: 1
stack: shop
environments: { prod: { default: true } }
project: { home: { name: home, description: plain } }
";

/// Number of strings in one stack and one emulator.
const BATCH: usize = 90;

#[test]
fn hostile_text_from_the_service_has_no_effect() {
    let corpus = corpus();
    assert!(corpus.len() >= 500, "{}", corpus.len());
    let case = Case::new().file("stead.yaml", STACK).emulator_with(&["--no-limiter"]);
    case.ok("apply --yes");
    let home =
        case.cloud().list("/api/v1/projects").iter().find(|p| p["name"] == "home").unwrap()["id"].clone();
    let home = home.as_str().unwrap();
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtD1m0Jt1pXcVb1cYc0oY2uJ4s8Zb3vQfV8sF3kXq5L a@b";
    for (number, text) in corpus.iter().enumerate() {
        let made = case.cloud().control(
            "POST",
            "/api/v1/ssh-keys",
            &json!({"name": format!("k{number}"), "public_key": key}),
        );
        case.cloud().mutate("ssh_key", made["data"]["id"].as_str().unwrap(), &json!({ "name": text }));
    }
    case.edit("stead.yaml", "project:", "ssh_key: { mine: { public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtD1m0Jt1pXcVb1cYc0oY2uJ4s8Zb3vQfV8sF3kXq5M x } }\nproject:");
    for args in [
        "ls --unmanaged",
        "ls --unmanaged -o wide",
        "ls --unmanaged --output json",
        "drift",
        "drift -v",
        "drift --output json",
    ] {
        check(args, &case.ok(args));
    }
    for (number, texts) in corpus.chunks(BATCH).enumerate() {
        let text = texts.concat();
        case.cloud().mutate("project", home, &json!({ "description": text }));
        let mut all = vec![
            "plan",
            "plan -v",
            "plan --output json -v",
            "get project.home",
            "get project.home --output json",
            "drift",
        ];
        all.extend(["plan --output ndjson", "plan -v --color never"]);
        for args in all {
            check(&format!("{args}, batch {number}"), &case.ok(args));
        }
    }
    case.ok("plan -o shop.plan");
    for args in ["show shop.plan", "show shop.plan --output json", "apply shop.plan --output ndjson"] {
        check(args, &case.ok(args));
    }
}

/// The ledger stores names of actors, which appear in the history, in locks and in refusals.
#[test]
fn hostile_actor_names_have_no_effect() {
    let case = Case::new().file("stead.yaml", STACK).emulator_with(&["--no-limiter"]);
    case.ok("apply --yes");
    let home =
        case.cloud().list("/api/v1/projects").iter().find(|p| p["name"] == "home").unwrap()["id"].clone();
    for piece in PIECES {
        let called = format!("x{piece}");
        // An apply that does nothing is not remembered.
        case.cloud().mutate("project", home.as_str().unwrap(), &json!({"description": "theirs"}));
        let output =
            case.command("apply --yes").env("USER", &called).env("LOGNAME", &called).output().unwrap();
        check(&format!("apply of {called:?}"), &Run::of(&output));
    }
    let remembered = case.ok("history --output json").json();
    assert!(remembered["runs"].as_array().unwrap().len() > PIECES.len(), "{remembered}");
    for args in ["history", "history -v", "history --output json", "history show 1", "state verify"] {
        check(args, &case.ok(args));
    }
    for number in (1..=PIECES.len()).step_by(7) {
        check("history show", &case.ok(&format!("history show {number}")));
    }
}

/// Removes the escape sequences that the progress table itself writes.
fn without_drawing(screen: &str) -> String {
    let mut rest = screen;
    let mut text = String::new();
    while let Some(at) = rest.find("\u{1b}[") {
        text.push_str(&rest[..at]);
        let sequence = &rest[at + 2..];
        let end = sequence.find(|c: char| !c.is_ascii_digit() && !";?".contains(c)).unwrap();
        let (parameters, end) = (&sequence[..end], &sequence[end..]);
        let drawn = end.starts_with(['m', 'A', 'B', 'K'])
            || (parameters.starts_with('?') && end.starts_with(['h', 'l']));
        assert!(drawn, "{:?} in {screen:?}", &rest[at..=at + 4]);
        rest = &end[1..];
    }
    text.push_str(rest);
    text.replace('\r', "")
}

/// Covers the progress table and the lines above it, on a pseudo terminal.
#[test]
fn hostile_text_from_the_service_has_no_effect_in_the_progress_table() {
    let case = Case::new().file("stead.yaml", STACK).emulator_with(&["--no-limiter"]);
    let liar = Liar::before(&case);
    let mut marked = 0;
    for first in [0, 1, 2, 3] {
        liar.tell([refusal::<0>, refusal::<1>, refusal::<2>, refusal::<3>][first]);
        let line = format!("{STEAD} apply --yes");
        let mut command = case.command("");
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).current_dir(case.path("")).env_clear();
        for (name, value) in command.env("STEAD_API_URL", &liar.url).get_envs() {
            value.map(|value| script.env(name, value));
        }
        script.env("PATH", std::env::var_os("PATH").unwrap()).env("TERM", "xterm");
        let output = script.stdin(std::process::Stdio::null()).output().unwrap();
        let screen = String::from_utf8(output.stdout).unwrap();
        assert!(screen.contains("\u{1b}["), "it was not live: {screen:?}");
        marked += screen.matches("MARK").count();
        for piece in PIECES.iter().filter(|piece| piece.contains(char::is_control)) {
            assert!(!screen.contains(&format!("MARK{piece}MARK")), "{piece:?} in {screen:?}");
        }
        let run = Run { code: 0, stdout: without_drawing(&screen), stderr: String::new() };
        check(&format!("live, {first}"), &run);
    }
    assert!(marked > 0, "nothing of what it said was shown");
}

/// Answers creations with an error that contains every fourth piece.
fn refusal<const FIRST: usize>(
    line: &str,
    status: u16,
    body: serde_json::Value,
) -> (u16, serde_json::Value) {
    if !line.starts_with("POST ") {
        return (status, body);
    }
    let said: String = PIECES
        .iter()
        .skip(FIRST)
        .step_by(4)
        .map(|piece| format!("MARK{piece}MARK "))
        .collect::<Vec<_>>()
        .concat();
    (400, json!({"error": "Bad Request", "message": said}))
}

/// Returns a string as ASCII JSON, which is also valid YAML.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for c in serde_json::to_string(text).unwrap().chars() {
        if c.is_ascii() && !c.is_control() {
            quoted.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(quoted, "\\u{unit:04x}");
            }
        }
    }
    quoted
}

#[test]
fn hostile_text_from_the_stack_has_no_effect() {
    let corpus = corpus();
    let case = Case::new().emulator_with(&["--no-limiter"]);
    for texts in corpus.chunks(BATCH) {
        let mut blocks = String::new();
        let mut keys = String::new();
        for (number, text) in texts.iter().enumerate() {
            // An expression must not be one.
            let quoted = quoted(&text.replace("${", "$${"));
            let _ = writeln!(blocks, "  p{number}: {{ name: p{number}, description: {quoted} }}");
            let _ = writeln!(keys, "  {quoted}: {{ name: a }}");
        }
        let head = "stead: 1\nstack: shop\nenvironments: { prod: { default: true } }\nproject:\n";
        case.write("stead.yaml", format!("{head}{blocks}"));
        for args in ["validate", "plan -v", "plan --output json", "plan --output ndjson"] {
            check(args, &case.run(args));
        }
        // As keys, and as they are, they are mistakes: messages quote them.
        case.write("stead.yaml", format!("{head}{keys}"));
        for args in ["validate", "validate --output json", "plan"] {
            check(args, &case.run(args));
        }
        case.write("stead.yaml", format!("{head}{}", texts.join("\n")));
        for args in ["validate", "validate --output json"] {
            check(args, &case.run(args));
        }
    }
}

/// Arguments and environment variables appear in messages.
#[test]
fn hostile_arguments_and_variables_have_no_effect() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    let flags: [&[&str]; 7] = [
        &["get"],
        &["plan", "-e"],
        &["plan", "--var"],
        &["show"],
        &["plan", "-p"],
        &["plan", "-C"],
        &["apply"],
    ];
    let names = ["STEAD_OUTPUT", "STEAD_API_URL", "STEAD_ENV", "STEAD_PROFILE"];
    for (number, piece) in PIECES.iter().enumerate() {
        let text = format!("{piece}x");
        for flag in [flags[number % flags.len()], flags[(number + 3) % flags.len()]] {
            let output = case.command("").args(flag).arg(&text).output().unwrap();
            check(&format!("{flag:?} {text:?}"), &Run::of(&output));
        }
        let name = names[number % names.len()];
        let output = case.command("plan").env(name, &text).output().unwrap();
        check(&format!("{name}={text:?}"), &Run::of(&output));
    }
}

/// A live object can repeat a secret of the stack in a field that is none: no report shows it, and it is not accepted into the
/// configuration.
#[test]
fn a_secret_in_a_live_name_is_in_no_report() {
    const CANARY: &str = "canary-8a41f2d07c";
    let case = Case::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(
            "stead.yaml",
            "stead: 1\nstack: repeats\nvars: { pw: { type: secret } }\nvolume: { d: { size: 10, name: d } }\n\
             vpc: { v: { name: v, cidr: 10.1.0.0/16 } }\n\
             app: { web: { type: web, repo: acme/shop, branch: main, port: 8080, size: app-s, env_vars: { PW: $vars.pw } } }\n",
        )
        .emulator();
    let run = |args: &str| Run::of(&case.command(args).env("STEAD_VAR_PW", CANARY).output().unwrap());
    assert_eq!(run("apply --yes").code, 0);
    let objects = run("ls --output json").json();
    let id = |address: &str| {
        let all = objects["resources"].as_array().unwrap().iter();
        let found = all.clone().find(|one| one["address"] == address).unwrap();
        found["id"].as_str().unwrap().to_owned()
    };
    // One name is a difference, and the other one is beside an id that a new resource refers to.
    case.cloud().mutate("volume", &id("volume.d"), &json!({ "name": CANARY }));
    let projects = case.cloud().list("/api/v1/projects");
    let project = projects[0]["id"].as_str().unwrap();
    let other =
        case.cloud().make("/api/v1/vpcs", &json!({ "name": CANARY, "cidr": "10.9.0.0/16" }), project);
    let other = other["id"].as_str().or(other["data"]["id"].as_str()).unwrap_or_else(|| panic!("{other}"));
    let block = format!("vm: {{ w: {{ template: ubuntu-24.04, plan: std-1c-1g, vpc: {other} }} }}\n");
    case.edit("stead.yaml", "vpc: {", &format!("{block}vpc: {{"));
    let reports: Vec<String> = ["md", "html", "json", "sarif", "junit", "prom"]
        .map(|format| format!("--report {format}=report.{format}"))
        .to_vec();
    let reports = reports.join(" ");
    for command in [
        format!("plan {reports} --report tfjson=report.tfjson -o saved.plan"),
        format!("plan --all {reports} --report tfjson=tf"),
        "plan --output json -v".to_owned(),
        "plan --output ndjson".to_owned(),
        "show saved.plan -v".to_owned(),
        "drift".to_owned(),
        "drift --output json".to_owned(),
    ] {
        let run = run(&command);
        assert!([0, 3, 4].contains(&run.code), "{command}: {}", run.all());
        assert!(!run.all().contains(CANARY), "{command}: {}", run.all());
    }
    run("plan").says(&["(secret) → d", other]);
    let accepted = run("drift --accept volume.d.name --yes");
    assert_eq!(accepted.code, 1, "{}", accepted.all());
    accepted.says(&["the live value of volume.d.name is a secret"]);
    let written = files_below(&case.path(""), &case.path("cloud"));
    assert!(written.len() > 10, "{written:?}");
    for path in written {
        let bytes = std::fs::read(&path).unwrap();
        let found = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
        assert!(!found, "{} has the secret", path.display());
    }
    assert_eq!(run("apply --replace volume.d --yes").code, 0);
    assert_eq!(run("plan --exit-code").code, 0);
}

fn files_below(directory: &std::path::Path, except: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries
        .filter(|path| path != except)
        .flat_map(|path| if path.is_dir() { files_below(&path, except) } else { vec![path] })
        .collect()
}
