//! A whole session, without streams and files.

#![allow(clippy::needless_pass_by_value, reason = "a test writes what it sends where it sends it")]

mod elsewhere;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::lines::LineIndex;
use super::protocol::{LspRange, Position, TextEdit};
use super::text_change::apply_edits;
use super::{LanguageServer, WorkspaceDisk};
use crate::config::input::files::Files;
use crate::config::input::request::LoadRequest;
use crate::kinds::REGISTRY;
use crate::model::live::catalog::Catalog;

const YAML: &str = "\
stead: 1
stack: shop
vars: { size: { type: string, default: small } }
vpc: { main: { cidr: 10.0.0.0/16 } }
vm:
  web:
    template: ubuntu-24.04
    plan: std-1c-1g
    vpc: $vpc.main
outputs: { ip: $vm.web.public_ipv4_address, e: \"😀 ${vars.size}\" }
";

const KDL: &str = "\
stead 1
stack shop
vars { size type=string default=small }
vpc main cidr=\"10.0.0.0/16\"
vm web template=ubuntu-24.04 plan=std-1c-1g vpc=$vpc.main
outputs { ip $vm.web.public_ipv4_address; size \"😀 ${vars.size}\" }
";

struct Nothing(Vec<(String, String)>);

impl WorkspaceDisk for Nothing {
    fn neighbor_directories(&self, directory: &Path) -> Vec<PathBuf> {
        vec![directory.to_owned()]
    }

    fn stack_files(&self, _: &Path, _: &dyn Fn(&str) -> bool) -> Vec<(String, String)> {
        self.0.clone()
    }

    fn files(&self, _: &Path) -> Box<dyn Files> {
        Box::new(|_: &Path| Err(std::io::ErrorKind::NotFound.into()))
    }

    fn locked_catalog(&self, _: &Path) -> Option<Catalog> {
        None
    }
}

struct Session {
    server: LanguageServer,
    disk: Nothing,
    uri: String,
    text: String,
}

impl Session {
    /// Opens a text; `|` in it is where the cursor is.
    fn open(name: &str, text: &str) -> (Self, Value) {
        let at = text.find('|').unwrap_or(0);
        let text = text.replacen('|', "", 1);
        let mut session = Self {
            server: LanguageServer::new(REGISTRY, LoadRequest::default()),
            disk: Nothing(Vec::new()),
            uri: format!("file:///s/{name}"),
            text: text.clone(),
        };
        session.ask("initialize", json!({}));
        let document = json!({ "uri": session.uri, "text": text, "version": 1, "languageId": "yaml" });
        session.tell("textDocument/didOpen", json!({ "textDocument": document }));
        let position = LineIndex::new(&text).position(at);
        let about = json!({ "textDocument": { "uri": session.uri }, "position": position });
        (session, about)
    }

    fn tell(&mut self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string();
        assert_eq!(self.server.handle(message.as_bytes(), &self.disk), Vec::<String>::new());
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let answers = self.server.handle(message.as_bytes(), &self.disk);
        serde_json::from_str(answers.last().unwrap()).unwrap()
    }

    fn problems(&mut self) -> Vec<Value> {
        let published = self.server.catch_up(&self.disk);
        let message: Value = serde_json::from_str(published.last().unwrap()).unwrap();
        message["params"]["diagnostics"].as_array().unwrap().clone()
    }

    fn changed(&self, edits: &Value) -> String {
        let range = |edit: &Value| -> LspRange { serde_json::from_value(edit["range"].clone()).unwrap() };
        let edits: Vec<TextEdit> = edits
            .as_array()
            .unwrap_or_else(|| panic!("{edits}"))
            .iter()
            .map(|edit| TextEdit {
                range: range(edit),
                new_text: edit["newText"].as_str().unwrap().to_owned(),
            })
            .collect();
        apply_edits(&self.text, &edits)
    }
}

fn labels(name: &str, text: &str) -> Vec<String> {
    let (mut session, about) = Session::open(name, text);
    let answer = session.ask("textDocument/completion", about);
    let items = answer["result"]["items"].as_array().unwrap_or_else(|| panic!("{text}: {answer}")).clone();
    items.iter().map(|item| item["label"].as_str().unwrap().to_owned()).collect()
}

fn hover(name: &str, text: &str) -> String {
    let (mut session, about) = Session::open(name, text);
    let answer = session.ask("textDocument/hover", about);
    answer["result"]["contents"]["value"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn examples_have_no_problems() {
    for (name, text) in [("stead.yaml", YAML), ("stead.kdl", KDL)] {
        let (mut session, _) = Session::open(name, text);
        assert_eq!(session.problems(), Vec::<Value>::new());
    }
}

#[test]
fn diagnostics_have_utf16_ranges_and_fixes_and_follow_edits() {
    let (mut session, about) = Session::open("stead.yaml", &YAML.replace("${vars.size}", "${vars.sise}"));
    let problems = session.problems();
    assert_eq!(problems[0]["code"], "S0209");
    assert_eq!(problems[0]["range"]["start"]["line"], 9);
    let actions = session.ask(
        "textDocument/codeAction",
        json!({
            "textDocument": about["textDocument"],
            "range": { "start": { "line": 9, "character": 0 }, "end": { "line": 9, "character": 80 } },
            "context": { "diagnostics": [] },
        }),
    );
    for action in actions["result"].as_array().unwrap() {
        let edits = &action["edit"]["changes"][&session.uri];
        assert_eq!(session.changed(edits), YAML);
    }
    // The last letter but one, and only that.
    let line = YAML.lines().nth(9).unwrap();
    let at = line[..line.find("size}").unwrap()].encode_utf16().count() + 2;
    let range =
        json!({ "start": { "line": 9, "character": at }, "end": { "line": 9, "character": at + 1 } });
    session.tell(
        "textDocument/didChange",
        json!({
            "textDocument": { "uri": session.uri, "version": 2 },
            "contentChanges": [{ "range": range, "text": "z" }],
        }),
    );
    assert!(session.server.is_behind());
    assert_eq!(session.problems(), Vec::<Value>::new());
    let (mut broken, _) =
        Session::open("stead.yaml", &YAML.replace("outputs: {", "volum: { a: { size: 10 } }\noutputs: {"));
    let problems = broken.problems();
    assert_eq!(
        problems[0]["range"],
        json!({ "start": { "line": 9, "character": 0 }, "end": { "line": 9, "character": 5 } })
    );
    let actions = broken.ask("textDocument/codeAction", json!({
        "textDocument": { "uri": broken.uri }, "range": problems[0]["range"], "context": { "diagnostics": [] },
    }));
    let action = &actions["result"][0];
    assert_eq!(action["kind"], "quickfix");
    assert!(
        broken.changed(&action["edit"]["changes"][&broken.uri]).contains("\nvolume: { a: { size: 10 } }\n")
    );
}

#[test]
fn several_environments_and_modules_produce_no_diagnostics() {
    let text = YAML.replace("vars: {", "environments: { a: {}, b: {} }\nvars: { k: { type: secret },");
    let (mut session, _) = Session::open("stead.yaml", &text);
    let problems = session.problems();
    assert!(problems.iter().all(|problem| problem["severity"] == 3), "{problems:?}");
    let module = YAML.replace("stead: 1\nstack: shop\n", "").replace(", default: small", "");
    let (mut session, _) = Session::open("stead.yaml", &module);
    assert_eq!(session.problems(), Vec::<Value>::new());
}

#[test]
fn completion_works_in_both_syntaxes() {
    for (name, text, wanted, never) in [
        ("stead.yaml", format!("{YAML}vol|"), "volume", "size"),
        ("stead.yaml", YAML.replace("    vpc: $vpc.main\n", "    pow|\n"), "power", "template_id"),
        ("stead.yaml", YAML.replace("$vpc.main", "$vpc.|"), "main", "cidr"),
        ("stead.yaml", YAML.replace("$vpc.main", "|"), "$vpc.main", "$vm.web"),
        (
            "stead.yaml",
            YAML.replace("$vm.web.public_ipv4_address", "$vm.web.pub|"),
            "public_ipv4_address",
            "web",
        ),
        ("stead.yaml", YAML.replace("vars.size}", "vars.|}"), "size", "main"),
        ("stead.yaml", YAML.replace("vars.size}", "va|}"), "vars", "size"),
        (
            "stead.yaml",
            YAML.replace("    vpc: $vpc.main\n", "    lifecycle: { on_remove: |"),
            "keep",
            "create_first",
        ),
        ("stead.yaml", format!("{YAML}moved:\n  - |"), "from", "id"),
        (
            "stead.yaml",
            format!("{YAML}use: {{ shop: {{ source: ./shop }} }}\nmoved: [{{ from: shop_eu, to: | }}]"),
            "shop",
            "use.shop",
        ),
        ("stead.kdl", format!("{KDL}vol|"), "volume", "size"),
        ("stead.kdl", KDL.replace("vpc=$vpc.main", "pow|"), "power", "template_id"),
        ("stead.kdl", KDL.replace("vpc=$vpc.main", "vpc=$vpc.|"), "main", "cidr"),
        ("stead.kdl", KDL.replace("vpc=$vpc.main", "vpc=|"), "$vpc.main", "$vm.web"),
        (
            "stead.kdl",
            KDL.replace("$vm.web.public_ipv4_address", "$vm.web.pub|"),
            "public_ipv4_address",
            "web",
        ),
    ] {
        // What is declared is known from before the text was broken.
        let (mut session, about) = Session::open(name, if name.ends_with("kdl") { KDL } else { YAML });
        session.ask("textDocument/hover", about);
        let at = text.find('|').unwrap();
        session.text = text.replacen('|', "", 1);
        session.tell(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": session.uri }, "contentChanges": [{ "text": session.text }],
            }),
        );
        let position = LineIndex::new(&session.text).position(at);
        let about = json!({ "textDocument": { "uri": session.uri }, "position": position });
        let answer = session.ask("textDocument/completion", about);
        let items = answer["result"]["items"].as_array().unwrap().clone();
        let labels: Vec<&str> = items.iter().map(|item| item["label"].as_str().unwrap()).collect();
        assert!(labels.contains(&wanted), "{text}: {labels:?}");
        assert!(!labels.contains(&never), "{text}: {labels:?}");
    }
    assert_eq!(labels("stead.yaml", "# v|"), Vec::<String>::new());
}

#[test]
fn completed_text_is_valid() {
    for (name, text, label, wanted) in [
        ("stead.yaml", YAML.replace("vpc: $vpc.main", "pow|"), "power", "    power: \n"),
        ("stead.yaml", YAML.replace("vpc: $vpc.main", "vp|: $vpc.main"), "vpc", "    vpc: $vpc.main\n"),
        ("stead.yaml", YAML.replace("vpc: $vpc.main", "power: o|"), "on", "    power: \"on\"\n"),
        ("stead.kdl", KDL.replace("vpc=$vpc.main", "pow|"), "power", " power=\n"),
        ("stead.kdl", KDL.replace("vpc=$vpc.main", "{\n  pow|\n}"), "power", "\n  power \n"),
    ] {
        let (mut session, about) = Session::open(name, &text);
        let answer = session.ask("textDocument/completion", about);
        let items = answer["result"]["items"].as_array().unwrap();
        let item = items.iter().find(|item| item["label"] == label).unwrap_or_else(|| panic!("{text}"));
        let new = session.changed(&json!([item["textEdit"]]));
        assert!(new.contains(wanted), "{new}");
    }
}

#[test]
fn hover_shows_type_change_and_location() {
    let cidr = hover("stead.yaml", &YAML.replace("cidr:", "ci|dr:"));
    assert!(
        cidr.contains("**vpc.cidr**") && cidr.contains("replaces") && cidr.contains("required"),
        "{cidr}"
    );
    assert_eq!(hover("stead.kdl", &KDL.replace("cidr=", "ci|dr=")), cidr);
    assert!(hover("stead.yaml", &YAML.replace("plan: std", "plan: st|d")).contains("**vm.plan**"));
    let reference = hover("stead.yaml", &YAML.replace("$vpc.main", "$vpc.ma|in"));
    assert!(reference.contains("`vpc.main` · stead.yaml:4"), "{reference}");
    assert!(reference.contains("Required: cidr."), "a block's name need not be written: {reference}");
    let attribute = hover("stead.yaml", &YAML.replace("$vm.web.public", "$vm.web.pub|lic"));
    assert!(attribute.contains("set by the service"), "{attribute}");
    assert!(hover("stead.yaml", &YAML.replace("vars:", "va|rs:")).contains("$vars.size"));
    assert!(hover("stead.yaml", &YAML.replace("vm:\n", "v|m:\n")).starts_with("**vm**"));
    assert_eq!(hover("stead.yaml", "# pl|an"), "");
}

#[test]
fn hover_on_a_variable_shows_its_type_and_its_sources() {
    let text = YAML.replace(
        "vars: {",
        "environments: { a: { vars: { size: x } }, b: { vars: { size: y } } }\nvars: {",
    );
    for (name, marked) in
        [("vars.size", "vars.si|ze"), ("\nvars: { size", "\nvars: { si|ze"), ("size: x", "si|ze: x")]
    {
        let place = text.replace(name, marked);
        assert_eq!(
            hover("stead.yaml", &place),
            "`vars.size` · stead.yaml:4\n\n`type: string, default: small`\n\nSet in a, b."
        );
    }
}

#[test]
fn a_file_fixed_on_disk_clears_its_diagnostics() {
    let (mut session, about) = Session::open("a.test.yaml", "test: { a: { plan: { create: [] } } }\n");
    session.disk.0.push(("stead.yaml".to_owned(), YAML.replace("cidr:", "cdr:")));
    assert!(!session.problems().is_empty());
    session.tell("textDocument/didClose", about);
    session.server.catch_up(&session.disk);
    session.disk.0 = vec![("stead.yaml".to_owned(), YAML.to_owned())];
    session.tell("workspace/didChangeWatchedFiles", json!({}));
    let told = session.server.catch_up(&session.disk);
    assert!(
        told.iter().any(|told| told.contains("stead.yaml") && told.contains("\"diagnostics\":[]")),
        "{told:?}"
    );
}

#[test]
fn hover_on_a_secret_does_not_show_its_value() {
    let text =
        "vars: { key: { type: secret, default: canary, description: x } }\noutputs: { k: $vars.k|ey }\n";
    assert_eq!(hover("stead.yaml", text), "`vars.key` · stead.yaml:1\n\n`type: secret, description: x`");
}

#[test]
fn test_files_have_diagnostics_completion_and_hover() {
    let tests = "test:\n  a:\n    given: { applied: true }\n    plan:\n      create: [vm.web]\n";
    let (mut session, about) = Session::open("a.test.yaml", &tests.replace("vm.web", "vm.w|eb"));
    session.disk.0.push(("stead.yaml".to_owned(), YAML.to_owned()));
    assert_eq!(session.problems(), Vec::<Value>::new());
    let found = session.ask("textDocument/definition", about.clone())["result"].clone();
    assert_eq!(found["uri"], "file:///s/stead.yaml");
    assert_eq!(session.ask("textDocument/prepareRename", about)["result"], Value::Null);
    assert!(labels("a.test.yaml", &tests.replace("create: [vm.web]", "|")).contains(&"monthly".to_owned()));
    assert_eq!(labels("a.test.yaml", "te|"), ["test"]);
    let kdl = "test a {\n  plan {\n    cre|\n  }\n}\n";
    assert_eq!(labels("a.test.kdl", kdl), ["create"]);
    assert!(hover("a.test.yaml", &tests.replace("applied", "app|lied")).starts_with("**applied**"));
    let (mut session, _) = Session::open("a.test.yaml", &tests.replace("create", "crate"));
    let problems = session.problems();
    assert!(problems[0]["message"].as_str().unwrap().contains("did you mean `create`?"), "{problems:?}");
    assert_eq!(problems[0]["range"]["start"], json!({ "line": 4, "character": 6 }));
}

#[test]
fn definition_references_and_rename_work_in_both_syntaxes() {
    for (name, text, line) in [("stead.yaml", YAML, 4), ("stead.kdl", KDL, 4)] {
        let (mut session, about) = Session::open(name, &text.replace("$vm.web.public", "$vm.w|eb.public"));
        let place = session.ask("textDocument/definition", about.clone());
        let start: Position = serde_json::from_value(place["result"]["range"]["start"].clone()).unwrap();
        assert_eq!(start.line, if name.ends_with("kdl") { line } else { line + 1 });
        let mut asked = about.clone();
        asked["context"] = json!({ "includeDeclaration": true });
        let places = session.ask("textDocument/references", asked);
        assert_eq!(places["result"].as_array().unwrap().len(), 2, "{places}");
        let prepared = session.ask("textDocument/prepareRename", about.clone());
        assert_eq!(prepared["result"]["placeholder"], "web", "{prepared}");
        let mut asked = about.clone();
        asked["newName"] = json!("front");
        let answer = session.ask("textDocument/rename", asked.clone());
        let new = session.changed(&answer["result"]["changes"][&session.uri]);
        assert!(new.contains("$vm.front.public_ipv4_address") && new.contains("moved"), "{new}");
        let (mut again, _) = Session::open(name, &new);
        assert_eq!(again.problems(), Vec::<Value>::new(), "{new}");
        asked["newName"] = json!("No Name");
        assert_eq!(session.ask("textDocument/rename", asked)["error"]["code"], -32803);
    }
    let text =
        YAML.replace("vars: {", "environments: { a: { default: true, vars: { size: x } } }\nvars: {");
    let (mut session, mut asked) = Session::open("stead.yaml", &text.replace("vars.size", "vars.si|ze"));
    asked["newName"] = json!("width");
    let answer = session.ask("textDocument/rename", asked);
    let new = session.changed(&answer["result"]["changes"][&session.uri]);
    assert_eq!(new, text.replace("size", "width"));
}

#[test]
fn only_a_document_that_parses_is_formatted() {
    let (mut session, about) = Session::open("stead.yaml", &YAML.replace("vm:\n", "vm:   \n"));
    let answer = session.ask("textDocument/formatting", about);
    assert!(!session.changed(&answer["result"]).contains("vm:   \n"));
    let (mut session, about) = Session::open("stead.yaml", "a: [");
    assert_eq!(session.ask("textDocument/formatting", about)["result"], Value::Null);
}

#[test]
fn other_files_of_the_directory_are_part_of_the_stack() {
    let (mut session, _) = Session::open("a.stead.yaml", "volume: { v: { size: 5, vm: $vm.web } }\n");
    session.disk.0 = vec![
        ("stead.yaml".to_owned(), YAML.to_owned()),
        ("a.stead.yaml".to_owned(), "this counts no more: [".to_owned()),
    ];
    assert_eq!(session.problems(), Vec::<Value>::new());
    let position = json!({ "line": 0, "character": 33 });
    let about = json!({ "textDocument": { "uri": session.uri }, "position": position });
    let place = session.ask("textDocument/definition", about);
    assert_eq!(place["result"]["uri"], "file:///s/stead.yaml");
}

#[test]
fn the_protocol_order_of_initialize_and_shutdown_is_enforced() {
    let mut server = LanguageServer::new(REGISTRY, LoadRequest::default());
    let disk = Nothing(Vec::new());
    let mut say = |text: &str| server.handle(text.as_bytes(), &disk).join("");
    assert!(say(r#"{"id":1,"method":"shutdown"}"#).contains("-32002"));
    assert!(say("{").contains("-32700"));
    assert!(say(r#"{"id":1,"method":"initialize"}"#).contains("hoverProvider"));
    assert!(say(r#"{"id":1,"method":"no/such"}"#).contains("-32601"));
    assert!(say(r#"{"id":1,"method":"textDocument/hover","params":{}}"#).contains("-32602"));
    assert!(say(r#"{"id":1,"method":"shutdown"}"#).contains("null"));
    assert!(say(r#"{"id":1,"method":"textDocument/hover"}"#).contains("-32600"));
    assert_eq!(say(r#"{"method":"exit"}"#), "");
    assert_eq!(server.exit_status(), Some(true));
}

#[test]
fn every_environment_is_validated() {
    let stack = |many: usize| {
        let mut text = "stead: 1\nstack: shop\nvars: { gb: { type: int, default: 10 } }\nenvironments:\n  a: {}\n  b: { vars: { gb: 0 } }\n  c: {}\n  d: { vars: { gb: -1 } }\nvolume:\n  one: { size: $vars.gb }\n".to_owned();
        text.extend((0..many).map(|n| format!("  v{n}: {{ size: 10 }}\n")));
        text
    };
    let (mut session, _) = Session::open("stead.yaml", &stack(0));
    let problems = session.problems();
    let [problem] = problems.as_slice() else { panic!("{problems:?}") };
    assert!(problem["message"].as_str().unwrap().contains("In the environments b, d: "), "{problem}");
    assert!(!session.server.is_behind());
    // A large stack is looked at one environment at a time.
    let (mut session, _) = Session::open("stead.yaml", &stack(10_000));
    assert_eq!(session.problems(), Vec::<Value>::new());
    let mut rounds = 0;
    let mut last = Vec::new();
    while session.server.is_behind() {
        last = session.problems();
        rounds += 1;
    }
    assert_eq!(rounds, 2);
    let [problem] = last.as_slice() else { panic!("{last:?}") };
    assert!(problem["message"].as_str().unwrap().contains("In the environments b, d: "), "{problem}");
    // What only others have stays, where it stands now, until they are looked at again.
    let range = json!({ "start": { "line": 1, "character": 0 }, "end": { "line": 1, "character": 0 } });
    let change = json!([{ "range": range, "text": "# a line\n" }]);
    let document = json!({ "uri": session.uri });
    session.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": change }));
    let [moved] = session.problems().try_into().unwrap();
    assert_eq!(moved["message"], problem["message"]);
    let line = |problem: &Value| problem["range"]["start"]["line"].as_u64().unwrap();
    assert_eq!(line(&moved), line(problem) + 1);
}
