//! Memory bombs: small files that describe more than any machine can hold. Each is refused with one diagnostic at its
//! location, within a limit on the process's memory that the kernel enforces, so that a regression fails the test
//! instead of exhausting the machine.
#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::case::{Case, Run, STEAD};
use crate::editor::Editor;

/// Memory limit of a process, in KiB.
const MOST_KIB: u64 = 300 * 1024;

const HEAD: &str = "stead: 1\nstack: shop\nvpc: { v: { cidr: 10.0.0.0/16 } }\n";

/// A small stack that expands to a very large one.
struct Bomb {
    name: &'static str,
    files: Vec<(String, String)>,
    /// The code of the only diagnostic.
    code: &'static str,
}

/// Returns locals, each computed from the previous one; `{}` is the placeholder of its name.
fn chain(first: &str, next: &str, levels: usize) -> String {
    let mut text = format!("{HEAD}locals:\n  a0: {first}\n");
    for n in 1..=levels {
        let before = format!("locals.a{}", n - 1);
        writeln!(text, "  a{n}: {}", next.replace("{}", &before)).unwrap();
    }
    text
}

fn one(name: &'static str, text: String) -> Bomb {
    Bomb { name, files: vec![("stead.yaml".into(), text)], code: "S0218" }
}

/// Returns chains of locals that double at every step.
fn doubling() -> Vec<Bomb> {
    let x = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    vec![
        one("text", chain(x, "\"${{}}${{}}\"", 40)),
        Bomb { code: "S0216", ..one("text by an operator", chain(x, "\"${{} + {}}\"", 40)) },
        one("list", chain("[x, y]", "[$LAST, $LAST]", 40)),
        one("list by an expression", chain("[x, y]", "\"${[{}, {}]}\"", 40)),
        one("list by an operator", chain("[x, y]", "\"${{} + {}}\"", 40)),
        one("map by an expression", chain("{ x: y }", "\"${{'a': {}, 'b': {}}}\"", 40)),
        one("macro", chain("[x, y]", "\"${[1, 2, 3].map(x, {})}\"", 40)),
        one("text over a live object", chain("\"${vpc.v.id}\"", "\"${{}}${{}}\"", 40)),
        one("expression over a live object", chain("\"${vpc.v.id + 'x'}\"", "\"${[{}][0]}${{}}\"", 40)),
        one("list over a live object", chain("[$vpc.v.id]", "\"${[{}, {}]}\"", 40)),
        one("deep list", chain("[x]", "[\"${{}}\"]", 2000)),
        one("deep text over a live object", chain("\"x${vpc.v.id}\"", "\"x${{}}\"", 2000)),
        one("deep expression over a live object", chain("\"${vpc.v.id + 'x'}\"", "\"${{} + 'x'}\"", 600)),
    ]
    .into_iter()
    .map(with_paths)
    .collect()
}

/// Replaces `$LAST` in a chain by a plain reference to the local before.
fn with_paths(mut bomb: Bomb) -> Bomb {
    for (_, text) in &mut bomb.files {
        let lines = text.lines().map(|line| {
            let number = line.trim_start().strip_prefix('a').and_then(|rest| rest.split(':').next());
            match number.and_then(|number| number.parse::<usize>().ok()) {
                Some(n) if n > 0 => line.replace("$LAST", &format!("$locals.a{}", n - 1)),
                _ => line.to_owned(),
            }
        });
        *text = lines.collect::<Vec<_>>().join("\n") + "\n";
    }
    bomb
}

/// Returns a string of one MiB, a list of a thousand entries, and `rest`, which combines them.
fn multiplied(name: &'static str, rest: &str) -> Bomb {
    let mut text = chain("xxxxxxxxxxxxxxxx", "\"${{}}${{}}\"", 16);
    text.push_str("  big: $locals.a16\n  half: \"${locals.a11}${locals.a10}\"\n");
    text.push_str("  ten: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n");
    text.push_str("  hundred: \"${locals.ten.map(x, locals.ten.map(y, string(x * 10 + y)).join(',')).join(',').split(',')}\"\n");
    text.push_str("  names: \"${locals.hundred.map(x, locals.ten.map(y, 'k' + x + '-' + string(y)).join(',')).join(',').split(',')}\"\n");
    one(name, text + rest)
}

