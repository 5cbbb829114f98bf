//! No wrong value is accepted silently: every keyword is tried with every wrong form, in both syntaxes. The tables
//! are those of the language itself, so that a new keyword is tried without a new test.

use std::fmt::Write as _;

use super::vocabulary::{self as words, Takes, Word};
use super::{Config, yaml};
use crate::model::diagnostic::Severity;

/// Two recipients of the ledger's secrets: a list of one would be a warning.
const RECIPIENTS: [&str; 2] = [
    "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",
    "age1lggyhqrw2nlhcxprm67z43rta597azn8gknawjehu9d9dl0jq3yqqvfafg",
];

/// A value that can be written in both syntaxes.
#[derive(Debug, Clone)]
enum Written {
    Null,
    /// A KDL node without arguments and children.
    Bare,
    Text(String),
    /// A number, or a word without quotes.
    Plain(&'static str),
    Yes,
    List(Vec<Written>),
    Map(Vec<(String, Written)>),
}

use Written::{Bare, List, Map, Null, Plain, Yes};

fn text(text: &str) -> Written {
    Written::Text(text.to_owned())
}

fn map(entries: &[(&str, Written)]) -> Written {
    Map(entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
}

impl Written {
    fn yaml(&self) -> String {
        match self {
            // YAML has no node without a value but null.
            Null | Bare => "null".to_owned(),
            Written::Text(text) => format!("{text:?}"),
            Plain(text) => (*text).to_owned(),
            Yes => "true".to_owned(),
            List(items) => format!("[{}]", items.iter().map(Self::yaml).collect::<Vec<_>>().join(", ")),
            Map(entries) => {
                let entries = entries.iter().map(|(key, value)| format!("{key}: {}", value.yaml()));
                format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// Returns the value as a KDL node of this name.
    fn kdl(&self, name: &str) -> String {
        let argument = |value: &Self| match value {
            Null => "#null".to_owned(),
            Yes => "#true".to_owned(),
            value => value.yaml(),
        };
        match self {
            Bare => name.to_owned(),
            List(items) => {
                let items: Vec<String> = items.iter().map(argument).collect();
                format!("{name} {}", items.join(" "))
            }
            Map(entries) => {
                let entries = entries.iter().map(|(key, value)| value.kdl(key));
                format!("{name} {{ {} }}", entries.collect::<Vec<_>>().join("; "))
            }
            value => format!("{name} {}", argument(value)),
        }
    }
}

/// Returns every form that a keyword's value may have, by the name of the form.
fn forms() -> Vec<(&'static str, Written)> {
    vec![
        ("null", Null),
        ("bare", Bare),
        ("empty", text("")),
        ("number", Plain("7")),
        ("yes", Yes),
        ("word", text("nonsense")),
        ("list", List(vec![text("nonsense"), Plain("7")])),
        ("twice", List(vec![text("crane.b"), text("crane.b")])),
        ("map", map(&[("nonsense", Plain("7"))])),
        ("reference", text("$vars.nonsense")),
        ("expression", text("${1 +}")),
    ]
}

/// Returns the names of the forms that are not wrong for a keyword that takes `takes`.
fn well(place: &str, takes: Takes, syntax: &str) -> &'static [&'static str] {
    match takes {
        // A KDL node with one argument is a list of one.
        Takes::Keys if syntax == "kdl" => &["map", "list", "word", "number"],
        Takes::Keys => &["map", "list"],
        // Whether the directory is a stack shows when its ledger is read.
        Takes::Path if matches!(place, "stack" | "moved") => &["number", "yes", "word"],
        Takes::Blocks | Takes::Words | Takes::Known | Takes::Entries | Takes::Paths => &["null", "bare"],
        Takes::Values => &["null", "bare", "map"],
        Takes::Name | Takes::Id | Takes::Environment | Takes::File | Takes::Program => {
            &["number", "yes", "word"]
        }
        Takes::Flag => &["bare", "yes"],
        Takes::Condition => &["yes"],
        Takes::Addresses | Takes::Attributes => &["bare"],
        Takes::Plain => &["empty", "number", "yes", "word"],
        Takes::Prose => &["empty", "number", "yes", "word", "expression", "reference"],
        Takes::Place => &["number", "yes", "word"],
        Takes::Front => &["empty", "number", "word"],
        Takes::Text => &["number", "yes", "word", "expression", "reference"],
        Takes::Project => &["word"],
        Takes::Variable => &["yes", "word"],
        Takes::Version
        | Takes::OneOf(_)
        | Takes::Said
        | Takes::Path
        | Takes::Expression
        | Takes::Address
        | Takes::Attribute
        | Takes::Kinds
        | Takes::Type
        | Takes::Plains
        | Takes::Recipients
        | Takes::Date
        | Takes::Duration
        | Takes::Length => &[],
    }
}

/// Returns a correct value for a keyword at a place.
fn right(place: &str, word: &Word) -> Written {
    match (word.takes, place, word.name) {
        (Takes::Version, ..) => Plain("1"),
        (Takes::OneOf(all), ..) => text(all[0]),
        (Takes::Name, ..) => text("test"),
        // The other keys name another stack, in one direction.
        (Takes::Entries, _, "moved") => entry(words::MOVED.iter().filter(|word| word.needed)),
        (Takes::Entries, _, "import") => entry(words::IMPORT),
        (Takes::Entries, _, "removed") => entry(words::REMOVED),
        // `use` names its block in KDL, as kinds do.
        (Takes::Blocks, _, "use") => map(&[("m", map(&[("source", text("../net"))]))]),
        (Takes::Known, "environment", "set") => map(&[("crane.a.note", text("y"))]),
        (Takes::Known, _, "with" | "vars") => map(&[("x", text("y"))]),
        (Takes::Blocks | Takes::Words | Takes::Values | Takes::Entries | Takes::Known, ..) => Null,
        (Takes::Said, ..) => map(&[("file", text("./key"))]),
        (Takes::Paths, ..) => List(vec![text("../net/b.stead.yaml")]),
        (Takes::Path, ..) => text("../net"),
        (Takes::File, "variable", _) => text("secret.txt"),
        (Takes::File, ..) => text("./key"),
        (Takes::Flag | Takes::Condition, ..) => Yes,
        (Takes::Expression, "variable", _) => text("${self != ''}"),
        (Takes::Expression, ..) => text("${1 == 2}"),
        (Takes::Keys, ..) => List(vec![text("k"), text("l")]),
        (Takes::Addresses, ..) => List(vec![text("crane.b")]),
        (Takes::Address | Takes::Place, _, "from") => text("crane.old"),
        (Takes::Address | Takes::Place, ..) => text("crane.a"),
        (Takes::Attributes, ..) => List(vec![text("note")]),
        (Takes::Attribute, ..) => text("note"),
        (Takes::Kinds, ..) => text("crane"),
        (Takes::Type, ..) => text("string"),
        (Takes::Plains, ..) => List(vec![text("x"), text("z")]),
        (Takes::Plain | Takes::Prose | Takes::Front | Takes::Text | Takes::Id, ..) => text("x"),
        (Takes::Recipients, ..) => List(vec![text(RECIPIENTS[0]), text(RECIPIENTS[1])]),
        (Takes::Date, ..) => text("2030-01-31"),
        (Takes::Duration, ..) => text("30m"),
        (Takes::Length, ..) => Plain("32"),
        (Takes::Program, ..) => text("vault"),
        (Takes::Project, ..) => text("$project.p"),
        (Takes::Variable, ..) => text("KEY"),
        (Takes::Environment, ..) => text("prod"),
    }
}

/// Returns a list of one correct entry.
fn entry<'w>(words: impl IntoIterator<Item = &'w Word>) -> Written {
    let one = words.into_iter().map(|word| (word.name.to_owned(), right("entry", word)));
    List(vec![Map(one.collect())])
}

/// Returns the entries without which a keyword is a mistake of its own.
fn beside(place: &str, word: &str, among: &[Word]) -> Vec<(String, Written)> {
    let needed = among.iter().filter(|other| other.needed && other.name != word);
    let mut found: Vec<_> = needed.map(|other| (other.name.to_owned(), right(place, other))).collect();
    match (place, word) {
        ("deliver", "variable") => found.push(("env_file".to_owned(), text("./x"))),
        ("deliver", "env_file") => found.push(("variable".to_owned(), text("KEY"))),
        ("variable", "generate") => {
            found.push(("type".to_owned(), text("secret")));
            found.push(("deliver_secret".to_owned(), map(&[("file", text("./key"))])));
        }
        ("variable", "deliver_secret") => {
            found.push(("type".to_owned(), text("secret")));
            found.push(("generate".to_owned(), Plain("32")));
        }
        ("variable", "source") => found.push(("type".to_owned(), text("secret"))),
        ("variable", word) if !matches!(word, "default" | "from_file") => {
            found.push(("default".to_owned(), text("x")));
        }
        _ => {}
    }
    found
}

/// Returns the top level of a stack with this body at a place.
fn around(place: &str, body: Vec<(String, Written)>) -> Vec<(String, Written)> {
    let one = |name: &str, value: Written| map(&[(name, value)]);
    let crane = |entries: Vec<(String, Written)>| {
        let mut all = vec![("note".to_owned(), text("x"))];
        all.extend(entries);
        map(&[("a", Map(all)), ("b", Null)])
    };
    let lifecycle = |value: Written| crane(vec![("lifecycle".to_owned(), value)]);
    let mut document: Vec<(String, Written)> = vec![
        ("stead".to_owned(), Plain("1")),
        ("stack".to_owned(), text("test")),
        ("project".to_owned(), one("p", Null)),
    ];
    let blank = || crane(Vec::new());
    let own = |name: &str| body.iter().any(|(key, _)| key == name);
    let gate = |entries: Vec<(String, Written)>| {
        let yard = map(&[("cidr", text("10.0.0.0/16")), ("gates", one("g", Map(entries)))]);
        ("yard".to_owned(), one("y", yard))
    };
    let more = match place {
        "top" => {
            document.retain(|(key, _)| !own(key));
            let mut all = vec![("crane".to_owned(), blank())];
            all.extend(body);
            all
        }
        "body" if own("deliver_secret") || own("ddeliver_secret") => vec![gate(body)],
        "body" => vec![("crane".to_owned(), crane(body))],
        "lifecycle" => vec![("crane".to_owned(), lifecycle(Map(body)))],
        "timeouts" => vec![("crane".to_owned(), lifecycle(one("timeouts", Map(body))))],
        "ignored" => vec![("crane".to_owned(), lifecycle(one("ignore_drift", Map(body))))],
        "deliver" => vec![gate(vec![("deliver_secret".to_owned(), Map(body))])],
        "variable" => vec![("vars".to_owned(), one("v", Map(body)))],
        "environment" => vec![
            ("crane".to_owned(), blank()),
            ("vars".to_owned(), one("x", one("default", text("x")))),
            ("environments".to_owned(), one("e", Map(body))),
        ],
        "policy" => vec![("policy".to_owned(), one("p", Map(body)))],
        "use" => vec![("use".to_owned(), one("m", Map(body)))],
        "stack" => vec![("stacks".to_owned(), one("s", Map(body)))],
        "secrets" => vec![("crane".to_owned(), blank()), ("secrets".to_owned(), Map(body))],
        list => vec![("crane".to_owned(), blank()), (list.to_owned(), List(vec![Map(body)]))],
    };
    document.extend(more);
    document
}

fn in_yaml(document: &[(String, Written)]) -> Config {
    let lines = document.iter().fold(String::new(), |mut text, (key, value)| {
        writeln!(text, "{key}: {}", value.yaml()).unwrap();
        text
    });
    elsewhere(yaml("").without_yaml().file("a.stead.yaml", &lines))
}

fn in_kdl(document: &[(String, Written)]) -> Config {
    let kinds = ["crane", "yard", "project", "use"];
    let mut lines = String::new();
    for (key, value) in document {
        match value {
            // Each block is a node of its own, `crane a { … }`; a list of maps is a repeated node.
            Map(blocks) if kinds.contains(&key.as_str()) => {
                for (name, block) in blocks {
                    let block = if matches!(block, Null) { &Bare } else { block };
                    writeln!(lines, "{key} {}", block.kdl(name)).unwrap();
                }
            }
            List(entries) if entries.iter().all(|entry| matches!(entry, Map(_))) => {
                for entry in entries {
                    writeln!(lines, "{}", entry.kdl(key)).unwrap();
                }
            }
            value => writeln!(lines, "{}", value.kdl(key)).unwrap(),
        }
    }
    elsewhere(yaml("").without_yaml().file("a.stead.kdl", &lines))
}

/// Adds the files to which the correct values refer.
fn elsewhere(config: Config) -> Config {
    config
        .shared("stacks/net/b.stead.yaml", "vars: { x: { default: x } }\n")
        .shared("/secret.txt", "x")
        .shared("stacks/shop/secret.txt", "x")
}

/// Returns the errors of a configuration, one string each, and the text of its first file.
fn errors(config: &Config) -> (Vec<String>, String) {
    let (_, diagnostics, sources) = config.load();
    let text = sources.iter().next().map(|(_, source)| source.text.to_string()).unwrap_or_default();
    let errors = diagnostics.iter().filter(|problem| problem.severity == Severity::Error);
    let lines = errors.map(|problem| {
        let place = problem.span().and_then(|span| sources.location_of(span));
        assert!(place.is_some(), "a problem without a place: {problem:?}\n{text}");
        assert!(
            problem.detail.is_some() || problem.help.is_some(),
            "a problem that does not say what to do: {problem:?}\n{text}"
        );
        format!(
            "{} {} | {} | {}",
            problem.code,
            problem.summary,
            problem.detail.as_deref().unwrap_or("-"),
            problem.help.as_deref().unwrap_or("-")
        )
    });
    (lines.collect(), text)
}

type Syntax = (&'static str, fn(&[(String, Written)]) -> Config);
const SYNTAXES: [Syntax; 2] = [("yaml", in_yaml), ("kdl", in_kdl)];

/// Returns every keyword of every place, with all keywords of the place.
fn every() -> impl Iterator<Item = (&'static str, &'static [Word], &'static Word)> {
    words::PLACES.iter().flat_map(|(place, among, _)| among.iter().map(move |word| (*place, *among, word)))
}

#[test]
fn every_keyword_accepts_its_valid_form() {
    for (place, among, word) in every() {
        for (syntax, config) in SYNTAXES {
            let mut body = beside(place, word.name, among);
            body.push((word.name.to_owned(), right(place, word)));
            let (errors, text) = errors(&config(&around(place, body)));
            assert_eq!(errors, Vec::<String>::new(), "{syntax} {place}.{}:\n{text}", word.name);
        }
    }
}

#[test]
fn every_invalid_form_of_every_keyword_is_an_error() {
    let mut silent = String::new();
    let mut several = String::new();
    for (place, among, word) in every() {
        for (form, written) in forms() {
            for (syntax, config) in SYNTAXES {
                let fine =
                    well(place, word.takes, syntax).contains(&form) || (form == "bare" && syntax == "yaml");
                // A repeated address is correct for a keyword that takes a list of any strings.
                if fine || (form == "twice" && matches!(word.takes, Takes::Paths)) {
                    continue;
                }
                let mut body = beside(place, word.name, among);
                body.push((word.name.to_owned(), written.clone()));
                let (errors, text) = errors(&config(&around(place, body)));
                // Each entry of a list may have a problem of its own.
                let most = if matches!(written, List(_)) { 2 } else { 1 };
                match errors.len() {
                    0 => writeln!(silent, "{syntax} {place}.{} {form}:\n{text}", word.name).unwrap(),
                    n if n <= most => {}
                    _ => {
                        writeln!(several, "{syntax} {place}.{} {form}: {}", word.name, errors.join(" / "))
                            .unwrap();
                    }
                }
            }
        }
    }
    let found = format!("accepted silently:\n{silent}told more than once:\n{several}");
    assert!(silent.is_empty() && several.is_empty(), "{found}");
}

/// Returns a keyword with its first letter doubled, which is no other keyword.
fn misspelt(word: &str) -> String {
    format!("{}{word}", &word[..1])
}

#[test]
fn every_misspelled_keyword_gets_a_suggestion() {
    for (place, among, word) in every().filter(|(_, _, word)| word.name.len() > 3) {
        for (syntax, config) in SYNTAXES {
            let mut body = beside(place, word.name, among);
            body.push((misspelt(word.name), right(place, word)));
            let (errors, text) = errors(&config(&around(place, body)));
            let near = format!("`{}`", word.name);
            let told = errors.iter().any(|error| error.rsplit(" | ").next().unwrap().contains(&near));
            assert!(told, "{syntax} {place}.{}: {errors:#?}\n{text}", word.name);
        }
    }
}

#[test]
fn every_duplicate_keyword_is_an_error() {
    for (place, among, word) in every() {
        for (syntax, config) in SYNTAXES {
            // A repeated node of KDL is another entry of a list, and no duplicate.
            if syntax == "kdl" && matches!(word.takes, Takes::Entries | Takes::Blocks) {
                continue;
            }
            let mut body = beside(place, word.name, among);
            body.push((word.name.to_owned(), right(place, word)));
            body.push((word.name.to_owned(), right(place, word)));
            let (errors, text) = errors(&config(&around(place, body)));
            assert!(!errors.is_empty(), "{syntax} {place}.{}\n{text}", word.name);
        }
    }
}
