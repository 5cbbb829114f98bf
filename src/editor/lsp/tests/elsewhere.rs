//! Several directories of one repository: what is typed in one counts in the others.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::config::input::files::Files;
use crate::config::input::request::LoadRequest;
use crate::editor::lsp::protocol::{LspRange, TextEdit};
use crate::editor::lsp::text_change::apply_edits;
use crate::editor::lsp::{LanguageServer, WorkspaceDisk};
use crate::kinds::REGISTRY;
use crate::model::address::Name;
use crate::model::live::catalog::Catalog;

const STACK: &str = "\
stead: 1
stack: shop
include: [../shared/net.stead.yaml]
use: { cache: { source: ../cache } }
vm:
  web: { template: ubuntu-24.04, plan: std-1c-1g, vpc: $vpc.main }
";
const SHARED: &str = "vpc: { main: { cidr: 10.0.0.0/16 } }\n";
const MODULE: &str = "volume: { v: { size: 10 } }\n";

/// The files below `/r`.
#[derive(Clone)]
struct Repository(BTreeMap<PathBuf, String>);

/// The files of one of its directories.
struct Below(Repository, PathBuf);

impl Files for Below {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let text = self.0.0.get(&self.1.join(path)).ok_or(ErrorKind::NotFound)?;
        Ok(text.clone().into_bytes())
    }

    fn path_from_root(&self) -> Vec<Name> {
        self.1.strip_prefix("/r").unwrap().iter().map(|part| Name::new(part.to_str().unwrap())).collect()
    }

    fn read_shared(&self, path: &Path) -> io::Result<Vec<u8>> {
        Self(self.0.clone(), PathBuf::from("/r")).read(path)
    }

    fn names_shared(&self, path: &Path) -> io::Result<Vec<String>> {
        let directory = Path::new("/r").join(path);
        Ok(self.0.stack_files(&directory, &|_| false).into_iter().map(|(name, _)| name).collect())
    }
}

impl Repository {
    /// A file with its changes made.
    fn changed(&self, changes: &Value, path: &str) -> String {
        let edit = |edit: &Value| TextEdit {
            range: serde_json::from_value::<LspRange>(edit["range"].clone()).unwrap(),
            new_text: edit["newText"].as_str().unwrap().to_owned(),
        };
        let edits = &changes[&format!("file://{path}")];
        let edits: Vec<TextEdit> = edits.as_array().unwrap().iter().map(edit).collect();
        apply_edits(&self.0[Path::new(path)], &edits)
    }
}

impl WorkspaceDisk for Repository {
    fn stack_files(&self, directory: &Path, _: &dyn Fn(&str) -> bool) -> Vec<(String, String)> {
        let here = self.0.iter().filter(|(path, _)| path.parent() == Some(directory));
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        here.map(|(path, text)| (name(path), text.clone())).collect()
    }

    fn files(&self, directory: &Path) -> Box<dyn Files> {
        Box::new(Below(self.clone(), directory.to_owned()))
    }

    fn neighbor_directories(&self, _: &Path) -> Vec<PathBuf> {
        self.0.keys().map(|path| path.parent().unwrap().to_owned()).collect()
    }

    fn locked_catalog(&self, _: &Path) -> Option<Catalog> {
        None
    }
}

struct Session {
    server: LanguageServer,
    disk: Repository,
}

impl Session {
    fn start() -> Self {
        let files = [
            ("/r/shop/stead.yaml", STACK.to_owned()),
            ("/r/blog/stead.yaml", STACK.replace("shop", "blog")),
            ("/r/shared/net.stead.yaml", SHARED.to_owned()),
            ("/r/cache/stead.yaml", MODULE.to_owned()),
        ];
        let files = files.map(|(path, text)| (PathBuf::from(path), text));
        let server = LanguageServer::new(REGISTRY, LoadRequest::default());
        let mut session = Self { server, disk: Repository(files.into()) };
        session.ask("initialize", &json!({}));
        session
    }

    fn tell(&mut self, method: &str, params: &Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string();
        assert_eq!(self.server.handle(message.as_bytes(), &self.disk), Vec::<String>::new());
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let answers = self.server.handle(message.as_bytes(), &self.disk);
        serde_json::from_str(answers.last().unwrap()).unwrap()
    }

    fn open(&mut self, path: &str) {
        let text = &self.disk.0[Path::new(path)];
        let document = json!({ "uri": format!("file://{path}"), "text": text });
        self.tell("textDocument/didOpen", &json!({ "textDocument": document }));
    }

    fn write(&mut self, path: &str, text: &str) {
        let document = json!({ "uri": format!("file://{path}") });
        let changes = json!([{ "text": text }]);
        self.tell(
            "textDocument/didChange",
            &json!({ "textDocument": document, "contentChanges": changes }),
        );
    }

