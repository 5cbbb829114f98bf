//! Sixty planted secrets, in every place that takes one. The tests search for each of them, in every encoding, in all
//! that any command prints or writes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::case::{Case, Run};
use crate::forms;

/// Returns secret number `n`: unique, and with characters that JSON and URLs escape.
fn planted(n: usize) -> String {
    format!("cnry{n:02}\"q\\z~{}é", n * 7919 % 1000)
}

/// Returns a secret without such characters, for places that cannot contain them.
fn plain(n: usize) -> String {
    format!("cnry{n:02}plain{}", n * 7919 % 1000)
}

/// A secret in every encoding, by the encoding's name.
type Forms = Vec<(&'static str, Vec<u8>)>;

/// The planted secrets, and what was printed or written, by its origin.
struct Catch {
    secrets: Vec<(String, Forms)>,
    looked: usize,
}

impl Catch {
    fn look(&mut self, what: &str, bytes: &[u8]) {
        self.looked += 1;
        for (secret, forms) in &self.secrets {
            for (name, form) in forms {
                let hit = bytes.windows(form.len()).any(|window| window == form);
                assert!(!hit, "{what} holds {secret} as {name}:\n{}", String::from_utf8_lossy(bytes));
            }
        }
    }

    fn run(&mut self, case: &Case, args: &str, more: &[(&str, String)]) -> Run {
        let mut command = case.command(args);
        command.envs(more.iter().map(|(name, value)| (*name, value)));
        let output = command.output().unwrap();
        self.look(&format!("stead {args}: stdout"), &output.stdout);
        self.look(&format!("stead {args}: stderr"), &output.stderr);
        Run::of(&output)
    }

    /// Searches all files of a folder, except those that contain a secret on purpose.
    fn files(&mut self, folder: &Path, but: &[PathBuf]) {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if but.contains(&path) {
                continue;
            }
            if path.is_dir() {
                self.files(&path, but);
            } else {
                self.look(&path.display().to_string(), &std::fs::read(&path).unwrap());
            }
        }
    }
}

/// Returns a single-quoted YAML scalar.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Returns a stack with the variables 0..50, given in each way: environment, file, `from_file`, flag, in the stack.
fn stack(more: &str) -> String {
    let mut text =
        String::from("stead: 1\nstack: shop\nenvironments: { prod: { default: true } }\nvars:\n");
    for n in 0..50 {
        let given = match n {
            20..30 => format!(", from_file: s{n}"),
            40..50 => format!(", default: {}", quoted(&planted(n))),
            _ => String::new(),
        };
        let _ = writeln!(text, "  s{n}: {{ type: secret{given} }}");
    }
    text.push_str("outputs:\n");
    for n in 0..50 {
        let _ = writeln!(text, "  o{n}: \"${{vars.s{n}}}\"");
    }
    text.push_str("vpc: { main: { cidr: 10.0.0.0/16 } }\nvm:\n");
    text.push_str("  web: { plan: std-1c-2g, template: ubuntu-24.04, vpc: \"${vpc.main}\", user_data: \"#!${vars.s1} ${vars.s21}\" }\n");
    text.push_str(
        "database:\n  shop: { plan: pg-free, users: { app: { deliver_secret: { file: ./sink } } } }\n",
    );
    text + more
}

