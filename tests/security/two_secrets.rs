//! Two runs of a generated stack that differ in their secrets only print the same: in text, in JSON, in each report, and
//! in the comparison of two plans. Ids, times, and digests under the key of a ledger are left out: they are random.
//!
//! `STEAD_TWO_SECRETS` says how many stacks (2).

use std::fmt::Write as _;

use regex::Regex;
use stead::report::review::ReviewFormat;

use crate::case::{Case, Run};

/// A small generator of pseudo-random numbers, so that each stack can be made again.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

/// Expressions that contain a secret, in every form that the language has.
const SECRET: &[&str] = &[
    "$vars.one",
    "\"a ${vars.one} b\"",
    "\"${base64(vars.one)}\"",
    "\"${vars.one + vars.two}\"",
    "\"${base64(vars.two + vars.one)}\"",
    "\"${vars.one == 'x' ? 'yes' : 'no'}\"",
    "\"${size(vars.one) > 8 ? vars.two : 'short'}\"",
    "\"${[vars.one, 'plain'].join('-')}\"",
    "\"${vars.one.startsWith('s')}\"",
    "$locals.url",
];

/// Returns a stack with secrets in many places; the second edit of it differs from the first.
fn stack(number: u64, edit: u64) -> String {
    let chance = &mut Chance(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut text = String::from(
        "stead: 1\nstack: pair\nvars:\n  one: { type: secret }\n  two: { type: secret }\nlocals:\n  \
         url: \"https://user:${vars.two}@host/\"\nvpc: { main: { cidr: 10.0.0.0/16 } }\nvm:\n",
    );
    for n in 0..=chance.below(2) {
        let size = if edit == 0 { "std-1c-2g" } else { chance.pick(&["std-1c-2g", "std-2c-4g"]) };
        let data = chance.pick(SECRET);
        let _ = write!(
            text,
            "  w{n}:\n    template: ubuntu-24.04\n    plan: {size}\n    vpc: $vpc.main\n    user_data: {data}\n"
        );
    }
    text += "app:\n";
    for n in 0..=chance.below(2) {
        let port = 8_000 + edit;
        let _ = write!(text, "  a{n}:\n    type: web\n    image: nginx\n    port: {port}\n    env_vars:\n");
        for key in ["A", "B", "C"] {
            let _ = writeln!(text, "      {key}: {}", chance.pick(SECRET));
        }
        if edit == 1 {
            let _ = writeln!(text, "      D: {}", chance.pick(SECRET));
        }
    }
    text += "outputs:\n  plain: $vpc.main\n";
    for n in 0..3 + edit {
        let _ = writeln!(text, "  o{n}: {}", chance.pick(SECRET));
    }
    text
}

/// Everything that one run of the story prints and writes, by what printed it.
fn story(number: u64, secrets: [&str; 2]) -> Vec<(String, String)> {
    let case = Case::new().file("stead.yaml", stack(number, 0)).emulator();
    let mut told = Vec::new();
    let mut run = |args: &str| {
        let mut command = case.command(args);
        command.env("STEAD_VAR_one", secrets[0]).env("STEAD_VAR_two", secrets[1]);
        let Run { code, stdout, stderr } = Run::of(&command.output().unwrap());
        assert!(matches!(code, 0 | 2), "stack {number}: stead {args}: {code}\n{stdout}\n{stderr}");
        told.push((args.to_owned(), format!("{code}\n{stdout}\n{stderr}")));
    };
    let reports = |name: &str| {
        ReviewFormat::ALL.iter().map(|one| one.name()).fold(String::new(), |mut flags, form| {
            let _ = write!(flags, " --report {form}={name}.{form}");
            flags
        })
    };
    run("validate -v");
    run("render");
    run(&format!("plan -v -o first.plan{}", reports("first")));
    run("plan --output json");
    run("apply --yes --output ndjson");
    run("output");
    run("plan -v");
    std::fs::write(case.path("stead.yaml"), stack(number, 1)).unwrap();
    run(&format!("plan -v -o second.plan{}", reports("second")));
    run(&format!("plan --all -v{}", reports("all").replace("tfjson=all.tfjson", "tfjson=all/")));
    run("plan --all --output json");
    run("show second.plan -v");
    run(&format!("show second.plan --output json{}", reports("shown")));
    run("show second.plan --against first.plan --report md=difference.md --report json=difference.json");
    run("show second.plan --against first.plan --output json");
    run("show second.plan --against second.md");
    run(&format!("apply --yes{}", reports("applied")));
    run("output");
    run("output --output json");
    run("output plain");
    run("history -v");
    run("history --output json");
    for number in [1, 2] {
        run(&format!("history show {number} -v"));
        run(&format!("history show {number} --output json"));
    }
    run(&format!("drift -v{}", reports("drift")));
    run("ls --output json");
    run("why app.a0");
    run("cost");
    run(&format!("destroy --yes --confirm pair{}", reports("destroyed")));
    run("history show -v");
    told.extend(read_reports(&case));
    told
}

/// Returns the report files of a story with their texts.
fn read_reports(case: &Case) -> Vec<(String, String)> {
    let mut files: Vec<String> = vec!["difference.md".into(), "difference.json".into()];
    for name in ["first", "second", "shown", "drift", "applied", "destroyed"] {
        // Some formats have no outcome of an apply.
        let is_apply = matches!(name, "applied" | "destroyed");
        let forms = ReviewFormat::ALL.iter().filter(|one| !is_apply || one.has_outcome());
        files.extend(forms.map(|form| format!("{name}.{}", form.name())));
    }
    // Of all units together, and of each of them where a format has a file of its own.
    for directory in ["", "all/"] {
        let names = std::fs::read_dir(case.path(directory)).unwrap();
        let names = names.map(|one| one.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> =
            names.filter(|name| !directory.is_empty() || name.starts_with("all.")).collect();
        names.sort();
        assert!(!names.is_empty());
        files.extend(names.into_iter().map(|name| format!("{directory}{name}")));
    }
    let read = |file: String| {
        let text =
            std::fs::read_to_string(case.path(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        (file, text)
    };
    files.into_iter().map(read).collect()
}

/// Replaces what two runs of the same stack differ in, with equal secrets, too.
fn without_chance(text: &str) -> String {
    let patterns = [
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID"),
        (r"stead-digests:[A-Za-z0-9_=+/-]+", "DIGESTS"),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?", "TIME"),
        (r"\d\d:\d\d(:\d\dZ| UTC)", "TIME"),
        (r#""service_id": ?"[0-9a-z]{8}""#, "ID"),
        (r#""(took_ms|waited_ms|ms|seconds)": ?[0-9.]+"#, "DURATION"),
        // A list is read again while it changes.
        (r#""sent": ?\d+"#, "COUNT"),
        (r"\d+ requests?\b", "COUNT"),
        (r"seconds\{[^}]*\} [0-9.]+", "DURATION"),
        (r"https://[0-9a-z]{8}\.apps", "ID"),
        (r"\b[0-9a-f]{8,64}\b", "DIGEST"),
        // Digests under the key of the ledger are shown with four digits.
        (r"\b[0-9a-f]{4}\b", "DIGEST"),
        (r"\d+(\.\d+)? ?m?s\b", "DURATION"),
        (r#" time="[0-9.]+""#, "DURATION"),
        (r"\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b", "ADDRESS"),
        (r"127\.0\.0\.1:\d+", "HOST"),
        // The width of a picture or a column is that of its widest duration.
        (r#"(width|x)="[0-9.]+(px)?""#, "WIDTH"),
        (r" {2,}", "  "),
    ];
    patterns.iter().fold(text.to_owned(), |text, (pattern, name)| {
        Regex::new(pattern).unwrap().replace_all(&text, *name).into_owned()
    })
}

/// Returns the lines to compare. What an apply makes at the same time ends in any order, after any number of waits.
fn comparable_lines(text: &str, is_apply: bool) -> Vec<String> {
    let text = without_chance(text);
    let is_wait = |line: &&str| line.contains("waiting, ") || line.contains("waits for");
    let mut lines: Vec<String> =
        text.lines().filter(|line| !(is_apply && is_wait(line))).map(str::to_owned).collect();
    if is_apply {
        lines.sort();
    }
    lines
}

#[test]
fn two_secrets_give_the_same_output() {
    let count = std::env::var("STEAD_TWO_SECRETS").map_or(2, |count| count.parse().unwrap());
    let mut differences = Vec::new();
    for number in 0..count {
        let one = story(number, ["secret-of-one-4711", "two"]);
        let other = story(number, ["another", "pa$$-of-<two>-and-longer"]);
        for ((what, one), (_, other)) in one.iter().zip(&other) {
            let is_apply = ["apply", "destroy --"].iter().any(|begin| what.starts_with(begin));
            let (one, other) = (comparable_lines(one, is_apply), comparable_lines(other, is_apply));
            if one != other {
                let first = one.iter().zip(&other).find(|(one, other)| one != other);
                let (one, other) = first.expect("one of the two is longer");
                let at =
                    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count().saturating_sub(60);
                let part = |line: &str| line.chars().skip(at).take(160).collect::<String>();
                differences.push(format!("stack {number}, {what}:\n  {}\n  {}", part(one), part(other)));
            }
        }
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}