    /// The codes of what is newly said, by file.
    fn problems(&mut self) -> BTreeMap<String, Vec<String>> {
        let published = self.server.catch_up(&self.disk);
        let read = |message: &String| {
            let params = serde_json::from_str::<Value>(message).unwrap()["params"].clone();
            let problems = params["diagnostics"].as_array().unwrap();
            let codes = problems.iter().map(|problem| problem["code"].as_str().unwrap().to_owned());
            (params["uri"].as_str().unwrap().to_owned(), codes.collect())
        };
        published.iter().map(read).collect()
    }

    fn at(&mut self, method: &str, path: &str, line: u32, character: usize) -> Value {
        self.answer(method, path, line, character)["result"].clone()
    }

    fn refused(&mut self, method: &str, path: &str, line: u32, character: usize) -> String {
        let answer = self.answer(method, path, line, character);
        answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn answer(&mut self, method: &str, path: &str, line: u32, character: usize) -> Value {
        let document = json!({ "uri": format!("file://{path}") });
        let position = json!({ "line": line, "character": character });
        let asked = json!({ "textDocument": document, "position": position, "newName": "hub" });
        self.ask(method, &asked)
    }
}

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn edits_in_an_included_file_or_a_module_take_effect_at_once() {
    let mut session = Session::start();
    for path in ["/r/shop/stead.yaml", "/r/shared/net.stead.yaml", "/r/cache/stead.yaml"] {
        session.open(path);
    }
    assert!(session.problems().values().all(Vec::is_empty));
    session.write("/r/shared/net.stead.yaml", "vpc: { hub: { cidr: 10.0.0.0/16 } }\n");
    let problems = session.problems();
    assert_eq!(problems["file:///r/shop/stead.yaml"], ["S0201"], "{problems:?}");
    session.write("/r/shared/net.stead.yaml", SHARED);
    assert_eq!(session.problems()["file:///r/shop/stead.yaml"], none());
    // Both the module by itself and the stack find it: it is said once, and taken back once.
    session.write("/r/cache/stead.yaml", "volume: { v: { sise: 10 } }\n");
    let problems = session.problems();
    assert_eq!(problems["file:///r/cache/stead.yaml"], ["S0220"], "{problems:?}");
    session.write("/r/cache/stead.yaml", MODULE);
    assert_eq!(session.problems()["file:///r/cache/stead.yaml"], none());
}

#[test]
fn a_definition_is_located_in_the_open_document() {
    let mut session = Session::start();
    session.open("/r/shop/stead.yaml");
    session.open("/r/shared/net.stead.yaml");
    session.write("/r/shared/net.stead.yaml", &format!("\n\n{SHARED}"));
    let column = STACK.lines().nth(5).unwrap().find("main").unwrap();
    let place = session.at("textDocument/definition", "/r/shop/stead.yaml", 5, column);
    assert_eq!(place["uri"], "file:///r/shared/net.stead.yaml");
    assert_eq!(place["range"]["start"]["line"], 2);
}

#[test]
fn a_rename_updates_every_stack_that_includes_the_file() {
    let mut session = Session::start();
    session.open("/r/shared/net.stead.yaml");
    let column = SHARED.find("main").unwrap();
    let places = session.at("textDocument/references", "/r/shared/net.stead.yaml", 0, column);
    assert_eq!(places.as_array().unwrap().len(), 2, "{places}");
    let answer = session.at("textDocument/rename", "/r/shared/net.stead.yaml", 0, column);
    let new = |path: &str| session.disk.changed(&answer["changes"], path);
    assert_eq!(answer["changes"].as_object().map(serde_json::Map::len), Some(3), "{answer}");
    for path in ["/r/shop/stead.yaml", "/r/blog/stead.yaml"] {
        assert!(new(path).contains("vpc: $vpc.hub"), "{path}");
    }
    assert!(new("/r/shared/net.stead.yaml").contains("hub:"));
}

#[test]
fn renaming_a_module_variable_updates_its_callers() {
    let mut session = Session::start();
    let module = "vars: { main: { type: int, default: 10 } }\nvolume: { v: { size: $vars.main } }\n";
    let kdl = "stead 1\nstack third\nuse c source=\"../cache\" {\n  with main=20\n}\nvolume main size=10\n";
    let yaml = STACK
        .replace("cache: { source: ../cache }", "cache: { source: ../cache, with: { main: 30 } }")
        + "environments: { prod: { set: { use.cache.with.main: 40 } } }\n";
    let files = [("cache/stead.yaml", module), ("third/stead.kdl", kdl), ("shop/stead.yaml", &yaml)];
    for (path, text) in files {
        session.disk.0.insert(Path::new("/r").join(path), text.to_owned());
    }
    session.open("/r/cache/stead.yaml");
    let column = module.find("main").unwrap();
    let answer = session.at("textDocument/rename", "/r/cache/stead.yaml", 0, column);
    let new = |path: &str| session.disk.changed(&answer["changes"], path);
    assert_eq!(answer["changes"].as_object().map(serde_json::Map::len), Some(3), "{answer}");
    assert_eq!(new("/r/cache/stead.yaml"), module.replace("main", "hub"));
    assert_eq!(new("/r/third/stead.kdl"), kdl.replace("with main=20", "with hub=20"));
    let wanted = yaml.replace("with: { main: 30 }", "with: { hub: 30 }").replace("with.main", "with.hub");
    assert_eq!(new("/r/shop/stead.yaml"), wanted);
}

#[test]
fn renaming_a_resource_in_a_module_updates_all_callers() {
    let mut session = Session::start();
    let module = "volume:\n  v: { size: 10 }\noutputs: { id: $volume.v }\n";
    let yaml = "stead: 1\nstack: shop\nuse: { cache: { source: ../cache }, many: { for_each: [a], source: ../cache } }\nenvironments: { live: { set: { cache.volume.v.size: 11, use.many.a.volume.v.size: 12, many.a.volume.vv: 1 } } }\n";
    session.disk.0.insert("/r/cache/stead.yaml".into(), module.to_owned());
    session.disk.0.insert("/r/shop/stead.yaml".into(), yaml.to_owned());
    session.open("/r/cache/stead.yaml");
    let answer = session.at("textDocument/rename", "/r/cache/stead.yaml", 1, 2);
    let new = |path: &str| session.disk.changed(&answer["changes"], path);
    assert_eq!(
        new("/r/cache/stead.yaml"),
        "volume:\n  hub: { size: 10, name: \"${module}-v\" }\noutputs: { id: $volume.hub }\nmoved:\n  - from: volume.v\n    to: volume.hub\n"
    );
    let wanted = yaml.replace("volume.v.", "volume.hub.");
    assert_eq!(new("/r/shop/stead.yaml"), wanted);
}

#[test]
fn a_renamed_module_without_named_objects_gets_no_name() {
    for (module, named) in [
        ("backup_schedule: { b: { frequency: daily } }\nvars: { v: 1 }\n", false),
        ("volume: { v: { size: 10 } }\n", true),
    ] {
        let mut session = Session::start();
        let yaml = "stead: 1\nstack: shop\nuse:\n  eu: { source: ../cache }\n";
        session.disk.0.insert("/r/cache/stead.yaml".into(), module.to_owned());
        session.disk.0.insert("/r/shop/stead.yaml".into(), yaml.to_owned());
        session.open("/r/shop/stead.yaml");
        let answer = session.at("textDocument/rename", "/r/shop/stead.yaml", 3, 2);
        let new = session.disk.changed(&answer["changes"], "/r/shop/stead.yaml");
        assert_eq!(new.contains("name: eu"), named, "{new}");
    }
}

#[test]
fn renaming_a_module_updates_references_to_its_outputs() {
    let mut session = Session::start();
    let yaml = "stead: 1\nstack: shop\nuse:\n  eu: { source: ../cache }\n  many: { for_each: [a], source: ../cache, name: x }\noutputs: { id: $use.eu.id }\nenvironments: { live: { set: { eu.volume.v.size: 11, use.eu.volume.v.size: 12 } } }\n";
    session.disk.0.insert(
        "/r/cache/stead.yaml".into(),
        "volume: { v: { size: 10 } }\noutputs: { id: $volume.v }\n".to_owned(),
    );
    session.disk.0.insert("/r/shop/stead.yaml".into(), yaml.to_owned());
    session.open("/r/shop/stead.yaml");
    let answer = session.at("textDocument/rename", "/r/shop/stead.yaml", 3, 2);
    let wanted = yaml
        .replace("  eu: { source: ../cache }", "  hub: { source: ../cache, name: eu }")
        .replace("$use.eu.id", "$use.hub.id")
        .replace("{ eu.volume", "{ hub.volume")
        .replace("use.eu.volume", "use.hub.volume");
    assert_eq!(
        session.disk.changed(&answer["changes"], "/r/shop/stead.yaml"),
        format!("{wanted}moved:\n  - from: eu\n    to: hub\n")
    );
    session
        .disk
        .0
        .insert("/r/shop/more.stead.yaml".into(), "use: { hub: { source: ../cache } }\n".to_owned());
    session.open("/r/shop/more.stead.yaml");
    let refusal = session.refused("textDocument/rename", "/r/shop/stead.yaml", 3, 2);
    assert!(refusal.contains("`use.hub` is declared already"), "{refusal}");
}