/// Returns two blocks of a thousand VMs each, with this `user_data`.
fn machines(user_data: &str) -> String {
    let machine = |name| {
        format!(
            "  {name}: {{ for_each: $locals.names, template: t, plan: p, vpc: $vpc.v, user_data: {user_data} }}\n"
        )
    };
    format!("vm:\n{}{}", machine("one"), machine("two"))
}

/// Returns functions and macros over large values.
fn functions() -> Vec<Bomb> {
    let long = |bomb: Bomb| Bomb { code: "S0216", ..bomb };
    let mapped =
        |name, call: &str| multiplied(name, &format!("  z: \"${{locals.names.map(x, {call})}}\"\n"));
    vec![
        mapped("reference", "locals.big"),
        one("chained map", format!("{HEAD}locals:\n  a: \"${{[[1]]{}}}\"\n", ".map(b, [b, b])".repeat(40))),
        long(mapped("lowerAscii", "lowerAscii(locals.big)")),
        long(mapped("trim", "trim(locals.big)")),
        mapped("string", "string(locals.big)"),
        long(mapped("nested list", "locals.names.map(y, [x, y])")),
        long(multiplied(
            "list in a variable",
            "  z: \"${[locals.names + []].map(l, locals.names.map(i, l + [i]))}\"\n",
        )),
        multiplied(
            "keys",
            "  m: \"${{locals.big: 1}}\"\n  z: \"${locals.names.map(x, keys(locals.m))}\"\n",
        ),
        multiplied("for_each and text", &machines("\"${each.key}${locals.half}\"")),
        multiplied("for_each and reference", &machines("$locals.half")),
        multiplied(
            "for_each and map",
            "app: { w: { for_each: $locals.names, type: worker, repo: acme/shop, branch: main, \
             env_vars: \"${{'A': locals.half, 'B': locals.half}}\" } }\n",
        ),
    ]
}

/// Returns bombs with other codes: the parser's, and an evaluation that takes too long.
fn others() -> Vec<Bomb> {
    let mut aliases = format!("{HEAD}locals:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for n in 1..10 {
        let before = vec![format!("*a{}", n - 1); 10].join(", ");
        writeln!(aliases, "  a{n}: &a{n} [{before}]").unwrap();
    }
    let mut kdl = "stead 1\nstack shop\nlocals {\n  a0 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n".to_owned();
    for n in 1..40 {
        let before = format!("${{locals.a{}}}", n - 1);
        writeln!(kdl, "  a{n} \"{before}{before}\"").unwrap();
    }
    kdl.push_str("}\n");
    let bomb = |name, files, code| Bomb { name, files, code };
    let yaml = |text: String| vec![("stead.yaml".to_owned(), text)];
    vec![
        bomb("aliases", yaml(aliases), "S0105"),
        bomb("KDL", vec![("stead.kdl".into(), kdl)], "S0218"),
        bomb(
            "split",
            multiplied("", "  z: \"${locals.names.map(x, locals.big.split(''))}\"\n").files,
            "S0216",
        ),
        bomb(
            "base64",
            multiplied("", "  z: \"${locals.names.map(x, base64(locals.big))}\"\n").files,
            "S0216",
        ),
        bomb("many files", many_files(), "S0218"),
        bomb("modules", modules(), "S0218"),
        bomb("secret", secret(), "S0218"),
        bomb("set", set(), "S0218"),
    ]
}

