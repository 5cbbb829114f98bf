//! Variable files contain secrets: for any mistake in one, a diagnostic names the file and the line, and quotes no line
//! and no value, in no output format.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use proptest::prelude::*;
use stead::config::input::files::Files;
use stead::config::input::request::LoadRequest;
use stead::config::load::{check, load};
use stead::config::syntax::parse_cache::ParseCache;
use stead::kinds::REGISTRY;
use stead::model::diagnostic::Diagnostic;
use stead::model::source::{Source, Sources};
use stead::model::values::secret::Secret;
use stead::report::diagnostics::{diagnostic_lines, diagnostics_page};
use stead::report::review::{RepositoryRoot, ReviewDiagnostics, ReviewFormat};
use stead::report::text::style::TextStyle;

use crate::case::Case;

/// A stack with variables whose wrong values are reported in different places.
const STACK: &str = r#"stead: 1
stack: shop
vars:
  token: { type: secret, one_of: [alpha, beta], default: alpha }
  key: { type: secret, check: "${int(self) > 3}", default: "4" }
  code: { type: secret, check: "${size(self) > 9000}" }
  place: { one_of: [north, south], default: north }
  count: { type: int, default: 3, check: "${self >= 1}" }
  flag: { type: bool, default: true }
  network: { type: cidr, default: 10.0.0.0/16 }
  names: { type: set(string), default: [a] }
  labels: { type: map(string), default: { a: b }, check: "${self['must'] != ''}" }
  words: { type: list(secret), default: [] }
  tags: { type: map(string), default: { a: b } }
vpc: { main: { cidr: $vars.network } }
vm:
  web: { for_each: $vars.names, template: $vars.place, plan: p, vpc: $vpc.main, user_data: $vars.token }
outputs: { o: "${vars.tags.nothing + vars.labels.a}", n: "${int(vars.place)}" }
"#;

/// Number of bytes of a canary that no output may repeat.
const SHARED: usize = 6;

struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Returns all diagnostics of a stack with these variables, in every format.
fn said(path: &str, text: &str, env_vars: &BTreeMap<&str, &str>) -> String {
    let request = LoadRequest {
        var_files: vec![(path.to_owned(), text.to_owned())],
        env_vars: env_vars.iter().map(|(name, text)| ((*name).into(), Secret::new(*text))).collect(),
        ..LoadRequest::default()
    };
    said_of(STACK, &request)
}

fn said_of(stack: &str, request: &LoadRequest) -> String {
    let mut sources = Sources::default();
    sources.add(Source::new("stead.yaml", stack));
    let checked = check(REGISTRY, sources.clone(), request, &NoFiles, &ParseCache::default());
    let mut all = shown(&checked.diagnostics, &checked.sources);
    match load(REGISTRY, sources, request, &NoFiles) {
        Ok((stack, warnings)) => all.push_str(&shown(&warnings, &stack.sources)),
        Err(rejected) => all.push_str(&shown(&rejected.diagnostics, &rejected.sources)),
    }
    all
}

fn shown(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let style = TextStyle::plain(100);
    let mut all =
        diagnostics_page(diagnostics, sources, style) + &diagnostic_lines(diagnostics, sources, style);
    let root = RepositoryRoot::default();
    for format in ReviewFormat::for_diagnostics() {
        all.push_str(
            &format.render_problems(&ReviewDiagnostics::new(diagnostics, sources, &root)).unwrap(),
        );
    }
    // What an editor is sent is made of the same texts.
    for problem in diagnostics {
        let labels = problem.labels.iter().map(|label| &label.text);
        let texts = [&problem.detail, &problem.help].into_iter().flatten().chain(labels);
        all.push_str(&texts.chain([&problem.summary]).cloned().collect::<Vec<_>>().join("\n"));
        all.push_str(problem.fix.as_ref().map_or("", |fix| &fix.replacement));
    }
    all
}

fn leaks(canary: &str, said: &str) -> bool {
    canary.as_bytes().windows(SHARED).any(|part| said.contains(std::str::from_utf8(part).unwrap()))
}

fn canaries() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[zqxj][zqxj0-9]{11,30}", NAMES.len())
}

/// Returns an entry in one of the notations of values.
fn entry(name: &str, value: &str, other: &str, way: usize, kdl: bool) -> String {
    if kdl {
        return match way % 8 {
            0 => format!("{name} {value}\n"),
            1 => format!("{name} \"{value}\"\n"),
            2 => format!("{name} {value} {other}\n"),
            3 => format!("{name} {{ {value} {other} }}\n"),
            4 => format!("{name} a={value} b={other}\n"),
            5 => format!("{name} \"\"\"\n  {value}\n  {other}\n  \"\"\"\n"),
            6 => format!("{name}={value}\n"),
            _ => format!("{value} {other}\n"),
        };
    }
    match way % 12 {
        0 => format!("{name}: {value}\n"),
        1 => format!("{name}: \"{value}\"\n"),
        2 => format!("{name}: [{value}, {other}]\n"),
        3 => format!("{name}: {{ {value}: {other} }}\n"),
        4 => format!("{name}: |\n  {value}\n  {other}\n"),
        5 => format!("{name}: |\n  {value}\n {other}\n"),
        6 => format!("{name}:{value}\n"),
        7 => format!("{name}: '{value}' {other}\n"),
        8 => format!("{value}: {other}\n"),
        9 => format!("{name}: &{value} {other}\nx{name}: *{value}\n"),
        10 => format!("{name}: !{value} {other}\n"),
        _ => format!("{name}: \"${{{value} # {other}}}\"\n"),
    }
}

const NAMES: &[&str] = &[
    "token", "key", "code", "place", "count", "flag", "network", "names", "labels", "words", "tokn", "cod",
    "tags",
];

