//! `Editor`: drives the language server over its streams as an editor does.
#![allow(clippy::disallowed_types, reason = "tests drive real processes")]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::case::Case;

/// A fake editor and the language server process that it started.
pub struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Editor {
    pub fn start(case: &Case) -> Self {
        Self::of(&mut case.command("lsp"))
    }

    /// Starts a server with a given command.
    pub fn of(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, id: 0 }
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        let input = self.input.as_mut().unwrap();
        write!(input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        input.flush().unwrap();
    }

    pub fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let id = self.id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.receive();
            if message["id"] == id {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
        }
    }

    pub fn receive(&mut self) -> Value {
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

    pub fn diagnostics(&mut self) -> Value {
        loop {
            let message = self.receive();
            if message["method"] == "textDocument/publishDiagnostics" {
                return message["params"]["diagnostics"].clone();
            }
        }
    }

    /// Waits for the next diagnostics of a file and returns them.
    pub fn diagnostics_of(&mut self, uri: &str) -> Value {
        loop {
            let message = self.receive();
            let params = &message["params"];
            if message["method"] == "textDocument/publishDiagnostics" && params["uri"] == uri {
                return params["diagnostics"].clone();
            }
        }
    }

    /// Closes the server's standard input.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// Waits for the server and returns its exit code; `None` after a signal.
    pub fn exit_code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Returns the server's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