/// Returns files that each use up one file's limit on aliases.
fn many_files() -> Vec<(String, String)> {
    let file = |n: usize| {
        let mut text = "locals:\n".to_owned();
        writeln!(text, "  a{n}: &a [{}]", vec!["x"; 100].join(", ")).unwrap();
        writeln!(text, "  b{n}: &b [{}]", vec!["*a"; 100].join(", ")).unwrap();
        writeln!(text, "  c{n}: [{}]", ["*b"; 8].join(", ")).unwrap();
        (format!("f{n}.stead.yaml"), text)
    };
    let mut files: Vec<_> = (0..20).map(file).collect();
    files.push(("stead.yaml".into(), HEAD.to_owned()));
    files
}

/// Returns nested modules, each of which passes twice its own input to the next one.
fn modules() -> Vec<(String, String)> {
    let call =
        |to: usize, value: &str| format!("use: {{ m: {{ source: ../m{to}, with: {{ v: {value} }} }} }}\n");
    let module = |n: usize| {
        let next = if n < 11 { call(n + 1, "\"${vars.v}${vars.v}\"") } else { String::new() };
        (format!("m{n}/stead.yaml"), format!("stead: 1\nvars: {{ v: {{ type: string }} }}\n{next}"))
    };
    let use_it = "use: { m: { source: m0, with: { v: $locals.big } } }\n";
    (0..12).map(module).chain(multiplied("", use_it).files).collect()
}

fn secret() -> Vec<(String, String)> {
    let text = chain("\"${vars.s}\"", "\"${{}}${{}}\"", 40);
    let text = text.replace("locals:\n", "vars: { s: { type: secret, generate: 32 } }\nlocals:\n");
    let text = text.replace("generate: 32", "default: canary-canary-canary");
    vec![("stead.yaml".into(), text)]
}

/// Returns a stack whose environment overrides values by large ones.
fn set() -> Vec<(String, String)> {
    let set = "{ vm.one.user_data: $locals.half, vm.two.user_data: $locals.half }";
    let environments = format!("environments: {{ prod: {{ default: true, set: {set} }} }}\n");
    multiplied("", &(environments + &machines("x"))).files
}

fn all() -> Vec<Bomb> {
    doubling().into_iter().chain(functions()).chain(others()).collect()
}

fn case_of(bomb: &Bomb) -> Case {
    let case = Case::new();
    for (name, text) in &bomb.files {
        case.write(name, text);
    }
    case
}

