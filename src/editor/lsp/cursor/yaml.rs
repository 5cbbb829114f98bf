//! Cursor context in YAML: a tolerant reader of indentation, braces and quotes that never fails. In: the text before
//! the position. Out: the open keys, and what may follow.

use super::types::{Cursor, CursorContext, word_start};

/// The reader's state: everything that is open at its position.
struct YamlCursorReader<'t> {
    text: &'t str,
    /// Open blocks: the indentation of the key, and the key.
    blocks: Vec<(usize, &'t str)>,
    /// Open braces and brackets: the key before each, whether it is a brace, and the key inside.
    flows: Vec<OpenFlowCollection<'t>>,
}

struct OpenFlowCollection<'t> {
    is_map: bool,
    key: Option<&'t str>,
    /// Byte offset at which the current entry starts.
    from: usize,
}

/// Returns the context at the end of a text.
pub(in crate::editor::lsp) fn yaml_cursor(text: &str) -> Cursor {
    let mut reader = YamlCursorReader { text, blocks: Vec::new(), flows: Vec::new() };
    let mut at = CursorContext::Key;
    let mut block_text: Option<usize> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let (from, end) = (start, start + line.len());
        start = end;
        let bare = line.trim_start_matches(' ');
        let indent = line.len() - bare.len();
        if let Some(deep) = block_text {
            if indent > deep || bare.trim().is_empty() {
                at = if line.ends_with('\n') { CursorContext::Key } else { CursorContext::Text };
                continue;
            }
            block_text = None;
        }
        at = if reader.flows.is_empty() {
            reader.block_line(from, end)
        } else {
            reader.read_flow(from, end).unwrap_or(CursorContext::Value)
        };
        let content = line.trim_end();
        if reader.flows.is_empty() && (content.ends_with(['|', '>']) || block_header(content)) {
            block_text = reader.blocks.last().map(|(indent, _)| *indent);
        }
    }
    if text.is_empty() || text.ends_with('\n') {
        at = reader.block_line(text.len(), text.len());
    }
    reader.cursor(at)
}

fn block_header(line: &str) -> bool {
    line.ends_with(['-', '+'])
        && line.trim_end_matches(['-', '+']).ends_with(['|', '>'])
        && line.contains(": ")
}