/// Strings to insert where the syntax is broken.
const BREAKS: &[&str] = &[
    "", ":", "\"", "'", "|", ">", "{", "}", "[", "]", "#", "&", "*", "!", "%", "@", "\t", "\n", "-", "$",
    "${", "`", "\\", ",", " ", "\n  ", "//", "/*", "(x)", "---\n", "<<: ", "“", "\u{a0}", "=",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_output_repeats_a_value_of_a_variable_file(
        canaries in canaries(),
        ways in prop::collection::vec(0usize..64, NAMES.len()),
        chosen in prop::collection::vec(0..NAMES.len(), 1..5),
        breaks in prop::collection::vec((0..BREAKS.len(), any::<prop::sample::Index>(), 0usize..4), 0..4),
        kdl in any::<bool>(),
    ) {
        let mut text = String::new();
        for name in chosen {
            let other = &canaries[(name + 1) % canaries.len()];
            text.push_str(&entry(NAMES[name], &canaries[name], other, ways[name], kdl));
        }
        for (what, at, length) in breaks {
            let mut chars: Vec<char> = text.chars().collect();
            let at = at.index(chars.len() + 1);
            let end = (at + length).min(chars.len());
            chars.splice(at..end, BREAKS[what].chars());
            text = chars.into_iter().collect();
        }
        let path = if kdl { "prod.kdl" } else { "prod.yaml" };
        let said = said(path, &text, &BTreeMap::new());
        for canary in &canaries {
            prop_assert!(!leaks(canary, &said), "{}\n---\n{}\n---\n{}", canary, text, said);
        }
    }
}

#[test]
fn no_output_repeats_a_value_of_the_process_environment() {
    let canary = "zqxj00zqxj11";
    for name in NAMES {
        let said = said("prod.yaml", "", &BTreeMap::from([(*name, canary)]));
        assert!(!leaks(canary, &said), "{name}: {said}");
    }
}

/// Two files that differ only in their values have the same messages: not even a length is revealed.
#[test]
fn messages_do_not_depend_on_the_values_of_a_variable_file() {
    for (way, kdl) in (0..12).map(|way| (way, false)).chain((0..8).map(|way| (way, true))) {
        for name in NAMES {
            let path = if kdl { "prod.kdl" } else { "prod.yaml" };
            let of = |value: &str, other: &str| {
                let text = entry(name, value, other, way, kdl);
                let before = entry("code", value, other, 0, kdl);
                said(path, &(before + &text), &BTreeMap::new())
            };
            let both = [of("zqxj00zqxj11", "qqqqqqqqqqqq"), of("jjjjjjjjjjjjjjjjjjjjjj", "xxxxxxxxxxxxx")];
            let other = both[0].lines().zip(both[1].lines()).find(|(one, other)| one != other);
            assert_eq!(other, None, "{name} {way} {kdl}");
            assert!(both[0] == both[1], "{name} {way} {kdl}");
        }
    }
}

/// A secret in a stack file is a mistake, and the message must not copy it into logs and comments.
#[test]
fn an_invalid_secret_declaration_does_not_print_its_value() {
    let canary = "zqxj00zqxj11";
    for text in [
        "vars: { token: { type: secret, default: CANARY } }",
        "vars: { token: { type: secret, defalut: CANARY } }",
        "vars: { token: { type: secrt, default: CANARY } }",
        "vars: { token: { tpye: secret, default: CANARY } }",
        "vars: { token: { type: secret, default: [CANARY] } }",
        "vars: { token: { type: secret, one_of: [CANARY, other], default: x } }",
        "vars: { token: { type: secret, default: CANARY, check: \"${1 / int(self) > 0}\" } }",
        "vars: { token: { type: secret } }\nenvironments: { dev: { vars: { tokn: CANARY } } }",
        "vars: { token: { type: secret } }\nenvironments: { dev: { vars: { token: [CANARY] } } }",
    ] {
        let stack = format!("stead: 1\nstack: shop\n{}\n", text.replace("CANARY", canary));
        let said = said_of(&stack, &LoadRequest::default());
        assert!(said.contains("S02") && !leaks(canary, &said), "{text}\n{said}");
    }
}

#[test]
fn the_real_binary_names_file_and_line() {
    let canary = "zqxj00zqxj11";
    for (text, words) in [
        (format!("count: 3\ntokn: {canary}\n"), ["S0252", "prod.yaml", "2"]),
        (format!("count: {canary}\n"), ["S0253", "prod.yaml", "1"]),
        (format!("token: {canary}\n"), ["S0254", "prod.yaml", "1"]),
        (format!("token: |\n  {canary}\n {canary}\n"), ["S01", "prod.yaml", "3"]),
        (format!("count: 3\n\n{canary}: \"{canary}\n"), ["S01", "prod.yaml", "3"]),
        (format!("token: \u{7}{canary}\n"), ["Control character", "", ""]),
    ] {
        let case = Case::new().file("stead.yaml", STACK).file("prod.yaml", &text);
        for output in ["text", "json"] {
            let reports = "--report sarif=r.sarif --report junit=r.xml --report codequality=r.cq --report json=r.json";
            let run = case.run(&format!("validate --var-file prod.yaml --output {output} {reports}"));
            let mut all = run.all();
            for report in ["r.sarif", "r.xml", "r.cq", "r.json"] {
                all.push_str(&std::fs::read_to_string(case.path(report)).unwrap_or_default());
            }
            assert_ne!(run.code, 0, "{all}");
            assert!(!leaks(canary, &all), "{all}");
            assert!(words.iter().all(|word| all.contains(word)), "{words:?} in {all}");
        }
    }
}
