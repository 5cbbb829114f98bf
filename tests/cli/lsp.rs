//! `lsp`: the language server, driven over its streams as an editor does.

use serde_json::{Value, json};

use crate::case::Case;
use crate::editor::Editor;

const STACK: &str = "\
stead: 1
stack: shop
vpc: { main: { cidr: 10.0.0.0/16 } }
vm:
  web: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $vpc.main }
";

#[test]
fn an_editor_session_runs_from_initialize_to_exit() {
    let case = Case::new().file("stead.yaml", STACK);
    let mut editor = Editor::start(&case);
    let able = editor.ask("initialize", &json!({ "capabilities": {} }));
    assert_eq!(able["capabilities"]["hoverProvider"], true);
    editor.tell("initialized", &json!({}));
    let uri = format!("file://{}", case.path("stead.yaml").display());
    let document = json!({ "uri": uri });
    let open = json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": STACK });
    editor.tell("textDocument/didOpen", &json!({ "textDocument": open }));
    assert_eq!(editor.diagnostics(), json!([]));

    let change = |line: u32, from: u32, to: u32, text: &str| {
        let range = json!({ "start": { "line": line, "character": from }, "end": { "line": line, "character": to } });
        json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "range": range, "text": text }] })
    };
    // The key `cidr` gets a letter too many, and the code action takes it out again.
    editor.tell("textDocument/didChange", &change(2, 19, 19, "r"));
    let problems = editor.diagnostics();
    assert_eq!(problems[0]["code"], "S0220", "{problems}");
    let range = problems[0]["range"].clone();
    let context = json!({ "diagnostics": problems });
    let asked = json!({ "textDocument": document, "range": range, "context": context });
    let actions = editor.ask("textDocument/codeAction", &asked);
    assert_eq!(actions[0]["edit"]["changes"][&uri][0]["newText"], "cidr", "{actions}");
    editor.tell("textDocument/didChange", &change(2, 19, 20, ""));
    assert_eq!(editor.diagnostics(), json!([]));

    let at = |line: u32, character: u32| json!({ "textDocument": document, "position": { "line": line, "character": character } });
    let reference = STACK.lines().nth(4).unwrap().find("main").unwrap();
    let reference = u32::try_from(reference).unwrap();
    let listed = editor.ask("textDocument/completion", &at(4, reference));
    assert_eq!(listed["items"][0]["label"], "main", "{listed}");
    let said = editor.ask("textDocument/hover", &at(2, 17));
    assert!(said["contents"]["value"].as_str().unwrap().contains("**vpc.cidr**"), "{said}");
    let place = editor.ask("textDocument/definition", &at(4, reference));
    assert_eq!((&place["uri"], &place["range"]["start"]["line"]), (&json!(uri), &json!(2)));
    let mut asked = at(4, reference);
    asked["newName"] = json!("hub");
    let renamed = editor.ask("textDocument/rename", &asked);
    let text = renamed["changes"][&uri].to_string();
    assert!(text.contains("$vpc.hub") && text.contains("moved"), "{text}");
    let options = json!({ "tabSize": 2, "insertSpaces": true });
    let formatted =
        editor.ask("textDocument/formatting", &json!({ "textDocument": document, "options": options }));
    assert!(formatted.is_array(), "{formatted}");

    assert_eq!(editor.ask("shutdown", &Value::Null), Value::Null);
    editor.tell("exit", &Value::Null);
    assert_eq!(editor.exit_code(), Some(0));
    assert_eq!(std::fs::read_to_string(case.path("stead.yaml")).unwrap(), STACK);
}

