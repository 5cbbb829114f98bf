//! The language server, driven over its streams as an editor does.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::{figure, stacks};

/// How many letters are typed.
const LETTERS: usize = 40;

struct Editor {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Editor {
    fn start(directory: &Path) -> Self {
        let mut command = Command::new(stacks::STEAD);
        command.arg("lsp").current_dir(directory).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let input = server.stdin.take().unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        Self { server, input, output }
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        self.input.flush().unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).unwrap();
            match line.trim_end().split_once(": ") {
                Some((_, value)) => length = value.parse().unwrap(),
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    fn end(mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }

    fn diagnostics(&mut self) -> usize {
        loop {
            let message = self.receive();
            if message["method"] == "textDocument/publishDiagnostics" {
                return message["params"]["diagnostics"].as_array().unwrap().len();
            }
        }
    }
}

/// An editor that has a file open whose diagnostics were told.
fn open(directory: &Path, name: &str, text: &str) -> (Editor, String) {
    let file = directory.join(name);
    std::fs::write(&file, text).unwrap();
    let uri = format!("file://{}", file.display());
    let mut editor = Editor::start(directory);
    editor.send(&json!({ "id": 1, "method": "initialize", "params": { "capabilities": {} } }));
    editor.receive();
    let opened = json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": text });
    editor.send(&json!({ "method": "textDocument/didOpen", "params": { "textDocument": opened } }));
    editor.diagnostics();
    (editor, uri)
}

/// From a keystroke to its diagnostics, in one file of 10,000 resources, in both syntaxes.
pub fn keystroke() {
    typed("stead.yaml", &stacks::yaml(10_000), "  disk-5:", 2);
    typed("stead.kdl", &stacks::kdl(10_000), "volume disk-5 ", 7);
}

/// The name of a block gets a letter that no name holds, and loses it again.
fn typed(name: &str, text: &str, block: &str, column: u32) {
    let directory = tempfile::tempdir().unwrap();
    let (mut editor, uri) = open(directory.path(), name, text);
    let line = text.lines().position(|line| line.starts_with(block)).unwrap();
    let at = |character: u32| json!({ "line": line, "character": character });
    let mut times = Vec::new();
    for letter in 0..LETTERS {
        let is_typed = letter % 2 == 0;
        let (end, text) = if is_typed { (column, "X") } else { (column + 1, "") };
        let change = json!({ "range": { "start": at(column), "end": at(end) }, "text": text });
        let document = json!({ "uri": uri, "version": letter + 2 });
        let params = json!({ "textDocument": document, "contentChanges": [change] });
        let begun = Instant::now();
        editor.send(&json!({ "method": "textDocument/didChange", "params": params }));
        assert_eq!(editor.diagnostics() > 0, is_typed);
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let shown = format!("{:.0} ms (worst {:.0})", times[LETTERS / 2], times[LETTERS - 1]);
    figure(&format!("keystroke to diagnostics, 10,000 resources, {name}"), &shown, "<= 100 ms");
    editor.end();
}

/// A new name for what 10,000 others refer to.
pub fn rename() {
    let directory = tempfile::tempdir().unwrap();
    let mut text = "stead: 1\nstack: bench\nvpc: { main: { cidr: 10.0.0.0/16 } }\nvm:\n".to_owned();
    for i in 0..10_000 {
        writeln!(text, "  vm-{i}: {{ template: ubuntu-24.04, plan: std-1c-1g, vpc: $vpc.main }}").unwrap();
    }
    let (mut editor, uri) = open(directory.path(), "stead.yaml", &text);
    let position = json!({ "line": 2, "character": 8 });
    let params = json!({ "textDocument": { "uri": uri }, "position": position, "newName": "hub" });
    let begun = Instant::now();
    editor.send(&json!({ "id": 2, "method": "textDocument/rename", "params": params }));
    let edits = editor.receive()["result"]["changes"][&uri].as_array().unwrap().len();
    assert!(edits > 0);
    let shown = format!("{:.2} s, {edits} edits", begun.elapsed().as_secs_f64());
    figure("rename with 10,000 references", &shown, "<= 1 s");
    editor.end();
}