/// Returns a command with the memory limit.
fn limited(case: &Case, args: &str) -> Command {
    let mut command = Command::new("sh");
    let script = format!("ulimit -d {MOST_KIB} && exec \"$0\" \"$@\"");
    let given = case.command(args);
    command.arg("-c").arg(script).arg(STEAD).args(args.split_whitespace()).env_clear();
    command.env("PATH", "/usr/bin:/bin").env("HOME", case.path(""));
    command.envs(given.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(case.path("")).stdin(Stdio::null());
    command
}

/// Runs the binary within the limit. Returns the run and its peak memory in KiB, as far as it was observed.
fn run(case: &Case, args: &str) -> (Run, u64) {
    let (out, err) = (case.path("out.txt"), case.path("err.txt"));
    let mut command = limited(case, args);
    command.stdout(fs::File::create(&out).unwrap()).stderr(fs::File::create(&err).unwrap());
    let mut child = command.spawn().unwrap();
    let mut peak = 0;
    let status = loop {
        peak = peak.max(high_water(child.id()));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let text = |path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    (Run { code: status.code().unwrap_or(-1), stdout: text(&out), stderr: text(&err) }, peak)
}

fn high_water(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}

/// Returns what is wrong with the refusal of a bomb; `None` if it is correct.
fn slip(bomb: &Bomb, run: &Run) -> Option<String> {
    let shown: String = run.all().chars().take(2000).collect();
    let found = serde_json::from_str::<Json>(&run.stdout).unwrap_or_default();
    let errors: Vec<&Json> = found["diagnostics"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|one| one["severity"] == "error")
        .collect();
    let [error] = errors.as_slice() else {
        return Some(format!("{}: {} errors, code {}: {shown}", bomb.name, errors.len(), run.code));
    };
    let is_placed = ["line", "column"].iter().all(|part| error["span"][part].as_u64() > Some(0));
    let is_right = run.code == 1 && error["code"] == bomb.code && is_placed;
    (!is_right).then(|| format!("{}: code {}: {shown}", bomb.name, run.code))
}

#[test]
fn every_bomb_is_rejected_with_its_location() {
    let mut largest = (0, "");
    let mut slips = Vec::new();
    for bomb in all() {
        let case = case_of(&bomb);
        let (run, peak) = run(&case, "validate --output json");
        slips.extend(slip(&bomb, &run));
        largest = largest.max((peak, bomb.name));
        println!("{peak} KiB {}", bomb.name);
    }
    println!("largest peak: {} KiB ({})", largest.0, largest.1);
    assert!(slips.is_empty(), "{}", slips.join("\n"));
    assert!(largest.0 < MOST_KIB, "{largest:?}");
}

#[test]
fn the_editor_stays_responsive_on_every_bomb() {
    let mut slips = Vec::new();
    for bomb in all() {
        let case = case_of(&bomb);
        let (name, text) = bomb.files.last().unwrap();
        let mut editor = Editor::of(&mut limited(&case, "lsp"));
        editor.ask("initialize", &json!({ "capabilities": {} }));
        editor.tell("initialized", &json!({}));
        let uri = format!("file://{}", case.path(name).display());
        let open = json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": text });
        editor.tell("textDocument/didOpen", &json!({ "textDocument": open }));
        let codes = |found: &Json| found.to_string().contains(bomb.code);
        let first = editor.diagnostics_of(&uri);
        let end = u32::try_from(text.lines().count()).unwrap();
        let place = json!({ "line": end, "character": 0 });
        let change = json!({ "range": { "start": place, "end": place }, "text": "\n" });
        let document = json!({ "uri": uri, "version": 2 });
        let change = json!({ "textDocument": document, "contentChanges": [change] });
        editor.tell("textDocument/didChange", &change);
        let asked = json!({ "textDocument": { "uri": uri }, "position": { "line": 0, "character": 1 } });
        editor.ask("textDocument/hover", &asked);
        // What is wrong with another file is published with that file.
        let is_here = bomb.files.len() == 1;
        if is_here && !codes(&first) {
            slips.push(format!("{}: {first}", bomb.name));
        }
        let peak = high_water(editor.pid());
        println!("{peak} KiB {}", bomb.name);
        assert!((1..MOST_KIB).contains(&peak), "{}: the server is gone, or too large: {peak}", bomb.name);
    }
    assert!(slips.is_empty(), "{}", slips.join("\n"));
}

/// Each resource's value is twice that of the previous one: only a plan has all of them in memory.
#[test]
fn a_plan_has_a_memory_budget_of_its_own() {
    let machine = |n: usize, data: &str| {
        format!(
            "  v{n}: {{ template: ubuntu-24.04, plan: std-1c-1g, vpc: $vpc.v, user_data: \"{data}\" }}\n"
        )
    };
    let mut text = format!("{HEAD}vm:\n{}", machine(0, "0123456789abcdef0123456789abcdef"));
    for n in 1..40 {
        let before = format!("${{vm.v{}.user_data}}", n - 1);
        text.push_str(&machine(n, &format!("{before}{before}")));
    }
    let case = Case::new().file("stead.yaml", text).emulator();
    let (run, peak) = run(&case, "plan");
    assert_eq!(run.code, 4, "{}", run.all());
    assert_eq!(run.all().matches("exceeds the memory limit").count(), 1, "{}", run.all());
    run.says(&["BLOCKED", "vm.v", ".user_data has no value", "stead.yaml:"]);
    assert!(peak < MOST_KIB, "{peak} KiB");
}