fn case() -> (Case, Vec<(&'static str, String)>, Catch) {
    let mut case = Case::new().emulator();
    let mut file = String::new();
    for n in 10..20 {
        let _ = writeln!(file, "s{n}: {}", quoted(&planted(n)));
        case.write(&format!("s{}", n + 10), planted(n + 10));
    }
    case = case.file("vars.yaml", file).file("stead.yaml", stack(""));
    let mut given: Vec<(&'static str, String)> =
        (0..10).map(|n| (&*format!("STEAD_VAR_S{n}").leak(), planted(n))).collect();
    given.push(("STEAD_VAR_FILE", "vars.yaml".to_owned()));
    given.push(("STEAD_READONLY_API_KEY", plain(50)));
    given.push(("HTTPS_PROXY", format!("http://user:{}@127.0.0.1:1", plain(51))));
    given.push(("HTTP_PROXY", format!("http://user:{}@127.0.0.1:1", plain(52))));
    given.push(("ALL_PROXY", format!("socks5://user:{}@127.0.0.1:1", plain(53))));
    given.push(("AWS_SECRET_ACCESS_KEY", plain(55)));
    given.push(("PGPASSWORD", plain(56)));
    let mut secrets: Vec<String> = (0..50).map(planted).chain((50..60).map(plain)).collect();
    secrets.push(case.cloud().key.clone());
    assert!(secrets.len() >= 60);
    let secrets = secrets.into_iter().map(|secret| (secret.clone(), forms::forms(&secret))).collect();
    (case, given, Catch { secrets, looked: 0 })
}

/// Returns the flags that set the variables 30..40.
fn flags() -> String {
    (30..40).fold(String::new(), |flags, n| format!("{flags} --var s{n}={}", planted(n)))
}

/// Commands to run on a stack that was applied.
const ONCE_APPLIED: &[&str] = &[
    "apply --yes -v",
    "ls -o wide",
    "ls --output json",
    "ls --unmanaged",
    "get vm.web",
    "get vm.web --output json",
    "get database.shop.users.app",
    "drift -v",
    "drift --output json",
    "resolve",
    "whoami",
    "whoami --output json",
    "do connection database.shop",
    "do connection database.shop --output json",
    "do password database.shop.users.app",
    "do password database.shop.users.app --output ndjson",
    "do rotate-credentials database.shop --yes",
    "history",
    "history --output json",
    "version",
    "plan --destroy -v",
];

#[test]
fn no_planted_secret_is_printed_or_written() {
    let (case, given, mut catch) = case();
    let flags = flags();
    // One that a program prints, and one that the apply makes: each as it is, and inside of a text.
    let vars = "vars:\n  sp: { type: secret, source: tool }\n  sg: { type: secret, generate: 32, deliver_secret: { file: ./made } }\n";
    case.edit("stead.yaml", "vars:\n", vars);
    let outputs = "outputs:\n  op: \"a${vars.sp}b\"\n  og: $vars.sg\n  oh: \"${base64(vars.sg)}\"\n";
    case.edit("stead.yaml", "outputs:\n", outputs);
    case.edit("stead.yaml", "#!${vars.s1}", "#!${vars.s1}${vars.sp}${vars.sg}");
    let tool = format!("[profiles.default.sources]\ntool = ['echo', '{}']\n", plain(60));
    case.write(".config/stead/settings.toml", tool);
    catch.secrets.push((plain(60), forms::forms(&plain(60))));
    let mut done = |args: &str, code: i32| {
        let run = catch.run(&case, &format!("{args}{flags}"), &given);
        assert_eq!(run.code, code, "stead {args}\n{}", run.all());
    };
    for args in [
        "validate",
        "validate --output json",
        "plan",
        "plan -v",
        "plan --output json -v",
        "plan --output ndjson",
    ] {
        done(args, 0);
    }
    done("plan -o shop.plan", 0);
    done("show shop.plan", 0);
    done("show shop.plan --output json -v", 0);
    done("apply shop.plan --output ndjson", 0);
    // The service's own secret is planted now: where the stack said, and nowhere else.
    let sink = std::fs::read_to_string(case.path("sink")).unwrap().trim().to_owned();
    assert!(sink.len() >= 8, "{sink}");
    let made = std::fs::read_to_string(case.path("made")).unwrap().trim().to_owned();
    assert_eq!(made.len(), 32, "{made}");
    for secret in [sink, made] {
        let delivered = forms::forms(&secret);
        catch.secrets.push((secret, delivered));
    }
    let mut done = |args: &str, code: i32| {
        let run = catch.run(&case, &format!("{args}{flags}"), &given);
        assert_eq!(run.code, code, "stead {args}\n{}", run.all());
    };
    for args in ONCE_APPLIED {
        done(args, 0);
    }
    case.edit("stead.yaml", "#!${vars.s1}${vars.sp}", "#!new ${vars.s2}");
    done("plan -v", 0);
    done("plan --output json -v", 0);
    done("apply --yes -v", 0);
    let but = ["cloud", "vars.yaml", "stead.yaml", "sink", "made", ".config"].map(|name| case.path(name));
    let inputs = (20..30).map(|n| case.path(&format!("s{n}")));
    let but: Vec<PathBuf> = but.into_iter().chain(inputs).collect();
    catch.files(&case.path(""), &but);
    let run = catch.run(&case, &format!("destroy --yes --confirm shop -v{flags}"), &given);
    assert_eq!(run.code, 0, "{}", run.all());
    catch.files(&case.path(""), &but);
    assert!(catch.looked > 60, "{}", catch.looked);
}

/// Starts a server that answers every request with an error; returns its address and the bytes that it receives.
fn listener() -> (String, std::sync::Arc<std::sync::Mutex<Vec<u8>>>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let ear = heard.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 16_384];
            let count = stream.read(&mut bytes).unwrap_or(0);
            ear.lock().unwrap().extend_from_slice(&bytes[..count]);
            let _ = stream.write_all(b"HTTP/1.1 404 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    (address, heard)
}

/// Returns locations of shared ledgers that contain passwords, valid and invalid ones.
fn ledger_places(address: &str) -> Vec<String> {
    vec![
        format!("postgres://me:{}@127.0.0.1:1/db", plain(70)),
        "postgres://me@127.0.0.1:1/db".to_owned(),
        format!("postgres://me:{}@127.0.0.1:no/db", plain(75)),
        "s3://bucket/prefix".to_owned(),
        format!("http://{address}/state"),
        format!("https://me:{}@127.0.0.1:1/state", plain(76)),
        format!("nowhere://me:{}@127.0.0.1/x", plain(77)),
        format!("postgres:me:{}@127.0.0.1/db", plain(70)),
        format!("postgres://me:{}", plain(70)),
        format!("postgres://me:{}%40127.0.0.1/db", plain(75)),
        format!("me:{}@127.0.0.1/db", plain(75)),
        format!("{}@127.0.0.1", plain(76)),
        format!("https:me:{}@127.0.0.1/state", plain(76)),
        format!("https://127.0.0.1:1/state?token={}", plain(76)),
        format!("s3:{}@bucket", plain(77)),
    ]
}

/// Returns URLs of the service that contain passwords, valid and invalid ones.
fn service_addresses() -> Vec<String> {
    vec![
        format!("https://me:{}@127.0.0.1:1", plain(70)),
        format!("https:me:{}@127.0.0.1:1", plain(70)),
        format!("https://127.0.0.1:1?token={}", plain(75)),
        format!("https://127.0.0.1:1#{}", plain(75)),
        format!("me:{}@127.0.0.1", plain(76)),
        format!("https://me:{}%40127.0.0.1", plain(77)),
    ]
}

/// Covers passwords of shared ledgers in URLs and in variables, and what is sent to the servers.
#[test]
fn no_password_of_a_shared_ledger_is_printed_or_written() {
    let case = Case::new()
        .file("stead.yaml", "stead: 1\nstack: shop\nvpc: { main: { cidr: 10.0.0.0/16 } }\n")
        .emulator();
    case.ok("apply --yes");
    let secrets: Vec<String> = (70..80).map(plain).collect();
    let secrets = secrets.iter().map(|secret| (secret.clone(), forms::forms(secret))).collect();
    let mut catch = Catch { secrets, looked: 0 };
    let (address, heard) = listener();
    let given: Vec<(&str, String)> = vec![
        ("PGPASSWORD", plain(71)),
        ("AWS_ACCESS_KEY_ID", "AKIATEST".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", plain(72)),
        ("AWS_SESSION_TOKEN", plain(73)),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ENDPOINT_URL", format!("http://{address}")),
        ("STEAD_HTTP_USERNAME", "ci".to_owned()),
        ("STEAD_HTTP_PASSWORD", plain(74)),
    ];
    let places = ledger_places(&address);
    for place in &places {
        let mut given = given.clone();
        given.push(("STEAD_BACKEND", place.clone()));
        for args in [
            "plan -v",
            "plan --output json",
            "apply --yes -v",
            "lock status",
            "lock break --reason stuck --yes",
            "history",
            "state list",
            "state pull",
            "state verify",
        ] {
            let run = catch.run(&case, args, &given);
            assert_ne!(run.code, 101, "{place}: {args}: {}", run.all());
        }
        given.pop();
        let moving = case.command("state migrate --yes --to").arg(place).envs(given).output().unwrap();
        catch.look("state migrate", &moving.stdout);
        catch.look("state migrate", &moving.stderr);
    }
    let but: Vec<PathBuf> = ["cloud", "stead.yaml"].map(|name| case.path(name)).to_vec();
    catch.files(&case.path(""), &but);
    // Addresses of the service, good ones and bad ones, by variable and by flag.
    for url in service_addresses() {
        for args in ["plan -v", "whoami", "doctor", "login --key-stdin", "catalog vm"] {
            let run = catch.run(&case, args, &[("STEAD_API_URL", url.clone())]);
            assert_ne!(run.code, 0, "{url}: {args}: {}", run.all());
            catch.run(&case, &format!("{args} --api-url {url}"), &[]);
        }
    }
    // A state server is told the password in its header, where it belongs, and nowhere else.
    let heard = String::from_utf8_lossy(&heard.lock().unwrap()).into_owned();
    assert!(heard.contains("/state"), "the state server was never asked");
    let told: String =
        heard.lines().filter(|line| !line.to_lowercase().starts_with("authorization:")).collect();
    catch.secrets.retain(|(secret, _)| *secret != plain(73));
    catch.look("what the places were told", told.as_bytes());
}

/// The key that `login` stores is in its file only, and nowhere after `logout`.
#[test]
fn a_stored_key_is_in_its_file_only() {
    use std::io::Write;
    let case = Case::new()
        .file("stead.yaml", "stead: 1\nstack: shop\nvpc: { main: { cidr: 10.0.0.0/16 } }\n")
        .emulator();
    let key = case.cloud().key.clone();
    let mut catch = Catch { secrets: vec![(key.clone(), forms::forms(&key))], looked: 0 };
    let mut keyless = |args: &str, typed: &str| {
        let mut command = case.command(args);
        command.env_remove("STEAD_API_KEY").stdin(std::process::Stdio::piped());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(typed.as_bytes());
        let output = child.wait_with_output().unwrap();
        catch.look(args, &output.stdout);
        catch.look(args, &output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args}: {}", String::from_utf8_lossy(&output.stderr));
    };
    keyless("login --key-stdin", &format!("{key}\n"));
    for args in [
        "whoami",
        "whoami --output json",
        "plan -o p.plan",
        "apply --yes -v",
        "history",
        "ls",
        "state pull",
    ] {
        keyless(args, "");
    }
    let stored = case.path(".config/stead/credentials.json");
    assert!(std::fs::read_to_string(&stored).unwrap().contains(&key));
    catch.files(&case.path(""), &[case.path("cloud"), stored.clone()]);
    let mut command = case.command("logout");
    let output = command.env_remove("STEAD_API_KEY").output().unwrap();
    assert!(output.status.success());
    catch.look("logout", &output.stderr);
    catch.files(&case.path(""), &[case.path("cloud")]);
}

/// Covers the errors that concern a secret.
#[test]
fn no_error_quotes_a_secret() {
    let (case, given, mut catch) = case();
    let flags = flags();
    let mistakes = [
        "project: { home: { name: \"${vars.s0}\", descriptoin: x } }\n",
        "project: { home: { name: \"${int(vars.s0)}\" } }\n",
        "project: { home: { name: \"${vars.s10 + 1}\" } }\n",
        "project: { home: { name: \"${vars.s20 / 0}\" } }\n",
        "project: { home: { name: \"${vars.s40[99]}\" } }\n",
        "project: { home: { name: \"${vars.s30.x}\" } }\n",
        "volume: { data: { size: \"${vars.s0}\" } }\n",
        "ssh_key: { a: { public_key: \"${vars.s0}\" } }\n",
        "volume: { data: { for_each: \"${vars.s0}\", size: 1 } }\n",
        "project: { home: { name: a, when: \"${vars.s0}\" } }\n",
        "project: { \"${vars.s0}\": { name: a } }\n",
        "locals: { l: \"${vars.s0 + nothing}\" }\n",
        "locals: { l: \"${cidr_subnet(vars.s0, 8, 1)}\" }\n",
    ];
    let mut failed = 0;
    for mistake in mistakes {
        case.write("stead.yaml", stack(mistake));
        for args in ["validate", "plan -v", "validate --output json"] {
            let run = catch.run(&case, &format!("{args}{flags}"), &given);
            // What a secret holds is not judged before it is sent.
            failed += usize::from(run.code != 0);
        }
    }
    assert!(failed >= 30, "{failed}");
    case.write("stead.yaml", stack(""));
    let wrong = |name: &'static str, value: String| {
        let mut all = given.clone();
        all.retain(|(known, _)| *known != name);
        all.push((name, value));
        all
    };
    let odd_urls = [
        format!("https://me:{}@api.example.test", plain(57)),
        format!("http://{}@api.example.test", plain(57)),
        format!("ftp://me:{}@api.example.test", plain(57)),
    ];
    for url in odd_urls {
        let run = catch.run(&case, &format!("plan{flags}"), &wrong("STEAD_API_URL", url));
        assert_eq!(run.code, 64, "{}", run.all());
    }
    for (name, n) in [("STEAD_API_KEY", 58), ("STEAD_READONLY_API_KEY", 50)] {
        let run = catch.run(&case, &format!("plan --untrusted{flags}"), &wrong(name, plain(n)));
        assert_ne!(run.code, 0, "{}", run.all());
    }
    let run =
        catch.run(&case, &format!("plan{flags}"), &wrong("STEAD_API_KEY", format!("{}\u{1}", plain(59))));
    assert_ne!(run.code, 0, "{}", run.all());
    case.write("vars.yaml", format!("s10: [{}\n", quoted(&planted(10))));
    case.write("s20", [planted(20).as_bytes(), &[0xff]].concat());
    let run = catch.run(&case, &format!("validate{flags}"), &given);
    assert_ne!(run.code, 0);
}

/// Covers what other processes of the machine can see of a run, and what remains after a crash.
#[test]
fn arguments_contain_no_key_and_no_core_dump_is_written() {
    let case = Case::new().emulator();
    let read = |name: &str| std::fs::read(format!("/proc/{}/{name}", case.cloud().pid())).unwrap();
    let key = case.cloud().key.as_bytes();
    for name in ["cmdline", "environ"] {
        assert!(!read(name).windows(key.len()).any(|window| window == key), "{name}");
    }
    let limits = String::from_utf8(read("limits")).unwrap();
    let core = limits.lines().find(|line| line.contains("core file")).unwrap();
    assert_eq!(core.split_whitespace().filter(|word| *word == "0").count(), 2, "{core}");
}