impl YamlCursorReader<'_> {
    /// Reads one line outside of braces; returns the role of its end.
    fn block_line(&mut self, from: usize, end: usize) -> CursorContext {
        let line = self.text[from..end].trim_end_matches(['\n', '\r']);
        let complete = line.len() < end - from;
        let mut bare = line.trim_start_matches(' ');
        let mut indent = line.len() - bare.len();
        if bare.starts_with('#') {
            if !complete {
                self.close(indent);
            }
            return CursorContext::Text;
        }
        if bare.is_empty() {
            if !complete {
                self.close(indent);
            }
            return CursorContext::Key;
        }
        let mut item = false;
        while let Some(rest) = bare.strip_prefix("- ").or_else(|| (bare == "-").then_some("")) {
            // The items of a list may have the same indentation as its key.
            self.close(indent + usize::from(!item));
            item = true;
            let inner = rest.trim_start_matches(' ');
            indent += bare.len() - inner.len();
            bare = inner;
        }
        self.close(indent);
        let begin = from + line.len() - bare.len();
        let Some((key, behind)) = key_of(bare) else {
            if bare.starts_with(['{', '[']) {
                return self.read_flow(begin, from + line.len()).unwrap_or(CursorContext::Value);
            }
            // A single word: an item of a list, or a key without its colon yet.
            return if item { CursorContext::Value } else { CursorContext::Key };
        };
        self.blocks.push((indent, key));
        let value = &bare[behind..];
        let at = begin + behind + (value.len() - value.trim_start().len());
        let value = value.trim_start();
        if value.starts_with(['{', '[']) {
            self.read_flow(at, from + line.len()).unwrap_or(CursorContext::Value)
        } else if value.starts_with('#') || value.contains(" #") {
            CursorContext::Text
        } else {
            CursorContext::Value
        }
    }

    /// Reads characters inside of braces; `None` once all braces are closed.
    fn read_flow(&mut self, from: usize, end: usize) -> Option<CursorContext> {
        let bytes = self.text.as_bytes();
        let mut at = from;
        while at < end {
            match bytes[at] {
                quote @ (b'"' | b'\'') if starts_word(self.text, at) => {
                    let close = closing_quote(self.text, at + 1, end, quote);
                    at = close.unwrap_or(end);
                }
                b'#' if at > from && bytes[at - 1].is_ascii_whitespace() => {
                    let line = self.text[at..end].find('\n').map(|n| at + n);
                    let Some(line) = line else { return Some(CursorContext::Text) };
                    at = line;
                }
                brace @ (b'{' | b'[') if !after_dollar(self.text, at) => {
                    self.flows.push(OpenFlowCollection { is_map: brace == b'{', key: None, from: at + 1 });
                }
                b'{' => at += self.text[at..end].find('}').unwrap_or(end - at - 1),
                b'}' | b']' => {
                    self.flows.pop();
                    if self.flows.is_empty() {
                        return None;
                    }
                }
                b',' => {
                    if let Some(flow) = self.flows.last_mut() {
                        (flow.key, flow.from) = (None, at + 1);
                    }
                }
                b':' if at + 1 >= end || bytes[at + 1].is_ascii_whitespace() => {
                    let text = self.text;
                    if let Some(flow) = self.flows.last_mut().filter(|flow| flow.is_map) {
                        flow.key = Some(strip_quotes(text[flow.from..at].trim()));
                    }
                }
                _ => {}
            }
            at += 1;
        }
        let flow = self.flows.last()?;
        Some(if flow.is_map && flow.key.is_none() { CursorContext::Key } else { CursorContext::Value })
    }

    /// Closes the blocks that a line with this indentation is not part of.
    fn close(&mut self, indent: usize) {
        while self.blocks.last().is_some_and(|(deep, _)| *deep >= indent) {
            self.blocks.pop();
        }
    }

    fn cursor(self, at: CursorContext) -> Cursor {
        let mut path: Vec<String> = self.blocks.iter().map(|(_, key)| (*key).to_owned()).collect();
        path.extend(self.flows.iter().filter_map(|flow| flow.key).map(str::to_owned));
        Cursor { path, at, word: word_start(self.text)..self.text.len() }
    }
}

/// Returns the key at the beginning of a line, and the start of the text after its colon; `None` if it has no key.
fn key_of(line: &str) -> Option<(&str, usize)> {
    let quote = line.bytes().next().filter(|byte| matches!(byte, b'"' | b'\''));
    let from = match quote {
        Some(quote) => closing_quote(line, 1, line.len(), quote)?,
        None => 0,
    };
    let mut search = from;
    loop {
        let colon = search + line[search..].find(':')?;
        let behind = &line[colon + 1..];
        if behind.is_empty() || behind.starts_with([' ', '\t']) {
            let key = line[..colon].trim_end();
            return (!key.starts_with(['{', '[', '$', '#'])).then(|| (strip_quotes(key), colon + 1));
        }
        search = colon + 1;
    }
}

fn strip_quotes(key: &str) -> &str {
    key.trim_matches(['"', '\''])
}

fn starts_word(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || matches!(c, '{' | '[' | ',' | ':'))
}

fn after_dollar(text: &str, at: usize) -> bool {
    text[..at].ends_with('$')
}

/// Returns the position of the closing quote before `end`; `None` if the quote is still open.
fn closing_quote(text: &str, from: usize, end: usize, quote: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    while at < end {
        if bytes[at] == b'\\' && quote == b'"' {
            at += 1;
        } else if bytes[at] == quote {
            return Some(at);
        }
        at += 1;
    }
    None
}