#[test]
fn a_large_stack_is_validated_in_every_environment() {
    let mut text = "stead: 1\nstack: shop\nvars: { gb: { type: int, default: 10 } }\nenvironments: { a: {}, b: { vars: { gb: 0 } } }\nvolume:\n  one: { size: $vars.gb }\n".to_owned();
    text.extend((0..12_000).map(|n| format!("  v-{n}: {{ size: {} }}\n", n % 90 + 10)));
    let case = Case::new().file("stead.yaml", text.as_str());
    let mut editor = Editor::start(&case);
    editor.ask("initialize", &json!({ "capabilities": {} }));
    let uri = format!("file://{}", case.path("stead.yaml").display());
    let open = json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": text });
    editor.tell("textDocument/didOpen", &json!({ "textDocument": open }));
    // The chosen environment is told at once, the others without being asked for.
    assert_eq!(editor.diagnostics(), json!([]));
    let problems = editor.diagnostics();
    assert!(problems[0]["message"].as_str().unwrap().contains("In the environment b: "), "{problems}");
}

#[test]
fn a_policy_violation_is_the_same_diagnostic_as_in_validate() {
    let text = "stead: 1\nstack: shop\nenvironments: { a: { default: true }, b: {} }\nvolume: { big: { size: 900 } }\npolicy:\n  small: { on: volume, deny: \"${self.size > 500}\", message: Volumes are small here. }\n";
    let case = Case::new().file("stead.yaml", text);
    case.fails(1, "validate").says(&["Volumes are small here."]);
    let mut editor = Editor::start(&case);
    editor.ask("initialize", &json!({ "capabilities": {} }));
    let uri = format!("file://{}", case.path("stead.yaml").display());
    let open = json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": text });
    editor.tell("textDocument/didOpen", &json!({ "textDocument": open }));
    let problems = editor.diagnostics();
    let told = problems[0]["message"].as_str().unwrap();
    assert!(told.contains("Volumes are small here.") && !told.contains("In the environment"), "{problems}");
}

#[test]
fn the_server_exits_when_its_editor_disappears() {
    let mut editor = Editor::start(&Case::new());
    editor.ask("initialize", &json!({}));
    editor.close();
    assert_eq!(editor.exit_code(), Some(1));
}

#[test]
fn completion_and_hover_include_all_plans_of_the_catalog() {
    let case = Case::new().file("stead.yaml", STACK).emulator();
    let plan = STACK.lines().nth(4).unwrap().find("std-1c-1g").unwrap();
    let uri = format!("file://{}", case.path("stead.yaml").display());
    let document = json!({ "uri": uri });
    let asked = |character: usize| json!({ "textDocument": document, "position": { "line": 4, "character": character } });
    let open = |text: &str| json!({ "textDocument": { "uri": uri, "languageId": "yaml", "version": 1, "text": text } });
    let begun = |text: &str| {
        let mut editor = Editor::start(&case);
        editor.ask("initialize", &json!({ "capabilities": {} }));
        editor.tell("initialized", &json!({}));
        editor.tell("textDocument/didOpen", &open(text));
        assert_eq!(editor.diagnostics(), json!([]));
        editor
    };
    let labels = |listed: &Value| -> Vec<String> {
        let items = listed["items"].as_array().into_iter().flatten();
        items.map(|item| item["label"].as_str().unwrap().to_owned()).collect()
    };
    // Nothing was read yet.
    assert_eq!(labels(&begun(STACK).ask("textDocument/completion", &asked(plan))), Vec::<String>::new());
    case.ok("plan");
    let listed = begun(STACK).ask("textDocument/completion", &asked(plan));
    let shown = case.ok("catalog vm --output json");
    let offers: Value = serde_json::from_str(&shown.stdout).unwrap();
    let offers = offers["offers"].as_array().unwrap();
    assert!(offers.len() > 3 && labels(&listed).len() == offers.len(), "{listed}\n{offers:?}");
    // A plan that no block of the stack uses has its price, too.
    let other = offers.iter().find(|offer| offer["name"] != "std-1c-1g").unwrap()["name"].as_str().unwrap();
    let said = begun(&STACK.replace("std-1c-1g", other)).ask("textDocument/hover", &asked(plan + 1));
    let said = said["contents"]["value"].as_str().unwrap();
    assert!(said.contains(other) && said.contains(" a month"), "{said}");
}
