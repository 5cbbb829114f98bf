//! Cursor context in KDL: a tolerant reader of nodes, braces and quotes that never fails. In: the text before the
//! position. Out: the open nodes, and what may follow.

use super::types::{Cursor, CursorContext, word_start};

/// The reader's state: everything that is open at its position.
struct KdlCursorReader<'t> {
    text: &'t str,
    at: usize,
    /// Keys of the open nodes.
    path: Vec<&'t str>,
    /// Number of keys of each open node.
    open: Vec<usize>,
    /// The number of keys so far of the node that is being written; `None` between two nodes.
    node: Option<usize>,
    /// Whether the next word is the node's name: `web` in `vm web`.
    wants_name: bool,
    /// The property whose value follows; `None` if no `=` was read.
    property: Option<&'t str>,
}

/// Returns the context at the end of a text.
pub(in crate::editor::lsp) fn kdl_cursor(text: &str, is_kind: &dyn Fn(&str) -> bool) -> Cursor {
    let mut reader = KdlCursorReader {
        text,
        at: 0,
        path: Vec::new(),
        open: Vec::new(),
        node: None,
        wants_name: false,
        property: None,
    };
    while reader.at < text.len() {
        if let Some(at) = reader.next_token(is_kind) {
            return reader.cursor(at);
        }
    }
    let at = reader.end_context();
    reader.cursor(at)
}

impl<'t> KdlCursorReader<'t> {
    /// Reads one token; returns the role of the position if the text ends within the token, else `None`.
    fn next_token(&mut self, is_kind: &dyn Fn(&str) -> bool) -> Option<CursorContext> {
        let rest = &self.text[self.at..];
        if rest.starts_with("//") {
            let Some(end) = rest.find('\n') else { return Some(CursorContext::Text) };
            self.at += end;
            return None;
        }
        if rest.starts_with("/*") {
            let Some(end) = rest.find("*/") else { return Some(CursorContext::Text) };
            self.at += end + 2;
            return None;
        }
        if rest.starts_with("/-") {
            self.at += 2;
            return None;
        }
        let c = rest.chars().next().unwrap_or(' ');
        match c {
            '\\' => self.at += rest.find('\n').map_or(rest.len(), |end| end + 1),
            '\n' | ';' => {
                self.end_node();
                self.at += 1;
            }
            '{' => {
                self.open.push(self.node.take().unwrap_or(0));
                (self.wants_name, self.property) = (false, None);
                self.at += 1;
            }
            '}' => {
                self.end_node();
                let keys = self.open.pop().unwrap_or(0);
                self.path.truncate(self.path.len().saturating_sub(keys));
                self.at += 1;
            }
            '"' | '#' if c == '"' || rest.trim_start_matches('#').starts_with('"') => {
                return self.read_quoted(rest, is_kind);
            }
            c if c.is_whitespace() || matches!(c, '(' | ')' | '=') => self.at += c.len_utf8(),
            _ => {
                let end = rest.find(ends_word).unwrap_or(rest.len());
                if self.at + end >= self.text.len() {
                    return Some(self.end_context());
                }
                let word = &rest[..end.max(1)];
                self.at += word.len();
                self.read_word(word, is_kind);
            }
        }
        None
    }

    fn read_quoted(&mut self, rest: &'t str, is_kind: &dyn Fn(&str) -> bool) -> Option<CursorContext> {
        let hashes = rest.len() - rest.trim_start_matches('#').len();
        let body = &rest[hashes..];
        let quote = if body.starts_with("\"\"\"") { 3 } else { 1 };
        let close = format!("{}{}", "\"".repeat(quote), "#".repeat(hashes));
        let mut from = quote;
        let end = loop {
            let Some(found) = body.get(from..).and_then(|inner| inner.find(&close)) else {
                return Some(self.end_context());
            };
            let before = &body[quote..from + found];
            let escapes = before.len() - before.trim_end_matches('\\').len();
            if hashes > 0 || escapes.is_multiple_of(2) {
                break from + found;
            }
            from += found + 1;
        };
        self.at += hashes + end + close.len();
        self.read_word(&body[quote..end], is_kind);
        None
    }

    /// Consumes a complete word.
    fn read_word(&mut self, word: &'t str, is_kind: &dyn Fn(&str) -> bool) {
        let is_property = self.text[self.at..].starts_with('=');
        match self.node {
            None => {
                self.path.push(word);
                self.node = Some(1);
                self.wants_name = self.open.is_empty() && is_kind(word);
            }
            Some(_) if is_property => self.property = Some(word),
            Some(keys) if self.wants_name => {
                self.path.push(word);
                (self.node, self.wants_name) = (Some(keys + 1), false);
            }
            Some(_) => self.property = None,
        }
    }

    fn end_node(&mut self) {
        let keys = self.node.take().unwrap_or(0);
        self.path.truncate(self.path.len().saturating_sub(keys));
        (self.wants_name, self.property) = (false, None);
    }

    /// Returns the role of the position at the end of the text.
    fn end_context(&self) -> CursorContext {
        match self.node {
            None => CursorContext::Key,
            Some(_) if self.wants_name => CursorContext::Key,
            Some(_) if self.property.is_some() => CursorContext::Value,
            Some(_) => CursorContext::Argument,
        }
    }

    fn cursor(self, at: CursorContext) -> Cursor {
        let mut path: Vec<String> = self.path.iter().map(|key| (*key).to_owned()).collect();
        if at == CursorContext::Value {
            path.extend(self.property.map(str::to_owned));
        }
        Cursor { path, at, word: word_start(self.text)..self.text.len() }
    }
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '{' | '}' | ';' | '(' | ')' | '=' | '"' | '\\')
}
